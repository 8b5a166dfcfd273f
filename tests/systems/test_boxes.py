"""Boxes of any shape: the form that systems have, rotated and left-handed vectors, images and what files say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tessera.build.replicate import replicate
from tessera.errors import InputError
from tessera.prepare.assemble import choose_box
from tessera.prepare.charmm import prepare_charmm
from tessera.prepare.coordinates import Coordinates, read_coordinates
from tessera.system.blocks import to_fraction
from tessera.system.box import (
    describe_box,
    heights,
    in_vectors,
    is_orthorhombic,
    lengths_and_angles,
    placed,
    reduced,
    with_images,
)
from tests.support.inputs import ALA3_PARAMETERS, SMALL

ENTRY = st.floats(-50, 50)
VECTORS = arrays(np.float64, (3, 3), elements=ENTRY)


def usable(vectors: np.ndarray) -> bool:
    lengths = np.linalg.norm(vectors, axis=1)
    return bool(lengths.min() > 5 and abs(np.linalg.det(vectors / lengths[:, None])) > 0.05)


@given(vectors=VECTORS)
def test_any_vectors_get_the_form_of_a_system(vectors: np.ndarray) -> None:
    assume(usable(vectors))
    found = placed(vectors)
    box = found.box
    assert not np.triu(box, 1).any() and (np.diag(box) > 0).all()
    limit = 0.5 + 1e-6
    assert abs(box[1, 0]) <= limit * box[0, 0] and abs(box[2, 0]) <= limit * box[0, 0]
    assert abs(box[2, 1]) <= limit * box[1, 1]
    # The lattice is the same, and nothing is mirrored.
    turned = vectors if found.rotation is None else vectors @ found.rotation
    whole = turned @ np.linalg.inv(box)
    assert np.allclose(whole, np.rint(whole), atol=1e-6)
    assert abs(abs(np.linalg.det(np.rint(whole))) - 1) < 1e-9
    if found.rotation is not None:
        assert np.allclose(found.rotation @ found.rotation.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(found.rotation) == pytest.approx(1)


@given(vectors=VECTORS, turns=arrays(np.int64, 3, elements=st.integers(-3, 3)), seed=st.integers(0, 2**32 - 1))
def test_fractions_follow_other_vectors_exactly(vectors: np.ndarray, turns: np.ndarray, seed: int) -> None:
    assume(usable(vectors))
    box = placed(vectors).box
    other = box + np.array([[0, 0, 0], turns[0] * box[0], turns[1] * box[0] + turns[2] * box[1]])
    # A component of half the diagonal above it may come back with the other sign: both forms are reduced.
    change = (reduced(other) - box) @ np.linalg.inv(box)
    halves = np.abs(np.abs(box / np.diag(box)) - 0.5) < 1e-6
    assert np.allclose(change, np.rint(change), atol=1e-6)
    assert halves.any() or np.allclose(change, 0, atol=1e-6)
    fraction = np.random.default_rng(seed).integers(-(2**31), 2**31, (20, 3)).astype(np.int32)
    there = in_vectors(fraction, box, other)
    assert np.array_equal(in_vectors(there, other, box), fraction)
    apart = (there * 2.0**-32 @ other - fraction * 2.0**-32 @ box) @ np.linalg.inv(box)
    assert np.allclose(apart, np.rint(apart), atol=1e-6)


@given(vectors=VECTORS, seed=st.integers(0, 2**32 - 1))
def test_the_nearest_image_is_within_half_a_height(vectors: np.ndarray, seed: int) -> None:
    """What the engine takes for the nearest image is the nearest of all where it is shorter than half a height."""
    assume(usable(vectors))
    box = placed(vectors).box
    random = np.random.default_rng(seed)
    directions = random.normal(size=(50, 3))
    short = 0.499 * heights(box).min() * directions / np.linalg.norm(directions, axis=1)[:, None]
    start = random.uniform(-50, 50, (50, 3))
    with np.errstate(over="ignore"):
        apart = to_fraction(start + short, box) - to_fraction(start, box)
    assert np.allclose(apart * 2.0**-32 @ box, short, atol=1e-6)


@settings(deadline=None)
@given(vectors=VECTORS, seed=st.integers(0, 2**32 - 1))
def test_images_within_reach_of_the_faces_are_all_there(vectors: np.ndarray, seed: int) -> None:
    assume(usable(vectors))
    box = placed(vectors).box
    reach = 0.4 * float(heights(box).min())
    fraction = np.random.default_rng(seed).integers(-(2**31), 2**31, (30, 3)).astype(np.int32)
    position, atom = with_images(fraction, box, reach)
    assert len(np.unique(position.round(6), axis=0)) == len(position)
    found = np.linalg.norm(position[:, None] - position[None, :30], axis=2) < reach
    whole = np.array(np.meshgrid(*[[-1, 0, 1]] * 3)).reshape(3, -1).T @ box
    expected = np.linalg.norm(position[None, :30, None] + whole - position[:30, None, None], axis=3) < reach
    counts = np.zeros((30, 30), int)
    np.add.at(counts, (atom[np.nonzero(found)[0]], np.nonzero(found)[1]), 1)
    assert np.array_equal(counts, expected.sum(axis=2))


def test_vectors_that_are_no_box() -> None:
    for vectors, message in (
        (np.ones((3, 3)), "lie in a plane"),
        (np.diag([1.0, 0.0, 1.0]), "longer than 0 Å"),
        (np.full((3, 3), np.nan), "must be finite"),
    ):
        with pytest.raises(InputError, match=message):
            choose_box(Coordinates(np.zeros((1, 3)), vectors), None, False)


def test_texts() -> None:
    assert describe_box(np.diag([30.0, 31.0, 32.0])) == "30.0000 × 31.0000 × 32.0000 Å"
    box = placed(np.array([[30.0, 0, 0], [0, 30, 0], [15, 15, 450**0.5]])).box
    assert describe_box(box, 1) == "30.0 × 30.0 × 30.0 Å, angles 60.00°, 60.00°, 90.00°"


def turn(seed: int) -> np.ndarray:
    orthogonal, upper = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    orthogonal *= np.sign(np.diag(upper))
    return orthogonal * np.linalg.det(orthogonal)


@pytest.mark.parametrize("mirrored", [False, True])
def test_rotated_boxes_are_turned_with_what_is_in_them(mirrored: bool) -> None:
    """Left-handed vectors of a lattice give it a right-handed box, in which molecules are what they were."""
    random = np.random.default_rng(1)
    box = np.array([[30.0, 0, 0], [10, 28, 0], [-9, 13, 25]])
    position, velocity = random.uniform(-15, 15, (40, 3)), random.normal(size=(40, 3))
    rotation = turn(2)
    given_box = box @ rotation * (np.array([[1], [1], [-1]]) if mirrored else 1)
    given = Coordinates(position @ rotation, given_box, velocity @ rotation)
    found = choose_box(given, None, False)
    fraction, turned = found.put(given)
    assert lengths_and_angles(found.box)[:3] == pytest.approx(lengths_and_angles(box)[:3])
    assert np.allclose(found.box, box, atol=1e-9)
    assert (np.abs(fraction - to_fraction(position, found.box)) <= 1).all()
    assert turned is not None and np.allclose(turned, velocity, atol=1e-9)
    assert any("are rotated" in note for note in found.notes)


GRO = """octahedron
    1
    1ALA      N    1   0.100   0.200   0.300
   3.00000   2.82843   2.44949   0.00000   0.00000   1.00000   0.00000  -1.00000   1.41421
