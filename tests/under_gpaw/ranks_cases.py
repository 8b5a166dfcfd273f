"""Applies operators as GPAW hands them over, on the ranks of this job, without GPAW: a stand-in says what GPAW says of
its ranks.

python ranks_cases.py           prints the greatest differences from sums over shifted arrays as JSON, by periodic axes
"""

from __future__ import annotations

import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD
ADDRESS = MPI._addressof(COMM) if COMM.size > 1 else None
REACH = 2
OFFSETS = [(0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 2, 0), (0, -1, 0), (0, 0, 1), (0, 0, -2)]
COEFFICIENTS = [-1.5, 0.5, 0.25, 2.0, -0.75, 1.25, -0.5]


def stand_in() -> None:
    """Makes `gpaw.mpi` and `gpaw.cgpaw`, as far as Tessera asks them."""
    world = SimpleNamespace(size=COMM.size, backend="mpi4py", get_c_object=lambda: ADDRESS)
    gpaw, mpi, cgpaw = (ModuleType(name) for name in ("gpaw", "gpaw.mpi", "gpaw.cgpaw"))
    mpi.world, cgpaw.have_mpi = world, False  # type: ignore[attr-defined]
    gpaw.mpi, gpaw.cgpaw = mpi, cgpaw  # type: ignore[attr-defined]
    sys.modules.update({"gpaw": gpaw, "gpaw.mpi": mpi, "gpaw.cgpaw": cgpaw})


def reference(values: Any, periodic: tuple[int, ...]) -> Any:
    """The operator on the whole grid: values beyond an edge that is not periodic are zero."""
    total = np.zeros_like(values)
    modes = [("constant", "wrap")[axis] for axis in periodic]
    padded = values
    for axis, mode in enumerate(modes):
        width = [(REACH, REACH) if one == axis else (0, 0) for one in range(3)]
        padded = np.pad(padded, width, mode=mode)
    for offset, coefficient in zip(OFFSETS, COEFFICIENTS):
        place = tuple(slice(REACH + o, REACH + o + n) for o, n in zip(offset, values.shape))
        total += coefficient * padded[place]
    return total


def difference(shape: tuple[int, ...], ranks: tuple[int, ...], periodic: tuple[int, ...], dtype: type) -> float:
    from tessera.gpaw.operators import Operator

    at = np.unravel_index(COMM.rank, ranks)
    box = tuple(slice(n * p // r, n * (p + 1) // r) for n, p, r in zip(shape, at, ranks))
    neighbours = np.full((3, 2), -1)
    for axis in range(3):
        for side, step in enumerate((-1, 1)):
            other = [int(p) for p in at]
            other[axis] += step
            if periodic[axis] or 0 <= other[axis] < ranks[axis]:
                other[axis] %= ranks[axis]
                neighbours[axis, side] = np.ravel_multi_index(other, ranks)
    numbers = np.random.default_rng(1)
    values = numbers.normal(size=shape).astype(dtype)
    if dtype is complex:
        values += 1j * numbers.normal(size=shape)
    own = np.ascontiguousarray(values[box])
    whole = [n + 2 * REACH for n in own.shape]
    flat = np.array(OFFSETS) @ [whole[1] * whole[2], whole[2], 1]
    operator = Operator(
        np.array(COEFFICIENTS), flat, np.array(own.shape), REACH, neighbours, dtype is float, ADDRESS, True
    )
    found = np.empty_like(own)
    # A factor of 1 between images, from the ends of axes and from ranks inside.
    operator.apply(own, found, np.ones((3, 2), complex) if dtype is complex else None)
    return float(np.abs(found - reference(values, periodic)[box]).max())


def main() -> None:
    stand_in()
    differences = {}
    for axis in range(3):  # along which ranks stand
        ranks = tuple(COMM.size if one == axis else 1 for one in range(3))
        for periodic in [(1, 1, 1), (0, 1, 0), (0, 0, 0)]:
            for dtype in (float, complex):
                one = difference((19, 23, 26), ranks, periodic, dtype)
                differences[f"{ranks} {periodic} {dtype.__name__}"] = COMM.allreduce(one, MPI.MAX)
    if COMM.rank == 0:
        print(json.dumps(differences))


if __name__ == "__main__":
    main()
