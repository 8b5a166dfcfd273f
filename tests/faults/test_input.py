"""Bad input gives one message that says what was found and a status other than 0; nothing hangs. Each kind of it is
tried on one rank, and on three ranks one kind for each place in the engine where ranks agree on a verdict."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from tessera.system import write
from tests.support.checkpoints import flip
from tests.support.runs import Runs, Settings
from tests.support.samples import changed, edited, sample

BAD_INPUT, FAILURE = 2, 3
ALONE: dict[str, Any] = {"check": False}
Attempt = tuple[subprocess.CompletedProcess[str], list[str]]  # what was run, and words of its message


def check(process: subprocess.CompletedProcess[str], status: int, *words: str) -> str:
    """Checks that there is exactly one message and that these words are in it; returns the message."""
    text = process.stderr
    assert process.returncode == status, text
    messages = [line for line in text.splitlines() if line.startswith("tessera-md: error:")]
    assert len(messages) == 1, text
    assert "terminate called" not in text and "Traceback" not in text and "HDF5-DIAG" not in text, text
    message = text[text.index("tessera-md: error:") :]
    for word in words:
        assert word in message, f"{word!r} is not in: {message}"
    return message


def attempt(runs: Runs, settings: Settings, status: int, *words: str, system: Path | None = None) -> None:
    found = runs.run(system or sample("peptide"), {"dynamics.steps": 5, **settings}, **ALONE)
    check(found.process, status, *words)
    assert not (found.folder / "energy.csv").exists()


# The run file.


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"interactions.cutof": 9.0}, ["cutof", "cutoff"]),
        ({"dynamic.steps": 9}, ["dynamic", "dynamics"]),
        ({"interactions.cutoff": "nine"}, ["interactions.cutoff", "number"]),
        ({"dynamics.steps": -5}, ["dynamics.steps", "-5"]),
        ({"dynamics.steps": 1.5}, ["dynamics.steps", "integer"]),
        ({"interactions.switch": 9.5}, ["switch", "9.5", "cutoff"]),
        ({"interactions.cutoff": 16.0}, ["16", "31.07", "cut-off"]),
        ({"interactions.lj": "soft"}, ["interactions.lj", "soft", "force-switch"]),
        ({"pme.order": 5}, ["pme.order", "4, 6, 8"]),
        ({"pme.grid": [32, 32]}, ["pme.grid", "three"]),
        ({"pme.grid": [3, 32, 32]}, ["pme.grid"]),
        ({"parallel.pair_scheme": "fastest"}, ["parallel.pair_scheme = fastest: this key has been removed"]),
        ({"dynamics.timestep": 0.0}, ["dynamics.timestep"]),
    ],
    ids=lambda value: next(iter(value)) + "=" + str(next(iter(value.values()))) if isinstance(value, dict) else "",
)
def test_settings(runs: Runs, settings: Settings, words: list[str]) -> None:
    attempt(runs, settings, BAD_INPUT, *words)


def test_no_toml(runs: Runs) -> None:
    path = runs.run_file(sample("peptide"), {})
    path.write_text("[input]\nsystem = peptide.tsr\n")
    check(runs.start(path, **ALONE).process, BAD_INPUT, "run.toml", "2")


def test_no_run_file(runs: Runs, tmp_path: Path) -> None:
    check(runs.run_engine(tmp_path / "nothing.toml", **ALONE), BAD_INPUT, "nothing.toml")


def test_a_key_twice(runs: Runs) -> None:
    path = runs.run_file(sample("peptide"), {})
    path.write_text(path.read_text() + "[interactions]\ncutoff = 8.0\n")
    check(runs.start(path, **ALONE).process, BAD_INPUT, "run.toml")


def test_a_bad_override(runs: Runs) -> None:
    path = runs.run_file(sample("peptide"), {})
    check(runs.start(path, "--set", "dynamics.stepz=7", **ALONE).process, BAD_INPUT, "stepz", "steps")


# The system file.


def test_missing_system(runs: Runs, tmp_path: Path) -> None:
    attempt(runs, {}, BAD_INPUT, "absent.tsr", system=tmp_path / "absent.tsr")


@pytest.mark.parametrize("kept", [0, 100, 0.5, 0.95])
def test_truncated_system(runs: Runs, tmp_path: Path, kept: float) -> None:
    content = sample("peptide").read_bytes()
    path = tmp_path / "short.tsr"
    path.write_bytes(content[: int(kept if kept >= 1 else kept * len(content))])
    attempt(runs, {}, BAD_INPUT, "short.tsr", system=path)


def test_not_a_system(runs: Runs, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.tsr", "w") as file:
        file["data"] = np.arange(3)
    attempt(runs, {}, BAD_INPUT, "other.tsr", system=tmp_path / "other.tsr")


def with_number(folder: Path, name: str, at: object, value: float) -> Path:
    """Writes the sample with one number of one dataset replaced."""
    path = folder / "edited.tsr"
    shutil.copy(sample("peptide"), path)
    with edited(path) as file:
        if file[name].dtype.kind == "f" or np.isfinite(value):
            file[name][at] = value
    return path


@pytest.mark.parametrize(
    ("name", "at", "value", "words"),
    [
        ("box", (1, 1), np.nan, ["box"]),
        ("coordinates/velocity", (100, 1), np.nan, ["velocit"]),
        ("coordinates/velocity", (100, 1), np.inf, ["velocit"]),
        ("templates/0/charge", 3, np.nan, ["charge"]),
        ("templates/0/mass", 3, 0.0, ["mass"]),
        ("templates/0/type", 3, 10_000, ["type"]),
        ("templates/0/bond/atoms", (3, 1), 10_000, ["bond"]),
        ("forcefield/bond", (0, 0), np.nan, ["bond"]),
        ("forcefield/type_lj", (0, 1), np.nan, ["lj"]),
        ("coordinates/id", 5, 2**40, ["id"]),
        ("coordinates/id", 5, 6, ["id"]),
        ("instances/runs", (1, 1), 10**6, ["atoms"]),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_numbers_that_cannot_be(
    runs: Runs, tmp_path: Path, name: str, at: object, value: float, words: list[str]
) -> None:
    attempt(runs, {}, BAD_INPUT, "edited.tsr", *words, system=with_number(tmp_path, name, at, value))


def test_coordinates_that_are_not_numbers(tmp_path: Path) -> None:
    """They can't be written to a system file, because fractions are integers."""
    pytest.importorskip("openmm")
    from tessera.errors import InputError
    from tessera.prepare.charmm import prepare_charmm
    from tests.support.inputs import ALA3_PARAMETERS, SMALL

    lines = (SMALL / "ala_ala_ala.pdb").read_text().splitlines()
    lines[4] = lines[4][:30] + "     nan" + lines[4][38:]
    (tmp_path / "nan.pdb").write_text("\n".join(lines))
    with pytest.raises(InputError, match="not finite"):
        prepare_charmm(SMALL / "ala_ala_ala.psf", tmp_path / "nan.pdb", ALA3_PARAMETERS, vacuum=True)


