"""Compares the eigensolver with SciPy's and GPAW's on the same operator, and its pass with a stencil alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from statistics import median
from typing import Any

import click
import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.sparse import linalg as sparse
from threadpoolctl import threadpool_limits

from bench.common.options import Common, script
from bench.common.results import Figure, table
from bench.grid import eigen_gpaw
from tessera.grid import Grid

EDGE, ORDER, TOLERANCE = 14.0, 8, 1e-6
Potential = Callable[[Grid], np.ndarray]


def axes(grid: Grid) -> tuple[np.ndarray, ...]:
    first = [0 if periodic else 1 for periodic in grid.periodic]
    return np.meshgrid(
        *((np.arange(n) + i) * step - EDGE / 2 for n, i, step in zip(grid.shape, first, grid.steps.diagonal())),
        indexing="ij",
    )


def oscillator(grid: Grid) -> np.ndarray:
    return np.asarray(0.5 * sum(axis**2 for axis in axes(grid)))


def wells(grid: Grid, depth: float = 8, exponent: float = 1.5) -> np.ndarray:
    """Eight wells at random places: nearly degenerate bound states, and many that are not bound."""
    x, y, z = axes(grid)
    centres = np.random.default_rng(3).uniform(-4, 4, (8, 3))
    squares = [(x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2 for a, b, c in centres]
    return -depth * np.sum([np.exp(-exponent * square) for square in squares], 0)


POTENTIALS: dict[str, tuple[bool, Potential]] = {"oscillator": (False, oscillator), "wells": (True, wells)}
#: As soft as GPAW's preconditioner, which does not know the potential, is made for.
SOFT: dict[str, tuple[bool, Potential]] = {"soft wells": (True, partial(wells, depth=1.5, exponent=0.4))}


class Peer:
    """H as SciPy takes it."""

    def __init__(self, grid: Grid, potential: np.ndarray) -> None:
        self.laplace = grid.operator(grid.laplacian(ORDER))
        self.potential = potential
        self.operator = sparse.LinearOperator((potential.size,) * 2, self.apply, dtype=float)

    def apply(self, x: np.ndarray) -> np.ndarray:
        field = x.reshape(self.potential.shape)
        return np.ravel(-0.5 * self.laplace(field) + self.potential * field)

    def lanczos(self, n: int) -> np.ndarray:
        # Errors of its energies are about the square of a residual, as ours are.
        return np.sort(sparse.eigsh(self.operator, n, which="SA", tol=TOLERANCE, return_eigenvectors=False))


def pass_times(points: int) -> tuple[float, float]:
    """Returns ns a point: a Laplacian of 16 fields, and Hψ − εψ with its norms and energies."""
    grid = Grid((points,) * 3, cell=(EDGE,) * 3)
    laplace = grid.operator(grid.laplacian(ORDER))
    fields, out = grid.empty(16), grid.empty(16)
    fields[...] = np.random.default_rng(1).normal(size=fields.shape)
    native = grid._module.Waves(grid._native, steps=grid.steps.tolist(), order=ORDER, is_complex=False,
                                phases=[1, 1, 1], potential=np.ones(grid.shape))  # fmt: skip
    flat, image, sums = fields.reshape(16, -1), out.reshape(16, -1), np.empty((16, 2))
    times: tuple[list[float], list[float]] = [], []
    for _ in range(7):
        for kept, call in zip(times, (lambda: laplace(fields, out=out),
                                      lambda: native.find_residuals(flat, np.ones(16), image, sums))):  # fmt: skip
            begin = time.process_time()
            call()
            kept.append(1e9 * (time.process_time() - begin) / fields.size)
    return median(times[0]), median(times[1])


def rows_of_gpaw(common: Common, figure: Figure, points: int, counts: tuple[int, ...]) -> list[list[Any]]:
    """Times GPAW's solvers and ours in turn, from the same guess."""
    rows: list[list[Any]] = []
    for name, (periodic, make) in {**POTENTIALS, **SOFT}.items():
        n = points + periodic
        grid = Grid((n,) * 3, cell=(EDGE,) * 3, periodic=periodic)
        potential = make(grid)
        for count in counts:
            noise = np.random.default_rng(1).normal(size=(count + max(4, count // 8), *grid.shape))
            guess = gaussian_filter(noise, 3, mode="wrap" if periodic else "constant", axes=(1, 2, 3))
            for method in eigen_gpaw.SOLVERS:
                begin = time.process_time()
                ours = grid.eigenstates(potential, count, order=ORDER, tolerance=TOLERANCE, guess=guess)
                seconds = time.process_time() - begin
                solve = eigen_gpaw.solver(method, grid.shape, EDGE, periodic, ORDER)
                begin = time.process_time()
                found = solve(potential, guess, count, TOLERANCE)
                theirs = time.process_time() - begin
                apart = float(np.abs(ours.eigenvalues - found.eigenvalues).max())
                more = "" if found.is_converged else "> "
                rows.append([name, f"{n}³", count, ours.iterations, seconds, method, f"{more}{found.iterations}",
                             theirs, f"{more}{theirs / seconds:.3g}", f"{apart:.0e}"])  # fmt: skip
                figure.data[f"{name} {count}, {method}"] = {
                    "seconds": [seconds, theirs],
                    "iterations": found.iterations,
                }
                common.say(f"{name} {count}: {seconds:.2f} s, GPAW's {method} {theirs:.2f} s")
    return rows


@script(repeats=3)
@click.option("--points", default=47, show_default=True, help="Along an edge; one more where it is periodic.")
@click.option("--gpaw/--no-gpaw", "with_gpaw", default=True, help="Measure GPAW's solvers, if it is installed.")
@click.option("--states", "counts", multiple=True, type=int, help="Repeatable; default: 1 and 10.")
def eigen(common: Common, points: int, with_gpaw: bool, counts: tuple[int, ...], repeats: int) -> None:
    """Measure lowest eigenstates in s, as medians, beside SciPy's Lanczos method (eigsh) and GPAW's solvers.

    \b
    Examples:
      python -m bench.grid eigen --docs
      python -m bench.grid eigen --points 31 --states 10 --repeats 1
    """
    figure = common.figure("eigen", "Eigenstates on grids", order=ORDER, tolerance=TOLERANCE)
    rows: list[list[Any]] = []
    with threadpool_limits(1, "blas"):
        for name, (periodic, make) in POTENTIALS.items():
            n = points + periodic
            grid = Grid((n,) * 3, cell=(EDGE,) * 3, periodic=periodic)
            potential = make(grid)
            for count in counts or (1, 10):
                times: dict[str, list[float]] = {"tessera": [], "lanczos": []}
                for turn in range(repeats):
                    for method in list(times)[:: 1 if turn % 2 == 0 else -1]:
                        peer = Peer(grid, potential)
                        begin = time.process_time()
                        if method == "tessera":
                            found = grid.eigenstates(potential, count, order=ORDER, tolerance=TOLERANCE)
                        else:
                            values = peer.lanczos(count)
                        times[method].append(time.process_time() - begin)
                ours, theirs = median(times["tessera"]), median(times["lanczos"])
                apart = float(np.abs(found.eigenvalues - values).max())
                rows.append([name, f"{n}³", count, found.iterations, ours, theirs, theirs / ours, f"{apart:.0e}"])
                figure.data[f"{name} {count}"] = {"seconds": times, "iterations": found.iterations}
                common.say(f"{name} {count}: {ours:.2f} s, Lanczos {theirs:.2f} s")
    header = ["potential", "points", "states", "iterations", "s", "Lanczos, s", "times the speed", "energies differ by"]
    figure.tables.append(table(header, rows))
    if with_gpaw and find_spec("gpaw") is not None:
        import gpaw

        figure.versions["GPAW"] = gpaw.__version__
        with threadpool_limits(1, "blas"):
            peer_rows = rows_of_gpaw(common, figure, points, counts or (1, 10))
        header = ["potential", "points", "states", "iterations", "s", "GPAW's", "iterations", "s", "times the speed",
                  "energies differ by"]  # fmt: skip
        figure.tables.append(table(header, peer_rows))
        figure.notes.append(
            "GPAW's solvers iterate as many waves as ours on the same −½∇² + V, without atoms, from the same smoothed "
            "noise; each was run once, after ours. They end when the root of the mean square of the residuals' norms "
            "is at most the tolerance, for which ours takes the greatest, or, marked by >, after "
            f"{eigen_gpaw.MAX_ITERATIONS} iterations. Their preconditioner is that of GPAW for any potential."
        )
    elif with_gpaw:
        figure.notes.append("GPAW is not installed, and left out.")
    passes = [[f"{n}³", *pass_times(n)] for n in (64, 128)]
    figure.data["passes"] = passes
    figure.tables.append(table(["points", "Laplacian, ns a point", "Hψ − εψ, its norm and ⟨V⟩, ns a point"], passes))
    figure.notes.append(
        "One process and thread, seconds of its processor; all apply the same operator of order 8. Energies differ in "
        "hartree: by about 1 where Lanczos's method, at this tolerance, misses states of a shell of equal energies."
    )
    figure.finish(common)
