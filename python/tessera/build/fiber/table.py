"""Reads where the nucleosomes of a fibre are: a CSV file with a row for each, in the order of the first strand.

Columns are named in the first row: the centre x, y, z in Å; the axis of the superhelix axis_x, axis_y, axis_z, as the
first strand climbs; the direction from it to the dyad dyad_x, dyad_y, dyad_z; and linker, the base pairs from there to
the next nucleosome, which the last row may leave empty. Lines that begin with # are comments.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tessera.build.atoms import FURTHEST
from tessera.build.dna.frames import Frames
from tessera.build.fiber.columns import read_columns
from tessera.errors import InputError
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
    rows = read_columns(path, COLUMNS, "table", "nucleosome").rows
    linkers, rotations, origins = [], [], []
    for row in rows:
        place = np.array([row.number(name, FURTHEST) for name in PLACES])
        origins.append(place[:3])
        rotations.append(_rotation(place[3:6], place[6:9], row.where))
        linkers.append(_linker(row.cells["linker"], row.where, is_last=row is rows[-1]))
    frames = Frames(np.array(origins), np.array(rotations))
    return Nucleosomes(frames, linkers[:-1], [row.line for row in rows], path.name)


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
