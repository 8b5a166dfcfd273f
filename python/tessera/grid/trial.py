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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera import flavours
from tessera.grid import Grid, GridError, Operator, Stencil


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


def trials(request: dict[str, Any], threads: int, comm: Any) -> dict[str, Any]:
    """Returns {processes, rates, alone, call, trials, left_out}. `rates`: those of `Grid.rates`. `alone`: seconds of
    each turn in which all ranks compute as many points without neighbours; `call`: those of a call without fields;
    `trials`: the configurations with their seconds of each turn, and with those of `apart`, where each batch has a call
    of its own, so that nothing overlaps; `left_out`: those refused, and why."""
    shape, fields = tuple(request["shape"]), request["grids"]
    grid = Grid(shape, comm=comm, threads=threads, machine=request["machine"])
    dtype = np.dtype(request["dtype"])
    x = np.random.default_rng(1).normal(size=(fields, *grid.local_shape)).astype(dtype)
    out = np.empty_like(x)
    laplacian = grid.laplacian(request["order"])
    # Points beyond these boxes are zero. A rank without points computes nothing.
    own = Grid(tuple(max(1, n) for n in grid.local_shape), periodic=False, threads=threads)
    alone = own.operator(Stencil(laplacian.offsets, laplacian.coefficients), dtype=dtype)
    works: list[Callable[[], object]] = [lambda: alone(x, out) if x.size else None]
    found: list[dict[str, Any]] = []
    left_out = []
    for one in request["configurations"]:
        try:
            apply = grid.operator(laplacian, dtype=dtype, **one)
            apply(x, out)
        except GridError as error:
            left_out.append({**one, "why": str(error)})
            continue
        if not found:
            works.append(partial(apply, x[:0], out[:0]))
        works.append(partial(apply, x, out))
        at_once = one["batch"] * (threads if one["approach"] == "hybrid-multiple" else 1)
        works.append(partial(apart, apply, x, out, at_once))
        found.append({**one, "calls": -(-fields // at_once)})
    # So often that a turn takes about 50 ms; all ranks hear the same time.
    inner = [max(1, min(100, int(0.05 / max(timed(comm, work, 1), 1e-6)))) for work in works]
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(request["repeats"]):
        for times, work, n in zip(seconds, works, inner):
            times.append(timed(comm, work, n))
    for one, together, separate in zip(found, seconds[2::2], seconds[3::2]):
        one |= {"seconds": together, "apart": separate}
    return {
        "processes": list(grid.processes),
        "rates": grid.rates(laplacian, dtype),
        "alone": seconds[0],
        "call": seconds[1] if found else [],
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
