"""Turns phosphates, side chains and tails until no two atoms clash.

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
from tessera.build.clashes.tails import best_pose
from tessera.build.clashes.trials import CONTACT, FREE, Trial, rotated
from tessera.system.model import FloatArray, IdArray

#: degrees, the smaller first
ANGLES = np.array([sign * angle for angle in range(5, 180, 5) for sign in (1, -1)] + [180], np.float64)
VICINITY = 6.0  # Å around all places of a group that are tried
_AT_ONCE = 4  # trials that are closed together
_MOST_ROUNDS = 8


@dataclass(frozen=True)
class Outcome:
    """What became of a clash: the group that was turned last to mend it, its degrees, and whether the clash is gone."""

    turned: str | None
    by: float | None
    mended: bool


def mend(
    molecules: Molecules, overlaps: Overlaps, report: Callable[[str], None] = lambda _: None, tails: bool = False
) -> list[Outcome]:
    """Moves atoms of molecules, those of tails too where these may move, and returns the outcome of each clash."""
    with threadpool_limits(1):  # arrays are so small that threads of libraries would wait for each other
        return _Mending(molecules, overlaps, report).outcomes(tails) if len(overlaps) else []


class _Mending:
    """The clashes of molecules, and what has moved for them."""

    def __init__(self, molecules: Molecules, overlaps: Overlaps, report: Callable[[str], None]) -> None:
        self._molecules, self._report = molecules, report
        self._pairs: list[list[int]] = overlaps.pairs.tolist()
        self._last: dict[int, tuple[int, Trial]] = {}  # of each atom, what moved it last, numbered
        self._count = 0

    def outcomes(self, tails: bool) -> list[Outcome]:
        waiting = list(range(len(self._pairs)))
        while waiting:
            waiting = self._turned(waiting)
            count = self._count
            waiting = self._posed(waiting) if tails else waiting
            if count == self._count:  # else groups may find room where a tail was
                break
        return [self._outcome(pair) for pair in self._pairs]

    def _turned(self, waiting: list[int]) -> list[int]:
        """Turns phosphates and side chains. Returns the clashes that are left."""
        molecules = self._molecules
        surroundings = Surroundings(molecules, np.array([self._pairs[index] for index in waiting]).reshape(-1))

        def turn(pair: list[int]) -> Trial | None:
            trial = _best(molecules, surroundings, pair)
            if trial is not None:
                trial.apply(molecules)
                surroundings.moved(trial.atoms)
            return trial

        return self._each(waiting, "turning", turn)

    def _posed(self, waiting: list[int]) -> list[int]:
        """Turns tails. Returns the clashes that are left."""

        def pose(pair: list[int]) -> Trial | None:
            trial = best_pose(self._molecules, pair)
            if trial is not None:
                trial.apply(self._molecules)
            return trial

        return self._each(waiting, "posing tails", pose)

    def _each(self, waiting: list[int], what: str, move: Callable[[list[int]], Trial | None]) -> list[int]:
        """Moves atoms for each clash until it is gone or nothing moves, and again while that makes room for others."""
        for _ in range(_MOST_ROUNDS):
            left, count = [], self._count
            for number, index in enumerate(waiting):
                if number % 100 == 0:
                    self._report(f"{what}: {number:,} of {len(waiting):,}")
                pair = self._pairs[index]
                while not _is_apart(self._molecules, *pair):
                    trial = move(pair)
                    if trial is None:
                        left.append(index)
                        break
                    self._count += 1
                    self._last |= dict.fromkeys(trial.atoms.tolist(), (self._count, trial))
            waiting = left
            if not waiting or count == self._count:
                break
        return waiting

    def _outcome(self, pair: list[int]) -> Outcome:
        if not _is_apart(self._molecules, *pair):
            return Outcome(None, None, False)
        _, trial = max((self._last[atom] for atom in pair if atom in self._last), key=lambda numbered: numbered[0])
        return Outcome(describe(self._molecules, trial.turn), trial.angle, True)


def _is_apart(molecules: Molecules, one: int, other: int) -> bool:
    start = molecules.position[one]
    return bool(np.linalg.norm(molecules.near(np.array([other]), start)[0] - start) >= NEAREST)


def _best(molecules: Molecules, surroundings: Surroundings, pair: list[int]) -> Trial | None:
    """Returns the best trial of all turns that move one of two atoms, none where no turn leaves fewer clashes."""
    turns = {turn.key: turn for atom in pair for turn in turns_of(molecules, atom)}
    found: list[Trial] = []
    for turn in turns.values():
        trial = _Group(molecules, surroundings, turn).best()
        if trial is not None:
            found.append(trial)
    return min(found, key=lambda trial: trial.order, default=None)


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
        self._before = self._near(self.place[None], FREE)[0]

    def _near(self, places: FloatArray, most: float) -> NDArray[np.bool_]:
        """Tells which atoms of trials (t,n,3) are nearer than `most` to those around, (t,n,m)."""
        own, other = places - self._pivot, self._other - self._pivot
        square = (own**2).sum(axis=2)[..., None] + (other**2).sum(axis=1) - 2 * own @ other.T
        return np.asarray((square < most**2) & ~self._is_bonded)

    def _left(self, places: FloatArray) -> tuple[IdArray, IdArray]:
        """Returns the clashes and contacts (t,) of trials (t,n,3); the first is large for one that makes a clash."""
        near = self._near(places, FREE)
        made = (near & ~self._before).any(axis=(1, 2))
        clashes = np.where(made, np.iinfo(np.int64).max, near.sum(axis=(1, 2)))
        return clashes, self._near(places, CONTACT).sum(axis=(1, 2))

    def best(self) -> Trial | None:
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

    def _closed(self, junction: Junction, order: IdArray, places: FloatArray) -> Trial | None:
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
                return Trial(self._turn, float(ANGLES[some[best]]), left, self.atoms, closed[best] - self.place)
        return None

    def _trial(self, row: int, places: FloatArray, clashes: IdArray, contacts: IdArray) -> Trial:
        left = (int(clashes[row]), int(contacts[row]))
        return Trial(self._turn, float(ANGLES[row]), left, self.atoms, places[row] - self.place)


def _are_bonded(molecules: Molecules, pairs: IdArray, atoms: IdArray) -> NDArray[np.bool_]:
    """Tells which pairs topology keeps together; only those among neighbours of the group need to be looked at."""
    near = atoms
    for _ in range(3):
        near = np.unique(np.concatenate([near, molecules.graph.next_to(near)[1]]))
    is_near = np.isin(pairs[:, 1], near)
    is_bonded = np.zeros(len(pairs), bool)
    is_bonded[is_near] = molecules.are_bonded(pairs[is_near])
    return is_bonded
