"""Compares distributed transforms with FFTW-MPI and mpi4py-fft: forward and backward, in turn, under Open MPI."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click

from bench.common.options import Common, script
from bench.common.process import ENVIRONMENT, can_import, measure
from bench.common.results import table

MESHES = ("64x64x64", "100x100x72", "108x108x108", "128x128x128", "144x144x144", "256x256x256")
KINDS = ("c2c:float64", "r2c:float64", "c2c:float32")
PROMISES = {"FFTW-MPI": 1.3, "mpi4py-fft": 2.0}  # least ratio of a peer's time to Tessera's
#: of the smallest mesh, where Tessera is limited to AVX2: FFTW has no wider registers in Debian's package
PROMISE_OF_SMALL_WITH_AVX2 = 1.0


@dataclass(frozen=True)
class Case:
    """One case: a mesh, a kind of numbers, and the number of ranks."""

    ranks: int
    mesh: str
    kind: str

    @property
    def points(self) -> int:
        x, y, z = map(int, self.mesh.split("x"))
        return x * y * z

    def __str__(self) -> str:
        return f"{self.ranks} ranks, {self.mesh}, {self.kind}"


def compiled(folder: Path) -> Path | None:
    """Compiles and returns FFTW-MPI's program; returns None where FFTW-MPI is not installed."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "fftw_mpi"
    source = Path(__file__).with_name("fftw_mpi.cpp")
    libraries = ["-lfftw3_mpi", "-lfftw3", "-lfftw3f_mpi", "-lfftw3f"]
    try:
        done = subprocess.run(
            ["mpicxx.openmpi", "-O2", "-o", program, source, *libraries], capture_output=True, timeout=120
        )
    except OSError:
        return None
    return program if done.returncode == 0 else None


def versions(other_python: str) -> dict[str, str]:
    """Returns the versions of the installed peers, and of the MPI that all programs use."""
    asked = {
        "FFTW": ["pkg-config", "--modversion", "fftw3"],
        "mpi4py-fft": [other_python, "-c", "from importlib.metadata import version; print(version('mpi4py-fft'))"],
        "Open MPI": ["ompi_info", "--parsable", "--version", "ompi", "full"],
    }
    found = {}
    for name, command in asked.items():
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        except OSError:
            continue
        if done.returncode == 0 and (number := re.search(r"\d+(\.\d+)+", done.stdout)):
            found[name] = number[0]
    return found


def milliseconds(command: Sequence[str | Path], cases: Sequence[Case], steps: int, folder: Path) -> list[float]:
    """Returns the median time of each case in ms. One run does the transforms of all cases, which differ only in their
    meshes."""
    first = cases[0]
    launcher = ["mpirun.openmpi", "-n", str(first.ranks)]
    meshes = [f"{case.mesh}:{steps or max(3, min(100, 12_000_000 // case.points))}" for case in cases]
    words = [*launcher, *command, *first.kind.split(":"), *meshes]
    outcome = measure(words, folder=folder, launcher=len(launcher), environment=ENVIRONMENT, timeout=600)
    times: dict[str, list[float]] = {case.mesh: [] for case in cases}
    for mesh, seconds in map(str.split, outcome.stdout.splitlines()):
        times[mesh].append(1e3 * float(seconds))
    return [median(times[case.mesh]) for case in cases]


def ratios(times: Mapping[str, Sequence[float]], peer: str) -> list[float]:
    """Returns the ratio of a peer's time to Tessera's for each turn."""
    return [theirs / ours for theirs, ours in zip(times[peer], times["tessera"], strict=True)]


def promise(case: Case, peer: str, instruction_set: str | None) -> float:
    """Returns the least ratio of a peer's time to Tessera's."""
    is_small = case.mesh == MESHES[0]
    return PROMISE_OF_SMALL_WITH_AVX2 if instruction_set == "AVX2" and is_small else PROMISES[peer]


def broken_promises(
    measured: Mapping[Case, Mapping[str, Sequence[float]]], peers: Sequence[str], instruction_set: str | None
) -> list[str]:
    broken = []
    for case, times in measured.items():
        for peer in peers:
            promised = promise(case, peer, instruction_set)
            if peer not in times:
                broken.append(f"{case}: {peer} was not measured")
            elif (ratio := median(ratios(times, peer))) < promised:
                broken.append(f"{case}: {ratio:.2f} times {peer}, promised are {promised}")
    return broken


