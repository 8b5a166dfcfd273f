"""Times stencils by approach, batch, ranks and threads, and compares what is measured with what the model predicts."""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import launch
from tessera.errors import InputError
from tessera.launch.supervision import output_of
from tessera.machine.change import change_map
from tessera.printing import layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Predicted times that differ by less are taken to be equal, as in cpp/tessera/grid/choice/cost.h.
ALIKE = 0.02


@dataclass(frozen=True)
class Request:
    """What to measure, on each number of ranks with each number of threads."""

    shape: tuple[int, int, int]
    grids: int
    dtype: str
    order: int
    ranks: tuple[int, ...]
    threads: tuple[int, ...]
    approaches: tuple[str, ...]
    batches: tuple[int, ...]
    slopes: tuple[int, ...]
    repeats: int
    mpi: str = "auto"
    machine: Path | None = None
    oversubscribe: bool = False
    shared_memory: bool = True

    def jobs(self) -> list[tuple[int, int]]:
        """Returns ranks and threads of each job: those that fit onto the cores, or all that were asked for."""
        cores = launch.usable_cores()
        pairs = [(n, t) for n in self.ranks for t in self.threads]
        fitting = [(n, t) for n, t in pairs if self.oversubscribe or n * t <= cores]
        return fitting or [min(pairs, key=lambda pair: pair[0] * pair[1])]

    def configurations(self) -> list[dict[str, Any]]:
        """Returns the arguments of `Grid.operator` that are tried; an approach without batches has one of them."""
        found = []
        for approach in self.approaches:
            for batch in self.batches if approach != "flat-original" else (1,):
                for slope in self.slopes if approach != "flat-original" else (0,):
                    if batch >> slope > 0:
                        found.append({"approach": approach, "batch": min(batch, self.grids), "slope": slope})
        return [one for i, one in enumerate(found) if one not in found[:i]]

    def trial(self, flavour: str) -> str:
        """Returns what the ranks of a job are asked (trial.py)."""
        keys = ("shape", "grids", "dtype", "order", "repeats", "shared_memory")
        asked = {key: getattr(self, key) for key in keys}
        machine = None if self.machine is None else str(self.machine)
        return json.dumps({**asked, "flavour": flavour, "machine": machine, "configurations": self.configurations()})


def command(request: Request, ranks: int, threads: int) -> list[str]:
    """Returns the command of one job. Raises LaunchError."""
    package = Path(__file__).resolve().parents[1]
    built = {name: Path(sys.executable) for name in launch.FLAVOURS if any(package.glob(f"_grid_{name}.*"))}
    if not built:
        raise launch.LaunchError("the compiled part of tessera.grid is missing; build it with `make build`")

    flavour = "serial" if ranks == 1 else request.mpi
    if flavour == "auto":  # of the first launcher with such a module; else engine_command says what is missing
        flavour = next((one.flavour for one in launch.launchers() if one.flavour in built), None) or "auto"
    return launch.engine_command(
        ["-m", "tessera.grid.trial", request.trial(flavour)],
        ranks=ranks,
        threads=threads,
        mpi=flavour,
        oversubscribe=request.oversubscribe,
        built=built,
    )


def measure(request: Request, tell: Callable[[str], None]) -> dict[str, Any]:
    """Runs all jobs. Returns what was asked for and `jobs`: each with `trials` (seconds, waits, predicted), the choice
    of the model among them and the quickest. `tell` gets a line of progress before each. Raises LaunchError."""
    jobs = []
    for ranks, threads in request.jobs():
        tell(f"measuring {layout(ranks, threads)} …")
        jobs.append(judged(request, ranks, threads, started(request, ranks, threads)))
    return {
        "shape": list(request.shape),
        "grids": request.grids,
        "dtype": request.dtype,
        "order": request.order,
        "jobs": jobs,
    }


def started(request: Request, ranks: int, threads: int) -> dict[str, Any]:
    """Runs one job. Returns what its ranks found (trial.py). Raises LaunchError."""
    line = command(request, ranks, threads)
    done = output_of(line, OMP_NUM_THREADS="1")
    said: list[dict[str, Any]] = [json.loads(one) for one in done.stdout.splitlines() if one.startswith("{")]
    complaint = next((one["error"] for one in said if "error" in one), "")
    if done.returncode != 0 or complaint or not said:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise launch.LaunchError(complaint or f"the ranks failed: {lines[-1]}")
    return said[-1]


