"""The surroundings of a place are where atoms are now, in a box with their images."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tessera.build.clashes.molecules import Molecules
from tessera.build.clashes.surroundings import Surroundings
from tessera.system.model import FloatArray


@pytest.mark.parametrize("box", [None, np.array([[34.0, 0, 0], [5.0, 33.0, 0], [-7.0, 8.0, 32.0]])])
@pytest.mark.parametrize(("latest", "most"), [(200, 2000), (4, 2000), (4, 20)])
def test_atoms_around_while_they_move(
    box: FloatArray | None, latest: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether they are looked at one by one, come into a tree of their own, or that of all is made anew: all are
    found."""
    monkeypatch.setattr("tessera.build.clashes.surroundings._LATEST", latest)
    monkeypatch.setattr("tessera.build.clashes.surroundings._MOST_MOVED", most)
    random = np.random.default_rng(2)
    cell = np.eye(3) * 30.0 if box is None else box
    position = random.uniform(-0.5, 0.5, (300, 3)) @ cell
    none = np.zeros(300, bool)
    rows = np.arange(300)
    molecules = Molecules(
        "made", position, box, np.zeros((0, 2), int), none.astype(np.int8), none, rows, none, str, str
    )
    surroundings = Surroundings(molecules, np.arange(0, 300, 10))
    shifts = np.zeros((1, 3)) if box is None else np.array(list(itertools.product((-1, 0, 1), repeat=3))) @ box
    for _ in range(20):
        atoms = np.sort(random.choice(30, 3, replace=False))  # some again
        molecules.position[atoms] += random.uniform(-2, 2, (3, 3))
        surroundings.moved(atoms)
        for centre in molecules.position[[*atoms, *random.choice(30, 3)]]:
            found, place = surroundings.around(centre, 6.0)
            images = (molecules.position[:, None] + shifts).reshape(-1, 3)
            near = np.flatnonzero(np.linalg.norm(images - centre, axis=1) < 6.0)
            assert np.array_equal(np.sort(found), np.sort(near // len(shifts)))
            turns = shifts[0] * 2  # a centre that is far outside of the box
            again, there = surroundings.around(centre + turns, 6.0)
            assert np.array_equal(again, found) and there == pytest.approx(place + turns, abs=1e-6)
            order, expected = np.lexsort(place.T.round(6)), images[near]
            assert place[order] == pytest.approx(expected[np.lexsort(expected.T.round(6))], abs=1e-6)
