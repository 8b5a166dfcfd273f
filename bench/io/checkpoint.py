"""Checkpoints from several ranks beside one process that writes the same bytes."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from bench.common.options import Common, script
from bench.common.process import on_ranks
from bench.common.results import ROOT, table
from bench.io.raw import BUFFERED, DIRECT, in_turns, rows_of

sys.path.insert(0, str(ROOT / "python"))

PROMISE = 0.9  # of the speed of one writer that goes the same way
WRITERS = (f"one writer {BUFFERED}, MB/s", f"{DIRECT}, MB/s")
SETTINGS: dict[str, dict[str, Any]] = {
    "interactions": {"cutoff": 6.0, "switch": 5.5, "electrostatics": "cut"},
    "parallel": {"buffer": 0.5},
}


def missed(found: Mapping[int, float]) -> list[str]:
    """Names the numbers of ranks with less than the promised share of the speed of a writer that goes the same way."""
    return [
        f"{ranks} ranks: {ratio:.2f} of one writer's speed, promised {PROMISE}"
        for ranks, ratio in found.items()
        if not ratio >= PROMISE
    ]


def work(system: Path, folder: Path, repeats: int) -> None:
    """One rank: a checkpoint and plain writers take turns. The root prints the seconds of each turn."""
    from mpi4py import MPI

    import tessera

    comm = MPI.COMM_WORLD
    simulation = tessera.Simulation(system, SETTINGS, comm=comm if comm.size > 1 else None)
    simulation.save(folder)
    content = (folder / "checkpoint.tck").read_bytes() if comm.rank == 0 else b""
    seconds = in_turns(comm, lambda: simulation.save(folder), folder, content, repeats)
    if comm.rank == 0:
        assert (folder / "checkpoint.tck").read_bytes() == content
        print(json.dumps({"bytes": len(content), **seconds}))


@script(check="checkpoints are slower than promised", repeats=7)
@click.option("--atoms", default=3_000_000, show_default=True, help="Of water.")
@click.option("--ranks", "counts", multiple=True, type=click.IntRange(1), help="Repeatable; default: 1, 2, 4 and 8.")
def checkpoint(common: Common, atoms: int, counts: tuple[int, ...], repeats: int) -> None:
    """Speed of a checkpoint, all of it (exchange, checksums, fsync, rename), over that of one writer of its bytes.

    They write into the same folder and take turns in one process. A checkpoint goes around the system's memory where
    the folder allows it: there the writer that counts does, too.

    \b
    Examples:
      python -m bench.io checkpoint
      python -m bench.io checkpoint --atoms 300000 --ranks 1 --ranks 2 --repeats 3
    """
    from tessera.build.water import make_water
    from tessera.system import write

    system = common.work / f"lattice-{atoms}.tsr"
    folder = common.work / "checkpoint"
    folder.mkdir(parents=True, exist_ok=True)
    if not system.exists():
        write(make_water(atoms), system)
    figure = common.figure("checkpoint", "Checkpoints beside one writer")
    figure.data["ranks"] = []
    rows = []
    for ranks in counts or (1, 2, 4, 8):
        common.say(f"{ranks} ranks")
        found = on_ranks(ranks, "bench.io.checkpoint", system, folder, repeats)
        like = DIRECT if DIRECT in found else BUFFERED
        row, ratio = rows_of(ranks, found, like)
        figure.data["ranks"].append({"ranks": ranks, **found, "ratio": ratio})
        rows.append(row)
    for path in folder.iterdir():
        path.unlink()
    figure.tables.append(table(["ranks", "checkpoint, MB/s", *WRITERS, "ratio", "of turns"], rows))
    size = figure.data["ranks"][0]["bytes"] / 1e6
    figure.notes.append(
        f"{size:.0f} MB, with fsync and renames; the ratio is the median of those of turns, to the writer {like}."
    )
    figure.failures += missed({one["ranks"]: one["ratio"] for one in figure.data["ranks"]})
    figure.finish(common)


if __name__ == "__main__":  # a rank
    work(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
