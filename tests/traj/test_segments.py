"""Trajectories in segments: what is written comes back, over legs, stages, several runs and while a run is writing."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera.checked_file import DamagedFileError, checksum
from tessera.errors import InputError
from tessera.io import SegmentWriter
from tessera.traj import Trajectory
from tessera.traj.chunks import from_differences, to_differences
from tessera.traj.manifest import blocks_of, ids_of
from tests.support.programs import run_program
from tests.traj.samples import BOX, FLOAT32, LOSSLESS, MOVED, PACKED, TIMESTEP, expected, numbers, write_segment

QUANTITIES = ("positions", "velocities", "forces")


@given(
    atoms=st.integers(1, 300),
    parts=st.integers(1, 5),
    frames=st.integers(0, 4),
    encodings=st.lists(st.sampled_from([FLOAT32, LOSSLESS, PACKED]), min_size=3, max_size=3),
    count=st.integers(1, 3),
    stride=st.integers(1, 7),
    first=st.integers(0, 9),
)
@settings(max_examples=60, deadline=None)
def test_what_is_written_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    atoms: int, parts: int, frames: int, encodings: list, count: int, stride: int, first: int,
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("run") / "trajectory.segments"
    ids = first + stride * np.arange(atoms)
    write_segment(
        folder, range(0, 10 * frames, 10), atoms, QUANTITIES[:count], encodings[:count], parts=parts, ids=ids,
        system_atoms=int(ids[-1]) + 1,
    )  # fmt: skip
    trajectory = Trajectory(folder)
    assert len(trajectory) == frames and trajectory.n_atoms == atoms
    assert np.array_equal(trajectory.ids, ids) and trajectory.system_atoms == ids[-1] + 1
    assert trajectory.quantities == list(QUANTITIES[:count]) and trajectory.gaps() == 0
    for index, frame in enumerate(trajectory):
        assert frame.step == 10 * index and frame.time == 10 * index * TIMESTEP and np.array_equal(frame.box, BOX)
        for name, encoding in zip(QUANTITIES[:count], encodings):
            values = expected(numbers(frame.step, atoms, name), encoding)
            assert getattr(frame, name).dtype == np.float32 and np.array_equal(getattr(frame, name), values)
        assert all(getattr(frame, name) is None for name in QUANTITIES[count:])


@given(st.lists(st.integers(0, 60), unique=True))
def test_blocks_of_ids(ids: list[int]) -> None:
    assert ids_of(blocks_of(np.array(sorted(ids), np.int64))).tolist() == sorted(ids)


def test_few_blocks_are_enough() -> None:
    assert blocks_of(np.arange(1000)) == [[0, 1000, 1000, 1]]
    assert blocks_of(3 * np.arange(1000)) == [[0, 1, 3, 1000]]
    assert blocks_of(np.r_[0:10, 100:200:5]) == [[0, 10, 10, 1], [100, 1, 5, 20]]
    assert blocks_of(np.flatnonzero(np.arange(300) % 3)) == [[1, 2, 3, 100]]  # the hydrogens of water
    assert blocks_of(np.array([7])) == [[7, 1, 1, 1]]


def test_several_chunks(tmp_path: Path) -> None:
    atoms = 2 * 65_536 + 1
    for encoding in (LOSSLESS, PACKED):
        folder = write_segment(
            tmp_path / f"{encoding['kind']}.segments", range(2), atoms, encodings=[encoding], parts=2
        )
        assert np.array_equal(Trajectory(folder)[1].positions, expected(numbers(1, atoms), encoding))


@given(rows=st.integers(0, 40), period=st.integers(1, 7), seed=st.integers(0, 99))
def test_differences(rows: int, period: int, seed: int) -> None:
    """Beside the rule of the reference, row by row."""
    integers = np.random.default_rng(seed).integers(0, 2**32, (rows, 3), dtype=np.uint32)
    stream = to_differences(integers, period)
    groups = rows // period
    order = [(g * period + k, c) for k in range(period) for c in range(3) for g in range(groups)]
    order += [(row, c) for row in range(groups * period, rows) for c in range(3)]
    for found, (row, c) in zip(stream.tolist(), order, strict=True):
        if row >= groups * period or row == 0:
            before = row - 1
        else:
            before = row - row % period if row % period else row - period
        difference = (int(integers[row, c]) - (int(integers[before, c]) if row else 0)) % 2**32
        signed = difference - 2**32 if difference >= 2**31 else difference
        assert found == (2 * signed if signed >= 0 else -2 * signed - 1)
    assert np.array_equal(from_differences(stream, period), integers)


def test_every_bit_of_a_lossless_number(tmp_path: Path) -> None:
    values = np.array([[np.nan, -0.0, np.inf], [1e-45, -np.inf, 3.4e38], [0, -1e-38, 1]], np.float32)
    with SegmentWriter(tmp_path / "a.segments", 3, encodings=[LOSSLESS]) as writer:
        writer.append(0, 0.0, BOX, values)
    found = Trajectory(tmp_path / "a.segments")[0].positions
    assert np.array_equal(found.view(np.uint32), values.view(np.uint32))


def test_numbers_that_can_not_be_rounded(tmp_path: Path) -> None:
    with SegmentWriter(tmp_path / "a.segments", 1, encodings=[PACKED]) as writer:
        for value in (np.nan, 3e9):
            with pytest.raises(InputError, match=r"not finite or do not fit into 4 bytes in units of 0.01"):
                writer.append(0, 0.0, BOX, [[value, 0, 0]])
        with pytest.raises(InputError, match=r"positions have shape \(2, 3\), expected \(1, 3\)"):
            writer.append(0, 0.0, BOX, np.zeros((2, 3)))
        writer.append(0, 0.0, None, [[1, 2, 3]])
        with pytest.raises(InputError, match="a frame of step 0 can't follow step 0"):
            writer.append(0, 0.0, BOX, [[1, 2, 3]])


@given(atoms=st.integers(1, 40), parts=st.integers(1, 4), frames=st.integers(1, 12), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_atoms_that_moved(
    tmp_path_factory: pytest.TempPathFactory, atoms: int, parts: int, frames: int, seed: int
) -> None:
    """A reader gets the numbers of each atom that were written last."""
    folder = tmp_path_factory.mktemp("run") / "ions.segments"
    generator = np.random.default_rng(seed)
    positions = np.cumsum(generator.normal(scale=1, size=(frames, atoms, 3)), axis=0).astype(np.float32)
    with SegmentWriter(folder, atoms, encodings=[{**MOVED, "distance": 2.0}], parts=parts) as writer:
        for step, values in enumerate(positions):
            writer.append(step, 0.0, BOX, values)
    trajectory = Trajectory(folder)
    written = positions[0].copy()
    for index, frame in enumerate(trajectory):
        far = ((positions[index] - written) ** 2).sum(axis=1) > 4 if index % 4 else np.ones(atoms, bool)
        written[far] = positions[index][far]
        assert np.array_equal(frame.positions, written)
    assert np.array_equal(trajectory[-1].positions, written)


def test_access(tmp_path: Path) -> None:
    trajectory = Trajectory(write_segment(tmp_path / "a.segments", range(0, 100, 10)))
    assert trajectory[-1].step == 90 and [frame.step for frame in trajectory[2:8:3]] == [20, 50]
    assert len(trajectory[::-1]) == 10 and trajectory[::-1][0].step == 90
    assert trajectory.steps.tolist() == list(range(0, 100, 10)) and trajectory.times[1] == 10 * TIMESTEP
    with pytest.raises(IndexError):
        trajectory[10]
    again = pickle.loads(pickle.dumps(trajectory))
    assert np.array_equal(again[3].positions, trajectory[3].positions)


def test_no_box(tmp_path: Path) -> None:
    assert Trajectory(write_segment(tmp_path / "a.segments", range(1), periodic=False))[0].box is None


def test_legs_that_calculate_frames_again(tmp_path: Path) -> None:
    """The first leg wrote up to step 90 with its last checkpoint at 60, the second up to 120, at 70, the third on."""
    folder = write_segment(tmp_path / "trajectory.segments", range(0, 100, 10))
    write_segment(folder, range(70, 130, 10), after_step=60, encodings=[PACKED], parts=3)
    write_segment(folder, range(80, 140, 10), after_step=70, encodings=[LOSSLESS])
    trajectory = Trajectory(folder)
    assert trajectory.steps.tolist() == list(range(0, 140, 10)) and trajectory.superseded == 3 + 5
    assert trajectory.gaps() == 0
    kinds = [trajectory.entry(index)[0].encodings[0]["kind"] for index in (6, 7, 8)]
    assert kinds == ["float32", "packed", "lossless"]
    for frame in trajectory:
        np.testing.assert_allclose(frame.positions, numbers(frame.step, 20), atol=0.0051)
    write_segment(folder, range(30, 40, 10), after_step=20)  # an older checkpoint was put back
    assert Trajectory(folder).steps.tolist() == [0, 10, 20, 30]


def test_gaps(tmp_path: Path) -> None:
    folder = write_segment(tmp_path / "a.segments", range(0, 50, 10))
    write_segment(folder, range(80, 100, 10), after_step=60)
    assert Trajectory(folder).gaps() == 3  # 50, 60 and 70
    other = write_segment(tmp_path / "b.segments", range(0, 50, 10))
    write_segment(other, range(50, 60, 5), after_step=45)  # every has changed
    assert Trajectory(other).gaps() == 0


def test_several_runs(tmp_path: Path) -> None:
    first = write_segment(tmp_path / "first" / "trajectory.segments", range(0, 60, 10))
    onwards = write_segment(tmp_path / "onwards" / "trajectory.segments", range(40, 80, 10), after_step=30)
    anew = write_segment(tmp_path / "anew" / "trajectory.segments", range(0, 30, 10))
    later = write_segment(tmp_path / "later" / "trajectory.segments", range(20, 40, 10), after_step=10)
    joined = Trajectory(first.parent, onwards, anew.parent)
    assert joined.steps.tolist() == [0, 10, 20, 30, 40, 50, 60, 70, 0, 10, 20]
    np.testing.assert_allclose(np.diff(joined.times), 10 * TIMESTEP)
    assert joined.superseded == 2 and joined.gaps() == 0 and joined.run_folders == [first.parent, anew.parent]
    assert Trajectory([first, anew, later]).steps.tolist() == [0, 10, 20, 30, 40, 50, 0, 10, 20, 30]


def test_stages(tmp_path: Path) -> None:
    """Stages follow `input.start`, also where the protocol has moved, and not their names."""
    above = ""
    for name, steps in (("heat", range(0, 30, 10)), ("cool", range(0, 20, 10)), ("always", range(0, 40, 20))):
        write_segment(tmp_path / "p" / name / "trajectory.segments", steps)
        (tmp_path / "p" / name / "settings.toml").write_text(f'[input]\nsystem = "a.tsr"\nstart = "{above}"\n')
        above = f"/moved/away/{name}"
    (tmp_path / "p" / "minimise").mkdir()
    (tmp_path / "p" / "minimise" / "settings.toml").write_text("")
    trajectory = Trajectory(tmp_path / "p")
    assert trajectory.steps.tolist() == [0, 10, 20, 0, 10, 0, 20]
    assert (np.diff(trajectory.times) > 0).all()


def test_a_run_that_is_writing(tmp_path: Path) -> None:
    folder = write_segment(tmp_path / "trajectory.segments", range(0, 40, 10))
    trajectory = Trajectory(folder)
    whole = (folder / "segment-0000.manifest").read_bytes()
    size = trajectory.manifests[0].entries.dtype.itemsize
    for length in (len(whole) - 1, len(whole) - size + 1):
        (folder / "segment-0000.manifest").write_bytes(whole[:length])
        assert trajectory.refresh() == 3 and trajectory.damaged == 0 and trajectory[2].step == 20
    (folder / "segment-0000.manifest").write_bytes(whole)
    assert trajectory.refresh() == 4
    (folder / "segment-0001.manifest").write_bytes(whole[:50])  # its header is not there yet
    assert trajectory.refresh() == 4
    (folder / "segment-0001.manifest").unlink()
    write_segment(folder, range(20, 60, 10), after_step=10)
    assert trajectory.refresh() == 6 and trajectory[5].step == 50


def test_what_can_not_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none is not there: expected the output folder of a run with output.traj"):
        Trajectory(tmp_path / "none")
    (tmp_path / "run").mkdir()
    with pytest.raises(InputError, match=r"run holds no trajectory in segments: expected"):
        Trajectory(tmp_path / "run")
    (tmp_path / "run" / "trajectory.dcd").write_text("")
    with pytest.raises(InputError, match=r"its trajectory.dcd is read by MDAnalysis as it is"):
        Trajectory(tmp_path / "run")
    with pytest.raises(InputError, match=r"trajectory.dcd is a file: expected"):
        Trajectory(tmp_path / "run" / "trajectory.dcd")
    (tmp_path / "trajectory.segments").mkdir()
    with pytest.raises(InputError, match="holds no segment yet: wait until the run has begun"):
        Trajectory(tmp_path)
    a, b = write_segment(tmp_path / "a.segments", range(1)), write_segment(tmp_path / "b.segments", range(1), 21)
    with pytest.raises(InputError, match=r"has a system of 21 atoms, expected 20 as in .*a.segments"):
        Trajectory(a, b)
    c = write_segment(tmp_path / "c.segments", range(1), ids=np.arange(1, 21), system_atoms=20)
    with pytest.raises(InputError, match=r"has other atoms as in"):
        Trajectory(a, c)


def test_manifests_that_are_no_manifests(tmp_path: Path) -> None:
    folder = write_segment(tmp_path / "a.segments", range(2))
    path = folder / "segment-0000.manifest"
    content = path.read_bytes()
    for change, message in (
        (lambda data: data.__setitem__(0, 0), r"damaged in its first 64 bytes; put a copy of it back, or .* repair"),
        (lambda data: data.__setitem__(80, data[80] ^ 1), "damaged in its bytes 64 to"),
        (lambda data: data.__delitem__(slice(70, None)), "ends in its header, after 70 bytes"),
    ):
        data = bytearray(content)
        change(data)
        path.write_bytes(data)
        with pytest.raises(DamagedFileError, match=message):
            Trajectory(folder)
    text = content.replace(b'"positions"', b'"potential"')
    start = (
        text[:40] + checksum(text[64 : 64 + int.from_bytes(text[32:40], "little")]).to_bytes(8, "little") + text[48:56]
    )
    path.write_bytes(start + checksum(start).to_bytes(8, "little") + text[64:])
    with pytest.raises(DamagedFileError, match="a JSON that this tessera does not understand"):
        Trajectory(folder)


def test_opening_reads_no_frame(tmp_path: Path) -> None:
    folder = write_segment(tmp_path / "a.segments", range(10_000), atoms=2)
    (part,) = folder.glob("*.part-*")
    part.unlink()
    assert len(Trajectory(folder)) == 10_000


def test_five_thousand_segments_with_few_descriptors(tmp_path: Path) -> None:
    program = f"""
import os, resource
from pathlib import Path
from tests.traj.samples import write_segment
from tessera.traj import Trajectory

resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
os.fsync = lambda _: None  # the disk is not what is tested
folder = Path({str(tmp_path / "a.segments")!r})
for step in range(5000):
    write_segment(folder, range(step, step + 1), atoms=2, after_step=step - 1, number=step)
trajectory = Trajectory(folder)
assert len(trajectory) == 5000 and len(trajectory.manifests) == 5000
frames = trajectory.map(range(5000), trajectory.read)
assert [frame.step for frame in frames] == list(range(5000))
"""
    run_program([sys.executable, "-c", program], env={"PYTHONPATH": os.pathsep.join(sys.path)})
