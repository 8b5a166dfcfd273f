"""Forces are minus the gradient of the energy, the virial is its derivative by the box, and symmetries of space
hold."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tessera.system import System, write
from tessera.system.model import Terms
from tests.support.gradients import BAR, check_gradient, moved, steps_of, strain_slope
from tests.support.runs import Runs, Settings
from tests.support.samples import changed, sample

DOUBLE: Settings = {"parallel.precision": "double"}
VACUUM: Settings = {**DOUBLE, "interactions.electrostatics": "shift", "interactions.lj": "potential-switch"}
MESH: Settings = {**DOUBLE, "pme.order": 6, "pme.grid": [48, 48, 48], "interactions.lj": "potential-switch"}


def only(system: System, kinds: set[str]) -> System:
    """Returns the system with terms of these kinds only; "lj" and "coulomb" are kinds too."""
    out = copy.deepcopy(system)
    for template in out.templates:
        template.terms = {kind: terms for kind, terms in template.terms.items() if kind in kinds}
        if "coulomb" not in kinds and "pair_14" not in kinds:
            template.charge = np.zeros_like(template.charge)
    if "lj" not in kinds:
        out.force_field.type_lj[:, 1] = 0.0
        out.force_field.nbfix_types = out.force_field.nbfix_types[:0]
        out.force_field.nbfix_lj = out.force_field.nbfix_lj[:0]
    return out


def with_rb(system: System) -> System:
    """Returns the system with a Ryckaert–Bellemans dihedral in place of every dihedral."""
    out = copy.deepcopy(system)
    out.force_field.tables["dihedral_rb"] = np.array([[2.1, -1.3, 0.7, 1.9, -0.4, 0.3]])
    template = out.templates[0]
    atoms = template.term("dihedral").atoms
    template.terms = {**template.terms, "dihedral_rb": Terms(atoms, np.zeros(len(atoms), np.int32))}
    return only(out, {"dihedral_rb"})


def bent(system: System) -> System:
    """Returns the system with atoms moved from their minima, so that every term has a force."""
    return moved(system, steps_of(system, 0.05 * np.random.default_rng(11).normal(size=system.fraction.shape)))


BONDED = ("bond", "angle", "urey_bradley", "dihedral", "improper_harmonic", "cmap", "pair_14", "lj", "coulomb")


@pytest.mark.parametrize("kind", BONDED)
def test_each_term_of_charmm(runs: Runs, tmp_path: Path, kind: str) -> None:
    check_gradient(runs, tmp_path, only(bent(changed("tripeptide")), {kind}), VACUUM, rough=kind == "cmap")


@pytest.mark.parametrize("kind", ["improper_periodic", "dihedral"])
def test_each_torsion_of_amber(runs: Runs, tmp_path: Path, kind: str) -> None:
    check_gradient(runs, tmp_path, only(bent(changed("dipeptide")), {kind}), VACUUM)


def test_ryckaert_bellemans(runs: Runs, tmp_path: Path) -> None:
    check_gradient(runs, tmp_path, with_rb(bent(changed("dipeptide"))), VACUUM)


LJ = ("potential-switch", "force-switch", "force-switch-gromacs", "quintic-switch")
QUICK = {*zip(("shift", "force-switch", "pme", "pme"), LJ)}  # each once


@pytest.mark.parametrize(
    ("electrostatics", "lj"),
    [
        pytest.param(*one, marks=() if one in QUICK else pytest.mark.slow(part="physics"))
        for one in itertools.product(("shift", "force-switch", "pme"), LJ)
    ],
)
def test_everything_in_a_box(runs: Runs, tmp_path: Path, electrostatics: str, lj: str) -> None:
    """The energy of PME jumps where the direct sum ends at the cut-off; α is so large that the jump can't be seen."""
    settings: Settings = {
        **MESH,
        "pme.alpha": 0.5,
        "pme.order": 8,
        "pme.grid": [64, 64, 64],
        "interactions.lj": lj,
        "interactions.electrostatics": electrostatics,
    }
    check_gradient(runs, tmp_path, changed("peptide"), settings, rough=electrostatics == "shift")


# Newton's third law.


@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize("name", ["peptide", "tripeptide"])
def test_forces_sum_to_nothing(runs: Runs, name: str, precision: str) -> None:
    _, forces = runs.forces(sample(name), {**VACUUM, "parallel.precision": precision})
    # Rounding remains: 2⁻¹⁷ kcal/mol/Å for each of the sums that the kernel makes in single precision.
    limit = 1e-4 if precision == "mixed" else 1e-6
    assert np.abs(forces.sum(axis=0)).max() < limit * np.abs(forces).max()


def test_torques_sum_to_nothing(runs: Runs) -> None:
    _, forces = runs.forces(sample("tripeptide"), VACUUM)
    torque = np.cross(changed("tripeptide").positions(), forces).sum(axis=0)
    assert np.abs(torque).max() < 1e-5 * np.abs(forces).max()


# Symmetries.


