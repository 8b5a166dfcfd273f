"""What `tessera build charges` reads and writes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tessera.build.charges import apbs
from tessera.build.charges.core import Core
from tessera.build.charges.fit import Charges
from tessera.build.charges.make import Made
from tessera.build.charges.surface import Lattice
from tessera.build.charges.tails import BEADS, HISTONES, globular
from tessera.build.protein.structure import Strand
from tessera.errors import InputError
from tests.support.commands import said

DX = """# Data from APBS
object 1 class gridpositions counts 2 1 3
origin -1.0 0.5 2.0
delta 1.5 0.0 0.0
delta 0.0 1.0 0.0
delta 0.0 0.0 0.5
object 2 class gridconnections counts 2 1 3
object 3 class array type double rank 0 items 6 data follows
1.0 2.0 3.0
4.0 5.0 -6e-1
attribute "dep" string "positions"
"""
ATOM = Core(np.zeros((1, 3)), np.ones(1), np.full(1, 2.0), [])
LATTICE = Lattice(np.zeros(3), np.ones(3), (33, 33, 33))


def test_a_potential_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.dx").write_text(DX)
    found = apbs.read_potential(tmp_path / "a.dx")
    assert found.value.tolist() == [[[1, 2, 3]], [[4, 5, -0.6]]]
    assert (found.lattice.origin.tolist(), found.lattice.spacing.tolist()) == ([-1, 0.5, 2], [1.5, 1, 0.5])


@pytest.mark.parametrize(
    "text", ["", DX.replace("-6e-1", ""), DX.replace("delta 0.0 1.0 0.0", "delta 0.5 1.0 0.0"), DX[:60]]
)
def test_what_is_no_potential_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.dx").write_text(text)
    with pytest.raises(InputError, match=r"a\.dx: expected a potential on a lattice in OpenDX"):
        apbs.read_potential(tmp_path / "a.dx")


def test_fields_are_differences_of_fourth_order() -> None:
    x, y, z = np.indices((9, 9, 9)) * 0.5
    potential = apbs.Potential(Lattice(np.zeros(3), np.full(3, 0.5), (9, 9, 9)), x**4 - 2 * y**3 + z)
    found = potential.field(np.array([[4, 4, 4], [6, 2, 3]]))
    assert found == pytest.approx(np.array([[-32, 24, -1], [-108, 6, -1]]))


def test_a_lattice_reaches_beyond_the_atoms() -> None:
    position = np.array([[-3.0, 0, 0], [5.0, 2, 0]])
    lattice = apbs.lattice_around(position, 20, 1.3)
    first, last = lattice.places(np.zeros(3, int)), lattice.places(np.array(lattice.shape) - 1)
    assert (first <= position.min(axis=0) - 20).all()
    assert (last >= position.max(axis=0) + 20).all()
    assert {(n - 1) % 32 for n in lattice.shape} == {0}


def program(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a program named apbs into the path, which is a script."""
    (folder / "apbs").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "apbs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_apbs_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "echo 'Not enough memory \033[1m!' >&2; exit 13", monkeypatch)
    with pytest.raises(InputError, match=r"apbs ended with status 13 and no potential; it said: Not enough memory .*!"):
        apbs.solve(ATOM, 0.1, LATTICE)
    program(tmp_path, f"cat > potential.dx <<'E'\n{DX}E", monkeypatch)
    with pytest.raises(InputError, match="no finite potential"):
        apbs.solve(ATOM, 0.1, LATTICE)


def test_apbs_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    words = ["build", "charges", "x.tsr", "--salt", "0.1", "-o", tmp_path / "a.csv"]
    assert "`apt-get install apbs`" in said(*words, status=2)


def test_structures_need_a_force_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "exit 0", monkeypatch)
    words = ["build", "charges", "1kx5.pdb", "-o", tmp_path / "a.csv", "--salt"]
    assert "1kx5.pdb has no charges: add CHARMM's files with --toppar" in said(*words, "0.1", status=2)
    said(*words, "nan", status=2)


def test_charges_are_written() -> None:
    charges = Charges(np.array([[1.0, -2.0, 3.0], [0.0, 0.0, 40.0]]), np.array([-1.5, 0.25]))
    made = Made(charges, 0.15, -230.0, 21246, 0.0512, 20.7, ["a note"])
    lines = made.csv("build charges: a.tsr").splitlines()
    assert lines[0] == "# salt: 0.15 mol/L"
    assert lines[-3:] == ["x,y,z,charge", "1.0000,-2.0000,3.0000,-1.50000", "0.0000,0.0000,40.0000,0.25000"]
    assert all(line.startswith("# ") for line in lines[:-3])
    assert made.facts()["effective_charge"] == -1.25
    assert "residual of the field 5.1 %" in made.text(Path("a.csv"))


def strand(letters: str) -> Strand:
    count = len(letters)
    place = {"N": np.zeros(3), "CA": np.zeros(3), "C": np.zeros(3)}
    numbers = [str(row + 1) for row in range(count)]
    return Strand("A", letters, [], numbers, numbers, numbers, [place] * count)


def test_tails_are_found_by_alignment() -> None:
    """Of chains that are whole, lack their beginning, or are those of another species."""
    assert sum(map(sum, BEADS.values())) == 25
    whole = dict(globular([strand(letters) for letters in HISTONES.values()], "a.pdb"))
    assert whole == {"H3": slice(40, 135), "H4": slice(25, 102), "H2A": slice(20, 113), "H2B": slice(25, 125)}
    short = globular([strand(HISTONES["H3"][37:])], "a.pdb")
    assert short == [("H3", slice(3, 98))]
    human = (
        "PEPAKSAPAPKKGSKKAVTKAQKKDGKKRKRSRKESYSVYVYKVLKQVHPDTGISSKAMGIMNSFVNDIFERIAGEASRL"
        "AHYNKRSTITSREIQTAVRLLLPGELAKHAVSE"
    )
    assert globular([strand(human)], "a.pdb") == [("H2B", slice(25, len(human)))]
    with pytest.raises(InputError, match="expected 30% or more"):
        globular([strand("W" * 60)], "a.pdb")
