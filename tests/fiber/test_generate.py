"""Fibres that are generated: what the model is made of, and that what comes out can be built."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from tessera.build.clashes.knots import determinant_of_open
from tessera.build.dna.frames import Frames
from tessera.build.dna.rods import rod
from tessera.build.fiber import core, salt
from tessera.build.fiber.generate import Request, even_linkers, generate, table_text
from tessera.build.fiber.guide import lanes
from tessera.build.fiber.join import check_linker
from tessera.build.fiber.mesoscale import BEAD, springs
from tessera.build.fiber.table import Nucleosomes, read_table
from tessera.errors import InputError
from tests.fiber.charges import fewer_charges
from tests.fiber.crystal import STRUCTURE, crystal
from tests.support.commands import facts_of, said


@pytest.mark.parametrize(("molar", "charge"), [(0.01, 0.243), (0.1, 0.608)])
def test_dna_has_the_effective_charge_of_stigter(molar: float, charge: float) -> None:
    """Stigter's table has three digits."""
    assert salt.line_charge(molar) == pytest.approx(charge, rel=0.01)


def test_charges_on_a_surface_are_seen_in_part() -> None:
    parts = [salt.renormalised(molar) for molar in (0.001, 0.01, 0.1, 0.2)]
    assert parts == sorted(parts)
    assert 0 < parts[0] < 0.4 < parts[-1] <= 1
    assert salt.kappa(0.1) == pytest.approx(1 / 9.6, rel=0.01)  # the Debye length in 0.1 mol/L, Å


def test_linkers_are_what_a_sequence_leaves() -> None:
    gata4 = even_linkers(427, 147, 83_000)
    assert (gata4.count(48), gata4.count(47), sum(gata4)) == (209, 217, 20_231)
    assert even_linkers(1, 147, 147) == ()
    for count, length in ((1, 148), (2, 294), (3, 442)):
        with pytest.raises(InputError, match="base pairs"):
            even_linkers(count, 147, length)


def test_lanes_have_no_knot_and_stay_inside() -> None:
    for count, radius in ((427, 900.0), (60, 400.0), (5, 200.0)):
        places = lanes(count, radius)
        assert np.linalg.norm(places, axis=1).max() <= radius + 1e-9
        assert determinant_of_open(places + 1e-3 * np.sin(np.arange(3 * count)).reshape(-1, 3)) == 1
    assert lanes(1, 10.0) == pytest.approx(np.zeros((1, 3)))


def test_springs_are_those_of_a_beam() -> None:
    """Halves in a row give way to a force as the whole, and bend and twist as it does."""
    (whole,), (half,) = springs(np.array([BEAD])), springs(np.array([BEAD / 2]))
    for column in (2, 3, 4):
        assert 1 / whole[column] == pytest.approx(2 / half[column])
    # the middle of a beam that is pushed aside turns, which adds l³/16P to what its halves give way
    assert 1 / whole[1] == pytest.approx(2 / half[1] + BEAD**3 / (16 * 500.0))


@pytest.mark.skipif(not STRUCTURE.is_file(), reason="TESSERA_DATA has no 1KX5")
def test_the_core_is_that_of_1kx5() -> None:
    """The tables that Tessera has are made of the structure in this way."""
    found, kept = crystal(), core.wrapped()
    assert found.pairs.origin == pytest.approx(kept.origin, abs=0.05)
    rows = np.flatnonzero(found.charge)
    expected = fewer_charges(np.column_stack([found.place[rows], found.charge[rows]]), 300)
    made = core.core(0.2)
    assert made.charges[:, :3] == pytest.approx(expected[:, :3], abs=0.006)
    assert made.charges[:, 3] == pytest.approx(expected[:, 3] * salt.renormalised(0.2), abs=1e-9)
    spheres = core.spheres_of(found.place[found.is_protein])
    assert made.spheres[-len(spheres) :] == pytest.approx(spheres, abs=0.006)


def test_fewer_charges_have_the_same_sum() -> None:
    many = np.random.default_rng(1).normal(size=(500, 4)) * [20, 20, 20, 1]
    few = fewer_charges(many, 100)
    assert len(few) <= 100
    for sign in (-1, 1):
        assert few[few[:, 3] * sign > 0, 3].sum() == pytest.approx(many[many[:, 3] * sign > 0, 3].sum())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("x,y,z\n1,2,3\n", "expected the columns"),
        ("# salt: 0.15\nx,y,z,charge\n", "has no charge"),
        ("# salt: 150 mM\nx,y,z,charge\n1,2,3,4\n", "line 1: salt is '150 mM', expected mol/L"),
        ("# of 1KX5\n# salt: 0.1 mol/L\nx,y,z,charge\n1,2,3,4\n", "line 2: .*0.1 mol/L .* --ionic-strength is 0.15"),
        ("# salt: 0.15\nx,y,z,charge\n1,2,3\n", "line 3"),
        ("x,y,z,charge\n1,2,3,4\n1,2,nan,4\n", "line 3"),
        ("x,y,z,charge\n1,2,3,1_0\n", "line 2"),
        ("x,y,z,charge\n1,2,3000,4\n", "line 2"),
    ],
)
def test_charges_that_are_not_understood_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "charges.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        core.read_charges(file, 0.15)


