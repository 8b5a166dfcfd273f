"""Runs a program and measures it from outside."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from bench.common.results import ROOT

PEAK = Path(__file__).with_name("peak.py")
#: of Python programs on ranks of Open MPI, also more than there are cores
ENVIRONMENT = {
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]),
    "MPI4PY_LIBMPI": "libmpi.so.40",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


@dataclass(frozen=True)
class Outcome:
    """The output and times of a measured command, and the memory of each of its processes in bytes."""

    stdout: str
    stderr: str
    wall_seconds: float
    peaks: tuple[int, ...]

    @property
    def peak_bytes(self) -> int:
        return sum(self.peaks)


@dataclass(frozen=True)
class TimedRun:
    """The speed of a simulation over its timed steps, its first energy, and what the whole command needed."""

    ns_per_day: float
    initial_potential: float  # kcal/mol
    outcome: Outcome


def ns_per_day(steps: int, seconds: float) -> float:
    """Returns the speed of steps of 2 fs, which all programs are timed with."""
    return steps * 0.002 / 1000 * 86400 / seconds


def measure(
    command: Sequence[str | Path],
    *,
    folder: Path,
    launcher: int = 0,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Outcome:
    """Runs `command` in `folder`. The first `launcher` words are mpirun and its options: each process that they start
    is measured, but not mpirun itself. Raises ClickException with the end of the output where the command fails.
    """
    words = [str(word) for word in command]
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        wrapper = [sys.executable, "-S", "-E", str(PEAK), f"{scratch}/peak"]
        begin = time.perf_counter()
        try:
            result = subprocess.run(
                [*words[:launcher], *wrapper, *words[launcher:]],
                cwd=folder,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout,
            )
        except subprocess.TimeoutExpired:
            raise click.ClickException(f"{words[launcher]} did not end within {timeout:.0f} s") from None
        wall = time.perf_counter() - begin
        found = [int(path.read_text()) for path in sorted(Path(scratch).glob("peak.*"))]
    if result.returncode != 0:
        tail = "\n".join((result.stdout + result.stderr).strip().splitlines()[-25:])
        raise click.ClickException(f"{' '.join(words)}\nended with status {result.returncode}:\n{tail}")
    return Outcome(result.stdout, result.stderr, wall, tuple(found))


def installed(program: str) -> Path | None:
    """Returns the path of a program where it is installed."""
    found = shutil.which(program)
    return Path(found) if found else None


def can_import(python: str, package: str) -> bool:
    """Returns whether this Python is there and has the package."""
    try:
        return subprocess.run([python, "-c", f"import {package}"], capture_output=True, timeout=60).returncode == 0
    except OSError:
        return False


def on_ranks(ranks: int, module: str, *words: object, **environment: str) -> Any:
    """Runs a module of this package on ranks of Open MPI that are bound to no cores, and returns what the root prints
    last, as JSON. A single rank is started without mpirun."""
    launcher = ["mpirun.openmpi", "--bind-to", "none", "-n", str(ranks)] if ranks > 1 else []
    command = [*launcher, sys.executable, "-m", module, *map(str, words)]
    of_ranks = {**ENVIRONMENT, "OMPI_MCA_mpi_yield_when_idle": "1", **environment}
    done = measure(command, folder=ROOT, launcher=len(launcher), environment=of_ranks, timeout=1800)
    return json.loads(done.stdout.splitlines()[-1])
