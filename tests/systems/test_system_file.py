"""What is written to a system file is read back, in the order that the format guarantees."""

import re
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera import __version__, checked_file
from tessera.build.nacl import make_nacl
from tessera.errors import InputError
from tessera.prepare import assemble
from tessera.system import TERM_ATOMS, System, read, scratch, write
from tessera.system.blocks import block_of, to_fraction
from tessera.system.file import image
from tests.support.inputs import alanine_tripeptide, dhfr
from tests.support.programs import run_program
from tests.systems.strategies import systems


@settings(deadline=None, max_examples=60)
@given(system=systems())
def test_what_is_written_is_read(system: System, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("system") / "one.tsr"
    write(system, path)
    with h5py.File(path) as file:
        assert file.attrs["creator"].decode() == f"tessera {__version__}"
    again = read(path)
    for name in ("coulomb_constant", "coulomb_source", "lj_rule", "lennard_jones", "source", "periodic"):
        assert getattr(again, name) == getattr(system, name)
    for name in ("box", "runs", "fraction"):
        assert np.array_equal(getattr(again, name), getattr(system, name))
    assert (again.velocity is None) == (system.velocity is None)
    if system.velocity is not None and again.velocity is not None:
        assert np.array_equal(again.velocity, system.velocity)
    assert again.force_field.type_name == system.force_field.type_name
    for kind in TERM_ATOMS:
        assert np.array_equal(again.force_field.table(kind), system.force_field.table(kind))
    for one, other in zip(again.templates, system.templates, strict=True):
        assert one.name == other.name
        assert list(one.atom_name) == list(other.atom_name)
        for name in ("type", "charge", "mass", "group", "exclusions", "residue_number"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
        for kind in TERM_ATOMS:
            assert np.array_equal(one.term(kind).atoms, other.term(kind).atoms)
            assert np.array_equal(one.term(kind).parameter, other.term(kind).parameter)
    _check_blocks(path, system)


@settings(deadline=None, max_examples=40)
@given(system=systems(), at_once=st.integers(1, 50))
def test_bytes_are_the_same_however_many_atoms_are_sorted_at_once(
    system: System, at_once: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = image(system)
    path = tmp_path_factory.mktemp("parts") / "parts.tsr"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scratch, "LEAST_AT_ONCE", at_once)
        with scratch.bounded(1, path.parent):
            write(system, path)
    assert path.read_bytes() == whole


@settings(deadline=None, max_examples=40)
@given(system=systems(), at_once=st.integers(1, 20), data=st.data())
def test_overlaps_are_found_in_slabs_of_any_size(
    system: System, at_once: int, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    index = st.integers(0, system.n_atoms - 1)
    for _ in range(data.draw(st.integers(0, 3))):  # put an atom near another, perhaps across a face
        away = np.array(data.draw(st.tuples(*[st.floats(-0.05, 0.05)] * 3)))
        near = to_fraction(away[None], system.box)[0]
        system.fraction[data.draw(index)] = system.fraction[data.draw(index)] + near
    flat = SimpleNamespace(describe=str)

    def said() -> list[str]:
        system.warnings.clear()
        try:
            assemble.check_overlaps(flat, system)  # type: ignore[arg-type]
        except InputError as error:
            return [str(error)]
        return list(system.warnings)

    expected = said()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scratch, "LEAST_AT_ONCE", at_once)
        with scratch.bounded(1, tmp_path_factory.getbasetemp()):
            assert said() == expected


def test_a_cloud_of_atoms_is_not_listed_pair_by_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    system = make_nacl(64)
    system.fraction[:] = to_fraction(np.random.default_rng(1).random((system.n_atoms, 3)) * 0.05, system.box)
    n = system.n_atoms
    flat = SimpleNamespace(describe=str)
    assemble.check_overlaps(flat, system)  # type: ignore[arg-type]
    monkeypatch.setattr(assemble, "MOST_PAIRS", 100)
    assemble.check_overlaps(flat, system)  # type: ignore[arg-type]
    every, some = system.warnings
    assert every.startswith(f"{n * (n - 1) // 2:,} pair(s)")
    count = int(re.match(r"at least ([\d,]+) pair", some)[1].replace(",", ""))  # type: ignore[index]
    assert n * assemble.MOST_IN_ONE_PLACE / 2 <= count <= n * assemble.MOST_IN_ONE_PLACE
    assert some.partition("; ")[2] == every.partition("; ")[2]  # the nearest are the same


def _check_blocks(path: Path, system: System) -> None:
    with h5py.File(path) as file:
        ids, fraction = file["coordinates/id"][...], file["coordinates/fraction"][...]
        offset, grid = file["coordinates/block_offset"][...], file["coordinates/block_grid"][...]
    assert offset[0] == 0 and offset[-1] == system.n_atoms == len(ids)
    assert len(offset) == np.prod(grid) + 1
    assert np.array_equal(np.sort(ids), np.arange(len(ids)))
    key = system.group_key()[ids]
    row_of = np.argsort(ids)
    block = np.repeat(np.arange(len(offset) - 1), np.diff(offset))
    # A row is in the block of its key atom; the key atom comes first, and the atoms of its group follow it.
    assert np.array_equal(block, block_of(fraction[row_of[key]], grid))
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    assert len(first) == len(np.unique(key))
    assert np.array_equal(ids[first], key[first])
    for b in range(len(offset) - 1):
        heads = key[offset[b] : offset[b + 1]]
        assert (np.diff(heads) >= 0).all()


@given(
    st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=3, max_size=3),
    st.lists(st.floats(3, 500), min_size=3, max_size=3),
)
def test_fractions_wrap_any_coordinate(where: list[float], edges: list[float]) -> None:
    box = np.diag(edges)
    fraction = to_fraction(np.array([where]), box)
    back = (fraction * 2.0**-32) @ box
    turns = (np.array(where) - back[0]) / np.array(edges)
    assert np.allclose(turns, np.rint(turns), atol=1e-6)


def test_half_a_box_wraps_to_minus_half() -> None:
    fraction = to_fraction(np.array([[5.0, -5.0, 15.0]]), np.diag([10.0] * 3))
    assert fraction.tolist() == [[-(2**31)] * 3]


def test_dhfr_has_two_templates_and_two_runs() -> None:
    system = dhfr()
    assert [(t.name, t.n_atoms) for t in system.templates] == [("P1", 2489), ("TIP3", 3)]
    assert system.runs.tolist() == [[0, 1], [1, 7023]]
    water = system.templates[1]
    assert water.rigid_water and not water.always_rigid
    assert water.settle == pytest.approx((0.9572, 1.5139), abs=1e-5)
    assert water.group.tolist() == [0, 0, 0]
    assert water.exclusions.tolist() == [[0, 1], [0, 2], [1, 2]]
    protein = system.templates[0]
    hydrogen = protein.atomic_number == 1
    assert (protein.atomic_number[protein.group] != 1).all()
    assert np.array_equal(protein.group[~hydrogen], np.flatnonzero(~hydrogen))
    assert system.net_charge() == pytest.approx(-11, abs=1e-9)


def test_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "one.tsr"
    path.write_bytes(b"old")
    system = dhfr()
    broken = System(**{**vars(system), "runs": np.array([[0, 1]], np.int64)})
    with pytest.raises(InputError, match="2489 atoms but there are 23558"):
        write(broken, path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["one.tsr"]


def test_what_is_no_system_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no system file"):
        read(tmp_path / "none.tsr")
    text = tmp_path / "text.tsr"
    text.write_text("text")
    with pytest.raises(InputError, match="not a readable system file"):
        read(text)


def test_damaged_metadata_is_noticed(tmp_path: Path) -> None:
    """The layout of HDF5 1.10 has checksums of its own: of a file that was sealed after a damage, too, an object header
    that is wrong is an error and can't give another system."""
    path = tmp_path / "a.tsr"
    write(alanine_tripeptide(), path)
    content = bytearray(path.read_bytes())
    assert content[512 + 8] == 3  # the version of HDF5 1.10's superblock
    content[content.index(b"OHDR") + 20] ^= 1
    path.write_bytes(content)
    for _ in range(2):
        with pytest.raises(InputError, match=r"a.tsr is (damaged|not a readable)"):
            read(path)
        checked_file.seal(path)


def test_the_same_system_is_the_same_bytes_at_any_time(tmp_path: Path) -> None:
    """HDF5 would write the time into groups and datasets, in seconds."""
    write(alanine_tripeptide(), tmp_path / "a.tsr")
    time.sleep(1.1)
    write(alanine_tripeptide(), tmp_path / "b.tsr")
    assert (tmp_path / "a.tsr").read_bytes() == (tmp_path / "b.tsr").read_bytes()


BEYOND_THE_SYSTEM = """
import sys
from tessera.build.nacl import make_nacl
from tessera.prepare.assemble import check_overlaps
from tessera.commands.peaks import Peaks
from tessera.system import write
system = make_nacl(int(sys.argv[1]))
peaks = Peaks()
peaks.begin("checking")
check_overlaps(None, system)
peaks.begin("writing")
write(system, sys.argv[2])
peaks.end()
print(*(peak - peaks.start for peak in peaks.phases.values()))
"""


def test_checking_and_writing_take_little_more_memory_than_the_system(tmp_path: Path) -> None:
    def beyond(atoms: int) -> list[int]:
        command = [sys.executable, "-c", BEYOND_THE_SYSTEM, str(atoms), str(tmp_path / "salt.tsr")]
        # What is freed goes back to the system at once, so that peaks are those of what is held.
        done = run_program(command, env={"MALLOC_MMAP_THRESHOLD_": "65536"})
        return [int(word) for word in done.stdout.split()]

    small, large = beyond(1_500_000), beyond(4_500_000)
    for before, after in zip(small, large):  # of all atoms: blocks, masks, and fractions along one vector
        assert after - before < 3_000_000 * 20, (small, large)


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("runs", [[0, 10**9]], "its molecules have"),
        ("runs", [[7, 1]], "its runs name no template"),
        ("runs", [[0, -1]], "its runs name no template, or count no molecules"),
        ("residue_numbers", [[0, 10**9, 1, 1]], "it numbers 1,000,000,000 molecules"),
        ("segments", [[0, 10**9, 0]], "it names the segment of 1,000,000,000 molecules"),
        ("segments", [[0, 1, 0]], "the names of its segments are rows of 0"),
        ("chains", [[0, 10**9]], "it makes a chain of 1,000,000,000 runs"),
        ("chains", [[0, 1]], "it has 1 chains with 0 names"),
        ("id", "twice", "not those of each atom once"),
    ],
)
def test_senseless_numbers_are_refused_before_memory_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: object, word: str
) -> None:
    """Of a file that is sealed: its checksums are right."""
    from tessera.system import file as module

    system = dhfr()
    path = tmp_path / "senseless.tsr"
    monkeypatch.setattr(module, "check_system", lambda *_, **__: None)
    monkeypatch.setattr(module.checked_file, "check", lambda *_, **__: None)
    write(system, path)
    with h5py.File(path, "r+") as file:
        if name == "id":
            ids = file["coordinates/id"][...]
            ids[1] = ids[0]
            file["coordinates/id"][...] = ids
        else:
            if name in file["instances"]:
                del file["instances"][name]
            else:
                file.attrs["n_names"] = int(file.attrs["n_names"]) + 1
            file["instances"].create_dataset(name, data=np.array(value, np.int64))
    with pytest.raises(InputError, match=word):
        read(path)
