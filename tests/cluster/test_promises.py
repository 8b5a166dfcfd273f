"""The check of the benchmark fails where a promise is broken, and only there."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from bench.cluster import measured, patterns
from bench.cluster.measured import Timing
from bench.common.results import Figure

GOOD = Timing(
    spec="crow8-pairs",
    ranks=32,
    shuffle=None,
    mpi="openmpi",
    operation="allreduce",
    bound=1.0,
    ours=[1.40, 1.41, 1.39, 1.42, 1.40],
    library=[2.0, 2.1, 1.9, 2.0, 2.0],
    plan="subnets",
    predicted=1.2,
    version="4.1.4",
)


def test_nothing_to_complain_of() -> None:
    assert measured.broken_promises([GOOD]) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ours": [1.6] * 5}, r"crow8-pairs, allreduce, openmpi: 1.60 times the bound, promised are 1.5"),
        ({"ours": [1.6] * 5, "processors": 1.25}, r"promised are 1.5; 1.28 times what the processors allow"),
        ({"ours": [1.7] * 5, "shuffle": 1}, r"crow8-pairs, shuffled, .*: 1.70 times the bound, promised are 1.65"),
        ({"library": [1.35, 1.3, 1.3, 1.5, 1.2]}, r"the library's own may be faster \(0.9\d, at least 0.86\)"),
        ({"spec": "slow-host"}, r"networks not tuned for: 1.43 times as fast as Open MPI, promised are 1.8"),
        ({"spec": "slow-host", "library": [1.0] * 5, "plan": "native"}, r"slow-host, allreduce: 0.71 times as fast"),
    ],
)
def test_a_broken_promise_is_named(change: dict[str, object], message: str) -> None:
    broken = measured.broken_promises([replace(GOOD, **change)])  # type: ignore[arg-type]
    assert any(re.search(message, text) for text in broken), broken


def test_shuffled_ranks_may_take_a_tenth_more() -> None:
    assert measured.broken_promises([replace(GOOD, shuffle=3, ours=[1.6] * 5)]) == []


def test_the_better_library_counts_where_latency_does() -> None:
    short = replace(GOOD, operation="barrier", bound=None, ours=[1.0] * 5, library=[1.2] * 5)
    faster = replace(short, mpi="mpich", ours=[1.0] * 5, library=[0.9] * 5, plan="native")
    assert measured.broken_promises([short]) == []
    assert measured.broken_promises([short, faster]) == [
        "crow8-pairs, barrier: 1000.00 ms, the better library takes 900.00 ms"
    ]


def test_what_was_not_measured_is_missed() -> None:
    assert measured.missing([], ["crow8-pairs"])[0] == "crow8-pairs, bcast-16k, openmpi: not measured"
    everything = len(measured.missing([], ["crow8-pairs"]))
    assert len(measured.missing([GOOD], ["crow8-pairs"])) == everything - 1


def test_timings_are_kept_beside_each_other(tmp_path: Path) -> None:
    measured.keep(tmp_path, [GOOD, replace(GOOD, operation="barrier")])
    measured.keep(tmp_path, [replace(GOOD, ours=[1.0] * 5), replace(GOOD, shuffle=1)])
    kept = measured.kept(tmp_path)
    assert [(one.shuffle, one.operation, one.seconds) for one in kept] == [
        (None, "allreduce", 1.0),
        (None, "barrier", 1.39),
        (1, "allreduce", 1.40),
    ]


def test_the_lower_bound_is_an_order_statistic() -> None:
    """It is the eighth smallest of 25, since P(B(25, ½) ≤ 7) = 0.022 and P(B(25, ½) ≤ 8) = 0.054, and the smallest of
    5, since P(B(5, ½) = 0) = 0.031."""
    times = [1.0] * 25
    assert replace(GOOD, ours=times, library=[float(i) for i in range(1, 26)]).least_gain == 8
    assert replace(GOOD, ours=times[:5], library=[3.0, 2.0, 5.0, 4.0, 9.0]).least_gain == 2


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({"star": 1.0, "binomial": 1.2}, []),
        ({"star": 1.0, "binomial": 0.9}, ["table 6, bcast-16k: 1,000 ms, butterfly takes 900 ms"]),
        ({}, ["table 6, bcast-16k: there is nothing to compare with"]),
    ],
)
def test_a_faster_pattern_is_named(others: dict[str, float], expected: list[str]) -> None:
    names = {"star": patterns.STAR, "binomial": patterns.BUTTERFLY_OF_BROADCAST}
    entries = [{"entry": entry, "plan": "tree", "times": [seconds, seconds]}
               for entry, seconds in [(patterns.OURS, 1.0), (patterns.PREDICTED, 1.0),
                                      *((names[one], seconds) for one, seconds in others.items())]]  # fmt: skip
    figure = Figure("patterns", "", {}, {})
    patterns.add(figure, 6, patterns.SHORT, {"entries": entries}, None)
    assert figure.failures == expected


def test_patterns_know_nothing_of_the_network() -> None:
    """Those of Lowekamp and Beguelin (1995) go in the order of ranks."""
    ours = {patterns.OURS, patterns.PREDICTED, "native"}
    asked = {entry for one in patterns.TABLES.values() for operation in one.operations
             for entry in one.entries(operation)}  # fmt: skip
    assert asked <= set(patterns.PATTERNS)
    assert all(entry.endswith(":order=ranks") for entry in asked - ours)
