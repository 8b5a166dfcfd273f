"""Files of an earlier run, and those that are being written, are never lost without a message."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tessera.export.checkpoint import read_header
from tessera.system import write
from tessera.traj import History
from tessera.traj.history_reader import check as check_history
from tests.support.programs import ENGINES, HANGS, job_under_way, run_program
from tests.support.runs import Runs, Settings, read_table, wait_for
from tests.support.samples import changed, sample

ENGINE = "tessera-md"
BAD_INPUT, FAILURE = 2, 3
SHORT: Settings = {"dynamics.steps": 5, "output.energy_every": 1, "output.trajectory_every": 1}
ENDLESS = 1_000_000


def contents(folder: Path) -> dict[str, bytes]:
    """Returns what is in each file but those of black boxes."""
    files = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if "black_box" not in Path(name).parts}


def message(process: subprocess.CompletedProcess[str], status: int, *words: str) -> str:
    """Checks that standard error has one line with an error, and that these words are in it; returns that line."""
    lines = [line for line in process.stderr.splitlines() if line.startswith("tessera-md: error:")]
    assert process.returncode == status and len(lines) == 1, (process.returncode, process.stderr)
    assert "HDF5-DIAG" not in process.stderr
    for word in words:
        assert word in lines[0], lines[0]
    return lines[0]


# A new run in the folder of an earlier one.


def test_overwrite_moves_the_earlier_run_away(runs: Runs) -> None:
    path = runs.run_file(sample("peptide"), SHORT)
    output = runs.start(path).folder
    first = contents(output)
    assert len(first) == 7  # two of them of the trajectory
    over = ("--set", "output.overwrite=true", "--set", "output.trajectory=h5md")
    runs.start(path, *over)
    assert contents(output / "previous-1") == first
    assert not (output / "trajectory.segments").exists()
    second = {name: data for name, data in contents(output).items() if not name.startswith("previous")}
    runs.start(path, *over)
    assert contents(output / "previous-1") == first and contents(output / "previous-2") == second


def overlapping(folder: Path) -> Path:
    """Writes a system with two water oxygens at one place, with which a run fails at step 0 or 1."""
    system = changed("peptide")
    move = system.fraction[33].astype(np.int64) - system.fraction[2001]
    system.fraction[2001:2004] = (system.fraction[2001:2004] + move).astype(np.uint32).astype(np.int32)
    write(system, folder / "overlapping.tsr")
    return folder / "overlapping.tsr"


@pytest.mark.mpi
@pytest.mark.parametrize("cause", ["blow up", "map", "damaged", "ranks", "cut-off"])
def test_a_run_that_does_not_start_leaves_the_earlier_one(runs: Runs, tmp_path: Path, cause: str) -> None:
    system = tmp_path / "system.tsr"
    shutil.copy(sample("peptide"), system)
    path = runs.run_file(system, SHORT)
    output = runs.start(path).folder
    first = contents(output)
    change, sizes = ["--set", "output.overwrite=true"], {"mpi": "serial", "ranks": 1}
    if cause == "blow up":
        shutil.copy(overlapping(tmp_path), system)
    elif cause == "map":
        change += ["--set", f"parallel.machine={tmp_path / 'none.json'}"]
    elif cause == "damaged":
        system.write_bytes(system.read_bytes()[:-1000])
    elif cause == "ranks":
        change += ["--set", "parallel.buffer=8.0", "--set", "interactions.cutoff=12", "--set", "interactions.switch=10"]
        sizes = {"mpi": "openmpi", "ranks": 9}
    else:
        change += ["--set", "interactions.cutoff=40"]
    found = runs.start(path, *change, check=False, **sizes)
    assert found.process.returncode in (BAD_INPUT, FAILURE), found.process.stderr
    assert contents(output) == first and (output / "black_box").exists() == (cause == "blow up")
    assert runs.start(path, "--restart", "--set", "dynamics.steps=8", check=cause != "damaged").folder == output


def test_one_run_at_a_time(runs: Runs) -> None:
    path = runs.run_file(sample("peptide"), {**SHORT, "dynamics.steps": ENDLESS, "output.checkpoint_every": 5})
    output = path.parent / "output"
    with job_under_way("serial", 1, ENGINE, path) as (process, _):
        wait_for(process, output / "energy.csv", 8)
        for more in (["--restart"], ["--set", "output.overwrite=true"], []):
            found = runs.start(path, *more, check=False)
            message(found.process, BAD_INPUT, "another run writes into", f"process {process.pid} on ")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=HANGS)
    steps = read_table(output / "energy.csv")["step"]
    np.testing.assert_array_equal(steps, np.arange(len(steps)))
    assert not (output / "previous-1").exists() and not (output / ".lock").exists()


# Files that others remove or cut.


@pytest.mark.parametrize(
    "name", ["energy.csv", "trajectory.segments", "trajectory.dcd", "trajectory.h5md", "trajectory.history"]
)
def test_a_file_that_is_removed_during_the_run(runs: Runs, name: str) -> None:
    kind = "dcd" if name == "energy.csv" else name.partition(".")[2]
    settings: Settings = {**SHORT, "output.trajectory": kind, "output.checkpoint_every": 20}
    path = runs.run_file(sample("peptide"), {**settings, "dynamics.steps": ENDLESS})
    output = path.parent / "output"
    with job_under_way("serial", 1, ENGINE, path) as (process, _):
        wait_for(process, output / "energy.csv", 3)
        shutil.rmtree(output / name) if kind == "segments" else (output / name).unlink()
        out, err = process.communicate(timeout=HANGS)
    message(subprocess.CompletedProcess([], process.returncode, out, err), FAILURE, name, "removed", "--restart")
    stopped = read_header(output / "checkpoint.tck")["state"]["step"]
    end = stopped + 3
    found = runs.start(path, "--restart", "--set", f"dynamics.steps={end}")
    assert f"note: {output / name} is gone and begins anew after step {stopped}" in found.process.stderr
    assert found.hash == runs.run(sample("peptide"), {"dynamics.steps": end}).hash
    if name == "energy.csv":
        np.testing.assert_array_equal(read_table(output / name)["step"], np.arange(stopped + 1, end + 1))


def cut_table(output: Path) -> None:
    lines = (output / "energy.csv").read_text().splitlines(keepends=True)
    (output / "energy.csv").write_text("".join(lines[:-2]))


def cut_frames(output: Path) -> None:
    content = (output / "trajectory.dcd").read_bytes()
    (output / "trajectory.dcd").write_bytes(content[:-10])


def other_checkpoint(output: Path) -> None:
    for path in output.glob("checkpoint*.tck"):
        path.write_bytes(b"tessera-checkpoint 1\n{}\n")


@pytest.mark.parametrize(
    ("change", "more", "words"),
    [
        (cut_table, [], ["energy.csv", "4 whole rows", "says 6", "move it away"]),
        (cut_frames, [], ["trajectory.dcd", "5 whole frames", "says 6", "move it away"]),
        (
            other_checkpoint,
            [],
            ["of version 1, this tessera reads version 4: begin the run anew"],
        ),
        (lambda output: None, ["--set", "interactions.cutoff=8.5"], ["interactions.cutoff"]),
        (lambda output: None, ["--set", "interactions.lj_tail=true"], ["interactions.lj_tail was false, is true"]),
        (lambda output: None, ["--set", "output.trajectory=dcd", "--set", "output.velocities=true"], ["velocities"]),
    ],
    ids=["table", "frames", "version", "cut-off", "tail", "velocities"],
)
def test_a_refused_restart_changes_nothing(
    runs: Runs, change: Callable[[Path], None], more: list[str], words: list[str]
) -> None:
    path = runs.run_file(sample("peptide"), {**SHORT, "output.trajectory": "dcd"})
    output = runs.start(path).folder
    change(output)
    before = contents(output)
    found = runs.start(path, "--restart", "--set", "dynamics.steps=9", *more, check=False)
    message(found.process, BAD_INPUT, *words)
    assert contents(output) == before


def test_a_table_that_was_cut_begins_anew_when_it_is_moved_away(runs: Runs) -> None:
    path = runs.run_file(sample("peptide"), SHORT)
    output = runs.start(path).folder
    (output / "energy.csv").unlink()
    found = runs.start(path, "--restart", "--set", "dynamics.steps=9")
    assert "energy.csv is gone and begins anew after step 5" in found.process.stderr
    again = runs.start(path, "--restart", "--set", "dynamics.steps=12")
    assert "is gone" not in again.process.stderr
    np.testing.assert_array_equal(again.table["step"], np.arange(6, 13))


def test_what_a_restart_does_not_heed_is_said(runs: Runs) -> None:
    path = runs.run_file(sample("peptide"), {**SHORT, "dynamics.velocities": "generate"})
    runs.start(path)
    further = ("--restart", "--set", "dynamics.steps=9")
    words = ("--set", "dynamics.temperature=310", "--set", "dynamics.seed=2")
    found = runs.start(path, *further, *words)
    notes = [line for line in found.process.stderr.splitlines() if "note: dynamics" in line]
    assert len(notes) == 1
    assert "dynamics.temperature was 300.0, is 310.0" in notes[0] and "dynamics.seed was 1, is 2" in notes[0]


def test_temporaries_of_killed_runs_go(runs: Runs) -> None:
    path = runs.run_file(sample("peptide"), SHORT)
    output = path.parent / "output"
    output.mkdir()
    dead = subprocess.Popen(["true"])
    dead.wait()
    host = os.uname().nodename
    mine = output / f".tessera.{host}.{dead.pid}.0.part"
    others = [output / name for name in (f".tessera.{host}.{os.getpid()}.0.part", "a.part", ".tessera.x.1.0.part")]
    for file in (mine, *others):
        file.write_text("half")
    runs.start(path)
    assert not mine.exists() and all(file.exists() for file in others)


# No room.


def limited(kib: int, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a program that can't write a file of more than `kib` KiB."""
    command = ["bash", "-c", f'ulimit -f {kib}; exec "$@"', "bash", *words]
    return run_program(command, check=False)


