"""Compares AMBER, OpenMM and GROMACS inputs with OpenMM's own readers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from openmm import app, unit

from tessera.constants import COULOMB
from tessera.prepare.amber import prepare_amber
from tessera.prepare.gromacs import prepare_gromacs
from tessera.prepare.openmm import prepare_openmm_files
from tessera.system import System
from tests.support.inputs import ALA3_PARAMETERS, SMALL, alanine_dipeptide, alanine_tripeptide, ordered_tripeptide
from tests.support.oracle import OPENMM_COULOMB, TERMS, Settings, lj_sum, reference_energies
from tests.support.peers import energies

VACUUM = Settings(cutoff=None)


def torsions(found: dict[str, float]) -> float:
    return found["dihedral"] + found["improper"]


def nonbonded(found: dict[str, float], system: System) -> float:
    """Returns the energy that OpenMM's NonbondedForce has, with OpenMM's Coulomb constant."""
    coulomb = (found["coulomb"] + found["coulomb_14"]) * OPENMM_COULOMB / system.coulomb_constant
    return found["lj"] + found["lj_14"] + coulomb


def test_alanine_dipeptide_in_vacuum() -> None:
    name = SMALL / "alanine-dipeptide-implicit"
    prmtop = app.AmberPrmtopFile(str(name.with_suffix(".prmtop")))
    positions = app.AmberInpcrdFile(str(name.with_suffix(".inpcrd"))).positions
    peer = energies(prmtop.createSystem(nonbondedMethod=app.NoCutoff), positions)
    ours = alanine_dipeptide()
    assert not ours.periodic
    found = reference_energies(ours, VACUUM)
    # Positions are rounded to 2⁻³² of the box.
    assert found["bond"] == pytest.approx(peer["HarmonicBondForce"], abs=1e-6)
    assert found["angle"] == pytest.approx(peer["HarmonicAngleForce"], rel=1e-6)
    assert torsions(found) == pytest.approx(peer["PeriodicTorsionForce"], rel=1e-6)
    assert nonbonded(found, ours) == pytest.approx(peer["NonbondedForce"], rel=1e-6)


def test_alanine_dipeptide_in_water(data_folder: Path) -> None:
    name = data_folder / "openmm_systems" / "alanine-dipeptide-explicit"
    ours = prepare_amber(name.with_suffix(".prmtop"), name.with_suffix(".inpcrd"))
    prmtop = app.AmberPrmtopFile(str(name.with_suffix(".prmtop")))
    inpcrd = app.AmberInpcrdFile(str(name.with_suffix(".inpcrd")))
    system = prmtop.createSystem(nonbondedMethod=app.PME, nonbondedCutoff=0.9 * unit.nanometer, rigidWater=False)
    system.setDefaultPeriodicBoxVectors(*inpcrd.boxVectors)
    peer = energies(system, inpcrd.positions)
    found = reference_energies(ours, Settings(cutoff=9, lj="cut", alpha=0.38, grid=(48, 48, 48)))
    assert len(ours.templates) == 2
    assert ours.templates[1].rigid_water and not ours.templates[1].always_rigid
    assert found["bond"] == pytest.approx(peer["HarmonicBondForce"], rel=1e-5)
    assert torsions(found) == pytest.approx(peer["PeriodicTorsionForce"], rel=1e-6)
    assert nonbonded(found, ours) == pytest.approx(peer["NonbondedForce"], rel=1e-6)


@pytest.mark.slow(part="physics")
def test_dhfr_amber_equals_the_reference(data_folder: Path) -> None:
    folder = data_folder / "dhfr" / "openmm_amber"
    ours = prepare_amber(folder / "dhfr_ff99sb.prmtop", folder / "dhfr_ff99sb.inpcrd")
    found = reference_energies(ours, Settings(cutoff=9, lj="cut", alpha=0.38, grid=(80, 80, 80)))
    text = (data_folder / "reference_energies.json").read_text()
    expected = json.loads(text)["dhfr_amber99sb"]["openmm_Reference"]
    assert found["bond"] == pytest.approx(expected["bond"], rel=1e-6)
    assert found["angle"] == pytest.approx(expected["angle"], rel=1e-6)
    assert torsions(found) == pytest.approx(expected["torsion"], rel=1e-6)
    assert found["lj"] + found["lj_14"] == pytest.approx(expected["lj_cut9_noLRC"], rel=1e-6)
    coulomb = (found["coulomb"] + found["coulomb_14"]) * OPENMM_COULOMB / COULOMB["amber"]
    assert coulomb == pytest.approx(expected["elec(PME 0.38,80^3,order5)"], rel=1e-6)


def _serialised(folder: Path, system: openmm.System, topology: Any, positions: Any) -> tuple[Path, Path]:
    xml, pdb = folder / "system.xml", folder / "system.pdb"
    xml.write_text(openmm.XmlSerializer.serialize(system))
    with pdb.open("w") as file:
        app.PDBFile.writeFile(topology, positions, file)
    return xml, pdb


def _tripeptide_peer(folder: Path) -> tuple[openmm.System, Any, Any]:
    psf = app.CharmmPsfFile(str(SMALL / "ala_ala_ala.psf"))
    parameters = app.CharmmParameterSet(str(ALA3_PARAMETERS[0]))
    parameters.readParameterFile(str(ALA3_PARAMETERS[1]))
    pdb = app.PDBFile(str(ordered_tripeptide(folder)))
    system = psf.createSystem(parameters, nonbondedMethod=app.NoCutoff)
    return system, psf.topology, pdb.positions


def test_openmm_system_gives_the_terms_of_the_psf(tmp_path: Path) -> None:
    ours = prepare_openmm_files(*_serialised(tmp_path, *_tripeptide_peer(tmp_path)))
    found, expected = (reference_energies(s, VACUUM) for s in (ours, alanine_tripeptide()))
    for term in ("bond", "angle", "urey_bradley", "dihedral", "improper", "cmap", "lj", "lj_14"):
        assert found[term] == pytest.approx(expected[term], rel=1e-6, abs=1e-6), term
    scale = COULOMB["openmm"] / COULOMB["charmm"]
    assert found["coulomb_14"] == pytest.approx(expected["coulomb_14"] * scale, rel=1e-6)
    assert np.array_equal(ours.templates[0].group, alanine_tripeptide().templates[0].group)


SMALL_TOP = """\
[ defaults ]
1 {rule} yes 0.5 0.8333
[ atomtypes ]
A 6 12.011 0.0 A {a}
B 6 14.027 0.0 A {b}
OW 8 15.9994 0.0 A {a}
HW 1 1.008 0.0 A 0.0 0.0
[ moleculetype ]
CHAIN 3
[ atoms ]
1 A 1 CHN C1 1  0.2 12.011
2 B 1 CHN C2 1 -0.2 14.027
3 B 1 CHN C3 1 -0.3 14.027
4 A 1 CHN C4 1  0.3 12.011
5 B 1 CHN C5 1  0.0 14.027
[ bonds ]
1 2 1 0.15 200000
2 3 1 0.15 200000
3 4 1 0.15 200000
4 5 1 0.15 200000
[ pairs ]
1 4 1
[ angles ]
1 2 3 1 110 400
2 3 4 1 110 400
3 4 5 1 110 400
[ dihedrals ]
1 2 3 4 3 9.28 12.16 -13.12 -3.06 26.24 -31.5
2 3 4 5 1 180 5.0 2
[ moleculetype ]
WAT 2
[ atoms ]
1 OW 1 WAT OW 1 -0.8 15.9994
2 HW 1 WAT H1 1  0.4 1.008
3 HW 1 WAT H2 1  0.4 1.008
[ settles ]
1 1 0.09572 0.15139
[ exclusions ]
1 2 3
2 3
[ system ]
small
[ molecules ]
CHAIN 2
WAT 3
CHAIN 1
"""


def _small_gromacs(folder: Path, rule: int) -> tuple[Path, Path]:
    """Writes two kinds of molecule. With rule 1 the numbers are C6 and C12 of the same σ and ε."""
    numbers = []
    for sigma, epsilon in ((0.35, 0.3), (0.39, 0.5)):
        c6, c12 = 4 * epsilon * sigma**6, 4 * epsilon * sigma**12
        numbers.append(f"{c6!r} {c12!r}" if rule == 1 else f"{sigma} {epsilon}")
    top, gro = folder / "small.top", folder / "small.gro"
    top.write_text(SMALL_TOP.format(rule=rule, a=numbers[0], b=numbers[1]))
    names = [("CHN", n) for n in ("C1", "C2", "C3", "C4", "C5")]
    water = [("WAT", n) for n in ("OW", "H1", "H2")]
    atoms = [*names * 2, *water * 3, *names]
    place = np.random.default_rng(7).permutation(4**3)[: len(atoms)]
    lines = [
        f"{1:5d}{residue:<5s}{name:>5s}{i + 1:5d}"
        + "".join(f"{0.4 * x + 0.2:8.3f}" for x in np.unravel_index(p, (4,) * 3))
        for i, ((residue, name), p) in enumerate(zip(atoms, place))
    ]
    gro.write_text("small\n" + f"{len(atoms)}\n" + "\n".join(lines) + "\n   1.60000   1.60000   1.60000\n")
    return top, gro


@pytest.mark.parametrize("rule", [1, 2, 3])
def test_gromacs_combination_rules(tmp_path: Path, rule: int) -> None:
    top, gro = _small_gromacs(tmp_path, rule)
    ours = prepare_gromacs(top, gro)
    assert ours.runs.tolist() == [[0, 2], [1, 3], [0, 1]]
    assert ours.lj_rule == ("lorentz-berthelot" if rule == 2 else "geometric")
    assert len(ours.force_field.nbfix_types) == 0
    assert [t.always_rigid for t in ours.templates] == [False, True]
    chain = ours.templates[0]
    assert len(chain.term("dihedral_rb")) == 1 and len(chain.term("dihedral")) == 1
    # Only the listed pair acts; the other pair three bonds apart is excluded.
    assert chain.term("pair_14").atoms.tolist() == [[0, 3]]
    assert [1, 4] in chain.exclusions.tolist()
    sigma, epsilon, scale = ours.force_field.table("pair_14")[chain.term("pair_14").parameter[0]]
    # GROMACS scales generated pairs by fudgeLJ with all rules.
    fudge = 0.5
    assert (sigma, epsilon, scale) == pytest.approx((3.5, 0.3 * fudge / 4.184, 0.8333), rel=1e-6)
    assert ours.force_field.type_lj[chain.type[0]] == pytest.approx((3.5, 0.3 / 4.184), rel=1e-6)


@pytest.mark.slow(part="physics")
def test_apoa1_gromacs_equals_gromacs_in_double_precision(data_folder: Path) -> None:
    text = (data_folder / "reference_energies.json").read_text()
    expected = json.loads(text)["apoa1_c36m"]
    kilojoule = expected["gromacs_2022.5_double_kJ"]
    # The energies belong to the PDB's coordinates, which have one decimal more than the gro file.
    ours = prepare_gromacs(
        data_folder / "apoa1" / "gromacs" / "apoa1_merge.top",
        data_folder / "apoa1" / "charmm" / "apoa1.pdb",
        box=np.diag(expected["box"]),
    )
    assert [t.always_rigid for t in ours.templates] == [False, False, True]
    found = reference_energies(ours, Settings(), terms=(*TERMS[:6], "lj_14", "coulomb_14"))
    found = {term: value * 4.184 for term, value in found.items()}
    assert found["bond"] == pytest.approx(kilojoule["Bond(no water)"], rel=1e-6)
    assert found["angle"] + found["urey_bradley"] == pytest.approx(kilojoule["U-B(no water)"], rel=1e-6)
    assert found["dihedral"] == pytest.approx(kilojoule["Proper"], rel=1e-6)
    assert found["improper"] == pytest.approx(kilojoule["Improper"], rel=1e-6)
    assert found["cmap"] == pytest.approx(kilojoule["CMAP"], rel=1e-6)
    assert found["lj_14"] == pytest.approx(kilojoule["LJ-14"], rel=1e-6)
    assert found["coulomb_14"] == pytest.approx(kilojoule["Coul-14"], rel=1e-6)
    switched = lj_sum(ours, Settings(cutoff=12, switch=10, lj="force-switch-gromacs")) * 4.184
    assert switched == pytest.approx(kilojoule["LJ_SR_GROMACS_force-switch_1.0_1.2"], rel=1e-6)
