"""Compares energies of GROMACS topologies with GROMACS in double precision, and tests what is refused."""

from pathlib import Path

import numpy as np
import pytest

from tessera.errors import InputError
from tessera.prepare.gromacs import prepare_gromacs
from tessera.system import System
from tests.prepare.gromacs_cases import CASES, FIGURES, TERMS, Case, measured
from tests.prepare.gromacs_peer import GMX
from tests.support.oracle import Settings, reference_energies

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
        # Figures have six decimals, and positions are rounded to 2⁻³² of the box.
        assert energy == pytest.approx(FIGURES[name].get(term, 0.0), rel=1e-6, abs=3e-6), term


@pytest.mark.skipif(GMX is None, reason="no gmx_d on the path")
@pytest.mark.parametrize("name", ["plain", "nbfix, rule 3", "a line that two files repeat", "macros"])
def test_the_figures_are_what_gromacs_says(name: str, tmp_path: Path) -> None:
    found = measured(CASES[name], tmp_path)
    assert {term: value for term, value in found.items() if value} == pytest.approx(FIGURES[name], abs=1e-6)


WATER = """\
[ moleculetype ]
WAT 2
[ atoms ]
1 OW 1 WAT OW 1 -0.8
2 HW 1 WAT H1 1 0.4
3 HW 1 WAT H2 1 0.4
{}
"""
RIGID = {
    "settles": "[ settles ]\n1 1 0.09572 0.15139\n[ exclusions ]\n1 2 3\n2 3\n",
    "constraints": "[ constraints ]\n1 2 1 0.09572\n1 3 1 0.09572\n2 3 1 0.15139\n",
}


@pytest.mark.parametrize("kind", RIGID)
def test_rigid_water(kind: str, tmp_path: Path) -> None:
    top, gro = tmp_path / "water.top", tmp_path / "water.gro"
    types = "OW 8 15.9994 0 A 0.315 0.636\nHW 1 1.008 0 A 0 0\n"
    text = f"[ defaults ]\n1 2 yes\n[ atomtypes ]\n{types}{WATER.format(RIGID[kind])}"
    top.write_text(text + "[ system ]\nwater\n[ molecules ]\nWAT 2\nWAT 1\n")
    places = [(x + dx, dy) for x in (0.5, 1.0, 1.5) for dx, dy in ((0, 0), (0.05859, 0.0757), (0.05859, -0.0757))]
    names = ["OW", "H1", "H2"] * 3
    lines = [
        f"{i // 3 + 1:5d}WAT  {n:>5s}{i + 1:5d}{x:8.3f}{1 + y:8.3f}{1:8.3f}"
        for i, (n, (x, y)) in enumerate(zip(names, places))
    ]
    gro.write_text("water\n9\n" + "\n".join(lines) + "\n 2 2 2\n")
    ours = prepare_gromacs(top, gro)
    assert ours.runs.tolist() == [[0, 3]]
    (water,) = ours.templates
    assert water.rigid_water and water.always_rigid
    assert water.settle == pytest.approx((0.9572, 1.5139))
    assert water.exclusions.tolist() == [[0, 1], [0, 2], [1, 2]]


def test_types_keep_their_names_and_molecules_their_counts(tmp_path: Path) -> None:
    case = CASES["plain"]
    case.write(tmp_path)
    top = tmp_path / "case.top"
    top.write_text(top.read_text().replace("CHAIN 1\n", "chain 0\nChain 1\n"))
    ours = prepare_gromacs(top, tmp_path / "case.gro", vacuum=True)
    assert ours.force_field.type_name == ["A", "B", "C", "H"]
    assert ours.templates[0].segment_name.tolist() == ["CHAIN"]
    assert ours.templates[0].atomic_number.tolist() == [6, 6, 6, 7, 6, 6, 7, 1]


def test_where_included_files_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are searched beside the file that includes them, then in --include, then in GMXLIB."""
    library, own, here = tmp_path / "library", tmp_path / "own", tmp_path / "here"
    for folder in (library / "x.ff", own / "x.ff", here):
        folder.mkdir(parents=True)
    angle = "[ angletypes ]\nB B A 1 {} 400\n"
    Case(types='#include "x.ff/all.itp"\n', molecule="[ angles ]\n1 2 3\n").write(here)
    (library / "x.ff" / "all.itp").write_text('#include "angles.itp"\n')
    (library / "x.ff" / "angles.itp").write_text(angle.format(110))
    (own / "x.ff" / "all.itp").write_text("#include <angles.itp>\n")
    (own / "x.ff" / "angles.itp").write_text(angle.format(120))
    monkeypatch.setenv("GMXLIB", str(library))
    for include, degrees in ((None, 110), (own, 120)):
        ours = prepare_gromacs(here / "case.top", here / "case.gro", include=include, vacuum=True)
        assert np.degrees(ours.force_field.table("angle")[0, 1]) == pytest.approx(degrees)


def test_more_molecules_than_memory_holds_are_counted_first(tmp_path: Path) -> None:
    CASES["plain"].write(tmp_path)
    top = tmp_path / "case.top"
    top.write_text(top.read_text().replace("CHAIN 1\n", "CHAIN 2000000000\n"))
    with pytest.raises(InputError, match="the topology has 16000000000 atoms but the coordinate file has 8"):
        prepare_gromacs(top, tmp_path / "case.gro")
