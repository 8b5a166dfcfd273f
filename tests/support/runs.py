"""Starts the engine in tests: writes run files from dotted keys, and reads a run's results, energies and forces."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.programs import wait_until

Setting = bool | int | float | str | list[int]
Settings = dict[str, Setting]

BOLTZMANN = 0.0019872042586408316  # kcal/mol/K

#: settings of most runs: the small box allows these cut-offs
SHORT_RANGE: Settings = {"interactions.cutoff": 9.0, "interactions.switch": 8.0}
#: Lennard-Jones with its dispersion on a mesh that is converged
LJ_ALPHA = 0.35  # 1/Å
LJ_MESH: Settings = {
    "interactions.cutoff": 9.0,
    "interactions.lj": "pme",
    "interactions.lj_tail": False,
    "pme.alpha": 0.28,
    "pme.lj_alpha": LJ_ALPHA,
    "pme.grid": [72, 72, 72],
    "pme.order": 8,
}
#: both baths, in few steps
BATHS: Settings = {
    "dynamics.ensemble": "npt",
    "dynamics.steps": 60,
    "dynamics.coupling_every": 5,
    "dynamics.monte_carlo_every": 4,
    "dynamics.tau_t": 0.2,
    "dynamics.tau_p": 1.0,
    "output.energy_every": 7,
}

#: Open MPI's mpirun waits for so many seconds after a signal on which it acts itself, sends SIGTERM to its ranks, waits
#: again, and sends SIGKILL. Ranks need 0.1 s on an idle machine; the default of a second is short for a busy one.
PATIENT = {"OMPI_MCA_odls_base_sigkill_timeout": "5"}


def toml_value(value: Setting) -> str:
    return json.dumps(value)


def write_run_file(path: Path, settings: Settings) -> Path:
    """Writes a run file; the keys of `settings` are "section.key"."""
    sections: dict[str, list[str]] = {}
    for name, value in settings.items():
        section, key = name.split(".")
        sections.setdefault(section, []).append(f"{key} = {toml_value(value)}")
    path.write_text("".join(f"[{name}]\n" + "\n".join(lines) + "\n" for name, lines in sections.items()))
    return path


def read_table(path: Path) -> dict[str, np.ndarray]:
    """Returns the columns of energy.csv by name (without unit)."""
    with path.open() as file:
        rows = list(csv.reader(line for line in file if not line.startswith("#")))
    names = [name.split(" [")[0] for name in rows[0]]
    return {name: np.array([float(row[i]) for row in rows[1:]]) for i, name in enumerate(names)}


def wait_for(process: subprocess.Popen[str], path: Path, size: int = 1) -> None:
    """Waits until a file has at least `size` lines."""
    wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") >= size, process)


@dataclass
class Outcome:
    """A finished run."""

    process: subprocess.CompletedProcess[str]
    folder: Path

    @property
    def report(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "report.json").read_text()))

    @property
    def hash(self) -> str:
        return str(self.report["state_hash"])

    @property
    def table(self) -> dict[str, np.ndarray]:
        return read_table(self.folder / "energy.csv")


def fluctuation(found: Outcome) -> float:
    """Returns the standard deviation of the total energy about its fitted line, kcal/mol."""
    table = found.table
    line = np.polyfit(table["time"], table["total"], 1)
    return float(np.std(table["total"] - np.polyval(line, table["time"])))


def drift(found: Outcome) -> tuple[float, float]:
    """Returns the slope of the total energy and its standard error, kT/ns per degree of freedom."""
    table, degrees = found.table, found.report["results"]["degrees_of_freedom"]
    scale = 1000 / (BOLTZMANN * table["temperature"].mean() * degrees)
    line, covariance = np.polyfit(table["time"], table["total"], 1, cov=True)
    return float(line[0] * scale), float(np.sqrt(covariance[0, 0]) * scale)


class Runs:
    """Starts runs, each in a folder of its own; `sizes` are mpi, ranks, threads, env and engines."""

    def __init__(self, run_engine: Callable[..., subprocess.CompletedProcess[str]], work: Path) -> None:
        self.run_engine, self.work, self.count = run_engine, work, 0
        self.hashes: dict[str, str] = {}

    def run_file(self, system: Path, settings: Settings, name: str = "") -> Path:
        """Writes a run file into a new folder; the run's output goes to `output` beside it."""
        self.count += 1
        place = self.work / (name or f"run{self.count}")
        place.mkdir(parents=True, exist_ok=True)
        base: Settings = {"input.system": str(system), "output.folder": "output", "output.progress": "none"}
        return write_run_file(place / "run.toml", {**SHORT_RANGE, **base, **settings})

    def start(self, run_file: Path, *arguments: str, check: bool = True, **sizes: Any) -> Outcome:
        process = self.run_engine(run_file, *arguments, check=check, **sizes)
        return Outcome(process, run_file.parent / "output")

    def run(self, system: Path, settings: Settings, *, check: bool = True, **sizes: Any) -> Outcome:
        return self.start(self.run_file(system, settings), check=check, **sizes)

    def hash_of_one_rank(self, system: Path, settings: Settings) -> str:
        """Returns the state hash of the run without MPI on one thread; it is computed once."""
        key = f"{system} {sorted(settings.items(), key=str)}"
        if key not in self.hashes:
            self.hashes[key] = self.run(system, settings).hash
        return self.hashes[key]

    def energy(self, system: Path, settings: Settings | None = None, **sizes: Any) -> dict[str, Any]:
        """Returns the object that --energy --json prints."""
        return dict(json.loads(self.energy_text(system, settings, **sizes)))

    def energy_text(self, system: Path, settings: Settings | None = None, *more: str, **sizes: Any) -> str:
        chosen = {**SHORT_RANGE, **(settings or {})}
        words = [f"--set={name}={toml_value(value)}" for name, value in chosen.items()]
        return str(self.run_engine("--energy", system, "--json", *words, *more, **sizes).stdout)

    def forces(self, system: Path, settings: Settings | None = None, **sizes: Any) -> tuple[dict[str, Any], np.ndarray]:
        """Returns that object, and forces (n,3) kcal/mol/Å in id order."""
        self.count += 1
        path = self.work / f"forces{self.count}.npy"
        found = json.loads(self.energy_text(system, settings, "--forces", str(path), **sizes))
        return found, np.load(path)


def with_set(name: str) -> dict[str, str]:
    """Returns the environment in which kernels use this instruction set."""
    return {"TESSERA_SIMD": name}
