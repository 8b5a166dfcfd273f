"""Bonds as a graph in arrays, in which neighbours of many atoms are found at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tessera.system.model import IdArray


class Graph:
    """The neighbours of n atoms: those of atom a are other[begin[a]:begin[a + 1]]."""

    def __init__(self, n_atoms: int, bonds: IdArray) -> None:
        both = np.concatenate([bonds, bonds[:, ::-1]])
        order = np.argsort(both[:, 0], kind="stable")
        self.other = both[order, 1]
        self.begin = np.concatenate([[0], np.cumsum(np.bincount(both[:, 0], minlength=n_atoms))])

    def of(self, atom: int) -> list[int]:
        """Returns the neighbours of one atom."""
        found: list[int] = self.other[self.begin[atom] : self.begin[atom + 1]].tolist()
        return found

    def next_to(self, atoms: IdArray) -> tuple[IdArray, IdArray]:
        """Returns every neighbour (m,) of these atoms, and the row (m,) of `atoms` that it is a neighbour of."""
        count = self.begin[atoms + 1] - self.begin[atoms]
        row = np.repeat(np.arange(len(atoms)), count)
        place = np.arange(len(row)) - np.repeat(np.cumsum(count) - count - self.begin[atoms], count)
        return row, self.other[place]

    def are_within(self, pairs: IdArray, steps: int) -> NDArray[np.bool_]:
        """Tells which pairs (m,2) at most so many bonds join."""
        joined = pairs[:, 0] == pairs[:, 1]
        row, atom = np.arange(len(pairs)), pairs[:, 0]
        for _ in range(steps):
            of_atom, atom = self.next_to(atom)
            row = row[of_atom]
            joined[row[atom == pairs[row, 1]]] = True
        return joined

    def within(self, atom: int, steps: int) -> IdArray:
        """Returns the atoms that at most so many bonds join to one, itself among them."""
        found = np.array([atom])
        for _ in range(steps):
            found = np.unique(np.concatenate([found, self.next_to(found)[1]]))
        return found

    def reached(self, atom: int, without: tuple[int, ...], most: int) -> list[int]:
        """Returns the atoms that bonds lead to from one without passing through others, itself first; more than `most`
        are cut off."""
        found, seen = [atom], {atom, *without}
        for here in found:
            if len(found) > most:
                break
            for other in self.of(here):
                if other not in seen:
                    seen.add(other)
                    found.append(other)
        return found
