"""The check of the benchmark of stencils on emulated clusters fails where an order is contradicted, and only there."""

from __future__ import annotations

from typing import Any

import pytest

from bench.cluster import overlap, stencils

TIMES = {"flat-original": 2.0, "flat-optimized": 1.0, "hybrid-master-only": 1.1, "hybrid-multiple": 0.9}


def jobs(changes: dict[str, list[float]], chosen: str = "hybrid-multiple") -> list[dict[str, Any]]:
    """Returns judged jobs of three starts, whose times are TIMES or the given ones."""
    trials: list[dict[str, Any]] = []
    for name, seconds in TIMES.items():
        starts = changes.get(name, [seconds, 1.02 * seconds, 0.98 * seconds])
        trials.append({"approach": name, "batch": 1, "slope": 0, "starts": starts, "median": min(starts),
                       "predicted": 0.5 if name == chosen else 1.0})  # fmt: skip
    flat, hybrid = ([one for one in trials if one["approach"].startswith(kind)] for kind in ("flat", "hybrid"))
    return [
        {"ranks": 4, "threads": 1, "processes": [4, 1, 1], "trials": its, "left_out": [],
         "chosen": min(its, key=lambda one: one["predicted"])}
        for its in (flat, hybrid)
    ]  # fmt: skip


def verdicts(changes: dict[str, list[float]], **more: str) -> tuple[list[str], list[str]]:
    judged = jobs(changes, **more)
    promises = stencils.promises_of("duo", judged)
    return [one.verdict for one in promises], stencils.broken_promises("duo", judged, promises)


def test_nothing_to_complain_of() -> None:
    assert verdicts({}) == (["kept"] * 4, [])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"flat-original": [0.97, 0.99, 0.95]}, "flat-original takes as long as flat-optimized or longer: ratio 0.97"),
        ({"hybrid-master-only": [0.97, 0.99, 0.95]}, "hybrid-master-only takes as long as flat-optimized or longer"),
        ({"hybrid-multiple": [1.03, 1.05, 1.01]}, "flat-optimized takes as long as hybrid-multiple or longer"),
        ({"hybrid-multiple": [1.6, 1.7, 1.55]}, "the model's choice takes at most 1.5 times the quickest"),
    ],
)
def test_an_order_that_is_contradicted_is_missed(changes: dict[str, list[float]], said: str) -> None:
    found, broken = verdicts(changes)
    assert "**missed**" in found
    assert any(said in line for line in broken), broken


def test_what_differs_from_start_to_start_can_not_be_told() -> None:
    found, broken = verdicts({"hybrid-multiple": [1.03, 0.99, 0.98]})
    assert found == ["kept", "kept", "can't be told", "kept"] and broken == []


def test_an_approach_that_was_left_out_is_named() -> None:
    judged = jobs({})
    judged[0]["left_out"] = [{"approach": "flat-original", "why": "no reason"}]
    assert stencils.broken_promises("duo", judged, []) == ["duo: flat-original was left out, no reason"]


def row(**changes: Any) -> overlap.Row:
    """Returns 10 ms of messages and 8 of computing, of which six are hidden."""
    its = {"where": "duo-100", "mpi": "mpich", "shape": (8, 8, 8), "batch": 1, "messages": 0.010, "apart": 0.018,
           "together": 0.012, "overlap": 0.8, "trial": 0.7, "measured": 0.013, "predicted": 0.013,
           "hidden": 0.011}  # fmt: skip
    return overlap.Row(**{**its, **changes})


def test_messages_that_are_not_hidden_are_named() -> None:
    assert overlap.broken_promises([row()]) == []
    assert overlap.broken_promises([row(overlap=0.3)]) == [
        "duo-100, MPICH, 8×8×8, batch 1: the overlap is 30%, promised 50%"
    ]
    assert overlap.broken_promises([row(overlap=None)]) == [
        "duo-100, MPICH, 8×8×8, batch 1: the overlap can't be told, promised 50%"
    ]
    local, unhidden = row(overlap=0.3, where="one host"), row(overlap=None, apart=0.0101)
    assert overlap.broken_promises([row(), local, unhidden]) == [], "cores copy it, or nothing hides it"
    assert overlap.broken_promises([local]) == ["nothing was measured where messages and computing take about as long"]


def test_conclusions_are_those_of_the_rows() -> None:
    rows = [row(), row(overlap=0.6), row(batch=4, overlap=0.4, apart=0.02), row(where="one host", overlap=0.0)]
    text = " ".join(overlap.conclusions(rows))
    assert "batches of 1 hide 70% (median of 2)" in text and "batches of 4 hide 40% (median of 1)" in text
    assert "up to 1.7 times less" in text and "On one host" in text
    assert "On one host" not in " ".join(overlap.conclusions(rows[:-1]))
