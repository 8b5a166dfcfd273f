"""No bath moves energy between kinds of motion: molecules' translation and their motion inside have the temperature of
the bath. A bath that scales velocities wrongly cools what is inside and heats translation, the flying ice cube of
Harvey et al. (1998)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from tessera import system as systems
from tests.physics.flexible import ACCELERATION, Array
from tests.support.runs import BOLTZMANN

pytestmark = pytest.mark.slow(part="physics")
TEMPERATURE = 320.0
TIMESTEP = {"h-bonds": 2.0, "none": 0.5}  # fs
BATHS = {
    "bussi": {"ensemble": "nvt", "thermostat": "bussi"},
    "nose-hoover": {"ensemble": "nvt", "thermostat": "nose-hoover"},
    "langevin": {"ensemble": "nvt", "thermostat": "langevin"},
    "c-rescale": {"ensemble": "npt", "thermostat": "bussi", "barostat": "c-rescale"},
    "mtk": {"ensemble": "npt", "thermostat": "nose-hoover", "barostat": "mtk"},
    "monte-carlo": {"ensemble": "npt", "thermostat": "bussi", "barostat": "monte-carlo"},
}


@pytest.fixture(scope="module", params=["h-bonds", "none"])
def start(request: pytest.FixtureRequest, small_water: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The end of 5 ps with Langevin's bath, which warms each kind of motion by itself."""
    simulation = tessera.Simulation(small_water, settings(request.param, **BATHS["langevin"], tau_t=0.1), threads=2)
    simulation.step(round(5000 / TIMESTEP[request.param]))
    folder = tmp_path_factory.mktemp("start") / request.param
    folder.mkdir()
    simulation.save(folder)
    return folder


def settings(constraints: str, **dynamics: Any) -> dict[str, dict[str, Any]]:
    of_all = {"timestep": TIMESTEP[constraints], "constraints": constraints, "temperature": TEMPERATURE, "seed": 5}
    return {
        "interactions": {"cutoff": 8.0, "switch": 7.0},
        "dynamics": {**of_all, **dynamics},
        "output": {"energy_every": 10**6},
    }


@pytest.mark.parametrize("bath", BATHS)
def test_translation_and_the_rest_have_one_temperature(small_water: Path, start: Path, bath: str) -> None:
    constraints = start.name
    baths = settings(constraints, **BATHS[bath], tau_t=0.1, tau_p=1.0)
    simulation = tessera.Simulation(small_water, baths, threads=2, start=start)
    mass = systems.read(small_water).atom_field("mass").reshape(-1, 3)
    n_samples = 300 if constraints == "h-bonds" else 120
    samples = []
    for _ in range(n_samples):
        simulation.step(round(100 / TIMESTEP[constraints]))
        samples.append(temperatures(simulation.velocities.reshape((*mass.shape, 3)), mass, constraints))
    # Means of blocks of 2 ps or so scatter as independent ones do.
    blocks = np.array([block.mean(axis=0) for block in np.array_split(np.array(samples), 12)])
    error = blocks.std(axis=0, ddof=1) / np.sqrt(len(blocks))
    # BAOAB's and Verlet's velocities are off by the square of the step, where motion is fast.
    for kind, mean, of_mean in zip(("translation", "the rest"), np.mean(samples, axis=0), error, strict=True):
        assert mean == pytest.approx(TEMPERATURE, abs=0.015 * TEMPERATURE + 4 * of_mean), kind


def temperatures(velocity: Array, mass: Array, constraints: str) -> tuple[float, float]:
    """Returns the temperature of the motion of centres of mass and that of the other motion, of velocities (n, 3, 3) in
    Å/ps and masses (n, 3)."""
    total = mass.sum(axis=1)
    centre = (mass[:, :, None] * velocity).sum(axis=1) / total[:, None]
    translation = 0.5 * float((total[:, None] * centre**2).sum()) / ACCELERATION
    rest = 0.5 * float((mass[:, :, None] * velocity**2).sum()) / ACCELERATION - translation
    n_rest = len(mass) * (3 if constraints == "h-bonds" else 6)
    return 2 * translation / ((3 * len(mass) - 3) * BOLTZMANN), 2 * rest / (n_rest * BOLTZMANN)
