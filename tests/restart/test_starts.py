"""New runs that begin where other runs ended (`input.start`): what they keep, what they change, what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.support.runs import Outcome, Runs, Settings
from tests.support.samples import last_state, sample

EQUIL: Settings = {
    "dynamics.steps": 20,
    "dynamics.ensemble": "npt",
    "dynamics.temperature": 320.0,
    "dynamics.coupling_every": 5,
    "dynamics.tau_p": 0.5,
    "output.energy_every": 5,
}


@pytest.fixture(scope="module")
def equil(runs: Runs) -> Outcome:
    """Returns a run at constant pressure, so that its box is not that of the system file."""
    return runs.run(sample("peptide"), EQUIL)


def box_edges(outcome: Outcome, row: int) -> np.ndarray:
    return np.array([outcome.table[name][row] for name in ("box_a", "box_b", "box_c")])


def test_a_start_keeps_positions_velocities_and_box(runs: Runs, equil: Outcome) -> None:
    """A run of no steps leaves what it began with."""
    found = runs.run(sample("peptide"), {"dynamics.steps": 1, "input.start": str(equil.folder)})
    assert "the run starts from step 20 of " in found.process.stderr
    assert found.table["step"][0] == 0 and found.table["time"][0] == 0
    assert found.table["kinetic"][0] == pytest.approx(equil.table["kinetic"][-1], rel=1e-5)
    assert found.table["potential"][0] == pytest.approx(equil.table["potential"][-1], rel=1e-4)
    np.testing.assert_array_equal(box_edges(found, 0), box_edges(equil, -1))


@pytest.mark.mpi
def test_other_settings_and_the_same_bits(runs: Runs, equil: Outcome) -> None:
    """Time step, ensemble, bath, constraints, cut-off and masses may change; ranks and restarts change no bit."""
    settings: Settings = {
        "input.start": str(equil.folder / "checkpoint"),
        "interactions.cutoff": 8.0,
        "interactions.switch": 7.0,
        "dynamics.steps": 30,
        "dynamics.timestep": 1.0,
        "dynamics.ensemble": "nvt",
        "dynamics.thermostat": "langevin",
        "dynamics.constraints": "none",
        "dynamics.hydrogen_mass": 3.0,
        "dynamics.seed": 5,
        "output.energy_every": 10,
    }
    whole = runs.run(sample("peptide"), settings)
    np.testing.assert_array_equal(box_edges(whole, -1), box_edges(equil, -1))
    assert runs.run(sample("peptide"), settings, mpi="mpich", ranks=3, threads=2).hash == whole.hash
    path = runs.run_file(sample("peptide"), {**settings, "dynamics.steps": 13})
    runs.start(path)
    moved = equil.folder.rename(equil.folder.with_name("gone"))  # a restart does not need the start any more
    try:
        found = runs.start(path, "--restart", "--set", "dynamics.steps=30", mpi="openmpi", ranks=2)
    finally:
        moved.rename(equil.folder)
    assert found.hash == whole.hash


def test_the_mesh_follows_the_box_of_the_start(runs: Runs) -> None:
    """It also does so in a restart, whose settings are compared, and in a run from settings.toml."""
    begin = runs.run(sample("peptide"), {"dynamics.steps": 1, "dynamics.velocities": "zero"})
    grown = {**EQUIL, "dynamics.pressure": -20000.0, "dynamics.tau_p": 0.05, "input.start": str(begin.folder)}
    wide = runs.run(sample("peptide"), grown)
    spacing = 1.001 * box_edges(begin, 0)[0] / 30  # 30 points do in the first box, and not in the second
    settings: Settings = {"dynamics.steps": 10, "input.start": str(wide.folder), "pme.spacing": float(spacing)}
    path = runs.run_file(sample("peptide"), settings)
    half = runs.start(path, "--set", "dynamics.steps=5")
    assert box_edges(half, 0)[0] > 1.03 * box_edges(begin, 0)[0]
    assert half.report["results"]["pme_grid"][0] > 30
    found = runs.start(path, "--restart")
    again = runs.run_engine(half.folder / "settings.toml", "--set", f"output.folder={half.folder}/2", cwd=half.folder)
    assert again.returncode == 0
    assert Outcome(again, half.folder / "2").hash == found.hash


def test_velocities(runs: Runs, equil: Outcome) -> None:
    settings: Settings = {"dynamics.steps": 1, "input.start": str(equil.folder)}
    assert runs.run(sample("peptide"), {**settings, "dynamics.velocities": "zero"}).table["kinetic"][0] == 0
    drawn = runs.run(sample("peptide"), {**settings, "dynamics.velocities": "generate", "dynamics.temperature": 77.0})
    assert drawn.table["temperature"][0] == pytest.approx(77.0, rel=1e-4)
    still = runs.run(sample("peptide"), {**settings, "dynamics.velocities": "zero", "dynamics.steps": 0}, check=False)
    assert still.process.returncode == 0


def test_repeated_random_numbers_are_told_of(runs: Runs, equil: Outcome) -> None:
    settings: Settings = {"dynamics.steps": 1, "dynamics.ensemble": "nvt", "input.start": str(equil.folder)}
    assert "set another" in runs.run(sample("peptide"), settings).process.stderr
    assert "set another" not in runs.run(sample("peptide"), {**settings, "dynamics.seed": 2}).process.stderr


@pytest.mark.mpi
def test_bad_starts(runs: Runs, equil: Outcome, tmp_path: Path) -> None:
    def message(start: Path | str, system: str = "peptide", **sizes: object) -> str:
        done = runs.run(sample(system), {"dynamics.steps": 1, "input.start": str(start)}, status=2, **sizes)
        assert not done.folder.exists() or not list(done.folder.glob("*.csv"))
        errors = [line for line in done.process.stderr.splitlines() if "tessera-md: error" in line]
        assert len(errors) == 1
        return errors[0]

    assert "there is no " in message(tmp_path / "equil")
    assert "holds no checkpoint, expected the folder of a run; of its folders these hold one: output" in message(
        equil.folder.parent
    )
    assert "is of another system" in message(equil.folder, "water", mpi="openmpi", ranks=2)
    assert "is no checkpoint" in message(equil.folder / "energy.csv")
    broken = tmp_path / "broken"
    shutil.copytree(equil.folder, broken)
    for path in broken.glob("*.tck"):
        path.write_bytes(path.read_bytes()[:-5])
    assert "no good checkpoint" in message(broken)


def test_a_start_is_read_whole(runs: Runs, equil: Outcome) -> None:
    """The new run begins with the positions of the checkpoint."""
    settings: Settings = {"dynamics.steps": 0, "input.start": str(equil.folder), "output.folder": "here"}
    path = runs.run_file(sample("peptide"), settings)
    runs.start(path, "--set", "dynamics.steps=1", "--set", "dynamics.timestep=0.000001")
    found = last_state(path.parent / "here")[0]
    before = last_state(equil.folder)[0]
    difference = (np.asarray(found, np.int64) - np.asarray(before, np.int64)).astype(np.int32)
    assert np.abs(difference).max() * 2.0**-32 * 30 < 1e-5
