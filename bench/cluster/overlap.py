"""Measures how far messages of stencils progress while ranks compute, on emulated clusters whose hosts have a core
each, and on one host.

    python -m bench.cluster.overlap [--network duo-1000] [--check] [--docs]

Each time is taken with and without: messages alone, both with each batch after the other, and both together, by
`tessera.grid.trial`, as `tessera grid bench` does. What is left when both go together is set beside what the model
predicts where all is hidden, and with the overlap that was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

import click

from bench.cluster.emulated import LIBRARIES, Job, take_machine, timeout_option
from bench.cluster.stencils import joined, measure
from bench.common.options import Common, script
from bench.common.results import table
from tessera.grid import bench
from tessera.grid.bench import Request
from tests.cluster import launch
from tests.cluster import spec as cluster_spec

NETWORKS = ("duo-100",)
STARTS = 4
#: Grids cut into two boxes with faces of 32² points: from little computing beside their messages to much.
SHAPES = ((1024, 32, 32), (3072, 32, 32), (6144, 32, 32))
FLAT = (24, 96, 96)  # on one host, where messages are quick
GRIDS, APPROACHES, BATCHES = 12, ("flat-optimized",), (1, 4)

LEAST = 0.5  # promised of the overlap between hosts, where messages and computing take as long within a factor of 4
NEAR = 4.0


@dataclass(frozen=True)
class Row:
    """What a configuration takes, s of all fields. `trial`: the overlap that an operator measures to choose by;
    `predicted`: with the overlap measured here; `hidden`: where all messages progress."""

    where: str
    mpi: str
    shape: tuple[int, int, int]
    batch: int
    messages: float
    apart: float
    together: float
    overlap: float | None
    trial: float
    measured: float
    predicted: float
    hidden: float

    @property
    def computing(self) -> float:
        return self.apart - self.messages

    def cells(self) -> list[object]:
        overlap = "can't be told" if self.overlap is None else f"{self.overlap:.0%}"
        times = (self.messages, self.computing, self.apart, self.together)
        return [self.where, LIBRARIES[self.mpi], "×".join(map(str, self.shape)), self.batch, *(1e3 * s for s in times),
                overlap, f"{self.trial:.0%}", self.apart / self.together, self.predicted / self.measured,
                self.hidden / self.measured]  # fmt: skip


HEADER = ["network", "MPI", "grid", "batch", "messages, ms", "computing, ms", "one after the other, ms", "together, ms",
          "overlap", "by an operator's trial", "gain", "predicted / measured", "where all overlaps"]  # fmt: skip


def request_of(shape: tuple[int, int, int], mpi: str, repeats: int, **more: Any) -> Request:
    return Request(shape, GRIDS, "float64", 4, (2,), (1,), APPROACHES, BATCHES, (0,), repeats, mpi, **more)


def rows_of(where: str, mpi: str, request: Request, found: dict[str, Any]) -> list[Row]:
    """Returns a row for each trial of a job of two ranks in which messages were timed."""
    job = bench.judged(request, 2, 1, found)
    hidden = bench.predictions(request, 2, 1, job["trials"], {**job["rates"], "overlap": 1.0})
    return [
        Row(where, mpi, request.shape, one["batch"], one["messages"], min(one["apart"]), min(one["together"]),
            one["overlap"], job["rates"]["overlap"], one["median"], one["predicted"], all_hidden)
        for one, all_hidden in zip(job["trials"], hidden)
        if one["exchange"]
    ]  # fmt: skip


def broken_promises(rows: list[Row]) -> list[str]:
    """Returns where less is hidden between hosts than promised, and where that can't be told though it should be."""
    between = [one for one in rows if one.where != "one host"]
    judged = [one for one in between if 1 / NEAR <= one.messages / max(one.computing, 1e-9) <= NEAR]
    if not judged:
        return ["nothing was measured where messages and computing take about as long"]
    broken = []
    for row in judged:
        if row.overlap is None or row.overlap < LEAST:
            found = "can't be told" if row.overlap is None else f"is {row.overlap:.0%}"
            broken.append(
                f"{row.where}, {LIBRARIES[row.mpi]}, {'×'.join(map(str, row.shape))}, batch {row.batch}: the overlap "
                f"{found}, promised {LEAST:.0%}"
            )
    return broken


def conclusions(rows: list[Row]) -> list[str]:
    """Says in words what the rows between hosts show: what each size of batches hides and gains, and how near the
    model's times are to those measured."""
    between = [one for one in rows if one.where != "one host"]
    found = []
    for batch in dict.fromkeys(one.batch for one in between):
        its = [one for one in between if one.batch == batch]
        told = [one.overlap for one in its if one.overlap is not None]
        if told:
            found.append(
                f"Between hosts batches of {batch} hide {median(told):.0%} (median of {len(told)}) of what could be "
                f"hidden, and both together take up to {max(one.apart / one.together for one in its):.2g} times less."
            )
    if between:
        with_overlap, all_hidden = (
            median(abs(time / one.measured - 1) for one, time in pairs)
            for pairs in ([(one, one.predicted) for one in between], [(one, one.hidden) for one in between])
        )
        found.append(
            f"The model is off by {with_overlap:.0%} (median) with the measured overlap, by {all_hidden:.0%} where all "
            "is taken to overlap."
        )
    if len(between) < len(rows):
        found.append(
            "On one host times are near a millisecond or disturbed by other work, and an operator makes no trial, as "
            "its ranks share memory: it takes 100 %."
        )
    return found


@script(check="a promise is not kept")
@click.option(
    "--network", "networks", multiple=True, default=NETWORKS, show_default=True, help="Of tests/cluster/specs."
)
@click.option("--mpi", "mpis", multiple=True, type=click.Choice(launch.MPIS), default=launch.MPIS, show_default=True)
@click.option("--repeats", type=click.IntRange(1), default=6, show_default=True, help="Turns; the least times count.")
@timeout_option
def overlap(common: Common, networks: tuple[str, ...], mpis: tuple[str, ...], repeats: int, timeout: float) -> None:
    """Measure the overlap of messages and computing for 12 grids on two ranks."""
    take_machine()
    figure = common.figure("grid_overlap", "Messages behind computing")
    rows: list[Row] = []
    for name in networks:
        spec = cluster_spec.read(name)
        with launch.cluster_of(spec) as cluster:
            for mpi in mpis:
                job = Job(spec, cluster, mpi, launch.host_by_host(spec), timeout, nap=0)
                map_file = job.find_map(common, None)
                for shape in SHAPES:
                    request = request_of(shape, mpi, repeats, machine=map_file)
                    common.say(f"{name}, {LIBRARIES[mpi]}, {shape}")
                    rows += rows_of(name, mpi, request, joined([measure(job, 1, request) for _ in range(STARTS)]))
    for mpi in mpis:
        request = request_of(FLAT, mpi, repeats, shared_memory=False)
        common.say(f"one host, {LIBRARIES[mpi]}")
        rows += rows_of("one host", mpi, request, joined([bench.started(request, 2, 1)]))
    figure.tables = [table(HEADER, [row.cells() for row in rows])]
    figure.data = {"rows": [vars(row) for row in rows]}
    figure.notes = [
        f"{GRIDS} grids, flat-optimized on two ranks; the least times of {STARTS} starts of {repeats} turns. "
        f"Packing is left out of all times but the measured one, to which predictions are set in relation."
    ]
    figure.notes.append(" ".join(conclusions(rows)))
    figure.failures = broken_promises(rows)
    figure.finish(common)


if __name__ == "__main__":
    overlap()
