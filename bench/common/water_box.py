"""Prepares boxes of water from OpenMM's force fields."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

import tessera
from tessera.system import write


class Model(NamedTuple):
    file: str  # OpenMM's force field
    box: str  # of OpenMM's Modeller, from which molecules are taken
    sites: int  # of a molecule


MODELS = {
    "TIP3P": Model("amber14/tip3p.xml", "tip3p", 3),
    "SPC/E": Model("spce.xml", "spce", 3),
    "OPC": Model("amber14/opc.xml", "tip4pew", 4),
    "TIP4P-Ew": Model("amber14/tip4pew.xml", "tip4pew", 4),
    "TIP5P": Model("tip5p.xml", "tip5p", 5),
}


def water_box(folder: Path, name: str, molecules: int) -> Path:
    """Returns the system file of a cube of so many molecules, made once."""
    path = folder / f"{name.replace('/', '')}-{molecules}.tsr"
    if path.exists():
        return path
    from openmm import app, unit

    model = MODELS[name]
    random.seed(1)
    field = app.ForceField(model.file)
    modeller = app.Modeller(app.Topology(), [])
    modeller.addSolvent(field, model=model.box, numAdded=molecules)
    found = field.createSystem(
        modeller.topology, nonbondedMethod=app.PME, nonbondedCutoff=0.8 * unit.nanometer, constraints=app.HBonds
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write(tessera.prepare_openmm(found, modeller.topology, modeller.positions), path)
    return path
