"""scripts/device_check compares runs on a GPU with those on processors, and says what differs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.build.test_ci import script
from tests.support.programs import ROOT
from tests.support.samples import sample

device_check = script("scripts/device_check")
SETTINGS = "[interactions]\ncutoff = 9.0\nswitch = 8.0\n"
STEPS = 20


def checked(
    folder: Path, device: dict[str, Any], status: int, driver: str = "seed=1", more: tuple[str, ...] = (), **case: Any
) -> str:
    """Returns what the check of one case says, which ends with a status."""
    archive = folder / "pack.tar.gz"
    cases = [
        device_check.Case(**{"name": "a peptide", "system": "peptide", "settings": SETTINGS, "steps": STEPS, **case})
    ]
    device_check.pack(archive, cases, {"peptide": sample("peptide")}, device["engines"])
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "device_check"), str(archive), *more],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", **device["env"], "TESSERA_FAKE_DRIVER": driver},
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_runs_on_a_device_are_compared(device: dict[str, Any], tmp_path: Path) -> None:
    figures = tmp_path / "found.json"
    said = checked(tmp_path, device, 0, is_split=True, more=("-o", str(figures)))
    assert "1 of 1 as expected" in said and "there is no compute-sanitizer" in said
    (row,) = json.loads(figures.read_text())["cases"]
    assert (row["device"], row["wrong"], row["written_down"]) == ("Fake 0", [], False)
    assert row["hash"][:16] in said and row["device_megabytes"] > 0 and row["steps_on_device"] == STEPS
    said = checked(tmp_path, device, 1, is_split=True, hash="0" * 64)
    assert said.count(f"{row['hash']}, expected {'0' * 64}") == 3 and "0 of 1 as expected" in said


def test_a_run_that_leaves_the_device_is_wrong(device: dict[str, Any], tmp_path: Path) -> None:
    tries = SETTINGS + '[dynamics]\nensemble = "npt"\nbarostat = "monte-carlo"\nmonte_carlo_every = 4\n'
    assert f"of {STEPS} steps" in checked(tmp_path, device, 1, settings=tries).split("processors did")[1]
    said = checked(tmp_path, device, 1, driver="fail_call=300")
    assert "the run left the GPU: " in said and "goes on by the CPU" in said
    assert "the NVIDIA driver finds no GPU" in checked(tmp_path, device, 1, driver="devices=0")
    assert "WRONG a peptide: a peptide by gpu, to step 20: no time is left" in checked(
        tmp_path, device, 1, more=("--within", "0")
    )


def program(folder: Path, name: str, text: str) -> None:
    """Writes a program of a shell into a folder."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


@pytest.fixture(name="machine")
def _machine(device: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs what an archive holds, with programs of a folder `tools` first."""
    archive, peer = tmp_path / "pack.tar.xz", tmp_path / "peer"
    peer.mkdir()
    device_check.pack(archive, [], {"peptide": sample("peptide")}, device["engines"], {TIMED: peer})
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "on_machine")
    (tmp_path / "on_machine" / device_check.PEER).write_text("print('{\"seconds\": 0.5}')\n")
    for name, value in {**device["env"], "TESSERA_FAKE_DRIVER": "seed=1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(device_check, "WATCHED_STEPS", 2)
    monkeypatch.setenv("PATH", f"{tmp_path / 'tools'}:/usr/bin:/bin")
    return device_check.Machine(tmp_path / "on_machine", 60.0)


TIMED = device_check.Timed("peptide", "peptide", SETTINGS, "peer", steps=2, peer_steps=1000)


def test_steps_are_timed_beside_openmm_and_kernels_by_ncu(machine: Any, tmp_path: Path) -> None:
    said = """  tessera_pairs_cut (9, 1, 1)x(128, 1, 1), Context 1
    Duration  us  60.5
  tessera_lines (9, 1, 1)x(128, 1, 1), Context 1
    Duration  ns  900
  tessera_pairs_cut (9, 1, 1)x(128, 1, 1), Context 1
    Duration  ms  1.25"""
    program(tmp_path / "tools", "ncu", f"cat <<'END'\n{said}\nEND\nshift 8\nexec \"$@\"")
    row = device_check.timed(machine, TIMED)
    assert {who: len(times) for who, times in row["ms_per_step"].items()} == {"gpu": 2, "cpu": 2, "openmm": 2}
    assert row["ms_per_step"]["openmm"] == [0.5, 0.5] and row["pair_kernel_ms"] == pytest.approx([0.0605, 1.25])
    assert row["kernels_ms"]["tessera_lines"] == pytest.approx([0.0009])
    line = device_check.line_of_times(row)
    assert "OpenMM 0.5000\n" in line and "tessera_pairs_cut: 0.6552" in line and "GPU: " in line


def test_what_a_tool_of_the_sanitizer_finds_is_told(machine: Any, tmp_path: Path) -> None:
    """A race that racecheck finds is one of a run whose other checks are fine."""
    tool = 'tool=$2\nshift 4\n"$@" || exit\ntest $tool != {} || {{ echo a race; exit 9; }}'
    program(tmp_path / "tools", "compute-sanitizer", tool.format("racecheck"))
    with pytest.raises(device_check.Failure, match=r"(?s)status 9: .*a race"):
        device_check.watched(machine, TIMED)
    program(tmp_path / "tools", "compute-sanitizer", tool.format("another"))
    for output in ("memcheck", "racecheck"):
        shutil.rmtree(machine.folder / output)
    assert "racecheck, initcheck, synccheck) finds nothing" in device_check.watched(machine, TIMED)


def test_standard_systems_are_made(tmp_path: Path) -> None:
    """As far as they come with Tessera; the next one's inputs are asked for."""
    with pytest.raises(device_check.Failure, match="ApoA1 does not come with Tessera"):
        device_check.standard_systems(None, tmp_path)
    assert [path.name for path in tmp_path.rglob("*.tsr")] == ["dhfr.tsr"]


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(device_check.Failure, match="is no archive of --pack"):
        device_check.check_all(tmp_path / "none", 1.0, None)
    with pytest.raises(device_check.Failure, match=r"has no tessera-\*.fatbin: build with"):
        device_check.pack(tmp_path / "a.tar.gz", [], {}, tmp_path)
