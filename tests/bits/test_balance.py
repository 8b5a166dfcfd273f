"""Cells move to other ranks where some have more to do, and results stay the same bits."""

from __future__ import annotations

import pytest

from tests.support.programs import in_turns
from tests.support.runs import Runs, Settings
from tests.support.samples import sample

STEPS: Settings = {"dynamics.steps": 110, "output.energy_every": 10}


@in_turns(2, 5, also=(4, 6, 8))
def test_half_of_the_box_is_empty(runs: Runs, mpi: str, ranks: int) -> None:
    alone = runs.hash_of_one_rank(sample("half_empty"), STEPS)
    found = runs.run(sample("half_empty"), STEPS, mpi=mpi, ranks=ranks)
    assert found.hash == alone
    balance = found.report["balance"]
    assert balance["moves"] >= 1
    # Half of the ranks have nothing at first, so cells move whatever else takes the processors. How even work becomes
    # are times, which balance_test.cpp gives.
    assert balance["first"] > 1 and balance["last"] >= 1
    assert "Imbalance of ranks' own work" in found.process.stdout


@pytest.mark.mpi
def test_bricks_that_are_never_equal(runs: Runs) -> None:
    """Three bricks of 8 × 4 × 4 cells can't be."""
    found = runs.run(sample("half_empty"), STEPS, mpi="mpich", ranks=3, threads=2)
    assert found.hash == runs.hash_of_one_rank(sample("half_empty"), STEPS)


@pytest.mark.mpi
def test_not_where_told(runs: Runs) -> None:
    settings: Settings = {**STEPS, "dynamics.steps": 40, "parallel.balance": False}
    found = runs.run(sample("half_empty"), settings, mpi="mpich", ranks=3)
    assert found.report["balance"] is None
    assert found.hash == runs.hash_of_one_rank(sample("half_empty"), settings)


@pytest.mark.mpi
def test_energies_and_checkpoints_are_the_same(runs: Runs) -> None:
    """Every digit of every row, also where a look falls on a checkpoint; a restart may follow."""
    settings: Settings = {**STEPS, "dynamics.steps": 60, "output.energy_every": 5, "output.checkpoint_every": 25}
    alone = runs.run(sample("half_empty"), settings)
    path = runs.run_file(sample("half_empty"), settings)
    runs.start(path, "--set", "dynamics.steps=25", mpi="openmpi", ranks=3)
    found = runs.start(path, "--restart", mpi="openmpi", ranks=4)
    assert found.report["balance"]["moves"] >= 1
    assert found.hash == alone.hash
    assert (found.folder / "energy.csv").read_text() == (alone.folder / "energy.csv").read_text()
