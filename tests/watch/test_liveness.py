"""Whether a run goes on: its process, its silence, its host and its end."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tessera.errors import InputError
from tessera.watch.liveness import Watch, folder_of_stage
from tessera.watch.status import read_status
from tests.support.programs import wait_until
from tests.watch.samples import status, time_text, write


@pytest.fixture
def gone() -> int:
    """The number of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def of_process(number: int, host: str = "") -> dict[str, Any]:
    return {**status()["process"], "id": number, **({"host": host} if host else {})}


def test_a_run_that_speaks_goes_on(tmp_path: Path) -> None:
    view = Watch(write(tmp_path)).look()
    assert (view.state, view.words, view.is_over, view.is_good) == ("running", "", False, True)


def test_a_process_that_is_gone_is_told(tmp_path: Path, gone: int) -> None:
    view = Watch(write(tmp_path, process=of_process(gone), time=time_text(5))).look()
    assert view.state == "gone" and view.is_over and not view.is_good
    assert f"process {gone} is gone" in view.words and "--restart" in view.words


def test_a_run_of_another_container_speaks_though_its_number_is_not_known_here(tmp_path: Path, gone: int) -> None:
    assert Watch(write(tmp_path, process=of_process(gone))).look().state == "running"


def test_silence_is_told_by_the_interval_of_the_run(tmp_path: Path) -> None:
    old = time_text(60)
    assert Watch(write(tmp_path, time=old)).look().state == "silent"
    assert Watch(write(tmp_path, time=old, interval_seconds=1e6)).look().state == "running"


def test_of_another_host_it_is_said_that_its_process_is_not_known(tmp_path: Path, gone: int) -> None:
    view = Watch(write(tmp_path, process=of_process(gone, "elsewhere"), time=time_text(60))).look()
    assert view.state == "silent" and "known on elsewhere alone" in view.words and not view.is_over


def test_a_suspended_run_is_told(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    try:
        process.send_signal(signal.SIGSTOP)
        stat = Path(f"/proc/{process.pid}/stat")
        wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
        view = Watch(write(tmp_path, process=of_process(process.pid), time=time_text(60))).look()
        assert view.state == "suspended" and f"kill -CONT {process.pid}" in view.words
    finally:
        process.kill()
        process.wait()


def test_clocks_of_hosts_may_differ(tmp_path: Path) -> None:
    """A status that changes is new, whatever its own clock says."""
    now = [0.0]
    watching = Watch(tmp_path, clock=lambda: now[0])
    elsewhere = of_process(1, "elsewhere")
    write(tmp_path, process=elsewhere, time=time_text(1000))
    assert watching.look().state == "silent"
    write(tmp_path, process=elsewhere, time=time_text(999))
    assert watching.look().state == "running"
    now[0] = 100.0
    assert watching.look().state == "silent" and watching.look().age == 100.0


@pytest.mark.parametrize(
    ("state", "exit_status", "message", "words", "is_good"),
    [
        ("finished", 0, "", "all steps are done", True),
        ("stopped", 143, "stopped by a signal, SIGTERM", "SIGTERM", True),
        ("failed", 3, "the disk is full", "exit status 3: it can't go on): the disk is full", False),
        ("failed", 70, "bad", "a fault of the program", False),
    ],
)
def test_an_end_is_explained(
    tmp_path: Path, state: str, exit_status: int, message: str, words: str, is_good: bool
) -> None:
    end = {"exit_status": exit_status, "message": message}
    view = Watch(write(tmp_path, state=state, end=end, time=time_text(9999))).look()
    assert view.is_over and view.is_good == is_good and view.state == state and words in view.words


def test_before_step_1_the_lock_tells_who_begins(tmp_path: Path, gone: int) -> None:
    watching = Watch(tmp_path)
    assert watching.look().state == "waiting"
    lock = tmp_path / ".lock"
    lock.write_text(f"process {gone} on {status()['process']['host']}\n")
    assert watching.look().state == "waiting"  # a killed run leaves it
    lock.write_text("process 1 on elsewhere\n")
    assert watching.look().state == "starting"
    # A run that goes on with one that has ended has not said so itself yet.
    write(tmp_path, state="stopped", end={"exit_status": 143, "message": "stopped"})
    view = watching.look()
    assert view.state == "starting" and "process 1 on elsewhere" in view.words
    own = status()["process"]
    lock.write_text(f"process {own['id']} on {own['host']}\n")  # that of the one that has just said its end
    assert watching.look().state == "stopped"
    # One that was killed never says so.
    lock.write_text("process 1 on elsewhere\n")
    write(tmp_path, process=of_process(gone), time=time_text(5))
    assert Watch(tmp_path).look().state == "starting"


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not there: expected the output folder"):
        Watch(tmp_path / "none").look()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file"):
        Watch(tmp_path / "file").look()
    (tmp_path / "report.json").touch()
    with pytest.raises(InputError, match=r"left no status\.json"):
        Watch(tmp_path).look()
    (write(tmp_path / "protocol") / "heat").mkdir()
    with pytest.raises(InputError, match="is of a stage: give the folder of the protocol"):
        Watch(tmp_path / "protocol" / "heat").look()


def test_the_name_of_a_stage_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "heat").mkdir()
    (tmp_path / "heat" / "settings.toml").touch()
    for name, place in (("heat", tmp_path / "heat"), ("../../etc", tmp_path), ("none", tmp_path), ("", tmp_path)):
        found = read_status(write(tmp_path, stage={"name": name, "number": 1}))
        assert folder_of_stage(tmp_path, found) == place
