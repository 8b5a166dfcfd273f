"""Turns tails of histones out of each other's way, and out of the way of linkers, before any of these settle.

A template has each tail in one pose, and at many frames some reach into other nucleosomes or linkers. Other poses are
made once: some of the tail's φ and ψ turn by random angles, and a pose is kept if it has room beside its own
nucleosome. In the order of the nucleosomes, a tail that meets something takes the first pose that has room there, or
the one that meets least.

Where a model has beads for tails, tails are led along them: φ and ψ turn one after another, each by the angle that
brings the Cα's which beads stand for nearest to these (cyclic coordinate descent, Canutescu and Dunbrack 2003), or by a
part of it for which there is room beside the own nucleosome. Of the poses on the way, the nearest that meets nothing is
taken.

Where DNA still can't close as a tail is in the way, the tail takes another pose later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tessera.build.dna.frames import Frames
from tessera.build.fiber.processes import workers
from tessera.build.nucleosome.settle import residues_of
from tessera.build.protein.model import Proteins
from tessera.build.protein.residues import is_heavy
from tessera.system.model import FloatArray, IdArray

_LONGEST = 40  # residues: the tails of H3
_NEIGHBOURS, _AROUND, _ALONG = 6, 10.0, 4  # Cα's this near, Å, and not this near along a chain: more are not at a tail
_GLOBULAR = 3  # residues in a row that have more
_POSES, _TRIES = 60, 800
_TURNED, _SPREAD = 0.3, 50.0  # of residues beyond a hinge, and degrees
_ROOM = 3.0  # Å between heavy atoms of a tail and others
_CLOSE = 2.2  # Å between any atoms of a tail that has to turn and of others
_OWN_ROOM = 1.6  # Å between any atoms of a pose and of its nucleosome: no less than in hydrogen bonds
_NEARER = 0.1  # Å: what is nearer as it is may come nearer by this in a pose
_LED, _ROUNDS, _KEPT = 1, 4, 8  # poses that are led along beads, each so many times; the nearest ones, which are kept
_LARGEST, _BESIDE_AIM = 0.5, 0.15  # radians of a turn at a time, and by how much it misses, so that it goes on
_PARTS = (1.0, 0.5, 0.25)  # of a turn, until one has room
_AT_ONCE = 64  # nucleosomes, whose poses are in memory
_BEYOND = 40.0  # Å from the middle of beads to that of a nucleosome, from a bead to the end of its tail, and past poses


@dataclass(frozen=True)
class _Turn:
    """A rotation about the bond from one atom to another, which moves atoms (m,)."""

    one: int
    other: int
    moved: IdArray

    def behind(self, first: int) -> _Turn:
        """Returns the turn with rows of atoms from the first of a tail on."""
        return _Turn(self.one - first, self.other - first, self.moved - first)


@dataclass(frozen=True)
class _Tail:
    """The atoms of a tail by the template's rows, which of them are heavy, its turns, and its poses (k,m,3) Å, the
    template's first."""

    atoms: slice
    heavy: NDArray[np.bool_]
    turns: list[list[_Turn]]
    poses: FloatArray


@dataclass(frozen=True)
class Guides:
    """Where atoms (k,) of a template, those for which beads of tails stand, should be in each nucleosome, (n,k,3) Å,
    and which residues (r,) turn for that."""

    atoms: IdArray
    places: FloatArray
    turning: NDArray[np.bool_]

    def reach(self) -> float:
        """Returns how far tails that follow them come from the middle of a nucleosome at most, Å."""
        return max(float(np.linalg.norm(own - own.mean(axis=0), axis=1).max()) for own in self.places) + _BEYOND

    def distance(self, position: FloatArray, each: int) -> float:
        """Returns how far they are from there, Å (root of the mean square), in a fibre that begins with its proteins,
        so many atoms in each nucleosome."""
        found = position[: len(self.places) * each].reshape(len(self.places), each, 3)[:, self.atoms]
        return float(np.sqrt(((found - self.places) ** 2).sum(axis=2).mean()))


