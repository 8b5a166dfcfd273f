"""Damage of trajectories in segments is found by `check`, never gives other numbers, and can be left out."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tessera.checked_file import DamagedFileError, checksum
from tessera.errors import InputError
from tessera.traj import Trajectory
from tessera.traj.check import check, repair
from tessera.traj.find import Found
from tessera.traj.manifest import START
from tests.support.checkpoints import flip
from tests.traj.samples import FLOAT32, LOSSLESS, MOVED, PACKED, expected, numbers, run, write_segment

ATOMS = 30
QUANTITIES = ("positions", "velocities", "forces")
ENCODINGS = [PACKED, LOSSLESS, FLOAT32]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two legs, of which the second calculates two frames again."""
    folder = tmp_path_factory.mktemp("whole") / "trajectory.segments"
    write_segment(folder, range(0, 60, 10), ATOMS, QUANTITIES, ENCODINGS, parts=2)
    return write_segment(folder, range(40, 90, 10), ATOMS, QUANTITIES, ENCODINGS, parts=3, after_step=30)


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """The same, to be damaged."""
    return Path(shutil.copytree(whole, tmp_path / "trajectory.segments"))


def damaged(content: bytes, generator: np.random.Generator) -> bytes:
    """With a few bits flipped, cut off, or with a block of zeros or of other bytes."""
    data = bytearray(content)
    at = int(generator.integers(len(data)))
    size = min(int(generator.choice([1, 8, 64, 512])), len(data) - at)
    match int(generator.integers(5)):
        case 0:
            data[at] ^= 1 << int(generator.integers(8))
        case 1:
            for place in generator.integers(len(data), size=4).tolist():
                data[place] ^= 1 << int(generator.integers(8))
        case 2:
            del data[at:]
        case 3:
            data[at : at + size] = bytes(size)
        case 4:
            data[at : at + size] = generator.bytes(size)
    return bytes(data)


def read_all(folder: Path) -> int:
    """Reads all frames, which either are what was written or are refused, and returns how many are."""
    good = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trajectory = Trajectory(folder)
    for index in range(len(trajectory)):
        try:
            frame = trajectory[index]
        except DamagedFileError:
            continue
        good += 1
        for name, encoding in zip(QUANTITIES, ENCODINGS):
            assert np.array_equal(getattr(frame, name), expected(numbers(frame.step, ATOMS, name), encoding))
    return good


def damage_many(folder: Path, seeds: range) -> None:
    contents = {path: path.read_bytes() for path in sorted(folder.iterdir())}
    paths = list(contents)
    for seed in seeds:
        generator = np.random.default_rng(seed)
        path = paths[int(generator.integers(len(paths)))]
        content = damaged(contents[path], generator)
        if content == contents[path]:
            continue
        path.write_bytes(content)
        found = check(folder)
        assert found.problems or found.notes, f"seed {seed}: {path.name}"
        try:
            read_all(folder)
        except (DamagedFileError, InputError):
            pass
        else:
            cut = len(content) < len(contents[path])
            assert not found.ok or cut, f"seed {seed}: {path.name}"
        if seed % 10 == 0:
            repair(Found(folder, None))
            assert check(folder).frames == read_all(folder)
            for other in set(folder.iterdir()) - set(paths):
                other.unlink()
            for one in paths:
                one.write_bytes(contents[one])
        path.write_bytes(contents[path])


def test_damage_is_found(folder: Path) -> None:
    assert check(folder).ok and read_all(folder) == 9
    damage_many(folder, range(400))


@pytest.mark.slow(part="fuzz")
def test_much_damage_is_found(folder: Path) -> None:
    damage_many(folder, range(1000, 11_000))


