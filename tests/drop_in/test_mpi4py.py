"""The tests of mpi4py, which know nothing of Tessera, have the same outcome with the library that is preloaded."""

from __future__ import annotations

import json
import re
import sys
import tarfile
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.drop_in.test_drop_in import library, preload
from tests.support.programs import ENGINES, LIBRARIES, mpirun, run_program

RANKS = (1, 2, 3, 4, 5)
# Each rank has a file of its own for what it writes to its error stream, as lines of several would mix.
TO_FILES = 'exec "$@" 2>"$0.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"'

Outcome = list[list[str]]  # of each rank: how many tests were run, how they ended, and those that failed
Suite = Callable[..., tuple[Outcome, str]]


def outcome_of(said: str) -> list[str]:
    """Returns what matters of the output of a rank's tests."""
    failed = sorted(re.findall(r"^(?:FAIL|ERROR): .*$", said, re.MULTILINE))
    return [*re.findall(r"^Ran \d+ tests|^(?:OK|FAILED)(?: \(.*\))?$", said, re.MULTILINE), *failed]


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory, two_hosts: Path) -> Suite:
    """Fetches the sources of the mpi4py that is installed. Returns what runs its tests on ranks that pretend to be on
    two hosts, and returns their outcome and what rank 0 wrote."""
    pytest.importorskip("mpi4py")
    folder = tmp_path_factory.mktemp("mpi4py")
    wanted = f"mpi4py=={version('mpi4py')}"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "mpi4py", wanted]
    run_program(pip, cwd=folder)
    (archive,) = folder.glob("mpi4py-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder)
    script = folder / archive.name.removesuffix(".tar.gz") / "test" / "main.py"

    @cache
    def run(mpi: str, ranks: int, *variables: tuple[str, str]) -> tuple[Outcome, str]:
        preloaded = [library(mpi), two_hosts] if variables else [two_hosts]
        env = {**preload(*preloaded), **dict(variables), "MPI4PY_LIBMPI": LIBRARIES[mpi], "MPI4PY_TEST_SPAWN": "0"}
        for path in folder.glob("rank.*"):
            path.unlink()
        words = [*mpirun(mpi, ranks), "sh", "-c", TO_FILES, folder / "rank", sys.executable, script, "--verbose"]
        run_program(words, env=env, check=False)
        said = [(folder / f"rank.{rank}").read_text(errors="replace") for rank in range(ranks)]
        return [outcome_of(one) for one in said], said[0]

    return run


def expect_same(suite: Suite, mpi: str, ranks: int, **variables: str) -> str:
    """Checks that the tests end in the same way with the library as without it. Returns what rank 0 wrote with it."""
    expected, _ = suite(mpi, ranks)
    assert all(len(one) >= 2 for one in expected), f"without the library a rank did not end: {expected}"
    found, said = suite(mpi, ranks, *sorted(variables.items()), ("TESSERA_REPORT", "1"))
    assert found == expected, variables
    return said


def map_of_two_hosts() -> dict[str, object]:
    """Returns a map of the hosts that ranks pretend to be on."""
    hosts = [{"name": f"n{i}", "slots": 3, "inside": {"latency": 1e-6, "bandwidth": 5e9}} for i in range(2)]
    link = {"latency": 1e-3, "bandwidth": 1e6}
    subnets = [{"hosts": ["n0", "n1"], "link": link, "medium": "fabric", "uplink": None}]
    return {"format": "tessera-machine", "version": 3, "name": "two hosts", "caches": [],
            "network": {"hosts": hosts, "subnets": subnets}}  # fmt: skip


@pytest.mark.parametrize(
    "said", ["", "Ran 3 tests in 1 s\n\nOK (skipped=1)\n", "FAIL: testA (x.A)\nRan 3 tests in 2 s\n"]
)
def test_outcomes_differ(said: str) -> None:
    """A rank that broke off, one that skipped a test and one that failed a test are told apart."""
    assert outcome_of(said) != outcome_of("testA (x.A) ... ok\nRan 3 tests in 9 s\n\nOK\n") == ["Ran 3 tests", "OK"]


@pytest.mark.slow(part="cluster")
@pytest.mark.parametrize("ranks", RANKS)
def test_outcome_with_a_map(suite: Suite, tmp_path: Path, mpi: str, ranks: int) -> None:
    path = tmp_path / "map.json"
    path.write_text(json.dumps(map_of_two_hosts()))
    said = expect_same(suite, mpi, ranks, TESSERA_MACHINE=str(path))
    assert ranks == 1 or "operations of rank 0 between hosts" in said, said[-3000:]


@pytest.mark.slow(part="cluster")
def test_outcome_under_each_entry(suite: Suite, mpi: str) -> None:
    words = [*mpirun(mpi, 1), ENGINES / f"tessera-collectives-{mpi}", "entries", "--ranks", "4"]
    possible = json.loads(run_program(words).stdout)["commutative"]
    entries = dict.fromkeys(name for names in possible.values() for name in names)
    assert len(entries) > 10
    for entry in entries:
        said = expect_same(suite, mpi, 4, TESSERA_FORCE=entry)
        assert re.search(rf"^ +\w+ .*  {entry}\b.*$", said, re.MULTILINE), f"{entry} carried out nothing"
