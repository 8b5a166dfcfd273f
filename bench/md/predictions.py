"""Measures how near `tessera explain` comes: the time of a step, memory and start-up that it predicts, beside runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import click

from bench.common import engine, systems
from bench.common.options import Common, script
from bench.common.results import table

#: how far a prediction may be from what is observed, as a part of that
MOST = {"time of a step": 0.20, "memory of a rank": 0.15}
LAYOUTS = ("1x1", "1x2", "2x1")
SYSTEMS = ("water3k", "dhfr", "water24k", "apoa1")
#: steps of each run, less of large systems
ATOM_STEPS = 25_000_000


@dataclass(frozen=True)
class Found:
    """Milliseconds a step, megabytes of the largest rank, and seconds before the first step."""

    milliseconds: float
    megabytes: float
    start: float

    @classmethod
    def median(cls, all_found: list[Found]) -> Found:
        return cls(
            *(median(getattr(one, name) for one in all_found) for name in ("milliseconds", "megabytes", "start"))
        )


def missed(ratios: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Names the predictions that are further from what was observed than promised, of ratios of the two by case and by
    what is predicted."""
    return [
        f"{case}, {what}: predicted {ratio:.2f} of what was observed, promised within {MOST[what]:.0%}"
        for case, its_ratios in ratios.items()
        for what, ratio in its_ratios.items()
        if abs(ratio - 1) > MOST[what]
    ]


def observed(done: engine.Run) -> Found:
    """Returns what a run took; its start is all but its steps."""
    report = done.report
    return Found(
        report["ms_per_step"],
        report["memory"]["peak_bytes_of_the_largest_rank"] / 1e6,
        done.outcome.wall_seconds - report["wall_seconds"],
    )


def predicted(done: engine.Run, layout: engine.Layout) -> Found:
    """Returns what `tessera explain` says of a run, without looking at it."""
    words = ["explain", "run.toml", "-n", str(layout.ranks), "-t", str(layout.threads), "--json"]
    said = json.loads(systems.tessera(words, done.folder.parent).stdout)["predicted"]
    return Found(said["ms_per_step"], said["peak_megabytes_a_rank"], said["start_seconds"])


@script(check="predictions are further off than promised", repeats=3)
@click.option("--system", "names", multiple=True, type=click.Choice(systems.NAMES), default=SYSTEMS, show_default=True)
@click.option(
    "--layout", "layouts", multiple=True, default=LAYOUTS, show_default=True, help="RANKSxTHREADS; repeatable."
)
@click.option("--mpi", default="openmpi", show_default=True, help="MPI of several ranks.")
@click.option("--cutoff", "cutoffs", multiple=True, type=float, default=(9.0, 12.0), show_default=True, help="Å.")
def predictions(
    common: Common, names: tuple[str, ...], layouts: tuple[str, ...], mpi: str, cutoffs: tuple[float, ...], repeats: int
) -> None:
    """Measure the time of a step, the memory of a rank and the start-up that `tessera explain` predicts, beside those
    of runs. It was fitted to none of them: it measures steps on as many threads as the run has, and plans the rest.

    \b
    Examples:
      python -m bench.md predictions --data DATA --check --docs
      python -m bench.md predictions --system dhfr --layout 2x1 --repeats 1
    """
    figure = common.figure("predictions", "Predictions beside runs")
    cases = [(name, cutoff, layout) for name in names for cutoff in cutoffs for layout in layouts]
    told: dict[tuple[str, float, str], list[Found]] = {case: [] for case in cases}
    seen: dict[tuple[str, float, str], list[Found]] = {case: [] for case in cases}
    for turn in range(repeats):
        for name, cutoff, text in cases:
            path, layout = systems.system(common, name), engine.Layout.parse(text, mpi)
            steps = max(40, ATOM_STEPS // systems.N_ATOMS[name])
            folder = common.work / "runs" / "predictions"
            done = engine.run(path, engine.without_frames(cutoff, steps), folder, layout)
            figure.versions.update(done.versions())
            seen[name, cutoff, text].append(observed(done))
            told[name, cutoff, text].append(predicted(done, layout))
            common.say(
                f"{turn + 1}/{repeats} {name} {cutoff:g} Å {layout}: predicted {told[name, cutoff, text][-1]}, "
                f"observed {seen[name, cutoff, text][-1]}"
            )
    ratios: dict[str, dict[str, float]] = {}
    rows: list[list[Any]] = []
    for name, cutoff, text in cases:
        one, other = Found.median(told[name, cutoff, text]), Found.median(seen[name, cutoff, text])
        case = f"{systems.TITLES[name]}, {systems.N_ATOMS[name]:,} atoms, {cutoff:g} Å, {text.replace('x', ' × ')}"
        ratios[case] = dict(
            zip(MOST, (one.milliseconds / other.milliseconds, one.megabytes / other.megabytes), strict=True)
        )
        by_time, by_memory = ratios[case].values()
        times = [one.milliseconds, other.milliseconds, f"{by_time:.2f}"]
        rows.append([case, *times, one.megabytes, other.megabytes, f"{by_memory:.2f}", one.start, other.start])
    header = ["system, cut-off, ranks × threads", "ms a step, predicted", "observed", "ratio"]
    header += ["MB of a rank, predicted", "observed", "ratio", "s to start, predicted", "observed"]
    figure.tables.append(table(header, rows))
    near = sum(abs(one["time of a step"] - 1) <= MOST["time of a step"] for one in ratios.values())
    figure.notes.append(
        f"Medians of {repeats} runs and predictions, which took turns. The time of a step is predicted within "
        f"{MOST['time of a step']:.0%} in {near} of {len(ratios)} cases. Observed starts are those of the whole "
        "command with its launcher, predicted ones those of the engine."
    )
    figure.data = {"ratios": ratios}
    figure.failures += missed(ratios)
    figure.finish(common)
