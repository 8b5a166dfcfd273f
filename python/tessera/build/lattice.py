"""Finds bricks with about a given number of lattice sites."""

from __future__ import annotations

import numpy as np

from tessera.system.model import FloatArray, IdArray

Brick = tuple[int, int, int]


def brick_of_sites(count: int, spare: float) -> Brick:
    """Returns the cube that holds `count` sites if at most the fraction `spare` stays empty. Otherwise returns the
    brick nearest to a cube that does so, or, if there is none, the brick with the fewest empty sites."""
    edge = cube_edge(count)
    if edge**3 <= count * (1 + spare):
        return edge, edge, edge
    bricks = _bricks(count, edge)
    near = [b for b in bricks if b[0] * b[1] * b[2] <= count * (1 + spare)]
    if near:
        return min(near, key=lambda b: (b[2] / b[0], b[0] * b[1] * b[2]))
    return min(bricks, key=lambda b: (b[0] * b[1] * b[2], b[2] / b[0]))


def nearest_brick(cells: float) -> Brick:
    """Returns the nearly cubic brick whose number of cells is nearest to `cells`. Its edges differ from a cube's by one
    cell or 4 % at most."""
    edge = max(1, round(cells ** (1 / 3)))
    most = min(max(1, edge // 25), 8)
    span = range(max(1, edge - most), edge + most + 1)
    bricks = [(x, y, z) for x in span for y in span if y >= x for z in span if z >= y]
    return min(bricks, key=lambda b: (abs(b[0] * b[1] * b[2] - cells), b[2] - b[0]))


def cube_edge(count: int) -> int:
    """Returns the smallest n with n³ ≥ count."""
    edge = round(count ** (1 / 3))
    while edge**3 < count:
        edge += 1
    while edge > 1 and (edge - 1) ** 3 >= count:
        edge -= 1
    return edge


def _bricks(count: int, edge: int) -> list[Brick]:
    """Yields bricks nx ≤ ny ≤ nz near a cube, each as short as possible."""
    out = []
    for nx in range(max(1, edge // 2), edge + 1):
        for ny in range(nx, 2 * edge + 1):
            nz = -(-count // (nx * ny))
            if nz >= ny:
                out.append((nx, ny, nz))
    return out


def sites(brick: Brick, count: int) -> FloatArray:
    """Returns the centres of occupied sites (count,3) in units of the spacing; empty sites are spread evenly."""
    total = brick[0] * brick[1] * brick[2]
    index: IdArray = (np.arange(count, dtype=np.int64) * total) // count
    cells = np.stack(np.unravel_index(index, brick), axis=1)
    return np.asarray(cells + 0.5, np.float64)
