"""Other programs' readers find the right frames, times and boxes in DCD, XTC and H5MD files, which `io_test` writes."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from tessera import launch
from tests.support.programs import run_program

N_ATOMS, N_FRAMES = 50, 40
ROUNDING = {"dcd": 0.0, "h5": 0.0, "xtc": 0.00501}  # Å
BOXES = {
    "triclinic": np.array([[30, 0, 0], [5, 28, 0], [3, -4, 25]], float),
    "cuboid": np.diag([30.0, 28.0, 25.0]),
}


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with triclinic.dcd, .xtc and .h5, the same of cuboid, and waters-*.dcd and .xtc."""
    for folder in launch.engine_folders():
        program = folder.parent / "test" / "io_test"
        if program.exists():
            break
    else:
        pytest.skip("io_test is not built; `make build` builds it")
    path = tmp_path_factory.mktemp("samples")
    run_program([program, "--gtest_filter=Samples.Trajectories"], env={"TESSERA_SAMPLES": str(path)})
    if not (path / "cuboid.xtc").exists():
        pytest.skip("io_test is older than these tests; `make build` builds it")
    return path


def positions(frame: int) -> np.ndarray:
    return (frame + 0.25 * np.arange(3 * N_ATOMS)).reshape(N_ATOMS, 3)


@pytest.mark.parametrize("kind", ["dcd", "xtc", "h5"])
@pytest.mark.parametrize("box", list(BOXES))
def test_mdanalysis_reads_them(samples: Path, box: str, kind: str) -> None:
    mda = pytest.importorskip("MDAnalysis")
    universe = mda.Universe.empty(N_ATOMS, trajectory=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe.load_new(str(samples / f"{box}.{kind}"), format={"dcd": "DCD", "xtc": "XTC", "h5": "H5MD"}[kind])
        assert len(universe.trajectory) == N_FRAMES
        for frame in (0, 1, N_FRAMES - 1):
            step = universe.trajectory[frame]
            assert step.time == pytest.approx(2 + 0.5 * frame, rel=1e-6)
            np.testing.assert_allclose(step.positions, positions(frame), rtol=1e-6, atol=ROUNDING[kind])
            np.testing.assert_allclose(step.triclinic_dimensions, BOXES[box], atol=1e-5)
        if kind == "h5":
            np.testing.assert_allclose(step.velocities, positions(0) - (N_FRAMES - 1), rtol=1e-6)


@pytest.mark.parametrize("kind", ["dcd", "xtc", "h5"])
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
        trajectory = mdtraj.load(str(samples / f"{box}.{kind}"), top=topology)
    assert trajectory.n_frames == N_FRAMES
    # mdtraj's unit is nm
    for frame in (0, 7, N_FRAMES - 1):
        np.testing.assert_allclose(trajectory.xyz[frame], positions(frame) / 10, rtol=1e-6, atol=ROUNDING[kind] / 10)
        np.testing.assert_allclose(trajectory.unitcell_vectors[frame], BOXES[box] / 10, atol=1e-6)


@pytest.mark.parametrize("extent", ["10", "60", "300000"])
@pytest.mark.parametrize("n_atoms", [1, 9, 10, 11, 1000])
def test_an_xtc_holds_a_dcd_rounded(samples: Path, n_atoms: int, extent: str) -> None:
    """Every way to pack positions: plain numbers, all three components in one number, or one by one."""
    mda = pytest.importorskip("MDAnalysis")
    frames = {}
    for kind in ("DCD", "XTC"):
        universe = mda.Universe.empty(n_atoms, trajectory=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            universe.load_new(str(samples / f"waters-{n_atoms}-{extent}.{kind.lower()}"), format=kind)
            frames[kind] = np.array([frame.positions.astype(float) for frame in universe.trajectory])
    assert frames["DCD"].shape == (5, n_atoms, 3)
    np.testing.assert_allclose(frames["XTC"], frames["DCD"], rtol=2e-7, atol=0.00501 if n_atoms > 9 else 1e-5)


def test_an_xtc_is_small(samples: Path) -> None:
    """Positions of 1,000 atoms take less than half of what a DCD takes."""
    sizes = {kind: (samples / f"waters-1000-60.{kind}").stat().st_size for kind in ("dcd", "xtc")}
    assert sizes["xtc"] < 0.5 * sizes["dcd"]
