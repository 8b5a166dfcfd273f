"""Computes least times of collective operations on an emulated cluster, from its wires' rates and the bytes that must
cross them.

Hosts are divided into parts, inside which communication costs nothing. The bytes that must pass between parts follow
from the operation alone, because every element travels in unicast messages that hosts forward or combine:

    into a set G     broadcast  K, if the root is outside          all-reduce      S
                     reduce-scatter  S_G (results of G)            all-gather      S − S_G
                     all-to-all  A p_G (P − p_G)
    touching n parts, with the rest of the cluster as one more (R = 1) or none (R = 0)
                     broadcast  (n − 1 + R) K with the root among them, n K without
                     all-reduce  2 (n − 1 + R) S: a tree to combine each element and one to tell it
                     reduce-scatter, all-gather  (n − 1 + R) S: one such tree
                     all-to-all  A (Σ p_i p_j + 2 Σ p_i (P − Σ p_j))

Here K, S and A are the bytes of the message, of the vector and of one pair's block, p is the number of ranks in a part
and P that of all ranks. The time is at least these bytes over the greatest rate at which these pairs can communicate at
once, max Σ f_pair with Σ f_pair ≤ rate on each wire (a linear programme). The bound is the largest over hosts,
networks, sides of cables and partitions by speed. Latency and shared memory count as free; not every bound can be
reached.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
import numpy as np
from scipy.optimize import linprog

from bench.common.results import table
from tests.cluster import spec as cluster_spec
from tests.cluster.spec import Spec

PAYLOAD = 1448 / 1538  # share of the bytes of a full frame on the wire
VECTOR = 54_212 * 3 * 8  # bytes: forces on HIV integrase in water (Borštnik et al. 2004, table 2)


@dataclass(frozen=True)
class Operation:
    """An operation that is measured; `bytes` are those of the message, of the whole vector, or of one pair's block."""

    name: str
    kind: str  # name_of(Operation) in C++
    call: str  # its name in tessera-collectives
    bytes: int

    @property
    def is_short(self) -> bool:
        """Whether latency dominates, so that the least of many times is compared in place of the median."""
        return self.bytes < 100_000 and self.kind != "all_to_all"

    def turns(self, repeats: int) -> int:
        """Returns the number of repeats: short operations need twenty times as many, because their least time
        counts."""
        return repeats * (20 if self.is_short else 1)


OPERATIONS = (
    Operation("bcast-16k", "broadcast", "broadcast", 16_000),
    Operation("bcast-1m", "broadcast", "broadcast", 1_000_000),
    Operation("allreduce", "all_reduce", "all_reduce", VECTOR),
    Operation("reduce-scatter", "reduce_scatter", "reduce_scatter", VECTOR),
    Operation("allgatherv", "all_gather", "all_gatherv", VECTOR),
    Operation("all-to-all", "all_to_all", "all_to_all", 8192),
    Operation("barrier", "barrier", "barrier", 0),
)

Hosts = frozenset[str]


@dataclass(frozen=True)
class Bound:
    seconds: float
    reason: str  # what limits