class Tails:
    """The tails of nucleosomes, which are where a template has been moved to. `dna` (k,3) Å are the atoms of DNA beside
    the template's proteins."""

    def __init__(
        self, proteins: Proteins, dna: FloatArray, moves: list[Frames], seed: int = 0, guides: Guides | None = None
    ) -> None:
        self._proteins, self._dna, self._moves, self._seed, self._guides = proteins, dna, moves, seed, guides
        self._residue = residues_of(proteins.chains)
        is_posed = len(moves) > 1 or guides is not None
        self._tails = list(self._found(np.random.default_rng(seed))) if is_posed else []

    def posed(self, linkers: FloatArray) -> tuple[FloatArray, int]:
        """Returns the proteins (n,m,3) Å of all nucleosomes after tails were led along their beads, or turned out of
        the way of each other and of the atoms of linkers (k,3) Å, and how many were."""
        position = np.stack([move.placed(self._proteins.position) for move in self._moves])
        if not self._tails:
            return position, 0
        turned = 0
        reach = 0.0 if self._guides is None else self._guides.reach()
        neighbours = _Neighbours(self._proteins, self._dna, self._tails, self._moves, linkers, position, reach)
        for at, tails in enumerate(self._led()):
            around = neighbours.around(at)
            for tail in tails:
                pose = neighbours.best(at, tail, around)
                if pose or self._guides is not None:
                    position[at, tail.atoms] = self._moves[at].placed(tail.poses[pose])
                    turned += 1
        return position, turned

    def _led(self) -> Iterator[list[_Tail]]:
        """Yields the tails of each nucleosome with their poses; where there are beads, with those along them too, the
        nearest first."""
        count = len(self._moves)
        if self._guides is None:
            yield from (self._tails for _ in range(count))
            return
        rooms = [_Room(tail.poses[0], self._residue[tail.atoms], self._beside(tail)) for tail in self._tails]
        work = partial(self._along, self._guides, rooms)
        with workers(work, count) as along:
            for first in range(0, count, _AT_ONCE):
                yield from along(range(first, min(first + _AT_ONCE, count)))

    def _along(self, guides: Guides, rooms: list[_Room], at: int) -> list[_Tail]:
        """Returns the tails of a nucleosome with the nearest of their poses and of those along beads."""
        move, found = self._moves[at], []
        for tail, room in zip(self._tails, rooms):
            is_own = (guides.atoms >= tail.atoms.start) & (guides.atoms < tail.atoms.stop)
            aim = _Aim(
                guides.atoms[is_own] - tail.atoms.start, (guides.places[at][is_own] - move.origin) @ move.rotation
            )
            random = np.random.default_rng([self._seed, at, tail.atoms.start])
            turns = [turn.behind(tail.atoms.start) for own in reversed(tail.turns) for turn in reversed(own)]
            poses = tail.poses[aim.order(tail.poses)]
            along = [pose for begin in poses[:_LED] for pose in _along(begin, turns, aim, room, random)]
            poses = np.concatenate([poses, *(pose[None] for pose in along)])
            found.append(replace(tail, poses=poses[aim.order(poses)[:_KEPT]]))
        return found

    def atoms(self) -> IdArray:
        """Returns which atoms of a fibre that begins with its proteins are in the tails of each nucleosome, (n,k)."""
        rows = np.concatenate([np.zeros(0, np.int64), *(np.r_[tail.atoms] for tail in self._tails)])
        return np.arange(len(self._moves))[:, None] * len(self._proteins.position) + rows

    def turn(self, position: FloatArray, residues: Iterable[int], attempt: int) -> int:
        """Turns the tails with these residues out of the way of whatever is at `position` (n,3) Å, where a fibre begins
        with its proteins: into the best of poses that are new in each attempt. Returns how many there were."""
        of_tail = {int(row): at for at, tail in enumerate(self._tails) for row in np.unique(self._residue[tail.atoms])}
        rows = (divmod(number, int(self._residue.max()) + 1) for number in sorted(residues))
        found = dict.fromkeys((nucleosome, of_tail[row]) for nucleosome, row in rows if row in of_tail)
        for nucleosome, at in found:
            tail = self._tails[at]
            random = np.random.default_rng([self._seed, attempt, nucleosome, tail.atoms.start])
            self._turn(position, nucleosome, tail, random)
        return len(found)

    def _turn(self, position: FloatArray, at: int, tail: _Tail, random: np.random.Generator) -> None:
        first, move = at * len(self._proteins.position), self._moves[at]
        own = slice(first + tail.atoms.start, first + tail.atoms.stop)
        beside = self._beside(tail)
        poses = self._poses(tail, beside, random)
        placed = move.placed(poses.reshape(-1, 3))
        # Turned bond by bond, a tail may go beyond all poses.
        is_near = ((position > placed.min(axis=0) - _BEYOND) & (position < placed.max(axis=0) + _BEYOND)).all(axis=1)
        is_near[own] = False
        others = cKDTree((position[is_near] - move.origin) @ move.rotation)
        best = poses[np.lexsort(_contacts(poses, others)[::-1])[0]]
        position[own] = move.placed(self._freed(best, tail, beside, others, random))

    def _freed(
        self, pose: FloatArray, tail: _Tail, beside: cKDTree, others: cKDTree, random: np.random.Generator
    ) -> FloatArray:
        """Returns a pose (m,3) Å that turns bond by bond as long as it meets others more than the template's meets its
        own nucleosome, and never more than before."""
        room = _Room(tail.poses[0], self._residue[tail.atoms], beside)
        turns = [turn.behind(tail.atoms.start) for own in tail.turns for turn in own]
        least = tuple(_contacts(tail.poses[:1], beside)[:, 0])
        met = tuple(_contacts(pose[None], others)[:, 0])
        for _ in range(_TRIES):
            if met <= least:
                break
            turn = turns[random.integers(len(turns))]
            places = pose.copy()
            _rotate(places, turn, float(np.radians(random.normal(0.0, _SPREAD / 2))))
            after = tuple(_contacts(places[None], others)[:, 0])
            if after <= met and room.has(places, turn.moved):
                pose, met = places, after
        return pose

    def _found(self, random: np.random.Generator) -> Iterator[_Tail]:
        """Yields the tails at both ends of chains, each with its poses."""
        proteins, residue = self._proteins, self._residue
        names = np.array([name for chain in proteins.chains for own in chain.residues for name in own.atoms])
        heavy = np.array([is_heavy(name) for name in names.tolist()])
        alpha = np.flatnonzero(names == "CA")
        if len(alpha) != residue.max() + 1:
            return
        is_globular = _globular(proteins, alpha)
        first = 0
        for chain in proteins.chains:
            rows = np.arange(first, first + len(chain.residues))
            first += len(rows)
            for onwards in (rows, rows[::-1]):
                length = _length(is_globular[onwards])
                if self._guides is not None:
                    length = max(length, int(np.argmin(self._guides.turning[onwards])))
                if length < 2:
                    continue
                own = onwards[:length]
                atoms = np.flatnonzero((residue >= own.min()) & (residue <= own.max()))
                tail = _Tail(
                    slice(int(atoms[0]), int(atoms[-1]) + 1),
                    heavy[atoms],
                    list(_turns(own, residue, names)),
                    proteins.position[None, atoms],
                )
                yield replace(tail, poses=self._poses(tail, self._beside(tail), random))

    def _poses(self, tail: _Tail, beside: cKDTree, random: np.random.Generator) -> FloatArray:
        """Returns poses (k,m,3) Å of a tail beside the rest of the template, the first of them the template's."""
        turns = [[turn.behind(tail.atoms.start) for turn in own] for own in tail.turns]
        return _poses(self._proteins.position[tail.atoms], turns, self._residue[tail.atoms], beside, random)

    def _beside(self, tail: _Tail) -> cKDTree:
        """Returns the atoms of the template beside a tail."""
        return cKDTree(np.concatenate([np.delete(self._proteins.position, tail.atoms, axis=0), self._dna]))


