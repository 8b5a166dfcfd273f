"""A vacuum is one: nothing in it has an image, wherever atoms are, and coordinates are those of the input."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tessera
from tessera import system as systems
from tessera.export.configuration import read_configuration
from tessera.prepare.gromacs import prepare_gromacs
from tessera.select.references import with_coordinates
from tessera.simulation import Atoms
from tessera.system.blocks import to_fraction
from tessera.system.model import FloatArray
from tessera.system.vacuum import with_positions
from tessera.traj.trajectory import Trajectory
from tests.support.commands import said
from tests.support.programs import TESSERA, run_program

pytest.importorskip("tessera._md_serial", reason="the Python modules are not built")

ATOMS = Path(__file__).parent.parent / "reports" / "vacuum"
COULOMB = 332.0637133  # of GROMACS, kcal Å mol⁻¹ e⁻²


def pair(name: str) -> systems.System:
    return prepare_gromacs(ATOMS / f"{name}.top", ATOMS / f"{name}.gro", vacuum=True)


def settings(cutoff: float, **keys: Any) -> dict[str, Any]:
    return {
        "interactions": {"electrostatics": "cut", "lj": "cut", "cutoff": cutoff},
        "dynamics": {"steps": 4000, "timestep": 0.5, "velocities": "file", "com_removal_every": 0},
        **keys,
    }


def distance(positions: FloatArray) -> float:
    return float(np.linalg.norm(positions[1] - positions[0]))


def test_a_run_finds_nothing_to_double() -> None:
    system = pair("c")
    sim = tessera.Simulation(system, settings(1000.0))
    np.testing.assert_array_equal(sim.positions, system.positions())


@pytest.mark.parametrize("is_old", [False, True])
def test_two_atoms_fly_apart_for_ever(is_old: bool) -> None:
    system = pair("b")
    if is_old:  # of the time when a vacuum was a box with images
        box = np.diag([55.0, 40.0, 40.0])
        system = replace(system, box=box, fraction=to_fraction(system.positions() - system.origin, box))
    sim = tessera.Simulation(system, settings(12.0))
    sim.step(2400)
    assert distance(sim.positions) == pytest.approx(52.95, abs=0.01)
    assert sim.energies["lj"] == 0
    sim.step(1600)
    assert distance(sim.positions) == pytest.approx(84.91, abs=0.01)


@pytest.mark.parametrize(("cutoff", "expected"), [(24.0, 122.4), (1000.0, 130.0)])
def test_two_ions_part(cutoff: float, expected: float) -> None:
    """Within the cut-off they speed up, and then go on."""
    sim = tessera.Simulation(pair("c"), settings(cutoff))
    sim.step(4000)
    assert distance(sim.positions) == pytest.approx(expected, abs=0.1)
    if cutoff > expected:
        assert sim.energies["coulomb_real"] == pytest.approx(COULOMB / distance(sim.positions), rel=1e-5)


@pytest.mark.parametrize("apart", [5.0, 100.0, 1000.0, 8000.0])
def test_atoms_may_be_put_anywhere(apart: float) -> None:
    sim = tessera.Simulation(pair("c"), settings(1e5))
    places = np.array([[-apart / 2, 0.3, -0.1], [apart / 2, 0.3, -0.1]])
    sim.positions = places
    np.testing.assert_allclose(sim.positions, places, atol=1e-5)
    assert sim.energies["coulomb_real"] == pytest.approx(COULOMB / apart, rel=2e-6)


def test_atoms_too_far_apart_are_named() -> None:
    sim = tessera.Simulation(pair("c"), settings(24.0))
    with pytest.raises(tessera.InputError, match=r"atom 2 \(NA.*\) is 40000 Å from the middle"):
        sim.positions = [[0, 0, 0], [40000, 0, 0]]
    with pytest.raises(tessera.InputError, match="a vacuum has no box"):
        sim.box = np.diag([100.0, 100.0, 100.0])


def test_a_restart_on_the_way_has_the_same_bits(tmp_path: Path) -> None:
    """Before, between and after doublings."""
    whole = tessera.Simulation(pair("b"), settings(12.0))
    other = tessera.Simulation(pair("b"), settings(12.0))
    edges = {whole.box[0, 0]}
    for _ in range(4):
        whole.step(1000)
        other.step(1000)
        edges.add(whole.box[0, 0])
        other.save(tmp_path)
        other = tessera.Simulation(pair("b"), settings(12.0))
        other.restore(tmp_path)
        assert other.state_hash == whole.state_hash
    assert len(edges) > 2


def test_a_restraint_reaches_far() -> None:
    restraint = {"kind": "distance", "groups": ["index 0", "index 1"], "target": 100.0, "k": 5.0}
    sim = tessera.Simulation(pair("b"), settings(12.0, restraint=[restraint]))
    assert sim.minimize(max_force=0.01, max_steps=20000).energy < 1e-3
    assert distance(sim.positions) == pytest.approx(100.0, abs=0.05)


def test_references_may_be_far_away(tmp_path: Path) -> None:
    """Where no frame of the start reaches."""
    systems.write(with_positions(pair("b"), np.array([[-100.0, 0, 0], [100.0, 0, 0]])), tmp_path / "far.tsr")
    restraint = {"kind": "position", "select": "all", "k": 2.0, "reference": str(tmp_path / "far.tsr")}
    sim = tessera.Simulation(pair("b"), settings(12.0, restraint=[restraint]))
    sim.minimize(max_force=0.01, max_steps=20000)
    np.testing.assert_allclose(sim.positions, [[-100, 0, 0], [100, 0, 0]], atol=0.02)


def test_references_may_be_files_of_coordinates(tmp_path: Path) -> None:
    """They have the coordinates of the input, wherever its middle is."""
    lines = (ATOMS / "b.gro").read_text().splitlines()
    (tmp_path / "far.gro").write_text("\n".join([*lines[:3], f"{lines[3][:20]}{70.0:8.3f}{lines[3][28:]}", lines[4]]))
    system = replace(pair("b"), origin=np.array([900.0, -30.0, 5.0]))
    systems.write(with_coordinates(system, tmp_path / "far.gro"), tmp_path / "far.tsr")
    restraint = {"kind": "position", "select": "all", "k": 2.0, "reference": str(tmp_path / "far.tsr")}
    sim = tessera.Simulation(system, settings(12.0, restraint=[restraint]))
    sim.minimize(max_force=0.01, max_steps=20000)
    np.testing.assert_allclose(sim.positions, [[0, 0, 0], [700, 0, 0]], atol=0.02)


def test_a_system_file_holds_no_table_of_empty_space(tmp_path: Path) -> None:
    """Blocks of 16 Å between two molecules that are 5,000 Å from each other would take 6 GB."""
    places = np.array([[-2500.0, 2500.0, -2500.0], [2500.0, -2500.0, 2500.0]])
    systems.write(with_positions(pair("b"), places), tmp_path / "far.tsr")
    assert (tmp_path / "far.tsr").stat().st_size < 20e6
    np.testing.assert_allclose(systems.read(tmp_path / "far.tsr").positions(), places, atol=1e-5)
    sim = tessera.Simulation(tmp_path / "far.tsr", settings(12.0))
    np.testing.assert_allclose(sim.positions, places, atol=1e-5)


@pytest.mark.parametrize("shift", [0.0, 900.0])
def test_exports_and_trajectories_have_the_coordinates_of_the_input(tmp_path: Path, shift: float) -> None:
    lines = (ATOMS / "b.gro").read_text().splitlines()
    moved = [f"{line[:20]}{float(line[20:28]) + shift / 10:8.3f}{line[28:]}" for line in lines[2:4]]
    (tmp_path / "b.gro").write_text("\n".join([*lines[:2], *moved, lines[4]]) + "\n")
    system = prepare_gromacs(ATOMS / "b.top", tmp_path / "b.gro", vacuum=True)
    systems.write(system, tmp_path / "b.tsr")
    expected = np.array([[shift, 0, 0], [shift + 5, 0, 0]])
    np.testing.assert_allclose(systems.read(tmp_path / "b.tsr").positions(), expected, atol=1e-5)

    output = {"folder": str(tmp_path / "out"), "trajectory_every": 1000, "energy_every": 1000}
    sim = tessera.Simulation(tmp_path / "b.tsr", settings(12.0, output=output))
    np.testing.assert_allclose(sim.positions, expected, atol=1e-5)
    sim.run()
    end = sim.positions
    sim.save(tmp_path / "out")
    frames = Trajectory(tmp_path / "out")
    assert frames[4].box is None
    np.testing.assert_allclose(frames[4].positions, end, atol=2e-4)
    for words in ([], ["--frame", "4"]):
        said("export", tmp_path / "out", *words, "-o", tmp_path / "x.gro", "--force")
        rows = (tmp_path / "x.gro").read_text().splitlines()[2:4]
        found = np.array([[10 * float(row[20 + 8 * i : 28 + 8 * i]) for i in range(3)] for row in rows])
        np.testing.assert_allclose(found, end, atol=0.01)


def test_a_run_that_leaves_the_longest_frame_stops_with_a_checkpoint(tmp_path: Path) -> None:
    system = pair("b")
    system.velocity = np.array([[0.0, 0.0, 0.0], [900.0, 0.0, 0.0]])
    systems.write(system, tmp_path / "b.tsr")
    run = (ATOMS / "b.toml").read_text().replace("timestep = 0.5", "timestep = 4.0")
    (tmp_path / "b.toml").write_text(run)
    command = [*TESSERA, "run", "b.toml"]
    done = run_program(command, cwd=tmp_path, check=False)
    assert done.returncode == 3
    assert "atom 2 (" in done.stderr and "from the middle of the vacuum" in done.stderr
    assert "its checkpoint is written" in done.stderr
    found = read_configuration(tmp_path / "o_b")
    assert found.step is not None and 0 < found.step < 4000
    assert distance(found.system.positions()) > 4096


def test_a_force_of_python_sees_the_coordinates_of_the_input() -> None:
    """Wherever these are, and without images."""
    system = pair("b")
    system.origin = np.array([900.0, 0.0, -3.0])
    sim = tessera.Simulation(system, settings(12.0))
    seen = []

    def look(atoms: Atoms) -> FloatArray:
        seen.append(atoms.positions[np.argsort(atoms.ids)])
        assert not atoms.box.any()
        np.testing.assert_array_equal(atoms.nearest_image([[500.0, 0, 0]]), [[500.0, 0, 0]])
        return np.zeros((len(atoms.ids), 3))

    sim.add_force(look)
    sim.step(1)
    np.testing.assert_allclose(seen[-1], sim.positions, atol=1e-9)
    assert seen[-1][0, 0] > 890


@pytest.mark.parametrize("ranks", [1, 2])
def test_minimize_writes_a_frame_that_holds_the_atoms(tmp_path: Path, ranks: int) -> None:
    """Two ions that repel each other go as far as they are let; the sum is that of one pair, however far."""
    systems.write(pair("c"), tmp_path / "c.tsr")
    choices = ["--set", "interactions.electrostatics=cut", "--set", "interactions.cutoff=1000", "-n", str(ranks)]
    minimize = [*TESSERA, "minimize", "c.tsr", "-o", "m.tsr", "--max-force", "0.3", *choices]
    done = run_program(minimize, cwd=tmp_path, check=False)
    assert (tmp_path / "m.tsr").exists(), done.stderr
    apart = distance(systems.read(tmp_path / "m.tsr").positions())
    assert apart > 20
    found = json.loads(run_program([*TESSERA, "energy", "m.tsr", "--json", *choices], cwd=tmp_path).stdout)
    assert found["terms"]["coulomb_real"] == pytest.approx(COULOMB / apart, rel=1e-5)
