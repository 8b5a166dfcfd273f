"""Runs OpenMM's CPU platform on the inputs of GROMACS.

The system is built once and kept as XML. Each run is a separate process (`openmm_child.py`), so that its memory is that
of the simulation alone.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path

import click

from bench.common import gromacs
from bench.common.options import Common
from bench.common.process import TimedRun, measure, ns_per_day

CHILD = Path(__file__).with_name("openmm_child.py")


def is_installed() -> bool:
    return importlib.util.find_spec("openmm") is not None


def version() -> dict[str, str]:
    import openmm

    return {"OpenMM": openmm.version.full_version}


def prepare(common: Common, name: str, cutoff: float, alpha: float, grid: list[int]) -> Path:
    """Returns a folder with system.xml and positions.npy.

    The mesh is that of the other programs (OpenMM's order is always 5). Pairs of types with parameters of their own
    (ApoA1 has one, NC2 with OC) are left out, because OpenMM takes a slow path with them.
    """
    folder = common.work / "openmm" / f"{name}_{cutoff:g}"
    if (folder / "positions.npy").exists():
        return folder
    import numpy as np
    import openmm
    from openmm import app, unit

    top, gro = gromacs.inputs(common, name)
    common.say(f"building {name} for OpenMM")
    folder.mkdir(parents=True, exist_ok=True)
    plain = folder / "plain.top"
    plain.write_text(re.sub(r"^\[ nonbond_params \]\n(?!\[)(?:[^\[].*\n|\n)*", "", top.read_text(), flags=re.M))
    positions, box = gromacs.read_gro(gro)
    topology = app.GromacsTopFile(str(plain), unitCellDimensions=openmm.Vec3(*box) * unit.nanometer)
    system = topology.createSystem(
        nonbondedMethod=app.PME,
        nonbondedCutoff=cutoff / 10 * unit.nanometer,
        constraints=app.HBonds,
        rigidWater=True,
        switchDistance=(cutoff - 2) / 10 * unit.nanometer if cutoff > 10 else None,
    )
    for force in system.getForces():
        if isinstance(force, openmm.NonbondedForce):
            force.setPMEParameters(alpha * 10, *grid)
            force.setUseDispersionCorrection(False)
        elif isinstance(force, openmm.CustomNonbondedForce):
            raise click.ClickException(f"OpenMM would take its slow path for {name}")
    (folder / "system.xml").write_text(openmm.XmlSerializer.serialize(system))
    np.save(folder / "positions.npy", positions)
    return folder


def run(prepared: Path, steps: int, threads: int, *, timeout: float | None = None) -> TimedRun:
    """Runs `steps` timed steps after a few to warm up."""
    words = [sys.executable, str(CHILD), str(prepared), str(steps), str(threads)]
    outcome = measure(words, folder=prepared, timeout=timeout)
    found = json.loads(outcome.stdout.strip().splitlines()[-1])
    return TimedRun(ns_per_day(steps, found["seconds"]), found["initial_potential"], outcome)
