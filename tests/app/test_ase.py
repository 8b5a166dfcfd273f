"""`tessera.ase`: energies, forces and stress in ASE's conventions agree with differences of energies."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from prepare.inputs import alanine_dipeptide

import tessera

pytest.importorskip("ase", reason="ASE is not installed")
pytest.importorskip("tessera._md_serial", reason="the Python modules are not built")

CUT = {
    "interactions": {
        "electrostatics": "shift",
        "cutoff": 12.0,
        "switch": 10.0,
        "lj": "potential-switch",
        "lj_tail": False,
    }
}


def test_forces_are_differences_of_energies() -> None:
    from ase.calculators.fd import calculate_numerical_forces

    from tessera.ase import TesseraCalculator, make_atoms

    system = alanine_dipeptide()
    atoms = make_atoms(system)
    atoms.calc = TesseraCalculator(system, CUT)
    forces = atoms.get_forces()
    assert np.abs(forces).max() > 0.1
    assert np.abs(forces - calculate_numerical_forces(atoms, eps=1e-3)).max() < 1e-4  # eV/Å
    atoms.rattle(0.05, seed=1)
    assert np.abs(atoms.get_forces() - calculate_numerical_forces(atoms, eps=1e-3)).max() < 1e-4


def test_stress_is_a_difference_of_energies() -> None:
    from tessera.ase import TesseraCalculator, make_atoms

    def scaled(factor: float) -> tuple[float, np.ndarray]:
        system = copy.deepcopy(alanine_dipeptide())
        system.periodic = True
        system.box = system.box * factor
        atoms = make_atoms(system)
        atoms.calc = TesseraCalculator(system, CUT)
        return atoms.get_potential_energy(), atoms.get_stress(voigt=False) * atoms.get_volume()

    strain = 1e-5
    difference = (scaled(1 + strain)[0] - scaled(1 - strain)[0]) / (2 * strain)
    assert np.trace(scaled(1)[1]) == pytest.approx(difference, abs=1e-3)  # eV: energies end at 1e-8


def test_other_atoms_are_refused() -> None:
    from tessera.ase import TesseraCalculator, make_atoms

    system = alanine_dipeptide()
    atoms = make_atoms(system)[:-1]
    atoms.calc = TesseraCalculator(system, CUT)
    with pytest.raises(tessera.InputError, match="21 atoms, expected the 22 of the system"):
        atoms.get_potential_energy()
