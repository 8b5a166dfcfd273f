"""Frames in XDR: what was written comes back, by Tessera's reader and by the layout that the reference has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera.build.water import make_water
from tessera.system import write
from tessera.traj import History, Trajectory
from tests.support.programs import ENGINES, run_program
from tests.traj.samples import BOX, TIMESTEP, numbers, ran, run, write_segment

ATOMS = 30
STEPS = range(0, 50, 10)
QUANTITIES = ("positions", "velocities", "forces")
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "xdr.md"


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Segments of a system, and frames.xdr with all that they hold."""
    write(make_water(ATOMS), tmp_path / "water.tsr")
    write_segment(tmp_path / "a.segments", STEPS, ATOMS, QUANTITIES)
    ran("convert", tmp_path / "a.segments", "-o", tmp_path / "frames.xdr", "--system", tmp_path / "water.tsr")
    return tmp_path


@pytest.mark.parametrize("level", [0, 1, 2])
def test_what_was_written_comes_back(made: Path, level: int) -> None:
    first, path = made / "some.segments", made / "some.xdr"
    write_segment(first, STEPS, ATOMS, QUANTITIES[: level + 1])
    facts = ran("convert", first, "-o", path, "--system", made / "water.tsr")
    assert facts["bytes"] == path.stat().st_size == 5 * (200 + ATOMS * (40 + 24 * level))
    facts = ran("info", path)
    assert (facts["frames"], facts["atoms"], facts["every"], facts["damaged"]) == (5, ATOMS, 10, 0)
    assert facts["quantities"] == list(QUANTITIES[: level + 1]) and "XDR" in run("info", path).output
    assert "whole" in run("verify", path).output
    ran("convert", path, "-o", made / "again.segments")
    again, source = Trajectory(made / "again.segments"), Trajectory(first)
    np.testing.assert_allclose(again.times, source.times)
    for ours, theirs in zip(again, source, strict=True):
        assert ours.step == theirs.step
        np.testing.assert_array_equal(ours.box, theirs.box)
        for name in QUANTITIES[: level + 1]:
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert History(path).structure("").name.tolist()[:3] == ["OH2", "H1", "H2"]


def test_the_layout_is_that_of_the_reference(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The block of Python in the reference reads a file without Tessera."""
    (block,) = re.findall(r"```python\n(.*?)```", REFERENCE.read_text(), re.DOTALL)
    monkeypatch.chdir(made)
    found: dict[str, Any] = {}
    exec(block, found)
    frames = found["frames"]
    assert frames["step"].tolist() == list(STEPS)
    np.testing.assert_allclose(frames["time"], np.array(STEPS) * TIMESTEP)
    np.testing.assert_array_equal(frames["cell"][0].reshape(3, 3), BOX)
    for index, step in enumerate(STEPS):
        for k, name in enumerate(QUANTITIES):
            unit = 418.4 if name == "forces" else 1.0
            np.testing.assert_allclose(frames["atoms"]["values"][index, :, k], unit * numbers(step, ATOMS, name))
    assert frames["atoms"]["name"][0, :2].tolist() == [b"OH2     ", b"H1      "]


def test_masses_are_asked_for(made: Path) -> None:
    """They were zeros in a HISTORY."""
    done = run("convert", made / "frames.xdr", "-o", made / "HISTORY")
    assert done.exit_code == 2 and "holds no masses and charges" in done.output and "--system" in done.output
    ran("convert", made / "frames.xdr", "-o", made / "HISTORY", "--system", made / "water.tsr")
    assert History(made / "HISTORY").structure("").mass[0] == pytest.approx(15.9994)


@pytest.mark.parametrize("order", ["sorted", "owned"])
@pytest.mark.parametrize("kind", ["xdr", "binary"])
def test_what_write_methods_write(tmp_path: Path, kind: str, order: str) -> None:
    """Atoms are put back by their numbers."""
    words = [ENGINES / "tessera-io-serial", "write", "--atoms", "100", "--order", order, "--format"]
    run_program([*words, kind, tmp_path / "a.xdr"])
    run_program([*words, "history", tmp_path / "HISTORY"])
    ours, theirs = History(tmp_path / "a.xdr"), History(tmp_path / "HISTORY")
    np.testing.assert_allclose(ours[0].positions, theirs[0].positions, atol=1e-6)
    assert ours.structure("").name.tolist() == theirs.structure("").name.tolist()


def test_a_file_that_is_cut_anywhere(made: Path) -> None:
    content, frame = (made / "frames.xdr").read_bytes(), 200 + ATOMS * 88
    for size in (0, 7, 199, 200, frame - 1, frame, frame + 1, 3 * frame + 150, 5 * frame - 1):
        (made / "cut.xdr").write_bytes(content[:size])
        if size < 200:
            assert run("info", made / "cut.xdr").exit_code == 2
            continue
        found = History(made / "cut.xdr")
        assert (len(found), found.damaged) == (size // frame, int(size % frame > 0))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, b"TESSERAY", "begins with TESSERAX"),
        (80, (3).to_bytes(8), "level 3 and 30 atoms, expected level 0 to 2"),
        (88, (0).to_bytes(8), "level 2 and 0 atoms"),
        (2840 + 88, (31).to_bytes(8), "frame 1 has another atoms in its header"),
        (200, (2).to_bytes(8), "frame 0 does not have each of the atoms 1 to 30 once"),
        (200, (-1).to_bytes(8, signed=True), "frame 0 does not have each of the atoms 1 to 30 once"),
        (200, (2**62).to_bytes(8), "frame 0 does not have each of the atoms 1 to 30 once"),
        (96, (7).to_bytes(8), "imcon is 7 at step 0"),
    ],
)
def test_messages(made: Path, place: int, value: bytes, message: str) -> None:
    content = bytearray((made / "frames.xdr").read_bytes())
    content[place : place + len(value)] = value
    (made / "frames.xdr").write_bytes(content)
    done = run("convert", made / "frames.xdr", "-o", made / "out.dcd")
    assert done.exit_code == 2 and message in done.output, done.output
    assert len(done.output.splitlines()) == 1 and not (made / "out.dcd").exists()
