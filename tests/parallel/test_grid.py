"""Ranks are renumbered so that neighbours in a Cartesian grid are on one host where possible, then in one subnet."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import pytest
from conftest import ENGINES, mpirun

Run = Callable[..., subprocess.CompletedProcess[str]]

GRIDS = {
    1: ["1", "1,1"],
    2: ["2", "2,1"],
    3: ["3", "1,2"],
    4: ["2,2", "3"],
    6: ["3,2", "2,2"],
    8: ["2,2,2", "4,2", "5"],
}


def grid(run: Run, mpi: str, ranks: int, *words: str | Path) -> dict[str, Any]:
    done = run([*mpirun(mpi, ranks), ENGINES / f"tessera-collectives-{mpi}", "grid", *words])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(("ranks", "dims"), [(ranks, dims) for ranks, grids in GRIDS.items() for dims in grids])
def test_neighbours_are_near(run_program: Run, mpi: str, ranks: int, dims: str) -> None:
    """On two racks with ranks dealt out to hosts in turn, neighbours that were far apart come together."""
    found = grid(run_program, mpi, ranks, "--dims", dims, "--network", "racks")
    places = prod(map(int, dims.split(",")))
    assert found["warning"] == ""
    assert len(set(found["ranks"])) == places and set(found["ranks"]) <= set(range(ranks))
    ours, numbered = found["neighbours"]["renumbered"], found["neighbours"]["as_numbered"]
    assert sum(ours) == sum(numbered)
    # At each level no more pairs of neighbours are apart than before.
    for level in range(max(len(ours), len(numbered))):
        assert sum(ours[level:]) <= sum(numbered[level:])


def test_a_ring(run_program: Run, mpi: str) -> None:
    """With eight ranks on two racks of two hosts, a walk round the ring leaves each host and each rack once."""
    found = grid(run_program, mpi, 8, "--dims", "8", "--periodic", "--network", "racks")
    assert found["neighbours"] == {"renumbered": [4, 2, 2], "as_numbered": [0, 0, 8]}


def test_a_grid_that_does_not_fit(run_program: Run, mpi: str) -> None:
    words = ["grid", "--dims", "3,2"]
    done = run_program([*mpirun(mpi, 4), ENGINES / f"tessera-collectives-{mpi}", *words], check=False)
    assert done.returncode == 2
    assert done.stderr.count("--dims 3,2: more places than the 4 ranks") == 1
