"""Exchanges data between neighbours of a periodic grid, as a rank of a job: exchange.py ROWS COLUMNS BYTES TURNS.

Rank 0 prints, as JSON, the times (s) of turns in which the ranks of the communicator have their numbers, and of turns
between these in which MPI may number them anew; for a Cartesian grid, and for the graph of one whose places have random
numbers.
"""

from __future__ import annotations

import json
import random
import sys

import numpy as np
from mpi4py import MPI


def made(kind: str, rows: int, columns: int, reorder: bool) -> MPI.Topocomm:
    """Returns the communicator of the grid, or of its graph."""
    world = MPI.COMM_WORLD
    if kind == "grid":
        return world.Create_cart([rows, columns], [True, True], reorder)
    vertices = list(range(world.size))
    random.Random(1).shuffle(vertices)  # the vertex at each place
    row, column = divmod(vertices.index(world.rank), columns)
    places = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
    near = [vertices[r % rows * columns + c % columns] for r, c in places]
    return world.Create_dist_graph_adjacent(near, near, [1] * 4, [1] * 4, MPI.INFO_NULL, reorder)


def main(rows: int, columns: int, n_bytes: int, turns: int) -> None:
    world = MPI.COMM_WORLD
    sent = np.zeros((4, n_bytes), np.uint8)
    received = np.empty_like(sent)
    found = {}
    for kind in ("grid", "graph"):
        comms = {word: made(kind, rows, columns, word == "anew") for word in ("numbered", "anew")}
        times: dict[str, list[float]] = {word: [] for word in comms}
        for _ in range(turns):
            for word, comm in comms.items():
                world.Barrier()
                begin = MPI.Wtime()
                comm.Neighbor_alltoall(sent, received)
                times[word].append(world.allreduce(MPI.Wtime() - begin, MPI.MAX))
        found[kind] = times
    if world.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
