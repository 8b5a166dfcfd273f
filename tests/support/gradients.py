"""Differences of energies by positions and by the box, with which tests compare forces and the virial."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

from tessera.system import System, write
from tests.support.runs import Runs, Settings

BAR = 69476.95457055373  # of a kcal/mol/Å³


def moved(system: System, steps: np.ndarray) -> System:
    """Returns the system with atoms moved by integer steps (n,3) of 2⁻³² box."""
    out = copy.copy(system)
    out.fraction = (system.fraction.astype(np.int64) + steps.astype(np.int64)).astype(np.uint32).astype(np.int32)
    return out


def steps_of(system: System, displacement: np.ndarray) -> np.ndarray:
    return np.rint(displacement @ np.linalg.inv(system.box) * 2.0**32).astype(np.int64)


def check_gradient(runs: Runs, folder: Path, system: System, settings: Settings, rough: bool = False) -> None:
    """Moves all atoms at once along two random directions, so that each difference of energies contains every force.

    Differences over h, 2h and 4h leave an error of order h⁶ and that of the resolution of energies, 6·10⁻⁸ kcal/mol a
    term. `rough` is for energies whose second or third derivative jumps somewhere.
    """
    h, tolerance = (1e-3, 2e-5) if rough else (4e-3, 3e-6)
    write(system, folder / "start.tsr")
    _, forces = runs.forces(folder / "start.tsr", settings)
    assert np.abs(forces).max() > 0.01
    random = np.random.default_rng(3)
    for _ in range(2):
        steps = steps_of(system, h * random.normal(size=forces.shape))
        direction = steps * 2.0**-32 @ system.box / h
        slopes = {}
        for times in (1, 2, 4):
            ends = []
            for sign in (1, -1):
                write(moved(system, sign * times * steps), folder / "moved.tsr")
                ends.append(runs.energy(folder / "moved.tsr", settings)["total"])
            slopes[times] = (ends[0] - ends[1]) / (2 * times * h)
        slope = (64 * slopes[1] - 20 * slopes[2] + slopes[4]) / 45
        expected = -float((forces * direction).sum())
        scale = float(np.sqrt((forces**2).sum()))
        assert slope == pytest.approx(expected, abs=tolerance * scale + 1e-7 / h), f"relative to {scale}"


def strain_slope(runs: Runs, folder: Path, system: System, settings: Settings, *parts: tuple[int, int]) -> float:
    """Returns dE/dε where the box and all positions are deformed: component p of them grows by ε of component q, for
    each part (p, q)."""
    slopes = []
    for size in (1e-4, 2e-4):
        ends = []
        for sign in (1, -1):
            other = copy.copy(system)
            other.box = system.box.copy()
            for p, q in parts:
                other.box[:, p] += sign * size * system.box[:, q]
            write(other, folder / "strained.tsr")
            ends.append(runs.energy(folder / "strained.tsr", settings)["total"])
        slopes.append((ends[0] - ends[1]) / (2 * size))
    return (4 * slopes[0] - slopes[1]) / 3
