"""Trajectories in segments that ranks write beside one process that writes the same bytes."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from bench.common.options import Common, script
from bench.common.process import on_ranks
from bench.common.results import table
from bench.io.checkpoint import WRITERS
from bench.io.raw import BUFFERED, in_turns, rows_of
from bench.io.trajectory import BOX, ENCODINGS, waters

PROMISE = 0.9  # of the speed of one writer through the system's memory, as segments go


def missed(found: Mapping[tuple[str, int], float]) -> list[str]:
    """Names the encodings and numbers of ranks with less than the promised share of the speed of one writer. Only
    frames without compression are as many bytes as they hold."""
    return [
        f"{encoding}, {ranks} ranks: {ratio:.2f} of one writer's speed, promised {PROMISE}"
        for (encoding, ranks), ratio in found.items()
        if encoding == "float32" and not ratio >= PROMISE
    ]


def work(folder: Path, atoms: int, frames: int, encoding: str, repeats: int) -> None:
    """One rank: its share of the atoms of each frame, and plain writers in turn. The root prints the seconds."""
    from mpi4py import MPI

    from tessera.io import SegmentWriter

    comm, place = MPI.COMM_WORLD, folder / "a.segments"
    own = waters(atoms)[atoms * comm.rank // comm.size : atoms * (comm.rank + 1) // comm.size]

    def write() -> None:
        if comm.rank == 0:
            shutil.rmtree(place, ignore_errors=True)
        comm.barrier()
        with SegmentWriter(place, len(own), encodings=[ENCODINGS[encoding]], comm=comm) as writer:
            for step in range(frames):
                writer.append(step, 0.001 * step, BOX, own)

    write()
    content = b"".join(path.read_bytes() for path in sorted(place.iterdir())) if comm.rank == 0 else b""
    seconds = in_turns(comm, write, folder, content, repeats)
    if comm.rank == 0:
        print(json.dumps({"bytes": len(content), **seconds}))


@script(check="segments are slower than promised", repeats=7)
@click.option("--atoms", type=click.IntRange(1, 2**24), default=1_000_000, show_default=True)
@click.option("--frames", type=click.IntRange(1, 2**16), default=10, show_default=True)
@click.option("--ranks", "counts", multiple=True, type=click.IntRange(1), help="Repeatable; default: 1, 2 and 4.")
def segments(common: Common, atoms: int, frames: int, counts: tuple[int, ...], repeats: int) -> None:
    """Speed of a trajectory by `SegmentWriter`, all of it (checksums, fsync), over that of one writer of its bytes.

    \b
    Examples:
      python -m bench.io segments --check --docs
      python -m bench.io segments --atoms 100000 --ranks 1 --ranks 2 --repeats 3
    """
    folder = common.work / "segments"
    figure = common.figure("segments", "Segments beside one writer")
    rows, found = [], {}
    for encoding in ENCODINGS:
        for ranks in counts or (1, 2, 4):
            common.say(f"{encoding}, {ranks} ranks")
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            one = on_ranks(ranks, "bench.io.segments", folder, atoms, frames, encoding, repeats)
            row, ratio = rows_of(ranks, one, BUFFERED)
            found[encoding, ranks] = ratio
            figure.data[f"{encoding}, {ranks}"] = {**one, "ratio": ratio}
            rows.append([encoding, one["bytes"] / 1e6, *row])
    shutil.rmtree(folder, ignore_errors=True)
    header = ["encoding", "MB", "ranks", "segments, MB/s", *WRITERS, "ratio", "of turns"]
    figure.tables.append(table(header, rows))
    figure.notes.append(
        f"{frames} frames of {atoms:,} atoms, with fsync; the ratio is the median of those of turns, to the writer "
        f"{BUFFERED}, as segments go. Compression counts as time."
    )
    figure.failures += missed(found)
    figure.finish(common)


if __name__ == "__main__":  # a rank
    work(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
