"""Many cases on the ranks of one launch: those of arrays (`array_cases.py`), and calls that are wrong on one of three
ranks. Each test reads its own part of what the launch printed."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.programs import LIBRARIES, ROOT, mpirun, run_program


def _cases(ranks: int) -> dict[str, list[dict[str, Any]]]:
    from tests.arrays import test_eigen, test_fft, test_grid, test_poisson

    return {
        "fft": test_fft.cases(ranks),
        "fft after errors": test_fft.CASES_AFTER_ERRORS,
        "grid": test_grid.cases(ranks),
        "poisson": test_poisson.cases(ranks),
        "eigen": test_eigen.cases(ranks),
    }


@cache
def _launch(mpi: str, ranks: int) -> tuple[dict[str, list[Any]], str]:
    """Runs all cases; returns the results of each kind's cases up to the first one that failed, and standard error."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cases.json"
        file.write_text(json.dumps(_cases(ranks)))
        done = run_program(
            [*mpirun(mpi, ranks), sys.executable, "-m", "mpi4py", "-m", "tests.arrays.array_cases", file],
            cwd=ROOT,
            env={"MPI4PY_LIBMPI": LIBRARIES[mpi], "XDG_CACHE_HOME": folder},
            check=False,
        )
    found: dict[str, list[Any]] = defaultdict(list)
    for line in done.stdout.splitlines():
        kind, result = json.loads(line)
        found[kind].append(result)
    return found, done.stderr


def results(mpi: str, ranks: int, kind: str) -> list[Any]:
    """Returns the results of a kind's cases on these ranks. Fails the test where one has none."""
    found, error = _launch(mpi, ranks)
    count = len(_cases(ranks)[kind])
    if len(found[kind]) < count:
        pytest.fail(f"{kind}: {len(found[kind])} of {count} cases have a result\n{error[-4000:]}")
    return found[kind]


BEGIN = """
import json
import numpy as np
from mpi4py import MPI
from tessera import fft
from tessera.grid import Grid, GridError
comm = MPI.COMM_WORLD
odd = comm.rank == 1
def said(call):
    try:
        call()
    except (fft.FftError, GridError) as error:
        return str(error)
"""
END = """
    every = comm.gather(texts)
    if comm.rank == 0:
        assert all(one == texts for one in every), every
        print(json.dumps([kind, texts]), flush=True)
"""


@cache
def _messages(mpi: str) -> tuple[dict[str, list[str]], str]:
    from tests.arrays import test_eigen, test_fft, test_grid, test_poisson

    modules = {"fft": test_fft, "grid": test_grid, "poisson": test_poisson, "eigen": test_eigen}
    program = BEGIN
    for kind, module in modules.items():
        body = "".join(f"    {line}\n" for line in module.WRONG_ON_ONE_RANK.splitlines())
        program += f"for kind, texts in [({kind!r}, [])]:\n{body}{END}"
    command = [*mpirun(mpi, 3), sys.executable, "-m", "mpi4py", "-c", program]
    done = run_program(command, env={"MPI4PY_LIBMPI": LIBRARIES[mpi]}, check=False)
    return dict(map(json.loads, done.stdout.splitlines())), done.stderr


def messages(mpi: str, kind: str) -> list[str]:
    """Returns what three ranks say, all the same, to the calls of a kind's `WRONG_ON_ONE_RANK`. These are wrong on the
    rank that is `odd`, and append to `texts` what `said(call)` returns."""
    found, error = _messages(mpi)
    if kind not in found:
        pytest.fail(f"{kind}: ranks differ, or the launch ended before\n{error[-4000:]}")
    return found[kind]
