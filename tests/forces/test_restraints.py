"""Restraints: forces, virial and energies against their definition and by finite differences, and what they do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from tessera import system as systems
from tessera.system.blocks import to_fraction
from tests.support.programs import TESSERA, run_program

pytest.importorskip("tessera._md_serial", reason="the Python modules are not built")


@pytest.fixture(scope="module")
def water(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A system file of 900 atoms of liquid water."""
    path = tmp_path_factory.mktemp("water") / "water.tsr"
    run_program([*TESSERA, "make", "water", "--atoms", "900", "-o", path])
    return path


#: arithmetic in double precision, and atoms that all keep their fractions when the box changes
PLAIN: dict[str, Any] = {
    "interactions": {"cutoff": 6.0, "switch": 5.0},
    "dynamics": {"constraints": "none", "velocities": "zero", "timestep": 1.0},
    "parallel": {"precision": "double"},
}
#: the atoms of three waters
ONE, TWO, FOUR = "index 0:2", "index 450:452", "index 702:704"

KINDS: dict[str, dict[str, Any]] = {
    "position": {"kind": "position", "select": "index 0:59 300:305", "k": 3.0},
    "axes": {"kind": "position", "select": "index 0:59", "k": 3.0, "axes": "xz"},
    "flat": {"kind": "position", "select": "index 0:59", "k": 3.0, "flat": 0.2},
    "distance": {"kind": "distance", "groups": [ONE, TWO], "k": 2.0, "target": 3.0},
    "flat distance": {"kind": "distance", "groups": ["index 0", "index 450"], "k": 2.0, "target": 3.0, "flat": 0.5},
    "angle": {"kind": "angle", "groups": [ONE, TWO, "index 600"], "k": 40.0, "target": 70.0},
    "dihedral": {
        "kind": "dihedral",
        "groups": [ONE, TWO, "index 600", FOUR],
        "k": 40.0,
        "target": 170.0,
        "flat": 5.0,
    },
    "rmsd": {"kind": "rmsd", "select": "index 0:11", "k": 30.0, "target": 0.1},
    "flat rmsd": {"kind": "rmsd", "select": "index 0:5 9:11", "k": 30.0, "target": 2.0, "flat": 0.5},
}


def simulation(system: Path, *restraints: dict[str, Any], **more: Any) -> tessera.Simulation:
    return tessera.Simulation(system, {**PLAIN, **more, "restraint": list(restraints)})


def moved(sim: tessera.Simulation, seed: int = 1, by: float = 0.3) -> np.ndarray:
    return np.asarray(sim.positions + np.random.default_rng(seed).normal(0, by, (sim.n_atoms, 3)))


def add_all(sim: tessera.Simulation, places: np.ndarray) -> float:
    sim.positions = places
    return float(sim.energies["restraint"])


