"""Compares the engine's energies and forces with those of OpenMM's Reference platform."""

from __future__ import annotations

import dataclasses
from functools import cache, lru_cache
from typing import Any

import numpy as np
import openmm
import pytest
from openmm import unit

from tessera.system import System, read
from tests.support.oracle import TERMS, Settings, coulomb_parts, lj_tail, reference_context
from tests.support.runs import Runs
from tests.support.runs import Settings as RunSettings
from tests.support.samples import sample

ENERGY = 2e-5  # relative, of every term
SMALLEST = 1.0  # kcal/mol; the errors of smaller terms are relative to this
FORCE = {"mixed": 2e-4, "double": 1e-6}  # RMS error over RMS force
PARTS = ("coulomb_real", "coulomb_reciprocal", "coulomb_exclusion", "coulomb_self", "coulomb_background")


@cache
def system_of(name: str) -> System:
    return read(sample(name))


@cache
def reference(name: str, settings: Settings, term: str) -> tuple[float, np.ndarray]:
    """Returns energy and forces (n,3) of one term. Terms that do not depend on a setting are evaluated once."""
    plain = {f.name: f.default for f in dataclasses.fields(Settings)}
    keep = {"lj": {"cutoff", "switch", "lj"}, "coulomb": {"cutoff", "switch", "electrostatics", "alpha", "grid"}}
    needed = dataclasses.replace(
        settings, **{key: value for key, value in plain.items() if key not in keep.get(term, {"cutoff"})}
    )
    return needed_reference(name, needed, term)


@lru_cache(maxsize=3)
def context_of(name: str, settings: Settings) -> openmm.Context:
    return reference_context(system_of(name), settings)


@cache
def needed_reference(name: str, settings: Settings, term: str) -> tuple[float, np.ndarray]:
    state = context_of(name, settings).getState(getEnergy=True, getForces=True, groups={TERMS.index(term)})
    energy = state.getPotentialEnergy().value_in_unit(unit.kilocalories_per_mole)
    forces = state.getForces(asNumpy=True).value_in_unit(unit.kilocalories_per_mole / unit.angstrom)
    return energy, np.asarray(forces)


@cache
def reference_parts(name: str, settings: Settings) -> dict[str, float]:
    """Returns the parts of PME, summed pair by pair."""
    return coulomb_parts(system_of(name), settings, reference(name, settings, "coulomb")[0])


def engine_settings(settings: Settings, precision: str, order: int = 8) -> RunSettings:
    """Returns the settings by the names that `--set` takes."""
    assert settings.cutoff is not None
    out: RunSettings = {
        "interactions.cutoff": settings.cutoff,
        "interactions.switch": settings.switch,
        "interactions.coulomb_switch": settings.switch,
        "interactions.lj": settings.lj,
        "interactions.lj_tail": settings.lj_tail,
        "interactions.electrostatics": settings.electrostatics,
        "parallel.precision": precision,
    }
    if settings.electrostatics == "pme":
        out |= {"pme.alpha": settings.alpha, "pme.grid": list(settings.grid), "pme.order": order}
    return out


def relative(found: float, expected: float) -> float:
    return abs(found - expected) / max(abs(expected), SMALLEST)


def check(
    request: pytest.FixtureRequest,
    runs: Runs,
    name: str,
    settings: Settings,
    precision: str,
    *,
    against: Settings | None = None,
    parts: bool = False,
    energy: float = ENERGY,
    force: float | None = None,
    **sizes: Any,
) -> None:
    """Checks every term's energy and the sum of the forces; the errors go into the table at the end of all tests.

    `against` are the reference's settings where they differ (as without a cut-off).
    """
    theirs = against or settings
    found, forces = runs.forces(sample(name), engine_settings(settings, precision), **sizes)
    terms = dict(found["terms"])
    terms["coulomb"] = sum(terms[part] for part in PARTS)
    errors = {term: relative(terms[term], reference(name, theirs, term)[0]) for term in TERMS}
    if parts:
        errors |= {part: relative(terms[part], value) for part, value in reference_parts(name, theirs).items()}
    if settings.lj_tail:
        errors["lj_tail"] = relative(terms["lj_tail"], lj_tail(system_of(name), settings))
    total = sum(reference(name, theirs, term)[0] for term in TERMS)
    errors["total"] = relative(found["total"] - terms["lj_tail"], total)
    expected = sum(reference(name, theirs, term)[1] for term in TERMS)
    error = np.sqrt(((forces - expected) ** 2).mean() / (expected**2).mean())
    for term, value in {**errors, "forces": float(error)}.items():
        request.node.user_properties.append(("greatest error", (name, term, precision, float(value))))
    wrong = {term: value for term, value in errors.items() if value > energy}
    assert not wrong, f"energies differ: {wrong}"
    assert error <= (force or FORCE[precision]), f"forces differ by {error:.2e} of their RMS"


__all__ = ["Settings", "check", "engine_settings", "relative", "system_of"]
