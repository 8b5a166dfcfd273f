"""Tests inputs that OpenMM and ParmEd write at test time, term by term against OpenMM's Reference platform."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import parmed
import pytest
from openmm import app, unit

import tessera
from tessera.errors import InputError
from tessera.prepare.amber import prepare_amber
from tessera.prepare.gromacs import prepare_gromacs
from tessera.system import System, write
from tests.support.oracle import OPENMM_COULOMB
from tests.support.peers import compare_terms, term_energies

PEPTIDE = Path(__file__).resolve().parents[2] / "examples" / "peptide" / "peptide.pdb"
PERIODIC = ("interactions.cutoff=9", "pme.alpha=0.34", "pme.grid=[64,64,64]", "pme.order=6")
VACUUM = ("interactions.cutoff=30", "interactions.electrostatics=cut")  # longer than any distance
TERM = 2e-5  # relative: the meshes of both programs leave 1e-5


@cache
def solvated() -> tuple[Any, Any, app.ForceField]:
    """Returns the topology and the positions of the peptide in TIP3P water, and ff19SB."""
    field = app.ForceField("amber19/protein.ff19SB.xml", "amber19/tip3p.xml")
    pdb = app.PDBFile(str(PEPTIDE))
    model = app.Modeller(pdb.topology, pdb.positions)
    model.addHydrogens(field, platform=openmm.Platform.getPlatformByName("Reference"))
    model.addSolvent(field, boxSize=openmm.Vec3(2.6, 2.6, 2.6) * unit.nanometer)
    return model.topology, model.positions, field


def check(run_engine: Callable[..., Any], folder: Path, ours: System, peer: openmm.System, positions: Any) -> None:
    """Compares the engine's terms of a system with those of OpenMM's."""
    write(ours, folder / "ours.tsr")
    settings = PERIODIC if ours.periodic else VACUUM
    plain = ("interactions.lj=cut", "interactions.lj_tail=false", "parallel.precision=double", *settings)
    words = [word for setting in plain for word in ("--set", setting)]
    found = json.loads(run_engine("--energy", folder / "ours.tsr", "--json", *words).stdout)["terms"]
    expected = term_energies(peer, positions)
    expected["coulomb"] *= ours.coulomb_constant / OPENMM_COULOMB
    compare_terms(found, expected, TERM)


@pytest.mark.parametrize("constraints", [None, app.HBonds])
def test_a_system_in_memory(tmp_path: Path, run_engine: Callable[..., Any], constraints: Any) -> None:
    topology, positions, field = solvated()
    peer = field.createSystem(
        topology, nonbondedMethod=app.PME, nonbondedCutoff=0.9 * unit.nanometer, constraints=constraints
    )
    ours = tessera.prepare_openmm(peer, topology, positions)
    assert ours.templates[0].residue_name.tolist() == ["ACE", "ALA", "LYS", "ALA", "NME"]
    assert len(ours.templates[0].term("bond")) == 53
    told = [note for note in ours.notes if "every run holds them" in note]
    assert len(told) == (constraints is app.HBonds)
    check(run_engine, tmp_path, ours, peer, positions)


def test_what_is_refused_in_memory() -> None:
    topology, positions, field = solvated()
    for constraints in (app.AllBonds, app.HAngles):
        system = field.createSystem(topology, nonbondedMethod=app.PME, constraints=constraints)
        with pytest.raises(InputError, match="are constrained: only bonds to hydrogen"):
            tessera.prepare_openmm(system, topology, positions)
    system = field.createSystem(topology, nonbondedMethod=app.PME)
    with pytest.raises(InputError, match=r"needs an openmm\.System, found a str"):
        tessera.prepare_openmm("system.xml", topology, positions)
    with pytest.raises(InputError, match=r"needs positions \(n,3\)"):
        tessera.prepare_openmm(system, topology, [1, 2, 3])
    with pytest.raises(InputError, match=r"atoms but the coordinate file has 3"):
        tessera.prepare_openmm(system, topology, positions[:3])
    system.setVirtualSite(3, openmm.TwoParticleAverageSite(0, 1, 0.5, 0.5))
    system.setVirtualSite(4, openmm.TwoParticleAverageSite(0, 3, 0.5, 0.5))
    with pytest.raises(InputError, match=r"\(atom 5\) follows .* \(atom 4\), which is a virtual site itself"):
        tessera.prepare_openmm(system, topology, positions)
    system.setVirtualSite(4, openmm.TwoParticleAverageSite(0, 1, 0.5, 0.7))
    with pytest.raises(InputError, match=r"\(atom 5\) has weights that sum to 1.2, 0, 0, not to 1, 0, 0"):
        tessera.prepare_openmm(system, topology, positions)


def test_a_prmtop_of_ff19sb(tmp_path: Path, run_engine: Callable[..., Any]) -> None:
    """ParmEd writes the CMAPs of ff19SB into a prmtop, which AMBER and OpenMM read."""
    topology, positions, field = solvated()
    system = field.createSystem(topology, nonbondedMethod=app.PME, rigidWater=False)
    structure = parmed.openmm.load_topology(topology, system, positions)
    structure.save(str(tmp_path / "a.prmtop"), format="amber")
    structure.save(str(tmp_path / "a.rst7"), format="rst7")
    prmtop = app.AmberPrmtopFile(str(tmp_path / "a.prmtop"))
    peer = prmtop.createSystem(nonbondedMethod=app.PME, nonbondedCutoff=0.9 * unit.nanometer, rigidWater=False)
    read = app.AmberInpcrdFile(str(tmp_path / "a.rst7"))
    peer.setDefaultPeriodicBoxVectors(*read.boxVectors)
    ours = prepare_amber(tmp_path / "a.prmtop", tmp_path / "a.rst7")
    assert len(ours.force_field.cmap) and len(ours.templates[0].term("cmap")) == 3
    check(run_engine, tmp_path, ours, peer, read.positions)


#: two molecules of methanol (W. L. Jorgensen's OPLS-AA)
METHANOL = """\
[ defaults ]
1 3 yes 0.5 0.5
[ atomtypes ]
CT 6 12.011  0.145 A 0.350 0.276144
HC 1  1.008  0.040 A 0.250 0.125520
OH 8 15.999 -0.683 A 0.312 0.711280
HO 1  1.008  0.418 A 0.000 0.000000
[ moleculetype ]
MOH 3
[ atoms ]
1 CT 1 MOH C  1  0.145 12.011
2 HC 1 MOH H1 1  0.040  1.008
3 HC 1 MOH H2 1  0.040  1.008
4 HC 1 MOH H3 1  0.040  1.008
5 OH 1 MOH O  1 -0.683 15.999
6 HO 1 MOH HO 1  0.418  1.008
[ bonds ]
1 2 1 0.109 284512
1 3 1 0.109 284512
1 4 1 0.109 284512
1 5 1 0.141 267776
5 6 1 0.0945 462750
[ pairs ]
2 6 1
3 6 1
4 6 1
[ angles ]
2 1 3 1 107.8 276.144
2 1 4 1 107.8 276.144
3 1 4 1 107.8 276.144
2 1 5 1 109.5 292.880
3 1 5 1 109.5 292.880
4 1 5 1 109.5 292.880
1 5 6 1 108.5 460.240
[ dihedrals ]
2 1 5 6 3 0.94140 2.82420 0 -3.76560 0 0
3 1 5 6 3 0.94140 2.82420 0 -3.76560 0 0
4 1 5 6 3 0.94140 2.82420 0 -3.76560 0 0
[ system ]
methanol
[ molecules ]
MOH 2
"""
ATOMS = (
    ("C", 0.0, 0.0, 0.0), ("H1", 0.036, 0.102, 0.010), ("H2", 0.040, -0.055, 0.086), ("H3", 0.033, -0.053, -0.088),
    ("O", -0.141, 0.004, 0.002), ("HO", -0.172, -0.086, 0.011),
)  # fmt: skip


def methanol(folder: Path) -> tuple[Path, Path]:
    top, gro = folder / "methanol.top", folder / "methanol.gro"
    top.write_text(METHANOL)
    rows = [
        f"{molecule + 1:5d}{'MOH':<5s}{name:>5s}{6 * molecule + i + 1:5d}"
        f"{1 + x:8.3f}{1 + y + 0.4 * molecule:8.3f}{1 + z:8.3f}"
        for molecule in range(2)
        for i, (name, x, y, z) in enumerate(ATOMS)
    ]
    gro.write_text("\n".join(["methanol", "12", *rows, "   3.00000   3.00000   3.00000", ""]))
    return top, gro


def test_opls_of_gromacs(tmp_path: Path, run_engine: Callable[..., Any]) -> None:
    """OPLS-AA takes the geometric mean of σ, too."""
    top, gro = methanol(tmp_path)
    positions = app.GromacsGroFile(str(gro)).positions
    peer = app.GromacsTopFile(str(top)).createSystem(nonbondedMethod=app.NoCutoff)
    ours = prepare_gromacs(top, gro, vacuum=True)
    assert ours.lj_rule == "geometric"
    check(run_engine, tmp_path, ours, peer, positions)
    check(
        run_engine,
        tmp_path,
        tessera.prepare_openmm(peer, app.GromacsTopFile(str(top)).topology, positions),
        peer,
        positions,
    )


def test_opls_of_parmed(tmp_path: Path, run_engine: Callable[..., Any]) -> None:
    """ParmEd writes the geometric mean as an energy of σ and ε."""
    top, gro = methanol(tmp_path)
    structure = parmed.gromacs.GromacsTopologyFile(str(top), xyz=str(gro))
    structure.combining_rule = "geometric"
    system = structure.createSystem(nonbondedMethod=app.NoCutoff)
    assert any(isinstance(force, openmm.CustomNonbondedForce) for force in system.getForces())
    positions = structure.positions
    ours = tessera.prepare_openmm(system, structure.topology, np.array(positions.value_in_unit(unit.nanometer)))
    check(run_engine, tmp_path, ours, system, positions)
