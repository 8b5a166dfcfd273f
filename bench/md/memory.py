"""Measures the memory of a run by size of the system and by part of the engine."""

from __future__ import annotations

from typing import Any

import click

from bench.common import engine, systems
from bench.common.options import Common, script
from bench.common.results import above, number, table

MOST_BYTES_PER_ATOM = 600  # resident memory of a large system of water at 12 Å
LARGE = 100_000  # atoms


def missed(system: str, n_atoms: int, resident: float) -> list[str]:
    """Says that an atom of a large system takes more bytes than promised."""
    what = f"{systems.TITLES[system]}, {n_atoms:,} atoms, B/atom resident"
    return above({what: resident}, {what: MOST_BYTES_PER_ATOM if n_atoms >= LARGE else None})


@script(
    of_runs=True,
    check="a large system takes more than promised",
    steps=20,
    repeats=1,
    steps_help="Steps of each run: enough for atoms to be sorted again.",
)
@click.option(
    "--system",
    "names",
    multiple=True,
    type=click.Choice(systems.NAMES),
    help="Repeatable; default: water of 24,000, 300,000 and 1,000,000 atoms.",
)
def memory(
    common: Common,
    names: tuple[str, ...],
    layout: str,
    mpi: str,
    cutoff: float,
    steps: int,
    repeats: int,
) -> None:
    """Measure resident memory an atom at the peak of a run, and what the engine holds between steps, by owner.

    Resident memory is the kernel's peak of each process, summed over ranks, without the part that does not depend on
    the size. A run reads its system, sorts its atoms, and writes a checkpoint and a report.

    \b
    Examples:
      python -m bench.md memory --check --docs
      python -m bench.md memory --system water24k --steps 5
    """
    chosen = engine.Layout.parse(layout, mpi)
    settings = engine.without_frames(cutoff, steps)
    figure = common.figure("memory", "Memory by size and owner")
    smallest = engine.run(systems.system(common, "water3k"), settings, common.work / "runs" / "memory", chosen)
    program = smallest.outcome.peak_bytes - smallest.report["memory"]["bytes"]  # over all ranks
    runs: list[dict[str, Any]] = []
    for name in names or ("water24k", "water300k", "water1m"):
        path = systems.system(common, name)
        peak, report = 0, {}
        for _ in range(repeats):
            done = engine.run(path, settings, common.work / "runs" / "memory", chosen)
            figure.versions.update(done.versions())
            peak, report = max(peak, done.outcome.peak_bytes), done.report
        n_atoms = report["n_atoms"]
        resident = (peak - program) / n_atoms
        runs.append(
            {
                "system": name,
                "n_atoms": n_atoms,
                "peak_bytes": peak,
                "resident_bytes_per_atom": resident,
                "searches": report["results"]["pair_searches"],
                "by_owner": {owner: n / n_atoms for owner, n in report["memory"]["by_owner"].items()},
                "held_bytes_per_atom": report["memory"]["bytes"] / n_atoms,
            }
        )
        common.say(f"{name}: {peak / 1e6:.0f} MB, {number(resident)} B/atom")
        figure.failures += missed(name, n_atoms, resident)
    figure.data = {"program_bytes": program, "runs": runs}
    figure.tables.append(memory_table(runs))
    figure.notes.append(
        f"{chosen} ranks × threads, cut-off {cutoff:g} Å, {steps} steps from a start that is still hot. Resident at "
        f"the peak: of whole processes, less the {program / 1e6:.0f} MB that a run takes of whatever size (libraries "
        f"and their tables: the peak of a run of {systems.N_ATOMS['water3k']:,} atoms less what its engine holds); at "
        f"most {MOST_BYTES_PER_ATOM} B/atom is promised from {LARGE:,} atoms on. Owners: as the engine counts at the "
        "end."
    )
    figure.finish(common)


def memory_table(runs: list[dict[str, Any]]) -> str:
    header = ["B/atom", *(f"{systems.TITLES[run['system']]}, {run['n_atoms']:,} atoms" for run in runs)]
    rows: list[list[Any]] = [[owner, *(run["by_owner"][owner] for run in runs)] for owner in runs[0]["by_owner"]]
    rows.append(["all that the engine holds", *(run["held_bytes_per_atom"] for run in runs)])
    rows.append(["**resident at the peak**", *(run["resident_bytes_per_atom"] for run in runs)])
    rows.append(["whole processes, MB", *(run["peak_bytes"] / 1e6 for run in runs)])
    return table(header, rows)
