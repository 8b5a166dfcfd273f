"""`tessera verify`: what it says of files that are whole and of files that are not."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import h5py
import pytest

from tessera.errors import InputError
from tessera.verify import verify
from tests.support.checkpoints import flip
from tests.support.commands import said
from tests.support.runs import Runs, Settings
from tests.support.samples import sample

LENGTH: Settings = {
    "dynamics.steps": 20,
    "output.energy_every": 5,
    "output.trajectory_every": 5,
    "output.checkpoint_every": 10,
}


@pytest.fixture(scope="module", params=["dcd", "xtc", "h5md", "history"])
def ran(runs: Runs, request: pytest.FixtureRequest) -> Path:
    return runs.run(sample("peptide"), {**LENGTH, "output.trajectory": request.param}).folder


@pytest.fixture
def output(ran: Path, tmp_path: Path) -> Path:
    """A run's folder that a test may change."""
    return Path(shutil.copytree(ran, tmp_path / "output"))


def problems(folder: Path) -> dict[str, str]:
    return {file.path.name: file.problem for file in verify(folder).files if not file.ok}


def test_a_whole_run(output: Path) -> None:
    report = verify(output)
    assert report.ok and report.checkpoint_step == 20 and report.checkpoint == output / "checkpoint.tck"
    assert [file.kind for file in report.files] == [
        "checkpoint", "checkpoint", "energy table", "trajectory", "system file",
    ]  # fmt: skip
    notes = [file.note for file in report.files]
    assert "step 20" in notes[0] and "a restart goes on from here" in notes[0] and "step 10" in notes[1]
    assert "5 rows" in notes[2] and "5 frames" in notes[3]
    found = json.loads(said("verify", output, "--json"))
    assert found["ok"] and found["checkpoint_step"] == 20
    assert all(file["ok"] for file in found["files"]) and not found["notes"]
    table = said("verify", output)
    assert "MB/s" in table and "DAMAGED" not in table


def test_damaged_checkpoints(output: Path) -> None:
    flip(output / "checkpoint.tck", -1000)
    report = verify(output)
    assert not report.ok and report.checkpoint_step == 10
    assert "not what was written" in problems(output)["checkpoint.tck"]
    assert "DAMAGED" in said("verify", output, status=1)
    assert json.loads(said("verify", output / "checkpoint.tck", "--json", status=1))["checkpoint_step"] is None
    said("verify", output / "checkpoint.previous.tck")
    (output / "checkpoint.previous.tck").write_bytes(b"")
    report = verify(output)
    assert report.checkpoint_step is None and "no checkpoint is whole" in report.notes[0]


def test_a_run_that_was_killed_between_two_renames(output: Path) -> None:
    (output / "checkpoint.tck").rename(output / "checkpoint.next.tck")
    assert verify(output).checkpoint_step == 20
    (output / "checkpoint.previous.tck").rename(output / "checkpoint.tck")
    report = verify(output)
    assert report.ok and report.checkpoint_step == 20 and report.checkpoint == output / "checkpoint.next.tck"


def test_tables_and_trajectories(output: Path) -> None:
    table, (trajectory,) = output / "energy.csv", output.glob("trajectory.*")
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(lines[:-1]))
    assert "holds 4 rows up to step 20, the checkpoint counts 5" in problems(output)["energy.csv"]
    table.write_text("".join([*lines[:2], lines[2].replace(",", ";"), *lines[3:]]))
    assert "line 3 is damaged" in problems(output)["energy.csv"]
    table.write_text("".join(lines) + "25,0.1")  # was being written
    if trajectory.suffix != ".h5md":
        trajectory.write_bytes(trajectory.read_bytes()[:-10])
        expected = "holds 4 whole frames, the checkpoint counts 5|ends after frame 4 of 5: by checkpoint.tck"
        assert re.search(expected, problems(output)[trajectory.name])
    trajectory.write_bytes(b"no frames" * 100)
    assert set(problems(output)) == {trajectory.name}
    trajectory.unlink()
    table.unlink()
    report = verify(output)
    assert report.ok and len(report.notes) == 2 and all("is gone" in note for note in report.notes)


def test_system_files(tmp_path: Path) -> None:
    path = Path(shutil.copy(sample("tripeptide"), tmp_path / "system.tsr"))
    assert verify(path).ok
    flip(path, -100)
    assert not verify(path).ok
    path.write_bytes(path.read_bytes()[:-2000])
    assert not verify(path).ok
    with h5py.File(path, "w") as file:
        file.attrs["format"], file.attrs["version"] = "tessera-system", 1
    mend = "make it again with `tessera prepare`"
    assert problems(path) == {
        "system.tsr": f"is a system file of version 1, this tessera reads versions 2 to 4: {mend}"
    }


def test_what_can_not_be_verified(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(InputError, match=r"holds no run: expected its output folder"):
        verify(tmp_path)
    with pytest.raises(InputError, match="neither a checkpoint"):
        verify(tmp_path / "notes.txt")
    with pytest.raises(InputError, match="is not there"):
        verify(tmp_path / "none")
    said("verify", tmp_path, status=2)
    said("verify", tmp_path / "none", status=2)
