"""A plugin of pytest: runs one piece of a campaign, leaves out what has passed, and keeps what becomes of each test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.campaigns.outcomes import Outcomes
from tests.campaigns.parts import PARTS, Piece


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--campaign", metavar="PART:NUMBER", help="the part, and which of its pieces")
    parser.addoption("--outcomes", type=Path, help="the file of outcomes")


def pytest_configure(config: pytest.Config) -> None:
    name, number = config.getoption("--campaign").split(":")
    outcomes = Outcomes(config.getoption("--outcomes"))
    given = getattr(config, "workerinput", None)
    passed = outcomes.passed() if given is None else set(given["passed"])
    config.pluginmanager.register(Campaign(Piece(PARTS[name], int(number)), outcomes, passed, given is not None))


class Campaign:
    """Chooses the tests, and keeps what becomes of them. Workers of pytest-xdist choose alone, by what had passed when
    the run began; the process that started them gets their reports."""

    def __init__(self, piece: Piece, outcomes: Outcomes, passed: set[str], is_worker: bool) -> None:
        self.piece, self.outcomes, self.passed, self.is_worker = piece, outcomes, passed, is_worker
        self.worst: dict[str, pytest.TestReport] = {}  # of tests under way: the report of what went wrong first

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        mine = [item for item in items if self.piece.holds(item)]
        chosen = [item for item in mine if item.nodeid not in self.passed]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
        items[:] = chosen
        if not self.is_worker:
            self.outcomes.plan(item.nodeid for item in mine)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["passed"] = sorted(self.passed)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self.outcomes.plan(ids)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that is skipped lacks something, and its tests do not run."""
        if not (report.passed or self.is_worker):
            self.outcomes.put(report.nodeid, report.outcome, reason=str(report.longrepr))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.worst.setdefault(report.nodeid, report)
        if self.is_worker or report.when in ("setup", "call"):  # after a crash of a worker it is neither
            return
        worst = self.worst.pop(report.nodeid, report)
        reason = {} if worst.passed else {"reason": str(worst.longrepr)}
        self.outcomes.put(report.nodeid, worst.outcome, **reason)
