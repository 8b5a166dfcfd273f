"""Brings systems that were built or prepared to 300 K."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench.common import engine, systems
from bench.common.options import Common
from tessera.export.configuration import read_configuration
from tessera.system import write

SEGMENT = 0.5  # ps of each piece


def equilibrated(common: Common, name: str, base: engine.Settings, ps: float, layout: engine.Layout) -> Path:
    """Returns the system file after `ps` of short runs, each with new velocities at 300 K; it is kept in the work
    folder."""
    original = systems.system(common, name)
    pieces = round(ps / SEGMENT)
    if pieces == 0:
        return original
    ensemble = base.get("dynamics", {}).get("ensemble", "nve")
    result = common.work / "systems" / f"{name}_{base['interactions']['cutoff']:g}_{ensemble}_{pieces}x{SEGMENT}ps.tsr"
    if result.exists():
        return result
    current = result.with_suffix(".next.tsr")
    shutil.copyfile(original, current)
    for piece in range(pieces):
        settings = engine.merge(
            base,
            {
                "dynamics": {
                    "timestep": 2.0,
                    "steps": round(SEGMENT / 0.002),
                    "velocities": "generate",
                    "temperature": 300.0,
                    "seed": piece,
                },
                "output": {"trajectory": "none"},
            },
        )
        run = engine.run(current, settings, common.work / "runs" / "equilibrate", layout)
        system = read_configuration(run.folder, system=original).system
        system.velocity = None
        write(system, current)
        last = run.energies().values["temperature"][-1]
        common.say(f"{name}: equilibration {piece + 1}/{pieces}, {last:.0f} K at its end")
    current.replace(result)
    return result
