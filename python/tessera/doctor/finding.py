"""What a check has found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Finding:
    """What was found of a subject, whether that is good, slower or less than it could be (a warning), or a fault that
    keeps runs from working, and how to mend it."""

    subject: str
    found: str
    verdict: Literal["good", "warning", "fault"] = "good"
    mend: str = ""

    def facts(self) -> dict[str, Any]:
        """Returns it for JSON."""
        return asdict(self)


def judged(subject: str, found: str, warning: str = "", fault: str = "") -> Finding:
    """Returns a finding that is good unless there is a fault or a warning to mend."""
    if fault:
        return Finding(subject, found, "fault", fault)
    return Finding(subject, found, "warning", warning) if warning else Finding(subject, found)
