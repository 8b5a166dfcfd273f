"""Plans of systems that would not fit on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from parallel.runs import Runs

from tessera.build.copies import Copies
from tessera.build.nacl import crystal
from tessera.build.water import tiles
from tessera.system import write


@pytest.mark.parametrize("make", [lambda: crystal(2_100_000), lambda: tiles(2_100_000)], ids=["nacl", "water"])
def test_a_large_system_is_measured_by_a_part(runs: Runs, tmp_path: Path, make: object) -> None:
    copies: Copies = make()  # type: ignore[operator]
    write(copies.system, tmp_path / "large.tsr", copies.parts(10**9))
    settings = {"interactions.cutoff": 9.0, "interactions.switch": 8.0, "pme.grid": [160, 160, 160]}
    run_file = runs.run_file(tmp_path / "large.tsr", settings)
    found = json.loads(runs.run_engine("--explain", run_file, "--measured-steps", "4", "--json").stdout)
    predicted = found["predicted"]
    assert found["atoms"] == copies.system.n_atoms
    assert 100_000 < predicted["measured_atoms"] < 400_000
    assert predicted["measured_ms_per_step_one_rank"] > 50
