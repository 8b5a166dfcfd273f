"""Tests that every kind of virtual site of every format is placed where its program has it, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from oracle import whole_positions
from site_samples import GROMACS_KINDS, gromacs_place, write_molecules

from tessera.prepare.gromacs import prepare_gromacs
from tessera.system import read, write


@pytest.mark.parametrize("kind", GROMACS_KINDS)
def test_gromacs_kinds_are_where_the_manual_says(tmp_path: Path, kind: str) -> None:
    system = prepare_gromacs(*write_molecules(kind, tmp_path))
    write(system, tmp_path / "a.tsr")
    system = read(tmp_path / "a.tsr")
    positions = whole_positions(system).reshape(-1, 6, 3)
    assert system.virtual_site_ids().tolist() == list(range(5, system.n_atoms, 6))
    assert positions[:, 5] == pytest.approx(10 * gromacs_place(kind, positions[:, :5] / 10), abs=1e-7)
    (template,) = system.templates
    assert template.mass[5] == 0
    assert (template.group[template.virtual_sites.parents[:, 1]] == template.group[5]).all()
