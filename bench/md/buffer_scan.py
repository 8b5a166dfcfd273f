"""Measures the time of a step by the buffer of the pair list and the greatest number of steps between searches."""

from __future__ import annotations

from statistics import median
from typing import Any

import click

from bench.common import engine, systems
from bench.common.options import Common, common_options, run_options
from bench.common.results import Figure, number, table


def numbers(text: str) -> list[float]:
    """Reads a list of numbers: `0.8,1,1.2`."""
    try:
        return [float(word) for word in text.split(",") if word.strip()]
    except ValueError:
        raise click.UsageError(f"{text!r}: numbers with commas between them are needed") from None


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--system", "names", multiple=True, type=click.Choice(systems.NAMES), help="Repeatable; default: dhfr and apoa1."
)
@click.option("--buffers", default="1.2,1.8,2.4,2.8,3.2", show_default=True, help="parallel.buffer, Å.")
@click.option("--every", default="20,40", show_default=True, help="parallel.pair_search_every.")
@run_options
@common_options(steps=120, repeats=2, steps_help="Steps of each run; several times the greatest of --every.")
def buffer_scan(
    common: Common,
    names: tuple[str, ...],
    buffers: str,
    every: str,
    layout: str,
    mpi: str,
    cutoff: float,
    steps: int,
    repeats: int,
) -> None:
    """Measure milliseconds a step for each buffer and each number of steps between searches.

    The engine searches earlier where atoms have moved by half the buffer, so a large number leaves the choice to it.

    \b
    Examples:
      python -m bench.md.buffer_scan --data DATA
      python -m bench.md.buffer_scan --system dhfr --buffers 1.2,1.8 --every 10,40 --steps 40 --repeats 1
    """
    if steps < 1:
        raise click.UsageError("--steps: at least 1")
    where = engine.Layout.parse(layout, mpi)
    widths, periods = numbers(buffers), [int(n) for n in numbers(every)]
    figure = Figure(
        "buffer_scan",
        "Buffer of the pair list",
        {"steps": steps, "repeats": repeats, "layout": str(where), "cutoff": cutoff},
        {},
    )
    figure.data["points"] = []
    for name in names or ("dhfr", "apoa1"):
        points = scan(common, figure, name, widths, periods, where, cutoff, steps, repeats)
        figure.data["points"] += points
        by_place = {(p["buffer"], p["every"]): p for p in points}
        rows = [[f"{width:g}", *(cell(by_place[width, period]) for period in periods)] for width in widths]
        best = min((p for p in points if p["ms_per_step"] is not None), key=lambda p: p["ms_per_step"], default=None)
        figure.tables.append(table([f"{systems.TITLES[name]}: buffer, Å", *(f"every {n}" for n in periods)], rows))
        if best:
            figure.notes.append(
                f"{systems.TITLES[name]}: fastest at buffer {best['buffer']:g} Å, every {best['every']}: "
                f"{number(best['ms_per_step'])} ms/step, a search every {best['steps_per_search']:.3g} steps."
            )
    figure.notes.insert(
        0, "Milliseconds a step, in brackets steps from one search to the next; a dash: the run failed."
    )
    figure.write(common.results, as_json=common.as_json, docs=common.docs)


def cell(point: dict[str, Any]) -> str:
    if point["ms_per_step"] is None:
        return "–"
    return f"{number(point['ms_per_step'])} ({point['steps_per_search']:.3g})"


def scan(
    common: Common,
    figure: Figure,
    name: str,
    widths: list[float],
    periods: list[int],
    layout: engine.Layout,
    cutoff: float,
    steps: int,
    repeats: int,
) -> list[dict[str, Any]]:
    """Returns one point for each pair of values. The whole grid is run before the next repeat."""
    times: dict[tuple[float, int], list[float]] = {}
    points: dict[tuple[float, int], dict[str, Any]] = {}
    for turn in range(repeats):
        for width in widths:
            for period in periods:
                settings = engine.merge(
                    engine.interactions(cutoff),
                    {
                        "dynamics": {"steps": steps},
                        "output": {"trajectory": "none"},
                        "parallel": {"buffer": width, "pair_search_every": period},
                    },
                )
                point = points.setdefault(
                    (width, period),
                    {"system": name, "buffer": width, "every": period, "ms_per_step": None, "error": None},
                )
                try:
                    done = engine.run(systems.system(common, name), settings, common.work / "runs" / "scan", layout)
                except click.ClickException as error:
                    point["error"] = error.message
                    common.say(f"{name} buffer {width:g} every {period}: {error.message.splitlines()[-1]}")
                    continue
                figure.versions.update(done.versions())
                results = done.report["results"]
                times.setdefault((width, period), []).append(done.report["ms_per_step"])
                point["ms_per_step"] = median(times[width, period])
                point["all_repeats_ms"] = times[width, period]
                point["steps_per_search"] = steps / max(1, results["pair_searches"])
                point["pairs_evaluated"] = results["pairs_evaluated"]
                common.say(
                    f"{turn + 1}/{repeats} {name} buffer {width:g} Å every {period}: "
                    f"{done.report['ms_per_step']:.3g} ms/step"
                )
    return list(points.values())


if __name__ == "__main__":
    buffer_scan()
