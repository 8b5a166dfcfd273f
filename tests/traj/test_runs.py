"""`tessera verify` and `tessera export` of runs whose trajectories are in segments, and of the stages of a protocol."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

from tessera.errors import InputError
from tessera.export.configuration import LAST, read_configuration
from tessera.io import SegmentWriter
from tessera.verify import size_of, verify
from tests.support.commands import said
from tests.support.runs import Runs, Settings
from tests.support.samples import sample

MDAnalysis = pytest.importorskip("MDAnalysis")

LENGTH: Settings = {
    "dynamics.steps": 20,
    "output.energy_every": 5,
    "output.trajectory_every": 5,
    "output.checkpoint_every": 10,
    "output.trajectory": "dcd",
}


@pytest.fixture(scope="module")
def ran(runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of a run, with its DCD written as segments of two legs."""
    before = runs.run(sample("peptide"), LENGTH).folder
    folder = Path(shutil.copytree(before, tmp_path_factory.mktemp("runs") / "output"))
    (folder / "trajectory.dcd").unlink()
    text = (folder / "settings.toml").read_text().replace('trajectory = "dcd"', 'trajectory = "segments"')
    (folder / "settings.toml").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frames = MDAnalysis.coordinates.DCD.DCDReader(str(before / "trajectory.dcd"))
    for after, steps in ((-1, (0, 5, 10, 15)), (10, (15, 20))):
        with SegmentWriter(
            folder / "trajectory.segments", frames.n_atoms, every=5, timestep=0.002, after_step=after, parts=2
        ) as writer:
            for step in steps:
                frame = frames[step // 5]
                writer.append(step, step * 0.002, frame.triclinic_dimensions, frame.positions)
    return folder


@pytest.fixture
def output(ran: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ran, tmp_path / "output"))


def test_a_whole_run(output: Path) -> None:
    done = []
    report = verify(output, done.append)
    assert report.ok and not report.notes and report.checkpoint_step == 20
    assert [file.note for file in report.files if file.kind == "trajectory"] == ["5 frames"]
    assert sum(done) == pytest.approx(size_of(output), rel=0.01)


def test_frames_that_are_damaged_or_missing(output: Path) -> None:
    folder = output / "trajectory.segments"
    part = folder / "segment-0001.part-0001"
    content = part.read_bytes()
    part.write_bytes(content[:50] + bytes(4) + content[54:])
    (file,) = [file for file in verify(output).files if not file.ok]
    assert file.path == folder and "segment-0001 has 1 damaged frames, the first of step 15" in file.problem
    said("verify", output, status=1)
    for path in folder.glob("segment-0001.*"):
        path.unlink()
    (file,) = [file for file in verify(output).files if not file.ok]
    assert "ends after frame 4 of 5: by checkpoint.tck there are as many up to step 20; put it back" in file.problem
    shutil.rmtree(folder)
    report = verify(output)
    assert report.ok and "the checkpoint counts 5 in trajectory, which is gone: it begins anew" in report.notes[0]


def test_the_stages_of_a_protocol(ran: Path, tmp_path: Path) -> None:
    """Stages stand in their order, not by name; the system file is checked once."""
    for name, start in (("produce", "heat"), ("heat", "")):
        folder = Path(shutil.copytree(ran, tmp_path / "protocol" / name))
        text = (folder / "settings.toml").read_text()
        above = str(tmp_path / "protocol" / start) if start else ""
        (folder / "settings.toml").write_text(text.replace('start = ""', f'start = "{above}"'))
    report = verify(tmp_path / "protocol")
    assert report.ok and report.checkpoint == tmp_path / "protocol" / "produce" / "checkpoint.tck"
    stages = [file.path.parent.name for file in report.files if file.kind == "trajectory"]
    assert ["goes on from here" in file.note for file in report.files if file.kind == "checkpoint"] == [
        False, False, True, False,
    ]  # fmt: skip
    assert stages == ["heat", "produce"] and sum(file.kind == "system file" for file in report.files) == 1
    (tmp_path / "protocol" / "heat" / "checkpoint.tck").write_bytes(b"")
    done = said("verify", tmp_path / "protocol", status=1)
    assert "heat/checkpoint.tck " in done
    (line,) = [line for line in done.splitlines() if "DAMAGED" in line]
    assert line.startswith("heat/checkpoint.tck")
    assert not json.loads(said("verify", tmp_path / "protocol", "--json", status=1))["ok"]


def test_frames_are_exported(output: Path, tmp_path: Path) -> None:
    found = read_configuration(output, 1)
    assert (found.step, found.frame, found.time) == (5, 1, 0.01)
    last = read_configuration(output, LAST)
    assert last.step == 20 and last.source.name == "trajectory.segments"
    # The last frame is of the moment of the checkpoint. Positions have single precision.
    now, then = last.system, read_configuration(output).system
    difference = now.positions() - then.positions()
    difference -= np.rint(difference @ np.linalg.inv(now.box)) @ now.box
    assert np.abs(difference).max() < 1e-4
    with pytest.raises(InputError, match=r"trajectory.segments holds the frames 0 to 4, found --frame 5"):
        read_configuration(output, 5)
    said("export", output, "--frame", "last", "-o", tmp_path / "last.pdb")
    part = output / "trajectory.segments" / "segment-0000.part-0000"
    part.write_bytes(bytes(len(part.read_bytes())))
    done = said("export", output, "--frame", "0", "-o", tmp_path / "first.pdb", status=2)
    assert "segment-0000.part-0000 is damaged: its bytes 0 to" in done
    shutil.rmtree(output / "trajectory.segments")
    with pytest.raises(InputError, match=r"holds no trajectory trajectory.segments: output.trajectory_every"):
        read_configuration(output, 0)
