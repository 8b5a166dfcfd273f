"""GROMACS topologies against GROMACS itself in double precision, and what is refused."""

from pathlib import Path

import pytest
from oracle import Settings, reference_energies

from prepare.gromacs_cases import CASES, FIGURES, TERMS, measured
from prepare.gromacs_peer import GMX
from tessera.prepare.gromacs import prepare_gromacs
from tessera.system import System

KILOJOULE = 4.184


def prepared(folder: Path, name: str) -> System:
    case = CASES[name]
    case.write(folder)
    defines = [word.removeprefix("-D") for word in case.define.split()]
    return prepare_gromacs(folder / "case.top", folder / "case.gro", vacuum=True, defines=defines)


@pytest.mark.parametrize("name", CASES)
def test_energies_are_those_of_gromacs(name: str, tmp_path: Path) -> None:
    found = reference_energies(prepared(tmp_path, name), Settings(cutoff=None))
    for term, (ours, _) in TERMS.items():
        energy = sum(found[part] for part in ours) * KILOJOULE
        # figures have six decimals, and positions are rounded to 2⁻³² of the box
        assert energy == pytest.approx(FIGURES[name].get(term, 0.0), rel=1e-6, abs=3e-6), term


@pytest.mark.skipif(GMX is None, reason="no gmx_d on the path")
@pytest.mark.parametrize("name", ["plain", "nbfix, rule 3", "a line that two files repeat", "macros"])
def test_the_figures_are_what_gromacs_says(name: str, tmp_path: Path) -> None:
    found = measured(CASES[name], tmp_path)
    assert {term: value for term, value in found.items() if value} == pytest.approx(FIGURES[name], abs=1e-6)
