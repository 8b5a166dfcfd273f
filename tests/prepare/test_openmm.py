"""Tests what is kept of OpenMM Systems, what is noted, and what is refused by name."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from openmm import app, unit

from tessera.constants import KJ
from tessera.errors import InputError
from tessera.prepare.openmm import prepare_openmm, prepare_openmm_files
from tessera.system import ALL_PAIRS, LennardJones, System, read, write
from tests.support.oracle import OPENMM_COULOMB, Settings, reference_energies
from tests.support.peers import energies

REPORTS = Path(__file__).parents[1] / "reports"
PEPTIDE = Path(__file__).parents[2] / "examples" / "peptide" / "peptide.pdb"
ANGSTROM = unit.angstrom
TABLE = "(a/r6)^2-b/r6; r6=r^6; a=acoef(type1, type2); b=bcoef(type1, type2)"
PAIR = "-C/r^6+A/r^12"


def butane(method: int = openmm.NonbondedForce.NoCutoff, edge: float = 40.0) -> openmm.System:
    """Returns a chain of four beads with a dihedral, and one bead alone, in kJ/mol and nm."""
    system = openmm.System()
    for _ in range(5):
        system.addParticle(12.0)
    system.setDefaultPeriodicBoxVectors(*(np.eye(3) * edge / 10))
    bonds, angles, nonbonded = openmm.HarmonicBondForce(), openmm.HarmonicAngleForce(), openmm.NonbondedForce()
    for i in range(3):
        bonds.addBond(i, i + 1, 0.15, 2e5)
    for i in range(2):
        angles.addAngle(i, i + 1, i + 2, 1.9, 400)
    for i in range(5):
        nonbonded.addParticle(0.1 * (i - 2), 0.34, 0.4)
    for i, j in ((0, 1), (1, 2), (2, 3), (0, 2), (1, 3)):
        nonbonded.addException(i, j, 0, 0.1, 0)
    nonbonded.addException(0, 3, -0.01, 0.3, 0.2)
    nonbonded.setNonbondedMethod(method)
    for force in (bonds, angles, nonbonded):
        system.addForce(force)
    return system


PLACES = np.array([[0, 0, 0], [1.5, 0, 0], [2.0, 1.4, 0], [3.4, 1.6, 0.5], [6, 6, 6]])


def written(folder: Path, system: openmm.System, cryst1: str = "", numbers: tuple[int, int] = (1, 2)) -> list[Path]:
    lines = [cryst1] if cryst1 else []
    for i, (x, y, z) in enumerate(PLACES):
        name, residue = ("BUT", numbers[0]) if i < 4 else ("ONE", numbers[1])
        lines.append(
            f"HETATM{i + 1:5d}  C{i + 1}  {name} A{residue:4d}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00           C"
        )
    (folder / "a.xml").write_text(openmm.XmlSerializer.serialize(system))
    (folder / "a.pdb").write_text("\n".join([*lines, "END", ""]))
    return [folder / "a.xml", folder / "a.pdb"]


def prepared(folder: Path, system: openmm.System, **options: Any) -> System:
    return prepare_openmm_files(*written(folder, system), **options)


def nonbonded(system: openmm.System) -> openmm.NonbondedForce:
    return next(f for f in system.getForces() if isinstance(f, openmm.NonbondedForce))


def table(system: openmm.System) -> openmm.CustomNonbondedForce:
    """Moves Lennard-Jones into a table, with the exclusions of the NonbondedForce."""
    force, base = openmm.CustomNonbondedForce(TABLE), nonbonded(system)
    force.addPerParticleParameter("type")
    a, b = 2 * np.sqrt(0.4) * 0.34**6, 4 * 0.4 * 0.34**6
    force.addTabulatedFunction("acoef", openmm.Discrete2DFunction(1, 1, [a]))
    force.addTabulatedFunction("bcoef", openmm.Discrete2DFunction(1, 1, [b]))
    for i in range(5):
        base.setParticleParameters(i, 0.1 * (i - 2), 0.34, 0.0)
        force.addParticle([0])
    for index in range(base.getNumExceptions()):
        force.addExclusion(*base.getExceptionParameters(index)[:2])
    system.addForce(force)
    return force


def pairs(system: openmm.System, *rows: tuple[int, int, float, float]) -> openmm.CustomBondForce:
    force = openmm.CustomBondForce(PAIR)
    force.addPerBondParameter("A")  # not the order of OpenMM's GROMACS reader
    force.addPerBondParameter("C")
    base = nonbonded(system)
    base.setExceptionParameters(5, 0, 3, -0.01, 0.3, 0.0)
    for i, j, a, c in rows:
        force.addBond(i, j, [a, c])
    system.addForce(force)
    return force


def torsion(system: openmm.System, energy: str, theta0: float = 0.5) -> openmm.CustomTorsionForce:
    force = openmm.CustomTorsionForce(energy)
    force.addPerTorsionParameter("k")
    force.addPerTorsionParameter("theta0")
    force.addTorsion(0, 1, 2, 3, [10.0, theta0])
    system.addForce(force)
    return force


WRAPPED = (
    "k*min(dtheta, 2*pi-dtheta)^2; dtheta = abs(theta-theta0);pi = 3.141593;",
    "0.5*k*min(dtheta, 2*3.141592653589793-dtheta)^2; dtheta = abs(theta-theta0)",
    "0.5*k*(thetap-theta0)^2; thetap = step(-(theta-theta0+pi))*2*pi+theta+step(theta-theta0-pi)*(-2*pi); "
    "pi = 3.14159265358979",
    "k*dtheta_torus^2;dtheta_torus = dtheta - floor(dtheta/(2*pi)+0.5)*(2*pi);dtheta = theta - theta0;pi = 3.141593",
)


@pytest.mark.parametrize("energy", WRAPPED)
@pytest.mark.parametrize("theta0", [0.5, 3.0, -3.0])
def test_harmonic_impropers_have_openmms_energy(tmp_path: Path, energy: str, theta0: float) -> None:
    system = butane()
    torsion(system, energy, theta0)
    found = reference_energies(prepared(tmp_path, system), Settings(cutoff=None))
    peer = energies(system, PLACES * ANGSTROM)
    assert found["improper"] == pytest.approx(peer["CustomTorsionForce"], rel=1e-5)
    assert found["bond"] == pytest.approx(peer["HarmonicBondForce"], abs=2e-7)  # positions are rounded to 2e-8 Å
    assert found["angle"] == pytest.approx(peer["HarmonicAngleForce"], rel=1e-6)
    coulomb = (found["coulomb"] + found["coulomb_14"]) * OPENMM_COULOMB / prepared(tmp_path, system).coulomb_constant
    assert found["lj"] + found["lj_14"] + coulomb == pytest.approx(peer["NonbondedForce"], rel=1e-6)


def test_tables_and_pairs_have_openmms_energy(tmp_path: Path) -> None:
    system = butane()
    table(system)
    pairs(system, (3, 0, 1e-6, 1e-3))
    found = reference_energies(prepared(tmp_path, system), Settings(cutoff=None))
    peer = energies(system, PLACES * ANGSTROM)
    assert found["lj"] == pytest.approx(peer["CustomNonbondedForce"], rel=1e-6)
    assert found["lj_14"] == pytest.approx(peer["CustomBondForce"], rel=1e-6)


def test_gromos_terms_have_openmms_energy(tmp_path: Path) -> None:
    system = butane()
    bonds, angles = (
        openmm.CustomBondForce("0.25*k*(r^2-r0^2)^2"),
        openmm.CustomAngleForce("0.5*k*(cos(theta)-cos(theta0))^2"),
    )
    bonds.addPerBondParameter("r0")
    bonds.addPerBondParameter("k")
    angles.addPerAngleParameter("theta0")
    angles.addPerAngleParameter("k")
    bonds.addBond(3, 4, [0.6, 3e4])
    angles.addAngle(2, 3, 4, [1.9, 500.0])
    system.addForce(bonds)
    system.addForce(angles)
    base = nonbonded(system)
    for i, j in ((3, 4), (2, 4), (1, 4)):
        base.addException(i, j, 0, 0.1, 0)
    peer = energies(system, PLACES * ANGSTROM)
    found = reference_energies(prepared(tmp_path, system), Settings(cutoff=None))
    assert found["bond"] == pytest.approx(peer["HarmonicBondForce"] + peer["CustomBondForce"], rel=1e-6)
    assert found["angle"] == pytest.approx(peer["HarmonicAngleForce"] + peer["CustomAngleForce"], rel=1e-6)


@pytest.mark.parametrize(
    "energy",
    [
        "(a/r6)^2-b/r6-c/r^4; r6=r^6;a=acoef(type1, type2);b=bcoef(type1, type2);c=ccoef(type1, type2);",
        "-c/r^4;c=ccoef(type1, type2);",
    ],
)
def test_ions_with_a_fourth_power_are_read(tmp_path: Path, energy: str) -> None:
    system = butane()
    if "acoef" in energy:
        force = table(system)
        force.setEnergyFunction(energy)
    else:
        force = openmm.CustomNonbondedForce(energy)
        force.addPerParticleParameter("type")
        for _ in range(5):
            force.addParticle([0])
        for index in range(nonbonded(system).getNumExceptions()):
            force.addExclusion(*nonbonded(system).getExceptionParameters(index)[:2])
        system.addForce(force)
    force.addTabulatedFunction("ccoef", openmm.Discrete2DFunction(2, 2, [0, 1e-3, 1e-3, 0]))
    if "acoef" in energy:
        for name in ("acoef", "bcoef"):
            row = [force.getTabulatedFunctionName(i) for i in range(3)].index(name)
            (_, _, values) = force.getTabulatedFunction(row).getFunctionParameters()
            force.getTabulatedFunction(row).setFunctionParameters(2, 2, list(values) * 4)
    force.setParticleParameters(4, [1])
    field = prepared(tmp_path, system).force_field
    assert field.pair_kind == ["12-6-4"]
    a, b, c = field.pair_parameter[0, :3]
    assert (a, b) == pytest.approx((4 * 0.4 / 4.184 * 3.4**12, 4 * 0.4 / 4.184 * 3.4**6), rel=1e-6)
    assert c == pytest.approx(1e-3 * 1e4 / 4.184)


def held(system: openmm.System, energy: str, away: float = 0.0) -> openmm.CustomExternalForce:
    """Holds the first three atoms near their places, `away` Å from them along each axis."""
    force = openmm.CustomExternalForce(energy)
    force.addGlobalParameter("k", 1000.0)
    for name in ("x0", "y0", "z0"):
        force.addPerParticleParameter(name)
    for atom in range(3):
        force.addParticle(atom, list(0.1 * (PLACES[atom] + away)))
    system.addForce(force)
    return force


@pytest.mark.parametrize(
    ("energy", "factor", "axes"),
    [
        ("k*((x-x0)^2+(y-y0)^2+(z-z0)^2)", 1, "xyz"),
        ("0.5*k*periodicdistance(x, y, z, x0, y0, z0)^2", 0.5, "xyz"),
        ("k/2*r2; r2=dx^2+dy^2+dz^2; dx=x-x0; dy=y-y0; dz=z-z0", 0.5, "xyz"),
        ("k*(z-z0)^2", 1, "z"),
        ("k*((x-x0)^2+(y-y0)^2)", 1, "xy"),
    ],
)
@pytest.mark.parametrize("away", [0.0, 0.3])
def test_harmonic_restraints_make_a_run_file(
    tmp_path: Path, energy: str, factor: float, axes: str, away: float
) -> None:
    system = butane(openmm.NonbondedForce.PME)
    held(system, energy, away)
    output = tmp_path / "b.tsr"
    found = prepared(tmp_path, system, output=output)
    (restraint,) = tomllib.loads((tmp_path / "b.restraints.toml").read_text())["restraint"]
    assert restraint["k"] == pytest.approx(factor * 1000 / 418.4)
    assert restraint["select"] == "bynum 1:3" and restraint.get("axes", "xyz") == axes
    reference = tmp_path / "b.reference.tsr"
    assert restraint["reference"] == (reference.name if away else output.name)
    assert reference.exists() == (away > 0)
    if away:
        shift = np.array([axis in axes for axis in "xyz"]) * away * (np.arange(5) < 3)[:, None]
        np.testing.assert_allclose(read(reference).positions() - found.positions(), shift, atol=1e-6)
    (warning,) = prepared(tmp_path, system).warnings  # where there is no place for a run file
    assert 'kind = "position"' in warning


def test_the_run_file_of_restraints_in_a_vacuum_runs_as_it_is(tmp_path: Path, run_engine: Callable[..., Any]) -> None:
    system = butane()
    held(system, "k*((x-x0)^2+(y-y0)^2+(z-z0)^2)", 0.3)
    write(prepared(tmp_path, system, output=tmp_path / "b.tsr"), tmp_path / "b.tsr")
    settings = ("dynamics.steps=1", "dynamics.timestep=0.01", "output.energy_every=1", "output.folder=run")
    run_engine(tmp_path / "b.restraints.toml", *(word for text in settings for word in ("--set", text)), cwd=tmp_path)
    (table,) = tmp_path.rglob("energy.csv")
    head, first, *_ = table.read_text().splitlines()
    found = float(first.split(",")[head.split(",").index("restraint [kcal/mol]")])
    assert found == pytest.approx(1000 / 418.4 * 9 * 0.3**2, rel=1e-4)


def test_coordinates_of_an_mmcif_and_of_a_state(tmp_path: Path) -> None:
    system = butane(openmm.NonbondedForce.PME)
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(PLACES * ANGSTROM)
    context.setVelocitiesToTemperature(300, 1)
    context.setPeriodicBoxVectors(*(np.eye(3) * 4.1))
    state = context.getState(getPositions=True, getVelocities=True)
    xml, pdb = written(tmp_path, system)
    (tmp_path / "state.xml").write_text(openmm.XmlSerializer.serialize(state))
    found = prepare_openmm_files(xml, tmp_path / "state.xml")
    np.testing.assert_allclose(found.positions(), PLACES, atol=1e-6)
    assert found.velocity is not None
    np.testing.assert_allclose(found.velocity, 10 * state.getVelocities(asNumpy=True)._value, atol=1e-6)
    assert found.box[0, 0] == pytest.approx(41.0)  # the State's, not that of the System's beginning
    assert found.templates[0].atom_name.tolist() == ["X1", "X2", "X3", "X4"]  # masses of beads
    model = app.PDBFile(str(pdb))
    with (tmp_path / "a.cif").open("w") as file:
        app.PDBxFile.writeFile(model.topology, model.positions, file)
    found = prepare_openmm_files(xml, tmp_path / "a.cif")
    np.testing.assert_allclose(found.positions(), PLACES, atol=1e-3)
    assert found.templates[0].residue_name.tolist() == ["BUT"]
    with pytest.raises(InputError, match="holds a System, expected a PDB, an mmCIF or an OpenMM State"):
        prepare_openmm_files(xml, xml)


def test_a_molecule_of_two_hydrogens_may_be_constrained() -> None:
    system = openmm.System()
    force = openmm.NonbondedForce()
    for _ in range(2):
        system.addParticle(1.008)
        force.addParticle(0, 0.3, 0.1)
    force.addException(0, 1, 0, 0.1, 0)
    system.addForce(force)
    system.addConstraint(0, 1, 0.074)
    topology = app.Topology()
    residue = topology.addResidue("H2", topology.addChain())
    for name in ("H1", "H2"):
        topology.addAtom(name, app.Element.getBySymbol("H"), residue)
    (template,) = prepare_openmm(system, topology, [[0, 0, 0], [0.074, 0, 0]]).templates
    assert template.group.tolist() == [0, 0]
    assert template.term("bond").atoms.tolist() == [[0, 1]]


def test_a_spring_without_a_force_holds_nothing(tmp_path: Path) -> None:
    """A HarmonicBondForce or a CustomBondForce with k = 0 is not a constraint, as of H1 and H2 in CHARMM's water."""
    system = butane()
    springs = next(f for f in system.getForces() if isinstance(f, openmm.HarmonicBondForce))
    springs.setBondParameters(0, 0, 1, 0.15, 0)
    quartic = openmm.CustomBondForce("0.25*k*(r^2-r0^2)^2")
    for name in ("k", "r0"):
        quartic.addPerBondParameter(name)
    quartic.addBond(0, 1, [0.0, 0.15])
    system.addForce(quartic)
    chain = prepared(tmp_path, system).templates[0]
    assert not chain.always_rigid
    assert chain.term("bond").atoms.tolist() == [[1, 2], [2, 3]] and not len(chain.term("bond_quartic"))


