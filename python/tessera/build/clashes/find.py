"""Finds the pairs of atoms that are nearer than any two atoms can be, and that no topology keeps together.

The limit of 0.9 Å is that of Jung et al. 2019.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from tessera.build.clashes.molecules import Molecules
from tessera.system.blocks import to_fraction
from tessera.system.box import heights, with_images
from tessera.system.model import FloatArray, IdArray

NEAREST = 0.9  # Å
_AT_ONCE = 200_000  # points in a tree: with more, its parts are no longer in the processor's caches


@dataclass(frozen=True)
class Overlaps:
    """Pairs of atoms in one place, in the order of the file."""

    pairs: IdArray  # (m,2), the first below the second
    distance: FloatArray  # (m,) Å

    def __len__(self) -> int:
        return len(self.pairs)


def overlaps_of(molecules: Molecules) -> Overlaps:
    """Returns the clashes of molecules: pairs nearer than 0.9 Å that more than three bonds join, or none."""
    pairs, distance = near_pairs(molecules.position, molecules.box, NEAREST)
    apart = ~molecules.are_bonded(pairs)
    return Overlaps(pairs[apart], distance[apart])


def near_pairs(position: FloatArray, box: FloatArray | None, most: float) -> tuple[IdArray, FloatArray]:
    """Returns the pairs (m,2) of atoms nearer than `most`, sorted, and their distances (m,) Å; with a box (3,3) Å those
    of their nearest images."""
    points, atom = position, None
    if box is not None:
        points, atom = with_images(to_fraction(position, box), box, min(most, float(heights(box).min())))
    pairs, distance = _near_points(points, most)
    if atom is not None:
        pairs, distance = (rows[pairs.min(axis=1) < len(position)] for rows in (pairs, distance))
        pairs = atom[pairs]
        pairs, distance = (rows[pairs[:, 0] != pairs[:, 1]] for rows in (pairs, distance))
    pairs = np.sort(pairs, axis=1)
    order = np.lexsort((distance, pairs[:, 1], pairs[:, 0]))
    pairs, distance = pairs[order], distance[order]
    is_first = np.ones(len(pairs), bool)
    is_first[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    return pairs[is_first], distance[is_first]


def _near_points(points: FloatArray, most: float) -> tuple[IdArray, FloatArray]:
    """Returns the pairs (m,2) of points nearer than `most`, and their distances (m,), slab by slab."""
    if not len(points):
        return np.zeros((0, 2), np.int64), np.zeros(0)
    along = points[:, int(np.argmax(np.ptp(points, axis=0)))]
    order = np.argsort(along, kind="stable")
    height = along[order]
    pairs, distance = [np.zeros((0, 2), np.int64)], [np.zeros(0)]
    for begin in range(0, len(points), _AT_ONCE):
        end = min(begin + _AT_ONCE, len(points))
        rows = order[begin : np.searchsorted(height, height[end - 1] + most, side="right")]
        found = cKDTree(points[rows]).query_pairs(most, output_type="ndarray")
        found = rows[found[found.min(axis=1) < end - begin]]
        apart = np.linalg.norm(points[found[:, 0]] - points[found[:, 1]], axis=1)
        is_nearer = apart < most
        pairs.append(found[is_nearer])
        distance.append(apart[is_nearer])
    return np.concatenate(pairs), np.concatenate(distance)