@script(
    check="a promise is not kept",
    steps=0,
    repeats=3,
    steps_help="Transforms of each mesh in a run; 0: as many as take about a second.",
)
@click.option("--ranks", "rank_counts", multiple=True, type=int, help="Repeatable; default: 2 and 4.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Repeatable; default: all.")
@click.option("--mesh", "meshes", multiple=True, type=click.Choice(MESHES), help="Repeatable; default: all.")
@click.option(
    "--instruction-set", type=click.Choice(["AVX2"]), help="Limit Tessera to it, and write a record of its own."
)
@click.option("--mpi4py-fft", "other_python", default=sys.executable, help="Python with mpi4py-fft.")
def compare(
    common: Common,
    rank_counts: tuple[int, ...],
    kinds: tuple[str, ...],
    meshes: tuple[str, ...],
    instruction_set: str | None,
    other_python: str,
    steps: int,
    repeats: int,
) -> None:
    """Measure a forward and a backward transform in ms, as medians of turns, and the median of the ratios of each turn.

    FFTW-MPI needs `apt-get install libfftw3-mpi-dev`. mpi4py-fft needs `apt-get install libfftw3-dev; pip install
    mpi4py-fft` in an environment of its own; --mpi4py-fft names the Python of that environment.

    \b
    Examples:
      python -m bench.fft.peers --check --docs
      python -m bench.fft.peers --ranks 2 --mesh 64x64x64 --kind c2c:float64 --repeats 3
      python -m bench.fft.peers --instruction-set AVX2 --ranks 2 --check --docs
    """
    if instruction_set is not None:
        os.environ["TESSERA_SIMD"] = instruction_set
    child = ["-m", "bench.fft.child"]
    programs: dict[str, Sequence[str | Path]] = {"tessera": [sys.executable, *child, "tessera"]}
    if program := compiled(common.work / "fft"):
        programs["FFTW-MPI"] = [program]
    if can_import(other_python, "mpi4py_fft"):
        programs["mpi4py-fft"] = [other_python, *child, "mpi4py_fft"]
    peers = list(PROMISES) if instruction_set is None else ["FFTW-MPI"]
    figure = common.figure(
        "fft" if instruction_set is None else f"fft_{instruction_set.lower()}",
        "Distributed transforms",
        versions(other_python),
    )
    figure.notes += [f"{peer} is not installed, and left out." for peer in peers if peer not in programs]
    measured: dict[Case, dict[str, list[float]]] = {}
    for ranks in rank_counts or (2, 4):
        for kind in kinds or KINDS:
            cases = [Case(ranks, mesh, kind) for mesh in meshes or MESHES]
            for case in cases:
                measured[case] = {name: [] for name in programs}
            for turn in range(repeats):
                for name in list(programs)[:: 1 if turn % 2 == 0 else -1]:
                    found = milliseconds(programs[name], cases, steps, common.work / "runs" / "fft")
                    for case, time in zip(cases, found, strict=True):
                        measured[case][name].append(time)
            for case in cases:
                medians = [f"{name} {median(turns):.3g} ms" for name, turns in measured[case].items()]
                common.say(f"{case}: " + ", ".join(medians))

    header = ["ranks", "mesh", "points", "Tessera, ms"]
    for peer in list(programs)[1:]:
        header += [f"{peer}, ms", "times the speed"]
    rows: list[list[object]] = []
    for case, times in measured.items():
        row: list[object] = [case.ranks, case.mesh.replace("x", "×"), case.kind.replace(":", " ")]
        row.append(median(times["tessera"]))
        for peer in list(programs)[1:]:
            row += [median(times[peer]), median(ratios(times, peer))]
        rows.append(row)
    figure.data = {str(case): times for case, times in measured.items()}
    figure.tables.append(table(header, rows))
    figure.failures += broken_promises(measured, peers, instruction_set)
    figure.finish(common)


if __name__ == "__main__":
    compare()
