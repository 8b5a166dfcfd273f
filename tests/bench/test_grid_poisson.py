"""Tests what bench.grid.poisson computes from measured times, and its own check of a potential."""

import numpy as np

from bench.grid.poisson import Case, Times, broken_promises, rows_of
from bench.grid.poisson_child import EDGE, charges, residual
from tessera.grid import Grid


def test_promises_are_ratios_of_medians() -> None:
    times = {
        ("tessera", "fft"): Times([10.0, 11.0, 90.0], 1e-14),
        ("tessera", "multigrid"): Times([100.0], 1e-10),
        ("gpaw", "fast"): Times([43.0], 1e-14),
        ("gpaw", "fd"): Times([600.0], 1e-9),
    }
    measured = {Case("periodic", 2, 128): times, Case("periodic", 1, 128): times}
    assert broken_promises(measured) == [
        "periodic 128³ on 2 ranks: fft has 3.91 times the speed of GPAW's, promised are 4.0"
    ]
    header, rows = rows_of(measured, True)
    assert len(header) == len(rows[0]) and rows[1][-1] == 6.0


def test_the_residual_is_that_of_the_grid() -> None:
    for periodic in (True, False):
        grid = Grid((16, 16, 16), cell=(EDGE,) * 3, periodic=periodic)
        density = charges(16, periodic)
        solve = grid.poisson("fft", order=6, tolerance=1e-6)
        found = residual(solve(density), density, periodic, 6)
        assert np.isclose(found, solve.residual, rtol=1e-3, atol=1e-13)
