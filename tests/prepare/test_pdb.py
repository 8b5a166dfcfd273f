"""Tests systems made of PDB files: energies against OpenMM's own reading, what is chosen, and what is refused."""

from __future__ import annotations

import importlib.util
import io
import json
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from openmm import app, unit

from tessera.build.water import make_water
from tessera.commands.summary import describe, summary
from tessera.errors import InputError
from tessera.prepare.pdb import build, force_fields, prepare_pdb
from tessera.prepare.pdb.check import advice_on
from tessera.prepare.pdb.force_fields import FORCE_FIELDS, Parameters
from tessera.prepare.pdb.model import Solvent, make_system, with_caps_merged
from tessera.report.run import molecules_of
from tessera.system import USUAL_LENNARD_JONES, System, write
from tests.support.commands import said
from tests.support.peers import compare_terms, term_energies

PEPTIDE = Path(__file__).resolve().parents[2] / "examples" / "peptide" / "peptide.pdb"
FILES = {
    "amber19": ("amber19/protein.ff19SB.xml", "amber19/tip3p.xml"),
    "charmm36": ("charmm36_2024.xml", "charmm36_2024/water.xml"),
}
SETTINGS = {
    "interactions.lj": "cut", "interactions.lj_tail": "false", "interactions.cutoff": "9",
    "pme.alpha": "0.34", "pme.grid": "[64,64,64]", "pme.order": "6", "parallel.precision": "double",
}  # fmt: skip
TERM = 2e-5  # relative: the meshes of both programs leave 1e-5, and 2⁻³² of the box moves bonds by 1e-6


@cache
def prepared(force_field: str) -> System:
    return prepare_pdb(PEPTIDE, force_field, "tip3p", padding=6.5, relax_steps=20)


def engine_energies(run_engine: Callable[..., Any], system: Path) -> dict[str, float]:
    words = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
    found: dict[str, float] = json.loads(run_engine("--energy", system, "--json", *words).stdout)["terms"]
    return found


@pytest.mark.parametrize("name", FILES)
def test_terms_equal_those_of_openmm(tmp_path: Path, run_engine: Callable[..., Any], name: str) -> None:
    """OpenMM reads the exported PDB and applies its force field by itself."""
    system = prepared(name)
    write(system, tmp_path / "a.tsr")
    said("export", tmp_path / "a.tsr", "-o", tmp_path / "a.pdb")
    topology = app.PDBFile(str(tmp_path / "a.pdb")).topology
    topology = with_caps_merged(topology) if name == "charmm36" else topology
    files = FILES[name]
    if name == "charmm36":  # the whole file takes a minute for its patches
        present = {residue.name for residue in topology.residues()}
        field = Parameters(FORCE_FIELDS[name], "tip3p", (), present).force_field
    else:
        field = app.ForceField(*files)
    peer = field.createSystem(topology, nonbondedMethod=app.PME, nonbondedCutoff=0.9 * unit.nanometer)
    peer.setDefaultPeriodicBoxVectors(*(system.box / 10))  # the PDB has three decimals of it
    for force in peer.getForces():  # positions are those in the box, where waters are cut by its faces
        if isinstance(force, openmm.NonbondedForce):
            force.setExceptionsUsePeriodicBoundaryConditions(True)
    expected = term_energies(peer, system.positions() * unit.angstrom)
    compare_terms(engine_energies(run_engine, tmp_path / "a.tsr"), expected, TERM)


def test_uracil_is_not_made_a_second_thymine() -> None:
    tree = ElementTree.parse(Path(app.__file__).parent / "data" / "charmm36_2024.xml").getroot()
    force_fields._leave_one_thymine(tree)
    (uracil,) = tree.findall("Residues/Residue[@name='URA']")
    patches = {patch.get("name", "") for patch in uracil.findall("AllowPatch")}
    assert "DEOX_0" in patches and not any(name.startswith("5MC") for name in patches)


