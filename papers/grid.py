"""Computes the figures of Kristensen et al. (2011) for stencils on up to 16,384 cores of a Blue Gene/P.

    python -m papers.grid [--docs] [--check]

Each approach is timed by Tessera's own cost model (cpp/tessera/grid/choice/cost.h) with the parameters that the paper
states; none is fitted. Exchanges on a torus are those of `tessera grid plan` on a map of the machine. What the paper's
formula leaves out (packing, padded copies, small boxes) is computed from the bandwidth of its memory or measured on
Tessera's code, and added step by step; the last column is what `tessera grid plan` itself prints. `--check` ends with
status 1 where a claim of the paper that is not known to be missed (grid_claims.KNOWN) does not agree, or one that is
does.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.common.options import Common, script
from bench.common.results import ROOT, number, table
from bench.scale import smpi
from papers import grid_claims, grid_smpi, grid_timeline
from papers.blue_gene import (
    APPROACHES,
    CORES,
    GPAW_POINT,
    LATENCY,
    LEAST_TORUS,
    LINK,
    PADDED,
    POINT,
    STEPS,
    Run,
    layout_of,
    planned,
    run,
    slower,
)
from papers.grid_claims import PAPER
from tessera.plots import STYLE

COLOURS = dict(zip(APPROACHES, ("#5A6270", "#0072B2", "#E69F00", "#009E73")))


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
    found["`tessera grid plan`"] = by_the_command()
    rows = []
    for key, label in {
        "gain": "flat-original over hybrid-multiple, time",
        "original": "cores used by flat-original",
        "multiple": "cores used by hybrid-multiple",
        "hybrid": "flat-optimized over hybrid-multiple, time",
        "speed-up": "hybrid-multiple, 1,024 to 16,384 cores",
    }.items():
        values = [PAPER[key], *(one.get(key) for one in found.values())]
        rows.append([label, *(f"{v:.0%}" if v is not None and key in ("original", "multiple") else v for v in values)])
    return table(["16,384 cores, 2,816 grids of 192³", "the paper", *found], rows), found


def by_the_command() -> dict[str, float]:
    """Returns the same as `tessera grid plan` prints it for the torus. It knows no mesh, which 1,024 cores are."""
    seconds = {name: one["seconds"] for name, one in planned(16384, 192, 2816).items()}
    ideal = 2816 * 192**3 * POINT / 16384
    return {
        "gain": seconds["flat-original"] / seconds["hybrid-multiple"],
        "original": ideal / seconds["flat-original"],
        "multiple": ideal / seconds["hybrid-multiple"],
        "hybrid": seconds["flat-optimized"] / seconds["hybrid-multiple"],
    }


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


@script(check="other claims of the paper are missed than known")
def main(common: Common) -> None:
    """Compute the figures of Kristensen et al. (2011) from the paper's own parameters."""
    in_step = run("hybrid-multiple", 1024, 192, 1024)
    pattern, ripples = grid_timeline.table_of(in_step.layout, in_step.batch)
    speed_up, runs = figure_7_2()
    gustafson, bytes_a_node = figure_7_3()
    strong, scaled = figure_7_4()
    conclusions, found = beside_the_paper()
    flat, hybrid = layout_of(192, 1024, CORES), layout_of(192, 1024, 1)
    computed = grid_claims.Computed(
        steps=found,
        strong=scaled,
        few=runs,
        gustafson=bytes_a_node,
        late=ripples["delays"][0][1],
        kilobytes=(flat.bytes_of_node(inside=True) - hybrid.bytes_of_node(inside=True)) / 1e3,
        even=even_synchronisation(),
        starting=dearest_start(),
        point=needed_point(),
    )
    claims = grid_claims.claims(computed)
    results, costs = common.results, {k: asdict(v) for k, v in STEPS.items()}
    figure = common.figure("scale_grid", "Stencils at scale, computed", costs=costs)
    figure.tables = [conclusions, grid_claims.table_of(claims), *grid_claims.explained(claims, computed)]
    figure.tables += [figure_3_1(), pattern, speed_up, *gustafson, strong]
    if smpi.is_there():
        figure.tables += [grid_smpi.runs(results), grid_smpi.exchanges(results)]
    figure.data = {
        "beside the paper": found,
        "claims": {name: asdict(one) for name, one in claims.items()},
        "ripples": ripples,
        "even_synchronisation": computed.even,
        "7.3": bytes_a_node,
    }
    figure.notes = notes(ripples)
    figure.failures = grid_claims.failures(claims)
    results.mkdir(parents=True, exist_ok=True)
    images = ROOT / "docs" / "images" if common.docs else results
    draw(runs, bytes_a_node, scaled, images / "scale_grid.png")
    grid_timeline.draw(in_step.layout, in_step.batch, images / "scale_grid_timeline.png")
    figure.finish(common)


def notes(ripples: dict[str, Any]) -> list[str]:
    small = run("hybrid-multiple", 2048, 144, 32, batch=8)
    return [
        f"Figure 7.1: computing a batch of {ripples['batch']} takes {1e3 * ripples['computing']:.2f} ms, its faces "
        f"travel {1e3 * ripples['travelling']:.2f} ms.",
        f"Figure 7.2: with a batch of 8 each thread of hybrid-multiple has one batch and waits for all of its faces, "
        f"{1e3 * small.waiting:.2f} ms on 2,048 cores; if the paper's 9 ms include them, a point takes "
        f"{1e9 * POINT * (9e-3 - small.waiting) / 9e-3:.0f} ns, not {1e9 * POINT:.0f}.",
        f"Small boxes: by Tessera's code a point of 6×6×12 takes {slower((6, 6, 12), 0.0):.2g} times as long as one of "
        f"48³, of 12×12×12 {slower((12, 12, 12), 0.0):.2g} times, of 12×6×6, with rows of 6, "
        f"{slower((12, 6, 6), 0.0):.2g} times. GPAW's time of a point, {number(1e9 * GPAW_POINT)} ns, is that of "
        "[its record](gpaw.md).",
    ]


if __name__ == "__main__":
    main()
