"""Compares the energy of every term and the forces with OpenMM in double precision; the mesh is converged in both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.forces.compare import Settings, check, engine_settings, reference, relative
from tests.support.oracle import TERMS, reference_energies
from tests.support.runs import Runs
from tests.support.samples import sample

PRECISIONS = ("mixed", "double")
MODIFIERS = ("cut", "potential-switch", "force-switch", "force-switch-gromacs", "quintic-switch")
SMALL = Settings(cutoff=9, switch=7.5, lj="force-switch", alpha=0.28, grid=(72, 72, 72))
LARGE = Settings(cutoff=9, switch=8, lj="cut", alpha=0.26, grid=(128, 128, 128))
EVERYTHING = Settings(cutoff=20, switch=19, lj="cut", electrostatics="cut")  # longer than any distance in the 33 atoms


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("electrostatics", ["pme", "cut", "shift", "force-switch"])
@pytest.mark.parametrize("lj", MODIFIERS)
def test_all_forms_in_a_box(
    request: pytest.FixtureRequest, runs: Runs, lj: str, electrostatics: str, precision: str
) -> None:
    tail = lj in ("cut", "potential-switch", "quintic-switch")  # the tail of other forms counts shifts differently
    settings = replace(SMALL, lj=lj, electrostatics=electrostatics, lj_tail=tail)
    check(request, runs, "peptide", settings, precision, parts=electrostatics == "pme")


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("electrostatics", ["cut", "shift", "force-switch"])
@pytest.mark.parametrize("lj", MODIFIERS)
def test_all_forms_in_vacuum(
    request: pytest.FixtureRequest, runs: Runs, lj: str, electrostatics: str, precision: str
) -> None:
    """The cut-off is well inside the molecule."""
    settings = replace(SMALL, cutoff=6, switch=4.5, lj=lj, electrostatics=electrostatics)
    check(request, runs, "tripeptide", settings, precision)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ["tripeptide", "dipeptide"])
def test_vacuum_without_cutoff(request: pytest.FixtureRequest, runs: Runs, name: str, precision: str) -> None:
    check(request, runs, name, EVERYTHING, precision, against=Settings(cutoff=None))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ["dipeptide_water", "ala3_water", "mos2"])
def test_small_systems(request: pytest.FixtureRequest, runs: Runs, name: str, precision: str) -> None:
    grid = (100, 100, 100) if name == "mos2" else (72, 72, 72)
    check(request, runs, name, replace(SMALL, lj="potential-switch", grid=grid), precision, parts=True)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ["dhfr", pytest.param("dhfr_amber", marks=pytest.mark.slow(part="physics"))])
def test_dhfr(request: pytest.FixtureRequest, runs: Runs, name: str, precision: str) -> None:
    check(request, runs, name, LARGE, precision, parts=True)


@pytest.mark.slow(part="physics")
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ["apoa1", "apoa1_gromacs"])
def test_apoa1(request: pytest.FixtureRequest, runs: Runs, name: str, precision: str) -> None:
    lj = "force-switch-gromacs" if name == "apoa1_gromacs" else "potential-switch"
    settings = Settings(cutoff=12, switch=10, lj=lj, alpha=0.20, grid=(200, 200, 144))
    check(request, runs, name, settings, precision, parts=True)


def test_splits_are_as_accurate(runs: Runs) -> None:
    """A longer direct sum with a mesh that is coarser in proportion is as accurate; the coarser mesh alone is not."""
    converged = replace(SMALL, alpha=0.38, grid=(120, 120, 120))
    expected = sum(reference("peptide", converged, term)[1] for term in TERMS)

    def error(cutoff: float, points: int) -> float:
        settings = {
            "interactions.cutoff": SMALL.cutoff,
            "interactions.switch": SMALL.switch,
            "interactions.lj": SMALL.lj,
            "pme.cutoff": cutoff,
            "pme.grid": [points] * 3,
        }
        _, forces = runs.forces(sample("peptide"), settings)
        return float(np.sqrt(((forces - expected) ** 2).mean() / (expected**2).mean()))

    first = error(9, 30)
    assert 1e-5 < first < 2e-3
    for points in (28, 26, 24):
        assert error(9 * 30 / points, points) < 1.1 * first
        assert error(9, points) > 1.1 * first


@pytest.mark.parametrize("order", [4, 6, 8])
def test_the_mesh_converges_to_the_same(runs: Runs, order: int) -> None:
    """A finer mesh or a higher order gives the same energy with any alpha."""
    settings = replace(SMALL, alpha=0.34, grid=(96, 96, 96) if order == 4 else (72, 72, 72))
    found = runs.energy(sample("peptide"), engine_settings(settings, "double", order))["terms"]
    expected = reference_energies(sample("peptide"), replace(settings, grid=(120, 120, 120)))
    assert relative(found["coulomb_reciprocal"], expected["coulomb_reciprocal"]) < {4: 1e-4, 6: 1e-5, 8: 4e-6}[order]
