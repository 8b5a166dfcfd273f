"""Tests runs that are told to stop, by different signals to different processes, with each MPI and each way to start.

One rule must hold: a checkpoint within a few steps, exit status 128 + signal, and a restart from there.
`expected_status` says how launchers react to signals to themselves: where `mpirun` is started directly, its status is
its own. The runs have more steps than any machine makes in time, so a run that ends has been stopped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from signal import SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGSTOP, SIGTERM, SIGUSR1

import pytest

from tests.support.programs import (
    ENGINES,
    FLAVOURS,
    HANGS,
    command_under_way,
    mpirun,
    ranks_of,
    run_program,
    signal_all,
    wait_until,
)
from tests.support.runs import PATIENT, Runs, Settings, wait_for
from tests.support.samples import sample

ENGINE = "tessera-md"
RANKS = 3
ENDLESS: Settings = {
    "dynamics.steps": 1_000_000,
    "output.energy_every": 5,
    "output.trajectory": "none",
    "output.checkpoint_every": 0,
}

SIGNALS = (SIGTERM, SIGINT, SIGHUP, SIGUSR1)
TARGETS = ("launcher", "group", "one rank", "every rank", "everything")
STARTS = ("tessera run", "mpirun")
#: start, signal and target of the most frequent cases
USUAL = [
    ("tessera run", SIGINT, "group"),  # Ctrl-C
    ("tessera run", SIGTERM, "everything"),  # scancel
    ("mpirun", SIGUSR1, "launcher"),  # --signal=B:USR1
]


def is_bare_open_mpi(mpi: str, start: str, number: int, target: str) -> bool:
    """Returns whether Open MPI's mpirun is on its own, and gets a signal on which it acts itself."""
    to_launcher = target not in ("one rank", "every rank")
    return start == "mpirun" and mpi == "openmpi" and number != SIGUSR1 and to_launcher


def expected_status(mpi: str, start: str, number: int, target: str) -> int:
    """Returns the exit status of a run that is stopped."""
    if is_bare_open_mpi(mpi, start, number, target):
        return 1
    return 128 + number


def command(mpi: str, start: str, run_file: Path) -> list[str | Path]:
    if start == "mpirun":
        return [*mpirun(mpi, RANKS), ENGINES / f"{ENGINE}-{mpi}", run_file]
    return [sys.executable, "-m", "tessera", "run", run_file, "-n", str(RANKS), "--mpi", mpi]


def send(process: subprocess.Popen[str], mark: int, number: int, target: str) -> None:
    """Sends a signal to the launcher (or to `tessera run` where that was started), its process group, or its ranks."""
    ranks = ranks_of(mark, ENGINE)
    assert len(ranks) == RANKS
    if target == "launcher":
        process.send_signal(number)
    elif target == "group":
        os.killpg(process.pid, number)
    elif target == "one rank":
        os.kill(ranks[-1], number)
    else:
        launchers = ranks_of(mark, "") if target == "everything" else []
        signal_all({*ranks, *launchers}, number)


def check_gone(mark: int) -> None:
    wait_until(lambda: not ranks_of(mark, ENGINE))


def check_stop(runs: Runs, mpi: str, start: str, number: int, target: str) -> None:
    run_file = runs.run_file(sample("water"), ENDLESS)
    output = run_file.parent / "output"
    environment = {"TESSERA_BIN": str(ENGINES)}
    if is_bare_open_mpi(mpi, start, number, target) or target == "everything":
        environment |= PATIENT
    with command_under_way(command(mpi, start, run_file), ENGINE, environment) as (process, mark):
        wait_for(process, output / "energy.csv", 4)
        send(process, mark, number, target)
        out, err = process.communicate(timeout=HANGS)
    assert process.returncode == expected_status(mpi, start, number, target), (out, err)
    stopped = json.loads((output / "report.json").read_text())["last_step"]
    assert stopped % 5 == 0
    if start == "tessera run" or target != "launcher":
        assert f"stopped by a signal at step {stopped}" in out and "--restart" in out
    again = runs.start(run_file, "--restart", "--set", f"dynamics.steps={stopped + 5}")
    assert (again.report["first_step"], again.report["last_step"]) == (stopped, stopped + 5)


@pytest.mark.parametrize(("start", "number", "target"), USUAL)
def test_usual_stops(runs: Runs, mpi: str, start: str, number: int, target: str) -> None:
    check_stop(runs, mpi, start, number, target)


def is_survived(mpi: str, start: str, number: int, target: str) -> bool:
    """Returns whether ranks live to stop in good order: MPICH's mpiexec dies of SIGHUP and takes its ranks along (use
    tessera run, or nohup)."""
    reached = target == "everything" or (start == "mpirun" and target in ("launcher", "group"))
    return not (mpi == "mpich" and number == SIGHUP and reached)


