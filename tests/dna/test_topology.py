"""Residues and patches of CHARMM's topologies, the chains that they form, and the places of their atoms."""

from __future__ import annotations

from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest

from tessera.build.charmm.chain import Chain, automatic, psf_of
from tessera.build.charmm.places import completed, placed
from tessera.build.charmm.topology import Topology
from tessera.errors import InputError
from tessera.prepare.charmm_parameters import CharmmParameters
from tessera.prepare.charmm_stream import read_cards
from tessera.system.model import FloatArray

#: methanol-like links in a row: C–O, and a bond from O to the next C
TOPOLOGY = """* made up
36 1
MASS -1 CT 12.011 C
MASS -1 OT 15.999 O
MASS -1 HT 1.008 H
DECL +C
AUTOGENERATE ANGLES DIHEDRALS PATCH
RESI LINK 0.00
GROUP
ATOM C  CT 0.10 ! carbon
ATOM H1 HT 0.05
ATOM H2 HT 0.05
ATOM O  OT -0.20
BOND C H1 C H2
DOUBLE C O
BOND O +C
IMPR C H1 H2 O
DONO H1 C
BILD H1 O *C H2 0.0 0.0 120.0 0.0 0.0
IC +C O C H1 1.4 110.0 180.0 0.0 0.0
RESI OTHER 0.00
ATOM C CT 0.0
PRES HEAD 0.00
ATOM C CT 0.15
ATOM H3 HT -0.05
DELETE ATOM H2
BOND C H3
IC H3 O *C H1 0.0 0.0 -120.0 0.0 0.0
PRES DUMB 0.0
DELETE ATOM X9
END
"""
PARAMETERS = """* made up
BONDS
CT HT 300.0 1.10
CT OT 300.0 1.40
ANGLES
HT CT HT 40.0 109.0
HT CT OT 40.0 108.0
CT OT CT 40.0 110.0
DIHEDRALS
X CT OT X 0.1 3 0.0
IMPROPERS
CT HT HT OT 10.0 0 0.0
NONBONDED
CT 0.0 -0.1 2.0
OT 0.0 -0.1 1.7
HT 0.0 -0.02 1.2
END
"""


def read(folder: Path, topology: str = TOPOLOGY) -> tuple[Topology, CharmmParameters]:
    (folder / "made.rtf").write_text(topology)
    (folder / "made.prm").write_text(PARAMETERS)
    reading = read_cards([folder / "made.rtf", folder / "made.prm"])
    return Topology(reading.cards), CharmmParameters(reading)


def test_a_patch_deletes_replaces_and_adds_atoms(tmp_path: Path) -> None:
    topology, _ = read(tmp_path)
    link = topology.residue("LINK")
    head = link.patched(topology.patch("HEAD"))
    assert list(head.atoms) == ["C", "H3", "H1", "O"]
    assert head.atoms["C"].charge == 0.15
    assert head.bonds == [("C", "H1"), ("C", "O"), ("O", "+C"), ("C", "H3")]
    assert head.impropers == []
    assert [c.atoms for c in head.coordinates] == [("+C", "O", "C", "H1"), ("H3", "O", "C", "H1")]
    assert list(link.atoms) == ["C", "H1", "H2", "O"]  # as it was


def test_chains_are_bonded_and_get_all_angles_and_dihedrals(tmp_path: Path) -> None:
    topology, table = read(tmp_path)
    link = topology.residue("LINK")
    found = psf_of([Chain("ONE", [link] * 3), Chain("TWO", [link])], table)
    assert len(found.name) == 16
    assert found.segment[[0, 12]].tolist() == [b"ONE", b"TWO"]
    assert found.residue_number[[0, 4, 8, 12]].tolist() == [1, 2, 3, 1]
    assert {(3, 4), (7, 8)} < set(map(tuple, found.bonds.tolist()))
    assert len(found.bonds) == 14
    assert len(found.angles) == len(brute(found.bonds.tolist(), 3))
    assert {min(d, d[::-1]) for d in map(tuple, found.dihedrals.tolist())} == brute(found.bonds.tolist(), 4)
    assert found.mass[:4].tolist() == [12.011, 1.008, 1.008, 15.999]


def brute(bonds: list[list[int]], width: int) -> set[tuple[int, ...]]:
    """Returns all paths of so many atoms along bonds."""
    joined = {frozenset(bond) for bond in bonds}
    atoms = sorted({atom for bond in bonds for atom in bond})
    paths = permutations(atoms, width)
    return {min(p, p[::-1]) for p in paths if all(frozenset(pair) in joined for pair in pairwise(p))}


