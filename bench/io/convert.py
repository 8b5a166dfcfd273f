"""How fast `tessera traj convert` makes files of segments, on one processor and on two, beside MDAnalysis."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import click

from bench.common.options import Common, script
from bench.common.results import table
from bench.io.trajectory import ENCODINGS, seconds_of, write_segments
from tessera.traj import Trajectory
from tessera.traj.convert import convert as convert_to

ENDINGS = ("xtc", "dcd", "nc", "h5md", "segments")
RATIO = 1.5  # of times on one processor over those on two, promised of XTC
PEER_RATIO = 1.5  # of MDAnalysis' time over ours on two processors, promised of all formats that it writes
PEER_FRAMES = 50  # at most: MDAnalysis without netCDF4 writes a NetCDF anew at each frame


def write_by_peer(segments: Path, frames: int, path: Path) -> None:
    """Has MDAnalysis read frames and write them, one after the other."""
    import MDAnalysis

    options: dict[str, Any] = {"h5md": {"n_frames": frames, "convert_units": False}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe = MDAnalysis.Universe.empty(Trajectory(segments).n_atoms).load_new(str(segments))
        ending = path.suffix[1:]
        with MDAnalysis.Writer(str(path), len(universe.atoms), **options.get(ending, {})) as writer:
            for _ in universe.trajectory[:frames]:
                writer.write(universe.atoms)
            if ending == "h5md":
                writer.h5md_file.close()  # which the writer leaves open


def missed(on_two: float, over_peer: Mapping[str, float]) -> list[str]:
    """Says where XTC gains less than promised from a second processor, and which formats are not written so many times
    as fast as by MDAnalysis."""
    found = [
        f"{ending} is {ratio:.2f} times as fast as MDAnalysis, promised {PEER_RATIO:g}"
        for ending, ratio in over_peer.items()
        if not ratio >= PEER_RATIO
    ]
    if not on_two >= RATIO:
        found.append(f"XTC on two processors is {on_two:.2f} times as fast, promised are {RATIO:g}")
    return found


@script(check="the promise is not kept", repeats=5)
@click.option("--atoms", type=click.IntRange(1, 2**24), default=23_558, show_default=True)
@click.option("--frames", type=click.IntRange(1, 2**16), default=1000, show_default=True)
def convert(common: Common, atoms: int, frames: int, repeats: int) -> None:
    """Conversion of segments with rounded positions, in turns on one processor and on two, in the memory of the system.

    \b
    Examples:
      python -m bench.io convert --check
      python -m bench.io convert --frames 200 --repeats 3
    """
    versions = {name: version(name) for name in ("MDAnalysis", "numpy", "h5py")}
    processors = sorted(os.sched_getaffinity(0))[:2]
    work = Path(tempfile.mkdtemp(prefix="convert-", dir="/dev/shm"))
    found: dict[str, dict[str, list[float]]] = {ending: {"1": [], "2": [], "peer": []} for ending in ENDINGS}
    try:
        segments = write_segments(work / "a.segments", frames, atoms, ENCODINGS["rounded"])
        trajectory = Trajectory(segments)
        for _ in range(repeats):
            for ending in ENDINGS:
                path = work / f"b.{ending}"
                for count in (1, 2):
                    os.sched_setaffinity(0, processors[:count])
                    seconds = seconds_of(partial(convert_to, trajectory, path, force=True))
                    found[ending][str(count)].append(seconds / frames)
                if ending != "segments":
                    some = min(frames, PEER_FRAMES)
                    found[ending]["peer"].append(seconds_of(partial(write_by_peer, segments, some, path)) / some)
    finally:
        shutil.rmtree(work)
    figure = common.figure("convert", "Converting trajectories", versions)
    figure.data["seconds"] = found
    rows = []
    on_two: dict[str, float] = {}
    over_peer: dict[str, float] = {}
    for ending, times in found.items():
        one, two = median(times["1"]), median(times["2"])
        ratio = median(a / b for a, b in zip(times["1"], times["2"], strict=True))
        peer = median(times["peer"]) if times["peer"] else None
        rows.append([ending, 1e3 * one, 1e3 * two, ratio, peer and 1e3 * peer, peer and peer / two])
        on_two[ending] = ratio
        if peer:
            over_peer[ending] = peer / two
    columns = ["to", "ms a frame, 1 processor", "ms a frame, 2", "times as fast"]
    figure.tables.append(table([*columns, "ms a frame, MDAnalysis", "times as fast as that"], rows))
    figure.notes.append(
        f"{frames:,} frames of {atoms:,} atoms rounded to 0.01 Å; medians of {repeats} turns. "
        f"MDAnalysis reads and writes {min(frames, PEER_FRAMES)} of them."
    )
    figure.failures += missed(on_two["xtc"], over_peer)
    figure.finish(common)
