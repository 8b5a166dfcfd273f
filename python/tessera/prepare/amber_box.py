"""Chooses the box of an AMBER system, of which the prmtop tells the shape and the coordinates tell the size.

IFBOX of a prmtop is 0 without a box, 1 for a rectangular one, 2 for a truncated octahedron and 3 for any other.
BOX_DIMENSIONS has one angle, β, which tells the other two only of a rectangular box and of an octahedron, and edges,
which are those of the first structure. Coordinates have edges, but not always angles: AMBER's older restarts end with
three numbers, and some programs write 90° for any box.
"""

from __future__ import annotations

import numpy as np

from tessera.prepare.coordinates import Coordinates, box_from_lengths
from tessera.prepare.errors import InputError
from tessera.prepare.prmtop import Prmtop
from tessera.system.box import lengths_and_angles

_RIGHT = (90.0, 90.0, 90.0)
_OCTAHEDRON = 109.4712206344907  # degrees: the cosine is −1/3
_ANGLE_DIGITS, _EDGE_DIGITS = 0.02, 0.02  # degrees and Å: CRYST1 has two decimals of angles
_MEND = "give --box A B C with --box-angles ALPHA BETA GAMMA, or a file with six numbers of the box"

_Angles = tuple[float, ...]


def choose_box(raw: Prmtop, found: Coordinates, file: str) -> list[str]:
    """Gives `found` the box that the prmtop and the coordinate file together describe; returns notes. Raises
    `InputError` where they contradict each other, and where a restart, which has room for a box, has none."""
    kind = raw.pointers["IFBOX"]
    if kind == 0:
        unused = "" if found.box is None else f", and the box of {file} is not used"
        return [f"{raw.name} says that nothing repeats (IFBOX = 0): the system is in vacuum{unused}"]
    beta, *edges = raw.numbers("BOX_DIMENSIONS").tolist() if raw.has("BOX_DIMENSIONS") else [0.0] * 4
    if found.box is not None:
        return _with_angles(raw, found, file, kind, beta)
    if found.name is None:
        raise InputError(
            f"{file} has no box, but {raw.name} says that the system repeats (IFBOX is {kind}): is its last line "
            "missing? Give --box or --vacuum otherwise"
        )
    angles = _angles_of(kind, beta)
    if angles is None or not raw.has("BOX_DIMENSIONS"):
        return []
    found.box = box_from_lengths(edges, angles)
    return [f"{file} has no box: that of {raw.name} is used"] if found.box is not None else []


def _angles_of(kind: int, beta: float) -> _Angles | None:
    """Returns the angles of a box in degrees that the prmtop tells; none where β does not tell the others."""
    if _same((beta,), (_OCTAHEDRON,)):
        return (beta,) * 3
    if kind == 2:
        return (_OCTAHEDRON,) * 3
    return _RIGHT if kind == 1 and beta in (0.0, 90.0) else None


def _same(one: _Angles, other: _Angles) -> bool:
    return np.allclose(one, other, rtol=0, atol=_ANGLE_DIGITS)


def _with_angles(raw: Prmtop, found: Coordinates, file: str, kind: int, beta: float) -> list[str]:
    """Compares the angles of the box of `found` with the prmtop's, and gives it these where it has none or 90°."""
    a, b, c, *angles_in_file = lengths_and_angles(found.box).tolist()
    given = tuple(angles_in_file)
    angles = _angles_of(kind, beta)
    where = f"{raw.name} says IFBOX = {kind}" + (f" and the angle {beta:g}°" if raw.has("BOX_DIMENSIONS") else "")
    if angles is None:
        if not found.has_angles:
            raise InputError(f"{file} has no angles of the box, and {where}, which does not tell them all: {_MEND}")
        if beta == 0 or any(_same((x,), (beta,)) for x in given):
            return []
    elif found.has_angles and _same(given, angles):
        return []
    elif not _same(given, _RIGHT) and not (not found.has_angles and _same(given[1:2], angles[1:2])):
        angles = None
    if angles is None:
        text = ", ".join(f"{x:.6g}" for x in given)
        raise InputError(f"{file} has a box with the angles {text}°, but {where}: {_MEND}")
    if kind == 2 and max(a, b, c) - min(a, b, c) > _EDGE_DIGITS:
        box = f"{a:g} × {b:g} × {c:g} Å"
        raise InputError(f"{file} has a box of {box}, but {where}: a truncated octahedron has equal edges; {_MEND}")
    found.box = box_from_lengths((a, b, c), angles)
    if angles == _RIGHT:
        return []
    lacks = "has angles of 90°" if found.has_angles else "has no angles"
    return [f"the box of {file} {lacks}: those of {raw.name} are taken, {', '.join(f'{x:g}' for x in angles)}°"]
