"""Frames of base pairs and their parameters are inverse to each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera.build.dna.frames import Frames, bases_of, chained, fitted, pairs_of, parameters
from tessera.build.dna.nucleotides import NUCLEOTIDES
from tests.dna.helices import helix

ANGLE = st.floats(-80, 80)
LENGTH = st.floats(-6, 6)


@given(st.tuples(LENGTH, LENGTH, LENGTH, ANGLE, ANGLE, st.floats(-170, 170)))
def test_steps_come_back_from_their_frames(step: tuple[float, ...]) -> None:
    frames = chained(np.array([step, step]))
    found, middle = parameters(frames[:-1], frames[1:])
    assert found == pytest.approx(np.array([step, step]), abs=1e-6)
    assert np.linalg.det(middle.rotation) == pytest.approx(1)


def test_flat_steps_have_no_bend() -> None:
    flat = np.array([[0, 0, 3.4, 0, 0, 36], [0, 0, 0, 0, 0, 0], [1, 2, 3, 0, 0, -120.0]])
    frames = chained(flat)
    assert parameters(frames[:-1], frames[1:])[0] == pytest.approx(flat, abs=1e-9)


def test_pairs_come_back_from_their_bases() -> None:
    _, pairs, frames = helix()
    found, again = pairs_of(*bases_of(frames, pairs))
    assert found == pytest.approx(pairs, abs=1e-9)
    assert again.origin == pytest.approx(frames.origin, abs=1e-9)
    assert again.rotation == pytest.approx(frames.rotation, abs=1e-9)


def test_a_helix_has_the_rise_and_twist_of_its_steps() -> None:
    """Ten steps of 36° about a straight axis are one turn."""
    frames = chained(np.tile([0, 0, 3.4, 0, 0, 36.0], (10, 1)))
    assert frames.origin[10] == pytest.approx([0, 0, 34.0])
    assert frames.rotation[10] == pytest.approx(np.eye(3), abs=1e-12)


def test_roll_turns_about_y_and_tilt_about_x() -> None:
    (rolled,), (tilted,) = (chained(np.array([[0, 0, 0, *turn, 0.0]]))[1:].rotation for turn in ((0, 90), (90, 0)))
    assert rolled[:, 2] == pytest.approx([1, 0, 0], abs=1e-12)
    assert tilted[:, 2] == pytest.approx([0, -1, 0], abs=1e-12)


def test_a_fit_finds_the_frame_of_a_base() -> None:
    _, _, frames = helix()
    for kind in NUCLEOTIDES.values():
        standard = kind.places(kind.ring)
        found = fitted(frames.placed(standard), standard)
        assert isinstance(found, Frames)
        assert found.origin == pytest.approx(frames.origin, abs=1e-9)
        assert found.rotation == pytest.approx(frames.rotation, abs=1e-9)


def test_seen_from_the_other_strand_four_parameters_change_their_signs() -> None:
    """Shift, tilt, shear and buckle do, and all others stay (Lu and Olson 2003)."""
    steps, pairs, frames = helix()
    first, second = bases_of(frames, pairs)
    found, again = pairs_of(second[::-1], first[::-1])
    signs = np.array([-1, 1, 1, -1, 1, 1])
    assert found == pytest.approx(pairs[::-1] * signs, abs=1e-9)
    assert parameters(again[:-1], again[1:])[0] == pytest.approx(steps[::-1] * signs, abs=1e-9)
