"""Measures Tables 3, 6 and 7 of Lowekamp and Beguelin (1995) on similar networks: Tessera's choice beside star, k-ary
trees, ring and butterfly."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import click

from bench.cluster.bounds import VECTOR, Operation, bound
from bench.cluster.emulated import LIBRARIES, Job, places, take_machine, timeout_option, trial_options, version_of
from bench.common.options import Common, script
from bench.common.results import Figure, number, table
from tests.cluster import launch
from tests.cluster import spec as cluster_spec

OURS, PREDICTED = "auto", "predicted"
STAR, RING = "star:order=ranks", "ring:order=ranks"
TWO, THREE, FOUR = (f"k_ary:degree={degree}:order=ranks" for degree in (2, 3, 4))
BUTTERFLY, BUTTERFLY_OF_BROADCAST = "recursive_halving:order=ranks", "binomial:order=ranks"
PATTERNS = {  # by their names in the paper: whole messages in the order of ranks, which knows nothing of the network
    OURS: "Tessera",
    PREDICTED: "Tessera, by the model alone",
    STAR: "star",
    TWO: "tree (k=2)",
    THREE: "tree (k=3)",
    FOUR: "tree (k=4)",
    RING: "ring",
    BUTTERFLY: "butterfly",
    BUTTERFLY_OF_BROADCAST: "butterfly",
    "native": "MPI library",
}
SHORT = Operation("bcast-16k", "broadcast", "broadcast", 16_000)
LONG = Operation("bcast-1m", "broadcast", "broadcast", 1_000_000)
SUM = Operation("allreduce", "all_reduce", "all_reduce", VECTOR // 10)
GATHER = Operation("allgatherv", "all_gather", "all_gatherv", VECTOR // 10)


@dataclass(frozen=True)
class Table:
    """A table of the paper: its network, the operations that are measured there, and the patterns."""

    network: str
    operations: tuple[Operation, ...]
    patterns: tuple[str, ...]
    slack: float  # greatest ratio of Tessera's time to the fastest other pattern's

    def entries(self, operation: Operation) -> list[str]:
        butterfly = BUTTERFLY_OF_BROADCAST if operation.kind == "broadcast" else BUTTERFLY
        found = [butterfly if name == BUTTERFLY else name for name in self.patterns]
        return [OURS, PREDICTED, *found, "native"]


NOISE = 1.05  # of times on these networks
TABLES = {
    3: Table("eco-three-segments", (SHORT,), (STAR, TWO, THREE), 1.0),
    6: Table("eco-switched", (SHORT, LONG, SUM, GATHER), (TWO, THREE, BUTTERFLY), NOISE),
    # After a trial Tessera may choose one of these patterns.
    7: Table("eco-table7", (SHORT, SUM, GATHER), (STAR, FOUR, RING, BUTTERFLY), NOISE),
}


@script(check="another pattern is faster")
@click.option("--table", "numbers", multiple=True, type=click.Choice([str(n) for n in TABLES]), help="Default: all.")
@click.option("--mpi", type=click.Choice(launch.MPIS), default="openmpi", show_default=True)
@click.option("--shuffle", type=int, metavar="SEED", help="Scatter ranks over hosts.")
@click.option("--map", "map_file", type=click.Path(path_type=Path, exists=True), help="Use this map; default: measure.")
@click.option(
    "--repeats",
    type=click.IntRange(2),
    default=7,
    show_default=True,
    help="Repeats of each; twenty times as many of short operations.",
)
@trial_options
@timeout_option
def patterns(
    common: Common,
    numbers: tuple[str, ...],
    mpi: str,
    shuffle: int | None,
    map_file: Path | None,
    repeats: int,
    tune: bool,
    candidates: int,
    timeout: float,
) -> None:
    """Measure broadcast, all-reduce and all-gather by the patterns of Lowekamp and Beguelin (1995) on emulations of
    their networks.

    Patterns take turns. The paper measured applications in tables 6 and 7; this script measures the operations that
    they use, on vectors of 130 kB. Tessera's choice is made after a trial, which is stored in the map
    (WORK/maps/tuned); the model's choice without a trial takes turns with it.

    \b
    Examples:
      python -m bench.cluster.patterns --table 3 --repeats 20
      python -m bench.cluster.patterns --check --docs
    """
    chosen = [int(number) for number in numbers] or list(TABLES)
    if map_file and len(chosen) != 1:
        raise click.UsageError("--map is of one network; choose its --table")
    take_machine()
    figure = common.figure("patterns", "Patterns of Lowekamp and Beguelin (1995)")
    for number_of in chosen:
        one = TABLES[number_of]
        spec = cluster_spec.read(one.network)
        with launch.cluster_of(spec) as cluster:
            job = Job(spec, cluster, mpi, places(spec, shuffle), timeout)
            found = job.find_map(common, map_file)
            for operation in one.operations:
                common.say(f"{spec.name}: {operation.name}")
                said = job.compare(
                    common,
                    operation,
                    found,
                    one.entries(operation),
                    shuffle=shuffle,
                    candidates=candidates if tune else 0,
                    repeats=repeats,
                )
                figure.versions[LIBRARIES[mpi]] = version_of(said["library"])
                least = bound(spec, operation, root=job.order[0])
                add(figure, number_of, operation, said, least.seconds if least else None)
    figure.notes.append(
        "Times in ms. Tessera cuts messages into pieces, the patterns send them whole; the least time says what the "
        "pattern can do, as in the paper. Tessera: after a trial of what the model promises most of."
    )
    figure.finish(common)


def add(figure: Figure, number_of: int, operation: Operation, said: dict[str, Any], least: float | None) -> None:
    """Adds a table, and a failure where Tessera is not the fastest. A pattern that can't do the operation has no
    row."""
    one = TABLES[number_of]
    rows, typical = [], {}
    for found in said["entries"]:
        name, times = PATTERNS[found["entry"]], [1e3 * seconds for seconds in found["times"]]
        if found["plan"] == "native" and found["entry"] not in (OURS, PREDICTED, "native"):
            continue
        typical[name] = median(times)
        over = min(times) / (least * 1e3) if least else None
        rows.append([name, mean(times), stdev(times), median(times), min(times), over, found["plan"]])
    figure.data.setdefault("tables", []).append({"table": number_of, "network": one.network, **said})
    figure.tables.append(
        f"**Table {number_of}**: {operation.name} of {operation.bytes:,} bytes on {one.network}\n\n"
        + table(["pattern", "mean", "standard deviation", "median", "least", "least / bound", "plan"], rows)
    )
    ours = typical.pop(PATTERNS[OURS])
    typical.pop(PATTERNS[PREDICTED])
    if not typical:
        figure.failures.append(f"table {number_of}, {operation.name}: there is nothing to compare with")
        return
    best = min(typical, key=lambda name: typical[name])
    if ours > one.slack * typical[best]:
        figure.failures.append(
            f"table {number_of}, {operation.name}: {number(ours)} ms, {best} takes {number(typical[best])} ms"
        )


if __name__ == "__main__":
    patterns()
