"""Finds which molecules of a liquid have room beside a solute: the liquid is a tile that fills the box by its copies.

What is kept is a bit for each molecule of each copy, 27 bytes for 648 atoms, so that the liquid is never in memory.
Copies that the solute does not reach are whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tessera.system.model import FloatArray, IdArray

FROM_HEAVY, FROM_ANY = 2.6, 1.7  # Å: the least distances of oxygens from heavy atoms, and of all other pairs
FROM_IONS = 5.0  # Å: of ions from the solute and from each other
REACH = FROM_IONS + 1.0  # Å: a molecule is beyond its tile by less than a bond
_AT_ONCE = 500_000  # atoms of the solute, or of the liquid, that are looked at together


@dataclass(frozen=True)
class Tiling:
    """A cubic tile of molecules (m,atoms,3) Å, whose first atoms are in it, and how many copies fill the box, the
    middle of which is the origin."""

    tile: FloatArray
    edge: float
    copies: tuple[int, int, int]

    @property
    def n(self) -> int:
        """How many molecules a tile has."""
        return len(self.tile)

    @property
    def count(self) -> int:
        """How many copies there are."""
        return int(np.prod(self.copies))

    @property
    def edges(self) -> FloatArray:
        """The edges (3,) Å of the box."""
        return self.edge * np.array(self.copies, np.float64)

    def faces(self, axis: int) -> FloatArray:
        """Returns where each layer of copies across an axis begins (copies,) Å."""
        return np.asarray(self.edge * np.arange(self.copies[axis]) - self.edges[axis] / 2)

    def corners(self, copies: IdArray) -> FloatArray:
        """Returns the lower corners (…,3) Å of copies."""
        at = np.unravel_index(copies, self.copies)
        return np.stack([self.faces(axis)[at[axis]] for axis in range(3)], axis=-1)

    def molecules(self, copies: IdArray, rows: IdArray) -> FloatArray:
        """Returns the atoms (k,atoms,3) Å of these molecules of these copies."""
        return self.tile[rows] + self.corners(copies)[:, None]


@dataclass(frozen=True)
class Room:
    """The molecules of each copy that have room, and those of them where an ion has room, as bits (copies,bytes)."""

    molecules: NDArray[np.uint8]
    ions: NDArray[np.uint8]


def room_of(
    tiling: Tiling,
    position: FloatArray,
    is_heavy: NDArray[np.bool_],
    report: Callable[[str], None] = lambda _: None,
    cores: int = 1,
) -> Room:
    """Finds the room beside a solute at `position` (n,3) Å, all of which is further from the faces of the box than any
    distance here, by threads of so many cores."""
    bits = np.packbits(np.ones(tiling.n, bool))
    found = Room(np.tile(bits, (tiling.count, 1)), np.tile(bits, (tiling.count, 1)))
    touched = _touched(tiling, position)
    layer = touched // (tiling.copies[1] * tiling.copies[2])
    order = np.argsort(position[:, 0], kind="stable")
    x = position[order, 0]
    layers = np.unique(layer)
    for at, number in enumerate(layers.tolist()):
        report(f"looking for room: layer {at + 1:,} of {len(layers):,}")
        low = tiling.faces(0)[number]
        begin, end = np.searchsorted(x, [low - REACH, low + tiling.edge + REACH])
        rows = order[begin:end]
        near, heavy = position[rows], is_heavy[rows]
        trees = cKDTree(near), cKDTree(near[heavy])
        copies = touched[layer == number]
        step = max(1, _AT_ONCE // tiling.tile.shape[1] // tiling.n)
        for first in range(0, len(copies), step):
            _look(tiling, copies[first : first + step], trees, found, cores)
    return found


def _look(tiling: Tiling, copies: IdArray, trees: tuple[cKDTree, cKDTree], found: Room, cores: int) -> None:
    atoms = tiling.tile + tiling.corners(copies)[:, None, None]  # (copies,m,atoms,3)
    every, heavy = trees
    from_any, _ = every.query(atoms, distance_upper_bound=FROM_IONS, workers=cores)
    from_heavy, _ = heavy.query(atoms[:, :, 0], distance_upper_bound=FROM_HEAVY, workers=cores)
    has_room = (from_any >= FROM_ANY).all(axis=2) & ~np.isfinite(from_heavy)
    found.molecules[copies] = np.packbits(has_room, axis=1)
    found.ions[copies] = np.packbits(has_room & ~np.isfinite(from_any[:, :, 0]), axis=1)


def _touched(tiling: Tiling, position: FloatArray) -> IdArray:
    """Returns the copies that atoms at these places may reach into, in order."""
    touched = np.zeros(tiling.copies, bool)
    for begin in range(0, len(position), _AT_ONCE):
        some = position[begin : begin + _AT_ONCE] + tiling.edges / 2
        # Of each axis, the copies that contain what is as far below and above an atom as anything here reaches.
        ends = [
            np.floor((some + reach) / tiling.edge).astype(np.int64) % np.array(tiling.copies)
            for reach in (-REACH, REACH)
        ]
        for corner in product(ends, repeat=3):
            touched[tuple(at[:, axis] for axis, at in enumerate(corner))] = True
    return np.flatnonzero(touched)
