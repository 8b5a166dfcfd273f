"""Tests AMBER's prmtop: CHARMM's force field in it, sections that are refused, and damaged files."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import parmed
import pytest
from openmm import app

from tessera.errors import InputError
from tessera.prepare.amber import prepare_amber
from tessera.prepare.amber.prmtop import Prmtop
from tessera.system import System, write
from tests.prepare.mutations import damaged, outcome, same, without_lines
from tests.support.inputs import ALA3_PARAMETERS, SMALL, alanine_dipeptide, alanine_tripeptide, ordered_tripeptide
from tests.support.oracle import OPENMM_COULOMB, TERMS, Settings, reference_energies
from tests.support.peers import energies

PRMTOP, INPCRD = SMALL / "alanine-dipeptide-implicit.prmtop", SMALL / "alanine-dipeptide-implicit.inpcrd"
VACUUM = Settings(cutoff=None)

Values = Sequence[int] | Sequence[float]


def section(flag: str, form: str, values: Values, per_line: int = 10) -> str:
    """Returns the text of a section; `form` formats one value."""
    words = [form.format(value) for value in values]
    lines = ["".join(words[i : i + per_line]) for i in range(0, len(words), per_line)] or [""]
    width = len(words[0]) if words else 8
    letter = "E" if "E" in form else "I"
    decimals = ".8" if letter == "E" else ""
    return f"%FLAG {flag}\n%FORMAT({per_line}{letter}{width}{decimals})\n" + "\n".join(lines) + "\n"


def integers(flag: str, values: Values) -> str:
    return section(flag, "{:8d}", values)


def reals(flag: str, values: Values) -> str:
    return section(flag, "{:16.8E}", values, 5)


def changed(folder: Path, *sections: str, drop: Sequence[str] = ()) -> Path:
    """Writes the dipeptide's prmtop with sections replaced, added or dropped."""
    parts = PRMTOP.read_text().split("%FLAG ")
    by_flag = {part.split()[0]: part for part in parts[1:] if part.split()[0] not in drop}
    by_flag |= {text.split()[1]: text.removeprefix("%FLAG ") for text in sections}
    path = folder / "changed.prmtop"
    path.write_text("%FLAG ".join([parts[0], *by_flag.values()]))
    return path


def pointers(**changes: int) -> str:
    return integers("POINTERS", list((Prmtop(PRMTOP).pointers | changes).values())[:31])


def chamber(folder: Path) -> tuple[Path, Path]:
    """Writes the tripeptide as a CHAMBER prmtop with an empty title, and its inpcrd."""
    structure = parmed.charmm.CharmmPsfFile(str(SMALL / "ala_ala_ala.psf"))
    parameters = parmed.charmm.CharmmParameterSet(str(ALA3_PARAMETERS[0]))
    parameters.read_parameter_file(str(ALA3_PARAMETERS[1]))
    structure.load_parameters(parameters)
    structure.coordinates = parmed.load_file(str(ordered_tripeptide(folder))).coordinates
    prmtop, inpcrd = folder / "chamber.prmtop", folder / "chamber.inpcrd"
    parm = parmed.amber.ChamberParm.from_structure(structure)
    parm.write_parm(str(prmtop))
    parm.save(str(inpcrd), format="rst7", overwrite=True)
    return prmtop, inpcrd


def without_title(prmtop: Path, flag: str) -> Path:
    """Writes the prmtop with an empty title section of the name `flag`."""
    lines = prmtop.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("%FLAG CTITLE"))
    end = next(i for i in range(at + 2, len(lines)) if lines[i].startswith("%"))
    lines[at:end] = [f"%FLAG {flag}", "%FORMAT(20a4)", ""]
    out = prmtop.with_name(f"empty_{flag}.prmtop")
    out.write_text("\n".join(lines) + "\n")
    return out


