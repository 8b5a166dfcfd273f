"""Liquids have the published density, structure, diffusion, energy and pressure (`bench/physics/liquids.py`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.common.water_box import water_box
from bench.physics.liquids import ARGON, argon, water, wrong_of_argon, wrong_of_water

pytest.importorskip("tessera._md_serial", reason="the Python modules are not built")
pytestmark = pytest.mark.slow(part="physics")


@pytest.mark.parametrize("density", [density for density, _, _ in ARGON])
def test_argon(tmp_path: Path, density: float) -> None:
    assert not wrong_of_argon(density, *argon(density, tmp_path, threads=2, equilibrate=20.0, sample=60.0))


@pytest.mark.parametrize("model", ["SPC/E", "TIP4P-Ew"])
def test_water_for_a_short_time(tmp_path: Path, model: str) -> None:
    path = water_box(tmp_path, model, 216)
    assert not wrong_of_water(model, water(model, path, threads=2, equilibrate=20.0, sample=40.0))


def test_all_waters() -> None:
    subprocess.run([sys.executable, "-m", "bench.physics", "liquids", "--check"], check=True)
