"""Runs in stages: what a stage takes from the one above, bits over interruptions and ranks, what is refused."""

from __future__ import annotations

import dataclasses
import json
import shutil
import signal
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera.system import read, write
from tests.support.programs import ENGINES, HANGS, TESSERA, command_under_way, run_program
from tests.support.runs import Runs, Settings, read_table, wait_for
from tests.support.samples import sample

PROTOCOL = """
[[stage]]
name = "heat"
dynamics.steps = 30
dynamics.ensemble = "nvt"
dynamics.temperature = 250.0

[[stage]]
name = "equilibrate"
[stage.dynamics]
steps = 40
ensemble = "npt"
tau_p = 0.5

[[stage]]
name = "produce"
dynamics.steps = 20
dynamics.timestep = 1.0
dynamics.thermostat = "langevin"
output.trajectory_every = 10
"""
NAMES = ("heat", "equilibrate", "produce")
BASE: Settings = {"dynamics.coupling_every": 5, "output.energy_every": 5, "output.checkpoint_every": 10}


def protocol(runs: Runs, text: str = PROTOCOL, **settings: Any) -> Path:
    path = runs.run_file(sample("peptide"), {**BASE, **settings})
    path.write_text(path.read_text() + text)
    return path


def report(path: Path, stage: str) -> dict[str, Any]:
    return dict(json.loads((path.parent / "output" / stage / "report.json").read_text()))


def hashes(path: Path) -> list[str]:
    return [report(path, stage)["state_hash"] for stage in NAMES]


@pytest.fixture(scope="module")
def whole(runs: Runs) -> Path:
    """Returns the run file of a protocol that was run to its end on one rank."""
    path = protocol(runs)
    out = runs.start(path).process.stdout
    assert [line.split(": ")[1] for line in out.splitlines() if line.startswith("stage ") and " of " in line] == [
        *NAMES
    ]
    table = out[out.rindex("stage  ") :].splitlines()
    assert [line.split()[0] for line in table[1:4]] == [*NAMES]
    assert " K " in table[1] and "g/cm³" in table[1]
    assert table[4].startswith("To go on: tessera run ") and table[4].endswith(
        " --restart --set stage.produce.dynamics.steps=40"
    )
    return path


def test_a_stage_has_the_settings_above_and_its_own(whole: Path) -> None:
    settings = [tomllib.loads((whole.parent / "output" / name / "settings.toml").read_text()) for name in NAMES]
    assert [one["dynamics"]["ensemble"] for one in settings] == ["nvt", "npt", "npt"]
    assert [one["dynamics"]["temperature"] for one in settings] == [250.0] * 3
    assert [one["dynamics"]["timestep"] for one in settings] == [2.0, 2.0, 1.0]
    assert [one["dynamics"]["seed"] for one in settings] == [1, 2, 3]
    assert [Path(one["input"]["start"]).name for one in settings] == ["", "heat", "equilibrate"]
    assert "stage" not in settings[1]


def test_settings_run_a_stage_alone(runs: Runs, whole: Path, tmp_path: Path) -> None:
    stage = whole.parent / "output" / "equilibrate"
    runs.run_engine(stage / "settings.toml", "--set", f"output.folder={tmp_path / 'again'}")
    again = json.loads((tmp_path / "again" / "report.json").read_text())
    assert again["state_hash"] == report(whole, "equilibrate")["state_hash"]


@pytest.mark.mpi
def test_bits_over_ranks_and_interruptions(runs: Runs, whole: Path) -> None:
    """The second stage is stopped in the middle, on three ranks, and goes on, on two."""
    path = protocol(runs)
    text = path.read_text()
    path.write_text(text[: text.index('[[stage]]\nname = "produce"')].replace("steps = 40", "steps = 17"))
    runs.start(path, mpi="openmpi", ranks=3)
    assert report(path, "equilibrate")["last_step"] == 17
    path.write_text(text)
    runs.start(path, "--restart", mpi="mpich", ranks=2)
    assert hashes(path) == hashes(whole)
    assert (report(path, "heat")["ranks"], report(path, "equilibrate")["first_step"]) == (3, 17)


