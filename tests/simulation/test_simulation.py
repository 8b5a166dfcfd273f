"""`tessera.Simulation` in one process: the same bits as the engine's, its errors, and what Python may do in between."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from tessera import system as systems
from tessera.system.blocks import to_fraction
from tessera.traj import Trajectory
from tests.support.programs import run_program, wait_until
from tests.support.runs import Runs
from tests.support.samples import sample

pytest.importorskip("tessera._md_serial", reason="the Python modules are not built")

SHORT: dict[str, Any] = {
    "interactions": {"cutoff": 9.0, "switch": 8.0},
    "dynamics": {"seed": 7, "steps": 20},
}
SAME_RUN: dict[str, Any] = {"dynamics.seed": 7, "dynamics.steps": 20}


def with_dynamics(**keys: Any) -> dict[str, Any]:
    return {**SHORT, "dynamics": {**SHORT["dynamics"], **keys}}


def test_steps_are_those_of_the_engine(runs: Runs, water: Path) -> None:
    sim = tessera.Simulation(water, SHORT)
    for _ in range(4):
        sim.step(5)
    assert sim.state_hash == runs.hash_of_one_rank(water, SAME_RUN)
    threads = tessera.Simulation(os.fspath(water), SHORT, threads=2)
    threads.run()
    assert threads.state_hash == sim.state_hash
    assert dict(threads.energies) == dict(sim.energies)


def test_removed_keys_are_told_of(water: Path) -> None:
    with pytest.warns(UserWarning, match="cluster is ignored: this key has been removed"):
        tessera.Simulation(water, {**SHORT, "parallel": {"pair_scheme": "cluster"}})
    with pytest.raises(tessera.InputError, match="list_soa: this key has been removed"):
        tessera.Simulation(water, {**SHORT, "parallel": {"pair_scheme": "list_soa"}})


def test_a_run_writes_what_the_engine_writes(runs: Runs, water: Path, tmp_path: Path) -> None:
    settings = {**SHORT, "output": {"folder": str(tmp_path / "out"), "energy_every": 10, "trajectory_every": 10}}
    sim = tessera.Simulation(water, settings)
    assert not (tmp_path / "out").exists()
    sim.run()
    engine = runs.run(water, {**SAME_RUN, "output.energy_every": 10, "output.trajectory_every": 10})
    assert (tmp_path / "out/energy.csv").read_bytes() == (engine.folder / "energy.csv").read_bytes()
    assert json.loads((tmp_path / "out/report.json").read_text())["state_hash"] == engine.hash
    status = json.loads((tmp_path / "out/status.json").read_text())
    assert (status["state"], status["step"], status["last_step"], status["kind"]) == ("finished", 20, 20, "dynamics")
    frames = "trajectory.segments/segment-0000.part-0000"
    assert (tmp_path / "out" / frames).read_bytes() == (engine.folder / frames).read_bytes()

    longer = tessera.Simulation(water, {**settings, "dynamics": {**settings["dynamics"], "steps": 40}})
    longer.restore(tmp_path / "out")
    longer.run()
    straight = tessera.Simulation(water, with_dynamics(steps=40))
    straight.run()
    assert longer.state_hash == straight.state_hash
    assert (tmp_path / "out/energy.csv").read_text().count("\n") == 6  # header, steps 0, 10, … 40


def test_a_system_in_memory_is_that_of_its_file(water: Path) -> None:
    from_file, from_memory = tessera.Simulation(water, SHORT), tessera.Simulation(systems.read(water), SHORT)
    from_file.step(3)
    from_memory.step(3)
    assert from_file.state_hash == from_memory.state_hash


def test_arrays(water: Path) -> None:
    sim, system = tessera.Simulation(water, with_dynamics(constraints="none")), systems.read(water)
    assert sim.n_atoms == system.n_atoms
    assert np.allclose(sim.box, system.box)
    away = (sim.positions - system.positions()) / np.diag(sim.box)
    assert np.abs(away - np.rint(away)).max() < 1e-3  # constraints were put right where the water is rigid
    mass = system.atom_field("mass")[:, None]
    kinetic = 0.5 * float((mass * sim.velocities**2).sum()) / 418.4
    assert kinetic == pytest.approx(sim.energies["kinetic"], rel=1e-6)
    share = sim.own_share()
    assert sorted(share.ids) == list(range(sim.n_atoms))
    for own, of_all in ((share.positions, sim.positions), (share.velocities, sim.velocities),
                        (share.forces, sim.forces)):  # fmt: skip
        assert np.array_equal(own, of_all[share.ids])
    energies = sim.energies
    assert energies["total"] == pytest.approx(energies["potential"] + energies["kinetic"])
    assert energies["coulomb"] == sum(value for name, value in energies.items() if name.startswith("coulomb_"))


def test_a_triclinic_box(runs: Runs) -> None:
    path = sample("octahedron")
    sim, system = tessera.Simulation(path, with_dynamics(constraints="none")), systems.read(path)

    def away(box: np.ndarray) -> float:
        """Returns how far fractions are from those of the system, in parts of the box."""
        difference = sim.positions @ np.linalg.inv(box) - system.positions() @ np.linalg.inv(system.box)
        return float(np.abs(difference - np.rint(difference)).max())

    assert np.allclose(sim.box, system.box) and away(sim.box) < 1e-8
    sheared = sim.box + np.array([[0, 0, 0], [0.2, 0, 0], [-0.1, 0.3, 0.1]])
    sim.box = sheared
    assert np.allclose(sim.box, sheared) and away(sheared) < 1e-8
    with pytest.raises(tessera.InputError, match="lower triangular"):
        sim.box = sheared.T
    rigid = tessera.Simulation(path, SHORT)
    rigid.run()
    assert rigid.state_hash == runs.hash_of_one_rank(path, SAME_RUN)


def test_state_can_be_set(water: Path) -> None:
    sim = tessera.Simulation(water, SHORT)
    before = sim.state_hash
    positions, velocities = sim.positions, sim.velocities
    sim.step(5)
    assert sim.state_hash != before
    sim.positions, sim.velocities = positions, velocities
    assert np.allclose(sim.velocities, velocities, atol=5e-6)
    assert np.allclose(sim.positions, positions, atol=1e-6)
    sim.velocities = np.zeros((sim.n_atoms, 3))
    assert sim.energies["kinetic"] == 0


def test_checkpoints(water: Path, tmp_path: Path) -> None:
    sim = tessera.Simulation(water, SHORT)
    sim.step(7)
    saved = sim.state_hash
    sim.save(tmp_path)
    sim.step(9)
    other = tessera.Simulation(water, SHORT)
    other.restore(tmp_path)
    assert (other.step_number, other.state_hash) == (7, saved)
    other.step(9)
    assert other.state_hash == sim.state_hash
    with pytest.raises(tessera.InputError, match=r"is of another run: dynamics\.timestep"):
        tessera.Simulation(water, with_dynamics(timestep=1.0)).restore(tmp_path)
    with pytest.raises(tessera.InputError, match="there is no such folder"):
        sim.save(tmp_path / "nowhere")


def test_a_start_from_another_run(runs: Runs, water: Path, tmp_path: Path) -> None:
    """A new simulation has the bits of `tessera run` with input.start; a checkpoint of it goes on in its box."""
    npt = {"ensemble": "npt", "coupling_every": 5, "tau_p": 0.2}
    first = tessera.Simulation(water, {**with_dynamics(**npt), "output": {"folder": str(tmp_path / "npt")}})
    first.run()
    sim = tessera.Simulation(water, with_dynamics(timestep=1.0, steps=8), start=tmp_path / "npt")
    assert (sim.step_number, sim.time) == (0, 0.0)
    assert np.array_equal(sim.box, first.box)
    sim.step(5)
    sim.save(tmp_path)
    sim.step(3)
    settings = {**SAME_RUN, "dynamics.timestep": 1.0, "dynamics.steps": 8, "input.start": str(tmp_path / "npt")}
    assert sim.state_hash == runs.hash_of_one_rank(water, settings)
    again = tessera.Simulation(water, with_dynamics(timestep=1.0, steps=8))
    again.restore(tmp_path)
    again.step(3)
    assert again.state_hash == sim.state_hash
    with pytest.raises(tessera.InputError, match=r"input\.start: there is no"):
        tessera.Simulation(water, SHORT, start=tmp_path / "nowhere")


def test_hooks(water: Path) -> None:
    sim = tessera.Simulation(water, SHORT)
    seen: list[tuple[int, float]] = []
    sim.add_hook(lambda s: seen.append((s.step_number, s.energies["total"])), every=4, energies=True)
    sim.step(10)
    assert [step for step, _ in seen] == [4, 8]
    alone = tessera.Simulation(water, SHORT)
    alone.step(8)
    assert alone.energies["total"] == seen[-1][1]

    def fail(_: tessera.Simulation) -> None:
        raise KeyError("of the hook")

    sim.add_hook(fail)
    with pytest.raises(KeyError, match="of the hook"):
        sim.step(3)
    assert sim.step_number == 11
    without = tessera.Simulation(water, SHORT)
    without.add_hook(lambda s: s.energies)
    with pytest.raises(tessera.RunError, match="the energies of step 1 were not computed"):
        without.step(2)
    reader = tessera.Simulation(water, SHORT)
    reader.add_hook(lambda s: s.step(1))
    with pytest.raises(tessera.RunError, match="a hook may read the state"):
        reader.step(1)


def test_control_c_ends_a_step(water: Path) -> None:
    """Another thread of Python goes on meanwhile."""
    sim = tessera.Simulation(water, SHORT)

    def interrupt() -> None:
        wait_until(lambda: sim.step_number > 0)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        sim.step(10**6)
    assert 0 < sim.step_number < 10**6
    sim.step(1)


def test_control_c_ends_a_run_with_a_checkpoint(water: Path, tmp_path: Path) -> None:
    """From which it goes on with its table, to the bits of a run that nobody disturbed."""
    settings = {**with_dynamics(steps=100_000), "output": {"folder": str(tmp_path / "run"), "energy_every": 2}}
    sim = tessera.Simulation(water, settings)
    sim.add_hook(lambda s: os.kill(os.getpid(), signal.SIGINT) if s.step_number == 12 else None)
    with pytest.raises(KeyboardInterrupt):
        sim.run()
    stopped = sim.step_number
    assert 12 <= stopped < 20
    status = json.loads((tmp_path / "run/status.json").read_text())
    assert (status["state"], status["end"]["message"]) == ("stopped", "KeyboardInterrupt: ")
    again = tessera.Simulation(water, {**settings, "dynamics": {**settings["dynamics"], "steps": 24}})
    again.restore(tmp_path / "run")
    assert again.step_number == stopped
    again.run()
    steps = [int(row.split(",")[0]) for row in (tmp_path / "run" / "energy.csv").read_text().splitlines()[1:]]
    assert steps == list(range(0, 25, 2))
    alone = tessera.Simulation(water, with_dynamics())
    alone.step(24)
    assert again.state_hash == alone.state_hash
    sim.step(1)  # what was raised is not raised again


def test_settings_may_be_a_run_file(water: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its paths are relative to it; the system is the one that is given."""
    (tmp_path / "study").mkdir()
    file = tmp_path / "study" / "run.toml"
    file.write_text(
        '[input]\nsystem = "other.tsr"\n[interactions]\ncutoff = 9.0\nswitch = 8.0\n[dynamics]\nseed = 7\nsteps = 20\n'
        '[output]\nfolder = "run"\n'
    )
    monkeypatch.chdir(tmp_path)
    sim = tessera.Simulation(water, Path("study") / "run.toml")
    sim.run()
    assert (tmp_path / "study" / "run" / "checkpoint.tck").exists()
    alone = tessera.Simulation(water, SHORT)
    alone.step(20)
    assert sim.state_hash == alone.state_hash
    assert tessera.Simulation(water, str(file), start="study/run").step_number == 0
    file.write_text('[[stage]]\nname = "heat"\n')
    with pytest.raises(tessera.InputError, match="has stages, and a Simulation is one run"):
        tessera.Simulation(water, file)
    file.write_text("[dynamics\n")
    for settings, words in ((file, "can't be read as a run file"), ("none.toml", "No such file"), (7, "settings is 7")):
        with pytest.raises(tessera.InputError, match=words):
            tessera.Simulation(water, settings)


