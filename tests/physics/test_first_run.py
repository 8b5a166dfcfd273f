"""A first run keeps the temperature of water, leaves its start out of the drift, and adds to its report when it is
restarted; a run with clashing atoms names them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tessera.build.water import make_water
from tessera.system import System, write
from tests.support.runs import Runs, Settings
from tests.support.samples import changed, sample

FIRST: Settings = {"dynamics.timestep": 2.0, "output.energy_every": 10}


@pytest.mark.parametrize(
    "atoms", [651, *(pytest.param(n, marks=pytest.mark.slow(part="physics")) for n in (648, 999)), 3000]
)
def test_made_water_keeps_its_temperature(runs: Runs, tmp_path: Path, atoms: int) -> None:
    """The run lasts two picoseconds at constant energy, from velocities at 300 K."""
    write(make_water(atoms), tmp_path / "water.tsr")
    found = runs.run(tmp_path / "water.tsr", {**FIRST, "dynamics.steps": 1000}, threads=2)
    # the temperature of 648 atoms fluctuates by 7 K
    assert found.table["temperature"][20:].mean() == pytest.approx(300, abs=20)
    assert abs(found.report["results"]["drift_kT_ns_dof"]) < 0.5


def test_the_drift_is_one_number_everywhere(runs: Runs) -> None:
    found = runs.run(sample("peptide"), {**FIRST, "dynamics.steps": 300})
    table, report = found.table, found.report
    late = slice((len(table["time"]) + 2) // 4, None)
    assert table["drift"][-1] == report["results"]["drift_kT_ns_dof"]
    mean = {name: table[name][late].mean() for name in ("temperature", "pressure", "potential", "kinetic", "total")}
    for name, value in mean.items():
        assert report["averages"][name]["mean"] == pytest.approx(value, rel=1e-3), name
    slope = np.polyfit(table["time"][late], table["total"][late], 1)[0]
    assert table["drift"][-1] == pytest.approx(1000 * slope / (2 * mean["kinetic"]), rel=0.35, abs=0.05)
    assert np.isnan(table["drift"][0])


def test_the_report_begins_with_what_is_asked(runs: Runs) -> None:
    found = runs.run(sample("peptide"), {**FIRST, "dynamics.steps": 40})
    text = found.process.stdout
    places = [
        text.index(word)
        for word in (
            "peptide.tsr: 2,958 atoms",
            "0.08 ps simulated in 40 steps",
            "temperature",
            "pressure",
            "drift",
            "Output in",
            "To go on:",
            "phase",
        )
    ]
    assert places == sorted(places) and places[0] == 0, text
    assert "--restart --set dynamics.steps=80" in text


def test_the_report_holds_all_legs(runs: Runs) -> None:
    path = runs.run_file(sample("peptide"), FIRST)
    runs.start(path, "--set", "dynamics.steps=20")
    runs.start(path, "--restart", "--set", "dynamics.steps=50", threads=2)
    third = runs.start(path, "--restart", "--set", "dynamics.steps=60")
    legs = third.report["legs"]
    assert [(leg["first_step"], leg["last_step"], leg["threads"]) for leg in legs] == [
        (0, 20, 1),
        (20, 50, 2),
        (50, 60, 1),
    ]
    assert "The whole run is now 0.12 ps long, 60 steps." in third.process.stdout
    whole = runs.run(sample("peptide"), {**FIRST, "dynamics.steps": 60})
    assert third.table["drift"][2:].tolist() == whole.table["drift"][2:].tolist()  # two rows have no drift
    for damage in (lambda file: file.unlink(), lambda file: file.write_text("{")):
        damage(third.folder / "report.json")
        steps = int(third.table["step"][-1]) + 10
        third = runs.start(path, "--restart", "--set", f"dynamics.steps={steps}")
        assert "report.json" in third.process.stderr and "this leg of the run alone" in third.process.stderr
        assert len(third.report["legs"]) == 1


def test_progress_is_rewritten_where_the_launcher_saw_a_terminal(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's standard error is a pipe here, and reading it as text turns a carriage return into the end of a
    line."""
    settings: Settings = {**FIRST, "dynamics.steps": 20, "output.progress": "auto"}

    def progress() -> str:  # what follows the note on the run file
        text = runs.run(sample("peptide"), settings).process.stderr
        return text[text.index("\n") + 1 :] if text.startswith("tessera-md: note: ") else text

    assert progress().startswith("step 1 of 20")
    monkeypatch.setenv("TESSERA_TERMINAL", "1")
    assert progress().startswith("\nstep 1 of 20")


# Clashes.


def clashing(distance: float) -> System:
    """Adds two waters whose oxygens are `distance` Å from the oxygen of a third, on one side of it."""
    system = changed("peptide")
    for other, aside in ((2001, 0.0), (2004, 0.3 * distance)):
        move = system.fraction[33].astype(np.int64) - system.fraction[other]
        move[:2] += np.rint(np.array([distance, aside]) / np.diag(system.box)[:2] * 2**32).astype(np.int64)
        moved = system.fraction[other : other + 3] + move
        system.fraction[other : other + 3] = moved.astype(np.uint32).astype(np.int32)
    return system


@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize("distance", [0.12, 0.2, 0.3])
def test_energies_of_clashing_atoms_are_right(runs: Runs, tmp_path: Path, distance: float, precision: str) -> None:
    write(clashing(distance), tmp_path / "clash.tsr")
    found, forces = runs.forces(tmp_path / "clash.tsr", {"parallel.precision": precision})
    a = 4 * 0.1521 * (2 * 1.7682 / 2 ** (1 / 6)) ** 12
    pairs = [distance, distance * np.hypot(1, 0.3), 0.3 * distance]
    assert found["terms"]["lj"] == pytest.approx(sum(min(a / r**12, 2.0**60) for r in pairs), rel=1e-3)
    assert forces[33, 0] < -4e6  # the force points away from both, so its sign is right
    clashes = found["clashes"]
    assert clashes["pairs"] >= 3
    assert clashes["nearest"][0]["atoms"] == [2001, 2004]
    assert clashes["nearest"][0]["distance"] == pytest.approx(0.3 * distance, abs=1e-4)
    assert clashes["energies_are_lower_bounds"] == (0.3 * distance < 0.094)


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_clashes_are_the_same_on_any_ranks(runs: Runs, tmp_path: Path, mpi: str) -> None:
    write(clashing(0.12), tmp_path / "clash.tsr")
    one = runs.energy(tmp_path / "clash.tsr")
    for ranks, threads in ((2, 1), (3, 2)):
        assert runs.energy(tmp_path / "clash.tsr", mpi=mpi, ranks=ranks, threads=threads) == one


def test_clashes_are_named(runs: Runs, tmp_path: Path) -> None:
    write(clashing(0.2), tmp_path / "clash.tsr")
    text = runs.run_engine(
        "--energy", tmp_path / "clash.tsr", "--set=interactions.cutoff=9", "--set=interactions.switch=8"
    ).stdout
    assert "clashes: atom 2002 (" in text and "0.060 Å apart" in text
    assert "lower bounds" in text
    healthy = runs.run_engine(
        "--energy", sample("peptide"), "--set=interactions.cutoff=9", "--set=interactions.switch=8"
    ).stdout
    assert "clashes" not in healthy and "lower bounds" not in healthy
