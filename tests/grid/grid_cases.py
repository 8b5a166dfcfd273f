"""Compares stencils of given cases with NumPy's rolls; test_grid.py runs it on every rank. Prints a digest of each
result.

    python grid_cases.py CASES.json [mpi]
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
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


def run(case: Case, comm: Any) -> str:
    """Runs a case; returns a digest of the result."""
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
    expected = by_rolls(case, stencil, phases, fields)
    part = fields[(..., *grid.slices)]
    found = apply(part)
    size = np.abs(stencil.coefficients).sum()
    assert np.abs(found - expected[(..., *grid.slices)]).max(initial=0) < 20 * np.finfo(case["dtype"]).eps * size
    assert np.array_equal(apply(part, np.empty_like(found)), found)
    whole = np.full(fields.shape, np.nan, fields.dtype)
    for other, at in [(found, grid.slices)] if comm is None else comm.allgather((found, grid.slices)):
        whole[(..., *at)] = other
    assert not np.isnan(whole).any(), "points without an owner"
    return hashlib.sha256(whole.tobytes()).hexdigest()[:16]


if __name__ == "__main__":
    world = None
    if len(sys.argv) > 2:
        from mpi4py import MPI

        world = MPI.COMM_WORLD
    digests = [run(case, world) for case in json.loads(Path(sys.argv[1]).read_text())]
    if world is None or world.rank == 0:
        print(json.dumps(digests))
