"""Knots in closed and open curves, and in backbones, have the determinants that tables of knots give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera._core import simplified_curve
from tessera.build.clashes.files import read_structure
from tessera.build.clashes.knots import backbones, determinant, determinant_of_open, knots_of
from tessera.build.clashes.molecules import Molecules
from tessera.system.model import FloatArray

_TURN = np.linspace(0, 2 * np.pi, 160, endpoint=False)


def torus(p: int, q: int) -> FloatArray:
    radius = 2 + np.cos(q * _TURN)
    return np.stack([radius * np.cos(p * _TURN), radius * np.sin(p * _TURN), np.sin(q * _TURN)], axis=1)


def figure_of_eight() -> FloatArray:
    radius = 2 + np.cos(2 * _TURN)
    return np.stack([radius * np.cos(3 * _TURN), radius * np.sin(3 * _TURN), np.sin(4 * _TURN)], axis=1)


def lissajous() -> FloatArray:
    """Returns the knot 5₂."""
    return np.stack([np.cos(3 * _TURN + 0.7), np.cos(2 * _TURN + 0.2), np.cos(7 * _TURN)], axis=1)


KNOTS = [
    (torus(1, 0), 1), (torus(1, 7), 1), (torus(2, 3), 3), (torus(2, 5), 5), (torus(2, 7), 7), (torus(3, 4), 3),
    (figure_of_eight(), 5), (lissajous(), 7),
]  # fmt: skip


@pytest.mark.parametrize(("points", "expected"), KNOTS)
def test_known_knots(points: FloatArray, expected: int) -> None:
    assert determinant(points) == expected
    if points is not KNOTS[-1][0]:  # of which the ends, where they are cut, are inside
        assert determinant_of_open(points[:-4]) == expected


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_knot_is_the_same_from_all_sides(seed: int) -> None:
    random = np.random.default_rng(seed)
    turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
    points = np.roll(figure_of_eight(), int(random.integers(160)), axis=0) @ turn + random.uniform(-9, 9, 3)
    assert determinant(points + random.normal(scale=0.02, size=points.shape)) == 5
    assert len(simplified_curve(points, 30)) < 40


def test_a_knot_in_a_protein_is_named(tmp_path: Path) -> None:
    curve = torus(2, 3)[:-6] * 12
    rows = [(name, 1 + row // 3, place) for row, (place, name) in enumerate(zip(curve, 60 * ("N", "CA", "C")))]
    for name, factor in (("knotted", 1.0), ("flat", 0.0)):
        lines = [
            f"ATOM  {1:5d}  {atom:<3} ALA A{number:4d}    {x:8.3f}{y + 5 * (1 - factor) * number:8.3f}{factor * z:8.3f}"
            for atom, number, (x, y, z) in rows
        ]
        (tmp_path / f"{name}.pdb").write_text("\n".join(lines))
    (knot,) = knots_of(read_structure(tmp_path / "knotted.pdb").molecules)
    assert knot.determinant == 3
    assert knots_of(read_structure(tmp_path / "flat.pdb").molecules) == []


def test_backbones_of_a_helix_and_a_protein(helix: Molecules, protein: Molecules) -> None:
    assert [len(atoms) for atoms, _ in backbones(helix)] == [6 * 18 - 1] * 2
    ((atoms, is_circle),) = backbones(protein)
    assert (len(atoms), is_circle) == (3 * 159, False)
    assert knots_of(helix) == knots_of(protein) == []
