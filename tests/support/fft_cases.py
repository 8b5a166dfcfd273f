"""Compares transforms of given cases with NumPy's, on one process or on each rank; test_fft.py chooses the cases."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import numpy as np

from tessera import fft

Case = dict[str, Any]


def field_of(case: Case) -> np.ndarray:
    """Returns all points, which are the same on every rank."""
    numbers = np.random.default_rng(len(str(case["shape"])))
    shape = (*([case["batch"]] if case["batch"] else []), *case["shape"])
    field = numbers.uniform(-1, 1, shape)
    if case["kind"] == "c2c":
        field = field + 1j * numbers.uniform(-1, 1, shape)
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


def run_after_errors(case: Case, comm: Any) -> int:
    """Transforms to and fro as dice choose; one rank refuses some of these calls, and the others are right. Returns how
    many were refused."""
    dice = random.Random(5)
    transform = fft.Transform(
        tuple(case["shape"]), comm=comm, scheme=case["scheme"], shared_memory=case["shared_memory"]
    )
    points = np.random.default_rng(1).normal(size=tuple(case["shape"]))
    spectrum = np.fft.rfftn(points)[transform.output_slices]
    x = points[transform.input_slices].copy()
    y = transform.forward(x)
    n_refused = 0
    for turn in range(60):
        call, given, expected = dice.choice([(transform.forward, x, spectrum), (transform.backward, y, x)])
        refuses = dice.choice([None, *range(comm.size)])
        try:
            found = call([] if refuses == comm.rank else given)
        except fft.FftError as error:
            assert refuses is not None and "an array of shape (0,)" in str(error), (turn, refuses, error)
            n_refused += 1
        else:
            assert refuses is None, (turn, refuses)
            np.testing.assert_allclose(found, expected, atol=1e-12)
    return n_refused
