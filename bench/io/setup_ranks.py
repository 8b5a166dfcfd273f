"""Measures time and memory of `tessera make` by processes and by MPI ranks, which must write the same bytes."""

from __future__ import annotations

import hashlib
import json
import shutil
from statistics import median
from typing import Any

import click

from bench.common import systems
from bench.common.options import Common, common_options
from bench.common.results import Figure, table

GIGABYTES = 2.0  # of memory of a process, promised


def means(n: int) -> dict[str, list[str]]:
    """Returns the options of each way to make a system by n workers, and by one."""
    return {
        "1 process": ["--processes", "1"],
        f"{n} processes": ["--processes", str(n)],
        f"{n} ranks, Open MPI": ["-n", str(n), "--mpi", "openmpi"],
        f"{n} ranks, MPICH": ["-n", str(n), "--mpi", "mpich"],
    }


def missed(n_contents: int, peak_bytes: int) -> list[str]:
    """Says that not all ways write the same bytes, and that a process takes more memory than promised."""
    found = [] if n_contents == 1 else ["the files differ"]
    if not peak_bytes <= GIGABYTES * 1e9:
        found.append(f"a process took {peak_bytes / 1e9:.2f} GB, promised ≤ {GIGABYTES:g}")
    return found


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--ions", default=20_000_000, show_default=True, type=int, help="Ions of the crystal.")
@click.option("--ranks", default=2, show_default=True, type=click.IntRange(1), help="Ranks, and processes.")
@click.option("--check", is_flag=True, help="End with status 1 where memory is above the promise.")
@common_options(repeats=3)
def setup_ranks(common: Common, ions: int, ranks: int, check: bool, repeats: int) -> None:
    """Measure `tessera make nacl` by one process, several, and ranks under both MPIs, in turn.

    Fails where any of them writes other bytes.

    \b
    Examples:
      python -m bench.io setup-ranks --check --docs
      python -m bench.io setup-ranks --ions 1000000 --ranks 4 --repeats 1
    """
    figure = Figure("setup_ranks", "Making a system on ranks", {"ions": ions, "ranks": ranks, "repeats": repeats}, {})
    folder = common.work / "setup_ranks"
    seconds: dict[str, list[float]] = {name: [] for name in means(ranks)}
    largest: dict[str, int] = dict.fromkeys(seconds, 0)
    hashes = set()
    for turn in range(repeats):
        for name, options in means(ranks).items():
            shutil.rmtree(folder, ignore_errors=True)
            path = folder / "nacl.tsr"
            made = systems.tessera(["make", "nacl", "--ions", str(ions), *options, "-o", str(path), "--json"], folder)
            seconds[name].append(made.wall_seconds)
            largest[name] = max(largest[name], json.loads(made.stdout)["memory"]["peak_bytes"])
            with path.open("rb") as file:
                hashes.add(hashlib.file_digest(file, "sha256").hexdigest())
        common.say(f"{turn + 1}/{repeats}")
    shutil.rmtree(folder, ignore_errors=True)
    rows: list[list[Any]] = [[name, median(times), largest[name] / 1e6] for name, times in seconds.items()]
    figure.data["seconds"], figure.data["peak_bytes"] = seconds, largest
    figure.tables.append(table(["", "s", "peak memory of a process, MB"], rows))
    figure.notes.append(f"`tessera make nacl --ions {ions}`; medians of {repeats} turn{'s' if repeats > 1 else ''}.")
    figure.failures += missed(len(hashes), max(largest.values()))
    figure.finish(common, check=check)
