"""The page of trust says what tests and records say; test_performance compares its tables with the page."""

from __future__ import annotations

from dataclasses import replace

import click
import pytest

from bench import trust


def test_limits_are_those_of_the_tests() -> None:
    limits = {one.file.rpartition("/")[2]: trust.limits_of(one) for one in trust.COMPARISONS}
    assert limits["test_openmm.py"] == [1e-6, 2e-5, 2e-4]
    assert all(limits.values())


@pytest.mark.parametrize("change", [{"tests": "test_gone"}, {"limits": ("GONE",)}])
def test_a_comparison_that_has_gone_is_said(change: dict[str, object]) -> None:
    with pytest.raises(click.ClickException, match=r"correct COMPARISONS"):
        one = replace(trust.COMPARISONS[0], **change)  # type: ignore[arg-type]
        trust.tests_of(one), trust.limits_of(one)


@pytest.mark.parametrize(("number", "text"), [(2e-5, "2·10⁻⁵"), (1e-6, "10⁻⁶")])
def test_small_numbers(number: float, text: str) -> None:
    assert trust.power(number) == text


def test_what_has_no_run_or_failed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = trust.record.read()
    part = lines[0].part
    monkeypatch.setattr(trust.record, "read", lambda: [replace(line, verdict="failed") for line in lines])
    assert f"The last run of the part `{part}`" in trust.untested()
    assert "failed." in trust.untested() and trust.campaigns().count("| never |") == len(trust.record.PARTS)
    monkeypatch.setattr(trust.record, "read", list)
    assert f"The part `{part}`" in trust.untested()
    assert trust.processors().count("\n") == 1
