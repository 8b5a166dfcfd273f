"""Tests the division of a flat topology into templates and runs."""

import numpy as np

from tessera.prepare.flat import FlatTopology, split
from tessera.prepare.molecule import neighbour_pairs


def flat_of(names: list[str], bonds: list[tuple[int, int]], charge: list[float] | None = None) -> FlatTopology:
    n = len(names)
    flat = FlatTopology(
        name=np.array(names, "S8"),
        type=np.zeros(n, np.int32),
        type_names=["A"],
        charge=np.zeros(n) if charge is None else np.array(charge),
        mass=np.ones(n),
        atomic_number=np.ones(n, np.int32),
        residue_name=np.full(n, b"RES", "S8"),
        residue_number=np.ones(n, np.int32),
        segment=np.full(n, b"", "S8"),
    )
    flat.add("bond", bonds)
    return flat


def test_equal_molecules_share_a_template() -> None:
    pieces = split(flat_of(["X", "Y", "X", "Y", "I", "X", "Y"], [(0, 1), (2, 3), (5, 6)]))
    assert [t.n_atoms for t in pieces.templates] == [2, 1]
    assert pieces.runs.tolist() == [[0, 2], [1, 1], [0, 1]]
    assert pieces.first_atom == [0, 4]
    texts = [t.atom_name.tolist() + t.residue_name.tolist() + t.segment_name.tolist() for t in pieces.templates]
    assert texts == [["X", "Y", "RES", ""], ["I", "RES", ""]]


def test_what_differs_makes_another_template() -> None:
    names, bonds = ["X", "Y", "X", "Y"], [(0, 1), (2, 3)]
    assert len(split(flat_of(names, bonds)).templates) == 1
    assert len(split(flat_of(["X", "Y", "X", "Z"], bonds)).templates) == 2
    assert len(split(flat_of(names, bonds, [0.1, 0.0, 0.1, 1e-9])).templates) == 2
    # The atoms are the same, but another atom has both bonds.
    assert len(split(flat_of(["X"] * 6, [(0, 1), (1, 2), (3, 4), (3, 5)])).templates) == 2


def test_interleaved_molecules_become_one_stretch() -> None:
    pieces = split(flat_of(["X"] * 5, [(0, 2), (1, 3)]))
    assert [t.n_atoms for t in pieces.templates] == [4, 1]
    assert pieces.templates[0].term("bond").atoms.tolist() == [[0, 2], [1, 3]]


def test_neighbours_in_a_ring_and_in_water() -> None:
    ring = np.array([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)], np.int32)
    one, two, three = neighbour_pairs(6, ring)
    assert len(one) == 6 and len(two) == 6
    assert three.tolist() == [[0, 3], [1, 4], [2, 5]]
    # The H–H bond that TIP3P's topology lists adds no pair.
    water = np.array([(0, 1), (0, 2), (1, 2)], np.int32)
    one, two, three = neighbour_pairs(3, water)
    assert one.tolist() == [[0, 1], [0, 2], [1, 2]] and not len(two) and not len(three)
