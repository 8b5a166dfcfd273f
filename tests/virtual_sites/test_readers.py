"""Tests that every kind of virtual site of every format is placed where its program has it, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import openmm
import pytest
from openmm import app, unit

from tessera.build.replicate import replicate
from tessera.errors import InputError
from tessera.prepare.amber import prepare_amber
from tessera.prepare.charmm import prepare_charmm
from tessera.prepare.gromacs import prepare_gromacs
from tessera.prepare.openmm import prepare_openmm
from tessera.system import System, read, write
from tests.support.commands import said
from tests.support.oracle import OPENMM_COULOMB, Settings, reference_energies, whole_positions
from tests.support.peers import energies
from tests.support.sites import (
    GROMACS_KINDS,
    LONE_PAIRS,
    gromacs_place,
    write_amber_water,
    write_lone_pairs,
    write_molecules,
)


@pytest.mark.parametrize("kind", GROMACS_KINDS)
def test_gromacs_kinds_are_where_the_manual_says(tmp_path: Path, kind: str) -> None:
    system = prepare_gromacs(*write_molecules(kind, tmp_path))
    write(system, tmp_path / "a.tsr")
    system = read(tmp_path / "a.tsr")
    positions = whole_positions(system).reshape(-1, 6, 3)
    assert system.virtual_site_ids().tolist() == list(range(5, system.n_atoms, 6))
    assert positions[:, 5] == pytest.approx(10 * gromacs_place(kind, positions[:, :5] / 10), abs=1e-7)
    (template,) = system.templates
    assert template.mass[5] == 0
    assert (template.group[template.virtual_sites.parents[:, 1]] == template.group[5]).all()


def placed_by_openmm(system: openmm.System, position: np.ndarray) -> np.ndarray:
    """Returns positions (n,3) Å with virtual sites where OpenMM has them."""
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
    context.setPositions(position / 10)
    context.computeVirtualSites()
    return np.asarray(context.getState(getPositions=True).getPositions(asNumpy=True)) * 10


def exceptions(system: openmm.System) -> set[tuple[int, int]]:
    (force,) = (f for f in system.getForces() if isinstance(f, openmm.NonbondedForce))
    pairs = (force.getExceptionParameters(i)[:2] for i in range(force.getNumExceptions()))
    return {(min(i, j), max(i, j)) for i, j in pairs}


def excluded(system: System) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in system.expand_exclusions()}


OPENMM_SITES = {
    "two": lambda: openmm.TwoParticleAverageSite(0, 1, 0.3, 0.7),
    "three": lambda: openmm.ThreeParticleAverageSite(0, 1, 2, 1.3, -0.5, 0.2),
    "out": lambda: openmm.OutOfPlaneSite(1, 0, 2, -0.3, 0.4, 2.5),
    "local": lambda: openmm.LocalCoordinatesSite(
        [0, 1, 2, 3],
        [0.4, 0.3, 0.2, 0.1],
        [-1.0, 0.5, 0.5, 0.0],
        [0.2, -1.0, 0.0, 0.8],
        openmm.Vec3(0.03, -0.05, 0.07),
    ),
}


def chain_of_four(make_site: Callable[[], Any]) -> tuple[openmm.System, app.Topology, np.ndarray]:
    system, force, bonds = openmm.System(), openmm.NonbondedForce(), openmm.HarmonicBondForce()
    topology = app.Topology()
    residue = topology.addResidue("CHN", topology.addChain("A"))
    for index in range(5):
        system.addParticle(12.0 if index < 4 else 0.0)
        force.addParticle(0.1 * index, 0.3, 0.1)
        topology.addAtom(f"C{index}", app.element.carbon if index < 4 else None, residue)
    for i in range(3):
        bonds.addBond(i, i + 1, 0.15, 1e5)
    system.setVirtualSite(4, make_site())
    for one in (force, bonds):
        system.addForce(one)
    return system, topology, np.array([[0, 0, 0], [1.5, 0.1, 0], [2.0, 1.5, 0.2], [3.4, 1.6, 0.9], [9, 9, 9.0]])


@pytest.mark.parametrize("kind", OPENMM_SITES)
def test_openmms_kinds_are_where_openmm_has_them(kind: str) -> None:
    system, topology, position = chain_of_four(OPENMM_SITES[kind])
    found = prepare_openmm(system, topology, position / 10)
    expected = placed_by_openmm(system, position)
    ours = whole_positions(found)
    assert ours[4] - ours[0] == pytest.approx(expected[4] - expected[0], abs=1e-6)
    assert any("put in their places, C4 of CHN 1" in note for note in found.notes)


@pytest.mark.parametrize("n_points", [1, 2])
def test_ambers_extra_points(tmp_path: Path, n_points: int) -> None:
    files = write_amber_water(n_points, tmp_path)
    found = prepare_amber(*files)
    (template,) = found.templates
    assert template.rigid_water and template.settle == pytest.approx((0.9572, 1.5139))
    assert len(template.virtual_sites) == n_points
    assert len(template.term("bond")) == 3
    input_places = app.AmberInpcrdFile(str(files[1])).getPositions(asNumpy=True)._value.reshape(27, -1, 3) * 10
    peer = app.AmberPrmtopFile(str(files[0])).createSystem(nonbondedMethod=app.NoCutoff)
    assert excluded(found) == exceptions(peer)
    ours = whole_positions(found).reshape(27, -1, 3)
    # The points of the coordinate file have two decimals where there are two of them.
    shift = ours[:, 3:] - ours[:, :1] - (input_places[:, 3:] - input_places[:, :1])
    assert np.abs(shift).max() < (1e-5 if n_points == 1 else 0.01)
    if n_points == 1:  # OpenMM has those of five-site waters on the hydrogens' side
        expected = placed_by_openmm(peer, input_places.reshape(-1, 3)).reshape(27, -1, 3)
        assert ours[:, 3] - ours[:, 0] == pytest.approx(expected[:, 3] - expected[:, 0], abs=1e-6)


def test_extra_points_without_a_frame_are_refused(tmp_path: Path) -> None:
    prmtop, rst7 = write_amber_water(1, tmp_path)
    text = prmtop.read_text()
    row = f"{0:8d}{9:8d}{3:8d}"  # the bond of the first oxygen to its point
    assert row in text
    prmtop.write_text(text.replace(row, f"{3:8d}{9:8d}{3:8d}"))
    with pytest.raises(InputError, match=r"EPW of WAT 1 .* lies between bonds of 0.9572 and 1.5139"):
        prepare_amber(prmtop, rst7)


def test_lone_pairs_of_a_psf(tmp_path: Path) -> None:
    psf, pdb, parameters = write_lone_pairs(tmp_path)
    found = prepare_charmm(psf, pdb, [parameters])
    (template,) = found.templates
    assert template.virtual_sites.atom.tolist() == [4, 5, 6, 7]
    read_by_openmm = app.CharmmPsfFile(str(psf))
    peer = read_by_openmm.createSystem(app.CharmmParameterSet(str(parameters)), nonbondedMethod=app.NoCutoff)
    ours = whole_positions(found)
    expected = placed_by_openmm(peer, ours)
    assert ours == pytest.approx(expected, abs=1e-6)
    pairs = {tuple(map(int, sorted(p))) for p in found.expand("pair_14")[0]}
    assert excluded(found) == exceptions(peer)
    assert pairs == {(0, 3), (8, 11)}


def test_a_site_without_lone_pairs_says_what_is_missing(tmp_path: Path) -> None:
    psf, pdb, parameters = write_lone_pairs(tmp_path)
    text = psf.read_text()
    begin = text.rindex("\n", 0, text.index("!NUMLP")) + 1
    end = text.find("!", text.index("!NUMLP") + 1)
    psf.write_text(text[:begin] + (text[text.rindex("\n", 0, end) + 1 :] if end > 0 else ""))
    with pytest.raises(InputError, match=r"has no mass and is no virtual site, because the PSF has no lone pairs"):
        prepare_charmm(psf, pdb, [parameters])


def test_internal_coordinates_are_those_of_the_site(tmp_path: Path) -> None:
    psf, pdb, parameters = write_lone_pairs(tmp_path)
    ours = whole_positions(prepare_charmm(psf, pdb, [parameters]))
    for atom, hosts, distance, angle, dihedral in LONE_PAIRS[1::2]:
        site, i, j, k = (ours[a - 1] for a in (atom, *hosts))
        assert np.linalg.norm(site - i) == pytest.approx(distance, abs=1e-6)
        first, second, third = i - site, j - i, k - j
        cosine = -(first @ second) / np.linalg.norm(first) / np.linalg.norm(second)
        assert np.degrees(np.arccos(cosine)) == pytest.approx(angle, abs=1e-4)
        one, other = np.cross(first, second), np.cross(second, third)
        sine = np.linalg.norm(second) * (first @ other)
        assert np.degrees(np.arctan2(sine, one @ other)) == pytest.approx(dihedral, abs=1e-4)


def edited(folder: Path, old: str, new: str, kind: str = "3fad") -> tuple[Path, Path]:
    top, gro = write_molecules(kind, folder)
    text = top.read_text()
    assert old in text
    top.write_text(text.replace(old, new))
    return top, gro


LINE = "6 1 2 3 3 115.0 0.13"
BAD_SITES = [
    (LINE, "6 1 2 9 3 115.0 0.13", r"\[ virtual_sites3 \] of molecule MOL names atom 9, but it has 6 atoms"),
    (LINE, "6 1 2 3 3", "function 3 needs 2 parameter.* pdb2gmx -vsite .*hydrogen_mass"),
    (LINE, "6 1 2 3 7 0.1 0.1", "function 7 is not supported"),
    (LINE, "6 1 2 3", "needs a site, 3 atom"),
    (LINE, f"{LINE}\n{LINE}", "makes atom 6 a virtual site again"),
    (LINE, f"{LINE}\n5 1 2 6 1 0.1 0.1", r"C5 of MOL 1.*follows X of MOL 1.*which is a virtual site itself"),
    (LINE, "", "X of MOL 1.* has no mass and is no virtual site"),
    ("[ virtual_sites3 ]\n" + LINE, "[ virtual_sites4 ]\n6 1 2 3 4 1 0.1 0.1 0.1", "function 1 .*4fd.* is not supp"),
    ("[ virtual_sites3 ]\n" + LINE, "[ virtual_sitesn ]\n6 3 1 0.5 2", "needs a weight for each atom"),
    ("[ virtual_sites3 ]\n" + LINE, "[ virtual_sitesn ]\n6 3 1 0.5 2 -0.5", "weights that sum to 0"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD_SITES)
def test_bad_lines_of_gromacs_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare_gromacs(*edited(tmp_path, old, new))


def test_a_site_with_a_mass_is_noted(tmp_path: Path) -> None:
    system = prepare_gromacs(*edited(tmp_path, "6 V 1 MOL X 1 -0.40 0.0", "6 V 1 MOL X 1 -0.40 2.0"))
    assert any("have a mass in the input" in note for note in system.notes)
    assert (system.atom_field("mass")[system.virtual_site_ids()] == 0).all()


def test_a_site_without_direction_is_named(tmp_path: Path) -> None:
    top, gro = write_molecules("3fad", tmp_path)
    lines = gro.read_text().splitlines()
    for row, x in zip((2, 3, 4), (0.1, 0.2, 0.3)):  # three atoms of the first molecule on a line
        lines[row] = f"{lines[row][:20]}{x:12.7f}{0.1:12.7f}{0.1:12.7f}"
    gro.write_text("\n".join([*lines, ""]))
    with pytest.raises(InputError, match=r"the virtual site X of MOL 1 .* has no direction"):
        prepare_gromacs(top, gro)


@pytest.mark.parametrize("ending", ["pdb", "gro"])
def test_exported_sites_are_near_their_parents(tmp_path: Path, ending: str) -> None:
    write(prepare_gromacs(*write_molecules("3out", tmp_path, edge=12.0, n=8)), tmp_path / "a.tsr")
    system = read(tmp_path / "a.tsr")
    system.fraction += np.int32(2**30)  # across the faces of the box
    write(system, tmp_path / "a.tsr")
    said("export", tmp_path / "a.tsr", "-o", tmp_path / f"b.{ending}")
    places = MDAnalysis.Universe(str(tmp_path / f"b.{ending}")).atoms.positions.reshape(-1, 6, 3)
    expected = whole_positions(system).reshape(-1, 6, 3)
    assert places - places[:, :1] == pytest.approx(expected - expected[:, :1], abs=0.02)
    twice = replicate(system, (2, 1, 1))
    assert len(twice.virtual_site_ids()) == 2 * len(system.virtual_site_ids())
    assert np.abs(twice.place_virtual_sites()).max() < 1e-6


def test_a_force_field_of_gromacs_with_sites(data_folder: Path) -> None:
    """Each benzene has a site in the middle of its ring."""
    place = data_folder / "openmm_systems"
    found = prepare_gromacs(place / "bnz.top", place / "bnz.gro", vacuum=True)
    assert found.templates[0].virtual_sites.atom.tolist() == [12]
    peer = app.GromacsTopFile(str(place / "bnz.top")).createSystem(nonbondedMethod=app.NoCutoff)
    # Positions have three decimals, and that of the site follows from them.
    position = np.asarray(app.GromacsGroFile(str(place / "bnz.gro")).getPositions(asNumpy=True)) * 10
    expected = energies(peer, placed_by_openmm(peer, position) * unit.angstrom)
    ours = reference_energies(found, Settings(cutoff=None))
    assert ours["lj"] == pytest.approx(expected["CustomNonbondedForce"], rel=1e-5)
    charges = (ours["coulomb"] + ours["coulomb_14"]) * OPENMM_COULOMB / found.coulomb_constant
    assert charges + ours["lj_14"] == pytest.approx(expected["NonbondedForce"], rel=1e-5)
