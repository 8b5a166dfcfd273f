"""Tests what is said of time steps that are too long, and how a run ends whose box becomes too small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.runs import Runs, Settings
from tests.support.samples import sample

SQUEEZED: Settings = {
    "dynamics.ensemble": "npt",
    "dynamics.pressure": 50000.0,
    "dynamics.tau_p": 0.2,
    "dynamics.steps": 2000,
    "interactions.cutoff": 15.0,
    "interactions.switch": 14.0,
    "output.checkpoint_every": 0,
}


@pytest.mark.parametrize(("mpi", "ranks"), [("serial", 1), ("openmpi", 2), ("mpich", 3)])
def test_a_box_that_becomes_too_small_ends_the_run(runs: Runs, water: Path, mpi: str, ranks: int) -> None:
    ended = runs.run(water, SQUEEZED, check=False, mpi=mpi, ranks=ranks)
    assert ended.process.returncode == 3
    message = ended.process.stderr
    assert message.count("the box has shrunk to") == 1 and "Traceback" not in message
    assert "within 1 % of where the run can't go on (box edge" in message
    assert "twice interactions.cutoff = 15 Å" in message
    assert "its checkpoint is written" in message
    report = json.loads((ended.folder / "report.json").read_text())
    assert 0 < report["last_step"] < 2000

    start: Settings = {"input.start": str(ended.folder / "checkpoint"), "dynamics.steps": 5, "dynamics.ensemble": "nvt"}
    on = runs.run(water, {"interactions.cutoff": 9.0, "interactions.switch": 8.0, **start})
    edges = on.table["box_a"]
    assert 29.9 < edges[0] < 30.4 and (edges == edges[0]).all()


@pytest.mark.parametrize(
    ("timestep", "more", "expected"),
    [
        (2.0, {"dynamics.constraints": "none"}, 'fastest period that constraints = "none" leave: 10.0 fs'),
        (2.0, {"dynamics.constraints": "none"}, 'choose at most 1.9 fs, or constraints = "h-bonds"'),
        (5.0, {}, 'constraints = "h-bonds" leave: 2'),
    ],
)
def test_a_time_step_that_is_too_long_is_noted(runs: Runs, timestep: float, more: Settings, expected: str) -> None:
    settings: Settings = {"dynamics.steps": 1, "dynamics.timestep": timestep, **more}
    said = runs.run(sample("peptide"), settings, check=False).process.stderr
    assert f"dynamics.timestep = {timestep:g} fs is more than a fifth of the fastest period" in said
    assert expected in said


def test_a_usual_time_step_is_not_noted(runs: Runs) -> None:
    for settings in ({"dynamics.timestep": 2.0}, {"dynamics.timestep": 1.0, "dynamics.constraints": "none"}):
        said = runs.run(sample("peptide"), {"dynamics.steps": 1, **settings}).process.stderr
        assert "fastest period" not in said
