"""Molecules that are divided into units are the same ones when they are put together."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.common.polymer import make_polymer
from tessera.build.replicate import copies_of
from tessera.system import TERM_ATOMS, System, Template, Terms, VirtualSites, layout, read, units, write
from tessera.system.layout import joined

PER_ATOM = ("atom_name", "type", "charge", "mass", "atomic_number", "residue", "group")
PER_RESIDUE = ("residue_name", "segment_name", "residue_number")


@st.composite
def molecules(draw: st.DrawFn) -> Template:
    """Residues of few kinds, hydrogen groups, some with virtual sites, and terms of all kinds between any atoms."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = rng.integers(1, 4, draw(st.integers(1, 12)))
    n, residue = int(sizes.sum()), np.repeat(np.arange(len(sizes)), sizes)
    first = np.append(0, np.cumsum(sizes))[:-1]
    group = np.where(rng.random(n) < 0.5, first[residue], np.arange(n))
    if draw(st.booleans()):  # a group of several residues
        last = int(rng.integers(0, n))
        group[last] = group[int(rng.integers(0, n))]
    within = np.repeat(np.arange(n), 1) - first[residue]
    site = np.flatnonzero((group != np.arange(n)) & (rng.random(n) < 0.5) & ~np.isin(np.arange(n), group))
    mass = 10.0 + within
    mass[site] = 0
    reach = draw(st.sampled_from([3, n]))
    terms = {}
    for kind, arity in TERM_ATOMS.items():
        key = rng.integers(0, n, (int(rng.integers(0, 2 * n)), 1))
        atoms = np.clip(key + rng.integers(-reach, reach + 1, (len(key), arity)), 0, n - 1)
        terms[kind] = Terms(atoms.astype(np.int32), rng.integers(0, 3, len(key)).astype(np.int32))
    pairs = np.argwhere(np.triu(rng.random((n, n)) < 0.3, 1)).astype(np.int32)
    return Template(
        name="M",
        atom_name=np.array([f"A{w}" for w in within]),
        type=within.astype(np.int32),
        charge=within * 0.1,
        mass=mass,
        atomic_number=rng.choice([1, 6], n).astype(np.int32),
        residue=residue.astype(np.int32),
        residue_name=np.array([f"R{size}" for size in sizes]),
        segment_name=np.full(len(sizes), "S"),
        residue_number=np.cumsum(rng.integers(1, 3, len(sizes))).astype(np.int32),
        group=group.astype(np.int32),
        terms=terms,
        exclusions=pairs,
        always_rigid=draw(st.booleans()),
        insertion=rng.choice(["", "A"], len(sizes)) if draw(st.booleans()) else np.zeros(0, "U1"),
        virtual_sites=VirtualSites(
            atom=site.astype(np.int32),
            frame=np.zeros(len(site), np.int32),
            position=np.zeros((len(site), 3)),
            parents=np.stack([np.arange(len(site)), group[site]], axis=1).astype(np.int32),
            weights=np.tile([1.0, 0, 0], (len(site), 1)),
        ),
    )


def assert_same(one: Template, other: Template) -> None:
    """Checks that all is equal; the terms of one key atom are in the same order."""
    for name in (*PER_ATOM, *PER_RESIDUE):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    for kind in TERM_ATOMS:
        rows = []
        for template in (one, other):
            terms = template.term(kind)
            order = np.argsort(terms.atoms[:, units.KEY_COLUMN[kind]], kind="stable")
            rows.append(np.column_stack([terms.atoms, terms.parameter])[order])
        assert np.array_equal(rows[0], rows[1]), kind
    assert {tuple(p) for p in one.exclusions.tolist()} == {tuple(p) for p in other.exclusions.tolist()}
    assert len(one.exclusions) == len(other.exclusions)
    assert one.virtual_sites == other.virtual_sites
    assert one.always_rigid == other.always_rigid
    assert np.array_equal(one.insertion_codes, other.insertion_codes)


