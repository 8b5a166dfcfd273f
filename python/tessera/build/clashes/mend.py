"""Turns phosphates and side chains until no two atoms clash.

A trial counts clashes first, then contacts that no energy allows; of the best trials the one with the smallest turn
wins. No trial may make a clash that was not there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tessera.build.clashes.closing import Junction, junction_of
from tessera.build.clashes.find import NEAREST, Overlaps
from tessera.build.clashes.molecules import Molecules
from tessera.build.clashes.moves import Turn, describe, turns_of
from tessera.build.clashes.surroundings import Surroundings
from tessera.system.model import FloatArray, IdArray

#: degrees, the smaller first
ANGLES = np.array([sign * angle for angle in range(5, 180, 5) for sign in (1, -1)] + [180], np.float64)
VICINITY = 6.0  # Å around all places of a group that are tried
_FREE = NEAREST + 0.01  # Å: what is beyond is so in a file of three digits too
_CONTACT = 1.6  # Å: the nearest of atoms that are not bonded, those of a hydrogen bond, are further apart
_AT_ONCE = 4  # trials that are closed together
_MOST_ROUNDS = 8


@dataclass(frozen=True)
class Outcome:
    """What became of a clash: the group that was turned last to mend it, its degrees, and whether the clash is gone."""

    turned: str | None
    by: float | None
    mended: bool


@dataclass(frozen=True)
class _Trial:
    """A turn by an angle: what it leaves, and where its atoms go."""

    turn: Turn
    angle: float
    left: tuple[int, int]  # clashes, contacts
    atoms: IdArray
    place: FloatArray  # Å, beside where they are

    @property
    def order(self) -> tuple[int, int, float]:
        return *self.left, abs(self.angle)


def mend(molecules: Molecules, overlaps: Overlaps, report: Callable[[str], None] = lambda _: None) -> list[Outcome]:
    """Moves atoms of molecules, and returns the outcome of each clash."""
    with threadpool_limits(1):  # arrays are so small that threads of libraries would wait for each other
        return _mended(molecules, overlaps, report)


def _mended(molecules: Molecules, overlaps: Overlaps, report: Callable[[str], None]) -> list[Outcome]:
    pairs = overlaps.pairs.tolist()
    outcome = [Outcome(None, None, False)] * len(pairs)
    if not pairs:
        return outcome
    surroundings = Surroundings(molecules, overlaps.pairs.reshape(-1))
    last: dict[int, tuple[int, _Trial]] = {}  # of each atom, what moved it last, numbered
    count, waiting = 0, list(range(len(pairs)))
    for _ in range(_MOST_ROUNDS):
        left, has_moved = [], False
        for number, index in enumerate(waiting):
            if number % 100 == 0:
                report(f"turning: {number:,} of {len(waiting):,}")
            while not _is_apart(molecules, *pairs[index]):
                trial = _best(molecules, surroundings, pairs[index])
                if trial is None:
                    left.append(index)
                    break
                _apply(molecules, surroundings, trial)
                count += 1
                last |= dict.fromkeys(trial.atoms.tolist(), (count, trial))
                has_moved = True
        waiting = left
        if not waiting or not has_moved:
            break
    for index, pair in enumerate(pairs):
        if _is_apart(molecules, *pair):
            _, trial = max((last[atom] for atom in pair if atom in last), key=lambda numbered: numbered[0])
            outcome[index] = Outcome(describe(molecules, trial.turn), trial.angle, True)
    return outcome


def _is_apart(molecules: Molecules, one: int, other: int) -> bool:
    start = molecules.position[one]
    return bool(np.linalg.norm(molecules.near(np.array([other]), start)[0] - start) >= NEAREST)


def _best(molecules: Molecules, surroundings: Surroundings, pair: list[int]) -> _Trial | None:
    """Returns the best trial of all turns that move one of two atoms, none where no turn leaves fewer clashes."""
    turns = {turn.key: turn for atom in pair for turn in turns_of(molecules, atom)}
    found: list[_Trial] = []
    for turn in turns.values():
        trial = _Group(molecules, surroundings, turn).best()
        if trial is not None:
            found.append(trial)
    return min(found, key=lambda trial: trial.order, default=None)


def _apply(molecules: Molecules, surroundings: Surroundings, trial: _Trial) -> None:
    there = molecules.near(trial.atoms, molecules.position[trial.turn.axis[1]])
    molecules.position[trial.atoms] += trial.place - there
    surroundings.moved(trial.atoms)


class _Group:
    """The atoms that a turn moves, those around them, and which of both topology keeps together."""

    def __init__(self, molecules: Molecules, surroundings: Surroundings, turn: Turn) -> None:
        self._molecules, self._turn = molecules, turn
        self._pivot = molecules.position[turn.axis[1]]
        self._start = molecules.near(np.array([turn.axis[0]]), self._pivot)[0]
        self._junction: Junction | None = junction_of(molecules, turn) if turn.letter == "φ" else None
        self.atoms = turn.turned if self._junction is None else self._junction.moving
        self.place = molecules.near(self.atoms, self._pivot)
        radius = float(np.linalg.norm(self.place - self._pivot, axis=1).max()) + VICINITY
        others, self._other = surroundings.around(self._pivot, radius)
        is_own = np.isin(others, self.atoms)
        self._other, others = self._other[~is_own], others[~is_own]
        both = np.stack(np.meshgrid(self.atoms, others, indexing="ij"), axis=2).reshape(-1, 2)
        self._is_bonded = _are_bonded(molecules, both, self.atoms).reshape(len(self.atoms), len(others))
        self._before = self._near(self.place[None], _FREE)[0]

    def _near(self, places: FloatArray, most: float) -> NDArray[np.bool_]:
        """Tells which atoms of trials (t,n,3) are nearer than `most` to those around, (t,n,m)."""
        own, other = places - self._pivot, self._other - self._pivot
        square = (own**2).sum(axis=2)[..., None] + (other**2).sum(axis=1) - 2 * own @ other.T
        return np.asarray((square < most**2) & ~self._is_bonded)

    def _left(self, places: FloatArray) -> tuple[IdArray, IdArray]:
        """Returns the clashes and contacts (t,) of trials (t,n,3); the first is large for one that makes a clash."""
        near = self._near(places, _FREE)
        made = (near & ~self._before).any(axis=(1, 2))
        clashes = np.where(made, np.iinfo(np.int64).max, near.sum(axis=(1, 2)))
        return clashes, self._near(places, _CONTACT).sum(axis=(1, 2))

    def best(self) -> _Trial | None:
        """Returns the best trial, none where none leaves fewer clashes."""
        is_turned = np.isin(self.atoms, self._turn.turned)
        places = np.repeat(self.place[None], len(ANGLES), axis=0)
        turned = rotated(self.place[is_turned], self._start, self._pivot, ANGLES)
        places[:, is_turned] = turned
        clashes, contacts = self._left(places)
        fewer = np.flatnonzero(clashes < self._before.sum())
        order = fewer[np.lexsort((np.arange(len(ANGLES))[fewer], contacts[fewer], clashes[fewer]))]
        if self._junction is None:
            return self._trial(order[0], places, clashes, contacts) if len(order) else None
        return self._closed(self._junction, order, places)

    def _closed(self, junction: Junction, order: IdArray, places: FloatArray) -> _Trial | None:
        """Returns the best of the trials that can be closed; those that leave least are closed first."""
        before = self._molecules.near(junction.atoms, self._pivot)
        for begin in range(0, len(order), _AT_ONCE):
            some = order[begin : begin + _AT_ONCE]
            whole = np.repeat(before[None], len(some), axis=0)
            whole[:, : junction.n_moving] = places[some]
            whole = junction.closed(whole)
            closed = whole[:, : junction.n_moving]
            clashes, contacts = self._left(closed)
            good = np.flatnonzero(junction.may_be(whole, before) & (clashes < self._before.sum()))
            if len(good):
                best = good[np.lexsort((np.abs(ANGLES[some])[good], contacts[good], clashes[good]))[0]]
                left = (int(clashes[best]), int(contacts[best]))
                return _Trial(self._turn, float(ANGLES[some[best]]), left, self.atoms, closed[best])
        return None

    def _trial(self, row: int, places: FloatArray, clashes: IdArray, contacts: IdArray) -> _Trial:
        left = (int(clashes[row]), int(contacts[row]))
        return _Trial(self._turn, float(ANGLES[row]), left, self.atoms, places[row])


def _are_bonded(molecules: Molecules, pairs: IdArray, atoms: IdArray) -> NDArray[np.bool_]:
    """Tells which pairs topology keeps together; only those among neighbours of the group need to be looked at."""
    near = atoms
    for _ in range(3):
        near = np.unique(np.concatenate([near, molecules.graph.next_to(near)[1]]))
    is_near = np.isin(pairs[:, 1], near)
    is_bonded = np.zeros(len(pairs), bool)
    is_bonded[is_near] = molecules.are_bonded(pairs[is_near])
    return is_bonded


def rotated(places: FloatArray, start: FloatArray, end: FloatArray, degrees: FloatArray) -> FloatArray:
    """Returns places (n,3) turned about the line from `start` to `end` by each of t angles, right-handed, (t,n,3)."""
    axis = (end - start) / np.linalg.norm(end - start)
    turn = np.radians(degrees)[:, None, None]
    out = places - end
    along = (out @ axis)[:, None] * axis
    return np.asarray(end + along + np.cos(turn) * (out - along) + np.sin(turn) * np.cross(axis, out))
