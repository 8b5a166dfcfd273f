"""Any number of ranks starts; it need not divide anything. If there are too many for the cells, one message says so."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.programs import RANKS, in_turns
from tests.support.runs import Runs, Settings
from tests.support.samples import sample

TWELVE = range(1, 13)
FULL: Settings = {"interactions.cutoff": 12.0, "interactions.switch": 10.0}


def check(runs: Runs, name: str, mpi: str, ranks: int) -> None:
    """Checks that energies, and forces where the sample is small, equal those of one rank to the last digit."""
    alone, forces = ONE_RANK.get(name) or ONE_RANK.setdefault(name, runs.forces(sample(name), FULL))
    found, theirs = runs.forces(sample(name), FULL, mpi=mpi, ranks=ranks)
    assert found == alone
    np.testing.assert_array_equal(theirs, forces)


ONE_RANK: dict[str, tuple[dict[str, object], np.ndarray]] = {}


@in_turns(*RANKS, also=TWELVE)
def test_dhfr(runs: Runs, mpi: str, ranks: int) -> None:
    check(runs, "dhfr", mpi, ranks)


@in_turns(5, 7, also=TWELVE, first="mpich")
def test_water(runs: Runs, mpi: str, ranks: int) -> None:
    check(runs, "water", mpi, ranks)


@pytest.mark.slow(part="bits")
@pytest.mark.parametrize("ranks", TWELVE)
def test_apoa1(runs: Runs, mpi: str, ranks: int) -> None:
    check(runs, "apoa1", mpi, ranks)


@in_turns(9, 12)
def test_more_ranks_than_cells(runs: Runs, mpi: str, ranks: int) -> None:
    """A box of 31 Å holds 2 × 2 × 2 cells of this list range. Each rank finds that by itself, when it plans bricks."""
    wide: Settings = {"interactions.cutoff": 15.0, "parallel.buffer": 4.0}
    found = runs.run(sample("peptide"), {**wide, "dynamics.steps": 1}, mpi=mpi, ranks=ranks, check=False)
    assert found.process.returncode == 2
    errors = [line for line in found.process.stderr.splitlines() if line.startswith("tessera-md: ")]
    assert len(errors) == 1
    assert str(ranks) in errors[0] and "8" in errors[0]
    assert not (found.folder / "energy.csv").exists()


@in_turns(8)
def test_as_many_ranks_as_cells(runs: Runs, mpi: str, ranks: int) -> None:
    wide: Settings = {"interactions.cutoff": 15.0, "parallel.buffer": 4.0}
    assert runs.energy(sample("peptide"), wide, mpi=mpi, ranks=ranks) == runs.energy(sample("peptide"), wide)


def test_explain_prices_exchanges_on_a_map(
    runs: Runs, run_engine: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """The exchanges are those of the mesh, between racks that a slow link joins. Without a map nothing is said of
    links."""
    run_file = runs.run_file(sample("peptide"), {"dynamics.steps": 5})

    def predicted(*more: str) -> dict[str, Any]:
        words = ["--explain", run_file, "--ranks", "8", "--measured-steps", "2", "--json", *more]
        return dict(json.loads(run_engine(*words).stdout)["predicted"])

    racks = Path(__file__).parents[1] / "data" / "two_racks.json"
    far = predicted("--set", f"parallel.machine={racks}")
    exchanges = "exchanges of the transforms"
    assert far["ms_per_step"] > far["ms_of_parts"][exchanges] > 1
    assert exchanges not in predicted()["ms_of_parts"]
