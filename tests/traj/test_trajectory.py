"""Frames of one run are the same whoever writes them: formats, ranks, writers, selections, encodings."""

from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera.export.structure import structure_of
from tessera.system import read
from tessera.traj import History, Trajectory
from tessera.traj.convert import convert
from tessera.verify import verify
from tests.support.runs import Runs, Settings
from tests.support.samples import sample

MDAnalysis = pytest.importorskip("MDAnalysis")

LENGTH: Settings = {"dynamics.steps": 30, "output.trajectory_every": 10, "output.energy_every": 0}
SELECTIONS = """
[[output.selection]]
name = "often"
select = "index 0:31"
every = 2
velocities = true

[[output.selection]]
name = "oxygens"
select = "index 40 43 46 49 52 100:130"
every = 10
compression = "lossless"

[[output.selection]]
name = "coarse"
select = "all"
every = 10
compression = "rounded"
precision = 0.02

[[output.selection]]
name = "moved"
select = "all"
every = 1
moved = 0.06
"""


def run_file(runs: Runs, more: Settings, text: str = "", system: str = "peptide") -> Path:
    path = runs.run_file(sample(system), {**LENGTH, **more})
    path.write_text(path.read_text() + text)
    return path


@pytest.fixture(scope="module")
def dcd(runs: Runs) -> Path:
    """A DCD that one rank wrote."""
    return runs.start(run_file(runs, {"output.trajectory": "dcd"})).folder / "trajectory.dcd"


@pytest.fixture(scope="module")
def reference(dcd: Path) -> list[Any]:
    """Frames (n,3) Å of a DCD."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frames = MDAnalysis.coordinates.DCD.DCDReader(str(dcd))
    return [frame.positions.copy() for frame in frames]


def in_two_legs(runs: Runs, kind: str, writers: int, **sizes: Any) -> Path:
    """Returns the trajectory of a run that was started again."""
    settings: Settings = {"output.trajectory": kind, "output.writers": writers, "output.checkpoint_every": 10}
    path = run_file(runs, {**settings, "dynamics.steps": 20, "output.velocities": kind in ("h5md", "history")})
    runs.start(path, **sizes)
    found = runs.start(path, "--restart", "--set", "dynamics.steps=30", **sizes)
    return found.folder / f"trajectory.{kind}"


SLOW = pytest.mark.slow(part="bits")
OTHER_SIZES = [("openmpi", 4, 3), ("mpich", 6, 5), ("openmpi", 8, 8)]


@pytest.fixture(scope="module")
def files(runs: Runs) -> dict[str, Path]:
    """Trajectories in one file that one rank wrote, by format."""
    return {kind: in_two_legs(runs, kind, 0) for kind in ("dcd", "xtc", "h5md", "history")}


@pytest.mark.parametrize(
    ("kind", "mpi", "ranks", "writers"),
    [
        ("dcd", "openmpi", 2, 2),
        ("dcd", "mpich", 3, 2),
        ("xtc", "openmpi", 5, 3),
        ("xtc", "mpich", 2, 2),
        ("h5md", "openmpi", 3, 3),
        ("h5md", "mpich", 7, 5),
        ("history", "openmpi", 2, 2),
        ("history", "mpich", 5, 3),
        *(pytest.param(kind, *one, marks=SLOW) for kind in ("dcd", "xtc", "h5md", "history") for one in OTHER_SIZES),
    ],
)
def test_several_ranks_write_a_file(
    runs: Runs, files: dict[str, Path], kind: str, mpi: str, ranks: int, writers: int
) -> None:
    """It has the bytes that one rank writes, but for the time of day among an H5MD's first ones."""
    found = in_two_legs(runs, kind, writers, mpi=mpi, ranks=ranks, threads=2 if ranks == 3 else 1)
    first = 108 if kind == "h5md" else 0
    assert found.read_bytes()[first:] == files[kind].read_bytes()[first:]


@pytest.mark.parametrize(
    ("kind", "mpi"), [("dcd", "openmpi"), ("xtc", "mpich"), ("h5md", "openmpi"), ("history", "mpich")]
)
def test_a_file_that_is_gone_begins_anew(runs: Runs, kind: str, mpi: str) -> None:
    def after_the_loss(writers: int, **sizes: Any) -> bytes:
        settings: Settings = {"output.trajectory": kind, "output.writers": writers, "output.checkpoint_every": 10}
        path = run_file(runs, {**settings, "dynamics.steps": 20})
        file = runs.start(path, **sizes).folder / f"trajectory.{kind}"
        file.unlink()
        again = runs.start(path, "--restart", "--set", "dynamics.steps=40", **sizes)
        assert "is gone and begins anew after step 20" in again.process.stderr
        return file.read_bytes()[108 if kind == "h5md" else 0 :]

    assert after_the_loss(2, mpi=mpi, ranks=3) == after_the_loss(0)


