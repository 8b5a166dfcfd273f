"""Trajectories of some atoms each are put together to frames of all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tessera.errors import InputError
from tessera.io import SegmentWriter
from tessera.traj import Merged, Trajectory
from tests.support.commands import said
from tests.traj.samples import BOX, numbers

ATOMS = 12


def write(folder: Path, steps: range, ids: np.ndarray, system_atoms: int = ATOMS) -> Path:
    with SegmentWriter(folder, len(ids), every=steps.step, ids=ids, system_atoms=system_atoms) as writer:
        for step in steps:
            writer.append(step, 0.001 * step, BOX, numbers(step, ATOMS)[ids])
    return folder


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """All atoms each 20 steps, and each third each 5."""
    return [
        write(tmp_path / "all.segments", range(0, 61, 20), np.arange(ATOMS)),
        write(tmp_path / "thirds.segments", range(0, 61, 5), np.arange(0, ATOMS, 3)),
    ]


def test_frames_at_common_steps(parts: list[Path], tmp_path: Path) -> None:
    others = write(tmp_path / "others.segments", range(0, 61, 15), np.flatnonzero(np.arange(ATOMS) % 3))
    merged = Merged([parts[1], others])
    assert merged.ids.tolist() == list(range(ATOMS)) and merged.steps.tolist() == [0, 15, 30, 45, 60]
    for frame in merged:
        assert np.array_equal(frame.positions, numbers(frame.step, ATOMS))
        assert frame.time == pytest.approx(0.001 * frame.step) and np.array_equal(frame.box, BOX)
    assert merged[1:4:2].steps.tolist() == [15, 45]


def test_atoms_that_were_not_written_stay(parts: list[Path]) -> None:
    merged = Merged(parts, hold=True)
    assert merged.steps.tolist() == list(range(0, 61, 5))
    for frame in merged:
        expected = numbers(frame.step // 20 * 20, ATOMS)
        expected[::3] = numbers(frame.step, ATOMS)[::3]
        assert np.array_equal(frame.positions, expected)


def test_the_command(parts: list[Path], tmp_path: Path) -> None:
    assert "13 frames of 12 atoms" in said("traj", "merge", *parts, "--hold", "-o", tmp_path / "out.segments")
    assert np.array_equal(Trajectory(tmp_path / "out.segments")[7].positions, Merged(parts, hold=True)[7].positions)


def test_what_can_not_be_merged(parts: list[Path], tmp_path: Path) -> None:
    other = write(tmp_path / "other.segments", range(0, 61, 20), np.arange(3), system_atoms=99)
    with pytest.raises(InputError, match="merge trajectories of one run"):
        Merged([parts[0], other])
    late = write(tmp_path / "late.segments", range(1, 62, 20), np.arange(3))
    with pytest.raises(InputError, match="no step in common"):
        Merged([parts[0], late])
    with pytest.raises(InputError, match="steps that begin anew"):
        both = tmp_path / "both"
        both.mkdir()
        Merged([_stages(both, parts[0])])


def _stages(folder: Path, part: Path) -> Path:
    """A protocol's folder with the same trajectory in two stages."""
    import shutil

    for name in ("1-one", "2-two"):
        shutil.copytree(part, folder / name / "trajectory.segments")
        (folder / name / "settings.toml").write_text("")
    return folder