@pytest.mark.parametrize("title", ["CTITLE", "TITLE"])
def test_chamber_equals_the_psf_and_openmm(tmp_path: Path, title: str) -> None:
    """The title is empty or has the name that it has in other prmtop files; the other sections show the force field."""
    prmtop, inpcrd = chamber(tmp_path)
    ours = prepare_amber(without_title(prmtop, title), inpcrd)
    found, expected = (reference_energies(s, VACUUM) for s in (ours, alanine_tripeptide()))
    for term in TERMS:
        assert found[term] == pytest.approx(expected[term], rel=1e-6, abs=1e-6), term
    assert ours.term_counts()["urey_bradley"] and ours.term_counts()["improper_harmonic"]
    assert ours.coulomb_source == "charmm" and ours.lennard_jones.modifier == "force-switch"
    peer = energies(app.AmberPrmtopFile(str(prmtop)).createSystem(), ours.positions() * 0.1)
    assert found["improper"] == pytest.approx(peer["CustomTorsionForce"], rel=1e-6)
    assert found["cmap"] == pytest.approx(peer["CMAPTorsionForce"], rel=1e-6)
    # OpenMM divides these charges by AMBER's Coulomb constant.
    coulomb = (found["coulomb"] + found["coulomb_14"]) * OPENMM_COULOMB / 18.2223**2
    assert found["lj"] + found["lj_14"] + coulomb == pytest.approx(peer["NonbondedForce"], rel=1e-6)


def test_chamber_impropers_in_degrees(tmp_path: Path) -> None:
    prmtop, inpcrd = chamber(tmp_path)
    radians = np.full(Prmtop(prmtop).integers("CHARMM_NUM_IMPR_TYPES", 1)[0], 0.5)

    def energy(phases: np.ndarray) -> tuple[float, list[str]]:
        parts = prmtop.read_text().split("%FLAG ")
        new = [p if p.split()[0] != "CHARMM_IMPROPER_PHASE" else reals("CHARMM_IMPROPER_PHASE", phases.tolist())[6:]
               for p in parts]  # fmt: skip
        path = tmp_path / "phases.prmtop"
        path.write_text("%FLAG ".join(new))
        system = prepare_amber(path, inpcrd)
        return reference_energies(system, VACUUM, terms=("improper",))["improper"], system.notes

    expected, notes = energy(radians)
    assert not any("degrees" in note for note in notes)
    found, notes = energy(np.degrees(radians))
    assert found == pytest.approx(expected, rel=1e-6) and expected > 0.1
    assert any("CHARMM_IMPROPER_PHASE of phases.prmtop is read in degrees" in note for note in notes)
    with pytest.raises(InputError, match="400 is no angle, in radians or degrees"):
        energy(radians + 399.5)


def test_a_dihedral_without_periods_is_a_constant(tmp_path: Path, run_engine: Callable[..., Any]) -> None:
    """k (1 + cos(0 φ − δ)), as AMBER computes it; OpenMM refuses such a term."""
    raw = Prmtop(PRMTOP)
    periods = raw.numbers("DIHEDRAL_PERIODICITY")
    row = int(np.flatnonzero(raw.numbers("DIHEDRAL_FORCE_CONSTANT"))[0])
    periods[row] = 0
    path = changed(tmp_path, reals("DIHEDRAL_PERIODICITY", periods.tolist()))
    system = prepare_amber(path, INPCRD)
    (constant,) = np.flatnonzero(system.force_field.table("dihedral")[:, 1] == 0)
    k, _, phase = system.force_field.table("dihedral")[constant]
    terms = system.expand("dihedral")[1] == constant
    write(system, tmp_path / "a.tsr")
    cut = ("--set", "interactions.electrostatics=cut", "--set", "interactions.cutoff=20")
    found = json.loads(run_engine("--energy", tmp_path / "a.tsr", "--json", *cut).stdout)["terms"]["dihedral"]
    system.force_field.tables["dihedral"][constant, 0] = 0
    rest = reference_energies(system, VACUUM, terms=("dihedral",))["dihedral"]
    assert terms.any() and k * (1 + np.cos(phase)) > 0.1
    assert found == pytest.approx(rest + terms.sum() * k * (1 + np.cos(phase)), rel=1e-5)


def test_chamber_section_that_is_missing(tmp_path: Path) -> None:
    prmtop, inpcrd = chamber(tmp_path)
    parts = prmtop.read_text().split("%FLAG ")
    prmtop.write_text("%FLAG ".join(p for p in parts if not p.startswith("LENNARD_JONES_14_BCOEF")))
    with pytest.raises(InputError, match=r"chamber.prmtop has no section LENNARD_JONES_14_BCOEF"):
        prepare_amber(prmtop, inpcrd)


