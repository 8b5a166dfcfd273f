"""Simulates distributed transforms on 64 to 65,536 ranks of a torus and a fat tree. As molecular dynamics needs them,
they begin and end with bricks, by any scheme.

    python -m papers.fft [--ranks 64,256,1024,4096,16384,65536] [--grids 1024,2048] [--per-node 1,32]
    python -m papers.fft --kept --check --docs

The messages of each exchange of each scheme are distributed over the links of the platform (bench/scale/platforms.py);
on up to `--smpi-ranks` ranks SimGrid's SMPI sends the same messages (bench/scale/smpi.py). The results are compared
with the scheme that Tessera chooses from a map of the platform. Times can only be compared with each other.

Results are kept, so the simulation can be done in pieces; --kept puts them together.
"""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

import tessera._core as core
from bench.common.options import Common, script
from bench.common.results import ROOT, commit
from bench.common.results import table as table_of
from bench.scale import smpi
from bench.scale.platforms import AT_ONCE, Exchange, Platform, platforms, torus_shape
from tessera.plots import STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCHEMES = ("slab", "pencil", "2d_alltoall", "1d_alltoall")
COLOURS = dict(zip(SCHEMES, ("#5A6270", "#009E73", "#E69F00", "#0072B2")))
REAL_BYTES = 8
NEAR = 1.05  # a choice within this factor of the quickest counts as good
LEAST_RIGHT = 0.9  # least share of cases in which the quickest is chosen


