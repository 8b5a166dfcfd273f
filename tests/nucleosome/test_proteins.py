"""Proteins in CHARMM36's force field, built from parts of themselves."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from tessera.build.atoms import read_atoms
from tessera.build.dna.strand import ForceField
from tessera.build.nucleosome import settle
from tessera.build.nucleosome.settle import InChains, residues_of, settled, touching
from tessera.build.protein.model import Proteins, build_proteins
from tessera.build.protein.residues import AminoAcids
from tessera.build.protein.sequences import Protein, declared, threaded
from tessera.build.protein.structure import Strand, strands_of
from tessera.build.relax import WITHIN_ANGLES, WITHIN_BONDS, inverted, strain_of
from tessera.errors import InputError
from tessera.system import System, write
from tessera.system.model import FloatArray
from tests.nucleosome.peptides import NOWHERE, field_of, grown, strand, system_with, toppar_of
from tests.support.charmm import check_energies

ALL = "PGACDEFHIKLMNQRSTVWYPG"
CLOSED = 0.3  # Å by which peptide bonds of loops may be off before the force field closes them; C and N are 3.8 Å
# apart where a chain turns away


@pytest.fixture(scope="module", name="field")
def _field(data_folder: Path) -> ForceField:
    return field_of(data_folder)


@pytest.fixture(scope="module", name="histone")
def _histone(data_folder: Path) -> Strand:
    atoms = read_atoms(data_folder / "dna_nucleosome" / "1kx5.pdb")
    return next(one for one in strands_of(atoms)[0] if one.chain == "B")


def test_all_amino_acids_have_the_energies_of_openmm(field: ForceField, data_folder: Path, tmp_path: Path) -> None:
    """From one residue; chains begin with proline and with glycine, and a disulfide joins two more."""
    identity, away = np.eye(3), np.array([60.0, 0, 0])
    made = grown(field, [strand(field, "HSD", "H", identity, away * 0, "A")], [ALL])
    bridged = grown(field, bridge(field), ["GCK", "PACT"])
    both = Proteins(
        [*made.chains, *bridged.chains],
        [type(link)((link.one[0] + 1, *link.one[1:]), (link.other[0] + 1, *link.other[1:])) for link in bridged.links],
        np.concatenate([made.position, bridged.position + away]),
        np.concatenate([made.is_built, bridged.is_built]),
        np.concatenate([made.alone, bridged.alone]),
        [],
    )
    system = system_with(field, both)
    assert len(both.links) == 1
    assert [len(chain.residues) for chain in both.chains] == [22, 3, 4]
    halves = [chain.residues[1] for chain in bridged.chains[:1]] + [bridged.chains[1].residues[2]]
    assert all(half.name == "CYS" and "HG1" not in half.atoms for half in halves)
    assert system.net_charge() == pytest.approx(1)
    assert len(inverted(system, both.alone, both.position)) == 0
    write(system, tmp_path / "made.tsr")
    check_energies(tmp_path / "made.tsr", toppar_of(data_folder))


def test_a_seed_gives_the_same_places(field: ForceField) -> None:
    start = strand(field, "ALA", "A", np.eye(3), np.zeros(3), "A")
    one, again, other = (grown(field, [start], ["GSAKK"], seed).position for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def bridge(field: ForceField) -> list[Strand]:
    """Returns two cysteines whose sulphurs are 2.05 Å apart."""
    one = strand(field, "CYS", "C", np.eye(3), np.zeros(3), "B")
    sulphur = one.places[0]["SG"]
    out = sulphur - one.places[0]["CB"]
    out /= np.linalg.norm(out)
    turn = 2 * np.outer(out, out) - np.eye(3)  # by 180° about the bond
    mirror = np.eye(3) - 2 * np.outer(out, out)
    across = np.cross(out, [0.3, 0.5, 0.7])
    across /= np.linalg.norm(across)
    flip = 2 * np.outer(across, across) - np.eye(3)
    assert np.linalg.det(turn) == pytest.approx(-np.linalg.det(mirror))
    return [one, strand(field, "CYS", "C", flip, sulphur + 2.05 * out - flip @ sulphur, "C")]


def bonded(made: Proteins) -> list[float]:
    """Returns the lengths of peptide bonds."""
    at: list[dict[str, FloatArray]] = []
    begin = 0
    for residue in made.chains[0].residues:
        at.append(dict(zip(residue.atoms, made.position[begin:])))
        begin += len(residue.atoms)
    return [float(np.linalg.norm(after["N"] - before["C"])) for before, after in pairwise(at)]


def test_tails_and_loops_are_built_between_what_is_there(field: ForceField, histone: Strand, data_folder: Path) -> None:
    """H4 without 15 residues of its tail, four inside, and two at its end; all clear of its other atoms."""
    kept = [row for row in range(102) if row >= 15 and not 46 <= row < 50 and row < 100]
    part = Strand(
        "B", "".join(histone.letters[row] for row in kept),
        *([getattr(histone, name)[row] for row in kept] for name in ("names", "numbers", "labels", "where", "places")),
    )  # fmt: skip
    file = declared(data_folder / "dna_nucleosome" / "1kx5.pdb")
    threads, _ = threaded([part], file, [], "1kx5.pdb")
    assert "".join(str(int(row >= 0)) for row in threads[0].found) == "0" * 15 + "1" * 31 + "0" * 4 + "1" * 50 + "00"
    acids = AminoAcids(field.topology, field.parameters)
    made = build_proteins([part], threads, acids, NOWHERE, seed=1)
    assert "built 4 residue(s): SER 47 of chain B to ILE 50 of chain B" in made.notes
    assert np.abs(np.array(bonded(made)) - 1.34).max() < CLOSED
    heavy = np.array([not name.startswith("H") for residue in made.chains[0].residues for name in residue.atoms])
    system = system_with(field, made)
    assert len(inverted(system, made.alone, made.position)) == 0
    tree = cKDTree(made.position[heavy & ~made.is_built])
    distance, _ = tree.query(made.position[heavy & made.is_built], k=8)
    assert distance[:, 0].min() > 1.1  # a bond; of what is not bonded, in tails:
    rows = np.flatnonzero(heavy & made.is_built)
    tail = rows < 150
    assert distance[tail][:, 0][3:-9].min() > 1.8
    from_file = np.concatenate([list(places.values()) for places in part.places])
    assert cKDTree(made.position).query(from_file)[0].max() < 1e-9
    check_settled(field, made, system)


def check_settled(field: ForceField, made: Proteins, system: System) -> None:
    """Checks that what is built has the force field's bonds, angles and handedness, and that most of the file stays."""
    heavy = np.array([not name.startswith("H") for residue in made.chains[0].residues for name in residue.atoms])
    is_fixed = heavy & ~made.is_built
    everything = np.ones(len(heavy), bool)
    residues, residue = InChains(made.chains), residues_of(made.chains)
    after, stayed = settled(system, residues, residue, field.parameters, made.alone, is_fixed, everything, ~everything)
    found = strain_of(system, after, ~stayed)
    assert found.bond < WITHIN_BONDS
    assert found.angle < WITHIN_ANGLES
    assert len(inverted(system, made.alone, after)) == 0
    assert stayed.sum() > 0.9 * is_fixed.sum()
    assert after[stayed] == pytest.approx(made.position[stayed], abs=1e-5)


