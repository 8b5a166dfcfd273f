"""Plans of systems that would not fit on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tessera.build.copies import Copies
from tessera.build.nacl import crystal
from tessera.build.water import tiles
from tessera.system import write
from tests.support.runs import Runs


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
    # The time of the part is that of all atoms once it is scaled, as its parts are; transforms follow the mesh instead.
    parts = predicted["ms_of_parts"]
    of_atoms = sum(time for name, time in parts.items() if name != "transforms")
    assert 0 < of_atoms < predicted["measured_ms_per_step_one_rank"]


def test_parts_of_a_step_on_a_map(runs: Runs, tmp_path: Path) -> None:
    """Exchanges take longer where links are slower, and the parts add up to the step."""
    copies = crystal(100_000)
    write(copies.system, tmp_path / "ions.tsr", copies.parts(10**9))
    hosts = [{"name": f"n{i}", "slots": 4} for i in range(4)]

    def predict(bandwidth: float | None) -> dict[str, float]:
        settings = {"interactions.cutoff": 9.0, "interactions.switch": 8.0}
        if bandwidth is not None:
            link = {"latency": 1e-5, "bandwidth": bandwidth}
            subnet = {"hosts": [host["name"] for host in hosts], "link": link, "medium": "fabric", "uplink": None}
            network = {"hosts": hosts, "subnets": [subnet]}
            file = {"format": "tessera-machine", "version": 3, "name": "test", "nodes": 4, "network": network}
            (tmp_path / "map.json").write_text(json.dumps(file))
            settings["parallel.machine"] = str(tmp_path / "map.json")  # type: ignore[assignment]
        run_file = runs.run_file(tmp_path / "ions.tsr", settings)
        arguments = ["--explain", run_file, "--ranks", "16", "--measured-steps", "4", "--json"]
        predicted = json.loads(runs.run_engine(*arguments).stdout)["predicted"]
        assert predicted["includes_communication"] == (bandwidth is not None)
        assert sum(predicted["ms_of_parts"].values()) == pytest.approx(predicted["ms_per_step"])
        parts: dict[str, float] = predicted["ms_of_parts"]
        return parts

    alone, fast, slow = predict(None), predict(1e9), predict(1e8)
    assert {"pairs", "mesh", "transforms"} < set(alone)
    assert "halo" not in alone
    for exchange in ("halo", "exchanges of the transforms"):
        assert 0 < fast[exchange] < slow[exchange] < 11 * fast[exchange]
