"""The network of a map, from the JSON that `tessera._core` returns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Link:
    """A link; the time of n bytes is latency + n / bandwidth."""

    latency: float  # s
    bandwidth: float  # bytes/s

    def time(self, n: float) -> float:
        """Returns the time in s of a message of `n` bytes."""
        return self.latency + n / self.bandwidth


@dataclass(frozen=True)
class Host:
    """A host: its name, how many ranks it has room for, and the link between two of them."""

    name: str  # as the launcher calls it
    slots: int  # ranks that it has room for
    inside: Link | None  # between two ranks of the host


@dataclass(frozen=True)
class Subnet:
    """A part of the network: the one that it is in, those in it or its hosts, and its link (s, bytes/s)."""

    parent: int  # -1: none, this is the whole network
    subnets: tuple[int, ...]  # those in it
    hosts: tuple[int, ...]  # the hosts of a leaf
    link: Link  # between two of its parts: s, bytes/s
    medium: str  # "bus", "fabric" or "unknown"
    uplink: float | None  # bytes/s


@dataclass(frozen=True)
class Processors:
    """Processors that hosts share; they are busy for work.time(n) at each end of a message of n bytes."""

    hosts: tuple[int, ...]  # that share them
    work: Link  # s and bytes/s of a message, at each end


@dataclass(frozen=True)
class Routes:
    """Routes of a torus (`shape` is the number of hosts along each direction) or of a tree (ports of a switch down and
    up)."""

    kind: str  # "torus" or "tree"
    shape: tuple[int, ...]  # hosts along each direction, or ports of a switch down and up
    bandwidth: float  # bytes/s of a link, each direction


@dataclass(frozen=True)
class Traffic:
    """What others sent at a date: shares (0 to 1) of the rates of wires, by what these are called."""

    date: str  # UTC
    shares: dict[str, float]  # 0 to 1, of the rates of wires by their names


@dataclass(frozen=True)
class Network:
    """What a map says of the network: hosts, subnets, processors, routes and traffic of others."""

    hosts: tuple[Host, ...]  # by number
    subnets: tuple[Subnet, ...]  # [0] is the whole network
    processors: tuple[Processors, ...] = ()  # that hosts share
    routes: Routes | None = None  # None: not known
    traffic: Traffic | None = None  # of others; None: not measured

    @staticmethod
    def from_json(json: dict[str, Any]) -> Network:
        """Makes a network from `network` of a machine file (docs/reference/machine_file.md) that was checked before."""

        def link(value: dict[str, float] | None) -> Link | None:
            return None if value is None else Link(value["latency"], value["bandwidth"])

        hosts = tuple(Host(h["name"], h["slots"], link(h.get("inside"))) for h in json["hosts"])
        number = {host.name: i for i, host in enumerate(hosts)}
        parent = {part: i for i, s in enumerate(json["subnets"]) for part in s.get("parts", [])}
        subnets = tuple(
            Subnet(
                parent.get(i, -1),
                tuple(s.get("parts", [])),
                tuple(number[name] for name in s.get("hosts", [])),
                link(s.get("link")) or Link(0.0, float("inf")),
                s["medium"],
                s.get("uplink"),
            )
            for i, s in enumerate(json["subnets"])
        )
        processors = tuple(
            Processors(tuple(number[name] for name in p["hosts"]), Link(**p["work"]))
            for p in json.get("processors", [])
        )
        found = json.get("routes")
        routes = None if found is None else Routes(found["kind"], tuple(found["shape"]), found["bandwidth"])
        return Network(hosts, subnets, processors, routes, _traffic_of(json.get("traffic")))

    def hosts_of(self, subnet: int) -> list[int]:
        """Returns all hosts below a subnet, in the order of the tree."""
        s = self.subnets[subnet]
        return [*s.hosts, *(host for part in s.subnets for host in self.hosts_of(part))]

    def common(self, a: int, b: int) -> Subnet:
        """Returns the smallest subnet that holds both hosts."""
        one, other = self._ancestors(a), set(self._ancestors(b))
        return self.subnets[next(s for s in one if s in other)]

    def levels(self) -> int:
        """Returns the number of levels of subnets, including the whole network."""
        return max(len(self._ancestors(host)) for host in range(len(self.hosts)))

    def tree(self, subnet: int = 0, lead: str = "", tail: str = "") -> Iterator[tuple[str, int]]:
        """Yields subnets from the top down, each with the lines that draw the tree in front of it."""
        yield lead, subnet
        parts = self.subnets[subnet].subnets
        for i, part in enumerate(parts):
            last = i == len(parts) - 1
            yield from self.tree(part, tail + ("└─ " if last else "├─ "), tail + ("   " if last else "│  "))

    def _ancestors(self, host: int) -> list[int]:
        found = [next(i for i, s in enumerate(self.subnets) if host in s.hosts)]
        while self.subnets[found[-1]].parent >= 0:
            found.append(self.subnets[found[-1]].parent)
        return found


def _traffic_of(json: dict[str, Any] | None) -> Traffic | None:
    if json is None:
        return None
    ports = {f"{port['host']} {way}": port[way] for port in json["ports"] for way in ("out", "in")}
    lines = {f"subnet {own['subnet']} {way}": own[way] for own in json["lines"] for way in ("bus", "up", "down")}
    return Traffic(json["date"], {name: share for name, share in (ports | lines).items() if share > 0})