@settings(deadline=None, max_examples=60)
@given(molecule=molecules())
def test_units_make_the_molecule_again(molecule: Template) -> None:
    found = units.Units()
    chain = units.split(molecule, found)
    assert chain is not None and len(set(found.index_of)) == len(found.units)
    assert_same(units.join(chain, found.units), molecule)
    for unit in found.units:
        assert unit.group.min() >= 0 and unit.group.max() < unit.n_atoms  # groups are whole
        for kind in TERM_ATOMS:
            key = unit.term(kind).atoms[:, units.KEY_COLUMN[kind]]
            assert ((key >= 0) & (key < unit.n_atoms)).all()


def test_no_more_than_asked_for() -> None:
    found = units.Units()
    molecule = make_polymer([50]).templates[1]
    assert units.split(molecule, found, most_bytes=1000) is None and not found.units


@pytest.fixture(scope="module")
def polymer() -> System:
    return make_polymer([1500, 4, 1200], ions=3)


def test_file_holds_units(polymer: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also beside small molecules and numbers of residues."""
    monkeypatch.setattr(layout, "LEAST_BYTES", 100_000)
    polymer.residue_numbers = np.array([[0, 3, 7, 1], [4, 5, 20, 2], [12, 3, 1, 1]])
    write(polymer, tmp_path / "a.tsr")
    write(polymer, tmp_path / "whole.tsr", whole=True)
    with h5py.File(tmp_path / "a.tsr") as file, h5py.File(tmp_path / "whole.tsr") as other:
        assert file.attrs["version"] == 3 and other.attrs["version"] == 2
        assert len(file["instances/chains"]) == 2
        assert len(file["templates"]) < 4**3 + 20
    again, whole = joined(read(tmp_path / "a.tsr")), read(tmp_path / "whole.tsr")
    order = [0, 2, 1, 3]  # chains stand behind the other templates
    assert [t.name for t in again.templates] == ["ION", "CHAIN1", "CHAIN0", "CHAIN2"]
    for one, index in zip(again.templates, order, strict=True):
        assert_same(one, whole.templates[index])
    assert np.array_equal(np.array(order)[again.runs[:, 0]], whole.runs[:, 0])
    assert np.array_equal(again.runs[:, 1], whole.runs[:, 1])
    assert np.array_equal(again.residue_numbers, whole.residue_numbers)
    assert np.array_equal(again.fraction, whole.fraction)


def test_copies_share_their_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies side by side are chains of the same units, and one template when they are read."""
    monkeypatch.setattr(layout, "LEAST_BYTES", 100_000)
    polymer = make_polymer([1500], ions=3)
    write(polymer, tmp_path / "one.tsr")
    copies = copies_of(read(tmp_path / "one.tsr"), (2, 1, 2))
    write(copies.system, tmp_path / "four.tsr", copies.parts(2**62))
    write(copies.in_memory(), tmp_path / "whole.tsr", whole=True)
    with h5py.File(tmp_path / "one.tsr") as one, h5py.File(tmp_path / "four.tsr") as four:
        assert len(four["instances/chains"]) == 4
        assert len(four["templates"]) == len(one["templates"])
    again, whole = joined(read(tmp_path / "four.tsr")), read(tmp_path / "whole.tsr")
    assert len(again.templates) == len(whole.templates) == 2
    names = [template.name for template in whole.templates]
    for template in again.templates:
        assert_same(template, whole.templates[names.index(template.name)])
    assert np.array_equal(again.runs[:, 1], whole.runs[:, 1])
    assert np.array_equal(again.fraction, whole.fraction)


def test_copies_keep_their_residue_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "LEAST_BYTES", 100_000)
    system = copies_of(make_polymer([1500]), (3, 1, 1)).in_memory()
    system.residue_numbers = np.array([[0, 3, 1, 1500]])
    write(system, tmp_path / "a.tsr")
    again = joined(read(tmp_path / "a.tsr"))
    assert again.runs[:, 1].tolist() == [3]
    found = {
        first + i: number + i * step for first, n, number, step in again.residue_numbers.tolist() for i in range(n)
    }
    assert found == {0: 1, 1: 1501, 2: 3001}
