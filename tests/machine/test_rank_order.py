"""Ranks are renumbered so that neighbours in a Cartesian grid are on one host where possible, then in one subnet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.programs import ENGINES, in_turns, mpirun, run_program


def grid(mpi: str, ranks: int, *words: str | Path) -> dict[str, Any]:
    done = run_program([*mpirun(mpi, ranks), ENGINES / f"tessera-collectives-{mpi}", "grid", *words])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@in_turns(5, first="mpich")
def test_neighbours_are_near(mpi: str, ranks: int) -> None:
    """On two racks with ranks dealt out to hosts in turn, neighbours that were far apart come together; a rank is left
    over. The plan for any other grid is tested without ranks (`Orders.Cartesian…` in orders_test.cpp)."""
    found = grid(mpi, ranks, "--dims", "2,2", "--network", "racks")
    assert found["warning"] == ""
    assert len(set(found["ranks"])) == 4 and set(found["ranks"]) <= set(range(ranks))
    ours, numbered = found["neighbours"]["renumbered"], found["neighbours"]["as_numbered"]
    assert sum(ours) == sum(numbered)
    # At each level no more pairs of neighbours are apart than before.
    for level in range(max(len(ours), len(numbered))):
        assert sum(ours[level:]) <= sum(numbered[level:])


@in_turns(8)
def test_a_ring(mpi: str, ranks: int) -> None:
    """With eight ranks on two racks of two hosts, a walk round the ring leaves each host and each rack once."""
    found = grid(mpi, ranks, "--dims", "8", "--periodic", "--network", "racks")
    assert found["neighbours"] == {"renumbered": [4, 2, 2], "as_numbered": [0, 0, 8]}


@in_turns(8, first="mpich")
def test_a_graph(mpi: str, ranks: int) -> None:
    """The ring comes out as near when MPI is told only who its neighbours are; each process has those of its new
    number, in their order and with their weights."""
    for kind in ("graph", "distributed", "adjacent"):
        found = grid(mpi, ranks, "--dims", "8", "--periodic", "--network", "racks", "--as", kind)
        assert found["wrong"] == 0, kind
        assert found["neighbours"] == {"renumbered": [4, 2, 2], "as_numbered": [0, 0, 8]}, kind


@in_turns(5)
def test_a_graph_of_fewer(mpi: str, ranks: int) -> None:
    """A rank without a vertex is left out of a graph, and has no neighbours in a distributed one."""
    for kind in ("graph", "distributed"):
        found = grid(mpi, ranks, "--dims", "2,2", "--network", "racks", "--as", kind)
        assert found["wrong"] == 0 and found["warning"] == "", kind
        ours, numbered = found["neighbours"]["renumbered"], found["neighbours"]["as_numbered"]
        assert sum(ours) == sum(numbered) == 4 and ours[0] >= numbered[0], kind


def test_a_grid_that_does_not_fit() -> None:
    """Each rank finds that by itself, so one is enough."""
    done = run_program([ENGINES / "tessera-collectives-openmpi", "grid", "--dims", "3,2"], status=2)
    assert done.stderr.count("--dims 3,2: more places than the 1 ranks") == 1
