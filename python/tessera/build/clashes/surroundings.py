"""The atoms around places of molecules, while some of them move."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from tessera.build.clashes.molecules import Molecules
from tessera.system.blocks import to_fraction
from tessera.system.box import heights, with_images
from tessera.system.model import FloatArray, IdArray

_REACH = 30.0  # Å from clashes: twice the longest side chain, and what they meet
_MOST_MOVED, _SHARE_MOVED = 2000, 0.01  # atoms that are looked at one by one; with more, the tree is made anew


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
        """Makes the tree of where atoms are now."""
        self._tree = cKDTree(self._molecules.position[self._atom] + self._shift)
        self._is_moved = np.zeros(len(self._atom), bool)
        self._moved = np.zeros(0, np.int64)

    def around(self, centre: FloatArray, radius: float) -> tuple[IdArray, FloatArray]:
        """Returns the atoms (m,) within `radius` of a centre (3,) Å, and where they are (m,3) Å beside it."""
        own = np.zeros(3)
        if self._molecules.box is not None:  # the image of the centre that is in the box
            box = self._molecules.box
            own = (to_fraction(centre[None], box) * 2.0**-32 @ box)[0] - centre
        found = np.asarray(self._tree.query_ball_point(centre + own, radius), np.int64)
        found = np.concatenate([found[~self._is_moved[found]], self._moved])
        place = self._molecules.position[self._atom[found]] + self._shift[found] - own
        near = ((place - centre) ** 2).sum(axis=1) < radius * radius
        return self._atom[found[near]], place[near]

    def moved(self, atoms: IdArray) -> None:
        """Takes note that these atoms are elsewhere."""
        begin, end = (np.searchsorted(self._atom, atoms, side=side) for side in ("left", "right"))
        rows = np.concatenate([np.arange(b, e) for b, e in zip(begin.tolist(), end.tolist())])
        rows = rows[~self._is_moved[rows]]
        self._is_moved[rows] = True
        self._moved = np.concatenate([self._moved, rows])
        if len(self._moved) > max(_MOST_MOVED, _SHARE_MOVED * len(self._atom)):
            self._plant()
