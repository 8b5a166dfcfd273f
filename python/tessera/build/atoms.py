"""Reads the atoms of structures (PDB, mmCIF or a system file) with their names, residues and chains."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.prepare.coordinates.mmcif import atom_sites
from tessera.prepare.coordinates.pdb import first_model
from tessera.prepare.text import Source, read_source
from tessera.system.model import FloatArray, IdArray

FURTHEST = 1e7  # Å: what is further from the origin is no place


@dataclass(frozen=True)
class Atoms:
    """The atoms of a file (n,), with the line of each, or −1."""

    file: str
    name: NDArray[Any]
    residue_name: NDArray[Any]
    residue: NDArray[Any]  # numbers with insertion codes, as texts
    chain: NDArray[Any]
    piece: IdArray  # a number for each molecule, or for each stretch up to TER
    position: FloatArray  # (n,3) Å
    line: IdArray


def read_atoms(path: Path) -> Atoms:
    """Reads the first model of a PDB or mmCIF file, or a system file. Raises `InputError`."""
    if path.suffix.lower() == ".tsr":
        return _of_system(path)
    source = read_source(path, "structure")
    if source.suffix in (".cif", ".mmcif"):
        return _of_mmcif(source)
    if source.suffix in (".pdb", ".ent"):
        return _of_pdb(source)
    raise InputError(f"{path.name}: expected a structure as .pdb, .ent, .cif or .mmcif, or a system file (.tsr)")


def _of_pdb(source: Source) -> Atoms:
    text = source.text
    head = text.columns(np.arange(len(text)), 0, 6)
    lines = first_model(head, source.name)

    def column(begin: int, end: int) -> NDArray[Any]:
        return np.char.strip(text.columns(lines, begin, end).astype(f"U{end - begin}"))

    name, residue_name, chain, residue = column(12, 16), column(17, 20), column(21, 22), column(22, 27)
    piece = np.searchsorted(np.flatnonzero(np.char.startswith(head, b"TER")), lines)
    return Atoms(source.name, name, residue_name, residue, chain, piece, text.numbers(lines, 30, 8, 3), lines + 1)


def _of_mmcif(source: Source) -> Atoms:
    columns, rows = atom_sites(source.data.decode("latin-1").replace("\r\n", "\n").split("\n"), source.name)
    table = np.array(rows, object)

    def column(*names: str, default: str | None = None) -> NDArray[Any]:
        found = next((name for name in names if name in columns), None)
        if found is None and default is None:
            raise InputError(f"{source.name} has no {names[-1]} in its _atom_site loop")
        if found is None:
            return np.full(len(table), default)
        return np.char.strip(table[:, columns.index(found)].astype(str), "?")

    model = column("pdbx_PDB_model_num", default="1")
    table = table[model == model[0]]
    try:
        position = np.stack([column(f"Cartn_{axis}").astype(np.float64) for axis in "xyz"], axis=1)
    except ValueError as error:
        raise InputError(f"{source.name}: a coordinate of its _atom_site loop is no number: {error}") from None
    residue = np.char.add(column("auth_seq_id", "label_seq_id"), column("pdbx_PDB_ins_code", default=""))
    names = (column("auth_atom_id", "label_atom_id"), column("auth_comp_id", "label_comp_id"))
    chain = column("auth_asym_id", "label_asym_id")
    none = np.zeros(len(table), np.int64)
    return Atoms(source.name, *names, residue, chain, none, position, none - 1)


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
    return Atoms(path.name, name, residue_name, residue, chain, piece, found.position, line)


def residue_starts(atoms: Atoms) -> IdArray:
    """Returns the first atom of each residue."""
    begins = np.ones(len(atoms.name), bool)
    begins[1:] = np.any(
        [column[1:] != column[:-1] for column in (atoms.residue_name, atoms.residue, atoms.chain, atoms.piece)], axis=0
    )
    return np.flatnonzero(begins)


def residue_labels(atoms: Atoms, first: IdArray) -> tuple[list[str], list[str]]:
    """Returns what messages call residues, and the file and line of each, from the first atom of each."""
    labels = [
        f"{atoms.residue_name[row]} {atoms.residue[row]} of chain {atoms.chain[row] or '(blank)'}" for row in first
    ]
    return labels, [f"{atoms.file}, line {atoms.line[row]}" if atoms.line[row] > 0 else atoms.file for row in first]
