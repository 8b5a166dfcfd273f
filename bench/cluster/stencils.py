"""Times stencils on emulated clusters by approach and batch, and compares them with what the cost model predicts from
the measured map.

    python -m bench.cluster.stencils [--network crow8-100] [--docs]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from bench.cluster.emulated import LIBRARIES, Job, check_place, file_options, take_priority
from bench.common.options import Common
from bench.common.results import Figure, table
from tessera.grid import approaches
from tessera.grid.bench import Request, judged
from tests.cluster import launch
from tests.cluster import spec as cluster_spec
from tests.cluster.spec import Spec

NETWORKS = ("crow8-100", "crow8-1000", "fat-and-slow")
SHAPE, GRIDS = (48, 48, 48), 32


def jobs_of(spec: Spec) -> list[tuple[list[str], int, tuple[str, ...]]]:
    """Returns host of each rank, threads and approaches of each job: flat ones with a rank for each slot and, where all
    hosts have as many slots, hybrid ones with a rank for each host."""
    flat = tuple(name for name in approaches() if not name.startswith("hybrid"))
    hybrid = tuple(name for name in approaches() if name.startswith("hybrid"))
    found = [(launch.host_by_host(spec), 1, flat)]
    slots = set(spec.slots.values())
    if hybrid and len(slots) == 1 and slots != {1}:
        found.append((list(spec.slots), slots.pop(), hybrid))
    return found


def measure(job: Job, threads: int, request: Request) -> dict[str, object]:
    """Returns the judged trials of one job."""
    asked = {
        "flavour": job.mpi,
        "shape": request.shape,
        "grids": request.grids,
        "dtype": request.dtype,
        "order": request.order,
        "repeats": request.repeats,
        "machine": str(request.machine),
        "configurations": request.configurations(),
    }
    said = job.run(
        "env", f"PYTHONPATH={':'.join(sys.path)}", sys.executable, "-m", "tessera.grid.trial", json.dumps(asked),
        "-t", str(threads),
    )  # fmt: skip
    found = json.loads(next(line for line in reversed(said.splitlines()) if line.startswith("{")))
    if "error" in found:
        raise click.ClickException(f"{job.spec.name}: {found['error']}")
    return judged(request, len(job.order), threads, found)


@click.command()
@click.option(
    "--network", "networks", multiple=True, default=NETWORKS, show_default=True, help="Of tests/cluster/specs."
)
@click.option("--mpi", type=click.Choice(launch.MPIS), default="openmpi", show_default=True)
@click.option("--repeats", type=click.IntRange(1), default=5, show_default=True, help="Turns; medians count.")
@file_options
def stencils(
    networks: tuple[str, ...],
    mpi: str,
    repeats: int,
    timeout: float,
    work: Path,
    results: Path,
    docs: bool,
    as_json: bool,
) -> None:
    """Time Laplacians of 32 grids of 48³ on emulated clusters."""
    common = Common(work.resolve(), results.resolve(), None, as_json, docs)
    check_place()
    take_priority()
    figure = Figure("grid_cluster", "Stencils on emulated clusters", {"mpi": mpi, "repeats": repeats}, {})
    choices = []
    for name in networks:
        spec = cluster_spec.read(name)
        with launch.cluster_of(spec) as cluster:
            map_file = Job(spec, cluster, mpi, launch.host_by_host(spec), timeout).find_map(common, None)
            for order, threads, names in jobs_of(spec):
                common.say(f"{name}: {len(order)} ranks of {threads} threads")
                batches, slopes = (1, 2, 4, 8, 16), (0, 1)
                sizes = (len(order),), (threads,)
                request = Request(SHAPE, GRIDS, "float64", 4, *sizes, names, batches, slopes, repeats, mpi, map_file)
                found = measure(Job(spec, cluster, mpi, order, timeout), threads, request)
                figure.data.setdefault("jobs", []).append({"network": name, **found})
                figure.tables.append(f"**{name}**: {spec.about}\n\n{table_of(found)}")
                choices.append([name, len(order), threads, *(_named(found[key]) for key in ("chosen", "quickest")),
                                found["chosen_over_quickest"]])  # fmt: skip
    header = ["network", "ranks", "threads", "the model's choice", "quickest", "time of the choice / quickest"]
    figure.tables.insert(0, table(header, choices))
    figure.notes.append(f"32 grids of 48³, {LIBRARIES[mpi]}; medians of {repeats} turns.")
    figure.write(common.results, as_json=common.as_json, docs=common.docs)


def table_of(found: dict[str, object]) -> str:
    rows = []
    for one in found["trials"]:  # type: ignore[attr-defined]
        overlap = None if one["overlap"] is None else f"{one['overlap']:.0%}"
        ratio = one["median"] / one["predicted"]
        rows.append([one["approach"], f"{found['ranks']} × {found['threads']}", one["batch"], one["slope"],
                     1e3 * one["median"], f"{one['waits']:.0%}", overlap, 1e3 * one["predicted"], ratio])  # fmt: skip
    return table(
        ["approach", "ranks × threads", "batch", "slope", "ms", "waiting", "overlap", "predicted, ms", "ratio"], rows
    )


def _named(one: object) -> str:
    assert isinstance(one, dict)
    return f"{one['approach']}, {one['batch']}, slope {one['slope']}"


if __name__ == "__main__":
    stencils()