def test_a_killed_protocol_goes_on_where_it_was(runs: Runs, whole: Path) -> None:
    """A stage that was killed before its first checkpoint is begun anew; the stage above is not run again."""
    path = protocol(runs)
    output = path.parent / "output"
    endless = ["--set", "stage.equilibrate.dynamics.steps=100000", "--set", "output.checkpoint_every=0"]
    engine = "tessera-md-serial"
    with command_under_way([ENGINES / engine, path, *endless], engine) as (process, _):
        wait_for(process, output / "equilibrate" / "energy.csv", 3)
        process.kill()
    begun = (output / "heat" / "checkpoint.tck").stat().st_mtime_ns
    assert not (output / "equilibrate" / "checkpoint.tck").exists()
    runs.start(path, "--restart")
    assert hashes(path) == hashes(whole)
    assert (output / "equilibrate" / "previous-1" / "energy.csv").exists()
    assert (output / "heat" / "checkpoint.tck").stat().st_mtime_ns == begun


def test_a_signal_ends_the_protocol(runs: Runs) -> None:
    path = protocol(runs)
    engine = "tessera-md-serial"
    endless = ["--set", "stage.heat.dynamics.steps=100000"]
    with command_under_way([ENGINES / engine, path, *endless], engine) as (process, _):
        wait_for(process, path.parent / "output" / "heat" / "energy.csv", 3)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=HANGS)
    assert process.returncode == 128 + signal.SIGTERM
    assert "stopped by a signal" in out and "To go on: tessera run" in out
    assert not (path.parent / "output" / "equilibrate").exists()


def run_out_of_time(runs: Runs, make: Callable[[], Path], stage: str, *words: str) -> tuple[Path, str, str]:
    """Starts runs with ever more time until one has begun this stage, which would take far longer. Returns the run
    file, the limit of time in hours, and what was printed: always that the limit was near."""
    hours = 0.0004
    while True:
        path = make()
        out = runs.start(path, *words, "--max-hours", f"{hours:g}").process.stdout
        assert f"the end of --max-hours {hours:g} is near" in out
        if (path.parent / "output" / stage).exists():
            return path, f"{hours:g}", out
        hours *= 2


def test_time_ends_in_a_stage(runs: Runs) -> None:
    endless = ["--set", "stage.equilibrate.dynamics.steps=1000000"]
    path, hours, out = run_out_of_time(
        runs, lambda: protocol(runs, **{"output.checkpoint_every": 0}), "equilibrate", *endless
    )
    assert f"as the end of --max-hours {hours} is near" in out
    assert "stopped, of 1,000,000\n" in out and "not begun" in out
    assert out.endswith(f"--restart {' '.join(endless)} --max-hours {hours}\n")
    out = runs.start(path, "--restart", *endless, "--max-hours", "1e-8").process.stdout
    assert "no stage is begun" in out


def test_a_done_stage_is_not_run_again(runs: Runs, whole: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in (whole.parent / "output").rglob("*") if file.is_file()}
    runs.start(whole, "--restart")
    assert before == {file: file.stat().st_mtime_ns for file in (whole.parent / "output").rglob("*") if file.is_file()}

    def refused(*words: str) -> str:
        done = runs.start(whole, *words, status=2)
        assert done.process.stderr.count("error:") == 1
        return str(done.process.stderr)

    assert "already holds a run" in refused()
    message = refused("--restart", "--set", "stage.heat.dynamics.temperature=260")
    assert "stage heat: it is done, with other settings: dynamics.temperature was 250.0, is 260.0" in message
    message = refused("--restart", "--set", "stage.heat.dynamics.steps=31")
    assert "stage equilibrate has started from its end" in message
    assert "--tune" in refused("--tune")


