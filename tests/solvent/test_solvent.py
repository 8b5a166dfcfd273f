"""Molecules in water with ions: `--solvate` of `tessera build`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from tessera.build import streamed
from tessera.build.clashes.report import clashes_of
from tessera.build.dna.helix import build_helix, read_field
from tessera.build.dna.paths import straight
from tessera.build.dna.strand import ForceField
from tessera.build.replicate import make_whole
from tessera.build.solvent.ions import Bits
from tessera.build.solvent.room import FROM_ANY, FROM_HEAVY, FROM_IONS
from tessera.build.solvent.solute import check_solute
from tessera.build.solvent.solvated import Extent, Solvated, solvated
from tessera.build.solvent.turning import smallest_turn
from tessera.build.water import TILE_EDGE
from tessera.errors import InputError
from tessera.system import System, read, write
from tessera.system.vacuum import with_positions
from tests.support.charmm import check_energies
from tests.support.commands import facts_of, said

FILES = ("top_all36_na.rtf", "par_all36_na.prm", "toppar_water_ions.str")
SALT = 0.5  # mol/L
LIGHT = 3.5  # amu


def toppar_of(data_folder: Path) -> list[Path]:
    return [data_folder / "charmm36_toppar" / name for name in FILES]


@pytest.fixture(scope="module", name="field")
def _field(data_folder: Path) -> ForceField:
    return read_field(toppar_of(data_folder))


@pytest.fixture(scope="module", name="solute")
def _solute(field: ForceField) -> System:
    return build_helix("ACGT", straight(4, 34.0), field, "x")


@pytest.fixture(scope="module", name="wet")
def _wet(solute: System, field: ForceField) -> Solvated:
    return solvated(solute, field, SALT, Extent(7.0), seed=3)


@pytest.fixture(scope="module", name="whole")
def _whole(wet: Solvated) -> System:
    return in_memory(wet)


def in_memory(wet: Solvated) -> System:
    """Returns the system with all atoms."""
    system = replace(wet.system, fraction=np.empty((wet.n_atoms, 3), np.int32))
    parts = wet.parts(2**62)
    for part in map(parts.make, range(parts.count)):
        system.fraction[part.id] = part.fraction
    return system


def test_water_and_ions_keep_their_distances(whole: System, solute: System) -> None:
    """The box is whole tiles around the solute, and neutral; molecules are whole; the salt is that of the water."""
    edges, position, n = np.diag(whole.box), whole.positions(), solute.n_atoms
    extent = np.ptp(solute.positions(), axis=0)
    assert (edges >= extent + 14).all() and (edges < extent + 14 + TILE_EDGE).all()
    assert edges / TILE_EDGE == pytest.approx(np.rint(edges / TILE_EDGE))
    assert whole.net_charge() == pytest.approx(0, abs=1e-6)
    water, cations, anions = (int(count) for _, count in whole.runs[-3:])
    assert cations - anions == 6
    assert anions == round(SALT * 6.02214e-4 * 29.9 * (water + cations + anions))
    assert (position[:n] - solute.positions()).std(axis=0) == pytest.approx(np.zeros(3), abs=1e-5)  # one shift
    molecules, ions = position[n : n + 3 * water].reshape(-1, 3, 3), position[n + 3 * water :]
    bonds = molecules[:, 1:] - molecules[:, :1]
    assert np.linalg.norm(bonds - edges * np.rint(bonds / edges), axis=2) == pytest.approx(0.9572, abs=1e-5)

    def nearest(points: np.ndarray, others: np.ndarray, k: int = 1) -> float:
        distance, _ = cKDTree(others % edges, boxsize=edges).query(points.reshape(-1, 3) % edges, k=k)
        return float(distance.reshape(len(distance), -1)[:, -1].min())

    heavy = position[:n][solute.atom_field("mass") > LIGHT]
    assert FROM_HEAVY - 1e-5 < nearest(molecules[:, 0], heavy) < FROM_HEAVY + 0.3
    assert nearest(molecules, position[:n]) > FROM_ANY - 1e-5
    assert nearest(ions, position[:n]) > FROM_IONS - 1e-5
    assert nearest(ions, ions, k=2) > FROM_IONS - 1e-5
    assert nearest(molecules[:, 0], ions) > 2.2  # as in the liquid
    assert nearest(molecules[:, 0], molecules[:, 0], k=2) > 2.2
    assert whole.residue_numbers[-3:, 1:].tolist() == [[water, 1, 1], [cations, 1, 1], [anions, 1, 1]]


def test_a_turned_solute_needs_less_water(field: ForceField) -> None:
    """It is turned as a whole, and not mirrored; one that lies well stays as it is."""
    helix = build_helix("ACGT" * 5, straight(20, 34.0), field, "x")
    lying = helix.positions()
    aslant = Rotation.from_rotvec([0.5, 0.7, 0.2]).apply(lying)
    box = {}
    for kind, places in (("lying", lying), ("aslant", aslant)):
        for is_turned in (False, True):
            wet = solvated(with_positions(helix, places), field, 0.0, Extent(7.0, is_turned=is_turned), seed=1)
            box[kind, is_turned] = np.prod(wet.tiling.copies)
            after = (wet.resident[: len(lying)] * 2.0**-32) @ wet.system.box
            _, distance = Rotation.align_vectors(after - after.mean(axis=0), places - places.mean(axis=0))
            assert distance / np.sqrt(len(lying)) < 1e-5
            assert ("tiles of water" in wet.system.notes[-2]) == is_turned
    assert box["aslant", True] <= box["lying", False] < box["aslant", False]
    assert box["lying", True] <= box["lying", False]


@settings(max_examples=10, deadline=None)
@given(rotation=st.integers(0, 2**31), n=st.integers(1, 2000))
def test_boxes_are_found_again(rotation: int, n: int) -> None:
    """Points in a box that is turned by any rotation have a box no greater than 1.05 of that; few are as good."""
    rng = np.random.default_rng(rotation)
    points = rng.random((n, 3)) * [10.0, 30.0, 90.0]
    most = np.prod(np.ptp(points, axis=0) + 4)
    aslant = Rotation.random(random_state=rng).apply(points)
    turn = smallest_turn(aslant, 2.0, lambda size: int(1e3 * np.prod(size + 4)))
    assert turn.T @ turn == pytest.approx(np.eye(3)) and np.linalg.det(turn) == pytest.approx(1)
    assert np.prod(np.ptp(aslant @ turn, axis=0) + 4) <= 1.05 * most


@pytest.mark.slow(part="physics")
def test_energies_are_those_of_the_force_field(whole: System, data_folder: Path, tmp_path: Path) -> None:
    """Also between sodium and chloride, which have parameters of their own."""
    places = (make_whole(whole) * 2.0**-32) @ whole.box
    vacuum = with_positions(replace(whole, periodic=False), places)
    names = vacuum.force_field.type_name
    pairs = {frozenset(names[row] for row in pair) for pair in vacuum.force_field.nbfix_types.tolist()}
    assert frozenset(("SOD", "CLA")) in pairs
    write(vacuum, tmp_path / "wet.tsr")
    check_energies(tmp_path / "wet.tsr", toppar_of(data_folder))


def test_files_are_the_same_with_any_memory(
    solute: System, field: ForceField, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And those that sorting all atoms at once would give. The box is 4 tiles and 5 blocks wide, so that their faces
    differ."""
    wide = solvated(solute, field, SALT, Extent(21.0), seed=1)
    assert wide.tiling.copies == (4, 4, 4)
    write(in_memory(wide), tmp_path / "whole.tsr")
    counts = []
    for at_once, memory in ((10**9, wide.least_memory()), (2500, 2**40), (6000, 2**40), (15000, 2**40)):
        monkeypatch.setattr(streamed, "MOST_AT_ONCE", at_once)
        parts = wide.parts(memory)
        counts.append(parts.count)
        write(wide.system, tmp_path / "parts.tsr", parts)
        assert (tmp_path / "parts.tsr").read_bytes() == (tmp_path / "whole.tsr").read_bytes()
    assert counts == [25, 25, 10, 5]  # columns one by one, some of a layer, layers


