"""Reads the atoms of structures (PDB, mmCIF or a system file) with their names, residues and chains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.prepare.coordinates.mmcif import atom_sites
from tessera.prepare.coordinates.pdb import first_model, read_pdb
from tessera.prepare.text import Source, read_source
from tessera.system.model import FloatArray, IdArray

FURTHEST = 1e7  # Å: what is further from the origin is no place
KINDS = {".pdb": "PDB", ".ent": "PDB", ".cif": "mmCIF", ".mmcif": "mmCIF", ".tsr": "system file"}
_SPACE_GROUPS = ("_symmetry.space_group_name_H-M", "_space_group.name_H-M_alt")


@dataclass(frozen=True)
class Atoms:
    """The atoms of a file (n,), with the line of each from 1, or −1. Names are bytes, which takes a quarter of the room
    of texts, or texts; blanks around them are left out."""

    file: str
    name: NDArray[Any]
    residue_name: NDArray[Any]
    residue: NDArray[Any]  # numbers with insertion codes
    chain: NDArray[Any]
    location: NDArray[Any]  # of alternate ones, or empty
    piece: IdArray  # a number for each molecule, or for each stretch up to TER
    position: FloatArray  # (n,3) Å
    line: IdArray
    box: FloatArray | None = None  # (3,3) Å
    space_group: str = ""

    def some(self, rows: NDArray[Any]) -> Atoms:
        """Returns some of the atoms."""
        columns = ("name", "residue_name", "residue", "chain", "location", "piece", "position", "line")
        return replace(self, **{column: getattr(self, column)[rows] for column in columns})

    def with_texts(self) -> Atoms:
        """Returns the same with texts for bytes."""
        columns = (self.name, self.residue_name, self.residue, self.chain, self.location)
        name, residue_name, residue, chain, location = (np.char.decode(column, "latin-1") for column in columns)
        return replace(self, name=name, residue_name=residue_name, residue=residue, chain=chain, location=location)


def read_atoms(path: Path) -> Atoms:
    """Reads the first model of a PDB or mmCIF file, or a system file, with texts as names. Raises `InputError`."""
    if KINDS.get(path.suffix.lower()) == "system file":
        return _of_system(path)
    return atoms_of(read_source(path, "structure")).with_texts()


def atoms_of(source: Source) -> Atoms:
    """Returns the first model of a PDB or mmCIF file, with bytes as names. Raises `InputError`."""
    kind = KINDS.get(source.suffix)
    if kind == "PDB":
        return _of_pdb(source)
    if kind == "mmCIF":
        return _of_mmcif(source)
    raise InputError(f"{source.name}: expected a structure as .pdb, .ent, .cif or .mmcif, or a system file (.tsr)")


def _of_pdb(source: Source) -> Atoms:
    text, found = source.text, read_pdb(source)
    head = text.columns(np.arange(len(text)), 0, 6)
    lines = first_model(head, source.name)

    def column(begin: int, end: int) -> NDArray[np.bytes_]:
        return np.char.strip(text.columns(lines, begin, end))

    name, location, residue_name, chain, residue = (
        column(*columns) for columns in ((12, 16), (16, 17), (17, 21), (21, 22), (22, 27))
    )
    piece = np.searchsorted(np.flatnonzero(head.astype("S3") == b"TER"), lines)
    crystal = text.columns(np.flatnonzero(head == b"CRYST1")[:1], 55, 66).tolist()
    group = crystal[0].decode("latin-1").strip() if crystal else ""
    return Atoms(
        source.name, name, residue_name, residue, chain, location, piece, found.position, lines + 1, found.box, group
    )


def _of_mmcif(source: Source) -> Atoms:
    sites = atom_sites(source)
    found = sites.coordinates()
    residue = np.char.add(sites.texts("auth_seq_id", "label_seq_id"), sites.texts("pdbx_PDB_ins_code", default=""))
    names = (sites.texts("auth_atom_id", "label_atom_id"), sites.texts("auth_comp_id", "label_comp_id"))
    chain = sites.texts("auth_asym_id", "label_asym_id", default="")
    location = sites.texts("label_alt_id", default="")
    words = [line.split(maxsplit=1) for line in sites.lines if line.startswith(_SPACE_GROUPS)]
    group = next((word[1].strip("'\" ?.") for word in words if len(word) == 2), "")
    piece = np.zeros(len(sites.line), np.int64)
    return Atoms(source.name, *names, residue, chain, location, piece, found.position, sites.line + 1, found.box, group)


def _of_system(path: Path) -> Atoms:
    from tessera.export.structure import structure_of
    from tessera.system import read

    system = read(path)
    found = structure_of(system, path.name)
    residue_name, residue, chain = (
        texts[found.residue].astype(str) for texts in (found.residue_name, found.residue_labels(), found.chain)
    )
    piece = np.searchsorted(system.molecule_starts(), np.arange(found.n_atoms), side="right")
    name, line = found.name.astype(str), np.full(found.n_atoms, -1)
    none = np.full(found.n_atoms, "")
    return Atoms(path.name, name, residue_name, residue, chain, none, piece, found.position, line)


def begins_of(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Tells at which atoms (n,) one of these columns changes, as it does at the first."""
    begins = np.zeros(len(columns[0]), bool)
    begins[:1] = True
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return begins


def residue_starts(atoms: Atoms) -> IdArray:
    """Returns the first atom of each residue."""
    return np.flatnonzero(begins_of(atoms.residue_name, atoms.residue, atoms.chain, atoms.piece))


def residue_labels(atoms: Atoms, first: IdArray) -> tuple[list[str], list[str]]:
    """Returns what messages call residues, and the file and line of each, from the first atom of each."""
    labels = [
        f"{atoms.residue_name[row]} {atoms.residue[row]} of chain {atoms.chain[row] or '(blank)'}" for row in first
    ]
    return labels, [f"{atoms.file}, line {atoms.line[row]}" if atoms.line[row] > 0 else atoms.file for row in first]
