"""Ions of AMBER's 12-6-4 potential against OpenMM's Reference platform; ParmEd makes the input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openmm
import parmed
import pytest
from openmm import app, unit

from tessera.build.water import make_water
from tessera.prepare.amber import prepare_amber
from tessera.system import System, write
from tests.support.runs import Runs, Settings

KCAL = 4.184
CUTOFF = 8.0
SETTINGS: Settings = {"interactions.cutoff": CUTOFF, "interactions.lj_tail": False}


def magnesium_in_water(folder: Path) -> tuple[Path, Path]:
    """Writes prmtop and inpcrd of water, two magnesium and four chloride ions, with 12-6-4 terms of the magnesium."""
    water = make_water(1500)
    topology = app.Topology()
    chain = topology.addChain()
    position = water.positions().reshape(-1, 3, 3) + np.diag(water.box) / 2
    ions = {40: "MG", 300: "MG", 120: "CL", 200: "CL", 350: "CL", 450: "CL"}
    places = []
    for index, atoms in enumerate(position):
        name = ions.get(index)
        if name is not None:
            symbol = {"MG": "Mg", "CL": "Cl"}[name]
            topology.addAtom(name, app.Element.getBySymbol(symbol), topology.addResidue(name, chain))
            places.append(atoms[0])
            continue
        residue = topology.addResidue("HOH", chain)
        oxygen, *hydrogens = [
            topology.addAtom(atom, app.Element.getBySymbol(atom[0]), residue) for atom in ("O", "H1", "H2")
        ]
        for hydrogen in hydrogens:
            topology.addBond(oxygen, hydrogen)
        places.extend(atoms)
    topology.setPeriodicBoxVectors(water.box * 0.1)
    field = app.ForceField("amber14/tip3p.xml")
    system = field.createSystem(topology, rigidWater=False, nonbondedMethod=app.PME, nonbondedCutoff=0.8)
    structure = parmed.openmm.load_topology(topology, system, np.array(places) * unit.angstrom)
    parm = parmed.amber.AmberParm.from_structure(structure)
    for atom, element in zip(parm.atoms, topology.atoms()):
        atom.type = {"O": "OW", "H": "HW", "Mg": "Mg2+", "Cl": "Cl-"}[element.element.symbol]
    parm.parm_data["AMBER_ATOM_TYPE"] = [atom.type for atom in parm.atoms]
    # polarisabilities, Å³, of the types, as AmberTools' table has them
    (folder / "polarisabilities").write_text("OW 1.444\nHW 0.000\nMg2+ 0.120\nCl- 3.690\n")
    parmed.tools.add12_6_4(parm, ":MG", watermodel="TIP3P", polfile=str(folder / "polarisabilities")).execute()
    parm.save(str(folder / "mg.prmtop"), overwrite=True)
    parm.save(str(folder / "mg.rst7"), overwrite=True)
    return folder / "mg.prmtop", folder / "mg.rst7"


def reference(prmtop: Path, ours: System) -> tuple[float, np.ndarray]:
    """Returns OpenMM's energy without charges, kcal/mol, and forces, kcal/mol/Å. OpenMM has 12-6 and C/r⁴ in two
    forces."""
    source = app.AmberPrmtopFile(str(prmtop), periodicBoxVectors=ours.box * 0.1 * unit.nanometer)
    system = source.createSystem(nonbondedMethod=app.PME, nonbondedCutoff=0.1 * CUTOFF, rigidWater=False)
    classes = []
    for force in system.getForces():
        classes.append(type(force).__name__)
        force.setForceGroup(int("Nonbonded" in classes[-1]))
        # OpenMM's corrections count the pair of an atom with itself in another way: they differ by 1/N.
        if isinstance(force, openmm.CustomNonbondedForce):
            force.setUseLongRangeCorrection(False)
        if isinstance(force, openmm.NonbondedForce):
            force.setUseDispersionCorrection(False)
            for i in range(force.getNumParticles()):
                _, sigma, epsilon = force.getParticleParameters(i)
                force.setParticleParameters(i, 0.0, sigma, epsilon)
    assert {"NonbondedForce", "CustomNonbondedForce"} <= set(classes)
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(ours.positions() * 0.1)
    state: Any = context.getState(getEnergy=True, getForces=True, groups={1})
    return state.getPotentialEnergy()._value / KCAL, np.array(state.getForces(asNumpy=True)._value) / (10 * KCAL)


def without_charges(system: System) -> System:
    for template in system.templates:
        template.charge = np.zeros_like(template.charge)
    return system


@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_magnesium_in_water(runs: Runs, tmp_path: Path, precision: str) -> None:
    prmtop, coordinates = magnesium_in_water(tmp_path)
    ours = prepare_amber(prmtop, coordinates)
    field = ours.force_field
    magnesium = field.type_name.index("Mg2+")
    assert set(field.pair_kind) == {"12-6-4"} and (field.pair_types == magnesium).any(axis=1).all()
    assert (field.pair_parameter[:, 2] > 0).any()
    write(without_charges(ours), tmp_path / "mg.tsr")
    expected, forces = reference(prmtop, ours)
    found, mine = runs.forces(tmp_path / "mg.tsr", {**SETTINGS, "parallel.precision": precision})
    assert found["terms"]["lj"] == pytest.approx(expected, rel=2e-5)
    ions = ours.atom_field("type") == magnesium  # no bonded force acts on them
    assert np.abs(mine[ions] - forces[ions]).max() < 2e-5 * np.abs(forces[ions]).max()


def test_the_summary_names_them(tmp_path: Path) -> None:
    from tessera.commands.summary import describe, summary

    prmtop, coordinates = magnesium_in_water(tmp_path)
    text = describe(summary(prepare_amber(prmtop, coordinates), tmp_path / "mg.tsr", 0.0))
    assert "pairs   12-6-4" in text
