"""Virtual sites: energies and forces as OpenMM's Reference platform has them, gradients and the virial by finite
differences for every kind, and what motion conserves."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest

from tessera.prepare.gromacs import prepare_gromacs
from tessera.system import System, VirtualSites, read, write
from tests.support.gradients import check_gradient, strain_slope
from tests.support.oracle import Settings as ReferenceSettings
from tests.support.oracle import reference_energies, reference_forces
from tests.support.runs import Runs, Settings, drift, fluctuation
from tests.support.sites import CUTOFF, GROMACS_KINDS, WATERS, openmm_water, write_molecules, write_water

MESH: Settings = {
    "interactions.cutoff": CUTOFF,
    "interactions.switch": 7.0,
    "interactions.lj": "potential-switch",
    "pme.alpha": 0.5,
    "pme.order": 8,
    "pme.grid": [48, 48, 48],
}
DOUBLE: Settings = {**MESH, "parallel.precision": "double"}


@pytest.fixture(scope="module")
def waters(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("waters")
    return lambda model: write_water(model, folder)


@pytest.fixture(scope="module")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], System]:
    def make(kind: str) -> System:
        return prepare_gromacs(*write_molecules(kind, tmp_path_factory.mktemp(kind)))

    return make


@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize("model", WATERS)
def test_waters_have_openmms_energies_and_forces(runs: Runs, waters: Any, model: str, precision: str) -> None:
    path = waters(model)
    settings: Settings = {**MESH, "pme.alpha": 0.4, "interactions.lj": "cut", "parallel.precision": precision}
    found, forces = runs.forces(path, settings)
    reference = ReferenceSettings(cutoff=CUTOFF, lj="cut", alpha=0.4, grid=(72, 72, 72), lj_tail=True)
    expected = reference_energies(path, reference)
    for term, value in found["terms"].items():
        assert value == pytest.approx(expected.get(term, 0.0), rel=2e-5, abs=1e-9), term
    sites = read(path).virtual_site_ids()
    assert len(sites) == {"tip5p": 432}.get(model, 216)
    assert not forces[sites].any()
    theirs = reference_forces(path, reference)
    theirs[sites] = 0.0  # OpenMM leaves there what it has given to the parents
    assert np.sqrt(((forces - theirs) ** 2).mean() / (theirs**2).mean()) < (2e-5 if precision == "mixed" else 2e-6)
    assert np.abs(forces.sum(axis=0)).max() < 0.05  # of the mesh


def local_coordinates(system: System) -> System:
    """Returns the system of `4fdn` with a site that uses every number of a frame."""
    out = copy.deepcopy(system)
    out.templates[0].virtual_sites = VirtualSites(
        atom=np.array([5], np.int32),
        frame=np.array([2], np.int32),
        position=np.array([[0.3, -0.5, 0.7]]),
        parents=np.array([[0, 0], [0, 1], [0, 2], [0, 3]], np.int32),
        weights=np.array([[0.5, -1.0, 0.3], [0.3, 0.6, -1.0], [0.1, 0.4, 0.2], [0.1, 0.0, 0.5]]),
    )
    out.place_virtual_sites()
    return out


@pytest.mark.parametrize("kind", [*GROMACS_KINDS, "local"])
def test_gradient_and_virial_of_each_kind(runs: Runs, molecules: Any, tmp_path: Path, kind: str) -> None:
    system = local_coordinates(molecules("4fdn")) if kind == "local" else molecules(kind)
    check_gradient(runs, tmp_path, system, DOUBLE)
    write(system, tmp_path / "a.tsr")
    found = runs.energy(tmp_path / "a.tsr", DOUBLE)
    for axis in (0, 1, 2):
        slope = strain_slope(runs, tmp_path, system, DOUBLE, (axis, axis))
        assert -found["virial"][axis] == pytest.approx(slope, rel=1e-4, abs=2e-3)
    _, forces = runs.forces(tmp_path / "a.tsr", DOUBLE)
    reference = ReferenceSettings(cutoff=CUTOFF, switch=7.0, alpha=0.5, grid=(72, 72, 72))
    theirs = reference_forces(system, reference)
    theirs[system.virtual_site_ids()] = 0.0
    assert np.sqrt(((forces - theirs) ** 2).mean() / (theirs**2).mean()) < 2e-6


def count_of_openmm(system: openmm.System) -> int:
    """Counts degrees of freedom as OpenMM's StateDataReporter does."""
    moving = sum(system.getParticleMass(i)._value > 0 for i in range(system.getNumParticles()))
    removes = any(isinstance(force, openmm.CMMotionRemover) for force in system.getForces())
    return 3 * moving - system.getNumConstraints() - (3 if removes else 0)


@pytest.mark.parametrize("model", ["tip4pew", "tip5p"])
def test_energy_is_conserved(runs: Runs, tmp_path: Path, model: str) -> None:
    path = write_water(model, tmp_path, warm=True)
    settings: Settings = {
        **MESH,
        "pme.alpha": 0.4,
        "interactions.lj": "force-switch",
        "dynamics.steps": 400,
        "dynamics.timestep": 1.0,
        "output.energy_every": 1,
        "output.checkpoint_every": 0,
    }
    found = runs.run(path, settings)
    slope, error = drift(found)
    assert abs(slope) < 0.5 + 3 * error, (slope, error)
    assert fluctuation(found) < 0.05 * np.std(found.table["kinetic"])
    assert found.report["results"]["degrees_of_freedom"] == count_of_openmm(openmm_water(model)[0])
    # The temperature is that of so many degrees of freedom.
    kinetic, temperature = found.table["kinetic"], found.table["temperature"]
    expected = 2 * kinetic / (0.0019872043 * count_of_openmm(openmm_water(model)[0]))
    assert temperature == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("kind", ["3fad", "4fdn", "cog"])
def test_energy_is_conserved_with_flexible_parents(runs: Runs, molecules: Any, tmp_path: Path, kind: str) -> None:
    write(molecules(kind), tmp_path / "a.tsr")
    settings: Settings = {
        **MESH,
        "pme.alpha": 0.4,
        "interactions.lj": "force-switch",
        "dynamics.constraints": "none",
        "dynamics.temperature": 200,
        "dynamics.steps": 500,
        "dynamics.timestep": 0.5,
        "output.energy_every": 1,
        "output.checkpoint_every": 0,
    }
    found = runs.run(tmp_path / "a.tsr", settings)
    slope, error = drift(found)
    assert abs(slope) < 1 + 3 * error, (slope, error)
    assert fluctuation(found) < 0.02 * np.std(found.table["kinetic"])
    assert found.report["results"]["degrees_of_freedom"] == 3 * 5 * 27 - 3


def test_a_pressure_bath_keeps_account(runs: Runs, tmp_path: Path) -> None:
    """The work of a change of the box, which takes forces on sites into account, is that of the energy: the conserved
    quantity stays while the box follows the pressure."""
    path = write_water("tip4pew", tmp_path, warm=True)
    settings: Settings = {
        **MESH,
        "pme.alpha": 0.4,
        "interactions.lj": "force-switch",
        "dynamics.ensemble": "npt",
        "dynamics.tau_p": 0.5,
        "dynamics.coupling_every": 5,
        "dynamics.steps": 300,
        "dynamics.timestep": 1.0,
        "output.energy_every": 5,
        "output.checkpoint_every": 0,
    }
    table = runs.run(path, settings).table
    assert np.ptp(table["box_a"]) > 0.05
    assert np.ptp(table["conserved"]) < 0.05 * np.ptp(table["total"])
