"""Forces that Python adds, and a box that Python changes."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tessera
from tessera.simulation import Atoms
from tests.support.gradients import BAR

pytest.importorskip("tessera._md_serial", reason="the Python modules are not built")

SETTINGS: dict[str, Any] = {
    "interactions": {"cutoff": 9.0, "switch": 8.0},
    "dynamics": {"seed": 7, "timestep": 1.0},
}
STIFFNESS = 4.0  # kcal/mol/Å²

Force = Callable[[Atoms], Any]


@pytest.fixture
def sim(water: Path) -> tessera.Simulation:
    return tessera.Simulation(water, SETTINGS)


def springs(anchors: NDArray[np.float64]) -> Force:
    """Each atom on a spring to its anchor."""

    def force(atoms: Atoms) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        away = atoms.nearest_image(atoms.positions - anchors[atoms.ids])
        return -STIFFNESS * away, 0.5 * STIFFNESS * (away**2).sum(axis=1)

    return force


def push(atoms: Atoms) -> tuple[NDArray[np.float64], float, list[float]]:
    """The same force on each atom, whose virial is said to be that of 1 kcal/mol in every direction."""
    return np.tile([1.0, -2.0, 3.0], (len(atoms.ids), 1)), 7.0, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]


def test_springs_conserve_energy(sim: tessera.Simulation) -> None:
    sim.add_force(springs(sim.positions))
    before = dict(sim.energies)
    assert before["external"] == 0
    sim.step(200)
    after = sim.energies
    exchanged = after["external"]
    assert exchanged > 100
    # At constant energy without springs, 3,000 atoms of rigid water at 1 fs stay within half a kcal/mol.
    assert abs(after["total"] - before["total"]) < 0.01 * exchanged
    assert after["total"] == pytest.approx(after["potential"] + after["kinetic"])


def test_what_is_returned_is_added(water: Path) -> None:
    # Constraint forces would answer the push, and so would their virial.
    sim = tessera.Simulation(water, {**SETTINGS, "dynamics": {**SETTINGS["dynamics"], "constraints": "none"}})
    forces, before = sim.forces, dict(sim.energies)
    told: list[Atoms] = []

    def note_and_push(atoms: Atoms) -> Any:
        told.append(atoms)
        return push(atoms)

    sim.add_force(note_and_push, atoms=[30, 5])
    added = sim.forces - forces
    assert np.allclose(added[[5, 30]], [1, -2, 3], atol=1e-9)
    assert np.count_nonzero(added) == 6
    assert sim.energies["external"] == 7
    assert sim.energies["potential"] == pytest.approx(before["potential"] + 7)
    pressure = BAR * 3 / (3 * np.prod(np.diag(sim.box)))
    assert sim.energies["pressure"] == pytest.approx(before["pressure"] + pressure, rel=1e-6)
    assert told[0].ids.tolist() == [30, 5]
    assert np.array_equal(told[0].positions, sim.positions[[30, 5]])
    assert np.array_equal(told[0].box, sim.box)
    sim.step(2)
    assert [atoms.step_number for atoms in told] == [0, 1, 2]

    sim.add_force(push)
    assert sim.energies["external"] == 14
    sim.remove_force(push)
    sim.remove_force(note_and_push)
    assert sim.energies["external"] == 0


def test_of_own_and_of_listed_atoms(water: Path, sim: tessera.Simulation) -> None:
    other = tessera.Simulation(water, SETTINGS, threads=2)
    anchors = sim.positions + np.array([0.3, 0, 0])
    sim.add_force(springs(anchors))
    other.add_force(springs(anchors), atoms=np.arange(other.n_atoms)[::-1])
    sim.step(30)
    other.step(30)
    assert sim.state_hash == other.state_hash
    assert dict(sim.energies) == dict(other.energies)


def test_a_restore_keeps_them(water: Path, sim: tessera.Simulation, tmp_path: Path) -> None:
    force = springs(sim.positions + np.array([0.2, 0, 0]))
    sim.add_force(force)
    sim.step(11)
    sim.save(tmp_path)
    sim.step(15)
    expected = sim.state_hash
    sim.restore(tmp_path)
    sim.step(15)
    assert sim.state_hash == expected
    fresh = tessera.Simulation(water, SETTINGS)
    fresh.restore(tmp_path)
    fresh.add_force(force)
    fresh.step(15)
    assert fresh.state_hash == expected


def test_a_function_that_fails(sim: tessera.Simulation, tmp_path: Path) -> None:
    def fails_later(atoms: Atoms) -> Any:
        if atoms.step_number == 3:
            raise KeyError("of the function")
        return np.zeros((len(atoms.ids), 3))

    sim.save(tmp_path)
    sim.add_force(fails_later)
    with pytest.raises(KeyError, match="of the function"):
        sim.step(5)
    with pytest.raises(tessera.RunError, match="an external force failed in step 3, which is half done"):
        sim.step(1)
    sim.remove_force(fails_later)
    sim.restore(tmp_path)
    sim.step(5)
    assert sim.step_number == 5


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (np.zeros((2, 3)), r"the forces that function returns have the shape \(2, 3\), expected \(1, 3\)"),
        (np.full((1, 3), np.inf), "numbers that are not finite"),
        ("strong", "no numbers that can be read"),
        ((np.zeros((1, 3)), np.nan), "the energy or virial that function returns is not finite"),
        ((np.zeros((1, 3)), 0, [1, 2]), r"the virial that function returns has the shape \(2,\), expected \(6,\)"),
        ((), "function returns 0 values, expected forces, energy and virial"),
    ],
)
def test_wrong_results(sim: tessera.Simulation, returned: Any, said: str) -> None:
    def function(_: Atoms) -> Any:
        return returned

    before = sim.forces
    with pytest.raises(tessera.InputError, match=said):
        sim.add_force(function, atoms=[0])
    assert np.array_equal(sim.forces, before)
    sim.step(1)  # the force was not added


@pytest.mark.parametrize(
    ("atoms", "said"),
    [
        ([0, 100000], "atoms lists 0 to 100000, expected ids from 0 to"),
        ([4, 4], "lists an atom twice"),
        ([0.5], "expected a list of atom ids"),
        ("all", "expected a list of atom ids"),
    ],
)
def test_wrong_atoms(sim: tessera.Simulation, atoms: Any, said: str) -> None:
    with pytest.raises(tessera.InputError, match=said):
        sim.add_force(push, atoms=atoms)
    with pytest.raises(tessera.InputError, match="push is no force of this simulation"):
        sim.remove_force(push)


def test_a_function_that_holds_its_simulation_keeps_nothing_alive(water: Path) -> None:
    sim = tessera.Simulation(water, SETTINGS)
    sim.add_force(lambda atoms, sim=sim: np.zeros((len(atoms.ids), 3)))
    sim.step(1)
    gone = weakref.ref(sim)
    del sim
    gc.collect()
    assert gone() is None


def test_the_box_can_be_set(sim: tessera.Simulation) -> None:
    before, hash_before = sim.box, sim.state_hash
    positions = sim.positions
    sim.box = before @ np.diag([1.02, 1.0, 0.97])
    assert np.allclose(np.diag(sim.box) / np.diag(before), [1.02, 1.0, 0.97])
    assert sim.state_hash != hash_before
    moved = sim.positions - positions @ np.diag([1.02, 1.0, 0.97])
    moved -= np.rint(moved / np.diag(sim.box)) * np.diag(sim.box)
    assert np.abs(moved[::3]).max() < 1e-4, "the first atom of each water keeps its place relative to the box"
    oxygen, hydrogen = sim.positions[::3], sim.positions[1::3]
    bond = hydrogen - oxygen
    bond -= np.rint(bond / np.diag(sim.box)) * np.diag(sim.box)
    assert np.allclose(np.linalg.norm(bond, axis=1), 0.9572, atol=1e-4)
    sim.step(5)
    sim.box = before
    sim.step(5)
    with pytest.raises(tessera.InputError, match=r"less than twice interactions\.cutoff"):
        sim.box = 0.4 * before
    assert np.array_equal(sim.box, before)
    with pytest.raises(tessera.InputError, match="lower triangular"):
        sim.box = before[::-1]
    with pytest.raises(tessera.InputError, match=r"the box has the shape \(3,\)"):
        sim.box = np.diag(before)


def test_a_force_that_tears_atoms_away_is_named(sim: tessera.Simulation) -> None:
    """And not one of the force field that it brought forth."""
    sim.add_force(lambda atoms: np.tile([1e9, 0.0, 0.0], (1, 1)), atoms=[3])
    with pytest.raises(tessera.RunError, match=r"blown up; the strongest force on it is external, 1e\+09 kcal/mol/Å"):
        sim.step(5)
