"""Runs Tessera's engine."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from bench.common.process import Outcome, measure
from bench.common.results import ROOT

sys.path.insert(0, str(ROOT / "python"))

from tessera import launch
from tessera.plots import EnergyTable, read_energy_table

Settings = dict[str, dict[str, Any]]  # section → key → value


@dataclass(frozen=True)
class Layout:
    """A number of ranks and threads; several ranks run under the named MPI."""

    ranks: int
    threads: int
    mpi: str = "auto"

    def __str__(self) -> str:
        return f"{self.ranks} × {self.threads}"

    @classmethod
    def parse(cls, text: str, mpi: str = "auto") -> Layout:
        """Reads a layout: `2x1` is two ranks of one thread."""
        try:
            ranks, threads = (int(word) for word in text.lower().split("x"))
        except ValueError:
            raise click.UsageError(f"{text!r} is no layout; say ranks x threads, as in 2x1") from None
        if ranks < 1 or threads < 1:
            raise click.UsageError(f"{text!r}: at least one rank and one thread")
        return cls(ranks, threads, mpi if ranks > 1 else "serial")


def interactions(cutoff: float, lj: str = "force-switch") -> Settings:
    """Returns the settings of the comparisons. At 12 Å there is a switch from 10 Å and the mesh is at most 1.1 Å; at
    shorter cut-offs there is no switch and the mesh is at most 1.2 Å. The order is 4, the tolerance 1e-5, the time step
    2 fs, and bonds with hydrogen are constrained."""
    long = cutoff > 10
    return {
        "interactions": {"cutoff": cutoff, "switch": cutoff - 2, "lj": lj if long else "cut", "electrostatics": "pme"},
        "pme": {"order": 4, "spacing": 1.1 if long else 1.2, "tolerance": 1e-5},
        "dynamics": {"timestep": 2.0, "constraints": "h-bonds", "temperature": 300.0, "seed": 1},
    }


def merge(*parts: Settings) -> Settings:
    """Merges settings; later ones replace earlier ones."""
    result: Settings = {}
    for part in parts:
        for section, keys in part.items():
            result.setdefault(section, {}).update(keys)
    return result


def without_frames(cutoff: float, steps: int, lj: str = "force-switch") -> Settings:
    """Returns the settings of the comparisons for so many steps that leave no trajectory."""
    return merge(interactions(cutoff, lj), {"dynamics": {"steps": steps}, "output": {"trajectory": "none"}})


def run_file(settings: Settings) -> str:
    """Returns the settings as the text of a TOML file."""
    lines = []
    for section, keys in settings.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in keys.items()]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Run:
    """A finished run: its report, its energies, its time and memory."""

    folder: Path
    report: dict[str, Any]
    outcome: Outcome

    def energies(self) -> EnergyTable:
        return read_energy_table(self.folder / "energy.csv")

    def initial_potential(self) -> float:
        """The potential energy at the start, kcal/mol."""
        return float(self.energies().values["potential"][0])

    def versions(self) -> dict[str, str]:
        v = self.report["versions"]
        return {"Tessera": v["tessera"], "SIMD of Tessera": v["simd"], "compiler": v["compiler"]}


def start(
    arguments: list[str], folder: Path, layout: Layout, *, under: Sequence[str] = (), timeout: float | None = None
) -> Outcome:
    """Runs the engine with these arguments, under a tool if one is given, and measures it. Raises ClickException."""
    words = launch.engine_command(arguments, ranks=layout.ranks, threads=layout.threads, mpi=layout.mpi)
    engine = next(i for i, word in enumerate(words) if Path(word).name.startswith("tessera-md"))
    return measure([*words[:engine], *under, *words[engine:]], folder=folder, launcher=engine, timeout=timeout)


def run(
    system: Path,
    settings: Settings,
    folder: Path,
    layout: Layout,
    *,
    under: Sequence[str] = (),
    timeout: float | None = None,
) -> Run:
    """Runs `system` in `folder`, replacing an earlier run there. Raises ClickException."""
    folder.mkdir(parents=True, exist_ok=True)
    fixed: Settings = {
        "input": {"system": str(system)},
        "output": {"folder": "output", "overwrite": True, "progress": "none"},
    }
    (folder / "run.toml").write_text(run_file(merge({"output": {"energy_every": 100}}, settings, fixed)))
    outcome = start(["run.toml"], folder, layout, under=under, timeout=timeout)
    report = json.loads((folder / "output" / "report.json").read_text())
    return Run(folder / "output", report, outcome)