@pytest.mark.parametrize("prefix", ["", "CHARMM_"])
def test_cmap_in_an_amber_prmtop(tmp_path: Path, prefix: str) -> None:
    energy = np.random.default_rng(3).normal(size=(24, 24)).round(5)
    grids = [
        section(f"{prefix}CMAP_PARAMETER_{i:02d}", "{:16.8E}", m.reshape(-1), 5)
        for i, m in ((1, energy * 0), (2, energy))
    ]
    term = [5, 7, 9, 15, 17, 2]  # C N CA C N
    sections = [
        integers(f"{prefix}CMAP_COUNT", [1, 2]),
        integers(f"{prefix}CMAP_RESOLUTION", [24, 24]),
        *grids,
        section(f"{prefix}CMAP_INDEX", "{:8d}", term, 6),
    ]
    ours = prepare_amber(changed(tmp_path, *sections), INPCRD)
    # OpenMM reads names with a prefix only in CHAMBER files.
    plain = changed(tmp_path, *(text.replace("CHARMM_", "") for text in sections))
    peer = energies(app.AmberPrmtopFile(str(plain)).createSystem(), ours.positions() * 0.1)
    assert abs(peer["CMAPTorsionForce"]) > 0.01
    assert reference_energies(ours, VACUUM, terms=("cmap",))["cmap"] == pytest.approx(
        peer["CMAPTorsionForce"], rel=1e-6
    )


def test_types_that_no_atom_has_are_counted(tmp_path: Path) -> None:
    """Such types are in a prmtop from which atoms were stripped."""
    raw = Prmtop(PRMTOP)
    types = raw.pointers["NTYPES"]
    index = np.zeros((types + 1, types + 1), int)
    index[:types, :types] = raw.integers("NONBONDED_PARM_INDEX").reshape(types, types)
    new = np.arange(types * (types + 1) // 2, (types + 1) * (types + 2) // 2) + 1
    index[types, :], index[:, types] = new, new
    prmtop = changed(
        tmp_path,
        pointers(NTYPES=types + 1),
        integers("NONBONDED_PARM_INDEX", index.reshape(-1).tolist()),
        *(reals(flag, [*raw.numbers(flag), *new]) for flag in ("LENNARD_JONES_ACOEF", "LENNARD_JONES_BCOEF")),
    )
    assert same(prepare_amber(prmtop, INPCRD), alanine_dipeptide())


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ([integers("LES_NTYP", [2])], r"copies of atoms \(locally enhanced sampling, LES\) \(section LES_NTYP\)"),
        ([pointers(NPARM=1)], r"locally enhanced sampling, LES\) \(NPARM is 1\)"),
        ([integers("AMOEBA_FORCEFIELD", [1])], r"an AMOEBA force field \(section AMOEBA_FORCEFIELD\)"),
        ([integers("IPOL", [1])], r"polarisabilities \(IPOL is not 0\)"),
        ([pointers(NUMEXTRA=3)], r"NUMEXTRA is 3 and 0 atoms are extra points"),
        ([pointers(IFCAP=1)], r"a cap of water"),
        ([integers("CMAP_COUNT", []), integers("CMAP_RESOLUTION", [24])], r"section CMAP_COUNT has 0 lines"),
        ([reals("SCEE_SCALE_FACTOR", [])], r"section SCEE_SCALE_FACTOR has 0 lines"),
        ([reals("NEW_TERMS", [1.0])], r"line \d+: section NEW_TERMS is not known, and may hold an interaction"),
        ([pointers(NPHIH=7)], r"DIHEDRALS_INC_HYDROGEN has \d+ lines, and its 35 values need 4"),
        ([pointers(NNB=98)], r"line \d+: section EXCLUDED_ATOMS_LIST has"),
    ],
)  # fmt: skip
def test_sections_that_are_refused_by_name(tmp_path: Path, sections: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare_amber(changed(tmp_path, *sections), INPCRD)


def test_an_unknown_section_that_is_empty(tmp_path: Path) -> None:
    prmtop = changed(tmp_path, reals("NEW_TERMS", []), integers("LES_NTYP", []))
    assert same(prepare_amber(prmtop, INPCRD), alanine_dipeptide())


def test_a_value_out_of_range_is_named_by_its_line(tmp_path: Path) -> None:
    lines = PRMTOP.read_text().splitlines()
    at = lines.index(next(line for line in lines if line.startswith("%FLAG BONDS_INC_HYDROGEN"))) + 2
    lines[at] = f"{999:8d}" + lines[at][8:]
    prmtop = tmp_path / "far.prmtop"
    prmtop.write_text("\n".join(lines) + "\n")
    with pytest.raises(
        InputError, match=rf"far.prmtop, line {at + 1}: BONDS_INC_HYDROGEN: 999 is not three times one of"
    ):
        prepare_amber(prmtop, INPCRD)


def test_a_line_that_is_missing_is_named_by_its_section(tmp_path: Path) -> None:
    lines = PRMTOP.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith("%FLAG CHARGE"))
    prmtop = tmp_path / "cut.prmtop"
    prmtop.write_text("".join(lines[: at + 3] + lines[at + 4 :]))
    message = rf"cut.prmtop, line {at + 3}: section CHARGE has 4 lines, and its 22 values need 5: lines are missing"
    with pytest.raises(InputError, match=message):
        prepare_amber(prmtop, INPCRD)


