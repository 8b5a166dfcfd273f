"""Measures time and memory of making system files of up to a million atoms."""

from __future__ import annotations

import functools
from collections.abc import Callable
from statistics import median
from typing import Any

import click

from bench.common import engine, systems
from bench.common.options import Common, script
from bench.common.process import Outcome
from bench.common.results import table


@script(steps=0, repeats=3, steps_help="Steps to run of the million atoms, for the engine's memory; 0: none.")
@click.option("--layout", default="1x2", show_default=True, help="RANKSxTHREADS of the run with --steps.")
def prepare(common: Common, layout: str, steps: int, repeats: int) -> None:
    """Measure time and memory of `tessera prepare` for ApoA1 and of `tessera replicate` to 1,106,688 atoms.

    \b
    Examples:
      python -m bench.io prepare --data DATA
      python -m bench.io prepare --data DATA --steps 10 --repeats 1 --json
    """
    figure = common.figure("million", "Making system files")
    where = engine.Layout.parse(layout, "openmpi")
    folder = common.work / "million"
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[list[Any]] = []

    def record(what: str, name: str, outcomes: list[Outcome], size: int | None) -> None:
        n_atoms = systems.N_ATOMS[name]
        seconds = median(outcome.wall_seconds for outcome in outcomes)
        peak = max(outcome.peak_bytes for outcome in outcomes)
        rows.append([what, n_atoms, seconds, peak / 1e6, peak / n_atoms, None if size is None else size / 1e6])
        figure.data[what] = {
            "n_atoms": n_atoms,
            "seconds": [outcome.wall_seconds for outcome in outcomes],
            "peak_bytes": peak,
            "file_bytes": size,
        }

    systems.system(common, "apoa1")
    for what, name in (("prepare dhfr", "dhfr"), ("prepare apoa1", "apoa1"), ("replicate 2 × 2 × 3", "apoa1_1m")):
        output = folder / f"{name}.tsr"
        arguments = systems.prepare_arguments(name, common, output)
        outcomes = repeat(common, what, repeats, functools.partial(systems.tessera, arguments, folder))
        record(what, name, outcomes, output.stat().st_size)
    if steps:
        run = engine.run(
            folder / "apoa1_1m.tsr",
            engine.without_frames(12.0, steps),
            common.work / "runs" / "million",
            where,
        )
        figure.versions.update(run.versions())
        record(f"run {steps} steps, {where}", "apoa1_1m", [run.outcome], None)
        figure.data["ms_per_step"] = run.report["ms_per_step"]
        figure.notes.append(f"The run took {run.report['ms_per_step']:.4g} ms a step.")
    figure.tables.append(table(["command", "atoms", "s", "peak memory, MB", "B/atom", "file, MB"], rows))
    figure.finish(common)


def repeat(common: Common, what: str, repeats: int, start: Callable[[], Outcome]) -> list[Outcome]:
    outcomes = []
    for turn in range(repeats):
        outcomes.append(start())
        common.say(f"{turn + 1}/{repeats} {what}: {outcomes[-1].wall_seconds:.3g} s")
    return outcomes
