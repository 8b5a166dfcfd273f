"""Rows of coordinates are matched to atoms by order or by name within a residue, or are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tessera.errors import InputError
from tessera.prepare.charmm import prepare_charmm
from tessera.prepare.coordinates import NO_NUMBER, Coordinates, read_coordinates
from tessera.prepare.flat import FlatTopology
from tessera.prepare.pairing import pair_by_name
from tessera.system import System, read
from tests.support.commands import said
from tests.support.inputs import ALA3_PARAMETERS, SMALL, alanine_tripeptide, ordered_tripeptide

PSF, PDB = SMALL / "ala_ala_ala.psf", SMALL / "ala_ala_ala.pdb"


def prepared(pdb: Path) -> System:
    return prepare_charmm(PSF, pdb, ALA3_PARAMETERS, vacuum=True)


def atoms_of(pdb: Path) -> list[str]:
    return [line for line in pdb.read_text().splitlines() if line.startswith("ATOM")]


def written(folder: Path, lines: list[str]) -> Path:
    path = folder / "changed.pdb"
    path.write_text("\n".join([*lines, "END", ""]))
    return path


def test_the_shipped_tripeptide_is_the_ordered_one(tmp_path: Path) -> None:
    ordered = prepared(ordered_tripeptide(tmp_path))
    assert not any("ordered" in note for note in ordered.notes)
    assert np.array_equal(alanine_tripeptide().fraction, ordered.fraction)
    assert (
        "11 atoms reordered by name: ala_ala_ala.pdb lists them in another order than the topology"
        in alanine_tripeptide().notes
    )


def test_every_order_within_residues_gives_the_same_system(tmp_path: Path) -> None:
    lines = atoms_of(ordered_tripeptide(tmp_path))
    shuffle = np.random.default_rng(3).permutation
    order = [*shuffle(12), *(12 + shuffle(10)), *(22 + shuffle(11))]
    found = prepared(written(tmp_path, [lines[i] for i in order]))
    assert np.array_equal(found.fraction, alanine_tripeptide().fraction)


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line[:17] + "HIS" + line[20:],  # another residue name
        lambda line: line[:72] + "OTHR" + line[76:],  # another segment
        lambda line: line[:22] + f"{int(line[22:26]) + 40:4d}" + line[26:],  # other numbers
        lambda line: line[:22] + f"A00{line[25]}" + line[26:],  # numbers that overflowed
        lambda line: "HETATM" + line[6:26] + "B" + line[27:],  # insertion codes
        lambda line: line[:12] + f"{line[12:16].strip():<4s}" + line[16:],  # names in the first column
        lambda line: line[:54],  # nothing after the coordinates
    ],
)
def test_what_programs_write_as_they_please(tmp_path: Path, change: object) -> None:
    lines = [change(line) for line in atoms_of(PDB)]  # type: ignore[operator]
    assert np.array_equal(prepared(written(tmp_path, lines)).fraction, alanine_tripeptide().fraction)


def test_digits_in_front_are_those_behind(tmp_path: Path) -> None:
    lines = [line.replace(" HB1 ", "1HB  ").replace(" HT3 ", "3HT  ") for line in atoms_of(PDB)]
    assert np.array_equal(prepared(written(tmp_path, lines)).fraction, alanine_tripeptide().fraction)


def test_the_stranger_is_named(tmp_path: Path) -> None:
    lines = atoms_of(PDB)
    lines[29] = lines[29].replace(" CB ", " QB ")
    with pytest.raises(InputError, match=r"changed.pdb: row 30 is atom QB, but the topology has .* of ALA 3 in AAL"):
        prepared(written(tmp_path, lines))


def test_a_name_twice_leaves_a_choice(tmp_path: Path) -> None:
    lines = atoms_of(PDB)
    lines[7] = lines[7].replace(" HB1 ", " HB2 ")
    with pytest.raises(InputError, match=r"row 8 is atom HB2, .* HB1 of ALA 1 in AAL \(atom 8\)"):
        prepared(written(tmp_path, lines))


def test_residues_in_another_order_are_refused() -> None:
    flat = topology([b"N", b"CA", b"N", b"CA"], [5, 5, 6, 6])
    with pytest.raises(InputError, match=r"row 1 is in residue 6, but the topology has N of RES 5.*another order"):
        pair_by_name(flat, rows([b"N", b"CA", b"N", b"CA"], [6, 6, 5, 5]), "a.pdb")


def test_atoms_swapped_between_residues_are_refused() -> None:
    flat = topology([b"N", b"CA", b"N", b"CA"], [1, 1, 2, 2])
    with pytest.raises(InputError, match="row 1 is atom CA"):
        pair_by_name(flat, rows([b"CA", b"N", b"N", b"CA"], [7, 8, 7, 8]), "a.pdb")


def topology(names: list[bytes], residues: list[int]) -> FlatTopology:
    n = len(names)
    return FlatTopology(
        name=np.array(names, "S8"),
        type=np.zeros(n, np.int32),
        type_names=["A"],
        charge=np.zeros(n),
        mass=np.ones(n),
        atomic_number=np.ones(n, np.int32),
        residue_name=np.full(n, b"RES", "S8"),
        residue_number=np.array(residues, np.int32),
        segment=np.full(n, b"SEG", "S8"),
    )


def rows(names: list[bytes], residues: list[int], width: int | None = 4) -> Coordinates:
    position = np.arange(3.0 * len(names)).reshape(-1, 3)
    labels = np.array([str(r).encode() for r in residues], "S5")
    return Coordinates(position).label(np.array(names, "S8"), labels, width)


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ([b"OH2", b"H1", b"H2"], [b"OW", b"HW1", b"HW2"]),
        ([b"OH2", b"H1", b"H2"], [b"O", b"H1", b"H2"]),
        ([b"SOD"], [b"NA+"]),
        ([b"LONGNAME", b"C"], [b"LONG", b"C"]),
        ([b"O5'", b"C5'"], [b"O5*", b"C5*"]),
    ],
)
def test_names_that_mean_the_same(expected: list[bytes], found: list[bytes]) -> None:
    place = rows(found, [1] * len(found))
    assert pair_by_name(topology(expected, [1] * len(found)), place, "a.pdb") == []


def test_water_of_another_order_and_naming() -> None:
    place = rows([b"HW1", b"HW2", b"OW"], [1, 1, 1])
    notes = pair_by_name(topology([b"OH2", b"H1", b"H2"], [1, 1, 1]), place, "a.pdb")
    assert place.position[:, 0].tolist() == [6, 0, 3]
    assert notes[0].startswith("3 atoms reordered by name")


def test_files_that_number_namesakes() -> None:
    flat = topology([b"Mo", b"Mo", b"S", b"S"], [1] * 4)
    notes = pair_by_name(flat, rows([b"Mo01", b"Mo02", b"S01", b"S02"], [1] * 4), "a.pdb")
    assert "4 atom names of a.pdb differ" in notes[0]
    with pytest.raises(InputError, match="row 2 is atom S01"):
        pair_by_name(flat, rows([b"Mo01", b"S01", b"Mo02", b"S02"], [1] * 4), "a.pdb")


def test_other_names_in_the_same_order_are_reported() -> None:
    flat = topology([b"N", b"HN", b"CA"], [1, 1, 1])
    notes = pair_by_name(flat, rows([b"N", b"H", b"CA"], [1, 1, 1]), "a.gro")
    assert notes == [
        "1 atom names of a.gro differ from the topology's; its rows were taken in order: "
        "the first is H for HN of RES 1 in SEG (atom 2)"
    ]
    flat = topology([b"CB", b"HB1", b"HB2", b"HD11", b"HD21"], [1] * 5)
    assert pair_by_name(flat, rows([b"CB", b"HB2", b"HB3", b"HD11", b"HD21"], [1] * 5), "a.pdb")


@pytest.mark.parametrize(
    ("expected", "found", "row"),
    [
        ([b"N", b"HN", b"CA"], [b"N", b"CA", b"H"], "row 3 is atom H, but the topology has CA"),  # another element
        ([b"CA", b"CB", b"CG", b"HN"], [b"CG", b"CB", b"CA", b"H"], "row 1 is atom CG"),  # the name of another atom
        ([b"HD11", b"HD21", b"HN"], [b"HD21", b"HD11", b"H"], "row 1 is atom HD21"),  # a hydrogen of another heavy atom
        ([b"CD1", b"CD2", b"HN"], [b"CD2", b"CD3", b"H"], "row 2 is atom CD3"),  # a heavy atom of another name
    ],
)
def test_other_names_that_may_be_another_order_are_refused(expected: list[bytes], found: list[bytes], row: str) -> None:
    flat = topology(expected, [1] * len(expected))
    with pytest.raises(InputError, match=rf"{row}.*--trust-order"):
        pair_by_name(flat, rows(found, [1] * len(found)), "a.pdb")
    place = rows(found, [1] * len(found))
    (note,) = pair_by_name(flat, place, "a.pdb", trust_order=True)
    assert "atom names of a.pdb differ" in note
    assert place.position[:, 0].tolist() == [3 * i for i in range(len(found))]


def test_the_command_trusts_the_order(tmp_path: Path) -> None:
    lines = atoms_of(ordered_tripeptide(tmp_path))
    pdb = written(tmp_path, [line[:12] + " QQ " + line[16:] for line in lines])
    words = [
        "charmm",
        "--psf",
        PSF,
        "--coords",
        pdb,
        "--params",
        *ALA3_PARAMETERS,
        "-o",
        tmp_path / "a.tsr",
        "--vacuum",
    ]
    assert "add --trust-order" in said("prepare", *words, status=2)
    assert "note    33 atom names of changed.pdb differ" in said("prepare", *words, "--trust-order")
    assert np.array_equal(read(tmp_path / "a.tsr").fraction, alanine_tripeptide().fraction)


def test_equal_residues_of_several_molecules() -> None:
    """A GROMACS topology numbers the residues of each molecule from 1."""
    flat = topology([b"OW", b"H1", b"H2"] * 2, [1] * 6)
    place = rows([b"OW", b"H1", b"H2", b"H2", b"H1", b"OW"], [1] * 3 + [2] * 3, 5)
    pair_by_name(flat, place, "a.gro", np.repeat([0, 1], 3))
    assert place.position[:, 0].tolist() == [0, 3, 6, 15, 12, 9]


def test_velocities_go_along() -> None:
    place = rows([b"CA", b"N"], [1, 1])
    place.velocity = np.array([[1.0, 0, 0], [2.0, 0, 0]])
    pair_by_name(topology([b"N", b"CA"], [1, 1]), place, "a.gro")
    assert place.velocity[:, 0].tolist() == [2, 1]


def test_a_million_atoms() -> None:
    count = 333_333
    flat = topology([b"OH2", b"H1", b"H2"] * count, np.repeat(np.arange(count) + 1, 3).tolist())
    names = [b"H1", b"OH2", b"H2"] * count
    place = rows(names, (np.repeat(np.arange(count) + 1, 3) % 10_000).tolist())
    assert pair_by_name(flat, place, "a.pdb")[0].startswith("666,666 atoms")
    assert place.position[:3, 0].tolist() == [3, 0, 6]


def test_columns_of_a_pdb(tmp_path: Path) -> None:
    lines = atoms_of(PDB)
    lines[1] = lines[1][:22] + "A000" + lines[1][26:]
    path = tmp_path / "two.pdb"
    path.write_text("\n".join(["MODEL     1", *lines, "ENDMDL", "MODEL     2", *lines, "ENDMDL", "END"]))
    found = read_coordinates(path)
    assert found.name is not None and found.residue_number is not None
    assert found.name[:2].tolist() == [b" N  ", b" HT1"] and len(found.name) == 33
    assert found.residue_number[:3].tolist() == [1, NO_NUMBER, 1]
