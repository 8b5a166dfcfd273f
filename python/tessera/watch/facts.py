"""What `tessera watch` says of a moment of a run, for programs and for the page."""

from __future__ import annotations

from typing import Any

from tessera.watch.alarm import LIMIT, drift_alarm
from tessera.watch.liveness import View


def facts_of(view: View, limit: float = LIMIT) -> dict[str, Any]:
    """Returns a view as JSON: state, words, age in seconds, alarms, and the status as the run has written it (null
    where there is none). `limit` of the drift in kT/ns/dof."""
    alarm = drift_alarm(view.status, limit) if view.status else ""
    return {
        "state": view.state,
        "words": view.words,
        "is_over": view.is_over,
        "is_good": view.is_good,
        "age_seconds": round(view.age, 3),
        "alarms": [{"kind": "drift", "words": alarm}] if alarm else [],
        "status": view.status.content if view.status else None,
    }
