"""Runs the largest system that fits: 20 million atoms of water with PME in 20 GB of memory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import click

from bench.common import engine, systems
from bench.common.options import Common, script
from bench.common.results import above, number, table
from bench.md.memory import MOST_BYTES_PER_ATOM

GIGABYTES = 20.0  # of memory of all processes, promised


def free_bytes() -> int:
    """Returns the memory that programs can still take."""
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return 1024 * int(lines["MemAvailable"].split()[0])


def missed(peak_bytes: float) -> list[str]:
    """Says that the run takes more memory than promised."""
    return above({"GB of memory": peak_bytes / 1e9}, {"GB of memory": GIGABYTES})


@script(of_runs=True, check="the run takes more memory than promised", steps=10, steps_help="Steps of the run.")
@click.option("--atoms", default=20_400_000, show_default=True, type=click.IntRange(3), help="Of water.")
def largest(common: Common, atoms: int, layout: str, mpi: str, cutoff: float, steps: int) -> None:
    """Make a system of water, run it with PME, and tell memory and times of all of it.

    It does not start where less memory is free than the run should take.

    \b
    Examples:
      python -m bench.md largest --check --docs
      python -m bench.md largest --atoms 300000 --steps 20
    """
    chosen = engine.Layout.parse(layout, mpi)
    need = MOST_BYTES_PER_ATOM * atoms
    if free_bytes() < need:
        raise click.ClickException(f"{free_bytes() / 1e9:.1f} GB of memory are free, the run may take {need / 1e9:.1f}")
    folder = common.work / "largest"
    shutil.rmtree(folder, ignore_errors=True)
    system = folder / "water.tsr"
    try:
        made = systems.tessera(["make", "water", "--atoms", str(atoms), "-o", str(system), "--json"], folder)
        common.say(f"made in {made.wall_seconds:.3g} s")
        settings = engine.without_frames(cutoff, steps)
        done = engine.run(system, settings, folder / "run", chosen)
        sizes = [path.stat().st_size for path in (system, done.folder / "checkpoint.tck")]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report, peak = done.report, done.outcome.peak_bytes
    made_bytes = json.loads(made.stdout)["memory"]["peak_bytes"]
    in_steps = report["wall_seconds"]
    figure = common.figure("largest", "The largest system that runs", done.versions())
    figure.data = {
        "n_atoms": report["n_atoms"],
        "make_seconds": made.wall_seconds,
        "make_peak_bytes": made_bytes,
        "run_seconds": done.outcome.wall_seconds,
        "steps_seconds": in_steps,
        "peak_bytes": peak,
        "by_owner": report["memory"]["by_owner"],
        "file_bytes": sizes,
    }
    rows = [
        [f"`tessera make water --atoms {atoms}`", made.wall_seconds, made_bytes / 1e9, sizes[0] / 1e9],
        [f"`tessera run`, {steps} steps", done.outcome.wall_seconds, peak / 1e9, sizes[1] / 1e9],
    ]
    figure.tables.append(table(["", "s", "peak memory, GB", "file, GB"], rows))
    n_atoms = report["n_atoms"]
    figure.notes.append(
        f"{n_atoms:,} atoms with PME and a cut-off of {cutoff:g} Å, {chosen} ranks × threads. Its steps took "
        f"{number(in_steps)} s ({number(in_steps / steps)} s each), the start, a checkpoint and the report the rest. "
        f"At the peak it had {number(peak / n_atoms)} bytes an atom, at most {GIGABYTES:g} GB in all are promised."
    )
    figure.failures += missed(peak)
    figure.finish(common)
