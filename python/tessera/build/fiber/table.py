"""Reads where the nucleosomes of a fibre are: a CSV file with a row for each, in the order of the first strand.

Columns are named in the first row: the centre x, y, z in Å; the axis of the superhelix axis_x, axis_y, axis_z, as the
first strand climbs; the direction from it to the dyad dyad_x, dyad_y, dyad_z; and linker, the base pairs from there to
the next nucleosome, which the last row may leave empty. Lines that begin with # are comments.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tessera.build.atoms import FURTHEST
from tessera.build.dna.frames import Frames
from tessera.errors import InputError
from tessera.prepare.text import read_text, require_file
from tessera.system.model import FloatArray

PLACES = ("x", "y", "z", "axis_x", "axis_y", "axis_z", "dyad_x", "dyad_y", "dyad_z")
COLUMNS = (*PLACES, "linker")
_ASKEW = 1.0  # degrees by which dyad and axis may differ from a right angle: what five digits of a direction leave
LONGEST = 10_000  # base pairs of a linker


@dataclass(frozen=True)
class Nucleosomes:
    """The frames (n) of nucleosomes, and the base pairs between neighbours (n - 1)."""

    frames: Frames
    linkers: list[int]
    lines: list[int]  # (n) of the file, for messages
    file: str


def read_table(path: Path) -> Nucleosomes:
    """Reads a table of nucleosomes. Raises `InputError` that names the line and the column."""
    lines = read_text(require_file(path, "table")).split("\n")
    rows = [(number, row) for number, row in enumerate(csv.reader(lines), start=1) if row and row[0][:1] != "#"]
    if not rows:
        raise InputError(f"{path.name} is empty, expected a first row with the columns {', '.join(COLUMNS)}")
    number, header = rows.pop(0)
    names = [name.strip() for name in header]
    wrong = [name for name in names if name not in COLUMNS or names.count(name) > 1]
    lacking = [name for name in COLUMNS if name not in names]
    if wrong or lacking:
        found = f"there is {wrong[0]!r}" if wrong else f"{lacking[0]} is not there"
        raise InputError(f"{path.name}, line {number}: expected the columns {', '.join(COLUMNS)}, each once; {found}")
    if not rows:
        raise InputError(f"{path.name} has no nucleosome: expected a row for each below the names of columns")
    places, linkers = [], []
    for number, row in rows:
        where = f"{path.name}, line {number}"
        if len(row) != len(names):
            raise InputError(f"{where}: {len(row)} values, expected {len(names)}, as many as columns")
        cells = dict(zip(names, (cell.strip() for cell in row)))
        places.append([_number(cells[name], where, name) for name in PLACES])
        linkers.append(_linker(cells["linker"], where, is_last=number == rows[-1][0]))
    table = np.array(places)
    rotation = np.array([_rotation(row[3:6], row[6:9], f"{path.name}, line {n}") for row, (n, _) in zip(table, rows)])
    return Nucleosomes(Frames(table[:, :3], rotation), linkers[:-1], [n for n, _ in rows], path.name)


def _number(text: str, where: str, name: str) -> float:
    try:
        value = float(text.replace("_", "?"))
    except ValueError:
        value = np.nan
    if not abs(value) < FURTHEST:
        raise InputError(f"{where}: {name} is {text!r}, expected a number below 10⁷ in magnitude")
    return value


def _linker(text: str, where: str, is_last: bool) -> int:
    if is_last and text in ("", "0"):
        return 0
    if is_last:
        raise InputError(f"{where}: linker is {text!r}, but no nucleosome follows: leave it empty")
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= LONGEST:
        raise InputError(f"{where}: linker is {text!r}, expected base pairs, 1 to {LONGEST:,}")
    return int(text)


def _rotation(axis: FloatArray, dyad: FloatArray, where: str) -> FloatArray:
    """Returns the rotation with z along the axis and x to the dyad."""
    for name, direction in (("axis", axis), ("dyad", dyad)):
        if not np.linalg.norm(direction) > 0:
            raise InputError(f"{where}: {name}_x, {name}_y and {name}_z are all 0, expected a direction")
    z, x = axis / np.linalg.norm(axis), dyad / np.linalg.norm(dyad)
    askew = np.degrees(np.arcsin(min(abs(float(z @ x)), 1.0)))
    if askew > _ASKEW:
        raise InputError(
            f"{where}: axis and dyad are {90 - askew:.1f}° apart, expected a right angle within {_ASKEW:g}°"
        )
    x = x - (x @ z) * z
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
