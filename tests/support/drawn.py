"""Draws many cases at once, for tests that run them in one launch, as launches take most of the time."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

Case = dict[str, Any]


def examples(strategy: st.SearchStrategy[Case], count: int, start: int) -> list[Case]:
    """Draws `count` different cases; the same start gives the same ones."""
    found: list[Case] = []
    checks = list(HealthCheck)

    @seed(start)
    @settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=checks)
    @given(strategy)
    def add(case: Case) -> None:
        found.append(case)

    add()
    return found
