"""`tessera.ase`: energies, forces and stress in ASE's conventions agree with differences of energies."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

import tessera
from tessera import system as systems
from tests.support.inputs import alanine_dipeptide
from tests.support.samples import sample

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


PERIODIC = {
    "interactions": {"cutoff": 9.0, "switch": 8.0, "lj": "potential-switch", "electrostatics": "pme"},
    "pme": {"alpha": 0.4, "order": 8, "grid": [48, 48, 48]},
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


def test_atoms_of_a_file(tmp_path: Path) -> None:
    from tessera.ase import make_atoms

    system = alanine_dipeptide()
    systems.write(system, tmp_path / "a.tsr")
    assert make_atoms(str(tmp_path / "a.tsr")) == make_atoms(system)


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


@pytest.mark.parametrize("shape", ["octahedron", "dodecahedron"])
def test_a_cell_of_any_shape_and_frame(shape: str) -> None:
    """Forces and stress turn with the cell, which the box follows; the stress is a derivative by each strain."""
    from scipy.spatial.transform import Rotation

    from tessera.ase import TesseraCalculator, make_atoms

    system = systems.read(sample(shape))
    atoms = make_atoms(system)
    atoms.calc = TesseraCalculator(system, PERIODIC)
    energy, forces, stress = atoms.get_potential_energy(), atoms.get_forces(), atoms.get_stress(voigt=False)
    assert np.abs(stress).max() > 1e-4  # eV/Å³

    turned = atoms.copy()
    turned.calc = atoms.calc
    turn = Rotation.from_rotvec([0.3, -0.8, 0.5]).as_matrix()
    turned.set_cell(atoms.cell.array @ turn.T)
    turned.positions = atoms.positions @ turn.T
    assert turned.get_potential_energy() == pytest.approx(energy, abs=1e-6)
    assert np.abs(turned.get_forces() - forces @ turn.T).max() < 1e-5
    assert np.abs(turned.get_stress(voigt=False) - turn @ stress @ turn.T).max() < 1e-8

    def strained(row: int, column: int, by: float) -> float:
        deformed = atoms.copy()
        deformed.calc = atoms.calc
        strain = np.eye(3)
        strain[row, column] += by
        deformed.set_cell(atoms.cell.array @ strain, scale_atoms=True)
        return deformed.get_potential_energy()

    for row, column in ((0, 0), (2, 2), (1, 0), (0, 1), (1, 2)):
        slope = (strained(row, column, 1e-4) - strained(row, column, -1e-4)) / 2e-4
        assert slope == pytest.approx(atoms.get_volume() * stress[row, column], abs=0.02)  # eV


def test_other_atoms_are_refused() -> None:
    from tessera.ase import TesseraCalculator, make_atoms

    system = alanine_dipeptide()
    atoms = make_atoms(system)[:-1]
    atoms.calc = TesseraCalculator(system, CUT)
    with pytest.raises(tessera.InputError, match="21 atoms, expected the 22 of the system"):
        atoms.get_potential_energy()