def test_a_new_first_stage_leaves_no_old_ones(runs: Runs) -> None:
    """Later stages that did not start from it are begun anew, and their files are kept."""
    path = protocol(runs)
    runs.start(path)
    output = path.parent / "output"
    words = ("--set", "output.overwrite=true", "--set", "stage.heat.dynamics.seed=9")
    runs.start(path, *words)
    assert all((output / name / "previous-1" / "checkpoint.tck").exists() for name in NAMES)
    shutil.rmtree(output / "heat")
    path.write_text(path.read_text().replace("steps = 30", "steps = 35"))
    runs.start(path, "--restart", "--set", "stage.heat.dynamics.seed=9")
    assert all((output / name / "previous-2" / "checkpoint.tck").exists() for name in NAMES[1:])
    (output / "heat" / "checkpoint.tck").write_bytes((output / "produce" / "checkpoint.tck").read_bytes())
    message = runs.start(path, "--restart", check=False).process.stderr
    assert "stage heat: " in message


HELD = """
[[stage]]
name = "heat"
dynamics.steps = 20
[[stage.restraint]]
kind = "position"
select = "name OH2 and resid 900:910"
k = 5.0
reference = "start.pdb"

[[stage]]
name = "equilibrate"

[[stage]]
name = "produce"
restraint = []
"""


@pytest.mark.mpi
def test_restraints_of_stages(runs: Runs, water: Path) -> None:
    """`tessera run` finds the atoms of all stages and makes references ready; a restart takes both from the folder."""
    pytest.importorskip("MDAnalysis")
    environment = {"TESSERA_BIN": str(ENGINES)}

    def start(path: Path, *words: str) -> list[str]:
        run_program([*TESSERA, "run", path, *words], env=environment)
        assert (path.parent / "output" / "selections.json").exists()
        tables = [read_table(path.parent / "output" / name / "energy.csv")["restraint"][-1] for name in NAMES[:2]]
        assert all(energy > 0 for energy in tables)
        assert not read_table(path.parent / "output" / "produce" / "energy.csv")["restraint"].any()
        return hashes(path)

    paths = []
    for _ in range(2):
        path = runs.run_file(water, BASE)
        path.write_text(path.read_text() + HELD)
        run_program([*TESSERA, "export", water, "-o", path.parent / "start.pdb"])
        paths.append(path)
    whole = start(paths[0], "-n", "2")
    text = paths[1].read_text()
    paths[1].write_text(text[: text.index('[[stage]]\nname = "equil')])
    run_program([*TESSERA, "run", paths[1]], env=environment)
    paths[1].write_text(text)
    assert start(paths[1], "--restart") == whole


MINIMISED = """
[[stage]]
name = "minimise"
kind = "minimize"
minimize.max_force = 20.0
restraint = [{ kind = "position", select = "index 0:9", k = 5.0 }]

[[stage]]
name = "heat"
dynamics.steps = 20
restraint = []
"""


@pytest.fixture(scope="module")
def torn(runs: Runs) -> Path:
    """Returns a system whose atoms are displaced by up to 0.9 Å each, so that dynamics can't start from it."""
    system = read(sample("peptide"))
    displaced = np.random.default_rng(1).uniform(-0.5, 0.5, system.fraction.shape) / np.diag(system.box) * 2.0**32
    fraction = (system.fraction + np.rint(displaced).astype(np.int64) + 2**31) % 2**32 - 2**31
    path = runs.work / "torn.tsr"
    write(dataclasses.replace(system, fraction=fraction.astype(np.int32), velocity=None), path)
    return path


def minimising(runs: Runs, torn: Path) -> Path:
    path = runs.run_file(torn, BASE)
    path.write_text(path.read_text() + MINIMISED)
    return path


@pytest.fixture(scope="module")
def minimised(runs: Runs, torn: Path) -> Path:
    """Returns the run file of a protocol that minimises first and was run to its end on one rank."""
    path = minimising(runs, torn)
    out = runs.start(path).process.stdout
    row = out[out.rindex("stage  ") :].splitlines()[1]
    assert row.startswith("minimise") and "greatest force" in row and "not converged" not in row
    return path


