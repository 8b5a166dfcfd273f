"""How near a Laplacian comes to the rate at which the cores move memory, and what halos cost on ranks."""

from __future__ import annotations

from statistics import median

import click
import numpy as np

from bench.common import limits
from bench.common.options import Common, script
from bench.common.process import on_ranks
from bench.common.results import table

# Points along an edge and fields.
CASES = ((192, 1), (144, 4), (96, 8), (96, 32), (64, 8), (64, 32))
DTYPES = ("float64", "float32", "complex128")
PROMISED_SHARE = 0.8  # of the triad's rate: float64, 144³ and 192³, two threads
PROMISED_FLOAT = 1.9  # times as fast as double precision there
PROMISED_HALO = 1.1  # times the time on two ranks over that of two threads, from 144³ on


def seconds(ranks: int, threads: int, words: tuple[object, ...]) -> float:
    """Returns the median time of a call."""
    return median(on_ranks(ranks, "bench.grid.stencil_child", *words, threads, 9, OPENBLAS_NUM_THREADS="1"))


def missed(n: int, share: float, halo: float, gain: float) -> list[str]:
    """Says what a grid of n³ points does not keep: its share of the triad's rate, the time of two ranks over that of
    two threads, and the gain of single precision."""
    found = []
    if not share >= PROMISED_SHARE:
        found.append(f"{n}³ has {share:.0%} of the triad's rate, promised are {PROMISED_SHARE:.0%}")
    if not halo <= PROMISED_HALO:
        found.append(f"{n}³ takes two ranks {halo:.2f} times as long, promised are {PROMISED_HALO:g}")
    if not gain >= PROMISED_FLOAT:
        found.append(f"{n}³ in float32 is {gain:.2f} times as fast, promised are {PROMISED_FLOAT:g}")
    return found if n >= 144 else []


@script(check="a promise is not kept", repeats=5)
@click.option("--order", type=click.Choice(["2", "4", "6", "8"]), default="4", show_default=True)
def stencil(common: Common, order: str, repeats: int) -> None:
    """Measure million points/s on two cores, beside STREAM's triad in the same turns.

    A point counts as one read and one write. The triad has plain stores and counts three arrays.

    \b
    Examples:
      python -m bench.grid stencil --check --docs
      python -m bench.grid stencil --order 8 --repeats 1
    """
    triads: list[float] = []
    times: dict[tuple[int, int, str, int], list[float]] = {}
    for _ in range(repeats):
        for n, fields in CASES:
            limits.measured.cache_clear()
            triads.append(limits.triad(common, 2, 3 * 8 * 2 * 192**3))
            for dtype in DTYPES:
                for ranks in (1, 2) if dtype == "float64" else (1,):
                    one = seconds(ranks, 2 if ranks == 1 else 1, (n, fields, dtype, order))
                    times.setdefault((n, fields, dtype, ranks), []).append(one / fields)
    triad = median(triads)
    figure = common.figure("stencil", "Stencils")
    figure.data = {"triad": triads, "seconds": {" ".join(map(str, case)): of for case, of in times.items()}}
    rows: list[list[object]] = []
    for n, fields in CASES:
        for dtype in DTYPES:
            taken = median(times[n, fields, dtype, 1])
            bytes_moved = 2 * np.dtype(dtype).itemsize * n**3
            share = bytes_moved / taken / triad
            on_ranks = "–"
            if dtype == "float64":
                halo = median(b / a for a, b in zip(times[n, fields, dtype, 1], times[n, fields, dtype, 2]))
                on_ranks = f"{halo:.2f}"
                gain = taken / median(times[n, fields, "float32", 1])
                figure.failures += missed(n, share, halo, gain)
            rows.append(
                [f"{n}³", fields, dtype, 1e3 * taken, n**3 / taken / 1e6, bytes_moved / taken / 1e9, share, on_ranks]
            )
    header = ["points", "fields", "dtype", "ms a field", "million points/s", "GB/s", "of the triad", "two ranks' time"]
    figure.tables.append(table(header, rows))
    figure.notes.append(
        f"STREAM's triad moves {triad / 1e9:.1f} GB/s with plain stores, three arrays counted (medians of {repeats} "
        "turns). Two threads of one rank; the last column: two ranks of one thread over the time of two threads."
    )
    figure.finish(common)
