"""Lets built atoms settle between those of a structure, which stay, but for residues that leave no room.

Models of tails overlap with themselves and with DNA. Where hydrogens come between, a bond or an angle stays strained or
an atom is turned inside out: there the residue and those that touch it are let go, hydrogens are put in anew, and the
force field decides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tessera.build.charmm.chain import Chain
from tessera.build.charmm.places import Places, completed
from tessera.build.relax import inverted, relaxed, strained
from tessera.prepare.charmm_parameters import CharmmParameters
from tessera.system import System
from tessera.system.model import FloatArray, IdArray
from tessera.system.vacuum import with_positions

_ROUNDS, _MOVES = 6, 400  # of a minimisation; strains are those at its end long before its forces are
#: Å between atoms of residues that are in each other's way: in the first round, and more in each that follows
_TOUCH, _FURTHER = 2.0, 0.5


def settled(
    system: System,
    chains: Sequence[Chain],
    table: CharmmParameters,
    right: FloatArray,
    is_fixed: NDArray[np.bool_],
    may_move: NDArray[np.bool_],
    is_judged: NDArray[np.bool_],
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Returns where the atoms of a system are (n,3) Å when none of the bonds and angles that are judged, or of atoms
    that moved, is strained, and which atoms stayed. Those that are fixed and may move are let go where they must be.
    `right` has places (n,3) of the right handedness."""
    residue = residues_of(chains)
    position = system.positions()
    for turn in range(_ROUNDS):
        position = relaxed(with_positions(system, position), is_fixed, _MOVES)
        turned = inverted(system, right, position)
        found = np.union1d(turned, strained(system, position, is_judged | ~is_fixed))
        near = cKDTree(position).query_ball_point(position[found], _TOUCH + _FURTHER * turn)
        crowded = np.unique(residue[np.unique(np.concatenate([found, *map(np.array, near)])).astype(np.int64)])
        released = is_fixed & may_move & np.isin(residue, crowded)
        if not len(found):
            break
        is_fixed = is_fixed & ~released
        position = _with_hydrogens(chains, table, position, residue, np.unique(residue[turned]))
    return position, is_fixed


def residues_of(chains: Sequence[Chain]) -> IdArray:
    """Returns the residue of each atom, counted over all chains."""
    sizes = [len(residue.atoms) for chain in chains for residue in chain.residues]
    return np.repeat(np.arange(len(sizes)), sizes)


def _with_hydrogens(
    chains: Sequence[Chain], table: CharmmParameters, position: FloatArray, residue: IdArray, which: IdArray
) -> FloatArray:
    """Returns places after the hydrogens of these residues are put in anew."""
    places = position.copy()
    members = [(chain, row) for chain in chains for row in range(len(chain.residues))]
    for index in which.tolist():
        chain, row = members[index]
        known: Places = {}
        for step, sign in ((-1, "-"), (0, ""), (1, "+")):
            if 0 <= row + step < len(chain.residues):
                own = position[residue == index + step]
                atoms = zip(chain.residues[row + step].atoms, own)
                known |= {sign + name: place for name, place in atoms if not (step == 0 and name.startswith("H"))}
        places[residue == index] = list(completed(chain.residues[row], known, table).values())
    return places
