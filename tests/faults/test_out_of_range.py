"""Velocities and positions that the engine has no numbers for are refused, wherever they come from; none wraps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tessera
from tessera import system as systems
from tessera.errors import InputError
from tessera.prepare.assemble import check_coordinates
from tessera.prepare.coordinates.model import Coordinates
from tessera.prepare.dlpoly import prepare_dlpoly
from tessera.select.references import _topology
from tessera.system.blocks import to_fraction
from tests.support.samples import sample

SETTINGS = {"dynamics": {"seed": 7, "steps": 2}}
TOO_FAST = [5000.0, 2048.0, -2048.0, 2047.9999999, 1e20, 1e300]


@pytest.fixture
def sim() -> tessera.Simulation:
    pytest.importorskip("tessera._md_serial", reason="the Python modules are not built")
    return tessera.Simulation(sample("peptide"), SETTINGS)


@pytest.mark.parametrize("speed", TOO_FAST)
def test_velocities(sim: tessera.Simulation, tmp_path: Path, speed: float) -> None:
    before = sim.velocities
    given = before.copy()
    given[4, 1] = speed
    with pytest.raises(tessera.InputError, match=r"^atom 5 \(.*\) moves at .* Å/ps, expected less than 2048"):
        sim.velocities = given
    assert np.array_equal(sim.velocities, before)

    system = systems.read(sample("peptide"))
    system.velocity = given
    with pytest.raises(tessera.InputError, match=r"atom 5 moves at .* Å/ps, expected less than 2,048"):
        tessera.Simulation(system, SETTINGS)
    with pytest.raises(InputError, match="atom 5 moves at"):
        systems.write(system, tmp_path / "fast.tsr")
    topology = _topology(system)
    with pytest.raises(InputError, match=r"moves at .* Å/ps, expected less than 2,048"):
        check_coordinates(topology, Coordinates(np.zeros((system.n_atoms, 3)), None, given))


def test_velocities_of_a_system_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files from before such velocities were refused have them; without them they are of use."""
    pytest.importorskip("tessera._md_serial", reason="the Python modules are not built")
    system = systems.read(sample("peptide"))
    system.velocity = np.zeros((system.n_atoms, 3))
    system.velocity[4, 1] = 5000.0
    monkeypatch.setattr("tessera.system.validate.check_velocities", lambda *_: None)
    monkeypatch.setattr("tessera.system.file.check_velocities", lambda *_: None)
    systems.write(system, tmp_path / "fast.tsr")
    with pytest.raises(tessera.InputError, match=r"fast.tsr: atom 5 \(.*\) moves at 5000 Å/ps"):
        tessera.Simulation(tmp_path / "fast.tsr", SETTINGS)
    settings = {"dynamics": {**SETTINGS["dynamics"], "velocities": "generate"}}
    tessera.Simulation(tmp_path / "fast.tsr", settings).step(1)


def test_the_fastest_that_fits(sim: tessera.Simulation) -> None:
    given = np.zeros((sim.n_atoms, 3))
    given[0] = 999.0, 0, 0  # beyond 1,000 Å/ps a run has blown up
    sim.velocities = given
    assert sim.velocities[0, 0] > 500


def test_positions(sim: tessera.Simulation) -> None:
    before, box = sim.positions, sim.box
    for far in (1e30, -1e30, 1.1 * 2**20 * box[0, 0]):
        given = before.copy()
        given[4, 0] = far
        with pytest.raises(tessera.InputError, match=r"^atom 5 \(.*\) is at \(.*\) Å, more than 1048576 boxes away"):
            sim.positions = given
        with pytest.raises(InputError, match=r"atom 5 is at \(.*\) Å, more than 1,048,576 boxes away"):
            to_fraction(given, box)
    assert np.array_equal(sim.positions, before)
    given = before + np.array([900_000, -1_000_000, 1_000_000]) @ box
    sim.positions = given
    assert np.abs(sim.positions - before).max() < 1e-6
    assert np.abs(to_fraction(given, box).astype(np.int64) - to_fraction(before, box)).max() <= 4


