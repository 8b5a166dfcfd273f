"""What is exported of a run: its checkpoints, held against the engine's own reading of them, and its frames."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from bench.common.polymer import make_polymer
from tessera.build.water import make_water
from tessera.errors import InputError
from tessera.export.checkpoint import VERSION, read_checkpoint, read_header
from tessera.export.configuration import LAST, read_configuration
from tessera.export.structure import structure_of
from tessera.system import write
from tessera.system.layout import joined
from tests.support.checkpoints import flip, with_header
from tests.systems.test_layout import in_units

MDAnalysis = pytest.importorskip("MDAnalysis")
pytest.importorskip("tessera._md_serial", reason="the Python modules are not built")

EVERY = 5
STEPS = 20


def settings(folder: Path, trajectory: str) -> dict[str, Any]:
    return {
        "interactions": {"cutoff": 9.0, "switch": 8.0},
        "dynamics": {"steps": STEPS, "seed": 3, "com_removal_every": 100},
        "parallel": {"pair_search_every": 8},
        "output": {
            "folder": str(folder), "trajectory": trajectory, "trajectory_every": EVERY, "checkpoint_every": 10,
            "velocities": trajectory in ("h5md", "history"),
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tessera.Simulation]:
    """A folder with the system and the runs `dcd`, `xtc`, `history`, `h5md`, and the simulation of the last."""
    folder = tmp_path_factory.mktemp("runs")
    write(make_water(3000), folder / "water.tsr")
    for trajectory in ("dcd", "xtc", "history", "h5md"):
        simulation = tessera.Simulation(folder / "water.tsr", settings(folder / trajectory, trajectory))
        simulation.run()
    return folder, simulation


@pytest.fixture
def copy(ran: tuple[Path, tessera.Simulation], tmp_path: Path) -> Path:
    """A run's folder that a test may change."""
    return Path(shutil.copytree(ran[0] / "dcd", tmp_path / "run"))


def test_a_checkpoint_is_what_the_engine_restores(ran: tuple[Path, tessera.Simulation]) -> None:
    folder, simulation = ran
    found = read_configuration(folder / "h5md")
    assert (found.step, found.time) == (STEPS, STEPS * 2.0 / 1000)
    assert np.array_equal(found.system.velocity, simulation.velocities)
    np.testing.assert_allclose(found.system.positions(), simulation.positions, rtol=0, atol=1e-12)
    assert np.array_equal(found.system.box, simulation.box)
    again = tessera.Simulation(folder / "water.tsr", settings(folder / "h5md", "h5md"))
    again.restore(folder / "h5md")
    assert np.array_equal(found.system.velocity, again.velocities)


def test_a_checkpoint_has_the_box_of_its_moment(ran: tuple[Path, tessera.Simulation], tmp_path: Path) -> None:
    simulation = tessera.Simulation(ran[0] / "water.tsr", settings(tmp_path, "dcd"))
    simulation.box = simulation.box * 1.01
    simulation.step(3)
    simulation.save(tmp_path)
    found = read_checkpoint(tmp_path)
    assert found.step == 3 and np.array_equal(found.box, simulation.box)
    position = (found.fraction * 2.0**-32) @ found.box
    np.testing.assert_allclose(position, simulation.positions, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["dcd", "xtc", "h5md", "history"])
