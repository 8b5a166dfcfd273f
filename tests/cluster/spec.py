"""Reads a TOML file that describes a cluster: its hosts, their networks, and the cables between networks.

    about  = "two racks"
    scale  = 10                   # every rate is divided by this (default 1)
    slots  = 2                    # ranks a host (default 1); [node_slots] n3 = 4 overrides
    [rates]                       # names for rates, if that reads better
    slow   = "100mbit"
    [[switch]]                    # full duplex, every port has this rate
    name   = "rack0"
    nodes  = "n[0-3]"             # or ["n0", "n1"]
    rate   = "slow"
    buffer = "200kb"              # the queue of each port (default)
    [[segment]]                   # a bus: one rate for all frames of all its hosts
    name   = "coax"
    nodes  = "n[4-7]"
    rate   = "10mbit"
    [[link]]                      # a cable between two of these
    ends   = ["rack0", "coax"]
    rate   = "100mbit"            # if slower than its ends
    delay  = "2ms"                # one way; for long, slow links only

The first network that lists a host carries its address. A later one is a further card: messages among the hosts of that
network take it, and all others take the first.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

SPECS = Path(__file__).with_name("specs")
FABRIC = "fabric"  # the namespace of all bridges and rate limits
MOST_HOSTS = 250  # the addresses of one /24 network
UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "kb": 1e3, "mb": 1e6, "us": 1e-6, "ms": 1e-3, "s": 1.0}
KEYS = {
    "": {"about", "scale", "slots", "node_slots", "rates", "switch", "segment", "link"},
    "switch": {"name", "nodes", "rate", "buffer"},
    "segment": {"name", "nodes", "rate", "buffer"},
    "link": {"ends", "rate", "delay", "buffer"},
}


class ClusterError(click.ClickException):
    """Raised where a cluster can't be described, built or used; says what was found and how to mend it."""


def quantity(value: object) -> float:
    """Converts a quantity: `100mbit` → 1e8 bit/s, `64kb` → 64,000 bytes, `2ms` → 0.002 s."""
    match = re.fullmatch(r"(\d+\.?\d*)\s*([a-z]+)", str(value).strip().lower())
    if not match or match[2] not in UNITS:
        raise ClusterError(f"{value!r} is no quantity; write a number and one of {', '.join(UNITS)}, as in 100mbit")
    return float(match[1]) * UNITS[match[2]]


def expand(names: str | list[str]) -> list[str]:
    """Expands `n[0-2,5] m` to n0 n1 n2 n5 m; a list is expanded item by item."""
    words = names.split() if isinstance(names, str) else [word for item in names for word in item.split()]
    found = []
    for word in words:
        match = re.fullmatch(r"(.*)\[([\d,-]+)\](.*)", word)
        if not match:
            found.append(word)
            continue
        for part in match[2].split(","):
            low, _, high = part.partition("-")
            found += [f"{match[1]}{i}{match[3]}" for i in range(int(low), int(high or low) + 1)]
    return found


@dataclass(frozen=True)
class Network:
    """A switch, each port of which has `rate` each way, or a segment, which has `rate` in all."""

    name: str
    is_bus: bool
    hosts: tuple[str, ...]
    rate: float | None  # bit/s; None: a switch without hosts, where each cable has its own rate
    buffer: float  # bytes


@dataclass(frozen=True)
class Cable:
    """A cable that joins two networks and forwards whole frames."""

    ends: tuple[str, str]
    rate: float | None  # bit/s; None: as fast as its ends
    delay: float  # s, one way
    buffer: float  # bytes


@dataclass(frozen=True)
class Wire:
    """A resource that messages share: one direction of a port or of a cable, or a bus."""

    name: str
    rate: float  # bit/s


