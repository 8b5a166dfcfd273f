"""Compares GPAW's operators, transformers, Poisson solvers and runs with those of tessera.gpaw in one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from statistics import median

import click

from bench.common.options import Common, script
from bench.common.process import on_ranks
from bench.common.results import table

OPERATIONS = ("stencil", "restriction", "interpolation", "preconditioner", "relaxation", "poisson-fast", "poisson-fd")
#: On one field of real numbers.
OF_ONE_FIELD = ("relaxation", "poisson-fast", "poisson-fd")
SYSTEMS = ("water", "silicon")
SIZES = (64, 96, 144, 192)
BATCHES = (1, 8, 32)

Times = Mapping[str, Sequence[float]]


def ratio(times: Times) -> float:
    """Returns the ratio of GPAW's median time to Tessera's."""
    return median(times["GPAW"]) / median(times["Tessera"])


def gibibytes(operation: str, dtype: str, n: int, fields: int) -> float:
    """Returns about how much memory a measurement needs."""
    arrays = {"preconditioner": 4, "poisson-fast": 10, "poisson-fd": 8}.get(operation, 2)
    return arrays * n**3 * fields * (16 if dtype == "complex" else 8) / 2**30


def cases(operations: Sequence[str], sizes: Sequence[int], batches: Sequence[int], memory: float) -> list[list[str]]:
    """Returns the words of each measurement: operation, numbers, points of an edge, fields."""
    return [
        [operation, dtype, str(n), str(fields)]
        for operation in operations
        for dtype in (("float",) if operation in OF_ONE_FIELD else ("float", "complex"))
        for n in sizes
        for fields in ((1,) if operation in OF_ONE_FIELD else batches)
        if gibibytes(operation, dtype, n, fields) <= memory
    ]


def measured(common: Common, ranks: int, words: Sequence[str], repeats: int) -> Times:
    backend = {"GPAW_MPI_BACKEND": "cgpaw"} if ranks > 1 else {}
    found: Times = on_ranks(ranks, "bench.grid.gpaw_child", *words, repeats, OPENBLAS_NUM_THREADS="1", **backend)
    common.say(f"{ranks} ranks, {' '.join(words)}: {ratio(found):.2f}")
    return found


@script(repeats=7)
@click.option("--ranks", "rank_counts", multiple=True, type=int, help="Repeatable; default: 1 and 2.")
@click.option(
    "--operation", "operations", multiple=True, type=click.Choice(OPERATIONS), help="Repeatable; default: all."
)
@click.option("--size", "sizes", multiple=True, type=int, help="Points of an edge. Repeatable; default: 64 … 192.")
@click.option("--batch", "batches", multiple=True, type=int, help="Fields. Repeatable; default: 1, 8, 32.")
@click.option("--system", "systems", multiple=True, type=click.Choice([*SYSTEMS, "none"]), help="Default: all.")
@click.option("--memory", default=6.0, show_default=True, help="GiB that one measurement may need.")
def gpaw(
    common: Common,
    rank_counts: tuple[int, ...],
    operations: tuple[str, ...],
    sizes: tuple[int, ...],
    batches: tuple[int, ...],
    systems: tuple[str, ...],
    memory: float,
    repeats: int,
) -> None:
    """Measure GPAW's operators, Poisson solvers and whole runs with and without Tessera.

    It needs GPAW: `scripts/setup --gpaw`.

    \b
    Examples:
      python -m bench.grid gpaw
      python -m bench.grid gpaw --operation stencil --size 64 --batch 8 --system none
    """
    if find_spec("_gpaw") is None:
        raise click.ClickException("GPAW is not installed: scripts/setup --gpaw")
    figure = common.figure("gpaw", "Under GPAW", {"GPAW": version("gpaw")})
    rows = []
    for ranks in rank_counts or (1, 2):
        for words in cases(operations or OPERATIONS, sizes or SIZES, batches or BATCHES, memory):
            times = measured(common, ranks, ["operation", *words], repeats)
            operation, dtype, n, fields = words
            figure.data[f"{ranks} ranks, {' '.join(words)}"] = times
            in_ms = [1e3 * median(times[name]) for name in ("GPAW", "Tessera")]
            rows.append([ranks, operation, dtype, f"{n}³", int(fields), *in_ms, ratio(times)])
    figure.tables.append(table(["ranks", "operation", "numbers", "grid", "fields", "GPAW, ms", "Tessera, ms",
                                "times the speed"], rows))  # fmt: skip
    runs = []
    for ranks in rank_counts or (1, 2):
        for system in systems or SYSTEMS:
            if system == "none":
                continue
            times = measured(common, ranks, ["run", system], max(2, repeats // 2))
            figure.data[f"{ranks} ranks, run of {system}"] = times
            runs.append([ranks, system, *(median(times[name]) for name in ("GPAW", "Tessera")), ratio(times)])
    if runs:
        figure.tables.append(table(["ranks", "run", "GPAW, s", "Tessera, s", "times the speed"], runs))
    figure.finish(common)
