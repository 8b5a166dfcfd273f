"""Every restart that README.md and the guide show goes on, on one rank and on two, to the same bits: with selections as
text, which the engine does not understand alone."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.support.programs import ENGINES, ROOT, TESSERA, mpirun, run_program

pytest.importorskip("MDAnalysis")

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
            line = re.sub(r' -n \S+| "\$@"| &$', "", line.strip())  # scripts take more options
            found.add(line.replace("$restart", "--restart"))
    return found


def test_all_that_are_shown_are_tried() -> None:
    assert shown() == set(RESTARTS)


@pytest.fixture(scope="module")
def study(water: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    shutil.copy(water, folder / "water.tsr")
    run_program([*TESSERA, "export", water, "-o", folder / "start.pdb"])
    (folder / "run.toml").write_text(SETTINGS)
    (folder / "protocol.toml").write_text(SETTINGS + STAGES)
    return folder


@pytest.mark.parametrize("command", RESTARTS)
def test_it_goes_on(command: str, study: Path, tmp_path: Path) -> None:
    begun, end, last = RESTARTS[command]
    program, *arguments = shlex.split(command)
    name = arguments[1] if program == "tessera" else arguments[0]
    env = {"TESSERA_BIN": str(ENGINES)}
    first = Path(shutil.copytree(study, tmp_path / "first"))
    run_program([*TESSERA, "run", name, *begun], cwd=first, env=env)
    hashes = set()
    for ranks in (1, 2):
        folder = Path(shutil.copytree(first, tmp_path / str(ranks)))
        if program == "tessera":
            words = [*TESSERA, *arguments, "-n", str(ranks)]
        else:  # as under srun
            words = [*mpirun("mpich", ranks), str(ENGINES / "tessera-md-mpich"), *arguments]
        run_program(words, cwd=folder, env=env)
        report = json.loads((folder / end / "report.json").read_text())
        assert (report["first_step"], report["last_step"], report["ranks"]) == (8, last, ranks)
        hashes.add(report["state_hash"])
    assert len(hashes) == 1


def test_the_printed_command_goes_on_with_its_own_reference(study: Path, tmp_path: Path) -> None:
    """Also where a run that was begun by mistake, with another reference, was refused meanwhile. One that takes the
    folder's place leaves the reference there."""
    env = {"TESSERA_BIN": str(ENGINES)}
    first = Path(shutil.copytree(study, tmp_path / "first"))
    done = run_program([*TESSERA, "run", "run.toml", *STOPPED], cwd=first, env=env)
    (line,) = re.findall("To go on: tessera (.*)", done.stdout)
    hashes = set()
    for ranks, by_mistake in ((1, False), (2, False), (1, True), (2, True)):
        folder = Path(shutil.copytree(first, tmp_path / f"{ranks}-{by_mistake}"))
        if by_mistake:
            other = re.sub("(?m)^(ATOM.{26}).{8}", r"\1  11.111", (folder / "start.pdb").read_text())
            (folder / "start.pdb").write_text(other)
            refused = run_program([*TESSERA, "run", "run.toml"], cwd=folder, env=env, status=2)
            assert "already holds a run" in refused.stderr
        # What is printed, and the short form of it, whose reference is found by the settings of the run.
        words = ["run", "run.toml", "--restart", *line.split()[-2:]] if by_mistake else shlex.split(line)
        run_program([*TESSERA, *words, "-n", str(ranks)], cwd=folder, env=env)
        report = json.loads((folder / "output/report.json").read_text())
        assert (report["first_step"], report["last_step"], report["ranks"]) == (8, 16, ranks)
        hashes.add(report["state_hash"])
    assert len(hashes) == 1
    own = first / "output/restraint.0.reference.tsr"
    before = own.read_bytes()
    (first / "start.pdb").write_text(other)
    run_program([*TESSERA, "run", "run.toml", *STOPPED, "--set", "output.overwrite=true"], cwd=first, env=env)
    assert own.read_bytes() == before and str(own) in (first / "output/previous-1/settings.toml").read_text()
    assert "restraint.0.reference-2.tsr" in (first / "output/settings.toml").read_text()
