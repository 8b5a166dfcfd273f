"""Measures collectives on emulated clusters, Tessera's and the MPI library's own, relative to the wires' least
times."""

from __future__ import annotations

import datetime
import sys
from collections import Counter
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import click

from bench.cluster import measured
from bench.cluster.bounds import OPERATIONS, Bound, bound, processors_bound
from bench.cluster.emulated import (
    LIBRARIES,
    Job,
    check_place,
    file_options,
    places,
    take_priority,
    trial_options,
    version_of,
)
from bench.cluster.measured import Timing, title
from bench.cluster.plot import draw
from bench.common.options import Common
from bench.common.results import ROOT, Figure, commit, machine, number, table
from tests.cluster import launch
from tests.cluster import spec as cluster_spec

NAMES = [operation.name for operation in OPERATIONS]
PIECES = ROOT / "bench" / "cluster" / "pieces"
EVERYTHING = (*measured.TARGETS, *measured.UNTUNED)
ENTRIES = ("auto", "native", "predicted")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--spec", "names", multiple=True, help="Network; repeatable; default: all with a promise, and those not tuned for."
)
@click.option(
    "--operation",
    "chosen",
    multiple=True,
    type=click.Choice([o.name for o in OPERATIONS]),
    help="Repeatable; default: all.",
)
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
@click.option("--check", is_flag=True, help="End with status 1 where a promise is not kept.")
@click.option("--kept", is_flag=True, help="Measure nothing; make the tables from earlier runs.")
@click.option(
    "--pieces",
    type=click.Path(path_type=Path, file_okay=False),
    default=PIECES,
    help="Folder of the runs' results; default: bench/cluster/pieces.",
)
@trial_options
@file_options
def collectives(
    names: tuple[str, ...],
    chosen: tuple[str, ...],
    mpis: tuple[str, ...],
    shuffle: int | None,
    map_file: Path | None,
    measure: bool,
    repeats: int,
    check: bool,
    kept: bool,
    pieces: Path,
    tune: bool,
    candidates: int,
    timeout: float,
    work: Path,
    results: Path,
    docs: bool,
    as_json: bool,
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
    common = Common(work.resolve(), results.resolve(), None, as_json, docs)
    if not kept:
        if map_file and len(names) != 1:
            raise click.UsageError("--map is of one network; name it with --spec")
        check_place()
        take_priority()
        trials = candidates if tune else 0
        for name in names or EVERYTHING:
            campaign(
                common, pieces, name, chosen, mpis or launch.MPIS, shuffle, map_file, measure, repeats, trials, timeout
            )
    timings = measured.kept(pieces)
    if not timings:
        raise click.ClickException(f"nothing was measured yet in {pieces}")
    figure = figure_of(timings)
    draw(timings, (ROOT / "docs" / "images" if common.docs else common.results) / "collectives.png")
    figure.write(common.results, as_json=common.as_json, docs=common.docs)
    figure.failures += measured.missing(timings, names or EVERYTHING) if check else []
    if figure.failures and check:
        click.echo("\n".join(figure.failures), err=True)
        sys.exit(1)


def campaign(
    common: Common,
    pieces: Path,
    name: str,
    chosen: tuple[str, ...],
    mpis: tuple[str, ...],
    shuffle: int | None,
    map_file: Path | None,
    measure: bool,
    repeats: int,
    candidates: int,
    timeout: float,
) -> None:
    """Measures all operations on one network, under each MPI. After a failure, says so and continues with the rest."""
    spec = cluster_spec.read(name)
    here = machine()
    where = f"{here['processor']}, {here['cores']} cores, {datetime.date.today()}, commit {commit()}"
    with launch.cluster_of(spec) as cluster:
        for mpi in mpis:
            job = Job(spec, cluster, mpi, places(spec, shuffle), timeout)
            found = job.find_map(common, map_file, again=measure)
            for operation in OPERATIONS:
                if chosen and operation.name not in chosen:
                    continue
                try:
                    said = job.compare(
                        common, operation, found, ENTRIES, shuffle=shuffle, candidates=candidates, repeats=repeats
                    )
                except click.ClickException as error:
                    common.say(f"{title(spec.name, shuffle)}, {operation.name}, {mpi} failed: {error.message}")
                    continue
                least = bound(spec, operation, root=job.order[0])
                work = processors_bound(spec, operation, found, root=job.order[0])
                timing = timing_of(job, operation.name, shuffle, said, least, work, where)
                measured.keep(pieces, [timing])
                common.say(line_of(timing))


def timing_of(
    job: Job,
    name: str,
    shuffle: int | None,
    said: dict[str, Any],
    least: Bound | None,
    processors: Bound | None,
    where: str,
) -> Timing:
    ours, library, predicted = said["entries"]
    return Timing(
        spec=job.spec.name,
        ranks=said["ranks"],
        shuffle=shuffle,
        mpi=job.mpi,
        operation=name,
        bound=least.seconds if least else None,
        ours=ours["times"],
        library=library["times"],
        plan=ours["plan"],
        predicted=ours.get("predicted"),
        version=version_of(said["library"]),
        untried=predicted["times"],
        untried_plan=predicted["plan"],
        processors=processors.seconds if processors else None,
        where=where,
    )


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
    figure.notes += [f"Failed: {text}." for text in figure.failures]
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
    header = ["network", "operation", "under", "bound, ms", "with processors", "ours, ms", "over", "promised"]
    return table(
        [
            *header,
            "over both",
            "library, ms",
            "over",
            "library / ours",
            "at least",
            "plan",
            "by the model alone, ms",
            "plan",
        ],
        [
            [
                title(one.spec, one.shuffle),
                one.operation,
                LIBRARIES[one.mpi],
                one.bound and one.bound * 1e3,
                one.reachable and one.reachable * 1e3,
                one.seconds * 1e3,
                one.over_bound,
                f"≤ {one.target:.3g}" if one.target else "–",
                one.over_reachable,
                one.library_seconds * 1e3,
                one.library_over_bound,
                one.gain,
                one.least_gain,
                one.plan,
                one.untried_seconds and one.untried_seconds * 1e3,
                one.untried_plan,
            ]
            for one in timings
        ],
    )


if __name__ == "__main__":
    collectives()
