"""Checkpoints survive kills, damage and full disks: a restart goes on from one that is whole, or says why it can't."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from tessera.build.water import make_water
from tessera.errors import InputError
from tessera.export.checkpoint import check_file, read_file, read_header
from tessera.system import write
from tessera.traj import Trajectory
from tessera.verify import verify
from tests.support.checkpoints import damaged, flip
from tests.support.programs import ENGINES, HANGS, TESSERA, job_under_way, ranks_of, run_program, signal_all, wait_until
from tests.support.runs import Runs, Settings
from tests.support.samples import sample

ENGINE = "tessera-md"
STEPS = 200
OFTEN: Settings = {
    "dynamics.steps": STEPS,
    "output.energy_every": 5,
    "output.trajectory_every": 5,
    "output.checkpoint_every": 2,
}


def verified(path: Path) -> tuple[int, dict[str, object]]:
    """Returns the exit status of `tessera verify --json`, and what it prints."""
    words = [*TESSERA, "verify", str(path), "--json"]
    done = run_program(words, check=False)
    assert done.returncode in (0, 1) and not done.stderr, done
    return done.returncode, json.loads(done.stdout)


# Kills.


def kill_and_go_on(runs: Runs, kind: str, seed: int) -> None:
    """Kills all ranks of a run at random moments; what is left is whole, and the run ends as if nothing had been."""
    random = np.random.default_rng(seed)
    mpi, ranks = ("openmpi", "mpich")[seed % 2], 4
    writers = (seed + seed // 12) % 4  # 0: as many as the run chooses
    path = runs.run_file(sample("peptide"), {**OFTEN, "output.trajectory": kind, "output.writers": writers})
    output = path.parent / "output"
    with job_under_way(mpi, ranks, ENGINE, path) as (process, mark):
        # A start takes about a second; most moments are between then and the end.
        wait_until(lambda: (output / "checkpoint.tck").exists() or process.poll() is not None)
        time.sleep(float(random.uniform(0, 1.0)))
        signal_all(ranks_of(mark, f"{ENGINE}-{mpi}"), signal.SIGKILL)
        process.communicate(timeout=HANGS)
    report = verify(output)
    bad = [file for file in report.files if file.kind == "checkpoint" and not file.ok]
    assert not bad and report.checkpoint_step is not None, report
    if report.checkpoint_step < STEPS or not (output / "report.json").exists():
        found = runs.start(path, "--restart", mpi=("mpich", "openmpi")[seed % 2], ranks=int(random.integers(1, 4)))
        assert found.report["first_step"] == report.checkpoint_step
        assert " since " not in found.process.stderr, found.process.stderr
    found_hash = json.loads((output / "report.json").read_text())["state_hash"]
    assert found_hash == runs.hash_of_one_rank(sample("peptide"), {**OFTEN, "output.trajectory": "none"})
    status, said = verified(output)
    assert status == 0 and said["ok"] and said["checkpoint_step"] == STEPS, said
    assert not list(output.glob(".tessera.*"))
    if kind != "h5md":
        check_frames(runs, output, kind)


def check_frames(runs: Runs, output: Path, kind: str) -> None:
    """No frame is missing, none is there twice, and each has the bits of a run that nobody killed."""
    settings: Settings = {**OFTEN, "output.trajectory": kind}
    if not (runs.work / kind).exists():
        runs.start(runs.run_file(sample("peptide"), settings, kind))
    if kind in ("dcd", "xtc", "history"):
        name = f"trajectory.{kind}"
        assert (output / name).read_bytes() == (runs.work / kind / "output" / name).read_bytes()
        return
    found, whole = Trajectory(output), Trajectory(runs.work / kind / "output")
    np.testing.assert_array_equal(found.steps, np.arange(0, STEPS + 1, 5))
    for ours, theirs in zip(found, whole, strict=True):
        np.testing.assert_array_equal(ours.positions, theirs.positions)
        assert (ours.step, ours.time) == (theirs.step, theirs.time)


@pytest.mark.mpi
@pytest.mark.parametrize(
    "seed",
    [pytest.param(n, marks=() if n in (1, 2, 10, 13) else pytest.mark.slow(part="faults")) for n in range(500)],
)
def test_kills_at_random_moments(runs: Runs, seed: int) -> None:
    kill_and_go_on(runs, ("segments", "dcd", "segments", "xtc", "segments", "h5md", "history")[seed // 2 % 7], seed)


# Damage.


@pytest.fixture(scope="module")
def small(runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run file of 125 waters of which a run ended at step 4, with checkpoints at steps 2 and 4."""
    path = tmp_path_factory.mktemp("small") / "water.tsr"
    write(make_water(375), path)
    settings: Settings = {
        "interactions.cutoff": 4.0,
        "interactions.switch": 3.5,
        "parallel.buffer": 0.5,
        "interactions.electrostatics": "cut",
        "output.checkpoint_every": 2,
        "output.energy_every": 1,
    }
    found = runs.run_file(path, {**settings, "dynamics.steps": 4}, "small")
    runs.start(found)
    return found


