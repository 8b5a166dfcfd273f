"""The surface that encloses atoms, on the points of a lattice: that of a ball which rolls about them.

The ball is as thick as DNA, so that the surface closes clefts into which neither DNA nor another nucleosome goes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import distance_transform_edt, label

from tessera.errors import InputError
from tessera.system.model import FloatArray, IdArray

_BALL = 10.0  # Å: the radius of a double helix


@dataclass(frozen=True)
class Lattice:
    """Points at `origin` + i `spacing` along x, y and z, both (3,) Å."""

    origin: FloatArray
    spacing: FloatArray
    shape: tuple[int, int, int]

    def places(self, index: IdArray) -> FloatArray:
        """Returns the places (n,3) Å of points (n,3)."""
        return np.asarray(self.origin + index * self.spacing)

    def nearest(self, position: FloatArray) -> IdArray:
        """Returns the point (n,3) that is nearest to each place (n,3) Å; the outermost for places beyond."""
        index = np.rint((position - self.origin) / self.spacing).astype(np.int64)
        return np.asarray(np.clip(index, 0, np.array(self.shape) - 1))


def heights(position: FloatArray, radius: FloatArray, lattice: Lattice) -> FloatArray:
    """Returns how far each point of a lattice is off the surface that encloses atoms (n,3) Å with these radii (n,) Å,
    negative inside. Raises `InputError` where the lattice is too small for it."""
    away = distance_transform_edt(_is_free(position, radius, lattice), sampling=lattice.spacing)
    parts, _ = label(away > _BALL)
    corner = parts[0, 0, 0]
    if corner == 0:
        raise InputError(f"a lattice around atoms leaves less than {_BALL:g} Å at its corner, expected more")
    outside = parts == corner  # where the centre of the ball may be
    return np.where(outside, away, _BALL - distance_transform_edt(~outside, sampling=lattice.spacing))


def _is_free(position: FloatArray, radius: FloatArray, lattice: Lattice) -> FloatArray:
    """Tells which points are in no atom."""
    free = np.ones(lattice.shape, bool)
    first = np.ceil((position - radius[:, None] - lattice.origin) / lattice.spacing).astype(np.int64)
    last = np.floor((position + radius[:, None] - lattice.origin) / lattice.spacing).astype(np.int64) + 1
    axes = [lattice.origin[axis] + lattice.spacing[axis] * np.arange(lattice.shape[axis]) for axis in range(3)]
    for place, r, low, high in zip(position, radius, np.maximum(first, 0), np.maximum(last, 0)):
        x, y, z = ((axes[axis][low[axis] : high[axis]] - place[axis]) ** 2 for axis in range(3))
        box = free[low[0] : high[0], low[1] : high[1], low[2] : high[2]]
        box &= x[:, None, None] + y[:, None] + z > r * r
    return free


def spread(places: FloatArray, count: int) -> FloatArray:
    """Returns this many of the places (n,3): first the one furthest from the origin, then always that which is furthest
    from those before."""
    chosen = [int(np.argmax((places * places).sum(axis=1)))]
    nearest = np.full(len(places), np.inf)
    while len(chosen) < count:
        apart = places - places[chosen[-1]]
        nearest = np.minimum(nearest, (apart * apart).sum(axis=1))
        chosen.append(int(np.argmax(nearest)))
    return places[chosen]
