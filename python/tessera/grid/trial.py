"""Times stencils on the ranks of one job; `tessera grid bench` starts it.

    mpirun -n N python -m tessera.grid.trial '{"shape": [96, 96, 96], "dtype": "float64", ...}' -t THREADS

Rank 0 prints the result as one line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera import flavours
from tessera.grid import Grid, GridError, Operator, Stencil
from tessera.grid.bench import LEAST_HIDDEN

TURN = 0.05  # s


def world(flavour: str) -> Any:
    """Returns the communicator of all ranks, None where this process is alone. By itself mpi4py takes the first MPI
    that it finds; here it takes the one for which Tessera's module is built."""
    if flavour == "serial":
        return None
    flavours.load("grid", flavour)
    with suppress(OSError, StopIteration):
        maps = Path("/proc/self/maps").read_text().splitlines()
        library = next(line.split()[-1] for line in maps if "/libmpi.so" in line)
        os.environ.setdefault("MPI4PY_LIBMPI", library)
    from mpi4py import MPI

    return MPI.COMM_WORLD


def timed(comm: Any, work: Callable[[], object], inner: int) -> float:
    """Returns the seconds that one call of `work` takes the slowest rank."""
    if comm is not None:
        comm.Barrier()
    begin = time.perf_counter()
    for _ in range(inner):
        work()
    seconds = (time.perf_counter() - begin) / inner
    return seconds if comm is None else max(comm.allgather(seconds))


@dataclass
class Timed:
    """Work that takes turns: seconds of a call as tried beforehand, calls in a turn, seconds of a call in each turn."""

    work: Callable[[], object]
    tried: float
    calls: int
    seconds: list[float] = field(default_factory=list)


def trials(request: dict[str, Any], threads: int, comm: Any) -> dict[str, Any]:
    """Returns {processes, rates, alone, call, trials, left_out}. `rates`: those of `Grid.rates`. `alone`: seconds of
    each turn in which all ranks compute as many points without neighbours; `call`: those of a call without fields;
    `trials`: the configurations with their seconds of each turn, and with those of `apart`, where each batch has a call
    of its own, so that nothing overlaps (none where that tells nothing); `left_out`: those refused, and why."""
    shape, fields = tuple(request["shape"]), request["grids"]
    grid = Grid(shape, comm=comm, threads=threads, machine=request["machine"])
    dtype = np.dtype(request["dtype"])
    x = np.random.default_rng(1).normal(size=(fields, *grid.local_shape)).astype(dtype)
    out = np.empty_like(x)
    laplacian = grid.laplacian(request["order"])
    works: list[Timed] = []

    def add(work: Callable[[], object]) -> Timed:
        """Work is called so often that a turn takes about 50 ms; all ranks hear the same time."""
        seconds = timed(comm, work, 1)
        if seconds < TURN:
            seconds = timed(comm, work, 1)  # the first of short calls takes longer than the others
        works.append(Timed(work, seconds, max(1, min(100, int(TURN / max(seconds, 1e-6))))))
        return works[-1]

    # Points beyond these boxes are zero. A rank without points computes nothing.
    own = Grid(tuple(max(1, n) for n in grid.local_shape), periodic=False, threads=threads)
    compute = own.operator(Stencil(laplacian.offsets, laplacian.coefficients), dtype=dtype)
    alone = add(lambda: compute(x, out) if x.size else None)
    call: Timed | None = None
    found: list[dict[str, Any]] = []
    left_out = []
    for one in request["configurations"]:
        try:
            apply = grid.operator(laplacian, dtype=dtype, **one)
            together = add(partial(apply, x, out))
        except GridError as error:
            left_out.append({**one, "why": str(error)})
            continue
        if call is None:
            call = add(partial(apply, x[:0], out[:0]))
        at_once = one["batch"] * (threads if one["approach"] == "hybrid-multiple" else 1)
        calls = -(-fields // at_once)
        separate: list[float] = []
        is_hidden = alone.tried > LEAST_HIDDEN * (together.tried - alone.tried)  # enough of it that it can be told
        if one["approach"] != "flat-original" and calls > 1 and is_hidden:
            separate = add(partial(apart, apply, x, out, at_once)).seconds
        found.append({**one, "calls": calls, "seconds": together.seconds, "apart": separate})
    for _ in range(request["repeats"]):
        for each in works:
            each.seconds.append(timed(comm, each.work, each.calls))
    return {
        "processes": list(grid.processes),
        "rates": grid.rates(laplacian, dtype),
        "alone": alone.seconds,
        "call": call.seconds if call else [],
        "trials": found,
        "left_out": left_out,
    }


def apart(apply: Operator, x: NDArray[Any], out: NDArray[Any], at_once: int) -> None:
    for first in range(0, len(x), at_once):
        apply(x[first : first + at_once], out[first : first + at_once])


def main() -> None:
    request = json.loads(sys.argv[1])
    try:
        comm = world(request["flavour"])
        found = trials(request, int(sys.argv[3]), comm)
    except (GridError, ImportError) as error:
        print(json.dumps({"error": str(error)}), flush=True)
        sys.exit(2)
    except MemoryError:
        print(json.dumps({"error": "the grids do not fit into memory; give fewer or smaller ones"}), flush=True)
        os._exit(2)
    if comm is None or comm.rank == 0:
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
