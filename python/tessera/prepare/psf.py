"""Reads a PSF (CHARMM or X-PLOR, standard, EXT or NAMD) into arrays.

MDAnalysis' parser keeps charges in single precision, cuts EXT's six-character types and gives no
cross-terms; ParmEd builds an object for each atom and term and takes a minute for 90,000 atoms.
A PSF is little more than lists of integers, so they are read as such. The tests compare with
OpenMM's reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tessera.prepare.errors import InputError, require_file
from tessera.system.model import FloatArray, IdArray, IndexArray

_HEADER = re.compile(rb"^[ \t]*(\d+)(?:[ \t]+\d+)*[ \t]*!(\w+)[^\n]*\n?", re.MULTILINE)
_COLUMNS = ("S10", "S8", "S8", "S8", "S8", "S8", "S24", "S24")
_CHUNK = 100_000  # lines at a time, so that a million atoms do not live as Python text at once


@dataclass
class Psf:
    """Atoms (n,) and lists of 0-based ids (·,k)."""

    segment: NDArray[np.bytes_]
    residue_number: IndexArray
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


def read_psf(path: str | Path) -> Psf:
    """Raises `InputError` for a missing, truncated, Drude or lone-pair PSF."""
    path = require_file(path, "PSF file")
    data = path.read_bytes().replace(b"\r\n", b"\n")
    if not data.startswith(b"PSF"):
        raise InputError(f"{path.name} is not a PSF file: it does not start with PSF")
    if b"DRUDE" in data[: data.find(b"\n")].upper():
        raise InputError(f"{path.name} is a Drude PSF: polarisable force fields are not supported")
    sections = _sections(data)
    if b"NATOM" not in sections:
        raise InputError(f"{path.name} has no !NATOM section")
    if sections.get(b"NUMLP", (0, b""))[0] > 0:
        raise InputError(f"{path.name} has lone pairs (virtual sites): they are not supported")
    count, text = sections[b"NATOM"]
    columns = _atom_columns(path, count, text)
    numbers = _atom_numbers(path, columns)
    return Psf(
        segment=columns[1],
        residue_number=_leading_integers(columns[2]),
        residue_name=columns[3],
        name=columns[4],
        type=columns[5],
        charge=numbers[0],
        mass=numbers[1],
        bonds=_ids(path, sections, b"NBOND", 2),
        angles=_ids(path, sections, b"NTHETA", 3),
        dihedrals=_ids(path, sections, b"NPHI", 4),
        impropers=_ids(path, sections, b"NIMPHI", 4),
        cross_terms=_ids(path, sections, b"NCRTERM", 8),
        exclusions=_explicit_exclusions(path, sections, count),
    )


def _sections(data: bytes) -> dict[bytes, tuple[int, bytes]]:
    """Count and text of each section, by the name behind the `!`."""
    headers = list(_HEADER.finditer(data))
    ends = [h.start() for h in headers[1:]] + [len(data)]
    return {header[2].upper(): (int(header[1]), data[header.end() : end]) for header, end in zip(headers, ends)}


def _numbers(text: bytes) -> IdArray:
    return np.array(text.split(), np.int64)


def _ids(path: Path, sections: dict[bytes, tuple[int, bytes]], name: bytes, width: int) -> IdArray:
    count, text = sections.get(name, (0, b""))
    if not count:
        return np.zeros((0, width), np.int64)
    numbers = _section_numbers(path, name, text)
    if len(numbers) != count * width:
        raise InputError(
            f"{path.name} is truncated: section !{name.decode()} announces {count} entries "
            f"({count * width} numbers) and holds {len(numbers)} numbers"
        )
    return numbers.reshape(count, width) - 1


def _section_numbers(path: Path, name: bytes, text: bytes) -> IdArray:
    try:
        return _numbers(text)
    except ValueError as error:
        raise InputError(f"{path.name}: section !{name.decode()} holds text that is no integer: {error}") from None


def _explicit_exclusions(path: Path, sections: dict[bytes, tuple[int, bytes]], n_atoms: int) -> IdArray:
    """NNB lists the excluded atoms, then for each atom where its part of that list ends."""
    count, text = sections.get(b"NNB", (0, b""))
    if not count:
        return np.zeros((0, 2), np.int64)
    numbers = _section_numbers(path, b"NNB", text)
    if len(numbers) != count + n_atoms:
        raise InputError(f"{path.name}: section !NNB is truncated")
    partners, ends = numbers[:count] - 1, numbers[count:]
    owner = np.repeat(np.arange(n_atoms), np.diff(np.concatenate([[0], ends])))
    return np.stack([owner, partners], axis=1)


def _split_atom(line: bytes) -> list[bytes]:
    words = line.split()
    # a blank segment name leaves the charge (which has a point) one word early
    if len(words) > 6 and b"." in words[5] and words[5][:1] in b"-+.0123456789":
        words.insert(1, b"")
    return words[:8]


def _atom_columns(path: Path, count: int, text: bytes) -> list[NDArray[np.bytes_]]:
    """The first eight columns of !NATOM: id, segment, residue number and name, name, type,
    charge, mass."""
    lines = [line for line in text.split(b"\n") if line.strip()]
    if len(lines) != count:
        raise InputError(f"{path.name} is truncated: !NATOM announces {count} atoms and {len(lines)} are there")
    chunks = []
    for begin in range(0, count, _CHUNK):
        rows = [_split_atom(line) for line in lines[begin : begin + _CHUNK]]
        for offset, row in enumerate(rows):
            if len(row) < 8:
                raise InputError(f"{path.name}: atom {begin + offset + 1} has too few columns")
        chunks.append([np.array(column, dtype) for column, dtype in zip(zip(*rows), _COLUMNS)])
    return [np.concatenate(parts) for parts in zip(*chunks)]


def _atom_numbers(path: Path, columns: list[NDArray[np.bytes_]]) -> tuple[FloatArray, FloatArray]:
    try:
        return columns[6].astype(np.float64), columns[7].astype(np.float64)
    except ValueError as error:
        raise InputError(f"{path.name}: a charge or mass is no number: {error}") from None


def _leading_integers(text: NDArray[np.bytes_]) -> IndexArray:
    """Residue numbers without their insertion codes (`52A` is 52)."""
    unique, inverse = np.unique(text, return_inverse=True)
    matches = [re.match(rb"-?\d+", value) for value in unique]
    values = np.array([int(m[0]) if m else 0 for m in matches], np.int32)
    return values[inverse]
