"""Times calls of MPI programs through the library that is preloaded: between emulated hosts, and the cost of those that
it leaves to the MPI library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import click

from bench.cluster.bounds import OPERATIONS
from bench.cluster.emulated import Job, last_object, version_of
from bench.cluster.measured import LARGE
from bench.cluster.report import Report
from tessera.launch import drop_in_path
from tests.support.programs import mpirun

HERE = Path(__file__).parent
HOSTS = HERE.parents[2] / "tests" / "drop_in" / "hosts.c"  # lets ranks of one machine pretend to be on two hosts
COMPILERS = {"openmpi": "mpicc.openmpi", "mpich": str(Path(sys.executable).parent / "mpicc")}
MEASURED = {one.name: one for one in OPERATIONS if one.name in LARGE}


@dataclass(frozen=True)
class Timing:
    """Times of operations on a network, s, in turns: the MPI library's own and those of the usual names, which are
    ours. Without a library that is preloaded both are the MPI library's."""

    network: str
    ranks: int
    shuffle: int | None
    library: str  # of MPI
    version: str
    own: dict[str, list[float]]  # by operation
    ours: dict[str, list[float]]
    report: Report
    where: str  # machine, load, instruction set, day and commit

    def gain(self, operation: str) -> float:
        return median(self.own[operation]) / median(self.ours[operation])

    @property
    def choosing(self) -> float | None:
        """The share of the calls' time in which rank 0 chose."""
        return self.report.choosing / self.report.seconds if self.report.choosing is not None else None


@cache
def compiled(source: Path, compiler: str, folder: Path, *options: str) -> Path:
    """Compiles one of the programs in C."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{source.stem}{'-stub' if '-DSTUB' in options else ''}-{Path(compiler).name}"
    words = [compiler, "-O2", "-Wall", *options, "-o", str(path), str(source)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise click.ClickException(f"{source.name} by {compiler}: {done.stderr.strip()[-1000:]}")
    return path


def time_calls(job: Job, turns: int, folder: Path, variables: dict[str, str]) -> tuple[dict[str, Any], Report]:
    """Returns the output of calls.c, and the report of the library where there is one."""
    program = compiled(HERE / "calls.c", COMPILERS[job.mpi], folder)
    words = [f"{one.call}:{one.bytes}" for one in MEASURED.values()]
    done = job.start(program, str(turns), *words, variables=variables)
    return dict(json.loads(last_object(done.stdout))), Report.read(done.stderr)


def timing_of(job: Job, shuffle: int | None, library: str, said: dict[str, Any], report: Report, where: str) -> Timing:
    """Returns what calls.c printed, by the names of the operations here."""
    found = {name: said["operations"][one.call] for name, one in MEASURED.items()}
    own = {name: times["library"] for name, times in found.items()}
    ours = {name: times["usual"] for name, times in found.items()}
    version = version_of(said["version"])
    return Timing(job.spec.name, len(job.order), shuffle, library, version, own, ours, report, where)


def cost_of_left(mpi: str, folder: Path) -> dict[str, float]:
    """Returns the ns by which a call that is left to the MPI library takes longer, by operation: with functions in the
    place of MPI's that do nothing, on two ranks that pretend to be on two hosts."""
    compiler = COMPILERS[mpi]
    program = compiled(HERE / "left.c", compiler, folder)
    stub = compiled(HERE / "left.c", compiler, folder, "-DSTUB", "-shared", "-fPIC")
    hosts = compiled(HOSTS, "cc", folder, "-shared", "-fPIC")
    found = []
    for libraries in ([stub, hosts], [drop_in_path(mpi), stub, hosts]):
        environment = {
            **os.environ,
            "LD_PRELOAD": ":".join(map(str, libraries)),
            "TESSERA_FORCE": "native",
            **{f"OMPI_ALLOW_RUN_AS_ROOT{end}": "1" for end in ("", "_CONFIRM")},
        }
        done = subprocess.run(
            [*mpirun(mpi, 2), str(program)], env=environment, capture_output=True, text=True, timeout=300
        )
        if done.returncode:
            raise click.ClickException(f"left.c under {mpi}: {done.stderr.strip()[-1000:]}")
        found.append(json.loads(last_object(done.stdout)))
    without, preloaded = found
    return {name: preloaded[name] - without[name] for name in without}