@dataclass
class Spec:
    """The content of a spec file after all checks. Rates are bit/s after scaling."""

    path: Path
    about: str
    scale: float
    networks: dict[str, Network]
    cables: list[Cable]
    slots: dict[str, int]  # of each host, in the order of the file
    cards: dict[str, list[str]] = field(default_factory=dict)  # the networks of each host

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def hosts(self) -> list[str]:
        return list(self.slots)

    @property
    def ranks(self) -> int:
        return sum(self.slots.values())

    def card(self, a: str, b: str) -> int:
        """Returns the card of `a` that leads to `b`: the one on the last network that both are on, else the first."""
        return max((i for i, name in enumerate(self.cards[a]) if name in self.cards[b]), default=0)

    def route(self, a: str, b: str) -> list[str] | None:
        """Returns the networks that a frame crosses from one host to another, or None where no cables lead there."""
        start, goal = self.cards[a][self.card(a, b)], self.cards[b][self.card(b, a)]
        came_from: dict[str, str | None] = {start: None}
        todo = [start]
        for here in todo:
            for cable in self.cables:
                if here in cable.ends:
                    there = cable.ends[cable.ends[0] == here]
                    if there not in came_from:
                        came_from[there] = here
                        todo.append(there)
        if goal not in came_from:
            return None
        back, at = [goal], came_from[goal]
        while at is not None:
            back.append(at)
            at = came_from[at]
        return back[::-1]

    def wires(self, a: str, b: str) -> list[Wire]:
        """Returns the wires that a message from one host to another occupies, from the sender on."""
        route = self.route(a, b)
        assert route is not None, "checked when the file was read"
        found: list[Wire] = []
        for i, name in enumerate(route):
            network = self.networks[name]
            if i > 0:
                cable = next(c for c in self.cables if set(c.ends) == {route[i - 1], name})
                if cable.rate:
                    found.append(Wire(f"{route[i - 1]} → {name}", cable.rate))
            if network.is_bus:
                found.append(Wire(name, network.rate or 0))
            else:
                if i == 0:
                    found.append(Wire(f"{a} → {name}", network.rate or 0))
                if i == len(route) - 1:
                    found.append(Wire(f"{name} → {b}", network.rate or 0))
        return found

    def path_rate(self, a: str, b: str) -> float:
        """Returns the rate, bit/s, of the slowest wire between two hosts; it is the same in both directions."""
        return min(wire.rate for wire in self.wires(a, b))

    def show(self) -> str:
        """Returns a description for people: networks, cables, and the rate between any two hosts."""

        def mbit(rate: float | None) -> str:
            return f"{rate / 1e6:g} Mbit/s" if rate else "–"

        lines = [f"{self.name}: {self.about}", f"(real rates divided by {self.scale:g})", ""]
        lines += [
            f"{'segment' if n.is_bus else 'switch':8} {n.name:16} {mbit(n.rate):14} {' '.join(n.hosts)}"
            for n in self.networks.values()
        ]
        lines += [f"link     {'-'.join(c.ends):16} {mbit(c.rate):14} delay {c.delay * 1e3:g} ms" for c in self.cables]
        lines += ["", "Mbit/s between hosts [slots]" + "".join(f"{host:>7}" for host in self.hosts)]
        for a in self.hosts:
            row = ("–" if a == b else f"{self.path_rate(a, b) / 1e6:.4g}" for b in self.hosts)
            lines.append(f"{a:>24} [{self.slots[a]}]" + "".join(f"{cell:>7}" for cell in row))
        return "\n".join(lines)


def names() -> list[str]:
    """Returns the names of Tessera's own specs."""
    return sorted(path.stem for path in SPECS.glob("*.toml"))


def find(name: str) -> Path:
    """Finds a spec by its path, or one of Tessera's own by its name."""
    for path in (Path(name), SPECS / f"{name}.toml"):
        if path.is_file():
            return path.resolve()
    raise ClusterError(f"{name}: no such file, nor one of Tessera's own specs ({', '.join(names())})")


def read(name: str) -> Spec:
    """Reads and checks a spec: a path, or the name of one of Tessera's own. Raises ClusterError."""
    path = find(name)
    try:
        return _parse(path, tomllib.loads(path.read_text()))
    except (OSError, ValueError) as error:
        raise ClusterError(f"{path}: {error}") from None
    except ClusterError as error:
        raise ClusterError(f"{path}: {error.message}") from None