def test_a_dcd_is_the_same_after_a_restart(files: dict[str, Path], dcd: Path) -> None:
    assert files["dcd"].read_bytes() == dcd.read_bytes()


def test_an_xtc_of_segments_is_the_engines(runs: Runs, files: dict[str, Path], tmp_path: Path) -> None:
    convert(Trajectory(runs.start(run_file(runs, {})).folder), tmp_path / "a.xtc")
    assert (tmp_path / "a.xtc").read_bytes() == files["xtc"].read_bytes()


@pytest.mark.mpi
@pytest.mark.parametrize("method", ["sdaw", "mpiw-independent", "mpiw-collective"])
def test_methods_write_the_same_history(runs: Runs, method: str) -> None:
    """Also from rows that several ranks make, and in batches."""
    settings: Settings = {"output.trajectory": "history", "output.velocities": True}
    files = [
        runs.start(run_file(runs, {**settings, **more}), mpi="openmpi", ranks=3).folder / "trajectory.history"
        for more in ({"output.writers": 1}, {"output.method": method, "output.batch": 7})
    ]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_history_holds_what_segments_hold(runs: Runs, files: dict[str, Path], tmp_path: Path) -> None:
    """Numbers of ten digits give those of single precision exactly; atoms have names, masses and charges."""
    segments = Trajectory(runs.start(run_file(runs, {"output.velocities": True})).folder)
    history = History(files["history"])
    assert history.steps.tolist() == segments.steps.tolist() and history.timestep == pytest.approx(segments.timestep)
    for ours, theirs in zip(history, segments, strict=True):
        np.testing.assert_array_equal(ours.positions, theirs.positions)
        np.testing.assert_array_equal(ours.velocities, theirs.velocities)
        np.testing.assert_allclose(ours.box, theirs.box, rtol=0, atol=6e-11)
        assert ours.time == pytest.approx(theirs.time, abs=5e-7)
    # It is what conversion makes of segments, but for the title.
    convert(segments, tmp_path / "HISTORY", structure=structure_of(read(sample("peptide")), ""))
    assert (tmp_path / "HISTORY").read_bytes()[73:] == files["history"].read_bytes()[73:]
    named, known = history.structure(""), structure_of(read(sample("peptide")), "")
    assert named.name.tolist() == known.name.tolist()
    np.testing.assert_allclose(named.mass, known.mass, atol=5e-7)
    np.testing.assert_allclose(named.charge, known.charge, atol=5e-7)


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("select", "more"),
    [
        ("", {"output.method": "mpiw-collective", "output.batch": 7}),
        ("index 3:9 20:31 100:130", {"output.writers": 2, "output.forces": True}),
    ],
    ids=["all", "some"],
)
def test_a_history_as_ranks_own_atoms(runs: Runs, select: str, more: Settings) -> None:
    """Readers put atoms back by their numbers, also where the run went on with other ranks."""
    usual: Settings = {"output.trajectory": "history", "output.wrap": False, "output.velocities": True}
    forces = {name: value for name, value in more.items() if name == "output.forces"}
    alone = runs.start(run_file(runs, {**usual, **forces, "output.select": select}))
    plain = History(alone.folder / "trajectory.history")
    path = run_file(runs, {**usual, **more, "output.select": select, "output.order": "owned", "dynamics.steps": 20})
    runs.start(path, mpi="openmpi", ranks=3)
    folder = runs.start(path, "--restart", "--set", "dynamics.steps=30", mpi="mpich", ranks=2).folder
    owned = History(folder / "trajectory.history")
    rows = (folder / "trajectory.history").read_text().splitlines()
    numbers = [int(row[8:18]) for row in rows[6 :: 4 if forces else 3][: owned.n_atoms]]
    assert numbers != sorted(numbers) and sorted(numbers) == list(range(1, owned.n_atoms + 1))
    assert owned.steps.tolist() == plain.steps.tolist() == [0, 10, 20, 30] and verify(folder).ok
    for ours, theirs in zip(owned, plain, strict=True):
        for name in owned.quantities:
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert owned.structure("").name.tolist() == plain.structure("").name.tolist()


