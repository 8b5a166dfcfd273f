"""Tails are posed anew where φ and χ of groups mend nothing: by the smallest turn of all, as they are in themselves."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from numpy.typing import NDArray

from tessera.build.clashes import mend as mend_module
from tessera.build.clashes.files import read_structure
from tessera.build.clashes.find import overlaps_of
from tessera.build.clashes.mend import mend
from tessera.build.clashes.molecules import ROLE, Molecules
from tessera.build.clashes.tails import ANGLES, _around, best_pose, tail_turns
from tessera.build.clashes.trials import Trial, rotated
from tessera.system.model import FloatArray, IdArray
from tests.clashes.injected import SEEDS, Rotation, check_mended, copy_of, few
from tests.clashes.peptides import around, coil, molecules_of, peptide, write_pdb
from tests.support.commands import called

FREE, CONTACT = 0.91, 1.6  # Å
AXES = {"φ": ("N", "CA"), "ψ": ("CA", "C")}
NOWHERE = np.array([[500.0, 500.0, 500.0]])


def number_of(molecules: Molecules, atom: int) -> int:
    return int(molecules.residue_label(atom).split()[1])


def atom_of(molecules: Molecules, name: str, number: int) -> int:
    return next(a for a in range(molecules.n_atoms) if molecules.label(a).startswith(f"{name} of ")
                and number_of(molecules, a) == number and "chain A" in molecules.label(a))  # fmt: skip


def expected_turns(molecules: Molecules, atom: int) -> dict[tuple[str, int], set[int]]:
    """Returns what each φ and ψ of a chain A of residues that are numbered from 1 turns, by these numbers alone."""
    chain = [a for a in range(molecules.n_atoms) if molecules.label(a).endswith("chain A")]
    number = {a: number_of(molecules, a) for a in chain}
    name = {a: molecules.label(a).split()[0] for a in chain}
    kind = {number[a]: molecules.residue_label(a).split()[0] for a in chain}
    last, own = max(kind), number[atom]
    found: dict[tuple[str, int], set[int]] = {}
    is_first = own <= last + 1 - own
    for row in range(1, last + 1):
        from_end = row if is_first else last + 1 - row
        if from_end > 40 or 2 * from_end > last + 1:
            continue
        side = {a for a in chain if name[a] not in ("N", "CA", "C", "O") and number[a] == row}
        oxygen = {a for a in chain if name[a] == "O" and number[a] == row}
        ends = {n: next(a for a in chain if name[a] == n and number[a] == row) for n in ("N", "C")}
        if is_first:
            beyond = {a for a in chain if number[a] < row}
            turns = {"φ": beyond, "ψ": beyond | side | {ends["N"]}}
        else:
            beyond = {a for a in chain if number[a] > row}
            turns = {"φ": beyond | oxygen | side | {ends["C"]}, "ψ": beyond | oxygen}
        if kind[row] == "PRO":
            del turns["φ"]
        found |= {(letter, row): atoms for letter, atoms in turns.items() if atom in atoms}
    return found


def smallest(molecules: Molecules, atom: int) -> tuple[int, int, float, int] | None:
    """Returns clashes and contacts that are left, degrees and the number of atoms of the best turn of all, by trying
    each: the oracle."""
    best = None
    everything = np.arange(molecules.n_atoms)
    for (letter, row), atoms in expected_turns(molecules, atom).items():
        own = np.array(sorted(atoms))
        start, end = (molecules.position[atom_of(molecules, name, row)] for name in AXES[letter])
        others = np.setdiff1d(everything, own)
        pairs = np.stack(np.meshgrid(own, others, indexing="ij"), axis=2)
        bonded = molecules.are_bonded(pairs.reshape(-1, 2)).reshape(pairs.shape[:2])

        is_heavy = ~(molecules.is_hydrogen[own][:, None] | molecules.is_hydrogen[others])
        before = _apart(molecules, molecules.position[own], others, bonded)
        for degrees in sorted([*ANGLES, *-ANGLES[:-1]], key=abs):
            along = (end - start) / np.linalg.norm(end - start)
            turn = Rotation.from_rotvec(along * np.radians(degrees))
            now = _apart(molecules, end + turn.apply(molecules.position[own] - end), others, bonded)
            made = (now < FREE) & (before >= FREE) | (now < CONTACT) & (before >= CONTACT) & is_heavy
            left = (int((now < FREE).sum()), int(((now < CONTACT) & ~((before >= FREE) & (before < CONTACT))).sum()))
            if not made.any() and left[0] < (before < FREE).sum():
                order = (*left, abs(degrees), len(own))
                best = order if best is None or order < best else best
    return best


def _apart(molecules: Molecules, place: FloatArray, others: IdArray, bonded: NDArray[np.bool_]) -> FloatArray:
    """Returns the distances (n,m) of atoms at these places (n,3) Å from others, none from those bonded."""
    distance = np.linalg.norm(place[:, None] - molecules.position[others][None], axis=2)
    return np.asarray(np.where(bonded, np.inf, distance))


@few(2)
@given(seed=SEEDS)
@example(seed=23)  # none does
@example(seed=31)  # and a contact is left
def test_the_smallest_turn_of_all_is_found(tmp_path: Path, seed: int) -> None:
    """And all that turns is as it was in itself, the rest where it was."""
    random = np.random.default_rng(seed)
    letters = "".join(random.choice(list("AAGSP"), random.integers(12, 40)))
    chain = peptide(letters, coil(len(letters), random))
    place = np.array([atom[3] for atom in chain])
    backbone = [row for row, atom in enumerate(chain) if atom[0] in ("N", "CA", "C")]
    atom = int(random.choice(backbone[6:-6]))
    count = int(random.choice([30, 140, 240]))  # of which the most leave no turn without contacts
    waters = around(place, atom, count, random, 1.7, spread=6.0)
    molecules = molecules_of(tmp_path / "tail.pdb", {"A": chain}, waters, n_light=count // 2)
    overlaps = overlaps_of(molecules)
    assert len(overlaps)
    pair = next(pair for pair in overlaps.pairs.tolist() if atom in pair)
    trial, expected = best_pose(molecules, pair), smallest(molecules, atom)
    assert (None if trial is None else trial.order) == expected
    after = copy_of(molecules)
    outcomes = mend(after, overlaps, tails=True)
    check_mended(molecules, overlaps, after, outcomes)
    check_pose(molecules, after)
    assert trial is None or outcomes[overlaps.pairs.tolist().index(pair)].mended


def check_pose(before: Molecules, after: Molecules) -> None:
    """Asserts that peptide bonds are as flat as they were, and that no proline has another φ."""
    alphas = np.flatnonzero(before.role == ROLE["CA"]).tolist()
    rows = [(atom_of(before, "CA", number), atom_of(before, "C", number), atom_of(before, "N", number + 1),
             atom_of(before, "CA", number + 1)) for number in range(1, len(alphas))]  # fmt: skip
    old, new = (dihedrals(molecules.position, np.array(rows)) for molecules in (before, after))
    assert np.abs(np.angle(np.exp(1j * (old - new)))).max() < 1e-6
    prolines = [number_of(before, a) for a in alphas if before.residue_label(a).startswith("PRO")]
    rows = [(atom_of(before, "C", number - 1), *(atom_of(before, name, number) for name in ("N", "CA", "C")))
            for number in prolines if number > 1]  # fmt: skip
    if rows:
        old, new = (dihedrals(molecules.position, np.array(rows)) for molecules in (before, after))
        assert np.abs(np.angle(np.exp(1j * (old - new)))).max() < 1e-6


def dihedrals(place: FloatArray, rows: IdArray) -> FloatArray:
    """Returns dihedrals (n,) in radians."""
    one, two, three = (place[rows[:, k + 1]] - place[rows[:, k]] for k in range(3))
    first, second = np.cross(one, two), np.cross(two, three)
    sine = (np.cross(first, second) * two).sum(axis=1) / np.linalg.norm(two, axis=1)
    return np.asarray(np.arctan2(sine, (first * second).sum(axis=1)))


def turns_at(molecules: Molecules, name: str, number: int) -> dict[tuple[str, int], set[int]]:
    found = tail_turns(molecules, atom_of(molecules, name, number))
    return {(t.letter[-1], number_of(molecules, t.axis[1])): set(t.turned.tolist()) for t in found}


def test_what_turns_of_a_tail(tmp_path: Path) -> None:
    """Towards the nearer end, up to 40 residues of it, never φ of proline."""
    random = np.random.default_rng(4)
    for letters in ("AGPSAAPGASAPAGGASPA", "AGSPA" * 20):
        molecules = molecules_of(tmp_path / "tail.pdb", {"A": peptide(letters, coil(len(letters), random))}, NOWHERE)
        for number in {1, 2, 3, 7, 8, 10, 12, 39, 40, 41, 50, 60, 61, 62, 98, 100} & set(range(1, len(letters) + 1)):
            for name in ("N", "CA", "C", "O"):
                atom = atom_of(molecules, name, number)
                assert turns_at(molecules, name, number) == expected_turns(molecules, atom), (number, name)


def test_nothing_in_a_disulfide_turns(tmp_path: Path) -> None:
    """Whether it is a bond of the file or one of distance alone; both of its ends together may."""
    chain = peptide("AACAAAAAAAAAAAACAAAAAAAAAAAAAAAA", coil(32, np.random.default_rng(4)))
    molecules = molecules_of(tmp_path / "tail.pdb", {"A": chain}, NOWHERE)
    one, other = (atom_of(molecules, "SG", number) for number in (3, 16))
    assert {row for _, row in turns_at(molecules, "N", 1)} == set(range(1, 17))
    bonded = replace(molecules, bonds=np.concatenate([molecules.bonds, [[one, other]]]))
    near = copy_of(molecules)
    near.position[other] = near.position[one] + [2.05, 0, 0]
    for changed in (bonded, near):
        assert set(turns_at(changed, "N", 1)) == {("ψ", 1), ("φ", 2), ("ψ", 2), ("φ", 3), ("ψ", 16)}
        assert set(turns_at(changed, "N", 8)) == {("ψ", 16)}


def test_residues_with_unknown_bonds_hold_what_is_next_to_them(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    chain = peptide("AAAXAAAAAAAAAAAAAAA", coil(19, random))
    place = np.array([atom[3] for atom in chain])
    atom = next(row for row, (name, _, number, _) in enumerate(chain) if (name, number) == ("CA", 6))
    ligand = [("C1", "LIG", 1, place[atom] + [0.5, 0, 0]), ("C2", "LIG", 1, place[atom] + [0.9, 0.9, 40])]
    clashing = molecules_of(tmp_path / "tail.pdb", {"A": [a for a in chain if a[2] > 4], "L": ligand}, NOWHERE)
    assert all(outcome.mended for outcome in mend(clashing, overlaps_of(clashing), tails=True))  # which is no bond
    for gap, is_mended in ((0.0, False), (5.0, True)):
        away = [(n, k, i, p + (gap * np.array([0, 0, 1.0]) if i < 5 else 0)) for n, k, i, p in chain]
        molecules = molecules_of(tmp_path / "tail.pdb", {"A": away}, around(place, atom, 0, np.random.default_rng(2)))
        overlaps = overlaps_of(molecules)
        assert [outcome.mended for outcome in mend(molecules, overlaps, tails=True)] == [is_mended] * len(overlaps)


def test_tails_in_a_box(tmp_path: Path) -> None:
    """Over its faces they turn as elsewhere; one that would meet an image of its own does not."""
    random = np.random.default_rng(8)
    chain = peptide("AGSPAAGSAAAPAGSAAGAASAAG", coil(24, random))
    place = np.array([atom[3] for atom in chain])
    extent = float(np.ptp(place, axis=0).max())
    row, between = (
        next(row for row, (name, _, number, _) in enumerate(chain) if (name, number) == wanted)
        for wanted in (("C", 4), ("CA", 7))
    )
    waters = around(place, row, 30, random)
    pairs, outcomes = [], []
    corner = extent - place[between]  # where faces of the box meet
    for edge, shift in ((None, 0.0), (2 * extent, 0.0), (2 * extent, corner), (2 * extent, extent - waters[0] + 0.2)):
        moved = [(name, kind, number, there + shift) for name, kind, number, there in chain]
        molecules = molecules_of(tmp_path / "tail.pdb", {"A": moved}, waters + shift, edge)
        overlaps = overlaps_of(molecules)
        before = copy_of(molecules)
        outcomes.append(mend(molecules, overlaps, tails=True))
        pairs.append(overlaps.pairs.tolist())
        assert molecules.box is None or len(overlaps_of(molecules)) == 0
        bonds = molecules.bonds
        apart = [m.nearest(m.position[bonds[:, 0]], m.position[bonds[:, 1]]) - m.position[bonds[:, 1]]
                 for m in (before, molecules)]  # fmt: skip
        assert np.linalg.norm(apart[0], axis=1) == pytest.approx(np.linalg.norm(apart[1], axis=1), abs=1e-6)
    assert outcomes[0] == outcomes[1] == outcomes[2] == outcomes[3] and all(o.mended for o in outcomes[0])
    assert pairs[0] == pairs[1] == pairs[2] == pairs[3]
    small = molecules_of(tmp_path / "tail.pdb", {"A": chain}, waters[:1], 14.0)
    atom = atom_of(small, "C", 4)
    assert {number_of(small, t.axis[1]) for t in tail_turns(small, atom)} == set(range(5, 13))
    trial = best_pose(small, [atom, small.n_atoms - 1])
    assert trial is None or number_of(small, trial.turn.axis[1]) < 6


def test_an_image_is_in_the_way(tmp_path: Path) -> None:
    """A water that is near over a face counts as one inside."""
    random = np.random.default_rng(8)
    chain = peptide("AGSAAGSAAAPAGSAAGAASAAG", coil(23, random))
    place = np.array([atom[3] for atom in chain])
    edge = 2 * float(np.ptp(place, axis=0).max())
    row = next(row for row, (name, _, number, _) in enumerate(chain) if (name, number) == ("C", 4))
    waters = around(place, row, 60, random, spread=4.0)
    far = waters.copy()
    far[1:] += edge * random.integers(-1, 2, (60, 3))
    outcomes = []
    for some in (waters, far):
        molecules = molecules_of(tmp_path / "tail.pdb", {"A": chain}, some, edge)
        outcomes.append(mend(molecules, overlaps_of(molecules), tails=True))
    assert outcomes[0] == outcomes[1] and outcomes[0][0].mended
    alone = molecules_of(tmp_path / "tail.pdb", {"A": chain}, waters[:1], edge)
    assert mend(alone, overlaps_of(alone), tails=True)[0].by != outcomes[0][0].by


@pytest.mark.parametrize("radius", [3.0, 9.0, 17.0])
def test_all_images_around_are_found(radius: float) -> None:
    """Also within a radius that is longer than the box."""
    random = np.random.default_rng(5)
    box = np.array([[11.0, 0, 0], [2.0, 12.0, 0], [-3.0, 1.0, 10.0]])
    position = random.uniform(-0.5, 0.5, (30, 3)) @ box
    none, rows = np.zeros(30, bool), np.arange(30)
    molecules = Molecules(
        "made", position, box, np.zeros((0, 2), int), none.astype(np.int8), none, rows, none, str, str
    )
    centre = np.array([20.0, -7.0, 33.0])
    shifts = np.array(list(itertools.product(range(-7, 8), repeat=3))) @ box
    images = position[:, None] + shifts
    near = np.linalg.norm(images - centre, axis=2) < radius
    atoms, places = _around(molecules, centre, radius)
    assert np.array_equal(np.sort(atoms), np.nonzero(near)[0])
    found, expected = (some[np.lexsort(some.T.round(6))] for some in (places, images[near]))
    assert found == pytest.approx(expected, abs=1e-6)


def test_no_clash_is_made_for_two_that_go(tmp_path: Path) -> None:
    """Oxygens stand on N and Cβ, which turn about Cα and C, and hydrogens where each turn that frees both meets one."""
    chain = peptide("AG", [(-95, 130), (-95, 130)])
    place = {name: there for name, _, number, there in chain if number == 1}
    along = 0.85 * (place["CA"] - place["C"]) / np.linalg.norm(place["CA"] - place["C"])
    ring = rotated(place["N"][None], place["CA"], place["C"], -np.array([50.0, 242.0, 310.0]))[:, 0]
    waters = np.array([place["N"] + along, place["CB"] + along, *ring])
    molecules = molecules_of(tmp_path / "two.pdb", {"A": chain}, waters, n_light=3)
    before, overlaps = molecules.position.copy(), overlaps_of(molecules)
    assert len(overlaps) == 2
    assert not any(outcome.mended for outcome in mend(molecules, overlaps, tails=True))
    assert np.array_equal(molecules.position, before)
    molecules.position[-3:] += 9.0
    assert all(outcome.mended for outcome in mend(molecules, overlaps, tails=True))


def test_the_command_poses_tails(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    chain = peptide("AGSPAAGSAAAPAGSAAGAASAAG", coil(24, random))
    row = next(row for row, (name, _, number, _) in enumerate(chain) if (name, number) == ("CA", 5))
    waters = around(np.array([atom[3] for atom in chain]), row, 0, random)
    path = write_pdb(tmp_path / "tail.pdb", {"A": chain}, waters)

    def run(*words: str) -> tuple[int, dict[str, Any]]:
        done = called("clashes", path, *words, "--json")
        return done.exit_code, json.loads(done.stdout)

    status, found = run("--fix", "-o", str(tmp_path / "without.pdb"))
    assert (status, found["left"]) == (75, 1)
    assert (tmp_path / "without.pdb").read_bytes() == path.read_bytes()
    status, found = run("--fix", "--tails", "-o", str(tmp_path / "with.pdb"))
    clash = found["clashes"][0]
    assert (status, found["left"]) == (0, 0)
    assert clash["turned"].startswith("tail ") and clash["turned"].endswith("in chain A") and abs(clash["by"]) <= 20
    old, new = (file.read_text().splitlines() for file in (path, tmp_path / "with.pdb"))
    assert [(line[:30], line[54:]) for line in old] == [(line[:30], line[54:]) for line in new]
    assert not len(overlaps_of(read_structure(tmp_path / "with.pdb").molecules))
    refused = called("clashes", path, "--tails")
    assert refused.exit_code and "--tails is of --fix" in refused.output


def test_groups_are_tried_again_after_a_tail_has_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here that of a serine, which is kept from turning until the backbone of another chain is elsewhere."""
    chain = peptide("AASAAAAAAAAAAAAA", coil(16, np.random.default_rng(3)))
    other = [(name, kind, number, there + 60) for name, kind, number, there in chain]
    place = np.array([atom[3] for atom in [*chain, *other]])
    oxygen = next(row for row, atom in enumerate(chain) if atom[0] == "OG")
    alpha = len(chain) + next(row for row, atom in enumerate(other) if atom[0] == "CA" and atom[2] == 5)
    waters = np.concatenate([around(place, row, 0, np.random.default_rng(2)) for row in (oxygen, alpha)])
    molecules = molecules_of(tmp_path / "two.pdb", {"A": chain, "B": other}, waters)
    start = molecules.position[alpha].copy()
    original = mend_module._best

    def late(*arguments: Any) -> Trial | None:
        return None if np.array_equal(molecules.position[alpha], start) else original(*arguments)

    def pose(molecules: Molecules, pair: list[int]) -> Trial | None:
        return best_pose(molecules, pair) if alpha in pair else None

    monkeypatch.setattr(mend_module, "_best", late)
    monkeypatch.setattr(mend_module, "best_pose", pose)
    outcomes = mend(molecules, overlaps_of(molecules), tails=True)
    assert [str(outcome.turned).split(" of ")[0][:4] for outcome in outcomes] == ["χ", "tail"]


