"""Triclinic boxes: energies and forces against OpenMM, derivatives by positions and by the box, the same crystal in
other vectors, and conservation."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path

import numpy as np
import openmm
import pytest
from openmm import unit

from tessera.build.replicate import replicate
from tessera.prepare.coordinates import read_coordinates
from tessera.system import System, write
from tessera.system.blocks import to_fraction
from tessera.system.box import heights, in_vectors
from tests.forces.test_forces import COMPONENTS, MESH
from tests.support.gradients import check_gradient, strain_slope
from tests.support.oracle import TERMS, coulomb_parts, lj_coefficients, lj_pair_energy, openmm_system, pairs_within
from tests.support.oracle import Settings as Reference
from tests.support.programs import TESSERA, run_program
from tests.support.runs import Runs, Settings
from tests.support.samples import changed, sample, whole_positions

SHAPES = ("octahedron", "dodecahedron")
FINE: Settings = {**MESH, "pme.alpha": 0.5, "pme.order": 8, "pme.grid": [64, 64, 64]}


def of_platform(system: System, settings: Reference, name: str) -> tuple[dict[str, float], np.ndarray]:
    """Returns energies by term in kcal/mol, with the reciprocal part of PME as a term, and forces (n,3) kcal/mol/Å."""
    reciprocal = len(TERMS)
    built = openmm_system(system, settings)
    for force in built.getForces():
        if isinstance(force, openmm.NonbondedForce):
            force.setReciprocalSpaceForceGroup(reciprocal)
    context = openmm.Context(built, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName(name))
    context.setPositions(system.positions() * 0.1)
    energies = {}
    for group, term in enumerate((*TERMS, "reciprocal")):
        energy = context.getState(getEnergy=True, groups={group}).getPotentialEnergy()
        energies[term] = energy.value_in_unit(unit.kilocalories_per_mole)
    forces = context.getState(getForces=True).getForces(asNumpy=True)
    return energies, np.asarray(forces.value_in_unit(unit.kilocalories_per_mole / unit.angstrom))


@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize("shape", SHAPES)
def test_energies_by_term(runs: Runs, shape: str, precision: str) -> None:
    """OpenMM's Reference platform has the bonded terms and the mesh in double precision. In triclinic boxes its list of
    neighbours leaves out some pairs, so that sums over pairs are NumPy's here, and forces those of the CPU platform."""
    settings: Settings = {
        "interactions.lj": "potential-switch",
        "pme.alpha": 0.34,
        "pme.grid": [48, 48, 48],
        "pme.order": 8,
        "parallel.precision": precision,
    }
    found, forces = runs.forces(sample(shape), settings)
    system, reference = changed(shape), Reference(cutoff=9.0, switch=8.0, alpha=0.34, grid=(90, 90, 90))
    expected, _ = of_platform(system, reference, "Reference")
    of_pairs = coulomb_parts(system, reference, 0.0)
    reciprocal = expected.pop("reciprocal") - of_pairs["coulomb_self"] - of_pairs["coulomb_background"]
    pairs, distance = pairs_within(system, 9.0)
    kinds = system.atom_field("type")[pairs].T
    a, b = (table[kinds[0], kinds[1]] for table in lj_coefficients(system))
    expected |= {**of_pairs, "coulomb_reciprocal": reciprocal, "lj": lj_pair_energy(reference)(distance, a, b).sum()}
    del expected["coulomb"]
    assert expected["cmap"] != 0
    for term, energy in expected.items():
        assert found["terms"][term] == pytest.approx(energy, abs=2e-5 * max(abs(energy), 1.0)), term
    single, of_openmm = of_platform(system, reference, "CPU")
    assert expected["lj"] == pytest.approx(single["lj"], rel=2e-5)
    error = np.sqrt(((forces - of_openmm) ** 2).sum() / (of_openmm**2).sum())
    assert error < 2e-5


@pytest.mark.parametrize("shape", SHAPES)
def test_forces_are_gradients(runs: Runs, tmp_path: Path, shape: str) -> None:
    check_gradient(runs, tmp_path, changed(shape), {**FINE, "interactions.lj": "force-switch"})


