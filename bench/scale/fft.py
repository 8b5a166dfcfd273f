"""Exchanges of distributed transforms on 1,024 to 65,536 ranks of a torus and a fat tree, simulated.

    python -m bench.scale.fft [--ranks 1024,4096,16384,65536] [--grids 1024,2048] [--docs]

Each exchange of each scheme's plan is laid on the links of the platform (bench/scale/platforms.py). Beside it stands
the scheme that Tessera chooses from a map of the platform. Every scheme begins with the boxes that it likes best:
layers, pencils, bricks. Times are for comparison with each other.
"""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import tessera._core as core
from bench.common.results import ROOT, Figure
from bench.common.results import table as table_of
from bench.scale.platforms import Exchange, FatTree, Node, Platform, Torus
from tessera.plots import STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCHEMES = ("slab", "pencil", "2d_alltoall", "1d_alltoall")
COLOURS = dict(zip(SCHEMES, ("#5A6270", "#009E73", "#E69F00", "#0072B2")))
REAL_BYTES = 8
NEAR = 1.05  # times the winner's: as good
AT_ONCE = 4096  # ranks whose messages are held at a time


def platforms(ranks: int) -> list[Platform]:
    """The torus is like the K computer's Tofu, in three directions; the fat tree like Oakforest-PACS' Omni-Path, with
    the memory rate of its nodes (paper 001, p. 4)."""
    found = []
    for per_node in (1, 32):
        nodes = ranks // per_node
        torus = Node(20e9, 64e9, latency=1.5e-6, overhead=0.3e-6, gap=0.1e-6, ranks=per_node)
        tree = Node(12.5e9, 400e9, latency=1.5e-6, overhead=0.5e-6, gap=0.3e-6, ranks=per_node)
        found.append(Platform("torus", Torus(torus_shape(nodes), 5e9), torus))
        found.append(Platform("fat tree", FatTree(nodes, 12.5e9), tree))
    return found