@pytest.mark.slow(part="physics")
def test_tails_of_a_nucleosome(data_folder: Path) -> None:
    """Waters on backbones of 1KX5's tails (Davey et al. 2002): most give way, and nothing else changes."""
    molecules = read_structure(data_folder / "dna_nucleosome" / "1kx5.pdb").molecules
    backbone = np.flatnonzero(np.isin(molecules.role, [ROLE["N"], ROLE["CA"], ROLE["C"]])).tolist()
    tails = [atom for atom in backbone if tail_turns(molecules, atom)]
    waters = [atom for atom in range(molecules.n_atoms) if molecules.residue_label(atom).startswith("HOH")]
    mended = total = 0
    for seed in range(3):
        random = np.random.default_rng(seed)
        made = copy_of(molecules)
        for water, atom in zip(random.choice(waters, 20, replace=False), random.choice(tails, 20, replace=False)):
            step = random.normal(size=3)
            made.position[water] = molecules.position[atom] + 0.6 * step / np.linalg.norm(step)
        overlaps, after = overlaps_of(made), copy_of(made)
        outcomes = mend(after, overlaps, tails=True)
        assert check_mended(made, overlaps, after, outcomes) == 0
        mended, total = mended + sum(outcome.mended for outcome in outcomes), total + len(outcomes)
    assert mended >= 0.6 * total
