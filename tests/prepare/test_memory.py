"""`prepare --memory`: the same file with any bound, and memory that does not grow with the system once it is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

from tessera.system import scratch
from tests.support.commands import called
from tests.support.inputs import ALA3_PARAMETERS, SMALL
from tests.support.programs import TESSERA, run_program

EDGE = 64  # ions
PEPTIDE = ["charmm", "--psf", SMALL / "ala_ala_ala.psf", "--coords", SMALL / "ala_ala_ala.pdb"]
PEPTIDE += ["--params", *ALA3_PARAMETERS]


def prepare(output: Path, memory: float, *words: str | Path) -> Result:
    return called("prepare", *words, "-o", output, "--memory", memory)


def line(values: np.ndarray) -> str:
    return "{:20.10f}{:20.10f}{:20.10f}\n".format(*values)


def write_crystal(folder: Path) -> Path:
    """Writes FIELD and CONFIG of sodium chloride with velocities."""
    places = np.stack(np.meshgrid(*[np.arange(EDGE)] * 3, indexing="ij"), -1).reshape(-1, 3)
    places = places[np.argsort(places.sum(axis=1) % 2, kind="stable")]
    velocities = np.random.default_rng(5).normal(size=places.shape)
    half = len(places) // 2
    records = [
        f"{'Na+' if i < half else 'Cl-':8}{i + 1:10}\n{line(place)}{line(velocity)}"
        for i, (place, velocity) in enumerate(zip((places - EDGE / 2) * 2.82, velocities))
    ]
    box = "".join(line(row) for row in np.eye(3) * EDGE * 2.82)
    sites = ("Na+ 23 1", "Cl- 35 -1")
    kinds = "".join(f"{site[:3]}\nnummols {half}\natoms 1\n{site}\nfinish\n" for site in sites)
    folder.mkdir()
    (folder / "CONFIG").write_text(f"crystal\n{1:10}{2:10}\n{box}{''.join(records)}")
    (folder / "FIELD").write_text(f"crystal\nunits eV\nmolecules 2\n{kinds}vdw 1\nNa+ Cl- lj 0.005 3.0\nclose\n")
    return folder


def test_memory_is_bounded_once_the_inputs_are_read(tmp_path: Path) -> None:
    inputs = write_crystal(tmp_path / "inputs")
    outputs, most = [], []
    for memory in (2.0, 0.02, 0.002):
        outputs.append(tmp_path / f"{memory}.tsr")
        words = ["prepare", "dlpoly", inputs, "-o", outputs[-1], "--memory", memory, "--json"]
        facts: dict[str, Any] = json.loads(run_program([*TESSERA, *map(str, words)]).stdout)["memory"]
        assert "reading CONFIG" in facts["phases"]
        peak = max(facts["phases"][name]["peak_bytes"] for name in ("checking atoms", "writing"))
        most.append(peak - facts["libraries_bytes"])
    libraries = 40e6  # those that are loaded later, and what an interpreter keeps of text that it has read
    assert most[1] < 20e6 + libraries and most[2] < 2e6 + libraries, most
    assert len({path.read_bytes() for path in outputs}) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["inputs", *(path.name for path in outputs)])


@pytest.mark.parametrize("angles", [("90", "90", "90"), ("60", "70", "80")])
def test_bytes_are_the_same_in_any_box(
    angles: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [*PEPTIDE, "--box", "40", "41", "42", "--box-angles", *angles]
    whole = prepare(tmp_path / "whole.tsr", 2.0, *words)
    monkeypatch.setattr(scratch, "LEAST_AT_ONCE", 5)
    parts = prepare(tmp_path / "parts.tsr", 1e-9, *words)
    assert whole.exit_code == parts.exit_code == 0, whole.output + parts.output
    assert (tmp_path / "parts.tsr").read_bytes() == (tmp_path / "whole.tsr").read_bytes()


def test_a_disk_without_room_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(scratch.os, "posix_fallocate", full)
    done = prepare(tmp_path / "x.tsr", 1e-9, *PEPTIDE, "--vacuum")
    assert done.exit_code == 2
    assert "has no room for" in done.output and "raise --memory" in done.output
    assert list(tmp_path.iterdir()) == []