@pytest.fixture
def copy(small: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(small.parent, tmp_path / "copy")) / "run.toml"


def check_python(path: Path, content: bytes, seeds: range) -> None:
    """What Python accepts has the numbers that were written."""
    path.write_bytes(content)
    good = read_file(path)
    for seed in seeds:
        changed = damaged(content, seed)
        path.write_bytes(changed)
        if changed == content:
            continue
        with pytest.raises(InputError) as refusal:
            check_file(path)
        assert len(str(refusal.value).splitlines()) == 1, seed
        with pytest.raises(InputError):
            read_file(path)
    path.write_bytes(content)
    assert np.array_equal(read_file(path).fraction, good.fraction)


def test_python_refuses_what_is_damaged(copy: Path) -> None:
    path = copy.parent / "output" / "checkpoint.tck"
    check_python(path, path.read_bytes(), range(300))


@pytest.mark.slow(part="fuzz")
@pytest.mark.parametrize("part", range(10))
def test_python_refuses_what_is_damaged_many_times(copy: Path, part: int) -> None:
    path = copy.parent / "output" / "checkpoint.tck"
    check_python(path, path.read_bytes(), range(1000 + 1000 * part, 2000 + 1000 * part))


def check_engine(run_file: Path, seeds: range) -> None:
    """A restart takes the checkpoint before the damaged one and says so, and the result is that of an unharmed run."""
    output = run_file.parent / "output"
    kept = run_file.parent / "kept"
    shutil.copytree(output, kept)

    def restart() -> subprocess.CompletedProcess[str]:
        words = [ENGINES / "tessera-md-serial", run_file, "--restart", "--set", "dynamics.steps=6"]
        return run_program(words, check=False)

    def reset() -> None:
        shutil.rmtree(output)
        shutil.copytree(kept, output)

    assert restart().returncode == 0
    good = (output / "checkpoint.tck").read_bytes()
    for seed in seeds:
        reset()
        content = (output / "checkpoint.tck").read_bytes()
        changed = damaged(content, seed)
        (output / "checkpoint.tck").write_bytes(changed)
        done = restart()
        assert done.returncode == 0, (seed, done.stderr)
        is_noted = f"continuing from {output / 'checkpoint.previous.tck'} since" in done.stderr
        assert is_noted == (changed != content), (seed, done.stderr)
        assert (output / "checkpoint.tck").read_bytes() == good, seed
    reset()
    for name in ("checkpoint.tck", "checkpoint.previous.tck"):
        (output / name).write_bytes(damaged((output / name).read_bytes(), 1))
    done = restart()
    assert done.returncode == 2 and "no good checkpoint in" in done.stderr, done.stderr
    assert len([line for line in done.stderr.splitlines() if "error" in line]) == 1


def test_the_engine_refuses_what_is_damaged(copy: Path) -> None:
    check_engine(copy, range(40))