def _parse(path: Path, data: dict[str, Any]) -> Spec:
    _check_keys("", data)
    scale = float(data.get("scale", 1))
    rates = data.get("rates", {})

    def rate(table: dict[str, Any]) -> float | None:
        value = rates.get(table.get("rate"), table.get("rate"))
        return quantity(value) / scale if value else None

    networks: dict[str, Network] = {}
    cards: dict[str, list[str]] = {}
    for kind in ("switch", "segment"):
        for table in data.get(kind, []):
            one = _network(kind, table, rate(table))
            if one.name in networks:
                raise ClusterError(f"{kind} {one.name}: this name is given twice")
            networks[one.name] = one
            for host in one.hosts:
                cards.setdefault(host, []).append(one.name)
    slots = {host: int(data.get("slots", 1)) for host in cards}
    for key, number in data.get("node_slots", {}).items():
        for host in expand(key):
            if host not in slots:
                raise ClusterError(f"node_slots: there is no node {host}")
            slots[host] = int(number)
    if not 1 <= len(slots) <= MOST_HOSTS or min(slots.values()) < 1:
        raise ClusterError(f"{len(slots)} nodes; from 1 to {MOST_HOSTS}, each with at least one slot")
    spec = Spec(path, data.get("about", ""), scale, networks, [], slots, cards)
    for table in data.get("link", []):
        _check_keys("link", table)
        spec.cables.append(_cable(table, rate(table), networks))
    _check_paths(spec)
    return spec


def _network(kind: str, table: dict[str, Any], rate: float | None) -> Network:
    _check_keys(kind, table)
    if "name" not in table:
        raise ClusterError(f"a {kind} has no name")
    name, hosts = table["name"], expand(table.get("nodes", []))
    for word in (name, *hosts):
        if not re.fullmatch(r"[a-zA-Z][\w-]{0,9}", word) or word == FABRIC:
            raise ClusterError(f"{kind} {name}: {word!r} is no name; a letter and at most 9 letters or digits")
    if len(set(hosts)) < len(hosts):
        raise ClusterError(f"{kind} {name}: lists a node twice")
    if not rate and (hosts or kind == "segment"):
        raise ClusterError(f'{kind} {name}: has no rate; add one, as in rate = "100mbit"')
    return Network(name, kind == "segment", tuple(hosts), rate, quantity(table.get("buffer", "200kb")))


def _check_keys(kind: str, table: dict[str, Any]) -> None:
    if extra := sorted(set(table) - KEYS[kind]):
        known = ", ".join(sorted(KEYS[kind]))
        raise ClusterError(f"{kind or 'top level'}: unknown {', '.join(extra)}; known are {known}")


def _cable(table: dict[str, Any], rate: float | None, networks: dict[str, Network]) -> Cable:
    ends = table.get("ends", [])
    if len(set(ends)) != 2 or not set(ends) <= set(networks):
        raise ClusterError(f"link: ends = {ends}, which should be the names of two networks")
    delay, buffer = quantity(table.get("delay", "0s")), quantity(table.get("buffer", "200kb"))
    return Cable((ends[0], ends[1]), rate, delay, buffer)


def _check_paths(spec: Spec) -> None:
    """Refuses loops, in which frames would circle for ever, and hosts without a path to each other."""
    group = {name: name for name in spec.networks}
    for cable in spec.cables:
        a, b = (group[end] for end in cable.ends)
        if a == b:
            raise ClusterError(f"link {'-'.join(cable.ends)} closes a loop; take one link of it away")
        group = {name: a if of == b else of for name, of in group.items()}
    for a, b in itertools.combinations(spec.hosts, 2):
        if spec.route(a, b) is None:
            raise ClusterError(f"no path between {a} and {b}; add a link between their networks")


def pairs(spec: Spec) -> Iterator[tuple[str, str]]:
    """Yields all ordered pairs of hosts."""
    return itertools.permutations(spec.hosts, 2)
