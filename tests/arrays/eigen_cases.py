"""Finds eigenstates of given cases and compares them with those of the matrix, on one process or on each rank;
test_eigen.py chooses the cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from tessera.grid import Grid
from tests.arrays.grid_cases import by_rolls

Case = dict[str, Any]
TOLERANCE = 1e-7


def run(case: Case, comm: Any) -> list[float]:
    """Runs a case; returns the eigenvalues."""
    grid = Grid(tuple(case["shape"]), cell=case["cell"], periodic=case["periodic"], comm=comm, threads=case["threads"])
    points = int(np.prod(case["shape"]))
    n = max(1, round(case["share"] * points))
    phases = [complex(np.exp(1j * a)) if p else 1 for a, p in zip(case["angles"], case["periodic"])]
    if not case["is_complex"]:
        phases = [1, 1, 1]
    random = np.random.default_rng(points)
    potential = case["height"] * random.uniform(-1, 1, case["shape"])
    found = grid.eigenstates(
        np.ascontiguousarray(potential[grid.slices]),
        n,
        order=case["order"],
        phases=phases,
        dtype=complex if case["is_complex"] else float,
        tolerance=TOLERANCE,
    )
    assert (found.residuals <= TOLERANCE).all() and found.residuals.shape == (n,)

    number = np.dtype(complex if case["is_complex"] else float)
    unit = np.eye(points, dtype=number).reshape(points, *case["shape"])
    kinetic = -0.5 * by_rolls(case, grid.laplacian(case["order"]), phases, unit).reshape(points, points).T
    matrix = kinetic + np.diag(potential.ravel())
    expected = scipy.linalg.eigvalsh(matrix)[:n]
    size = np.abs(matrix).sum(0).max()
    # An eigenvalue of H is within the residual of each, and states are orthonormal, so that none is found twice.
    assert np.abs(found.eigenvalues - expected).max() <= TOLERANCE + 1e-13 * size
    fields = np.full((n, *case["shape"]), np.nan, number)
    parts = [(found.fields, grid.slices)] if comm is None else comm.allgather((found.fields, grid.slices))
    for part, at in parts:
        fields[(..., *at)] = part
    waves = fields.reshape(n, points) * abs(np.linalg.det(grid.steps)) ** 0.5
    assert np.abs(waves.conj() @ waves.T - np.eye(n)).max() < 1e-12
    residuals = np.linalg.norm(waves @ matrix.T - found.eigenvalues[:, None] * waves, axis=1)
    assert np.abs(residuals - found.residuals).max() <= 1e-13 * size
    everywhere = [found.eigenvalues] if comm is None else comm.allgather(found.eigenvalues)
    assert all(np.array_equal(one, everywhere[0]) for one in everywhere), "ranks have different eigenvalues"
    return list(map(float, found.eigenvalues))
