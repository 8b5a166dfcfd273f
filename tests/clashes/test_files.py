"""Files are written with other coordinates alone, of moved atoms alone, in the images that they had."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tessera.build.clashes.files import read_structure
from tessera.build.clashes.find import overlaps_of
from tessera.build.clashes.mend import mend
from tessera.errors import InputError
from tests.clashes.peptides import around, coil, peptide, write_pdb

COLUMNS = ("group_PDB", "label_atom_id", "label_comp_id", "label_asym_id", "label_seq_id", "Cartn_x", "Cartn_y",
           "Cartn_z", "B_iso")  # fmt: skip
#: columns of several widths and digits, one behind another with a single blank, or several
ROWS = [
    "ATOM N   GLY A 1 0.0 0.0 0.00 1.5",
    "ATOM CA  GLY A 1 1.4580   0.25  0.00   20",
    'ATOM "C" GLY A 1 2.0 1.4 -3 20',
    "ATOM O   GLY A 1 1.2 2.4 0.0 20",
]


def mmcif(path: Path, rows: list[str]) -> Path:
    head = ["data_x", "loop_", *(f"_atom_site.{name}" for name in COLUMNS)]
    path.write_text("\n".join([*head, *rows, "#", ""]))
    return path


def test_words_of_mmcif_keep_their_places(tmp_path: Path) -> None:
    structure = read_structure(mmcif(tmp_path / "a.cif", ROWS))
    structure.molecules.position[1] = [-1234.56789, 10.5, 7.25]
    structure.molecules.position[2] = [1.0, 22.0, 3.0]
    structure.write(tmp_path / "b.cif")
    old, new = ((tmp_path / name).read_text().splitlines() for name in ("a.cif", "b.cif"))
    changed = [(one, other) for one, other in zip(old, new) if one != other]
    assert len(old) == len(new)
    assert changed == [
        (ROWS[1], "ATOM CA  GLY A 1 -1234.5679 10.500 7.250  20"),
        (ROWS[2], 'ATOM "C" GLY A 1 1.000 22.000 3.000 20'),
    ]
    assert read_structure(tmp_path / "b.cif").molecules.position[1] == pytest.approx([-1234.5679, 10.5, 7.25])


def test_columns_stay_below_each_other_where_there_is_room(tmp_path: Path) -> None:
    rows = [f"ATOM N GLY A 1 {'1.0000':<12}{'22.00000':<12}{'3.000':<12}20.0"]
    structure = read_structure(mmcif(tmp_path / "a.cif", rows))
    structure.molecules.position[0] = [100.0, 2.0, -3.0]
    structure.write(tmp_path / "b.cif")
    row = (tmp_path / "b.cif").read_text().splitlines()[len(COLUMNS) + 2]
    assert row == f"ATOM N GLY A 1 {'100.0000':<12}{'2.00000':<12}{'-3.000':<12}20.0"


def test_atoms_that_stay_are_written_as_they_were(tmp_path: Path) -> None:
    """Also where their numbers have other blanks and digits than those that are written."""
    chain = peptide("AAA", coil(3, np.random.default_rng(0)))
    path = write_pdb(tmp_path / "a.pdb", {"A": chain}, np.array([[9.0, 9.0, 9.0]]))
    path.write_text(path.read_text().replace("   9.000   9.000   9.000", " 9.0     9.00    9.0   "))
    structure = read_structure(path)
    structure.molecules.position[0] += 1.0
    structure.write(tmp_path / "b.pdb")
    old, new = ((tmp_path / name).read_text().splitlines() for name in ("a.pdb", "b.pdb"))
    assert [one == other for one, other in zip(old, new)] == [False] + [True] * (len(old) - 1)


def test_a_coordinate_without_room_is_refused(tmp_path: Path) -> None:
    chain = peptide("A", coil(1, np.random.default_rng(0)))
    structure = read_structure(write_pdb(tmp_path / "a.pdb", {"A": chain}, np.zeros((0, 3))))
    structure.molecules.position[0, 1] = -1000.0
    with pytest.raises(InputError, match="has no room in a PDB file"):
        structure.write(tmp_path / "b.pdb")
    assert not (tmp_path / "b.pdb").exists()


def test_what_is_outside_of_its_box_stays_there(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    chain = [(name, kind, number, place + 130.0) for name, kind, number, place in peptide("ASA", coil(3, random))]
    oxygen = next(row for row, atom in enumerate(chain) if atom[0] == "OG")
    waters = around(np.array([atom[3] for atom in chain]), oxygen, 0, random) - [40.0, 0, 80.0]  # other images
    structure = read_structure(write_pdb(tmp_path / "a.pdb", {"A": chain}, waters, 40.0))
    overlaps = overlaps_of(structure.molecules)
    assert [outcome.mended for outcome in mend(structure.molecules, overlaps)] == [True] * len(overlaps) != []
    structure.write(tmp_path / "b.pdb")
    old, new = ((tmp_path / name).read_text().splitlines() for name in ("a.pdb", "b.pdb"))
    changed = [(one, other) for one, other in zip(old, new) if one != other]
    places = np.array([[[float(line[k : k + 8]) for k in (30, 38, 46)] for line in pair] for pair in changed])
    assert len(places) and 0.1 < np.linalg.norm(places[:, 0] - places[:, 1], axis=1).max() < 3.0
