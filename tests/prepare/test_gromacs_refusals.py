"""Tests what is refused, by name, in a GROMACS topology or run-parameter file, and what `prepare` notes."""

from pathlib import Path

import pytest

from tessera.errors import InputError
from tessera.prepare.gromacs import prepare_gromacs
from tessera.prepare.gromacs.mdp import read_mdp
from tessera.system import USUAL_LENNARD_JONES, LennardJones, System, read
from tests.prepare.gromacs_cases import ATOMS, PAIRS, Case
from tests.support.commands import said

BONDED = "[ dihedraltypes ]\nA B B C 9 0 1 1\nB B C A 9 0 1 1\nA B B C 9 0 2 1\n"
NESTED = "".join(f"#define M{i} M{i + 1} M{i + 1}\n" for i in range(40)) + "#define M40 1\nM0\n"
REFUSED = [
    (
        r"case.top:\d+: \[ virtual_sites3 \]: function 1 needs 2 parameter\(s\), found 1",
        Case(molecule="[ virtual_sites3 ]\n8 1 2 3 1 0\n"),
    ),
    (r"\[ dummies3 \]: function 5 is not supported", Case(molecule="[ dummies3 ]\n8 1 2 3 5 0.1 0.1\n")),
    (
        r"case.top:\d+: section \[ position_restraints \] .* POSRES",
        Case(molecule="#ifdef POSRES\n[ position_restraints ]\n1 1 1000 1000 1000\n#endif\n", define="-DPOSRES"),
    ),
    (r"section \[ pairs_nb \] of molecule CHAIN", Case(molecule="[ pairs_nb ]\n1 5 1 0.1 0.1 0.3 0.5\n")),
    (r"section \[ frobnications \] is not supported", Case(molecule="[ frobnications ]\n1 2\n")),
    (r"function 3 of \[ bonds \] \(Morse bonds\) is not supported", Case(bonds="1 2 3 0.15 100 20")),
    (r"function 8 of \[ dihedrals \] \(tables\)", Case(molecule="[ dihedrals ]\n1 2 3 4 8 1 2\n")),
    (r"no parameters for A-B-B-C \(function 9\), neither in", Case(molecule="[ dihedrals ]\n1 2 3 4 9\n")),
    (r"no parameters for A-C \(function 1\).*\[ pairtypes \]", Case("1 2 no", molecule="[ pairs ]\n1 4\n")),
    (r"case.top:\d+: atom type CTXA is not in \[ atomtypes \]", Case(atoms=ATOMS.replace("8 H ", "8 CTXA "))),
    (r"case.top:\d+: atom type CTXA is not in \[ atomtypes \]", Case(types="[ pairtypes ]\nA CTXA 1 0.2 0.3\n")),
    (r"case.top:\d+: no atom of \[ atomtypes \] has the bonded type X1", Case(types="[ bondtypes ]\nA X1 1 0.1 1e5\n")),
    (r"expected a charge group, a whole number, found 'Q'", Case(atoms=ATOMS.replace("B2 1 ", "B2 Q "))),
    (r"the name of the system has one line", Case(bonds="[ system ]\nbonds\n1 2 1 0.15 200000")),
    (r"case.top:\d+: the line is no text: it has the character '.xa0'", Case(bonds="1 2\u00a01 0.15 200000")),
    (r"case.top:\d+: the line is no text: it has the character '.r'", Case(bonds="1 2 1\r 0.15 200000")),
    (r"expected atom 2 of CHAIN, found 3", Case(atoms=ATOMS.replace("2 B ", "3 B ", 1))),
    (r"a shell: not supported", Case(types="H 1 1.008 0.0 S 0.1 0.1\n")),
    (r"expected a number, found 'gb_1' \(a macro", Case(bonds="1 2 1 gb_1")),
    (r"needs 2 parameters, found 3", Case(bonds="1 2 1 0.15 1e5 0.15")),
    (r"names atoms \[1, 9\], but it has 8", Case(bonds="1 9 1 0.15 1e5")),
    (r"names an atom twice: \[2, 2\]", Case(bonds="2 2 1 0.15 1e5")),
    (r"state B that differs.*free-energy = no", Case(bonds="1 2 1 0.15 1e5 0.16 1e5")),
    (r"state B that differs", Case(atoms=ATOMS.replace("H8 1 0.2", "H8 1 0.2 1.008 H 0.1"))),
    (r"a second block of parameters for the dihedral type A-B-B-C.*case.top:\d+: GROMACS", Case(types=BONDED)),
    (r"\[ angletypes \] is after the first \[ molec", Case(molecule="[ angletypes ]\nA B B 1 110 400\n")),
    (r"is included from 64 files inside", Case(types='#include "a.itp"\n', files={"a.itp": '#include "a.itp"\n'})),
    (r"cannot find the included file absent.itp .*--include", Case(types='#include "absent.itp"\n')),
    (r"#if is no directive", Case(types="#if 0\n#endif\n")),
    (r"ends inside an #ifdef", Case(types="#ifdef A\n")),
    (r"#endif without", Case(types="#endif\n")),
    (r"case.top:\d+: with its macros replaced, the line has more than 4095", Case(types=NESTED)),
    (r"case.top:\d+: the line has more than 4095 characters", Case(types="A " * 3000 + "\n")),
    (r"non-bonded function 2 is not supported", Case("2 1 no")),
    (r"another power than 12", Case("1 2 yes 1 1 10")),
    (r"A1 of CHN 1 .* and B2 of .* are held", Case(bonds="", molecule="[ constraints ]\n1 2 1 0.15\n")),
    (r"have a bond of 1.5 Å and are held at 1.6 Å", Case(molecule="[ constraints ]\n7 8 1 0.16\n")),
    (r"a pair whose C6 and C12 have different signs", Case("1 1 yes", molecule="[ pairs ]\n1 4 1 -1e-4 1e-7\n")),
    (r"function 2 of \[ pairs \] needs 5 parameters, found 0", Case(molecule="[ pairs ]\n1 4 2\n")),
    (r"nrexcl of molecule CHAIN is -1", Case(nrexcl=-1)),
    (r"molecule CHAIN is there already \(case.top:\d+\)", Case(molecule="[ moleculetype ]\nCHAIN 3\n")),
    (r"interactions between molecules", Case(molecule="[ system ]\n[ molecules ]\nCHAIN 1\n[ bonds ]\n1 2\n")),
]


