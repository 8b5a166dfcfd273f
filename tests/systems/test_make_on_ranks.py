"""`tessera make` and `tessera replicate` on ranks: the bytes of one process, and errors of any rank that all share."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support.programs import TESSERA, in_turns, mpirun, run_program

pytest.importorskip("tessera._core", reason="the Python modules are not built")

SALT = ["make", "nacl", "--ions", "64000"]

# What one rank is refused, as by a full disk or a missing file, or how it is lost.
FAILING = """
import os, resource, signal, sys
rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK")))
from tessera import cli
from tessera.build import copies, nacl
how, chosen = sys.argv.pop(1), int(sys.argv.pop(1))
if rank == chosen:
    if how == "full":
        crystal = nacl.crystal
        def limited(*words):
            resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
            return crystal(*words)
        nacl.crystal = limited
    elif how == "raise":
        copies._Groups.rows = lambda *_: 1 / 0
    elif how == "kill":
        copies._Groups.rows = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
cli.main()
"""


@pytest.fixture(scope="module")
def salt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("salt") / "salt.tsr"
    run_program([*TESSERA, *SALT, "--processes", "1", "-o", path])
    return path


MEMORY = {1: 2, 2: 0.002, 3: 2, 4: 0.01, 5: 0.01, 6: 0.003, 8: 0.002}  # GB, by ranks


@in_turns(1, 2, 3, 5, also=MEMORY)
def test_the_bytes_of_one_process(tmp_path: Path, salt: Path, mpi: str, ranks: int) -> None:
    path = tmp_path / "made.tsr"
    found = run_program([*mpirun(mpi, ranks), *TESSERA, *SALT, "--memory", str(MEMORY[ranks]), "-o", path])
    assert path.read_bytes() == salt.read_bytes()
    assert found.stdout.count("64,000 atoms") == 1
    assert os.listdir(tmp_path) == ["made.tsr"]


def test_the_command_starts_ranks(tmp_path: Path, salt: Path, mpi: str) -> None:
    many = ["--nx", "2", "--nz", "2", "-n", "3", "--mpi", mpi]
    run_program([*TESSERA, "replicate", salt, *many, "-o", tmp_path / "many.tsr"])
    run_program([*TESSERA, "replicate", salt, "--nx", "2", "--nz", "2", "-o", tmp_path / "one.tsr"])
    assert (tmp_path / "many.tsr").read_bytes() == (tmp_path / "one.tsr").read_bytes()


def test_a_box_in_memory_is_made_once(tmp_path: Path, water: Path, mpi: str) -> None:
    path = tmp_path / "made.tsr"
    found = run_program([*TESSERA, "make", "water", "--atoms", "3000", "-n", "2", "--mpi", mpi, "-o", path])
    assert path.read_bytes() == water.read_bytes() and found.stdout.count("3,000 atoms") == 1


@pytest.mark.parametrize(
    ("mpi", "how", "chosen", "words"),
    [
        ("openmpi", "full", 0, "can't be written"),
        ("mpich", "full", 2, "can't be written"),
        ("openmpi", "raise", 1, "ZeroDivisionError"),
        ("mpich", "raise", 0, "ZeroDivisionError"),
    ],
)
def test_errors_of_one_rank(tmp_path: Path, mpi: str, how: str, chosen: int, words: str) -> None:
    command = [*mpirun(mpi, 3), sys.executable, "-c", FAILING, how, str(chosen), *SALT, "-o", tmp_path / "made.tsr"]
    found = run_program(command, check=False)
    # MPICH's mpiexec joins the statuses of ranks bit by bit: 1 of the rank that fails, 2 of those that are told.
    assert found.returncode in (1, 2, 3) and found.stderr.count("tessera: error") == 1 and words in found.stderr
    assert found.stdout.count("atoms") == 0 and os.listdir(tmp_path) == []


@pytest.mark.parametrize(("mpi", "wrong"), [("openmpi", ["--ions", "few"]), ("mpich", ["--memory", "1e-5"])])
def test_wrong_arguments(tmp_path: Path, mpi: str, wrong: list[str]) -> None:
    command = [*mpirun(mpi, 2), *TESSERA, *SALT, *wrong, "-o", tmp_path / "made.tsr"]
    found = run_program(command, status=2)
    assert found.stderr.count("tessera: error") == 1
    assert os.listdir(tmp_path) == []


def test_a_killed_rank_ends_the_others(tmp_path: Path, mpi: str) -> None:
    command = [*mpirun(mpi, 3), sys.executable, "-c", FAILING, "kill", "1", *SALT, "-o", tmp_path / "made.tsr"]
    found = run_program(command, check=False)
    assert found.returncode in (128 + signal.SIGKILL, signal.SIGKILL) and not (tmp_path / "made.tsr").exists()