@pytest.mark.slow(part="fuzz")
@pytest.mark.parametrize("part", range(20))
def test_the_engine_refuses_what_is_damaged_many_times(copy: Path, part: int) -> None:
    check_engine(copy, range(1000 + 500 * part, 1500 + 500 * part))


@pytest.mark.parametrize(("mpi", "ranks"), [("openmpi", 3), ("mpich", 4)])
def test_damage_in_one_ranks_share(runs: Runs, mpi: str, ranks: int) -> None:
    """The share that is damaged is not the root's, and all ranks take the checkpoint before."""
    path = runs.run_file(sample("peptide"), {**OFTEN, "dynamics.steps": 4})
    output = runs.start(path, mpi=mpi, ranks=ranks).folder
    flip(output / "checkpoint.tck", -5000)
    status, said = verified(output)
    assert status == 1 and not said["ok"] and said["checkpoint_step"] == 2
    found = runs.start(path, "--restart", "--set", "dynamics.steps=8", mpi=mpi, ranks=ranks)
    assert "checkpoint.tck is damaged: its bytes" in found.process.stderr
    assert found.report["first_step"] == 2
    assert found.hash == runs.hash_of_one_rank(sample("peptide"), {"dynamics.steps": 8})


# The same bytes on any ranks.


@pytest.mark.mpi
def test_checkpoints_have_the_same_bytes_on_any_ranks(runs: Runs, tmp_path: Path) -> None:
    """There are three groups of atoms, so up to three ranks write."""
    system = tmp_path / "water.tsr"
    write(make_water(150_000), system)
    settings: Settings = {"dynamics.steps": 2, "output.trajectory": "none", "output.checkpoint_every": 1}
    contents, hashes = set(), set()
    for mpi, ranks, threads in (("serial", 1, 2), ("mpich", 5, 1)):
        path = runs.run_file(system, settings)
        found = runs.start(path, mpi=mpi, ranks=ranks, threads=threads)
        contents.add((found.folder / "checkpoint.tck").read_bytes())
        (found.folder / "checkpoint.previous.tck").replace(found.folder / "checkpoint.tck")
        again = {"serial": ("mpich", 4), "mpich": ("openmpi", 3)}[mpi]
        found = runs.start(path, "--restart", mpi=again[0], ranks=again[1])
        assert found.report["first_step"] == 1
        contents.add((found.folder / "checkpoint.tck").read_bytes())
        hashes.add(found.hash)
    assert len(contents) == len(hashes) == 1
    assert len(contents.pop()) > 3 * 786432


@pytest.mark.mpi
def test_fields_of_atoms_are_in_checkpoints(runs: Runs) -> None:
    """The references of a restraint go on with their atoms."""
    path = runs.run_file(sample("peptide"), {**OFTEN, "dynamics.steps": 4})
    path.write_text(path.read_text() + '[[restraint]]\nkind = "position"\nselect = "index 0:32"\nk = 2.0\n')
    output = path.parent / "output"
    contents = set()

    def run(steps: int, mpi: str, ranks: int, *more: str) -> bytes:
        run_program([*TESSERA, "run", path, "--mpi", mpi, "-n", str(ranks), "--set", f"dynamics.steps={steps}", *more])
        return (output / "checkpoint.tck").read_bytes()

    for mpi, ranks in (("openmpi", 3), ("mpich", 4)):
        run(4, mpi, ranks, "--set", "output.overwrite=true")
        contents.add(run(6, "mpich", 2, "--restart"))
    assert len(contents) == 1
    restarted = read_file(output / "checkpoint.tck")
    run(6, "auto", 1, "--set", "output.overwrite=true")
    assert np.array_equal(read_file(output / "checkpoint.tck").fraction, restarted.fraction)
    assert [entry["name"] for entry in read_header(output / "checkpoint.tck")["arrays"]][3] == "fields"


# No room.


