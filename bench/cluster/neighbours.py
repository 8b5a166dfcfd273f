"""Measures what programs gain that let MPI renumber the ranks of a grid or a graph, with the library that `tessera mpi`
preloads, on emulated clusters whose ranks are scattered over hosts.

    python -m bench.cluster.neighbours [--network crow8-pairs] [--check] [--docs]

In each job exchanges between neighbours take turns: ranks as they are numbered, and ranks along the map.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import geometric_mean, median

import click

from bench.cluster.emulated import LIBRARIES, Job, places, take_machine, timeout_option
from bench.common.options import Common, script
from bench.common.results import table
from tests.cluster import launch
from tests.cluster import spec as cluster_spec
from tests.support.programs import LIBRARIES as FILES

NETWORKS = ("crow8-pairs", "crow8-100+1000", "three-levels")
GRIDS = {24: (6, 4), 32: (8, 4)}  # by number of ranks
BYTES = 65_536  # to each neighbour
LEAST = 1.2  # promised of each gain


@script(check="a promise is not kept")
@click.option(
    "--network", "networks", multiple=True, default=NETWORKS, show_default=True, help="Of tests/cluster/specs."
)
@click.option("--mpi", "mpis", multiple=True, type=click.Choice(launch.MPIS), default=launch.MPIS, show_default=True)
@click.option("--repeats", type=click.IntRange(1), default=8, show_default=True, help="Turns.")
@timeout_option
def neighbours(
    common: Common,
    networks: tuple[str, ...],
    mpis: tuple[str, ...],
    repeats: int,
    timeout: float,
) -> None:
    """Measure exchanges between neighbours whose ranks are numbered along the map."""
    take_machine()
    figure = common.figure("neighbours", "Neighbours in grids and graphs of processes")
    rows: list[list[object]] = []
    gains: list[float] = []
    for name in networks:
        spec = cluster_spec.read(name)
        with launch.cluster_of(spec) as cluster:
            map_file = Job(spec, cluster, mpis[0], launch.host_by_host(spec), timeout).find_map(common, None)
            for mpi in mpis:
                job = Job(spec, cluster, mpi, places(spec, 1), timeout)
                common.say(f"{name}, {LIBRARIES[mpi]}")
                found = exchange(job, map_file, repeats)
                figure.data[f"{name}.{mpi}"] = found
                for kind, times in found.items():
                    numbered, anew = median(times["numbered"]), median(times["anew"])
                    gains.append(numbered / anew)
                    grid = "×".join(map(str, GRIDS[len(job.order)]))
                    rows.append([name, LIBRARIES[mpi], f"{kind}, {grid}", 1e3 * numbered, 1e3 * anew, gains[-1]])
    figure.tables = [
        table(["network", "MPI", "periodic", "ranks as numbered, ms", "ranks along the map, ms", "gain"], rows)
    ]
    figure.notes = [
        f"{BYTES:,} bytes to each of four neighbours (`MPI_Neighbor_alltoall`), medians of {repeats} turns; ranks are "
        f"scattered over the slots. Geometric mean of the gains: {geometric_mean(gains):.3g}."
    ]
    figure.failures = [f"{' '.join(map(str, row[:3]))}: gain {row[-1]:.3g}, promised ≥ {LEAST}"
                       for row, gain in zip(rows, gains) if not gain >= LEAST]  # fmt: skip
    figure.finish(common)


def exchange(job: Job, map_file: Path, turns: int) -> dict[str, dict[str, list[float]]]:
    """Returns the times (s) of exchange.py with the library that is preloaded."""
    ours = {**job.preload(map_file), "MPI4PY_LIBMPI": FILES[job.mpi]}
    words = map(str, [*GRIDS[len(job.order)], BYTES, turns])
    done = job.start(sys.executable, Path(__file__).with_name("exchange.py"), *words, variables=ours)
    return dict(json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{"))))


if __name__ == "__main__":
    neighbours()