def test_settings_may_have_lists_of_tables(water: Path, tmp_path: Path) -> None:
    """Sections that stand several times, by themselves or inside another."""
    springs = [{"kind": "position", "select": f"index {atom}", "k": 1.0} for atom in (0, 3)]
    written = [{"name": name, "select": "index 0:2", "every": every} for name, every in (("often", 5), ("seldom", 10))]
    settings = {**SHORT, "restraint": springs, "output": {"folder": str(tmp_path / "run"), "selection": written}}
    tessera.Simulation(water, settings).run()
    frames = {one["name"]: len(Trajectory(tmp_path / "run" / f"{one['name']}.segments")) for one in written}
    assert frames == {"often": 5, "seldom": 3}
    for wrong in ({"every": {}}, {"every": 2**70}):
        with pytest.raises(tessera.InputError, match=r"output\.selection\.1\.every"):
            tessera.Simulation(water, {**SHORT, "output": {"selection": [written[0], {**written[1], **wrong}]}})


def test_history(water: Path) -> None:
    sim = tessera.Simulation(water, {**SHORT, "output": {"energy_every": 4}})
    sim.step(10)
    history = sim.energies.history
    assert history[:, 0].tolist() == [0, 4, 8, 10]
    pytest.importorskip("pandas")
    assert sim.energies.to_pandas()["total"].loc[10] == sim.energies["total"]


