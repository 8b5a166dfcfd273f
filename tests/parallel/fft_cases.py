"""Compares transforms of given cases with NumPy's; test_fft.py runs it on every rank. Prints the description of each
transform, then in the last line a digest of each spectrum and of the points that come back.

    python fft_cases.py CASES.json [mpi]
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tessera import fft

Case = dict[str, Any]


def field_of(case: Case) -> np.ndarray:
    """Returns all points, which are the same on every rank."""
    random = np.random.default_rng(len(str(case["shape"])))
    shape = (*([case["batch"]] if case["batch"] else []), *case["shape"])
    field = random.uniform(-1, 1, shape)
    if case["kind"] == "c2c":
        field = field + 1j * random.uniform(-1, 1, shape)
    return field.astype(np.result_type(case["dtype"], field.dtype) if case["dtype"] == "float64" else
                        (np.complex64 if case["kind"] == "c2c" else np.float32))  # fmt: skip


def digest(comm: Any, part: np.ndarray, where: tuple[slice, ...], shape: tuple[int, ...]) -> str:
    """Returns a digest of the whole array, of which each rank has a part. Every point must have exactly one owner."""
    whole = np.zeros(shape, part.dtype)
    owners = np.zeros(shape, np.int32)
    for other, at in [(part, where)] if comm is None else comm.allgather((part, where)):
        whole[at] = other
        owners[at] += 1
    assert (owners == 1).all(), "points without an owner, or with two"
    return hashlib.sha256(whole.tobytes()).hexdigest()[:16]


def run(case: Case, comm: Any) -> tuple[list[str], str]:
    """Runs a case; returns digests of the spectrum and of the points that come back, and the transform's
    description."""
    transform = fft.Transform(
        tuple(case["shape"]),
        comm=comm,
        kind=case["kind"],
        dtype=case["dtype"],
        scheme=case["scheme"],
        threads=case["threads"],
        batch=case["batch"],
        shared_memory=case["shared_memory"],
        exchange=case["exchange"],
    )
    assert case["scheme"] in ("auto", "trial", transform.scheme)
    field = field_of(case)
    expected = (np.fft.rfftn if case["kind"] == "r2c" else np.fft.fftn)(field, axes=(-3, -2, -1))
    every = (slice(None),) if case["batch"] else ()
    inside, outside = (*every, *transform.input_slices), (*every, *transform.output_slices)
    x = field[inside]
    # Errors grow at most as √log N, and sums have the size √N.
    epsilon, size = np.finfo(case["dtype"]).eps, np.sqrt(np.prod(case["shape"]))
    y = transform.forward(x)
    assert y.dtype == np.result_type(case["dtype"], np.complex64)
    assert np.abs(y - expected[outside]).max(initial=0) < 16 * epsilon * size
    kept = y.copy()
    back = transform.backward(y)
    assert np.array_equal(y, kept), "backward has changed its input"
    assert np.abs(back - x).max(initial=0) < 16 * epsilon
    again = transform.forward(x, out=np.empty_like(y))
    assert np.array_equal(again, y)
    return [digest(comm, y, outside, expected.shape), digest(comm, back, inside, field.shape)], str(transform)


if __name__ == "__main__":
    world = None
    if len(sys.argv) > 2:
        from mpi4py import MPI

        world = MPI.COMM_WORLD
    found = [run(case, world) for case in json.loads(Path(sys.argv[1]).read_text())]
    if world is None or world.rank == 0:
        print(*(said for _, said in found), sep="\n")
        print(json.dumps([digests for digests, _ in found]))