def prepared(folder: Path, case: Case, mdp: str | None = None) -> System:
    case.write(folder)
    if mdp is not None:
        (folder / "run.mdp").write_text(mdp)
    defines = [word.removeprefix("-D") for word in case.define.split()]
    return prepare_gromacs(
        folder / "case.top",
        folder / "case.gro",
        vacuum=True,
        defines=defines,
        mdp=None if mdp is None else folder / "run.mdp",
    )


@pytest.mark.parametrize(("message", "case"), REFUSED, ids=[message[:40] for message, _ in REFUSED])
def test_refused_by_name(message: str, case: Case, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        prepared(tmp_path, case)


def test_a_compressed_topology_is_no_text(tmp_path: Path) -> None:
    Case().write(tmp_path)
    (tmp_path / "case.top").write_bytes(b"\x1f\x8b\x08\x00" + bytes(range(256)) * 40)
    with pytest.raises(InputError, match=r"case.top:1: the line is no text"):
        prepare_gromacs(tmp_path / "case.top", tmp_path / "case.gro")


def test_molecules_that_the_system_has_not_are_not_judged(tmp_path: Path) -> None:
    unused = "[ moleculetype ]\nSITE 1\n[ atoms ]\n1 NONE 1 X X 1\n[ virtual_sites2 ]\n1 1 1 1 0.5\n"
    assert prepared(tmp_path, Case(molecule=unused)).n_atoms == 8


def test_what_is_left_to_the_user_is_noted(tmp_path: Path) -> None:
    case = Case(
        bonds="1 2 1 0.15 1e5\n6 7 1 0.15 1e5",
        types="[ bondtypes ]\nA B 1 0.1 1\nB A 1 0.2 1\n",
        molecule="[ constraints ]\n7 8 1 0.15\n",
        define="-DFLEXIBEL",
    )
    notes = "\n".join(prepared(tmp_path, case).notes)
    assert "no --mdp" in notes
    assert "macro FLEXIBEL is defined but case.top does not ask for it" in notes
    assert "1 line(s) of the force field replace or repeat earlier ones: the first, case.top:" in notes
    assert "1 bond(s) of [ constraints ] have no force, the first between C7 of CHN 1" in notes


def test_what_a_run_holds_by_default_is_noted(tmp_path: Path) -> None:
    """GROMACS holds no bond by default; a run holds those of hydrogens."""
    for mdp, is_noted in ((None, True), ("constraints = none", False), ("constraints = h-bonds", False)):
        system = prepared(tmp_path, Case(), mdp)
        assert any("no --mdp: bonds to hydrogen follow the run file" in note for note in system.notes) == is_noted, mdp
        assert system.templates[0].flexible == (mdp == "constraints = none")


def test_a_state_b_is_passed_over_where_the_run_has_none(tmp_path: Path) -> None:
    case = Case(bonds="1 2 1 0.15 1e5 0.16 2e5")
    system = prepared(tmp_path, case, "free-energy = no\n")
    assert system.force_field.table("bond")[0].tolist() == pytest.approx([1e5 / 836.8, 1.5])


@pytest.mark.parametrize(
    ("mdp", "expected"),
    [
        ("; nothing", LennardJones("cut", 10.0)),
        ("vdwtype = Cut-off\nvdw_modifier = Potential-shift ; default\nrvdw=0.9", LennardJones("cut", 9.0)),
        (
            "vdw-modifier = Force-switch\nrvdw = 1.2\nrvdw-switch = 1.0",
            LennardJones("force-switch-gromacs", 12.0, 10.0),
        ),
        ("vdwtype = PME\nrvdw = 1.1", LennardJones("pme", 11.0)),
        ("vdwtype = shift\nrvdw = 1.2\nrvdw-switch = 1", LennardJones("force-switch-gromacs", 12.0, 10.0)),
        ("vdwtype = switch\nrvdw = 1.0\nrvdw-switch = 0.8", LennardJones("quintic-switch", 10.0, 8.0)),
        ("rvdw = 1.0\nDispCorr = EnerPres", LennardJones("cut", 10.0, tail=True)),
    ],
)
def test_how_lennard_jones_ends(mdp: str, expected: LennardJones, tmp_path: Path) -> None:
    found = prepared(tmp_path, Case(), mdp)
    assert found.lennard_jones == expected
    assert "Lennard-Jones as in run.mdp" in found.notes[0]


def test_lennard_jones_without_run_parameters(tmp_path: Path) -> None:
    assert prepared(tmp_path, Case()).lennard_jones == USUAL_LENNARD_JONES["gromacs"]


@pytest.mark.parametrize(
    ("mdp", "message"),
    [
        ("rvdw 1.0", r"run.mdp:1: expected NAME = VALUE"),
        ("rvdw = 1.0\nrvdw = 1.2", "rvdw is given twice"),
        ("rvdw = long", "expected a length in nm"),
        ("vdwtype = PME\nlj-pme-comb-rule = LB", "lj-pme-comb-rule = LB is not supported, expected Geometric"),
        ("vdwtype = PME\newald-rtol-lj = much", "ewald-rtol-lj: expected a number, found 'much'"),
        ("vdwtype = PME\nDispCorr = EnerPres", "DispCorr = EnerPres, expected no with vdwtype = PME"),
        ("vdw-modifier = sometimes", "vdw-modifier = sometimes, expected none, potential-shift"),
        ("vdwtype = switch\nrvdw = 1\nrvdw-switch = 1.1", "rvdw-switch = 1.1 nm is not below rvdw = 1 nm"),
        ("DispCorr = maybe", "DispCorr = maybe"),
        ("morse = yes", "Morse bonds"),
        ("define = POSRES", "define needs -DNAME, found POSRES"),
    ],
)
def test_run_parameters_that_are_refused(mdp: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "run.mdp").write_text(mdp)
    with pytest.raises(InputError, match=message):
        read_mdp(tmp_path / "run.mdp")


def test_notes_on_electrostatics(tmp_path: Path) -> None:
    (tmp_path / "run.mdp").write_text("coulombtype = Reaction-Field\n")
    assert any("coulombtype is reaction-field" in note for note in read_mdp(tmp_path / "run.mdp").notes)
    (tmp_path / "run.mdp").write_text("coulombtype = PME\nrcoulomb = 1.2\n")
    assert any("rcoulomb and rvdw differ" in note for note in read_mdp(tmp_path / "run.mdp").notes)


def test_macros_from_the_command_line_and_the_run_parameters(tmp_path: Path) -> None:
    bonds = "1 2 1 0.15 K\n#ifdef SOFT\n2 3 1 0.15 1e5\n#endif\n"
    Case(bonds=bonds, molecule=PAIRS).write(tmp_path)
    (tmp_path / "run.mdp").write_text("define = -DSOFT\nrvdw = 1.1\n")
    files = ["--top", str(tmp_path / "case.top"), "--coords", str(tmp_path / "case.gro"), "--vacuum"]
    options = ["-D", "K=2e5", "--mdp", str(tmp_path / "run.mdp"), "-o", str(tmp_path / "case.tsr")]
    said("prepare", "gromacs", *files, *options)
    system = read(tmp_path / "case.tsr")
    assert system.force_field.table("bond")[:, 0].tolist() == pytest.approx([2e5 / 836.8, 1e5 / 836.8])
    assert system.lennard_jones.cutoff == 11.0