class _Neighbours:
    """What tails may meet: other nucleosomes without their tails, tails where they are at present, and linkers."""

    def __init__(
        self, proteins: Proteins, dna: FloatArray, tails: list[_Tail], moves: list[Frames], linkers: FloatArray,
        position: FloatArray, reach: float,
    ) -> None:  # fmt: skip
        self._moves, self._position, self._tails = moves, position, tails
        names = [name for chain in proteins.chains for residue in chain.residues for name in residue.atoms]
        is_heavy_atom = np.array([is_heavy(name) for name in names])
        self._of_tails = np.zeros(len(names), bool)
        for tail in tails:
            self._of_tails[tail.atoms] = True
        core = np.concatenate([proteins.position[is_heavy_atom & ~self._of_tails], dna])
        self._of_tails &= is_heavy_atom
        self._core, self._linkers = cKDTree(core), cKDTree(linkers.reshape(-1, 3))
        self._middle = core.mean(axis=0)
        self._radius = float(np.linalg.norm(core - self._middle, axis=1).max())
        self._reach = float(np.linalg.norm(proteins.position - self._middle, axis=1).max())
        self._reach = max([self._reach, reach, *(_far(tail, self._middle) for tail in tails)])
        self._middles = np.stack([move.placed(self._middle[None])[0] for move in moves])
        self._near = cKDTree(self._middles).query_ball_point(self._middles, 2 * self._reach + _ROOM)

    def around(self, at: int) -> cKDTree:
        """Returns the tails of other nucleosomes around one."""
        others = [self._position[other][self._of_tails] for other in self._near[at] if other != at]
        return cKDTree(np.concatenate([np.zeros((0, 3)), *others]))

    def best(self, at: int, tail: _Tail, around: cKDTree) -> int:
        """Returns which pose of a tail of a nucleosome meets least, the first of equal ones."""
        if not self._meetings(at, tail, tail.poses[:1], around)[0]:
            return 0
        return int(self._meetings(at, tail, tail.poses, around).argmin())

    def _meetings(self, at: int, tail: _Tail, poses: FloatArray, around: cKDTree) -> IdArray:
        """Returns how many heavy atoms of poses (k,m,3) Å of the template's tail have no room (k,)."""
        move = self._moves[at]
        places = move.placed(poses[:, tail.heavy].reshape(-1, 3))
        centre = places.mean(axis=0)
        radius = np.linalg.norm(places - centre, axis=1).max()
        own = self._of_tails.copy()
        own[tail.atoms] = False
        is_met = self._meets(self._linkers, places) | self._meets(around, places)
        is_met |= self._meets(cKDTree(self._position[at][own]), places)
        for other in self._near[at]:
            if other != at and np.linalg.norm(self._middles[other] - centre) < radius + self._radius + _ROOM:
                back = self._moves[other]
                is_met |= self._meets(self._core, (places - back.origin) @ back.rotation)
        return np.asarray(is_met.reshape(len(poses), -1).sum(axis=1))

    def _meets(self, tree: cKDTree, places: FloatArray) -> NDArray[np.bool_]:
        """Tells which places (n,3) Å have no room beside others."""
        if not tree.n:
            return np.zeros(len(places), bool)
        return np.isfinite(tree.query(places, distance_upper_bound=_ROOM)[0])


