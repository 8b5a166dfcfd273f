"""Runs that were stopped, killed or damaged continue with the same results as runs that were not."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from tessera.build.water import make_water
from tessera.system import read, write
from tessera.traj import Trajectory
from tests.support.programs import ENGINES, HANGS, job_under_way, ranks_of, signal_all
from tests.support.runs import PATIENT, Runs, Settings, read_table, wait_for
from tests.support.samples import last_state, sample

ENGINE = "tessera-md"
DATA = Path(__file__).parent.parent / "data"
STEPS = 400
ENDLESS = 1_000_000
LENGTH: Settings = {
    "dynamics.steps": STEPS,
    "output.energy_every": 10,
    "output.trajectory_every": 20,
    "output.checkpoint_every": 50,
}
FORMATS = {
    "segments": "trajectory.segments",
    "dcd": "trajectory.dcd",
    "h5md": "trajectory.h5md",
    "xtc": "trajectory.xtc",
}


def rows_but_drift(output: Path) -> list[str]:
    """Returns the rows without the last column, drift, which `test_drift_goes_on_after_a_restart` checks."""
    return [line.rsplit(",", 1)[0] for line in (output / "energy.csv").read_text().splitlines()]


def check_whole(found: Path, uninterrupted: Path, end: int = STEPS) -> None:
    """Checks that rows and frames of the two runs are the same: none is there twice, and none is missing."""
    assert rows_but_drift(found) == rows_but_drift(uninterrupted)
    steps = read_table(found / "energy.csv")["step"]
    np.testing.assert_array_equal(steps, np.arange(0, end + 1, 10))
    packed = [name for name in (FORMATS["dcd"], FORMATS["xtc"]) if (uninterrupted / name).exists()]
    for name in packed:
        assert (found / name).read_bytes() == (uninterrupted / name).read_bytes()
    if (uninterrupted / FORMATS["segments"]).exists():
        ours, theirs = (Trajectory(folder) for folder in (found, uninterrupted))
        np.testing.assert_array_equal(ours.steps, np.arange(0, end + 1, 20))
        np.testing.assert_array_equal(theirs.steps, ours.steps)
        for one, other in zip(ours, theirs):
            np.testing.assert_array_equal(one.positions, other.positions)
    elif not packed:
        np.testing.assert_array_equal(h5_arrays(found)["value"], h5_arrays(uninterrupted)["value"])
        np.testing.assert_array_equal(h5_arrays(found)["step"], np.arange(0, end + 1, 20))


def h5_arrays(output: Path) -> dict[str, np.ndarray]:
    with h5py.File(output / "trajectory.h5md") as file:
        group = file["particles/all/position"]
        steps = group["step"][...]
        return {"value": group["value"][...], "step": steps, "time": group["time"][...]}


@pytest.fixture(scope="module")
def uninterrupted(runs: Runs) -> dict[str, Path]:
    """Returns the output folders of runs on one rank, by trajectory format."""
    return {
        kind: runs.run(sample("peptide"), {**LENGTH, "output.trajectory": kind}).folder
        for kind in ("segments", "dcd", "h5md")
    }


def hash_of(output: Path) -> str:
    return str(json.loads((output / "report.json").read_text())["state_hash"])


def check_goes_on(runs: Runs, path: Path, settings: Settings, stopped: int, **sizes: Any) -> dict[str, Any]:
    """Checks that a run that was stopped near this step and is restarted ends as one that was never stopped. Returns
    its report.

    Runs that tests stop have more steps than any machine can finish before the signal. The step at which the restarted
    run ends follows from the step at which it was stopped.
    """
    end = 20 * (stopped // 20 + 5)
    found = runs.start(path, "--restart", "--set", f"dynamics.steps={end}", **sizes)
    whole = runs.run(sample("peptide"), {**settings, "dynamics.steps": end})
    assert found.hash == whole.hash
    check_whole(found.folder, whole.folder, end)
    return found.report


@pytest.mark.parametrize(
    ("kind", "mpi", "ranks", "to_launcher"),
    [
        ("h5md", "serial", 1, True),
        ("segments", "openmpi", 2, False),
        ("h5md", "openmpi", 3, True),
        ("h5md", "mpich", 5, False),
        ("segments", "mpich", 3, True),
    ],
)
def test_terminate(runs: Runs, kind: str, mpi: str, ranks: int, to_launcher: bool) -> None:
    """SIGTERM to one rank or to the launcher gives a checkpoint, status 143, and the same bits after --restart."""
    settings: Settings = {**LENGTH, "output.trajectory": kind, "output.checkpoint_every": 0}
    path = runs.run_file(sample("peptide"), {**settings, "dynamics.steps": ENDLESS})
    output = path.parent / "output"
    with job_under_way(mpi, ranks, ENGINE, path, env=PATIENT if to_launcher else None) as (process, mark):
        wait_for(process, output / "energy.csv", 5)
        os.kill(process.pid if to_launcher else ranks_of(mark, ENGINE)[-1], signal.SIGTERM)
        out, err = process.communicate(timeout=HANGS)
    # Open MPI's mpirun has a status of its own where it is told to end; test_stop.py tests the other cases.
    assert process.returncode == (1 if mpi == "openmpi" and to_launcher else 143), (out, err)
    assert "stopped by a signal at step" in out, (out, err)
    stopped = int(out.split("stopped by a signal at step")[1].split(";")[0])
    other = {"serial": ("mpich", 2), "openmpi": ("openmpi", 4), "mpich": ("serial", 1)}[mpi]
    report = check_goes_on(runs, path, settings, stopped, mpi=other[0], ranks=other[1])
    assert report["first_step"] == stopped


@pytest.mark.parametrize(
    ("kind", "mpi", "ranks"),
    [
        ("segments", "openmpi", 2),
        ("dcd", "mpich", 3),
        ("h5md", "openmpi", 5),
        ("xtc", "mpich", 2),
        *(pytest.param(kind, *one, marks=pytest.mark.slow(part="faults"))
          for kind in FORMATS for one in (("serial", 1), ("openmpi", 3), ("mpich", 4))),
    ],
)  # fmt: skip
def test_kill(runs: Runs, kind: str, mpi: str, ranks: int) -> None:
    """After SIGKILL to every rank at once, the run continues from the periodic checkpoint."""
    settings: Settings = {**LENGTH, "output.trajectory": kind}
    path = runs.run_file(sample("peptide"), {**settings, "dynamics.steps": ENDLESS})
    output = path.parent / "output"
    with job_under_way(mpi, ranks, ENGINE, path) as (process, mark):
        wait_for(process, output / "energy.csv", 13)
        signal_all(ranks_of(mark, ENGINE), signal.SIGKILL)
        process.communicate(timeout=HANGS)
    assert process.returncode != 0
    reached = int(read_table(output / "energy.csv")["step"][-1])
    report = check_goes_on(runs, path, settings, reached, mpi="mpich", ranks=2)
    assert 50 <= report["first_step"] <= reached + 10


@pytest.mark.parametrize("kind", ["dcd", "h5md"])
def test_a_trajectory_that_begins_at_a_restart(runs: Runs, uninterrupted: dict[str, Path], kind: str) -> None:
    path = runs.run_file(sample("peptide"), {**LENGTH, "dynamics.steps": STEPS // 2, "output.trajectory": "none"})
    runs.start(path)
    found = runs.start(path, "--restart", "--set", f"dynamics.steps={STEPS}", "--set", f"output.trajectory={kind}")
    assert found.hash == hash_of(uninterrupted[kind])
    steps = np.arange(STEPS // 2 + 20, STEPS + 1, 20)
    if kind == "dcd":
        frames, first, every = np.fromfile(found.folder / "trajectory.dcd", "<i4", 5)[2:]
        np.testing.assert_array_equal(first + every * np.arange(frames), steps)
    else:
        np.testing.assert_array_equal(h5_arrays(found.folder)["step"], steps)


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow(part="faults")) for seed in range(3, 100))]
)
def test_kill_at_any_moment(runs: Runs, uninterrupted: dict[str, Path], seed: int) -> None:
    """The run is killed repeatedly, each time after a random time, with a checkpoint at every second step."""
    kind = ("segments", "h5md", "dcd")[seed % 3]
    random = np.random.default_rng(seed)
    path = runs.run_file(sample("peptide"), {**LENGTH, "output.trajectory": kind, "output.checkpoint_every": 2})
    output = path.parent / "output"
    for _ in range(3):
        restart = ["--restart"] if any(output.glob("checkpoint*.tck")) else ["--set", "output.overwrite=true"]
        process = subprocess.Popen(
            [ENGINES / "tessera-md-serial", path, *restart],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            _, err = process.communicate(timeout=random.uniform(0.05, 1.5))
            assert process.returncode == 0 or "is done: its checkpoint" in err, err
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
    if process.returncode < 0:  # killed, perhaps after it had written its report
        restart = ["--restart"] if any(output.glob("checkpoint*.tck")) else ["--set", "output.overwrite=true"]
        found = runs.start(path, *restart, check=False).process
        assert found.returncode == 0 or "is done: its checkpoint" in found.stderr, found
    assert hash_of(output) == hash_of(uninterrupted[kind])
    check_whole(output, uninterrupted[kind])


def partial(runs: Runs, last: int = 150) -> Path:
    """Returns a run file of which a run ended at step `last`, with checkpoints at the last two multiples of 50."""
    path = runs.run_file(sample("peptide"), LENGTH)
    runs.start(path, "--set", f"dynamics.steps={last}")
    return path


@pytest.mark.parametrize("damage", ["flipped", "truncated", "empty", "header"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(
    runs: Runs, uninterrupted: dict[str, Path], damage: str
) -> None:
    path = partial(runs)
    newest = path.parent / "output" / "checkpoint.tck"
    content = bytearray(newest.read_bytes())
    if damage == "flipped":
        content[len(content) // 2] ^= 1
    newest.write_bytes(
        {
            "flipped": bytes(content),
            "truncated": bytes(content[:-1000]),
            "empty": b"",
            "header": b"x" + bytes(content[1:]),
        }[damage]
    )
    found = runs.start(path, "--restart")
    assert "checkpoint.previous.tck" in found.process.stderr
    assert found.report["first_step"] == 100
    assert found.hash == hash_of(uninterrupted["segments"])
    check_whole(found.folder, uninterrupted["segments"])


def test_drift_goes_on_after_a_restart(runs: Runs, uninterrupted: dict[str, Path]) -> None:
    found = runs.start(partial(runs), "--restart")
    assert (found.folder / "energy.csv").read_text() == (uninterrupted["dcd"] / "energy.csv").read_text()


@pytest.mark.mpi
def test_a_tuned_run_goes_on_with_its_choice(runs: Runs) -> None:
    """Trials choose the split of Ewald's sum; after a restart the checkpoint's choice decides the bits."""
    length: Settings = {"dynamics.steps": 10}
    path = runs.run_file(sample("peptide"), length)
    begun = runs.start(path, "--tune", mpi="mpich", ranks=2)
    splits = begun.report["results"]["split_trials"]
    assert len(splits) > 1
    split = {key: begun.report["results"][key] for key in ("pme_cutoff", "pme_grid")}
    best = min(splits, key=lambda one: one["ms_per_step"])
    assert split == {key: best[key] for key in split}
    assert f"pme.cutoff = {str(split['pme_cutoff']).removesuffix('.0')} Å" in begun.process.stderr
    found = runs.start(path, "--restart", "--set", "dynamics.steps=20", threads=2)
    assert {key: found.report["results"][key] for key in split} == split
    settings: Settings = {
        "dynamics.steps": 20,
        "pme.cutoff": split["pme_cutoff"],
        "pme.grid": split["pme_grid"],
    }
    alone = runs.run(sample("peptide"), settings)
    assert found.hash == alone.hash


# Hashes after eight steps, as the version that wrote the checkpoints at step four reached them.
OF_NAMED_SCHEMES = {
    "mixed": "a46878f605f15da5b68e7c52b4d3c01f9fc8e27790c86b5e19110e0babddf923",
    "double": "60180c3f619f9c7fae512f4bb2e2dd2f1ae580f7a22285bc3a933cdc69ee1590",
}


@pytest.mark.parametrize("precision", OF_NAMED_SCHEMES)
def test_a_checkpoint_that_names_the_pair_scheme_goes_on(runs: Runs, tmp_path: Path, precision: str) -> None:
    system = tmp_path / "water.tsr"
    write(make_water(400), system)
    settings: Settings = {
        "interactions.cutoff": 4.0,
        "interactions.switch": 3.0,
        "dynamics.timestep": 1.0,
        "dynamics.steps": 8,
        "output.energy_every": 2,
        "output.trajectory": "none",
        "parallel.precision": precision,
    }
    path = runs.run_file(system, settings)
    shutil.copytree(DATA / "named_pair_schemes" / precision, path.parent / "output")
    found = runs.start(path, "--restart", "--set", "interactions.pair_function=analytic")
    assert "note: --set interactions.pair_function=analytic: interactions.pair_function = analytic is ignored" in (
        found.process.stderr
    )
    assert found.report["first_step"] == 4
    assert found.hash == OF_NAMED_SCHEMES[precision]


@pytest.mark.mpi
def test_a_restart_keeps_the_split(runs: Runs) -> None:
    """The split between pairs and mesh stays. A run file that names another one is refused."""
    path = runs.run_file(sample("peptide"), {"dynamics.steps": 5})
    split = ("--set", "pme.cutoff=10.5", "--set", "pme.grid=[26, 26, 26]")
    runs.start(path, *split)
    further = ("--restart", "--set", "dynamics.steps=8")
    refused = runs.start(path, *further, "--set", "pme.cutoff=9.5", status=2)
    assert "pme.cutoff was 10.5, is 9.5" in refused.process.stderr
    refused = runs.start(path, *further, "--set", "interactions.lj=potential-switch", check=False)
    assert 'interactions.lj was "force-switch", is "potential-switch"' in refused.process.stderr
    found = runs.start(path, *further, mpi="openmpi", ranks=2)
    assert found.report["results"]["pme_cutoff"] == 10.5
    alone = runs.run(sample("peptide"), {"dynamics.steps": 8, "pme.cutoff": 10.5, "pme.grid": [26, 26, 26]})
    assert found.hash == alone.hash


def test_tune_leaves_a_split_that_is_set(runs: Runs) -> None:
    found = runs.run_file(sample("peptide"), {"dynamics.steps": 2, "pme.grid": [32, 32, 32]})
    done = runs.start(found, "--tune")
    results = done.report["results"]
    assert "split_trials" not in results and results["pme_grid"] == [32, 32, 32]
    assert "--tune has nothing to choose" in done.process.stderr


def test_tune_contradicted(runs: Runs) -> None:
    found = runs.start(runs.run_file(sample("peptide"), {}), "--tune", "--restart", status=2)
    assert "--tune" in found.process.stderr and "--restart" in found.process.stderr


@pytest.mark.mpi
def test_no_good_checkpoint(runs: Runs) -> None:
    path = partial(runs)
    for name in ("checkpoint.tck", "checkpoint.previous.tck"):
        file = path.parent / "output" / name
        file.write_bytes(file.read_bytes()[:-1])
    found = runs.start(path, "--restart", mpi="mpich", ranks=3, status=2)
    assert "no good checkpoint" in found.process.stderr
    assert found.process.stderr.count("tessera-md: error") == 1


# What other programs read.


@pytest.mark.parametrize("wrap", [True, False])
@pytest.mark.parametrize("kind", list(FORMATS))
def test_other_readers(runs: Runs, kind: str, wrap: bool) -> None:
    """MDAnalysis and mdtraj read the right boxes, times and positions."""
    mda = pytest.importorskip("MDAnalysis")
    mdtraj = pytest.importorskip("mdtraj")
    settings: Settings = {
        "dynamics.steps": 20,
        "dynamics.timestep": 1.0,
        "output.trajectory_every": 5,
        "output.trajectory": kind,
        "output.wrap": wrap,
    }
    found = runs.run(sample("peptide"), settings)
    system = read(sample("peptide"))
    edges = np.diag(system.box)
    last = (last_state(found.folder)[0] * 2.0**-32) @ system.box
    path = str(found.folder / FORMATS[kind])
    import tessera.traj  # noqa: F401  MDAnalysis then knows segments

    universe = mda.Universe.empty(system.n_atoms, trajectory=False)
    frames = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe.load_new(path, format=kind.upper())
        assert len(universe.trajectory) == 5
        for index, frame in enumerate(universe.trajectory):
            assert frame.time == pytest.approx(0.005 * index, abs=1e-6)
            np.testing.assert_allclose(frame.dimensions, [*edges, 90, 90, 90], rtol=1e-6)
            frames.append(frame.positions.astype(float))
    for frame, expected in ((frames[0], system.positions()), (frames[-1], last)):
        difference = frame - expected
        np.testing.assert_allclose(
            difference - edges * np.rint(difference / edges), 0, atol=0.00501 if kind == "xtc" else 1e-5
        )
    if not wrap:
        assert (np.abs(frames[-1]) <= 0.5 * edges + (0.00501 if kind == "xtc" else 1e-4)).all()
    if wrap:  # waters are in one piece
        waters = frames[-1][33:].reshape(-1, 3, 3)
        assert np.linalg.norm(waters[:, 1:] - waters[:, :1], axis=2).max() < 1.0
    if kind == "dcd":
        with mdtraj.formats.DCDTrajectoryFile(path) as file:
            positions, lengths, angles = file.read()
        np.testing.assert_allclose(lengths, [edges] * 5, rtol=1e-6)
        np.testing.assert_allclose(angles, 90)
    elif kind == "xtc":
        with mdtraj.formats.XTCTrajectoryFile(path) as file:
            positions, times, steps, boxes = file.read()
        np.testing.assert_array_equal(steps, 5 * np.arange(5))
        np.testing.assert_allclose(10 * boxes, [np.diag(edges)] * 5, rtol=1e-6)
        np.testing.assert_allclose(times, 0.005 * np.arange(5), atol=1e-6)
        np.testing.assert_allclose(10 * positions, frames, atol=1e-4)
        return
    elif kind == "segments":
        positions = np.array([frame.positions for frame in Trajectory(found.folder)])
    else:
        positions = h5_arrays(found.folder)["value"]
    np.testing.assert_array_equal(positions.astype(float), frames)


def test_velocities(runs: Runs) -> None:
    """H5MD frames hold velocities where the run file asks for them, also after a restart; MDAnalysis reads them."""
    mda = pytest.importorskip("MDAnalysis")
    settings: Settings = {
        "dynamics.steps": 10,
        "output.trajectory_every": 5,
        "output.trajectory": "h5md",
        "output.velocities": True,
    }
    path = runs.run_file(sample("peptide"), settings)
    found = runs.start(path)
    expected = [read(sample("peptide")).velocity, last_state(found.folder)[1]]
    runs.start(path, "--restart", "--set", "dynamics.steps=15")
    expected.append(last_state(found.folder)[1])
    universe = mda.Universe.empty(len(expected[1]), trajectory=False, velocities=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe.load_new(str(found.folder / FORMATS["h5md"]), format="H5MD")
        velocities = [frame.velocities.copy() for frame in universe.trajectory]
    assert len(velocities) == 4
    np.testing.assert_allclose(velocities[0], expected[0], atol=2e-3)  # velocities along constrained bonds differ
    np.testing.assert_allclose(velocities[2], expected[1], atol=1e-5)
    np.testing.assert_allclose(velocities[3], expected[2], atol=1e-5)
    refused = runs.start(path, "--restart", "--set", "dynamics.steps=20", "--set", "output.velocities=false", status=2)
    assert "without velocities" in refused.process.stderr


def test_both_formats_hold_the_same_frames(uninterrupted: dict[str, Path]) -> None:
    mdtraj = pytest.importorskip("mdtraj")
    with mdtraj.formats.DCDTrajectoryFile(str(uninterrupted["dcd"] / "trajectory.dcd")) as file:
        positions = file.read()[0]
    found = h5_arrays(uninterrupted["h5md"])
    np.testing.assert_array_equal(positions, found["value"])
    np.testing.assert_allclose(found["time"], 0.002 * found["step"], rtol=1e-12)


@pytest.mark.parametrize(("mpi", "ranks"), [("serial", 1), ("openmpi", 2)])
def test_a_run_that_was_killed_before_its_report_gets_one(runs: Runs, mpi: str, ranks: int) -> None:
    path = runs.run_file(sample("peptide"), {**LENGTH, "dynamics.steps": 20, "output.trajectory": "dcd"})
    whole = runs.start(path)
    expected, rows = whole.hash, rows_but_drift(whole.folder)
    (whole.folder / "report.json").unlink()
    again = runs.start(path, "--restart", mpi=mpi, ranks=ranks)
    assert again.hash == expected
    assert rows_but_drift(again.folder) == rows
    assert (again.report["first_step"], again.report["last_step"]) == (20, 20)
    refused = runs.start(path, "--restart", status=2).process
    assert "is done: its checkpoint is at step 20" in refused.stderr
