"""Solves Poisson's equation of given cases by every method, on one process or on each rank; test_poisson.py chooses the
cases."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from tessera.grid import Grid, poisson_methods

Case = dict[str, Any]
TOLERANCE = 1e-8


def run(case: Case, comm: Any) -> list[str]:
    """Runs a case; returns a digest of each method's potential."""
    grid = Grid(tuple(case["shape"]), cell=case["cell"], periodic=case["periodic"], comm=comm, threads=case["threads"])
    random = np.random.default_rng(len(str(case["shape"])))
    whole = random.uniform(-1, 1, case["shape"])
    density = np.ascontiguousarray(whole[grid.slices])
    charge = whole - whole.mean() if all(case["periodic"]) else whole
    laplace = grid.operator(grid.laplacian(case["order"]))
    potentials, digests = [], []
    for method in poisson_methods():
        solve = grid.poisson(method, order=case["order"], tolerance=TOLERANCE)
        guess = None if case["guess"] is None else np.full(grid.local_shape, case["guess"])
        potential = solve(density, guess)
        assert 0 <= solve.residual <= TOLERANCE and solve.iterations <= 25
        # The operator is tested by itself, and rounds in another order.
        size = 4 * np.pi * np.abs(charge).max()
        rounding = 1e-14 * np.abs(grid.laplacian(case["order"]).coefficients).sum() * np.abs(potential).max(initial=0)
        residual = laplace(potential) + 4 * np.pi * charge[grid.slices]
        assert np.abs(residual).max(initial=0) <= TOLERANCE * size + rounding
        field = np.full(case["shape"], np.nan)
        for part, at in [(potential, grid.slices)] if comm is None else comm.allgather((potential, grid.slices)):
            field[at] = part
        assert not np.isnan(field).any(), "points without an owner"
        if all(case["periodic"]):
            assert abs(field.mean()) <= 1e-15 * np.abs(field).max()
        potentials.append(field)
        digests.append(hashlib.sha256(field.tobytes()).hexdigest()[:16])
    most = np.abs(potentials[0]).max()
    assert all(np.abs(field - potentials[0]).max() <= 1e-5 * most for field in potentials)
    return digests
