"""`tessera demo`: its runs, what it says at the end, and what it refuses."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tessera.demo import command, inputs, runs
from tessera.demo.command import closing, demo
from tessera.demo.runs import Outcome, Way
from tessera.launch import Launcher
from tests.support.programs import TESSERA, run_program


def tessera(*words: str | Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    return run_program([*TESSERA, *words], status=status)


FLAVOURS = {name: Path(name) for name in ("openmpi", "mpich", "serial")}


@pytest.mark.slow(part="cluster")  # half a minute
@pytest.mark.mpi
def test_a_protein_runs_on_one_process_and_on_ranks(tmp_path: Path) -> None:
    """Both ways end in the same state, and the folder has what the closing lines name."""
    said = tessera("demo", tmp_path / "demo", "--steps", "2", "-n", "2").stdout
    assert "They ended in the same state, bit for bit" in said
    assert said.count("ns/day\n") == 2
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert {"one_process", "demo.png", "dhfr.tsr", "minimized.tsr", "run.toml"} < names


def test_ways_follow_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "usable_cores", lambda: 1)
    monkeypatch.setattr(runs, "engines", lambda: FLAVOURS)
    there = [Launcher(("a",), None), Launcher(("b",), "mpich"), Launcher(("c",), "openmpi")]
    monkeypatch.setattr(runs, "launchers", lambda: iter(there))
    monkeypatch.setattr(runs, "engine_command", lambda *_, **__: [])
    found = runs.ways(None, "auto")
    assert [way.options for way in found] == [("-n", "1", "-t", "1"), ("-n", "2", "--mpi", "mpich")]
    assert [way.words for way in found] == ["1 process of 1 thread", "2 ranks of MPICH"]
    assert [way.name for way in runs.ways(5, "openmpi")] == ["one_process", "openmpi"]
    for ranks, mpi in ((1, "auto"), (4, "serial")):
        assert [way.name for way in runs.ways(ranks, mpi)] == ["one_process"]
    monkeypatch.setattr(runs, "launchers", lambda: iter(()))
    assert [way.name for way in runs.ways(4, "auto")] == ["one_process"]


def outcome(name: str, state: str) -> Outcome:
    return Outcome(Way(name, (), name), 12.34, "AVX2", state * 4, 2.0)


def test_the_end_says_whether_states_are_the_same() -> None:
    one, same, other = outcome("one", "0123456789"), outcome("two", "0123456789"), outcome("two", "1123456789")
    assert "bit for bit (0123456789012345…)" in closing(Path("a b"), [one, same])
    assert "tessera report 'a b'/one " in closing(Path("a b"), [one, same])
    assert "bit for bit" not in closing(Path("a b"), [one, other])
    assert "is the same on any number" in closing(Path("a b"), [one])


def carried_out(monkeypatch: pytest.MonkeyPatch, folder: Path, states: list[str]) -> Result:
    """Runs the command with runs that end in these states."""
    monkeypatch.setattr(command, "_carry_out", lambda *_, **__: None)
    monkeypatch.setattr(command, "ways", lambda *_: [Way(str(n), (), str(n)) for n in range(len(states))])
    monkeypatch.setattr(command, "outcome_of", lambda way, _: outcome(way.name, states[int(way.name)]))
    return CliRunner().invoke(demo, [str(folder)])


def test_different_states_are_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert carried_out(monkeypatch, tmp_path / "good", ["ab", "ab"]).exit_code == 0
    done = carried_out(monkeypatch, tmp_path / "bad", ["ab", "ac"])
    assert done.exit_code == 1
    assert "different states" in done.stderr


def test_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    failed = tessera("demo", tmp_path, status=2)
    assert "is not empty" in failed.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_ranks_that_can_not_start_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    failed = tessera("demo", tmp_path / "demo", "--mpi", "openmpi", "-n", "900000", status=2)
    assert "900000 ranks" in failed.stderr
    assert not (tmp_path / "demo").exists()


def test_a_command_that_fails_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the status of that command."""
    monkeypatch.setattr(command, "arguments_of_prepare", lambda *_: ["no-such-command"])
    assert CliRunner().invoke(demo, [str(tmp_path / "demo")]).exit_code == 2
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["run.toml"]


def test_input_files_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "RUN_FILE", "no.toml")
    done = CliRunner().invoke(demo, [])
    assert "install Tessera anew" in str(done.exception)
