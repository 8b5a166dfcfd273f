"""Elements that are guessed from masses and names, up to the files that show them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tessera.constants import atomic_numbers
from tessera.prepare.dlpoly import prepare_dlpoly
from tessera.system import read, write
from tests.support.commands import said

REPORT = Path(__file__).parents[1] / "reports/elements"
#: name, mass in amu, atomic number
KNOWN = [
    *[("HE", 4.0026, 2), ("HE", 4.003, 2), ("He", 4.0, 2), ("He1", 4.0026, 2)],
    *[("HE", 1.008, 1), ("HE", 4.032, 1), ("HE1", 4.0, 1), ("HE21", 3.024, 1), ("1HB", 1.0, 1), ("HG1", 1.008, 1)],
    *[("D", 2.014, 1), ("D1", 2.0141, 1), ("DW", 2.01410178, 1), ("HW1", 2.014, 1), ("T", 3.016, 1)],
    *[("CH", 13.019, 6), ("CH2", 14.027, 6), ("CH3", 15.035, 6), ("CH4", 16.043, 6), ("C2", 14.0, 6)],
    *[("CH3E", 15.03, 6)],
    *[("CT", 5.962, 6), ("CB", 8.987, 6), ("N", 11.991, 7), ("N", 12.015, 7), ("OG", 13.983, 8)],  # heavy hydrogens
    *[("CA", 12.011, 6), ("CA", 40.08, 20), ("NE", 14.01, 7), ("NE", 20.18, 10), ("HG", 200.59, 80), ("CO", 58.93, 27)],
    *[("SOD", 22.98977, 11), ("POT", 39.0983, 19), ("CLA", 35.45, 17), ("CES", 132.90545, 55), ("CAD", 112.411, 48)],
    *[("Na+", 22.9898, 11), ("Cl-", 35.453, 17), ("O2-", 16.0, 8), ("Ti4+", 47.88, 22), ("Ti1", 47.9, 22)],
    *[("Ar", 39.948, 18), ("Ar", 40.0, 18), ("FE", 55.85, 26), ("W", 183.84, 74), ("U", 238.03, 92), ("X", 12.011, 6)],
    *[("W", 72.0, 0), ("MO", 54.0, 0), ("BB", 56.0, 0), ("SC1", 45.0, 0), ("A", 1.0, 0), ("D", 1.0, 0)],
    *[("Si", 28.0, 14), ("Me", 15.035, 0), ("M", 0.0, 0), ("LP", 0.0, 0)],
]  # fmt: skip


def test_elements_fit_mass_and_name() -> None:
    names, masses, expected = zip(*KNOWN)
    found = atomic_numbers(np.array(masses, float), np.array(names, "S8"))
    wrong = [(*case[:2], int(number)) for case, number in zip(KNOWN, found) if number != case[2]]
    assert not wrong and len(expected) == len(found)


def test_every_element_is_found_by_its_symbol_and_its_mass() -> None:
    from openmm.app import Element

    known = [Element.getByAtomicNumber(number) for number in range(1, 100)]
    masses = np.array([element.mass._value for element in known])
    for names in ([e.symbol for e in known], [e.symbol.upper() for e in known], [f"{e.symbol}+" for e in known]):
        found = atomic_numbers(masses, np.array(names, "S8"))
        np.testing.assert_array_equal(found, np.arange(1, 100))
    rounded = atomic_numbers(np.round(masses, 1), np.array([e.symbol for e in known], "S8"))
    np.testing.assert_array_equal(rounded, np.arange(1, 100))


@pytest.fixture(scope="module")
def united(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("united")
    shutil.copytree(REPORT, folder, dirs_exist_ok=True)
    write(prepare_dlpoly(folder / "FIELD", folder / "CONFIG"), folder / "x.tsr")
    return folder


def test_exports_show_them(united: Path) -> None:
    said("export", united / "x.tsr", "-o", united / "x.pdb", "-o", united / "x.cif")
    lines = [line for line in (united / "x.pdb").read_text().splitlines() if line.startswith("ATOM")]
    symbols = ["HE", "C", "C", "H", "", "", "AR"]
    assert [line[76:78].strip() for line in lines[::8]] == symbols
    rows = [line.split() for line in (united / "x.cif").read_text().splitlines() if line.startswith("HETATM")]
    assert [row[2].upper().strip("?") for row in rows[::8]] == symbols


def test_python_and_ase_show_them(united: Path) -> None:
    ase = pytest.importorskip("tessera.ase")
    system = read(united / "x.tsr")
    assert system.atom_field("atomic_number")[::8].tolist() == [2, 6, 6, 1, 0, 0, 18]
    assert ase.make_atoms(system).numbers[::8].tolist() == [2, 6, 6, 1, 0, 0, 18]


def test_a_trajectory_without_a_system_shows_them(united: Path) -> None:
    shutil.copy(REPORT.parent / "history/HISTORY.plain", united / "HISTORY")
    said("traj", "convert", united / "HISTORY", "-o", united / "y.pdb")
    atom = next(line for line in (united / "y.pdb").read_text().splitlines() if line.startswith("ATOM"))
    assert atom[76:78] == "AR"
