"""Computes the figures of Kristensen et al. (2011) for stencils on up to 16,384 cores of a Blue Gene/P.

    python -m bench.scale.grid [--docs] [--check]

Each approach is timed by Tessera's own cost model (cpp/tessera/grid/choice/cost.h) with the parameters that the paper
states; none is fitted. Messages are laid on the links of the torus (or, below 512 nodes, of the mesh) by dimension, and
an exchange takes its latency and the bytes of its busiest link over the link's bandwidth. What the paper's formula
leaves out (packing, padded copies, small boxes) is computed from the bandwidth of its memory or measured on Tessera's
code, and added step by step.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from bench.common.results import ROOT, Figure, table
from bench.scale import grid_smpi, grid_timeline, smpi
from bench.scale.blue_gene import (
    APPROACHES,
    CORES,
    LATENCY,
    LEAST_TORUS,
    LINK,
    PADDED,
    POINT,
    STEPS,
    Run,
    layout_of,
    run,
    slower,
)
from tessera.plots import STYLE

COLOURS = dict(zip(APPROACHES, ("#5A6270", "#0072B2", "#E69F00", "#009E73")))
PAPER = {"gain": 1.94, "original": 0.36, "multiple": 0.70, "hybrid": 1.10, "speed-up": 12.5}


def figure_3_1() -> str:
    rows = []
    for power in range(1, 8):
        n = 10**power
        rate = n / (LATENCY + n / LINK)
        rows.append([f"10^{power}", rate / 1e6, f"{rate / LINK:.0%}"])
    return table(["bytes of a message", "MB/s", "of the link"], rows)


def figure_7_2() -> tuple[str, list[Run]]:
    """32 grids of 144³: speed-up over one core by batch."""
    alone = 32 * 144**3 * POINT
    runs, rows = [], []
    for cores in (4, 16, 64, 256, 512, 1024, 2048, 4096):
        row: list[Any] = [cores]
        for name in APPROACHES:
            for batch in (1, 8) if name != "flat-original" else (1,):
                one = run(name, cores, 144, 32, PADDED, batch=batch)
                runs.append(replace(one, batch=batch))
                row.append(alone / one.seconds)
        rows.append(row)
    names = [f"{name}, batch {b}" if name != "flat-original" else name for name in APPROACHES
             for b in ((1, 8) if name != "flat-original" else (1,))]  # fmt: skip
    return table(["cores", *names], rows), runs


def figure_7_3() -> tuple[list[str], list[dict[str, Any]]]:
    """One grid of 192³ a core: time, and bytes of a node for each grid."""
    rows, found = [], []
    for cores in (4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384):
        flat, hybrid = (run(name, cores, 192, cores, PADDED) for name in ("flat-optimized", "hybrid-multiple"))
        read = run("flat-optimized", cores, 192, cores, PADDED, inside=False)
        bad = [run(name, cores, 192, cores, PADDED, placed="badly") for name in ("flat-optimized", "hybrid-multiple")]
        one = {
            "cores": cores,
            "flat": flat.seconds,
            "flat, without messages inside nodes": read.seconds,
            "hybrid": hybrid.seconds,
            "flat, badly placed": bad[0].seconds,
            "hybrid, badly placed": bad[1].seconds,
            "flat, kB": flat.layout.bytes_of_node(inside=True) / 1e3,
            "flat, without those inside, kB": flat.layout.bytes_of_node(inside=False) / 1e3,
            "hybrid, kB": hybrid.layout.bytes_of_node(inside=True) / 1e3,
        }
        found.append(one)
        rows.append([cores, "mesh" if cores // CORES < LEAST_TORUS else "torus", *list(one.values())[1:]])
    header = ["cores", "network", "flat-optimized, s", "without messages inside nodes", "hybrid-multiple, s",
              "flat, badly placed", "hybrid, badly placed",
              "flat: kB a node and grid", "without those inside it", "hybrid: kB"]  # fmt: skip
    return [table(header, rows)], found


def figure_7_4() -> tuple[str, list[Run]]:
    """2,816 grids of 192³: time by cores with the best batch."""
    rows, runs = [], []
    for cores in (1024, 2048, 4096, 8192, 16384):
        mine = [run(name, cores, 192, 2816, PADDED) for name in APPROACHES]
        runs += mine
        rows.append([cores, *(one.seconds for one in mine), *(f"{one.utilisation:.0%}" for one in (mine[0], mine[-1]))])
        rows[-1] += [mine[-1].batch, mine[0].seconds / mine[-1].seconds]
    header = ["cores", *(f"{name}, s" for name in APPROACHES), "used by flat-original", "by hybrid-multiple",
              "batch of hybrid-multiple", "gain over flat-original"]  # fmt: skip
    return table(header, rows), runs


def beside_the_paper() -> tuple[str, dict[str, dict[str, float]]]:
    """What the paper concludes from 16,384 cores, by what is counted."""
    found = {}
    for name, costs in STEPS.items():
        original, optimized, _, multiple = (run(one, 16384, 192, 2816, costs) for one in APPROACHES)
        first = run("hybrid-multiple", 1024, 192, 2816, costs)
        found[name] = {
            "gain": original.seconds / multiple.seconds,
            "original": original.utilisation,
            "multiple": multiple.utilisation,
            "hybrid": optimized.seconds / multiple.seconds,
            "speed-up": first.seconds / multiple.seconds,
        }
    rows = []
    for key, label in {
        "gain": "flat-original over hybrid-multiple, time",
        "original": "cores used by flat-original",
        "multiple": "cores used by hybrid-multiple",
        "hybrid": "flat-optimized over hybrid-multiple, time",
        "speed-up": "hybrid-multiple, 1,024 to 16,384 cores",
    }.items():
        values = [PAPER[key], *(found[name][key] for name in STEPS)]
        rows.append([label, *(f"{v:.0%}" if key in ("original", "multiple") else v for v in values)])
    return table(["16,384 cores, 2,816 grids of 192³", "the paper", *STEPS], rows), found


def even_synchronisation() -> float:
    """Returns the s of a synchronisation at which master-only takes as long as flat-optimized on 16,384 cores."""
    free = run("hybrid-master-only", 16384, 192, 2816, PADDED).seconds
    return (run("flat-optimized", 16384, 192, 2816, PADDED).seconds - free) / 2816


def dearest_start() -> float:
    """Returns the s of a core for a message from which on a batch of 8 pays for hybrid-multiple with 32 grids of 144³
    on 2,048 cores, where a thread then has one batch."""
    low, high = 0.0, 1e-3
    for _ in range(40):
        costs = replace(PADDED, starting=(low + high) / 2)
        one, eight = (run("hybrid-multiple", 2048, 144, 32, costs, batch=b).seconds for b in (1, 8))
        low, high = (costs.starting, high) if eight > one else (low, costs.starting)
    return high


def needed_point() -> float:
    """Returns the s a point with which waiting alone explains the paper's gain: hybrid-multiple hides it, so that it is
    the rest of flat-original's time."""
    one = run("flat-original", 16384, 192, 2816)
    return one.waiting / (PAPER["gain"] - 1) / (2816 * one.layout.points)


