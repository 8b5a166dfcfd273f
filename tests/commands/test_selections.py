"""Selections of a run file: what they come to, how `tessera run` hands them to the engine, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera import system as systems
from tessera.errors import InputError
from tessera.files import locked
from tessera.select.resolve import ranges_of, resolve
from tessera.select.run import WORDS
from tests.support.programs import ENGINES, TESSERA, Run, run_program
from tests.support.runs import read_table

OXYGENS = "name O* and resid 11:20"

RUN_FILE = """
[input]
system = "{system}"
[interactions]
cutoff = 9.0
switch = 8.0
[dynamics]
steps = {steps}
seed = 7
{dynamics}
[output]
progress = "none"
energy_every = 10
[[restraint]]
kind = "position"
select = "{select}"
k = 20.0
"""


@pytest.fixture
def start(water: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*arguments: str, select: str = OXYGENS, steps: int = 10, dynamics: str = "", **more: Any) -> Any:
        text = RUN_FILE.format(system=water, select=select, steps=steps, dynamics=dynamics)
        (tmp_path / "run.toml").write_text(text)
        command = [*TESSERA, more.pop("command", "run"), tmp_path / "run.toml", *arguments]
        return run_program(command, env={"TESSERA_BIN": str(ENGINES)}, **more)

    return run


def test_ranges() -> None:
    assert ranges_of(np.array([5, 0, 1, 2, 9, 5])) == [[0, 2], [5, 5], [9, 9]]


def test_resolve(water: Path) -> None:
    system = systems.read(water)
    found = resolve(system, [("a", "resid 2"), ("b", "resid 2 or index 6"), ("c", "resid 2")])
    assert found == {"resid 2": [[3, 5]], "resid 2 or index 6": [[3, 6]]}
    near = resolve(system, [("a", "sphzone 6.0 index 0")])["sphzone 6.0 index 0"]
    away = system.positions() - system.positions()[0]
    away -= np.diag(system.box) * np.rint(away / np.diag(system.box))
    assert sum(last - first + 1 for first, last in near) == (np.linalg.norm(away, axis=1) < 6).sum()
    with pytest.raises(InputError, match=r"^restraint.0.select = 'nonsense 3' is no selection of MDAnalysis"):
        resolve(system, [("restraint.0.select", "nonsense 3")])
    with pytest.raises(InputError, match=r"Unexpected token 'water''; water is a word .* as in 'resname \\water'"):
        resolve(system, [("bath.0.select", "resname water")])
    with pytest.raises(InputError, match=r"^dynamics.fixed = 'protein' names no atom; the residues are TIP3"):
        resolve(system, [("dynamics.fixed", "protein")])


def test_without_mdanalysis(water: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "MDAnalysis", None)
    with pytest.raises(InputError, match=r"restraint.0.select = 'resid 2': this selection needs MDAnalysis"):
        resolve(systems.read(water), [("restraint.0.select", "resid 2")])


def test_keys_that_select_are_known(run_engine: Run) -> None:
    schema = json.loads(run_engine("--schema").stdout)
    names = [key["name"] for section in schema["sections"] for key in section["keys"] if key.get("selects_atoms")]
    assert names and all(WORDS.search(name) for name in names)


def test_a_run_keeps_what_selections_came_to(start: Run, tmp_path: Path) -> None:
    first = start(steps=10)
    assert "restraint 0: position of 10 atoms, 'name O* and resid 11:20'; k = 20 kcal/mol/Å²" in first.stdout
    kept = tmp_path / "output/selections.json"
    assert json.loads(kept.read_text())["selections"][OXYGENS] == [[i, i] for i in range(30, 60, 3)]
    assert not (tmp_path / "output/selections.next.json").exists()
    start("--restart", "-n", "2", steps=20)
    found = json.loads((tmp_path / "output/report.json").read_text())["state_hash"]
    straight = start("--set", "output.folder=" + str(tmp_path / "straight"), steps=20)
    assert straight.returncode == 0
    assert json.loads((tmp_path / "straight/report.json").read_text())["state_hash"] == found
    same = start(
        "--set", "output.folder=" + str(tmp_path / "plain"), steps=20, select="index 30 33 36 39 42 45 48 51 54 57"
    )
    assert json.loads((tmp_path / "plain/report.json").read_text())["state_hash"] == found
    assert same.stderr == straight.stderr


def test_a_run_that_is_refused_leaves_nothing_beside_the_one_that_writes(start: Run, tmp_path: Path) -> None:
    """Neither atoms nor references; who asks whether it would start writes elsewhere."""
    output = tmp_path / "output"
    output.mkdir()
    with locked(output, "wait"):
        held = sorted(path.name for path in output.iterdir())
        found = start(check=False)
        assert found.returncode == 2
        assert "another run writes into" in found.stderr and f"(process {os.getpid()} on " in found.stderr
        assert held == sorted(path.name for path in output.iterdir()) == [".lock"]
    assert list(output.iterdir()) == []
    assert start().returncode == 0


@pytest.mark.parametrize("kind", ["dcd", "xtc", "h5md", "history"])
def test_frames_of_some_atoms(start: Run, tmp_path: Path, kind: str) -> None:
    """The trajectory has the selected atoms, over a restart too; a run of all atoms has the same ones."""
    import MDAnalysis as mda

    frames = ("--set", "output.trajectory_every=5", "--set", f"output.trajectory={kind}")
    some = (*frames, "--set", 'output.select="name H1 and resid 3:40"')
    start(*some, steps=10)
    start(*some, "--restart", steps=20)
    start(*frames, "--set", "output.folder=" + str(tmp_path / "all"), steps=20)
    positions = {}
    for folder, n_atoms in (("output", 38), ("all", 3000)):
        universe = mda.Universe.empty(n_atoms, trajectory=False)
        path = tmp_path / folder / f"trajectory.{kind}"
        more = {"convert_units": False} if kind == "h5md" else {}
        universe.load_new(str(path), format=kind.upper(), **more)
        positions[folder] = np.array([frame.positions.astype(float) for frame in universe.trajectory])
    rows = [3 * (residue - 1) + 1 for residue in range(3, 41)]
    assert positions["output"].shape == (5, 38, 3)
    np.testing.assert_allclose(positions["output"], positions["all"][:, rows], atol=1e-5 if kind != "xtc" else 1e-4)


def test_frames_of_no_atoms_are_refused(start: Run) -> None:
    refused = start("--set", "output.trajectory_every=5", "--set", 'output.select="protein"', status=2)
    assert "output.select = 'protein' names no atom" in refused.stderr


def test_a_restart_tells_what_has_changed(start: Run, tmp_path: Path) -> None:
    start(steps=10)
    other = start("--restart", steps=20, select="resid 12", status=2)
    assert 'restraint.0.select was "name O* and resid 11:20", is "resid 12"' in other.stderr
    kept = tmp_path / "output/selections.json"
    kept.write_text(kept.read_text().replace("[30,30],", ""))
    changed = start("--restart", steps=20, status=2)
    assert "atoms of " in changed.stderr and "was" in changed.stderr


def test_a_restart_tells_of_restraints_that_are_gone(start: Run, tmp_path: Path) -> None:
    start(steps=10)
    text = (tmp_path / "run.toml").read_text()
    (tmp_path / "run.toml").write_text(text[: text.index("[[restraint]]")].replace("steps = 10", "steps = 20"))
    command = [ENGINES / "tessera-md-serial", tmp_path / "run.toml", "--restart"]
    gone = run_program(command, status=2)
    assert 'restraint.0.kind was "position", is missing' in gone.stderr


def test_the_engine_alone(start: Run, run_engine: Run, tmp_path: Path) -> None:
    start(steps=10)
    refused = run_engine(tmp_path / "run.toml", "--set", "output.folder=" + str(tmp_path / "new"), status=2)
    assert "restraint.0.select" in refused.stderr and "start the run with tessera run" in refused.stderr
    run_engine(
        tmp_path / "run.toml", "--set", "output.folder=" + str(tmp_path / "new"), "--selections",
        tmp_path / "output/selections.json",
    )  # fmt: skip
    run_engine(tmp_path / "run.toml", "--restart", "--set", "dynamics.steps=20")


def test_references_of_a_file_of_coordinates(start: Run, water: Path, tmp_path: Path) -> None:
    """PDB has three decimals: half of the last, squared, on three components of ten oxygens, times k."""
    run_program([*TESSERA, "export", water, "-o", tmp_path / "there.pdb"])
    words = ["--set", "restraint.0.reference=" + str(tmp_path / "there.pdb")]
    start(*words, steps=10)
    table = read_table(tmp_path / "output/energy.csv")
    assert 0 < table["restraint"][0] < 20 * 10 * 3 * 0.0005**2
    again = start("--restart", *words, steps=20)
    assert "note: restraint" not in again.stderr
    (tmp_path / "there.pdb").write_text("END\n")
    refused = start("--set", "output.folder=" + str(tmp_path / "other"), *words, status=2)
    assert "there.pdb" in refused.stderr and "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"select": "name"}, ["restraint.0.select = 'name' is no selection of MDAnalysis"]),
        ({"select": "protein"}, ["restraint.0.select = 'protein' names no atom", "TIP3"]),
        ({"select": "index 2995:3000"}, ['restraint.0.select = "index 2995:3000": there is no atom of id 3000']),
        ({"select": ""}, ["restraint.0.select is missing"]),
        ({"dynamics": 'fixed = "index 0:1"'}, ["dynamics.fixed selects atom 1", "but not atom 3", "constraints"]),
        ({"dynamics": 'fixed = "all"'}, ["dynamics.fixed selects all atoms"]),
        ({"dynamics": 'fixed = "resid 1"\nensemble = "npt"'}, ["dynamics.fixed", '"npt"', "[[restraint]]"]),
    ],
)
def test_what_is_refused(start: Run, more: dict[str, str], words: list[str]) -> None:
    found = start(status=2, **more)
    assert "Traceback" not in found.stderr
    for word in words:
        assert word in found.stderr, found.stderr


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ('kind = "distance"\nk = 1.0\ngroups = ["index 1"]', ["restraint.0.groups holds 1 selections, expected 2"]),
        ('kind = "distance"\nk = 1.0\ngroups = ["index 1", "bynum 2"]', ["selects the same atoms twice"]),
        ('kind = "distance"\nk = 1.0\nselect = "index 1"', ["restraint.0.select is set", '"distance" does not have']),
        ('kind = "position"\nk = 1.0\nselect = "index 1"\ntarget = 2', ["restraint.0.target is set"]),
        ('kind = "angle"\nk = 1.0\ntarget = 181\ngroups = ["index 1", "index 4", "index 7"]', ["0 to 180"]),
        ('kind = "position"\nk = 1.0\nselect = "index 1"\nreference = "no.tsr"', ["restraint.0.reference", "no.tsr"]),
        ('kind = "position"\nk = -1.0\nselect = "index 1"', ["restraint.k = -1.0", "at least 0"]),
        ('kind = "spring"\nk = 1.0', ["restraint.kind", "position", "dihedral"]),
    ],
)
def test_restraints_that_are_refused(run_engine: Run, water: Path, tmp_path: Path, rows: str, words: list[str]) -> None:
    text = RUN_FILE.format(system=water, select="", steps=10, dynamics="")
    (tmp_path / "run.toml").write_text(text[: text.index("[[restraint]]")] + "[[restraint]]\n" + rows + "\n")
    found = run_engine(tmp_path / "run.toml", status=2)
    for word in words:
        assert word in found.stderr, found.stderr


def test_explain_knows_selections(start: Run, tmp_path: Path) -> None:
    found = start(command="explain")
    assert "prediction" in found.stdout
    assert not (tmp_path / "output").exists()
