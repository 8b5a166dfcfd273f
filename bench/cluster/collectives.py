"""Measures collectives on emulated clusters, Tessera's and the MPI library's own, relative to the wires' least
times."""

from __future__ import annotations

import datetime
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import click

from bench.cluster import measured
from bench.cluster.bounds import OPERATIONS, bound, processors_bound
from bench.cluster.emulated import LIBRARIES, Job, places, take_machine, timeout_option, trial_options, version_of
from bench.cluster.measured import Timing, title
from bench.cluster.plot import draw
from bench.common.options import FOLDER, Common, script
from bench.common.results import ROOT, Figure, commit, machine, number, table
from tests.cluster import launch
from tests.cluster import spec as cluster_spec

NAMES = [operation.name for operation in OPERATIONS]
PIECES = ROOT / "bench" / "cluster" / "pieces"
EVERYTHING = (*measured.TARGETS, *measured.UNTUNED)
ENTRIES = ("auto", "native", "predicted")


@script(check="a promise is not kept")
@click.option(
    "--spec", "names", multiple=True, help="Network; repeatable; default: all with a promise, and those not tuned for."
)
@click.option("--operation", "chosen", multiple=True, type=click.Choice(NAMES), help="Repeatable; default: all.")
@click.option("--mpi", "mpis", multiple=True, type=click.Choice(launch.MPIS), help="Repeatable; default: both.")
@click.option("--shuffle", type=int, metavar="SEED", help="Scatter ranks over hosts, as a batch system does.")
@click.option("--map", "map_file", type=click.Path(path_type=Path, exists=True), help="Use this map; default: measure.")
@click.option("--measure", is_flag=True, help="Measure the map again where there is one from an earlier run.")
@click.option(
    "--repeats",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Repeats of each; twenty times as many of short operations.",
)
@click.option("--kept", is_flag=True, help="Measure nothing; make the tables from earlier runs.")
@click.option("--pieces", type=FOLDER, default=PIECES, help="Folder of results by run; default: bench/cluster/pieces.")
@trial_options
@timeout_option
def collectives(
    common: Common,
    names: tuple[str, ...],
    chosen: tuple[str, ...],
    mpis: tuple[str, ...],
    shuffle: int | None,
    map_file: Path | None,
    measure: bool,
    repeats: int,
    kept: bool,
    pieces: Path,
    tune: bool,
    candidates: int,
    timeout: float,
) -> None:
    """Measure broadcast, all-reduce and others on emulated clusters, Tessera's choice and the MPI library's in turn.

    The results of each network, order and MPI stay in PIECES. The tables contain all results in that folder, so a long
    campaign can be done network by network.

    \b
    Examples:
      python -m bench.cluster.collectives --spec crow8-pairs --mpi openmpi --repeats 3
      python -m bench.cluster.collectives --spec fat-and-slow --operation allreduce --shuffle 1
      python -m bench.cluster.collectives --kept --check --docs
    """
    if not kept:
        if map_file and len(names) != 1:
            raise click.UsageError("--map is of one network; name it with --spec")
        take_machine()
        for spec in map(cluster_spec.read, names or EVERYTHING):
            with launch.cluster_of(spec) as cluster:
                for mpi in mpis or launch.MPIS:
                    job = Job(spec, cluster, mpi, places(spec, shuffle), timeout)
                    found = job.find_map(common, map_file, again=measure)
                    trials = {"shuffle": shuffle, "candidates": candidates if tune else 0, "repeats": repeats}
                    campaign(common, pieces, job, found, chosen or NAMES, trials)
    timings = measured.kept(pieces)
    if not timings:
        raise click.ClickException(f"nothing was measured yet in {pieces}")
    figure = figure_of(timings)
    draw(timings, (ROOT / "docs" / "images" if common.docs else common.results) / "collectives.png")
    figure.write(common.results, as_json=common.as_json, docs=common.docs)
    figure.failures += measured.missing(timings, names or EVERYTHING) if common.check else []
    if figure.failures and common.check:
        click.echo("\n".join(figure.failures), err=True)
        sys.exit(1)


def campaign(
    common: Common, pieces: Path, job: Job, map_file: Path, chosen: Sequence[str], trials: dict[str, Any]
) -> None:
    """Measures operations on one network under one MPI. After a failure, says so and continues with the rest."""
    here, shuffle = machine(), trials["shuffle"]
    where = f"{here['processor']}, {here['cores']} cores, {datetime.date.today()}, commit {commit()}"
    for operation in (one for one in OPERATIONS if one.name in chosen):
        try:
            said = job.compare(common, operation, map_file, ENTRIES, **trials)
        except click.ClickException as error:
            common.say(f"{title(job.spec.name, shuffle)}, {operation.name}, {job.mpi} failed: {error.message}")
            continue
        least = bound(job.spec, operation, root=job.order[0])
        work = processors_bound(job.spec, operation, map_file, root=job.order[0])
        ours, library, predicted = said["entries"]
        timing = Timing(
            spec=job.spec.name,
            ranks=said["ranks"],
            shuffle=shuffle,
            mpi=job.mpi,
            operation=operation.name,
            bound=least.seconds if least else None,
            ours=ours["times"],
            library=library["times"],
            plan=ours["plan"],
            predicted=ours.get("predicted"),
            version=version_of(said["library"]),
            untried=predicted["times"],
            untried_plan=predicted["plan"],
            processors=work.seconds if work else None,
            where=where,
        )
        measured.keep(pieces, [timing])
        common.say(line_of(timing))