def _far(tail: _Tail, middle: FloatArray) -> float:
    """Returns how far any pose comes from a point, Å."""
    return float(np.linalg.norm(tail.poses - middle, axis=-1).max())


def _globular(proteins: Proteins, alpha: IdArray) -> NDArray[np.bool_]:
    """Tells which residues are in the globular part, by the Cα's around theirs."""
    place = proteins.position[alpha]
    chain = np.repeat(np.arange(len(proteins.chains)), [len(chain.residues) for chain in proteins.chains])
    one, other = cKDTree(place).query_pairs(_AROUND, output_type="ndarray").reshape(-1, 2).T
    counts = (chain[one] != chain[other]) | (np.abs(one - other) > _ALONG)
    return np.bincount(np.concatenate([one[counts], other[counts]]), minlength=len(alpha)) > _NEIGHBOURS


def _length(is_globular: NDArray[np.bool_]) -> int:
    """Returns how many residues from an end are before several in a row that are globular."""
    several = np.convolve(is_globular, np.ones(_GLOBULAR, int), "valid") == _GLOBULAR
    return min(int(several.argmax()) if several.any() else 0, _LONGEST)


def _turns(own: IdArray, residue: IdArray, names: NDArray[np.str_]) -> Iterator[list[_Turn]]:
    """Yields the turns about φ and ψ of each residue of a tail, from its end on."""
    is_first = len(own) < 2 or own[0] < own[1]
    beyond = np.zeros(0, np.int64)
    for number in own.tolist():
        atoms = np.flatnonzero(residue == number)
        row = {name: int(atom) for name, atom in zip(names[atoms].tolist(), atoms)}
        carbonyl = [atom for name, atom in row.items() if name in ("C", "O", "OT1", "OT2")]
        amide = [atom for name, atom in row.items() if name in ("N", "HN", "HT1", "HT2", "HT3")]
        turns = []
        if is_first:
            if "HN" in row:  # proline has no φ, and beyond that of the first residue is nothing
                turns.append(_Turn(row["CA"], row["N"], np.concatenate([beyond, amide]).astype(np.int64)))
            turns.append(_Turn(row["C"], row["CA"], np.concatenate([beyond, np.setdiff1d(atoms, carbonyl)])))
        else:
            turns.append(_Turn(row["CA"], row["C"], np.concatenate([beyond, carbonyl]).astype(np.int64)))
            if "HN" in row:
                turns.append(_Turn(row["N"], row["CA"], np.concatenate([beyond, np.setdiff1d(atoms, amide)])))
        yield turns
        beyond = np.concatenate([beyond, atoms])


def _poses(
    position: FloatArray, turns: list[list[_Turn]], residue: IdArray, tree: cKDTree, random: np.random.Generator
) -> FloatArray:
    """Returns poses (k,m,3) Å of the atoms of a tail beside others, the first of them as it is."""
    found = [position]
    room = _Room(position, residue, tree)
    for _ in range(_TRIES):
        if len(found) == _POSES:
            break
        # Near the globular part tails lie between the turns of DNA, and few turns there leave room.
        hinge = 1 + int(len(turns) * random.random() ** 2)
        places = position.copy()
        for own in turns[:hinge]:
            for turn in own:
                if random.random() < _TURNED:
                    _rotate(places, turn, float(np.radians(random.normal(0.0, _SPREAD))))
        if room.has(places):
            found.append(places)
    return np.stack(found)