def test_two_at_once(water: Path) -> None:
    one, other = tessera.Simulation(water, SHORT), tessera.Simulation(water, with_dynamics(seed=8))
    for _ in range(3):
        one.step(2)
        other.step(2)
    alone = tessera.Simulation(water, SHORT)
    alone.step(6)
    assert one.state_hash == alone.state_hash != other.state_hash


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"interactions": {"cutof": 9}}, r"^unknown key interactions\.cutof; did you mean interactions.cutoff\?"),
        ({"interaction": {"cutoff": 9}}, r"unknown section \[interaction\]"),
        ({"dynamics": {"timestep": "two"}}, 'dynamics.timestep = .*two.*, expected a number'),
        ({"dynamics": 3}, "dynamics is a value, expected the section"),
        ({"dynamics": {"timestep": None}}, "dynamics.timestep is None; expected a number"),
        ({"interactions": {"cutoff": 40.0, "switch": 30.0}}, "less than twice interactions.cutoff"),
        ({"input": {"system": "other.tsr"}}, "settings name input.system"),
    ],
)  # fmt: skip
def test_wrong_settings(water: Path, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(tessera.InputError, match=said):
        tessera.Simulation(water, settings)


BATHS = [
    {"ensemble": "nvt", "thermostat": "bussi"},
    {"ensemble": "nvt", "thermostat": "nose-hoover"},
    {"ensemble": "nvt", "thermostat": "langevin"},
    {"ensemble": "nvt", "thermostat": "berendsen"},
    {"ensemble": "npt", "thermostat": "bussi", "barostat": "c-rescale"},
    {"ensemble": "npt", "thermostat": "nose-hoover", "barostat": "mtk"},
    {"ensemble": "npt", "thermostat": "bussi", "barostat": "monte-carlo", "monte_carlo_every": 5},
    {"ensemble": "npt", "thermostat": "berendsen", "barostat": "berendsen"},
    {"ensemble": "nvt", "thermostat": "bussi", "integrator": "leapfrog"},
    {"ensemble": "nvt", "thermostat": "bussi", "mesh_every": 2},
]


@pytest.mark.parametrize("bath", BATHS, ids=lambda bath: "-".join(str(value) for value in bath.values()))
def test_baths_follow_what_is_set(water: Path, tmp_path: Path, bath: dict[str, Any]) -> None:
    """The bits are those of a run whose schedule changes between the same two steps; 12 is between actions."""
    every = 6 if "mesh_every" in bath else 5
    asked = {"coupling_every": every, "tau_t": 0.1, "tau_p": 0.5, **bath}
    sim = tessera.Simulation(water, with_dynamics(**asked))
    step = {"temperature": [[0.0252, 300], [0.0259, 340]], "pressure": [[0.0252, 1], [0.0259, 2000]]}
    if bath["ensemble"] == "nvt":
        del step["pressure"]
    planned = tessera.Simulation(water, with_dynamics(**asked, **step))
    sim.step(12 if every == 5 else 13)
    assert sim.temperature == 300
    sim.temperature = 340
    if "pressure" in step:
        sim.pressure = 2e3
        assert sim.pressure == 2000
    sim.step(25 - sim.step_number)
    planned.step(25)
    assert sim.temperature == planned.temperature == 340
    assert sim.state_hash == planned.state_hash
    assert sim.energies["conserved"] == pytest.approx(planned.energies["conserved"], rel=1e-12)
    sim.save(tmp_path)
    now = {key: points[-1][1] for key, points in step.items()}
    again = tessera.Simulation(water, with_dynamics(**asked, **now))
    again.restore(tmp_path)
    again.step(5)
    planned.step(5)
    assert again.state_hash == planned.state_hash


def test_what_a_bath_can_not_take(water: Path) -> None:
    sim = tessera.Simulation(water, with_dynamics(ensemble="nvt"))
    sim.temperature = [[0, 300], [0.1, 310]]  # as in a run file
    sim.add_hook(lambda s: setattr(s, "temperature", 310))
    wrong = [
        (-1, "temperature = -1, expected"),
        ("hot", "expected"),
        (None, "temperature is None"),
        (float("nan"), "nan"),
    ]
    for value, words in (*wrong, (0, "temperature is 0 K, expected more")):
        with pytest.raises(tessera.InputError, match=words):
            sim.temperature = value  # type: ignore[assignment]
    with pytest.raises(tessera.RunError, match="a change of the temperature in a hook"):
        sim.step(1)
    with pytest.raises(
        tessera.InputError, match=r'no bath for the pressure: dynamics\.ensemble is "nvt", expected "npt"'
    ):
        sim.pressure = 1.0
    free = tessera.Simulation(water, SHORT)
    for name in ("temperature", "pressure"):
        with pytest.raises(tessera.InputError, match=f'no bath for the {name}: dynamics.ensemble is "nve"'):
            setattr(free, name, 310)
    halves = [{"select": "index 0:1499", "temperature": 300}, {"select": "index 1500:2999", "temperature": 300}]
    settings = {**with_dynamics(ensemble="nvt", coupling_every=1), "bath": halves}
    both = tessera.Simulation(water, settings)
    both.temperature = 350
    of_both = tessera.Simulation(water, {**settings, "bath": [{**half, "temperature": 350} for half in halves]})
    both.step(3)
    of_both.step(3)
    assert both.state_hash == of_both.state_hash
    halves[1]["temperature"] = 310
    with pytest.raises(tessera.InputError, match="have different temperatures"):
        tessera.Simulation(water, settings).temperature = 350


NO_NAMES = ["time", "n_atoms", "energies", "step", "temprature", "timestep", "cutoff", "steps"]


@pytest.mark.parametrize("name", NO_NAMES)
def test_what_can_not_be_set(water: Path, name: str) -> None:
    class Derived(tessera.Simulation):
        pass

    for kind in (tessera.Simulation, Derived):
        words = f"a {kind.__name__} has no {name} to set; positions, velocities, box, temperature and pressure"
        with pytest.raises(AttributeError, match=words):
            setattr(kind(water), name, 310)


def test_what_derived_classes_may_set(water: Path) -> None:
    class Mixin:
        def __init__(self, *arguments: Any, **named: Any) -> None:
            self.mixed = 1
            super().__init__(*arguments, **named)

    class Counting(tessera.Simulation):
        label = "water"
        target: float
        _private = 0

        def __init__(self, *arguments: Any, **named: Any) -> None:
            self.count = 0
            super().__init__(*arguments, **named)
            self.later = 1

        @property
        def k(self) -> float:
            return self.target

        @k.setter
        def k(self, value: float) -> None:
            self.target = 2 * value

    class Again(Mixin, Counting):
        pass

    for kind in (Counting, Again):
        sim = kind(water, with_dynamics(ensemble="nvt"))
        sim.count, sim.later, sim.label, sim._private, sim.k, sim.temperature = 3, 4, "x", 5, 6.0, 310
        assert (sim.count, sim.later, sim.label, sim.target, sim.temperature) == (3, 4, "x", 12.0, 310)
        for name in NO_NAMES:
            with pytest.raises(AttributeError, match=f"has no {name} to set"):
                setattr(sim, name, 1)
    assert (kind(water).mixed, kind.__init__.__name__) == (1, "__init__")

    class Wrong(tessera.Simulation):
        def __init__(self, path: Path) -> None:
            super().__init__(path)
            self.timestep = 4.0

    with pytest.raises(AttributeError, match="has no timestep to set"):
        Wrong(water)
    with pytest.raises(TypeError, match=r"Hot.temperature hides that of Simulation"):
        type("Hot", (tessera.Simulation,), {"temperature": 310})


def test_a_system_is_shown_in_a_line(water: Path) -> None:
    assert re.fullmatch(r"<System of 3,000 atoms in 1,000 molecules, periodic, from '.*'>", repr(systems.read(water)))


def test_the_package_shows_what_it_has() -> None:
    assert {"Simulation", "prepare_openmm"} <= set(dir(tessera))


def test_wrong_arguments(water: Path, tmp_path: Path) -> None:
    with pytest.raises(tessera.InputError, match="there is no such file"):
        tessera.Simulation(tmp_path / "no.tsr")
    with pytest.raises(tessera.InputError, match="threads is 0"):
        tessera.Simulation(water, SHORT, threads=0)
    with pytest.raises(tessera.InputError, match="expected an mpi4py communicator"):
        tessera.Simulation(water, SHORT, comm="world")
    sim = tessera.Simulation(water, SHORT)
    with pytest.raises(tessera.InputError, match=r"positions have the shape \(2, 3\)"):
        sim.positions = np.zeros((2, 3))
    with pytest.raises(tessera.InputError, match="velocities have numbers that are not finite"):
        sim.velocities = np.full((sim.n_atoms, 3), np.nan)
    with pytest.raises(tessera.InputError, match="-1 steps"):
        sim.step(-1)


def test_minimisation(water: Path) -> None:
    sim = tessera.Simulation(water, SHORT)
    before = sim.energies["potential"]
    partly = sim.minimize(max_force=1, max_steps=6)
    assert not partly.converged and partly.steps == 6 and partly.ending == "out of steps"
    result = sim.minimize(max_force=1)
    assert result.converged and result.ending == "converged" and result.max_force <= 1
    assert sim.energies["potential"] == result.energy < partly.energy < before
    assert sim.step_number == 0 and sim.energies["kinetic"] > 0
    other = tessera.Simulation(water, SHORT, threads=2)
    other.minimize(max_force=1, max_steps=6)
    other.minimize(max_force=1)
    assert other.state_hash == sim.state_hash
    sim.step(2)
    with pytest.raises(tessera.InputError, match="max_force is 0"):
        sim.minimize(max_force=0)
    for wrong, words in (
        (2.5, r"2\.5 steps.*, expected a whole number"),
        ("3", "'3' steps.*, expected a whole number"),
    ):
        for function in (sim.step, lambda n: sim.minimize(max_steps=n), lambda n: sim.add_hook(print, every=n)):
            with pytest.raises(tessera.InputError, match=words):
                function(wrong)  # type: ignore[operator]
    with pytest.raises(tessera.InputError, match="the hook is 3, expected a function"):
        sim.add_hook(3)  # type: ignore[arg-type]
    with pytest.raises(tessera.InputError, match="-1 steps, expected 0 or more"):
        sim.minimize(max_steps=-1)


def test_overlapping_molecules_may_be_minimised(water: Path) -> None:
    """Two molecules lie 1 Å apart: no step is possible, but a minimisation is."""
    system = systems.read(water)
    positions = tessera.Simulation(system, SHORT).positions.reshape(-1, 3, 3)
    positions[7] += positions[0, 0] + [1.0, 0, 0] - positions[7, 0]
    system.fraction = to_fraction(positions.reshape(-1, 3), system.box)
    sim = tessera.Simulation(system, SHORT)
    assert sim.energies["lj"] > 1e4
    with pytest.raises(tessera.RunError, match="the run has blown up"):
        tessera.Simulation(system, SHORT).step(1)
    assert sim.minimize(max_force=20).converged
    sim.step(5)
    assert sim.energies["temperature"] < 400


def test_minimisation_with_a_force_of_python(water: Path) -> None:
    """A spring pulls an atom; at the minimum it is balanced, and the energy has its term."""
    sim = tessera.Simulation(water, SHORT)
    target = sim.positions[3] + [0.5, 0, 0]

    def pull(atoms: Any) -> tuple[Any, float]:
        away = atoms.nearest_image(atoms.positions - target)
        return -200 * away, float(100 * (away**2).sum())

    sim.add_force(pull, atoms=[3])
    assert sim.energies["external"] == pytest.approx(25)
    result = sim.minimize(max_force=1)
    assert result.converged
    assert 0 < sim.energies["external"] < 5


def test_a_blow_up_is_an_exception(water: Path) -> None:
    with pytest.raises(tessera.RunError, match="the run has blown up"):
        tessera.Simulation(water, with_dynamics(timestep=20.0)).step(50)


CYCLES = """
import gc, sys
import tessera
from tessera import system
from resource import getpagesize
water = system.read(sys.argv[1])
resident = lambda: int(open("/proc/self/statm").read().split()[1]) * getpagesize() / 1e6
def cycle(n):
    for _ in range(n):
        sim = tessera.Simulation(water, {"interactions": {"cutoff": 9.0, "switch": 8.0}}, threads=2)
        sim.add_hook(lambda s, sim=sim: None)  # a circle
        sim.step(1)
        del sim
        gc.collect()
cycle(10)
before = resident()
cycle(int(sys.argv[2]))
print(resident() - before)
"""


@pytest.mark.parametrize("cycles", [100, pytest.param(1000, marks=pytest.mark.slow(part="faults"))])
def test_memory_is_given_back(water: Path, cycles: int) -> None:
    """A cycle that kept its simulation would keep a megabyte and two threads."""
    assert float(run_program([sys.executable, "-c", CYCLES, water, str(cycles)]).stdout) < 8
    gc.collect()
