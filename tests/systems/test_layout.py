"""Systems that are made of units and chains are those of the same molecules as wholes, and names are by instance."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.common.polymer import chain as polymer_chain
from bench.common.polymer import make_polymer
from tessera.build.replicate import copies_of
from tessera.errors import InputError
from tessera.export.mmcif import write_mmcif
from tessera.export.structure import Structure, structure_of, terms
from tessera.system import TERM_ATOMS, System, Terms, read, units, write
from tessera.system.layout import Layout, joined
from tessera.system.validate import check_system
from tests.support.runs import Runs, Settings
from tests.systems.test_runs_of_units import RUN
from tests.systems.test_units import assert_same

NAMES = st.one_of(st.none(), st.sampled_from(["DNA1", "H3A"]))


def in_units(whole: System, segments: list[str | None]) -> System:
    """Returns a polymer with its chains in units, of which some are in segments of their own."""
    found, layout, name = units.Units(), Layout(), iter(segments)
    for template, count in whole.runs.tolist():
        segment = next(name, None)
        if template == 0:
            layout.add([(0, count)], segments=[] if segment is None else [(0, count, segment)])
        else:
            chain = units.split(whole.templates[template], found)
            assert chain is not None
            layout.add_chain(chain, 1, segment)
    return layout.of(whole, [whole.templates[0], *found.units])


def sorted_rows(rows: np.ndarray) -> list[list[int]]:
    return sorted(rows.tolist())


def assert_same_structure(one: Structure, other: Structure) -> None:
    for name in ("name", "type", "charge", "mass", "residue", "residue_name", "residue_number", "segment", "chain"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert np.array_equal(one.position, other.position)


@settings(deadline=None, max_examples=12)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    ions=st.integers(0, 2),
    segments=st.lists(NAMES, max_size=7),
    seed=st.integers(0, 99),
)
def test_units_are_the_molecules(
    lengths: list[int], ions: int, segments: list[str | None], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("layout") / "a.tsr"
    whole = make_polymer(lengths, ions, seed)
    made = in_units(whole, segments)
    write(made, path)
    with h5py.File(path) as file:
        assert file.attrs["version"] == (4 if len(made.segments) else 3)
    again = read(path)
    for name in ("runs", "chains", "residue_numbers", "segments", "fraction"):
        assert np.array_equal(getattr(again, name), getattr(made, name)), name
    assert again.chain_name == made.chain_name and again.segment_name == made.segment_name
    assert np.array_equal(again.molecule_starts(), whole.molecule_starts())
    for index, starts in enumerate(again.starts()):
        assert np.array_equal(again.starts_of(index), starts)
    assert again.n_molecules == whole.n_molecules and again.term_counts() == whole.term_counts()
    for kind in TERM_ATOMS:
        rows = [np.column_stack(system.expand(kind)) for system in (again, whole)]
        assert sorted_rows(rows[0]) == sorted_rows(rows[1]), kind
    assert sorted_rows(again.expand_exclusions()) == sorted_rows(whole.expand_exclusions())
    # The molecules as wholes, with their segments, are what the units show, and so are copies of them.
    put_together = joined(again)
    for run, (template, _) in enumerate(put_together.runs.tolist()):
        assert_same(put_together.templates[template], whole.templates[int(whole.runs[run, 0])])
    assert_same_structure(structure_of(again, ""), structure_of(put_together, ""))
    bonds = [terms(system, np.arange(system.n_atoms))["bond"] for system in (again, whole)]
    assert sorted_rows(bonds[0]) == sorted_rows(bonds[1])
    copies = [copies_of(system, (1, 2, 1)).in_memory() for system in (again, put_together)]
    assert np.array_equal(copies[0].fraction, copies[1].fraction)
    assert structure_of(copies[0], "").segment.tolist() == structure_of(copies[1], "").segment.tolist()
    assert len(copies[0].chains) == 2 * len(again.chains)


def test_segments_by_instance_are_shown(tmp_path: Path) -> None:
    """Of ions in one run, of a chain, and as prepared; a file without such names is as before."""
    whole = make_polymer([3], ions=4)
    write(whole, tmp_path / "plain.tsr")
    with h5py.File(tmp_path / "plain.tsr") as file:
        assert file.attrs["version"] == 2
    whole.segments, whole.segment_name = np.array([[1, 2, 1], [4, 1, 0]]), ["LONG-NAME-1", "B"]
    write(whole, tmp_path / "a.tsr")
    again = read(tmp_path / "a.tsr")
    found = structure_of(again, "").segment.tolist()
    assert found == ["IONS"] + ["B"] * 2 + ["IONS"] + ["LONG-NAME-1"] * 3 + ["IONS"] * 4


def test_many_molecules_of_one_kind_have_names_of_their_own(tmp_path: Path) -> None:
    """Thousands of chains in mmCIF, in few bytes of the system file."""
    whole = make_polymer([1], ions=3500)
    whole.segments = np.array([[i, 1, i] for i in range(3500)])
    whole.segment_name = [f"H3A{i}" for i in range(3500)]
    write(whole, tmp_path / "a.tsr")
    assert (tmp_path / "a.tsr").stat().st_size < 600_000
    found = structure_of(read(tmp_path / "a.tsr"), "")
    assert found.segment[:3500].tolist() == whole.segment_name
    write_mmcif(found, tmp_path / "a.cif")
    file = pytest.importorskip("openmm.app").PDBxFile(str(tmp_path / "a.cif"))
    assert [one.id for one in file.topology.chains()] == [*whole.segment_name, "CHAIN0", "IONS"]


def test_a_chain_of_any_length_from_a_short_one() -> None:
    """Its residues are those of a molecule in which each kind stands between all others."""
    short = [0, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1, 0, 0]
    found = units.Units()
    sample = units.split(polymer_chain(np.array(short), "SAMPLE"), found)
    assert sample is not None
    wanted = [0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0]
    made = units.chain_like(sample, list(map(str, short)), list(map(str, wanted)), "LONG", 7)
    long = polymer_chain(np.array(wanted), "LONG", 7)
    assert_same(replace(units.join(made, found.units), segment_name=long.segment_name), long)
    with pytest.raises(InputError, match="SAMPLE has no 1 between the end and 0, of which LONG has one"):
        units.chain_like(sample, list(map(str, short)), ["1", "0"], "LONG")
    with pytest.raises(InputError, match="2 kinds are given for the 13 units of SAMPLE"):
        units.chain_like(sample, ["0", "1"], ["0"], "LONG")


def test_two_strands_of_83000_units_take_little_memory() -> None:
    blocks = [kind for triple in itertools.product(range(4), repeat=3) for kind in triple]
    found, layout = units.Units(), Layout()
    sample = units.split(polymer_chain(np.array(blocks)), found)
    assert sample is not None
    inside = np.random.default_rng(1).integers(0, 4, 82_996).tolist()
    wanted = [str(kind) for kind in [*blocks[:2], *inside, *blocks[-2:]]]
    for name in ("DNA1", "DNA2"):
        made = units.chain_like(sample, list(map(str, blocks)), wanted, name)
        assert len(made.sequence) == 83_000
        layout.add_chain(made, 0, name)
    strands = layout.of(make_polymer([1]), found.units)
    check_system(strands, has_atoms=False)
    assert strands.n_molecules == 2 and strands.n_atoms > 1_500_000
    assert sum(units.template_bytes(unit) for unit in found.units) < 2_000_000
    assert len(strands.residue_numbers) == len(strands.segments) == 2


def broken(change: Callable[[System], None]) -> System:
    made = in_units(make_polymer([5], ions=1), [])
    change(made)
    return made


def _drop_a_shared_pair(system: System) -> None:
    unit = system.templates[2]
    crossing = ((unit.exclusions < 0) | (unit.exclusions >= unit.n_atoms)).any(axis=1)
    unit.exclusions = np.delete(unit.exclusions, np.flatnonzero(crossing)[0], axis=0)


def _name_another_key(system: System) -> None:
    system.templates[2].terms["bond"].atoms[0, 0] = -1


def _bond_a_hydrogen_to_the_next(system: System) -> None:
    unit = system.templates[1]
    bonds = unit.terms["bond"]
    unit.terms["bond"] = Terms(np.append(bonds.atoms, [[1, unit.n_atoms]], axis=0), np.append(bonds.parameter, 0))


def _reach_out(system: System) -> None:
    system.templates[1].terms["bond"].atoms[-1, 1] = -1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_drop_a_shared_pair, "are an excluded pair of one of them, expected of both, once each"),
        (_name_another_key, "bond 0 names atom -1 in column 0, expected one of the unit's own"),
        (_bond_a_hydrogen_to_the_next, "joins a hydrogen to another unit"),
        (_reach_out, r"template 1 \(R\d\) has terms or exclusions with the atoms -1 to \d+ from its first"),
        (lambda s: s.chains.__setitem__((0, 1), 99), "chains must be .* in order within"),
        (lambda s: s.chain_name.clear(), "1 chains have 0 names"),
        (lambda s: setattr(s, "residue_numbers", s.residue_numbers[:0]), "0 of the 5 units of chain CHAIN0 have"),
        (lambda s: setattr(s, "segments", np.array([[0, 2, 0]])), "a segment is named by a row beyond 0"),
        (lambda s: setattr(s, "segments", np.array([[6, 2, 0]])), "segments must be in order within 7 instances"),
    ],
)
def test_what_does_not_fit_is_refused(change: Callable[[System], None], message: str, tmp_path: Path) -> None:
    write(broken(lambda _: None), tmp_path / "a.tsr")
    with pytest.raises(InputError, match=message):
        write(broken(change), tmp_path / "b.tsr")
    assert not (tmp_path / "b.tsr").exists()


@pytest.mark.mpi
def test_forces_are_those_of_whole_molecules(runs: Runs, tmp_path: Path) -> None:
    """Also of chains and ions in segments of their own, which the engine passes over."""
    whole = make_polymer([40, 25], ions=3)
    write(whole, tmp_path / "whole.tsr")
    write(in_units(whole, ["SOD1", "DNA1", None, "DNA2"]), tmp_path / "units.tsr")
    chosen: Settings = {key: value for key, value in RUN.items() if key.startswith(("interactions", "pme"))}
    energy, force = runs.forces(tmp_path / "whole.tsr", chosen)
    for mpi, ranks in (("serial", 1), ("openmpi", 2), ("mpich", 3)):
        found, forces = runs.forces(tmp_path / "units.tsr", chosen, mpi=mpi, ranks=ranks)
        assert {**found, "note": ""} == {**energy, "note": ""}  # which names the file
        assert np.array_equal(forces, force), (mpi, ranks)
