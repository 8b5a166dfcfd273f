"""What runs do with virtual sites: minimisation, fixed atoms, restraints, heavy hydrogens, trajectories, bad starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera.prepare.charmm import prepare_charmm
from tessera.prepare.gromacs import prepare_gromacs
from tessera.system import System, read, write
from tests.support.programs import Run
from tests.support.runs import Runs, Settings
from tests.support.sites import CUTOFF, write_lone_pairs, write_molecules, write_water

SHORT: Settings = {"interactions.cutoff": CUTOFF, "interactions.switch": 7.0, "dynamics.seed": 3}


@pytest.fixture(scope="module")
def opc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_water("opc", tmp_path_factory.mktemp("opc"))


def check_places(system: System, fraction: np.ndarray, tolerance: float = 1e-7) -> None:
    """Checks that sites are where NumPy puts them."""
    system.fraction = fraction.astype(np.int32)
    assert np.abs(system.place_virtual_sites()).max() < tolerance


def test_minimisation_moves_sites_with_their_parents(run_engine: Run, opc: Path, tmp_path: Path) -> None:
    found = []
    for place, sizes in (("one", {}), ("two", {"mpi": "mpich", "ranks": 2})):
        (tmp_path / place).mkdir()
        positions = tmp_path / place / "positions.npy"
        words = ["--set", f"interactions.cutoff={CUTOFF}", "--set", "interactions.switch=7"]
        done = run_engine(
            "--minimize", opc, "--positions", positions, "--json", "--max-force", "20", *words, check=False, **sizes
        )
        found.append((json.loads(done.stdout), np.load(positions)))
    result, positions = found[0]
    assert result["max_force"] <= 20 and result["energy"] < -2000
    assert np.array_equal(positions, found[1][1])
    check_places(read(opc), positions)


def test_fixed_water_keeps_its_sites(runs: Runs, opc: Path) -> None:
    settings: Settings = {**SHORT, "dynamics.steps": 10, "dynamics.timestep": 0.5, "dynamics.com_removal_every": 0}
    found = runs.run(opc, {**settings, "dynamics.fixed": "index 0:39"})
    assert found.report["results"]["degrees_of_freedom"] == 6 * (216 - 10)
    refused = runs.run(opc, {**settings, "dynamics.fixed": "index 3"}, check=False)
    assert "selects the virtual site" in refused.process.stderr and "which it follows" in refused.process.stderr


def test_a_restraint_on_sites_alone_is_refused(runs: Runs, opc: Path) -> None:
    path = runs.run_file(opc, {**SHORT, "dynamics.steps": 5})
    path.write_text(
        path.read_text()
        + '[[restraint]]\nkind = "distance"\ngroups = ["index 3", "index 40:42"]\nk = 1.0\ntarget = 5.0\n'
    )
    refused = runs.start(path, check=False)
    assert "has virtual sites alone, without a mass" in refused.process.stderr


def test_heavy_hydrogens_leave_sites_alone(runs: Runs, tmp_path: Path) -> None:
    """Hydrogens in a group that sites have joined take mass from the atom that they are bonded to."""
    top, gro = write_molecules("cog", tmp_path)
    text = top.read_text().replace("C 12.0 0.0 A", "H 1.008 0.0 A 0.2 0.05\nC 12.0 0.0 A")
    text = text.replace("5 C 1 MOL C5 1 0.10 12.0", "5 H 1 MOL H5 1 0.10 1.008")
    top.write_text(text)
    gro.write_text(gro.read_text().replace(" C5", " H5"))
    write(prepare_gromacs(top, gro), tmp_path / "a.tsr")
    settings: Settings = {**SHORT, "dynamics.steps": 5, "dynamics.timestep": 0.5, "dynamics.hydrogen_mass": 3.0}
    assert runs.run(tmp_path / "a.tsr", settings).report["results"]["degrees_of_freedom"] == 27 * 14 - 3


def test_lone_pairs_run(runs: Runs, tmp_path: Path) -> None:
    write(prepare_charmm(*write_lone_pairs(tmp_path)[:2], [tmp_path / "chain.prm"]), tmp_path / "a.tsr")
    settings: Settings = {**SHORT, "dynamics.steps": 20, "dynamics.timestep": 0.5, "dynamics.temperature": 100}
    found = runs.run(tmp_path / "a.tsr", settings)
    assert found.report["results"]["degrees_of_freedom"] == 2 * 4 * 3 - 3
    assert np.ptp(found.table["total"]) < 0.05


def test_a_start_without_direction_is_named(runs: Runs, tmp_path: Path) -> None:
    system = prepare_gromacs(*write_molecules("2fd", tmp_path))
    system.fraction[1] = system.fraction[0]
    write(system, tmp_path / "a.tsr")
    refused = runs.run(tmp_path / "a.tsr", {**SHORT, "dynamics.steps": 5}, check=False)
    assert "the virtual site atom 6 (MOL 1 X) has no direction" in refused.process.stderr


def test_a_group_that_reaches_too_far_is_named(runs: Runs, tmp_path: Path) -> None:
    top, gro = write_molecules("2fd", tmp_path)
    top.write_text(top.read_text().replace("6 1 2 2 -0.11", "6 1 2 2 -0.65"))
    write(prepare_gromacs(top, gro), tmp_path / "a.tsr")
    refused = runs.run(tmp_path / "a.tsr", {**SHORT, "dynamics.steps": 5}, check=False)
    assert "the virtual site MOL X may be 6.5 Å from MOL C1" in refused.process.stderr


def test_trajectories_hold_sites(runs: Runs, opc: Path) -> None:
    import MDAnalysis

    settings: Settings = {
        **SHORT,
        "dynamics.steps": 10,
        "dynamics.timestep": 0.5,
        "output.trajectory_every": 5,
        "output.trajectory": "dcd",
    }
    found = runs.run(opc, settings)
    (trajectory,) = found.folder.glob("*.dcd")
    frames = MDAnalysis.coordinates.DCD.DCDReader(str(trajectory))
    sites: Any = read(opc).templates[0].virtual_sites
    for frame in frames:
        places = frame.positions.reshape(216, 4, 3).astype(float)
        assert places[:, 3] == pytest.approx(sites.place(places)[:, 0], abs=1e-4)


@pytest.mark.parametrize("column", ["frame", "position", "weights", "parents"])
def test_sites_count_in_a_restart(runs: Runs, tmp_path: Path, column: str) -> None:
    system = prepare_gromacs(*write_molecules("3out", tmp_path))
    write(system, tmp_path / "a.tsr")
    path = runs.run_file(tmp_path / "a.tsr", {**SHORT, "dynamics.steps": 2, "dynamics.timestep": 0.5})
    runs.start(path)
    sites = system.templates[0].virtual_sites
    if column == "frame":
        sites.frame[0] = 2
    elif column == "position":
        sites.position[0, 1] += 1e-9
    elif column == "weights":
        sites.weights[:2, 1] += (1e-9, -1e-9)
    else:
        sites.parents[1:, 1] = (2, 1)
    write(system, tmp_path / "a.tsr")
    found = runs.start(path, "--restart", "--set", "dynamics.steps=4", status=2)
    assert "templates/virtual_site" in found.process.stderr, found.process.stderr
