"""Copies of a system side by side, block by block of the result, so that it need not be in memory.

Atoms of a block are found from those of the system that is copied: hydrogen groups are sorted once by their place
along the first box vector, and what a copy has in a layer of blocks is a range of them. So any layer is made alone,
from nothing but the system that is copied, and what is written does not depend on how much memory may be used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tessera.build.streamed import (
    BYTES_OF_ATOM,
    BYTES_OF_ATOM_WITH_VELOCITY,
    BYTES_PER_ATOM,
    ranges_of_columns,
)
from tessera.system import System
from tessera.system.blocks import Parts, Rows, block_grid, block_of
from tessera.system.box import in_vectors, reduced
from tessera.system.layout import first_runs, repeated
from tessera.system.model import FloatArray, IdArray

BYTES_PER_ATOM_OF_ORIGINAL = 150
MARGIN = 1e-6  # of a box edge: how far beyond a layer atoms are looked for, because fractions are rounded


@dataclass(frozen=True)
class Copies:
    """`count` copies of `original` along its three box vectors. Each run grows in place: it has all its instances in
    the first copy, then all in the second, and so on, so ids change but there are no more runs. A chain of units is
    followed by its copies."""

    original: System
    count: tuple[int, int, int]
    turns: FloatArray  # (N,3) fractions of the original's box, with whole molecules
    source: str

    @property
    def system(self) -> System:
        """The copies without their atoms."""
        return replace(
            repeated(self.original, math.prod(self.count)),
            box=reduced(self._box),
            source=self.source,
            fraction=np.zeros((0, 3), np.int32),
            velocity=None if self.original.velocity is None else np.zeros((0, 3)),
        )

    @property
    def n_atoms(self) -> int:
        return math.prod(self.count) * self.original.n_atoms

    @property
    def _box(self) -> FloatArray:
        return np.asarray(self.original.box * np.array(self.count, np.float64)[:, None])

    def in_memory(self) -> System:
        """Returns the copies as a system in memory."""
        made = self.system
        made.fraction = np.empty((made.n_atoms, 3), np.int32)
        if made.velocity is not None:
            made.velocity = np.empty((made.n_atoms, 3))
        parts = self.parts(2**62)
        for part in map(parts.make, range(parts.count)):
            made.fraction[part.id] = part.fraction
            if made.velocity is not None and part.velocity is not None:
                made.velocity[part.id] = part.velocity
        return made

    def file_bytes(self) -> int:
        """Returns about how long the system file will be."""
        return self.n_atoms * (BYTES_OF_ATOM if self.original.velocity is None else BYTES_OF_ATOM_WITH_VELOCITY)

    def least_memory(self, processes: int = 1) -> int:
        """Returns the bytes of memory without which no part can be made: those of the original and a row of blocks."""
        columns = int(np.prod(block_grid(reduced(self._box), self.n_atoms)[:2].astype(np.int64)))
        return (BYTES_PER_ATOM_OF_ORIGINAL * self.original.n_atoms) + BYTES_PER_ATOM * processes * (
            self.n_atoms // columns
        )

    def parts(self, memory: int, processes: int = 1, workers: int = 1) -> Parts:
        """Returns the atoms in parts of which this many `processes` can each make one in about `memory` bytes together,
        and no fewer than `workers` of them if there are so many rows of blocks."""
        groups = _Groups.of(self)
        n_atoms = self.n_atoms
        grid = block_grid(groups.box, n_atoms)
        left = memory - BYTES_PER_ATOM_OF_ORIGINAL * self.original.n_atoms
        at_once = min(left // (BYTES_PER_ATOM * processes), -(-n_atoms // workers))
        ranges = ranges_of_columns(grid, n_atoms, at_once)
        return Parts(len(ranges), lambda part: groups.rows(grid, *ranges[part]))


@dataclass(frozen=True)
class _Groups:
    """The hydrogen groups of the original and their copies.

    A copy (i,j,k) of a group whose key is at the fractions t has the fraction s + shift along the first vector of the
    copies' box, modulo 1, where s follows from t and the shift from (i,j,k) alone. The same holds for the second.
    """

    copies: Copies
    box: FloatArray  # of the copies, reduced
    key: IdArray  # (groups,) original atoms, in ascending order of `place`
    place: FloatArray  # (groups,) s along the first vector, in [0, 1)
    place_range: tuple[float, float]  # of s along the second vector
    shift: FloatArray  # (copies,2)
    first: IdArray  # (groups + 1,) of each group in `members`
    members: IdArray  # (N,) original atoms, the key first, the others in ascending order
    base: IdArray  # (N,) the id of an atom in the first copy
    stride: IdArray  # (N,) how much greater it is in the next copy

    @classmethod
    def of(cls, copies: Copies) -> _Groups:
        original, count = copies.original, np.array(copies.count, np.float64)
        box = copies._box
        short = reduced(box)
        # Fractions of the reduced box are those of the box times a matrix of whole numbers.
        turn = np.rint(box @ np.linalg.inv(short))
        key_of_atom = original.group_key()
        ids = np.arange(original.n_atoms)
        key = np.flatnonzero(key_of_atom == ids)
        place = ((copies.turns[key] / count) @ turn)[:, :2]
        order = np.argsort(place[:, 0] % 1.0, kind="stable")
        key, place = key[order], place[order]
        rank = np.empty(original.n_atoms, np.int64)
        rank[key] = np.arange(len(key))
        group = rank[key_of_atom]
        members = np.lexsort((ids, ids != key_of_atom, group))
        first = np.searchsorted(group[members], np.arange(len(key) + 1))
        shift = (np.stack(np.unravel_index(np.arange(int(np.prod(copies.count))), copies.count), axis=1) / count) @ turn
        in_runs = original.template_sizes()[original.runs[:, 0]] * original.runs[:, 1]
        atoms = np.add.reduceat(in_runs, first_runs(original))
        begin = np.cumsum(atoms) - atoms
        base = np.concatenate([np.arange(n) + b * len(shift) for n, b in zip(atoms, begin)])
        return cls(
            copies,
            short,
            key,
            place[:, 0] % 1.0,
            (float(place[:, 1].min()), float(place[:, 1].max())),
            shift[:, :2] % 1.0,
            first,
            members,
            base,
            np.repeat(atoms, atoms),
        )

    def rows(self, grid: NDArray[np.int32], begin: int, end: int) -> Rows:
        """Returns the atoms of the blocks in the columns along the third vector from `begin` to `end`."""
        nz = int(grid[2])
        group, copy = self._near(grid, begin, end)
        block = block_of(self._fraction(self.key[group], copy), grid)
        inside = (block >= begin * nz) & (block < end * nz)
        group, copy, block = group[inside], copy[inside], block[inside]
        key_id = self.base[self.key[group]] + copy * self.stride[self.key[group]]
        order = np.lexsort((key_id, block))
        group, copy, block = group[order], copy[order], block[order]
        size = self.first[group + 1] - self.first[group]
        atom = self.members[_ranges(self.first[group], size)]
        copy = np.repeat(copy, size)
        velocity = self.copies.original.velocity
        return Rows(
            begin * nz,
            np.bincount(np.repeat(block - begin * nz, size), minlength=(end - begin) * nz).astype(np.int64),
            self.base[atom] + copy * self.stride[atom],
            self._fraction(atom, copy),
            None if velocity is None else velocity[atom],
        )

    def _near(self, grid: NDArray[np.int32], begin: int, end: int) -> tuple[IdArray, IdArray]:
        """Returns groups and copies (n,) of which all that are in these columns are some."""
        nx, ny = int(grid[0]), int(grid[1])
        low, high = begin // ny, -(-end // ny)  # layers
        copies = np.arange(len(self.shift))
        if end - begin < ny:
            # The fraction of a layer's columns, counted from −½ as blocks are.
            wanted = (begin % ny) / ny - 0.5 - MARGIN
            width = (end - begin) / ny + self.place_range[1] - self.place_range[0] + 2 * MARGIN
            from_first = (self.shift[:, 1] + self.place_range[1] - wanted) % 1.0
            copies = copies[from_first <= width]
        shifts, of_copy = np.unique(self.shift[copies, 0], return_inverse=True)
        by_shift = np.argsort(of_copy, kind="stable")
        bounds = np.searchsorted(of_copy[by_shift], np.arange(len(shifts) + 1))
        found_groups, found_copies = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for index, shift in enumerate(shifts):
            groups = self._between(low / nx - 0.5 - shift - MARGIN, (high - low) / nx + 2 * MARGIN)
            if not len(groups):
                continue
            those = copies[by_shift[bounds[index] : bounds[index + 1]]]
            found_groups.append(np.tile(groups, len(those)))
            found_copies.append(np.repeat(those, len(groups)))
        return np.concatenate(found_groups), np.concatenate(found_copies)

    def _between(self, low: float, width: float) -> IdArray:
        """Returns the groups whose place is up to `width` above `low`, modulo 1."""
        if width >= 1:
            return np.arange(len(self.place))
        low %= 1.0
        ends = np.searchsorted(self.place, [low, low + width, low + width - 1.0])
        return np.concatenate([np.arange(ends[2]), np.arange(ends[0], ends[1])])

    def _fraction(self, atom: IdArray, copy: IdArray) -> NDArray[np.int32]:
        fraction = np.empty((len(atom), 3), np.int32)
        for axis, (count, shift) in enumerate(zip(self.copies.count, np.unravel_index(copy, self.copies.count))):
            value = (self.copies.turns[atom, axis] + shift) / count
            value -= np.rint(value)
            # A value that is rounded up to +½ correctly wraps to −½.
            fraction[:, axis] = np.rint(value * 2.0**32).astype(np.int64).astype(np.int32)
        return in_vectors(fraction, self.copies._box, self.box)


def _ranges(first: IdArray, size: IdArray) -> IdArray:
    """Returns first[0], first[0] + 1, … (size[0] of them), then those of the next, and so on."""
    ends = np.cumsum(size)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(first - (ends - size), size)
