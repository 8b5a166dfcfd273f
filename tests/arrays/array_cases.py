"""Runs cases of transforms, stencils, potentials and eigenstates on the ranks of one launch, because launches take most
of the time; `one_launch.py` starts it.

    python -m mpi4py -m tests.arrays.array_cases CASES.json

The file has a list of cases for each kind. After each case, a line holds its kind and the result of its function. The
first case that fails on any rank is named, and ends all ranks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.arrays import eigen_cases, grid_cases, poisson_cases
from tests.support import fft_cases

KINDS: dict[str, Callable[[dict[str, Any], Any], Any]] = {
    "fft": fft_cases.run,
    "fft after errors": fft_cases.run_after_errors,
    "grid": grid_cases.run,
    "poisson": poisson_cases.run,
    "eigen": eigen_cases.run,
}


def main() -> None:
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    for kind, cases in json.loads(Path(sys.argv[1]).read_text()).items():
        for case in cases:
            try:
                found = KINDS[kind](case, world)
            except Exception:
                print(f"rank {world.rank}, {kind}: {json.dumps(case)}", file=sys.stderr, flush=True)
                raise
            if world.rank == 0:
                print(json.dumps([kind, found]), flush=True)


if __name__ == "__main__":
    main()
