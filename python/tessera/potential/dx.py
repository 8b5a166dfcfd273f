"""Writes values on a mesh as a file of OpenDX, which VMD, ChimeraX, PyMOL and APBS read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tessera.arguments import Slices
from tessera.files import replaced
from tessera.ranks import ALONE, Ranks
from tessera.system.model import FloatArray

_VALUES = 4_000_000  # that ranks tell each other at a time


def write(
    path: Path,
    values: FloatArray,
    slices: Slices,
    shape: tuple[int, int, int],
    box: FloatArray,
    title: str,
    ranks: Ranks = ALONE,
) -> None:
    """Writes the points of a periodic box, of which each rank has `values` at these slices. Collective.

    `box`: (3,3) Å, whose rows are vectors, with its middle at the origin. Raises `OSError`.
    """
    if not ranks.is_root:
        for _ in _planes(values, slices, shape, ranks):
            pass
        return
    with replaced(path) as place, place.open("w", encoding="ascii") as file:
        counts = " ".join(map(str, shape))
        file.write(f"# {title}\nobject 1 class gridpositions counts {counts}\n")
        for name, vector in [("origin", -box.sum(axis=0) / 2), *(("delta", edge / n) for edge, n in zip(box, shape))]:
            file.write(f"{name} {' '.join(f'{component:.10g}' for component in vector)}\n")
        file.write(
            f"object 2 class gridconnections counts {counts}\n"
            f"object 3 class array type double rank 0 items {int(np.prod(shape, dtype=np.int64))} data follows\n"
        )
        left = np.zeros(0)
        for planes in _planes(values, slices, shape, ranks):
            left = np.concatenate([left, planes.reshape(-1)])
            full = len(left) // 3
            file.write("%.6e %.6e %.6e\n" * full % tuple(left[: 3 * full].tolist()))
            left = left[3 * full :]
        if len(left):
            file.write(" ".join(f"{value:.6e}" for value in left) + "\n")
        file.write('attribute "dep" string "positions"\nobject "potential" class field\n')
        for number, component in enumerate(("positions", "connections", "data"), start=1):
            file.write(f'component "{component}" value {number}\n')


def _planes(values: FloatArray, slices: Slices, shape: tuple[int, int, int], ranks: Ranks) -> Iterator[FloatArray]:
    """Yields planes (x, y, z) of all points in their order, on every rank. Collective."""
    many = max(1, _VALUES // (shape[1] * shape[2]))
    begin, end = slices[0].start, slices[0].stop
    for first in range(0, shape[0], many):
        last = min(first + many, shape[0])
        low, high = max(first, begin), min(last, end)
        own = (low - first, slices[1:], values[low - begin : high - begin]) if low < high and values.size else None
        planes = np.empty((last - first, *shape[1:]))
        for part in filter(None, ranks.all(own)):
            at, (y, z), points = part
            planes[at : at + len(points), y, z] = points
        yield planes
