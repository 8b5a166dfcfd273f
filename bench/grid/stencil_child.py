"""Times a Laplacian of tessera.grid, alone or on ranks. Prints the seconds of each call, the slowest rank's, as JSON.

python stencil_child.py POINTS FIELDS DTYPE ORDER THREADS CALLS
"""

from __future__ import annotations

import json
import os
import sys
import time

import numpy as np

from tessera.grid import Grid


def main(points: int, fields: int, dtype: str, order: int, threads: int, calls: int) -> None:
    comm = None
    if "OMPI_COMM_WORLD_SIZE" in os.environ or "PMI_SIZE" in os.environ:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    grid = Grid((points,) * 3, comm=comm, threads=threads)
    apply = grid.operator(grid.laplacian(order), dtype=dtype)
    values = grid.empty(fields, dtype)
    values[...] = np.random.default_rng(1).normal(size=values.shape)
    result = apply(values)
    seconds = []
    for _ in range(calls):
        if comm is not None:
            comm.Barrier()
        begin = time.perf_counter()
        apply(values, result)
        taken = time.perf_counter() - begin
        seconds.append(taken if comm is None else max(comm.allgather(taken)))
    if comm is None or comm.rank == 0:
        print(json.dumps(seconds))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:]))
