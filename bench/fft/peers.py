"""Distributed transforms beside FFTW-MPI and mpi4py-fft: forward and backward, in turns, under Open MPI.

    python -m bench.fft.peers [--ranks 2,4] [--turns 5]

FFTW-MPI: `apt-get install libfftw3-mpi-dev`. mpi4py-fft: `apt-get install libfftw3-dev; pip install mpi4py-fft` into an
environment of its own, whose Python is named by --mpi4py-fft. A peer that is not there is left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import click

from bench.common.results import ROOT, table

MESHES = ((64, 64, 64), (100, 100, 72), (108, 108, 108), (128, 128, 128), (144, 144, 144), (256, 256, 256))
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]),
    "MPI4PY_LIBMPI": "libmpi.so.40",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def compiled(folder: Path) -> Path | None:
    """FFTW-MPI's program; None where that is not installed."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "fftw_mpi"
    source = Path(__file__).with_name("fftw_mpi.cpp")
    libraries = ["-lfftw3_mpi", "-lfftw3", "-lfftw3f_mpi", "-lfftw3f"]
    done = subprocess.run(
        ["mpicxx.openmpi", "-O2", "-o", program, source, *libraries], capture_output=True, timeout=120
    )
    return program if done.returncode == 0 else None


def seconds(command: Sequence[str | Path], ranks: int, case: Sequence[str], repeats: int) -> float | None:
    """Median of the repeats; None where it can't be run."""
    words = ["mpirun.openmpi", "-n", str(ranks), *map(str, command), *case, str(repeats)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, env=ENVIRONMENT, cwd=ROOT)
    return median(map(float, done.stdout.split())) if done.returncode == 0 else None


@click.command()
@click.option("--ranks", default="2,4", show_default=True)
@click.option("--turns", default=5, show_default=True, help="How often each is run.")
@click.option("--mpi4py-fft", "other_python", default=sys.executable, help="Python with mpi4py-fft.")
@click.option("--kinds", default="c2c:float64,r2c:float64,c2c:float32", show_default=True)
@click.option("--largest", default=256, show_default=True, help="Longest edge of a mesh.")
def main(ranks: str, turns: int, other_python: str, kinds: str, largest: int) -> None:
    """Milliseconds, medians of turns, and the median of the ratio in a turn."""
    child = ["-m", "bench.fft.child"]
    peers: dict[str, Sequence[str | Path]] = {"tessera": [sys.executable, *child, "tessera"]}
    if program := compiled(ROOT / "build" / "bench" / "fft"):
        peers["FFTW-MPI"] = [program]
    peers["mpi4py-fft"] = [other_python, *child, "mpi4py_fft"]
    rows = []
    for n_ranks in map(int, ranks.split(",")):
        for kind in kinds.split(","):
            for mesh in MESHES:
                if max(mesh) > largest:
                    continue
                case = [*map(str, mesh), *kind.split(":")]
                repeats = max(3, min(100, 30_000_000 // (mesh[0] * mesh[1] * mesh[2])))
                times: dict[str, list[float | None]] = {name: [] for name in peers}
                for turn in range(turns):
                    for name in list(peers)[:: 1 if turn % 2 == 0 else -1]:
                        times[name].append(seconds(peers[name], n_ranks, case, repeats))
                row: list[object] = [n_ranks, "×".join(map(str, mesh)), kind.replace(":", " ")]
                ours = times["tessera"]
                for name in peers:
                    found = [t for t in times[name] if t is not None]
                    row.append(1e3 * median(found) if found else None)
                    if name != "tessera":
                        ratios = [t / o for t, o in zip(times[name], ours) if t is not None and o is not None]
                        row.append(median(ratios) if ratios else None)
                rows.append(row)
                click.echo(" ".join(map(str, row)), err=True)
    header = ["ranks", "mesh", "kind"]
    for name in peers:
        header += [f"{name}, ms"] if name == "tessera" else [f"{name}, ms", "ratio"]
    click.echo(table(header, rows))


if __name__ == "__main__":
    main()
