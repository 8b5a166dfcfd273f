"""A run that blows up ends at once, names the atom, residue, force and step, and leaves its last good checkpoint."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera.system import write
from tests.support.runs import Runs, Settings
from tests.support.samples import changed, last_state, sample

TERMS = ("bond", "angle", "urey_bradley", "dihedral", "improper", "cmap", "lj", "lj_14", "coulomb")


def sizes(mpi: str) -> dict[str, Any]:
    return {"mpi": mpi, "ranks": 1 if mpi == "serial" else 3, "check": False}


def check(process: subprocess.CompletedProcess[str], last_step: int) -> str:
    text = process.stderr
    assert process.returncode == 3, text
    assert text.count("tessera-md: error:") == 1, text
    message = text[text.index("tessera-md: error:") :].splitlines()[0]
    step = re.search(r"step (\d+)", message)
    assert step and int(step[1]) <= last_step, message
    assert re.search(r"atom \d+ \(\w+ (\d+ \w+|\w+, molecule \d+)\)", message), message
    assert any(f"is {term}" in message for term in TERMS), message
    return message


def overlapping(folder: Path, distance: float) -> Path:
    """Writes a system in which two water oxygens are `distance` Å apart."""
    system = changed("peptide")
    move = system.fraction[33].astype(np.int64) - system.fraction[2001]
    move[0] += round(distance / system.box[0, 0] * 2**32)
    system.fraction[2001:2004] = (system.fraction[2001:2004] + move).astype(np.uint32).astype(np.int32)
    write(system, folder / "overlapping.tsr")
    return folder / "overlapping.tsr"


@pytest.mark.parametrize(
    ("mpi", "distance", "precision"),
    [
        *(("serial", d, precision) for d in (0.0, 0.05, 0.3, 0.8, 1.2) for precision in ("mixed", "double")),
        ("openmpi", 0.05, "mixed"),  # ranks agree at the start (Engine::check)
        ("mpich", 0.05, "double"),
        ("mpich", 1.2, "mixed"),  # and under way (Engine::must_search)
        ("openmpi", 1.2, "double"),
    ],
)
def test_overlapping_atoms(runs: Runs, tmp_path: Path, mpi: str, distance: float, precision: str) -> None:
    settings: Settings = {"dynamics.steps": 100, "parallel.precision": precision, "dynamics.timestep": 2.0}
    found = runs.run(overlapping(tmp_path, distance), settings, **sizes(mpi))
    message = check(found.process, 10)
    assert "lj" in message or "coulomb" in message


@pytest.mark.parametrize(
    ("mpi", "constraints"),
    [("serial", "h-bonds"), ("serial", "none"), ("openmpi", "h-bonds"), ("mpich", "none")],
)
def test_long_time_step(runs: Runs, mpi: str, constraints: str) -> None:
    """A step of 50 fs is far longer than any bond allows. On ranks, an atom may leave its neighbours (Domain)."""
    settings: Settings = {
        "dynamics.steps": 200,
        "dynamics.timestep": 50.0,
        "dynamics.constraints": constraints,
        "output.checkpoint_every": 1,
        "output.energy_every": 1,
    }
    found = runs.run(sample("peptide"), settings, **sizes(mpi))
    check(found.process, 10)
    # a checkpoint from before the failure is whole
    if (found.folder / "checkpoint.tck").exists():
        fraction, velocity = last_state(found.folder)
        assert len(fraction) == changed("peptide").n_atoms and np.isfinite(velocity).all()


@pytest.mark.parametrize("mpi", ["serial", "openmpi", "mpich"])
def test_the_last_good_checkpoint_stays(runs: Runs, mpi: str) -> None:
    """The step is just longer than bonds to hydrogen allow (period/π): about ten steps pass with good checkpoints."""
    settings: Settings = {"output.checkpoint_every": 2, "dynamics.timestep": 3.2}
    path = runs.run_file(sample("peptide"), {**settings, "dynamics.constraints": "none"})
    found = runs.start(path, "--set", "dynamics.steps=500", **sizes(mpi))
    assert found.process.returncode == 3, found.process.stderr
    checkpoint = (found.folder / "checkpoint.tck").read_bytes()
    again = runs.start(path, "--restart", "--set", "dynamics.steps=500", **sizes(mpi))
    assert again.process.returncode == 3
    # Trouble begins before that checkpoint, so that the restart meets it at its first state, but notices it as late.
    first, second = (re.search(r"noticed later: (step \d+: atom \d+)", p.process.stderr) for p in (found, again))
    assert first and second and first[1] == second[1], (found.process.stderr, again.process.stderr)
    assert (found.folder / "checkpoint.tck").read_bytes() == checkpoint
