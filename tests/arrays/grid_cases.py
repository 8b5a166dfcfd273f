"""Compares stencils of given cases with NumPy's rolls, on one process or on each rank; test_grid.py chooses the
cases."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from tessera.grid import Grid, Stencil

Case = dict[str, Any]


def fields_of(case: Case) -> np.ndarray:
    """Returns all points of all fields, which are the same on every rank."""
    random = np.random.default_rng(len(str(case["shape"])))
    shape = (*([case["fields"]] if case["fields"] else []), *case["shape"])
    fields = random.uniform(-1, 1, shape) + 1j * random.uniform(-1, 1, shape)
    return (fields if case["dtype"].startswith("complex") else fields.real).astype(case["dtype"])


def by_rolls(case: Case, stencil: Stencil, phases: list[complex], fields: np.ndarray) -> np.ndarray:
    """Returns the stencil's definition, in double precision."""
    reach = int(np.abs(stencil.offsets).max())
    wide = fields.astype(np.result_type(fields.dtype, np.float64))
    for d, (periodic, phase) in enumerate(zip(case["periodic"], phases)):
        axis = wide.ndim - 3 + d
        n = case["shape"][d]
        at = np.arange(-reach, n + reach)
        wide = np.take(wide, at % n, axis)
        factor = complex(phase) ** (at // n) if periodic else ((at >= 0) & (at < n)).astype(float)
        if phase != 1 or not periodic:
            wide = wide * factor.reshape([-1 if k == axis else 1 for k in range(wide.ndim)])
    result = 0
    for offset, coefficient in zip(stencil.offsets, stencil.coefficients):
        inside = tuple(slice(reach + o, reach + o + n) for o, n in zip(offset, case["shape"]))
        result = result + coefficient * wide[(..., *inside)]
    return np.asarray(result)


def interpolating(coarse: int, periodic: bool, order: int, phase: complex) -> np.ndarray:
    """Returns the matrix (fine, coarse) of interpolation along an edge."""
    at = np.arange(order) + 0.5
    weights = np.linalg.solve(at ** (2 * np.arange(order)[:, None]), 0.5 * (np.arange(order) == 0))
    matrix = np.zeros((2 * coarse + (not periodic), coarse), complex)
    for fine in range(len(matrix)):
        low, is_between = divmod(fine - (not periodic), 2)
        near = [(low, 1.0)]
        if is_between:
            near = [(i, w) for k, w in enumerate(weights) for i in (low - k, low + 1 + k)]
        for i, weight in near:
            if periodic or 0 <= i < coarse:
                matrix[fine, i % coarse] += weight * phase ** (i // coarse)
    return matrix


def run_transfer(case: Case, comm: Any) -> str:
    """Runs a case of restriction or interpolation between a grid and a coarser one; returns a digest of the result."""
    shape = tuple(2 * n + (not periodic) for n, periodic in zip(case["shape"], case["periodic"]))
    fine = Grid(shape, cell=case["cell"], periodic=case["periodic"], comm=comm, threads=case["threads"])
    coarse = fine.coarser()
    assert coarse.shape == tuple(case["shape"]) and np.allclose(coarse.steps, 2 * fine.steps)
    is_complex = case["dtype"].startswith("complex")
    phases = [
        complex(np.exp(1j * angle)) if p and is_complex else 1 for angle, p in zip(case["angles"], case["periodic"])
    ]
    down = fine.restriction(coarse, order=case["order"] // 2 % 4 + 1, dtype=case["dtype"], phases=phases)
    up = coarse.interpolation(fine, order=case["order"] // 2 % 4 + 1, dtype=case["dtype"], phases=phases)
    digests = ""
    for transfer, source, target in ((down, fine, coarse), (up, coarse, fine)):
        fields = fields_of({**case, "shape": source.shape})
        found = transfer(fields[(..., *source.slices)])
        if comm is None:
            expected = fields.astype(complex)
            for d in range(3):
                matrix = interpolating(case["shape"][d], case["periodic"][d], case["order"] // 2 % 4 + 1, phases[d])
                matrix = matrix.conj().T / 2 if transfer is down else matrix
                axis = expected.ndim - 3 + d
                expected = np.moveaxis(np.tensordot(matrix, expected, (1, axis)), 0, axis)
            assert np.abs(found - expected).max(initial=0) < 30 * np.finfo(case["dtype"]).eps
        whole = np.full((*fields.shape[:-3], *target.shape), np.nan, fields.dtype)
        for other, at in [(found, target.slices)] if comm is None else comm.allgather((found, target.slices)):
            whole[(..., *at)] = other
        digests += hashlib.sha256(whole.tobytes()).hexdigest()[:16]
    return digests


def run(case: Case, comm: Any) -> str:
    """Runs a case; returns a digest of the result. One process compares it with NumPy's; what ranks find has the same
    digest."""
    if case["approach"] is None:
        return run_transfer(case, comm)
    grid = Grid(tuple(case["shape"]), cell=case["cell"], periodic=case["periodic"], comm=comm, threads=case["threads"])
    stencil = grid.laplacian(case["order"]) + 0.5 * grid.gradient(1, case["order"])
    phases = [complex(np.exp(1j * angle)) for angle in case["angles"]]
    if not case["dtype"].startswith("complex"):
        phases = [1, 1, 1]
    phases = [phase if periodic else 1 for phase, periodic in zip(phases, case["periodic"])]
    apply = grid.operator(
        stencil,
        dtype=case["dtype"],
        phases=phases,
        approach=case["approach"],
        batch=case["batch"],
        slope=case["slope"],
    )
    fields = fields_of(case)
    part = fields[(..., *grid.slices)]
    found = apply(part)
    if comm is None:
        size = np.abs(stencil.coefficients).sum()
        expected = by_rolls(case, stencil, phases, fields)
        assert np.abs(found - expected).max(initial=0) < 20 * np.finfo(case["dtype"]).eps * size
    assert np.array_equal(apply(part, np.empty_like(found)), found)
    whole = np.full(fields.shape, np.nan, fields.dtype)
    for other, at in [(found, grid.slices)] if comm is None else comm.allgather((found, grid.slices)):
        whole[(..., *at)] = other
    assert not np.isnan(whole).any(), "points without an owner"
    return hashlib.sha256(whole.tobytes()).hexdigest()[:16]
