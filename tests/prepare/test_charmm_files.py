"""Tests CHARMM's files: their order, the files that they name, and what is refused in them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tessera.errors import InputError
from tessera.prepare.charmm import prepare_charmm
from tessera.prepare.charmm_parameters import CharmmParameters, read_parameters
from tessera.prepare.psf import read_psf
from tessera.system import System
from tests.support.commands import said
from tests.support.inputs import ALA3_PARAMETERS, SMALL, alanine_tripeptide, written
from tests.support.oracle import Settings, reference_energies

PSF, PDB = SMALL / "ala_ala_ala.psf", SMALL / "ala_ala_ala.pdb"
RTF, PAR = ALA3_PARAMETERS


def tripeptide(*parameters: Path) -> System:
    return prepare_charmm(PSF, PDB, parameters, vacuum=True)


def bond(table: CharmmParameters, *types: str) -> tuple[float, float] | None:
    return table.bond(types)


# The order of reading.


def parameters(k: float, kind: str = "prm") -> str:
    inner = f"BONDS\nCT1 CT3 {k} 1.5\nEND\n"
    return inner if kind == "prm" else f"read para card flex append\n* title\n*\n{inner}return\n"


@pytest.mark.parametrize("kinds", [("str", "prm"), ("prm", "str"), ("prm", "prm")])
def test_the_last_definition_counts_whatever_the_kind_of_file(tmp_path: Path, kinds: tuple[str, str]) -> None:
    files = [written(tmp_path / f"{k}.{kind}", parameters(k, kind)) for k, kind in zip((1, 2), kinds)]
    assert bond(read_parameters(files), "CT3", "CT1") == (2, 1.5)
    table = read_parameters(files[::-1])
    assert table.notes() == []
    assert bond(table, "CT1", "CT3") == (1, 1.5)
    line = {"prm": 2, "str": 5}
    first, second = (f"{k}.{kind}:{line[kind]} ({k}, 1.5)" for k, kind in zip((2, 1), kinds[::-1]))
    assert table.notes() == [f"bond CT1-CT3 of {first} is replaced by that of {second}, which is read last"]


def test_the_command_reads_in_the_order_of_its_words(tmp_path: Path) -> None:
    changed = written(tmp_path / "changed.str", parameters(7, "str"))
    base = ["charmm", "--psf", PSF, "--coords", PDB, "--vacuum", "-o", tmp_path / "a.tsr"]

    def notes(*words: str | Path) -> str:
        return said("prepare", *base, *words)

    after = notes("--params", PAR, changed, "--topology", RTF)
    assert "bond CT1-CT3 of charmm22_cmap.par:" in after and "is replaced by that of changed.str:5 (7, 1.5)" in after
    before = notes("--topology", RTF, changed, "--params", PAR)
    assert "bond CT1-CT3 of changed.str:5 (7, 1.5) is replaced by that of charmm22_cmap.par:" in before


def test_cosines_are_replaced_one_by_one(tmp_path: Path) -> None:
    one = written(tmp_path / "one.prm", "DIHEDRALS\nA B C D 1 1 0\nA B C D 2 3 180\nEND\n")
    two = written(tmp_path / "two.prm", "DIHEDRALS\nD C B A 5 3 180\nEND\n")
    table = read_parameters([one, two])
    assert table.dihedral(("A", "B", "C", "D")) == [(1, 1, 0), (5, 3, pytest.approx(np.pi))]
    assert table.notes() == [
        "dihedral A-B-C-D (n = 3) of one.prm:3 (2, 180) is replaced by that of two.prm:2 (5, 180), which is read last",
        "dihedral A-B-C-D has cosines of one.prm:2 (n = 1, 3) and of two.prm:2 (n = 3): of each n the last that is "
        "read counts",
    ]


def test_a_switch_that_a_run_does_not_take_is_noted(tmp_path: Path) -> None:
    head = "NONBONDED nbxmod 5 atom cdiel fshift vatom vdistance {} -\ncutnb 16 ctofnb {} ctonnb 10.0 eps 1.0\nEND\n"
    usual = written(tmp_path / "usual.prm", head.format("vfswitch", 12.0))
    assert read_parameters([usual]).notes() == []
    for words in (("vswitch", "12.0"), ("vfswitch", "14.0")):
        other = written(tmp_path / "other.prm", head.format(*words))
        (note,) = read_parameters([usual, other]).notes()
        assert f"say {words[0]} from 10 to {float(words[1]):g} Å; a run takes" in note


# Files that name other files.


def test_a_list_file_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "toppar" / "top.rtf", RTF.read_text())
    written(tmp_path / "toppar" / "par.prm", PAR.read_text())
    written(tmp_path / "toppar" / "more.str", "* named from the list's folder\n*\nSTREAM toppar/last.str\n")
    written(tmp_path / "toppar" / "last.str", parameters(7, "str"))
    listed = written(
        tmp_path / "toppar.str",
        "* as CHARMM-GUI writes it\n*\n\n! protein\nset folder toppar\n"
        "open read card unit 10 name @folder/top.rtf\nread  rtf card unit 10\n"
        "Open Read Card Unit 20 Name toppar/PAR.PRM ! case\nread para card unit 20 flex append\n"
        "stream @{folder}/more.str\n",
    )
    monkeypatch.chdir("/")
    found = tripeptide(listed)
    written(tmp_path / "changed.str", parameters(7, "str"))
    expected = tripeptide(RTF, PAR, tmp_path / "changed.str")
    assert _same(found, expected)
    assert any("is replaced by that of last.str:5" in note for note in found.notes)


def test_the_force_field_of_charmm_36(data_folder: Path, tmp_path: Path) -> None:
    """A list file gives the same as the files themselves. Water's NBFIX names types of files that are read before."""
    folder = data_folder / "charmm36_toppar"
    names = ["top_all36_prot.rtf", "par_all36m_prot.prm", "toppar_water_ions.str"]
    listed = written(
        tmp_path / "toppar.str",
        f"set toppar {folder}\nopen read card unit 10 name @toppar/{names[0]}\nread rtf card unit 10\n"
        f"open read card unit 20 name @toppar/{names[1]}\nread para card unit 20 flex\nstream @toppar/{names[2]}\n",
    )
    one, other = (read_parameters(files) for files in ([listed], [folder / name for name in names]))
    for key in (("CT1", "CT3"), ("HT", "OT")):
        assert one.bond(key) == other.bond(key) is not None
    assert one.nbfix(["SOD", "OC", "CLA"]) == other.nbfix(["SOD", "OC", "CLA"])
    assert list(one.nbfix(["SOD", "OC", "CLA"])) == [("SOD", "OC"), ("SOD", "CLA")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "stream toppar/none.str\n",
            r"list.str:1: toppar/none.str not found beside list.str nor in the working folder",
        ),
        ("stream @where/none.str\n", r"list.str:1: the name @where/none.str has a variable that is not set"),
        ("set where ?HOME\nstream @where/a.str\n", r"list.str:2: the name @where/a.str has a variable"),
        ("stream list.str\n", r"list.str:1: list.str reads itself"),
        ("read para card unit 20 flex\n", r"list.str:1: reads from unit 20, which no line before has opened"),
        ("read sequence card\n", r"list.str:1: reads sequence: only rtf and para are understood"),
        ("open write card unit 1 name a.prm\n", r"list.str:1: expected `open read card unit N name FILE`"),
        ("if ?natc gt 0 stream a.str\n", r"list.str:1: what is read depends on \?natc, which is not known here"),
        ("set a 1\nif @a eq 1 then\nstream none.str\n", r"list.str:3: none.str not found"),
        ("set a 1\nif @a eq 2 then\n", r"list.str:2: this block has no endif"),
        ("stream\n", r"list.str:1: expected `stream FILE`"),
        ("set a 1\nminimize sd\n", r"list.str:2: minimize is not understood"),
        ("read para card\nBONDS\nA B 1 1\n", r"list.str ends without END"),
        ("parameters par.prm\n", r"list.str:1: neither a CHARMM topology, parameter nor stream file"),
        ("! nothing\n", r"list.str holds nothing but comments"),
    ],
)
def test_what_a_stream_may_not_say(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        read_parameters([written(tmp_path / "list.str", text)])


def test_streams_that_read_each_other_without_end(tmp_path: Path) -> None:
    for index in range(12):
        written(tmp_path / f"{index}.str", f"stream {index + 1}.str\nstream {index + 1}.str\n")
    written(tmp_path / "12.str", parameters(1, "str"))
    with pytest.raises(InputError, match=r"0.str reads more than 1000 files"):
        read_parameters([tmp_path / "0.str"])


def test_streams_that_grow_without_end(tmp_path: Path) -> None:
    for index in range(30):
        written(tmp_path / f"{index}.str", f"stream {index + 1}.str\n")
    with pytest.raises(InputError, match="more than 20 deep"):
        read_parameters([tmp_path / "0.str"])
    with pytest.raises(InputError, match="a variable of more than 4096 characters"):
        read_parameters([written(tmp_path / "set.str", "set a x\n" + "set a @a@{a}\n" * 60)])
    nested = "set a 1\n" + "if @a eq 1 " * 5000 + "stream none.str\n"
    with pytest.raises(InputError, match=r"if.str:2: none.str not found"):
        read_parameters([written(tmp_path / "if.str", nested)])


def test_conditions_choose(tmp_path: Path) -> None:
    """A file chooses one of two models, and has an option that only a running CHARMM knows."""
    text = (
        'set nat ?NATC\nset app\nif "@NAT" ne "?NATC" if @nat ne 0 set app append\nset model {}\n'
        "if model eq 1 then\nread para card flex @app\nBONDS\nCT1 CT3 1 1\nEND\n{}endif\n"
        "read para card flex @app\nBONDS\nCT1 CT3 2 1\nEND\n"
    )
    for model, inner, k in ((1, "return\n", 1), (2, "return\n", 2), (1, "else\nstream none.str\n", 2)):
        table = read_parameters([written(tmp_path / "model.str", text.format(model, inner))])
        assert bond(table, "CT1", "CT3") == (k, 1)


def test_numbers_of_types_need_their_topology() -> None:
    with pytest.raises(InputError, match=r"(?s)are missing.*types as numbers: give the topology that it was made with"):
        tripeptide(PAR)


# Lines that are not understood.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("BONDS\nA B 1\nEND\n", r"a.prm:2: expected a bond: two types, a force constant and a length; found 'A B 1'"),
        ("BONDS\nA B 1 2 3\nEND\n", r"a.prm:2: expected a bond"),
        ("BONDS\nA B nan 2\nEND\n", r"a.prm:2: expected a bond"),
        ("ANGLES\nA B C 1 2 3\nEND\n", r"a.prm:2: expected an angle"),
        ("DIHEDRALS\nA B C D 1 1.5 0\nEND\n", r"a.prm:2: a dihedral's multiplicity must be a whole number"),
        ("IMPROPER\nA B C D 1\nEND\n", r"a.prm:2: expected an improper"),
        ("CMAP\nA B C D A B C D 4\n1 2 3\nEND\n", r"a.prm:2: a CMAP of 4 × 4 points has 16 numbers, found 3"),
        ("CMAP\nA B C D A B C D " + "9" * 5000 + "\nEND\n", r"a.prm:2: a number is not finite"),
        ("CMAP\nA B C D A B C D 24.5\nEND\n", r"a.prm:2: a CMAP must have 4 to 360 points a side, found 24.5"),
        ("NONBONDED\nA 0 0.1 2\nEND\n", r"a.prm:2: a positive ε \(Slater–Kirkwood\) is not supported"),
        ("NONBONDED\nA* 0 -0.1 2\nEND\n", r"a.prm:2: wildcards in types are not supported here: A\*"),
        ("NONBONDED nbxmod 4 -\n\nEND\n", r"a.prm:1: nbxmod 4 is not supported"),
        ("NONBONDED eps 80\nEND\n", r"a.prm:1: eps 80 is not supported"),
        ("NONBONDED rdiel\nEND\n", r"a.prm:1: rdiel of NONBONDED is not understood"),
        ("NONBONDED cutnb\nEND\n", r"a.prm:1: expected a number, found 'nothing'"),
        ("HBOND CUTHB 0.5\nN* O* -4 2\nEND\n", r"a.prm:2: 10-12 hydrogen bonds are not supported"),
        ("NBFIX\nA B 1\nEND\n", r"a.prm:2: expected an NBFIX"),
        ("BONDS\nA B 1 2\nPOLES\nEND\n", r"a.prm:3: expected a bond"),
        ("BONDS\nEND\nNBFIX\nA B 1 2\n", r"a.prm:3: this is after END"),
        ("36 1\nMASS -1 H\nEND\n", r"a.prm:2: expected MASS"),
        ("36 1\nRESI A 0\nTWIST A B\nEND\n", r"a.prm:3: 'TWIST A B' is not understood in a topology"),
    ],
)
def test_lines_that_are_not_understood(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        read_parameters([written(tmp_path / "a.prm", text)])


def test_files_that_do_not_go_together(tmp_path: Path) -> None:
    head = "NONBONDED nbxmod 5 cutnb 14 e14fac {}\nA 0 -0.1 2\nEND\n"
    files = [written(tmp_path / f"{scale}.prm", head.format(scale)) for scale in (1.0, 0.4)]
    with pytest.raises(InputError, match=r"0.4.prm:1: e14fac is 0.4 here and 1.0 in 1.0.prm:1"):
        read_parameters(files)
    assert read_parameters(files[1:]).electrostatic_14_scale() == 0.4


# Cut and damaged files.


def _same(one: System, other: System) -> bool:
    """Returns whether templates, terms and parameters are equal; their source may differ."""
    field, peer = one.force_field, other.force_field
    tables = {*field.tables, *peer.tables}
    return (
        all(np.array_equal(field.table(kind), peer.table(kind)) for kind in tables)
        and np.array_equal(field.cmap, peer.cmap)
        and np.array_equal(field.type_lj, peer.type_lj)
        and field.type_name == peer.type_name
        and one.lj_rule == other.lj_rule
        and np.array_equal(one.fraction, other.fraction)
        and all(_same_template(a, b) for a, b in zip(one.templates, other.templates, strict=True))
    )


def _same_template(one: object, other: object) -> bool:
    first, second = (
        {k: v for k, v in vars(t).items() if k not in ("terms", "name")} | {
            f"{kind} {part}": getattr(terms, part) for kind, terms in t.terms.items() for part in ("atoms", "parameter")
        }
        for t in (one, other)
    )  # fmt: skip
    return all(np.array_equal(first.get(k, ()), second.get(k, ())) for k in {*first, *second})


def _mutations(text: str) -> dict[str, str]:
    lines = text.splitlines(keepends=True)
    out = {f"without line {i + 1}: {line.strip()}": "".join(lines[:i] + lines[i + 1 :]) for i, line in enumerate(lines)}
    heads = [i for i, line in enumerate(lines) if "!N" in line or "!M" in line]
    out |= {f"cut before {lines[i].strip()}": "".join(lines[:i]) for i in heads}
    out |= {f"cut in line {i + 1}": "".join([*lines[:i], lines[i][: len(lines[i]) // 2]]) for i in range(len(lines))}
    return out


def test_a_psf_without_any_line_is_refused_or_the_same(tmp_path: Path) -> None:
    whole = read_psf(PSF)
    for what, text in _mutations(PSF.read_text()).items():
        psf = written(tmp_path / "mutated.psf", text)
        try:
            found = read_psf(psf)
        except InputError as error:
            assert "\n" not in str(error) and str(error).startswith("mutated.psf"), what
            continue
        assert all(np.array_equal(a, b) for a, b in zip(vars(found).values(), vars(whole).values())), what


def test_parameters_without_any_line_of_structure_are_refused_or_the_same(tmp_path: Path) -> None:
    """A file that lacks a whole row of a map may be valid, but no other line may be missing."""
    rows = _used_lines()
    for what, text in _mutations(rows).items():
        path = written(tmp_path / "mutated.par", text)
        try:
            found = tripeptide(RTF, path)
        except InputError as error:
            one_line = str(error).split("; add the files that hold them")[0]
            assert "\n" not in one_line, what
            continue
        line = what.partition(": ")[2]
        assert _same(found, alanine_tripeptide()) or _is_row(line), what


def _is_row(line: str) -> bool:
    words = line.split("!")[0].split()
    return len(words) > 3 and words[0].upper() not in ("NONBONDED", "HBOND") and words[0][:1] not in "-.0123456789"


def _used_lines() -> str:
    """Returns those parameters of CHARMM22 that backbone and alanine need, so that a test can leave out each line in
    turn."""
    types = {"NH1", "NH3", "C", "CC", "CT1", "CT3", "O", "OC", "H", "HC", "HB", "HA", "X"}
    kept, skipping = [], False
    for line in PAR.read_text().splitlines(keepends=True):
        words = line.split("!")[0].split()
        if not words:
            continue
        named = [w for w in words[:8] if w[:1] not in "-.0123456789"]
        if len(words) == 9 and len(named) == 8:
            skipping = named != ["C", "NH1", "CT1", "C", "NH1", "CT1", "C", "NH1"]
        elif words[0] == "NONBONDED" or words[0][:1] not in "-.0123456789":
            skipping = len(words) > 3 and words[0] not in ("NONBONDED", "cutnb", "HBOND") and not {*named} <= types
        if not skipping:
            kept.append(line)
    return "".join(kept)


def test_the_reduced_parameters_are_enough(tmp_path: Path) -> None:
    system = tripeptide(RTF, written(tmp_path / "used.par", _used_lines()))
    assert _same(system, alanine_tripeptide())
    found = reference_energies(system, Settings(cutoff=None))
    assert found == reference_energies(alanine_tripeptide(), Settings(cutoff=None))


def test_how_charmm_made_its_lists_is_passed_over(tmp_path: Path) -> None:
    """A new CHARMM ends a PSF with flags of atoms and bonds, and with angles that stand in the list of angles, too."""
    flags = " 0" * (33 + 32) + "\n 2 1 3 0 1\n"
    found = read_psf(written(tmp_path / "a.psf", PSF.read_text() + f"\n       1 !AUTOGEN\n{flags}"))
    assert all(np.array_equal(a, b) for a, b in zip(vars(found).values(), vars(read_psf(PSF)).values()))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0         0 !NUMLP NUMLPH", "1 0 !NUMLP NUMLPH\n 1 2", "lone pairs"),
        ("5 !NDON", "5 !NUMANISO", "anisotropic polarisabilities"),
        ("1 !MOLNT", "1 !NOTES", "section !NOTES, which is not understood"),
        ("9       0 !NGRP NST2", "9 1 !NGRP NST2", "ST2 waters"),
        ("5 !NDON", "5 !NACC", "section !NACC twice"),
        ("PSF CMAP CHEQ", "PSF CMAP CHEQ\n REMARKS lost", "is before the first section"),
        (" AAL ", " AÄL ", "not ASCII"),
        ("       1       2", " " + "9" * 5000 + " 2", "integer"),
    ],
)
def test_sections_of_a_psf_that_are_not_understood(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = PSF.read_text()
    old = old if old in text else old.replace("         0", "       0")
    assert old in text
    with pytest.raises(InputError, match=rf"^a.psf.*{message}"):
        read_psf(written(tmp_path / "a.psf", text.replace(old, new, 1)))


# What a file says beside the force field.


def test_atoms_that_the_psf_fixes_are_named(tmp_path: Path) -> None:
    lines = PSF.read_text().split("\n")
    first = next(i for i, line in enumerate(lines) if "!NATOM" in line) + 1
    for at in (0, 1, 4):
        lines[first + at], n = re.subn(r"^((?:\s*\S+){8}\s+)0", r"\g<1>1", lines[first + at])
        assert n == 1
    system = prepare_charmm(written(tmp_path / "a.psf", "\n".join(lines)), PDB, ALA3_PARAMETERS, vacuum=True)
    assert any('set fixed = "bynum 1:2 5:5" in [dynamics]' in warning for warning in system.warnings)
    assert not tripeptide(*ALA3_PARAMETERS).warnings


def test_a_comment_ends_with_its_line_alone(tmp_path: Path) -> None:
    text = "BONDS\nCT1 CT3 1 1.5\n! old:\x0cCT1 CT3 9 9.5 \x85 \u2028CT1 CT3 9 9.5\nEND\n"
    assert bond(read_parameters([written(tmp_path / "a.prm", text)]), "CT1", "CT3") == (1, 1.5)
