"""A run takes the Lennard-Jones form of the program from which the system comes, unless the run file sets another."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.support.oracle import Settings as Reference
from tests.support.oracle import reference_energies
from tests.support.runs import Outcome, Runs, Settings, write_run_file
from tests.support.samples import sample


def run(runs: Runs, folder: Path, system: Path, settings: Settings, *words: str, check: bool = True) -> Outcome:
    """Runs the system with these settings and the defaults of all others but the length."""
    base: Settings = {"input.system": str(system), "dynamics.steps": 3, "output.folder": "output"}
    path = write_run_file(folder / "run.toml", {**base, "output.progress": "none", **settings})
    return runs.start(path, *words, check=check)


def energy(runs: Runs, system: Path, *words: str) -> dict[str, Any]:
    return dict(json.loads(runs.run_engine("--energy", system, "--json", *words).stdout))


def first_lines(found: Outcome) -> list[str]:
    return found.process.stdout.splitlines()[:3]


def in_effect(found: Outcome) -> dict[str, Any]:
    """Returns the content of `settings.toml`, after a check that the report has the same."""
    written = tomllib.loads((found.folder / "settings.toml").read_text())
    # In JSON, a section that may come many times and does not come is an empty list.
    assert written == {name: section for name, section in found.report["settings"].items() if section != []}
    return written


def test_an_amber_system_runs_as_in_amber(runs: Runs, tmp_path: Path) -> None:
    found = run(runs, tmp_path, sample("dipeptide_water"), {})
    results = found.report["results"]
    alpha, (x, y, z) = results["pme_alpha"], results["pme_grid"]
    system, lj, electrostatics = first_lines(found)
    assert system == "dipeptide_water.tsr: 2,269 atoms, from AMBER"
    assert lj == "Lennard-Jones: cut at 9 Å, with tail"
    assert electrostatics.startswith(f"electrostatics: PME to 9 Å, α {alpha:.5f} Å⁻¹, mesh {x} × {y} × {z}, order 4;")
    assert "note:" not in found.process.stderr
    assert (
        in_effect(found)["interactions"] | {"cutoff": 9.0, "lj": "cut", "lj_tail": True}
        == in_effect(found)["interactions"]
    )
    assert in_effect(found)["pme"]["alpha"] == alpha
    assert in_effect(found)["pme"]["grid"] == [x, y, z]

    explained = runs.run_engine("--explain", tmp_path / "run.toml", "--measured-steps", "0").stdout
    assert "cut at 9 Å, with tail" in explained
    explained = runs.run_engine("--explain", tmp_path / "run.toml", "--measured-steps", "0", "--json").stdout
    assert json.loads(explained)["settings"]["interactions"] == in_effect(found)["interactions"]
    assert json.loads(explained)["settings"]["pme"] == in_effect(found)["pme"]
    text = runs.run_engine("--energy", sample("dipeptide_water")).stdout
    assert text.splitlines()[:3] == first_lines(found)


def test_an_amber_system_has_the_energies_of_openmm(runs: Runs) -> None:
    path = sample("dipeptide_water")
    found = energy(runs, path)
    assert found["note"] == ""
    settings = Reference(cutoff=9, lj="cut", lj_tail=True)
    expected = reference_energies(path, settings, ("lj", "lj_14"))
    for term in ("lj", "lj_14", "lj_tail"):
        assert found["terms"][term] == pytest.approx(expected[term], rel=2e-5)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("dipeptide_water", {}),
        ("peptide", {"interactions.cutoff": 9.5, "pme.tolerance": 3e-6}),
        ("tripeptide", {"interactions.electrostatics": "shift", "interactions.cutoff": 10.0}),
    ],
)
def test_the_settings_in_effect_give_the_same_run(runs: Runs, tmp_path: Path, name: str, settings: Settings) -> None:
    found = run(runs, tmp_path, sample(name), settings)
    text = (found.folder / "settings.toml").read_text()
    # "auto" remains only where the result does not depend on the value, or where the run has already found it.
    left = {line.split(" = ")[0] for line in text.splitlines() if line.endswith('"auto"')}
    assert left <= {"scheme", "exchange", "method", "velocities", "progress", "device", "list_steps"}
    again = runs.start(found.folder / "settings.toml", "--set", f"output.folder={tmp_path / 'again'}")
    report = json.loads((tmp_path / "again" / "report.json").read_text())
    assert report["state_hash"] == found.hash
    written = (tmp_path / "again" / "settings.toml").read_text()
    assert written.replace(str(tmp_path / "again"), str(found.folder)) == text
    assert first_lines(again) == first_lines(found)


def test_the_settings_in_effect_are_a_run_file_from_anywhere(runs: Runs, tmp_path: Path) -> None:
    """Paths in the run file are relative to it; those on a command line are relative to the working directory."""
    shutil.copy(sample("tripeptide"), tmp_path / "a.tsr")
    settings: Settings = {"interactions.electrostatics": "shift", "dynamics.steps": 3, "output.progress": "none"}
    write_run_file(tmp_path / "run.toml", {"input.system": "a.tsr", **settings})
    runs.run_engine("run.toml", cwd=tmp_path)
    (tmp_path / "elsewhere").mkdir()
    runs.run_engine("../output/settings.toml", "--set", "output.folder=again", cwd=tmp_path / "elsewhere")
    hashes = {
        json.loads((tmp_path / folder / "report.json").read_text())["state_hash"]
        for folder in ("output", "elsewhere/again")
    }
    assert len(hashes) == 1


def test_what_differs_from_the_source_is_told(runs: Runs, tmp_path: Path) -> None:
    found = run(runs, tmp_path, sample("peptide"), {"interactions.cutoff": 9.0, "interactions.lj": "cut"})
    told = [line for line in found.process.stderr.splitlines() if "note:" in line]
    note = (
        'interactions.lj = "cut", interactions.cutoff = 9.0 are set, and peptide.tsr comes from CHARMM, which has '
        "Lennard-Jones force-switch from 10 to 12 Å, no tail"
    )
    assert told == [f"tessera-md: note: {note}"]
    words = ("--set", "interactions.cutoff=9", "--set", "interactions.lj=cut")
    assert energy(runs, sample("peptide"), *words)["note"] == note
    assert f"note: {note}" in runs.run_engine("--energy", sample("peptide"), *words).stdout
    assert note in runs.run_engine("--explain", tmp_path / "run.toml", "--measured-steps", "0").stdout


def test_the_switch_follows_the_cutoff(runs: Runs, tmp_path: Path) -> None:
    found = run(runs, tmp_path, sample("peptide"), {"interactions.cutoff": 9.0})
    assert first_lines(found)[1] == "Lennard-Jones: force-switch from 7 to 9 Å, no tail"
    given = runs.energy(sample("peptide"), {"interactions.cutoff": 9.0, "interactions.switch": 7.0})
    assert energy(runs, sample("peptide"), "--set", "interactions.cutoff=9")["total"] == given["total"]


def test_no_tail_without_a_box(runs: Runs, tmp_path: Path) -> None:
    found = run(runs, tmp_path, sample("dipeptide"), {"interactions.electrostatics": "cut"})
    assert first_lines(found)[1:] == [
        "Lennard-Jones: cut at 9 Å, no tail",
        "electrostatics: cut at 9 Å; Coulomb constant 332.05221729",
    ]
    assert in_effect(found)["interactions"]["lj_tail"] is False
    assert "note:" not in found.process.stderr


@pytest.mark.parametrize("lj", ["force-switch", "force-switch-gromacs", "potential-switch", "quintic-switch"])
def test_a_tail_that_begins_within_atoms_is_refused(runs: Runs, tmp_path: Path, lj: str) -> None:
    """The tail from a switch of 0 is infinite."""
    settings: Settings = {"interactions.lj": lj, "interactions.lj_tail": True, "interactions.switch": 0.0}
    found = run(runs, tmp_path, sample("peptide"), settings, check=False)
    assert found.process.returncode == 2
    assert (
        "interactions.lj_tail takes the fluid to be uniform beyond interactions.switch = 0.0 Å" in found.process.stderr
    )
    assert not found.folder.exists()
    alone, near = (
        energy(runs, sample("peptide"), f"--set=interactions.lj={lj}", f"--set=interactions.switch={switch}")["terms"][
            "lj"
        ]
        for switch in (0, 0.001)
    )
    assert alone == pytest.approx(near, rel=1e-3)


def test_periods_beyond_32_bits(runs: Runs, tmp_path: Path) -> None:
    """With a period of 2³² + 1 steps nothing is removed in a run of a few steps."""
    long, never = (
        run(runs, tmp_path, sample("peptide"), {"output.overwrite": True, "dynamics.com_removal_every": every}).hash
        for every in (2**32 + 1, 0)
    )
    assert long == never