@pytest.mark.parametrize(
    ("numbers", "word"), [("0 0 0\n 0 5000 0", "moves at 5000 Å/ps"), ("0 1e30 0\n 0 0 0", "boxes away")]
)
def test_config(tmp_path: Path, numbers: str, word: str) -> None:
    (tmp_path / "FIELD").write_text(
        "argon\nunits kcal\nmolecules 1\nAr\nnummols 1\natoms 1\nAr 39.9 0.0\nfinish\nvdw 1\nAr Ar lj 0.2 3.4\nclose\n"
    )
    (tmp_path / "CONFIG").write_text(f"argon\n 1 1 1\n 30 0 0\n 0 30 0\n 0 0 30\nAr 1\n {numbers}\n")
    with pytest.raises((InputError, InputError), match=word):
        prepare_dlpoly(tmp_path / "FIELD", tmp_path / "CONFIG")


def test_numbers_that_are_no_real_ones(sim: tessera.Simulation) -> None:
    for name in ("positions", "velocities"):
        with pytest.raises(tessera.InputError, match=f"{name} have no numbers that can be read: they are complex"):
            setattr(sim, name, getattr(sim, name) + 1j)
    with pytest.raises(tessera.InputError, match=r"the box has no numbers that can be read: they are complex"):
        sim.box = sim.box + 0j
    n = sim.n_atoms
    forces = np.zeros((n, 3))
    for returned, words in (
        (
            (forces, np.ones(3)),
            rf"the energy .* has the shape \(3,\), expected one number, or {n:,}, one for each atom",
        ),
        ((forces, np.ones((n, 3))), "the energy .* has the shape"),
        ((forces, 1j), "can't be read: they are complex"),
        ((forces, "much"), "can't be read"),
        ((forces, 0, np.ones((3, 6))), r"the virial .* has the shape \(3, 6\), expected \(6,\)"),
        (forces + 1j, "they are complex"),
    ):
        with pytest.raises(tessera.InputError, match=words):
            sim.add_force(lambda atoms, returned=returned: returned)
    sim.add_force(lambda atoms: (forces, np.ones(n), np.zeros((n, 6))))
    assert sim.energies["external"] == pytest.approx(n)


WIDE = 1e6  # Å


def test_a_box_of_more_cells_than_memory_has_room_for(tmp_path: Path) -> None:
    """It is refused before memory is reserved, and the simulation goes on as it was."""
    pytest.importorskip("tessera._md_serial", reason="the Python modules are not built")
    settings = {**SETTINGS, "interactions": {"electrostatics": "cut"}}
    sim = tessera.Simulation(sample("peptide"), settings)
    before, box = sim.state_hash, sim.box
    message = r"^the box is cut into \d+ × \d+ × \d+ cells, which takes .* GB of memory on each rank, and"
    with pytest.raises(tessera.InputError, match=message):
        sim.box = np.diag([WIDE] * 3)
    with pytest.raises(tessera.InputError, match=r"^box vectors must be at most 1,000,000 Å long, found one of 1\.1e"):
        sim.box = np.diag([1.1 * WIDE, 50.0, 50.0])
    assert sim.state_hash == before and np.array_equal(sim.box, box)
    sim.step(1)

    wide = systems.read(sample("peptide"))
    wide.box = np.diag([WIDE] * 3)
    with pytest.raises(tessera.InputError, match=message):
        tessera.Simulation(wide, settings)
    systems.write(wide, tmp_path / "wide.tsr")  # its blocks are larger ones
    assert np.array_equal(systems.read(tmp_path / "wide.tsr").fraction, wide.fraction)


def test_a_mesh_of_more_points_than_memory_has_room_for() -> None:
    pytest.importorskip("tessera._md_serial", reason="the Python modules are not built")
    message = r"^the PME mesh has 65536 × 65536 × 65536 points, which takes .* GB of memory .*; take a coarser mesh"
    with pytest.raises(tessera.InputError, match=message):
        tessera.Simulation(sample("peptide"), {**SETTINGS, "pme": {"grid": [65536] * 3}})