def judged(request: Request, ranks: int, threads: int, found: dict[str, Any]) -> dict[str, Any]:
    """Adds to the trials of a job their median, the share of it that is not computing, the seconds of messages by
    themselves, how much of what could be hidden was, and the predicted seconds."""
    import tessera._core as core

    alone = statistics.median(found["alone"])
    for one in found["trials"]:
        one["median"] = statistics.median(one["seconds"])
        one["waits"] = max(0.0, 1 - alone / one["median"])
        one["messages"] = statistics.median(one["exchange"]) if one["exchange"] else None
        one["overlap"] = None
        if one["exchange"]:
            apart, together = (statistics.median(one[key]) for key in ("apart", "together"))
            one["overlap"] = core.grid_overlap(
                exchange=one["messages"], apart=apart, together=together, batches=one["batches"]
            )
    overlaps = [one["overlap"] for one in found["trials"] if one["overlap"] is not None]
    overlap = statistics.median(overlaps) if overlaps else found["rates"]["overlap"]
    trials = found["trials"]
    predicted = predictions(request, ranks, threads, trials, {**found["rates"], "overlap": overlap})
    for one, seconds in zip(trials, predicted):
        one["predicted"] = seconds
    if not trials:
        why = found["left_out"][0]["why"] if found["left_out"] else "nothing was asked for"
        raise launch.LaunchError(f"no approach can be tried on {ranks} rank{'s' * (ranks != 1)}: {why}")
    least = min(trials, key=lambda one: one["predicted"])
    alike = [one for one in trials if one["approach"] == least["approach"]
             and one["predicted"] <= least["predicted"] / (1 - ALIKE)]  # fmt: skip
    chosen = min(alike, key=lambda one: (one["batch"], one["slope"]))
    best = min(trials, key=lambda one: one["median"])
    keys = ("approach", "batch", "slope", "median")
    return {
        "ranks": ranks,
        "threads": threads,
        "processes": found["processes"],
        "alone": alone,
        "overlap": overlap,
        "overlap_is_told": bool(overlaps),
        "rates": found["rates"],
        "trials": trials,
        "left_out": found["left_out"],
        "chosen": {key: chosen[key] for key in keys},
        "quickest": {key: best[key] for key in keys},
        "chosen_over_quickest": chosen["median"] / best["median"],
    }


def put_into_map(results: dict[str, Any], path: Path) -> bool:
    """Writes the overlap of each job that tells one into a machine file, in place of an older one of as many ranks and
    threads; all else in the file stays. Returns whether there was any. Raises LaunchError for what is no machine file,
    OSError."""
    found = [
        {"ranks": job["ranks"], "threads": job["threads"], "share": job["overlap"]}
        for job in results["jobs"]
        if job["overlap_is_told"]
    ]
    if found:
        replaced = {(one["ranks"], one["threads"]) for one in found}

        def change(content: dict[str, Any]) -> None:
            others = [one for one in content.get("overlaps", []) if (one["ranks"], one["threads"]) not in replaced]
            content["overlaps"] = [*others, *found]

        change_map(path, change)
    return bool(found)


def overlap_of_map(path: Path, ranks: int, threads: int) -> float | None:
    """Returns the overlap that a machine file has of the number of ranks that is nearest, in ratio, and of as many
    threads where it has such; None where it has none. Raises InputError of the compiled part."""
    import tessera._core as core

    known = json.loads(core.read_map(str(path))).get("overlaps", [])

    def distance(one: dict[str, Any]) -> tuple[bool, float, int]:
        return one["threads"] != threads, abs(math.log(one["ranks"] / ranks)), one["ranks"]

    nearest = min(known, key=distance, default=None)
    return None if nearest is None else float(nearest["share"])


def predictions(
    request: Request, ranks: int, threads: int, trials: list[dict[str, Any]], rates: dict[str, float]
) -> list[float]:
    """Returns the seconds that the model predicts for each trial of a job. Raises LaunchError."""
    import tessera._core as core

    try:
        found = core.predict_grids(
            None if request.machine is None else str(request.machine),
            shape=request.shape,
            periodic=(True, True, True),
            order=request.order,
            bytes=np.dtype(request.dtype).itemsize,
            ranks=ranks,
            threads=threads,
            fields=request.grids,
            configurations=[(one["approach"], one["batch"], one["slope"]) for one in trials],
            **rates,
        )
    except InputError as error:
        raise launch.LaunchError(str(error)) from None
    return [one["seconds"] for one in json.loads(found)]


def plot(results: dict[str, Any], path: Path) -> None:
    """Draws the time of each approach by batch, a panel for each job. Raises InputError."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from tessera.plots import STYLE, save

    jobs = results["jobs"]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(jobs), figsize=(1 + 3.2 * len(jobs), 3.4), sharey=True, squeeze=False)
        for ax, job in zip(axes[0], jobs):
            _draw(ax, job)
        axes[0][0].set_ylabel(f"{results['grids']} grids, ms")
        axes[0][-1].legend()
        figure.tight_layout()
        try:
            save(figure, path)
        finally:
            plt.close(figure)


def _draw(ax: Axes, job: dict[str, Any]) -> None:
    for i, name in enumerate(dict.fromkeys(one["approach"] for one in job["trials"])):
        mine = [one for one in job["trials"] if one["approach"] == name]
        batches = sorted({one["batch"] for one in mine})
        best = [1e3 * min(one["median"] for one in mine if one["batch"] == batch) for batch in batches]
        ax.plot(batches, best, "o-", label=name, color=f"C{i}", markersize=4)
    ax.axhline(1e3 * job["alone"], color="#5A6270", linestyle="--", linewidth=1, label="computing alone")
    ax.set_title(layout(job["ranks"], job["threads"]))
    ax.set_xscale("log", base=2)
    ax.set_xlabel("batch")
