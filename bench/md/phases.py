"""Measures where the time of a step goes: the phases of Engine::step() by system and by ranks × threads, and how close
the kernels are to what the cores can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2, pi, prod
from statistics import median
from typing import Any

import click

from bench.common import engine, limits, systems
from bench.common.options import Common, script
from bench.common.results import columns, table

SEARCH = "sort and migration"
KERNELS = "pair forces"

# Additions and multiplications of one pair in the cluster kernel for AVX-512 (cluster_kernel-inl.h), with those that
# switch LJ forces off. A fused operation counts as two; comparisons, look-ups and conversions do not count.
OPERATIONS_A_PAIR = 51
OPERATIONS_OF_SWITCH = 9

# The promised times, at most, in ms a step of ApoA1 at 12 Å on two threads, by purpose of the phases.
MOST_MS = {
    "mesh": (9.0, ("mesh: spread charges", "mesh: forward transform", "mesh: solve", "mesh: backward transform",
                   "mesh: forces")),
    "search": (1.7, (SEARCH, "pair list")),
    "constraints and update": (1.6, ("kick, drift, constrain", "kick, constrain")),
}  # fmt: skip


@script(check="a part of the step takes more than promised", steps=200, repeats=3, steps_help="Steps of each run.")
@click.option(
    "--system", "names", multiple=True, type=click.Choice(systems.NAMES), help="Repeatable; default: dhfr and apoa1."
)
@click.option("--layout", "layouts", multiple=True, help="RANKSxTHREADS; repeatable; default: 1x1, 1x2 and 2x1.")
@click.option("--mpi", default="openmpi", show_default=True, help="MPI of layouts with several ranks.")
@click.option("--cutoff", default=12.0, show_default=True, help="Å.")
def phases(
    common: Common,
    names: tuple[str, ...],
    layouts: tuple[str, ...],
    mpi: str,
    cutoff: float,
    steps: int,
    repeats: int,
) -> None:
    """Measure the time of each phase of a step, ms, as medians over repeats that take turns, and compare operations and
    bytes a second with what the cores can do.

    \b
    Examples:
      python -m bench.md phases --data DATA
      python -m bench.md phases --system dhfr --layout 1x1 --layout 1x2 --steps 50 --repeats 1
    """
    chosen = [engine.Layout.parse(text, mpi) for text in layouts or ("1x1", "1x2", "2x1")]
    settings = engine.without_frames(cutoff, steps)
    figure = common.figure("phases", "Phases of a step")
    reports: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for turn in range(repeats):
        for name in names or ("dhfr", "apoa1"):
            for layout in chosen:
                done = engine.run(systems.system(common, name), settings, common.work / "runs" / "phases", layout)
                figure.versions.update(done.versions())
                reports.setdefault((name, str(layout)), []).append(done.report)
                common.say(f"{turn + 1}/{repeats} {name} {layout}: {done.report['ms_per_step']:.3g} ms/step")

    columns = list(reports)
    figure.data["runs"] = [
        {"system": name, "layout": layout, **summary(reports[name, layout])} for name, layout in columns
    ]
    figure.tables.append(phase_table(columns, figure.data["runs"]))
    figure.notes.append(
        f"Milliseconds a step at {cutoff:g} Å, mean over ranks, medians of {repeats}; shares are of the whole step. "
        "Phases of several ranks hold the time that one waits for another."
    )
    figure.data["limits"] = []
    for run in figure.data["runs"]:
        layout = engine.Layout.parse(run["layout"].replace(" × ", "x"))
        report = reports[run["system"], run["layout"]][0]
        for work in works(report, cutoff):
            figure.data["limits"].append(beside_limits(common, work, run, layout.ranks * layout.threads))
    figure.tables.append(limit_table(figure.data["limits"]))
    figure.notes.append(
        "Beside what as many cores can do (`bench/common/limits.c`): fused multiply-adds of single precision in the "
        "widest registers; copying arrays of the mesh's size. Operations of pairs: all that the kernel computes, those "
        "beyond the cut-off too; of transforms: 2.5 n log₂ n. Bytes: each array that a phase needs, read and written "
        "once."
    )
    figure.failures += [text for run in figure.data["runs"] for text in broken_promises(run, cutoff)]
    figure.finish(common)


def broken_promises(run: dict[str, Any], cutoff: float) -> list[str]:
    """Returns a sentence for each broken promise for this system, layout and cut-off."""
    if (run["system"], run["layout"], cutoff) != ("apoa1", "1 × 2", 12):
        return []
    broken = []
    for part, (most, names) in MOST_MS.items():
        found = sum(run["phases_ms"][name] for name in names)
        if found > most:
            broken.append(f"{part}: {found:.3g} ms a step of ApoA1 on two threads, promised are {most:g}")
    return broken


@dataclass(frozen=True)
class Work:
    """The least work that a phase has to do in each step."""

    phase: str
    operations: float = 0
    bytes: float = 0
    mesh_bytes: int = 0  # total size of the arrays that the phase reads or writes
    useful: float | None = None  # share of the operations that is for pairs within the cut-off


def works(report: dict[str, Any], cutoff: float) -> list[Work]:
    """Returns the work of those phases whose operations or bytes can be counted."""
    results, n_atoms = report["results"], report["n_atoms"]
    found = []
    if results["pair_scheme"] == "cluster":
        is_switched = report["settings"]["interactions"]["lj"] != "cut"
        pairs = results["pairs_evaluated"]
        # A liquid has 0.1 atoms/Å³.
        within = n_atoms * 0.1 * 4 / 3 * pi * cutoff**3 / 2
        each = OPERATIONS_A_PAIR + (OPERATIONS_OF_SWITCH if is_switched else 0)
        found.append(Work(KERNELS, operations=each * pairs, useful=min(1.0, within / pairs)))
    n = prod(results["pme_grid"])
    atoms, forces = 20 * n_atoms, 48 * n_atoms  # position and charge; forces are read and written
    transform = {"operations": 2.5 * n * log2(n), "bytes": 8 * n, "mesh_bytes": 8 * n}
    return [
        *found,
        Work("mesh: spread charges", bytes=4 * n + atoms, mesh_bytes=8 * n),
        Work("mesh: forward transform", **transform),
        Work("mesh: solve", bytes=10 * n, mesh_bytes=10 * n),
        Work("mesh: backward transform", **transform),
        Work("mesh: forces", bytes=4 * n + atoms + forces, mesh_bytes=8 * n),
    ]


def beside_limits(common: Common, work: Work, run: dict[str, Any], cores: int) -> dict[str, Any]:
    seconds = run["phases_ms"][work.phase] / 1000
    row: dict[str, Any] = {"system": run["system"], "layout": run["layout"], "phase": work.phase, "useful": work.useful}
    if work.operations:
        row["gflops"] = work.operations / seconds / 1e9
        row["share_of_flops"] = work.operations / seconds / limits.flops(common, cores)
    if work.bytes:
        row["gbytes_a_second"] = work.bytes / seconds / 1e9
        row["share_of_bandwidth"] = work.bytes / seconds / limits.bandwidth(common, cores, work.mesh_bytes)
    return row


def limit_table(rows: list[dict[str, Any]]) -> str:
    def share(value: float | None) -> str | None:
        return None if value is None else f"{100 * value:.0f} %"

    cells: dict[str, Callable[[dict[str, Any]], Any]] = {
        "phase": lambda row: row["phase"],
        "system": lambda row: systems.TITLES[row["system"]],
        "layout": lambda row: row["layout"],
        "GFLOP/s": lambda row: row.get("gflops"),
        "of peak": lambda row: share(row.get("share_of_flops")),
        "within cut-off": lambda row: share(row["useful"]),
        "GB/s": lambda row: row.get("gbytes_a_second"),
        "of copying": lambda row: share(row.get("share_of_bandwidth")),
    }
    return columns(sorted(rows, key=lambda row: str(row["phase"])), cells)


def summary(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns medians over the reports of one system and layout."""
    names = [phase["name"] for phase in reports[0]["phases"]]
    per_step = {
        name: median(1000 * report["phases"][i]["seconds"] / report["steps"] for report in reports)
        for i, name in enumerate(names)
    }
    whole = median(report["ms_per_step"] for report in reports)
    return {
        "phases_ms": per_step,
        "rest_ms": max(0.0, whole - sum(per_step.values())),
        "ms_per_step": whole,
        "ns_per_day": median(report["ns_per_day"] for report in reports),
        "imbalance": max(
            phase["imbalance"] for report in reports for phase in report["phases"] if phase["name"] == KERNELS
        ),
        "steps_per_search": median(
            report["steps"] / max(1, report["results"].get("pair_searches", 1)) for report in reports
        ),
        "share_of_search": per_step.get(SEARCH, 0.0) / whole,
        "share_of_kernels": per_step.get(KERNELS, 0.0) / whole,
        "all_repeats_ms": [report["ms_per_step"] for report in reports],
    }


def phase_table(columns: list[tuple[str, str]], runs: list[dict[str, Any]]) -> str:
    header = ["phase", *(f"{systems.TITLES[name]}, {layout}" for name, layout in columns)]
    rows: list[list[Any]] = [[phase, *(run["phases_ms"].get(phase) for run in runs)] for phase in runs[0]["phases_ms"]]
    rows.append(["rest", *(run["rest_ms"] for run in runs)])
    rows.append(["**all**", *(run["ms_per_step"] for run in runs)])
    rows.append(["ns/day", *(run["ns_per_day"] for run in runs)])
    rows.append(["steps a search", *(run["steps_per_search"] for run in runs)])
    for name, key in (("share of the search", "share_of_search"), ("share of the pair kernels", "share_of_kernels")):
        rows.append([name, *(f"{100 * run[key]:.1f} %" for run in runs)])
    return table(header, rows)