def test_a_stage_minimises(runs: Runs, minimised: Path, torn: Path, tmp_path: Path) -> None:
    found = report(minimised, "minimise")["minimization"]
    assert found["converged"] and found["max_force"] < 20 < 1000 < found["start"]["max_force"]
    assert found["energy"] < found["start"]["energy"] and found["energies"]["restraint"] > 0
    assert 250 < read_table(minimised.parent / "output" / "heat" / "energy.csv")["temperature"][0] < 350
    alone = runs.run_file(torn, {**BASE, "dynamics.steps": 1})
    assert runs.start(alone, check=False).process.returncode != 0
    runs.run_engine(minimised.parent / "output" / "minimise" / "settings.toml", "--set", f"output.folder={tmp_path}")
    again = json.loads((tmp_path / "minimise" / "report.json").read_text())
    assert again["state_hash"] == report(minimised, "minimise")["state_hash"]
    text = runs.run_engine("--explain", minimising(runs, torn)).stdout
    assert "minimise: minimises to forces below 20 kcal/mol/Å, in at most 5,000 steps\n" in text


@pytest.mark.mpi
def test_bits_after_a_minimisation(runs: Runs, minimised: Path, torn: Path) -> None:
    """It runs on three ranks; the next stage is stopped there in the middle, and goes on, on two."""
    path = minimising(runs, torn)
    text = path.read_text()
    path.write_text(text.replace("dynamics.steps = 20", "dynamics.steps = 11"))
    runs.start(path, mpi="openmpi", ranks=3)
    path.write_text(text)
    runs.start(path, "--restart", mpi="mpich", ranks=2)
    again = minimising(runs, torn)
    runs.start(again, mpi="mpich", ranks=2, threads=2)
    for name in ("minimise", "heat"):
        assert report(path, name)["state_hash"] == report(minimised, name)["state_hash"]
        assert report(again, name)["state_hash"] == report(minimised, name)["state_hash"]
    assert (report(path, "minimise")["ranks"], report(path, "heat")["first_step"]) == (3, 11)


def test_a_minimisation_that_was_stopped_begins_anew(runs: Runs, minimised: Path, torn: Path) -> None:
    engine = "tessera-md-serial"
    endless = ["--set", "minimize.max_force=1e-9", "--set", "parallel.precision=double"]
    endless += ["--set", "stage.minimise.minimize.max_force=1e-9", "--set", "stage.minimise.minimize.steps=1000000"]
    path, hours, out = run_out_of_time(runs, lambda: minimising(runs, torn), "minimise", *endless)
    output = path.parent / "output"
    assert f"stopped as the end of --max-hours {hours} is near" in out and "a minimisation begins anew" in out
    assert "--restart" in out.splitlines()[-1]
    with command_under_way([ENGINES / engine, path, *endless], engine) as (process, _):
        wait_for(process, output / "minimise" / ".lock")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=HANGS)
    assert process.returncode == 128 + signal.SIGTERM
    assert "stopped by a signal" in out
    assert not list(output.rglob("*.tck")) and not (output / "heat").exists()
    runs.start(path, "--restart")
    assert report(path, "heat")["state_hash"] == report(minimised, "heat")["state_hash"]


def test_a_protocol_goes_on_after_too_few_steps(runs: Runs) -> None:
    path = runs.run_file(sample("peptide"), BASE)
    path.write_text(path.read_text() + MINIMISED)
    short = ["--set", "stage.minimise.minimize.steps=2"]
    done = runs.start(path, *short).process
    assert "note: not converged: out of steps" in done.stderr and "  not converged\n" in done.stdout
    assert report(path, "heat")["last_step"] == 20

    def refused(*words: str) -> str:
        done = runs.start(path, "--restart", *words, status=2).process
        return str(done.stderr)

    assert "stage minimise: it is done, with other settings: minimize.steps was 2, is 5000" in refused()
    path.write_text(path.read_text().replace('kind = "minimize"\n', ""))
    assert 'stage.kind was "minimize", is "dynamics"' in refused(*short)


def test_overrides(runs: Runs) -> None:
    path = protocol(runs)
    words = ("--set", "dynamics.timestep=0.5", "--set", "stage.equilibrate.dynamics.steps=5", "--json")
    plan = json.loads(runs.run_engine("--explain", path, *words, "--measured-steps", "0").stdout)
    dynamics = [stage["settings"]["dynamics"] for stage in plan["stages"]]
    assert [one["timestep"] for one in dynamics] == [0.5] * 3
    assert [one["steps"] for one in dynamics] == [30, 5, 20]
    assert "dynamics.steps = 5" in plan["stages"][1]["differences"]
    text = runs.run_engine("--explain", path, "--measured-steps", "0").stdout
    assert "equilibrate: 40 steps, 0.08 ps\n" in text and '    dynamics.ensemble = "npt"\n' in text