def torus_shape(nodes: int) -> tuple[int, int, int]:
    """A power of two as three that are as near each other as can be, ascending."""
    power = nodes.bit_length() - 1
    if nodes != 1 << power:
        raise click.ClickException(f"{nodes} nodes; expected a power of two")
    x, y, z = (1 << ((power + i) // 3) for i in range(3))
    return x, y, z


@dataclass
class Case:
    """Seconds of forward and backward by scheme; `chosen` is what Tessera takes."""

    grid: int
    platform: str
    ranks: int
    ranks_per_node: int
    exchanges: dict[str, float]
    passes: dict[str, float]  # over the memory of a node: every stage reads and writes all points
    chosen: str = ""

    @property
    def total(self) -> dict[str, float]:
        return {name: self.exchanges[name] + self.passes[name] for name in self.exchanges}

    @property
    def winner(self) -> str:
        return min(self.total, key=self.total.__getitem__)

    @property
    def lost(self) -> float:
        """Time of the choice over the winner's."""
        return self.total[self.chosen] / self.total[self.winner]


def schemes_for(grid: int, ranks: int) -> list[str]:
    """Slabs only while every rank has a layer."""
    return [name for name in SCHEMES if name != "slab" or ranks <= grid]


def simulate(grid: int, ranks: int) -> list[Case]:
    """All platforms at once, as their messages are the same."""
    where = platforms(ranks)
    cases = [Case(grid, p.name, ranks, p.node.ranks, {}, {}) for p in where]
    for scheme in schemes_for(grid, ranks):
        plan = core.FftPlan(scheme, (grid,) * 3, is_real=True, ranks=ranks)
        seconds = np.zeros(len(where))
        for i in range(plan.n_exchanges):
            found = [Exchange(p) for p in where]
            for first in range(0, ranks, AT_ONCE):
                messages = plan.messages(i, first, min(ranks, first + AT_ONCE))
                sender, receiver = messages[:, 0].copy(), messages[:, 1].copy()
                for exchange in found:
                    exchange.add(sender, receiver, messages[:, 2] * REAL_BYTES)
            # Backward is forward's way back: the same bytes over the same ports and as busy links.
            seconds += [2 * exchange.seconds() for exchange in found]
        touched = 2 * 2 * sum(plan.largest_boxes) * 2 * REAL_BYTES
        for case, p, s in zip(cases, where, seconds):
            case.exchanges[scheme] = float(s)
            case.passes[scheme] = touched * p.node.ranks / p.node.memory
    return cases


def choose(case: Case, platform: Platform) -> None:
    """What Tessera takes, told no more than a survey of the platform would find."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "machine.json"
        path.write_text(json.dumps(platform.machine_file()))
        ranked = core.rank_fft_schemes(
            str(path),
            ranks_per_host=platform.node.ranks,
            shape=(case.grid,) * 3,
            is_real=True,
            real_bytes=REAL_BYTES,
        )
    case.chosen = ranked[0][0]


def draw(cases: list[Case], path: Path, *, speed_up: bool) -> None:
    """Time of the exchanges (as paper 001, Figure 4), or speed-up of transforms (as its Figure 5), by ranks."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    grids = sorted({c.grid for c in cases})
    kinds = sorted({(c.platform, c.ranks_per_node) for c in cases})
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(grids), len(kinds), figsize=(3.2 * len(kinds), 3 * len(grids)), sharex=True, squeeze=False
        )
        for row, grid in zip(axes, grids):
            for ax, (name, per_node) in zip(row, kinds):
                mine = [c for c in cases if (c.grid, c.platform, c.ranks_per_node) == (grid, name, per_node)]
                _lines(ax, mine, speed_up)
                ax.set_title(f"{grid}³, {name}, {per_node} a node")
        for ax in axes[-1]:
            ax.set_xlabel("ranks")
        for row in axes:
            row[0].set_ylabel("speed-up over the fewest ranks" if speed_up else "exchanges (simulated), ms")
        axes[0][0].legend()
        figure.tight_layout()
        figure.savefig(path, dpi=110)
        plt.close(figure)


def _lines(ax: Axes, cases: list[Case], speed_up: bool) -> None:
    slowest = min(cases[0].total.values())
    for scheme in SCHEMES:
        mine = [c for c in cases if scheme in c.exchanges]
        if not mine:
            continue
        y = [slowest / c.total[scheme] if speed_up else 1e3 * c.exchanges[scheme] for c in mine]
        ax.plot([c.ranks for c in mine], y, "o-", color=COLOURS[scheme], label=scheme, markersize=4)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks(sorted({c.ranks for c in cases}))
    ax.set_xticklabels([f"{n:,}" for n in sorted({c.ranks for c in cases})])


def report(cases: list[Case]) -> tuple[str, str]:
    """The table, and in how many cases the choice is right."""
    rows = []
    for c in cases:
        times = [1e3 * c.exchanges[s] if s in c.exchanges else None for s in SCHEMES]
        ratio = c.exchanges["2d_alltoall"] / c.exchanges["1d_alltoall"]
        rows.append([f"{c.grid}³", c.platform, c.ranks_per_node, c.ranks, *times, ratio, c.winner, c.chosen, c.lost])
    header = ["grid", "network", "ranks a node", "ranks", *(f"{s}, ms" for s in SCHEMES)]
    table = table_of([*header, "2d / 1d", "quickest", "chosen", "chosen / quickest"], rows)
    won = sum(c.chosen == c.winner for c in cases)
    near = sum(c.lost <= NEAR for c in cases)
    note = (
        f"Chosen is the quickest in {won} of {len(cases)} cases, and it or one within {NEAR - 1:.0%} of it in {near} "
        f"({near / len(cases):.0%})."
    )
    return table, note


@click.command()
@click.option("--ranks", default="1024,4096,16384,65536", show_default=True, help="Powers of two from 64 up.")
@click.option("--grids", default="1024,2048", show_default=True, help="Points along an edge.")
@click.option("--results", type=click.Path(path_type=Path), default=ROOT / "build" / "bench" / "results")
@click.option("--docs", is_flag=True, help="Put table and plots into docs.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def main(ranks: str, grids: str, results: Path, docs: bool, as_json: bool) -> None:
    """Simulated times of exchanges, forward and backward, and the scheme that is chosen."""
    cases: list[Case] = []
    for grid in map(int, grids.split(",")):
        for n in map(int, ranks.split(",")):
            begin = time.monotonic()
            found = simulate(grid, n)
            middle = time.monotonic()
            for case, platform in zip(found, platforms(n)):
                choose(case, platform)
            cases += found
            spent = f"{middle - begin:.1f} s simulated, {time.monotonic() - middle:.1f} s to choose"
            click.echo(f"{grid}³ on {n:,} ranks: {spent}", err=True)
    cases.sort(key=lambda c: (c.grid, c.platform, c.ranks_per_node, c.ranks))
    table, note = report(cases)
    settings: dict[str, Any] = {p.name: asdict(p.node) for p in platforms(64)[:2]}
    figure = Figure("scale_fft", "Exchanges of transforms at scale, simulated", settings, {})
    figure.data = {"cases": [{**asdict(c), "winner": c.winner} for c in cases]}
    figure.tables = [table]
    figure.notes = [f"{note} Simulated, forward and backward, real points in double precision."]
    results.mkdir(parents=True, exist_ok=True)
    images = ROOT / "docs" / "images" if docs else results
    draw(cases, images / "scale_fft_time.png", speed_up=False)
    draw(cases, images / "scale_fft_speedup.png", speed_up=True)
    figure.write(results, as_json=as_json, docs=docs)


if __name__ == "__main__":
    main()
