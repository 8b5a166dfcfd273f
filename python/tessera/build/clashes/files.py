"""Reads molecules of PDB, mmCIF and system files with their topology, and writes them with other coordinates: all else
in the file stays as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.build.clashes.molecules import OLD_NAMES, ROLE, Molecules, wrapped
from tessera.build.clashes.topology import Names, topology_of
from tessera.errors import InputError
from tessera.export.structure import NO_SEGMENT, number_shifts
from tessera.files import replaced
from tessera.prepare.coordinates.mmcif import TOKEN, atom_sites, read_mmcif
from tessera.prepare.coordinates.model import Coordinates
from tessera.prepare.coordinates.pdb import first_model, read_pdb
from tessera.prepare.text import Source, read_source
from tessera.system import System, read, write
from tessera.system.blocks import to_fraction
from tessera.system.model import FloatArray, IdArray

_FURTHEST = 1e7  # Å
_SPACE_GROUPS = ("_symmetry.space_group_name_H-M", "_space_group.name_H-M_alt")


class Structure:
    """A file and its molecules, whose atoms may be moved and written again."""

    def __init__(self, molecules: Molecules, original: FloatArray) -> None:
        self.molecules = molecules
        self._original = original  # (n,3) Å, in the images of the file
        self._start = molecules.position.copy()

    def moved(self) -> tuple[IdArray, FloatArray]:
        """Returns the atoms that are elsewhere (m,), and where they are (m,3) Å, in the images of the file."""
        shift = self.molecules.position - self._start
        atoms = np.flatnonzero((shift != 0).any(axis=1))
        return atoms, self._original[atoms] + shift[atoms]

    def write(self, path: Path) -> None:
        """Writes the file with the new coordinates. Raises `InputError` and `OSError`."""
        raise NotImplementedError


def read_structure(path: Path) -> Structure:
    """Reads a file. Raises `InputError` for one that is no structure, or has coordinates that are no places."""
    if path.suffix.lower() == ".tsr":
        return _SystemFile(path)
    source = read_source(path, "structure")
    if source.suffix in (".pdb", ".ent"):
        return _PdbFile(source)
    if source.suffix in (".cif", ".mmcif"):
        return _MmcifFile(source)
    raise InputError(f"{path.name}: expected a structure as .pdb, .ent, .cif or .mmcif, or a system file (.tsr)")


def kind_of(path: Path) -> str:
    """Returns the kind of file that a name means: `PDB`, `mmCIF`, `system file`, or nothing; without `.gz`."""
    kinds = {".pdb": "PDB", ".ent": "PDB", ".cif": "mmCIF", ".mmcif": "mmCIF", ".tsr": "system file"}
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in (".gz", ".gzip")]
    return kinds.get(suffixes[-1], "") if suffixes else ""


def _labelled(
    file: str, found: Coordinates, names: Names, chain: NDArray[np.bytes_], space_group: str, notes: list[str]
) -> Molecules:
    """Returns the molecules of a file of text. Its box repeats unless it is that of a crystal of several images."""
    assert found.residue is not None
    residue = np.char.strip(found.residue)
    bad = np.flatnonzero(~(np.abs(found.position) < _FURTHEST).all(axis=1))

    def of_residue(atom: int) -> str:
        kind, number, letter = (_text(column[atom]) for column in (names.residue_name, residue, chain))
        return f"{kind} {number} in chain {letter or '(blank)'}"

    def of_atom(atom: int) -> str:
        return f"{_text(names.name[atom])} of {of_residue(atom)}"

    if len(bad):
        raise InputError(f"{file}: {of_atom(int(bad[0]))} has coordinates that are not finite or beyond 10⁷ Å")
    box = found.box
    if box is not None and space_group.replace(" ", "") not in ("", "P1"):
        notes.append(f"the box is that of a crystal ({space_group.strip()}), whose other molecules are not looked at")
        box = None
    topology = topology_of(names)
    return Molecules(
        file, wrapped(found.position, box), box, topology.bonds, topology.role, topology.is_hydrogen, names.residue,
        topology.is_rigid, of_atom, of_residue, [*notes, *topology.notes],
    )  # fmt: skip


def _text(value: bytes) -> str:
    return value.decode("latin-1")


def _residues(*columns: NDArray[Any]) -> IdArray:
    """Returns the residue (n,) of each atom: one ends where a column changes."""
    begins = np.zeros(len(columns[0]), bool)
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return np.cumsum(begins)


def _chosen(location: NDArray[np.bytes_], residue: IdArray) -> tuple[NDArray[np.bool_], list[str]]:
    """Tells which atoms count (n,): those without alternate locations, and in each residue those of its first."""
    has = np.flatnonzero(location != b"")
    if not len(has):
        return np.ones(len(location), bool), []
    first = np.zeros(int(residue[-1]) + 1, "S1")
    first[residue[has[::-1]]] = location[has[::-1]]
    counts = (location == b"") | (location == first[residue])
    left = int((~counts).sum())
    return counts, [f"{left:,} atom(s) in alternate locations are left as they are"] if left else []


class _TextFile(Structure):
    """A file of lines, of which those of moved atoms change."""

    def __init__(self, source: Source, molecules: Molecules, original: FloatArray, line: IdArray) -> None:
        super().__init__(molecules, original)
        self._data, self._line = source.data, line

    def changed(self, line: bytes, place: list[float]) -> bytes:
        """Returns a line with other coordinates."""
        raise NotImplementedError

    def write(self, path: Path) -> None:
        lines = self._data.split(b"\n")
        atoms, places = self.moved()
        for line, place in zip(self._line[atoms].tolist(), places.tolist()):
            lines[line] = self.changed(lines[line], place)
        with replaced(path) as temporary:
            temporary.write_bytes(b"\n".join(lines))


class _PdbFile(_TextFile):
    def __init__(self, source: Source) -> None:
        text, found = source.text, read_pdb(source)
        head = text.columns(np.arange(len(text)), 0, 6)
        lines = first_model(head, source.name)
        assert found.name is not None and found.residue is not None
        kind, chain, location = (
            np.char.strip(text.columns(lines, begin, end)) for begin, end in ((17, 21), (21, 22), (16, 17))
        )
        piece = np.searchsorted(np.flatnonzero(head.astype("S3") == b"TER"), lines)
        residue = _residues(kind, chain, found.residue, piece)
        counts, notes = _chosen(location, residue)
        name = np.char.strip(found.name)[counts]
        found.position, found.residue = found.position[counts], found.residue[counts]
        piece = _residues(chain, piece)[counts]
        names = Names(name, kind[counts], _residues(residue[counts]), piece)
        rows = np.flatnonzero(head == b"CRYST1")[:1]
        group = _text(text.columns(rows, 55, 66)[0]) if len(rows) else ""
        molecules = _labelled(source.name, found, names, chain[counts], group, notes)
        super().__init__(source, molecules, found.position, lines[counts])

    def changed(self, line: bytes, place: list[float]) -> bytes:
        numbers = b"".join(b"%8.3f" % number for number in place)
        if len(numbers) != 24:
            raise InputError(f"{self.molecules.file}: a coordinate of {place} has no room in a PDB file")
        return line[:30] + numbers + line[54:]


class _MmcifFile(_TextFile):
    def __init__(self, source: Source) -> None:
        found = read_mmcif(source)
        lines = source.data.decode("latin-1").replace("\r\n", "\n").split("\n")
        columns, rows = atom_sites(lines, source.name)
        begin = next(number for number, line in enumerate(lines) if line.startswith("_atom_site.")) + len(columns)
        table = np.array(rows, object)

        def column(*words: str) -> NDArray[np.bytes_]:
            word = next((word for word in words if word in columns), None)
            values = [] if word is None else table[:, columns.index(word)].tolist()
            return np.array([v.strip("?.").encode("latin-1") for v in values] or [b""] * len(table), np.bytes_)

        model = column("pdbx_PDB_model_num")
        line = begin + np.flatnonzero(model == model[0])
        table = table[model == model[0]]
        assert found.name is not None and found.residue is not None
        kind, chain = column("auth_comp_id", "label_comp_id"), column("auth_asym_id", "label_asym_id")
        residue = _residues(kind, chain, found.residue)
        counts, notes = _chosen(column("label_alt_id"), residue)
        name = np.char.strip(found.name)[counts]
        found.position, found.residue = found.position[counts], found.residue[counts]
        names = Names(name, kind[counts], _residues(residue[counts]), _residues(chain)[counts])
        words = [text.split(maxsplit=1) for text in lines if text.startswith(_SPACE_GROUPS)]
        group = next((word[1].strip("'\" ?.") for word in words if len(word) == 2), "")
        molecules = _labelled(source.name, found, names, chain[counts], group, notes)
        self._columns = [columns.index(f"Cartn_{axis}") for axis in "xyz"]
        super().__init__(source, molecules, found.position, line[counts])

    def changed(self, line: bytes, place: list[float]) -> bytes:
        text = line.decode("latin-1")
        words = list(TOKEN.finditer(text))
        for index, number in sorted(zip(self._columns, place), reverse=True):
            old = words[index]
            digits = len(old[0].partition(".")[2])
            new = f"{number:.{max(digits, 3)}f}"
            blanks = len(text[old.end() :]) - len(text[old.end() :].lstrip(" "))
            spare = len(new) - len(old[0])  # taken from the blanks behind, or added to them
            end = old.end() + min(max(spare, 0), max(blanks - 1, 0))
            text = text[: old.start()] + new + " " * max(-spare, 0) + text[end:]
        return text.encode("latin-1")


class _SystemFile(Structure):
    def __init__(self, path: Path) -> None:
        self._system = system = read(path)
        position = system.positions()
        super().__init__(_of_system(path.name, system, position), position)

    def write(self, path: Path) -> None:
        system = self._system
        atoms, places = self.moved()
        fraction = system.fraction.copy()
        fraction[atoms] = to_fraction(places - system.origin, system.box)
        write(replace(system, fraction=fraction), path)


def _of_system(file: str, system: System, position: FloatArray) -> Molecules:
    """Returns the molecules of a system, with the bonds and virtual sites that it holds."""
    template, first = system.instances()
    n_residues = np.array([len(kind.residue_name) for kind in system.templates], np.int64)
    first_residue = np.cumsum(n_residues[template]) - n_residues[template]
    role, residue = np.zeros(system.n_atoms, np.int8), np.zeros(system.n_atoms, np.int64)
    is_hydrogen = np.zeros(system.n_atoms, bool)
    bonds = [np.zeros((0, 2), np.int64)]
    for index, kind in enumerate(system.templates):
        which = np.flatnonzero(template == index)
        atoms = first[which, None] + np.arange(kind.n_atoms)
        names = [OLD_NAMES.get(name, name) for name in map(str.strip, map(str, kind.atom_name))]
        role[atoms] = np.array([ROLE.get(name, 0) for name in names], np.int8)
        residue[atoms] = first_residue[which, None] + kind.residue
        is_hydrogen[atoms] = kind.atomic_number == 1
        bonds.append((first[which, None, None] + kind.links()).reshape(-1, 2))

    shift = number_shifts(system, template)

    def of_residue(atom: int) -> str:
        instance = int(np.searchsorted(first, atom, side="right")) - 1
        kind = system.templates[template[instance]]
        row = kind.residue[atom - int(first[instance])]
        segment = str(kind.segment_name[row]).strip() or NO_SEGMENT
        return f"{kind.residue_name[row]} {kind.residue_number[row] + shift[instance]} in {segment}"

    def of_atom(atom: int) -> str:
        instance = int(np.searchsorted(first, atom, side="right")) - 1
        return f"{system.templates[template[instance]].atom_name[atom - int(first[instance])]} of {of_residue(atom)}"

    box = system.box if system.periodic else None
    none = np.zeros(system.n_atoms, bool)
    return Molecules(
        file, position.copy(), box, np.concatenate(bonds), role, is_hydrogen, residue, none, of_atom, of_residue
    )
