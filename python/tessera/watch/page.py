"""What the page is given of a moment of a run.

Anybody may have written what is in a folder. So the page gets what it shows and nothing else, of the types that it
expects, with texts that a browser shows instead of acting on, and no more than it can draw.
"""

from __future__ import annotations

import math
from typing import Any

from tessera.plots import MOST_PHASES
from tessera.printing import printable
from tessera.watch.facts import facts_of
from tessera.watch.liveness import View

_MOST_TEXT = 2000  # characters
_MOST_STAGES, _MOST_HOSTS = 1000, 16384


class _Rows:
    """Rows of a list, of which so many are given at most."""

    def __init__(self, most: int, **row: Any) -> None:
        self.most, self.row = most, row


def _numbers(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, float)


#: what the page shows of a status, by its keys and types
_SHOWN = {
    **_numbers("n_atoms", "ranks", "threads", "step", "last_step", "time_ps", "ns_per_day", "seconds_left"),
    "state": str,
    "stages": _Rows(_MOST_STAGES, name=str),
    "stage": {"name": str, "number": float},
    "energies": _numbers("step", "temperature", "pressure", "density", "potential", "kinetic", "total"),
    "drift": _numbers("value", "half_width"),
    "imbalance": _numbers("last"),
    "minimization": _numbers("energy", "max_force", "wanted_max_force"),
    "phases": _Rows(MOST_PHASES, name=str, seconds=float),
    "network": {
        "source": str,
        "is_measured": bool,
        "hosts": _Rows(_MOST_HOSTS, name=str, **_numbers("ranks", "first_rank", "subnet")),
        "subnets": _Rows(_MOST_HOSTS, medium=str, **_numbers("parent", "latency_seconds", "bytes_per_second")),
    },
}


def text_for_page(text: str) -> str:
    """Returns a text without characters that turn it around or are not seen, and cut where it is very long."""
    return printable(text[:_MOST_TEXT], lines=True) + "…" * (len(text) > _MOST_TEXT)


def page_of(view: View, limit: float) -> dict[str, Any]:
    """Returns what the page shows of a view. `limit` of the drift in kT/ns/dof."""
    facts = facts_of(view, limit)
    facts["words"] = text_for_page(view.words)
    if view.status is not None:
        process = {"host": text_for_page(view.status.host), "id": view.status.process}
        facts["status"] = {**_fitted(view.status.content, _SHOWN), "process": process}
    return facts


def _fitted(value: Any, shape: Any) -> Any:
    """Returns what of a value has a shape: null, false, no rows or an empty text where it has another one."""
    if isinstance(shape, dict):
        return {name: _fitted(value.get(name), one) for name, one in shape.items()} if isinstance(value, dict) else None
    if isinstance(shape, _Rows):
        rows = value[: shape.most] if isinstance(value, list) else []
        return [_fitted(row, shape.row) for row in rows if isinstance(row, dict)]
    if shape is bool:
        return value is True
    if shape is str:
        return text_for_page(value) if isinstance(value, str) else ""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and math.isfinite(value) else None