"""


def test_nine_numbers_of_gro(tmp_path: Path) -> None:
    path = tmp_path / "one.gro"
    path.write_text(GRO)
    box = read_coordinates(path).box
    assert box is not None
    found = choose_box(Coordinates(np.zeros((1, 3)), box), None, False)
    assert lengths_and_angles(found.box) == pytest.approx([30, 30, 30, 70.5288, 109.4712, 70.5288], abs=1e-3)
    assert not found.notes


def test_a_pdb_in_a_dodecahedron_and_copies_of_it(tmp_path: Path) -> None:
    psf, pdb = SMALL / "ala_ala_ala.psf", SMALL / "ala_ala_ala.pdb"
    cell = tmp_path / "cell.pdb"
    cell.write_text("CRYST1   40.000   40.000   40.000  60.00  60.00  90.00 P 1\n" + pdb.read_text())
    system = prepare_charmm(psf, cell, ALA3_PARAMETERS)
    assert lengths_and_angles(system.box) == pytest.approx([40, 40, 40, 60, 60, 90])
    copies = replicate(system, (1, 1, 2))
    # Two of the third vector end above a corner of the base.
    assert is_orthorhombic(copies.box) and np.diag(copies.box) == pytest.approx([40, 40, 80 * 0.5**0.5])
    n = system.n_atoms
    apart = (copies.positions()[n:] - copies.positions()[:n] - system.box[2]) @ np.linalg.inv(copies.box)
    assert np.allclose(apart, np.rint(apart), atol=1e-6)
