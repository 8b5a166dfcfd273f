"""Tests the engine's command line where paths are bad or standard output is full, and the plans that it explains."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.md.predictions import MOST
from tessera.system import read, write
from tessera.system.blocks import to_fraction
from tessera.system.vacuum import with_positions
from tests.support.programs import ENGINES, HANGS, TESSERA, run_program
from tests.support.samples import sample

ENGINE = ENGINES / "tessera-md-serial"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with a box of water, a run file of a few steps, and paths that can be neither read nor
    written."""
    folder = tmp_path_factory.mktemp("engine")
    make = [*TESSERA, "make", "water", "--atoms", "3000", "-o", folder / "water.tsr"]
    run_program(make)
    (folder / "run.toml").write_text(
        '[input]\nsystem = "water.tsr"\n[interactions]\ncutoff = 9.0\nswitch = 8.0\n[dynamics]\nsteps = 5\n'
    )
    os.mkfifo(folder / "pipe")
    (folder / "one").symlink_to("two")
    (folder / "two").symlink_to("one")
    return folder


@pytest.mark.parametrize("path", ["one", "one/x", "pipe", "run.toml/x", "a" * 300, "a" * 300 + "/x"])
@pytest.mark.parametrize(
    "words",
    [
        ["{}"],
        ["--energy", "{}"],
        ["run.toml", "--set", "output.folder={}"],
        ["run.toml", "--restart", "--set", "output.folder={}"],
        ["run.toml", "--set", "input.system={}"],
        ["run.toml", "--set", "parallel.machine={}"],
    ],
    ids=["run file", "energy", "output", "restart", "system", "map"],
)
def test_paths_that_nothing_can_be(place: Path, words: list[str], path: str) -> None:
    done = run_program([ENGINE, *(word.format(path) for word in words)], cwd=place, status=2)
    assert done.stderr.count("\n") == 1 and done.stderr.startswith(f"tessera-md: error: {path}: ")


def test_closed_standard_files_get_nothing_of_the_output(place: Path, tmp_path: Path) -> None:
    """Files that are opened next would have their numbers."""

    def close() -> None:
        for number in (0, 1, 2):
            os.close(number)

    command = [ENGINE, "run.toml", "--set", f"output.folder={tmp_path / 'closed'}"]
    assert subprocess.run(command, cwd=place, preexec_fn=close, timeout=HANGS).returncode == 0
    command[-1] = f"output.folder={tmp_path / 'open'}"
    assert subprocess.run(command, cwd=place, capture_output=True, timeout=HANGS).returncode == 0
    for name in ("energy.csv", "checkpoint.tck"):
        assert (tmp_path / "closed" / name).read_bytes() == (tmp_path / "open" / name).read_bytes()


@pytest.mark.parametrize(
    "words",
    [
        ["--print-defaults"],
        ["--help"],
        ["--version"],
        ["--energy", "water.tsr"],
        ["run.toml", "--set", "output.folder=f"],
    ],
    ids=lambda words: words[0],
)
def test_a_full_standard_output_is_no_success(place: Path, words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [ENGINE, *words], cwd=place, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=HANGS
        )
    assert done.returncode == 3
    assert "tessera-md: error: standard output can't be written to" in done.stderr


