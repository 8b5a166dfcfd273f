"""How fast ranks read text, system files, checkpoints and segments in shares, beside ranks that read bytes alone."""

from __future__ import annotations

import json
import mmap
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np

from bench.common.options import Common, script
from bench.common.process import on_ranks
from bench.common.results import table
from tessera import launch

PROMISE = 400e6  # bytes/s of text, or
SHARE = 0.9  # of the raw reader
BLOCK = 8 << 20  # bytes that the raw reader reads at once
FRAME_ATOMS = 1_000_000  # of segments
KINDS = ("config", "system", "checkpoint", "segments")
TITLES = {"config": "CONFIG, as numbers", "system": "system file", "checkpoint": "checkpoint", "segments": "segments"}


def missed(runs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Names the files and numbers of ranks that are read at less than the promised share of bytes alone."""
    return [
        f"{TITLES[run['kind']]}, {run['ranks']} ranks: {run['ratio']:.2f} of bytes alone, promised {SHARE}"
        for run in runs
        if not run["ratio"] >= SHARE and not (run["kind"] == "config" and run["rate"] >= PROMISE)
    ]


def program(name: str, ranks: int, *words: object) -> dict[str, Any]:
    """Runs one of the engine's programs and returns the JSON that it prints."""
    command = launch.engine_command(
        [str(word) for word in words], ranks=ranks, mpi="auto", hostfile=None, oversubscribe=True, program=name
    )
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def make(kind: str, folder: Path, atoms: int) -> Path:
    """Writes a file of that kind and returns its path; of segments that of the frames."""
    from tessera.build.water import make_water
    from tessera.io import SegmentWriter
    from tessera.system import write

    path = folder / "lattice.tsr"
    if kind in ("system", "checkpoint") and not path.exists():
        write(make_water(atoms), path)
    if kind == "config":
        path = folder / "CONFIG"
        program("tessera-io", 1, "write", path, "--atoms", atoms)
    elif kind == "checkpoint":
        on_ranks(1, "bench.io.checkpoint", path, folder, 0)  # a process of its own gives the engine's memory back
        path = folder / "checkpoint.tck"
    elif kind == "segments":
        values = np.random.default_rng(1).random((min(atoms, FRAME_ATOMS), 3), np.float32)
        with SegmentWriter(folder / "frames.segments", len(values)) as writer:
            for step in range(max(8, 10 * atoms // len(values))):
                writer.append(step, 0.001 * step, 100 * np.eye(3), values)
        path = max((folder / "frames.segments").iterdir(), key=lambda one: one.stat().st_size)
    os.sync()
    return path


def forget(path: Path) -> None:
    """Asks the system to forget what it has of a file in memory."""
    descriptor = os.open(path, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def read_segments(path: Path, repeats: int, cold: bool) -> None:
    """One rank: as tessera-read, of frames. The root prints the seconds of each turn."""
    from mpi4py import MPI

    from tessera.traj import Trajectory

    comm, size = MPI.COMM_WORLD, path.stat().st_size
    # Begins at a page, as reading around the system's memory needs it.
    buffer = mmap.mmap(-1, BLOCK, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    buffer.madvise(mmap.MADV_HUGEPAGE)  # of which disks read more at once

    def read_bytes(flags: int) -> None:
        descriptor = os.open(path, os.O_RDONLY | flags)
        blocks = -(-size // BLOCK)
        for block in range(blocks * comm.rank // comm.size, blocks * (comm.rank + 1) // comm.size):
            os.preadv(descriptor, [buffer], BLOCK * block)
        os.close(descriptor)

    def read_frames() -> None:
        frames = Trajectory(path.parent)
        for index in range(len(frames) * comm.rank // comm.size, len(frames) * (comm.rank + 1) // comm.size):
            frames[index]

    ways: dict[str, Callable[[], None]] = {"raw": lambda: read_bytes(0), "parsed": read_frames}
    if cold:
        ways["direct"] = lambda: read_bytes(os.O_DIRECT)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, work in ways.items():
            if cold and comm.rank == 0:
                forget(path)
            comm.barrier()
            begin = time.perf_counter()
            work()
            comm.barrier()
            seconds[name].append(time.perf_counter() - begin)
    if comm.rank == 0:
        print(json.dumps({"ranks": comm.size, "bytes": size, **seconds}))


def times(kind: str, path: Path, ranks: int, repeats: int, cold: bool) -> dict[str, Any]:
    """Returns bytes, and seconds of each turn: `raw`, `direct` (empty unless cold) and `parsed`."""
    if kind != "segments":
        return program("tessera-read", ranks, kind, path, "--repeats", repeats, *(["--cold"] if cold else []))
    return {"direct": [], **on_ranks(ranks, "bench.io.reader", path, repeats, int(cold))}


@script(check="reading is slower than promised", repeats=7)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Where files are for the time of the bench; default: the folder of --work.",
)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Repeatable; default: all.")
@click.option("--atoms", type=click.IntRange(1, 2**32), default=3_000_000, show_default=True)
@click.option("--ranks", "counts", multiple=True, type=click.IntRange(1), help="Repeatable; default: 1, 2, 4 and 8.")
@click.option("--warm", is_flag=True, help="The system keeps files in memory.")
def reader(
    common: Common, folder: Path | None, kinds: tuple[str, ...], atoms: int, counts: tuple[int, ...], warm: bool,
    repeats: int,
) -> None:  # fmt: skip
    """MB/s of reading, all of it (checksums, numbers where the engine wants them), beside reading bytes alone.

    The same ranks do both in turns: bytes through the system's memory, bytes around it (O_DIRECT), and what is
    measured. Before each turn the system forgets the file (posix_fadvise).

    \b
    Examples:
      python -m bench.io reader --check --docs
      python -m bench.io reader --kind config --warm --folder /dev/shm --ranks 1
    """
    place = (folder or common.work) / "reader"
    figure = common.figure("reader", "Reading in shares")
    figure.data["runs"] = []
    rows = []
    for kind in kinds or KINDS:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        try:
            common.say(f"making {TITLES[kind]}")
            path = make(kind, place, atoms)
            for ranks in counts or (1, 2, 4, 8):
                common.say(f"{ranks} ranks")
                found = times(kind, path, ranks, repeats, not warm)
                rates = {
                    name: found["bytes"] / median(found[name]) for name in ("raw", "direct", "parsed") if found[name]
                }
                ratio = rates["parsed"] / max(rate for name, rate in rates.items() if name != "parsed")
                figure.data["runs"].append({"kind": kind, **found, "ratio": ratio, "rate": rates["parsed"]})
                shown = [rates[name] / 1e6 if name in rates else None for name in ("raw", "direct", "parsed")]
                rows.append([TITLES[kind], found["bytes"] / 1e6, ranks, *shown, f"{ratio:.2f}"])
        finally:
            shutil.rmtree(place, ignore_errors=True)
    header = ["file", "MB", "ranks", "bytes, MB/s", "bytes by O_DIRECT, MB/s", "read, MB/s", "ratio"]
    figure.tables.append(table(header, rows))
    state = "in memory" if warm else "forgotten by the system (posix_fadvise) before each turn"
    figure.notes.append(f"Medians of {repeats} turns, files {state}. The ratio is that to the faster of the bytes.")
    figure.failures += missed(figure.data["runs"])
    figure.finish(common)


if __name__ == "__main__":  # a rank
    read_segments(Path(sys.argv[1]), int(sys.argv[2]), bool(int(sys.argv[3])))
