"""Checkpoints from several ranks beside one process that writes the same bytes."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import click

from bench.common.options import Common, common_options
from bench.common.process import measure
from bench.common.results import ROOT, Figure, table

sys.path.insert(0, str(ROOT / "python"))

PROMISE = 0.9  # of the speed of one writer
BLOCK = 8 << 20  # bytes that the writer hands over at once
SETTINGS: dict[str, dict[str, Any]] = {
    "interactions": {"cutoff": 6.0, "switch": 5.5, "electrostatics": "cut"},
    "parallel": {"buffer": 0.5},
}
ENVIRONMENT = {
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]),
    "MPI4PY_LIBMPI": "libmpi.so.40",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def launcher(ranks: int) -> list[str]:
    """The words before a program that so many ranks run."""
    return ["mpirun.openmpi", "-n", str(ranks)]


def write_plainly(path: Path, content: memoryview) -> None:
    """Writes a file as safely as a checkpoint is: bytes, fsync, rename, fsync of the folder."""
    part = path.with_suffix(".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    for at in range(0, len(content), BLOCK):
        rest = content[at : at + BLOCK]
        while len(rest):
            rest = rest[os.write(descriptor, rest) :]
    os.fsync(descriptor)
    os.close(descriptor)
    part.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def work(system: Path, folder: Path, repeats: int) -> None:
    """One rank: a checkpoint and the plain writer take turns. The root prints the seconds of each turn."""
    from mpi4py import MPI

    import tessera

    comm = MPI.COMM_WORLD
    simulation = tessera.Simulation(system, SETTINGS, comm=comm if comm.size > 1 else None)
    simulation.save(folder)
    content = memoryview((folder / "checkpoint.tck").read_bytes()) if comm.rank == 0 else memoryview(b"")
    seconds: dict[str, list[float]] = {"checkpoint": [], "plain": []}
    for turn in range(repeats + 1):
        for name in seconds:
            if comm.rank == 0:
                os.sync()
            comm.barrier()
            begin = time.perf_counter()
            if name == "checkpoint":
                simulation.save(folder)
            elif comm.rank == 0:
                write_plainly(folder / "plain", content)
            comm.barrier()
            if turn > 0:  # the first warms up
                seconds[name].append(time.perf_counter() - begin)
    if comm.rank == 0:
        assert (folder / "checkpoint.tck").read_bytes() == content
        print(json.dumps({"bytes": len(content), **seconds}))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--atoms", default=3_000_000, show_default=True, help="Of water.")
@click.option("--ranks", "counts", multiple=True, type=click.IntRange(1), help="Repeatable; default: 1, 2, 4 and 8.")
@click.option("--check", is_flag=True, help="End with status 1 where checkpoints are slower than promised.")
@common_options(repeats=7)
def checkpoint(common: Common, atoms: int, counts: tuple[int, ...], check: bool, repeats: int) -> None:
    """Speed of a checkpoint, all of it (exchange, checksums, fsync, rename), over that of one POSIX writer.

    Both write the same bytes into the same folder and take turns in one process.

    \b
    Examples:
      python -m bench.io.checkpoint
      python -m bench.io.checkpoint --atoms 300000 --ranks 1 --ranks 2 --repeats 3
    """
    from tessera.build.water import make_water
    from tessera.system import write

    system = common.work / f"lattice-{atoms}.tsr"
    folder = common.work / "checkpoint"
    folder.mkdir(parents=True, exist_ok=True)
    if not system.exists():
        write(make_water(atoms), system)
    figure = Figure("checkpoint", "Checkpoints beside one writer", {"atoms": atoms, "repeats": repeats}, {})
    figure.data["ranks"] = []
    rows = []
    for ranks in counts or (1, 2, 4, 8):
        common.say(f"{ranks} ranks")
        first = launcher(ranks)
        words = [*first, sys.executable, "-m", "bench.io.checkpoint", "work", str(system), str(folder), str(repeats)]
        outcome = measure(words, folder=ROOT, launcher=len(first), environment=ENVIRONMENT, timeout=900)
        found = json.loads(outcome.stdout.splitlines()[-1])
        speeds = {name: found["bytes"] / 1e6 / median(found[name]) for name in ("checkpoint", "plain")}
        turns = [plain / ours for ours, plain in zip(found["checkpoint"], found["plain"], strict=True)]
        ratio = median(turns)
        figure.data["ranks"].append({"ranks": ranks, **found, "ratio": ratio})
        spread = f"{min(turns):.2f}–{max(turns):.2f}"
        rows.append([ranks, speeds["checkpoint"], speeds["plain"], f"{ratio:.2f}", spread])
        if ratio < PROMISE:
            figure.failures.append(f"{ranks} ranks: {ratio:.2f} of one writer's speed, promised {PROMISE}")
    for path in folder.iterdir():
        path.unlink()
    header = ["ranks", "checkpoint, MB/s", "one writer, MB/s", "ratio", "of turns"]
    figure.tables.append(table(header, rows))
    size = figure.data["ranks"][0]["bytes"] / 1e6
    figure.notes.append(f"{size:.0f} MB, with fsync and renames; the ratio is the median of those of turns.")
    figure.write(common.results, as_json=common.as_json, docs=common.docs)
    sys.exit(1 if check and figure.failures else 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        work(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
    else:
        checkpoint()
