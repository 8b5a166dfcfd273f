"""A run that blows up names what did it, leaves its last steps in full in `black_box`, and says what to try."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera.errors import InputError
from tessera.system import System, write
from tessera.traj import Trajectory
from tests.support.programs import ROOT
from tests.support.runs import Outcome, Runs, Settings, read_table
from tests.support.samples import changed, sample

CONSTANT, LENGTH = 0, 1  # columns of tables of bonded terms
NPT: Settings = {"dynamics.ensemble": "npt", "dynamics.coupling_every": 1, "dynamics.steps": 400}


@dataclass
class Failure:
    """A mistake that is made on purpose, and what the run must say of it."""

    cause: str
    terms: tuple[str, ...] = ()  # one of which must be named
    atoms: tuple[int, ...] = ()  # one of which must be named
    advice: str = ""
    system: str = "tripeptide"
    spoil: Callable[[System], None] = lambda system: None
    settings: Settings = field(default_factory=dict)
    sections: str = ""
    step: int | None = None  # at which the trouble begins


def overlap(system: System) -> None:
    move = system.fraction[33].astype(np.int64) - system.fraction[2001]
    move[0] += round(0.3 / system.box[0, 0] * 2**32)
    system.fraction[2001:2004] = (system.fraction[2001:2004] + move).astype(np.uint32).astype(np.int32)


def wrong_row(kind: str, column: int, value: float) -> Callable[[System], None]:
    """Returns a function that gives the first term of a kind that no constraint holds, or else the first, a row of its
    own with this value in a column."""

    def spoil(system: System) -> None:
        template = system.templates[system.runs[0, 0]]
        terms, table = template.terms[kind], system.force_field.tables[kind]
        heavy = 2.0  # amu
        first = int(np.argmax((template.mass[terms.atoms] > heavy).all(axis=1)))
        row = table[terms.parameter[first]].copy()
        row[column] = value
        system.force_field.tables[kind] = np.vstack([table, row])
        terms.parameter[first] = len(table)

    return spoil


def wrong_charge(system: System) -> None:
    """Gives a hydrogen of the peptide the charge of minus eight protons: the hydrogens of the waters fall onto it."""
    template = system.templates[system.runs[0, 0]]
    template.charge[list(template.atom_name.astype(str)).index("HN")] = -8.0


def too_fast(system: System) -> None:
    assert system.velocity is not None
    system.velocity[40] = [900.0, 0.0, 0.0]


FAILURES = {
    "overlapping atoms": Failure(
        "overlap", ("lj", "coulomb_real"), (33, 2001), "minimise first", "peptide", overlap, step=0
    ),
    "long time step": Failure(
        "time step", advice="choose at most", settings={"dynamics.timestep": 20.0, "dynamics.steps": 200}
    ),
    "missing constraints": Failure(
        "time step",
        ("bond", "angle", "urey_bradley"),
        advice='constraints = "h-bonds"',
        settings={"dynamics.timestep": 3.6, "dynamics.constraints": "none", "dynamics.steps": 400},
    ),
    "wrong charge": Failure("charges", ("coulomb_real",), (), "ALA 2 HN", "peptide", wrong_charge),
    "wrong bond length": Failure(
        "bonded term", ("bond",), (), "its parameters", spoil=wrong_row("bond", LENGTH, 15.0), step=0
    ),
    "wrong angle": Failure("bonded term", ("angle",), (), "its parameters", spoil=wrong_row("angle", CONSTANT, 5e4)),
    "wrong dihedral": Failure(
        "bonded term", ("dihedral",), (), "its parameters", spoil=wrong_row("dihedral", CONSTANT, 4e4)
    ),
    "absurd velocity": Failure(
        "velocity",
        atoms=(39, 40, 41),  # its water is rigid
        advice="correct it in the input",
        system="peptide",
        spoil=too_fast,
        settings={"dynamics.velocities": "file", "dynamics.timestep": 2.0},
        step=0,
    ),
    "collapsing box": Failure(
        "box",
        advice="equilibrate",
        system="peptide",
        settings={**NPT, "dynamics.pressure": 1e6, "dynamics.tau_p": 0.05},
    ),
    "strong barostat": Failure(
        "box",
        advice="dynamics.tau_p of 5 ps",
        system="peptide",
        settings={
            **NPT,
            "dynamics.thermostat": "nose-hoover",
            "dynamics.barostat": "mtk",
            "dynamics.tau_p": 0.01,
            "dynamics.pressure": 3e4,
        },
    ),
    "far restraint": Failure(
        "restraint",
        ("restraint",),
        advice="a restraint pulls from far away",
        sections='[[restraint]]\nkind = "distance"\ngroups = ["index 0", "index 20"]\nk = 200.0\ntarget = 90.0\n',
        step=0,
    ),
}


def fail(runs: Runs, folder: Path, failure: Failure, name: str, **sizes: Any) -> Outcome:
    system = changed(failure.system)
    failure.spoil(system)
    write(system, folder / "spoilt.tsr")
    settings: Settings = {"dynamics.steps": 60, "dynamics.timestep": 1.0, "output.energy_every": 0, **failure.settings}
    if failure.system == "tripeptide":
        settings["interactions.electrostatics"] = "cut"
    path = runs.run_file(folder / "spoilt.tsr", settings, name)
    path.write_text(path.read_text() + failure.sections)
    return runs.start(path, check=False, **sizes)


def black_box(found: Outcome) -> dict[str, Any]:
    return dict(json.loads((found.folder / "black_box" / "failure.json").read_text()))


@pytest.mark.parametrize("name", FAILURES)
def test_failures_are_named(runs: Runs, tmp_path: Path, name: str) -> None:
    failure = FAILURES[name]
    found = fail(runs, tmp_path, failure, name)
    text = found.process.stderr
    assert found.process.returncode == 3, text
    box = black_box(found)
    assert box["cause"] == failure.cause, text
    assert failure.advice in box["advice"] and f"what to try: {box['advice']}" in text
    assert f"error: {box['message']}" in text
    trouble = box.get("first_trouble")
    if failure.terms:
        assert trouble["term"] in failure.terms and f"is {trouble['term']}" in text
    if failure.atoms:
        assert trouble["atom"] in failure.atoms and trouble["name"] in box["message"]
    if failure.step is not None:
        assert trouble["step"] == failure.step
    with pytest.raises(InputError, match="holds no trajectory"):  # of the run itself, which wrote none
        Trajectory(found.folder)
    frames = Trajectory(found.folder / "black_box")
    assert len(frames) == box["frames"] > 0
    assert frames.steps[-1] == box["last_step"] and (np.diff(frames.steps) == 1).all()
    last = frames[-1]
    assert last.velocities is not None and last.forces is not None and np.isfinite(last.positions).all()
    table = read_table(found.folder / "black_box" / "energy.csv")
    assert table["step"][0] == box["checkpoint_step"] and table["step"][-1] == box["last_step"]


@pytest.mark.parametrize(
    ("name", "mpi", "mode"), [("overlapping atoms", "openmpi", "cells"), ("wrong charge", "mpich", "replicated")]
)
def test_ranks_say_the_same(runs: Runs, tmp_path: Path, name: str, mpi: str, mode: str) -> None:
    failure = FAILURES[name]
    on_ranks = replace(failure, settings={**failure.settings, "parallel.mode": mode})
    alone, together = (
        fail(runs, tmp_path, one, f"{name} {place}", **sizes)
        for place, one, sizes in (("alone", failure, {}), ("together", on_ranks, {"mpi": mpi, "ranks": 3}))
    )
    first, second = black_box(alone), black_box(together)
    for key in first.keys() - {"noticed", "first_trouble"}:  # a rank notices what it knows, and sums in its own order
        assert first[key] == second[key]
    assert together.process.stderr.count("tessera-md: error:") == 1
    assert together.process.stderr.count("what to try") == 1
    one, other = (Trajectory(found.folder / "black_box")[-1] for found in (alone, together))
    np.testing.assert_array_equal(one.positions, other.positions)
    np.testing.assert_array_equal(one.forces, other.forces)


SLOW_FAILURE: Settings = {
    "dynamics.timestep": 3.2,
    "dynamics.constraints": "none",
    "dynamics.steps": 500,
    "output.trajectory_every": 1,
}


def test_steps_are_those_of_the_run(runs: Runs) -> None:
    """The short run does the last steps again to the last bit, and a new run may begin from its checkpoint."""
    path = runs.run_file(sample("peptide"), SLOW_FAILURE)
    found = runs.start(path, check=False)
    again = found.folder / "black_box"
    of_run, of_box = Trajectory(found.folder), Trajectory(again)
    for step in range(of_box.steps[0], of_box.steps[-1] + 1):
        first, second = (frames[list(frames.steps).index(step)] for frames in (of_run, of_box))
        np.testing.assert_array_equal(first.positions, second.positions)
    settings: Settings = {"input.start": str(again), "dynamics.steps": 4, "dynamics.timestep": 0.5}
    assert runs.run(sample("peptide"), settings).process.returncode == 0


def test_it_may_be_left_out(runs: Runs) -> None:
    found = runs.run(sample("peptide"), {**SLOW_FAILURE, "output.black_box": False}, check=False)
    assert found.process.returncode == 3 and not (found.folder / "black_box").exists()
    assert "what to try" not in found.process.stderr


def test_a_healthy_run_keeps_its_bits(runs: Runs) -> None:
    """It copies its state thrice, to no effect but its memory."""
    settings: Settings = {"dynamics.steps": 250, "interactions.electrostatics": "cut", "output.energy_every": 50}
    kept, without = (runs.run(sample("tripeptide"), {**settings, "output.black_box": one}) for one in (True, False))
    assert kept.hash == without.hash and not (kept.folder / "black_box").exists()
    owners = [found.report["memory"]["by_owner"] for found in (kept, without)]
    assert owners[0]["last good states"] == 2 * 32 * changed("tripeptide").n_atoms
    assert "last good states" not in owners[1]


def test_the_guide_shows_what_is_said(runs: Runs, tmp_path: Path) -> None:
    found = fail(runs, tmp_path, FAILURES["wrong charge"], "guide")
    said = found.process.stderr.replace(f"{found.folder.parent}/", "")
    text = (ROOT / "docs" / "guide" / "output.md").read_text()
    shown = text.partition("## The black box")[2].split("```")[1].split("\n")[1:-1]
    assert len(shown) == 4
    for line in shown:
        assert line.removesuffix("…") in said, line


def test_a_folder_that_cannot_be_made_hides_nothing(runs: Runs, tmp_path: Path) -> None:
    name = "in the way"
    (runs.work / name / "output").mkdir(parents=True)
    (runs.work / name / "output" / "black_box").write_text("of somebody else")
    found = fail(runs, tmp_path, FAILURES["overlapping atoms"], name)
    text = found.process.stderr
    assert found.process.returncode == 3, text
    assert "error: step" in text and "the run has blown up" in text
    assert "the black box is not complete" in text and "what to try" in text
