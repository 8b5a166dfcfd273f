"""Reads the ids of residues in a PSF: numbers, numbers with an insertion code (52A), and hexadecimal ones.

VMD and psfgen count residues of a segment beyond 9999 in hexadecimal digits, since PDB files have four columns for
them: 9999 is followed by 2710. An id such as 271a may then be residue 10010 or residue 271 with the insertion code a;
its neighbours in the segment tell which, because residues follow each other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.system.model import IdArray, IndexArray

_FIRST = 10_000  # the first number that is written in hexadecimal digits
_DECIMAL = re.compile(rb"([-+]?\d{1,9})([A-Za-z]?)")
_HEXADECIMAL = re.compile(rb"[0-9]?[0-9A-Fa-f]{4}")
_NONE = np.iinfo(np.int64).min  # in place of a number that an id can't be
_FAR = 2**40  # a step between residues that no file has


@dataclass(frozen=True)
class ResidueIds:
    """The numbers (n,) of the residues of n atoms and their insertion codes (n,), which are mostly empty."""

    number: IndexArray
    insertion: NDArray[np.bytes_]
    notes: list[str]


def read_residue_ids(text: NDArray[np.bytes_], segment: NDArray[np.bytes_], file: str) -> ResidueIds:
    """Reads the ids (n,) of the atoms' residues. Raises `InputError` for one that is no number."""
    change = np.ones(len(text), bool)
    change[1:] = (text[1:] != text[:-1]) | (segment[1:] != segment[:-1])
    first, residue = np.flatnonzero(change), np.cumsum(change) - 1
    ids, segments = text[first], segment[first]
    unique, inverse = np.unique(ids, return_inverse=True)
    matches = [_DECIMAL.fullmatch(value) for value in unique]
    number = np.array([int(m[1]) if m else _NONE for m in matches], np.int64)[inverse]
    code = np.array([m[2] if m else b"" for m in matches], "S1")[inverse]
    hexadecimal = np.array([int(v, 16) if _HEXADECIMAL.fullmatch(v) else _NONE for v in unique], np.int64)[inverse]
    hexadecimal[hexadecimal < _FIRST] = _NONE
    notes: list[str] = []
    begins = np.flatnonzero(np.append(True, segments[1:] != segments[:-1]))
    for begin, end in zip(begins, np.append(begins[1:], len(ids))):
        rows = slice(int(begin), int(end))
        at = _first_hexadecimal(ids[rows], number[rows], code[rows], hexadecimal[rows])
        if at < end - begin:
            there = slice(rows.start + at, rows.stop)
            number[there], code[there] = hexadecimal[there], b""
            notes.append(
                f"{file}: residues of segment {segments[begin].decode() or '(blank)'} have hexadecimal ids from "
                f"{ids[there.start].decode()} on, which is residue {number[there.start]}"
            )
        odd = np.flatnonzero(number[rows] == _NONE)
        if len(odd):
            found = ids[rows.start + int(odd[0])].decode("latin-1")
            atom = int(first[rows.start + int(odd[0])])
            raise InputError(
                f"{file}: atom {atom + 1} is in the residue {found!r}, expected a number, a number and one letter "
                "(52A), or a hexadecimal number from 2710 on"
            )
    more = [f"… {len(notes) - 3} more segments with hexadecimal ids"] if len(notes) > 3 else []
    return ResidueIds(number.astype(np.int32)[residue], code[residue], [*notes[:3], *more])


def _first_hexadecimal(ids: NDArray[np.bytes_], number: IdArray, code: NDArray[np.bytes_], hexadecimal: IdArray) -> int:
    """Returns the first residue of a segment (n,) from which on ids are hexadecimal, n where none is: ids are read in
    the way that leaves out the fewest numbers."""
    n = len(ids)
    has_letters = bool((code != b"").any() or (number == _NONE).any())
    if not has_letters:  # decimal numbers that jump from 9999 to 2710 have reached the hexadecimal ones
        jumps = np.flatnonzero((number[:-1] == _FIRST - 1) & (hexadecimal[1:] == _FIRST))
        return int(jumps[0]) + 1 if len(jumps) and (hexadecimal[jumps[0] + 1 :] != _NONE).all() else n
    # Places from which on all may be hexadecimal, and before which all may be decimal.
    after = np.cumsum((hexadecimal == _NONE)[::-1])[::-1] == 0
    before = np.append(True, np.cumsum((number == _NONE) | (number >= _FIRST))[:-1] == 0)
    places = np.flatnonzero(after & before)
    total = np.append(0, np.cumsum(_left_out(number)))
    as_decimal = float(total[-1]) if (number != _NONE).all() else np.inf
    if not len(places):
        return n
    rest = np.append(np.cumsum(_left_out(hexadecimal)[::-1])[::-1], 0)
    last = np.maximum(places - 1, 0)
    joint = np.where(places > 0, np.abs(hexadecimal[places] - number[last] - 1), 0)
    costs = (total[last] + rest[places] + joint).astype(float)
    best = int(np.argmin(costs))
    # Where only letters follow a number, small ones are hexadecimal digits and capitals are insertion codes.
    is_tie = costs[best] == as_decimal and all(c.islower() for c in code.tolist())
    return int(places[best]) if costs[best] < as_decimal or is_tie else n


def _left_out(number: IdArray) -> IdArray:
    """Returns for each step between residues (n−1,) how many numbers it leaves out or goes back."""
    step = np.diff(number)
    cost = np.where(step < 0, -step, np.maximum(step - 1, 0))
    return np.where((number[1:] == _NONE) | (number[:-1] == _NONE), _FAR, cost)