@pytest.mark.parametrize("electrostatics", ["pme", "force-switch"])
def test_virial_and_its_shear(runs: Runs, tmp_path: Path, electrostatics: str) -> None:
    """All six components, with the mesh and without. Energies that are rounded to a few 10⁻⁶ kcal/mol make errors of
    0.01 kcal/mol in their slopes, 2e-6 of the scale."""
    settings: Settings = {
        **FINE,
        "interactions.lj": "force-switch",
        "interactions.lj_tail": True,
        "interactions.electrostatics": electrostatics,
    }
    found = runs.energy(sample("dodecahedron"), settings)
    system = changed("dodecahedron")
    scale = np.abs(found["virial"]).max() + 1000
    slopes = [strain_slope(runs, tmp_path, system, settings, part) for part in COMPONENTS]
    assert found["virial"] == pytest.approx(-np.array(slopes), abs=6e-6 * scale)


def in_other_vectors(system: System, turns: list[list[int]]) -> System:
    """Returns the same crystal with whole sums of the box vectors, whose determinant is 1, as box."""
    out = copy.copy(system)
    out.box = np.array(turns, np.float64) @ system.box
    out.fraction = in_vectors(system.fraction, system.box, out.box)
    return out


def check_same_crystal(runs: Runs, folder: Path, one: System, other: System, rows: np.ndarray) -> None:
    """Compares energies per molecule and forces; `rows` are the atoms of `one` that those of `other` are."""
    write(one, folder / "one.tsr")
    write(other, folder / "other.tsr")
    # Both meshes are so fine that their errors are below the tolerance.
    first, of_one = runs.forces(folder / "one.tsr", {**FINE, "pme.alpha": 0.3, "pme.grid": [72, 72, 72]})
    second, of_other = runs.forces(folder / "other.tsr", {**FINE, "pme.alpha": 0.3, "pme.grid": [72, 72, 72]})
    times = other.n_atoms / one.n_atoms
    for term, value in first["terms"].items():
        assert second["terms"][term] == pytest.approx(times * value, rel=1e-6, abs=1e-4), term
    assert np.allclose(second["virial"], times * np.array(first["virial"]), rtol=1e-6, atol=2e-2)
    assert np.abs(of_other - of_one[rows]).max() < 1e-5 * np.abs(of_one).max()


@pytest.mark.parametrize("turns", [[[1, 0, 0], [1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 1, 0], [-1, 1, 1]]])
def test_a_crystal_in_sheared_vectors(runs: Runs, tmp_path: Path, turns: list[list[int]]) -> None:
    """The orthorhombic box of the peptide with a lattice vector added to another describes the same crystal."""
    system = changed("peptide")
    other = in_other_vectors(system, turns)
    assert heights(other.box).min() < 0.8 * heights(system.box).min()
    check_same_crystal(runs, tmp_path, system, other, np.arange(system.n_atoms))


def test_an_octahedron_is_half_a_cube(runs: Runs, tmp_path: Path) -> None:
    """Two truncated octahedra with one place each fill a cube. The lattice is turned so that the cube lies along x, y
    and z."""
    system = changed("octahedron")
    edge = np.linalg.norm(system.box[0]) * 2 / np.sqrt(3)
    # The primitive vectors of a body-centred cube with the angles of the box, right-handed
    cubic = 0.5 * edge * np.array([[1, 1, 1], [-1, 1, 1], [-1, -1, 1]])
    assert np.allclose(cubic @ cubic.T, system.box @ system.box.T)
    rotation = np.linalg.inv(system.box) @ cubic  # of row vectors
    double = replicate(system, (2, 1, 1))
    rows = np.concatenate([np.tile(np.arange(n), 2) + start for start, n in _runs(system)])
    copies = np.concatenate([np.repeat([0, 1], n) for _, n in _runs(system)])
    position = (whole_positions(system)[1][rows] + copies[:, None] * system.box[0]) @ rotation
    double.box = edge * np.eye(3)
    double.fraction = to_fraction(position, double.box)
    write(system, tmp_path / "one.tsr")
    write(double, tmp_path / "cube.tsr")
    settings: Settings = {**FINE, "pme.alpha": 0.3, "pme.grid": [80, 80, 80]}
    one, forces = runs.forces(tmp_path / "one.tsr", settings)
    cube, of_cube = runs.forces(tmp_path / "cube.tsr", settings)
    for term, value in one["terms"].items():
        assert cube["terms"][term] == pytest.approx(2 * value, rel=2e-6, abs=2e-4), term
    assert np.abs(of_cube - (forces @ rotation)[rows]).max() < 1e-5 * np.abs(forces).max()


