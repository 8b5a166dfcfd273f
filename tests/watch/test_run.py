"""What runs say in status.json, and the events of `tessera run`."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tessera.watch.liveness import Watch
from tessera.watch.status import Status, read_status
from tests.support.programs import HANGS, TESSERA, command_under_way, in_turns, ranks_of, run_program, wait_until
from tests.support.runs import Runs, Settings

SHORT: Settings = {"dynamics.steps": 60, "output.energy_every": 2, "output.trajectory_every": 0}
LONG: Settings = {"dynamics.steps": 1_000_000, "output.energy_every": 10, "output.trajectory_every": 0}


def said(folder: Path) -> Status:
    found = read_status(folder)
    assert found is not None
    return found


@in_turns(1, 3)
def test_a_run_says_how_far_it_is_and_that_it_has_ended(runs: Runs, small_water: Path, mpi: str, ranks: int) -> None:
    found = runs.run(small_water, SHORT, mpi=mpi, ranks=ranks)
    status, report, table = said(found.folder), found.report, found.table
    assert status.state == "finished" and status.exit_status == 0 and Watch(found.folder).look().state == "finished"
    assert (status.number("step"), status.number("last_step"), status.number("n_atoms")) == (60, 60, report["n_atoms"])
    assert status.number("ranks") == ranks and status.number("seconds_left") == 0
    for name in ("potential", "kinetic", "total", "conserved", "temperature", "pressure", "density"):
        assert status.number("energies", name) == table[name][-1]
    assert status.number("drift", "value") == report["results"]["drift_kT_ns_dof"] == table["drift"][-1]
    half_width = status.number("drift", "half_width")
    assert half_width is not None and half_width > 0
    seconds = sum(row["seconds"] for row in status.rows("phases"))
    assert 0 < seconds <= (status.number("seconds") or 0) * 1.01
    if ranks > 1:
        assert status.find("imbalance") == report["balance"]
        assert [(host["ranks"], host["first_rank"]) for host in status.rows("network", "hosts")] == [(ranks, 0)]
    assert not [path.name for path in found.folder.iterdir() if path.name.endswith(".part")]


def test_before_step_1_nothing_is_said_and_an_earlier_status_is_kept(runs: Runs, small_water: Path) -> None:
    run_file = runs.run_file(small_water, {**SHORT, "input.start": "none.pdb"})
    failed = runs.start(run_file, check=False)
    assert failed.process.returncode == 2 and not (failed.folder / "status.json").exists()

    found = runs.run(small_water, SHORT)
    before = (found.folder / "status.json").read_bytes()
    assert runs.start(found.folder.parent / "run.toml", check=False).process.returncode == 2
    assert (found.folder / "status.json").read_bytes() == before
    again = runs.start(found.folder.parent / "run.toml", "--set", "output.overwrite=true", "--set", "dynamics.steps=3")
    assert said(again.folder).number("step") == 3
    assert (found.folder / "previous-1" / "status.json").read_bytes() == before


def test_stages_share_one_status(runs: Runs, small_water: Path) -> None:
    run_file = runs.run_file(small_water, SHORT)
    run_file.write_text(
        run_file.read_text() + '[[stage]]\nname = "low"\nkind = "minimize"\nminimize.steps = 5\n'
        '[[stage]]\nname = "warm"\ndynamics.steps = 7\n'
    )
    folder = runs.start(run_file).folder
    status = said(folder)
    assert status.state == "finished" and status.stage == "warm" and status.number("stage", "number") == 2
    assert [(row["name"], row["kind"], row["steps"]) for row in status.rows("stages")] == [
        ("low", "minimize", 5), ("warm", "dynamics", 7)
    ]  # fmt: skip
    assert status.number("step") == 7 and not list(folder.glob("*/status.json"))


def test_a_run_that_fails_says_why(runs: Runs, small_water: Path) -> None:
    run_file = runs.run_file(small_water, {**LONG, "output.checkpoint_every": 50})
    folder = run_file.parent / "output"
    with command_under_way([*TESSERA, "run", run_file], "tessera-md-serial") as (process, _):
        wait_until(lambda: (folder / "status.json").exists(), process)
        (folder / "energy.csv").unlink()
        _, stderr = process.communicate(timeout=HANGS)
    status, view = said(folder), Watch(folder).look()
    assert status.state == "failed" and status.exit_status == process.returncode == 3
    assert status.text("end", "message") in stderr and "energy.csv was removed" in view.words and not view.is_good


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_is_told(runs: Runs, small_water: Path, number: signal.Signals) -> None:
    run_file = runs.run_file(small_water, LONG)
    folder = run_file.parent / "output"
    with command_under_way([*TESSERA, "run", run_file], "tessera-md-serial") as (process, _):
        wait_until(lambda: (folder / "status.json").exists(), process)
        status, view = said(folder), Watch(folder).look()
        assert view.state == "running" and status.process == process.pid and (status.number("step") or 0) >= 1
        process.send_signal(number)
        process.communicate()
    if number == signal.SIGTERM:
        view = Watch(folder).look()
        assert view.state == "stopped" and "SIGTERM" in view.words and said(folder).exit_status == 143
        assert (said(folder).number("step") or 0) > 1
    else:
        wait_until(lambda: Watch(folder).look().state == "gone")


def tell(folder: Path) -> tuple[str, Path]:
    """Returns a command that writes down the events that it is told, and where."""
    script = folder / "tell.py"
    script.write_text(
        "import json, os, sys\n"
        "names = ('EVENT', 'EXIT_STATUS', 'STEP', 'RUN', 'EVENT_WORDS')\n"
        "with open(sys.argv[1], 'a') as file:\n"
        "    file.write(json.dumps([os.environ['TESSERA_' + name] for name in names]) + chr(10))\n"
    )
    return f"'{sys.executable}' '{script}' '{folder / 'told'}'", folder / "told"


def events(path: Path) -> list[list[Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_command_is_told_of_the_end(runs: Runs, small_water: Path, tmp_path: Path, ranks: int) -> None:
    command, path = tell(tmp_path)
    run_file = runs.run_file(small_water, SHORT)
    words = [*TESSERA, "run", run_file, "-n", str(ranks), "--on-event", command]
    run_program(words, cwd=tmp_path)
    folder = str(run_file.parent / "output")
    assert events(path) == [["finished", "0", "60", folder, "all steps are done"]]
    done = run_program(words, cwd=tmp_path, status=2)  # there is a run already
    kind, exit_status, _, place, _ = events(path)[1]
    assert (kind, exit_status, place) == ("failed", "2", folder) and "already holds a run" in done.stderr


def test_a_command_is_told_that_the_run_was_stopped(runs: Runs, small_water: Path, tmp_path: Path) -> None:
    command, path = tell(tmp_path)
    run_file = runs.run_file(small_water, LONG)
    words = [*TESSERA, "run", run_file, "--on-event", command]
    with command_under_way(words, "tessera-md-serial") as (process, mark):
        wait_until(lambda: (run_file.parent / "output" / "status.json").exists(), process)
        assert len(ranks_of(mark, "tessera-md-serial")) == 1
        process.send_signal(signal.SIGTERM)
        process.communicate()
        assert process.returncode == 143
    assert [one[:2] for one in events(path)] == [["stopped", "143"]] and "by a signal" in events(path)[0][4]


def test_a_run_file_starts_no_command(runs: Runs, small_water: Path, tmp_path: Path) -> None:
    run_file = runs.run_file(small_water, {**SHORT, "output.on_event": f"touch {tmp_path / 'made'}"})
    words = [*TESSERA, "run", run_file]
    assert "on_event" in run_program(words, status=2).stderr and not (tmp_path / "made").exists()
    assert "No closing quotation" in run_program([*words, "--on-event", "'open"], status=2).stderr
