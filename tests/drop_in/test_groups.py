"""Groups of ranks that communicate at the same time are planned for together."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.drop_in.test_drop_in import library, preload
from tests.drop_in.test_mpi4py import map_of_two_hosts
from tests.support.programs import LIBRARIES, mpirun, run_program


def test_groups_of_one_split_share_the_wires(two_hosts: Path, tmp_path: Path, mpi: str) -> None:
    """Groups that a communicator is divided into are priced together, however they are made; one group has the wires
    for itself."""
    pytest.importorskip("mpi4py")
    text = """if True:
        import sys
        from array import array
        from mpi4py import MPI
        world = MPI.COMM_WORLD
        half = world.rank // 4
        how = sys.argv[1]
        if how == "alone":
            part = world.Split(0 if half == 0 else MPI.UNDEFINED, world.rank)
        elif how == "split":
            part = world.Split(half, -world.rank)
        elif how == "create":
            part = world.Create(world.group.Incl(range(4 * half, 4 * half + 4)))
        elif how == "copied":
            part = world.Split(half, world.rank).Dup()
        else:
            part = world.Create_cart([2, 4]).Sub([False, True])
        if part != MPI.COMM_NULL:
            part.Bcast(array("d", bytes(8 * 30000)))
    """
    path = tmp_path / "map.json"
    path.write_text(json.dumps(map_of_two_hosts()))
    env = {**preload(library(mpi), two_hosts), "TESSERA_MACHINE": str(path), "TESSERA_REPORT": "1"}
    env |= {"MPI4PY_LIBMPI": LIBRARIES[mpi], "TESSERA_TRAFFIC": "0.1"}  # of which there is none inside a host
    saved = {}
    for how in ("alone", "split", "create", "copied", "grid"):
        done = run_program([*mpirun(mpi, 8), sys.executable, "-c", text, how], env=env)
        row = re.search(r"^ +broadcast +262144 +1 +\S+ +(\S+)  \w", done.stderr, re.MULTILINE)
        assert row is not None, done.stderr
        saved[how] = float(row[1])
    alone = saved.pop("alone")
    assert alone > 0.01 and list(saved.values()) == 4 * [pytest.approx(2 * alone, rel=0.1)], saved
