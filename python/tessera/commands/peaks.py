"""Measures how much memory each phase of a command takes at its peak."""

from __future__ import annotations

import re
import resource
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

ELSEWHERE = " (another process)"


class Peaks:
    """Bytes of memory of this process at its start and at the peak of each phase, and of the largest process that it
    started and that ended in a phase.

    Linux forgets the last peak where it may be told to; elsewhere a phase has the greatest peak so far.
    """

    def __init__(self) -> None:
        self.phases: dict[str, int] = {}
        self._phase, self._of_children = "", _of_children()
        _forget()
        self.start = _peak()

    def begin(self, phase: str) -> None:
        """Ends the phase before; a phase may be gone on with."""
        if phase == self._phase:
            return
        if self._phase:
            self._note(self._phase, _peak())
            if (children := _of_children()) > self._of_children:
                self._of_children = children
                self._note(self._phase + ELSEWHERE, children)
        self._phase = phase
        _forget()

    def end(self) -> None:
        """Ends the last phase."""
        self.begin("")

    def _note(self, phase: str, peak: int) -> None:
        self.phases[phase] = max(peak, self.phases.get(phase, 0))


def memory_facts(start: int, of_ranks: Iterable[dict[str, int]], n_atoms: int) -> dict[str, Any]:
    """Returns the peaks of the process that has most in each phase: bytes, and bytes an atom beyond the start."""
    phases: dict[str, int] = {}
    for rank in of_ranks:
        for phase, peak in rank.items():
            phases[phase] = max(peak, phases.get(phase, 0))
    return {
        "peak_bytes": max(phases.values(), default=start),
        "libraries_bytes": start,
        "phases": {
            phase: {"peak_bytes": peak, "bytes_per_atom": round(max(0, peak - start) / max(1, n_atoms), 1)}
            for phase, peak in phases.items()
        },
    }


def memory_text(facts: dict[str, Any]) -> str:
    """Returns one line from what `memory_facts` returns, with the three phases that take most."""
    by_atom = {name: found["bytes_per_atom"] for name, found in facts["phases"].items()}
    most = sorted(by_atom, key=lambda name: -by_atom[name])[:3]
    phases = ", ".join(f"{name} {by_atom[name]:,.0f}" for name in by_atom if name in most)
    return (
        f"{facts['peak_bytes'] / 1e6:,.0f} MB at the peak, {facts['libraries_bytes'] / 1e6:,.0f} MB at the start; "
        f"bytes an atom beyond that: {phases}"
    )


def _peak() -> int:
    """Returns the bytes of the peak of resident memory since `_forget`."""
    with suppress(OSError):
        found = re.search(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
        if found:
            return int(found[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _forget() -> None:
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _of_children() -> int:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
