"""A course through a sphere without a knot, along which a fibre is laid: lanes to and fro, layer on layer.

Chromatin in cells is crumpled in such a way, each stretch in a place of its own and with hardly a knot
(Lieberman-Aiden et al. 2009). A chain that is drawn at random in as little room would nearly always be knotted.
"""

from __future__ import annotations

import numpy as np

from tessera.system.model import FloatArray

_ALONG = 55.0  # Å of a lane for a nucleosome, about


def lanes(count: int, radius: float) -> FloatArray:
    """Returns places (count,3) Å at equal distances along lanes in a sphere of this radius in Å about the origin."""
    spacing = np.sqrt(4 / 3 * np.pi * radius**3 / (_ALONG * count))
    corners = _corners(radius, spacing)
    if len(corners) < 2 or count == 1:
        return np.zeros((count, 3))
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(corners, axis=0), axis=1))])
    where = np.linspace(0, along[-1], count)
    return np.stack([np.interp(where, along, corners[:, axis]) for axis in range(3)], axis=1)


def _corners(radius: float, spacing: float) -> FloatArray:
    """Returns points (n,3) of a lattice in the sphere, so that neighbours follow each other."""
    most = int(radius / spacing)
    steps = spacing * np.arange(-most, most + 1)
    points, forth, right = [], True, True
    for z in steps:
        for y in steps if forth else steps[::-1]:
            half = radius**2 - y**2 - z**2
            if half < 0:
                continue
            row = [[x, y, z] for x in (steps if right else steps[::-1]) if x**2 <= half]
            points += row
            right = not right
        forth = not forth
    return np.array(points).reshape(-1, 3)
