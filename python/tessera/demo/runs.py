"""The runs of the demonstration: how each is started, and what came of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tessera.launch import NAMES, engine_command, engines, launchers, usable_cores


@dataclass(frozen=True)
class Way:
    """A way to start the engine: the name of its output folder, the options of `tessera run`, and both in words."""

    name: str
    options: tuple[str, ...]
    words: str


def ways(ranks: int | None, mpi: str) -> list[Way]:
    """Returns how the demonstration runs: on one process, with a thread on each core, and on `ranks` ranks (None: one a
    core, at least two) of the MPI that is asked for, or with `auto` of the first that has a launcher and an engine.
    With one rank, with `serial` and where there is no MPI, the first way remains. Raises `LaunchError` where one of
    them can't be started."""
    cores = usable_cores()
    found = [Way("one_process", ("-n", "1", "-t", str(cores)), f"1 process of {cores} thread{'s' * (cores != 1)}")]
    ranks = max(2, cores) if ranks is None else ranks
    flavour = _available() if mpi == "auto" else mpi
    engine_command([], threads=cores)
    if ranks > 1 and flavour is not None and flavour != "serial":
        engine_command([], ranks=ranks, mpi=flavour)
        found.append(Way(flavour, ("-n", str(ranks), "--mpi", flavour), f"{ranks} ranks of {NAMES[flavour]}"))
    return found


def _available() -> str | None:
    """Returns the MPI of the first launcher for which there is an engine; None where there is none."""
    built = engines()
    return next((launcher.flavour for launcher in launchers() if launcher.flavour in built), None)


@dataclass(frozen=True)
class Outcome:
    """What a run came to: its speed, the instruction set of its kernels, the hash of its last state, and its time."""

    way: Way
    ns_per_day: float
    simd: str
    state_hash: str
    picoseconds: float


def outcome_of(way: Way, folder: Path) -> Outcome:
    """Reads what the run has written. Raises OSError."""
    report: dict[str, Any] = json.loads((folder / way.name / "report.json").read_text(encoding="utf-8"))
    picoseconds = report["steps"] * report["settings"]["dynamics"]["timestep"] / 1000
    return Outcome(way, report["ns_per_day"], report["versions"]["simd"], report["state_hash"], picoseconds)
