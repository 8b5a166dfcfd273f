"""Runs Tessera's programs on an emulated cluster: measures its map and times collectives."""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import click

from bench.cluster.bounds import Operation
from bench.common.options import Common
from bench.common.results import commit, machine
from tessera.launch import drop_in_path
from tests.cluster import launch, namespaces
from tests.cluster.namespaces import Cluster
from tests.cluster.spec import Spec

LIBRARIES = {"openmpi": "Open MPI", "mpich": "MPICH"}
PRIORITY = -15  # gives ranks and rate limits precedence over other work of the machine


@dataclass(frozen=True)
class Job:
    """The ranks of one MPI on a cluster that is up: the host of each, and the map that they use."""

    spec: Spec
    cluster: Cluster
    mpi: str
    order: Sequence[str]  # the host of each rank
    timeout: float  # s, of one start
    nap: int = launch.NAP  # µs that an idle rank sleeps; 0 where each has a core
    launcher: Path | None = None  # of another version than the one found

    def run(self, *words: str | Path) -> str:
        """Runs a program and returns its output. Raises ClickException with the end of the output where it fails."""
        return self.start(*words).stdout

    def start(
        self, *words: str | Path, folder: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program to its end, in a folder, with these variables added to the environment. Raises ClickException
        with the end of the output where it fails."""
        placed = ["env", "-C", folder, *words] if folder else words
        with mock.patch.dict(os.environ, variables or {}):
            command, environment = launch.command(
                list(map(str, placed)), self.order, mpi=self.mpi, nap=self.nap, launcher=self.launcher
            )
            done = launch.start(self.cluster, command, environment, timeout=self.timeout, capture=True)
        if done.returncode:
            said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
            why = f"did not end within {self.timeout:g} s" if done.returncode == 124 else f"status {done.returncode}"
            raise click.ClickException(f"{Path(words[0]).name} on {self.spec.name}: {why}\n{said}")
        return done

    def preload(self, map_file: Path) -> dict[str, str]:
        """Returns the variables by which programs of this MPI follow a map, with a report at their end."""
        return {
            "LD_PRELOAD": str(drop_in_path(self.mpi)),
            "TESSERA_MACHINE": str(map_file),
            "TESSERA_REPORT": "1",
        }

    def measure_map(self, path: Path) -> Path:
        """Measures the network and writes its map."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.run(launch.program("tessera-probe", self.mpi), "-o", path)
        return path

    def find_map(self, common: Common, given: Path | None, *, again: bool = False) -> Path:
        """Returns the map that is given, or that of an earlier run. Measures it where there is none, or `again`."""
        found = given or common.work / "maps" / f"{self.spec.name}.{self.mpi}.json"
        if again or not found.exists():
            common.say(f"{self.spec.name}, {LIBRARIES[self.mpi]}: measuring the map")
            self.measure_map(found)
        return found

    def tuned_map(self, work: Path, shuffle: int | None) -> Path:
        """Returns the path of the map with trials of this job; another order of ranks is another job."""
        order = "job" if shuffle is None else f"shuffle{shuffle}"
        return work / "maps" / "tuned" / f"{self.spec.name}.{order}.{self.mpi}.json"

    def tune(self, path: Path, operation: Operation, tuned: Path, *, candidates: int) -> None:
        """Tries the entries with the least predicted times and stores their times in `tuned`, the map with the trials
        of all operations since it was measured."""
        if not tuned.exists() or tuned.stat().st_mtime < path.stat().st_mtime:
            tuned.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, tuned)
        words = ["--operations", operation.kind, "--sizes", str(max(1, operation.bytes))]
        words += ["--candidates", str(candidates), "--seconds", str(self.timeout / 2)]
        said = json.loads(last_object(self.run(launch.program("tessera-collectives", self.mpi), "tune", tuned, *words)))
        if said["left_out"]:
            raise click.ClickException(f"no time to try {', '.join(said['left_out'])}; give a longer --timeout")

    def compare(
        self,
        common: Common,
        operation: Operation,
        map_file: Path,
        entries: Sequence[str],
        *,
        shuffle: int | None,
        candidates: int,
        repeats: int,
    ) -> dict[str, Any]:
        """Returns the result of `time` after a trial of `candidates` entries (0: none). Raises ClickException where the
        map no longer matches the cluster."""
        used = map_file
        if candidates:
            used = self.tuned_map(common.work, shuffle)
            self.tune(map_file, operation, used, candidates=candidates)
        turns = operation.turns(repeats)
        said = self.time(operation.call, operation.bytes, turns, map_file=used, entries=entries)
        if said["warning"]:
            raise click.ClickException(f"{self.spec.name}: {said['warning']}")
        return said

    def time(
        self,
        operation: str,
        size: int,
        repeats: int,
        *,
        map_file: Path | None,
        entries: Sequence[str],
        elements: str = "double",
    ) -> dict[str, Any]:
        """Returns the result of `tessera-collectives time`: entries take turns, and a time is that of the slowest
        rank."""
        words = ["--operation", operation, "--bytes", str(size), "--elements", elements]
        words += ["--repeats", str(repeats)]
        words += ["--map", str(map_file)] if map_file else []
        said = self.run(launch.program("tessera-collectives", self.mpi), "time", *words, "--entries", ",".join(entries))
        return dict(json.loads(last_object(said)))


def last_object(said: str) -> str:
    """Returns the last line of an output that is a JSON object."""
    lines = [line for line in said.splitlines() if line.startswith("{")]
    if not lines:
        raise click.ClickException(f"there is no JSON in the output but:\n{said[-1000:]}")
    return lines[-1]


def places(spec: Spec, shuffle: int | None) -> list[str]:
    """Returns the host of each rank."""
    return launch.host_by_host(spec) if shuffle is None else launch.shuffled(spec, shuffle)


def take_machine() -> None:
    """Sets the priority of this process and those that it starts, where that is permitted. Raises ClickException where
    no cluster can be emulated, or one is up already."""
    if (reason := namespaces.why_not()) is not None:
        raise click.ClickException(reason)
    if (now := namespaces.current()) is not None:
        raise click.ClickException(f"a cluster is up ({now.spec}); remove it with `python -m tests.cluster down`")
    if os.geteuid() == 0 and os.nice(0) > PRIORITY:
        os.nice(PRIORITY - os.nice(0))


def here() -> str:
    """Returns the machine, its load, the instruction set, the day and the commit, for what stays of a run."""
    found = machine()
    return (
        f"{found['processor']}, {found['cores']} cores, {found['vector_instructions']}, load {found['load']}, "
        f"{datetime.date.today()}, commit {commit()}"
    )


def version_of(library: str) -> str:
    """Returns the version of a library without its name."""
    found = re.search(r"\d+(\.\d+)+", library)
    return found[0] if found else library


def trial_options(function: Callable[..., None]) -> Callable[..., None]:
    """Adds options that say whether trials correct the choice."""
    for option in (
        click.option(
            "--candidates",
            type=click.IntRange(1, 20),
            default=5,
            show_default=True,
            help="Entries that are tried besides the library's own.",
        ),
        click.option("--tune/--no-tune", default=True, help="Try candidates first, or take the model's choice."),
    ):
        function = option(function)
    return function


timeout_option = click.option("--timeout", default=900.0, show_default=True, help="Most seconds of one start.")
