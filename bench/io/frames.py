"""What writing frames costs a run, and how many bytes they take."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import click

from bench.common import engine, systems
from bench.common.options import Common, script
from bench.common.results import above, table

MOST = 0.02  # of the time of a run, by which frames may slow it down
KINDS: dict[str, dict[str, Any]] = {
    "no frames": {"trajectory": "none"},
    "segments": {"trajectory": "segments"},
    "segments, lossless": {"trajectory": "segments", "compression": "lossless"},
    "segments, rounded to 0.01 Å": {"trajectory": "segments", "compression": "rounded"},
    "segments, rounded to 0.001 Å": {"trajectory": "segments", "compression": "rounded", "precision": 0.001},
    "DCD": {"trajectory": "dcd"},
    "XTC": {"trajectory": "xtc"},
    "H5MD": {"trajectory": "h5md"},
}
PROMISED = ("segments", "segments, rounded to 0.01 Å")


def missed(ratios: Mapping[str, float]) -> list[str]:
    """Names the promised kinds of frames that slow a run down by more than promised: times of a step over that of a
    run without frames. What the stepping thread does is a part of it: helpers take time from other threads."""
    return above(ratios, dict.fromkeys(PROMISED, 1 + MOST))


@script(check="frames cost more than promised", steps=600, repeats=7, steps_help="Steps of each run.")
@click.option("--system", "name", type=click.Choice(systems.NAMES), default="dhfr", show_default=True)
@click.option("--layout", default="2x1", show_default=True, help="RANKSxTHREADS.")
@click.option("--every", type=click.IntRange(1), default=10, show_default=True, help="Steps between frames.")
def frames(common: Common, name: str, layout: str, every: int, steps: int, repeats: int) -> None:
    """Time of a step of runs that write frames over that of a run without, and bytes of an atom.

    Runs of all kinds take turns; the ratio is the median of those of turns.

    \b
    Examples:
      python -m bench.io frames --check
      python -m bench.io frames --layout 1x2 --repeats 3
    """
    system = systems.system(common, name)
    figure = common.figure("frames", "Writing frames")
    ms: dict[str, list[float]] = {kind: [] for kind in KINDS}
    own: dict[str, list[float]] = {kind: [] for kind in KINDS}
    size: dict[str, int] = {}
    folder = common.work / "frames"
    for turn in range(repeats):
        for kind, output in KINDS.items():
            settings = engine.merge(
                engine.interactions(12.0),
                {
                    "dynamics": {"steps": steps},
                    "output": {**output, "trajectory_every": every, "energy_every": 0, "checkpoint_every": 0},
                },
            )
            run = engine.run(system, settings, folder, engine.Layout.parse(layout))
            ms[kind].append(run.report["ms_per_step"])
            phases = {phase["name"]: phase["seconds"] for phase in run.report["phases"]}
            own[kind].append(phases["frames, rows, checkpoints"] / run.report["wall_seconds"])
            size[kind] = bytes_of(run.folder)
            shutil.rmtree(run.folder)
        common.say(f"{turn + 1}/{repeats}")
    n_frames = steps // every + 1
    atoms = int(run.report["n_atoms"])
    rows = []
    for kind in KINDS:
        ratio = median(ours / none for ours, none in zip(ms[kind], ms["no frames"], strict=True))
        share = median(own[kind])
        figure.data[kind] = {"ms": ms[kind], "share": own[kind], "bytes": size[kind], "ratio": ratio}
        per_atom = f"{size[kind] / (n_frames * atoms):.2f}" if size[kind] else "–"
        rows.append([kind, median(ms[kind]), f"{ratio:.3f}", f"{100 * share:.1f} %", per_atom])
    header = ["frames", "ms/step", "over a run without", "of the time, by the report", "bytes an atom"]
    figure.tables.append(table(header, rows))
    figure.failures += missed({kind: found["ratio"] for kind, found in figure.data.items()})
    figure.notes.append(
        f"{systems.TITLES[name]}, a frame each {every} steps, {layout} ranks × threads; ratios are medians of "
        f"{repeats} turns. The report's share is the time of the thread that steps."
    )
    figure.finish(common)


def bytes_of(output: Path) -> int:
    """Bytes of the trajectory in an output folder."""
    return sum(path.stat().st_size for path in output.rglob("*") if "trajectory" in str(path) and path.is_file())