class _Room:
    """The room that the atoms of a tail have beside those of a tree and beside each other. What is near as it is, as at
    the residue behind the tail or in bonds, of hydrogen too, may be as near in a pose."""

    def __init__(self, position: FloatArray, residue: IdArray, tree: cKDTree) -> None:
        self._residue, self._tree = residue, tree
        pairs, distance = _near_pairs(position, residue)
        order = np.argsort(pairs)
        self._pairs, self._apart = np.append(pairs[order], -1), np.append(distance[order], np.inf) - _NEARER
        self._least = np.minimum(tree.query(position, distance_upper_bound=_OWN_ROOM)[0] - _NEARER, _OWN_ROOM)

    def has(self, places: FloatArray, moved: IdArray | slice = slice(None)) -> bool:
        """Tells whether a pose (m,3) Å has it, of which these atoms have moved."""
        if (self._tree.query(places[moved], distance_upper_bound=_OWN_ROOM)[0] < self._least[moved]).any():
            return False
        pairs, distance = _near_pairs(places, self._residue)
        at = np.searchsorted(self._pairs[:-1], pairs)
        return bool(((self._pairs[at] == pairs) & (distance > self._apart[at])).all())


@dataclass(frozen=True)
class _Aim:
    """Where atoms (k,) of a tail should be, (k,3) Å."""

    atoms: IdArray
    places: FloatArray

    def order(self, poses: FloatArray) -> IdArray:
        """Returns the rows of poses (n,m,3) Å, the nearest first."""
        away = ((poses[:, self.atoms] - self.places) ** 2).sum(axis=(1, 2))
        return np.argsort(away, kind="stable")

    def angle(self, places: FloatArray, turn: _Turn) -> float:
        """Returns the angle in radians of a turn that brings its atoms nearest, 0 where it moves none of them."""
        is_moved = np.isin(self.atoms, turn.moved)
        origin = places[turn.one]
        axis = places[turn.other] - origin
        axis /= np.linalg.norm(axis)
        away, there = places[self.atoms[is_moved]] - origin, self.places[is_moved] - origin
        away = away - (away @ axis)[:, None] * axis
        return float(np.arctan2((np.cross(axis, away) * there).sum(), (away * there).sum()))


def _along(
    pose: FloatArray, turns: list[_Turn], aim: _Aim, room: _Room, random: np.random.Generator
) -> Iterator[FloatArray]:
    """Yields poses (m,3) Å of a tail while it turns towards its aim, from the globular part on, as far as it has
    room."""
    places = pose
    for _ in range(_ROUNDS):
        for turn in turns:
            angle = float(np.clip(aim.angle(places, turn), -_LARGEST, _LARGEST) + random.normal(0.0, _BESIDE_AIM))
            for part in _PARTS:
                turned = places.copy()
                _rotate(turned, turn, part * angle)
                if room.has(turned, turn.moved):
                    places = turned
                    break
        yield places


def _contacts(poses: FloatArray, others: cKDTree) -> IdArray:
    """Returns how many atoms of poses (k,m,3) Å are where others are, and how many have no room beside them, (2,k).
    Poses touch their own nucleosome less than anything that goes through a ring."""
    distance, _ = others.query(poses, distance_upper_bound=_CLOSE)
    return np.stack([(distance < reach).sum(axis=1) for reach in (_OWN_ROOM, _CLOSE)])


def _near_pairs(places: FloatArray, residue: IdArray) -> tuple[IdArray, FloatArray]:
    """Returns the pairs of atoms of two residues of a tail that have no room, or a bond, each as one number, and their
    distances, Å."""
    pairs = cKDTree(places).query_pairs(_OWN_ROOM, output_type="ndarray").reshape(-1, 2)
    one, other = pairs[residue[pairs[:, 0]] != residue[pairs[:, 1]]].T
    return one * len(places) + other, np.linalg.norm(places[one] - places[other], axis=1)


def _rotate(places: FloatArray, turn: _Turn, angle: float) -> None:
    """Turns atoms about a bond, by an angle in radians (Rodrigues' formula)."""
    origin = places[turn.one]
    axis = places[turn.other] - origin
    axis /= np.linalg.norm(axis)
    away = places[turn.moved] - origin
    along = (away @ axis)[:, None] * axis
    across = np.cross(axis, away)
    places[turn.moved] = origin + along + np.cos(angle) * (away - along) + np.sin(angle) * across