def check_same(
    runs: Runs,
    folder: Path,
    other: System,
    turn: Callable[[np.ndarray], np.ndarray],
    settings: Settings,
    tolerance: float,
) -> None:
    """Checks that `other` has the forces that `turn` makes of the sample's forces. Rounding each of some thousand
    parts of an energy to 2⁻²⁴ kcal/mol makes errors of 10⁻⁶ kcal/mol in their sum."""
    here, forces = runs.forces(sample("peptide"), settings)
    write(other, folder / "other.tsr")
    there, found = runs.forces(folder / "other.tsr", settings)
    for term, value in here["terms"].items():
        assert there["terms"][term] == pytest.approx(value, rel=tolerance, abs=max(tolerance * 10, 5e-6)), term
    error = np.sqrt(((found - turn(forces)) ** 2).mean() / (forces**2).mean())
    assert error < tolerance


@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_translation(runs: Runs, tmp_path: Path, precision: str) -> None:
    """The vector is random and longer than the box. The mesh does not move, so its error, here 10⁻⁵ of forces,
    remains."""
    other = changed("peptide")
    shift = np.random.default_rng(5).integers(-(2**31), 2**31, 3)
    other.fraction = (other.fraction.astype(np.int64) + shift).astype(np.uint32).astype(np.int32)
    settings: Settings = {**MESH, "pme.order": 8, "pme.grid": [64, 64, 64], "parallel.precision": precision}
    check_same(runs, tmp_path, other, lambda f: f, settings, 2e-5 if precision == "mixed" else 1e-6)


@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_quarter_turns(runs: Runs, tmp_path: Path, axis: int, precision: str) -> None:
    first, second = [d for d in range(3) if d != axis]

    def turned(v: np.ndarray) -> np.ndarray:
        out = v.copy()
        out[:, first], out[:, second] = -v[:, second], v[:, first]
        return out

    other = changed("peptide")
    other.fraction = turned(other.fraction)
    check_same(
        runs, tmp_path, other, turned, {**MESH, "parallel.precision": precision}, 2e-5 if precision == "mixed" else 1e-8
    )


@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_molecules_in_another_order(runs: Runs, tmp_path: Path, precision: str) -> None:
    other = changed("peptide")
    solute = other.templates[0].n_atoms
    waters = np.random.default_rng(7).permutation((other.n_atoms - solute) // 3)
    order = np.concatenate([np.arange(solute), solute + (3 * waters[:, None] + np.arange(3)).ravel()])
    other.fraction, other.velocity = other.fraction[order], None
    check_same(
        runs,
        tmp_path,
        other,
        lambda f: f[order],
        {**MESH, "parallel.precision": precision},
        2e-5 if precision == "mixed" else 1e-8,
    )


# Pressure.

DIAGONAL = ((0, 0), (1, 1), (2, 2))
COMPONENTS = (*DIAGONAL, (0, 1), (0, 2), (1, 2))  # of a virial


@pytest.mark.parametrize(
    ("electrostatics", "lj", "lj_tail"),
    [
        ("shift", "force-switch", False),
        ("shift", "force-switch", True),
        ("pme", "force-switch", False),
        ("pme", "force-switch", True),
        ("pme", "pme", False),
    ],
)
def test_virial_and_pressure(runs: Runs, tmp_path: Path, electrostatics: str, lj: str, lj_tail: bool) -> None:
    system = changed("peptide")
    settings: Settings = {
        **MESH,
        "interactions.lj": lj,
        "pme.alpha": 0.5,
        "pme.order": 8,
        "pme.grid": [64, 64, 64],
        "interactions.electrostatics": electrostatics,
        "interactions.lj_tail": lj_tail,
    }
    found = runs.energy(sample("peptide"), settings)
    slope = strain_slope(runs, tmp_path, system, settings, *DIAGONAL)
    scale = abs(slope) + 1000
    assert sum(found["virial"][:3]) == pytest.approx(-slope, abs=2e-6 * scale)
    volume = float(np.linalg.det(system.box))
    assert found["pressure_bar"] == pytest.approx(-slope / (3 * volume) * BAR, abs=2e-6 * scale / volume * BAR)
    for axis in range(3):
        part = strain_slope(runs, tmp_path, system, settings, (axis, axis))
        assert found["virial"][axis] == pytest.approx(-part, abs=2e-6 * scale), axis


def test_virial_of_a_charged_box(runs: Runs, tmp_path: Path) -> None:
    """The neutralising background contributes to the virial."""
    system = changed("peptide")
    system.templates[0].charge = system.templates[0].charge + 0.2
    settings: Settings = {**MESH, "pme.alpha": 0.5, "pme.order": 8, "pme.grid": [64, 64, 64]}
    write(system, tmp_path / "charged.tsr")
    found = runs.energy(tmp_path / "charged.tsr", settings)
    assert found["terms"]["coulomb_background"] < -0.1
    slope = strain_slope(runs, tmp_path, system, settings, *DIAGONAL)
    assert sum(found["virial"][:3]) == pytest.approx(-slope, abs=2e-6 * (abs(slope) + 1000))
