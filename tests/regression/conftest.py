"""The greatest errors that the tests of this folder found, as a table below the verdicts."""

from __future__ import annotations

import pytest
from parallel.runs import runs  # noqa: F401

ERROR = "greatest error"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    rows: dict[tuple[str, str, str], float] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for name, value in getattr(report, "user_properties", []):
                if name == ERROR:
                    system, term, precision, error = value
                    key = (system, term, precision)
                    rows[key] = max(rows.get(key, 0.0), error)
    if not rows:
        return
    terminalreporter.section("greatest relative errors")
    for (system, term, precision), error in sorted(rows.items()):
        terminalreporter.line(f"{system:<34}{term:<22}{precision:<8}{error:10.1e}")
