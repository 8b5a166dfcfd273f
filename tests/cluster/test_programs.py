"""What is promised of programs that know nothing of Tessera is missed where it is not kept, and only there."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from bench.cluster.programs import __main__ as programs
from bench.cluster.programs.cases import PROGRAMS, named
from bench.cluster.report import Report
from bench.cluster.through import __main__ as through
from bench.cluster.through.measure import Timing

SAID = """tessera-collectives: operations of rank 0 between hosts, with the predicted gain
  operation       about bytes      calls      seconds     saved, s  by
  all_gather           144000         12     1.500000     6.250000  subnets(chain, 16 KiB)
  all_reduce               64          3     0.010000     0.000000  the MPI library
  all_reduce           144000          2     0.400000    -0.100000  ring
  barrier                   -          4     0.000100     0.000000  the MPI library
  all                                 21     1.910100     6.150000
tessera-collectives: choosing took 0.012500 s
"""
GOOD = programs.Timing("racks", 16, "openmpi", "Fortran", [10.0, 12.0, 11.0], [5.0, 6.0, 5.5], True, ["digest"],
                       Report.read(SAID), "here")  # fmt: skip
CALLS = Timing("slow-host", 16, None, "openmpi", "4.1.4", {"allreduce": [3.0]}, {"allreduce": [1.0]},
               Report.read(SAID), "here")  # fmt: skip


def test_report() -> None:
    report = Report.read(SAID)
    assert (report.taken, report.left, report.choosing) == (14, 7, 0.0125)
    assert report.seconds == pytest.approx(1.9101)
    assert report.plans == {"all_gather": "subnets(chain, 16 KiB)", "all_reduce": "ring", "barrier": "the MPI library"}
    assert Report.read(SAID + SAID).taken == 28
    assert Report.read("Segmentation fault") == Report()


def test_nothing_to_complain_of() -> None:
    assert programs.broken_promises([GOOD]) == []
    assert through.broken_promises([CALLS], {"openmpi": {"barrier": 120.0}}) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"same": False}, "other results with the library"),
        ({"report": Report(0, 30, 1.0, 0.0)}, "the library took no call"),
        ({"preloaded": [10.0, 13.0, 11.7]}, r"gain 0\.94, promised ≥ 0\.95"),
        ({"preloaded": [10.0, 11.0, 10.5]}, r"geometric mean of the gains 1\.05, promised ≥ 1\.2"),
        ({"report": Report(9, 0, 1.0, 0.06)}, r"choosing took 1\.09% of the time"),
    ],
)
def test_a_broken_promise_of_programs_is_named(change: dict[str, Any], message: str) -> None:
    broken = programs.broken_promises([replace(GOOD, **change)])
    assert any(re.search(message, text) for text in broken), broken


@pytest.mark.parametrize(
    ("change", "left", "message"),
    [
        ({"own": {"allreduce": [2.4] * 3}}, {}, r"Open MPI, in job order: mean gain 2\.4, promised ≥ 2\.5"),
        ({"shuffle": 1, "own": {"allreduce": [2.8] * 3}}, {}, r"Open MPI, shuffled: mean gain 2\.8, promised ≥ 3"),
        (
            {"library": "mpich", "own": {"allreduce": [0.9] * 3}},
            {},
            r"MPICH, allreduce: gain 0\.9, promised",
        ),
        ({"report": Report(9, 0, 1.0, 0.02)}, {}, r"choosing takes 2\.00% of the calls"),
        ({}, {"mpich": {"barrier": 301.0}}, r"MPICH: barrier that is left takes 301 ns more"),
    ],
)
def test_a_broken_promise_of_calls_is_named(
    change: dict[str, Any], left: dict[str, dict[str, float]], message: str
) -> None:
    broken = through.broken_promises([replace(CALLS, **change)], left)
    assert any(re.search(message, text) for text in broken), broken


def test_what_was_not_measured_is_missed() -> None:
    everything = len(through.missing([]))
    assert len(through.missing([CALLS])) == everything - 1


def test_results() -> None:
    """Exact results are the same text; energies may differ in the last digits, but not in their number."""
    assert all(one.mpis and one.about for one in PROGRAMS)
    fortran, lammps = named("Fortran"), named("LAMMPS")
    line = "digest 00FF change 3EDF alike T"
    assert fortran.results_of(f"{line}\n") == [line]
    with pytest.raises(Exception, match="printed no results"):
        fortran.results_of("digest 00FF change 3EDF alike F\n")
    assert not fortran.agree([line], [line.replace("00FF", "00FE")])
    found = lammps.results_of(
        "TotEng   =     -5287.2798 KinEng   =      1098.6028\nPotEng   =     -6375.1356 E_bond = 1\n"
    )
    assert found == ["-5287.2798", "-6375.1356"]
    assert lammps.agree(found, ["-5287.2799", "-6375.1357"])
    assert not lammps.agree(found, ["-5287.2998", "-6375.1356"])
    assert not lammps.agree(found, found[:1])
