"""Turns mend what they can, make no clash and leave lengths, angles, planes and handedness as they were."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from tessera.build.clashes.files import read_structure
from tessera.build.clashes.find import overlaps_of
from tessera.build.clashes.mend import mend
from tessera.build.clashes.molecules import Molecules
from tessera.build.clashes.moves import describe
from tessera.build.clashes.trials import rotated
from tests.clashes.injected import SEEDS, Injector, all_turns, check_mended, copy_of, few, repeated


def mended(molecules: Molecules, seed: int, count: int, apart: float = 25.0) -> tuple[int, int, int]:
    """Makes clashes and mends them. Returns how many there were, how many are left, and how many of these one turn
    could mend."""
    made, _ = Injector(molecules, seed, apart).put(count, 60 * count)
    overlaps = overlaps_of(made)
    after = copy_of(made)
    outcomes = mend(after, overlaps)
    missed = check_mended(made, overlaps, after, outcomes)
    return len(overlaps), sum(not outcome.mended for outcome in outcomes), missed


@few(3)
@given(seed=SEEDS)
def test_side_chains_of_a_protein_in_water(protein: Molecules, seed: int) -> None:
    found, left, missed = mended(protein, seed, 4)
    assert (missed, left <= found // 2) == (0, True)


@few(3)
@given(seed=SEEDS)
def test_phosphates_of_a_helix(helix: Molecules, seed: int) -> None:
    found, left, missed = mended(helix, seed, 2)
    assert found
    assert (missed, left) == (0, 0)


def test_groups_turn_as_a_right_hand() -> None:
    place = rotated(np.array([[1.0, 0.0, 5.0]]), np.zeros(3), np.array([0.0, 0.0, 1.0]), np.array([90.0]))
    assert place[0] == pytest.approx(np.array([[0.0, 1.0, 5.0]]))


def test_what_may_turn(protein: Molecules, helix: Molecules) -> None:
    """χ: all residues but glycine and proline; φ: all phosphates between two sugars."""
    names = {protein.residue_label(int(turn.axis[0])).split()[0] for turn in all_turns(protein)}
    assert {"ALA", "LYS", "TRP", "HSD"} <= names
    assert not names & {"GLY", "PRO"}
    assert len(all_turns(helix)) == 2 * 17
    assert {len(turn.turned) for turn in all_turns(helix)} == {4}
    for turn in all_turns(helix):
        assert describe(helix, turn) == f"φ of {helix.residue_label(int(turn.turned[0]))}"


def test_a_disulfide_does_not_turn(tmp_path: Path) -> None:
    atoms = [("N", -1.2, 0.0), ("CA", 0.0, 0.8), ("C", 1.2, 0.0), ("CB", 0.0, 2.3), ("SG", 1.5, 3.2)]
    for gap, turns in ((2.05, 0), (4.0, 2)):
        lines = [
            f"ATOM  {1:5d}  {name:<3} CYS {chain}   1    {x:8.3f}{sign * y:8.3f}{0:8.3f}"
            for chain, sign, shift in (("A", 1, 0.0), ("B", -1, 6.4 + gap))
            for name, x, y in [(name, x, y - shift if sign < 0 else y) for name, x, y in atoms]
        ]
        (tmp_path / "two.pdb").write_text("\n".join(lines))
        assert len(all_turns(read_structure(tmp_path / "two.pdb").molecules)) == turns


def test_no_clash_is_made_for_two_that_go(tmp_path: Path) -> None:
    """Waters stand where two hydrogens of a methyl group are, and where every turn that frees these brings one: nothing
    may turn."""

    def around(degrees: float) -> tuple[float, float, float]:
        angle = np.radians(degrees)
        return float(1.03 * np.cos(angle)), float(1.03 * np.sin(angle)), 1.9

    alanine = [("N", (-1.4, 0.0, -0.5)), ("CA", (0.0, 0.0, 0.0)), ("C", (0.7, 1.2, -0.5)), ("CB", (0.0, 0.0, 1.53))]
    alanine += [(f"HB{k + 1}", around(120.0 * k)) for k in range(3)]
    atoms = [(name, "ALA A   1", place) for name, place in alanine]
    atoms += [("O", f"HOH W   {k + 1}", around(angle)) for k, angle in enumerate((0.0, 120.0, 180.0))]
    lines = [f"ATOM  {1:5d}  {name:<3} {residue}    {x:8.3f}{y:8.3f}{z:8.3f}" for name, residue, (x, y, z) in atoms]
    (tmp_path / "methyl.pdb").write_text("\n".join(lines))
    molecules = read_structure(tmp_path / "methyl.pdb").molecules
    before, overlaps = molecules.position.copy(), overlaps_of(molecules)
    assert len(overlaps) == 2
    assert not any(outcome.mended for outcome in mend(molecules, overlaps))
    assert np.array_equal(molecules.position, before)
    molecules.position[-1] += 9.0
    assert all(outcome.mended for outcome in mend(molecules, overlaps))


@pytest.mark.slow(part="physics")
def test_a_thousand_clashes_of_a_nucleosome(data_folder: Path) -> None:
    """99 % of what a turn can mend is mended, and nothing made (1KX5, Davey et al. 2002)."""
    molecules = read_structure(data_folder / "dna_nucleosome" / "1kx5.pdb").molecules
    total = missed = seed = 0
    while total < 1000:
        found, _, still = mended(molecules, seed, 40)
        total, missed, seed = total + found, missed + still, seed + 1
    assert missed <= 0.01 * total


@pytest.mark.slow(part="physics")
def test_ten_thousand_clashes(data_folder: Path) -> None:
    """Says how long it takes; the clashes are those of copies of a nucleosome that lie apart."""
    molecules = read_structure(data_folder / "dna_nucleosome" / "1kx5.pdb").molecules
    made, _ = Injector(molecules, 0).put(50)
    each = len(overlaps_of(made))
    many = repeated(made, 10_000 // each + 1)
    overlaps = overlaps_of(many)
    assert len(overlaps) >= 10_000
    started = time.perf_counter()
    outcomes = mend(many, overlaps)
    print(f"{len(overlaps):,} clashes in {many.n_atoms:,} atoms: {time.perf_counter() - started:.1f} s")
    assert sum(outcome.mended for outcome in outcomes) >= 0.9 * len(outcomes)
