"""Compares bounds that follow from a spec's wires with bounds that were computed by hand for each network."""

import json
from pathlib import Path

import pytest

from bench.cluster import bounds
from tests.cluster import spec

S, M, K, A = bounds.VECTOR, 1_000_000, 16_000, 8192
KINDS = ("broadcast", "broadcast", "all_reduce", "reduce_scatter", "all_gather", "all_to_all")


def ms(n_bytes: float, mbit: float) -> float:
    return n_bytes * 8 / (mbit * 1e6 * 1448 / 1538) * 1e3


def one_switch(n: int, slots: int, rate: float) -> list[float]:
    """Returns the bounds in ms for n hosts with one port each."""
    halves = (n - 1) / n * S
    exchange = slots * (n * slots - slots) * A
    return [ms(x, rate) for x in (K, M, 2 * halves, halves, halves, exchange)]


def groups(n: int, hosts: int, slots: int, rate: float) -> list[float]:
    """Returns the bounds in ms for n groups in which each host has one slow port out of its group. With hosts = 1 a
    cable takes the place of all these ports."""
    halves, ranks = (n - 1) / n * S, hosts * slots
    return [ms(x, hosts * rate) for x in (K, M, 2 * halves, halves, halves, ranks * (n - 1) * ranks * A)]


def three_buses(rate: float) -> list[float]:
    """Returns the bounds in ms for buses of 3, 3 and 2 hosts, from the messages on the busiest bus."""
    gather = S / 8 * (3 * 2 + 5 * 3 + 3)
    return [ms(x, rate) for x in (3 * K, 3 * M, 6 * S, S * (2 + 3 / 8 + 5 / 8), gather, (3 * 2 + 2 * 3 * 5) * A)]


def greater(a: list[float], b: list[float]) -> list[float]:
    return [max(pair) for pair in zip(a, b)]


BY_HAND = {
    "crow8-100": one_switch(16, 2, 10),
    "crow8-1000": one_switch(16, 2, 100),
    "crow8-100+1000": greater(one_switch(16, 2, 110), groups(4, 4, 2, 10)),
    "crow8-pairs": groups(8, 2, 2, 10),
    "eco-three-segments": three_buses(10),
    "eco-switched": [*one_switch(8, 1, 10)[:5], ms(15 * A, 10)],  # 5 × 3 pairs over the cable
    "fat-and-slow": [*groups(2, 1, 4, 10)[:5], ms(64 * A, 10)],
}


@pytest.mark.parametrize("name", BY_HAND)
def test_bounds_are_those_found_by_hand(name: str) -> None:
    found = [bounds.bound(spec.read(name), operation) for operation in bounds.OPERATIONS[:6]]
    assert [operation.kind for operation in bounds.OPERATIONS[:6]] == list(KINDS)
    assert [one and one.seconds * 1e3 for one in found] == pytest.approx(BY_HAND[name], rel=0.01)


def test_processors_bound_counts_both_ends_of_what_moves_between_hosts(tmp_path: Path) -> None:
    cluster = spec.read("crow8-100")
    reduce_scatter = next(one for one in bounds.OPERATIONS if one.kind == "reduce_scatter")
    found = tmp_path / "map.json"

    def seconds(hosts: list[str]) -> float | None:
        processors = [{"hosts": hosts, "work": {"bandwidth": 1.5e8, "latency": 2e-5}}]
        found.write_text(json.dumps({"network": {"processors": processors}}))
        least = bounds.processors_bound(cluster, reduce_scatter, found)
        return least.seconds if least else None

    # Each element is combined over a tree of all 16 hosts. At least 8 edges of a tree have an end in half of the hosts.
    assert seconds(list(cluster.hosts)) == pytest.approx(2 * 15 * S / 1.5e8)
    assert seconds(list(cluster.hosts)[:8]) == pytest.approx(8 * S / 1.5e8)
    assert seconds([]) is None


def write(folder: Path, text: str) -> spec.Spec:
    path = folder / "network.toml"
    path.write_text(text)
    return spec.read(str(path))


@pytest.mark.parametrize(
    ("far", "message", "results"), [(2, ms(M, 2), ms(3 / 4 * S, 2)), (50, ms(3 * M, 10), ms(3 * S, 10))]
)
@pytest.mark.parametrize("root", ["b0", "f"])
def test_a_bus_and_a_host_behind_it(tmp_path: Path, far: float, message: float, results: float, root: str) -> None:
    """A host behind a slow card sets the limit, by one message and by its part of the others' results. Otherwise the
    bus sets it: three of its hosts receive, or two of them and the bridge."""
    found = write(
        tmp_path,
        f"""
        [[segment]]
        name = "bus"
        nodes = "b[0-2]"
        rate = "10mbit"
        [[switch]]
        name = "far"
        nodes = "f"
        rate = "{far}mbit"
        [[link]]
        ends = ["bus", "far"]
        """,
    )
    for operation, expected in ((bounds.OPERATIONS[1], message), (bounds.OPERATIONS[3], results)):
        one = bounds.bound(found, operation, root)
        assert one and one.seconds * 1e3 == pytest.approx(expected)


def test_uneven_slots_count(tmp_path: Path) -> None:
    """With three ranks on one host and one on the other, 3 blocks of 8 KiB go each way, and results of S/4 and 3
    S/4."""
    found = write(
        tmp_path,
        """
        [node_slots]
        a = 3
        [[switch]]
        name = "switch"
        nodes = "a b"
        rate = "10mbit"
        """,
    )
    by_kind = {operation.kind: bounds.bound(found, operation) for operation in bounds.OPERATIONS}
    expected = {"all_to_all": 3 * A, "all_gather": 3 / 4 * S, "reduce_scatter": 3 / 4 * S, "all_reduce": S}
    for kind, n_bytes in expected.items():
        one = by_kind[kind]
        assert one and one.seconds * 1e3 == pytest.approx(ms(n_bytes, 10))
    assert by_kind["barrier"] is None
