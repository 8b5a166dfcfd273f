"""Tells whether a run goes on: from what it says, and from whether its process is there."""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tessera.errors import InputError
from tessera.files import read_regular
from tessera.traj.find import SETTINGS, stages
from tessera.watch.status import NAME, Status, read_status

#: words of a verdict's state, beside those of a status: no run has begun, step 1 is not done, there is no news, the run
#: is asleep, its process is gone
WAITING, STARTING, SILENT, SUSPENDED, GONE = "waiting", "starting", "silent", "suspended", "gone"
_SILENT_AFTER = 20.0  # seconds, or so many intervals: checkpoints and frames take their time
_SILENT_INTERVALS = 5
_GONE_AFTER = 3.0  # seconds; in a container another process of this host may have the number
_HOLDER = re.compile(r"process (\d{1,10}) on ([^\n]{1,255})\n")


@dataclass(frozen=True)
class View:
    """A moment of a run: what it says, how many seconds ago, what state it is in and what that means."""

    status: Status | None
    age: float
    state: str
    words: str

    @property
    def is_over(self) -> bool:
        """Tells whether nothing more is to come."""
        return self.state in ("finished", "stopped", "failed", GONE)

    @property
    def is_good(self) -> bool:
        """Tells whether the run goes on, or has ended as was asked."""
        return self.state not in ("failed", GONE, SILENT)


class Watch:
    """Watches a folder. `wall` and `clock` return the time of day and seconds that only grow."""

    def __init__(
        self, folder: Path, wall: Callable[[], float] = time.time, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.folder = folder
        self._wall, self._clock = wall, clock
        self._last: tuple[datetime.datetime, int] | None = None
        self._changed: float | None = None  # by the own clock; None where the first status is as old as it says

    def look(self) -> View:
        """Returns how the run is. Raises `InputError` where the folder is not there, or its status can't be read."""
        if not self.folder.is_dir():
            is_there = "is a file" if self.folder.exists() else "is not there"
            raise InputError(f"{self.folder} {is_there}: expected the output folder of a run or of a protocol")
        status = read_status(self.folder)
        view = self._without_status() if status is None else self._with_status(status)
        if view.is_over or status is None:
            holder = _holder_of(self.folder)
            if holder is not None and (status is None or holder != (status.process, status.host)):
                words = f"process {holder[0]} on {holder[1]} begins: step 1 is not done yet"
                return View(view.status, view.age, STARTING, words)
        return view

    def _without_status(self) -> View:
        if (self.folder / "report.json").is_file():
            raise InputError(f"{self.folder} holds a run that has ended and left no {NAME}")
        if (self.folder.parent / NAME).is_file():
            raise InputError(f"{self.folder} is of a stage: give the folder of the protocol, {self.folder.parent}")
        return View(None, 0.0, WAITING, "no run has begun in this folder yet")

    def _with_status(self, status: Status) -> View:
        age = self._age_of(status)
        if status.is_over:
            return View(status, age, status.state, _words_of_end(status))
        if age > _GONE_AFTER and status.host == socket.gethostname() and not is_alive(status.process):
            # It may have ended since the file was read.
            again = read_status(self.folder)
            if again is not None and again.content != status.content:
                return self._with_status(again)
            return View(status, age, GONE, _words_of_gone(status))
        return View(status, age, *self._of_running(status, age))

    def _age_of(self, status: Status) -> float:
        """Returns how many seconds ago it was written: by the own clock once it was seen to change, as hosts have
        clocks of their own."""
        stamp = (status.time, status.process)
        if stamp != self._last:
            self._changed = None if self._last is None else self._clock()
            self._last = stamp
        if self._changed is not None:
            return self._clock() - self._changed
        return max(0.0, self._wall() - status.time.timestamp())

    def _of_running(self, status: Status, age: float) -> tuple[str, str]:
        is_here = status.host == socket.gethostname()
        if age <= max(_SILENT_AFTER, _SILENT_INTERVALS * status.interval):
            return "running", ""
        if is_here and _is_asleep(status.process):
            return SUSPENDED, f"process {status.process} is suspended; `kill -CONT {status.process}` wakes it"
        if is_here:
            return SILENT, f"process {status.process} is there, but has said nothing for {seconds_text(age)}"
        return SILENT, (
            f"nothing was said for {seconds_text(age)}; whether process {status.process} is there is known on "
            f"{status.host} alone"
        )


def seconds_text(seconds: float) -> str:
    """Returns a duration in words: 12 s, 1 min 20 s, 3 h 05 min, 2 d 4 h, as the engine writes it."""
    whole = int(max(0.0, seconds) + 0.5)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def is_alive(process: int) -> bool:
    """Returns whether this host has such a process."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def _is_asleep(process: int) -> bool:
    """Returns whether a signal has suspended it; the fields after the name are those of proc(5)."""
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] in "Tt"
    return False


def _holder_of(folder: Path) -> tuple[int, str] | None:
    """Returns process and host of who has locked a run's folder, or one of a protocol's stages; None where that
    process of this host is gone."""
    for path in (folder / ".lock", *folder.glob("*/.lock")):
        with contextlib.suppress(OSError):
            if found := _HOLDER.fullmatch(read_regular(path).decode(errors="replace")[:400]):
                holder = int(found[1]), found[2]
                if holder[1] != socket.gethostname() or is_alive(holder[0]):
                    return holder
    return None


def _words_of_end(status: Status) -> str:
    message = status.text("end", "message")
    if status.state == "finished":
        return "all steps are done (exit status 0)"
    if status.state == "stopped":
        return message or f"stopped before its last step (exit status {status.exit_status}); --restart goes on"
    meaning = {2: "its input can't be used", 3: "it can't go on", 70: "a fault of the program or of one rank"}
    means = meaning.get(status.exit_status or 0, "see its output")
    return f"failed (exit status {status.exit_status}: {means}): {message}"


def _words_of_gone(status: Status) -> str:
    return (
        f"process {status.process} is gone and has not said why: it was killed, or a rank was; --restart goes on from "
        "the last checkpoint"
    )


def folder_of_stage(folder: Path, status: Status | None) -> Path:
    """Returns where the files of the run are that the status tells of; a name that leads elsewhere is not followed."""
    stage = "" if status is None else status.stage
    known = {one.name: one for one in stages(folder)} if stage else {}
    return known.get(stage, folder) if not (folder / SETTINGS).is_file() else folder