def test_frames(ran: tuple[Path, tessera.Simulation], kind: str) -> None:
    folder = ran[0] / kind
    end = read_configuration(folder)
    last = read_configuration(folder, frame=LAST)
    assert (last.frame, last.step, last.time) == (STEPS // EVERY, STEPS, end.time)
    # in single precision, 4e-6 Å at 60 Å; an XTC rounds to 0.01 Å
    difference = last.system.fraction - end.system.fraction
    assert np.abs(difference * 2.0**-32 @ end.system.box).max() < (0.0051 if kind == "xtc" else 1e-5)
    np.testing.assert_allclose(last.system.box, end.system.box, rtol=1e-7 if kind == "xtc" else 0)
    first = read_configuration(folder, frame=1)
    assert (first.frame, first.step) == (1, EVERY)
    if kind in ("h5md", "history"):
        np.testing.assert_allclose(last.system.velocity, end.system.velocity, rtol=1e-6, atol=1e-6)
    else:
        assert last.system.velocity is None
    with pytest.raises(InputError, match="holds the frames 0 to 4, found --frame 5"):
        read_configuration(folder, frame=5)


def test_an_older_checkpoint_where_the_newest_is_damaged(copy: Path) -> None:
    newest = copy / "checkpoint.tck"
    flip(newest, newest.stat().st_size // 2)
    found = read_configuration(copy)
    assert found.step == 10 and found.source.name == "checkpoint.previous.tck"
    assert "are not what was written" in found.notes[0]
    (copy / "checkpoint.previous.tck").unlink()
    with pytest.raises(InputError, match=r"no good checkpoint in .*not what was written"):
        read_configuration(copy)
    newest.unlink()
    with pytest.raises(InputError, match="no checkpoint yet: --frame last"):
        read_configuration(copy)
    assert read_configuration(copy, LAST).step == STEPS


@pytest.mark.parametrize("size", [0, 10, 1000, -5])
def test_checkpoints_that_were_cut(copy: Path, size: int) -> None:
    data = (copy / "checkpoint.tck").read_bytes()[:size]
    for name in ("checkpoint.tck", "checkpoint.previous.tck"):
        (copy / name).write_bytes(data)
    with pytest.raises(InputError, match=r"is truncated|is damaged|expected"):
        read_configuration(copy)


def test_a_checkpoint_of_another_version(copy: Path) -> None:
    for name in ("checkpoint.tck", "checkpoint.previous.tck"):
        with_header(copy / name, f'"version":{VERSION}'.encode(), b'"version":9')
    with pytest.raises(InputError, match="of version 9, this tessera reads version 4: use a newer tessera"):
        read_configuration(copy)
    for name in ("checkpoint.tck", "checkpoint.previous.tck"):
        (copy / name).write_bytes(b"tessera-checkpoint 3\n{}\n")
    with pytest.raises(InputError, match="of version 3, this tessera reads version 4: begin the run anew"):
        read_configuration(copy)


def test_a_system_that_has_moved(copy: Path, ran: tuple[Path, tessera.Simulation], tmp_path: Path) -> None:
    text = (copy / "settings.toml").read_text()
    (copy / "settings.toml").write_text(text.replace("water.tsr", "gone.tsr"))
    with pytest.raises(InputError, match=r"gone.tsr, the system file of the run in .*, is not there; .* --system"):
        read_configuration(copy)
    assert read_configuration(copy, system=ran[0] / "water.tsr").step == STEPS

    other = make_water(3000)
    other.templates[0].atom_name = np.array(["OW", "HW1", "HW2"])
    write(other, tmp_path / "other.tsr")
    with pytest.raises(InputError, match=r"is not the system .* it has other templates/atom_name"):
        read_configuration(copy, system=tmp_path / "other.tsr")
    write(make_water(300), tmp_path / "few.tsr")
    with pytest.raises(InputError, match=r"is not the system .* it has other instances/runs"):
        read_configuration(copy, system=tmp_path / "few.tsr")
    with pytest.raises(InputError, match=r"has 3,000 atoms and .*few.tsr has 300"):
        read_configuration(copy, LAST, tmp_path / "few.tsr")


def test_folders_that_are_no_runs(copy: Path, ran: tuple[Path, tessera.Simulation], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"is no output folder of a run: it holds no settings.toml"):
        read_configuration(tmp_path / "empty")
    with pytest.raises(InputError, match="--frame needs the output folder of a run"):
        read_configuration(ran[0] / "water.tsr", LAST)
    (copy / "trajectory.dcd").write_bytes(b"no frames")
    with pytest.raises(InputError, match=r"cannot read trajectory.dcd"):
        read_configuration(copy, LAST)
    (copy / "trajectory.dcd").unlink()
    with pytest.raises(InputError, match=r"holds no trajectory trajectory.dcd: output.trajectory_every"):
        read_configuration(copy, LAST)
    (copy / "trajectory.trr").touch()
    changed = (copy / "settings.toml").read_text().replace('"dcd"', '"trr"')
    (copy / "settings.toml").write_text(changed)
    with pytest.raises(InputError, match=r"settings.toml has output.trajectory = 'trr', which no run writes"):
        read_configuration(copy, LAST)
    (copy / "settings.toml").write_text("[output")
    with pytest.raises(InputError, match=r"settings.toml can't be read"):
        read_configuration(copy)


def test_of_a_protocol_the_last_stage_that_has_it(ran: tuple[Path, tessera.Simulation], tmp_path: Path) -> None:
    """A checkpoint, or a trajectory."""
    protocol = tmp_path / "protocol"
    for name, start in (("second", ""), ("first", "second"), ("begun", "first")):
        shutil.copytree(ran[0] / "dcd", protocol / name)
        path = protocol / name / "settings.toml"
        text = path.read_text().replace('start = ""', f'start = "{start and protocol / start}"')
        path.write_text(text)
        assert f'start = "{start and protocol / start}"' in text
    for name in ("checkpoint.tck", "checkpoint.previous.tck"):
        (protocol / "begun" / name).unlink()
    (protocol / "first" / "trajectory.dcd").unlink()
    (protocol / "begun" / "trajectory.dcd").unlink()
    system = ran[0] / "water.tsr"
    assert read_configuration(protocol, system=system).source == protocol / "first" / "checkpoint.tck"
    assert read_configuration(protocol, LAST, system).source == protocol / "second" / "trajectory.dcd"
    shutil.copytree(ran[0] / "dcd", protocol / "another")
    with pytest.raises(InputError, match="several runs, which do not follow each other"):
        read_configuration(protocol, system=system)


def test_fingerprints_are_in_the_header(copy: Path) -> None:
    """The parts that are compared have the names that the engine gives them."""
    from tessera.export.checkpoint import _parts

    header = read_header(copy / "checkpoint.tck")
    assert set(_parts(make_water(24))) <= set(header["settings"]["input.system"])


def test_a_run_of_units_shows_whole_molecules(tmp_path: Path) -> None:
    """Its checkpoint fits its system file, and molecules are in one piece as if they were written whole."""
    path, run = tmp_path / "units.tsr", settings(tmp_path / "run", "dcd")
    write(in_units(make_polymer([200, 100], ions=2), []), path)
    run["dynamics"] = {"steps": 10, "timestep": 0.2, "constraints": "none"}
    tessera.Simulation(path, run).run()
    found = read_configuration(tmp_path / "run").system
    assert len(found.chains) == 2 and found.n_molecules == 8
    shown, whole = (structure_of(system, "") for system in (found, joined(found)))
    assert np.array_equal(shown.position, whole.position)
    for name in ("name", "residue_name", "residue_number", "segment"):
        assert np.array_equal(getattr(shown, name), getattr(whole, name))
    bonds = found.expand("bond")[0]
    assert np.linalg.norm(np.diff(shown.position[bonds], axis=1), axis=-1).max() < 10  # not torn