@pytest.mark.mpi
@pytest.mark.parametrize("kind", ["dcd", "xtc", "h5md", "history"])
def test_several_ranks_write_some_atoms_into_a_file(runs: Runs, kind: str) -> None:
    settings: Settings = {"output.trajectory": kind, "output.select": "index 3:9 20:31 100:130"}
    files = [runs.start(run_file(runs, {**settings, "output.writers": n}), mpi="mpich", ranks=3).folder for n in (3, 1)]
    ours, theirs = ((folder / f"trajectory.{kind}").read_bytes() for folder in files)
    first = 108 if kind == "h5md" else 0
    assert ours[first:] == theirs[first:]


@pytest.mark.parametrize(
    ("mpi", "ranks", "writers"),
    [
        ("serial", 1, 3),
        ("openmpi", 2, 1),
        ("mpich", 3, 3),
        ("openmpi", 5, 3),
        *(pytest.param(mpi, ranks, n, marks=SLOW) for mpi, ranks, _ in OTHER_SIZES for n in (1, 3)),
    ],
)  # fmt: skip
def test_ranks_and_writers(runs: Runs, reference: list[Any], mpi: str, ranks: int, writers: int) -> None:
    threads = 2 if ranks == 3 else 1
    path = run_file(runs, {"output.writers": writers}, SELECTIONS)
    output = runs.start(path, mpi=mpi, ranks=ranks, threads=threads).folder
    whole = Trajectory(output)
    assert whole.steps.tolist() == [0, 10, 20, 30]
    for frame, positions in zip(whole, reference, strict=True):
        np.testing.assert_array_equal(frame.positions, positions)
    parts = list((output / "trajectory.segments").glob("*.part-*"))
    assert len(parts) == min(writers, ranks)

    often = Trajectory(output / "often.segments")
    assert often.steps.tolist() == list(range(0, 31, 2)) and often.ids.tolist() == list(range(32))
    oxygens = Trajectory(output / "oxygens.segments")
    coarse = Trajectory(output / "coarse.segments")
    moved = Trajectory(output / "moved.segments")
    assert len(moved) == 31
    for index, positions in enumerate(reference):
        np.testing.assert_array_equal(often[5 * index].positions, positions[:32])
        np.testing.assert_array_equal(oxygens[index].positions, positions[oxygens.ids])
        assert np.abs(coarse[index].positions - positions).max() <= 0.0100001 + 4e-6
        far = np.linalg.norm(moved[10 * index].positions - positions, axis=1)
        assert far.max() <= 0.06001 and (index == 0) == (far.max() == 0)
    bytes_of_all = 31 * 12 * len(reference[0])
    assert sum(path.stat().st_size for path in (output / "moved.segments").glob("*.part-*")) < 0.9 * bytes_of_all


def test_velocities_and_forces(runs: Runs) -> None:
    pytest.importorskip("tessera._md_serial", reason="the Python modules are not built")
    import tessera

    found = Trajectory(runs.start(run_file(runs, {"output.velocities": True, "output.forces": True})).folder)
    simulation = tessera.Simulation(sample("peptide"), {"interactions": {"cutoff": 9.0, "switch": 8.0}})
    for frame in found:
        if frame.step > simulation.step_number:
            simulation.step(frame.step - simulation.step_number)
        np.testing.assert_array_equal(frame.velocities, simulation.velocities.astype(np.float32))
        np.testing.assert_allclose(frame.forces, simulation.forces, rtol=1e-6, atol=1e-5)


def test_a_restart_counts_the_frames_of_each_trajectory(runs: Runs) -> None:
    path = run_file(runs, {"dynamics.steps": 20, "output.checkpoint_every": 10}, SELECTIONS)
    output = runs.start(path).folder
    assert verify(output).ok

    # A selection loses frames: its last, cut from the part that holds it.
    part = max((output / "often.segments").glob("*.part-*"))
    os.truncate(part, part.stat().st_size - 10)
    (problem,) = (file.problem for file in verify(output).files if not file.ok)
    assert "the first of step 20" in problem
    again = runs.start(path, "--restart", "--set", "dynamics.steps=30")
    assert "often.segments holds 10 whole frames up to step 20, the checkpoint counts 11" in again.process.stderr
    assert again.process.stderr.count("the checkpoint counts") == 1

    # One that is gone begins anew, and one that the checkpoint does not know begins.
    shutil.rmtree(output / "oxygens.segments")
    path.write_text(path.read_text() + '[[output.selection]]\nname = "new"\nselect = "index 0"\nevery = 5\n')
    again = runs.start(path, "--restart", "--set", "dynamics.steps=40")
    assert "oxygens.segments is gone and begins anew after step 30" in again.process.stderr
    assert Trajectory(output / "oxygens.segments").steps.tolist() == [40]
    assert Trajectory(output / "new.segments").steps.tolist() == [35, 40]
