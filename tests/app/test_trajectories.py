"""Other programs' readers find the right frames, times and boxes in DCD and H5MD files, which `io_test` writes."""

from __future__ import annotations

import os
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

from tessera import launch

N_ATOMS, N_FRAMES = 50, 40
BOXES = {
    "triclinic": np.array([[30, 0, 0], [5, 28, 0], [3, -4, 25]], float),
    "cuboid": np.diag([30.0, 28.0, 25.0]),
}


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with triclinic.dcd, triclinic.h5, cuboid.dcd and cuboid.h5."""
    for folder in launch.engine_folders():
        program = folder.parent / "test" / "io_test"
        if program.exists():
            break
    else:
        pytest.skip("io_test is not built; `make build` builds it")
    path = tmp_path_factory.mktemp("samples")
    command = [str(program), "--gtest_filter=Samples.Trajectories"]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "TESSERA_SAMPLES": str(path)})
    if not (path / "cuboid.h5").exists():
        pytest.skip("io_test is older than these tests; `make build` builds it")
    return path


def positions(frame: int) -> np.ndarray:
    return (frame + 0.25 * np.arange(3 * N_ATOMS)).reshape(N_ATOMS, 3)


@pytest.mark.parametrize("kind", ["dcd", "h5"])
@pytest.mark.parametrize("box", list(BOXES))
def test_mdanalysis_reads_them(samples: Path, box: str, kind: str) -> None:
    mda = pytest.importorskip("MDAnalysis")
    universe = mda.Universe.empty(N_ATOMS, trajectory=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe.load_new(str(samples / f"{box}.{kind}"), format={"dcd": "DCD", "h5": "H5MD"}[kind])
        assert len(universe.trajectory) == N_FRAMES
        for frame in (0, 1, N_FRAMES - 1):
            step = universe.trajectory[frame]
            assert step.time == pytest.approx(2 + 0.5 * frame, rel=1e-6)
            np.testing.assert_allclose(step.positions, positions(frame), rtol=1e-6)
            np.testing.assert_allclose(step.triclinic_dimensions, BOXES[box], atol=1e-5)
        if kind == "h5":
            np.testing.assert_allclose(step.velocities, positions(0) - (N_FRAMES - 1), rtol=1e-6)


@pytest.mark.parametrize("kind", ["dcd", "h5"])
@pytest.mark.parametrize("box", list(BOXES))
def test_mdtraj_reads_them(samples: Path, box: str, kind: str) -> None:
    mdtraj = pytest.importorskip("mdtraj")
    if kind == "h5":
        pytest.importorskip("tables", reason="mdtraj reads HDF5 with PyTables; `make setup` installs it")
        trajectory = mdtraj.load_hdf5(str(samples / f"{box}.h5"))
        np.testing.assert_allclose(trajectory.time, 2 + 0.5 * np.arange(N_FRAMES))  # ps
        assert trajectory.n_atoms == N_ATOMS
    else:
        topology = mdtraj.Topology()
        residue = topology.add_residue("X", topology.add_chain())
        for _ in range(N_ATOMS):
            topology.add_atom("C", mdtraj.element.carbon, residue)
        trajectory = mdtraj.load_dcd(str(samples / f"{box}.dcd"), top=topology)
    assert trajectory.n_frames == N_FRAMES
    # mdtraj's unit is nm
    for frame in (0, 7, N_FRAMES - 1):
        np.testing.assert_allclose(trajectory.xyz[frame], positions(frame) / 10, rtol=1e-6)
        np.testing.assert_allclose(trajectory.unitcell_vectors[frame], BOXES[box] / 10, atol=1e-6)
