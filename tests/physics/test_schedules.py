"""Tests temperatures and pressures of baths that change in time: conserved quantities, bits, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.runs import Runs, Settings
from tests.support.samples import sample

HEATING: Settings = {
    "dynamics.ensemble": "nvt",
    "dynamics.temperature": [[0, 300.0], [0.2, 300.0], [0.6, 400.0]],  # type: ignore[list-item]
    "dynamics.tau_t": 0.05,
    "dynamics.coupling_every": 5,
    "dynamics.steps": 400,
    "output.energy_every": 10,
}


@pytest.mark.parametrize("thermostat", ["bussi", "nose-hoover", "langevin", "berendsen"])
def test_the_conserved_quantity_counts_the_heat(runs: Runs, thermostat: str) -> None:
    table = runs.run(sample("peptide"), {**HEATING, "dynamics.thermostat": thermostat}).table
    moved = np.ptp(table["total"])
    assert np.ptp(table["conserved"]) < 0.05 * moved
    # Half of the heat flows on into the potential energy, so the temperature approaches the bath's with twice tau_t: at
    # the end of the ramp it is 25 K behind, later 25 K exp(-t/0.1 ps). Between seeds the mean varies by 4 K.
    lag = 25.0 * np.exp(-(table["time"] - 0.6) / 0.1)
    last = table["time"] > 0.6
    assert table["temperature"][last].mean() == pytest.approx((400.0 - lag[last]).mean(), abs=16.0)
    assert table["temperature"][table["time"] < 0.2].mean() < 325


def test_a_constant_schedule_is_a_constant(runs: Runs) -> None:
    """Points of one value give the same bits as the value."""
    settings: Settings = {**HEATING, "dynamics.steps": 30, "dynamics.thermostat": "nose-hoover"}
    constant = runs.run(sample("peptide"), {**settings, "dynamics.temperature": 320.0})
    points = [[0, 320.0], [1, 320.0]]
    assert runs.run(sample("peptide"), {**settings, "dynamics.temperature": points}).hash == constant.hash


@pytest.mark.mpi
@pytest.mark.parametrize("thermostat", ["nose-hoover", "bussi"])
def test_bits_on_ranks_and_over_restarts(runs: Runs, thermostat: str) -> None:
    settings: Settings = {
        **HEATING,
        "dynamics.ensemble": "npt",
        "dynamics.thermostat": thermostat,
        "dynamics.temperature": [[0, 300.0], [0.1, 400.0]],  # type: ignore[list-item]
        "dynamics.pressure": [[0, 1.0], [0.1, 3000.0]],  # type: ignore[list-item]
        "dynamics.tau_p": 0.5,
        "dynamics.steps": 60,
        "output.energy_every": 7,
    }
    alone = runs.run(sample("peptide"), settings)
    assert "300 K at 0 ps, 400 K at 0.1 ps by " in alone.process.stdout
    assert "1 bar at 0 ps, 3000 bar at 0.1 ps, isotropic" in alone.process.stdout
    path = runs.run_file(sample("peptide"), settings)
    runs.start(path, "--set", "dynamics.steps=21", mpi="openmpi", ranks=2)
    refused = runs.start(path, "--restart", "--set", "dynamics.temperature=300", check=False).process
    assert "dynamics.temperature was [[0.0,300.0],[0.1,400.0]], is 300.0" in refused.stderr
    found = runs.start(path, "--restart", mpi="mpich", ranks=3)
    assert found.hash == alone.hash
    assert (found.folder / "energy.csv").read_text() == (alone.folder / "energy.csv").read_text()
    again = runs.run_engine(alone.folder / "settings.toml", "--set", f"output.folder={alone.folder}/2")
    assert again.returncode == 0
    assert (alone.folder / "2" / "energy.csv").read_text() == (alone.folder / "energy.csv").read_text()


def test_the_pressure_follows_its_schedule(runs: Runs) -> None:
    settings: Settings = {
        **HEATING,
        "dynamics.ensemble": "npt",
        "dynamics.temperature": 300.0,
        "dynamics.tau_p": 0.2,
        "dynamics.pressure": [[0, 1.0], [0.3, 1.0], [0.5, 8000.0]],  # type: ignore[list-item]
    }
    table = runs.run(sample("peptide"), settings).table
    density = table["density"]
    assert np.ptp(table["conserved"]) < 0.05 * np.ptp(table["total"])
    assert density[-1] > 1.05 * density[table["time"] < 0.3].mean()


@pytest.mark.parametrize(
    ("temperature", "said"),
    [
        ([[0, 300.0], [0, 310.0]], "or points [time in ps, number] in brackets, times from 0 and rising"),
        ([[1.0, 300.0], [0.5, 310.0]], "times from 0 and rising"),
        ([[-1.0, 300.0]], "times from 0 and rising"),
        ([[0, 300.0, 1]], "times from 0 and rising"),
        ([], "times from 0 and rising"),
        ([[0, -5.0]], "times from 0 and rising"),
        ("warm", "expected a number at least 0 and at most"),
        ([[0, 0.0], [1, 0.0]], "dynamics.temperature is 0 K, expected more for a heat bath"),
    ],
)
def test_bad_schedules(runs: Runs, temperature: object, said: str) -> None:
    settings: Settings = {"dynamics.ensemble": "nvt", "dynamics.temperature": temperature}  # type: ignore[dict-item]
    done = runs.run(sample("peptide"), settings, status=2)
    assert said in done.process.stderr


FROM_ZERO = [[0, 0.0], [0.2, 300.0]]


@pytest.mark.parametrize("thermostat", ["bussi", "langevin", "berendsen"])
def test_heating_from_zero(runs: Runs, thermostat: str) -> None:
    settings: Settings = {
        **HEATING,
        "dynamics.thermostat": thermostat,
        "dynamics.temperature": FROM_ZERO,  # type: ignore[dict-item]
        "dynamics.velocities": "generate",
    }
    table = runs.run(sample("peptide"), settings).table
    assert np.ptp(table["conserved"]) < 0.05 * np.ptp(table["total"])
    assert table["temperature"][0] == 0
    assert table["temperature"][table["time"] > 0.35].mean() == pytest.approx(300, abs=30)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"dynamics.thermostat": "nose-hoover"}, "dynamics.temperature is 0 K for a time, at which Nosé–Hoover chains"),
        ({"dynamics.ensemble": "npt"}, "dynamics.temperature is 0 K for a time, at which a pressure bath"),
    ],
)
def test_what_needs_more_than_zero(runs: Runs, settings: Settings, said: str) -> None:
    done = runs.run(sample("peptide"), {**HEATING, "dynamics.temperature": FROM_ZERO, **settings}, status=2)  # type: ignore[dict-item]
    assert said in done.process.stderr
