"""Defines the content of a file of coordinates."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from tessera.errors import InputError
from tessera.system.model import FloatArray, IndexArray

NO_NUMBER = np.iinfo(np.int32).min  # no residue number, or one that is not decimal


@dataclass
class Coordinates:
    """Positions (n,3) Å, box (3,3) Å of any orientation, and velocities (n,3) Å/ps. Names, of at most eight characters,
    are for checks where the file has them."""

    position: FloatArray
    box: FloatArray | None = None
    velocity: FloatArray | None = None
    name: np.ndarray | None = None  # (n,) atom names
    name_width: int | None = None  # characters that the format has room for
    residue: np.ndarray | None = None  # (n,) residue labels with insertion codes
    residue_number: IndexArray | None = None  # (n,) or `NO_NUMBER`
    has_angles: bool = True  # False: the file gives no angles of its box, which are taken as 90°

    def label(self, name: np.ndarray, residue: np.ndarray, width: int | None = None) -> Coordinates:
        """Sets the names and returns this object."""
        self.name, self.name_width = name, width
        self.residue, self.residue_number = residue, _residue_numbers(residue)
        return self

    def clear(self) -> None:
        """Gives up all but the box."""
        self.position, self.velocity = np.zeros((0, 3)), None
        self.name = self.residue = self.residue_number = None


def box_from_lengths(lengths: Any, angles: Any = (90.0, 90.0, 90.0)) -> FloatArray | None:
    """Converts edges (3) Å and angles (3) degrees to lower triangular rows; there is no box where an edge is 0.

    Raises `InputError` where there is no box with these edges and angles.
    """
    a, b, c = (float(x) for x in lengths)
    angles = [float(x) for x in angles]
    if min(a, b, c) == 0:
        return None
    if not (np.isfinite([a, b, c, *angles]).all() and min(a, b, c) > 0 and all(0 < x < 180 for x in angles)):
        raise InputError(f"the box has edges {a:g}, {b:g}, {c:g} Å and angles {', '.join(f'{x:g}' for x in angles)}°")
    if all(abs(x - 90.0) < 1e-6 for x in angles):
        return np.diag([a, b, c])
    alpha, beta, gamma = np.radians(angles)
    bx, by = b * np.cos(gamma), b * np.sin(gamma)
    cx = c * np.cos(beta)
    cy = c * (np.cos(alpha) - np.cos(beta) * np.cos(gamma)) / np.sin(gamma)
    height = c * c - cx * cx - cy * cy
    if height <= 0:
        raise InputError(f"no box has the angles {', '.join(f'{x:g}' for x in angles)}°")
    return np.array([[a, 0, 0], [bx, by, 0], [cx, cy, np.sqrt(height)]], np.float64)


def _residue_numbers(labels: np.ndarray) -> IndexArray:
    """Returns the numbers of labels such as `52` and `52A` (an insertion code). A label with other letters has no
    number."""
    unique, inverse = np.unique(labels.astype("S8").view(np.uint64), return_inverse=True)
    matches = [re.fullmatch(rb"\s*(-?\d+)[A-Za-z]?\s*", text) for text in unique.view("S8")]
    numbers = [int(match[1]) if match and len(match[1]) < 9 else NO_NUMBER for match in matches]
    return np.array(numbers, np.int32)[inverse]