def test_the_command_to_go_on_does(runs: Runs, whole: Path, tmp_path: Path) -> None:
    """That which a protocol prints at its end."""
    path = Path(shutil.copytree(whole.parent, tmp_path / "copy")) / whole.name
    runs.start(path, "--restart", "--set", "stage.produce.dynamics.steps=40")
    assert (report(path, "produce")["first_step"], report(path, "produce")["last_step"]) == (20, 40)


def test_all_stages_are_explained(runs: Runs, torn: Path) -> None:
    """Also those behind a minimisation, where no step can be measured from the coordinates as they are."""
    path = protocol(runs)
    words = ("--explain", path, "--measured-steps", "2")
    said = json.loads(runs.run_engine(*words, "--json").stdout)
    plans = [stage["plan"] for stage in said["stages"]]
    ensembles = [plan["settings"]["dynamics"]["ensemble"] for plan in plans]
    assert ensembles == ["nvt", "npt", "npt"] and all(plan["predicted"]["ns_per_day"] > 0 for plan in plans)
    together = said["predicted"]["seconds_of_dynamics"]
    assert together == pytest.approx(sum(plan["predicted"]["seconds"] for plan in plans)) and together > 0
    text = runs.run_engine(*words).stdout
    assert [text.count(f"\nthe plan of {name}") for name in NAMES] == [1, 1, 1] and text.count(" ns/day") == 3
    assert "\nall stages of dynamics take " in text
    # Stages with the same forces, constraints and kinds of baths share one measurement.
    path = protocol(runs, PROTOCOL + '[[stage]]\nname = "go-on"\ndynamics.steps = 9\ndynamics.temperature = 310.0\n')
    plans = json.loads(runs.run_engine("--explain", path, *words[2:], "--json").stdout)["stages"]
    rates = [one["plan"]["predicted"]["measured_ms_per_step_one_rank"] for one in plans]
    assert len({*rates[:3]}) == 3 and rates[3] == rates[2]
    path = minimising(runs, torn)
    words = ("--explain", path, "--measured-steps", "2")
    text = runs.run_engine(*words).stdout
    assert "\nthe plan of minimise\n" in text and "\nthe plan of heat: as that of minimise\n" in text
    assert text.count(" ns/day") == 1
    # No stage stands above the first one: it would fail as its plan does.
    path.write_text(path.read_text().replace('kind = "minimize"\n', "").replace("minimize.max_force = 20.0\n", ""))
    done = runs.run_engine(*words, check=False)
    assert done.returncode != 0 and "blown up" in done.stderr and "stages above" not in done.stderr


def test_a_stage_that_no_minimisation_makes_possible(runs: Runs, water: Path) -> None:
    """A hydrogen without Lennard-Jones on an oxygen."""
    system = read(water)
    system.force_field.type_lj[1, 1] = 0
    fraction = system.fraction.astype(np.int64)
    fraction[:3] += fraction[3] - fraction[1]
    path = runs.work / "stuck.tsr"
    wrapped = ((fraction + 2**31) % 2**32 - 2**31).astype(np.int32)
    write(dataclasses.replace(system, fraction=wrapped, velocity=None), path)
    text = runs.run_engine("--explain", minimising(runs, path), "--measured-steps", "2").stdout
    assert "no step can be measured before the stages above have moved the atoms (step " in text
    assert "\nthe plan of heat: as that of minimise\n" in text and " ns/day" not in text