def test_a_run_says_that_who_reads_has_gone(place: Path) -> None:
    """Its end is none that may go unnoticed."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        words = [*TESSERA, "run", "run.toml", "--mpi", "serial", "--set", "output.folder=unread"]
        environment = {**os.environ, "TESSERA_BIN": str(ENGINES)}
        done = subprocess.run(words, cwd=place, stdout=pipe, stderr=subprocess.PIPE, text=True, env=environment)
    assert done.returncode == 3
    assert "tessera-md: error: standard output can't be written to: Broken pipe" in done.stderr


def test_a_check_says_what_a_run_would(place: Path) -> None:
    check = [ENGINE, place / "run.toml", "--set", "output.folder=checked", "--check", "--ranks"]
    assert run_program([*check, "64"], cwd=place).stdout == ""
    done = run_program([*check, "65"], cwd=place, status=2)
    assert "65 ranks are too many for a box of 4 × 4 × 4 cells" in done.stderr
    assert not (place / "checked").exists()


def test_many_ranks_are_refused_before_any_starts(place: Path) -> None:
    """500 ranks on two cores once brought a machine to a halt."""
    run = [*TESSERA, "run", place / "run.toml", "-n", "500"]
    mpirun = place / "mpirun"
    mpirun.write_text(f'#!/bin/sh\ncase "$1" in --version) echo "Open MPI";; *) touch {place / "started"};; esac\n')
    mpirun.chmod(0o755)
    environment = {"TESSERA_BIN": str(ENGINES), "TESSERA_MPIRUN": str(mpirun)}
    done = run_program(run, status=2, env=environment)
    assert not (place / "started").exists()
    assert done.stderr.count("\n") == 1 and "500 ranks are too many" in done.stderr


def test_explain_plans_for_other_hosts(place: Path) -> None:
    explain = [ENGINE, "--explain", place / "run.toml", "--ranks", "64", "--measured-steps", "2"]

    def explained(*words: str | Path) -> dict[str, Any]:
        return dict(json.loads(run_program([*explain, "--json", *words]).stdout))

    def predicted(*words: str | Path) -> dict[str, float]:
        return dict(explained(*words)["predicted"])

    def crowding(*words: str | Path) -> float:
        return predicted(*words)["ranks_and_threads_per_core"]

    assert crowding("--cores-per-node", "32") == crowding("--cores-per-node", "32", "-t", "8") == 1
    assert crowding("--cores-per-node", "4", "-t", "8") == 2
    text = run_program([*explain, "--cores-per-node", "32"]).stdout
    assert "2 hosts of 32 cores, at most 32 ranks" in text
    assert "ns/day" not in text and "no speed is predicted: the links between the hosts are not known" in text
    unknown, on_one_host = predicted("--cores-per-node", "32"), predicted("--cores-per-node", "64")
    assert unknown["ms_of_computing"] > 0 and not {"ns_per_day", "ms_per_step"} & set(unknown)
    assert {"ns_per_day", "ms_per_step"} <= set(on_one_host)
    content = {"format": "tessera-machine", "version": 3, "usable_threads": 4}
    hosts = [{"name": f"n{i}", "slots": 32} for i in range(2)]
    link = {"latency": 1e-6, "bandwidth": 1e9}
    content["network"] = {"hosts": hosts, "subnets": [{"hosts": ["n0", "n1"], "link": link}]}
    (place / "map.json").write_text(json.dumps(content))
    on_map = ["--set", f"parallel.machine={place / 'map.json'}"]
    assert crowding(*on_map) == 8
    found = explained(*on_map)
    assert {"ns_per_day", "ms_per_step"} <= set(found["predicted"])
    (sums,) = [choice for choice in found["choices"] if choice["what"] == "sum of energies"]
    assert re.fullmatch(r".+, [\d.]+ ms for [\d.]+ kB", sums["value"]) and "the MPI library" in sums["why"]
    assert crowding(*on_map, "--cores-per-node", "16") == 2


def test_explain_measures_threads_that_compute_at_once(place: Path) -> None:
    """Threads of a host share caches, memory and power: one alone says little of them."""
    cores = len(os.sched_getaffinity(0))
    explain = [ENGINE, "--explain", place / "run.toml", "--measured-steps", "3", "--ranks", "4", "-t", "3"]
    found = json.loads(run_program([*explain, "--json"]).stdout)["predicted"]
    assert found["measured_threads"] == min(cores, 12) and found["measured_steps"] == 3
    assert found["seconds"] == pytest.approx(5 * 1e-3 * found["ms_per_step"])
    others = found["other_layouts"]
    assert sorted((one["ranks"], one["threads"]) for one in others) == [(3, 4), (6, 2), (12, 1)]
    assert [one["ms_per_step"] for one in others] == sorted(one["ms_per_step"] for one in others)
    assert found["start_seconds"] > 0 and found["free_megabytes"] > 0
    assert found["peak_megabytes_a_rank"] > found["megabytes_a_rank"] + 1
    text = run_program(explain).stdout
    assert "by other ranks × threads: " in text and " free on the disk\n" in text


def test_explain_knows_an_error_of_what_the_bench_compares(place: Path) -> None:
    """The time of a step was compared with runs whose threads have a core each."""
    explain = [ENGINE, "--explain", place / "run.toml", "--measured-steps", "3"]

    def errors(*words: str) -> tuple[dict[str, float], str]:
        found = json.loads(run_program([*explain, *words, "--json"]).stdout)["predicted"]["errors"]
        return found, run_program([*explain, *words]).stdout

    found, text = errors()
    assert found == MOST and " ns/day ± 20 %\n" in text
    found, text = errors("--ranks", "4", "-t", str(len(os.sched_getaffinity(0))))
    assert found.keys() == {"memory of a rank"} and " ns/day, with an error that is not known (" in text


def test_explain_measures_for_a_second(place: Path) -> None:
    found = json.loads(run_program([ENGINE, "--explain", place / "run.toml", "--json"]).stdout)["predicted"]
    assert found["measured_steps"] % 10 == 0 and 10 <= found["measured_steps"] <= 1000


SELECTIONS = """
[[output.selection]]
name = "moving"
every = 2
select = "all"
velocities = true
forces = true
[[output.selection]]
name = "lossless"
every = 2
select = "all"
velocities = true
compression = "lossless"
[[output.selection]]
name = "rounded"
every = 2
select = "all"
compression = "rounded"
[[output.selection]]
name = "fine"
every = 2
select = "index 0:1499"
compression = "rounded"
precision = 0.001
"""


@pytest.mark.parametrize("main", ["segments", "dcd", "xtc", "h5md", "history"])
def test_explain_knows_the_size_of_trajectories(place: Path, tmp_path: Path, main: str) -> None:
    """Within a per cent, or a sixth where frames are compressed; HDF5 takes room for some frames to come."""
    has_velocities = main in ("h5md", "history")
    (tmp_path / "run.toml").write_text(
        f'[input]\nsystem = "{place / "water.tsr"}"\n[interactions]\ncutoff = 6.0\nswitch = 5.0\n'
        f'[dynamics]\nsteps = 8\n[output]\ntrajectory = "{main}"\ntrajectory_every = 1\n'
        f"velocities = {str(has_velocities).lower()}\n" + (SELECTIONS if main == "segments" else "")
    )
    explain = [ENGINE, "--explain", tmp_path / "run.toml", "--measured-steps", "0"]
    predicted = json.loads(run_program([*explain, "--json"]).stdout)["predicted"]
    text = run_program(explain).stdout
    run_program([ENGINE, tmp_path / "run.toml"], cwd=tmp_path)
    assert predicted["trajectories"]["trajectory"]["frames"] == 9
    for name, one in predicted["trajectories"].items():
        (path,) = (tmp_path / "output").glob(f"{name}.*")
        files = list(path.iterdir()) if path.is_dir() else [path]
        found = sum(file.stat().st_size for file in files) / 1e6
        tolerance = 0.16 if name in ("lossless", "rounded", "fine") or main == "xtc" else 0.01
        tolerance = 0.3 if main == "h5md" else tolerance  # four frames share a chunk
        assert one["megabytes"] == pytest.approx(found, rel=tolerance), name
        assert re.search(rf"{name} [0-9.]+ [kM]B \({one['frames']} frames\)", text), text
    assert predicted["trajectory_megabytes"] == pytest.approx(
        sum(one["megabytes"] for one in predicted["trajectories"].values())
    )


def test_explain_that_is_killed_ends_as_in_a_shell(
    command: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("tessera.commands.explain")
    monkeypatch.setattr(module, "selection_arguments", lambda *_, **__: ["--selections", "file"])
    monkeypatch.setattr(module.launch, "engine_command", lambda *_, **__: ["sh", "-c", "kill -KILL $$"])
    assert command("explain", "run.toml") == (128 + signal.SIGKILL, "")


def test_explain_refuses_what_a_run_would(place: Path) -> None:
    for setting in ("output.velocities=true", "output.writers=2", "output.compression=lossless"):
        words = ["--set", "output.trajectory=dcd", "--set", "output.trajectory_every=1", "--set", setting]
        words += ["--set", "output.method=pdwa"] if "writers" in setting else []
        explain = [ENGINE, "--explain", place / "run.toml", "--measured-steps", "0", *words]
        done, run = (run_program(command, check=False) for command in (explain, [ENGINE, place / "run.toml", *words]))
        assert (done.returncode, done.stderr) == (run.returncode, run.stderr) and done.returncode == 2


def test_explain_plans_a_vacuum_as_it_begins(tmp_path: Path) -> None:
    """A file's frame that is too small doubles at the start."""
    system = read(sample("dipeptide"))
    tight = with_positions(system, system.positions())
    box = tight.box / 4
    small = dataclasses.replace(tight, box=box, fraction=to_fraction(tight.positions() - tight.origin, box))
    write(small, tmp_path / "small.tsr")
    (tmp_path / "run.toml").write_text(
        '[input]\nsystem = "small.tsr"\n[interactions]\nelectrostatics = "cut"\n[dynamics]\nsteps = 1\n'
    )
    explain = [ENGINE, "--explain", tmp_path / "run.toml", "--measured-steps", "0"]
    plan = json.loads(run_program([*explain, "--json"]).stdout)
    run_program([ENGINE, tmp_path / "run.toml"], cwd=tmp_path)
    report = json.loads((tmp_path / "output/report.json").read_text())
    assert plan["cells"] == report["results"]["cells"]
    assert all(edge > 2 * before for edge, before in zip(plan["edges"], box.diagonal()))
    assert "would be too small: it doubles at the start" in run_program(explain).stdout


