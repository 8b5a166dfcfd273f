"""Energies have the distributions of the canonical ensemble, at one temperature and between two."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tessera
from tests.physics.flexible import Array
from tests.support.runs import BOLTZMANN

pytestmark = pytest.mark.slow(part="physics")
BETWEEN = 0.2  # ps between samples


def sampled(path: Path, thermostat: str, temperature: float, ps: float, tau_t: float) -> tuple[Array, Array]:
    """Returns kinetic and potential energies, kcal/mol, after 5 ps."""
    dynamics = {"ensemble": "nvt", "thermostat": thermostat, "temperature": temperature, "tau_t": tau_t, "seed": 3}
    settings = {
        "interactions": {"cutoff": 8.0, "switch": 7.0},
        "dynamics": {**dynamics, "timestep": 2.0},
        "output": {"energy_every": 10**6},
    }
    simulation = tessera.Simulation(path, settings, threads=2)
    simulation.step(2500)
    energies = []
    for _ in range(round(ps / BETWEEN)):
        simulation.step(round(BETWEEN / 0.002))
        energies.append((simulation.energies["kinetic"], simulation.energies["potential"]))
    kinetic, potential = np.array(energies).T
    return kinetic, potential


def test_only_berendsen_has_no_ensemble(small_water: Path) -> None:
    """The variance of the kinetic energy of N degrees of freedom is N (kT)²/2; Berendsen's bath suppresses it."""
    expected = 0.5 * (6 * 216 - 3) * (BOLTZMANN * 300.0) ** 2
    kinetic, _ = sampled(small_water, "bussi", 300.0, ps=60.0, tau_t=0.1)
    assert kinetic.var() == pytest.approx(expected, rel=0.5)
    kinetic, _ = sampled(small_water, "berendsen", 300.0, ps=20.0, tau_t=0.05)  # at 0.1 ps it is 0.29 to 0.47 by seed
    assert kinetic.var() < 0.4 * expected


@pytest.mark.parametrize("thermostat", ["bussi", "nose-hoover", "langevin"])
def test_two_temperatures_give_the_ratio_of_their_ensembles(small_water: Path, thermostat: str) -> None:
    """ln P₁(U)/P₂(U) is linear in U, with the slope 1/kT₂ − 1/kT₁ (M. R. Shirts, J. Chem. Theory Comput. 9, 909,
    2013)."""
    temperatures = (295.0, 315.0)
    potentials = [sampled(small_water, thermostat, t, ps=400.0, tau_t=0.2)[1] for t in temperatures]
    # Both energies are nearly normal with one variance: the slope is the difference of the means over it.
    slope = (potentials[1].mean() - potentials[0].mean()) / np.mean([one.var() for one in potentials])
    expected = (1 / temperatures[0] - 1 / temperatures[1]) / BOLTZMANN
    assert slope == pytest.approx(expected, rel=0.3)
