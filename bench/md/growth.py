"""Measures how the time of a step grows with the number of atoms, for water at 300 K of up to three million atoms."""

from __future__ import annotations

from statistics import median
from typing import Any

import click

from bench.common import engine, systems
from bench.common.equilibrate import equilibrated
from bench.common.options import Common, script
from bench.common.results import above, table

COPIES = (1, 4, 12, 45, 125)  # copies of a box of 24,000 atoms
EQUILIBRATION = 4.0  # ps
GREATEST_SPREAD = 1.15  # largest time a step and atom over the smallest, of all sizes
LEAST_STEPS = 30  # two or three sorts into cells, about eight pair lists, and energies once, for each size
SEARCHES_AT_START, LISTS_AT_START = 2, 1  # atoms are placed and constrained; the first forces need a list


def numbers(text: str) -> list[int]:
    """Reads a list of numbers: `1,4`."""
    try:
        found = [int(word) for word in text.replace("_", "").split(",") if word.strip()]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise click.UsageError(f"{text!r}: numbers with commas between them are needed, each at least 1")
    return found


def shape(copies: int) -> tuple[int, int, int]:
    """Returns the three factors that differ least, in ascending order."""
    return min(
        (
            (a, b, copies // (a * b))
            for a in range(1, copies + 1)
            for b in range(a, copies + 1)
            if copies % (a * b) == 0 and copies // (a * b) >= b
        ),
        key=sum,
    )


def missed(spread: float) -> list[str]:
    """Says that the slowest system takes more times the quickest's time a step and atom than promised."""
    what = "time a step and atom, slowest over quickest"
    return above({what: spread}, {what: GREATEST_SPREAD})


@script(
    of_runs=True,
    check="time an atom grows by more than promised",
    steps=390,
    repeats=2,
    steps_help="Steps of 24,000 atoms; larger systems run fewer, at least 30.",
)
@click.option(
    "--copies",
    "copies_text",
    default=",".join(map(str, COPIES)),
    show_default=True,
    help="Copies of an equilibrated box of 24,000 atoms, for each size.",
)
def growth(
    common: Common,
    copies_text: str,
    layout: str,
    mpi: str,
    cutoff: float,
    steps: int,
    repeats: int,
) -> None:
    """Measure ns a step and atom by the number of atoms and by phase, as medians over repeats that take turns.

    All sizes are copies of one box in equilibrium, with velocities at 300 K. A start that heats up would make lists and
    sort more often in its first steps than later, and larger systems run fewer steps.

    \b
    Examples:
      python -m bench.md growth --check --docs
      python -m bench.md growth --copies 1,4 --steps 50 --repeats 1
    """
    where = engine.Layout.parse(layout, mpi)
    figure = common.figure("growth", "Time of a step by size")
    start = equilibrated(common, "water24k", engine.interactions(cutoff), EQUILIBRATION, where)
    reports: dict[int, list[dict[str, Any]]] = {}
    peaks: dict[int, int] = {}
    for turn in range(repeats):
        for copies in numbers(copies_text):
            n = copies * systems.N_ATOMS["water24k"]
            settings = engine.merge(
                engine.interactions(cutoff),
                {
                    "dynamics": {"steps": steps_of(n, steps), "velocities": "generate"},
                    "output": {"trajectory": "none", "energy_every": LEAST_STEPS},
                },
            )
            path = systems.replicated(common, start, shape(copies))
            done = engine.run(path, settings, common.work / "runs" / "growth", where)
            figure.versions.update(done.versions())
            reports.setdefault(n, []).append(done.report)
            peaks[n] = max(peaks.get(n, 0), done.outcome.peak_bytes)
            common.say(f"{turn + 1}/{repeats} {n:,} atoms: {done.report['ms_per_step']:.4g} ms/step")

    points = [point(reports[n], peaks[n]) for n in sorted(reports)]
    figure.data["points"] = points
    phases = list(points[0]["ns_per_atom_by_phase"])
    shown = [p for p in phases if any(one["ns_per_atom_by_phase"][p] >= 0.01 * one["ns_per_atom"] for one in points)]
    header = ["ns a step and atom", *(f"{one['n_atoms']:,} atoms" for one in points)]
    rows: list[list[Any]] = [[phase, *(one["ns_per_atom_by_phase"][phase] for one in points)] for phase in shown]
    rows.append(["**all**", *(one["ns_per_atom"] for one in points)])
    rows.append(["ms/step", *(one["ms_per_step"] for one in points)])
    rows.append(["mesh points an atom", *(one["mesh_points_per_atom"] for one in points)])
    rows.append(["steps a sort", *(one["steps_per_search"] for one in points)])
    rows.append(["steps a pair list", *(one["steps_per_list"] for one in points)])
    rows.append(["pairs computed an atom", *(one["pairs_per_atom"] for one in points)])
    rows.append(["peak memory, B/atom", *(one["peak_bytes_per_atom"] for one in points)])
    figure.tables.append(table(header, rows))
    times = [one["ns_per_atom"] for one in points]
    spread = max(times) / min(times)
    figure.data["spread"] = spread
    figure.notes.append(
        f"The slowest is {spread:.3f} times the quickest; at most {GREATEST_SPREAD} is promised. "
        f"{where} at {cutoff:g} Å, 300 K; phases below a hundredth are left out."
    )
    figure.failures += missed(spread)
    figure.finish(common)


def steps_of(n_atoms: int, steps: int) -> int:
    """Returns the steps that give each size the same work, in whole periods of energies and at least one."""
    return min(steps, LEAST_STEPS * max(1, steps * 24_000 // n_atoms // LEAST_STEPS))


def point(reports: list[dict[str, Any]], peak: int) -> dict[str, Any]:
    """Returns medians over the reports of one size."""
    first = reports[0]
    n = first["n_atoms"]
    ms = median(report["ms_per_step"] for report in reports)
    results = first["results"]
    mesh = results["pme_grid"]
    return {
        "n_atoms": n,
        "steps": first["steps"],
        "ms_per_step": ms,
        "ns_per_atom": 1e6 * ms / n,
        "ns_per_atom_by_phase": {
            phase["name"]: median(1e9 * report["phases"][i]["seconds"] / report["steps"] / n for report in reports)
            for i, phase in enumerate(first["phases"])
        },
        "mesh_points_per_atom": mesh[0] * mesh[1] * mesh[2] / n,
        "steps_per_search": first["steps"] / max(1, results["pair_searches"] - SEARCHES_AT_START),
        "steps_per_list": first["steps"] / max(1, results["pair_lists"] - LISTS_AT_START),
        "pairs_per_atom": results["pairs_evaluated"] / n,
        "peak_bytes_per_atom": peak / n,
        "all_repeats_ms": [report["ms_per_step"] for report in reports],
    }
