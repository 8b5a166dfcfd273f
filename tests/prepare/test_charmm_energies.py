"""Compares energies of CHARMM inputs with those of programs that share no code with Tessera."""

import json
from pathlib import Path

import numpy as np
import pytest
from openmm import app, unit

from tessera.prepare.charmm import prepare_charmm
from tests.support.inputs import ALA3_PARAMETERS, SMALL, alanine_tripeptide, dhfr, ordered_tripeptide
from tests.support.oracle import OPENMM_COULOMB, TERMS, Settings, lj_sum, reference_energies
from tests.support.peers import energies

BONDED = TERMS[:6]
#: OpenMM's names of the forces that these terms are
PEERS = {
    "bond": "HarmonicBondForce", "angle": "HarmonicAngleForce", "urey_bradley": "HarmonicBondForce_2",
    "dihedral": "PeriodicTorsionForce", "improper": "CustomTorsionForce", "cmap": "CMAPTorsionForce",
}  # fmt: skip


def close(value: float, expected: float, relative: float = 1e-6, absolute: float = 1e-4) -> bool:
    return abs(value - expected) <= max(relative * abs(expected), absolute)


@pytest.mark.slow(part="physics")
def test_dhfr_equals_the_reference() -> None:
    settings = Settings(cutoff=9, switch=8, lj="cut", alpha=0.38, grid=(80, 80, 80))
    found = reference_energies(dhfr(), settings)
    assert close(found["bond"], 78.57462)
    assert close(found["angle"], 321.514749)
    assert close(found["urey_bradley"], 19.177627)
    assert close(found["dihedral"], 741.053442)
    assert close(found["improper"], 9.376913)
    assert found["cmap"] == 0
    assert close(found["lj"] + found["lj_14"], 3959.203553)
    # From OpenMM's own reader of the PSF, scaled from its Coulomb constant to CHARMM's.
    expected = -72144.517232 * 332.0716 / OPENMM_COULOMB
    assert close(found["coulomb"] + found["coulomb_14"], expected)
    assert close(found["coulomb_background"], -1.8137, absolute=1e-4)


def test_dhfr_with_the_charmm_switch() -> None:
    settings = Settings(cutoff=9, switch=8, lj="potential-switch")
    found = lj_sum(dhfr(), settings)
    assert close(found + 393.2411, 4060.3537)


def test_alanine_tripeptide_equals_openmms_reader(tmp_path: Path) -> None:
    psf = app.CharmmPsfFile(str(SMALL / "ala_ala_ala.psf"))
    parameters = app.CharmmParameterSet(str(ALA3_PARAMETERS[0]))
    parameters.readParameterFile(str(ALA3_PARAMETERS[1]))
    pdb = app.PDBFile(str(ordered_tripeptide(tmp_path)))
    peer = energies(psf.createSystem(parameters, nonbondedMethod=app.NoCutoff), pdb.positions)
    found = reference_energies(alanine_tripeptide(), Settings(cutoff=None))
    for term, force in PEERS.items():
        assert close(found[term], peer[force], absolute=1e-6), term
    coulomb = (found["coulomb"] + found["coulomb_14"]) * OPENMM_COULOMB / 332.0716
    assert close(found["lj"] + found["lj_14"] + coulomb, peer["NonbondedForce"], absolute=1e-5)


def test_alanine_tripeptide_in_water_has_nbfix(data_folder: Path) -> None:
    folder = data_folder / "openmm_systems"
    files = [str(folder / name) for name in ("par_all36_prot.prm", "toppar_water_ions.str")]
    edge = 32.71195
    psf = app.CharmmPsfFile(str(folder / "ala3_solv.psf"))
    psf.setBox(*[edge / 10 * unit.nanometer] * 3)
    crd = app.CharmmCrdFile(str(folder / "ala3_solv.crd"))
    peer_system = psf.createSystem(
        app.CharmmParameterSet(*files), nonbondedMethod=app.PME, nonbondedCutoff=1.2 * unit.nanometer
    )
    peer = energies(peer_system, crd.positions)
    ours = prepare_charmm(folder / "ala3_solv.psf", folder / "ala3_solv.crd", files, np.diag([edge] * 3))
    assert len(ours.force_field.nbfix_types) == 1
    found = reference_energies(ours, Settings(cutoff=12, lj="cut", alpha=0.38, grid=(48, 48, 48)))
    for term in ("bond", "angle", "urey_bradley", "dihedral", "cmap"):
        assert close(found[term], peer[PEERS[term]]), term
    assert close(found["lj"], peer["CustomNonbondedForce"])
    coulomb = (found["coulomb"] + found["coulomb_14"]) * OPENMM_COULOMB / 332.0716
    assert close(found["lj_14"] + coulomb, peer["NonbondedForce"])


def test_mos2_has_one_template_and_the_reference_energies(data_folder: Path) -> None:
    folder = data_folder / "openmm_systems"
    files = (folder / "MoS2.psf", folder / "MoS2.pdb")
    ours = prepare_charmm(files[0], files[1], [folder / "MoS2.prm"], vacuum=True)
    assert [t.n_atoms for t in ours.templates] == [108]
    psf = app.CharmmPsfFile(str(files[0]))
    peer_system = psf.createSystem(app.CharmmParameterSet(str(folder / "MoS2.prm")), nonbondedMethod=app.NoCutoff)
    peer = energies(peer_system, app.PDBFile(str(files[1])).positions)
    found = reference_energies(ours, Settings(cutoff=None))
    assert close(found["bond"], peer["HarmonicBondForce"])
    assert close(found["angle"], peer["HarmonicAngleForce"])
    coulomb = (found["coulomb"] + found["coulomb_14"]) * OPENMM_COULOMB / 332.0716
    assert close(found["lj"] + found["lj_14"] + coulomb, peer["NonbondedForce"])


def test_genesis_restart_has_box_and_velocities(data_folder: Path) -> None:
    """Its energies are compared in tests/forces/test_files.py."""
    folder = data_folder / "genesis"
    build, param = folder / "build" / "jac_param27", folder / "param"
    ours = prepare_charmm(
        build / "jac_param27.psf",
        build / "rst",
        [param / "par_all27_prot_lipid.prm", param / "top_all27_prot_lipid.rtf"],
    )
    assert np.allclose(np.diag(ours.box), 65.5)
    assert ours.velocity is not None
    assert [t.name for t in ours.templates] == ["PRO1", "TIP3", "POT", "CLA"]


@pytest.mark.slow(part="physics")
def test_apoa1_equals_the_reference(data_folder: Path) -> None:
    folder = data_folder / "apoa1" / "charmm"
    expected = json.loads((data_folder / "reference_energies.json").read_text())["apoa1_c36m"]
    names = ("par_all36_lipid.prm", "par_all36m_prot.prm", "toppar_water_ions.str")
    ours = prepare_charmm(
        folder / "apoa1.psf", folder / "apoa1.pdb", [folder / n for n in names], np.diag(expected["box"])
    )
    assert len(ours.templates) == 3
    found = reference_energies(ours, Settings(cutoff=12, switch=10), terms=(*BONDED, "lj_14"))
    for term in BONDED:
        assert close(found[term], expected[term], absolute=1e-4), term
    assert close(found["lj_14"], expected["vdw14"])
    switched = lj_sum(ours, Settings(cutoff=12, switch=10, lj="potential-switch"))
    assert close(switched + found["lj_14"], expected["vdw_switch_10_12_charmm"])
