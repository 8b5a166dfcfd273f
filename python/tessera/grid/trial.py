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

from tessera import flavours
from tessera.grid import Grid, GridError, Operator, Stencil

TURN = 0.05  # s
LEAST_COMPUTING = 0.04  # of a time, for overlap to be told


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
    """Work that takes turns: seconds of a call as tried beforehand, calls in a turn, seconds of a call in each turn,
    and those of them in which faces were not packed."""

    work: Callable[[], object]
    packing: Callable[[], float]  # s so far on this rank
    tried: float
    calls: int
    seconds: list[float] = field(default_factory=list)
    unpacked: list[float] = field(default_factory=list)

    def turn(self, comm: Any) -> None:
        before = self.packing()
        self.seconds.append(timed(comm, self.work, self.calls))
        packing = (self.packing() - before) / self.calls
        self.unpacked.append(self.seconds[-1] - (packing if comm is None else comm.allreduce(packing) / comm.size))


def trials(request: dict[str, Any], threads: int, comm: Any) -> dict[str, Any]:
    """Returns {processes, rates, alone, trials, left_out}. `rates`: those of `Grid.rates`. `alone`: seconds of each
    turn in which all ranks compute as many points without neighbours; `trials`: the configurations with their seconds
    of each turn, `batches` and whether any rank `sends` messages; and without packing the seconds of each turn
    `together`, those with each batch `apart`, and those of `exchange`, in which nothing is computed (none where no
    other batch travels meanwhile, or computing is too short to hide it); `left_out`: those refused, and why."""
    shape, fields = tuple(request["shape"]), request["grids"]
    grid = Grid(shape, comm=comm, threads=threads, machine=request["machine"])
    dtype = np.dtype(request["dtype"])
    x = np.random.default_rng(1).normal(size=(fields, *grid.local_shape)).astype(dtype)
    out = np.empty_like(x)
    laplacian = grid.laplacian(request["order"])
    works: list[Timed] = []

    def add(work: Callable[[], object], packing: Callable[[], float] = float) -> Timed:
        """Calls work so often that a turn takes about 50 ms; all ranks hear the same time."""
        seconds = timed(comm, work, 1)
        if seconds < TURN:
            seconds = timed(comm, work, 1)  # the first of short calls takes longer than the others
        works.append(Timed(work, packing, seconds, max(1, min(100, int(TURN / max(seconds, 1e-6))))))
        return works[-1]

    # Points beyond these boxes are zero. A rank without points computes nothing.
    own = Grid(tuple(max(1, n) for n in grid.local_shape), periodic=False, threads=threads)
    compute = own.operator(Stencil(laplacian.offsets, laplacian.coefficients), dtype=dtype)
    alone = add(lambda: compute(x, out) if x.size else None)
    found: list[dict[str, Any]] = []
    left_out = []
    for one in request["configurations"]:
        try:
            apply = grid.operator(laplacian, dtype=dtype, shared_memory=request["shared_memory"], **one)
        except GridError as error:
            left_out.append({**one, "why": str(error)})
            continue
        packing = partial(packed, apply)
        together = add(partial(apply, x, out), packing)
        at_once = one["batch"] * (threads if one["approach"] == "hybrid-multiple" else 1)
        batches = 1 if one["approach"] == "flat-original" else -(-fields // at_once)
        sends = apply.sends_messages if comm is None else any(comm.allgather(apply.sends_messages))
        exchange: list[float] = []
        apart: list[float] = []
        if sends and batches > 1 and alone.tried > LEAST_COMPUTING * together.tried:
            exchange = add(partial(apply.apart, x, out, computes=False), packing).unpacked
            apart = add(partial(apply.apart, x, out), packing).unpacked
        found.append({**one, "batches": batches, "sends": sends, "seconds": together.seconds,
                      "together": together.unpacked, "exchange": exchange, "apart": apart})  # fmt: skip
    for _ in range(request["repeats"]):
        for each in works:
            each.turn(comm)
    return {
        "processes": list(grid.processes),
        "rates": grid.rates(laplacian, dtype),
        "alone": alone.seconds,
        "trials": found,
        "left_out": left_out,
    }


def packed(operator: Operator) -> float:
    return operator.seconds["packing"]


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
