"""Closes the backbone of a nucleic acid after a phosphate has turned.

The turn φ bends C3'–O3'–P and C4'–C5'–O5' by about two thirds of its angle. The atoms between the sugars then move, by
least squares and no further than they must, until no angle is more than 5° off. Lengths are those from before, to the
last digit. Angles are measured from what they were before; those that φ bends, and that may have come in bent, from
the values of nucleotides (Gelbin et al. 1996).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.build.clashes.molecules import ROLE, Molecules
from tessera.build.clashes.moves import Turn
from tessera.system.model import FloatArray, IdArray

MOST_BENT = 6.0  # degrees: what an angle may be off its value, unless it was more before
_AIMED = 5.0  # degrees: what closing leaves, since meeting lengths to the last digit bends a little more
_BOND_WEIGHT = 20.0  # beside angles, whose ends are as stiff as 1
_STAY = 0.001  # beside them, how stiffly turned atoms stay where they are
_ROUNDS, _LAST_ROUNDS = 10, 4
#: degrees, by the middle and the ends; an end that is not named here is a hydrogen
_USUAL = {("O3'", "C3'", "P"): 119.7, ("C5'", "C4'", "O5'"): 110.2, ("C5'", "", "O5'"): 109.5}


@dataclass(frozen=True)
class Junction:
    """The n atoms that closing moves or measures, as rows of `atoms`: those that move come first."""

    atoms: IdArray  # (n,)
    n_moving: int
    is_turned: NDArray[np.bool_]  # (n_moving,) whether φ turns it
    bonds: IdArray  # (b,2) rows, at least one of each moves
    length: FloatArray  # (b,) Å
    angles: IdArray  # (a,3) rows, the middle between the ends
    sides: FloatArray  # (a,2) Å, the lengths from the middle to the ends
    usual: FloatArray  # (a,) degrees
    bent: FloatArray  # (a,) degrees: the angles before

    @property
    def moving(self) -> IdArray:
        return self.atoms[: self.n_moving]

    def closed(self, places: FloatArray) -> FloatArray:
        """Returns places (t,n,3) Å of trials after closing: as near to where they were turned as angles allow."""
        near, far = (self._across(np.radians(self.usual + side * _AIMED)) for side in (-1, 1))
        low, high = (np.concatenate([self.length, ends]) for ends in (near, far))
        pairs = np.concatenate([self.bonds, self.angles[:, [0, 2]]])
        weight = np.concatenate([np.full(len(self.bonds), _BOND_WEIGHT), np.ones(len(near))])
        turned = places[:, : self.n_moving].reshape(len(places), -1, 1)
        stay = np.repeat(np.where(self.is_turned, _STAY, _STAY / 10), 3)[:, None]
        sides = self._sides(pairs)
        aim = np.full((len(places), len(pairs)), np.nan)
        for _ in range(_ROUNDS):
            slope, distance = self._slope(places, pairs, sides)
            bounded = np.clip(distance, low, high)
            aim = np.where(np.isnan(aim) & (bounded != distance), bounded, aim)  # what was beyond a bound stays at it
            missing = np.nan_to_num(aim - distance)
            acts = np.where(np.isnan(aim), 0.0, weight)[..., None]
            back = slope.transpose(0, 2, 1)
            square = back @ (acts * slope) + stay * np.eye(len(stay))
            away = turned - places[:, : self.n_moving].reshape(len(places), -1, 1)
            places = self._moved(places, np.linalg.solve(square, back @ (acts * missing[..., None]) + stay * away))
        for _ in range(_LAST_ROUNDS):  # the shortest steps that meet all lengths
            slope, distance = self._slope(places, self.bonds, sides[: len(self.bonds)])
            back = slope.transpose(0, 2, 1)
            square = slope @ back + 1e-9 * np.eye(len(self.bonds))
            places = self._moved(places, back @ np.linalg.solve(square, (self.length - distance)[..., None]))
        return places

    def _across(self, angle: FloatArray) -> FloatArray:
        """Returns the distances (a,) Å of the ends of angles that have these values in radians."""
        one, other = self.sides.T
        return np.asarray(np.sqrt(one**2 + other**2 - 2 * one * other * np.cos(angle)))

    def _sides(self, pairs: IdArray) -> FloatArray:
        """Returns 1 where an atom that moves is the first of a pair, and −1 where it is the second, (p,moving)."""
        rows = np.arange(self.n_moving)
        return (pairs[:, :1] == rows).astype(float) - (pairs[:, 1:] == rows)

    @staticmethod
    def _slope(places: FloatArray, pairs: IdArray, side: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Returns the derivatives (t,p,3 × moving) of the distances of pairs of atoms, and these (t,p) Å."""
        apart = places[:, pairs[:, 0]] - places[:, pairs[:, 1]]
        distance = np.linalg.norm(apart, axis=2)
        unit = apart / np.maximum(distance, 1e-6)[..., None]
        return (unit[:, :, None, :] * side[..., None]).reshape(len(places), len(pairs), -1), distance

    def _moved(self, places: FloatArray, shift: NDArray[Any]) -> FloatArray:
        out = places.copy()
        out[:, : self.n_moving] += shift.reshape(len(places), self.n_moving, 3)
        return out

    def may_be(self, places: FloatArray, before: FloatArray) -> NDArray[np.bool_]:
        """Tells for which trials (t,) of places (t,n,3) no angle is far off its value and further than before, no atom
        is inside out, and all lengths are met."""
        off = np.abs(angles_of(places, self.angles) - self.usual)
        was = np.abs(self.bent - self.usual)
        is_bent = ((off > MOST_BENT) & (off > was + 1e-3)).any(axis=1)
        length = np.linalg.norm(places[:, self.bonds[:, 0]] - places[:, self.bonds[:, 1]], axis=2)
        is_met = (np.abs(length - self.length) < 1e-4).all(axis=1)
        hands = self._hands(places) * self._hands(before[None]) > 0
        return is_met & ~is_bent & hands.all(axis=1)

    def _hands(self, places: FloatArray) -> FloatArray:
        """Returns the volumes (t,c) that three neighbours span about each atom with four, which tell its handedness."""
        middle, three = self._corners
        return np.asarray(np.linalg.det(places[:, three] - places[:, middle][:, :, None]))

    @cached_property
    def _corners(self) -> tuple[IdArray, IdArray]:
        """The rows (c,) of atoms with three neighbours or more, and three of these (c,3)."""
        ends: dict[int, set[int]] = {}
        for one, middle, other in self.angles.tolist():
            ends.setdefault(middle, set()).update((one, other))
        some = [(middle, sorted(found)[:3]) for middle, found in ends.items() if len(found) >= 3]
        return np.array([m for m, _ in some], np.int64), np.array([f for _, f in some], np.int64).reshape(-1, 3)


