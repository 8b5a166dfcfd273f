"""Tests inputs that OpenMM and ParmEd write at test time, term by term against OpenMM's Reference platform."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import parmed
import pytest
from openmm import app, unit

import tessera
from prepare.inputs import ALA3_PARAMETERS, SMALL, ordered_tripeptide
from prepare.peers import compare_terms, term_energies
from tessera.prepare.amber import prepare_amber
from tessera.prepare.charmm import prepare_charmm
from tessera.prepare.errors import InputError
from tessera.prepare.gromacs import prepare_gromacs
from tessera.system import System, write

PEPTIDE = Path(__file__).resolve().parents[2] / "examples" / "peptide" / "peptide.pdb"
EDGE = 28.0  # Å
#: of PME; the engine and OpenMM then agree to the tolerance below
PERIODIC = ("interactions.cutoff=9", "pme.alpha=0.34", "pme.grid=[64,64,64]", "pme.order=6")
#: every pair of a small molecule in vacuum
VACUUM = ("interactions.cutoff=40", "interactions.electrostatics=cut")
TERM = 2e-5


def check(
    run_engine: Callable[..., Any], folder: Path, ours: System, peer: openmm.System, positions: Any, scale: float = 1.0
) -> None:
    """Compares terms; `scale` is OpenMM's Coulomb constant in that of the system."""
    write(ours, folder / "ours.tsr")
    settings = PERIODIC if ours.periodic else VACUUM
    plain = ("interactions.lj=cut", "interactions.lj_tail=false", "parallel.precision=double", *settings)
    words = [word for setting in plain for word in ("--set", setting)]
    found = json.loads(run_engine("--energy", folder / "ours.tsr", "--json", *words).stdout)["terms"]
    for force in peer.getForces():
        if isinstance(force, openmm.NonbondedForce):
            force.setExceptionsUsePeriodicBoundaryConditions(ours.periodic)
    expected = term_energies(peer, positions)
    expected["coulomb"] *= ours.coulomb_constant / tessera_constant()
    compare_terms(found, expected, TERM)


def tessera_constant() -> float:
    from oracle import OPENMM_COULOMB

    return float(OPENMM_COULOMB)