def test_atoms_that_end_in_one_place_are_let_go(field: ForceField, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hydrogen that a first round leaves on an oxygen which is fixed: no bond and no angle is strained."""
    two = [
        strand(field, "ALA", "A", np.eye(3), np.array([shift, 0.0, 0.0]), chain)
        for shift, chain in ((0, "A"), (50, "B"))
    ]
    made = grown(field, two, ["GAG", "GAG"])
    n = sum(len(one.atoms) for one in made.chains[0].residues)
    names = [name for chain in made.chains for one in chain.residues for name in one.atoms]
    residue = residues_of(made.chains)
    own = np.flatnonzero(residue == 1), np.flatnonzero(residue == 4)
    c, o = (next(row for row in own[0] if names[row] == name) for name in ("C", "O"))
    h = next(row for row in own[1] if names[row] == "HB1")
    place = made.position.copy()
    to = place[o] + 0.7 * (place[o] - place[c]) / np.linalg.norm(place[o] - place[c])

    def beside(rotation: Rotation) -> FloatArray:
        return rotation.apply(made.position[n:] - made.position[h]) + to

    def room(other: FloatArray) -> float:
        return float(np.sort(cKDTree(place[:n]).query(other)[0])[1])

    place[n:] = max(map(beside, Rotation.random(200, rng=1)), key=room)
    system = system_with(field, replace(made, position=place))
    is_fixed = ~np.isin(np.arange(2 * n), [row for row in own[1] if names[row].startswith(("CB", "HB"))])
    relaxed, rounds = settle._relaxed_part, []

    def relaxed_later(*arguments: Any) -> FloatArray:
        rounds.append(1)
        return relaxed(*arguments) if len(rounds) > 1 else arguments[1]

    monkeypatch.setattr(settle, "_relaxed_part", relaxed_later)
    everything = np.ones(2 * n, bool)
    after, stayed = settled(
        system, InChains(made.chains), residue, field.parameters, made.alone, is_fixed, everything, ~everything
    )
    assert len(rounds) > 1 and not stayed[o]
    assert len(touching(system, residue, after, 1.5)) == 0


def test_others_are_threaded_on_a_chain(field: ForceField, histone: Strand) -> None:
    letters = histone.letters
    variant = letters[:40] + "W" + letters[41:60] + "AG" + letters[60:80] + letters[82:]
    threads, notes = threaded([histone], {}, [Protein("DNA", "ACGTACGT"), Protein("variant", variant)], "1kx5.pdb")
    assert threads[0].letters == variant
    assert notes == ["the sequence 'DNA' fits no chain best and is not used"]
    made = build_proteins([histone], threads, AminoAcids(field.topology, field.parameters), NOWHERE)
    residues = made.chains[0].residues
    assert [residue.name for residue in residues[39:42]] == ["ARG", "TRP", "GLY"]
    assert np.abs(np.array(bonded(made)) - 1.34).max() < CLOSED  # with two residues on each side built anew
    with pytest.raises(InputError, match=r"\d+ of 20 residues of chain B are those of the sequence 'other'"):
        threaded([histone], {}, [Protein("other", "W" * 20)], "1kx5.pdb")


def changed(lines: list[str], old: str, new: str) -> list[str]:
    out = [line.replace(old, new) for line in lines]
    assert out != lines
    return out


REFUSED = {
    "unknown": (
        lambda lines: changed(lines, "LYS B   5", "M3L B   5"),
        r"h4.pdb, line \d+: the residue M3L 5 of chain B is not known; expected the 20 amino acids, MSE",
    ),
    "numbers": (
        lambda lines: [lines[0][:30] + "     nan" + lines[0][38:], *lines[1:]],
        "h4.pdb, line 1: SER 1 of chain B has coordinates that are not finite",
    ),
    "broken": (
        lambda lines: [line for line in lines if line[22:26] not in ("   6", "   7")],
        r"line \d+: the chain is broken between LYS 5 of chain B and LYS 8 of chain B: C and N are \d+.\d\d Å apart",
    ),
    "mirrored": (
        lambda lines: [line[:30] + f"{-float(line[30:38]):8.3f}" + line[38:] for line in lines],
        "h4.pdb, line 1: CA of SER 1 of chain B is inside out: expected the handedness of an L amino acid",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_not_be_built_is_refused(case: str, field: ForceField, data_folder: Path, tmp_path: Path) -> None:
    change, message = REFUSED[case]
    text = (data_folder / "dna_nucleosome" / "1kx5.pdb").read_text().split("\n")
    lines = [line for line in text if line.startswith("ATOM") and line[21] == "B" and int(line[22:26]) < 12]
    (tmp_path / "h4.pdb").write_text("\n".join(change(lines)))
    with pytest.raises(InputError, match=message):
        strands, _, _ = strands_of(read_atoms(tmp_path / "h4.pdb"))
        threads, _ = threaded(strands, {}, [], "h4.pdb")
        build_proteins(strands, threads, AminoAcids(field.topology, field.parameters), NOWHERE)


def test_names_of_other_programs_are_understood(data_folder: Path, field: ForceField, tmp_path: Path) -> None:
    """Selenomethionine is methionine; histidine has the form that its name asks for; a second form of a residue and
    hydrogens are left out; equal branches may have each other's names."""
    text = (data_folder / "dna_nucleosome" / "1kx5.pdb").read_text().split("\n")
    lines = [line for line in text if line.startswith("ATOM") and line[21] == "B" and 74 < int(line[22:26]) < 87]
    lines = changed([line.replace("SD  MET", "SE  MSE").replace("MET", "MSE") for line in lines], "HIS", "HIP")
    swap = {"CG1 VAL B  81": "CG2 VAL B  81", "CG2 VAL B  81": "CG1 VAL B  81"}
    lines = [line[:13] + swap.get(line[13:26], line[13:26]) + line[26:] for line in lines]
    (tmp_path / "h4.pdb").write_text("\n".join(lines))
    strands, _, _ = strands_of(read_atoms(tmp_path / "h4.pdb"))
    threads, _ = threaded(strands, {}, [], "h4.pdb")
    made = build_proteins(strands, threads, AminoAcids(field.topology, field.parameters), NOWHERE)
    names = [residue.name for residue in made.chains[0].residues]
    assert (names[0], names[9]) == ("HSP", "MET")
    assert made.chains[0].first == 75
    assert made.notes == ["1 pair(s) of equal branches had each other's names and were exchanged"]
