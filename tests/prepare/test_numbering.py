"""The input's residue numbers are kept in few rows and appear in messages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera.prepare.flat import FlatTopology, split
from tessera.prepare.numbering import name_segments, number_residues
from tessera.system import read, write
from tessera.system.units import progressions
from tests.prepare.test_pairing import rows, topology
from tests.prepare.test_split import flat_of
from tests.support.inputs import dhfr


@given(st.lists(st.integers(-9, 9), max_size=30))
def test_progressions_give_the_numbers_back(numbers: list[int]) -> None:
    found: list[int] = []
    for start, count, number, step in progressions(np.array(numbers, np.int64)):
        assert start == len(found) and count > 0
        found += [number + i * step for i in range(count)]
    assert found == numbers


def test_numbers_that_start_again_are_few_rows() -> None:
    numbers = np.concatenate([np.arange(1, 10_000), np.arange(1, 10_000), np.arange(1, 501)])
    assert progressions(numbers) == [(0, 9999, 1, 1), (9999, 9999, 1, 1), (19998, 500, 1, 1)]


def test_waters_keep_the_psfs_numbers(tmp_path: Path) -> None:
    system = dhfr()
    assert system.residue_numbers.tolist() == [[1, 7023, 1, 1]]
    write(system, tmp_path / "a.tsr")
    assert np.array_equal(read(tmp_path / "a.tsr").residue_numbers, system.residue_numbers)


def waters(residues: list[int]) -> FlatTopology:
    flat = flat_of(["O", "H", "I"] + ["O", "H"] * 3, [(0, 1), (3, 4), (5, 6), (7, 8)])
    flat.residue_number = np.array(residues, np.int32)
    return flat


@pytest.mark.parametrize(
    ("topology_numbers", "file_numbers", "expected"),
    [
        ([4, 4, 5, 7, 7, 8, 8, 9, 9], [1] * 9, [[0, 1, 4, 0], [2, 3, 7, 1]]),
        ([1, 1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 2, 3, 3, 5, 5, 7, 7], [[0, 1, 1, 0], [2, 3, 3, 2]]),
        ([1, 1, 1, 1, 1, 1, 1, 1, 1], [1] * 9, []),
    ],
)
def test_numbers_of_the_coordinates_stand_in(
    topology_numbers: list[int], file_numbers: list[int], expected: list[list[int]]
) -> None:
    flat = waters(topology_numbers)
    pieces = split(flat)
    place = rows([b"O"] * 9, file_numbers)
    found = number_residues(flat, place, pieces.templates, pieces.runs)
    assert found.tolist() == expected
    if expected:
        last = expected[1]
        assert f"O of RES {last[2] + 2 * last[3]} (atom 8)" == flat.describe(7)


def test_one_molecule_needs_no_rows() -> None:
    flat = topology([b"A", b"B"], [3, 4])
    flat.add("bond", [(0, 1)])
    pieces = split(flat)
    assert not len(number_residues(flat, rows([b"A", b"B"], [3, 4]), pieces.templates, pieces.runs))


def test_equal_molecules_keep_their_segments() -> None:
    flat = flat_of(["X", "Y"] * 5 + ["I"], [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)])
    flat.segment = np.array([b"PRO1"] * 2 + [b"PRO2"] * 2 + [b"PRO3"] * 4 + [b"PRO1"] * 2 + [b"ION"], "S8")
    pieces = split(flat)
    rows, names = name_segments(flat, pieces.templates, pieces.runs)
    assert [(first, count, names[name]) for first, count, name in rows.tolist()] == [(1, 1, "PRO2"), (2, 2, "PRO3")]
    flat.segment[3] = b"PRO9"  # of two segments: it keeps those of its template
    rows, names = name_segments(flat, pieces.templates, pieces.runs)
    assert [(first, count, names[name]) for first, count, name in rows.tolist()] == [(2, 2, "PRO3")]
    flat.segment[:] = b"PRO1"
    assert name_segments(flat, split(flat).templates, pieces.runs)[1] == []
