"""Times simulations of one process that take turns, so that what else a machine does falls on all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import tessera


def take_turns(
    simulations: Mapping[str, tessera.Simulation], steps: int, repeats: int, say: Callable[[str], None]
) -> dict[str, list[float]]:
    """Returns the seconds of a step in each turn, by name. A first turn of all warms up and does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in simulations}
    for turn in range(repeats + 1):
        for name, simulation in simulations.items():
            begin = time.perf_counter()
            simulation.step(steps)
            if turn > 0:
                seconds[name].append((time.perf_counter() - begin) / steps)
        say(f"{turn}/{repeats}")
    return seconds


def in_milliseconds(seconds: Mapping[str, list[float]]) -> dict[str, dict[str, Any]]:
    """Returns `ms`, the median, and `turns`, all turns in ms, by name."""
    turns = {name: [1e3 * value for value in values] for name, values in seconds.items()}
    return {name: {"ms": median(values), "turns": values} for name, values in turns.items()}
