"""Clashes that are put into molecules on purpose, and an oracle that says which of them one turn could mend."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from tessera.build.clashes.closing import _usual, angles_of, junction_of
from tessera.build.clashes.find import Overlaps, overlaps_of
from tessera.build.clashes.mend import Outcome
from tessera.build.clashes.molecules import ROLE, Molecules
from tessera.build.clashes.moves import Turn, turns_of
from tessera.build.clashes.rings import rings_of
from tessera.system.model import FloatArray, IdArray

LIMIT = 0.9  # Å
#: of the clashes that a test draws
SEEDS = st.integers(min_value=0, max_value=2**32 - 1)


def few(count: int) -> settings:
    """Returns the settings of a test that draws so many cases, the same ones each time."""
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )


def copy_of(molecules: Molecules) -> Molecules:
    return replace(molecules, position=molecules.position.copy(), notes=list(molecules.notes))


def all_turns(molecules: Molecules) -> list[Turn]:
    """Returns every φ and χ of molecules without a box."""
    found: dict[tuple[int, int], Turn] = {}
    beta = [b for a in np.flatnonzero(molecules.role == ROLE["CB"]).tolist() for b in molecules.graph.of(a)]
    for atom in [*np.flatnonzero(molecules.role == ROLE["P"]).tolist(), *beta]:
        found |= {turn.key: turn for turn in turns_of(molecules, atom)}
    return list(found.values())


def turned(molecules: Molecules, turn: Turn, degrees: float) -> FloatArray:
    """Returns where the atoms of a turn go (n,3) Å."""
    start, end = molecules.position[list(turn.axis)]
    rotation = Rotation.from_rotvec((end - start) / np.linalg.norm(end - start) * np.radians(degrees))
    return np.asarray(end + rotation.apply(molecules.position[turn.turned] - end))


def meets(molecules: Molecules, tree: cKDTree, atoms: IdArray, place: FloatArray, most: float = LIMIT) -> int:
    """Counts the atoms of a tree that others would be nearer to than `most`, which no three bonds join to them."""
    near = tree.query_ball_point(place, most)
    pairs = np.array([(a, b) for a, some in zip(atoms, near) for b in some if b not in atoms])
    return int((~molecules.are_bonded(pairs)).sum()) if len(pairs) else 0


class Injector:
    """Chooses places of molecules at random and makes clashes there, each at least `apart` Å from all others."""

    def __init__(self, molecules: Molecules, seed: int, apart: float = 25.0) -> None:
        self.apart = apart
        self.molecules = molecules
        self.tree = cKDTree(molecules.position)
        self.turns = all_turns(molecules)
        self.random = np.random.default_rng(seed)
        is_small = np.bincount(molecules.residue)[molecules.residue] <= 3
        self.small = np.flatnonzero(is_small & ~molecules.is_hydrogen)

    def put(self, count: int, tries: int = 6000) -> tuple[Molecules, list[tuple[str, Turn]]]:
        """Returns molecules with up to so many clashes, and the group that each concerns."""
        made, places = copy_of(self.molecules), [np.full(3, 1e9)]
        groups: list[tuple[str, Turn]] = []
        for _ in range(tries):
            if len(groups) == count:
                break
            turn = self.turns[self.random.integers(len(self.turns))]
            place = self.molecules.position[turn.axis[1]]
            if np.linalg.norm(np.array(places) - place, axis=1).min() < self.apart:
                continue
            kind = "rigid" if len(self.small) and self.random.integers(2) else "turn"
            if self._turn(made, turn) if kind == "turn" else self._rigid(made, turn):
                places.append(place)
                groups.append((kind, turn))
        return made, groups

    def _turn(self, made: Molecules, turn: Turn) -> bool:
        for degrees in self.random.uniform(-180, 180, 40):
            place = turned(self.molecules, turn, degrees)
            if meets(self.molecules, self.tree, turn.turned, place, LIMIT - 0.01):
                made.position[turn.turned] = place
                return True
        return False

    def _rigid(self, made: Molecules, turn: Turn) -> bool:
        """Brings a small molecule, such as a water, with an atom of it onto one of the group."""
        atom = self.random.choice(self.small)
        atoms = np.flatnonzero(self.molecules.residue == self.molecules.residue[atom])
        if (made.position[atoms] != self.molecules.position[atoms]).any():
            return False
        step = self.random.normal(size=3)
        there = self.molecules.position[self.random.choice(turn.turned)]
        there = there + step / np.linalg.norm(step) * self.random.uniform(0.05, 0.85)
        place = self.molecules.position[atoms] + there - self.molecules.position[atom]
        if any(set(near) - set(turn.turned) for near in self.tree.query_ball_point(place, LIMIT + 0.02)):
            return False
        made.position[atoms] = place
        return True


def check_mended(before: Molecules, overlaps: Overlaps, after: Molecules, outcomes: list[Outcome]) -> int:
    """Returns how many clashes are left that one turn could mend. Asserts that none was made, that those mended are
    gone, and that lengths, angles, planes and handedness are as they were."""
    left = {(one, other) for one, other in overlaps_of(after).pairs.tolist()}
    pairs = [(one, other) for one, other in overlaps.pairs.tolist()]
    assert left == {pair for pair, outcome in zip(pairs, outcomes) if not outcome.mended}
    old, new = (places.position for places in (before, after))
    one, other = before.bonds.T
    moved = (old != new).any(axis=1)
    assert np.abs(_length(old, one, other) - _length(new, one, other)).max() < 1e-4
    angles = _angles(before)
    angles = angles[moved[angles].any(axis=1)]
    was, now = (angles_of(places[None], angles)[0] for places in (old, new))
    usual = np.array([_usual(before, angle) or value for angle, value in zip(angles.tolist(), was.tolist())])
    assert (np.abs(now - usual) <= np.maximum(6.0, np.abs(was - usual)) + 1e-2).all()
    assert (_hands(before, old) * _hands(before, new) > 0).all()
    for ring in rings_of(before.graph, ~before.is_hydrogen):
        assert np.allclose(_shape(old, ring), _shape(new, ring), atol=1e-6)  # rings move as they are
    return sum(could_be_mended(after, list(pair)) for pair in left)


def _length(places: FloatArray, one: IdArray, other: IdArray) -> FloatArray:
    return np.asarray(np.linalg.norm(places[one] - places[other], axis=1))


def _angles(molecules: Molecules) -> IdArray:
    """Returns all angles (a,3), the middle between the ends."""
    row, end = molecules.graph.next_to(np.arange(molecules.n_atoms))
    which, other = molecules.graph.next_to(row)
    angles = np.stack([end[which], row[which], other], axis=1)
    return angles[angles[:, 0] < angles[:, 2]]


def _hands(molecules: Molecules, places: FloatArray) -> FloatArray:
    """Returns the volumes that neighbours of atoms with four of them span."""
    begin = molecules.graph.begin
    four = np.flatnonzero(np.diff(begin) == 4)
    three = molecules.graph.other[begin[four][:, None] + np.arange(3)]
    return np.asarray(np.linalg.det(places[three] - places[four][:, None]))


def _shape(places: FloatArray, ring: IdArray) -> FloatArray:
    """Returns the distances of all atoms of rings (m,size) from each other."""
    return np.asarray(np.linalg.norm(places[ring][:, :, None] - places[ring][:, None], axis=3))


def could_be_mended(molecules: Molecules, pair: list[int]) -> bool:
    """Tells whether one turn by a whole number of degrees, and closing where it is φ, takes two atoms apart without
    another clash: the oracle of what these moves can do, by trying all."""
    tree = cKDTree(molecules.position)
    for turn in {t.key: t for atom in pair for t in turns_of(molecules, atom)}.values():
        atoms, trials = turn.turned, np.array([turned(molecules, turn, degrees) for degrees in range(-180, 180)])
        if turn.letter == "φ":
            junction = junction_of(molecules, turn)
            atoms, before = junction.moving, molecules.position[junction.atoms]
            whole = np.repeat(before[None], len(trials), axis=0)
            whole[:, np.flatnonzero(junction.is_turned)] = trials[:, np.argsort(np.argsort(atoms[junction.is_turned]))]
            whole = junction.closed(whole)
            trials = whole[junction.may_be(whole, before), : junction.n_moving]
        were = meets(molecules, tree, atoms, molecules.position[atoms])
        if any(meets(molecules, tree, atoms, trial, LIMIT + 0.02) < were for trial in trials):
            return True
    return False


def repeated(molecules: Molecules, copies: int, edge: float = 170.0) -> Molecules:
    """Returns so many copies of molecules in a box, each in a cube of this edge (Å)."""
    side = int(np.ceil(copies ** (1 / 3)))
    cubes = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)[:copies]
    place = molecules.position - molecules.position.mean(axis=0) + edge * (cubes[:, None] + 0.5 - side / 2)
    first = np.arange(copies)[:, None] * molecules.n_atoms
    bonds = (molecules.bonds[None] + first[..., None]).reshape(-1, 2)
    role = np.tile(molecules.role, copies)
    hydrogen, rigid = np.tile(molecules.is_hydrogen, copies), np.tile(molecules.is_rigid, copies)
    residue = (molecules.residue + first).reshape(-1)
    box = np.eye(3) * edge * side
    return Molecules(molecules.file, place.reshape(-1, 3), box, bonds, role, hydrogen, residue, rigid, str, str)
