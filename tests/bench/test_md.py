"""Tests what the benchmarks of single-node MD compute before and after their runs."""

from __future__ import annotations

from typing import Any

import click
import pytest

from bench.common.results import Figure
from bench.md import growth, peers, phase_bounds, phases


def report(lj: str) -> dict[str, Any]:
    return {
        "n_atoms": 24000,
        "settings": {"interactions": {"lj": lj}},
        "results": {"pair_scheme": "cluster", "pairs_evaluated": 18_000_000, "pme_grid": [54, 54, 60]},
    }


def test_larger_systems_run_fewer_steps_but_never_too_few() -> None:
    assert [growth.steps_of(n, 390) for n in (24_000, 96_000, 3_000_000)] == [390, 90, growth.LEAST_STEPS]
    assert growth.steps_of(3_000_000, 5) == 5  # a lower number of steps that is asked for is kept


@pytest.mark.parametrize("text", ["", "a", "4,x", "0,1"])
def test_numbers_of_copies_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(click.UsageError):
        growth.numbers(text)


def test_copies_stand_as_nearly_in_a_cube_as_they_can() -> None:
    assert [growth.shape(n) for n in (1, 4, 12, 45, 125, 7)] == [
        (1, 1, 1),
        (1, 2, 2),
        (2, 2, 3),
        (3, 3, 5),
        (5, 5, 5),
        (1, 1, 7),
    ]


def test_a_switch_costs_operations_and_the_useful_part_stays() -> None:
    plain, switched = (
        next(w for w in phases.works(report(lj), 12) if w.phase == phases.KERNELS) for lj in ("cut", "x")
    )
    assert plain.operations == 18e6 * phases.OPERATIONS_A_PAIR
    assert switched.operations > plain.operations
    assert plain.useful is not None and plain.useful == switched.useful == pytest.approx(0.48, abs=0.01)


def test_parts_of_a_step_that_take_more_than_promised_are_named() -> None:
    names = [name for _, parts in phases.MOST_MS.values() for name in parts]
    run = {"system": "apoa1", "layout": "1 × 2", "phases_ms": dict.fromkeys(names, 0.5)}
    assert phases.broken_promises(run, 12) == []
    run["phases_ms"]["pair list"] = 1.5
    assert phases.broken_promises(run, 12) == ["search: 2 ms a step of ApoA1 on two threads, promised are 1.7"]
    assert phases.broken_promises(run, 9) == phases.broken_promises({**run, "layout": "2 × 1"}, 12) == []


def test_every_work_is_a_phase_of_the_report_and_does_something() -> None:
    for work in phases.works(report("cut"), 12):
        assert work.operations > 0 or work.bytes > 0
        assert (work.bytes > 0) == (work.mesh_bytes > 0)


def series(program: str, ns_per_day: float, potential: float = -1e5, peak: int = 92_224_000) -> peers.Series:
    return peers.Series("apoa1", 12, program, "1 × 2", pytest.fail, [ns_per_day] * 3, [peak] * 3, [0.0] * 3, potential)


@pytest.mark.parametrize(
    ("ours", "other", "expected"),
    [
        (series("Tessera", 30.0), series("GROMACS", 20.0), []),
        (series("Tessera", 29.0), series("GROMACS", 20.0), ["at 12 Å: speed over GROMACS: 1.45, should be ≥ 1.5"]),
        (series("Tessera", 30.0), series("OpenMM, CPU", 6.0), ["speed over OpenMM, CPU: 5, should be ≥ 6"]),
        (series("Tessera", 30.0), series("LAMMPS", 6.0, potential=-9e4), ["in LAMMPS, -100,000 in Tessera: not the"]),
        (series("Tessera", 30.0), series("LAMMPS", 6.0, potential=float("nan")), ["in LAMMPS, -100,000 in Tessera"]),
        (series("Tessera", 30.0, peak=10**9), series("LAMMPS", 6.0), ["B/atom: 10,843, should be ≤ 1500"]),
    ],
)
def test_floors_of_peers_that_are_not_reached_are_named(
    ours: peers.Series, other: peers.Series, expected: list[str]
) -> None:
    figure = Figure("peers_avx3", "", {}, {})
    peers.summarise(figure, [ours, other], {("apoa1", 12): 1.5})
    assert len(figure.failures) == len(expected)
    assert all(text in failure for text, failure in zip(expected, figure.failures)), figure.failures


def test_a_sample_stands_for_all_instructions_of_a_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def output(*words: str, text: str = "") -> str:
        asked.append(text)
        return "Block RThroughput: 3000.0\n"

    monkeypatch.setattr(phase_bounds, "output", output)
    executed = {"vmulps": 9000.0, "vaddps": 3000.0}
    assert phase_bounds.least_cycles(executed, "znver3") == 3000 * 12000 / phase_bounds.SAMPLE
    assert [asked[0].count(one) for one in executed] == [4500, 1500]