# Folders.


def on_full_disk(runs: Runs, disk: Path, sizes: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Fills the disk with frames."""
    settings: Settings = {
        "dynamics.steps": 200,
        "output.folder": str(disk / "output"),
        "output.trajectory_every": 1,
        "output.checkpoint_every": 5,
    }
    return runs.run(sample("peptide"), settings, **sizes).process


def test_full_disk(runs: Runs, tiny_disk: Path) -> None:
    """The message names the file and the reason."""
    check(on_full_disk(runs, tiny_disk, ALONE), FAILURE, str(tiny_disk), "space")


def test_folder_that_cannot_be_made(runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = runs.run(sample("peptide"), {"output.folder": str(tmp_path / "file" / "output")}, **ALONE)
    assert found.process.returncode in (BAD_INPUT, FAILURE)
    check(found.process, found.process.returncode, str(tmp_path / "file"))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_unwritable_folder(runs: Runs, tmp_path: Path) -> None:
    """The file system is read-only, because root may write anywhere else."""
    folder = tmp_path / "fixed"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "ro,size=1M", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount")
    try:
        found = runs.run(sample("peptide"), {"output.folder": str(folder / "output")}, **ALONE)
        check(found.process, FAILURE, str(folder))
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True)


def test_folder_of_another_run(runs: Runs) -> None:
    path = runs.run_file(sample("peptide"), {"dynamics.steps": 5})
    first = runs.start(path)
    table = (first.folder / "energy.csv").read_text()
    check(runs.start(path, **ALONE).process, BAD_INPUT, "already holds a run", "--restart", "overwrite")
    assert (first.folder / "energy.csv").read_text() == table


# Restarts.


def test_restart_without_checkpoint(runs: Runs) -> None:
    path = runs.run_file(sample("peptide"), {"dynamics.steps": 5})
    check(runs.start(path, "--restart", **ALONE).process, BAD_INPUT, "no checkpoint")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("dynamics.timestep=1.0", ["timestep", "restart"]),
        ("interactions.cutoff=8.5", ["goes on with the same settings"]),
        ("pme.order=6", ["order"]),
        ("dynamics.constraints='none'", ["constraints"]),
        ("parallel.precision='double'", ["precision"]),
    ],
)
def test_restart_with_other_settings(runs: Runs, change: str, words: list[str]) -> None:
    path = runs.run_file(sample("peptide"), {"dynamics.steps": 5})
    first = runs.start(path)
    table = (first.folder / "energy.csv").read_text()
    checkpoint = (first.folder / "checkpoint.tck").read_bytes()
    found = runs.start(path, "--restart", "--set", "dynamics.steps=9", "--set", change, **ALONE)
    check(found.process, BAD_INPUT, *words)
    assert (first.folder / "energy.csv").read_text() == table
    assert (first.folder / "checkpoint.tck").read_bytes() == checkpoint


def test_restart_of_a_run_that_is_done(runs: Runs) -> None:
    path = runs.run_file(sample("peptide"), {"dynamics.steps": 5})
    runs.start(path)
    check(runs.start(path, "--restart", **ALONE).process, BAD_INPUT, "done", "dynamics.steps")


def test_restart_with_another_system(runs: Runs, tmp_path: Path) -> None:
    """The path is the same, but the system has fewer atoms than the checkpoint."""
    system = tmp_path / "system.tsr"
    shutil.copy(sample("peptide"), system)
    path = runs.run_file(system, {"dynamics.steps": 5})
    runs.start(path)
    smaller = changed("peptide")
    smaller.runs[1, 1] -= 1
    smaller.fraction, smaller.velocity = smaller.fraction[:-3], None
    write(smaller, system)
    found = runs.start(path, "--restart", "--set", "dynamics.steps=9", **ALONE)
    check(found.process, BAD_INPUT, "input.system")


# The places where ranks agree.


def _in_the_run_file(runs: Runs, folder: Path, sizes: dict[str, Any]) -> Attempt:
    """app/stages/run_file.cpp: each rank reads it."""
    return runs.run(sample("peptide"), {"interactions.cutof": 9.0}, **sizes).process, ["cutof", "cutoff"]


def _in_the_system(runs: Runs, folder: Path, sizes: dict[str, Any]) -> Attempt:
    """app/run.cpp: each rank reads it, and plans."""
    (folder / "short.tsr").write_bytes(sample("peptide").read_bytes()[:-1000])
    return runs.run(folder / "short.tsr", {}, **sizes).process, ["short.tsr"]


def _in_a_share_of_the_coordinates(runs: Runs, folder: Path, sizes: dict[str, Any]) -> Attempt:
    """app/start/start.cpp: the last rank alone reads this velocity."""
    path = with_number(folder, "coordinates/velocity", (-1, 1), np.nan)
    return runs.run(path, {}, **sizes).process, ["edited.tsr", "velocit"]


def _in_the_folder(runs: Runs, folder: Path, sizes: dict[str, Any]) -> Attempt:
    """app/run_outputs.cpp: the root looks into it."""
    path = runs.run_file(sample("peptide"), {"dynamics.steps": 5})
    runs.start(path)
    return runs.start(path, **sizes).process, ["already holds a run", "--restart", "overwrite"]


def _in_the_checkpoint(runs: Runs, folder: Path, sizes: dict[str, Any]) -> Attempt:
    """app/restart/checkpoint_file.cpp: each rank reads its share, and there is no good one."""
    path = runs.run_file(sample("peptide"), {"dynamics.steps": 5})
    for file in runs.start(path).folder.glob("*.tck"):
        flip(file, -5000)
    return runs.start(path, "--restart", **sizes).process, ["no good checkpoint"]


def _in_settings_of_a_restart(runs: Runs, folder: Path, sizes: dict[str, Any]) -> Attempt:
    """app/restart: each rank compares them with those of the checkpoint."""
    path = runs.run_file(sample("peptide"), {"dynamics.steps": 5})
    runs.start(path)
    words = ["--restart", "--set", "dynamics.steps=9", "--set", "dynamics.timestep=1.0"]
    return runs.start(path, *words, **sizes).process, ["timestep", "restart"]


def _in_the_number_of_steps(runs: Runs, folder: Path, sizes: dict[str, Any]) -> Attempt:
    """app/run.cpp: the root sees that the run is done."""
    path = runs.run_file(sample("peptide"), {"dynamics.steps": 5})
    runs.start(path)
    return runs.start(path, "--restart", **sizes).process, ["done", "dynamics.steps"]


@pytest.mark.parametrize(
    "place",
    [
        _in_the_run_file,
        _in_the_system,
        _in_a_share_of_the_coordinates,
        _in_the_folder,
        _in_the_checkpoint,
        _in_settings_of_a_restart,
        _in_the_number_of_steps,
    ],
    ids=lambda place: place.__name__.lstrip("_"),
)
def test_ranks_agree(
    runs: Runs, tmp_path: Path, mpi: str, place: Callable[[Runs, Path, dict[str, Any]], Attempt]
) -> None:
    process, words = place(runs, tmp_path, {**ALONE, "mpi": mpi, "ranks": 3})
    check(process, BAD_INPUT, *words)


def test_ranks_agree_on_a_full_disk(runs: Runs, tiny_disk: Path, mpi: str) -> None:
    """app/trajectory and app/restart/checkpoint_writer.cpp: any rank may find it."""
    check(on_full_disk(runs, tiny_disk, {**ALONE, "mpi": mpi, "ranks": 3}), FAILURE, str(tiny_disk), "space")
