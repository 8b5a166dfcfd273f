"""Turns tails: the end of a protein about a bond of its backbone until it is out of the way.

φ turns all that is beyond the bond of N and Cα, towards the nearer end of the chain, and ψ all that is beyond that of
Cα and C. What turns is as it was in itself, and bonded to the rest by that bond alone: so proline has no φ, and nothing
in a disulfide turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from tessera.build.clashes.find import NEAREST
from tessera.build.clashes.molecules import ROLE, Molecules
from tessera.build.clashes.moves import Turn, has_disulfide
from tessera.build.clashes.trials import CONTACT, FREE, Trial, rotated
from tessera.system.box import heights
from tessera.system.model import FloatArray, IdArray

LONGEST = 40  # residues from the end of a chain: the longest tails of histones, of H2A and H3, have 39 or fewer
#: degrees of either sign
ANGLES = np.array([1, 2, 3, 4, *range(5, 181, 5)], np.float64)
_MOST_ATOMS = 30 * LONGEST  # of a tail; more are no tail
_SAMPLE = 7  # of so many atoms of a tail one is looked at first
_BOND = 2.0  # Å: what is this near to a residue of unknown bonds may be bonded to it


@dataclass(frozen=True)
class Residue:
    """The backbone of an amino acid."""

    n: int
    alpha: int
    c: int


def tail_turns(molecules: Molecules, atom: int) -> list[Turn]:
    """Returns the turns of tails that move an atom: those of its own residue and of residues further from the nearer
    end of the chain, the shortest tail first."""
    own = residue_of(molecules, atom)
    if own is None:
        return []
    before, behind = (list(_onwards(molecules, own, side)) for side in (-1, 1))
    is_first = len(before) <= len(behind)  # the first end of the chain is the nearer one
    to_end, inwards = (before, behind) if is_first else (behind, before)
    if len(to_end) >= LONGEST:
        return []
    length = len(to_end) + 1 + len(inwards)  # of the chain, or so much of it as is looked at
    most = min(LONGEST, (length + 1) // 2) - len(to_end)
    found: list[Turn] = []
    for residue in [own, *inwards][:most]:
        bonds = [("φ", residue.n, residue.alpha), ("ψ", residue.alpha, residue.c)]
        for letter, one, other in bonds if is_first else reversed(bonds):
            turned = _beyond(molecules, one, other) if is_first else _beyond(molecules, other, one)
            if turned is not None and atom in turned:
                found.append(Turn(f"tail {letter}", (one, other), turned))
    return found


def residue_of(molecules: Molecules, atom: int) -> Residue | None:
    """Returns the backbone of the amino acid that an atom is in, by its bonds."""
    found = [atom]
    for here in found:
        if molecules.role[here] == ROLE["CA"]:
            return _backbone(molecules, here)
        near = (other for other in molecules.graph.of(here) if molecules.residue[other] == molecules.residue[atom])
        found += [other for other in near if other not in found]
    return None


def _backbone(molecules: Molecules, alpha: int) -> Residue | None:
    ends = {name: _neighbour(molecules, alpha, name) for name in ("N", "C")}
    n, c = ends["N"], ends["C"]
    return None if n is None or c is None else Residue(n, alpha, c)


def _neighbour(molecules: Molecules, atom: int, name: str) -> int | None:
    return next((other for other in molecules.graph.of(atom) if molecules.role[other] == ROLE[name]), None)


def _onwards(molecules: Molecules, residue: Residue, side: int) -> Iterator[Residue]:
    """Yields the residues behind one (side 1), or before it (−1), up to the end of the chain or twice the longest
    tail."""
    for _ in range(2 * LONGEST):
        other = _neighbour(molecules, *((residue.c, "N") if side > 0 else (residue.n, "C")))
        alpha = None if other is None else _neighbour(molecules, other, "CA")
        following = None if alpha is None else _backbone(molecules, alpha)
        if following is None:
            return
        residue = following
        yield residue


def _beyond(molecules: Molecules, end: int, fixed: int) -> IdArray | None:
    """Returns the atoms beyond the bond of two atoms, without its ends; none where another bond leads back, or where
    these are too many for a tail."""
    reached = molecules.graph.reached(end, (fixed,), _MOST_ATOMS)
    beyond = set(reached)
    if len(reached) > _MOST_ATOMS or sum(other in beyond for other in molecules.graph.of(fixed)) > 1:
        return None
    turned = np.array(sorted(beyond - {end}), np.int64)
    if not len(turned) or has_disulfide(molecules, turned):
        return None
    return turned


def best_pose(molecules: Molecules, pair: list[int]) -> Trial | None:
    """Returns the best turn of a tail that moves one of two atoms, none where no turn leaves fewer clashes."""
    found = [_Poses(molecules, turns).best() for atom in pair if (turns := tail_turns(molecules, atom))]
    return min((trial for trial in found if trial is not None), key=lambda trial: trial.order, default=None)


@dataclass(frozen=True)
class _Near:
    """Pairs (m,) of an atom of a group and another one."""

    group: IdArray
    atom: IdArray
    other: IdArray  # its row among those around
    distance: FloatArray  # Å
    key: IdArray  # a number for each pair of a group


class _Poses:
    """The turns of one tail, and the atoms around all places to which they bring it."""

    def __init__(self, molecules: Molecules, turns: list[Turn]) -> None:
        self._molecules = molecules
        places = _unfolded(molecules, turns)
        groups = [_Group(turn, places) for turn in turns]
        if molecules.box is not None:  # no group meets an image of its own
            least = float(heights(molecules.box).min())
            groups = [group for group in groups if 2 * (group.reach + _BOND) < least]
        self._groups = groups
        if not groups:
            return
        centre = groups[-1].end
        radius = max(float(np.linalg.norm(group.end - centre)) + group.reach for group in groups) + _BOND
        self._other, place = _around(molecules, centre, radius)
        self._tree = cKDTree(place)
        self._is_own = np.array([np.isin(self._other, group.turn.turned) for group in groups])
        # Before anything turns: the pairs that are near, and the groups that may be bonded to what has unknown bonds.
        rows = np.arange(len(groups))
        near = self._near(rows, [group.place for group in groups], _BOND)
        self._clashing = near.key[near.distance < FREE]
        self._touching = near.key[(near.distance >= FREE) & (near.distance < CONTACT)]
        self._clashes = np.bincount(near.group[near.distance < FREE], minlength=len(groups))
        touched = near.group * len(self._other) + near.other
        clashing = np.isin(touched, touched[near.distance < NEAREST])  # which are no bonds
        held = molecules.is_rigid[self._other[near.other]] & ~clashing
        self._may_turn = rows[(self._clashes > 0) & ~np.isin(rows, near.group[held])]

    def _near(self, rows: IdArray, places: list[FloatArray], most: float, step: int = 1) -> _Near:
        """Returns the pairs of atoms of these groups, which are at these places, with others nearer than `most` that
        topology does not keep together; of each group one of so many atoms is looked at."""
        atoms = [self._groups[row].turn.turned[::step] for row in rows.tolist()]
        group, atom = np.repeat(rows, [len(some) for some in atoms]), np.concatenate(atoms)
        points = np.concatenate([place[::step] for place in places])
        found = cKDTree(points).sparse_distance_matrix(self._tree, most, output_type="ndarray")
        found = found[~self._is_own[group[found["i"]], found["j"]]]
        group, atom, other = group[found["i"]], atom[found["i"]], found["j"]
        apart = ~self._molecules.are_bonded(np.stack([atom, self._other[other]], axis=1))
        key = (group * self._molecules.n_atoms + atom) * len(self._other) + other
        return _Near(*(column[apart] for column in (group, atom, other, found["v"], key)))

    def best(self) -> Trial | None:
        """Returns the best trial, none where none leaves fewer clashes. Smaller angles are tried first."""
        best: Trial | None = None
        for size in ANGLES.tolist() if self._groups else []:
            for angle in (size, -size) if size < 180 else (size,):
                for trial in self._trials(angle):
                    if best is None or trial.order < best.order:
                        best = trial
            if best is not None and best.left == (0, 0):
                break
        return best

    def _trials(self, angle: float) -> list[Trial]:
        """Returns the trials of all groups at an angle that leave fewer clashes, and bring no pair into a clash and no
        heavy atoms into contact, so that no bond comes through a ring."""
        rows, light = self._may_turn, self._molecules.is_hydrogen
        places = {row: self._groups[row].turned(angle) for row in rows.tolist()}
        for step in (_SAMPLE, 1):  # most trials are refused for some of their atoms
            if not len(rows):
                return []
            near = self._near(rows, [places[row] for row in rows.tolist()], CONTACT, step)
            was_clash, was_contact = np.isin(near.key, self._clashing), np.isin(near.key, self._touching)
            is_clash = near.distance < FREE
            is_light = light[near.atom] | light[self._other[near.other]]
            refused = near.group[(is_clash & ~was_clash) | ~(is_light | was_clash | was_contact)]
            rows = rows[~np.isin(rows, refused)]
        clashes, contacts = (  # contacts from before may stay
            np.bincount(near.group[which], minlength=len(self._groups)) for which in (is_clash, ~was_contact)
        )
        trials = []
        for row in rows[clashes[rows] < self._clashes[rows]].tolist():
            group, left = self._groups[row], (int(clashes[row]), int(contacts[row]))
            trials.append(Trial(group.turn, angle, left, group.turn.turned, places[row] - group.place))
        return trials


class _Group:
    """The atoms that a turn of a tail moves, in one image."""

    def __init__(self, turn: Turn, places: dict[int, FloatArray]) -> None:
        self.turn = turn
        self.start, self.end = (places[atom] for atom in turn.axis)
        self.place = np.array([places[atom] for atom in turn.turned.tolist()])
        self.reach = float(np.linalg.norm(self.place - self.end, axis=1).max())

    def turned(self, angle: float) -> FloatArray:
        return rotated(self.place, self.start, self.end, np.array([angle]))[0]


def _unfolded(molecules: Molecules, turns: list[Turn]) -> dict[int, FloatArray]:
    """Returns where the atoms of the turns of one tail are, each in its image next to what it is bonded to."""
    atoms = {atom for turn in turns for atom in (*turn.turned.tolist(), *turn.axis)}
    start = turns[-1].axis[1]
    places, edge = {start: molecules.position[start]}, [start]
    for here in edge:
        new = [other for other in molecules.graph.of(here) if other in atoms and other not in places]
        for other, place in zip(new, molecules.near(np.array(new, np.int64), places[here])):
            places[other] = place
        edge += new
    return places


def _around(molecules: Molecules, centre: FloatArray, radius: float) -> tuple[IdArray, FloatArray]:
    """Returns the atoms (m,) within a radius of a centre (3,) Å, each as often as it has images there, and where these
    are (m,3) Å."""
    near = molecules.nearest(molecules.position, centre)
    shifts = np.zeros((1, 3))
    if molecules.box is not None:
        most = np.ceil(radius / heights(molecules.box) - 0.5).astype(int)  # images beyond those nearest to the centre
        turns = np.stack(np.meshgrid(*(np.arange(-m, m + 1) for m in most), indexing="ij"), axis=-1)
        shifts = turns.reshape(-1, 3) @ molecules.box
    atoms, places = [], []
    for shift in shifts:
        found = np.flatnonzero(((near + (shift - centre)) ** 2).sum(axis=1) < radius * radius)
        atoms.append(found)
        places.append(near[found] + shift)
    return np.concatenate(atoms), np.concatenate(places)