@pytest.mark.parametrize("kind", ["dcd", "h5md", "history"])
@pytest.mark.parametrize("kib", [0, 50, 100, 500, 501, 502, 503])
def test_files_that_may_not_grow(runs: Runs, kind: str, kib: int) -> None:
    settings: Settings = {**SHORT, "dynamics.steps": 100, "output.trajectory": kind, "output.checkpoint_every": 0}
    path = runs.run_file(sample("peptide"), settings)
    message(limited(kib, ENGINES / "tessera-md-serial", path), FAILURE, "ulimit -f")
    if kib >= 500:
        check_frames(path.parent / "output", kind, 1)


def check_frames(output: Path, kind: str, least: int) -> None:
    """Checks that a reader finds at least `least` frames, all of them whole."""
    import warnings

    if kind == "history":
        histories = History(output / "trajectory.history")
        assert len(histories) >= least - 1 and check_history(output / "trajectory.history").ok
        return
    mda = pytest.importorskip("MDAnalysis")
    name = "trajectory.dcd" if kind == "dcd" else "trajectory.h5md"
    universe = mda.Universe.empty(changed("peptide").n_atoms, trajectory=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe.load_new(str(output / name), format=kind.upper())
        frames = [frame.positions.copy() for frame in universe.trajectory]
    assert len(frames) >= least
    for before, after in itertools.pairwise(frames):
        assert 0 < np.median(np.abs(after - before)) < 1


@pytest.mark.parametrize("velocities", [False, True])
def test_a_full_disk_and_h5md(runs: Runs, tiny_disk: Path, velocities: bool) -> None:
    settings: Settings = {
        **SHORT,
        "dynamics.steps": 100,
        "output.folder": str(tiny_disk / "output"),
        "output.trajectory": "h5md",
        "output.velocities": velocities,
        "output.checkpoint_every": 0,
    }
    found = runs.run(sample("peptide"), settings, check=False)
    message(found.process, FAILURE, "trajectory.h5md", "the disk is full")
    check_frames(tiny_disk / "output", "h5md", 10)


# Places that are no files.


def test_devices_and_pipes_are_not_replaced(runs: Runs, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.symlink("/dev/null", tmp_path / "link")
    for name in ("pipe", "link", "/dev/null"):
        arguments = ["--energy", sample("tripeptide"), "--set", "interactions.electrostatics=cut"]
        found = runs.run_engine(*arguments, "--forces", tmp_path / name, check=False)
        message(found, BAD_INPUT, "no regular file")
    assert (tmp_path / "pipe").is_fifo() and Path("/dev/null").is_char_device()


@pytest.mark.parametrize("name", ["x" * 300, "circle", "circle/output", "file"])
def test_folders_that_cannot_be(runs: Runs, tmp_path: Path, name: str) -> None:
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "file").write_text("")
    found = runs.run(sample("peptide"), {**SHORT, "output.folder": str(tmp_path / name)}, check=False)
    message(found.process, BAD_INPUT, "folder")
    for restart in ("--restart", "--set=output.overwrite=true"):
        path = runs.run_file(sample("peptide"), {**SHORT, "output.folder": str(tmp_path / name)})
        message(runs.start(path, restart, check=False).process, BAD_INPUT, "folder")
