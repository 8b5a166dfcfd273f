"""Chooses molecules of a liquid whose places ions take."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tessera.build.solvent.room import FROM_IONS, Room, Tiling
from tessera.errors import InputError
from tessera.system.model import FloatArray, IdArray

_TRIES = 20  # of each place, on average, before there is no room
_SPARE = 1.5  # of places drawn at a time beyond those that are wanted


class Bits:
    """The bits that are set in rows of bytes (rows,bytes), counted from the first row."""

    def __init__(self, bits: NDArray[np.uint8], width: int) -> None:
        self._bits, self._width = bits, width
        counts = np.bitwise_count(bits)
        ends = np.cumsum(counts, axis=1, dtype=np.uint16)
        self._before = ends - counts  # of each byte, those in its row
        self.first = np.append(0, np.cumsum(ends[:, -1], dtype=np.int64))

    @property
    def total(self) -> int:
        return int(self.first[-1])

    def find(self, numbers: IdArray) -> tuple[IdArray, IdArray]:
        """Returns the row and the column of each of these set bits."""
        row = np.searchsorted(self.first, numbers, side="right") - 1
        left = numbers - self.first[row]
        byte = np.count_nonzero(self._before[row] <= left[:, None], axis=1) - 1
        left -= self._before[row, byte]
        order = np.cumsum(np.unpackbits(self._bits[row, byte][:, None], axis=1), axis=1)
        return row, 8 * byte + np.argmax(order == left[:, None] + 1, axis=1)

    def number(self, row: IdArray, column: IdArray) -> IdArray:
        """Returns which of the set bits are in these rows and columns: `find` backwards."""
        byte, bit = column >> 3, (column & 7).astype(np.uint16)
        in_byte = np.bitwise_count(self._bits[row, byte].astype(np.uint16) >> (8 - bit))
        return np.asarray(self.first[row] + self._before[row, byte] + in_byte)


def choose_places(tiling: Tiling, room: Room, count: int, seed: int) -> tuple[IdArray, IdArray]:
    """Returns copies and molecules (count,) in the order in which they were drawn, no two within the least distance of
    each other. Raises `InputError` where there is no room for as many."""
    places = Bits(room.ions, tiling.n)
    random = np.random.Generator(np.random.Philox(key=seed))
    chosen: tuple[IdArray, IdArray] = (np.zeros(0, np.int64), np.zeros(0, np.int64))
    point = np.zeros((0, 3))
    drawn = 0
    while len(point) < count:
        if drawn >= _TRIES * places.total:
            raise InputError(
                f"{count:,} ions {FROM_IONS:g} Å from the molecules and from each other have no room in the box, "
                f"{len(point):,} have: give a larger --padding, or less --salt"
            )
        step = int(_SPARE * (count - len(point))) + 1
        # What is drawn a second time is too near to itself.
        copies, rows = places.find(random.integers(0, places.total, step))
        drawn += step
        new = tiling.molecules(copies, rows)[:, 0]
        kept = _apart(new, point, tiling.edges)
        chosen = (np.concatenate([chosen[0], copies[kept]]), np.concatenate([chosen[1], rows[kept]]))
        point = np.concatenate([point, new[kept]])
    return chosen[0][:count], chosen[1][:count]


def _apart(new: FloatArray, old: FloatArray, edges: FloatArray) -> NDArray[np.bool_]:
    """Tells which points stay: those that are near to none before them, of the old ones and of the new."""
    stays = np.ones(len(new), bool)
    tree = cKDTree(new % edges, boxsize=edges)
    if len(old):
        distance, _ = cKDTree(old % edges, boxsize=edges).query(new % edges, distance_upper_bound=FROM_IONS)
        stays &= ~np.isfinite(distance)
    pairs = np.sort(tree.query_pairs(FROM_IONS, output_type="ndarray"), axis=1)
    for first, second in pairs[np.lexsort((pairs[:, 0], pairs[:, 1]))].tolist():
        stays[second] &= not stays[first]
    return stays