@pytest.mark.slow(part="physics")
def test_thymine_of_charmm36(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thymine at each end of a strand, and one within it."""
    monkeypatch.setattr(force_fields, "_CHARMM_CORE", {"THY", "URA"})
    lines = [
        line
        for line in (data_folder / "dna_nucleosome" / "1kx5.pdb").read_text().splitlines()
        if line.startswith("ATOM") and line[21] == "I" and -38 <= int(line[22:26]) <= -36
    ]
    phosphate = ("P", "OP1", "OP2", "O1P", "O2P")
    lines = [line for line in lines if int(line[22:26]) > -38 or line[12:16].strip() not in phosphate]
    pdb = app.PDBFile(io.StringIO("\n".join(lines)))
    model = app.Modeller(pdb.topology, pdb.positions)
    model.addHydrogens()
    parameters = Parameters(FORCE_FIELDS["charmm36"], "tip3p", (), set())
    assert make_system(parameters, model.topology).getNumParticles() == model.topology.getNumAtoms()


def test_a_strand_that_begins_with_a_phosphate_is_told_how_to_mend_it() -> None:
    topology = app.Topology()
    chain = topology.addChain("I")
    residues = [topology.addResidue(name, chain) for name in ("DA", "DT")]
    for residue in residues:
        for name in ("P", "OP1", "OP2", "O5'"):
            topology.addAtom(name, app.Element.getBySymbol(name[0]), residue)
    assert "take P, OP1 and OP2 of this residue out" in advice_on(residues[0])
    assert advice_on(residues[1]) == ""


def test_a_peptide_is_neutral_and_has_salt() -> None:
    system = prepared("amber19")
    assert abs(system.net_charge()) < 1e-9
    assert np.ptp(np.diag(system.box)) == 0 and system.periodic
    assert system.lennard_jones == USUAL_LENNARD_JONES["amber"]
    assert prepared("charmm36").lennard_jones == USUAL_LENNARD_JONES["charmm"]
    names = Counter(
        {t.name: int(n) for t, n in zip(system.templates, np.bincount(system.runs[:, 0], system.runs[:, 1]))}
    )
    assert names["CL"] - names["NA"] == 1  # lysine
    assert names["NA"] == pytest.approx(0.15 * names["HOH"] / 55.4, abs=1.5)
    peptide = system.templates[0]
    assert peptide.residue_name.tolist() == ["ACE", "ALA", "LYS", "ALA", "NME"]
    assert peptide.residue_number.tolist() == [1, 2, 3, 4, 5]
    (water,) = (t for t in system.templates if t.name == "HOH")
    assert water.rigid_water and water.settle == pytest.approx((0.9572, 1.5139), abs=1e-4)
    assert system.notes[0] == "force field amber19: amber19-all.xml amber19/tip3p.xml"
    assert "30 hydrogens added for pH 7" in system.notes
    # CHARMM's caps are patches of their neighbours, and keep their own names.
    assert prepared("charmm36").templates[0].residue_name.tolist() == peptide.residue_name.tolist()


def test_the_same_seed_gives_the_same_system() -> None:
    one, same, other = (prepare_pdb(PEPTIDE, "amber14", padding=5, relax_steps=3, seed=seed) for seed in (3, 3, 4))
    assert one.notes == same.notes and np.array_equal(one.runs, same.runs) and np.array_equal(one.box, same.box)
    # OpenMM's order of terms, and so its rounding, differs from process to process.
    assert np.abs(one.fraction.astype(np.int64) - same.fraction).max() * one.box[0, 0] / 2**32 < 1e-4
    assert one.fraction.shape != other.fraction.shape or not np.array_equal(one.fraction, other.fraction)


@pytest.mark.parametrize("water", ["opc3", "tip3pfb", "spce"])
def test_waters_of_three_sites(water: str) -> None:
    system = prepare_pdb(PEPTIDE, "amber19", water, padding=3.5, salt=0, relax_steps=0)
    assert any(t.rigid_water for t in system.templates)


@pytest.mark.parametrize(
    ("force_field", "water", "n_sites"),
    [
        ("amber14", "tip4p-ew", 1),
        pytest.param("amber19", "opc", 1, marks=pytest.mark.slow(part="physics")),
        pytest.param("charmm36", "tip5p", 2, marks=pytest.mark.slow(part="physics")),
    ],
)
def test_waters_with_virtual_sites(tmp_path: Path, force_field: str, water: str, n_sites: int) -> None:
    """The structure's own water has no virtual sites and gets them."""
    lines = [line for line in PEPTIDE.read_text().splitlines() if line.startswith(("ATOM", "HETATM", "CONECT"))]
    lines.insert(0, "REMARK one water")
    lines.append("HETATM  900  O   HOH A 900      18.000  18.000  18.000  1.00  0.00           O")
    (tmp_path / "wet.pdb").write_text("\n".join([*lines, "END", ""]))
    system = prepare_pdb(tmp_path / "wet.pdb", force_field, water, padding=4, salt=0, relax_steps=2, keep_water=True)
    waters = [t for t in system.templates if t.rigid_water]
    assert {len(t.virtual_sites) for t in waters} == {n_sites}
    assert {t.n_atoms for t in waters} == {3 + n_sites}
    count = sum(int(n) for t, n in system.runs if system.templates[int(t)].rigid_water)
    assert len(system.virtual_site_ids()) == n_sites * count
    assert abs(system.net_charge()) < 1e-6


WATERS = [
    ("amber14", "tip5p", "tip5p is not a water model of amber14; these are opc, opc3, spce, tip3p"),
    ("charmm36", "opc", "CHARMM36 was made with its own TIP3P"),
    ("amber14", "ice", "ice is not a water model of amber14"),
]


@pytest.mark.parametrize(("force_field", "water", "message"), WATERS)
def test_waters_that_are_refused(force_field: str, water: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare_pdb(PEPTIDE, force_field, water)


def changed(folder: Path, change: Callable[[list[str]], list[str]]) -> Path:
    path = folder / "changed.pdb"
    path.write_text("\n".join(change(PEPTIDE.read_text().splitlines())) + "\n")
    return path


def without(*names: str) -> Callable[[list[str]], list[str]]:
    return lambda lines: [line for line in lines if line[12:16].strip() + line[22:26] not in names]


def renamed(old: str, new: str) -> Callable[[list[str]], list[str]]:
    return lambda lines: [line.replace(old, new) for line in lines]


def moved(line: str, by: float, chain: str = "A") -> str:
    return f"{line[:21]}{chain}{line[22:30]}{float(line[30:38]) + by:8.3f}{line[38:]}"


def copied(by: float) -> Callable[[list[str]], list[str]]:
    return lambda lines: [*lines[:-1], *(moved(line, by, "B") for line in lines[:-2]), *lines[-2:]]


REFUSED: list[tuple[Callable[[list[str]], list[str]], str]] = [
    (lambda _: ["nothing", "of a PDB"], "changed.pdb is no PDB, or has no atoms"),
    (lambda _: ["data_1ABC", "loop_"], "is mmCIF, expected a PDB"),
    (lambda lines: [line.replace("   2.108", "   2.1x8") for line in lines], r"changed.pdb:4: columns 31 to 54"),
    (renamed("LYS", "XYZ"), r"1 residue\(s\) are not in .*: XYZ 3 in chain A \(9 atoms\); .*--extra-force-field"),
    (
        without("NZ   3", "CE   3", "CB   2"),
        r"3 heavy atom\(s\) are missing from 2 residue\(s\): ALA 2 in chain A: CB; LYS 3 in chain A: CE NZ; PDBFixer",
    ),
    (lambda lines: [line for line in lines if " NME " not in line], "ALA 4 in chain A: OXT"),
    (lambda lines: [line for line in lines if " LYS " not in line], "C of ALA 2 in chain A and N of ALA 4 .* Å apart"),
    (copied(0.3), r"heavy atoms are closer than 0.8 Å \(chains overlap\): .* in chain A and .* in chain B"),
    (lambda lines: [*lines[:-2], *lines[:3]], "CH3 of ACE 1 in chain A is there twice, in lines 1 and"),
    (lambda lines: ["HETATM    1  O   HOH A   1       0.000   0.000   0.000"], "nothing but water"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_what_is_refused(tmp_path: Path, change: Callable[[list[str]], list[str]], message: str) -> None:
    """None of these comes as far as OpenMM's threads, so they need no process of their own."""
    solvent = Solvent("tip3p", 5.0, 0.0)
    with pytest.raises(InputError, match=message):
        build(changed(tmp_path, change), "amber14", solvent, 7.0, False, (), 0, 1, False)


OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"padding": 0.0}, "--padding 0 makes a box of .* Å, less than twice the cut-off of amber14, 18 Å: give at least"),
    ({"padding": -1.0}, "--padding -1: expected"),
    ({"salt": float("nan")}, "--salt nan: expected"),
    ({"ph": 99.0}, "--ph 99: expected"),
    ({"box_shape": "sphere"}, "--box-shape sphere is not known; these are: cube, dodecahedron, octahedron"),
    ({"extra": [PEPTIDE]}, "cannot read the force field peptide.pdb"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_options_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare_pdb(PEPTIDE, "amber14", **{"relax_steps": 0, **options})


@pytest.mark.parametrize("number", ["     nan", "    -inf", "   1e999", "********"])
def test_coordinates_are_finite(tmp_path: Path, number: str) -> None:
    line = next(line for line in PEPTIDE.read_text().splitlines() if line.startswith("ATOM"))
    (tmp_path / "a.pdb").write_text(f"{line[:30]}{number}{line[38:]}\nEND\n")
    with pytest.raises(InputError, match=r"a\.pdb:1: columns 31 to 54 are .*, expected three coordinates in Å"):
        prepare_pdb(tmp_path / "a.pdb", "amber14")


def test_models_and_locations_are_chosen(tmp_path: Path) -> None:
    def change(lines: list[str]) -> list[str]:
        model = []
        for line in lines[:-2]:
            if line[12:16].strip() == "NZ":
                for letter, occupancy, by in (("A", 0.3, 0.0), ("B", 0.7, 0.2)):
                    other = moved(line, by)
                    model.append(f"{other[:16]}{letter}{other[17:54]}{occupancy:6.2f}{other[60:]}")
            else:
                model.append(line)
        water = "HETATM   99  O   HOH A  99      20.000  20.000  20.000  1.00  0.00           O"
        return ["MODEL        1", *model, "TER", water, "ENDMDL", "MODEL        2", *model, "ENDMDL", "END"]

    path = changed(tmp_path, change)
    notes = prepare_pdb(path, "amber14", padding=5, relax_steps=0).notes
    assert "changed.pdb has 2 models; the first is taken" in notes
    assert "1 residue(s) have alternate locations; the most occupied are taken: B of LYS 3 in A" in notes
    assert "1 water of changed.pdb is left out (--keep-water keeps it)" in notes
    kept = prepare_pdb(path, "amber14", padding=5, relax_steps=0, keep_water=True)
    assert not any("left out" in note for note in kept.notes)
    (nz,) = (i for i, name in enumerate(kept.templates[0].atom_name) if name == "NZ")
    (ce,) = (i for i, name in enumerate(kept.templates[0].atom_name) if name == "CE")
    lines = [line for line in PEPTIDE.read_text().splitlines() if line[12:16].strip() in ("NZ", "CE")]
    x = {line[12:16].strip(): float(line[30:38]) for line in lines}
    found = kept.positions()
    edge = kept.box[0, 0]
    distance = (found[nz, 0] - found[ce, 0] + edge / 2) % edge - edge / 2
    assert distance == pytest.approx(x["NZ"] + 0.2 - x["CE"], abs=1e-3)


LIGAND = """\
<ForceField>
 <AtomTypes><Type name="lig-N" class="lig-N" element="N" mass="14.007"/></AtomTypes>
 <Residues><Residue name="LIG"><Atom name="N1" type="lig-N" charge="0"/><Atom name="N2" type="lig-N" charge="0"/>
  <Bond atomName1="N1" atomName2="N2"/></Residue></Residues>
 <HarmonicBondForce><Bond class1="lig-N" class2="lig-N" length="0.11" k="500000"/></HarmonicBondForce>
 <NonbondedForce coulomb14scale="0.8333333333333334" lj14scale="0.5"><UseAttributeFromResidue name="charge"/>
  <Atom type="lig-N" sigma="0.33" epsilon="0.3"/></NonbondedForce>
</ForceField>
"""


def test_a_ligand_has_the_parameters_of_its_file(tmp_path: Path) -> None:
    ligand = [
        f"HETATM{90 + i:5d}  N{i}  LIG B 201    {12 + 1.1 * i:8.3f}   6.000   6.000  1.00  0.00           N"
        for i in (1, 2)
    ]
    path = changed(tmp_path, lambda lines: [*lines[:-1], *ligand, "END"])
    with pytest.raises(InputError, match=r"LIG 201 in chain B \(2 atoms\)"):
        prepare_pdb(path, "amber14", padding=5)
    (tmp_path / "lig.xml").write_text(LIGAND)
    system = prepare_pdb(path, "amber14", padding=5, relax_steps=0, extra=[tmp_path / "lig.xml"])
    (found,) = (t for t in system.templates if t.name == "LIG")
    assert system.force_field.table("bond")[found.term("bond").parameter[0]] == pytest.approx((597.5143, 1.1), abs=1e-3)


@pytest.mark.skipif(importlib.util.find_spec("pdbfixer") is None, reason="PDBFixer is not installed")
def test_pdbfixer_builds_missing_atoms(tmp_path: Path) -> None:
    system = prepare_pdb(changed(tmp_path, without("NZ   3", "CE   3")), "amber14", padding=5, relax_steps=0)
    assert "NZ" in system.templates[0].atom_name
    assert "PDBFixer built 2 heavy atom(s) of 1 residue(s): LYS 3 in chain A: CE NZ" in system.notes


def test_a_chain_without_a_letter_is_called_by_its_ends(tmp_path: Path) -> None:
    def change(lines: list[str]) -> list[str]:
        return [f"{line[:21]} {line[22:]}" if line.startswith(("ATOM", "HETATM")) else line for line in lines]

    system = prepare_pdb(changed(tmp_path, change), "amber14", padding=5, relax_steps=0)
    assert system.templates[0].name == "ACE…NME"
    assert "kinds   ACE…NME × 1, HOH × " in describe(summary(system, tmp_path / "a.tsr", 0.0))
    write(system, tmp_path / "a.tsr")
    said("export", tmp_path / "a.tsr", "-o", tmp_path / "a.psf", "-o", tmp_path / "a.crd")


def test_a_kind_without_a_name_is_told_to_have_none(tmp_path: Path) -> None:
    """As files have that were made of chains without letters before."""
    system = make_water(24)
    system.templates[0] = replace(system.templates[0], name=" ")
    assert "kinds   (blank) × 8\n" in describe(summary(system, tmp_path / "a.tsr", 0.0))
    assert molecules_of(system) == "8 (blank)"


def test_the_command_prints_its_summary(tmp_path: Path) -> None:
    words = ["prepare", "pdb", str(PEPTIDE), "--force-field", "amber14", "--padding", "5", "--relax", "0"]
    assert json.loads(said(*words, "-o", tmp_path / "a.tsr", "--json"))["net_charge"] == 0
    done = said(*words[:4], "amber99", "-o", tmp_path / "a.tsr", status=2)
    assert "these are: amber19, amber14, charmm36" in done
