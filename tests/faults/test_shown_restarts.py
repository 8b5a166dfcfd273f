"""Every restart that README.md and the guide show goes on, on one rank and on two, to the same bits: with selections as
text, which the engine does not understand alone."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ENGINES, ROOT, mpirun

pytest.importorskip("MDAnalysis")

Run = Callable[..., subprocess.CompletedProcess[str]]

SETTINGS = """
[input]
system = "water.tsr"
[interactions]
cutoff = 9.0
switch = 8.0
[dynamics]
steps = 16
ensemble = "nvt"
coupling_every = 5
fixed = "resid 1"
[[bath]]
select = "resid 1:500"
temperature = 300.0
[[bath]]
select = "not resid 1:500"
temperature = 310.0
[[restraint]]
kind = "position"
select = "name O* and resid 11:20"
reference = "start.pdb"
k = 20.0
[output]
progress = "none"
energy_every = 4
"""
STAGES = """
[[stage]]
name = "heat"
dynamics.steps = 4
[[stage]]
name = "produce"
dynamics.steps = 16
restraint = []
"""
STOPPED = ["--set", "dynamics.steps=8"]  # the runs from which restarts go on

# The command with its ranks left out: what began the run, the folder of its end, and its last step.
RESTARTS = {
    "tessera run run.toml --restart": (STOPPED, "output", 16),
    "tessera run run.toml --restart --set dynamics.steps=200": (STOPPED, "output", 200),
    "tessera run run.toml --mpi openmpi --restart": (STOPPED, "output", 16),
    "tessera-md run.toml --restart": (STOPPED, "output", 16),
    "tessera run run.toml --restart --set dynamics.steps=60 --set output.folder=tuned": (
        [*STOPPED, "--tune", "--set", "output.folder=tuned"], "tuned", 60),
    "tessera run protocol.toml --restart --set stage.produce.dynamics.steps=80": (
        ["--set", "stage.produce.dynamics.steps=8"], "output/produce", 80),
    "tessera run protocol.toml --restart --max-hours 23.9": (
        ["--set", "stage.produce.dynamics.steps=8"], "output/produce", 16),
}  # fmt: skip


def shown() -> set[str]:
    """Returns the restarts in the documents, without their ranks."""
    found = set()
    for document in (ROOT / "README.md", *(ROOT / "docs" / "guide").glob("*.md")):
        for line in re.findall(r"(?:tessera run|tessera-md) [^`\n]*(?:--|\$)restart\b[^`\n#]*", document.read_text()):
            found.add(re.sub(r" -n \S+", "", line).replace("$restart", "--restart").strip())
    return found


def test_all_that_are_shown_are_tried() -> None:
    assert shown() == set(RESTARTS)


@pytest.fixture(scope="module")
def study(water: Path, run_program: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    shutil.copy(water, folder / "water.tsr")
    run_program([sys.executable, "-m", "tessera", "export", water, "-o", folder / "start.pdb"])
    (folder / "run.toml").write_text(SETTINGS)
    (folder / "protocol.toml").write_text(SETTINGS + STAGES)
    return folder


@pytest.mark.parametrize("command", RESTARTS)
def test_it_goes_on(command: str, study: Path, run_program: Run, tmp_path: Path) -> None:
    begun, end, last = RESTARTS[command]
    program, *arguments = shlex.split(command)
    name = arguments[1] if program == "tessera" else arguments[0]
    env = {"TESSERA_BIN": str(ENGINES)}
    first = Path(shutil.copytree(study, tmp_path / "first"))
    run_program([sys.executable, "-m", "tessera", "run", name, *begun], cwd=first, env=env)
    hashes = set()
    for ranks in (1, 2):
        folder = Path(shutil.copytree(first, tmp_path / str(ranks)))
        if program == "tessera":
            words = [sys.executable, "-m", "tessera", *arguments, "-n", str(ranks)]
        else:  # as under srun
            words = [*mpirun("mpich", ranks), str(ENGINES / "tessera-md-mpich"), *arguments]
        run_program(words, cwd=folder, env=env)
        report = json.loads((folder / end / "report.json").read_text())
        assert (report["first_step"], report["last_step"], report["ranks"]) == (8, last, ranks)
        hashes.add(report["state_hash"])
    assert len(hashes) == 1