def test_the_instruction_set_is_limited() -> None:
    """TESSERA_SIMD may name each set that kernels are compiled for; where the processor lacks it, its best is used."""
    version = [ENGINE, "--version"]
    best = run_program(version, env={"TESSERA_SIMD": ""}).stdout
    refused = run_program(version, env={"TESSERA_SIMD": "MMX"}, status=2)
    assert refused.stdout == "" and refused.stderr.count("\n") == 1
    offered = refused.stderr.split(": ")[-1].split(", ")
    assert "TESSERA_SIMD is 'MMX'" in refused.stderr
    for wanted in offered:
        found = run_program(version, env={"TESSERA_SIMD": wanted.strip()}).stdout
        assert wanted.strip() in found or found == best


@pytest.mark.parametrize(
    ("system", "settings", "expected"),
    [
        ("peptide", ["timestep=2.5"], ""),
        ("peptide", ["timestep=3"], "and hydrogens such as HT1 of ALA weigh 1.008 amu: set dynamics.hydrogen_mass = 3"),
        ("peptide", ["timestep=3", "hydrogen_mass=3"], ""),
        ("peptide", ["timestep=3", "constraints=none"], "is more than a fifth of the fastest period"),
        ("water", ["timestep=3"], ""),  # rigid
    ],
)
def test_long_steps_need_heavy_hydrogens(tmp_path: Path, system: str, settings: list[str], expected: str) -> None:
    (tmp_path / "run.toml").write_text(
        f'[input]\nsystem = "{sample(system)}"\n[interactions]\ncutoff = 7.0\nswitch = 6.0\n[dynamics]\nsteps = 1\n'
    )
    words = [word for text in settings for word in ("--set", f"dynamics.{text}")]
    done = run_program([ENGINE, tmp_path / "run.toml", *words, "--set", f"output.folder={tmp_path / 'out'}"])
    assert expected in done.stderr if expected else "dynamics.timestep" not in done.stderr


