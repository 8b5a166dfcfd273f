"""The memory that `tessera explain` plans, by owner, against that of short runs."""

from __future__ import annotations

import json

import pytest

from tessera.system import read
from tests.support.programs import in_turns
from tests.support.runs import Runs, Settings
from tests.support.samples import sample

FULL: Settings = {"interactions.cutoff": 12.0, "interactions.switch": 10.0, "dynamics.steps": 5}


def planned(runs: Runs, name: str, ranks: int, *more: str) -> dict[str, float]:
    """Bytes of the largest rank by owner, and of all of them together under "bytes"."""
    words = ["--explain", runs.run_file(sample(name), FULL), "--ranks", str(ranks), "--measured-steps", "0", "--json"]
    more = tuple(word for one in more for word in (("--set", one) if "=" in one else (one,)))
    said = json.loads(runs.run_engine(*words, *more).stdout)["predicted"]
    total = sum(said["memory"].values())
    assert said["megabytes_a_rank"] == pytest.approx(total / 1e6)
    return {**said["memory"], "bytes": total}


def check(runs: Runs, name: str, mpi: str, ranks: int, threads: int, mode: str = "cells") -> None:
    """The report sums over ranks, whose mean is a little less than the largest one."""
    settings: Settings = {**FULL, "parallel.mode": mode}
    measured = runs.run(sample(name), settings, mpi=mpi, ranks=ranks, threads=threads).report["memory"]
    found = planned(runs, name, ranks, f"parallel.mode={mode}", "--threads", str(threads))
    assert ranks * found["bytes"] == pytest.approx(measured["bytes"], rel=0.1)
    assert set(measured["by_owner"]) == set(found) - {"bytes"}
    states = "last good states"  # of two such states, so short a run has but the first
    for owner, bytes_held in {**measured["by_owner"], states: 2 * measured["by_owner"][states]}.items():
        if bytes_held > 0.05 * measured["bytes"]:
            assert ranks * found[owner] == pytest.approx(bytes_held, rel=0.2), owner


@pytest.mark.parametrize("threads", [1, 2])
def test_dhfr_on_one_rank(runs: Runs, threads: int) -> None:
    check(runs, "dhfr", "serial", 1, threads)


@in_turns(4)
def test_dhfr_on_ranks(runs: Runs, mpi: str, ranks: int) -> None:
    check(runs, "dhfr", mpi, ranks, 1)


@in_turns(3)
def test_replicated_data(runs: Runs, mpi: str, ranks: int) -> None:
    """All atoms are on each rank, and `tessera explain` says how many bytes of them travel in a step."""
    check(runs, "dhfr", mpi, ranks, 1, "replicated")
    words = ["--explain", runs.run_file(sample("dhfr"), FULL), "--ranks", str(ranks), "--measured-steps", "0"]
    text = runs.run_engine(*words, "--set", "parallel.mode=replicated").stdout
    assert "replicated: every rank has all atoms" in text
    assert "all ranks gather 0.3 MB of positions, and sum 0.6 MB of forces" in text


def test_many_ranks_need_less_each(runs: Runs) -> None:
    sizes = [planned(runs, "water", ranks)["bytes"] for ranks in (1, 8, 64)]
    assert sizes[0] > 2 * sizes[1] > 4 * sizes[2]


@pytest.mark.parametrize("ranks", [1, 4, 64])
def test_frames_are_planned(runs: Runs, ranks: int) -> None:
    """A rank that compresses an XTC holds whole frames: what arrives, fractions, and two frames, 52 bytes an atom; the
    root has a compressed one of each writer. Writers of segments have shares."""
    n = read(sample("dhfr")).n_atoms

    def frames(*more: str) -> float:
        found = planned(runs, "dhfr", ranks, "output.trajectory_every=1", f"output.writers={ranks}", *more)
        return found["frames to be written"]

    assert "frames to be written" not in planned(runs, "dhfr", ranks)
    assert frames('output.trajectory="xtc"') == n * (52 + 4 * min(ranks, 8))
    assert frames('output.trajectory="segments"') == -(-n // ranks) * 52
    assert frames('output.trajectory="segments"', "output.velocities=true") == -(-n // ranks) * 88
