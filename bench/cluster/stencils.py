"""Times stencils on emulated clusters by approach and batch, and compares them with what the cost model predicts from
the measured map and with what Kristensen et al. (2011) found.

    python -m bench.cluster.stencils [--network crow8-100] [--check] [--docs]
"""

from __future__ import annotations

import json
import statistics
import sys
from dataclasses import dataclass, replace
from typing import Any

import click

from bench.cluster.emulated import LIBRARIES, Job, take_machine, timeout_option
from bench.common.options import Common, script
from bench.common.results import number, table
from tessera.commands.grid import overlap_text
from tessera.grid import approaches
from tessera.grid.bench import ALIKE, Request, judged
from tests.cluster import launch
from tests.cluster import spec as cluster_spec
from tests.cluster.spec import Spec

NETWORKS = ("crow8-100", "crow8-1000", "fat-and-slow")
SHAPE, GRIDS, BATCHES = (48, 48, 48), 32, (1, 2, 4, 8)

CHOICE = 1.5  # promised at most: the time of the model's choice among all approaches over that of the quickest

#: The order of Kristensen et al. (2011), each with its best batch: the first takes at least as long as the second.
ORDER = (
    ("flat-original", "flat-optimized"),
    ("hybrid-master-only", "flat-optimized"),
    ("flat-optimized", "hybrid-multiple"),
)


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


def measure(job: Job, threads: int, request: Request) -> dict[str, Any]:
    """Returns what the trials of one start found."""
    said = job.run(
        "env", f"PYTHONPATH={':'.join(sys.path)}", sys.executable, "-m", "tessera.grid.trial", request.trial(job.mpi),
        "-t", str(threads),
    )  # fmt: skip
    found: dict[str, Any] = json.loads(next(line for line in reversed(said.splitlines()) if line.startswith("{")))
    if "error" in found:
        raise click.ClickException(f"{job.spec.name}: {found['error']}")
    return found


def joined(starts: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns what several starts of a job found as if it were one, with the least times: what else the processors do
    makes all of them longer. `starts`: the seconds of all."""
    found = {**starts[0], "trials": [dict(one) for one in starts[0]["trials"]]}
    found["alone"] = [min(seconds for one in starts for seconds in one["alone"])]
    for i, mine in enumerate(found["trials"]):
        each = [one["trials"][i] for one in starts]
        mine["starts"] = [seconds for one in each for seconds in one["seconds"]]
        mine["seconds"] = [min(mine["starts"])]
        for key in ("together", "apart", "exchange"):
            all_of = [seconds for one in each for seconds in one[key]]
            mine[key] = [min(all_of)] if all_of else []
    return found


@script(check="a promise is not kept")
@click.option(
    "--network", "networks", multiple=True, default=NETWORKS, show_default=True, help="Of tests/cluster/specs."
)
@click.option("--mpi", type=click.Choice(launch.MPIS), default="openmpi", show_default=True)
@click.option("--repeats", type=click.IntRange(1), default=4, show_default=True, help="Starts; the least times count.")
@timeout_option
def stencils(common: Common, networks: tuple[str, ...], mpi: str, repeats: int, timeout: float) -> None:
    """Time Laplacians of 32 grids of 48³ on emulated clusters. Promised are the order of approaches that Kristensen et
    al. (2011) found and good choices of the model.

    A promise is missed where every start contradicts it, and can't be told where only some do."""
    take_machine()
    figure = common.figure("grid_cluster", "Stencils on emulated clusters")
    choices: list[list[object]] = []
    gains: list[list[object]] = []
    promises: list[list[object]] = []
    for name in networks:
        spec = cluster_spec.read(name)
        jobs = jobs_of(spec)
        starts: list[list[dict[str, Any]]] = [[] for _ in jobs]
        with launch.cluster_of(spec) as cluster:
            map_file = Job(spec, cluster, mpi, launch.host_by_host(spec), timeout).find_map(common, None)
            requests = [
                Request(SHAPE, GRIDS, "float64", 4, (len(order),), (threads,), names, BATCHES, (0,), 1, mpi, map_file)
                for order, threads, names in jobs
            ]
            for turn in range(repeats):  # flat and hybrid jobs take turns
                for (order, threads, _), request, found in zip(jobs, requests, starts):
                    common.say(f"{name}, turn {turn + 1}: {len(order)} ranks of {threads} threads")
                    found.append(measure(Job(spec, cluster, mpi, order, timeout), threads, request))
        judgements = [
            judged(replace(request, repeats=repeats), len(order), threads, joined(found))
            for (order, threads, _), request, found in zip(jobs, requests, starts)
        ]
        figure.data.setdefault("jobs", []).extend({"network": name, **job} for job in judgements)
        choices.append([name, *choice_of(judgements)])
        gains += [[name, *row] for row in gains_of(judgements)]
        found_of_network = promises_of(name, judgements)
        promises += [[*one.cells(), one.verdict] for one in found_of_network]
        figure.failures += broken_promises(name, judgements, found_of_network)
        figure.tables.append(f"**{name}**: {spec.about}\n\n{table_of(judgements)}")
    header = ["network", "approach", "ranks × threads", "processes", "batch 1, ms", "best batch", "ms",
              "gain by batches", "over flat-optimized, time", "predicted"]  # fmt: skip
    figure.tables.insert(0, table(header, gains))
    header = ["network", "the model's choice", "ms", "quickest", "ms", "time of the choice / quickest"]
    figure.tables.insert(0, table(header, choices))
    header = ["network", "promised", "at least", "in the middle", "least", "most", "verdict"]
    figure.tables.insert(0, table(header, promises))
    figure.notes.append(
        f"32 grids of 48³, {LIBRARIES[mpi]}; the least times of {repeats} starts, flat and hybrid ones in turns."
    )
    figure.finish(common)


def trials_of(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**one, "ranks": job["ranks"], "threads": job["threads"], "processes": job["processes"]}
            for job in jobs for one in job["trials"]]  # fmt: skip