def test_a_damaged_frame(folder: Path) -> None:
    assert run("verify", folder).exit_code == 0
    flip(folder / "segment-0001.part-0001", 5)
    done = run("verify", folder)
    assert done.exit_code == 1 and "DAMAGED" in done.output
    assert "segment-0001 has 1 damaged frames, the first of step 40" in done.output
    facts = json.loads(run("verify", folder, "--json").output)
    assert not facts["ok"] and facts["runs"][0]["frames"] == 9 and len(facts["runs"][0]["problems"]) == 1
    with pytest.raises(
        DamagedFileError, match=r"segment-0001.part-0001 is damaged: its bytes 0 to .* tessera traj rep"
    ):
        Trajectory(folder)[4]
    done = run("convert", folder, "-o", folder.parent / "a.dcd")
    assert done.exit_code == 1 and "segment-0001.part-0001 is damaged" in done.output
    assert not list(folder.parent.glob("*.dcd")) and not list(folder.parent.glob(".tessera*"))
    done = run("repair", folder)
    assert (
        done.exit_code == 0
        and "1 damaged frames left out; 4 are left, kept as segment-0001.manifest.before" in done.output
    )
    facts = json.loads(run("info", folder, "--json").output)
    assert facts["frames"] == 8 and facts["damaged"] == 0 and facts["gaps"] == 1
    assert read_all(folder) == 8
    assert "nothing was changed" in run("repair", folder).output
    (folder / "segment-0001.manifest.before-repair").rename(folder / "segment-0001.manifest")
    assert len(Trajectory(folder)) == 9


def test_a_damaged_entry(folder: Path) -> None:
    flip(folder / "segment-0000.manifest", -700)
    with pytest.warns(UserWarning, match="1 entry is damaged, and left out"):
        assert len(Trajectory(folder)) == 8
    facts = json.loads(run("info", folder, "--json").output)
    assert facts["damaged"] == 1 and facts["frames"] == 8
    assert "1 entry is damaged" in run("info", folder).output
    assert "segment-0000.manifest has 1 entries that are not what was written" in run("verify", folder).output
    assert len(json.loads(run("repair", folder, "--json").output)["repaired"]) == 1
    assert json.loads(run("info", folder, "--json").output)["damaged"] == 0


def test_a_damaged_header(folder: Path) -> None:
    flip(folder / "segment-0000.manifest", 70)
    done = run("info", folder)
    assert done.exit_code == 1 and "segment-0000.manifest is damaged in its bytes 64 to" in done.output
    assert run("verify", folder).exit_code == 1
    assert "its header is damaged, so its frames are left out" in run("repair", folder).output
    assert Trajectory(folder).steps.tolist() == [40, 50, 60, 70, 80]
    assert run("verify", folder).exit_code == 0


def test_what_was_not_finished(folder: Path) -> None:
    manifest = folder / "segment-0001.manifest"
    manifest.write_bytes(manifest.read_bytes()[:-5])
    done = run("verify", folder)
    assert done.exit_code == 0 and "bytes belong to frames that were not finished" in done.output
    assert "bytes of an unfinished entry cut; 4 are left" in run("repair", folder).output
    assert len(Trajectory(folder)) == 8


@pytest.mark.parametrize("instead", [None, os.mkdir, os.mkfifo])
def test_files_that_are_gone(folder: Path, instead: Callable[[Path], None] | None) -> None:
    (folder / "segment-0001.part-0002").unlink()
    if instead is not None:
        instead(folder / "segment-0001.part-0002")
    assert "not there: segment-0001.part-0002" in run("verify", folder).output
    with pytest.raises(DamagedFileError, match=r"segment-0001.part-0002 is not there: put it back"):
        Trajectory(folder)[8]
    assert Trajectory(folder)[3].step == 30
    write_segment(folder, range(90, 100, 10), ATOMS, after_step=80, number=3)
    assert "segments are missing: segment-0002" in run("verify", folder).output


def test_a_run_that_holds_the_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("")
    lock = open(tmp_path / ".lock", "w")  # noqa: SIM115
    lock.write("process 4711 on node3\n")
    lock.flush()
    fcntl.flock(lock, fcntl.LOCK_EX)
    for path in (tmp_path, folder):
        done = run("repair", path)
        assert done.exit_code == 2 and "(process 4711 on node3): repair when it has ended" in done.output
    assert run("info", tmp_path).exit_code == 0
    lock.close()
    assert run("repair", tmp_path).exit_code == 0 and not (tmp_path / ".lock").exists()


