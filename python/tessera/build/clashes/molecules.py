"""The molecules of a file as arrays, whichever format it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tessera.build.clashes.graph import Graph
from tessera.system.blocks import to_fraction
from tessera.system.model import FloatArray, IdArray

#: the atoms by whose names chains and turns are found; row 0 is of all others
ROLES = ("", "N", "CA", "C", "CB", "SG", "P", "O5'", "C5'", "C4'", "C3'", "O3'")
ROLE = {name: np.int8(row) for row, name in enumerate(ROLES)}
#: other names of the same atoms
OLD_NAMES = {name.replace("'", "*"): name for name in ROLES if "'" in name}


@dataclass(repr=False)
class Molecules:
    """n atoms; in a box they are in it, each by itself."""

    file: str
    position: FloatArray  # (n,3) Å
    box: FloatArray | None  # (3,3) Å, lower triangular; None: nothing repeats
    bonds: IdArray  # (m,2)
    role: NDArray[np.int8]  # (n,) row of ROLES
    is_hydrogen: NDArray[np.bool_]  # (n,)
    residue: IdArray  # (n,) rows
    is_rigid: NDArray[np.bool_]  # (n,) whether the bonds within its residue are unknown
    label: Callable[[int], str]  # of an atom, such as `CB of ALA 12 in chain A`
    residue_label: Callable[[int], str]  # of the residue of an atom
    notes: list[str] = field(default_factory=list)

    @property
    def n_atoms(self) -> int:
        return len(self.position)

    @cached_property
    def graph(self) -> Graph:
        return Graph(self.n_atoms, self.bonds)

    @cached_property
    def inverse(self) -> FloatArray | None:
        return None if self.box is None else np.asarray(np.linalg.inv(self.box))

    @cached_property
    def sulphurs(self) -> IdArray:
        """The sulphurs of cysteines."""
        return np.flatnonzero(self.role == ROLE["SG"])

    def nearest(self, position: FloatArray, centre: FloatArray) -> FloatArray:
        """Returns the images of positions (…,3) Å that are nearest to a centre (3,) or centres (…,3); with bonds and
        groups of atoms, which are short beside the box, the images are the right ones."""
        if self.box is None or self.inverse is None:
            return position
        apart = position - centre
        return np.asarray(centre + apart - np.rint(apart @ self.inverse) @ self.box)

    def near(self, atoms: IdArray, centre: FloatArray) -> FloatArray:
        """Returns where these atoms are (m,3) Å, each in its image that is nearest to a centre."""
        return self.nearest(self.position[atoms], centre)

    def are_bonded(self, pairs: IdArray) -> NDArray[np.bool_]:
        """Tells which pairs (m,2) topology keeps together: up to three bonds join them, or they are parts of one rigid
        residue."""
        rigid = self.is_rigid[pairs].any(axis=1) & (self.residue[pairs[:, 0]] == self.residue[pairs[:, 1]])
        return np.asarray(rigid | self.graph.are_within(pairs, 3))


def wrapped(position: FloatArray, box: FloatArray | None) -> FloatArray:
    """Returns positions (n,3) Å with each atom in the box, unrounded; a copy."""
    if box is None:
        return np.array(position, np.float64)
    fraction = to_fraction(position, box) * 2.0**-32
    turns = np.rint(position @ np.linalg.inv(box) - fraction)
    return np.asarray(position - turns @ box)