def line_of(one: Timing) -> str:
    """Prints progress to standard error."""
    over = f", {one.over_bound:.2f} times the bound" if one.over_bound else ""
    return (
        f"{title(one.spec, one.shuffle)}, {one.operation}, {LIBRARIES[one.mpi]}: {number(one.seconds * 1e3)} ms{over}, "
        f"the library {number(one.library_seconds * 1e3)} ms; {one.plan}"
    )


def figure_of(timings: list[Timing]) -> Figure:
    """Makes the tables and failures of all measurements."""
    figure = Figure(
        "collectives",
        "Collectives on emulated clusters",
        {"networks": sorted({one.spec for one in timings})},
        {LIBRARIES[one.mpi]: one.version for one in timings},
    )
    figure.data["timings"] = [
        {**vars(one), "over_bound": one.over_bound, "gain": one.gain, "least_gain": one.least_gain} for one in timings
    ]
    figure.tables.append(summary(timings))
    figure.tables.append(details(timings))
    figure.notes.append(
        "Times over the least that the wires allow, medians of turns; ours, and in brackets the better of the two "
        'libraries by themselves. "With processors" is the larger of that and of what the processors that hosts share '
        "need for it by the map. Ours is the choice after a trial of what the model promises most of; what the model "
        "alone would have chosen took turns with it (the last columns; where they are empty, ours is that). Of "
        "barriers and of 16 kB the least time counts, in ms."
    )
    if gains := measured.untuned_gains(timings):
        figure.notes.append(
            f"On networks that nobody tuned for: {number(geometric_mean(gains.values()))} times as fast as Open MPI "
            f"(geometric mean of {len(gains)}), {number(min(gains.values()))} to {number(max(gains.values()))}."
        )
    places = Counter(one.where for one in timings)
    figure.notes.append("Measured on " + "; ".join(f"{where} ({n})" for where, n in places.most_common()) + ".")
    figure.failures = measured.broken_promises(timings)
    figure.note_failures()
    return figure


def summary(timings: list[Timing]) -> str:
    """Returns a table with a row for each network and order: Tessera under each MPI (and the better library)."""
    jobs = measured.same_job(timings)
    rows = []
    for spec, shuffle in dict.fromkeys((one.spec, one.shuffle) for one in timings):
        ranks = next(one.ranks for one in timings if one.spec == spec)
        cells: list[str] = []
        for operation in OPERATIONS:
            both = jobs.get((spec, shuffle, operation.name), [])
            scale = 1e3 if operation.is_short or not both or not both[0].bound else 1 / both[0].bound
            ours = " / ".join(number(one.seconds * scale) for one in both)
            cells.append(f"{ours} ({number(min(one.library_seconds for one in both) * scale)})" if both else "–")
        rows.append([f"{title(spec, shuffle)} ({ranks})", *cells])
    mpis = " / ".join(LIBRARIES[mpi] for mpi in sorted({one.mpi for one in timings}))
    units = [f"{o.name}, ms" if o.is_short else o.name for o in OPERATIONS]
    return table([f"network (ranks); under {mpis}", *units], rows)


def details(timings: list[Timing]) -> str:
    cells: list[tuple[str, Callable[[Timing], Any]]] = [
        ("network", lambda one: title(one.spec, one.shuffle)),
        ("operation", lambda one: one.operation),
        ("under", lambda one: LIBRARIES[one.mpi]),
        ("bound, ms", lambda one: one.bound and one.bound * 1e3),
        ("with processors", lambda one: one.reachable and one.reachable * 1e3),
        ("ours, ms", lambda one: one.seconds * 1e3),
        ("over", lambda one: one.over_bound),
        ("promised", lambda one: f"≤ {one.target:.3g}" if one.target else "–"),
        ("over both", lambda one: one.over_reachable),
        ("library, ms", lambda one: one.library_seconds * 1e3),
        ("over", lambda one: one.library_over_bound),
        ("library / ours", lambda one: one.gain),
        ("at least", lambda one: one.least_gain),
        ("plan", lambda one: one.plan),
        ("by the model alone, ms", lambda one: one.untried_seconds and one.untried_seconds * 1e3),
        ("plan", lambda one: one.untried_plan),
    ]
    return table([name for name, _ in cells], [[cell(one) for _, cell in cells] for one in timings])


if __name__ == "__main__":
    collectives()