def test_atoms_that_moved(tmp_path: Path) -> None:
    """What follows a damaged frame, until one that holds all atoms, can't be read; the rest is what it was."""
    folder = write_segment(tmp_path / "ions.segments", range(12), ATOMS, encodings=[MOVED], parts=2)
    before = [frame.positions for frame in Trajectory(folder)]
    place = Trajectory(folder).entry(5)[1]["place"][1, 0]
    flip(folder / "segment-0000.part-0001", int(place[0]) + 20)
    assert "segment-0000 has 3 damaged frames, the first of step 5" in run("verify", folder).output
    for index in range(12):
        if index in (5, 6, 7):
            with pytest.raises(DamagedFileError):
                Trajectory(folder)[index]
        else:
            assert np.array_equal(Trajectory(folder)[index].positions, before[index])
    assert "3 damaged frames left out; 9 are left" in run("repair", folder).output
    assert [frame.step for frame in Trajectory(folder)] == [0, 1, 2, 3, 4, 8, 9, 10, 11]
    assert all(np.array_equal(frame.positions, before[frame.step]) for frame in Trajectory(folder))
    shutil.rmtree(folder)
    write_segment(folder, range(12), ATOMS, encodings=[MOVED])
    size = Trajectory(folder).manifests[0].entries.dtype.itemsize
    flip(folder / "segment-0000.manifest", -7 * size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trajectory = Trajectory(folder)
    assert trajectory.steps.tolist() == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    with pytest.raises(DamagedFileError, match="lacks an entry without which later frames can't be read"):
        trajectory[5]
    assert np.array_equal(trajectory[7].positions, before[8])


def test_a_machine_that_stopped(folder: Path) -> None:
    """The last frames of the first leg have entries, and parts end before them; the second leg has them again."""
    part = folder / "segment-0000.part-0001"
    part.write_bytes(part.read_bytes()[:-5])
    done = run("verify", folder)
    assert done.exit_code == 0 and "1 frame was not finished, and is there again later" in done.output
    assert read_all(folder) == 9


def test_numbers_that_are_not_finite_are_what_was_written(tmp_path: Path) -> None:
    folder = write_segment(tmp_path / "a.segments", range(1), 1, encodings=[FLOAT32])
    assert check(folder).ok


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("every", "[" * 100_000 + "]" * 100_000),
        ("system_atoms", "1" + "0" * 400),
        ("system_atoms", "1e400"),
        ("system_atoms", "3"),
        ("after_step", "-" + "9" * 30),
        ("timestep", "NaN"),
        ("timestep", "1" + "0" * 400),
        ("ids", "[[0, 1, 1, 1" + "0" * 400 + "]]"),
        ("ids", "{}"),
        ("parts", '[{"file": "a\\u0000b", "first": 0, "atoms": 30}]'),
        ("parts", '[{"file": "\\u001b[31m/b", "first": 0, "atoms": 30}]'),
        ("parts", '[{"file": 7, "first": 0, "atoms": 30}]'),
        ("quantities", "7"),
        ("encodings", "[7]"),
    ],
)  # fmt: skip
def test_a_manifest_that_is_sealed_but_senseless(folder: Path, key: str, value: str) -> None:
    """Its checksums are right; one line names the file, and no command breaks."""
    path = folder / "segment-0000.manifest"
    content = path.read_bytes()
    magic, json_bytes, _, entry_bytes, _ = START.unpack_from(content)
    text = content[START.size : START.size + json_bytes].decode().rstrip()
    mark = f'"{key}": '
    begin = text.index(mark) + len(mark)
    _, end = json.JSONDecoder().raw_decode(text, begin)
    changed = (text[:begin] + value + text[end:]).encode()
    changed += b" " * (-len(changed) % 8)
    head = START.pack(magic, len(changed), checksum(changed), entry_bytes, 0)
    head = head[:-8] + checksum(head[:-8]).to_bytes(8, "little")
    path.write_bytes(head + changed + content[START.size + json_bytes :])
    for name in ("info", "verify"):
        done = run(name, folder)
        assert done.exit_code == 1, done.exception
        assert "segment-0000.manifest" in done.output and "does not understand" in done.output
        assert "\x1b" not in done.output
