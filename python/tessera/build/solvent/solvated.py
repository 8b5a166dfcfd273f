"""A solute in a box of water with ions, block by block of the file, so that the water need not be in memory.

The box consists of whole tiles of water (`build/water.py`), so that it has no seams. What is in memory are the solute
and the ions, and a bit for each molecule of water that says whether it is there: its place and its number follow.
Waters are numbered copy by copy of the tile, whatever memory or processes there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tessera.build.dna.strand import ForceField
from tessera.build.seams import Liquid
from tessera.build.solvent.ions import Bits, choose_places
from tessera.build.solvent.kinds import solvent_templates, with_solvent
from tessera.build.solvent.room import REACH, Room, Tiling, room_of
from tessera.build.solvent.rows import Atoms, RowMaker
from tessera.build.solvent.turning import smallest_turn
from tessera.build.streamed import BYTES_OF_ATOM, BYTES_PER_ATOM, ranges_of_columns
from tessera.build.water import CHARGE, GRAMS, LJ, TILE_EDGE, VOLUME, rigid, tile
from tessera.errors import InputError
from tessera.printing import counted
from tessera.system import System
from tessera.system.blocks import Parts, block_grid, to_fraction
from tessera.system.model import FloatArray, IdArray

_LITRE = GRAMS * 1e-3  # mol/L in 1/Å³: GRAMS is a gram per cm³ in amu/Å³
_LIGHT = 3.5  # amu: what is lighter is a hydrogen
_WHOLE = 1e-3  # e by which a charge may differ from a whole number
_BYTES_PER_RESIDENT = 60  # of the solute and the ions while they are written


@dataclass(frozen=True)
class Extent:
    """How far a box extends: the least distance of the molecules from its faces, or its least edges, Å; and whether the
    molecules are turned so that it is small."""

    padding: float
    edges: tuple[float, float, float] | None = None
    is_turned: bool = False

    def copies(self, size: FloatArray) -> tuple[int, int, int]:
        """Returns how many tiles of water there are along each axis, about molecules of this size (3,) Å. Raises
        `InputError` where molecules in a box would be too near to its faces."""
        if self.edges is None:
            if self.padding < REACH:
                raise InputError(
                    f"the padding is {self.padding:g} Å, expected {REACH:g} Å or more, which molecules beside it need"
                )
            wanted = size + 2 * self.padding
        else:
            wanted = np.array(self.edges)
            if (wanted < size + 2 * REACH).any():
                raise InputError(
                    f"the box of {_product(wanted)} Å is too small: the molecules extend {_product(size)} Å, and "
                    f"{REACH:g} Å on each side must be left"
                )
        x, y, z = (int(count) for count in np.ceil(wanted / TILE_EDGE))
        return x, y, z

    def turned(self, position: FloatArray) -> tuple[FloatArray, str]:
        """Returns the places (n,3) of molecules as they are to be in the box, and a note where they were turned."""
        if not self.is_turned:
            return position, ""
        turn = smallest_turn(position, self.padding, self._tiles)
        turned = position @ turn
        before, after = (self._tiles(np.ptp(at, axis=0)) for at in (position, turned))
        return turned, f"turned so that the box has {after:,} tiles of water; as they were it would have {before:,}"

    def _tiles(self, size: FloatArray) -> int:
        return math.prod(self.copies(size))


def _product(values: FloatArray) -> str:
    return " × ".join(f"{value:.5g}" for value in values)


def solvated(
    solute: System,
    field: ForceField,
    salt: float,
    extent: Extent,
    seed: int,
    report: Callable[[str], None] = lambda _: None,
    cores: int = 1,
) -> Solvated:
    """Puts a solute without a box into a box of water, with ions that neutralise it and `salt` (mol/L of the water)
    besides, by threads of so many cores. Raises `InputError` for a force field without water and ions, for less water
    than the least distances, and for more ions than have room."""
    position, turning = extent.turned(solute.positions())
    low, high = position.min(axis=0), position.max(axis=0)
    position -= (low + high) / 2
    copies = extent.copies(high - low)
    water = Liquid(tile(), TILE_EDGE, CHARGE, LJ[[0, 1, 1]], rigid).turned(seed)
    inside = water + (water[:, :1] % TILE_EDGE - water[:, :1])
    tiling = Tiling(inside, TILE_EDGE, copies)
    solvent = solvent_templates(field)
    room = room_of(tiling, position, solute.atom_field("mass") > _LIGHT, report, cores)
    report("choosing ions")
    cations, anions = _ions(solute.net_charge(), salt, Bits(room.molecules, tiling.n).total)
    chosen = choose_places(tiling, room, cations + anions, seed)
    there = _without(room, *chosen)
    counts = (Bits(there, tiling.n).total, cations, anions)
    system = with_solvent(solute, solvent, counts, field.parameters)
    system.box, system.periodic, system.origin = np.diag(tiling.edges), True, np.zeros(3)
    notes = [note for note in (turning, _note(counts, cations - anions)) if note]
    system.notes = [*solute.notes, *notes]
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
        f"added {counted(water, 'molecule')} of water, {cations:,} SOD and {anions:,} CLA: they neutralise {-net:+,} "
        f"e, and make {salt:.3f} mol/L of salt"
    )


def _without(room: Room, copies: IdArray, rows: IdArray) -> NDArray[np.uint8]:
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
        return _BYTES_PER_RESIDENT * len(self.resident) + 4 * self.there.nbytes

    def parts(self, memory: int, processes: int = 1, workers: int = 1) -> Parts:
        """Returns the atoms in parts of which this many `processes` can each make one in about `memory` bytes together,
        and no fewer than `workers` of them if there are so many rows of blocks."""
        grid, n = block_grid(self.system.box, self.n_atoms), len(self.key)
        at_once = min((memory - self._held()) // (BYTES_PER_ATOM * processes), -(-self.n_atoms // workers))
        ranges = ranges_of_columns(grid, self.n_atoms, at_once)
        n_ions = len(self.resident) - n
        solute = Atoms.in_file_order(self.key, 0, self.resident[:n], grid)
        ions = Atoms.in_file_order(np.arange(n_ions), self.n_atoms - n_ions, self.resident[n:], grid)
        maker = RowMaker(self.tiling, self.there, solute, ions, grid)
        return Parts(len(ranges), lambda part: maker.rows(*ranges[part]))
