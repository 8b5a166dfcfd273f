"""Networks of large machines as a static model sees them: which links a message takes, and what an exchange costs.

All messages of an exchange are under way at once. It takes

    latency + what its busiest rank or node needs to start messages + the busiest of links, ports and memories

where a link is busy for its bytes / bandwidth. Routes are fixed: on a torus x, then y, then z, the shorter way round
(of two that are as short, upwards from even places and downwards from odd ones); on a fat tree up to the lowest common
switch by the port that the receiver's number gives (destination mod k), then down. Nothing is said of the order of
messages, of packets or of who waits for whom: such times are for comparison with each other.

Sources: X. Yuan et al., IEEE IPDPS 2007, doi:10.1109/IPDPS.2007.370211 (routing on fat trees); Y. Ajima, S. Sumimoto,
T. Shimizu, Computer 42, 36 (2009), doi:10.1109/MC.2009.370 (Tofu: 5 GB/s a link and direction, four engines a node).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Loads = NDArray[np.float64]


@dataclass(frozen=True)
class Node:
    """What a node gives: s, bytes/s."""

    injection: float  # bytes/s that it sends, and as many that it receives
    memory: float  # bytes/s that its ranks read and write together
    latency: float  # s, of a message from rank to rank
    overhead: float  # s for which a message keeps the sender's core, and the receiver's
    gap: float  # s between two messages that a node sends, or receives
    ranks: int = 1
    inside_latency: float = 0.5e-6  # s, of a message between two ranks of a node, all of it the work of cores
    inside_bandwidth: float = 5e9  # bytes/s of one such message


class Network(Protocol):
    """`route` adds bytes from nodes a to nodes b to what it keeps; `loads` are bytes on each link."""

    @property
    def bandwidth(self) -> float: ...  # bytes/s of a link in one direction
    @property
    def nodes(self) -> int: ...
    def empty(self) -> Loads: ...
    def route(self, kept: Loads, a: Numbers, b: Numbers, n_bytes: Numbers) -> None: ...
    def loads(self, kept: Loads) -> Loads: ...
    def subnets(self, node: Node) -> list[dict[str, Any]]: ...


def _add(kept: Loads, at: Numbers, n_bytes: Numbers) -> None:
    kept += np.bincount(at, weights=n_bytes, minlength=kept.size)


@dataclass(frozen=True)
class Torus:
    """Nodes in rings along three directions, the last fastest; six links a node, one for each way."""

    shape: tuple[int, int, int]
    bandwidth: float

    @property
    def nodes(self) -> int:
        return int(np.prod(self.shape))

    def empty(self) -> Loads:
        """(direction, ring, way, place): how loads change from place to place along rings cut open and laid twice."""
        return np.zeros(3 * 4 * self.nodes)

    def route(self, kept: Loads, a: Numbers, b: Numbers, n_bytes: Numbers) -> None:
        strides = (self.shape[1] * self.shape[2], self.shape[2], 1)
        at = a
        for d, (k, stride) in enumerate(zip(self.shape, strides)):
            place = at // stride % k
            steps = (b // stride - at // stride) % k
            is_up = (2 * steps < k) | ((2 * steps == k) & (place % 2 == 0))
            # Down from p: the links that leave p, p − 1, …, counted from the second copy of the ring.
            begin = np.where(is_up, place, place - (k - steps) + 1 + k)
            length = np.where(is_up, steps, np.where(steps == 0, 0, k - steps))
            ring = at // (stride * k) * stride + at % stride
            first = ((ring * 2 + ~is_up) * 2 * k) + begin
            part = kept[d * 4 * self.nodes : (d + 1) * 4 * self.nodes]
            moves = length > 0
            _add(part, first[moves], n_bytes[moves])
            # The end of a ring's second copy is the place before the next ring's first, where nothing has to end.
            end = first + length
            stops = moves & (begin + length < 2 * k)
            part -= np.bincount(end[stops], weights=n_bytes[stops], minlength=part.size)
            at = at + (b // stride % k - place) * stride

    def loads(self, kept: Loads) -> Loads:
        """(direction · ring · way · place,): of the link that leaves a place."""
        found = []
        for part, k in zip(kept.reshape(3, -1), self.shape):
            laid = np.cumsum(part.reshape(-1, 2, k * 2), axis=2)
            found.append((laid[:, :, :k] + laid[:, :, k:]).ravel())
        return np.concatenate(found)

    def subnets(self, node: Node) -> list[dict[str, Any]]:
        """Blocks of blocks, each twice as wide: as many bytes/s leave a block as links do."""
        blocks = [self.shape]
        while max(blocks[-1]) > 2:
            widest = 2 ** (max(blocks[-1]).bit_length() - 1)
            widest = widest // 2 if widest == max(blocks[-1]) else widest
            blocks.append(tuple(min(n, widest) for n in self.shape))
        places = np.stack(np.unravel_index(np.arange(self.nodes), self.shape), axis=1)
        keys = []
        uplinks: list[float | None] = []
        for block in blocks:
            parts = -(-np.array(self.shape) // block)
            keys.append(np.ravel_multi_index(tuple((places // block).T), tuple(parts)))
            leaving = sum(2 * np.prod(block) / side for side, n in zip(block, self.shape) if side < n)
            uplinks.append(float(leaving * self.bandwidth) or None)
        return _tree(keys, uplinks, node.latency, min(self.bandwidth, node.injection))


@dataclass(frozen=True)
class FatTree:
    """Switches of three levels, `down` ports to the nodes or switches below and `up` above; as many at the top as
    there are groups. A node has one link."""

    nodes: int
    bandwidth: float
    down: int = 32
    up: int = 32

    def _sizes(self) -> tuple[int, int]:
        leaves = -(-self.nodes // self.down)
        return leaves * self.up, -(-leaves // self.down) * self.up**2

    def empty(self) -> Loads:
        """Links of leaf switches up and down, of middle switches up and down."""
        low, high = self._sizes()
        return np.zeros(2 * (low + high))

    def route(self, kept: Loads, a: Numbers, b: Numbers, n_bytes: Numbers) -> None:
        low, high = self._sizes()
        leaf_a, leaf_b = a // self.down, b // self.down
        far = leaf_a != leaf_b
        port = b % self.up
        _add(kept[:low], (leaf_a * self.up + port)[far], n_bytes[far])
        _add(kept[low : 2 * low], (leaf_b * self.up + port)[far], n_bytes[far])
        group_a, group_b = leaf_a // self.down, leaf_b // self.down
        far = group_a != group_b
        port = port * self.up + leaf_b % self.up
        _add(kept[2 * low : 2 * low + high], (group_a * self.up**2 + port)[far], n_bytes[far])
        _add(kept[2 * low + high :], (group_b * self.up**2 + port)[far], n_bytes[far])

    def loads(self, kept: Loads) -> Loads:
        return kept

    def subnets(self, node: Node) -> list[dict[str, Any]]:
        """Groups and leaf switches, with uplinks where there are fewer of them than ports below."""
        numbers = np.arange(self.nodes)
        keys = [numbers * 0]
        uplinks: list[float | None] = [None]
        thin = self.up < self.down
        for size, links in ((self.down**2, self.up**2), (self.down, self.up)):
            if self.nodes > size:
                keys.append(numbers // size)
                uplinks.append(links * self.bandwidth if thin else None)
        return _tree(keys, uplinks, node.latency, min(self.bandwidth, node.injection))


def _tree(keys: list[Numbers], uplinks: list[float | None], latency: float, bandwidth: float) -> list[dict[str, Any]]:
    """The member `subnets` of a machine file: keys[level][node] says which part of that level a node is in."""
    subnets: list[dict[str, Any]] = []
    above: dict[int, int] = {}
    for level, key in enumerate(keys):
        found: dict[int, int] = {}
        order = np.argsort(key, kind="stable")
        values, starts = np.unique(key[order], return_index=True)
        for value, hosts in zip(values, np.split(order, starts[1:])):
            found[int(value)] = len(subnets)
            if level > 0:
                subnets[above[int(keys[level - 1][hosts[0]])]]["parts"].append(len(subnets))
            inner: dict[str, Any] = {"hosts": [f"n{h}" for h in hosts]} if level + 1 == len(keys) else {"parts": []}
            link = {"latency": latency, "bandwidth": bandwidth}
            subnets.append({**inner, "link": link, "medium": "fabric", "uplink": uplinks[level]})
        above = found
    return subnets


@dataclass
class Platform:
    """A network with ranks on its nodes, node by node."""

    name: str
    network: Network
    node: Node

    @property
    def ranks(self) -> int:
        return self.network.nodes * self.node.ranks

    def machine_file(self) -> dict[str, Any]:
        """What a survey of such a machine would leave (docs/reference/machine_file.md)."""
        inside = {"latency": self.node.inside_latency, "bandwidth": self.node.inside_bandwidth}
        hosts = [{"name": f"n{i}", "slots": self.node.ranks, "inside": inside} for i in range(self.network.nodes)]
        known = {"hosts": hosts, "subnets": self.network.subnets(self.node)}
        return {"format": "tessera-machine", "version": 2, "name": self.name, "nodes": len(hosts), "network": known}


@dataclass
class Exchange:
    """The messages of one exchange on a platform, taken piece by piece."""

    platform: Platform
    kept: Loads = field(init=False)

    def __post_init__(self) -> None:
        network, ranks = self.platform.network, self.platform.ranks
        self.kept = network.empty()
        self.far_messages = np.zeros((2, ranks), np.int64)  # sent, received, between nodes
        self.near_messages = np.zeros((2, ranks), np.int64)
        self.near_bytes = np.zeros(network.nodes)
        self.port_bytes = np.zeros((2, network.nodes))

    def add(self, sender: Numbers, receiver: Numbers, n_bytes: Numbers) -> None:
        """Messages between ranks."""
        p, per_node, nodes = self.platform, self.platform.node.ranks, self.platform.network.nodes
        a, b = sender // per_node, receiver // per_node
        near = a == b
        for way, rank in enumerate((sender, receiver)):
            self.near_messages[way] += np.bincount(rank[near], minlength=p.ranks)
            self.far_messages[way] += np.bincount(rank[~near], minlength=p.ranks)
        _add(self.near_bytes, a[near], n_bytes[near])
        a, b, n_bytes = a[~near], b[~near], n_bytes[~near]
        if per_node > 1 and nodes**2 <= 2**24:  # all between two nodes goes the same way
            pair = np.bincount(a * nodes + b, weights=n_bytes, minlength=nodes**2)
            at = np.flatnonzero(pair)
            a, b, n_bytes = at // nodes, at % nodes, pair[at].astype(np.int64)
        for way, host in enumerate((a, b)):
            _add(self.port_bytes[way], host, n_bytes)
        p.network.route(self.kept, a, b, n_bytes)

    def seconds(self) -> float:
        """s, and 0 where nothing moves."""
        p, node = self.platform, self.platform.node
        if not self.far_messages.any() and not self.near_messages.any():
            return 0.0
        by_node = self.far_messages.reshape(2, -1, node.ranks).sum(axis=2)
        starts = max(
            float((self.far_messages * node.overhead + self.near_messages * node.inside_latency).max()),
            float(by_node.max() * node.gap),
        )
        loads = p.network.loads(self.kept)
        busy = max(
            float(loads.max(initial=0)) / p.network.bandwidth,
            float(self.port_bytes.max()) / node.injection,
            2 * float(self.near_bytes.max()) / node.memory,
        )
        return (node.latency if self.far_messages.any() else 0.0) + starts + busy
