"""Parameters that are defined more than once: the same are silent, others are named, and which of them counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera.errors import InputError
from tessera.prepare.charmm_parameters import CharmmParameters, read_parameters
from tests.support.commands import said
from tests.support.inputs import DHFR, SMALL, written

ROWS = """BONDS
A B 300 1.5
ANGLES
A B C 50 109.5 10 2.1
DIHEDRALS
A B C D 1 1 0
A B C D 2 3 180
IMPROPER
A B C D 20 0 0
NONBONDED nbxmod 5 cutnb 14
A 0 -0.1 2
NBFIX
A B -0.2 3
CMAP
A B C D A B C D 4
0 0 0 0  0 0 0 0  0 0 0 0  0 0 0 0
END
"""
OTHER = """BONDS
B A 310 1.5
ANGLES
C B A 51 109.5
DIHEDRALS
D C B A 2.5 3 180
IMPROPER
D C B A 21 0 0
NONBONDED nbxmod 5 cutnb 14
A 0 -0.1 2.1
NBFIX
B A -0.25 3
CMAP
A B C D A B C D 4
0 0 0 0  0 0 0.5 0  0 0 0 0  0 0 0 0
END
"""
FOUR = ("A", "B", "C", "D")
LAST = ", which is read last"


def use(table: CharmmParameters) -> list[str]:
    """The notes of a system that uses everything."""
    table.bond(FOUR[:2])
    table.angle(FOUR[:3])
    table.dihedral(FOUR)
    table.improper(FOUR)
    table.lj("A")
    table.nbfix(["A", "B"])
    table.cmap((*FOUR, *FOUR))
    return table.notes()


def test_the_same_twice_is_silent(tmp_path: Path) -> None:
    one, two = written(tmp_path / "one.prm", ROWS), written(tmp_path / "two.prm", ROWS.replace("300 1.5", "3D2 1.50"))
    within = written(tmp_path / "within.prm", ROWS.replace("END\n", "") + ROWS)
    table = read_parameters([one, two, within, one])
    assert use(table) == [] and table.warnings() == []


def test_others_are_named_with_their_values(tmp_path: Path) -> None:
    table = read_parameters([written(tmp_path / "one.prm", ROWS), written(tmp_path / "two.prm", OTHER)])
    assert use(table) == [
        f"bond A-B of one.prm:2 (300, 1.5) is replaced by that of two.prm:2 (310, 1.5){LAST}",
        f"angle A-B-C of one.prm:4 (50, 109.5, 10, 2.1) is replaced by that of two.prm:4 (51, 109.5){LAST}",
        f"dihedral A-B-C-D (n = 3) of one.prm:7 (2, 180) is replaced by that of two.prm:6 (2.5, 180){LAST}",
        f"improper A-B-C-D of one.prm:9 (20, 0) is replaced by that of two.prm:8 (21, 0){LAST}",
        f"Lennard-Jones A of one.prm:11 (-0.1, 2) is replaced by that of two.prm:10 (-0.1, 2.1){LAST}",
        f"NBFIX A-B of one.prm:13 (-0.2, 3) is replaced by that of two.prm:12 (-0.25, 3){LAST}",
        "CMAP A-B-C-D-A-B-C-D of one.prm:15 (16 numbers, of which number 7 is 0) is replaced by that of two.prm:14 "
        f"(16 numbers, of which number 7 is 0.5){LAST}",
        "dihedral A-B-C-D has cosines of one.prm:6 (n = 1, 3) and of two.prm:6 (n = 3): of each n the last that is "
        "read counts",
    ]
    assert table.warnings() == []
    assert table.bond(("A", "B")) == (310, 1.5)
    assert table.improper(FOUR) == table.improper(FOUR[::-1]) == (21, 0)
    assert table.nbfix(["B", "A"])["B", "A"][1] == 0.25


def test_within_a_file_and_many_of_them(tmp_path: Path) -> None:
    rows = "".join(f"A T{i} {k} 1.5\n" for k in (300, 310) for i in range(12))
    table = read_parameters([written(tmp_path / "one.prm", f"BONDS\n{rows}END\n")])
    assert table.notes() == []
    for i in range(12):
        assert table.bond(("A", f"T{i}")) == (310, 1.5)
    notes = table.notes()
    assert notes[0] == f"bond A-T0 of one.prm:2 (300, 1.5) is replaced by that of one.prm:14 (310, 1.5){LAST}"
    assert notes[10:] == ["2 more parameters of one.prm are replaced by those of one.prm"]


@pytest.mark.parametrize(
    ("level", "section", "stops"),
    [
        ("", "BONDS\nA B {} 1.5\n", True),
        ("bomlev -1\n", "BONDS\nA B {} 1.5\n", True),
        ("bomlev -2\n", "BONDS\nA B {} 1.5\n", False),
        ("", "DIHEDRALS\nA B C D {} 1 0\n", True),
        ("bomlev -1\n", "DIHEDRALS\nA B C D {} 1 0\n", False),
        ("", "NBFIX\nA B -{} 3\n", False),
    ],
)
def test_charmm_stops_where_it_reads_without_flex(tmp_path: Path, level: str, section: str, stops: bool) -> None:
    """CHARMM's reader without FLEX warns at level -1 of bonds and angles, 0 of dihedrals; BOMLEV is 0 by default."""
    for k in (1, 2):
        written(tmp_path / f"{k}.prm", section.format(k) + "END\n")
    read = "open read card unit 10 name {}.prm\nread para card unit 10 {}\n"
    text = level + read.format(1, "{0}") + read.format(2, "append {0}")
    listed = written(tmp_path / "list.str", text.format(""))
    if stops:
        message = (
            r"^2.prm:2: .* is \(2, .*\) here and \(1, .*\) in 1.prm:2; CHARMM stops at this .* without FLEX: remove"
        )
        with pytest.raises(InputError, match=message):
            read_parameters([listed])
    else:
        read_parameters([listed])
    read_parameters([written(tmp_path / "list.str", text.format("flex"))])
    read_parameters([tmp_path / "1.prm", tmp_path / "2.prm"])  # named by the user, who says nothing of FLEX
    written(tmp_path / "2.prm", section.format(1) + "END\n")
    read_parameters([written(tmp_path / "list.str", text.format(""))])


