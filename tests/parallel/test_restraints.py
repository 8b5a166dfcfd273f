"""Restraints and fixed atoms are the same bits on any ranks and threads, and over a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from parallel.runs import Outcome, Runs

RESTRAINTS = """
[[restraint]]
kind = "position"
select = "index 0:299 900:1100"
k = [[0, 20.0], [0.05, 5.0]]
flat = 0.1
[[restraint]]
kind = "position"
select = "index 250:400"
k = 3.0
axes = "z"
[[restraint]]
kind = "distance"
groups = ["index 1500:1502", "index 1800:1802"]
k = 2.0
target = 5.0
[[restraint]]
kind = "dihedral"
groups = ["index 1503:1505", "index 1800:1802", "index 2400", "index 2700:2702"]
k = 20.0
target = -100.0
[[restraint]]
kind = "rmsd"
select = "index 0:44"
k = [[0, 20.0], [0.05, 5.0]]
target = 0.05
"""


def run_file(runs: Runs, system: Path, steps: int, **more: str | int | float) -> Path:
    settings = {"dynamics.steps": steps, "dynamics.seed": 3, "output.energy_every": 10, "dynamics.ensemble": "npt"}
    path = runs.run_file(system, {**settings, **{key.replace("__", "."): value for key, value in more.items()}})
    path.write_text(path.read_text() + RESTRAINTS)
    return path


FIXED = {"dynamics__ensemble": "nvt", "dynamics__fixed": "index 600:899"}
CASES = {"npt": {}, "fixed": FIXED}


@pytest.fixture(scope="module")
def alone(runs: Runs, water: Path) -> dict[str, Outcome]:
    return {name: runs.start(run_file(runs, water, 40, **more)) for name, more in CASES.items()}


@pytest.mark.mpi
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("mpi", "ranks", "threads"), [("serial", 1, 2), ("mpich", 2, 1), ("openmpi", 3, 2)])
def test_bits(
    runs: Runs, water: Path, alone: dict[str, Outcome], case: str, mpi: str, ranks: int, threads: int
) -> None:
    found = runs.start(run_file(runs, water, 40, **CASES[case]), mpi=mpi, ranks=ranks, threads=threads)
    assert found.hash == alone[case].hash
    assert found.table["restraint"].tolist() == alone[case].table["restraint"].tolist()
    assert found.table["pressure"].tolist() == alone[case].table["pressure"].tolist()
    assert found.table["restraint"].min() > 0


@pytest.mark.mpi
def test_restart(runs: Runs, water: Path, alone: dict[str, Outcome]) -> None:
    path = run_file(runs, water, 20)
    runs.start(path, mpi="mpich", ranks=2)
    found = runs.start(path, "--restart", "--set", "dynamics.steps=40", threads=2)
    assert found.hash == alone["npt"].hash
    assert found.table["restraint"].tolist() == alone["npt"].table["restraint"].tolist()
