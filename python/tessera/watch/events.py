"""Starts the command of `tessera run --on-event` at what happens to a run.

It comes from the command line alone: a run file from elsewhere must not execute anything.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tessera.errors import InputError
from tessera.printing import echo
from tessera.select.run import ask_engine
from tessera.stopping import STOP_SIGNALS
from tessera.watch.alarm import LIMIT, drift_alarm
from tessera.watch.status import NAME, Status, read_status

FINISHED, STOPPED, FAILED, DRIFT = "finished", "stopped", "failed", "drift"
TIME_LIMIT = 30.0  # seconds that a command has
_LOOK_EVERY = 2.0  # seconds


def words_of(command: str) -> list[str]:
    """Returns the words of a command as a shell would split it, which is not asked. Raises `InputError`."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"--on-event {command!r}: {error}; quote its words as for a shell") from None
    if not words:
        raise InputError("--on-event: the command is empty")
    return words


@dataclass(frozen=True)
class Event:
    """What happened: its kind, words for people, and the exit status of the run (None while it goes on)."""

    kind: str
    words: str
    exit_status: int | None = None


def call(command: list[str], event: Event, folder: Path, time_limit: float = TIME_LIMIT) -> str:
    """Starts a command at an event of the run in a folder and waits for its end, for so many seconds at most. Returns
    what went wrong; empty where nothing did. What the command prints goes to standard error."""
    status = _status_of(folder)
    environment = {
        "TESSERA_EVENT": event.kind,
        "TESSERA_EVENT_WORDS": event.words,
        "TESSERA_RUN": str(folder.resolve()),
        "TESSERA_STAGE": status.stage if status else "",
        "TESSERA_STEP": f"{status.number('step') or 0:.0f}" if status else "",
        "TESSERA_EXIT_STATUS": "" if event.exit_status is None else str(event.exit_status),
    }
    environment = {name: value.replace("\0", "") for name, value in environment.items()}
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=2, env={**os.environ, **environment}, start_new_session=True
        )
    except (OSError, ValueError) as error:
        return f"it can't be started: {getattr(error, 'strerror', None) or error}"
    try:
        ended = process.wait(time_limit)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"it was ended after {time_limit:g} s"
    return "" if ended == 0 else f"its exit status was {ended}"


def _status_of(folder: Path) -> Status | None:
    with contextlib.suppress(InputError):
        return read_status(folder)
    return None


class Events:
    """Watches a run that this process has started, and calls a command: once at an alarm of its drift, once at its
    end."""

    def __init__(self, command: list[str], folder: Path, limit: float = LIMIT) -> None:
        self._command, self._folder, self._limit = command, folder, limit
        self._before = _stamp(folder)
        self._has_drifted = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Events:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def end(self, exit_status: int) -> None:
        """Calls the command at the end of the run."""
        self._ended.set()
        self._thread.join()
        status = self._own_status()
        self._tell_drift(status)
        self._call(event_of_end(exit_status, status))

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_EVERY):
            self._tell_drift(self._own_status())

    def _tell_drift(self, status: Status | None) -> None:
        alarm = drift_alarm(status, self._limit) if status and not self._has_drifted else ""
        if alarm:
            self._has_drifted = True
            self._call(Event(DRIFT, alarm))

    def _own_status(self) -> Status | None:
        """Returns what the run says; None while the file is that of an earlier one."""
        return None if _stamp(self._folder) == self._before else _status_of(self._folder)

    def _call(self, event: Event) -> None:
        if problem := call(self._command, event, self._folder):
            echo(f"tessera: note: --on-event {shlex.join(self._command)}: {problem}", err=True)


def event_of_end(exit_status: int, status: Status | None) -> Event:
    """Returns what the end of a run was, by its exit status and by what it has said."""
    words = status.text("end", "message") if status else ""
    was_asked = exit_status - 128 in STOP_SIGNALS
    if was_asked or (exit_status == 0 and status is not None and status.state == STOPPED):
        return Event(STOPPED, words or f"stopped, exit status {exit_status}", exit_status)
    if exit_status == 0:
        return Event(FINISHED, words or "all steps are done", exit_status)
    return Event(FAILED, words or f"failed, exit status {exit_status}", exit_status)


def _stamp(folder: Path) -> tuple[int, int] | None:
    try:
        found = (folder / NAME).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def events_of(
    command: str, run_file: Path, overrides: Sequence[str], limit: float = LIMIT
) -> Callable[[Callable[[], int]], int]:
    """Returns what carries out a job of a run file with the events of the run: it takes the function that runs the job,
    and returns the exit status that this one returns. `limit` of the drift in kT/ns/dof. Raises `InputError`; where the
    run file can't be used, ends with the engine's message."""
    words = words_of(command)
    folder = Path(ask_engine(run_file, overrides)["folder"])

    def carry_out(job: Callable[[], int]) -> int:
        with Events(words, folder, limit) as events:
            status = job()
            events.end(status)
        return status

    return carry_out
