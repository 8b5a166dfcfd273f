"""Lets built atoms settle between those of a structure, which stay, but for residues that leave no room.

Models of tails overlap with themselves and with DNA. Where hydrogens come between, a bond or an angle stays strained,
an atom is turned inside out, or two atoms end in one place: there the residue and those that touch it are let go,
hydrogens are put in anew, and the force field decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tessera.build.charmm.chain import Chain
from tessera.build.charmm.places import Places, completed
from tessera.build.charmm.topology import Residue
from tessera.build.clashes.find import NEAREST
from tessera.build.relax import inverted, relaxed, strained
from tessera.prepare.charmm_parameters import CharmmParameters
from tessera.system import System
from tessera.system.model import FloatArray, IdArray
from tessera.system.part import Cutter

_ROUNDS = 6
#: of a minimisation, whose strains are those at its end long before its forces are: of the first round, of the first
#: where most of it has settled before, and of one that follows, in which what is still strained moves with few others
_MOVES_OF_ALL, _MOVES_OF_STRAINED, _MOVES = 150, 40, 60
_AROUND = 4.0  # Å from a strained residue: what moves after the first round
BESIDE = 5.0  # Å: residues nearer to what moves are there beside it
_BESIDE_STRAINED = 3.0  # Å from what moves in the first round
#: Å between atoms of residues that are in each other's way: in the first round, and more in each that follows
_TOUCH, _FURTHER = 2.0, 0.5


class Residues(Protocol):
    """Residues by the numbers of which atoms know theirs."""

    def beside(self, number: int, step: int) -> Residue | None:
        """Returns the residue so many after one in its chain; None where the chain has ended."""


class InChains:
    """The residues of chains, counted over all of them."""

    def __init__(self, chains: Sequence[Chain]) -> None:
        self._members = [(chain, row) for chain in chains for row in range(len(chain.residues))]

    def beside(self, number: int, step: int) -> Residue | None:
        """Returns the residue so many after one in its chain; None where the chain has ended."""
        chain, row = self._members[number]
        return chain.residues[row + step] if 0 <= row + step < len(chain.residues) else None


def settled(
    system: System,
    residues: Residues,
    residue: IdArray,
    table: CharmmParameters,
    right: FloatArray,
    is_fixed: NDArray[np.bool_],
    may_move: NDArray[np.bool_],
    is_judged: NDArray[np.bool_],
    begin: NDArray[np.bool_] | None = None,
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Returns where the atoms of a system are (n,3) Å when none of the bonds and angles that are judged, or of atoms
    that moved, is strained and none that moved is in the place of another, and which atoms stayed. Those that are fixed
    and may move are let go where they must be. `residue` (n,) has the number of the residue of each atom, and `right`
    places (n,3) of the right handedness. At first, what is around atoms with which to `begin` (n,) moves, or around
    what is strained; without these, all."""
    position = system.positions()
    around, moves = np.ones(len(position), bool), _MOVES_OF_ALL
    if begin is not None:
        found = np.union1d(inverted(system, right, position), strained(system, position, is_judged | ~is_fixed))
        around = _within(position, begin | np.isin(residue, residue[found]), _BESIDE_STRAINED)
        moves = _MOVES_OF_STRAINED
    for turn in range(_ROUNDS):
        position = _relaxed_part(system, position, residue, is_fixed, around, moves)
        moves = _MOVES
        turned = inverted(system, right, position)
        found = np.union1d(turned, strained(system, position, is_judged | ~is_fixed))
        found = np.union1d(found, touching(system, residue, position, NEAREST, ~is_fixed))
        near = cKDTree(position).query_ball_point(position[found], _TOUCH + _FURTHER * turn)
        crowded = np.unique(residue[np.unique(np.concatenate([found, *map(np.array, near)])).astype(np.int64)])
        released = is_fixed & may_move & np.isin(residue, crowded)
        if not len(found):
            break
        is_fixed = is_fixed & ~released
        around = _within(position, np.isin(residue, crowded), _AROUND)
        position = _with_hydrogens(residues, table, position, residue, np.unique(residue[turned]))
    return position, is_fixed


def _relaxed_part(
    system: System,
    position: FloatArray,
    residue: IdArray,
    is_fixed: NDArray[np.bool_],
    around: NDArray[np.bool_],
    moves: int,
) -> FloatArray:
    """Returns places (n,3) Å after those of the atoms around that are not fixed have moved, of which the rest of the
    system is left out as far as it can."""
    is_moving = around & ~is_fixed
    if not is_moving.any():
        return position
    is_kept = residues_within(position, residue, is_moving, BESIDE)
    cutter = Cutter(system)
    middle = position[is_kept].mean(axis=0)
    part = cutter.part(np.arange(len(cutter.template)), is_kept, position[is_kept] - middle, is_moving[is_kept])
    found = relaxed(part, ~is_moving[is_kept], moves) + middle
    places = position.copy()
    places[is_moving] = found[is_moving[is_kept]]
    return places


def touching(
    system: System, residue: IdArray, position: FloatArray, distance: float, has_moved: NDArray[np.bool_] | None = None
) -> IdArray:
    """Returns the rows of atoms of two residues at `position` (n,3) Å that are nearer than a distance, though no bond
    joins them; of pairs of which one has moved (n,), if these are given."""
    pairs = cKDTree(position).query_pairs(distance, output_type="ndarray").reshape(-1, 2)
    pairs = pairs[residue[pairs[:, 0]] != residue[pairs[:, 1]]]
    if has_moved is not None:
        pairs = pairs[has_moved[pairs].any(axis=1)]
    bonds = np.sort(system.expand("bond")[0], axis=1)
    is_bond = np.isin(pairs @ [system.n_atoms, 1], bonds @ [system.n_atoms, 1])
    return np.unique(pairs[~is_bond])


def residues_within(
    position: FloatArray, residue: IdArray, chosen: NDArray[np.bool_], distance: float
) -> NDArray[np.bool_]:
    """Tells which atoms (n,) are of residues with an atom this near to one that is chosen."""
    return np.isin(residue, np.unique(residue[_within(position, chosen, distance)]))


def _within(position: FloatArray, chosen: NDArray[np.bool_], distance: float) -> NDArray[np.bool_]:
    """Tells which atoms (n,) are this near to one that is chosen."""
    nearest, _ = cKDTree(position[chosen]).query(position, distance_upper_bound=distance)
    return np.isfinite(nearest)


def residues_of(chains: Sequence[Chain]) -> IdArray:
    """Returns the residue of each atom, counted over all chains."""
    sizes = [len(residue.atoms) for chain in chains for residue in chain.residues]
    return np.repeat(np.arange(len(sizes)), sizes)


def _with_hydrogens(
    residues: Residues, table: CharmmParameters, position: FloatArray, residue: IdArray, which: IdArray
) -> FloatArray:
    """Returns places after the hydrogens of these residues are put in anew."""
    places = position.copy()
    for number in which.tolist():
        known: Places = {}
        for step, sign in ((-1, "-"), (0, ""), (1, "+")):
            other = residues.beside(number, step)
            if other is not None:
                own = position[residue == number + step]
                atoms = zip(other.atoms, own)
                known |= {sign + name: place for name, place in atoms if not (step == 0 and name.startswith("H"))}
        own_residue = residues.beside(number, 0)
        assert own_residue is not None
        places[residue == number] = list(completed(own_residue, known, table).values())
    return places
