"""Programs in Fortran are served as those in C are, and grids and graphs of processes lie along the map."""

from __future__ import annotations

import ctypes
import re
import shutil
import sys
from collections import Counter
from ctypes.util import find_library
from itertools import pairwise
from pathlib import Path

import pytest

from tests.drop_in.test_drop_in import HERE, library, preload
from tests.support.programs import LIBRARIES, mpirun, run_program

OPERATIONS = [
    "barrier", "bcast", "gather", "scatter", "allgather", "allgatherv", "alltoall", "reduce", "allreduce",
    "reduce_scatter", "reduce_scatter_block", "scan", "exscan", "cart_create", "graph_create", "dist_graph_create",
    "dist_graph_create_adjacent",
]  # fmt: skip
SPLITS = ["comm_split", "comm_create", "cart_sub"]
CALLS = {  # of check.F90, by the names of the report
    "barrier": 1, "broadcast": 2, "gather": 1, "scatter": 1, "all_gather": 6, "all_to_all": 1, "reduce": 2,
    "all_reduce": 1, "reduce_scatter": 2, "scan": 1, "exscan": 1,
}  # fmt: skip


def expect_short_way(ring: list[int]) -> None:
    """Checks that a ring of ranks, the even ones of which are on one host, leaves each of the two hosts once. `ring`
    has the place of each rank."""
    ranks = sorted(range(len(ring)), key=ring.__getitem__)
    assert sorted(ring) == list(range(len(ring)))
    assert sum(a % 2 != b % 2 for a, b in pairwise([*ranks, ranks[0]])) == 2, ring


@pytest.mark.parametrize(
    ("module", "ranks", "entry"),
    [("HEADER", 5, "ring"), ("MODULE", 4, "subnets:segment=512"), ("MODULE_F08", 5, "recursive_halving")],
)
def test_fortran(two_hosts: Path, tmp_path: Path, module: str, ranks: int, entry: str) -> None:
    """With mpif.h and both modules, results are right and each call is counted, also of what the entry can't do."""
    if not shutil.which("gfortran"):
        pytest.skip("NOTHING IS TESTED IN FORTRAN: there is no gfortran; make setup")
    program = tmp_path / "check"
    run_program(["mpif90.openmpi", "-fallow-argument-mismatch", f"-D{module}", "-o", program, HERE / "check.F90"])
    env = {**preload(library("openmpi"), two_hosts), "TESSERA_FORCE": entry, "TESSERA_REPORT": "1"}
    done = run_program([*mpirun("openmpi", ranks), program], env=env)
    assert done.stdout.endswith("wrong: 0\n"), done.stdout
    counted = Counter[str]()
    for name, calls in re.findall(r"^ +(\w+) +[-\d]+ +(\d+) ", done.stderr, re.MULTILINE):
        counted[name] += int(calls)
    more = {"all_reduce": 1} if module != "MODULE_F08" else {}  # by an operation of the program
    assert counted == Counter(CALLS) + Counter(more), done.stderr
    rings = re.findall(r"^(\w+):((?: \d+){2,})$", done.stdout, re.MULTILINE)
    assert len(rings) == 4 and "4 communicators of grids and graphs follow the map" in done.stderr
    for _, ring in rings:
        expect_short_way([int(place) for place in ring.split()])


def test_every_spelling() -> None:
    """Compilers of Fortran spell names of C in four ways, and procedures of mpi_f08 have names of their own."""
    ours = ctypes.CDLL(str(library("openmpi")))
    for name in [*OPERATIONS, *SPLITS, "init", "init_thread", "finalize"]:
        for spelling in (f"mpi_{name}", f"mpi_{name}_", f"mpi_{name}__", f"MPI_{name.upper()}", f"mpi_{name}_f08_"):
            assert hasattr(ours, spelling), spelling


def test_fortran_of_mpich_calls_c() -> None:
    """MPICH's functions for Fortran call those for C by the names that are wrapped, so nothing else is needed."""
    name = find_library("mpichfort") or find_library("mpifort")
    if name is None:
        pytest.skip("there is no MPICH with functions for Fortran")
    known = run_program(["/sbin/ldconfig", "-p"]).stdout.splitlines()
    path = next(line.split(" => ")[1] for line in known if line.strip().startswith(f"{name} "))
    listed = run_program(["nm", "-D", path]).stdout
    called = {line.split()[-1] for line in listed.splitlines() if " U " in line}
    for operation in OPERATIONS:
        assert f"MPI_{operation.capitalize()}" in called, operation


def test_grids_and_graphs(two_hosts: Path, mpi: str) -> None:
    """Where a program lets MPI renumber ranks, a grid and a graph lie along the hosts; else they keep their numbers."""
    pytest.importorskip("mpi4py")
    text = """if True:
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        n = world.size
        near = [(world.rank - 1) % n, (world.rank + 1) % n]
        for reorder in True, False:
            for made in (
                world.Create_cart([n], [True], reorder),
                world.Create_dist_graph_adjacent(near, near, [1, 2], [3, 4], MPI.INFO_NULL, reorder),
            ):
                if made.topology == MPI.DIST_GRAPH:
                    here = [(made.rank - 1) % n, (made.rank + 1) % n]
                    assert made.Get_dist_neighbors() == (here, here, ([1, 2], [3, 4]))
                ring = world.allgather(made.rank)
                if world.rank == 0:
                    print(*ring)
    """
    env = {**preload(library(mpi), two_hosts), "TESSERA_FORCE": "ring", "MPI4PY_LIBMPI": LIBRARIES[mpi]}
    done = run_program([*mpirun(mpi, 5), sys.executable, "-c", text], env=env)
    rings = [[int(place) for place in line.split()] for line in done.stdout.splitlines()]
    assert len(rings) == 4
    for ring in rings[:2]:
        expect_short_way(ring)
    assert rings[2:] == 2 * [[0, 1, 2, 3, 4]]
