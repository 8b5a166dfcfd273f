"""What became of each test and check of a run, kept in a file so that a run that was cut off goes on.

The file has a JSON object a line, written as things happen: `tree`, the commit; `begin`, the start of a run; `planned`,
tests that pytest is about to run; `unit`, with what became of a test or a check. Later lines replace earlier ones.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any


class Outcomes:
    """The outcomes in a file: "passed", "failed", "skipped", or "prepared" for what had to be done before."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def start(self, tree: str) -> bool:
        """Begins a run, and returns whether it goes on with an earlier one. Only at the same commit, and with no change
        since, is what has passed not run again."""
        lines = self._lines()
        goes_on = bool(lines) and lines[0].get("tree") == tree and not tree.endswith("+")
        if not goes_on:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text("")
            self._append({"tree": tree})
        self._append({"begin": True})
        return goes_on

    def plan(self, names: Iterable[str]) -> None:
        self._append({"planned": list(names)})

    def put(self, name: str, outcome: str, **more: Any) -> None:
        """Keeps the outcome of a test or a check; `counts` of a check that consists of several tests."""
        self._append({"unit": name, "outcome": outcome, **more})

    def last(self) -> dict[str, dict[str, Any]]:
        """Returns the last line of each test and check. Of earlier runs only what has passed counts."""
        found: dict[str, dict[str, Any]] = {}
        for line in self._lines():
            if "begin" in line:
                found = {name: one for name, one in found.items() if one["outcome"] == "passed"}
            elif "unit" in line:
                found[line["unit"]] = line
        return found

    def passed(self) -> set[str]:
        return {name for name, line in self.last().items() if line["outcome"] == "passed"}

    def counts(self) -> Counter[str]:
        """Returns how many passed, failed, were skipped, and were not run though they were planned."""
        last = self.last()
        found: Counter[str] = Counter()
        for line in last.values():
            found.update(line.get("counts") or {line["outcome"]: 1})
        planned = {name for line in self._lines() for name in line.get("planned", [])}
        found["not run"] += len(planned - last.keys())
        return found

    def seconds(self) -> float:
        """Returns how long the runs took together, each from its start to its last line."""
        total = begin = end = 0.0
        for line in self._lines():
            if "begin" in line:
                total, begin = total + end - begin, line["at"]
            end = line["at"] if begin else 0.0
        return total + end - begin

    def _append(self, line: dict[str, Any]) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps({**line, "at": time.time()}) + "\n")

    def _lines(self) -> list[dict[str, Any]]:
        """Returns all lines; a last one that was cut off by a kill is left out."""
        text = self.path.read_text() if self.path.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("}\n")]
