"""How fast `tessera traj convert` makes an XTC and other files of segments, on one processor and on two."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

import click

from bench.common.options import Common, common_options
from bench.common.results import Figure, table
from bench.io.trajectory import ENCODINGS, seconds_of, write_segments
from tessera.traj import Trajectory
from tessera.traj.convert import convert as convert_to

RATIO = 1.5  # of times on one processor over those on two, promised of XTC
ENDINGS = ("xtc", "segments", "dcd", "h5md")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--atoms", type=click.IntRange(1, 2**24), default=23_558, show_default=True)
@click.option("--frames", type=click.IntRange(1, 2**16), default=1000, show_default=True)
@click.option("--check", is_flag=True, help="End with status 1 where the promise is not kept.")
@common_options(repeats=5)
def convert(common: Common, atoms: int, frames: int, check: bool, repeats: int) -> None:
    """Conversion of segments with rounded positions, in turns on one processor and on two, in the memory of the system.

    \b
    Examples:
      python -m bench.io.convert --check
      python -m bench.io.convert --frames 200 --repeats 3
    """
    processors = sorted(os.sched_getaffinity(0))[:2]
    work = Path(tempfile.mkdtemp(prefix="convert-", dir="/dev/shm"))
    found: dict[str, dict[int, list[float]]] = {ending: {1: [], 2: []} for ending in ENDINGS}
    try:
        trajectory = Trajectory(write_segments(work / "a.segments", frames, atoms, ENCODINGS["rounded"]))
        for _ in range(repeats):
            for ending in ENDINGS:
                for count in (1, 2):
                    os.sched_setaffinity(0, processors[:count])
                    seconds = seconds_of(partial(convert_to, trajectory, work / f"b.{ending}", force=True))
                    found[ending][count].append(seconds / frames)
    finally:
        shutil.rmtree(work)
    parameters = {"atoms": atoms, "frames": frames}
    figure = Figure("convert", "Converting trajectories", parameters, {}, data={"seconds": found})
    rows = []
    for ending, times in found.items():
        ratio = median(one / two for one, two in zip(times[1], times[2], strict=True))
        rows.append([ending, 1e3 * median(times[1]), 1e3 * median(times[2]), ratio])
        if ending == "xtc" and ratio < RATIO:
            figure.failures.append(f"XTC on two processors is {ratio:.2f} times as fast, promised are {RATIO:g}")
    figure.tables.append(table(["to", "ms a frame, 1 processor", "ms a frame, 2", "times as fast"], rows))
    figure.notes.append(f"{frames:,} frames of {atoms:,} atoms rounded to 0.01 Å; medians of {repeats} turns.")
    figure.write(common.results, as_json=common.as_json, docs=common.docs)
    sys.exit(1 if check and figure.failures else 0)


if __name__ == "__main__":
    convert()
