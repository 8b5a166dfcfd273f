"""Makes the atoms of a solute in water with ions, column by column of the blocks of a system file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.build.solvent.ions import Bits
from tessera.build.solvent.room import Tiling
from tessera.system.blocks import Rows, block_of, block_order, to_fraction
from tessera.system.model import FloatArray, IdArray


@dataclass(frozen=True)
class Atoms:
    """Atoms (n,) with the block of their hydrogen group, their ids and their fractions."""

    block: NDArray[np.integer[Any]]
    id: IdArray
    fraction: NDArray[np.int32]

    @classmethod
    def in_file_order(cls, key: IdArray, first: int, fraction: NDArray[np.int32], grid: NDArray[np.int32]) -> Atoms:
        """Returns atoms whose ids begin with `first` in the order of a system file; `key` (n,) are the rows of their
        key atoms."""
        block = block_of(fraction, grid)[key].astype(np.int32)
        order = block_order(block, key, np.arange(len(key)))
        return cls(block[order], first + order, fraction[order])

    def between(self, low: int, high: int) -> Atoms:
        """Returns those in the blocks from `low` to `high`, of atoms in the order of a system file."""
        begin, end = np.searchsorted(self.block, [low, high])
        return Atoms(self.block[begin:end], self.id[begin:end], self.fraction[begin:end])


class RowMaker:
    """Makes the rows of some columns of blocks: the solute first, then water, then ions.

    A molecule of the tile has the same x in all copies of a layer of tiles, so that fractions and blocks of water are
    looked up in one table an axis, and nothing is computed for an atom but its place in the file.
    """

    def __init__(
        self, tiling: Tiling, there: NDArray[np.uint8], solute: Atoms, ions: Atoms, grid: NDArray[np.int32]
    ) -> None:
        self._tiling, self._there, self._solute, self._ions, self._grid = tiling, there, solute, ions, grid
        self._numbers = Bits(there, tiling.n)
        self._fraction = [_fractions(tiling, axis) for axis in range(3)]
        self._block = [((own[:, :, 0].astype(np.int64) + 2**31) * int(n)) >> 32 for own, n in zip(self._fraction, grid)]

    def rows(self, begin: int, end: int) -> Rows:
        """Returns the atoms of the blocks in the columns along the third vector from `begin` to `end`: whole layers, or
        some of one layer."""
        low, high = (int(self._grid[2]) * column for column in (begin, end))
        parts = [self._solute.between(low, high), self._water(begin, end), self._ions.between(low, high)]
        block = np.concatenate([part.block for part in parts]) - low
        # Short integers are sorted in linear time; what is in a block stays in order.
        order = np.argsort(block.astype(np.min_scalar_type(high - low)), kind="stable")
        ids, fraction = (np.concatenate([getattr(part, name) for part in parts]) for name in ("id", "fraction"))
        count = np.bincount(block, minlength=high - low).astype(np.int64)
        return Rows(low, count, ids[order], fraction[order], None)

    def _water(self, begin: int, end: int) -> Atoms:
        """Returns the water in some columns by its numbers."""
        ny = int(self._grid[1])
        first = 0 if end - begin >= ny else begin % ny
        inside_x = _between(self._block[0], begin // ny, -(-end // ny))
        inside_y = _between(self._block[1], first, first + min(end - begin, ny))
        xs, ys = (np.flatnonzero(inside.any(axis=1)) for inside in (inside_x, inside_y))
        there = self._there.reshape(*self._tiling.copies, -1)[np.ix_(xs, ys)]
        there &= np.packbits(inside_x[xs], axis=1)[:, None, None]
        there &= np.packbits(inside_y[ys], axis=1)[None, :, None]
        is_set = np.unpackbits(there, axis=-1, count=self._tiling.n)
        found, row = np.divmod(np.flatnonzero(is_set), self._tiling.n)
        x, y, z = np.unravel_index(found, there.shape[:3])
        copy = (xs[x], ys[y], z)
        number = self._numbers.number(np.ravel_multi_index(copy, self._tiling.copies), row)
        along = [table[at, row] for table, at in zip(self._block, copy)]
        block = (along[0] * ny + along[1]) * int(self._grid[2]) + along[2]
        size = self._tiling.tile.shape[1]
        ids = (len(self._solute.id) + size * number)[:, None] + np.arange(size)
        fraction = np.empty((len(number), size, 3), np.int32)
        for axis, at in enumerate(copy):
            fraction[:, :, axis] = self._fraction[axis][at, row]
        return Atoms(np.repeat(block, size), ids.reshape(-1), fraction.reshape(-1, 3))


def _between(values: IdArray, low: int, high: int) -> NDArray[np.bool_]:
    return (values >= low) & (values < high)


def _fractions(tiling: Tiling, axis: int) -> NDArray[np.int32]:
    """Returns the fractions (copies,m,atoms) along an axis of the molecules in each layer of tiles."""
    place: FloatArray = tiling.tile[None, :, :, axis] + tiling.faces(axis)[:, None, None]
    cube = np.diag(tiling.edges[[axis] * 3])
    return to_fraction(np.repeat(place.reshape(-1, 1), 3, axis=1), cube)[:, 0].reshape(place.shape)
