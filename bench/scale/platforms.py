"""A static model of the networks of large machines: the links that a message takes, and the time of an exchange.

All messages of an exchange are under way at once. It takes

    latency + what its busiest rank or node needs to start messages + the busiest of links, ports and memories

where a link is busy for its bytes / bandwidth. Routes are fixed. On a torus they go along x, then y, then z, the
shorter way round (upwards if both are equal). On a fat tree they go up to the lowest common switch by the port of the
receiver's number (destination mod k), then down. The model has no packets and no waiting, so its times can only be
compared with each other.

Sources: X. Yuan et al., IEEE IPDPS 2007, doi:10.1109/IPDPS.2007.370211 (routing on fat trees); Y. Ajima, S. Sumimoto,
T. Shimizu, Computer 42, 36 (2009), doi:10.1109/MC.2009.370 (Tofu: 5 GB/s a link and direction, four engines a node).
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import click
import numpy as np
from numpy.typing import NDArray

import tessera._core as core
from bench.common.results import ROOT

AT_ONCE = 16384  # number of ranks whose messages are held at a time
Numbers = NDArray[np.int64]
Loads = NDArray[np.float64]


@dataclass(frozen=True)
class Node:
    """The rates and latencies of a node, bytes/s and s."""

    injection: float  # bytes/s that it sends, and that it receives
    memory: float  # bytes/s that its ranks read and write together
    latency: float  # s, of a message from rank to rank
    overhead: float  # s for which a message occupies the sender's core, and the receiver's
    gap: float  # s between two messages that a node sends, or receives
    ranks: int = 1
    inside_latency: float = 0.5e-6  # s, of a message between two ranks of a node, all of it work of the cores


class Network(Protocol):
    """A network on which loads.cpp adds up messages in `kept` numbers, from which `loads` makes bytes on each link."""

    @property
    def bandwidth(self) -> float: ...  # bytes/s of a link in one direction
    @property
    def nodes(self) -> int: ...
    @property
    def numbers(self) -> tuple[int, ...]: ...  # the topology, for loads.cpp
    @property
    def kept(self) -> int: ...
    def loads(self, kept: Loads) -> Loads: ...
    def subnets(self, node: Node) -> list[dict[str, Any]]: ...


@dataclass(frozen=True)
class Torus:
    """Nodes in rings along three directions, of which the last varies fastest. A node has six links, two in each
    direction."""

    shape: tuple[int, int, int]
    bandwidth: float

    @property
    def nodes(self) -> int:
        return int(np.prod(self.shape))

    @property
    def numbers(self) -> tuple[int, ...]:
        return self.shape

    @property
    def kept(self) -> int:
        """The size of (direction, ring, way, place): differences of loads along rings that are cut open and repeated
        once."""
        return 3 * 4 * self.nodes

    def loads(self, kept: Loads) -> Loads:
        """Returns the load of each link that leaves a place (direction · ring · way · place,)."""
        found = []
        for part, k in zip(kept.reshape(3, -1), self.shape):
            laid = np.cumsum(part.reshape(-1, 2, k * 2), axis=2)
            found.append((laid[:, :, :k] + laid[:, :, k:]).ravel())
        return np.concatenate(found)

    def subnets(self, node: Node) -> list[dict[str, Any]]:
        """Returns nested blocks, each twice as wide; the links that leave a block limit its bytes/s."""
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
    """Switches on three levels, with `down` ports to the nodes or switches below and `up` ports above. There are as
    many switches at the top as groups. A node has one link."""

    nodes: int
    bandwidth: float
    down: int = 32
    up: int = 32

    def _sizes(self) -> tuple[int, int]:
        leaves = -(-self.nodes // self.down)
        return leaves * self.up, -(-leaves // self.down) * self.up**2

    @property
    def numbers(self) -> tuple[int, ...]:
        return self.down, self.up

    @property
    def kept(self) -> int:
        """The number of links up and down of leaf switches and of middle switches."""
        low, high = self._sizes()
        return 2 * (low + high)

    def loads(self, kept: Loads) -> Loads:
        return kept

    def subnets(self, node: Node) -> list[dict[str, Any]]:
        """Returns groups and leaf switches, with up-links where a switch has fewer of them than ports below."""
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
    """Returns the member `subnets` of a machine file; keys[level][node] is the part of that level that holds a node."""
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
    """A network with ranks on its nodes; the ranks of a node follow each other."""

    name: str
    network: Network
    node: Node

    @property
    def ranks(self) -> int:
        return self.network.nodes * self.node.ranks

    def machine_file(self) -> dict[str, Any]:
        """Returns the map that the probe would write on such a machine (docs/reference/machine_file.md)."""
        # A rank copies at its share of the node's memory rate, and each copy reads and writes.
        share = self.node.memory / (2 * self.node.ranks)
        inside = {"latency": self.node.inside_latency, "bandwidth": share}
        hosts = [{"name": f"n{i}", "slots": self.node.ranks, "inside": inside} for i in range(self.network.nodes)]
        known: dict[str, Any] = {"hosts": hosts, "subnets": self.network.subnets(self.node)}
        file = {"format": "tessera-machine", "version": 3, "name": self.name, "nodes": len(hosts), "network": known}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "machine.json"
            path.write_text(json.dumps(file))
            known["routes"] = json.loads(core.find_routes(str(path), self._slowdowns()))
        return file

    def _slowdowns(self) -> list[float]:
        """Returns the times of simultaneous flows relative to one alone, from which the probe infers routes."""
        alone = self._flows(np.array([[0, self.network.nodes - 1, 1]]))
        return [self._flows(pattern) / alone for pattern in core.route_patterns(self.network.nodes)]

    def _flows(self, flows: Numbers) -> float:
        """Returns s until the last of these flows between nodes ends. `flows` (n, 3): sender, receiver, 1."""
        exchange = Exchange(replace(self, node=replace(self.node, ranks=1)))
        exchange.add(flows * (1, 1, 64 << 20))
        return exchange.seconds()


FOLDER = ROOT / "build" / "bench" / "scale"


@cache
def _library() -> ctypes.CDLL:
    """Compiles loads.cpp where it is newer than the compiled program."""
    source, library = Path(__file__).with_name("loads.cpp"), FOLDER / "loads.so"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        FOLDER.mkdir(parents=True, exist_ok=True)
        compiler = [os.environ.get("CXX", "c++"), "-O2", "-std=c++20", "-shared", "-fPIC"]
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            made = Path(folder) / "loads.so"
            subprocess.run([*compiler, "-o", made, source], check=True, timeout=300)
            made.replace(library)
    return ctypes.CDLL(str(library))


@dataclass
class Exchange:
    """The messages of one exchange on a platform, added in batches."""

    platform: Platform

    def __post_init__(self) -> None:
        network, ranks = self.platform.network, self.platform.ranks
        self.kept = np.zeros(network.kept)
        self.far_messages = np.zeros((2, ranks), np.int64)  # sent and received between nodes
        self.near_messages = np.zeros((2, ranks), np.int64)
        self.near_bytes = np.zeros(network.nodes)
        self.port_bytes = np.zeros((2, network.nodes))

    def add(self, messages: Numbers) -> None:
        """Adds messages (n, 3): sender, receiver, bytes."""
        network = self.platform.network
        messages = np.ascontiguousarray(messages, np.int64)
        numbers = np.array(network.numbers, np.int64)
        found = (self.far_messages, self.near_messages, self.near_bytes, self.port_bytes, self.kept)
        counts = (len(messages), self.platform.node.ranks, network.nodes, isinstance(network, Torus))
        _library().add_messages(
            ctypes.c_void_p(messages.ctypes.data),
            *map(ctypes.c_int64, counts),
            ctypes.c_void_p(numbers.ctypes.data),
            *(ctypes.c_void_p(array.ctypes.data) for array in found),
        )

    def starts(self) -> float:
        """Returns s that the busiest rank or node needs to start its messages."""
        node = self.platform.node
        by_node = self.far_messages.reshape(2, -1, node.ranks).sum(axis=2)
        return max(
            float((self.far_messages * node.overhead + self.near_messages * node.inside_latency).max()),
            float(by_node.max() * node.gap),
        )

    def inside_seconds(self) -> float:
        """Returns s that the busiest node's memory needs for messages between its own ranks."""
        return 2 * float(self.near_bytes.max()) / self.platform.node.memory

    def seconds(self) -> float:
        """Returns the time of the exchange in s, and 0 where nothing moves."""
        p, node = self.platform, self.platform.node
        if not self.far_messages.any() and not self.near_messages.any():
            return 0.0
        loads = p.network.loads(self.kept)
        busy = max(
            float(loads.max(initial=0)) / p.network.bandwidth,
            float(self.port_bytes.max()) / node.injection,
            self.inside_seconds(),
        )
        return (node.latency if self.far_messages.any() else 0.0) + self.starts() + busy


def platforms(ranks: int) -> list[Platform]:
    """Returns the platforms. The torus is like the K computer's Tofu in three directions; the fat tree is like the
    Omni-Path of Oakforest-PACS, with the memory rate of its nodes (Jung et al. 2019, p. 4)."""
    found = []
    for per_node in (1, 32):
        nodes = ranks // per_node
        torus = Node(20e9, 64e9, latency=1.5e-6, overhead=0.3e-6, gap=0.1e-6, ranks=per_node)
        tree = Node(12.5e9, 400e9, latency=1.5e-6, overhead=0.5e-6, gap=0.3e-6, ranks=per_node)
        found.append(Platform("torus", Torus(torus_shape(nodes), 5e9), torus))
        found.append(Platform("fat tree", FatTree(nodes, 12.5e9), tree))
    return found


def torus_shape(nodes: int) -> tuple[int, int, int]:
    """Returns three ascending powers of two that are as close as possible and whose product is `nodes`."""
    power = nodes.bit_length() - 1
    if nodes != 1 << power:
        raise click.ClickException(f"{nodes} nodes; expected a power of two")
    x, y, z = (1 << ((power + i) // 3) for i in range(3))
    return x, y, z
