"""Moves bodies that springs join, every rank with all of them, as a rank of a job: springs.py BODIES SPRINGS STEPS.

Forces and positions are whole numbers, so that a sum is the same in any order. Rank 0 prints the sum of all positions,
each times its number, and their greatest.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

SCALE = 1 << 20  # of positions and forces


def main(n_bodies: int, n_springs: int, n_steps: int) -> None:
    world = MPI.COMM_WORLD
    start = None
    if world.rank == 0:
        numbers = np.random.default_rng(1)
        ends = numbers.integers(0, n_bodies, (2, n_springs))
        start = {"ends": ends, "r": numbers.integers(0, 64 * SCALE, (n_bodies, 3))}
    start = world.bcast(start)
    assert start is not None
    a, b = start["ends"][:, world.rank :: world.size]  # each rank has its share of the springs
    r = np.ascontiguousarray(start["r"])
    bounds = 3 * (np.arange(world.size + 1) * n_bodies // world.size)
    counts = np.diff(bounds)
    own = slice(bounds[world.rank], bounds[world.rank + 1])
    velocity = np.zeros(counts[world.rank], np.int64)
    force = np.empty_like(velocity)
    for _ in range(n_steps):
        pull = (r[b] - r[a]) >> 8
        forces = np.zeros_like(r)
        np.add.at(forces, a, pull)
        np.subtract.at(forces, b, pull)
        world.Reduce_scatter(forces.reshape(-1), force, counts.tolist())
        velocity += force
        world.Allgatherv(r.reshape(-1)[own] + velocity, (r, counts))
    weighed = np.sum(r.reshape(-1)[own] * (np.arange(own.start, own.stop) + 1))
    total = world.allreduce(int(weighed))
    greatest = world.allreduce(int(np.max(r)), MPI.MAX)
    if world.rank == 0:
        print(f"sum {total} greatest {greatest}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