def draw(runs: list[Run], gustafson: list[dict[str, Any]], strong: list[Run], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    alone = 32 * 144**3 * POINT
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(2, 3, figsize=(11, 6.4))
        for ax, batch in zip(axes[0][:2], (1, 8)):
            for name in APPROACHES:
                mine = [r for r in runs if r.approach == name and (r.batch == batch or name == "flat-original")]
                ratios = [alone / r.seconds / r.cores for r in mine]
                ax.plot([r.cores for r in mine], ratios, "o-", color=COLOURS[name], label=name, markersize=3)
            ax.set_title(f"7.2: 32 grids of 144³, batch {batch}")
            ax.set_ylabel("speed-up / cores")
            ax.set_ylim(0.7, 1.02)
        axes[0][0].legend()
        cores = [one["cores"] for one in gustafson]
        for key, style, colour in (("flat", "-", "flat-optimized"), ("hybrid", "-", "hybrid-multiple"),
                                   ("flat, badly placed", "--", "flat-optimized"),
                                   ("hybrid, badly placed", "--", "hybrid-multiple")):  # fmt: skip
            axes[0][2].plot(cores, [one[key] for one in gustafson], style, color=COLOURS[colour], label=key)
        axes[0][2].set_title("7.3: a grid of 192³ a core")
        axes[0][2].set_ylabel("s")
        axes[0][2].legend()
        for key, style, colour in (("flat, kB", "-", "flat-optimized"), ("hybrid, kB", "-", "hybrid-multiple"),
                                   ("flat, without those inside, kB", ":", "flat-optimized")):  # fmt: skip
            sent = [one[key] for one in gustafson]
            axes[1][0].plot(cores[1:], sent[1:], style, color=COLOURS[colour], label=key)
        axes[1][0].set_title("7.3: a node sends, each grid")
        axes[1][0].set_yscale("log")
        axes[1][0].set_ylabel("kB")
        axes[1][0].legend()
        first = min(r.seconds for r in strong if r.cores == 1024)
        for name in APPROACHES:
            mine = [r for r in strong if r.approach == name]
            axes[1][1].plot([r.cores for r in mine], [r.seconds for r in mine], "o-", color=COLOURS[name], markersize=3)
            ratios = [first / r.seconds * 1024 / r.cores for r in mine]
            axes[1][2].plot([r.cores for r in mine], ratios, "o-", color=COLOURS[name], markersize=3)
        axes[1][1].set_title("7.4: 2,816 grids of 192³")
        axes[1][1].set_ylabel("s")
        axes[1][1].set_yscale("log")
        axes[1][2].set_title("7.4: 2,816 grids of 192³")
        axes[1][2].set_ylabel("speed-up / that of linear")
        for ax in axes.ravel():
            ax.set_xscale("log", base=2)
            ax.set_xlabel("cores")
        figure.tight_layout()
        figure.savefig(path, dpi=110)
        plt.close(figure)


@click.command()
@click.option("--check", is_flag=True, help="End with status 1 where a figure has another order than the paper's.")
@click.option("--results", type=click.Path(path_type=Path), default=ROOT / "build" / "bench" / "results")
@click.option("--docs", is_flag=True, help="Put tables and plots into docs.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
def main(check: bool, results: Path, docs: bool, as_json: bool) -> None:
    """Compute the figures of Kristensen et al. (2011) from the paper's own parameters."""
    in_step = run("hybrid-multiple", 1024, 192, 1024)
    pattern, ripples = grid_timeline.table_of(in_step.layout, in_step.batch)
    speed_up, runs = figure_7_2()
    gustafson, bytes_a_node = figure_7_3()
    strong, scaled = figure_7_4()
    conclusions, found = beside_the_paper()
    even = even_synchronisation()
    figure = Figure(
        "scale_grid", "Stencils at scale, computed", {"costs": {k: asdict(v) for k, v in STEPS.items()}}, {}
    )
    figure.tables = [conclusions, figure_3_1(), pattern, speed_up, *gustafson, strong]
    if smpi.is_there():
        figure.tables += [grid_smpi.runs(results), grid_smpi.exchanges(results)]
    figure.data = {"beside the paper": found, "ripples": ripples, "even_synchronisation": even, "7.3": bytes_a_node}
    figure.notes = notes(ripples, even)
    figure.failures = failures(found, scaled)
    results.mkdir(parents=True, exist_ok=True)
    images = ROOT / "docs" / "images" if docs else results
    draw(runs, bytes_a_node, scaled, images / "scale_grid.png")
    grid_timeline.draw(in_step.layout, in_step.batch, images / "scale_grid_timeline.png")
    figure.write(results, as_json=as_json, docs=docs)
    if figure.failures and check:
        click.echo("\n".join(figure.failures), err=True)
        sys.exit(1)


def notes(ripples: dict[str, Any], even: float) -> list[str]:
    flat, hybrid = layout_of(192, 1024, CORES), layout_of(192, 1024, 1)
    more = flat.bytes_of_node(inside=True) - hybrid.bytes_of_node(inside=True)
    small = run("hybrid-multiple", 2048, 144, 32, batch=8)
    return [
        f"Figure 7.1: computing a batch of {ripples['batch']} takes {1e3 * ripples['computing']:.2f} ms, its faces "
        f"travel {1e3 * ripples['travelling']:.2f} ms.",
        f"Figure 7.2: with a batch of 8 each thread of hybrid-multiple has one batch and waits for all of its faces, "
        f"{1e3 * small.waiting:.2f} ms on 2,048 cores; if the paper's 9 ms include them, a point takes "
        f"{1e9 * POINT * (9e-3 - small.waiting) / 9e-3:.0f} ns, not {1e9 * POINT:.0f}. There a batch of 8 pays for "
        f"hybrid-multiple only where starting a message costs a core more than {1e6 * dearest_start():.1f} µs.",
        f"Figure 7.3: on 1,024 nodes a grid of 192³ has boxes of {'×'.join(map(str, flat.box))} in flat-optimized and "
        f"of {'×'.join(map(str, hybrid.box))} in hybrid-multiple, so a node sends {more / 1e3:.1f} kB more for each "
        f"grid, {2 * more / 1e3:.1f} kB both ways.",
        f"Small boxes: by Tessera's code a point of 6×6×12 takes {slower((6, 6, 12), 0.0):.2g} times as long as one of "
        f"48³, of 12×12×12 {slower((12, 12, 12), 0.0):.2g} times, of 12×6×6, with rows of 6, "
        f"{slower((12, 6, 6), 0.0):.2g} times.",
        f"Figure 7.4: on 16,384 cores hybrid-master-only takes as long as flat-optimized where its threads need "
        f"{1e6 * even:.1f} µs to meet, once for each grid; the tables have 0. By the waiting of Figure 5.2 alone "
        f"flat-original takes {PAPER['gain']} times as long as hybrid-multiple where a point takes "
        f"{1e9 * needed_point():.0f} ns.",
    ]


def failures(found: dict[str, dict[str, float]], strong: list[Run]) -> list[str]:
    """Returns where the order of approaches is not the paper's."""
    wrong = []
    last = {r.approach: r.seconds for r in strong if r.cores == 16384}
    if not last["hybrid-multiple"] < last["flat-optimized"] < last["flat-original"]:
        wrong.append("on 16,384 cores hybrid-multiple, flat-optimized, flat-original is not the order of times")
    if not all(one["gain"] > 1.1 for one in found.values()):
        wrong.append("hybrid-multiple gains less than a tenth over flat-original")
    return wrong


if __name__ == "__main__":
    main()
