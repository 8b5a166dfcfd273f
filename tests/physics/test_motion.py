"""Tests what a run in the microcanonical ensemble conserves, and the velocities with which it starts."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.runs import BOLTZMANN, Runs, Settings, drift, fluctuation
from tests.support.samples import changed, last_state, sample

KINETIC = 1 / 418.4  # kcal/mol of 1 amu Å²/ps²
# Energies of every step are written; all forces are switched, so that the integrator makes the only error.
WATCH: Settings = {
    "output.energy_every": 1,
    "output.checkpoint_every": 0,
    "interactions.lj": "force-switch",
    "dynamics.com_removal_every": 0,
}


@pytest.mark.parametrize("constraints", ["h-bonds", "none"])
def test_the_fluctuation_goes_with_the_square_of_the_step(runs: Runs, constraints: str) -> None:
    """Velocity Verlet conserves a shadow energy, which differs from the true one by a term of second order in the
    step."""
    sizes = (0.5, 1.0, 2.0) if constraints == "h-bonds" else (0.25, 0.5, 1.0)
    found = []
    for timestep in sizes:
        settings: Settings = {
            **WATCH,
            "dynamics.constraints": constraints,
            "dynamics.timestep": timestep,
            "dynamics.steps": round(100 * sizes[0] * 2 / timestep),
            "pme.order": 6,
            "pme.tolerance": 1e-6,
        }
        found.append(fluctuation(runs.run(sample("peptide"), settings)))
    ratios = [found[1] / found[0], found[2] / found[1]]
    assert all(3.4 < ratio < 4.8 for ratio in ratios), (found, ratios)


def test_short_drift(runs: Runs) -> None:
    """Runs a picosecond at 2 fs with the default mesh and buffer. In so short a time the statistical error of the slope
    sets the limit; a wrong force term, or pairs that the list misses, give 1 kT/ns per degree of freedom and more."""
    settings: Settings = {**WATCH, "dynamics.steps": 500, "dynamics.timestep": 2.0}
    found = runs.run(sample("peptide"), settings)
    slope, error = drift(found)
    assert abs(slope) < 0.5 + 3 * error, (slope, error)
    assert fluctuation(found) < 0.05 * np.std(found.table["kinetic"])


@pytest.mark.slow(part="physics")
@pytest.mark.parametrize(("name", "steps", "limit"), [("peptide", 50_000, 0.05), ("dhfr", 10_000, 0.1)])
def test_long_drift(runs: Runs, name: str, steps: int, limit: float) -> None:
    """Runs 100 ps of the small system and 20 ps of DHFR (after 2 ps to settle) at 2 fs."""
    settings: Settings = {**WATCH, "dynamics.steps": steps, "dynamics.timestep": 2.0, "output.energy_every": 50}
    found = runs.run(sample(name), settings, timeout=7200, threads=2)
    slope, error = drift(found)
    assert abs(slope) < limit + 3 * error, (slope, error)


def momentum(system_name: str, velocity: np.ndarray) -> np.ndarray:
    return changed(system_name).atom_field("mass") @ velocity


@pytest.mark.parametrize("constraints", ["h-bonds", "none"])
def test_momentum_is_conserved(runs: Runs, constraints: str) -> None:
    """There is no mesh. Velocities are rounded to 2⁻²⁰ Å/ps at every half step, which makes the momentum walk at
    random."""
    steps = 100
    settings: Settings = {
        **WATCH,
        "interactions.electrostatics": "shift",
        "parallel.precision": "double",
        "dynamics.constraints": constraints,
        "dynamics.timestep": 1.0,
    }
    ends = [
        momentum("peptide", last_state(runs.run(sample("peptide"), {**settings, "dynamics.steps": n}).folder)[1])
        for n in (1, steps)
    ]
    mass = changed("peptide").atom_field("mass")
    walk = np.sqrt((mass**2).sum() * 2 * steps / 12) * 2.0**-20
    assert np.abs(ends[1] - ends[0]).max() < 6 * walk


def test_motion_of_the_centre_of_mass_is_removed(runs: Runs) -> None:
    settings: Settings = {**WATCH, "dynamics.steps": 50, "dynamics.com_removal_every": 25}
    found = runs.run(sample("peptide"), settings)
    system = changed("peptide")
    speed = momentum("peptide", last_state(found.folder)[1]) / system.atom_field("mass").sum()
    assert np.abs(speed).max() < 1e-6


@pytest.mark.parametrize("temperature", [10.0, 300.0])
@pytest.mark.parametrize("constraints", ["h-bonds", "none"])
def test_generated_velocities_have_their_temperature(runs: Runs, temperature: float, constraints: str) -> None:
    settings: Settings = {
        **WATCH,
        "dynamics.steps": 1,
        "dynamics.timestep": 1e-5,
        "dynamics.velocities": "generate",
        "dynamics.temperature": temperature,
        "dynamics.constraints": constraints,
    }
    found = runs.run(sample("peptide"), settings)
    assert found.table["temperature"][0] == pytest.approx(temperature, rel=1e-5)
    velocity = last_state(found.folder)[1]
    system = changed("peptide")
    mass = system.atom_field("mass")
    degrees = found.report["results"]["degrees_of_freedom"]
    waters = (system.n_atoms - 33) // 3
    hydrogens = int((mass[:33] < 1.1).sum())
    # nothing removes the motion of the centre of mass
    assert degrees == 3 * system.n_atoms - (3 * waters + hydrogens if constraints == "h-bonds" else 0)
    kinetic = 0.5 * KINETIC * float((mass * (velocity**2).sum(axis=1)).sum())
    assert 2 * kinetic / (degrees * BOLTZMANN) == pytest.approx(temperature, rel=1e-4)
    assert np.abs(mass @ velocity).max() / mass.sum() < 1e-6
    if constraints == "none":
        for kind in np.unique(mass[33:]):  # hydrogens and oxygens of water alike, in each direction
            squares = KINETIC * kind * velocity[mass == kind] ** 2 / (BOLTZMANN * temperature)
            assert np.abs(squares.mean(axis=0) - 1).max() < 5 * np.sqrt(2 / len(squares))
        # The fourth moment is that of a Maxwell distribution.
        scaled = velocity * np.sqrt(KINETIC * mass / (BOLTZMANN * temperature))[:, None]
        assert (scaled**4).mean() == pytest.approx(3, abs=5 * np.sqrt(96 / scaled.size))


def test_seeds_differ_and_repeat(runs: Runs) -> None:
    settings: Settings = {**WATCH, "dynamics.steps": 1, "dynamics.velocities": "generate"}
    hashes = [runs.run(sample("peptide"), {**settings, "dynamics.seed": seed}).hash for seed in (1, 2, 1)]
    assert hashes[0] == hashes[2] != hashes[1]


def test_rigid_waters_stay_rigid(runs: Runs) -> None:
    found = runs.run(sample("peptide"), {**WATCH, "dynamics.steps": 200, "output.energy_every": 100})
    fraction, _ = last_state(found.folder)
    water = fraction[33:].reshape(-1, 3, 3)
    with np.errstate(over="ignore"):
        arms = np.stack([water[:, 1] - water[:, 0], water[:, 2] - water[:, 0], water[:, 2] - water[:, 1]], axis=1)
    lengths = np.linalg.norm(arms * 2.0**-32 * np.diag(changed("peptide").box), axis=2)
    np.testing.assert_allclose(lengths, np.tile([0.9572, 0.9572, 1.5139], (len(lengths), 1)), rtol=1e-6)