@pytest.mark.parametrize("name", KINDS)
def test_forces_and_virial_are_derivatives(water: Path, name: str) -> None:
    """Steps of 1e-3 Å: the third order of E ≈ 100 kcal/mol is below 1e-4 kcal/mol/Å; integers hold 1e-8 Å."""
    sim, free = simulation(water, KINDS[name]), simulation(water)
    start = moved(sim)
    sim.positions = free.positions = start
    forces = sim.forces - free.forces
    virial = np.array(sim.energies.virial) - np.array(free.energies.virial)
    assert sim.energies["restraint"] > 0.1
    assert np.abs(forces).max() > 0.1
    held = np.flatnonzero(np.abs(forces).max(axis=1) > 1e-8)
    h = 1e-3
    for atom in (held[0], held[len(held) // 2], held[-1]):
        for axis in range(3):
            step = np.zeros_like(start)
            step[atom, axis] = h
            found = -(add_all(sim, start + step) - add_all(sim, start - step)) / (2 * h)
            assert found == pytest.approx(forces[atom, axis], abs=3e-4), (atom, axis)
    sim.positions = start
    box = sim.box
    for axis in range(3):
        energies = []
        for factor in (1 + 1e-4, 1 / (1 + 1e-4)):
            scale = np.ones(3)
            scale[axis] = factor
            sim.positions = start
            sim.box = box * scale
            energies.append(sim.energies["restraint"])
            sim.box = box
        found = -(energies[0] - energies[1]) / (2 * np.log1p(1e-4))
        assert found == pytest.approx(virial[axis], abs=1e-3 * (1 + abs(virial[axis])))


def test_energy_of_positions(water: Path) -> None:
    """E = k·(|d| − flat)², with the components that count, from a reference across the box as well."""
    rows = [KINDS["position"], KINDS["axes"], KINDS["flat"]]
    sim = simulation(water, *rows)
    start, box = systems.read(water).positions(), np.diag(sim.box)
    places = moved(sim)
    places[:30] += box * [1, 0, -2]
    sim.positions = places
    away = places - start
    away -= box * np.rint(away / box)
    first = 3.0 * ((away[:60] ** 2).sum() + (away[300:306] ** 2).sum())
    second = 3.0 * (away[:60, [0, 2]] ** 2).sum()
    third = 3.0 * (np.maximum(0, np.linalg.norm(away[:60], axis=1) - 0.2) ** 2).sum()
    assert sim.energies["restraint"] == pytest.approx(first + second + third, rel=1e-6)


def test_the_deviation_is_that_of_mdanalysis(water: Path, tmp_path: Path) -> None:
    """From where the run starts, and from a file whose molecule is turned and has another box."""
    from MDAnalysis.analysis.rms import rmsd

    system = systems.read(water)
    away = system.positions()[::3] - system.positions()[0]
    away -= np.diag(system.box) * np.rint(away / np.diag(system.box))
    near = np.sort(np.argsort(np.linalg.norm(away, axis=1))[:4])  # the first water and its neighbours
    atoms = (3 * near[:, None] + np.arange(3)).ravel()
    rows = [{"kind": "rmsd", "select": "index " + " ".join(map(str, atoms)), "k": 1.0}]
    sim = simulation(water, *rows)
    start = sim.positions
    assert sim.energies["restraint"] == pytest.approx(0, abs=1e-6)
    edges = np.diag(sim.box)

    def whole(places: np.ndarray) -> np.ndarray:
        away = places[atoms] - places[0]  # places[0] is that of the first of the atoms
        return np.asarray(away - edges * np.rint(away / edges))

    places = moved(sim)
    sim.positions = places
    expected = rmsd(whole(places), whole(start), superposition=True)
    assert np.sqrt(sim.energies["restraint"]) == pytest.approx(expected, abs=1e-5)
    turn = np.linalg.qr(np.random.default_rng(4).normal(size=(3, 3)))[0]
    turn *= np.linalg.det(turn)
    other = systems.read(water)
    reference = start.copy()
    reference[atoms] = whole(start) @ turn.T
    other.box = other.box * 1.5
    other.fraction = to_fraction(reference, other.box)
    systems.write(other, tmp_path / "turned.tsr")
    sim = simulation(water, {**rows[0], "reference": str(tmp_path / "turned.tsr")})
    sim.positions = places
    assert np.sqrt(sim.energies["restraint"]) == pytest.approx(expected, abs=1e-5)


def test_energies_of_groups(water: Path) -> None:
    import MDAnalysis.lib.distances as distances

    system = systems.read(water)
    mass = system.atom_field("mass")
    groups = [np.arange(3), np.arange(450, 453), np.array([600]), np.arange(702, 705)]
    sim = simulation(water)
    places, box = sim.positions, np.diag(sim.box)

    def centre(ids: np.ndarray) -> np.ndarray:
        near = places[ids] - places[ids[0]]
        near -= box * np.rint(near / box)
        return np.asarray(places[ids[0]] + (mass[ids, None] * near).sum(axis=0) / mass[ids].sum())

    a, b, c, d = (centre(ids) for ids in groups)
    dimensions = np.array([*box, 90, 90, 90])
    distance = distances.calc_bonds(a, b, box=dimensions)
    angle = distances.calc_angles(a, b, c, box=dimensions)
    dihedral = distances.calc_dihedrals(a, b, c, d, box=dimensions)
    expected = {
        "distance": 2.0 * (distance - 3.0) ** 2,
        "angle": 40.0 * (angle - np.radians(70)) ** 2,
        "dihedral": 40.0 * max(0, abs((np.degrees(dihedral) - 170 + 180) % 360 - 180) - 5) ** 2 * np.radians(1) ** 2,
    }
    for name, energy in expected.items():
        assert simulation(water, KINDS[name]).energies["restraint"] == pytest.approx(energy, rel=1e-5), name


def test_a_group_must_be_smaller_than_half_the_box(water: Path) -> None:
    with pytest.raises(tessera.RunError, match=r"900 atoms from atom 1 .* larger than half the box"):
        simulation(water, {"kind": "distance", "groups": ["all", "index 3"], "k": 1.0})


def test_schedules(water: Path) -> None:
    """k and target follow time: 1 fs a step."""
    rising = {**KINDS["distance"], "k": [[0, 0.0], [0.01, 4.0]], "target": [[0.004, 3.0], [0.008, 5.0]]}
    sim = simulation(water, rising)
    assert sim.energies["restraint"] == 0
    for step, (k, target) in {2: (0.8, 3.0), 6: (2.4, 4.0), 20: (4.0, 5.0)}.items():
        sim.step(step - sim.step_number)
        constant = simulation(water, {**KINDS["distance"], "k": k, "target": target})
        constant.positions = sim.positions
        assert sim.energies["restraint"] == pytest.approx(constant.energies["restraint"], rel=1e-6)


def test_restrained_atoms_stay_and_energy_is_conserved(water: Path) -> None:
    held = {"kind": "position", "select": "name OH2 O", "k": 50.0}
    settings = {**PLAIN, "dynamics": {"velocities": "generate", "timestep": 1.0, "steps": 200}}
    sim = tessera.Simulation(water, {**settings, "restraint": [held]})
    start, total = sim.positions, sim.energies["total"]
    sim.step(200)
    away = np.abs(sim.positions - start)
    away = np.minimum(away, np.diag(sim.box) - away)
    oxygen = systems.read(water).atom_field("atomic_number") == 8
    assert away[oxygen].max() < 0.5
    assert abs(sim.energies["total"] - total) < 0.5  # kcal/mol, of 900 atoms


def test_references_of_a_file(water: Path, tmp_path: Path) -> None:
    system = systems.read(water)
    system.fraction = (system.fraction + np.int32(2**24)).astype(np.int32)
    systems.write(system, tmp_path / "there.tsr")
    sim = simulation(water, {"kind": "position", "select": "all", "k": 1.0, "reference": str(tmp_path / "there.tsr")})
    away = np.diag(sim.box) / 256
    assert sim.energies["restraint"] == pytest.approx(sim.n_atoms * (away**2).sum(), rel=1e-6)


def test_references_follow_the_box(water: Path) -> None:
    """A change of the box alone stretches no restraint, where nothing is constrained."""
    sim = simulation(water, KINDS["position"])
    assert sim.energies["restraint"] == pytest.approx(0, abs=1e-9)
    sim.box = sim.box * 1.02
    assert sim.energies["restraint"] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("dynamics", [{}, {"ensemble": "nvt"}, {"ensemble": "nvt", "thermostat": "langevin"},
                                      {"mesh_every": 2}])  # fmt: skip
def test_fixed_atoms_do_not_move(water: Path, dynamics: dict[str, Any]) -> None:
    settings = {
        "interactions": PLAIN["interactions"],
        "dynamics": {**dynamics, "fixed": "index 0:299 600:602", "velocities": "generate", "steps": 40},
    }
    sim = tessera.Simulation(water, settings)
    fixed = np.r_[0:300, 600:603]
    start, total = sim.positions, sim.energies["conserved"]
    sim.step(40)
    assert (sim.positions[fixed] == start[fixed]).all()
    assert (sim.velocities[fixed] == 0).all()
    assert (sim.positions != start).any(axis=1).sum() == sim.n_atoms - len(fixed)
    mass = systems.read(water).atom_field("mass")[:, None]
    kinetic = 0.5 * float((mass * sim.velocities**2).sum()) / 418.4
    freedom = 3 * (sim.n_atoms - len(fixed)) - (sim.n_atoms - len(fixed))  # rigid waters of the rest
    assert sim.energies["temperature"] == pytest.approx(2 * kinetic / (freedom * 0.0019872042586), rel=1e-3)
    assert abs(sim.energies["conserved"] - total) < 3


def test_without_fixed_atoms_nothing_changes(water: Path) -> None:
    one, other = (
        tessera.Simulation(water, {**PLAIN, "dynamics": {"steps": 5, **more}}) for more in ({}, {"fixed": ""})
    )
    one.step(5)
    other.step(5)
    assert one.state_hash == other.state_hash
