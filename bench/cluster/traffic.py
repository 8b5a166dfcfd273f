"""Measures what plans gain that know the traffic of others: those for the quiet map and for the map with its traffic
take turns while others send."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import median
from typing import Any

import click

from bench.cluster.bounds import VECTOR, Operation
from bench.cluster.emulated import LIBRARIES, Job, take_machine, timeout_option, version_of
from bench.common.options import Common, script
from bench.common.results import table
from tests.cluster import launch
from tests.cluster import spec as cluster_spec
from tests.cluster.traffic import flows_of, traffic_on

NETWORK, TRAFFIC = "crow8-100", "n3=0.6"
LEAST = 1.3  # times as fast as by the quiet map
OPERATIONS = (
    Operation("bcast-1m", "broadcast", "broadcast", 1_000_000),
    Operation("allreduce", "all_reduce", "all_reduce", VECTOR),
)
MODEL = "predicted"  # the choice of the model alone


@script(check=f"plans for the traffic are not {LEAST} times as fast as those for the quiet map")
@click.option("--network", default=NETWORK, show_default=True)
@click.option("--traffic", "places", multiple=True, default=(TRAFFIC,), show_default=True, metavar="PLACE=SHARE")
@click.option("--mpi", type=click.Choice(launch.MPIS), default="openmpi", show_default=True)
@click.option("--turns", type=click.IntRange(1), default=3, show_default=True, help="Turns of each map.")
@click.option("--repeats", type=click.IntRange(2), default=5, show_default=True, help="Repeats in a turn.")
@timeout_option
def traffic(
    common: Common, network: str, places: tuple[str, ...], mpi: str, turns: int, repeats: int, timeout: float
) -> None:
    """Measure broadcast and all-reduce while others send on an emulated cluster, by plans for the quiet map and by
    those for the map to which the probe has added their traffic.

    \b
    Examples:
      python -m bench.cluster.traffic --check --docs
      python -m bench.cluster.traffic --network eco-three-segments --traffic a=0.45 --traffic b=0.3
    """
    take_machine()
    figure = common.figure("traffic", "Plans beside the traffic of others")
    spec = cluster_spec.read(network)
    rows = []
    with launch.cluster_of(spec) as cluster:
        job = Job(spec, cluster, mpi, launch.host_by_host(spec), timeout)
        quiet = job.find_map(common, None)
        busy = common.work / "maps" / f"{spec.name}.busy.{mpi}.json"
        shutil.copy(quiet, busy)
        with traffic_on(spec, cluster, flows_of(spec, places), seed=1):
            job.run(launch.program("tessera-probe", mpi), "--traffic", busy, "--seconds", "10")
            for operation in OPERATIONS:
                said: dict[Path, list[dict[str, Any]]] = {quiet: [], busy: []}
                for turn in range(turns):
                    for path in (quiet, busy) if turn % 2 == 0 else (busy, quiet):
                        common.say(f"{spec.name}: {operation.name} by {path.name}")
                        said[path].append(
                            job.time(operation.call, operation.bytes, repeats, map_file=path, entries=[MODEL])
                        )
                before, after = (
                    1e3 * median(time for one in said[path] for time in one["entries"][0]["times"])
                    for path in (quiet, busy)
                )
                plans = [said[path][0]["entries"][0]["plan"] for path in (quiet, busy)]
                figure.versions[LIBRARIES[mpi]] = version_of(said[quiet][0]["library"])
                rows.append([spec.name, operation.name, *plans, before, after, before / after])
                if before < LEAST * after:
                    figure.failures.append(f"{operation.name}: {before / after:.2f} times as fast, promised {LEAST}")
    found = json.loads(busy.read_text())["network"]["traffic"]
    shares = [f"{port['host']} {way} {port[way]:.0%}" for port in found["ports"] for way in ("out", "in") if port[way]]
    shares += [
        f"subnet {own['subnet']} {way} {own[way]:.0%}"
        for own in found["lines"]
        for way in own
        if own[way] and way != "subnet"
    ]
    figure.data["rows"] = rows
    figure.tables.append(
        table(["network", "operation", "quiet map's plan", "new plan", "quiet map's, ms", "new, ms", "gain"], rows)
    )
    figure.notes.append(f"Traffic: {', '.join(places)}, on and off; the probe found {', '.join(shares) or 'none'}.")
    figure.finish(common)


if __name__ == "__main__":
    traffic()