@pytest.mark.mpi
@pytest.mark.slow(part="faults")
@pytest.mark.parametrize(
    ("mpi", "start", "number", "target"),
    [case for case in product(FLAVOURS, STARTS, SIGNALS, TARGETS) if is_survived(*case)],
)
def test_all_stops(runs: Runs, mpi: str, start: str, number: int, target: str) -> None:
    check_stop(runs, mpi, start, number, target)


@pytest.mark.parametrize("start", STARTS)
def test_a_rank_that_is_killed_takes_the_others_along(runs: Runs, mpi: str, start: str) -> None:
    run_file = runs.run_file(sample("water"), ENDLESS)
    with command_under_way(command(mpi, start, run_file), ENGINE, {"TESSERA_BIN": str(ENGINES)}) as (process, mark):
        wait_for(process, run_file.parent / "output" / "energy.csv", 4)
        send(process, mark, SIGKILL, "one rank")
        _, err = process.communicate(timeout=HANGS)
        check_gone(mark)
    assert process.returncode != 0
    if start == "tessera run":
        assert process.returncode == 128 + SIGKILL
        assert "a rank was ended by SIGKILL" in err and "--restart" in err


@pytest.mark.slow(part="faults")
@pytest.mark.parametrize("_", range(24))
def test_others_that_miss_a_killed_rank_before_the_launcher_does_wait_for_it(runs: Runs, _: int) -> None:
    """MPICH's ranks copy long messages out of each other's memory, so in one of some twenty cases a copy fails."""
    run_file = runs.run_file(sample("water"), ENDLESS)
    start = command("mpich", "tessera run", run_file)
    with command_under_way(start, ENGINE, {"TESSERA_BIN": str(ENGINES)}) as (process, mark):
        wait_for(process, run_file.parent / "output" / "energy.csv", 4)
        launchers = ranks_of(mark, "hydra")
        for launcher in launchers:
            os.kill(launcher, SIGSTOP)
        send(process, mark, SIGKILL, "one rank")
        time.sleep(2)
        for launcher in launchers:
            os.kill(launcher, SIGCONT)
        _, err = process.communicate(timeout=HANGS)
    assert process.returncode == 128 + SIGKILL
    assert "a rank was ended by SIGKILL" in err


def test_ranks_stop_with_a_checkpoint_where_tessera_run_is_killed(runs: Runs, mpi: str) -> None:
    run_file = runs.run_file(sample("water"), ENDLESS)
    output = run_file.parent / "output"
    start = command(mpi, "tessera run", run_file)
    with command_under_way(start, ENGINE, {"TESSERA_BIN": str(ENGINES), **PATIENT}) as (process, mark):
        wait_for(process, output / "energy.csv", 4)
        process.kill()
        check_gone(mark)
    assert (output / "checkpoint.tck").exists()


@pytest.mark.parametrize("start", STARTS)
def test_what_fails_on_its_input_says_so_once(runs: Runs, mpi: str, start: str) -> None:
    run_file = runs.run_file(sample("water"), {"dynamics.steps": 5, "dynamics.velocities": "file"})
    environment = {"TESSERA_BIN": str(ENGINES)}
    done = run_program(command(mpi, start, run_file), env=environment, check=False)
    assert done.returncode == 2
    assert [line for line in done.stderr.splitlines() if "error" in line and "tessera" in line] == [
        line for line in done.stderr.splitlines() if "holds no velocities" in line
    ]


def test_requests_within_a_second_are_one(runs: Runs) -> None:
    """These wait while the run is suspended, and it gets one right after the other, in the order of their numbers.
    stop_signal_test.cpp tests which requests count as further ones."""
    run_file = runs.run_file(sample("water"), ENDLESS)
    output = run_file.parent / "output"
    with command_under_way([ENGINES / f"{ENGINE}-serial", run_file], ENGINE) as (process, _):
        wait_for(process, output / "energy.csv", 4)
        process.send_signal(SIGSTOP)
        status = Path(f"/proc/{process.pid}/status")
        wait_until(lambda: "State:\tT" in status.read_text())  # a process that still runs gets the next one at once
        for number in (SIGTERM, SIGINT, SIGHUP, SIGCONT):
            process.send_signal(number)
        process.communicate(timeout=HANGS)
    assert process.returncode == 128 + SIGHUP
    assert (output / "checkpoint.tck").exists()


def test_ignored_signals_stay_ignored(runs: Runs) -> None:
    """nohup and background jobs of scripts ignore signals."""
    run_file = runs.run_file(sample("water"), ENDLESS)
    output = run_file.parent / "output"
    with command_under_way(["nohup", ENGINES / f"{ENGINE}-serial", run_file], ENGINE) as (process, _):
        wait_for(process, output / "energy.csv", 4)
        process.send_signal(SIGHUP)
        wait_for(process, output / "energy.csv", 10)
        process.send_signal(SIGUSR1)
        process.communicate(timeout=HANGS)
    assert process.returncode == 128 + SIGUSR1