def test_threads_of_the_planned_machine(runs: Runs) -> None:
    """-t auto counts the cores of the hosts that are planned for, not of this one."""
    path = runs.run_file(sample("peptide"), BASE)

    def threads(*words: object) -> int:
        plan = runs.run_engine("--explain", path, "--measured-steps", "0", "--fill-cores", "-t", "3", "--json", *words)
        return int(json.loads(plan.stdout)["threads"])

    assert threads("--ranks", "2") == 3
    assert threads("--ranks", "2", "--cores-per-node", "64") == 32
    assert threads("--ranks", "50", "--cores-per-node", "30") == 1
    of_map = ("--set", f"parallel.machine={Path(__file__).parents[2] / 'machines' / 'crow8-pairs.json'}")
    assert [threads("--ranks", n, *of_map) for n in ("1", "4")] == [2, 1]  # two slots a host
    assert threads("--ranks", "4", *of_map, "--cores-per-node", "32") == 16


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[[stage]]\nname = "a"\ndynamics.step = 5', "run.toml:15: stage a: unknown key dynamics.step; did you mean"),
        ('[[stage]]\nname = "a"\nsteps = 5', "stage a: steps stands in no section; write dynamics.steps = …"),
        ('[[stage]]\nname = "a"\n[stage.dynamic]\nsteps = 5', "stage a: unknown section [dynamic]; did you mean"),
        ("[[stage]]\ndynamics.steps = 5", "stage.name is missing; write for example"),
        ('[[stage]]\nname = "a"\n[[stage]]\nname = "a"', 'stage.name = "a" for the second time'),
        ('[[stage]]\nname = "a/b"', 'stage.name = "a/b", expected 1 to 60 letters, digits, - and _'),
        ('[[stage]]\nname = "previous-1"', "expected another name"),
        ('[[stage]]\nname = "black_box"', "expected another name: a run that blows up leaves a folder of this name"),
        ('[[stage]]\nname = "a"\noutput.folder = "b"', "stage a: output.folder is set"),
        ('[[stage]]\nname = "a"\ninput.start = "b"', "stage a: [stage.input] is set"),
        ('[[stage]]\nname = "a"\nkind = "relax"', 'stage.kind = \'relax\', expected one of "dynamics", "minimize"'),
        ('[[stage]]\nname = "a"\nkind = "minimize"\nminimize.steps = 0', "stage a: minimize.steps = 0, expected"),
        ('[[stage]]\nname = "a"\ndynamics.steps = 0', "stage a: dynamics.steps = 0, expected at least 1"),
        ('[stage]\nname = "a"', "stage is the section [stage], expected [[stage]], once for each"),
        ('[[stage]]\nname = "a"\ninteractions.cutoff = 40.0', "stage a: "),
        ('[[stage]]\nname = "a"\n[[stage]]\nname = "b"\ndynamics.mesh_every = 3', "stage b: output.energy_every is 5"),
    ],
)
def test_bad_stages(runs: Runs, text: str, expected: str) -> None:
    path = protocol(runs, text)
    done = runs.start(path, status=2)
    assert expected in done.process.stderr
    assert not list(path.parent.glob("output/*/*.csv"))


def test_bad_overrides(runs: Runs) -> None:
    done = runs.start(protocol(runs), "--set", "stage.cool.dynamics.steps=5", check=False)
    assert "there is no stage cool in " in done.process.stderr


@pytest.mark.mpi
def test_time_of_one_run(runs: Runs) -> None:
    settings: Settings = {"dynamics.steps": 100_000, "output.checkpoint_every": 0}
    path = runs.run_file(sample("peptide"), settings)
    found = runs.start(path, "--max-hours", "0.0006", mpi="openmpi", ranks=2)
    step = found.report["last_step"]
    assert 0 < step < 100_000 and step % 5 == 0
    assert f"stopped at step {step}, as the end of --max-hours 0.0006 is near" in found.process.stdout
    end = step + 5
    again = runs.start(path, "--restart", "--set", f"dynamics.steps={end}")
    assert again.report["first_step"] == step
    assert again.hash == runs.run(sample("peptide"), {"dynamics.steps": end}).hash
    refused = runs.start(path, "--max-hours", "0", status=2)
    assert "--max-hours" in refused.process.stderr


def test_checkpoints_by_minutes(runs: Runs) -> None:
    settings: Settings = {"dynamics.steps": 30, "output.checkpoint_every": 0, "output.checkpoint_minutes": 1e-6}
    found = runs.run(sample("peptide"), settings)
    assert (found.folder / "checkpoint.previous.tck").exists()
    assert found.hash == runs.run(sample("peptide"), {"dynamics.steps": 30}).hash