def _runs(system: System) -> list[tuple[int, int]]:
    sizes = [system.templates[m].n_atoms * n for m, n in system.runs]
    return list(zip(np.cumsum([0, *sizes[:-1]]).tolist(), sizes))


NPT: Settings = {
    "dynamics.ensemble": "npt",
    "dynamics.coupling_every": 5,
    "dynamics.tau_t": 0.2,
    "dynamics.tau_p": 1.0,
    "output.energy_every": 7,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_energy_is_conserved(runs: Runs, shape: str) -> None:
    """Verlet's shadow energy fluctuates by less than a hundredth of what kinetic and potential energy exchange."""
    settings: Settings = {
        "interactions.lj": "force-switch",
        "dynamics.com_removal_every": 0,
        "dynamics.timestep": 1.0,
        "dynamics.steps": 300,
        "output.energy_every": 2,
    }
    table = runs.run(sample(shape), settings).table
    line = np.polyfit(table["time"], table["total"], 1)
    rest = table["total"] - np.polyval(line, table["time"])
    assert np.std(rest) < 0.02 * np.std(table["kinetic"])
    assert abs(line[0] * np.ptp(table["time"])) < 0.03 * np.std(table["kinetic"])


@pytest.mark.parametrize("coupling", ["isotropic", "anisotropic"])
def test_the_conserved_quantity_of_a_pressure_bath(runs: Runs, coupling: str) -> None:
    settings: Settings = {
        **NPT,
        "dynamics.steps": 400,
        "dynamics.temperature": 330.0,
        "dynamics.coupling": coupling,
        "output.energy_every": 10,
    }
    table = runs.run(sample("dodecahedron"), settings).table
    assert np.ptp(table["conserved"]) < 0.05 * np.ptp(table["total"])


@pytest.mark.parametrize("kind", ["dcd", "xtc", "h5md"])
def test_frames_hold_the_changing_box(runs: Runs, kind: str) -> None:
    mda = pytest.importorskip("MDAnalysis")
    settings: Settings = {
        **NPT,
        "dynamics.steps": 20,
        "dynamics.coupling": "anisotropic",
        "output.energy_every": 5,
        "output.trajectory": kind,
        "output.trajectory_every": 5,
    }
    found = runs.run(sample("octahedron"), settings)
    names = [f"box_{name}" for name in ("a", "b", "c", "alpha", "beta", "gamma")]
    expected = np.stack([found.table[name] for name in names], axis=1)
    universe = mda.Universe.empty(changed("octahedron").n_atoms, trajectory=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe.load_new(str(found.folder / f"trajectory.{kind}"), format=kind.upper())
        boxes = np.array([step.dimensions.copy() for step in universe.trajectory])
    assert np.allclose(boxes, expected, atol=2e-4)


@pytest.mark.parametrize("kind", ["gro", "pdb", "rst7", "ncrst", "cif"])
def test_exported_boxes_are_read_again(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("MDAnalysis")
    path = tmp_path / f"octahedron.{kind}"
    run_program([*TESSERA, "export", sample("octahedron"), "-o", path])
    found = read_coordinates(path).box
    assert found is not None
    assert np.allclose(found, changed("octahedron").box, atol=1e-2 if kind == "pdb" else 1e-3)
