"""Compares Lennard-Jones with its dispersion on a mesh with OpenMM's LJPME, and its virial with finite differences."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import openmm
import pytest
from openmm import unit

from tessera.system import read, write
from tests.support.runs import LJ_ALPHA, LJ_MESH, Runs, Settings, toml_value
from tests.support.samples import changed, sample

KCAL = unit.kilocalorie_per_mole


@cache
def openmm_lennard_jones(name: str, method: str) -> tuple[float, np.ndarray]:
    """Returns the energy (kcal/mol) and forces (kcal/mol/Å) of Lennard-Jones alone on OpenMM's Reference platform."""
    system = read(sample(name))
    force = openmm.NonbondedForce()
    force.setCutoffDistance(9 * unit.angstrom)
    force.setUseDispersionCorrection(False)
    force.setNonbondedMethod(getattr(openmm.NonbondedForce, method))
    force.setPMEParameters(2.8 / unit.nanometer, 16, 16, 16)  # there are no charges
    force.setLJPMEParameters(10 * LJ_ALPHA / unit.nanometer, 96, 96, 96)
    force.setReactionFieldDielectric(1)
    inert = openmm.System()
    sigma, epsilon = np.array(system.force_field.type_lj).T
    types = system.atom_field("type")
    for kind in types:
        inert.addParticle(1.0)
        force.addParticle(0.0, sigma[kind] / 10, epsilon[kind] * 4.184)
    for i, j in system.expand_exclusions().tolist():
        force.addException(i, j, 0.0, 0.1, 0.0)
    force.setExceptionsUsePeriodicBoundaryConditions(True)
    inert.addForce(force)
    inert.setDefaultPeriodicBoxVectors(*(system.box / 10))
    context = openmm.Context(inert, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(system.positions() / 10)
    state = context.getState(getEnergy=True, getForces=True)
    return (
        state.getPotentialEnergy().value_in_unit(KCAL),
        state.getForces(asNumpy=True).value_in_unit(KCAL / unit.angstrom),
    )


@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize("more", [{}, {"pme.cutoff": 11.0}], ids=["one cut-off", "two"])
def test_energy_and_forces(runs: Runs, precision: str, more: Settings) -> None:
    """Other forces are the same with Lennard-Jones cut, so the difference is that of OpenMM."""
    settings: Settings = {**LJ_MESH, **more, "parallel.precision": precision}
    found, forces = runs.forces(sample("peptide"), settings)
    cut, forces_cut = runs.forces(sample("peptide"), {**settings, "interactions.lj": "cut"})
    energy, expected = openmm_lennard_jones("peptide", "LJPME")
    energy_cut, expected_cut = openmm_lennard_jones("peptide", "CutoffPeriodic")
    assert cut["terms"]["lj"] == pytest.approx(energy_cut, rel=2e-5)
    assert cut["terms"]["lj_mesh"] == 0
    assert found["terms"]["lj"] + found["terms"]["lj_mesh"] == pytest.approx(energy, rel=2e-5)
    difference, wanted = forces - forces_cut, expected - expected_cut
    error = np.sqrt(((difference - wanted) ** 2).mean() / (expected_cut**2).mean())
    assert error < {"mixed": 1e-5, "double": 1e-6}[precision]
    assert np.sqrt((wanted**2).mean() / (expected_cut**2).mean()) > 1e-4  # so the test can see it


def test_the_splitting_does_not_matter(runs: Runs) -> None:
    """What changes with the splitting is the shift of the potential at the cut-off and where combination rules apply:
    with geometric means alone and a cut-off of half the box, nothing else."""
    energies = []
    for alpha in (0.25, 0.29, 0.33):
        terms = runs.energy(sample("water"), {**LJ_MESH, "interactions.cutoff": 12.0, "pme.lj_alpha": alpha})["terms"]
        energies.append(terms["lj"] + terms["lj_mesh"])
    assert np.ptp(energies) < 2e-3 * abs(energies[0])


def test_what_it_does_not_go_with_is_named(runs: Runs, tmp_path: Path) -> None:
    def refused(settings: Settings, path: Path | None = None) -> str:
        words = [f"--set={key}={toml_value(value)}" for key, value in {**LJ_MESH, **settings}.items()]
        done = runs.run_engine("--energy", path or sample("peptide"), *words, status=2)
        return str(done.stderr)

    assert "there is no tail: set interactions.lj_tail = false" in refused({"interactions.lj_tail": True})
    assert 'needs the mesh of interactions.electrostatics = "pme"' in refused({"interactions.electrostatics": "cut"})
    system = changed("peptide")
    system.force_field.nbfix_types = np.array([[0, 1]], np.int32)
    system.force_field.nbfix_lj = np.array([[3.0, 0.1]])
    write(system, tmp_path / "nbfix.tsr")
    message = refused({}, tmp_path / "nbfix.tsr")
    assert (
        "is not offered for pairs of types with parameters of their own (NBFIX), of which the system has 1" in message
    )


def test_energy_is_conserved(runs: Runs) -> None:
    """As well as with a force switch."""
    settings: Settings = {"dynamics.steps": 400, "dynamics.timestep": 1.0, "output.energy_every": 10}
    both = [
        np.std(runs.run(sample("peptide"), {**settings, **lj}).table["total"])
        for lj in ({"interactions.lj": "force-switch"}, {"interactions.lj": "pme"})
    ]
    assert both[1] < 1.5 * both[0] + 0.02