def test_reading_without_append_is_a_warning(tmp_path: Path) -> None:
    written(tmp_path / "1.prm", "BONDS\nA B 1 1.5\nEND\n")
    read = "open read card unit 10 name 1.prm\nread para card unit 10 flex"
    for option, count in (("", 1), ("append", 0), ("@app", 0)):
        listed = written(tmp_path / "list.str", f"set app ?NATC\n{read}\n{read} {option}\n")
        warnings = read_parameters([listed]).warnings()
        assert len(warnings) == count
        assert all(
            w.startswith("list.str:5 reads parameters without `append`, at which CHARMM drops") for w in warnings
        )


@pytest.mark.parametrize(
    ("first", "last", "parts"),
    [
        ("par_all36m_prot.prm", "par_all22_prot.prm", "prot"),
        ("par_all36_prot.prm", "PAR_ALL36M_PROT.PRM", "prot"),
        ("par_all27_prot_lipid.prm", "par_all36_lipid.prm", "lipid"),
        ("par_all22_prot.prm", "par_all36_lipid.prm", None),
        ("par_all36m_prot.prm", "toppar_all36_prot_heme.str", None),
        ("par_all36m_prot.prm", "par_all36_na.prm", None),
    ],
)
def test_two_generations_are_a_warning(tmp_path: Path, first: str, last: str, parts: str | None) -> None:
    one = written(tmp_path / first, ROWS)
    two = written(tmp_path / last, OTHER if last.lower().startswith("par") else "read para card flex append\n" + OTHER)
    table = read_parameters([one, two])
    use(table)
    if parts is None:
        assert table.warnings() == []
        return
    (warning,) = table.warnings()
    assert warning.startswith(
        f"{first} and {last} are two generations of one force field ({parts}). Where they differ, "
    )
    assert f"{last} counts, which is read last: so it is with 7 of the parameters that this system uses" in warning
    (warning,) = read_parameters([two, one]).warnings()
    assert f"{first} counts, which is read last: so it is with none of the parameters" in warning


def test_the_warning_ends_the_summary(data_folder: Path, tmp_path: Path) -> None:
    """A glob reads par_all22_prot before par_all36m_prot, or after it, where nothing says which was meant."""
    folder = data_folder / "charmm36_toppar"
    words = ["charmm", "--psf", SMALL / "ala_ala_ala.psf", "--coords", SMALL / "ala_ala_ala.pdb", "--vacuum"]
    files = [DHFR / "charmm22.rtf", folder / "par_all36m_prot.prm", folder / "par_all22_prot.prm"]
    words += ["--params", *files, "-o", tmp_path / "a.tsr"]
    done = said("prepare", *words)
    *_, last = done.splitlines()
    assert last.startswith(
        "  WARNING par_all36m_prot.prm and par_all22_prot.prm are two generations of one force field"
    )
    assert "note    CMAP C-NH1-CT1-C-NH1-CT1-C-NH1 of par_all36m_prot.prm:" in done
    assert '"warnings": ["par_all36m_prot.prm and par_all22_prot.prm' in said("prepare", *words, "--json")
