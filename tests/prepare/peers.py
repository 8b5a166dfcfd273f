"""Computes energies with OpenMM and its readers alone, for comparison."""

from __future__ import annotations

from typing import Any

import openmm
from openmm import unit

NANOMETRE = 10.0  # Å


def energies(system: openmm.System, positions: Any, alpha: float = 0.38, grid: int = 48) -> dict[str, float]:
    """Returns energies in kcal/mol by the force's class, numbered where a class comes twice, without a dispersion
    correction."""
    for index, force in enumerate(system.getForces()):
        force.setForceGroup(index)
        if isinstance(force, openmm.NonbondedForce):
            force.setUseDispersionCorrection(False)
            force.setPMEParameters(alpha * NANOMETRE, grid, grid, grid)
        if isinstance(force, openmm.CustomNonbondedForce):
            force.setUseLongRangeCorrection(False)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(positions)
    out: dict[str, float] = {}
    for index, force in enumerate(system.getForces()):
        name = type(force).__name__
        key = name if name not in out else f"{name}_{index}"
        state = context.getState(getEnergy=True, groups={index})
        out[key] = state.getPotentialEnergy().value_in_unit(unit.kilocalories_per_mole)
    return out
