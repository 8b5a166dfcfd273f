"""Virtual sites of a template: atoms without mass whose places follow from those of other atoms, their parents.

r = O + p₁X + p₂Y + p₃Z with O = Σ oᵢrᵢ, X = Σ xᵢrᵢ and Y = Σ yᵢrᵢ over the parents. `frame` is one of `FRAMES`:

0. `none`: r = O, an average;
1. `plain`: X and Y as they are, Z = X × Y;
2. `orthonormal`: X, the part of Y across it, and X × Y, each divided by its length.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from tessera.system.arrays import FloatArray, IndexArray

FRAMES = ("none", "plain", "orthonormal")
_LEAST_SQUARE = 1e-10  # Å² of X, and of the sine between X and Y: as in the engine


@dataclass(eq=False)
class VirtualSites:
    """The virtual sites of one template, by ascending atom."""

    atom: IndexArray = field(default_factory=lambda: np.zeros(0, np.int32))  # (V,) local index
    frame: IndexArray = field(default_factory=lambda: np.zeros(0, np.int32))  # (V,) index into FRAMES
    position: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))  # (V,3) p₁ p₂ p₃
    parents: IndexArray = field(default_factory=lambda: np.zeros((0, 2), np.int32))  # (P,2) row of a site, local index
    weights: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))  # (P,3) oᵢ xᵢ yᵢ

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VirtualSites) and all(
            np.array_equal(getattr(self, column.name), getattr(other, column.name)) for column in fields(self)
        )

    def __len__(self) -> int:
        return len(self.atom)

    def place(self, positions: FloatArray) -> FloatArray:
        """Returns the places (…,V,3) of the sites for positions (…,n,3) of the template's atoms, in Å and each molecule
        whole. A site whose direction is undetermined gets NaN."""
        axes = np.zeros((*positions.shape[:-2], len(self), 3, 3))  # O, X, Y
        for (site, parent), weights in zip(self.parents, self.weights):
            axes[..., site, :, :] += weights[:, None] * positions[..., None, parent, :]
        origin, x, y = np.moveaxis(axes, -2, 0)
        z = np.cross(x, y)
        plane = (self.position[:, 1:] != 0).any(axis=1)[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            x2, y2, z2 = (np.sum(v**2, axis=-1, keepdims=True) for v in (x, y, z))
            e1 = np.where(x2 > _LEAST_SQUARE, x / np.sqrt(x2), np.nan)
            e3 = np.where(z2 > _LEAST_SQUARE * x2 * np.maximum(y2, 1), z / np.sqrt(z2), np.nan)
        e2 = np.cross(e3, e1)
        p1, p2, p3 = self.position.T[..., None]
        plain = origin + p1 * x + p2 * y + p3 * z
        orthonormal = origin + p1 * e1 + np.where(plane, p2 * e2 + p3 * e3, 0.0)
        frame = self.frame[:, None]
        return np.where(frame == 0, origin, np.where(frame == 1, plain, orthonormal))