def test_a_run_says_that_it_writes_no_trajectory(place: Path, tmp_path: Path) -> None:
    run = [ENGINE, place / "run.toml", "--set", "output.overwrite=true", "--set", f"output.folder={tmp_path}"]
    assert "no trajectory is written (output.trajectory_every = 0)\n" in run_program(run).stdout
    run += ["--set", "output.trajectory_every=5"]
    assert "trajectory is written" not in run_program(run).stdout
    run += ["--set", 'output.trajectory="none"']
    assert 'no trajectory is written (output.trajectory = "none")\n' in run_program(run).stdout


def test_a_run_says_where_threads_share_cores_or_cores_idle(place: Path, tmp_path: Path) -> None:
    core = min(os.sched_getaffinity(0))
    run = ["taskset", "-c", str(core), ENGINE, place / "run.toml", "--set", "output.overwrite=true"]
    run += ["--set", f"output.folder={tmp_path}"]
    assert "share" not in run_program(run).stderr
    assert "note: 2 threads share 1 core of " in run_program([*run, "-t", "2"]).stderr
    idle = run_program(run, env={"SLURM_CPUS_PER_TASK": "3"}).stderr
    assert "the job has 3 cores for each rank (--cpus-per-task), and the launcher lets a rank run on 1: let it" in idle
