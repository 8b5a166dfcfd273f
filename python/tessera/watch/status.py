"""Reads `status.json`, in which a run says how far it is (docs/reference/status.md)."""

from __future__ import annotations

import datetime
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tessera.errors import SENSELESS, InputError
from tessera.files import open_regular
from tessera.plots import MOST

NAME = "status.json"
FORMAT, VERSION = "tessera-status", 1
RUNNING, ENDS = "running", ("finished", "stopped", "failed")
_MOST_BYTES = 32 << 20


@dataclass(frozen=True)
class Status:
    """What a run has said of itself. `content` is the file's JSON, of which only what is named here was checked: others
    may have written the file."""

    content: dict[str, Any]

    @property
    def state(self) -> str:
        """Returns running, finished, stopped or failed."""
        return str(self.content["state"])

    @property
    def is_over(self) -> bool:
        return self.state in ENDS

    @property
    def time(self) -> datetime.datetime:
        """Returns when it was written, by the clock of the run's host."""
        return datetime.datetime.fromisoformat(self.content["time"])

    @property
    def host(self) -> str:
        return str(self.content["process"]["host"])

    @property
    def process(self) -> int:
        return int(self.content["process"]["id"])

    @property
    def interval(self) -> float:
        """Returns after how many seconds the next update is to be expected, as far as the run knew."""
        return self.number("interval_seconds") or 1.0

    @property
    def stage(self) -> str:
        """Returns the name of a protocol's stage; empty for a run by itself."""
        return self.text("stage", "name")

    @property
    def exit_status(self) -> int | None:
        """Returns the exit status of the run; None where it goes on."""
        found = self.number("end", "exit_status")
        return None if found is None else int(found)

    def find(self, *keys: str) -> Any:
        """Returns what stands below these keys; None where nothing does."""
        found: Any = self.content
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        return found

    def number(self, *keys: str) -> float | None:
        """Returns a finite number; None where there is none."""
        found = self.find(*keys)
        is_number = isinstance(found, (int, float)) and not isinstance(found, bool)
        return float(found) if is_number and math.isfinite(found) else None

    def text(self, *keys: str) -> str:
        """Returns a text; empty where there is none."""
        found = self.find(*keys)
        return found if isinstance(found, str) else ""

    def rows(self, *keys: str) -> list[dict[str, Any]]:
        """Returns the objects of a list; none where there is no list."""
        found = self.find(*keys)
        return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _number(text: str) -> float | None:
    """Returns a number of JSON; None for one that is not finite or too large to be of a run: browsers refuse NaN."""
    found = float(text)
    if not abs(found) < MOST:
        return None
    return int(text) if text.lstrip("-").isdigit() else found


def read_status(folder: Path) -> Status | None:
    """Returns what a run in a folder says; None while it has said nothing. Raises `InputError` where the file is
    damaged, or of a version that is not known here."""
    path = folder / NAME
    try:
        with open(open_regular(path), "rb") as file:
            text = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if len(text) > _MOST_BYTES:
        raise InputError(f"{path} has more than {_MOST_BYTES >> 20} MiB, which no status has")
    try:
        status = Status(json.loads(text, parse_float=_number, parse_int=_number, parse_constant=_number))
        if status.content["format"] != FORMAT:
            raise InputError(f"{path}: its format is {status.content['format']!r}, expected {FORMAT!r}")
        if status.content["version"] != VERSION:
            raise InputError(
                f"{path} is of version {status.content['version']!r}, expected {VERSION}: use the Tessera of the run"
            )
        if status.state != RUNNING and not status.is_over:
            raise ValueError(f"its state is {status.state!r}")
        if status.time.tzinfo is None or status.process < 1 or not status.host:
            raise ValueError("it lacks its time, its process or its host")
    except InputError:
        raise
    except SENSELESS as error:
        problem = f"there is no key {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{path}: {problem}; the file is damaged, a run that goes on replaces it") from None
    return status
