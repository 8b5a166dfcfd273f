"""Clashes are the pairs below 0.9 Å that topology does not keep together, whatever the box and the format."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera.build.clashes.files import read_structure
from tessera.build.clashes.find import near_pairs, overlaps_of
from tessera.build.clashes.graph import Graph
from tessera.build.clashes.molecules import Molecules
from tessera.prepare.coordinates.model import box_from_lengths
from tessera.system.box import placed
from tessera.system.model import FloatArray
from tests.clashes.injected import copy_of
from tests.support.programs import ROOT

ANGLES = st.tuples(*[st.floats(70, 110)] * 3)
PEPTIDE = ROOT / "tests" / "data" / "ala_ala_ala.pdb"


def all_pairs(position: FloatArray, box: FloatArray | None, most: float) -> dict[tuple[int, int], float]:
    """Returns the pairs nearer than `most` and their distances, by looking at all pairs and the images around."""
    shifts = np.zeros((1, 3)) if box is None else np.array(list(itertools.product((-1, 0, 1), repeat=3))) @ box
    apart = np.linalg.norm(position[:, None, None] - position[None, :, None] + shifts, axis=3).min(axis=2)
    one, other = np.nonzero(np.triu(apart < most, 1))
    return {(int(a), int(b)): float(apart[a, b]) for a, b in zip(one, other)}


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), angles=st.none() | ANGLES, most=st.sampled_from([0.9, 2.0]))
def test_pairs_are_those_of_all_pairs(seed: int, angles: tuple[float, float, float] | None, most: float) -> None:
    random = np.random.default_rng(seed)
    box = None if angles is None else placed(box_from_lengths((8.0, 9.0, 10.0), angles)).box
    turns = random.uniform(-0.5, 0.5, (150, 3))
    position = turns @ (np.diag([8.0, 9.0, 10.0]) if box is None else box)
    pairs, distance = near_pairs(position, box, most)
    expected = all_pairs(position, box, most)
    assert list(map(tuple, pairs.tolist())) == sorted(expected)
    assert distance == pytest.approx(np.array([expected[pair] for pair in sorted(expected)]))


def test_the_nearest_of_several_images_counts() -> None:
    pairs, distance = near_pairs(np.array([[0.0, 0, 0], [1.6, 0, 0]]), np.eye(3) * 3.0, 2.0)
    assert (pairs.tolist(), distance.tolist()) == ([[0, 1]], [pytest.approx(1.4)])
    assert len(near_pairs(np.zeros((1, 3)), np.eye(3) * 1.5, 2.0)[0]) == 0  # an atom is no neighbour of its own


def test_pairs_in_many_slabs(monkeypatch: pytest.MonkeyPatch) -> None:
    position = np.random.default_rng(3).uniform(0, 20, (3000, 3))
    whole, _ = near_pairs(position, None, 0.9)
    monkeypatch.setattr("tessera.build.clashes.find._AT_ONCE", 100)
    assert np.array_equal(near_pairs(position, None, 0.9)[0], whole)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_bonds_between_atoms_are_counted(seed: int) -> None:
    bonds = np.unique(np.random.default_rng(seed).integers(0, 12, (14, 2)), axis=0)
    bonds = bonds[bonds[:, 0] != bonds[:, 1]]
    graph = Graph(12, bonds)
    step = np.eye(12, dtype=int)
    step[bonds[:, 0], bonds[:, 1]] = step[bonds[:, 1], bonds[:, 0]] = 1
    pairs = np.array(list(itertools.product(range(12), repeat=2)))
    for steps in (1, 3):
        assert np.array_equal(graph.are_within(pairs, steps).reshape(12, 12), np.linalg.matrix_power(step, steps) > 0)


@pytest.fixture
def peptide() -> Molecules:
    return read_structure(PEPTIDE).molecules


def named(molecules: Molecules, text: str) -> int:
    return next(atom for atom in range(molecules.n_atoms) if molecules.label(atom).startswith(text))


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        ("N of ALA 1", "CA of ALA 1", False),  # 1–2
        ("O of ALA 1", "N of ALA 2", False),  # 1–3, over the bond of two residues
        ("O of ALA 1", "CA of ALA 2", False),  # 1–4
        ("O of ALA 1", "CB of ALA 2", True),  # 1–5
        ("HT1 of ALA 1", "HB1 of ALA 1", True),  # 1–5, of other names than the PDB's
        ("CB of ALA 1", "CB of ALA 3", True),
    ],
)
def test_topology_alone_keeps_atoms_together(peptide: Molecules, one: str, other: str, clash: bool) -> None:
    pair = [named(peptide, one), named(peptide, other)]
    peptide.position[pair] = np.array([[50.0, 0, 0], [50.1, 0, 0]])
    assert overlaps_of(peptide).pairs.tolist() == ([sorted(pair)] if clash else [])


def test_a_chain_ends_at_ter(tmp_path: Path) -> None:
    lines = [line for line in PEPTIDE.read_text().splitlines() if line.startswith("ATOM")]
    second = next(number for number, line in enumerate(lines) if line[22:26] == "   2")
    (tmp_path / "cut.pdb").write_text("\n".join([*lines[:second], "TER", *lines[second:]]))
    whole, cut = (read_structure(path).molecules for path in (PEPTIDE, tmp_path / "cut.pdb"))
    assert len(whole.bonds) == len(cut.bonds) + 1


def test_unknown_residues_are_rigid_and_named(tmp_path: Path) -> None:
    text = PEPTIDE.read_text().replace("ALA X   2", "LIG X   2").replace(" HB1 ALA X   3", " QB1 ALA X   3")
    (tmp_path / "ligand.pdb").write_text(text)
    molecules = read_structure(tmp_path / "ligand.pdb").molecules
    (note,) = molecules.notes
    assert "2 residue(s)" in note and "LIG (1)" in note and "ALA (1)" in note
    pair = [named(molecules, "O of LIG 2"), named(molecules, "HB1 of LIG 2")]
    molecules.position[pair] += 50.0
    molecules.position[pair[0]] = molecules.position[pair[1]] + 0.1
    assert len(overlaps_of(molecules)) == 0
    molecules.position[named(molecules, "CB of ALA 1")] = molecules.position[pair[0]] + 0.1
    assert len(overlaps_of(molecules)) == 2


def test_waters_of_four_sites_are_whole(tmp_path: Path) -> None:
    rows = [("O", 0.0), ("H1", 0.95), ("H2", -0.95), ("M", 0.15)]
    lines = [f"HETATM    1  {name:<3} HOH A   1    {x:8.3f}{0:8.3f}{0:8.3f}" for name, x in rows]
    (tmp_path / "water.pdb").write_text("\n".join(lines))
    molecules = read_structure(tmp_path / "water.pdb").molecules
    assert (len(overlaps_of(molecules)), molecules.notes) == (0, [])


def test_alternate_locations_do_not_clash(tmp_path: Path) -> None:
    rows = (("CB", "A", 0.0), ("CB", "B", 0.5), ("CA", " ", 1.5))
    lines = [f"ATOM      1  {name} {a}ALA A   1    {x:8.3f}{0:8.3f}{0:8.3f}" for name, a, x in rows]
    (tmp_path / "two.pdb").write_text("\n".join(lines))
    molecules = read_structure(tmp_path / "two.pdb").molecules
    assert molecules.position[:, 0].tolist() == [0.0, 1.5]  # the first location, and what has one alone
    assert "1 atom(s) in alternate locations" in molecules.notes[0]


def test_images_of_a_crystal_do_not_count(tmp_path: Path, peptide: Molecules) -> None:
    edge = float(np.ptp(peptide.position[:, 0])) + 0.2  # less than it is long: neighbours meet
    for group, periodic in (("P 1", True), ("", True), ("P 21 21 21", False)):
        card = f"CRYST1{edge:9.3f}{40:9.3f}{40:9.3f}{90:7.2f}{90:7.2f}{90:7.2f} {group:<11}\n"
        (tmp_path / "box.pdb").write_text(card + PEPTIDE.read_text())
        molecules = read_structure(tmp_path / "box.pdb").molecules
        assert (molecules.box is not None) == periodic
        assert any("crystal" in note for note in molecules.notes) != periodic


def test_clashes_over_the_faces_of_a_box(peptide: Molecules) -> None:
    boxed = copy_of(peptide)
    low, high = boxed.position.min(axis=0), boxed.position.max(axis=0)
    boxed.position -= (low + high) / 2
    far = int(np.argmax(boxed.position[:, 0]))
    boxed.box = np.diag([2 * boxed.position[far, 0] + 1.0, 60.0, 60.0])
    other = named(boxed, "N of ALA 1")
    assert "ALA 3" in boxed.label(far)
    boxed.position[other] = boxed.position[far] + [0.4 - boxed.box[0, 0], 0, 0]
    assert sorted([far, other]) in overlaps_of(boxed).pairs.tolist()
    boxed.box = None
    assert sorted([far, other]) not in overlaps_of(boxed).pairs.tolist()
