"""Hydrogens that were made heavy, without an element and under a name of none: told by what joins them."""

from __future__ import annotations

import numpy as np
import pytest

from tessera.prepare.molecule import set_groups
from tessera.system import Template, Terms

UNKNOWN, HEAVY, BEAD = (0, 3.024), (6, 3.9), (0, 72.0)
H, C, O = (1, 1.008), (6, 12.011), (8, 11.967)  # noqa: E741


@pytest.mark.parametrize(
    ("atoms", "bonds", "hydrogens"),
    [
        ([HEAVY, UNKNOWN, UNKNOWN, UNKNOWN], [(0, 1), (2, 0), (0, 3)], [1, 2, 3]),
        ([O, UNKNOWN, UNKNOWN], [(0, 1), (0, 2), (1, 2)], [1, 2]),  # water whose hydrogens are held at a distance
        ([BEAD, UNKNOWN], [(0, 1)], [1]),
        ([C, UNKNOWN, H], [(0, 1), (0, 2), (1, 2)], [1, 2]),
        ([C, UNKNOWN, C], [(0, 1), (1, 2)], []),  # a bead between two
        ([C, UNKNOWN, UNKNOWN, UNKNOWN], [(0, 1), (1, 2), (2, 3)], []),  # a chain of light beads, with an end
        ([UNKNOWN, UNKNOWN], [(0, 1)], []),
        ([UNKNOWN], [], []),
        ([C, (2, 4.0026)], [(0, 1)], []),
    ],
)
def test_light_atoms_of_one_heavy_atom(
    atoms: list[tuple[int, float]], bonds: list[tuple[int, int]], hydrogens: list[int]
) -> None:
    n = len(atoms)
    number, mass = (np.array(column) for column in zip(*atoms))
    pairs = np.array(bonds, np.int32).reshape(-1, 2)
    template = Template(
        name="X", atom_name=np.full(n, "Q"), type=np.zeros(n, np.int32), charge=np.zeros(n), mass=mass.astype(float),
        atomic_number=number.astype(np.int32), residue=np.zeros(n, np.int32), residue_name=np.array(["X"]),
        segment_name=np.array([""]), residue_number=np.ones(1, np.int32), group=np.zeros(n, np.int32),
        terms={"bond": Terms(pairs, np.zeros(len(pairs), np.int32))},
    )  # fmt: skip
    set_groups(template)
    assert np.flatnonzero(template.atomic_number == 1).tolist() == hydrogens
    others = np.setdiff1d(np.arange(n), hydrogens)
    assert np.array_equal(template.group[others], others) and not np.isin(template.group[hydrogens], hydrogens).any()