def test_a_helix_is_put_into_water(data_folder: Path, tmp_path: Path) -> None:
    """By the command: the same bytes from the same seed, others from another, and no clashes."""
    (tmp_path / "dna.fa").write_text(">x\nACGT\n")
    made = []
    for name, seed, memory in (("one.tsr", "1", "2"), ("two.tsr", "1", "0.1"), ("three.tsr", "2", "2")):
        words = ["dna", tmp_path / "dna.fa", "--solvate", "--padding", "8", "--seed", seed, "--memory", memory]
        facts = facts_of("build", *words, "--toppar", *toppar_of(data_folder), "-o", tmp_path / name)
        made.append(((tmp_path / name).read_bytes(), facts))
    assert made[0][0] == made[1][0] != made[2][0]
    assert made[0][1]["net_charge"] == 0
    assert "6 SOD and 0 CLA: they neutralise -6 e, and make 0.000 mol/L of salt" in made[0][1]["notes"][-1]
    assert clashes_of(tmp_path / "one.tsr").left == 0
    assert read(tmp_path / "one.tsr").periodic


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--salt", "0.1"], "--salt is of water: add --solvate"),
        (["--padding", "9"], "--padding is of water: add --solvate"),
        (["--box", "90", "90", "90"], "--box is of water: add --solvate"),
        (["--turn"], "--turn is of water: add --solvate"),
        (["--solvate", "--turn", "--box", "90", "90", "90"], "--turn finds a small box and --box gives one"),
        (["--solvate", "--box", "90", "90", "90", "--padding", "9"], "--padding and --box both say how much water"),
        (["--solvate", "--box", "90", "20", "90"], "the box of 90 × 20 × 90 Å is too small: the molecules extend "),
        (["--solvate", "--padding", "5"], "the padding is 5 Å, expected 6 Å or more"),
        (
            ["--solvate", "--padding", "6", "--salt", "6"],
            "ions 5 Å from the molecules and from each other",
        ),
        (["--solvate", "--memory", "1e-6"], "of memory are needed, --memory allows 1e-06 GB"),
    ],
)
def test_what_can_not_be_solvated_is_refused(words: list[str], message: str, data_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "dna.fa").write_text(">x\nACGT\n")
    files = ["--toppar", *toppar_of(data_folder), "-o", tmp_path / "a.tsr"]
    assert message in said("build", "dna", tmp_path / "dna.fa", *words, *files, status=2)
    assert not (tmp_path / "a.tsr").exists()


