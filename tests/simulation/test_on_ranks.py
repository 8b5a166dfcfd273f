"""`tessera.Simulation` on ranks that mpirun started: the same bits as without, and errors that all ranks share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.programs import LIBRARIES, ROOT, TESSERA, in_turns, mpirun, run_program
from tests.support.runs import Runs

pytest.importorskip("tessera._md_serial", reason="the Python modules are not built")

SETTINGS = {"interactions.cutoff": 9.0, "interactions.switch": 8.0, "dynamics.timestep": 2.0, "dynamics.steps": 40}


@pytest.fixture(scope="module")
def dhfr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dhfr") / "dhfr.tsr"
    example = ROOT / "examples/dhfr"
    run_program(
        [*TESSERA, "prepare", "charmm", "--psf", example / "5dhfr_cube.psf", "--coords",
         example / "5dhfr_cube.pdb", "--topology", example / "charmm22.rtf", "--params",
         example / "par_all22_prot.inp", example / "toppar_water_ions.str", "--box", "62.23", "62.23", "62.23",
         "-o", path],
    )  # fmt: skip
    return path


STEPS = """
import sys
from mpi4py import MPI
import numpy as np
import tessera
comm = MPI.COMM_WORLD
sim = tessera.Simulation(sys.argv[1], {
    "interactions": {"cutoff": 9.0, "switch": 8.0}, "dynamics": {"timestep": 2.0, "steps": 40}}, comm=comm)
seen = []
sim.add_hook(lambda s: seen.append(s.positions.sum()), every=10)
sim.step(15)
sim.run()
share = sim.own_share()
assert np.array_equal(share.forces, sim.forces[share.ids])
assert comm.allreduce(len(share.ids)) == sim.n_atoms and len(seen) == 4
found = sim.state_hash
if comm.rank == 0:
    print(found)
"""


@in_turns(1, 2, 3, 5)
def test_steps_are_those_of_the_engine(runs: Runs, dhfr: Path, mpi: str, ranks: int) -> None:
    found = run_program([*mpirun(mpi, ranks), sys.executable, "-c", STEPS, dhfr], env={"MPI4PY_LIBMPI": LIBRARIES[mpi]})
    assert found.stdout.strip() == runs.hash_of_one_rank(dhfr, SETTINGS)


FORCES = """
import sys
from mpi4py import MPI
import numpy as np
import tessera
comm = MPI.COMM_WORLD
sim = tessera.Simulation(sys.argv[1], {
    "interactions": {"cutoff": 9.0, "switch": 8.0}, "dynamics": {"timestep": 2.0, "steps": 40, "ensemble": "npt"}},
    comm=comm)
anchors = sim.positions
def springs(atoms):
    away = atoms.nearest_image(atoms.positions - anchors[atoms.ids])
    energy = 0.5 * 3.0 * (away**2).sum(axis=1)
    x, y, z = away.T
    return -3.0 * away, energy, -3.0 * np.stack([x * x, y * y, z * z, x * y, x * z, y * z], axis=1)
def push(atoms):
    apart = atoms.nearest_image(atoms.positions[1] - atoms.positions[0])
    return np.array([apart, -apart]), 0.5 * (apart @ apart)
if len(sys.argv) > 2:
    sim.add_force(springs, atoms=np.arange(sim.n_atoms))
else:
    sim.add_force(springs)
sim.add_force(push, atoms=[20, 1500])
sim.step(22)
sim.temperature, sim.pressure = 400.0, 500.0
sim.step(18)
found, energies = sim.state_hash, sim.energies
if comm.rank == 0:
    print(found, energies["external"].hex(), energies["pressure"].hex())
"""


@pytest.mark.parametrize("mpi", ["openmpi", pytest.param("mpich", marks=pytest.mark.slow(part="bits"))], indirect=True)
def test_external_forces_are_the_same_bits(dhfr: Path, mpi: str) -> None:
    """On any ranks, told of each rank's own atoms or of all, while the baths change."""

    def of(ranks: int, *listed: str) -> str:
        environment = {"MPI4PY_LIBMPI": LIBRARIES[mpi]}
        command = [*mpirun(mpi, ranks), sys.executable, "-c", FORCES, dhfr, *listed]
        return run_program(command, env=environment).stdout

    alone = of(1)
    assert of(3) == alone
    assert of(2, "listed") == alone


ERRORS = """
import sys
from mpi4py import MPI
import tessera
comm = MPI.COMM_WORLD
def said(function, *arguments, **more):
    try:
        function(*arguments, **more)
    except Exception as error:
        return type(error).__name__ + ": " + str(error)
settings = {"interactions": {"cutoff": 9.0, "switch": 8.0}}
found = [said(tessera.Simulation, sys.argv[1] if comm.rank == 0 else "no.tsr", settings, comm=comm),
         said(tessera.Simulation, sys.argv[1], {"dynamics": {"seed": comm.rank}}, comm=comm)]
sim = tessera.Simulation(sys.argv[1], settings, comm=comm)
def hook(s):
    if comm.rank == 1:
        raise ValueError("of one rank")
sim.add_hook(hook)
found.append(said(sim.step, 5))
there = sim.positions
found.append(said(setattr, sim, "positions", "there" if comm.rank == 1 else there))
sim = tessera.Simulation(sys.argv[1], {**settings, "dynamics": {"ensemble": "nvt"}}, comm=comm)
found.append(said(setattr, sim, "temperature", "hot" if comm.rank == 1 else 310))
found.append(said(setattr, sim, "temperature", 310 + comm.rank).replace("ranks 0", "the ranks 0"))
for rank, of_rank in enumerate(comm.gather(found) or []):
    print(rank, of_rank)
"""


def test_errors_of_one_rank_are_those_of_all(dhfr: Path, mpi: str) -> None:
    done = run_program([*mpirun(mpi, 2), sys.executable, "-c", ERRORS, dhfr], env={"MPI4PY_LIBMPI": LIBRARIES[mpi]})
    found = [line for line in done.stdout.splitlines() if line.strip()]  # launchers may put others between
    assert len(found) == 2
    for rank, line in enumerate(found):
        assert "InputError: no.tsr: there is no such file" in line
        assert "InputError: ranks 0 and 1 have different settings" in line
        assert ("'ValueError: of one rank'" if rank == 1 else "RunError: rank 1: ValueError: of one rank") in line
        assert "InputError: dynamics.temperature = 'hot', expected a number" in line
        assert "InputError: the ranks 0 and 1 have different settings" in line
        assert "InputError: positions have no numbers that can be read: could not convert string to float" in line
