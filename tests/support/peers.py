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


#: the engine's terms that OpenMM's forces have together
TERM_GROUPS = {
    "bond": ("bond", "urey_bradley"),
    "angle": ("angle",),
    "torsion": ("dihedral", "improper"),
    "cmap": ("cmap",),
    "lj": ("lj", "lj_14"),
    "coulomb": (
        "coulomb_14", "coulomb_background", "coulomb_exclusion", "coulomb_real", "coulomb_reciprocal", "coulomb_self",
    ),
}  # fmt: skip
_GROUP_OF = {
    "HarmonicBondForce": "bond",
    "HarmonicAngleForce": "angle",
    "PeriodicTorsionForce": "torsion",
    "CustomTorsionForce": "torsion",
    "RBTorsionForce": "torsion",
    "CMAPTorsionForce": "cmap",
    "CustomNonbondedForce": "lj",
    "CustomBondForce": "lj",
}


def term_energies(system: openmm.System, positions: Any, alpha: float = 0.34, grid: int = 64) -> dict[str, float]:
    """Returns energies in kcal/mol by the names of `TERM_GROUPS`: those of NonbondedForce without charges are "lj"."""
    plain = openmm.XmlSerializer.clone(system)
    (base,) = (force for force in plain.getForces() if isinstance(force, openmm.NonbondedForce))
    for index in range(base.getNumParticles()):
        base.setParticleParameters(index, 0.0, *base.getParticleParameters(index)[1:])
    for index in range(base.getNumExceptions()):
        i, j, _, sigma, epsilon = base.getExceptionParameters(index)
        base.setExceptionParameters(index, i, j, 0.0, sigma, epsilon)
    whole, uncharged = (energies(each, positions, alpha, grid) for each in (system, plain))
    out = dict.fromkeys(TERM_GROUPS, 0.0)
    for name, energy in whole.items():
        kind = name.partition("_")[0]
        if kind in _GROUP_OF:
            out[_GROUP_OF[kind]] += energy
    out["lj"] += uncharged["NonbondedForce"]
    out["coulomb"] = whole["NonbondedForce"] - uncharged["NonbondedForce"]
    return out


def compare_terms(found: dict[str, float], peer: dict[str, float], tolerance: float) -> None:
    """Compares the engine's terms with those of `term_energies`, relative to the greater of a term and 1 kcal/mol."""
    for name, terms in TERM_GROUPS.items():
        ours = sum(found.get(term, 0.0) for term in terms)
        assert abs(ours - peer[name]) <= tolerance * max(abs(peer[name]), 1.0), (name, ours, peer[name])