def test_molecules_of_a_file_are_put_into_a_box(solute: System, data_folder: Path, tmp_path: Path) -> None:
    """By `tessera build solvate`, into whole tiles that are no smaller than the box that is asked for."""
    write(solute, tmp_path / "dna.tsr")
    words = ["solvate", tmp_path / "dna.tsr", "--box", "60", "40", "45", "--salt", "0.15"]
    said("build", *words, "--toppar", *toppar_of(data_folder), "-o", tmp_path / "wet.tsr")
    wet = read(tmp_path / "wet.tsr")
    assert np.diag(wet.box) / TILE_EDGE == pytest.approx([4, 3, 3])
    assert wet.net_charge() == pytest.approx(0, abs=1e-6)
    shift = wet.positions()[: solute.n_atoms] - solute.positions()
    assert shift.std(axis=0) == pytest.approx(np.zeros(3), abs=1e-5)
    assert [template.name for template in wet.templates[-3:]] == ["TIP3", "SOD", "CLA"]
    assert clashes_of(tmp_path / "wet.tsr").left == 0


def test_molecules_of_another_force_field_are_refused(field: ForceField, solute: System) -> None:
    """And those that have a box: each by what is wrong with it."""
    own, table = solute.force_field, field.parameters
    names = ["QQ", *own.type_name[1:]]
    pair = replace(own, nbfix_types=np.array([[0, 1]], np.int32), nbfix_lj=np.array([[3.0, 0.1]]))
    cases = [
        (replace(solute, periodic=True), "has a box of .* Å already, expected molecules without a box"),
        (replace(solute, lj_rule="geometric"), "the combination rule 'geometric', expected '.*', that of the files"),
        (replace(solute, force_field=replace(own, type_name=names)), "of the type QQ, which none of the files"),
        (replace(solute, force_field=replace(own, type_lj=own.type_lj * 1.01)), "kcal/mol for the type .*, the files"),
        (replace(solute, force_field=pair), "have σ = 3 Å and ε = 0.1 kcal/mol by NBFIX in .* no NBFIX"),
        (replace(solute, force_field=replace(own, nbfix_ab=np.zeros((0, 2)))), "not of Lennard-Jones"),
    ]
    for system, message in cases:
        with pytest.raises(InputError, match=message):
            check_solute(Path("dna.tsr"), system, table)
    check_solute(Path("dna.tsr"), solute, table)


def test_water_that_is_missing_or_another_one_is_named(solute: System, data_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the residue TIP3 \(RESI TIP3\) is in none of the topologies given"):
        solvated(solute, read_field(toppar_of(data_folder)[:2]), SALT, Extent(12.0), 1)
    text = toppar_of(data_folder)[2].read_text()
    assert "104.52" in text
    (tmp_path / "other.str").write_text(text.replace("104.52", "109.47"))
    with pytest.raises(InputError, match=r"other.str:\d+: TIP3 has the distances .* expected those of TIP3P, 0.9572"):
        solvated(solute, read_field([*toppar_of(data_folder)[:2], tmp_path / "other.str"]), SALT, Extent(12.0), 1)


@given(arrays.arrays(np.bool_, st.tuples(st.integers(1, 6), st.just(27))))
def test_bits_are_found_by_number(is_set: np.ndarray) -> None:
    bits = Bits(np.packbits(is_set, axis=1), 27)
    rows, columns = np.nonzero(is_set)
    assert bits.total == len(rows)
    found = bits.find(np.arange(len(rows)))
    assert found[0].tolist() == rows.tolist()
    assert found[1].tolist() == columns.tolist()
    assert bits.number(rows, columns).tolist() == list(range(len(rows)))
