"""The driver that measures the published pair schemes sums the same pairs as the engine."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.programs import ENGINES, run_program

DRIVER = ENGINES / "tessera-pair-schemes-serial"
SIZES = ["--steps=12", "--threads=2"]  # of which some have a list of their own
Run = Callable[..., subprocess.CompletedProcess[str]]


def test_each_scheme_is_measured(water: Path) -> None:
    """Lists hold the pairs within reach alone; flags have those of whole cells, and clusters are in between."""
    pairs = {}
    for scheme in ("list_aos", "list_soa", "cell_flag_aos", "cell_flag_soa", "cluster"):
        for density in [[], ["--density=100"]] if scheme != "cluster" else [[]]:
            found = json.loads(run_program([DRIVER, water, "--scheme", scheme, *density, *SIZES]).stdout)
            assert found["lists"] >= 1 and found["list_bytes"] > 0
            assert found["list_seconds"] > 0 and found["kernel_seconds"] > 0
            assert pairs.setdefault(scheme, found["pairs"]) == found["pairs"]
    assert pairs["list_aos"] == pairs["list_soa"] < pairs["cluster"] < pairs["cell_flag_aos"] == pairs["cell_flag_soa"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--scheme=lists"], "--scheme is lists, expected cluster or one of list_aos list_soa"),
        (["--scheme=cluster", "--density=20"], "--scheme cluster has no table"),
        (["--scheme=list_aos", "--set=parallel.precision=double"], "the schemes have neither double precision"),
    ],
)
def test_what_it_cannot_measure_is_named(water: Path, words: list[str], expected: str) -> None:
    found = run_program([DRIVER, water, *words, *SIZES], status=2)
    assert expected in found.stderr
