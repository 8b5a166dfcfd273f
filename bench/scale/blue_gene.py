"""Times stencils on a Blue Gene/P by Tessera's cost model, with the parameters that Kristensen et al. (2011) state.

Messages are laid on the links of the torus (or, below 512 nodes, of the mesh) by dimension. An exchange takes its
latency and the bytes of its busiest link over the link's bandwidth; its messages progress without the cores (§3.1).
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations, product

import click
import numpy as np
from numpy.typing import NDArray

import tessera._core as core
from tessera.grid import Grid

LINK = 425e6  # bytes/s of a link in one direction (Table 3.1)
HALF = 1e3  # bytes of a message at half of that (§3.1)
LATENCY = HALF / LINK
MEMORY = 13.6e9  # bytes/s of a node (Table 3.1)
CORES = 4  # of a node
POINT = 9e-3 / (32 * 144**3 / 2048)  # s: 32 grids of 144³ take 9 ms on 2,048 cores, waiting included (§7.2)
REACH, NUMBER = 2, 8  # points that the stencil reaches; bytes of a number
LEAST_TORUS = 512  # nodes
APPROACHES = ("flat-original", "flat-optimized", "hybrid-master-only", "hybrid-multiple")

Index = tuple[int, int, int]


@dataclass(frozen=True)
class Costs:
    """What is counted besides the formula: s a byte of packing, s a point of padded copies, s of a core to start a
    message; or how much longer a point of a small box takes, beside one of a large box that takes a kernel `beside` s
    (0: Tessera's own)."""

    packing: float = 0.0
    padding: float = 0.0
    starting: float = 0.0
    beside: float | None = None


FORMULA = Costs()
# A face's bytes are read and written when they are put into a message and when they are taken out of it; a padded copy
# reads a point, and reads and writes a line of its target. A core has a fourth of the memory's bandwidth.
PACKED = replace(FORMULA, packing=4 * CORES / MEMORY)
PADDED = replace(PACKED, padding=3 * NUMBER * CORES / MEMORY)
STARTED = replace(PADDED, starting=LATENCY / 2)
GPAW_POINT = 2 / 131e6  # s: C kernel of GPAW 26.7, -O3, 192³ on two cores of the machine that the record names
STEPS = {
    "Figure 5.2": FORMULA,
    "with packing": PACKED,
    "and padded copies": PADDED,
    "and starts of messages": STARTED,
    "small boxes as measured, beside GPAW's kernel": replace(STARTED, beside=GPAW_POINT),
    "beside Tessera's kernel": replace(STARTED, beside=0.0),
}


def shape_of(nodes: int) -> Index:
    """Returns the nodes along each direction of a partition: powers of two, as close as possible."""
    power = nodes.bit_length() - 1
    if nodes != 1 << power:
        raise click.ClickException(f"{nodes} nodes; expected a power of two")
    x, y, z = (1 << ((power + i) // 3) for i in range(3))
    return x, y, z


def largest_box(grid: int, processes: Index) -> Index:
    x, y, z = (-(-grid // p) for p in processes)
    return x, y, z


def face(box: Index, d: int) -> int:
    """Returns the bytes of one face."""
    return REACH * box[(d + 1) % 3] * box[(d + 2) % 3] * NUMBER


@dataclass(frozen=True)
class Layout:
    """One grid on the nodes: `block` processes of a node along each direction; a process has a box and `faces` bytes of
    messages along each direction."""

    nodes: Index
    block: Index
    box: Index

    @property
    def processes(self) -> Index:
        x, y, z = (n * b for n, b in zip(self.nodes, self.block))
        return x, y, z

    @property
    def points(self) -> int:
        return int(np.prod(self.box))

    @property
    def faces(self) -> list[int]:
        return [2 * face(self.box, d) if self.processes[d] > 1 else 0 for d in range(3)]

    def bytes_of_node(self, *, inside: bool, along: tuple[int, ...] = (0, 1, 2)) -> int:
        """Returns what the processes of a node send in these directions, with or without what stays in it."""
        each = int(np.prod(self.block))
        if inside:
            return each * sum(self.faces[d] for d in along)
        # The processes on two sides of the block send one face each out of it.
        return sum(2 * each // self.block[d] * face(self.box, d) for d in along if self.nodes[d] > 1)


@cache
def layout_of(grid: int, nodes: int, each: int) -> Layout:
    """Returns the layout of least surface that fits onto the partition, each node with so many processes."""
    found = []
    for place in set(permutations(shape_of(nodes))):
        for block in product((1, 2, 4), repeat=3):
            if np.prod(block) == each:
                one = Layout(place, block, largest_box(grid, tuple(n * b for n, b in zip(place, block))))  # type: ignore[arg-type]
                found.append(one)
    # Of equal ones that with the longest rows in memory.
    return min(found, key=lambda one: (sum(one.faces), one.points, one.processes[::-1], one.block))


def messages(layout: Layout, directions: tuple[int, ...], placed: str = "well") -> NDArray[np.int64]:
    """Returns what nodes send each other for one grid along these directions (n, 3): sender, receiver, bytes. `placed`:
    "well" puts neighbours side by side, "badly" puts nodes anywhere."""
    n = int(np.prod(layout.nodes))
    places = np.stack(np.unravel_index(np.arange(n), layout.nodes), axis=1)
    where = np.arange(n) if placed == "well" else np.random.default_rng(1).permutation(n)
    found = [np.empty((0, 3), np.int64)]
    for d, way in product(directions, (1, -1)):
        if layout.nodes[d] > 1:
            goal = places.copy()
            goal[:, d] = (goal[:, d] + way) % layout.nodes[d]
            sent = np.prod(layout.block) // layout.block[d] * face(layout.box, d)
            to = where[np.ravel_multi_index(tuple(goal.T), layout.nodes)]
            found.append(np.stack([where, to, np.full(n, sent)], axis=1))
    return np.concatenate(found)


@cache
def loads(layout: Layout, directions: tuple[int, ...], placed: str = "well") -> float:
    """Returns the bytes of one grid on the busiest link. Messages go along x, then y, then z; on a torus the shorter
    way round."""
    shape = np.array(layout.nodes)
    n = int(shape.prod())
    sent = messages(layout, directions, placed)
    at, goal = (np.stack(np.unravel_index(sent[:, i], layout.nodes), axis=1) for i in (0, 1))
    kept = np.zeros((3, 2, n))
    for d in range(3):
        steps = goal[:, d] - at[:, d]
        if n >= LEAST_TORUS:
            steps = (steps + shape[d] // 2 - 1) % shape[d] - shape[d] // 2 + 1
        while (moving := steps != 0).any():
            ways = np.sign(steps[moving])
            links = np.ravel_multi_index(tuple(at[moving].T), layout.nodes)
            np.add.at(kept[d], ((ways < 0).astype(int), links), sent[moving, 2])
            at[moving, d] = (at[moving, d] + ways) % shape[d]
            steps[moving] -= ways
    return float(kept.max())


@cache
def point_seconds(shape: Index) -> float:
    """Measures the s a point on one core of this machine, by Tessera's code: what is a neighbour's is put in its place,
    too."""
    grid = Grid(shape)
    apply = grid.operator(grid.laplacian(4), approach="flat-original")
    x = np.ones((max(1, 400_000 // int(np.prod(shape))), *shape))
    out = np.empty_like(x)
    times = []
    for _ in range(16):
        begin = time.perf_counter()
        apply(x, out)
        times.append(time.perf_counter() - begin)
    return min(times) / x.size  # what else runs on this machine is left out


def slower(box: Index, beside: float) -> float:
    """Returns how many times longer a point of a small box takes than one of 48³."""
    large = point_seconds((48, 48, 48))
    return 1 + max(0.0, point_seconds(box) - large) / (beside or large)


@dataclass(frozen=True)
class Run:
    """A stencil on `fields` grids by one approach."""

    approach: str
    cores: int
    grid: int
    fields: int
    layout: Layout
    seconds: float
    waiting: float
    batch: int
    ideal: float  # s of the points alone

    @property
    def utilisation(self) -> float:
        return self.ideal / self.seconds


def run(
    approach: str, cores: int, grid: int, fields: int, costs: Costs = FORMULA, *, batch: int | None = None,
    placed: str = "well", inside: bool = True,
) -> Run:  # fmt: skip
    """Predicts one run. `batch` None: the best batch and slope. `inside` False: processes of a node read each other's
    faces where they are, without messages."""
    is_hybrid = approach.startswith("hybrid")
    nodes, here = max(1, cores // CORES), min(CORES, cores)
    layout = layout_of(grid, nodes, 1 if is_hybrid else here)
    threads = here if is_hybrid else 1
    directions: list[tuple[int, ...]] = [(0,), (1,), (2,)] if approach == "flat-original" else [(0, 1, 2)]
    exchanges = []
    for along in directions:
        sent = layout.bytes_of_node(inside=True, along=along)
        near = sent - layout.bytes_of_node(inside=False, along=along) if inside else 0
        # A message inside a node is read and written in its memory.
        busiest = max(loads(layout, along, placed) / LINK, 2 * near / MEMORY)
        n_messages = sum(2 for d in along if layout.faces[d])
        exchanges.append((LATENCY, busiest, costs.starting * n_messages) if sent else (0.0, 0.0, 0.0))
    packing = costs.packing * layout.bytes_of_node(inside=inside) / int(np.prod(layout.block))
    point = POINT + costs.padding
    if costs.beside is not None:  # then packing and padded copies are among what takes longer
        point, packing = POINT * slower(layout.box, costs.beside), 0.0
    found = json.loads(
        core.predict_grid(
            approach,
            computing=layout.points * point,
            exchanges=exchanges,
            packing=packing,
            fields=fields,
            threads=threads,
            batch=batch,
        )
    )
    ideal = fields * grid**3 * POINT / cores
    return Run(
        approach,
        cores,
        grid,
        fields,
        layout,
        found["seconds"],
        found["waiting"] + found["starting"],
        found["batch"],
        ideal,
    )
