"""How fast Python opens a trajectory in segments and reads frames in random order, beside MDAnalysis' DCD and XTC."""

from __future__ import annotations

import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np

from bench.common.options import Common, script
from bench.common.results import table
from tessera.io import SegmentWriter
from tessera.traj import Trajectory
from tessera.traj.check import check as check_segments
from tessera.traj.convert import convert

FRAMES = 10_000  # of the trajectory that is opened
OPENING = 0.2  # s, promised
RATIO = 2.0  # of times of MDAnalysis' DCD over ours, promised
BOX = np.diag([100.0, 100.0, 100.0])
ENCODINGS: dict[str, dict[str, Any]] = {
    "float32": {"kind": "float32"},
    "lossless": {"kind": "lossless"},
    "rounded": {"kind": "packed", "unit": 0.01},
}


def waters(atoms: int) -> np.ndarray:
    """(atoms,3) Å: groups of three atoms near each other, about as dense as water."""
    generator = np.random.default_rng(1)
    centres = generator.random((-(-atoms // 3), 3)) * (10 * atoms) ** (1 / 3)
    offsets = generator.normal(scale=0.6, size=(len(centres), 3, 3))
    return np.asarray((centres[:, None] + offsets).reshape(-1, 3)[:atoms], np.float32)


def write_segments(folder: Path, frames: int, atoms: int, encoding: dict[str, Any]) -> Path:
    """Writes frames that differ, and returns the folder."""
    positions = waters(atoms)
    with SegmentWriter(folder, atoms, encodings=[encoding]) as writer:
        for step in range(frames):
            writer.append(step, 0.001 * step, BOX, positions + np.float32(0.01 * step))
    return folder


def missed(ratio: float, opening: float) -> list[str]:
    """Says where frames are not read so many times as fast as a DCD's, or 10,000 are not opened in so many seconds."""
    found = []
    if not ratio >= RATIO:
        found.append(f"a frame is read {ratio:.2f} times as fast as a DCD's, promised are {RATIO:g}")
    if not opening <= OPENING:
        found.append(f"opening took {opening:.2f} s, promised are {OPENING:g}")
    return found


def seconds_of(function: Callable[[], Any]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def times(work: Path, atoms: int, frames: int, repeats: int) -> dict[str, list[float]]:
    """Seconds a frame of each reader, in turns."""
    import MDAnalysis

    readers: dict[str, Callable[[int], Any]] = {}
    for name, encoding in ENCODINGS.items():
        folder = write_segments(work / f"{name}.segments", frames, atoms, encoding)
        readers[name] = Trajectory(folder).read
    universe = MDAnalysis.Universe.empty(atoms).load_new(str(work / "float32.segments"))
    readers["float32, MDAnalysis"] = universe.trajectory.__getitem__
    for name in ("dcd", "xtc"):
        convert(Trajectory(work / "float32.segments"), work / f"a.{name}")
        universe = MDAnalysis.Universe.empty(atoms).load_new(str(work / f"a.{name}"))
        readers[f"{name.upper()}, MDAnalysis"] = universe.trajectory.__getitem__
    found: dict[str, list[float]] = {name: [] for name in readers}
    generator = np.random.default_rng(2)
    for turn in range(repeats + 1):
        order = generator.permutation(frames).tolist()
        for name, read in readers.items():
            started = time.perf_counter()
            for index in order:
                read(index)
            seconds = time.perf_counter() - started
            if turn:  # the first one warms up
                found[name].append(seconds / frames)
    return found


@script(check="a promise is not kept", repeats=7)
@click.option("--atoms", type=click.IntRange(1, 2**24), default=100_000, show_default=True)
@click.option("--frames", type=click.IntRange(1, 2**16), default=50, show_default=True, help="Of each trajectory.")
def trajectory(common: Common, atoms: int, frames: int, repeats: int) -> None:
    """Opening 10,000 frames, frames in random order, and checking every byte, from files in the memory of the system.

    \b
    Examples:
      python -m bench.io trajectory --check
      python -m bench.io trajectory --atoms 10000 --frames 20 --repeats 3
    """
    warnings.simplefilter("ignore")
    work = Path(tempfile.mkdtemp(prefix="trajectory-", dir="/dev/shm"))
    try:
        opened = write_segments(work / "opened.segments", FRAMES, 2, ENCODINGS["float32"])
        opening = median(seconds_of(lambda: Trajectory(opened)) for _ in range(repeats))
        found = times(work, atoms, frames, repeats)
        sizes = {name: sum(path.stat().st_size for path in (work / f"{name}.segments").iterdir()) for name in ENCODINGS}
        checking = median(seconds_of(lambda: check_segments(work / "float32.segments")) for _ in range(repeats))
    finally:
        shutil.rmtree(work)
    versions = {name: version(name) for name in ("MDAnalysis", "numpy", "numcodecs")}
    figure = common.figure("trajectory", "Reading trajectories", versions)
    figure.data |= {"opening_seconds": opening, "seconds_a_frame": found, "bytes": sizes, "checking_seconds": checking}
    of_dcd = median(found["DCD, MDAnalysis"])
    rows = [
        [name, 1e3 * median(values), of_dcd / median(values), sizes[name] / frames / atoms if name in sizes else None]
        for name, values in found.items()
    ]
    figure.tables.append(table(["reader", "ms a frame", "times as fast as DCD", "bytes an atom"], rows))
    figure.notes.append(
        f"Frames of {atoms:,} atoms in random order, medians of {repeats} turns; every byte of segments is checked. "
        f"{FRAMES:,} frames are opened in {1e3 * opening:.0f} ms. Checking every byte: "
        f"{sizes['float32'] / checking / 1e6:,.0f} MB/s."
    )
    figure.failures += missed(of_dcd / median(found["float32"]), opening)
    figure.finish(common)
