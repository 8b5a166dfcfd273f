"""Shapes of periodic boxes: lengths and angles, heights, and the form in which systems have them.

A system's box has lower triangular rows a = (ax, 0, 0), b = (bx, by, 0), c = (cx, cy, cz) with a positive diagonal,
reduced: |bx| and |cx| are at most ax/2, and |cy| is at most by/2. Every lattice has such vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.system.model import FloatArray, IdArray

#: Å; in a longer box positions would be rounded to more than 3e-4 Å
LONGEST = 1e6
_ROUNDING = 1e-6  # Å: what rounding may leave beyond the diagonal of a matrix


@dataclass(frozen=True)
class Placed:
    """A box in a system's form, and the rotation that brings vectors (n,3) of the input into its frame: v @ rotation.

    `rotation` is None where the frame is the input's, and `reduced` says whether the vectors were replaced by shorter
    ones of the same lattice.
    """

    box: FloatArray  # (3,3) Å
    rotation: FloatArray | None
    reduced: bool


def lengths_and_angles(box: FloatArray) -> FloatArray:
    """Returns (6,): the lengths of the vectors in Å and the angles α, β, γ in degrees."""
    lengths = np.linalg.norm(box, axis=1)
    a, b, c = box / lengths[:, None]
    cosines = np.clip([b @ c, a @ c, a @ b], -1, 1)
    return np.concatenate([lengths, np.degrees(np.arccos(cosines))])


def heights(box: FloatArray) -> FloatArray:
    """Returns (3,) Å: the distances of opposite faces, in the order of the vectors that join them."""
    return np.asarray(1 / np.linalg.norm(np.linalg.inv(box), axis=0))


def is_orthorhombic(box: FloatArray) -> bool:
    """Returns whether the box has nothing beyond its diagonal."""
    return np.count_nonzero(box - np.diag(np.diag(box))) == 0


def describe_box(box: FloatArray, digits: int = 4) -> str:
    """Returns a text such as "30.0000 × 30.0000 × 30.0000 Å, angles 70.53°, 109.47°, 70.53°"."""
    numbers = lengths_and_angles(box)
    lengths = " × ".join(f"{length:.{digits}f}" for length in numbers[:3])
    if is_orthorhombic(box):
        return f"{lengths} Å"
    return f"{lengths} Å, angles {', '.join(f'{angle:.2f}°' for angle in numbers[3:])}"


def reduced(box: FloatArray) -> FloatArray:
    """Returns the lower triangular rows with whole multiples of the earlier vectors taken off the later ones, so that
    each component beyond the diagonal is at most half of the diagonal above it. The lattice is the same."""
    a, b, c = np.array(box, np.float64)
    c = c - b * _turns(c[1], b[1])
    c = c - a * _turns(c[0], a[0])
    b = b - a * _turns(b[0], a[0])
    return _without_rounding(np.array([a, b, c]))


def in_vectors(fraction: NDArray[np.int32], box: FloatArray, other: FloatArray) -> NDArray[np.int32]:
    """Returns fractions (n,3) of `box`, in units of 2⁻³², as those of other vectors of the same lattice, exactly."""
    turns = np.rint(box @ np.linalg.inv(other)).astype(np.int64)
    return np.asarray((fraction.astype(np.int64) @ turns).astype(np.int32))


def with_images(fraction: NDArray[np.int32], box: FloatArray, reach: float) -> tuple[FloatArray, IdArray]:
    """Returns the positions (m,3) Å of all atoms, then those of their images within `reach` (Å) of the faces, and the
    atoms (m,) that they are of. `reach` is at most the least height of the box."""
    turns, atom = fraction * 2.0**-32, np.arange(len(fraction))
    for d, width in enumerate(reach / heights(box)):
        near = [np.flatnonzero(face * turns[:, d] < width - 0.5) for face in (1, -1)]
        images = turns[np.concatenate(near)]
        images[:, d] += np.repeat([1.0, -1.0], [len(rows) for rows in near])
        turns, atom = np.concatenate([turns, images]), np.concatenate([atom, atom[np.concatenate(near)]])
    return turns @ box, atom


def placed(vectors: FloatArray) -> Placed:
    """Returns any three vectors (3,3) Å in the form of a system's box. The third of left-handed ones is turned round,
    which keeps the lattice. Raises `InputError` where they span no volume or are not finite."""
    vectors = np.array(vectors, np.float64)
    lengths = np.linalg.norm(vectors, axis=1)
    if not np.isfinite(vectors).all() or not (lengths > 0).all():
        raise InputError(f"box vectors must be finite and longer than 0 Å, found {vectors.tolist()}")
    if lengths.max() > LONGEST:
        raise InputError(f"box vectors must be at most {LONGEST:,.0f} Å long, found one of {lengths.max():.6g} Å")
    volume = float(np.linalg.det(vectors / lengths[:, None]))
    if abs(volume) < 1e-6:
        raise InputError(f"the box vectors lie in a plane: {vectors.tolist()}")
    vectors = _without_rounding(vectors)
    rotation = None
    if np.triu(vectors, 1).any() or (np.diag(vectors) < 0).any():
        if volume < 0:
            vectors[2] *= -1
        orthogonal, upper = np.linalg.qr(vectors.T)
        rotation = orthogonal * np.sign(np.diag(upper))
        vectors = _without_rounding(np.tril(vectors @ rotation))
    box = reduced(vectors)
    return Placed(box, rotation, not np.array_equal(box, vectors))


def _without_rounding(vectors: FloatArray) -> FloatArray:
    return np.where(np.abs(vectors) <= _ROUNDING, 0.0, vectors)


def _turns(length: float, period: float) -> float:
    """Returns the whole periods to take off; none where the length is half a period but for rounding."""
    turns = length / period
    return 0.0 if abs(turns) <= 0.5 + 1e-9 else float(np.rint(turns))
