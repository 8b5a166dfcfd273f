"""Systems with virtual sites are the same bits on any ranks and threads, and over a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from parallel.runs import Outcome, Runs, Settings

from tessera.prepare.gromacs import prepare_gromacs
from tessera.system import write
from virtual_sites.samples import CUTOFF, write_molecules, write_water

BASE: Settings = {
    "interactions.cutoff": CUTOFF,
    "interactions.switch": 7.0,
    "dynamics.seed": 3,
    "parallel.pair_search_every": 10,
    "output.energy_every": 10,
}
NPT: Settings = {**BASE, "dynamics.ensemble": "npt", "dynamics.coupling_every": 5, "dynamics.timestep": 1.0}
LANGEVIN: Settings = {
    **BASE,
    "dynamics.thermostat": "langevin",
    "dynamics.ensemble": "nvt",
    "dynamics.constraints": "none",
    "dynamics.timestep": 0.5,
}
CASES = {"tip4pew": NPT, "tip5p": NPT, "3fad": LANGEVIN}
STEPS = 40


@pytest.fixture(scope="module")
def systems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("sites")
    found = {model: write_water(model, folder, warm=True) for model in ("tip4pew", "tip5p")}
    found["3fad"] = folder / "3fad.tsr"
    write(prepare_gromacs(*write_molecules("3fad", folder)), found["3fad"])
    return found


@pytest.fixture(scope="module")
def alone(runs: Runs, systems: dict[str, Path]) -> dict[str, Outcome]:
    return {case: runs.run(systems[case], {**more, "dynamics.steps": STEPS}) for case, more in CASES.items()}


@pytest.mark.mpi
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("mpi", "ranks", "threads"), [("serial", 1, 2), ("mpich", 2, 1), ("openmpi", 3, 2)])
def test_bits(
    runs: Runs,
    systems: dict[str, Path],
    alone: dict[str, Outcome],
    case: str,
    mpi: str,
    ranks: int,
    threads: int,
) -> None:
    found = runs.run(systems[case], {**CASES[case], "dynamics.steps": STEPS}, mpi=mpi, ranks=ranks, threads=threads)
    assert found.hash == alone[case].hash
    for column in ("total", "pressure", "conserved"):
        assert found.table[column].tolist() == alone[case].table[column].tolist()


@pytest.mark.mpi
@pytest.mark.parametrize("case", CASES)
def test_restart(runs: Runs, systems: dict[str, Path], alone: dict[str, Outcome], case: str) -> None:
    path = runs.run_file(systems[case], {**CASES[case], "dynamics.steps": STEPS // 2})
    runs.start(path, mpi="mpich", ranks=2)
    found = runs.start(path, "--restart", "--set", f"dynamics.steps={STEPS}", threads=2)
    assert found.hash == alone[case].hash
    assert found.table["total"].tolist() == alone[case].table["total"].tolist()
