"""Tests leapfrog and several time steps: against velocity Verlet, and in NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from tessera import system as systems
from tests.physics.flexible import ACCELERATION, Array, Flexible
from tests.support.runs import Runs, Settings
from tests.support.samples import sample

RIGID: dict[str, Any] = {"interactions": {"cutoff": 9.0, "switch": 8.0}}


def apart(one: tessera.Simulation, other: tessera.Simulation) -> float:
    """Returns the greatest distance between the places of an atom, Å."""
    edges = np.diag(one.box)
    away = (one.positions - other.positions) / edges
    return float(np.abs((away - np.rint(away)) * edges).max())


def simulation(path: Path, **dynamics: Any) -> tessera.Simulation:
    return tessera.Simulation(path, {**RIGID, "dynamics": {"timestep": 2.0, "com_removal_every": 0, **dynamics}})


def test_leapfrog_has_the_positions_of_velocity_verlet(water: Path) -> None:
    """With rigid water. Roundings are of 10⁻⁶ Å/ps in velocities and 10⁻⁸ Å in positions in each step."""
    verlet, leapfrog = simulation(water), simulation(water, integrator="leapfrog")
    at_start = {name: (verlet.energies[name], leapfrog.energies[name]) for name in ("kinetic", "pressure", "total")}
    verlet.step(20)
    leapfrog.step(20)
    assert apart(verlet, leapfrog) < 1e-6
    assert verlet.energies["potential"] == pytest.approx(leapfrog.energies["potential"], abs=1e-2)
    # Kinetic energies of half steps are higher by the order of the step's square, in a liquid of water by 1 %.
    for of_verlet, of_leapfrog in (at_start["kinetic"], (verlet.energies["kinetic"], leapfrog.energies["kinetic"])):
        assert of_verlet == pytest.approx(of_leapfrog, rel=0.02)


def test_the_kinetic_energy_is_the_mean_of_two_half_steps(water: Path) -> None:
    leapfrog = simulation(water, integrator="leapfrog")
    mass = systems.read(water).atom_field("mass")[:, None]

    def kinetic() -> float:
        return float(0.5 * (mass * leapfrog.velocities**2).sum()) / ACCELERATION

    leapfrog.step(5)
    before, found = kinetic(), leapfrog.energies["kinetic"]
    leapfrog.step(1)
    assert found == pytest.approx(0.5 * (before + kinetic()), rel=1e-6)


def test_leapfrog_conserves_energy(water: Path) -> None:
    """As velocity Verlet does, which has the same positions. The energies of both fluctuate by the order of the step's
    square, here by a thousandth of the kinetic energy."""
    ends = []
    for integrator in ("velocity-verlet", "leapfrog"):
        run = simulation(water, integrator=integrator, timestep=1.0)
        first = run.energies["total"]
        run.step(100)
        ends.append(run.energies["total"] - first)
    assert max(abs(end) for end in ends) < 0.002 * run.energies["kinetic"]


def test_a_run_starts_from_velocities_of_the_other_kind(runs: Runs) -> None:
    """Half of the run by each integrator is the run by one of them."""
    base: Settings = {"dynamics.timestep": 2.0, "dynamics.com_removal_every": 0, "output.energy_every": 5}
    whole = runs.run(sample("peptide"), {**base, "dynamics.steps": 20})
    for first, second in (("leapfrog", "velocity-verlet"), ("velocity-verlet", "leapfrog")):
        half: Settings = {**base, "dynamics.steps": 10}
        begin = runs.run(sample("peptide"), {**half, "dynamics.integrator": first})
        settings: Settings = {**half, "dynamics.integrator": second, "input.start": str(begin.folder)}
        end = runs.run(sample("peptide"), settings)
        assert end.table["potential"][-1] == pytest.approx(whole.table["potential"][-1], abs=2e-3)


@pytest.mark.parametrize(
    ("direct", "mesh"), [(2, 4), pytest.param(2, 2, marks=pytest.mark.slow(part="physics")), (1, 3)]
)
def test_several_time_steps_follow_their_scheme(water: Path, direct: int, mesh: int) -> None:
    """Tuckerman et al. (1992): bonded forces in every step, the others in every so many, as strongly."""
    system = Flexible(water, direct_every=direct, mesh_every=mesh)
    levels: list[tuple[int, tuple[str, ...]]] = [(mesh, ("mesh",)), (direct, ("direct",)), (1, ("bonded",))]
    if direct == mesh:
        levels = [(mesh, ("mesh",)), (1, ("bonded",))]  # the group of both
    if direct == 1:
        levels = [(mesh, ("mesh",)), (1, ("bonded",))]
    accelerations: dict[str, Array] = {}

    def learn() -> None:
        names = ("bonded", "direct", "mesh")
        accelerations.update(zip(names, system.accelerations_of(*names), strict=True))

    learn()
    for step in range(1, 25):
        for every, sources in levels:
            if (step - 1) % every == 0:
                system.v += 0.5 * every * system.dt * sum(accelerations[source] for source in sources)
        system.x += system.dt * system.v
        learn()
        for every, sources in reversed(levels):
            if step % every == 0:
                system.v += 0.5 * every * system.dt * sum(accelerations[source] for source in sources)
    system.simulation.step(24)
    assert system.error() < 1e-5
    assert np.abs(system.v - system.simulation.velocities).max() < 1e-2


def test_three_time_steps_conserve_energy(water: Path) -> None:
    """0.5 fs for bonded forces, 1 fs for pairs and 2 fs for the mesh: the energy fluctuates by the order of the longer
    steps' square, here by less than 0.5 % of the kinetic energy, as a step of 1 fs for all does."""
    run = simulation(water, constraints="none", timestep=0.5, direct_every=2, mesh_every=4)
    run.step(40)  # the bonds of the start have no energy
    first = run.energies["total"]
    run.step(160)
    assert abs(run.energies["total"] - first) < 0.005 * run.energies["kinetic"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"integrator": "leapfrog", "ensemble": "nvt", "thermostat": "nose-hoover"}, "needs velocities at whole steps"),
        ({"integrator": "leapfrog", "ensemble": "nvt", "thermostat": "langevin"}, "needs velocities at whole steps"),
        ({"integrator": "leapfrog", "mesh_every": 2}, "has one time step"),
        ({"direct_every": 2, "mesh_every": 3}, "expected a multiple of dynamics.direct_every = 2"),
        ({"direct_every": 3}, "output.energy_every is 100, expected a multiple of dynamics.direct_every = 3"),
    ],
)
def test_wrong_settings(runs: Runs, settings: dict[str, Any], said: str) -> None:
    found = runs.run(sample("peptide"), {f"dynamics.{key}": value for key, value in settings.items()}, check=False)
    assert found.process.returncode != 0
    assert said in found.process.stderr