def test_charges_are_read_by_the_names_of_columns(tmp_path: Path) -> None:
    file = tmp_path / "charges.csv"
    file.write_text("# salt: 0.15\ncharge,x,y,z\n-1.5,10,20,30\n")
    assert core.read_charges(file, 0.15) == pytest.approx(np.array([[10, 20, 30, -1.5]]))


@pytest.mark.parametrize("head", ["", "# salt: 0.15\n", "# salt: 0.15 mol/L\n", '# a "quote\n# source: by hand\n'])
def test_charges_are_taken_in_their_salt(tmp_path: Path, head: str) -> None:
    file = tmp_path / "charges.csv"
    file.write_text(head + "x,y,z,charge\n10,20,30,-1.5\n")
    assert core.read_charges(file, 0.15) == pytest.approx(np.array([[10, 20, 30, -1.5]]))


LINKERS = (48, 40)  # of three nucleosomes

RADIUS = 230.0


@cache
def made() -> Nucleosomes:
    return generate(Request(LINKERS, 0.15, RADIUS, 10, 3), core.core(0.15)).fiber


def test_a_fibre_can_be_built_and_keeps_apart() -> None:
    """The frames are rotations; all linkers pass; cores are inside and their spheres do not overlap."""
    fiber, own = made(), core.core(0.15)
    assert fiber.linkers == list(LINKERS)
    turned = fiber.frames.rotation.swapaxes(1, 2) @ fiber.frames.rotation
    assert turned == pytest.approx(np.broadcast_to(np.eye(3), turned.shape), abs=1e-9)
    for at, n in enumerate(LINKERS):
        ends = [
            Frames(frame.origin + frame.rotation @ pair.origin, frame.rotation @ pair.rotation)
            for frame, pair in ((fiber.frames[at], own.pairs[-1]), (fiber.frames[at + 1], own.pairs[0]))
        ]
        check_linker(rod(ends[0], ends[1], n), n, "here")
    spheres = fiber.frames.placed(own.spheres)
    for one in range(3):
        for other in range(one):
            nearest = cKDTree(spheres[one]).query(spheres[other])[0].min()
            assert nearest >= core.DIAMETER - 1e-6
    assert np.linalg.norm(spheres, axis=2).max() <= RADIUS - core.DIAMETER / 2 + 1e-6


def test_the_seed_decides() -> None:
    again = generate(Request(LINKERS, 0.15, RADIUS, 10, 3), core.core(0.15)).fiber
    assert np.array_equal(again.frames.origin, made().frames.origin)
    other = generate(Request(LINKERS, 0.15, RADIUS, 10, 4), core.core(0.15)).fiber
    assert not np.allclose(other.frames.origin, made().frames.origin)


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "fibre.csv"
    file.write_text(table_text(made(), ["made by a test"]))
    table = read_table(file)
    assert table.linkers == list(LINKERS)
    assert table.frames.origin == pytest.approx(made().frames.origin, abs=1e-4)
    assert table.frames.rotation == pytest.approx(made().frames.rotation, abs=1e-6)


def test_a_sphere_that_is_too_small_is_refused() -> None:
    with pytest.raises(InputError, match="larger --radius"):
        generate(Request((20, 20), 0.15, 70.0, 20, 1), core.core(0.15))


def test_the_command_writes_a_table(tmp_path: Path) -> None:
    file = tmp_path / "fibre.csv"
    arguments = ["--generate", "2", "--linker", "40", "--sweeps", "5", "-o", file]
    assert facts_of("build", "fiber", *arguments)["nucleosomes"] == 2
    assert read_table(file).linkers == [40]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "fibre.tsr"], "--sequence, --octamer and --toppar"),
        (["-o", "fibre.csv"], "--generate N"),
        (["--generate", "2", "-o", "fibre.csv"], "--linker BP or --sequence"),
        (["table.csv", "--generate", "2", "-o", "fibre.csv"], "expected a system file"),
    ],
)
def test_what_the_command_lacks_is_named(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in " ".join(said("build", "fiber", *arguments, status=2).split())
