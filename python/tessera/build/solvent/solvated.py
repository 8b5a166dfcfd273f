"""A solute in a box of water with ions, block by block of the file, so that the water need not be in memory.

The box consists of whole tiles of water (`build/water.py`), so that it has no seams. What is in memory are the solute
and the ions, and a bit for each molecule of water that says whether it is there: its place and its number follow.
Waters are numbered copy by copy of the tile, whatever memory or processes there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tessera.build.dna.strand import ForceField
from tessera.build.seams import Liquid
from tessera.build.solvent.ions import Bits, choose_places
from tessera.build.solvent.kinds import solvent_templates, with_solvent
from tessera.build.solvent.room import REACH, Room, Tiling, room_of
from tessera.build.streamed import BYTES_OF_ATOM, BYTES_PER_ATOM, ranges_of_columns
from tessera.build.water import CHARGE, GRAMS, LJ, TILE_EDGE, VOLUME, rigid, tile
from tessera.errors import InputError
from tessera.system import System
from tessera.system.blocks import Parts, Rows, block_grid, block_of, block_order, to_fraction
from tessera.system.model import IdArray

_LITRE = GRAMS * 1e-3  # mol/L in 1/Å³: GRAMS is a gram per cm³ in amu/Å³
_LIGHT = 3.5  # amu: what is lighter is a hydrogen
_WHOLE = 1e-3  # e by which a charge may differ from a whole number
_BYTES_PER_RESIDENT = 60  # of the solute and the ions while they are written


def solvated(
    solute: System,
    field: ForceField,
    salt: float,
    padding: float,
    seed: int,
    report: Callable[[str], None] = lambda _: None,
) -> Solvated:
    """Puts a solute without a box into water, at least `padding` (Å) from the faces, with ions that neutralise it and
    `salt` (mol/L of the water) besides. Raises `InputError` for a force field without water and ions, for padding that
    is less than the least distances, and for more ions than have room."""
    if padding < REACH:
        raise InputError(f"the padding is {padding:g} Å, expected {REACH:g} Å or more, which molecules beside it need")
    position = solute.positions()
    low, high = position.min(axis=0), position.max(axis=0)
    position -= (low + high) / 2
    copies = np.ceil((high - low + 2 * padding) / TILE_EDGE).astype(int)
    water = Liquid(tile(), TILE_EDGE, CHARGE, LJ[[0, 1, 1]], rigid).turned(seed)
    inside = water + (water[:, :1] % TILE_EDGE - water[:, :1])
    tiling = Tiling(inside, TILE_EDGE, (int(copies[0]), int(copies[1]), int(copies[2])))
    solvent = solvent_templates(field)
    room = room_of(tiling, position, solute.atom_field("mass") > _LIGHT, report)
    report("choosing ions")
    cations, anions = _ions(solute.net_charge(), salt, Bits(room.molecules, tiling.n).total)
    chosen = choose_places(tiling, room, cations + anions, seed)
    there = _without(room, tiling, *chosen)
    counts = (Bits(there, tiling.n).total, cations, anions)
    system = with_solvent(solute, solvent, counts, field.parameters)
    system.box, system.periodic, system.origin = np.diag(tiling.edges), True, np.zeros(3)
    system.notes = [*solute.notes, _note(counts, cations - anions)]
    ions = tiling.molecules(*chosen)[:, 0]
    resident = to_fraction(np.concatenate([position, ions]), system.box)
    return Solvated(system, solute.group_key(), resident, tiling, there)


def _ions(charge: float, salt: float, waters: int) -> tuple[int, int]:
    """Returns the numbers of cations and anions."""
    whole = round(charge)
    if abs(charge - whole) > _WHOLE:
        raise InputError(f"the molecules have a charge of {charge:.4f} e, expected a whole number that ions neutralise")
    pairs = round(salt * _LITRE * VOLUME * waters)
    return pairs + max(-whole, 0), pairs + max(whole, 0)


def _note(counts: tuple[int, int, int], net: int) -> str:
    water, cations, anions = counts
    salt = min(cations, anions) / (_LITRE * VOLUME * (water + cations + anions))
    return (
        f"added {water:,} molecules of water, {cations:,} SOD and {anions:,} CLA: they neutralise {-net:+,} e, and "
        f"make {salt:.3f} mol/L of salt"
    )


def _without(room: Room, tiling: Tiling, copies: IdArray, rows: IdArray) -> NDArray[np.uint8]:
    """Returns the molecules that have room without these."""
    there = room.molecules.copy()
    np.bitwise_and.at(there, (copies, rows // 8), ~(np.uint8(128) >> (rows % 8).astype(np.uint8)))
    return there


@dataclass(frozen=True)
class Solvated:
    """A solute, then water, then ions. `system` has no atoms; `resident` are the fractions (n,3) of the solute and the
    ions, `key` (s,) the key atoms of the solute, `there` the molecules of each copy of the tile as bits."""

    system: System
    key: IdArray
    resident: NDArray[np.int32]
    tiling: Tiling
    there: NDArray[np.uint8]

    @property
    def n_atoms(self) -> int:
        return self.system.n_atoms

    def file_bytes(self) -> int:
        """Returns about how long the system file will be."""
        return self.n_atoms * BYTES_OF_ATOM

    def least_memory(self, processes: int = 1) -> int:
        """Returns the bytes of memory without which no part can be made: those of the solute and a row of blocks."""
        columns = int(np.prod(block_grid(self.system.box, self.n_atoms)[:2].astype(np.int64)))
        return self._held() + BYTES_PER_ATOM * processes * (self.n_atoms // columns)

    def _held(self) -> int:
        return _BYTES_PER_RESIDENT * len(self.resident) + 2 * self.there.nbytes

    def parts(self, memory: int, processes: int = 1, workers: int = 1) -> Parts:
        """Returns the atoms in parts of which this many `processes` can each make one in about `memory` bytes together,
        and no fewer than `workers` of them if there are so many rows of blocks."""
        grid = block_grid(self.system.box, self.n_atoms)
        at_once = min((memory - self._held()) // (BYTES_PER_ATOM * processes), -(-self.n_atoms // workers))
        ranges = ranges_of_columns(grid, self.n_atoms, at_once)
        maker = _Maker(self, grid)
        return Parts(len(ranges), lambda part: maker.rows(*ranges[part]))


class _Maker:
    """Makes the rows of some columns of blocks."""

    def __init__(self, made: Solvated, grid: NDArray[np.int32]) -> None:
        self._made, self._grid = made, grid
        self._waters = Bits(made.there, made.tiling.n)
        self._size = made.tiling.tile.shape[1]
        n = len(made.key)
        self._ids = np.arange(len(made.resident))
        self._ids[n:] += self._size * self._waters.total
        self._key = np.concatenate([made.key, np.arange(n, len(made.resident))])
        block = block_of(made.resident, grid)[self._key]
        self._order = np.argsort(block, kind="stable")
        self._block = block[self._order]

    def rows(self, begin: int, end: int) -> Rows:
        """Returns the atoms of the blocks in the columns along the third vector from `begin` to `end`."""
        nz = int(self._grid[2])
        low, high = np.searchsorted(self._block, [begin * nz, end * nz])
        some = self._order[low:high]
        water, fraction, block = self._water(begin, end)
        own = np.arange(self._size)
        first = len(self._made.key) + self._size * water
        ids = np.concatenate([self._ids[some], (first[:, None] + own).reshape(-1)])
        key = np.concatenate([self._ids[self._key[some]], np.repeat(first, self._size)])
        blocks = np.concatenate([self._block[low:high], np.repeat(block, self._size)])
        fractions = np.concatenate([self._made.resident[some], fraction.reshape(-1, 3)])
        order = block_order(blocks, key, ids)
        count = np.bincount(blocks - begin * nz, minlength=(end - begin) * nz).astype(np.int64)
        return Rows(begin * nz, count, ids[order], fractions[order], None)

    def _water(self, begin: int, end: int) -> tuple[IdArray, NDArray[np.int32], IdArray]:
        """Returns the numbers (k,), fractions (k,atoms,3) and blocks (k,) of the water in some columns."""
        made, nz = self._made, int(self._grid[2])
        copies = self._near(begin, end)
        bits = np.unpackbits(made.there[copies], axis=1, count=made.tiling.n)
        at, rows = np.nonzero(bits)
        number = self._waters.first[copies[at]] + (np.cumsum(bits, axis=1, dtype=np.int64)[at, rows] - 1)
        position = made.tiling.molecules(copies[at], rows)
        block = block_of(to_fraction(position[:, 0], made.system.box), self._grid)
        inside = (block >= begin * nz) & (block < end * nz)
        found = position[inside]
        fraction = to_fraction(found.reshape(-1, 3), made.system.box).reshape(found.shape)
        return number[inside], fraction, block[inside]

    def _near(self, begin: int, end: int) -> IdArray:
        """Returns the copies of the tile that reach into these columns, in order."""
        nx, ny = int(self._grid[0]), int(self._grid[1])
        across, along, up = self._made.tiling.copies
        low, high = begin // ny, -(-end // ny)
        x = _covering(low / nx, high / nx, across)
        y = (
            _covering((begin % ny) / ny, (begin % ny + end - begin) / ny, along)
            if end - begin < ny
            else np.arange(along)
        )
        copies = (x[:, None, None] * along + y[:, None]) * up + np.arange(up)
        return copies.reshape(-1)


def _covering(low: float, high: float, count: int) -> IdArray:
    """Returns which of so many equal pieces of a line from 0 to 1 reach into a part of it; those beside these too
    where rounding may decide, and the first and the last together, since an atom on the face is in either."""
    found = np.arange(int(np.floor(low * count - 1e-6)), int(np.floor(high * count + 1e-6)) + 1) % count
    return np.unique(found)
