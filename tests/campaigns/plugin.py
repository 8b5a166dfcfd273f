"""A plugin of pytest: runs one piece of a campaign, leaves out what has passed, and keeps what becomes of each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaigns.outcomes import Outcomes
from tests.campaigns.parts import PARTS, Piece


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--campaign", metavar="PART:NUMBER", help="the part, and which of its pieces")
    parser.addoption("--outcomes", type=Path, help="the file of outcomes")


def pytest_configure(config: pytest.Config) -> None:
    name, number = config.getoption("--campaign").split(":")
    config.pluginmanager.register(Campaign(Piece(PARTS[name], int(number)), Outcomes(config.getoption("--outcomes"))))


class Campaign:
    def __init__(self, piece: Piece, outcomes: Outcomes) -> None:
        self.piece, self.outcomes = piece, outcomes
        self.worst: dict[str, pytest.TestReport] = {}  # of tests under way: the report of what went wrong first

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        passed = self.outcomes.passed()
        mine = [item for item in items if self.piece.holds(item)]
        chosen = [item for item in mine if item.nodeid not in passed]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
        items[:] = chosen
        self.outcomes.plan(item.nodeid for item in mine)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that is skipped lacks something, and its tests do not run."""
        if not report.passed:
            self.outcomes.put(report.nodeid, report.outcome, reason=str(report.longrepr))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.worst.setdefault(report.nodeid, report)
        if report.when == "teardown":
            worst = self.worst.pop(report.nodeid, report)
            reason = {} if worst.passed else {"reason": str(worst.longrepr)}
            self.outcomes.put(report.nodeid, worst.outcome, **reason)
