"""Reads molecules of PDB, mmCIF and system files with their topology, and writes them with other coordinates: all else
in the file stays as it is."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tessera.build.atoms import FURTHEST, KINDS, Atoms, atoms_of, begins_of
from tessera.build.clashes.molecules import OLD_NAMES, ROLE, Molecules, wrapped
from tessera.build.clashes.topology import Names, topology_of
from tessera.errors import InputError
from tessera.export.structure import NO_SEGMENT, number_shifts
from tessera.files import replaced
from tessera.prepare.coordinates.mmcif import TOKEN
from tessera.prepare.text import Source, read_source
from tessera.system import System, read, write
from tessera.system.blocks import to_fraction
from tessera.system.model import FloatArray, IdArray


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
    if kind_of(path) == "system file":
        return _SystemFile(path)
    source = read_source(path, "structure")
    atoms = atoms_of(source)
    kind = _PdbFile if KINDS[source.suffix] == "PDB" else _MmcifFile
    return kind(source, atoms)


def kind_of(path: Path) -> str:
    """Returns the kind of file that a name means: `PDB`, `mmCIF`, `system file`, or nothing; without `.gz`."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in (".gz", ".gzip")]
    return KINDS.get(suffixes[-1], "") if suffixes else ""


def _labelled(atoms: Atoms, residue: IdArray, notes: list[str]) -> Molecules:
    """Returns the molecules of a file of text. Its box repeats unless it is that of a crystal of several images."""
    bad = np.flatnonzero(~(np.abs(atoms.position) < FURTHEST).all(axis=1))

    def of_residue(atom: int) -> str:
        columns = (atoms.residue_name, atoms.residue, atoms.chain)
        kind, number, letter = (column[atom].decode("latin-1") for column in columns)
        return f"{kind} {number} in chain {letter or '(blank)'}"

    def of_atom(atom: int) -> str:
        return f"{atoms.name[atom].decode('latin-1')} of {of_residue(atom)}"

    if len(bad):
        raise InputError(f"{atoms.file}: {of_atom(int(bad[0]))} has coordinates that are not finite or beyond 10⁷ Å")
    box = atoms.box
    if box is not None and atoms.space_group.replace(" ", "") not in ("", "P1"):
        notes.append(f"the box is that of a crystal ({atoms.space_group}), whose other molecules are not looked at")
        box = None
    names = Names(atoms.name, atoms.residue_name, residue, np.cumsum(begins_of(atoms.chain, atoms.piece)))
    topology = topology_of(names)
    return Molecules(
        atoms.file, wrapped(atoms.position, box), box, topology.bonds, topology.role, topology.is_hydrogen, residue,
        topology.is_rigid, of_atom, of_residue, [*notes, *topology.notes],
    )  # fmt: skip


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

    def __init__(self, source: Source, atoms: Atoms) -> None:
        residue = np.cumsum(begins_of(atoms.residue_name, atoms.residue, atoms.chain, atoms.piece)) - 1
        counts, notes = _chosen(atoms.location, residue)
        atoms = atoms.some(counts)
        super().__init__(_labelled(atoms, residue[counts], notes), atoms.position)
        self._data, self._line = source.data, atoms.line - 1

    def write(self, path: Path) -> None:
        lines = self._data.split(b"\n")
        atoms, places = self.moved()
        self.change(lines, self._line[atoms].tolist(), places.tolist())
        with replaced(path) as temporary:
            temporary.write_bytes(b"\n".join(lines))

    def change(self, lines: list[bytes], rows: list[int], places: list[list[float]]) -> None:
        """Puts other coordinates into lines of a file. Raises `InputError`."""
        raise NotImplementedError


class _PdbFile(_TextFile):
    def change(self, lines: list[bytes], rows: list[int], places: list[list[float]]) -> None:
        for row, place in zip(rows, places):
            numbers = b"".join(b"%8.3f" % number for number in place)
            if len(numbers) != 24:
                raise InputError(f"{self.molecules.file}: a coordinate of {place} has no room in a PDB file")
            lines[row] = lines[row][:30] + numbers + lines[row][54:]


class _MmcifFile(_TextFile):
    def change(self, lines: list[bytes], rows: list[int], places: list[list[float]]) -> None:
        names = [line.split(b".")[1].strip() for line in lines if line.startswith(b"_atom_site.")]
        columns = [names.index(b"Cartn_" + axis) for axis in (b"x", b"y", b"z")]
        for row, place in zip(rows, places):
            text = lines[row].decode("latin-1")
            words = list(TOKEN.finditer(text))
            for index, number in sorted(zip(columns, place), reverse=True):
                text = _with_number(text, words[index], number)
            lines[row] = text.encode("latin-1")


def _with_number(text: str, old: re.Match[str], number: float) -> str:
    """Returns a line with another number in the place of a word, with as many digits, at least three; what is behind
    stays where it is as far as blanks allow."""
    digits = len(old[0].partition(".")[2])
    new = f"{number:.{max(digits, 3)}f}"
    blanks = len(text[old.end() :]) - len(text[old.end() :].lstrip(" "))
    spare = len(new) - len(old[0])  # taken from the blanks behind, or added to them
    end = old.end() + min(max(spare, 0), max(blanks - 1, 0))
    return text[: old.start()] + new + " " * max(-spare, 0) + text[end:]


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
