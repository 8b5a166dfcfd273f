"""Tests heat baths of parts of a system: their temperatures, and wrong settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from tessera import system as systems
from tests.physics.flexible import ACCELERATION
from tests.support.runs import BOLTZMANN, Runs, Settings
from tests.support.samples import sample

HOT, COLD = "index 0:1499", "index 1500:2999"


@pytest.mark.parametrize("thermostat", ["bussi", "nose-hoover", "langevin", "berendsen"])
def test_each_part_has_its_temperature(water: Path, thermostat: str) -> None:
    """Half of the waters at 380 K and half at 260 K, coupled strongly. 500 rigid waters have 3,000 degrees of freedom
    and so fluctuate by 2.6 %, and heat flows between them: a tenth of the temperature is allowed."""
    mass = systems.read(water).atom_field("mass")
    baths = [
        {"select": HOT, "temperature": 380.0, "tau_t": 0.01},
        {"select": COLD, "temperature": 260.0, "tau_t": 0.01},
    ]
    sim = tessera.Simulation(
        water,
        {
            "interactions": {"cutoff": 9.0, "switch": 8.0},
            "dynamics": {"timestep": 1.0, "ensemble": "nvt", "thermostat": thermostat, "coupling_every": 2},
            "bath": baths,
        },
    )
    conserved = sim.energies["conserved"]
    sim.step(100)
    found = []
    for _ in range(5):
        sim.step(20)
        twice = mass * (sim.velocities**2).sum(axis=1) / ACCELERATION
        found.append([twice[part].sum() / (3000 * BOLTZMANN) for part in (slice(0, 1500), slice(1500, 3000))])
    hot, cold = np.mean(found, axis=0)
    assert hot == pytest.approx(380.0, rel=0.1)
    assert cold == pytest.approx(260.0, rel=0.1)
    kinetic = sim.energies["kinetic"]
    assert abs(sim.energies["conserved"] - conserved) < 0.02 * kinetic


def with_baths(path: Path, baths: list[dict[str, Any]]) -> Path:
    text = "".join(
        "[[bath]]\n"
        + "".join(f'{key} = "{value}"\n' if key == "select" else f"{key} = {value}\n" for key, value in one.items())
        for one in baths
    )
    path.write_text(path.read_text() + text)
    return path


def test_one_bath_of_all_is_the_bath_without_a_section(runs: Runs) -> None:
    settings: Settings = {"dynamics.ensemble": "nvt", "dynamics.steps": 30, "dynamics.tau_t": 0.2}
    plain = runs.run(sample("peptide"), settings)
    one = with_baths(
        runs.run_file(sample("peptide"), settings), [{"select": "all", "temperature": 300.0, "tau_t": 0.2}]
    )
    assert runs.start(one).hash == plain.hash


@pytest.mark.parametrize(
    ("ensemble", "selections", "said"),
    [
        ("nvt", ["index 0:1499"], "is in none of the 1 [[bath]], expected every atom in one"),
        ("nvt", ["index 0:1502", "index 1500:2999"], "is in bath 0 and in bath 1"),
        ("nvt", ["index 0:1500", "index 1501:2999"], "bath.0.select selects"),
        ("nve", ["all"], "which has no heat bath"),
    ],
)
def test_wrong_baths(runs: Runs, water: Path, ensemble: str, selections: list[str], said: str) -> None:
    path = runs.run_file(water, {"dynamics.ensemble": ensemble, "dynamics.steps": 1})
    with_baths(path, [{"select": text, "temperature": 300.0} for text in selections])
    found = runs.start(path, check=False)
    assert found.process.returncode != 0
    assert said in found.process.stderr
