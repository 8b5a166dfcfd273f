"""Where the time of a step goes: the phases of Engine::step() by system and by ranks × threads."""

from __future__ import annotations

from statistics import median
from typing import Any

import click

from bench.common import engine, systems
from bench.common.options import Common, common_options
from bench.common.results import Figure, table

SEARCH = "sort and migration"
KERNELS = "pair forces"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--system", "names", multiple=True, type=click.Choice(systems.NAMES), help="Repeatable; default: dhfr and apoa1."
)
@click.option("--layout", "layouts", multiple=True, help="RANKSxTHREADS; repeatable; default: 1x1, 1x2 and 2x1.")
@click.option("--mpi", default="openmpi", show_default=True, help="Of layouts with several ranks.")
@click.option("--cutoff", default=12.0, show_default=True, help="Å.")
@common_options(steps=200, repeats=3, steps_help="Steps of each run.")
def phases(
    common: Common,
    names: tuple[str, ...],
    layouts: tuple[str, ...],
    mpi: str,
    cutoff: float,
    steps: int,
    repeats: int,
) -> None:
    """Time of each phase of a step, ms, medians over repeats that take turns.

    \b
    Examples:
      python -m bench.md.phases --data DATA
      python -m bench.md.phases --system dhfr --layout 1x1 --layout 1x2 --steps 50 --repeats 1
    """
    if steps < 1:
        raise click.UsageError("--steps: at least 1")
    chosen = [engine.Layout.parse(text, mpi) for text in layouts or ("1x1", "1x2", "2x1")]
    settings = engine.merge(
        engine.interactions(cutoff), {"dynamics": {"steps": steps}, "output": {"trajectory": "none"}}
    )
    figure = Figure(
        "phases", "Phases of a step", {"steps": steps, "repeats": repeats, "cutoff": cutoff, "mpi": mpi}, {}
    )
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
    figure.write(common.results, as_json=common.as_json, docs=common.docs)


def summary(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over the reports of one system and layout."""
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


if __name__ == "__main__":
    phases()