def test_rings_have_no_dihedral_from_an_atom_to_itself() -> None:
    angles, dihedrals = automatic(3, np.array([[0, 1], [1, 2], [2, 0]]))
    assert (len(angles), len(dihedrals)) == (3, 0)


def dihedral_of(places: list[FloatArray]) -> float:
    a, b, c = np.diff(places, axis=0)
    return float(np.degrees(np.arctan2(np.linalg.norm(b) * a @ np.cross(b, c), np.cross(a, b) @ np.cross(b, c))))


def test_a_point_has_the_length_angle_and_dihedral_asked_for() -> None:
    first, second, third = np.random.default_rng(1).normal(size=(3, 3))
    found = placed(first, second, third, 1.4, np.radians(109), np.radians(-60))
    assert np.linalg.norm(found - third) == pytest.approx(1.4)
    along, back = (found - third) / 1.4, (second - third) / np.linalg.norm(second - third)
    assert np.degrees(np.arccos(along @ back)) == pytest.approx(109)
    assert dihedral_of([first, second, third, found]) == pytest.approx(-60)


def test_missing_atoms_come_from_internal_coordinates_and_parameters(tmp_path: Path) -> None:
    """Forwards and, for H3 of the patch, backwards; a length of 0 is that of the parameters."""
    topology, table = read(tmp_path)
    known = {"C": np.zeros(3), "O": np.array([1.4, 0, 0]), "H1": np.array([-0.3, 1.05, 0.0])}
    link = completed(topology.residue("LINK"), known, table)
    assert dihedral_of([link[name] for name in ("H1", "O", "C", "H2")]) == pytest.approx(120)
    head = completed(topology.residue("LINK").patched(topology.patch("HEAD")), known, table)
    assert dihedral_of([head[name] for name in ("H3", "O", "C", "H1")]) == pytest.approx(-120)
    for place in (link["H2"], head["H3"]):
        assert np.linalg.norm(place) == pytest.approx(1.10)
        assert np.degrees(np.arccos(place[0] / 1.10)) == pytest.approx(108.0)


REFUSED = {
    "no such residue": ("", "", "NONE", r"residue NONE \(RESI NONE\) is in none of the topologies given \(made.rtf\)"),
    "width": ("BOND C H1 C H2", "BOND C H1 C", "LINK", r"made.rtf:14: expected 2 atoms in each entry of BOND, found 3"),
    "name": ("BOND C H1 C H2", "BOND C H1 C HX", "LINK", "joins C-HX, but LINK has no atom HX"),
    "charge": ("ATOM O  OT -0.20", "ATOM O OT nan", "LINK", "made.rtf:13: expected a number, found 'NAN'"),
    "lone pair": ("DONO H1 C", "LONEPAIR bisector C H1 H2 O", "LINK", "LONEPAIR of LINK is not supported"),
    "no lists": ("AUTOGENERATE ANGLES", "AUTOGENERATE", "LINK", "without AUTOGENERATE ANGLES DIHEDRALS"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_understood_is_refused(case: str, tmp_path: Path) -> None:
    old, new, name, message = REFUSED[case]
    topology, _ = read(tmp_path, TOPOLOGY.replace(old, new))
    with pytest.raises(InputError, match=message):
        topology.residue(name)


def test_a_patch_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    topology, table = read(tmp_path)
    with pytest.raises(InputError, match="the patch DUMB deletes X9, which LINK lacks"):
        topology.residue("LINK").patched(topology.patch("DUMB"))
    other = Chain("ONE", [topology.residue("OTHER"), topology.residue("LINK")])
    assert len(psf_of([other], table).bonds) == 3  # the last has no next
    with pytest.raises(InputError, match=r"nothing says where H1 of LINK is"):
        completed(topology.residue("LINK"), {"C": np.zeros(3)}, table)


def test_nucleotides_of_charmm36(data_folder: Path) -> None:
    """Deoxynucleotides have 32, 32, 33 and 30 atoms and one negative charge; a strand lacks one charge."""
    folder = data_folder / "charmm36_toppar"
    topology = Topology(read_cards([folder / "top_all36_na.rtf"]).cards)
    deoxy = topology.patch("DEOX")
    for name, count in {"ADE": 32, "THY": 32, "GUA": 33, "CYT": 30}.items():
        inside = topology.residue(name).patched(deoxy)
        assert len(inside.atoms) == count
        assert sum(atom.charge for atom in inside.atoms.values()) == pytest.approx(-1)
        assert inside.atoms["P"].type == "P2"