def test_bonds_of_a_ring_of_three_are_bonds(tmp_path: Path) -> None:
    """Each lies opposite to an angle of the ring, as a Urey-Bradley spring does."""
    system = butane()
    springs = next(f for f in system.getForces() if isinstance(f, openmm.HarmonicBondForce))
    angles = next(f for f in system.getForces() if isinstance(f, openmm.HarmonicAngleForce))
    springs.addBond(0, 2, 0.15, 2e5)
    springs.addBond(1, 3, 0.25, 1e4)  # a Urey-Bradley spring
    angles.addAngle(1, 2, 0, 1.05, 400)
    angles.addAngle(2, 0, 1, 1.05, 400)
    chain = prepared(tmp_path, system).templates[0]
    assert sorted(map(sorted, chain.term("bond").atoms.tolist())) == [[0, 1], [0, 2], [1, 2], [2, 3]]
    assert chain.term("urey_bradley").atoms.tolist() == [[1, 3]]


def test_flexible_water_of_charmm_is_flexible_between_its_hydrogens() -> None:
    for rigid in (False, True):
        psf = app.CharmmPsfFile(str(REPORTS / "charmm_keywords/w.psf"))
        parameters = app.CharmmParameterSet(str(REPORTS / "hex_resid/water.prm"))
        system = psf.createSystem(parameters, rigidWater=rigid)
        springs = next(f for f in system.getForces() if isinstance(f, openmm.HarmonicBondForce))
        springs.addBond(1, 2, 0.15139, 0.0)  # as of a PSF that lists H1-H2
        places = np.tile([[0, 0, 0], [0.09572, 0, 0], [-0.024, 0.0926627, 0]], (system.getNumParticles() // 3, 1))
        places += np.repeat(np.arange(len(places) // 3), 3)[:, None]
        water = prepare_openmm(system, psf.topology, places).templates[0]
        assert (water.flexible, water.always_rigid, water.rigid_water) == (not rigid, False, rigid)


def test_a_constraint_of_another_length_than_its_bond_is_refused() -> None:
    pdb, field = app.PDBFile(str(PEPTIDE)), app.ForceField("amber14-all.xml")
    model = app.Modeller(pdb.topology, pdb.positions)
    model.addHydrogens(field)
    system = field.createSystem(model.topology, constraints=app.HBonds, flexibleConstraints=True)
    prepare_openmm(system, model.topology, model.positions)
    i, j, length = system.getConstraintParameters(0)
    system.setConstraintParameters(0, i, j, 1.05 * length)
    with pytest.raises(InputError, match=r"have a bond of 1\.\d* Å and are constrained to 1\.\d* Å: not supported"):
        prepare_openmm(system, model.topology, model.positions)


def test_a_state_has_the_parameters_of_its_moment(tmp_path: Path) -> None:
    """A restraint that was released by a parameter is not there any more."""
    system = butane()
    force = openmm.CustomExternalForce("k*(x-x0)^2")
    force.addGlobalParameter("k", 1000.0)
    force.addPerParticleParameter("x0")
    force.addParticle(0, [0.0])
    system.addForce(force)
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(PLACES * ANGSTROM)
    xml, _ = written(tmp_path, system)
    for k, told in ((1000.0, False), (500.0, True), (0.0, True)):
        context.setParameter("k", k)
        state = context.getState(getPositions=True, getParameters=True)
        (tmp_path / "state.xml").write_text(openmm.XmlSerializer.serialize(state))
        found = prepare_openmm_files(xml, tmp_path / "state.xml")
        assert (f"parameters of forces have the State's values: k = {k:g}" in found.notes) is told
        constant = f"k = {k * KJ / 100:.9g}"
        assert any(constant in warning for warning in found.warnings) is (k > 0)


def test_a_state_names_atoms_though_hydrogens_took_mass(tmp_path: Path) -> None:
    """A State has no names: atoms have those of their elements, whatever the masses of hydrogens are."""
    pdb, field = app.PDBFile(str(PEPTIDE)), app.ForceField("amber14-all.xml")
    model = app.Modeller(pdb.topology, pdb.positions)
    model.addHydrogens(field)
    expected = [atom.element.atomic_number for atom in model.topology.atoms()]
    for mass in (1.5, 3.024, 4.0):
        system = field.createSystem(model.topology, constraints=app.HBonds, hydrogenMass=mass)
        context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
        context.setPositions(model.positions)
        (tmp_path / "state.xml").write_text(openmm.XmlSerializer.serialize(context.getState(getPositions=True)))
        (tmp_path / "a.xml").write_text(openmm.XmlSerializer.serialize(system))
        (peptide,) = prepare_openmm_files(tmp_path / "a.xml", tmp_path / "state.xml").templates
        assert peptide.atomic_number.tolist() == expected


def _odd_map(system: openmm.System) -> None:
    force = openmm.CMAPTorsionForce()
    force.addMap(5, [0.0] * 25)
    system.addForce(force)


def _group(system: openmm.System) -> None:
    table(system).addInteractionGroup([0], [4])


def _parameter(system: openmm.System, name: str) -> None:
    nonbonded(system).addGlobalParameter("lambda", 0.0)
    if name == "particle":
        nonbonded(system).addParticleParameterOffset("lambda", 0, 1.0, 0, 0)
    else:
        nonbonded(system).addExceptionParameterOffset("lambda", 0, 1.0, 0, 0)


REFUSED: list[tuple[Callable[[openmm.System], object], str]] = [
    (_group, "CustomNonbondedForce acts between interaction groups only"),
    (
        lambda s: table(s).addExclusion(1, 4),
        r"C2 of BUT 1 in A .* and C5 of ONE 2 in A .* are excluded in",
    ),
    (
        lambda s: (table(s), nonbonded(s).addException(2, 4, 0, 1, 0)),
        "C3 .* and C5 .* not excluded in",
    ),
    (lambda s: (table(s), table(s)), "two CustomNonbondedForces"),
    (
        lambda s: table(s).setNonbondedMethod(openmm.CustomNonbondedForce.CutoffPeriodic),
        "one is periodic and the other",
    ),
    (lambda s: pairs(s, (0, 3, 1e-6, 0.0)), r"C1 of BUT 1 .* and C4 .* are purely repulsive or attractive"),
    (lambda s: pairs(s, (0, 3, 0.0, 1e-3)), "purely repulsive or attractive"),
    (lambda s: pairs(s, (0, 3, 1e-6, 1e-3), (3, 0, 1e-6, 1e-3)), "the CustomBondForce has atoms 1 and 4 twice"),
    (lambda s: pairs(s, (0, 4, 1e-6, 1e-3)), "have a CustomBondForce and are no exception"),
    (
        lambda s: torsion(s, WRAPPED[0].replace("abs(theta-theta0)", "abs(theta-2*theta0)")),
        "CustomTorsionForce with the energy",
    ),
    (lambda s: torsion(s, WRAPPED[0].replace("3.141593", "1.5")), "CustomTorsionForce with the energy"),
    (lambda s: torsion(s, "k*min(dtheta, 2-dtheta)^2; dtheta = theta"), "CustomTorsionForce with the energy"),
    (lambda s: torsion(s, "k*(theta-theta0)^2"), r"θ₀ = 0.5, which jumps at 180°"),
    (lambda s: _parameter(s, "particle"), "parameter offsets"),
    (lambda s: _parameter(s, "exception"), "parameter offsets"),
    (lambda s: nonbonded(s).setIncludeDirectSpace(False), "leaves direct space out"),
    (lambda s: nonbonded(s).setParticleParameters(0, 0, 0.3, -0.1), "negative ε"),
    (lambda s: s.addForce(openmm.CustomAngleForce("theta")), "CustomAngleForce with the energy 'theta'"),
    (lambda s: s.addForce(openmm.CustomHbondForce("0")), "CustomHbondForce: this force is not supported"),
    (lambda s: s.setParticleMass(4, 0), r"C5 .* has no mass .*OpenMM does not move .*dynamics.fixed = \"bynum 5:5\""),
    (lambda s: held(s, "-k*z"), r"CustomExternalForce .*not harmonic.*\[\[restraint\]\]"),
    (lambda s: held(s, "-k*(z-z0)^2"), r"pushes atoms away.*\[\[restraint\]\]"),
    (lambda s: held(s, "k*max(0, abs(z-z0)-0.1)^2"), r"'max.*is not understood.*\[\[restraint\]\]"),
    (lambda s: held(s, "k*((x-x0)^4+y0+z0)"), "not harmonic"),
    (lambda s: s.addForce(openmm.CustomBondForce("r^2")), "CustomBondForce with the energy 'r\\^2'"),
    (lambda s: s.addConstraint(0, 1, 0.15), r"C1 .* and C2 .* are constrained: only bonds to hydrogen and rigid water"),
    (_odd_map, r"a CMAP of 5 × 5 points"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_what_is_refused_by_name(tmp_path: Path, change: Callable[[openmm.System], object], message: str) -> None:
    system = butane()
    change(system)
    with pytest.raises(InputError, match=message):
        prepared(tmp_path, system)


@pytest.mark.parametrize("change", [-1, 1])
def test_a_force_of_more_or_fewer_particles_is_refused(tmp_path: Path, change: int) -> None:
    """OpenMM checks this where it makes a Context, not where it reads a file."""
    system = butane()
    system.getForce(2).addParticle(0.0, 0.34, 0.4)
    if change < 0:
        system = butane()
        system.addParticle(12.0)
    paths = written(tmp_path, system)
    if change < 0:
        lines = paths[1].read_text().splitlines()
        lines.insert(-1, lines[-2].replace("    5", "    6", 1).replace("C5", "C6").replace("6.000", "9.000"))
        paths[1].write_text("\n".join([*lines, ""]))
    with pytest.raises(InputError, match=r"the System has \d particles, and its NonbondedForce parameters for \d"):
        prepare_openmm_files(*paths)


def test_an_improper_that_is_not_wrapped_counts_about_zero(tmp_path: Path) -> None:
    system = butane()
    torsion(system, "k*(theta-theta0)^2", 0.0)
    found = reference_energies(prepared(tmp_path, system), Settings(cutoff=None))
    assert found["improper"] == pytest.approx(energies(system, PLACES * ANGSTROM)["CustomTorsionForce"], rel=1e-6)


CUT = LennardJones("cut", 10.0, tail=True)


@pytest.mark.parametrize(
    ("method", "notes", "lennard_jones"),
    [
        (
            "NoCutoff",
            [
                "the System has no periodic box: the system is in vacuum",
                "the System has no cut-off: all pairs interact",
            ],
            ALL_PAIRS,
        ),
        ("PME", [], CUT),
        ("Ewald", ["OpenMM's Ewald sum becomes a particle-mesh Ewald sum"], CUT),
        ("LJPME", [], LennardJones("pme", 10.0)),
        ("CutoffPeriodic", ["OpenMM ends electrostatics with a reaction field at 10 Å; a run sums them"], CUT),
        (
            "CutoffNonPeriodic",
            ["OpenMM ends electrostatics with a reaction field at 10 Å; a run without", "in vacuum"],
            CUT,
        ),
    ],
)
def test_methods_that_a_run_has_not_are_noted(
    tmp_path: Path, method: str, notes: list[str], lennard_jones: LennardJones
) -> None:
    system = butane(getattr(openmm.NonbondedForce, method))
    nonbonded(system).setUseSwitchingFunction(method == "LJPME")  # LJPME ignores the function
    nonbonded(system).setSwitchingDistance(0.8)
    found = prepared(tmp_path, system)
    assert len(found.notes) == len(notes)
    assert all(part in note for part, note in zip(notes, found.notes))
    assert found.lennard_jones == lennard_jones
    assert found.periodic == (method not in ("NoCutoff", "CutoffNonPeriodic"))


def test_only_forces_between_pairs_make_a_system_periodic(tmp_path: Path) -> None:
    system = butane()
    for force in system.getForces()[:2]:
        force.setUsesPeriodicBoundaryConditions(True)
    system.addForce(openmm.MonteCarloBarostat(1, 300))
    assert not prepared(tmp_path, system).periodic


def test_what_is_no_interaction_is_noted(tmp_path: Path) -> None:
    system = butane(openmm.NonbondedForce.PME)
    for force in (openmm.MonteCarloBarostat(1, 300), openmm.AndersenThermostat(300, 1), openmm.CMMotionRemover()):
        system.addForce(force)
    notes = prepared(tmp_path, system).notes
    assert [note.split(":")[0] for note in notes] == [
        f"the System's {name} is left out" for name in ("MonteCarloBarostat", "AndersenThermostat", "CMMotionRemover")
    ]


def test_the_systems_box_counts(tmp_path: Path) -> None:
    system = butane(openmm.NonbondedForce.PME, edge=41.0)
    files = written(tmp_path, system, "CRYST1   40.000   40.000   40.000  90.00  90.00  90.00 P 1")
    found = prepare_openmm_files(*files)
    assert np.diag(found.box) == pytest.approx([41, 41, 41])
    assert found.notes == [
        "the System's box is taken, 41.000 × 41.000 × 41.000 Å; the PDB has another, 40.000 × 40.000 × 40.000 Å"
    ]
    given = prepare_openmm_files(*files, box=np.diag([42.0] * 3))
    assert np.diag(given.box).tolist() == [42, 42, 42] and not given.notes
    system.setDefaultPeriodicBoxVectors([4.1, 0, 0], [0, 4.1, 0], [1.0, 1.0, 4.1])
    assert prepared(tmp_path, system).box == pytest.approx(np.array([[41, 0, 0], [0, 41, 0], [10, 10, 41]]))


def test_residues_have_the_pdbs_numbers(tmp_path: Path) -> None:
    system = butane()
    for i in range(3):
        system.getForces()[0].setBondParameters(i, i, i + 1, 0.15, 2e5)
    found = prepare_openmm_files(*written(tmp_path, system, numbers=(17, 735)))
    assert [t.residue_number.tolist() for t in found.templates] == [[17], [735]]


def test_charmm_force_switch_is_kept_from_a_switching_function(tmp_path: Path) -> None:
    system = butane(openmm.NonbondedForce.PME)
    nonbonded(system).setUseSwitchingFunction(True)
    nonbonded(system).setSwitchingDistance(0.8)
    nonbonded(system).setUseDispersionCorrection(False)
    assert prepared(tmp_path, system).lennard_jones == LennardJones("quintic-switch", 10.0, 8.0, False)


def test_a_table_says_how_lennard_jones_ends_whichever_force_comes_first(tmp_path: Path) -> None:
    system = butane(openmm.NonbondedForce.PME)
    force = table(system)
    force.setNonbondedMethod(force.CutoffPeriodic)
    force.setCutoffDistance(0.9)
    turned = openmm.XmlSerializer.clone(system)
    for index in reversed(range(turned.getNumForces())):
        turned.removeForce(index)
    for other in reversed(system.getForces()):
        turned.addForce(openmm.XmlSerializer.clone(other))
    for order in (system, turned):
        assert prepared(tmp_path, order).lennard_jones == LennardJones("cut", 9.0)


def test_a_system_without_a_cut_off_sums_all_pairs(tmp_path: Path, run_engine: Callable[..., Any]) -> None:
    """NoCutoff is no cut-off at the run file's default, too; where a box is asked for, there must be one."""
    system = butane()
    found = prepared(tmp_path, system)
    assert found.lennard_jones == ALL_PAIRS
    assert prepared(tmp_path, system, box=np.diag([40.0] * 3)).lennard_jones == LennardJones("cut", 10.0, tail=True)
    places = PLACES.copy()
    places[4] = [60.0, 0.0, 0.0]  # far beyond usual cut-offs
    names = app.PDBFile(str(written(tmp_path, system)[1])).topology
    write(prepare_openmm(system, names, places / 10), tmp_path / "far.tsr")
    done = run_engine("--energy", tmp_path / "far.tsr", "--set", "interactions.electrostatics=cut", "--json")
    ours = json.loads(done.stdout)["terms"]
    peer = energies(system, places / 10)["NonbondedForce"]
    assert sum(ours.get(k, 0.0) for k in ("lj", "lj_14", "coulomb_real", "coulomb_14")) == pytest.approx(peer, rel=1e-5)
