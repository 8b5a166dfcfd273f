"""Lets SimGrid's SMPI simulate what the cost model computes: exchanges of many faces, and whole runs of a stencil,
whose ranks wait for each other as on a machine (apt-get install libsimgrid-dev)."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.common.results import table
from bench.scale import smpi
from bench.scale.platforms import Node, Platform, Torus
from papers.blue_gene import CORES, LATENCY, LINK, MEMORY, POINT, Layout, face, layout_of, loads, messages, run

GRIDS = 100  # whose faces are in one message, so that latencies count little
SMALL = (4, 4, 4)  # nodes of a torus; as all nodes are alike, with boxes of the same size they stand for any torus


def exchanges(folder: Path) -> str:
    """Returns a table of exchanges of all faces, by loads of links and by SMPI."""
    replay = smpi.build(folder)
    rows = []
    for nodes in (512, 1024):
        layout = layout_of(192, nodes, 1)
        for placed in ("well", "badly"):
            seconds = GRIDS * loads(layout, (0, 1, 2), placed) / LINK
            sent = messages(layout, (0, 1, 2), placed) * (1, 1, GRIDS)
            simulated = smpi.seconds(replay, sent, _platform(layout, 1), about=seconds)
            rows.append([nodes, placed, 1e3 * seconds, 1e3 * simulated, seconds / simulated])
    return table(["nodes", "placed", f"faces of {GRIDS} grids, links, ms", "SMPI, ms", "links / SMPI"], rows)


def runs(folder: Path, sizes: tuple[int, ...] = (2048, 4096)) -> str:
    """Returns a table of runs of 32 grids of 144³ by the model and by SMPI. Threads that own grids are ranks here, as
    SMPI has no MPI from threads: the paper's sub-groups (§7.2)."""
    program = smpi.build(folder, Path(__file__).with_name("stencil.cpp"))
    rows = []
    for cores in sizes:
        for name, batch in (("flat-original", 0), ("flat-optimized", 1), ("flat-optimized", 8),
                            ("hybrid-multiple", 1), ("hybrid-multiple", 8)):  # fmt: skip
            one = run(name, cores, 144, 32, batch=max(1, batch))
            alike = replace(one.layout, nodes=SMALL)
            simulated = _simulated(program, alike, name.startswith("hybrid"), 32, batch)
            label = "flat-optimized in sub-groups" if name.startswith("hybrid") else name
            rows.append([cores, label, batch or None, 1e3 * one.seconds, 1e3 * simulated, one.seconds / simulated])
    return table(["cores", "32 grids of 144³", "batch", "model, ms", "SMPI, ms", "model / SMPI"], rows)


def _platform(layout: Layout, each: int) -> Platform:
    return Platform("torus", Torus(layout.nodes, LINK), Node(6 * LINK, MEMORY, LATENCY, 0.0, 0.0, ranks=each))


def _simulated(program: Path, layout: Layout, owns_grids: bool, grids: int, batch: int) -> float:
    """Returns the s of a run whose ranks are those of a layout, or four of each node with grids of their own."""
    processes = layout.processes
    at = np.stack(np.unravel_index(np.arange(int(np.prod(processes))), processes), axis=1)
    block = np.array(layout.block)
    node = np.ravel_multi_index(tuple((at // block).T), layout.nodes)
    inside = np.ravel_multi_index(tuple((at % block).T), layout.block)
    with tempfile.TemporaryDirectory() as name:
        for copy in range(CORES if owns_grids else 1):
            rank = node * CORES + (copy if owns_grids else inside)
            for i, place in enumerate(at):
                lines = []
                for d in range(3):
                    for side, way in ((0, -1), (1, 1)):
                        other = place.copy()
                        other[d] = (other[d] + way) % processes[d]
                        peer = rank[np.ravel_multi_index(tuple(other), processes)]
                        # What is sent upwards arrives from below.
                        lines.append(f"{d} {2 * d + 1 - side} {2 * d + side} {peer} {face(layout.box, d)}")
                (Path(name) / str(rank[i])).write_text("\n".join(lines))
        of_rank = grids // CORES if owns_grids else grids
        nanoseconds = round(1e9 * POINT * layout.points)
        arguments = [name, str(of_rank), str(batch), str(nanoseconds)]
        # One hop has the latency of a message.
        return smpi.simulate(program, arguments, _platform(layout, CORES), hop=LATENCY, precision=1e-6)
