"""Measures what it costs to be ready for a failure, and to be watched: the time of a step with the black box, and of a
run that a page and a program follow, over that without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import click

from bench.common import engine, systems
from bench.common.options import Common, script
from bench.common.process import ENVIRONMENT
from bench.common.results import above, table
from tessera.system import read
from tests.support.programs import free_port

MOST_WATCHED = 1.005
#: what a run has beside the one before it, and what is promised of the time of a step over that one's
KINDS: dict[str, float | None] = {"neither": None, "black box": None, "black box, watched": MOST_WATCHED}
IMD_EVERY = 10  # steps


def missed(times: Mapping[str, float]) -> list[str]:
    """Names what makes a step longer than promised, of the times of a step of each kind."""
    return above(ratios(times), KINDS)


def ratios(times: Mapping[str, float]) -> dict[str, float]:
    """Returns the time of each kind over that of the kind before it."""
    kinds = list(times)
    return {kind: times[kind] / times[before] for before, kind in pairwise(kinds)}


@contextmanager
def followed(folder: Path, port: int, n_atoms: int, counts: dict[str, int]) -> Iterator[None]:
    """Follows the run that is to begin in a folder, by its page and by IMD, and counts what came. Raises ClickException
    where nothing did."""
    environment = {**os.environ, **ENVIRONMENT}
    words = [sys.executable, "-m", "tessera", "watch", str(folder), "--web"]
    # That it is ended, the page would say to standard error.
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment) as page:
        assert page.stdout is not None
        address = page.stdout.readline().strip()
        words = [sys.executable, "-m", "bench.md.follower", address, str(port), str(n_atoms)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as follower:
            try:
                yield
                said, _ = follower.communicate(timeout=60)
            finally:
                follower.kill()
                page.terminate()
    found = json.loads(said or "{}")
    if not found.get("frames") or not found.get("answers"):
        raise click.ClickException(f"nothing followed the run in {folder}: {found}")
    for what, n in found.items():
        counts[what] = counts.get(what, 0) + n


@script(check="being watched costs more than promised", steps=3000, repeats=10, steps_help="Steps of each run.")
@click.option("--system", "name", type=click.Choice(systems.NAMES), default="dhfr", show_default=True)
@click.option("--layout", default="2x1", show_default=True, help="RANKSxTHREADS.")
@click.option("--mpi", default="openmpi", show_default=True, help="MPI of several ranks.")
@click.option("--cutoff", default=12.0, show_default=True, help="Å.")
def watching(common: Common, name: str, layout: str, mpi: str, cutoff: float, steps: int, repeats: int) -> None:
    """Measure the time of a step with the black box, and watched: by `tessera watch --web`, whose page asks each
    second, and by a program that speaks IMD, each ten steps. Both run on the cores of the run.

    \b
    Examples:
      python -m bench.md watching --data DATA
      python -m bench.md watching --steps 300 --repeats 3
    """
    figure = common.figure("watching", "Watched runs")
    path, chosen = systems.system(common, name), engine.Layout.parse(layout, mpi)
    n_atoms, plain = read(path).n_atoms, engine.without_frames(cutoff, steps)
    turns: dict[str, list[float]] = {kind: [] for kind in KINDS}
    counts: dict[str, int] = {}
    for turn in range(repeats):
        for kind in KINDS:
            folder, output = common.work / "runs" / "watching", {"black_box": kind != "neither"}
            if kind != "black box, watched":
                done = engine.run(path, engine.merge(plain, {"output": output}), folder, chosen)
            else:
                port = free_port()
                settings: engine.Settings = {"output": {**output, "imd": port, "imd_every": IMD_EVERY}}
                with followed(folder / "output", port, n_atoms, counts):
                    done = engine.run(path, engine.merge(plain, settings), folder, chosen)
            figure.versions.update(done.versions())
            turns[kind].append(done.report["ms_per_step"])
            common.say(f"{turn + 1}/{repeats} {kind}: {turns[kind][-1]:.4g} ms/step")
    times = {kind: median(found) for kind, found in turns.items()}
    rows: list[list[Any]] = [
        [
            kind,
            times[kind],
            f"{ratio:.4f}" if (ratio := ratios(times).get(kind)) else None,
            f"{most:g}" if most else None,
        ]
        for kind, most in KINDS.items()
    ]
    figure.tables.append(table([systems.TITLES[name], "ms/step", "over the row above", "promised"], rows))
    figure.notes.append(
        f"Medians of {repeats} runs of each kind, which took turns, on {chosen} ranks × threads. Who watched them got "
        f"{counts['answers']:,} answers for the page and {counts['frames']:,} frames by IMD."
    )
    figure.data = {"ms_per_step": turns, "followed": counts}
    figure.failures += missed(times)
    figure.finish(common)
