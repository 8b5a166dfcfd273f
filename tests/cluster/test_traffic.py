"""The traffic of others on an emulated cluster, what the probe finds of it, and what plans make of that."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import launch, namespaces, spec
from tests.cluster.test_cluster import PAYLOAD
from tests.cluster.traffic import WHILE_ON, Flow, flows_of, periods, traffic_on
from tests.support.programs import ENGINES


@pytest.mark.parametrize("share", [0.3, 0.6, 0.85])
def test_flows_have_the_share_that_is_asked_for(share: float) -> None:
    off, on = (sum(times) for times in zip(*itertools.islice(periods(share, seed=1), 20_000)))
    assert WHILE_ON * on / (off + on) == pytest.approx(share, rel=0.03)
    assert list(itertools.islice(periods(share, 1), 5)) == list(itertools.islice(periods(share, 1), 5))
    assert next(periods(share, 1)) != next(periods(share, 2))


def test_places_of_flows() -> None:
    segments, ports = spec.read("eco-three-segments"), spec.read("crow8-100")
    assert flows_of(segments, ["a=0.45", "c=0.3"]) == [Flow("a", "bus", 0.45), Flow("c", "bus", 0.3)]
    assert flows_of(ports, ["n3=0.6", "n1.in=0.2"]) == [
        Flow("n3", "out", 0.6), Flow("n3", "in", 0.6), Flow("n1", "in", 0.2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (["a"], "expected a share from 0.01 to 0.85"),
        (["a=0.9"], "expected a share from 0.01 to 0.85"),
        (["w0=0.5"], "there is no w0; there are the segments a b c and the hosts with ports"),
        (["a.in=0.5"], "there is no a.in"),
        (["a=0.5", "a=0.3"], "a.bus is given twice"),
    ],
)
def test_what_is_no_flow_is_refused(text: list[str], says: str) -> None:
    with pytest.raises(spec.ClusterError, match=re.escape(says)):
        flows_of(spec.read("eco-three-segments"), text)


def sent(cluster: namespaces.Cluster, device: str, kind: str, pattern: str) -> int:
    words = cluster.enter(spec.FABRIC, "tc", "-s", kind, "show", "dev", device)
    found = re.search(pattern + r".*?Sent (\d+)", subprocess.run(words, capture_output=True, text=True).stdout, re.S)
    assert found is not None
    return int(found[1])


@pytest.mark.slow(part="cluster")
def test_traffic_is_where_it_is_asked_for() -> None:
    described = spec.read("eco-three-segments")
    with launch.cluster_of(described) as cluster:
        with traffic_on(described, cluster, flows_of(described, ["a=0.5"]), seed=1):
            before = [sent(cluster, f"wire-{name}", "class", "htb 1:fff") for name in "abc"]
            time.sleep(5)
            after = [sent(cluster, f"wire-{name}", "class", "htb 1:fff") for name in "abc"]
        of_a, *others = (end - begin for begin, end in zip(before, after))
        assert of_a > 1e6 and max(others) < 1e4, "frames were flooded"
        with traffic_on(described, cluster, flows_of(described, ["a=0.5"]), seed=2):
            pass  # nothing of the first is left in the way


def map_of(described: spec.Spec) -> dict[str, Any]:
    """Returns the map of a cluster whose networks have one rate each."""
    subnets: list[dict[str, Any]] = []
    for network in described.networks.values():
        if network.rate:
            link = {"latency": 3e-4, "bandwidth": network.rate / 8 * PAYLOAD}
            medium = "bus" if network.is_bus else "fabric"
            subnets.append({"hosts": list(network.hosts), "link": link, "medium": medium, "uplink": None})
    if len(subnets) > 1:
        parts = list(range(1, len(subnets) + 1))
        subnets.insert(0, {"parts": parts, "link": subnets[0]["link"], "medium": "fabric", "uplink": None})
    hosts = [{"name": host, "slots": n, "inside": None} for host, n in described.slots.items()]
    return {"format": "tessera-machine", "version": 3, "name": described.name, "caches": [],
            "network": {"hosts": hosts, "subnets": subnets}}  # fmt: skip


@pytest.mark.slow(part="cluster")
@pytest.mark.parametrize(("name", "traffic"), [("eco-three-segments", "b=0.5"), ("crow8-100", "n3=0.6")])
def test_the_probe_finds_it(tmp_path: Path, mpi: str, name: str, traffic: str) -> None:
    """The busiest wire is the one with traffic. How busy it seems depends on what else the machine does."""
    described, path = spec.read(name), tmp_path / "map.json"
    content = map_of(described)
    path.write_text(json.dumps(content))
    places = launch.host_by_host(described)
    flows = flows_of(described, [traffic])
    with launch.cluster_of(described) as cluster, traffic_on(described, cluster, flows, seed=1):
        probe = ENGINES / f"tessera-probe-{mpi}"
        command, environment = launch.command([str(probe), "--traffic", str(path), "--seconds", "10"], places, mpi=mpi)
        assert launch.start(cluster, command, environment, timeout=300).returncode == 0
    network = json.loads(path.read_text())["network"]
    found = network.pop("traffic")
    assert [own["link"] for own in network["subnets"]] == [own["link"] for own in content["network"]["subnets"]]
    shares = {(port["host"], way): port[way] for port in found["ports"] for way in ("in", "out")}
    for line in found["lines"]:
        (segment,) = {described.cards[host][0] for host in network["subnets"][line["subnet"]]["hosts"]}
        shares[segment, "bus"] = line["bus"]
    assert max(shares, key=shares.__getitem__) in {(flow.place, flow.way) for flow in flows}, shares
    assert max(shares.values()) > 0.25
