"""Compares energies with those of OpenMM, which reads our PSF with CHARMM's files."""

from __future__ import annotations

from pathlib import Path

import openmm.app as app
import pytest
from openmm import unit

from tessera.constants import COULOMB
from tessera.system import read
from tests.support.commands import said
from tests.support.oracle import Settings, reference_energies
from tests.support.peers import energies

OPENMM_COULOMB = 332.06371
#: OpenMM's forces by our terms
_BONDED = {
    "bond": "HarmonicBondForce",
    "angle": "HarmonicAngleForce",
    "urey_bradley": "HarmonicBondForce_2",
    "dihedral": "PeriodicTorsionForce",
    "improper": "CustomTorsionForce",
    "cmap": "CMAPTorsionForce",
}
_PAIRS = ("lj", "lj_14", "coulomb", "coulomb_14")


def check_energies(path: Path, toppar: list[Path], without_pairs: bool = False) -> None:
    """Compares the terms of a system file; pairs of a large one take minutes."""
    psf = path.with_suffix(".psf")
    said("export", path, "-o", psf, "--force")
    system = read(path)
    parameters = app.CharmmParameterSet(*map(str, toppar))
    peer_system = app.CharmmPsfFile(str(psf)).createSystem(parameters, nonbondedMethod=app.NoCutoff)
    if without_pairs:
        for index in reversed(range(peer_system.getNumForces())):
            if "Nonbonded" in type(peer_system.getForce(index)).__name__:
                peer_system.removeForce(index)
    peer = energies(peer_system, system.positions() * unit.angstrom)
    terms = (*_BONDED, *(() if without_pairs else _PAIRS))
    found = reference_energies(system, Settings(cutoff=None), terms)
    for term, name in _BONDED.items():
        assert found[term] == pytest.approx(peer.get(name, 0.0), rel=1e-5), term
    if not without_pairs:
        coulomb = (found["coulomb"] + found["coulomb_14"]) * OPENMM_COULOMB / COULOMB["charmm"]
        # OpenMM computes Lennard-Jones energies apart where pairs of types have their own (NBFIX).
        theirs = peer["NonbondedForce"] + peer.get("CustomNonbondedForce", 0.0)
        assert found["lj"] + found["lj_14"] + coulomb == pytest.approx(theirs, rel=1e-5)