def angles_of(places: FloatArray, angles: IdArray) -> FloatArray:
    """Returns angles (t,a) in degrees."""
    one, other = (places[:, angles[:, end]] - places[:, angles[:, 1]] for end in (0, 2))
    sine = np.linalg.norm(np.cross(one, other), axis=2)
    return np.asarray(np.degrees(np.arctan2(sine, (one * other).sum(axis=2))))


def junction_of(molecules: Molecules, turn: Turn) -> Junction:
    """Returns what closes a chain after φ: the phosphate, the ends of the axis and their hydrogens move."""
    graph = molecules.graph
    moving = [*turn.turned.tolist(), *turn.axis]
    behind = turn.axis[1]
    moving += [atom for atom in graph.of(behind) if molecules.is_hydrogen[atom]]
    around = [a for atom in moving for a in graph.of(atom)]
    around += [a for atom in around for a in graph.of(atom)]
    atoms = list(dict.fromkeys([*moving, *around]))
    row = {atom: index for index, atom in enumerate(atoms)}
    moves = set(moving)
    bonds = {tuple(sorted((a, b))) for a in moving for b in graph.of(a)}
    angles = [
        (one, middle, other)
        for middle in dict.fromkeys([*moving, *(b for a in moving for b in graph.of(a))])
        for one in graph.of(middle)
        for other in graph.of(middle)
        if one < other and not moves.isdisjoint((one, middle, other))
    ]
    place = molecules.near(np.array(atoms), molecules.position[behind])
    bond_rows = np.array([[row[a] for a in bond] for bond in sorted(bonds)])
    angle_rows = np.array([[row[a] for a in angle] for angle in angles])
    bent = angles_of(place[None], angle_rows)[0]
    usual = np.array([_usual(molecules, angle) or value for angle, value in zip(angles, bent.tolist())])
    length = np.linalg.norm(place[bond_rows[:, 0]] - place[bond_rows[:, 1]], axis=1)
    sides = np.linalg.norm(place[angle_rows[:, [0, 2]]] - place[angle_rows[:, 1:2]], axis=2)
    is_turned = np.isin(moving, turn.turned)
    return Junction(np.array(atoms), len(moving), is_turned, bond_rows, length, angle_rows, sides, usual, bent)


def _usual(molecules: Molecules, angle: tuple[int, int, int]) -> float | None:
    """Returns the usual value of an angle that φ bends."""
    role = molecules.role[list(angle)]
    for (middle, one, other), value in _USUAL.items():
        if role[1] == ROLE[middle]:
            for end, far in ((0, 2), (2, 0)):
                is_hydrogen = one == "" and molecules.is_hydrogen[angle[end]]
                if role[far] == ROLE[other] and (is_hydrogen or (one and role[end] == ROLE[one])):
                    return value
    return None
