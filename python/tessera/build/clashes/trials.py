"""A group of atoms that is turned by way of trial, and what that leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tessera.build.clashes.find import NEAREST
from tessera.build.clashes.molecules import Molecules
from tessera.build.clashes.moves import Turn
from tessera.system.model import FloatArray, IdArray

FREE = NEAREST + 0.01  # Å: what is beyond is so in a file of three digits too
CONTACT = 1.6  # Å: the nearest of atoms that are not bonded, those of a hydrogen bond, are further apart


@dataclass(frozen=True)
class Trial:
    """A turn by an angle: what it leaves, and how far its atoms go."""

    turn: Turn
    angle: float
    left: tuple[int, int]  # clashes, contacts
    atoms: IdArray  # (n,)
    shift: FloatArray  # (n,3) Å

    @property
    def order(self) -> tuple[int, int, float, int]:
        """What is least for the best trial: with equal angles that of the fewest atoms."""
        return *self.left, abs(self.angle), len(self.atoms)

    def apply(self, molecules: Molecules) -> None:
        molecules.position[self.atoms] += self.shift


def rotated(places: FloatArray, start: FloatArray, end: FloatArray, degrees: FloatArray) -> FloatArray:
    """Returns places (n,3) turned about the line from `start` to `end` by each of t angles, right-handed, (t,n,3)."""
    x, y, z = (end - start) / np.linalg.norm(end - start)
    across = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])  # what the cross product with the axis does
    turn = np.radians(degrees)[:, None, None]
    matrix = np.eye(3) + np.sin(turn) * across + (1 - np.cos(turn)) * (across @ across)  # Rodrigues' formula
    return np.asarray(end + (places - end) @ matrix.transpose(0, 2, 1))