def bricks(grid: int, platform: Platform) -> np.ndarray:
    """Returns the begin and the end of each rank's brick in points (ranks, 2, 3). The bricks of a node are side by side
    (4 × 4 × 2 of them where it has 32 ranks), and nodes are arranged as on a torus."""
    inside = (4, 4, 2) if platform.node.ranks == 32 else (1, 1, 1)
    nodes = torus_shape(platform.network.nodes)
    node = np.stack(np.unravel_index(np.arange(platform.network.nodes), nodes), axis=1)
    place = np.stack(np.unravel_index(np.arange(platform.node.ranks), inside), axis=1)
    at = (node[:, None] * inside + place).reshape(-1, 3)
    parts = np.array(nodes) * inside
    return np.stack([at * grid // parts, (at + 1) * grid // parts], axis=1)


@dataclass
class Case:
    """Seconds of forward and backward by scheme, with ranks in their order; `chosen` is Tessera's choice."""

    grid: int
    platform: str
    ranks: int
    ranks_per_node: int
    exchanges: dict[str, float] = field(default_factory=dict)  # on the links
    to_own: dict[str, float] = field(default_factory=dict)  # from bricks to the first boxes and back
    passes: dict[str, float] = field(
        default_factory=dict
    )  # through a node's memory: each stage reads and writes all points
    smpi: dict[str, float] = field(default_factory=dict)  # exchanges that SMPI simulates, and starts of messages
    compared: list[tuple[str, int, int, float, float]] = field(default_factory=list)
    """Scheme, exchange, messages, s on the links and s by SMPI of each exchange that SMPI has simulated."""
    n_exchanges: int = 0  # between nodes, of all schemes, forward
    commit: str = ""  # of the program that planned the simulated messages
    chosen: str = ""
    chosen_seconds: float | None = None  # where the choice has another order of ranks than the simulation
    choose_seconds: float = 0.0

    @property
    def where(self) -> tuple[str, int]:
        return self.platform, self.ranks_per_node

    @property
    def judge(self) -> str:
        """The model that gave the times: "SMPI" for every exchange, "both" if only for some, else "links"."""
        if not self.compared:
            return "links"
        return "SMPI" if len(self.compared) == self.n_exchanges else "both"

    @property
    def total(self) -> dict[str, float]:
        return {name: self.smpi[name] + self.passes[name] for name in self.smpi}

    @property
    def winner(self) -> str:
        return min(self.total, key=self.total.__getitem__)

    @property
    def lost(self) -> float:
        """The ratio of the choice's time to that of the quickest."""
        return (self.chosen_seconds or self.total[self.chosen]) / self.total[self.winner]

    @property
    def is_right(self) -> bool:
        return self.chosen == self.winner or self.lost <= 1


def schemes_for(grid: int, ranks: int) -> list[str]:
    """Returns the schemes that are simulated: slabs only while every rank has a layer."""
    return [name for name in SCHEMES if name != "slab" or ranks <= grid]


def simulate(grid: int, where: list[Platform], replay: Path | None = None) -> list[Case]:
    """Simulates platforms with the same numbers of nodes and ranks together, because their messages are the same.
    `replay` is SMPI's program."""
    ranks, per_node = where[0].ranks, where[0].node.ranks
    cases = [Case(grid, p.name, ranks, per_node) for p in where]
    own = bricks(grid, where[0])
    for scheme in schemes_for(grid, ranks):
        plan = core.FftPlan(scheme, (grid,) * 3, is_real=True, ranks=ranks, input=own)
        touched = 2 * 2 * sum(plan.largest_boxes) * 2 * REAL_BYTES
        for case, p in zip(cases, where):
            case.exchanges[scheme] = case.to_own[scheme] = case.smpi[scheme] = 0.0
            case.passes[scheme] = touched * p.node.ranks / p.node.memory
        for i in range(plan.n_exchanges):
            found = [Exchange(p) for p in where]
            for first in range(0, ranks, AT_ONCE):
                messages = plan.messages(i, first, min(ranks, first + AT_ONCE)) * (1, 1, REAL_BYTES)
                for exchange in found:
                    exchange.add(messages)
            for case, exchange in zip(cases, found):
                # Backward reverses forward: the same bytes go through the same ports, and the loads of links are the
                # same.
                once = exchange.seconds()
                case.exchanges[scheme] += 2 * once
                if i == 0 and scheme in ("slab", "pencil"):
                    case.to_own[scheme] = 2 * once
                case.n_exchanges += bool(exchange.far_messages.any())
                # SMPI's messages inside a node do not share its memory, so that time is added.
                if replay and exchange.far_messages.any() and len(messages) <= smpi.MOST_MESSAGES:
                    starts = exchange.starts()
                    by_smpi = smpi.seconds(replay, messages, exchange.platform, about=once - starts)
                    by_smpi = starts + max(by_smpi, exchange.inside_seconds())
                    case.compared.append((scheme, i, len(messages), once, by_smpi))
                    once = by_smpi
                case.smpi[scheme] += 2 * once
    return cases


def choose(case: Case, platform: Platform) -> None:
    """Sets the scheme that Tessera chooses from the map that the probe would write on the platform."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "machine.json"
        path.write_text(json.dumps(platform.machine_file()))
        own = bricks(case.grid, platform)
        begin = time.process_time()
        ranked = core.rank_fft_schemes(
            str(path),
            ranks_per_host=platform.node.ranks,
            shape=(case.grid,) * 3,
            is_real=True,
            real_bytes=REAL_BYTES,
            input=own,
        )
    case.choose_seconds = time.process_time() - begin
    plan = ranked[0][0]
    case.chosen = plan.scheme
    # The simulation has ranks in their order. Where the choice reorders them, its messages are distributed over links.
    case.chosen_seconds = _seconds(plan, platform) + case.passes[plan.scheme] if plan.is_ordered else None


def _seconds(plan: core.FftPlan, platform: Platform) -> float:
    """Returns the seconds of forward and backward exchanges, by loads of links."""
    found = 0.0
    for i in range(plan.n_exchanges):
        exchange = Exchange(platform)
        exchange.add(plan.messages(i, 0, platform.ranks) * (1, 1, REAL_BYTES))
        found += 2 * exchange.seconds()
    return found


def draw(cases: list[Case], path: Path, *, speed_up: bool) -> None:
    """Draws the time of the exchanges (as in Jung et al. 2019, Figure 4) or the speed-up of transforms, by the
    number of ranks. Figure 5 b of that paper is the speed-up of whole steps."""
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


def report(cases: list[Case]) -> tuple[list[str], list[str]]:
    """Returns tables, and notes that say in how many cases the choice is right."""
    rows = []
    for c in cases:
        times = [1e3 * c.exchanges[s] if s in c.exchanges else None for s in SCHEMES]
        alone = 1e3 * (c.exchanges["pencil"] - c.to_own["pencil"])
        ratio = c.exchanges["2d_alltoall"] / c.exchanges["1d_alltoall"]
        choice = [c.judge, c.winner, c.chosen, c.lost, c.choose_seconds]
        rows.append([f"{c.grid}³", c.platform, c.ranks_per_node, c.ranks, *times, alone, ratio, *choice])
    header = ["grid", "network", "ranks a node", "ranks", *(f"{s}, ms" for s in SCHEMES), "pencil from pencils, ms"]
    tables = [table_of([*header, "2d / 1d", "judge", "quickest", "chosen", "chosen / quickest", "to choose, s"], rows)]
    rows = []
    for name, per_node, ranks in sorted({(c.platform, c.ranks_per_node, c.ranks) for c in cases if c.compared}):
        alike = [c for c in cases if (c.platform, c.ranks_per_node, c.ranks) == (name, per_node, ranks)]
        ratios = np.array([model / by_smpi for c in alike for *_, model, by_smpi in c.compared])
        most = max(n for c in alike for _, _, n, _, _ in c.compared)
        n_left_out = sum(c.n_exchanges - len(c.compared) for c in alike)
        spread = [ratios.min(), np.median(ratios), ratios.max()]
        rows.append([name, per_node, ranks, ratios.size, n_left_out, most, *spread])
    if rows:
        header = ["network", "ranks a node", "ranks", "exchanges", "left to links", "messages, at most"]
        tables.append(table_of([*header, "links / SMPI: least", "median", "most"], rows))
    notes = []
    for judge, name in {"SMPI": "SMPI", "both": "SMPI and links", "links": "links"}.items():
        mine = [c for c in cases if c.judge == judge]
        if mine:
            won, near = sum(c.is_right for c in mine), sum(c.lost <= NEAR for c in mine)
            notes.append(
                f"Judged by {name}: the quickest is chosen in {won} of {len(mine)} cases ({won / len(mine):.0%}), "
                f"it or one within {NEAR - 1:.0%} of it in {near} ({near / len(mine):.0%})."
            )
    commits = sorted({c.commit for c in cases})
    what = "forward and backward from bricks to bricks, real points in double precision"
    notes.append(f"Simulated with commit {', '.join(commits)}: {what}.")
    return tables, notes


def failures(cases: list[Case]) -> list[str]:
    """Returns the promises that were not kept."""
    right = sum(c.is_right for c in cases) / len(cases)
    return [] if right >= LEAST_RIGHT else [f"the quickest is chosen in {right:.0%} of cases, not in {LEAST_RIGHT:.0%}"]


def file_of(folder: Path, case: Case) -> Path:
    name = f"{case.grid}-{case.platform.replace(' ', '-')}-{case.ranks}-{case.ranks_per_node}.json"
    return folder / "scale_fft" / name


def keep(folder: Path, case: Case) -> None:
    path = file_of(folder, case)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(case), indent=1) + "\n")


def kept(folder: Path) -> list[Case]:
    """Returns all cases that were simulated."""
    return [Case(**json.loads(path.read_text())) for path in (folder / "scale_fft").glob("*.json")]


@script(check="the quickest is chosen too rarely")
@click.option("--ranks", default="64,256,1024,4096,16384,65536", show_default=True, help="Powers of two from 64 up.")
@click.option("--smpi-ranks", default=1024, show_default=True, help="Most ranks that SMPI simulates too.")
@click.option("--grids", default="1024,2048", show_default=True, help="Points along an edge.")
@click.option("--per-node", default="1,32", show_default=True, help="Ranks of a node.")
@click.option("--networks", default="torus,fat tree", show_default=True, help="Networks to simulate.")
@click.option("--kept", "only_kept", is_flag=True, help="Simulate nothing; choose for the results of earlier runs.")
def main(
    common: Common, ranks: str, smpi_ranks: int, grids: str, per_node: str, networks: str, only_kept: bool
) -> None:
    """Simulate the times of exchanges, forward and backward from bricks to bricks, and choose a scheme."""
    results = common.results
    cases = kept(results) if only_kept else _simulated(ranks, smpi_ranks, grids, per_node, networks, results)
    if not cases:
        raise click.ClickException(f"nothing was simulated yet in {results}")
    cases.sort(key=lambda c: (c.grid, c.platform, c.ranks_per_node, c.ranks))
    for case in cases:
        choose(case, next(p for p in platforms(case.ranks) if (p.name, p.node.ranks) == case.where))
    tables, notes = report(cases)
    settings: dict[str, Any] = {p.name: asdict(p.node) for p in platforms(64)[:2]}
    figure = common.figure("scale_fft", "Transforms at scale, simulated", **settings, smpi=list(smpi.SETTINGS))
    figure.data = {"cases": [{**asdict(c), "judge": c.judge, "winner": c.winner} for c in cases]}
    figure.tables = tables
    figure.notes = notes
    figure.failures = failures(cases)
    results.mkdir(parents=True, exist_ok=True)
    images = ROOT / "docs" / "images" if common.docs else results
    draw(cases, images / "scale_fft_time.png", speed_up=False)
    draw(cases, images / "scale_fft_speedup.png", speed_up=True)
    figure.finish(common)


def _simulated(ranks: str, smpi_ranks: int, grids: str, per_node: str, networks: str, results: Path) -> list[Case]:
    """Simulates the cases and keeps each as soon as it is done."""
    replay = smpi.build(results) if smpi.is_there() else None
    cases: list[Case] = []
    for n, grid, of_node in product(*(map(int, option.split(",")) for option in (ranks, grids, per_node))):
        where = [p for p in platforms(n) if p.node.ranks == of_node and p.name in networks.split(",")]
        begin = time.monotonic()
        found = simulate(grid, where, replay if n <= smpi_ranks else None)
        for case in found:
            case.commit = commit()
            keep(results, case)
        cases += found
        click.echo(f"{grid}³ on {n:,} ranks, {of_node} a node: {time.monotonic() - begin:.1f} s", err=True)
    return cases


if __name__ == "__main__":
    main()
