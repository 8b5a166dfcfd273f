"""Defines a small cluster for several tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cluster import namespaces, spec


def two_racks(scale: int) -> str:
    """Returns the text of a spec: two racks of two hosts with two slots each, and rates divided by `scale`."""
    return f"""
about = "two racks of two"
scale = {scale}
slots = 2
[[switch]]
name = "left"
nodes = "n[0-1]"
rate = "1gbit"
[[switch]]
name = "right"
nodes = "n[2-3]"
rate = "1gbit"
[[link]]
ends = ["left", "right"]
rate = "200mbit"
"""


def map_of_two_racks() -> dict[str, object]:
    """Returns the map that the probe writes of this cluster, without its measurements."""

    def link(latency: float, bandwidth: float) -> dict[str, float]:
        return {"latency": latency, "bandwidth": bandwidth}

    hosts = [{"name": f"n{i}", "slots": 2, "inside": link(1e-6, 5e9)} for i in range(4)]
    rack = {"link": link(5e-5, 6e7), "medium": "fabric", "uplink": 1.2e7}
    subnets = [
        {"parts": [1, 2], "link": link(1e-4, 1.2e7), "medium": "fabric", "uplink": None},
        {**rack, "hosts": ["n0", "n1"]},
        {**rack, "hosts": ["n2", "n3"]},
    ]
    return {"format": "tessera-machine", "version": 3, "name": "racks", "caches": [],
            "network": {"hosts": hosts, "subnets": subnets}}  # fmt: skip


def emulable_racks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> spec.Spec:
    """Returns the two racks, with `map.json` and their state in the folder. Skips the test where they can't be made."""
    if (reason := namespaces.why_not()) is not None:
        pytest.skip(reason)
    monkeypatch.setattr(namespaces, "STATE", folder / "state")
    (folder / "map.json").write_text(json.dumps(map_of_two_racks()))
    (folder / "racks.toml").write_text(two_racks(scale=2))
    return spec.read(str(folder / "racks.toml"))
