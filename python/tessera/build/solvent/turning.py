"""Turns molecules so that the box around them is small."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation

from tessera.system.model import FloatArray

_AT_ONCE = 500_000  # points in a hull
_STARTS = 12  # orientations from which the smallest box is looked for, beside the principal axes


def smallest_turn(points: FloatArray, padding: float, cost: Callable[[FloatArray], int]) -> FloatArray:
    """Returns the rotation (3,3), by which rows of places are multiplied, after which points (n,3) and `padding` Å on
    each side are in a small box: of the orientations near which no other makes it smaller, the one of the least `cost`,
    which gets the size (3,) of the points. The given one stays where none costs less."""
    corners = _corners(points - points.mean(axis=0))
    _, axes = np.linalg.eigh(corners.T @ corners)
    principal = Rotation.from_matrix(axes * np.linalg.det(axes))
    starts = [principal, *Rotation.random(_STARTS, random_state=1)]

    def size(turn: Rotation) -> FloatArray:
        found: FloatArray = np.ptp(corners @ turn.as_matrix(), axis=0)
        return found

    def volume(turn: Rotation) -> float:
        return float(np.prod(size(turn) + 2 * padding))

    def smallest_near(start: Rotation) -> Rotation:
        options = {"initial_simplex": np.vstack([np.zeros(3), 0.3 * np.eye(3)]), "xatol": 1e-4}
        found = minimize(lambda vector: volume(start * Rotation.from_rotvec(vector)), np.zeros(3), method="Nelder-Mead",
                         options=options)  # fmt: skip
        return start * Rotation.from_rotvec(found.x)

    turns = [Rotation.identity(), *map(smallest_near, starts)]
    best = min(turns, key=lambda turn: (cost(size(turn)), turn is not turns[0], volume(turn)))
    matrix: FloatArray = best.as_matrix()
    return matrix


def _corners(points: FloatArray) -> FloatArray:
    """Returns the corners (m,3) of the convex hull of points, or all where they are in a plane."""
    try:
        parts = np.array_split(points, -(-len(points) // _AT_ONCE))
        outer: FloatArray = np.concatenate([part[ConvexHull(part).vertices] for part in parts])
        return outer[ConvexHull(outer).vertices]
    except QhullError:
        return points
