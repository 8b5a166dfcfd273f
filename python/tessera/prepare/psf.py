"""Reads a PSF (CHARMM or X-PLOR, standard, EXT or NAMD) into arrays.

MDAnalysis' parser keeps charges in single precision, cuts EXT's six-character types and gives no cross-terms; ParmEd
builds an object for each atom and term and takes a minute for 90,000 atoms. A PSF consists mostly of lists of integers,
so this module reads it itself. The tests compare it with OpenMM's reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.prepare.coordinates.residue_ids import read_residue_ids
from tessera.prepare.text import read_bytes, require_file
from tessera.system.model import FloatArray, IdArray, IndexArray

_HEADER = re.compile(rb"^[ \t]*(\d{1,15})(?:[ \t]+(\d{1,15}))?[ \t]*!(\w+)[^\n]*\n?", re.MULTILINE)
#: the number of integers in an entry of each section
_WIDTH = {
    b"NBOND": 2, b"NTHETA": 3, b"NPHI": 4, b"NIMPHI": 4, b"NDON": 2, b"NACC": 2, b"NGRP": 3, b"NCRTERM": 8,
}  # fmt: skip
#: Every program writes these sections, so a file without them was cut.
_REQUIRED = (b"NBOND", b"NTHETA", b"NPHI", b"NIMPHI", b"NNB")
_UNSUPPORTED = {b"NUMANISO": "anisotropic polarisabilities"}
_COLUMNS = ("S10", "S8", "S8", "S8", "S8", "S8", "S24", "S24", "S8")
_CHUNK = 100_000  # lines at a time, so that a million atoms are not Python strings at once


@dataclass
class Psf:
    """The atoms (n,) and lists of 0-based ids (·,k)."""

    segment: NDArray[np.bytes_]
    residue_number: IndexArray
    insertion: NDArray[np.bytes_]  # insertion codes, mostly empty
    residue_name: NDArray[np.bytes_]
    name: NDArray[np.bytes_]
    type: NDArray[np.bytes_]  # a name, or CHARMM's type number as text
    charge: FloatArray
    mass: FloatArray
    bonds: IdArray
    angles: IdArray
    dihedrals: IdArray
    impropers: IdArray
    cross_terms: IdArray  # (·,8)
    exclusions: IdArray  # (·,2) explicit ones (NNB)
    lone_pairs: list[LonePair]
    fixed: IdArray  # (·,) atoms that CHARMM does not move
    notes: list[str]


@dataclass(frozen=True)
class LonePair:
    """A place that follows two or three atoms, its hosts (CHARMM's documentation, lonepair.doc)."""

    atom: int
    hosts: tuple[int, ...]
    distance: float  # Å; negative: from the middle of the second and third host
    angle: float  # degrees; with two hosts: a share of the distance between them
    dihedral: float  # degrees


def read_psf(path: str | Path) -> Psf:
    """Reads a PSF. Raises `InputError` for one that is missing, cut or has Drude particles, and for unknown
    sections."""
    path = require_file(path, "PSF file")
    data = read_bytes(path).replace(b"\r\n", b"\n")
    if not data.startswith(b"PSF"):
        raise InputError(f"{path.name} is not a PSF file: it does not start with PSF")
    flags = data[: data.find(b"\n")].upper().split()
    if b"DRUDE" in flags:
        raise InputError(f"{path.name} is a Drude PSF: polarisable force fields are not supported")
    sections = _sections(path, data)
    if b"NATOM" not in sections:
        raise InputError(f"{path.name} has no section !NATOM")
    count = sections[b"NATOM"].count
    lists = {name: _numbers(path, section, count) for name, section in sections.items()}
    columns = _atom_columns(path, count, sections[b"NATOM"].text)
    numbers = _atom_numbers(path, columns)
    for name in (*_REQUIRED, b"NCRTERM") if b"CMAP" in flags else _REQUIRED:
        if name not in sections:
            section = name.decode()
            raise InputError(
                f"{path.name} is truncated: it has no section !{section} (`0 !{section}` says that there is nothing)"
            )
    residues = read_residue_ids(columns[2], columns[1], path.name)
    return Psf(
        segment=columns[1],
        residue_number=residues.number,
        insertion=residues.insertion,
        residue_name=columns[3],
        name=columns[4],
        type=columns[5],
        charge=numbers[0],
        mass=numbers[1],
        bonds=_ids(lists, b"NBOND"),
        angles=_ids(lists, b"NTHETA"),
        dihedrals=_ids(lists, b"NPHI"),
        impropers=_ids(lists, b"NIMPHI"),
        cross_terms=_ids(lists, b"NCRTERM"),
        exclusions=_explicit_exclusions(path, lists[b"NNB"], sections[b"NNB"].count, count),
        lone_pairs=_lone_pairs(path, sections.get(b"NUMLP"), count),
        fixed=np.flatnonzero(np.char.isdigit(columns[8]) & (np.char.strip(columns[8], b"0") != b"")),
        notes=residues.notes,
    )


@dataclass(frozen=True)
class _Section:
    name: bytes
    count: int
    second: int  # NST2 in NGRP, NUMLPH in NUMLP
    text: bytes


def _sections(path: Path, data: bytes) -> dict[bytes, _Section]:
    """Returns the sections by the name after the `!`. Raises `InputError` for one that comes twice and for text outside
    sections."""
    headers = list(_HEADER.finditer(data))
    if not headers:
        raise InputError(f"{path.name} is cut or no PSF: it has no sections")
    between = data[data.find(b"\n") : headers[0].start()].strip()
    if between:
        raise InputError(f"{path.name}: {between[:40]!r} is before the first section")
    ends = [h.start() for h in headers[1:]] + [len(data)]
    out: dict[bytes, _Section] = {}
    for header, end in zip(headers, ends):
        name = header[3].upper()
        if name in out:
            raise InputError(f"{path.name} has section !{name.decode()} twice")
        out[name] = _Section(name, int(header[1]), int(header[2] or 0), data[header.end() : end])
    return out


def _numbers(path: Path, section: _Section, n_atoms: int) -> IdArray:
    """Returns the numbers of a section, as many as it announces, and none for the atoms' and the title's lines."""
    name = section.name
    if name == b"NTITLE":
        lines = [line for line in section.text.split(b"\n") if line.strip()]
        if len(lines) > section.count:
            raise InputError(f"{path.name}: !NTITLE announces {section.count} lines and has {len(lines)}")
    if name == b"NATOM" and not section.text.isascii():
        raise InputError(f"{path.name}: section !NATOM holds letters that are not ASCII")
    if name in (b"NATOM", b"NTITLE", b"NUMLP"):
        return np.zeros(0, np.int64)
    if name in _UNSUPPORTED and section.count:
        raise InputError(f"{path.name} has {_UNSUPPORTED[name]}: they are not supported")
    if name == b"NGRP" and section.second:
        raise InputError(f"{path.name} has ST2 waters: they are not supported")
    known = name in _WIDTH or name in _UNSUPPORTED or name in (b"NNB", b"MOLNT", b"AUTOGEN")
    if not known and (section.count or section.text.strip()):
        raise InputError(f"{path.name} has a section !{name.decode()}, which is not understood")
    try:
        numbers = np.array(section.text.split(), np.int64)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{path.name}: section !{name.decode()} holds text that is no integer: {error}") from None
    if name == b"MOLNT":
        expected = {n_atoms}
    elif name == b"AUTOGEN":  # how CHARMM made the lists of angles and dihedrals, which the PSF has in full
        return numbers
    elif name == b"NNB":  # the ends of the atoms' parts; left out by some where there are none
        expected = {section.count + n_atoms} if section.count else {0, n_atoms}
    else:
        expected = {section.count * _WIDTH.get(name, 0)}
    if len(numbers) not in expected:
        raise InputError(
            f"{path.name} is truncated: section !{name.decode()} announces {section.count} entries "
            f"({max(expected)} numbers) and holds {len(numbers)} numbers"
        )
    return numbers


def _ids(lists: dict[bytes, IdArray], name: bytes) -> IdArray:
    """Returns 0-based ids (·,k)."""
    return lists.get(name, np.zeros(0, np.int64)).reshape(-1, _WIDTH[name]) - 1


def _explicit_exclusions(path: Path, numbers: IdArray, count: int, n_atoms: int) -> IdArray:
    """Returns the explicit exclusions. NNB lists the excluded atoms, then for each atom the end of its part of that
    list."""
    if not count:
        return np.zeros((0, 2), np.int64)
    partners, ends = numbers[:count] - 1, numbers[count:]
    sizes = np.diff(ends, prepend=0)
    if ends[-1] != count or (sizes < 0).any():
        raise InputError(f"{path.name}: the ends of the atoms' parts of section !NNB are not in order")
    return np.stack([np.repeat(np.arange(n_atoms), sizes), partners], axis=1)


def _lone_pairs(path: Path, section: _Section | None, n_atoms: int) -> list[LonePair]:
    """Reads a line for each lone pair (hosts, place in the list below, F, distance, angle, dihedral), then the list of
    atoms: each lone pair and its hosts."""
    if section is None or not section.count:
        return []
    lines = [line.split() for line in section.text.split(b"\n") if line.strip()]
    if len(lines) < section.count or any(len(words) != 6 for words in lines[: section.count]):
        raise InputError(f"{path.name} is truncated: !NUMLP announces {section.count} lone pairs of six columns each")
    try:
        atoms = [int(word) - 1 for words in lines[section.count :] for word in words]
        rows = [(int(w[0]), w[2], float(w[3]), float(w[4]), float(w[5])) for w in lines[: section.count]]
    except ValueError as error:
        raise InputError(f"{path.name}: section !NUMLP holds text that is no number: {error}") from None
    if len(atoms) != section.second or sum(row[0] + 1 for row in rows) != len(atoms):
        raise InputError(
            f"{path.name}: the lone pairs of !NUMLP have {sum(row[0] + 1 for row in rows)} atoms with their hosts, it "
            f"announces {section.second} and lists {len(atoms)}"
        )
    found: list[LonePair] = []
    begin = 0
    for n_hosts, flag, *numbers in rows:
        atom, *hosts = atoms[begin : begin + n_hosts + 1]
        begin += n_hosts + 1
        if not all(0 <= a < n_atoms for a in (atom, *hosts)):
            raise InputError(f"{path.name}: a lone pair of !NUMLP names atom {max(atom, *hosts) + 1} of {n_atoms}")
        if n_hosts not in (2, 3) or flag != b"F":
            raise InputError(
                f"{path.name}: lone pair {len(found) + 1} has {n_hosts} hosts and the flag {flag.decode()!r}: only "
                "colinear, relative and bisector lone pairs are supported (2 or 3 hosts, F)"
            )
        distance, angle, dihedral = numbers
        found.append(LonePair(atom, tuple(hosts), distance, angle, dihedral))
    return found


def _split_atom(line: bytes) -> list[bytes]:
    words = line.split()
    # With a blank segment name the charge (which has a point) is one word earlier.
    if len(words) > 6 and b"." in words[5] and words[5][:1] in b"-+.0123456789":
        words.insert(1, b"")
    return words[:9] if len(words) != 8 else [*words, b"0"]


def _atom_columns(path: Path, count: int, text: bytes) -> list[NDArray[np.bytes_]]:
    """Returns the columns of !NATOM: id, segment, residue number and name, name, type, charge, mass, and whether CHARMM
    holds the atom (IMOVE: 1; lone pairs have -1)."""
    lines = [line for line in text.split(b"\n") if line.strip()]
    if len(lines) != count:
        raise InputError(f"{path.name} is truncated: !NATOM announces {count} atoms and {len(lines)} are there")
    chunks = []
    for begin in range(0, count, _CHUNK):
        rows = [_split_atom(line) for line in lines[begin : begin + _CHUNK]]
        for offset, row in enumerate(rows):
            if len(row) < 8:
                raise InputError(f"{path.name}: atom {begin + offset + 1} has too few columns")
            if row[0][:15].isdigit() and int(row[0][:15]) != begin + offset + 1:
                raise InputError(
                    f"{path.name}: atom {begin + offset + 1} has the number {int(row[0])}: is a line lost?"
                )
        chunks.append([np.array(column, dtype) for column, dtype in zip(zip(*rows), _COLUMNS)])
    return [np.concatenate(parts) for parts in zip(*chunks)]


def _atom_numbers(path: Path, columns: list[NDArray[np.bytes_]]) -> tuple[FloatArray, FloatArray]:
    try:
        return columns[6].astype(np.float64), columns[7].astype(np.float64)
    except ValueError as error:
        raise InputError(f"{path.name}: a charge or mass is no number: {error}") from None
