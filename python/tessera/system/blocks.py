"""Fractions of the box and the order of rows in a system file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.system.arrays import FloatArray, IdArray

BLOCK_EDGE = 16.0  # Å, about
MOST_BLOCKS = 2**20  # about, of fewer atoms
AT_ONCE = 1_000_000  # atoms whose positions are converted together
MOST_TURNS = 2**20  # farther away, in box vectors, doubles are coarser than fractions
FASTEST = 2048.0  # Å/ps; the engine's velocities are int32 in units of 2⁻²⁰ Å/ps


@dataclass(frozen=True)
class Rows:
    """The n atoms of some blocks, in the order of a system file."""

    first_block: int
    atoms_of_block: IdArray  # (blocks,)
    id: IdArray  # (n,)
    fraction: NDArray[np.int32]  # (n,3)
    velocity: FloatArray | None  # (n,3) Å/ps


@dataclass(frozen=True)
class Parts:
    """The atoms of a system in parts, which follow each other in a system file and are made one by one: part i is
    `make(i)`."""

    count: int
    make: Callable[[int], Rows]


def to_fraction(position: FloatArray, box: FloatArray) -> NDArray[np.int32]:
    """Converts positions (n,3) Å to int32 fractions in [−½, ½) of each box vector. Raises `InputError` for one
    that is so many boxes away that its place is lost in rounding."""
    out = np.empty((len(position), 3), np.int32)
    diagonal, inverse = np.diag(box), np.asarray(np.linalg.inv(box), np.float64)
    is_diagonal = np.count_nonzero(box - np.diag(diagonal)) == 0
    for begin in range(0, len(position), AT_ONCE):
        part = position[begin : begin + AT_ONCE]
        fraction = part / diagonal if is_diagonal else times(part, inverse)
        far = np.flatnonzero(~(np.abs(fraction) <= MOST_TURNS).all(axis=1))
        if len(far):
            atom = begin + int(far[0])
            x, y, z = position[atom]
            raise InputError(
                f"atom {atom + 1:,} is at ({x:g} {y:g} {z:g}) Å, more than {MOST_TURNS:,} boxes away; "
                "give it a place near the box"
            )
        fraction = fraction - np.rint(fraction)
        # A value that is rounded up to +½ correctly wraps to −½.
        out[begin : begin + AT_ONCE] = np.rint(fraction * 2.0**32).astype(np.int64).astype(np.int32)
    return out


def too_fast(velocity: FloatArray) -> IdArray:
    """Returns the rows of velocities (n,3) Å/ps, in rising order, that the engine has no numbers for; they may be not
    finite."""
    with np.errstate(over="ignore"):
        return np.flatnonzero(~(np.linalg.norm(velocity, axis=1) < FASTEST - 2.0**-20))


def times(vectors: FloatArray, matrix: FloatArray) -> FloatArray:
    """Returns vectors (n,3) @ matrix (3,3); the bits of each do not depend on the others, as those of libraries may."""
    return vectors[:, :1] * matrix[0] + vectors[:, 1:2] * matrix[1] + vectors[:, 2:] * matrix[2]


def block_grid(box: FloatArray, n_atoms: int) -> NDArray[np.int32]:
    """Returns the number of blocks (3,) along each box vector of a system file. They are larger in a box, or the frame
    of a vacuum, that is so empty that there would be many more of them than atoms."""
    lengths = np.linalg.norm(box, axis=1)
    edge = max(BLOCK_EDGE, float(np.cbrt(np.prod(lengths) / max(n_atoms, MOST_BLOCKS))))
    return np.maximum(1, np.rint(lengths / edge)).astype(np.int32)


def block_of(fraction: NDArray[np.int32], grid: NDArray[np.int32]) -> IdArray:
    """Returns the block (n,) of each fraction."""
    index = ((fraction.astype(np.int64) + 2**31) * grid.astype(np.int64)) >> 32
    return (index[:, 0] * grid[1] + index[:, 1]) * grid[2] + index[:, 2]


def block_order(block: NDArray[np.int32], key: IdArray, ids: IdArray) -> IdArray:
    """Returns the order (n,) in which atoms stand in a system file. All are (n,): the block of each atom's group, the
    id of the group's key atom, and the atom's own.

    The atoms of a group follow each other in the block of its key atom, which comes first; groups are in ascending
    order of their key atoms.
    """
    return np.lexsort((ids, ids != key, key, block)).astype(np.int64)
