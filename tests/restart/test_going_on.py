"""What a run writes where it goes on after an end, or where others change its folder: in this process, one rank."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tessera
from tessera.traj import Trajectory
from tessera.verify import verify
from tests.support.samples import sample

pytest.importorskip("tessera._md_serial", reason="the Python modules are not built")


def simulation(folder: Path, steps: int, every: int = 4, **output: Any) -> tessera.Simulation:
    return tessera.Simulation(
        sample("peptide"),
        {
            "dynamics": {"seed": 7, "steps": steps},
            "output": {"folder": str(folder), "energy_every": every, "trajectory_every": 4, **output},
        },
    )


def run(folder: Path, *steps: int, every: int = 4) -> bytes:
    """Runs to these steps one after another, and returns energy.csv."""
    for leg, last in enumerate(steps):
        sim = simulation(folder, last, every)
        if leg:
            sim.restore(folder)
        sim.run()
    return (folder / "energy.csv").read_bytes()


@pytest.mark.parametrize("every", [0, 4, 5])
def test_the_table_of_legs_is_that_of_one_run(tmp_path: Path, every: int) -> None:
    """Ends on rows and between them; sums behind the drift go on as well."""
    whole = run(tmp_path / "whole", 20, every=every)
    assert run(tmp_path / "legs", 3, 8, 15, 20, every=every) == whole
    assert verify(tmp_path / "legs").ok


@pytest.mark.parametrize(
    ("old", "new"),
    [(r"(\n4,[^,]*),[^,]*", r"\1,1e999"), (r"(\n4,.*),[^,\n]*\n", r"\1\n"), (r"\n4,", "\n4x,"), (r"\n4,", "\n0,"),
     (r"(\n4,[^,]*),[^,]*", r"\1,"), (r"(\n4,[^,]*),[^,]*", r"\1,1_0")],
    ids=["too great", "cut", "no number", "step", "empty", "underscore"],
)  # fmt: skip
def test_no_run_goes_on_over_a_damaged_row(tmp_path: Path, old: str, new: str) -> None:
    text = run(tmp_path / "out", 8).decode()
    damaged = re.sub(old, new, text, count=1).encode()
    assert damaged != text.encode()
    (tmp_path / "out/energy.csv").write_bytes(damaged)
    assert [file.problem[:7] for file in verify(tmp_path / "out").files if not file.ok] == ["line 3 "]
    sim = simulation(tmp_path / "out", 12)
    sim.restore(tmp_path / "out")
    with pytest.raises(tessera.InputError, match=r"energy.csv: line 3 is damaged, expected \d+ numbers"):
        sim.run()
    assert (tmp_path / "out/energy.csv").read_bytes() == damaged


@pytest.mark.parametrize("change", ["removed", "replaced"])
def test_settings_that_others_remove_are_written_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], change: str
) -> None:
    settings = tmp_path / "out/settings.toml"
    sim = simulation(tmp_path / "out", 8)
    before: list[bytes] = []

    def disturb(_: tessera.Simulation) -> None:
        if not before:
            before.append(settings.read_bytes())
            settings.write_text("nonsense") if change == "replaced" else settings.unlink()

    sim.add_hook(disturb, every=4)
    sim.run()
    assert settings.read_bytes() == before[0]
    assert "settings.toml was removed or changed while the run wrote to its folder" in capfd.readouterr().err
    assert len(Trajectory(tmp_path / "out")) == 3


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_in_the_place_of_settings(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """To read a pipe would wait for ever, and a folder was an error that nobody expects."""
    settings = tmp_path / "out/settings.toml"
    sim = simulation(tmp_path / "out", 8)

    def disturb(_: tessera.Simulation) -> None:
        if settings.is_file():
            settings.unlink()
            make(settings)

    sim.add_hook(disturb, every=4)
    with pytest.raises(tessera.InputError, match=r"settings.toml: is "):
        sim.run()