def best_of(jobs: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Returns the quickest trial of each approach."""
    found = trials_of(jobs)
    names = dict.fromkeys(one["approach"] for one in found)
    return {name: min((one for one in found if one["approach"] == name), key=lambda one: one["median"])
            for name in names}  # fmt: skip


def choice_of(jobs: list[dict[str, Any]]) -> list[object]:
    """Returns the columns of the choice among all approaches: the job of least predicted time."""
    chosen = chosen_of(jobs)
    quickest = min(best_of(jobs).values(), key=lambda one: one["median"])
    return [_named(chosen), 1e3 * chosen["median"], _named(quickest), 1e3 * quickest["median"],
            chosen["median"] / quickest["median"]]  # fmt: skip


def chosen_of(jobs: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the choice of the model. Where jobs are predicted to take equally long, it is that of the first."""
    least = [min(one["predicted"] for one in job["trials"]) for job in jobs]
    job = next(job for job, seconds in zip(jobs, least) if seconds <= min(least) / (1 - ALIKE))
    return dict(job["chosen"])


def gains_of(jobs: list[dict[str, Any]]) -> list[list[object]]:
    """Returns what each approach gains by batches, and its time over that of flat-optimized, measured and predicted."""
    best, found = best_of(jobs), trials_of(jobs)
    predicted = {name: min(one["predicted"] for one in found if one["approach"] == name) for name in best}
    rows: list[list[object]] = []
    for name, one in best.items():
        single = next(its["median"] for its in found if its["approach"] == name and its["batch"] == 1)
        rows.append([name, f"{one['ranks']} × {one['threads']}", "×".join(map(str, one["processes"])), 1e3 * single,
                     one["batch"], 1e3 * one["median"], single / one["median"],
                     one["median"] / best["flat-optimized"]["median"],
                     predicted[name] / predicted["flat-optimized"]])  # fmt: skip
    return rows


@dataclass(frozen=True)
class Promise:
    """A ratio of times that is promised to be so large, as each start has it."""

    network: str
    text: str
    least: float
    ratios: tuple[float, ...]

    @property
    def verdict(self) -> str:
        if max(self.ratios) < self.least:
            return "**missed**"
        return "kept" if min(self.ratios) >= self.least else "can't be told"

    def cells(self) -> list[object]:
        found = statistics.median(self.ratios), min(self.ratios), max(self.ratios)
        return [self.network, self.text, self.least, *found]


def promises_of(network: str, jobs: list[dict[str, Any]]) -> list[Promise]:
    """Returns what is promised on a network. Starts with the same number follow each other, so that what else the
    machine does is in both; batches are those that are best in all."""
    best = best_of(jobs)
    found = []
    for slow, quick in ORDER:
        if slow in best and quick in best:
            ratios = tuple(a / b for a, b in zip(best[slow]["starts"], best[quick]["starts"]))
            found.append(Promise(network, f"{slow} takes as long as {quick} or longer", 1.0, ratios))
    chosen, quickest = chosen_of(jobs), min(best.values(), key=lambda one: one["median"])
    ratios = tuple(a / b for a, b in zip(quickest["starts"], starts_of(jobs, chosen)))
    found.append(Promise(network, f"the model's choice takes at most {CHOICE} times the quickest", 1 / CHOICE, ratios))
    return found


def starts_of(jobs: list[dict[str, Any]], chosen: dict[str, Any]) -> list[float]:
    """Returns the seconds of each start of the trial that was chosen."""
    keys = ("approach", "batch", "slope")
    its = next(one for one in trials_of(jobs) if all(one[key] == chosen[key] for key in keys))
    return list(its["starts"])


def broken_promises(name: str, jobs: list[dict[str, Any]], promises: list[Promise]) -> list[str]:
    broken = [f"{name}: {one['approach']} was left out, {one['why']}" for job in jobs for one in job["left_out"]]
    for one in promises:
        if "missed" in one.verdict:
            middle, most = number(statistics.median(one.ratios)), number(max(one.ratios))
            broken.append(f"{name}: {one.text}: ratio {middle}, {most} at most, promised {number(one.least)}")
    return broken


def table_of(jobs: list[dict[str, Any]]) -> str:
    rows: list[list[object]] = []
    for one in trials_of(jobs):
        messages = None if one["messages"] is None else 1e3 * one["messages"]
        rows.append([one["approach"], f"{one['ranks']} × {one['threads']}", one["batch"], 1e3 * one["median"],
                     f"{one['waits']:.0%}", messages, overlap_text(one), 1e3 * one["predicted"],
                     one["median"] / one["predicted"]])  # fmt: skip
    return table(["approach", "ranks × threads", "batch", "ms", "waiting", "messages alone, ms", "overlap",
                  "predicted, ms", "ratio"], rows)  # fmt: skip


def _named(one: dict[str, Any]) -> str:
    return f"{one['approach']}, {one['batch']}"


if __name__ == "__main__":
    stencils()
