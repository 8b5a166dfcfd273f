"""Walks hybrid-multiple through its batches on all nodes at once, as in Figure 7.1 of Kristensen et al. (2011), to see
whether a node that is late holds up the others."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.common.results import table
from papers.blue_gene import CORES, LATENCY, LINK, POINT, Layout, loads
from tessera.plots import STYLE

BATCHES = 64  # that are walked through; one node is late at the middle one


@dataclass
class Timeline:
    """Seconds at which a thread of each node begins and ends to compute each batch (nodes, batches). The four threads
    of a node are alike."""

    begin: NDArray[np.float64]
    end: NDArray[np.float64]


def times(layout: Layout, batch: int) -> tuple[float, float]:
    """Returns the s in which a thread computes a batch, and those in which its faces travel."""
    return batch * layout.points * POINT, LATENCY + batch * CORES * loads(layout, (0, 1, 2)) / LINK


def walk(layout: Layout, batch: int, delay: float = 0.0) -> Timeline:
    """Each batch waits for the faces of six neighbours, which these sent before they waited for the batch before. One
    node is late by `delay` s at the middle batch."""
    n = int(np.prod(layout.nodes))
    computing, travelling = times(layout, batch)
    places = np.stack(np.unravel_index(np.arange(n), layout.nodes), axis=1)
    neighbours = []
    for d, way in product(range(3), (1, -1)):
        goal = places.copy()
        goal[:, d] = (goal[:, d] + way) % layout.nodes[d]
        neighbours.append(np.ravel_multi_index(tuple(goal.T), layout.nodes))
    begin, end = (np.zeros((n, BATCHES)) for _ in range(2))
    posted = now = np.zeros(n)
    arrived = np.zeros(n)
    for k in range(BATCHES):
        sent = np.max([posted[one] for one in neighbours], axis=0)
        arrived = np.maximum(sent, arrived) + travelling  # after those of the batch before
        posted = now  # of the next batch
        begin[:, k] = np.maximum(now, arrived)
        now = begin[:, k] + computing
        if k == BATCHES // 2:
            now[late_node(layout)] += delay
        end[:, k] = now
    return Timeline(begin, end)


def late_node(layout: Layout) -> int:
    middle = tuple(n // 2 for n in layout.nodes)
    return int(np.ravel_multi_index(middle, layout.nodes))


def ripple(layout: Layout, batch: int, delay: float) -> tuple[int, float]:
    """Returns how many other nodes wait because one is late, and by how much the last of the others ends later."""
    still, late = walk(layout, batch), walk(layout, batch, delay)
    others = np.arange(len(still.end)) != late_node(layout)
    later = (late.end - still.end)[others, -1]
    return int((later > 1e-9).sum()), float(later.max())


def table_of(layout: Layout, batch: int) -> tuple[str, dict[str, Any]]:
    """Returns a table of delays, and the times of a batch."""
    computing, travelling = times(layout, batch)
    rows = []
    for factor in (0.5, 1.0, 2.0, 4.0):
        others, end = ripple(layout, batch, factor * computing)
        rows.append([factor, others, end / computing])
    n = int(np.prod(layout.nodes))
    header = [f"one of {n} nodes is late by, batches", "others that end later", "by at most, batches"]
    return table(header, rows), {"batch": batch, "computing": computing, "travelling": travelling, "delays": rows}


def draw(layout: Layout, batch: int, path: Path) -> None:
    """Draws nodes in step and with a late one: dark where a node computes, light where it waits."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    computing, _ = times(layout, batch)
    with plt.rc_context({**STYLE, "axes.grid": False}):
        figure, axes = plt.subplots(2, 1, figsize=(10, 5.4), sharex=True)
        for ax, delay in zip(axes, (0.0, 4 * computing)):
            found = walk(layout, batch, delay)
            # The nodes of a plane through the late one.
            plane = layout.nodes[1] * layout.nodes[2]
            first = late_node(layout) // plane * plane
            for row, node in enumerate(range(first, first + plane)):
                spans = [(b, e - b) for b, e in zip(found.begin[node], found.end[node])]
                ax.broken_barh(spans, (row, 1), facecolors="#0072B2")
            ax.set_title("in step" if delay == 0 else "one node is late by four batches")
            ax.set_ylabel(f"{plane} nodes of a plane")
            ax.set_facecolor("#F5D9A8")
            ax.set_ylim(0, plane)
        middle = found.begin[0, BATCHES // 2]
        axes[-1].set_xlim(middle - 4 * computing, middle + 14 * computing)
        axes[-1].set_xlabel("s; blue: computing, light: waiting")
        figure.tight_layout()
        figure.savefig(path, dpi=110)
        plt.close(figure)
