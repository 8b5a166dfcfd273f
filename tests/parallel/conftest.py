"""Fixtures of tests that start ranks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import ROOT

from parallel.runs import instruction_sets, runs  # noqa: F401

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def on_cluster(run_program: Run, tmp_path: Path) -> Iterator[Run]:
    """Yields a function that starts a program on all slots of an emulated cluster: `on_cluster(spec, mpi, program,
    *arguments, shuffle=None)`. Skips the test where no cluster can be built. A cluster that is left up by a failed
    start is removed at the end."""
    from tests.cluster import namespaces

    if (reason := namespaces.why_not()) is not None:
        pytest.skip(reason)
    cluster = [sys.executable, "-m", "tests.cluster"]
    state = {"TESSERA_CLUSTER_STATE": str(tmp_path / "state")}

    def run(spec: str, mpi: str, *words: str | Path, shuffle: int | None = None) -> subprocess.CompletedProcess[str]:
        order = [] if shuffle is None else ["--shuffle", str(shuffle)]
        command = [*cluster, "run", spec, "--mpi", mpi, *order, "--", *words]
        return run_program(command, cwd=ROOT, env=state)

    yield run
    run_program([*cluster, "down"], cwd=ROOT, env=state)