class Wires:
    """The rates of a spec's wires, from which follows the rate at which given pairs of hosts can communicate at
    once."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.rates: dict[str, float] = {}
        self.paths: dict[tuple[str, str], list[str]] = {}
        for pair in cluster_spec.pairs(spec):
            found = spec.wires(*pair)
            self.rates |= {wire.name: wire.rate for wire in found}
            self.paths[pair] = [wire.name for wire in found]
        self.known: dict[frozenset[tuple[str, str]], float] = {}
        self.groups = groups(spec)
        self.partitions = partitions(spec)

    def capacity(self, pairs: Iterable[tuple[str, str]]) -> float:
        """Returns the greatest rate of these pairs together in bit/s, with headers."""
        chosen = frozenset(pairs)
        if chosen not in self.known:
            self.known[chosen] = self._capacity(chosen)
        return self.known[chosen]

    def _capacity(self, pairs: frozenset[tuple[str, str]]) -> float:
        # Pairs that use the same wires share one unknown.
        routes = sorted({tuple(self.paths[pair]) for pair in pairs})
        names = sorted({name for route in routes for name in route})
        row = {name: i for i, name in enumerate(names)}
        uses = np.zeros((len(names), len(routes)))
        for column, route in enumerate(routes):
            uses[[row[name] for name in route], column] = 1
        found = linprog(-np.ones(len(routes)), A_ub=uses, b_ub=[self.rates[name] / 1e6 for name in names])
        if found.status != 0:
            raise click.ClickException(f"the capacity of {self.spec.name} can't be found: {found.message}")
        return float(-found.fun) * 1e6


def groups(spec: Spec) -> dict[Hosts, str]:
    """Returns sets of hosts that a bottleneck may separate from the others, each with a name for people."""
    found: dict[Hosts, str] = {}
    everything = frozenset(spec.hosts)
    for name, network in spec.networks.items():
        found.setdefault(frozenset(network.hosts), name)
    for cable in spec.cables:
        found.setdefault(_side(spec, cable.ends), f"{cable.ends[0]} side of {'-'.join(cable.ends)}")
    for partition in partitions(spec):
        for part in partition:
            found.setdefault(part, f"{min(part)} and its like" if len(part) > 1 else min(part))
    for group, name in list(found.items()):
        found.setdefault(everything - group, f"all but {name}")
    found.pop(frozenset(), None)
    return found


def _side(spec: Spec, ends: tuple[str, str]) -> Hosts:
    """Returns the hosts whose first network is on this side of a cable."""
    reached, todo = {ends[0]}, [ends[0]]
    for here in todo:
        for cable in spec.cables:
            if here in cable.ends and cable.ends != ends:
                there = cable.ends[cable.ends[0] == here]
                if there not in reached:
                    reached.add(there)
                    todo.append(there)
    return frozenset(host for host in spec.hosts if spec.cards[host][0] in reached)


def partitions(spec: Spec) -> list[list[Hosts]]:
    """Returns partitions into single hosts, by network, and into hosts that reach each other at a given speed."""
    found: dict[frozenset[Hosts], None] = {}
    rates = {pair: spec.path_rate(*pair) for pair in cluster_spec.pairs(spec)}
    for least in sorted(set(rates.values())):
        part = {host: frozenset([host]) for host in spec.hosts}
        for (a, b), rate in rates.items():
            if rate >= least and part[a] != part[b]:
                joined = part[a] | part[b]
                part |= dict.fromkeys(joined, joined)
        found.setdefault(frozenset(part.values()))
    for which in (0, -1):
        by_network: dict[str, list[str]] = {}
        for host, cards in spec.cards.items():
            by_network.setdefault(cards[which], []).append(host)
        found.setdefault(frozenset(frozenset(hosts) for hosts in by_network.values()))
    found.setdefault(frozenset(frozenset([host]) for host in spec.hosts))
    return [sorted(partition, key=min) for partition in found if len(partition) > 1]


def bytes_into(operation: Operation, spec: Spec, group: Hosts, root: str) -> float:
    """Returns the bytes that must enter a set of hosts."""
    inside = sum(spec.slots[host] for host in group)
    share = inside / spec.ranks
    return {
        "broadcast": 0 if root in group else operation.bytes,
        "all_reduce": operation.bytes,
        "reduce_scatter": operation.bytes * share,
        "all_gather": operation.bytes * (1 - share),
        "all_to_all": operation.bytes * inside * (spec.ranks - inside),
    }[operation.kind]


def bytes_touching(operation: Operation, spec: Spec, parts: Sequence[Hosts], root: str) -> float:
    """Returns the bytes that must pass between these parts, and between them and the rest."""
    inside = frozenset().union(*parts)
    edges = len(parts) - 1 + (len(inside) < len(spec.hosts))
    ranks = [sum(spec.slots[host] for host in part) for part in parts]
    pairs = sum(ranks) ** 2 - sum(n**2 for n in ranks)
    return {
        "broadcast": operation.bytes * (edges if root in inside else len(parts)),
        "all_reduce": operation.bytes * 2 * edges,
        "reduce_scatter": operation.bytes * edges,
        "all_gather": operation.bytes * edges,
        "all_to_all": operation.bytes * (pairs + 2 * sum(ranks) * (spec.ranks - sum(ranks))),
    }[operation.kind]


def bound(spec: Spec, operation: Operation, root: str | None = None) -> Bound | None:
    """Returns the least time of any algorithm, s, with rank 0 of a broadcast on host `root` (default: the first), or
    None for a barrier, which moves no bytes."""
    if operation.kind == "barrier":
        return None
    wires, root, best = _wires(spec.path), root or spec.hosts[0], Bound(0, "nothing")
    everything = frozenset(spec.hosts)

    def consider(moved: float, pairs: Iterable[tuple[str, str]], reason: str) -> None:
        nonlocal best
        if moved > 0:
            seconds = moved * 8 / (wires.capacity(pairs) * PAYLOAD)
            if seconds > best.seconds * (1 + 1e-9):
                best = Bound(seconds, reason)

    for group, name in wires.groups.items():
        if group != everything:
            crossing = itertools.product(everything - group, group)
            consider(bytes_into(operation, spec, group, root), crossing, f"into {name}")
    for group, name in {everything: "all", **wires.groups}.items():
        for partition in wires.partitions:
            parts = [part & group for part in partition if part & group]
            place = {host: i for i, part in enumerate(parts) for host in part}
            touching = [(a, b) for a, b in wires.paths if place.get(a) != place.get(b)]
            if touching:
                moved = bytes_touching(operation, spec, parts, root)
                consider(moved, touching, f"between {len(parts)} parts of {name}")
    return best


def processors_bound(spec: Spec, operation: Operation, map_file: Path, root: str | None = None) -> Bound | None:
    """Returns the least time, s, that processors shared by hosts need according to a map of the machine (`processors`).
    They work at both ends of a message between their hosts, and at one end of a message to another host. Returns None
    where the map names no such processors."""
    network = json.loads(map_file.read_text()).get("network") or {}
    best: Bound | None = None
    for place, shared in enumerate(network.get("processors", [])):
        hosts = [host for host in shared["hosts"] if host in spec.hosts]
        if operation.kind == "barrier" or len(hosts) < 2:
            continue
        moved = bytes_touching(operation, spec, [frozenset([host]) for host in hosts], root or spec.hosts[0])
        ends = 2 if len(hosts) == len(spec.hosts) else 1
        seconds = ends * moved / shared["work"]["bandwidth"]
        if best is None or seconds > best.seconds:
            best = Bound(seconds, f"processors {place} of {len(hosts)} hosts")
    return best


@cache
def _wires(path: Path) -> Wires:
    return Wires(cluster_spec.read(str(path)))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, metavar="SPEC...")
@click.option("--reasons", is_flag=True, help="Print what limits each time.")
@click.option(
    "--map",
    "map_file",
    type=click.Path(path_type=Path, exists=True),
    help="Map of the one SPEC, measured here: a second row has the times of the processors that its hosts share.",
)
def bounds(names: tuple[str, ...], reasons: bool, map_file: Path | None) -> None:
    """Print least times of the measured operations on these clusters (default: Tessera's own), ms."""
    if map_file and len(names) != 1:
        raise click.UsageError("--map is of one network; name it")
    specs = [
        cluster_spec.read(name) for name in names or sorted(path.stem for path in cluster_spec.SPECS.glob("*.toml"))
    ]
    operations = [operation for operation in OPERATIONS if operation.kind != "barrier"]
    rows = []
    for spec in specs:
        found = [bound(spec, operation) for operation in operations]
        if reasons:
            for operation, one in zip(operations, found):
                click.echo(f"{spec.name}, {operation.name}: {one.reason if one else '–'}", err=True)
        rows.append([f"{spec.name} ({spec.ranks})", *(one and one.seconds * 1e3 for one in found)])
        if map_file:
            work = [processors_bound(spec, operation, map_file) for operation in operations]
            both = [max((b.seconds for b in pair if b), default=0) * 1e3 for pair in zip(found, work)]
            rows.append([f"{spec.name}, with processors", *both])
    click.echo(table(["network (ranks)", *(operation.name for operation in operations)], rows))


if __name__ == "__main__":
    sys.exit(bounds())
