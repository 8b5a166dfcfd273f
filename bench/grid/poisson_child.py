"""Runs one rank of the potentials that poisson.py times. Prints one line for each: points along an edge, seconds, and
the residual: the greatest |∇²φ + 4πρ| over the greatest |4πρ|, by NumPy.

python -m bench.grid.poisson_child tessera|gpaw METHOD periodic|isolated ORDER TOLERANCE POINTS:REPEATS...
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

EDGE = 20.0  # bohr
SECOND = {  # coefficients of the second derivative: the point itself, and points 1, 2, … away
    2: (-2, 1),
    4: (-5 / 2, 4 / 3, -1 / 12),
    6: (-49 / 18, 3 / 2, -3 / 20, 1 / 90),
    8: (-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560),
}
Array = np.ndarray[Any, np.dtype[np.float64]]


def charges(n: int, periodic: bool) -> Array:
    """Returns four Gaussian charges whose sum is zero, on the whole grid."""
    step = EDGE / (n if periodic else n + 1)
    axis = (np.arange(n) + (0 if periodic else 1)) * step
    density = np.zeros((n, n, n))
    for x, y, z, charge, width in ((8, 9, 11, 1, 0.9), (12, 10, 9, -1, 0.7), (10, 12, 10, 2, 0.8), (9, 10, 8, -2, 1)):
        along = [np.exp(-(((axis - centre) / width) ** 2)) for centre in (x, y, z)]
        density += charge / (np.pi**1.5 * width**3) * np.einsum("x,y,z->xyz", *along)
    return density - density.mean()


def residual(potential: Array, density: Array, periodic: bool, order: int) -> float:
    n = len(density)
    step = EDGE / (n if periodic else n + 1)
    most = order // 2
    wide = np.pad(potential, most, mode="wrap" if periodic else "constant")
    found = 4 * np.pi * density
    for axis in range(3):
        for k, coefficient in enumerate(SECOND[order]):
            for offset in {k, -k}:
                inside = [slice(most, most + n)] * 3
                inside[axis] = slice(most + offset, most + offset + n)
                found = found + coefficient / step**2 * wide[tuple(inside)]
    return float(np.abs(found).max() / np.abs(4 * np.pi * density).max())


def tessera(
    method: str, n: int, periodic: bool, order: int, tolerance: float
) -> tuple[Callable[[], None], Callable[[], Array | None]]:
    """Returns what finds a potential, and what then brings all of it to rank 0."""
    from tessera.grid import Grid

    comm = MPI.COMM_WORLD
    grid = Grid((n, n, n), cell=(EDGE,) * 3, periodic=periodic, comm=comm)
    density = np.ascontiguousarray(charges(n, periodic)[grid.slices])
    potential = np.empty_like(density)
    images = method == "fft-images"
    solve = grid.poisson(method.removesuffix("-images"), order=order, tolerance=tolerance, images=images)

    def whole() -> Array | None:
        parts = comm.gather((grid.slices, potential))
        if parts is None:
            return None
        field = np.empty(grid.shape)
        for at, part in parts:
            field[at] = part
        return field

    return lambda: void(solve(density, out=potential)), whole


def gpaw(
    method: str, n: int, periodic: bool, order: int, tolerance: float
) -> tuple[Callable[[], None], Callable[[], Array | None]]:
    """The same of GPAW. Its tolerance is the square of the residual over the cell, in units of the density: this one
    makes the root of the mean square `tolerance` times the greatest density."""
    from gpaw.mpi import world
    from gpaw.old.grid_descriptor import GridDescriptor
    from gpaw.poisson import FastPoissonSolver, FDPoissonSolver

    if world.size != MPI.COMM_WORLD.size:
        sys.exit(f"GPAW finds {world.size} ranks, mpi4py {MPI.COMM_WORLD.size}")
    points = n if periodic else n + 1
    grid = GridDescriptor((points,) * 3, (EDGE,) * 3, pbc_c=periodic, comm=world)
    every = charges(n, periodic)
    density = grid.empty()
    grid.distribute(every, density)
    if method == "fast":
        solver = FastPoissonSolver(nn=order // 2)
    else:
        solver = FDPoissonSolver(nn=order // 2, eps=(tolerance * np.abs(every).max()) ** 2 * EDGE**3)
    solver.set_grid_descriptor(grid)
    potential = grid.zeros()

    def solve() -> None:
        potential[:] = 0
        solver.solve(potential, density, charge=0)

    return solve, lambda: grid.collect(potential) if world.rank == 0 else void(grid.collect(potential))


def void(_: object) -> None:
    return None


def main() -> None:
    peer, method, edges, order, tolerance, *sizes = sys.argv[1:]
    periodic = edges == "periodic"
    for n, repeats in (map(int, text.split(":")) for text in sizes):
        make = {"tessera": tessera, "gpaw": gpaw}[peer]
        solve, whole = make(method, n, periodic, int(order), float(tolerance))
        times = []
        for i in range(-1, repeats):
            MPI.COMM_WORLD.Barrier()
            begin = time.perf_counter()
            solve()
            MPI.COMM_WORLD.Barrier()
            if i >= 0:
                times.append(time.perf_counter() - begin)
        found = whole()
        if found is not None and MPI.COMM_WORLD.rank == 0:
            left = residual(np.asarray(found), charges(n, periodic), periodic, int(order))
            for seconds in times:
                print(f"{n} {seconds:.9f} {left:.3g}")


if __name__ == "__main__":
    main()
