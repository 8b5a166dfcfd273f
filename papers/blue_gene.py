"""Times stencils on a Blue Gene/P by Tessera's cost model, with the parameters that Kristensen et al. (2011) state.

On a torus, exchanges are those that `tessera grid plan` prints for a map of the machine: messages go along its links
by dimension, and an exchange takes its latency and the bytes of its busiest link over the bandwidth of a link. Below
512 nodes the machine is a mesh, which no map describes; there, and where nodes stand anywhere, links are counted here
in the same way. Messages progress without the cores (§3.1).
"""

from __future__ import annotations

import atexit
import json
import os
import time
from dataclasses import dataclass, replace
from functools import cache
from itertools import permutations, product
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

import tessera._core as core
from bench.common.results import RECORDS, ROOT
from bench.scale.platforms import Torus, torus_shape
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


def gpaw_point(record: Path = RECORDS / "grids.md") -> float:
    """Returns the s that a core needs for a point of GPAW's own stencil, by our record of it: of real numbers, on as
    many cores, of as large grids and as many fields as were measured."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in record.read_text().splitlines()]
    times = {
        (int(row[0]), int(row[3].rstrip("³")), int(row[4])): float(row[5].replace(",", ""))
        for row in rows
        if row[1:3] == ["stencil", "float"]
    }
    if not times:
        raise click.ClickException(f"{record} has no times of stencils; run `python -m bench.grid gpaw --docs`")
    ranks, edge, fields = max(times)
    return ranks * 1e-3 * times[max(times)] / (fields * edge**3)


GPAW_POINT = gpaw_point()
#: The step that counts all that the paper states, and what is measured.
ALL_COUNTED = "small boxes as measured, beside GPAW's kernel"
STEPS = {
    "Figure 5.2": FORMULA,
    "with packing": PACKED,
    "and padded copies": PADDED,
    "and starts of messages": STARTED,
    ALL_COUNTED: replace(STARTED, beside=GPAW_POINT),
    "beside Tessera's kernel": replace(STARTED, beside=0.0),
}


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
    for place in set(permutations(torus_shape(nodes))):
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
def map_of(nodes: int) -> Path:
    """Writes a map of a torus (docs/reference/machine_file.md). A node sends along all of its links at once."""
    torus = Torus(torus_shape(nodes), LINK)
    names = [f"n{node}" for node in range(torus.nodes)]
    inside = {"latency": LATENCY / 2, "bandwidth": MEMORY / (2 * CORES)}  # a copy reads and writes
    link = {"latency": LATENCY, "bandwidth": 6 * LINK}
    network = {
        "hosts": [{"name": name, "slots": CORES, "inside": inside} for name in names],
        "subnets": [{"hosts": names, "link": link, "medium": "fabric", "uplink": None}],
        "routes": {"kind": "torus", "shape": torus.shape, "bandwidth": LINK},
    }
    file = {"format": "tessera-machine", "version": 3, "name": "Blue Gene/P", "nodes": nodes, "network": network}
    path = ROOT / "build" / "bench" / "scale" / f"blue_gene-{nodes}.{os.getpid()}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(file))
    atexit.register(path.unlink, missing_ok=True)
    return path


@cache
def planned(cores: int, grid: int, fields: int = 1) -> dict[str, dict[str, Any]]:
    """Returns what `tessera grid plan` says of each approach on a torus: `tessera grid plan GRID -n CORES -t 4 --grids
    FIELDS --point 193 --machine MAP --json`."""
    rates = dict(zip(("point", "packing", "synchronising"), core.assumed_grid_rates()))
    found = core.explain_grid(
        str(map_of(cores // CORES)),
        shape=(grid,) * 3,
        periodic=(True,) * 3,
        order=2 * REACH,
        bytes=NUMBER,
        ranks=cores,
        threads=CORES,
        fields=fields,
        **{**rates, "point": POINT},
        overlap=1.0,
    )
    return {one["approach"]: one for one in json.loads(found)["approaches"]}


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
    in_plan = None
    if placed == "well" and nodes >= LEAST_TORUS:
        its = planned(cores, grid)[approach]
        in_plan = its["exchanges_by_direction"] if len(directions) > 1 else [its["exchange"]]
    exchanges = []
    for i, along in enumerate(directions):
        sent = layout.bytes_of_node(inside=True, along=along)
        near = sent - layout.bytes_of_node(inside=False, along=along) if inside else 0
        latency, on_links = LATENCY, 0.0
        if in_plan:
            latency, on_links = in_plan[i]["latency"], in_plan[i]["transfer"]
        elif sent:
            on_links = loads(layout, along, placed) / LINK
        busiest = max(on_links, 2 * near / MEMORY)  # a message inside a node is read and written in its memory
        n_messages = sum(2 for d in along if layout.faces[d])
        exchanges.append((latency, busiest, costs.starting * n_messages) if sent else (0.0, 0.0, 0.0))
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
