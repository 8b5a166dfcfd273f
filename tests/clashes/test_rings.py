"""Bonds through rings are found: in any place of the ring, over faces of a box, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from tessera.build.clashes.graph import Graph
from tessera.build.clashes.molecules import Molecules, wrapped
from tessera.build.clashes.rings import crossed, piercings_of, rings_of
from tessera.system.model import FloatArray
from tests.clashes.injected import Rotation, copy_of

HEXAGON = 1.39 * np.stack([np.cos(np.arange(6) * np.pi / 3), np.sin(np.arange(6) * np.pi / 3), np.zeros(6)], axis=1)
CYCLE = [(k, (k + 1) % 6) for k in range(6)]


def ring_and_bond(start: FloatArray, end: FloatArray, box: FloatArray | None = None) -> Molecules:
    """Returns a hexagon in the plane z = 0, and two atoms with a bond."""
    position = np.concatenate([HEXAGON, [start, end]])
    none = np.zeros(8, bool)
    bonds = np.array([*CYCLE, (6, 7)])
    rows = np.zeros(8, np.int64)
    return Molecules("made", wrapped(position, box), box, bonds, rows.astype(np.int8), none, rows, none, str, str)


@pytest.mark.parametrize(("x", "y", "through"), [(0, 0, True), (0.9, 0.5, True), (1.5, 0, False), (0, 1.25, False)])
def test_a_bond_through_a_ring(x: float, y: float, through: bool) -> None:
    found = piercings_of(ring_and_bond(np.array([x, y, -0.7]), np.array([x, y, 0.8])))
    assert [piercing.bond for piercing in found] == ([(6, 7)] if through else [])
    assert piercings_of(ring_and_bond(np.array([x, y, 0.1]), np.array([x, y, 1.6]))) == []


def test_rings_over_the_faces_of_a_box() -> None:
    box = np.array([[12.0, 0, 0], [3.0, 12.0, 0], [0, 3.0, 12.0]])
    random = np.random.default_rng(5)
    for _ in range(10):
        molecules = ring_and_bond(np.array([0.2, 0.1, -0.7]), np.array([0.2, 0.1, 0.8]), box)
        turn, shift = Rotation.random(random_state=random), random.uniform(-20, 20, 3)
        everywhere = np.concatenate([HEXAGON, [[0.2, 0.1, -0.7], [0.2, 0.1, 0.8]]])
        molecules.position = wrapped(turn.apply(everywhere) + shift, box)
        assert [piercing.bond for piercing in piercings_of(molecules)] == [(6, 7)]


def test_rings_are_found_once_and_without_chords() -> None:
    """Two rings that share a bond, as in purines, are a five and a six, no nine; a chain and hydrogens are none."""
    bonds = np.array([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (4, 6), (6, 7), (7, 8), (8, 5), (8, 9), (9, 10)])
    found = rings_of(Graph(11, bonds), np.ones(11, bool))
    assert [(ring.shape[1], len(ring)) for ring in found if len(ring)] == [(5, 1), (6, 1)]
    assert sorted(found[5][0]) == [4, 5, 6, 7, 8]
    water = Graph(3, np.array([(0, 1), (0, 2), (1, 2)]))
    assert not sum(map(len, rings_of(water, np.array([True, False, False]))))


def test_rings_of_a_helix_and_a_protein(helix: Molecules, protein: Molecules) -> None:
    """A sugar for each nucleotide, two rings for each purine, one for each pyrimidine."""
    sizes = {ring.shape[1]: len(ring) for ring in rings_of(helix.graph, ~helix.is_hydrogen) if len(ring)}
    assert sizes == {5: 36 + 18, 6: 36}
    names = [protein.residue_label(atom).split()[0] for atom in range(protein.n_atoms)]
    found = rings_of(protein.graph, ~protein.is_hydrogen)
    assert {names[atom] for ring in found for atom in ring.reshape(-1)} == {"PHE", "TYR", "TRP", "PRO", "HSD"}
    assert piercings_of(protein) == piercings_of(helix) == []


def test_a_side_chain_through_a_base_is_named(helix: Molecules) -> None:
    changed = copy_of(helix)
    ring = rings_of(helix.graph, ~helix.is_hydrogen)[6][3]
    corner = changed.position[ring]
    normal = np.cross(corner[1] - corner[0], corner[2] - corner[0])
    normal /= np.linalg.norm(normal)
    bond = next(bond for bond in helix.bonds.tolist() if changed.label(bond[1]).startswith("P of DG 2 in chain J"))
    changed.position[bond] = corner.mean(axis=0) + np.array([[-0.75], [0.75]]) * normal
    assert (tuple(bond), frozenset(ring.tolist())) in {(p.bond, frozenset(p.ring)) for p in piercings_of(changed)}


def test_segments_beside_a_triangle() -> None:
    triangle = np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 4)
    start = np.array([[0.2, 0.2, 1.0], [0.8, 0.8, 1.0], [0.2, 0.2, 2.0], [0.2, 0.2, 0.5]])
    end = start - np.array([0, 0, 1.5])
    assert crossed(start, end, triangle).tolist() == [1, 0, 0, 1]
    assert crossed(end, start, triangle).tolist() == [-1, 0, 0, -1]