def test_a_disk_without_room_for_checkpoints_is_refused(runs: Runs, tiny_disk: Path) -> None:
    settings: Settings = {**OFTEN, "output.folder": str(tiny_disk / "output"), "output.trajectory": "none"}
    filler = tiny_disk / "filler"
    filler.write_bytes(bytes(800_000))
    path = runs.run_file(sample("peptide"), settings)
    found = runs.start(path, check=False)
    assert found.process.returncode == 3, found.process.stderr
    assert "checkpoints of this run need 0.4 MB (two generations and the next, 0.1 MB each)" in found.process.stderr
    assert [entry.name for entry in (tiny_disk / "output").iterdir()] == []
    filler.unlink()
    runs.start(path, "--set", "dynamics.steps=4")


@pytest.mark.parametrize(("mpi", "ranks"), [("serial", 1), ("openmpi", 3)])
def test_a_disk_that_fills_up_costs_no_checkpoint(runs: Runs, tiny_disk: Path, mpi: str, ranks: int) -> None:
    """Frames fill the disk. The run says so, its checkpoints are whole, and it goes on once there is room."""
    output = tiny_disk / "output"
    settings: Settings = {
        **OFTEN, "dynamics.steps": 60, "output.folder": str(output), "output.trajectory_every": 1,
        "output.checkpoint_every": 1,
    }  # fmt: skip
    path = runs.run_file(sample("peptide"), settings)
    found = runs.start(path, mpi=mpi, ranks=ranks, check=False)
    assert found.process.returncode == 3 and "the disk is full" in found.process.stderr, found.process.stderr
    assert "and this run still writes about" in found.process.stderr
    report = verify(output)
    assert all(file.ok for file in report.files if file.kind == "checkpoint"), report
    assert report.checkpoint_step is not None and report.checkpoint_step > 5
    header = read_header(output / "checkpoint.tck")
    assert header["frames"]["trajectory"] == report.checkpoint_step + 1
    subprocess.run(["mount", "-o", "remount,size=8M", str(tiny_disk)], check=True)
    runs.start(path, "--restart", mpi=mpi, ranks=ranks)
    hash_found = json.loads((output / "report.json").read_text())["state_hash"]
    assert hash_found == runs.hash_of_one_rank(sample("peptide"), {"dynamics.steps": 60})
    assert verified(output)[0] == 0


@pytest.mark.mpi
def test_a_checkpoint_that_can_not_be_written(runs: Runs, tiny_disk: Path) -> None:
    """The room that was reserved was too small by a quota that others used up: the old checkpoints stay."""
    output = tiny_disk / "output"
    settings: Settings = {**OFTEN, "output.folder": str(output), "output.trajectory": "none"}
    path = runs.run_file(sample("peptide"), {**settings, "dynamics.steps": 1_000_000})
    with job_under_way("openmpi", 3, ENGINE, path) as (process, _):
        wait_until(lambda: (output / "checkpoint.previous.tck").exists(), process)
        filler = (tiny_disk / "filler").open("wb", buffering=0)

        def has_ended() -> bool:
            """Fills up what room there is meanwhile."""
            with contextlib.suppress(OSError):
                while process.poll() is None:
                    filler.write(bytes(4096))
            return process.poll() is not None

        wait_until(has_ended)
        out, err = process.communicate(timeout=HANGS)
    assert process.returncode != 0 and err.count("tessera-md: error") == 1, (out, err)
    assert "the disk is full" in err, err
    report = verify(output)
    assert report.checkpoint_step is not None and all(f.ok for f in report.files if f.kind == "checkpoint"), report
    filler.close()
    (tiny_disk / "filler").unlink()
    end = report.checkpoint_step + 4
    found = runs.start(path, "--restart", "--set", f"dynamics.steps={end}")
    assert found.process.returncode == 0
    hash_found = json.loads((output / "report.json").read_text())["state_hash"]
    assert hash_found == runs.hash_of_one_rank(sample("peptide"), {"dynamics.steps": end})
