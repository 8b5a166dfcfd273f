"""DNA between two base pairs, beside elastic rods whose energy is known."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from tessera.build.dna.frames import Frames, chained, parameters
from tessera.build.dna.paths import RISE, TWIST
from tessera.build.dna.rods import PERSISTENCE, TORSION, Rod, rod

N = 46
LENGTH = (N + 1) * RISE


def straight(twist: float = TWIST) -> Frames:
    return chained(np.tile([0.0, 0.0, RISE, 0.0, 0.0, twist], (N + 1, 1)))


def test_a_straight_rod_costs_nothing() -> None:
    pairs = straight()
    found = rod(pairs[0], pairs[-1], N)
    assert found.energy == pytest.approx(0, abs=1e-9)
    assert found.excess == pytest.approx(0, abs=1e-9)
    assert found.pairs.origin == pytest.approx(pairs.origin[1:-1], abs=1e-6)


@pytest.mark.parametrize("angle", [-0.8, 0.5])
def test_a_twisted_rod_costs_its_torsion(angle: float) -> None:
    """The energy is that of Cφ²/2L, and the excess is the angle in base pairs."""
    pairs = straight(TWIST + np.degrees(angle) / (N + 1))
    found = rod(pairs[0], pairs[-1], N)
    assert found.energy == pytest.approx(TORSION * angle**2 / (2 * LENGTH), rel=1e-6)
    assert found.excess == pytest.approx(np.degrees(angle) / TWIST)
    assert np.ptp(found.steps, axis=0) == pytest.approx(np.zeros(6), abs=1e-4)


@pytest.mark.parametrize("angle", [0.5, 2.0])
def test_a_rod_bent_to_an_arc_costs_its_persistence_length(angle: float) -> None:
    """The energy of a uniform bend is that of Aθ²/2L, which no other course between the same ends undercuts. Bending by
    steps makes the twist about their own axes differ by up to θ²/n² of itself."""
    radius = LENGTH / angle
    turn = Rotation.from_rotvec([0, angle, 0]).as_matrix()
    end = radius * np.array([1 - np.cos(angle), 0, np.sin(angle)])
    straight_end = straight().rotation[-1]
    found = rod(Frames(np.zeros(3), np.eye(3)), Frames(end, turn @ straight_end), N)
    assert found.energy == pytest.approx(PERSISTENCE * angle**2 / (2 * LENGTH), rel=2e-3)
    assert abs(found.excess) < 0.01
    assert np.hypot(found.steps[:, 3], found.steps[:, 4]) == pytest.approx(np.degrees(angle) / (N + 1), rel=0.02)


vectors = st.tuples(*[st.floats(-1, 1)] * 3).map(np.array)


@settings(max_examples=5, deadline=None)
@given(turn=vectors, away=vectors.filter(lambda v: np.linalg.norm(v) > 0.1), n=st.integers(8, 30))
def test_both_ends_are_met_from_either_side(turn: np.ndarray, away: np.ndarray, n: int) -> None:
    """Steps lead from one end to the other, and DNA read along its other strand is the same."""
    first = Frames(np.zeros(3), np.eye(3))
    last = Frames(0.7 * n * RISE * away / np.linalg.norm(away), Rotation.from_rotvec(2 * turn).as_matrix())
    found = rod(first, last, n)
    reached = chained(found.steps, first)
    assert reached.origin[-1] == pytest.approx(last.origin, abs=1e-6)
    assert reached.rotation[-1] == pytest.approx(last.rotation, abs=1e-8)
    assert reached.origin[1:-1] == pytest.approx(found.pairs.origin, abs=1e-6)
    other = rod(last.turned(), first.turned(), n)
    assert other.energy == pytest.approx(found.energy, rel=1e-5)


@cache
def bulging() -> tuple[Frames, Frames, Rod]:
    pairs = straight()
    first, last = pairs[0], Frames(0.8 * pairs.origin[-1] + np.array([20.0, 10.0, 0.0]), pairs.rotation[-1])
    return first, last, rod(first, last, N)


@settings(max_examples=20, deadline=None)
@given(push=st.lists(st.floats(-1, 1), min_size=6, max_size=6), at=st.integers(0, N - 1))
def test_no_pair_can_move_to_less_energy(push: list[float], at: int) -> None:
    first, last, found = bulging()
    origin = np.concatenate([[first.origin], found.pairs.origin, [last.origin]])
    rotation = np.concatenate([[first.rotation], found.pairs.rotation, [last.rotation]])
    origin[at + 1] += 0.05 * np.array(push[:3])
    rotation[at + 1] = Rotation.from_rotvec(0.02 * np.array(push[3:])).as_matrix() @ rotation[at + 1]
    steps, _ = parameters(Frames(origin[:-1], rotation[:-1]), Frames(origin[1:], rotation[1:]))
    assert energy_of(steps) >= found.energy * (1 - 1e-6)


def energy_of(steps: np.ndarray) -> float:
    bend = np.array([PERSISTENCE, PERSISTENCE, TORSION]) / RISE * np.radians(steps[:, 3:] - [0, 0, TWIST]) ** 2
    shift = 1000 / 41.1 / RISE * (steps[:, :3] - [0, 0, RISE]) ** 2
    return float(bend.sum() + shift.sum()) / 2
