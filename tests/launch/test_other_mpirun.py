"""Programs refuse the mpirun of another MPI, under which each rank would run alone without a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.programs import ENGINES, FLAVOURS, mpirun, run_program

OTHER = dict(zip(FLAVOURS, reversed(FLAVOURS)))


@pytest.fixture(params=["tessera-md", "tessera-probe", "tessera-collectives"])
def foreign(request: pytest.FixtureRequest, mpi: str) -> Path:
    """Returns a program that was built for the other MPI."""
    path = ENGINES / f"{request.param}-{OTHER[mpi]}"
    if not path.exists():
        pytest.skip(f"{path} was not built")
    return path


def test_the_other_mpi_is_said_once(mpi: str, foreign: Path) -> None:
    done = run_program([*mpirun(mpi, 3), foreign, "--help"], check=False)
    assert done.returncode == 2
    name = foreign.name.rpartition("-")[0]
    assert done.stderr.count(f"{name}: error") == 1
    assert "started 3 processes" in done.stderr and "start it with the mpirun of that MPI" in done.stderr
    assert not done.stdout.strip()


def test_one_process_is_no_mistake() -> None:
    """A program of Open MPI starts alone under any launcher. (A program of MPICH does not where the launcher uses
    PMIx.)"""
    engine = ENGINES / "tessera-md-openmpi"
    if not engine.exists():
        pytest.skip(f"{engine} was not built")
    done = run_program([*mpirun("mpich", 1), engine, "--version"])
    assert "Open MPI" in done.stdout
    # In a job of one process inside a job of several, the innermost launcher counts.
    done = run_program([engine, "--version"], env={"PMI_SIZE": "1", "SLURM_STEP_NUM_TASKS": "4"})
    assert "Open MPI" in done.stdout
