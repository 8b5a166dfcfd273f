"""Reads the report that the library which is preloaded prints at the end of a program."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

ROW = re.compile(r"^ +(\w+) +(?:\d+|-) +(\d+) +([\d.]+) +-?[\d.]+  (.+)$", re.M)
LEFT = "the MPI library"


@dataclass(frozen=True)
class Report:
    """Calls of rank 0 between hosts, and their time, s; several reports together are their sum."""

    taken: int = 0  # calls that a plan carried out
    left: int = 0  # calls that were left to the MPI library
    seconds: float = 0.0  # of all calls
    choosing: float | None = None  # s that rank 0 chose; None: not told
    plans: dict[str, str] = field(default_factory=dict)  # that took most time, by operation

    @classmethod
    def read(cls, error: str) -> Report:
        """Returns what the reports in the error stream of a run say, or nothing but zeros."""
        rows = [(name, int(calls), float(seconds), by) for name, calls, seconds, by in ROW.findall(error)]
        choosing = re.findall(r"^tessera-collectives: choosing took ([\d.]+) s", error, re.M)
        return cls(
            sum(calls for _, calls, _, by in rows if by != LEFT),
            sum(calls for _, calls, _, by in rows if by == LEFT),
            sum(seconds for _, _, seconds, _ in rows),
            sum(map(float, choosing)) if choosing else None,
            {name: by for name, _, _, by in sorted(rows, key=lambda row: row[2])},
        )
