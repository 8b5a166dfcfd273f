"""Trajectories that were cut between frames: their checksums are right, and the rest of the run tells of the cut."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tessera.traj.manifest import manifest_paths, read_manifest
from tessera.traj.written import Claim, missing_at_the_end
from tests.support.commands import said
from tests.support.runs import Runs, Settings
from tests.support.samples import sample
from tests.traj.samples import run

SETTINGS: Settings = {
    "dynamics.steps": 20,
    "output.energy_every": 5,
    "output.trajectory_every": 5,
    "output.trajectory": "segments",
}
SELECTION = """
[[output.selection]]
name = "oxygens"
select = "index 0:4"
every = 4
"""
CHECKPOINTS = ("checkpoint.tck", "checkpoint.previous.tck")


@pytest.fixture(scope="module")
def ran(runs: Runs) -> Path:
    path = runs.run_file(sample("peptide"), SETTINGS)
    path.write_text(path.read_text() + SELECTION)
    return runs.start(path).folder


@pytest.fixture
def output(ran: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ran, tmp_path / "output"))


def cut(folder: Path, frames: int) -> None:
    """Leaves the first frames of the last segment, as if no other had been written."""
    path = manifest_paths(folder)[-1]
    manifest = read_manifest(path)
    assert manifest is not None
    for index, part in enumerate(manifest.parts):
        places = manifest.entries["place"][:frames, index]
        end = int((places[..., 0] + places[..., 1]).max()) if frames else 0
        part.path.write_bytes(part.path.read_bytes()[:end])
    size = manifest.header_bytes + frames * manifest.entries.itemsize
    path.write_bytes(path.read_bytes()[:size])


def test_a_whole_run(output: Path) -> None:
    done = run("verify", output)
    assert done.exit_code == 0 and "note" not in done.output
    assert run("verify", output / "oxygens.segments").exit_code == 0
    assert "duplicates" not in json.loads(run("info", output, "--json").output)


@pytest.mark.parametrize("frames", [4, 1, 0])
@pytest.mark.parametrize(
    ("without", "told"),
    [
        ((), "checkpoint.tck"),
        (CHECKPOINTS, "report.json"),
    ],
)
def test_what_a_run_has_written_is_missed(output: Path, frames: int, without: tuple[str, ...], told: str) -> None:
    for name in without:
        (output / name).unlink(missing_ok=True)
    for name, written in (("trajectory", 5), ("oxygens", 6)):
        cut(output / f"{name}.segments", frames)
        expected = f"ends after frame {frames} of {written}: by {told} there are as many up to step 20"
        done = run("verify", output / f"{name}.segments")
        assert done.exit_code == 1 and expected in done.output
        assert expected in " ".join(said("verify", output, status=1).split())


@pytest.mark.parametrize("kept", [["checkpoint.tck"], ["report.json"]])
def test_a_run_without_its_settings_tells_too(output: Path, kept: list[str]) -> None:
    cut(output / "trajectory.segments", 4)
    for name in (*CHECKPOINTS, "report.json", "energy.csv", "settings.toml"):
        if name not in kept:
            (output / name).unlink(missing_ok=True)
    for place in (output, output / "trajectory.segments"):
        done = run("verify", place)
        assert done.exit_code == 1 and f"ends after frame 4 of 5: by {kept[0]}" in done.output


def test_what_is_not_known_is_not_said(output: Path, tmp_path: Path) -> None:
    """A trajectory without its run is as whole as its checksums; where the table alone goes further, the
    run was killed or failed, which is no damage."""
    cut(output / "trajectory.segments", 4)
    alone = shutil.copytree(output / "trajectory.segments", tmp_path / "alone" / "trajectory.segments")
    done = run("verify", alone)
    assert done.exit_code == 0 and "ends after" not in done.output
    for name in (*CHECKPOINTS, "report.json"):
        (output / name).unlink(missing_ok=True)
    done = run("verify", output)
    assert done.exit_code == 0 and "note  ends after frame 4 of 5: by energy.csv" in done.output
    assert "the run ended" in done.output


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_text("[" * 100_000),
        lambda path: path.write_text('{"last_step": "x", "settings": [], "legs": 3}'),
        lambda path: path.write_bytes(b"\xff\n\xff\n"),
        lambda path: path.write_text(""),
    ],
)
def test_what_makes_no_sense_claims_nothing(output: Path, spoil: Callable[[Path], None]) -> None:
    cut(output / "trajectory.segments", 4)
    for name in (*CHECKPOINTS, "report.json", "energy.csv"):
        spoil(output / name)
    assert run("verify", output).exit_code == 0


def test_a_leg_in_another_format_is_not_missed(output: Path) -> None:
    """A restart that writes a DCD counts its frames under the same name."""
    settings = output / "settings.toml"
    cut(output / "trajectory.segments", 4)
    settings.write_text(settings.read_text().replace('trajectory = "segments"', 'trajectory = "dcd"'))
    report = json.loads((output / "report.json").read_text())
    report["settings"]["output"]["trajectory"] = "dcd"
    (output / "report.json").write_text(json.dumps(report))
    assert run("verify", output).exit_code == 0
    settings.unlink()  # nothing tells of the format
    assert run("verify", output).exit_code == 1


def test_a_leg_with_other_steps_between_frames(output: Path) -> None:
    """The frames of a leg are counted from where it began."""
    from tessera.traj import Trajectory

    whole = Trajectory(output)
    assert missing_at_the_end([Claim("report.json", 29, every=1, after_step=29)], whole) is None
    found = missing_at_the_end([Claim("report.json", 29, every=2, after_step=25)], whole)
    assert found == ("ends after frame 5 of 7: by report.json there are as many up to step 29", True)
