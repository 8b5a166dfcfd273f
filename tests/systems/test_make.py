"""Tests systems that are made without input files, and copies of systems."""

from pathlib import Path

import numpy as np
import pytest

from tessera.build import water
from tessera.build.lattice import brick_of_sites, cube_edge
from tessera.build.nacl import LATTICE, TOSI_FUMI, make_nacl
from tessera.build.replicate import make_whole, replicate
from tessera.build.water import make_water
from tessera.errors import InputError
from tessera.prepare.dlpoly import prepare_dlpoly
from tests.support.inputs import alanine_tripeptide, dhfr
from tests.support.oracle import Settings, pairs_within, reference_energies
from tests.support.samples import changed


@pytest.mark.parametrize("atoms", [24, 27, 100, 999, 3000, 24000])
def test_water_has_its_density_and_its_shape(atoms: int) -> None:
    system = make_water(atoms)
    assert system.n_atoms == 3 * round(atoms / 3)
    grams = system.atom_field("mass").sum() / np.linalg.det(system.box) / 0.602214076
    assert grams == pytest.approx(0.997, rel=1e-9)
    atoms_of = (make_whole(system) * 2.0**-32 @ system.box).reshape(-1, 3, 3)
    assert np.allclose(np.linalg.norm(atoms_of[:, 1] - atoms_of[:, 0], axis=1), 0.9572, atol=1e-6)
    assert np.allclose(np.linalg.norm(atoms_of[:, 2] - atoms_of[:, 1], axis=1), 1.5139, atol=1e-6)
    assert system.templates[0].settle == (0.9572, 1.5139)


def test_water_that_is_too_little_for_a_tile_stands_on_a_lattice() -> None:
    _, distance = pairs_within(make_water(300), 1.5)
    assert len(distance) == 0 or distance.min() > 0.9


def test_water_is_drawn_by_its_seed() -> None:
    for atoms in (300, 648, 3000):
        assert np.array_equal(make_water(atoms, seed=5).fraction, make_water(atoms, seed=5).fraction)
        assert not np.array_equal(make_water(atoms, seed=5).fraction, make_water(atoms, seed=6).fraction)


@pytest.mark.parametrize("atoms", [648, 651, 750, 3000, 5184])
def test_water_starts_with_the_energy_of_the_liquid(atoms: int) -> None:
    """The energy is −9.7 kcal/mol a molecule. A deviation of 0.02 kcal/mol changes the temperature of a run at constant
    energy by 1 K."""
    settings = Settings(cutoff=9, switch=8, alpha=0.35, grid=(48, 48, 48))
    found = reference_energies(make_water(atoms), settings, terms=("lj", "coulomb"))
    assert found["total"] / (atoms / 3) == pytest.approx(-9.72, abs=0.35)


def test_the_tile_is_that_of_its_script() -> None:
    atoms = water.tile()
    assert atoms.shape == (216, 3, 3)
    assert np.allclose(atoms, water.rigid(atoms), atol=1e-12)
    assert len({tuple(row) for row in np.round(atoms[:, 0], 3)}) == 216


def test_seams_keep_what_lies_far_from_them() -> None:
    """In a box that is a little longer than whole tiles, the liquid in the middle is unchanged."""
    whole, longer = (make_water(3 * n).positions().reshape(-1, 3, 3) for n in (8 * 216, 8 * 216 + 40))
    same = [np.abs(longer[:, 0] - oxygen).max(axis=1).min() < 1e-4 for oxygen in whole[:, 0]]
    assert 0.3 < np.mean(same) < 0.9


def test_bricks_hold_what_they_must() -> None:
    for count in range(8, 400):
        brick = brick_of_sites(count, 0.15)
        assert np.prod(brick) >= count
        assert cube_edge(count) ** 3 >= count > (cube_edge(count) - 1) ** 3
    assert brick_of_sites(8000, 0.15) == (20, 20, 20)


def test_nacl_has_the_madelung_energy() -> None:
    system = make_nacl(512)
    assert system.n_atoms == 512 and abs(system.net_charge()) < 1e-12
    settings = Settings(cutoff=11, switch=10, lj="cut", alpha=0.35, grid=(72, 72, 72))
    found = reference_energies(system, settings, terms=("coulomb",))["coulomb"]
    expected = -1.747564594633 * 332.0716 / (LATTICE / 2) * 256
    assert found == pytest.approx(expected, rel=1e-5)


def test_nacl_may_have_the_potential_of_dl_poly(tmp_path: Path) -> None:
    """The parameters are those that `prepare dlpoly` reads from the FIELD of DL_POLY's benchmark."""
    field = ["salt", "units internal", "molecules 1", "salt", "nummols 1", "atoms 2", "Na+ 22.9898 1", "Cl- 35.453 -1"]
    (tmp_path / "FIELD").write_text("\n".join([*field, "finish", "vdw 3", *TOSI_FUMI, "close"]))
    (tmp_path / "CONFIG").write_text("salt\n0 1\n9 0 0\n0 9 0\n0 0 9\nNa+\n0 0 0\nCl-\n0 0 3\n")
    read, made = prepare_dlpoly(tmp_path / "FIELD", tmp_path / "CONFIG"), make_nacl(64, "dlpoly")
    assert (made.n_atoms, made.coulomb_constant) == (64, read.coulomb_constant) and made.lennard_jones.tail
    for field_of in ("type_name", "pair_types", "pair_kind", "pair_parameter"):
        np.testing.assert_array_equal(getattr(made.force_field, field_of), getattr(read.force_field, field_of))
    for one, other in zip(made.templates, read.templates, strict=True):
        for name in ("atom_name", "charge", "mass", "atomic_number"):
            np.testing.assert_array_equal(getattr(one, name).astype("S8"), getattr(other, name).astype("S8"))
    assert make_nacl(64).force_field.type_name == ["SOD", "CLA"]


def test_replicate_repeats_energies_and_no_terms() -> None:
    system = changed("peptide")
    (_, waters) = system.runs[:, 1]
    twice = replicate(system, (1, 2, 1))
    assert twice.n_atoms == 2 * system.n_atoms
    assert twice.runs.tolist() == [[0, 2], [1, 2 * waters]]
    assert twice.templates is system.templates
    terms = ("bond", "angle", "urey_bradley", "dihedral", "improper")
    one, two = (reference_energies(s, Settings(cutoff=9, switch=8), terms) for s in (system, twice))
    for term in terms:
        assert two[term] == pytest.approx(2 * one[term], rel=1e-6)


def test_replicate_keeps_molecules_in_one_piece() -> None:
    system = replicate(make_water(3000), (2, 2, 2))
    whole = make_whole(system) * 2.0**-32 @ system.box
    atoms = whole.reshape(-1, 3, 3)
    assert np.allclose(np.linalg.norm(atoms[:, 1] - atoms[:, 0], axis=1), 0.9572, atol=1e-6)
    _, distance = pairs_within(system, 1.5)
    _, expected = pairs_within(make_water(3000), 1.5)
    assert len(distance) == 8 * len(expected)


def test_replicate_refuses_what_it_cannot() -> None:
    with pytest.raises(InputError, match="without a periodic box"):
        replicate(alanine_tripeptide(), (2, 1, 1))
    with pytest.raises(InputError, match="at least 1"):
        replicate(dhfr(), (0, 1, 1))
    with pytest.raises(InputError, match="at least 24 atoms"):
        make_water(6)
    with pytest.raises(InputError, match="8 ions"):
        make_nacl(2)
