"""Runs programs that know nothing of Tessera on emulated clusters whose ranks are scattered over hosts, with and
without the library that `tessera mpi` preloads, and compares wall times and results.

    python -m bench.cluster.programs [--network three-levels] [--program LAMMPS] [--check] [--docs]
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import geometric_mean, median

import click

from bench.cluster.emulated import LIBRARIES, Job, here, places, take_machine, timeout_option
from bench.cluster.programs.cases import PROGRAMS, Program, named
from bench.cluster.report import Report
from bench.common.options import Common, script
from bench.common.results import ROOT, Figure, table
from tests.cluster import launch
from tests.cluster import spec as cluster_spec
from tests.support.programs import LIBRARIES as FILES

PIECES = ROOT / "bench" / "cluster" / "pieces" / "programs"
NETWORKS = ("fat-and-slow", "three-rates", "three-levels")
SHUFFLE = 1  # seed of the places of the ranks
MEAN, LEAST = 1.2, 0.95  # promised of the gains: their geometric mean, and each
MOST_CHOOSING = 0.01  # of the wall time


@dataclass(frozen=True)
class Timing:
    """Wall times of a program on a network, s, without and with the library in turns."""

    network: str
    ranks: int
    mpi: str
    program: str
    without: list[float]
    preloaded: list[float]
    same: bool  # whether all results are those of the first run without the library
    results: list[str]  # of that run
    report: Report  # of the last run with the library
    where: str  # machine, load, instruction set, day and commit

    @property
    def gain(self) -> float:
        return median(self.without) / median(self.preloaded)

    @property
    def choosing(self) -> float:
        """The share of the wall time in which rank 0 chose."""
        return (self.report.choosing or 0.0) / median(self.preloaded)

    @property
    def name(self) -> str:
        return f"{self.program} on {self.network}, {LIBRARIES[self.mpi]}"


def run(job: Job, commands: Sequence[Sequence[str]], folder: Path, variables: dict[str, str]) -> tuple[float, str, str]:
    """Runs a program to its end; returns its wall time, s, from the start of the launcher, and what it wrote to its two
    streams. Its commands run in its folder."""
    seconds, out, error = 0.0, "", ""
    for words in commands:
        begin = time.monotonic()
        done = job.start(*words, folder=folder, variables=variables)
        seconds += time.monotonic() - begin
        out, error = out + done.stdout, error + done.stderr
    return seconds, out, error


def measure(common: Common, job: Job, program: Program, map_file: Path, rounds: int) -> Timing:
    """Runs a program without and with the library in turns."""
    folder = common.work / "programs" / f"{program.name}.{job.mpi}".replace(" ", "-")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    commands = program.prepare(folder)
    own = {"MPI4PY_LIBMPI": FILES[job.mpi], "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    times: dict[bool, list[float]] = {False: [], True: []}
    expected: list[str] = []
    same, report = True, Report()
    for _ in range(rounds):
        for preloads in (False, True):
            seconds, out, error = run(job, commands, folder, own | (job.preload(map_file) if preloads else {}))
            results = program.results_of(out)
            expected = expected or results
            same = same and program.agree(results, expected)
            times[preloads].append(seconds)
            if preloads:
                report = Report.read(error)
            common.say(f"{program.name}, {LIBRARIES[job.mpi]}, {'with' if preloads else 'without'}: {seconds:.1f} s")
    return Timing(
        job.spec.name, len(job.order), job.mpi, program.name, times[False], times[True], same, expected, report, here()
    )


def kept(folder: Path) -> list[Timing]:
    """Returns all measurements, by program in the order of their table, then by network."""
    found = []
    for path in folder.glob("*.json"):
        values = json.loads(path.read_text())
        found.append(Timing(**{**values, "report": Report(**values["report"])}))
    names = [one.name for one in PROGRAMS]
    return sorted(found, key=lambda one: (names.index(one.program), one.mpi, one.network))


def broken_promises(timings: Sequence[Timing]) -> list[str]:
    """Returns a sentence for each broken promise."""
    broken = [f"{one.name}: other results with the library" for one in timings if not one.same]
    broken += [f"{one.name}: the library took no call" for one in timings if one.report.taken == 0]
    broken += [f"{one.name}: gain {one.gain:.3g}, promised ≥ {LEAST}" for one in timings if not one.gain >= LEAST]
    for one in timings:
        if not one.choosing <= MOST_CHOOSING:
            broken.append(f"{one.name}: choosing took {one.choosing:.2%} of the time, promised ≤ {MOST_CHOOSING:.0%}")
    if timings and not (mean := geometric_mean(one.gain for one in timings)) >= MEAN:
        broken.append(f"geometric mean of the gains {mean:.3g}, promised ≥ {MEAN}")
    return broken


def figure_of(common: Common, timings: Sequence[Timing]) -> Figure:
    """Makes the table, and the notes from its numbers."""
    figure = common.figure("programs", "Programs unchanged, on emulated clusters")
    figure.data["timings"] = [asdict(one) for one in timings]
    rows: list[list[object]] = []
    for one in timings:
        without, preloaded = median(one.without), median(one.preloaded)
        results = "the same bits" if named(one.program).tolerance == 0 else "within the tolerance"
        rows.append([
            one.program, f"{one.network} ({one.ranks})", LIBRARIES[one.mpi], without, preloaded, one.gain,
            f"{min(a / b for a, b in zip(one.without, one.preloaded)):.3g}–"
            f"{max(a / b for a, b in zip(one.without, one.preloaded)):.3g}",
            one.report.taken, one.report.left, f"{one.choosing:.2%}",
            results if one.same else "**differ**",
        ])  # fmt: skip
    figure.tables.append(
        table(["program", "network (ranks)", "MPI", "without, s", "with, s", "gain", "by turns", "calls taken",
               "calls left", "choosing", "results"], rows)
    )  # fmt: skip
    turns = sorted({len(one.without) for one in timings})
    figure.notes += [
        f"Geometric mean of the gains: {geometric_mean(one.gain for one in timings):.3g} ({len(timings)} rows), "
        f"{min(one.gain for one in timings):.3g} to {max(one.gain for one in timings):.3g}. Medians of "
        f"turns ({' or '.join(map(str, turns))}) of wall times, from the start of the launcher to its end, which takes "
        "seconds itself; calls between hosts, and choosing, are those of rank 0. Ranks are scattered over the slots.",
        "Programs: " + "; ".join(f"{one.name}, {one.about}" for one in PROGRAMS) + ".",
    ]
    tolerant = {name: named(name).tolerance for name in dict.fromkeys(one.program for one in timings)}
    loose = [f"{name} {tolerance:g}" for name, tolerance in tolerant.items() if tolerance]
    if loose:
        figure.notes.append(
            f"Energies are sums of rounded numbers; they differ at most by, relatively: {', '.join(loose)}."
        )
    places_of_runs = dict.fromkeys(one.where for one in timings)
    figure.notes.append("Measured on " + "; ".join(places_of_runs) + ".")
    figure.failures += broken_promises(timings)
    return figure


@script(check="a promise is not kept, or a program is missing")
@click.option(
    "--network", "networks", multiple=True, default=NETWORKS, show_default=True, help="Of tests/cluster/specs."
)
@click.option(
    "--program", "chosen", multiple=True, type=click.Choice([one.name for one in PROGRAMS]),
    help="Repeatable; default: all.",
)  # fmt: skip
@click.option("--mpi", "mpis", multiple=True, type=click.Choice(launch.MPIS), default=launch.MPIS, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Turns without and with.")
@click.option("--kept", "only_kept", is_flag=True, help="Measure nothing; make the tables from earlier runs.")
@timeout_option
def programs(
    common: Common,
    networks: tuple[str, ...],
    chosen: tuple[str, ...],
    mpis: tuple[str, ...],
    rounds: int,
    only_kept: bool,
    timeout: float,
) -> None:
    """Run programs of others, unchanged, with and without the library that `tessera mpi` preloads, in turns. The
    results of each program, network and MPI stay in bench/cluster/pieces/programs.

    \b
    Examples:
      python -m bench.cluster.programs --network three-levels --program LAMMPS --rounds 1
      python -m bench.cluster.programs --kept --check --docs
    """
    wanted = [one for one in PROGRAMS if not chosen or one.name in chosen]
    missing = {} if only_kept else {one.name: why for one in wanted if (why := one.missing())}
    for name, why in missing.items():
        common.say(f"{name} is left out: {why}")
    if not only_kept:
        take_machine()
        PIECES.mkdir(parents=True, exist_ok=True)
        for name in networks:
            spec = cluster_spec.read(name)
            with launch.cluster_of(spec) as cluster:
                for mpi in mpis:
                    map_file = Job(spec, cluster, mpi, launch.host_by_host(spec), timeout).find_map(common, None)
                    job = Job(spec, cluster, mpi, places(spec, SHUFFLE), timeout)
                    for program in wanted:
                        if mpi in program.mpis and program.name not in missing:
                            one = measure(common, job, program, map_file, rounds)
                            path = PIECES / f"{name}.{program.name.replace(' ', '-')}.{mpi}.json"
                            path.write_text(json.dumps(asdict(one)) + "\n")
    timings = kept(PIECES)
    if not timings:
        raise click.ClickException(f"nothing was measured yet in {PIECES}")
    figure = figure_of(common, timings)
    measured = {one.program for one in timings}
    figure.failures += [f"{name} is left out: {why}" for name, why in missing.items()]
    figure.failures += [f"{one.name} was not measured" for one in wanted if one.name not in measured | missing.keys()]
    figure.finish(common)


if __name__ == "__main__":
    programs()