def check_lines(folder: Path, text: str, read: Callable[[Path], System], step: int = 1) -> None:
    """Checks that a file without one of its lines, or with one twice, is refused or gives the same system."""
    whole = outcome(folder / "whole.prmtop", text, read)
    assert whole is not None
    refused = 0
    for what, mutant in list(without_lines(text))[::step]:
        found = outcome(folder / "mutant.prmtop", mutant, read)
        refused += found is None
        assert found is None or same(found, whole), what
    assert refused > 0.7 * 2 * text.count("\n") / step


def test_lines_missing_from_a_prmtop(tmp_path: Path) -> None:
    check_lines(tmp_path, PRMTOP.read_text(), lambda path: prepare_amber(path, INPCRD), 3)


@pytest.mark.slow(part="fuzz")
def test_each_line_missing(tmp_path: Path) -> None:
    prmtop, inpcrd = chamber(tmp_path)
    check_lines(tmp_path, PRMTOP.read_text(), lambda path: prepare_amber(path, INPCRD))
    check_lines(tmp_path, prmtop.read_text(), lambda path: prepare_amber(path, inpcrd))


@pytest.mark.parametrize("count", [150, pytest.param(5_000, marks=pytest.mark.slow(part="fuzz"))])
def test_damaged_prmtop(tmp_path: Path, count: int) -> None:
    refused = 0
    for _, mutant in damaged(PRMTOP.read_text(), count):
        refused += outcome(tmp_path / "damaged.prmtop", mutant, lambda path: prepare_amber(path, INPCRD)) is None
    assert refused > count // 4


def test_periodic_prmtop_whose_restart_has_no_box(tmp_path: Path) -> None:
    box = [*INPCRD.read_text().splitlines(), "  40.0000000  41.0000000  42.0000000  90.0000000  90.0000000  90.0000000"]
    inpcrd = tmp_path / "a.inpcrd"
    prmtop = changed(tmp_path, pointers(IFBOX=1), reals("BOX_DIMENSIONS", [90.0, 40.0, 40.0, 40.0]))
    inpcrd.write_text("\n".join(box) + "\n")
    assert np.diag(prepare_amber(prmtop, inpcrd).box).tolist() == [40.0, 41.0, 42.0]
    with pytest.raises(InputError, match=r"has no box, but changed.prmtop says that the system repeats \(IFBOX is 1\)"):
        prepare_amber(prmtop, INPCRD)
    assert not prepare_amber(prmtop, INPCRD, vacuum=True).periodic
    # Every line but the box is left out in turn; the last coordinates are then in the place of the box.
    for line in range(len(box)):
        inpcrd.write_text("\n".join(box[:line] + box[line + 1 :]) + "\n")
        with pytest.raises(InputError):
            prepare_amber(prmtop, inpcrd)
