"""The atoms around places of molecules, while some of them move."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from tessera.build.clashes.molecules import Molecules
from tessera.system.blocks import to_fraction
from tessera.system.box import heights, with_images
from tessera.system.model import FloatArray, IdArray

_REACH = 30.0  # Å from clashes: twice the longest side chain, and what they meet
_LATEST = 200  # atoms that are looked at one by one; with more, they come into a tree of all that moved
_MOST_MOVED, _SHARE_MOVED = 2000, 0.05  # atoms in that tree; with more, that of all is made anew
_RESTING, _MOVED, _LATELY = 0, 1, 2


class Surroundings:
    """The atoms within 30 Å of some, and their images in a box. Positions are those of the molecules at each time."""

    def __init__(self, molecules: Molecules, atoms: IdArray) -> None:
        self._molecules = molecules
        points, atom = molecules.position, np.arange(molecules.n_atoms)
        if molecules.box is not None:
            reach = min(_REACH, float(heights(molecules.box).min()))
            points, atom = with_images(to_fraction(points, molecules.box), molecules.box, reach)
        distance, _ = cKDTree(points[np.unique(atoms)]).query(points, distance_upper_bound=_REACH)
        near = np.flatnonzero(np.isfinite(distance))
        near = near[np.argsort(atom[near], kind="stable")]
        self._atom = atom[near]  # rising
        self._shift = points[near] - molecules.position[self._atom]
        self._plant()

    def _plant(self) -> None:
        """Makes the tree of where all atoms are now."""
        self._all = cKDTree(self._places(np.arange(len(self._atom))))
        self._state = np.full(len(self._atom), _RESTING, np.int8)
        self._lately = np.zeros(0, np.int64)
        self._gather(self._lately)

    def _gather(self, rows: IdArray) -> None:
        """Makes the tree of what has moved since."""
        self._rows = rows
        self._state[rows] = _MOVED
        self._moved = cKDTree(self._places(rows))

    def _places(self, rows: IdArray) -> FloatArray:
        return self._molecules.position[self._atom[rows]] + self._shift[rows]

    def around(self, centre: FloatArray, radius: float) -> tuple[IdArray, FloatArray]:
        """Returns the atoms (m,) within `radius` of a centre (3,) Å, and where they are (m,3) Å beside it."""
        own = np.zeros(3)
        if self._molecules.box is not None:  # the image of the centre that is in the box
            box = self._molecules.box
            own = (to_fraction(centre[None], box) * 2.0**-32 @ box)[0] - centre
        rows, moved = (
            np.asarray(tree.query_ball_point(centre + own, radius), np.int64) for tree in (self._all, self._moved)
        )
        moved = self._rows[moved]
        found = np.concatenate([rows[self._state[rows] == _RESTING], moved[self._state[moved] == _MOVED], self._lately])
        place = self._places(found) - own
        near = ((place - centre) ** 2).sum(axis=1) < radius * radius
        return self._atom[found[near]], place[near]

    def moved(self, atoms: IdArray) -> None:
        """Takes note that these atoms are elsewhere."""
        begin, end = (np.searchsorted(self._atom, atoms, side=side) for side in ("left", "right"))
        rows = np.concatenate([np.arange(b, e) for b, e in zip(begin.tolist(), end.tolist())])
        self._lately = np.concatenate([self._lately, rows[self._state[rows] != _LATELY]])
        self._state[rows] = _LATELY
        if len(self._lately) <= _LATEST:
            return
        rows, self._lately = np.union1d(self._rows, self._lately), np.zeros(0, np.int64)
        if len(rows) > max(_MOST_MOVED, _SHARE_MOVED * len(self._atom)):
            self._plant()
        else:
            self._gather(rows)
