"""Programs of mpi4py write trajectories in segments together, and errors of one rank are errors of all."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tessera.traj import Trajectory
from tessera.traj.check import check
from tests.support.programs import LIBRARIES, in_turns, mpirun, run_program

pytestmark = [pytest.mark.mpi]
ATOMS = 101

WRITE = """
import sys
from pathlib import Path
import numpy as np
from mpi4py import MPI
from tessera.io import SegmentWriter
comm = MPI.COMM_WORLD
cuts = np.sort(np.random.default_rng(comm.size).integers(0, 102, comm.size - 1))
own = np.arange(101)[([0, *cuts])[comm.rank]:([*cuts, 101])[comm.rank]]
encodings = [{"kind": "float32"}, {"kind": "lossless"}]
with SegmentWriter(Path(sys.argv[1]), len(own), ids=2 * own, system_atoms=300, every=5, comm=comm,
                   quantities=("positions", "velocities"), encodings=encodings) as writer:
    for step in range(0, 21, 5):
        x = np.arange(303.0).reshape(101, 3)[own] + step
        writer.append(step, 0.1 * step, np.eye(3), x, -x)
"""

ERRORS = """
import sys
from pathlib import Path
import numpy as np
from mpi4py import MPI
from tessera.errors import InputError
from tessera.io import SegmentWriter
comm = MPI.COMM_WORLD
said = []
writer = SegmentWriter(Path(sys.argv[1]), 3, comm=comm)
writer.append(0, 0, None, np.ones((3, 3)))
for wrong in (
    lambda: writer.append(1, 0, None, np.ones((3 + comm.rank // (comm.size - 1), 3))),
    lambda: SegmentWriter(Path(sys.argv[1]), 3, ids=np.arange(3) + comm.size - comm.rank, comm=comm),
    lambda: SegmentWriter(Path("/dev/null/no"), 3, comm=comm),
):
    try:
        wrong()
        said.append("nothing")
    except InputError as error:
        said.append(str(error))
writer.append(2, 0, None, np.ones((3, 3)))
writer.close()
all_said = comm.gather(said)
if comm.rank == 0:
    assert all(one == said for one in all_said), all_said
    print("\\n".join(said))
"""


def start(program: str, folder: Path, mpi: str, ranks: int) -> str:
    words = [*mpirun(mpi, ranks), sys.executable, "-c", program, folder]
    return run_program(words, env={"MPI4PY_LIBMPI": LIBRARIES[mpi]}).stdout


@in_turns(1, 2, 3, 5, also=(4, 6, 8))
def test_what_ranks_write(tmp_path: Path, mpi: str, ranks: int) -> None:
    folder = tmp_path / "out.segments"
    start(WRITE, folder, mpi, ranks)
    found = Trajectory(folder)
    assert found.ids.tolist() == list(range(0, 202, 2)) and found.steps.tolist() == [0, 5, 10, 15, 20]
    for frame in found:
        expected = np.arange(303.0, dtype=np.float32).reshape(ATOMS, 3) + frame.step
        assert np.array_equal(frame.positions, expected) and np.array_equal(frame.velocities, -expected)
        assert frame.time == pytest.approx(0.1 * frame.step)
    assert len(list(folder.glob("*.part-*"))) == ranks and check(folder, lambda _: None).ok


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_errors_are_those_of_all(tmp_path: Path, mpi: str) -> None:
    lines = start(ERRORS, tmp_path / "out.segments", mpi, 3).splitlines()
    assert "shape (4, 3), expected (3, 3)" in lines[0] and "ids must rise over the ranks" in lines[1], lines
    assert "/dev/null" in lines[2] and len(lines) == 3, lines
    assert Trajectory(tmp_path / "out.segments").steps.tolist() == [0, 2]
