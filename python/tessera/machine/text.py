"""Writes maps, partitions and choices of collectives as plain text."""

from __future__ import annotations

from typing import Any

from tessera.machine.network import Network
from tessera.machine.quantities import bytes_text, memory_rate_text, names_text, rate_text, table, time_text
from tessera.printing import counted

MEDIA = {"bus": "shared medium", "fabric": "switch", "unknown": "bus or switch unknown"}

_SHOWN = 8  # wires with traffic


def map_text(content: dict[str, Any], node: str, file: str) -> str:
    """Describes a machine file: its network, its nodes and its measurements. `node`: one line on a node."""
    if content.get("network") is None:
        return f"{file}: no network measured\n\n{node}"
    network = Network.from_json(content["network"])
    slots = sum(host.slots for host in network.hosts)
    leaves = sum(not s.subnets for s in network.subnets)
    head = f"{file}: {counted(len(network.hosts), 'host')}, {counted(slots, 'slot')}"
    if leaves > 1:
        head += f", {leaves} subnets on {counted(network.levels() - 1, 'level')}"
    parts = [head, "", network_text(network), ""]
    if not node.endswith("nothing known"):
        parts.append(f"nodes: {node.partition(': ')[2]}")
    if content.get("measurements") is not None:
        parts.append(measurements_text(content["measurements"]))
    return "\n".join(parts).rstrip()


def network_text(network: Network) -> str:
    """Draws the tree of subnets, one on each line, with rates, latencies, media and up-links."""
    rows = []
    for lead, index in network.tree():
        subnet = network.subnets[index]
        hosts = [network.hosts[h].name for h in network.hosts_of(index)]
        between = len(hosts) > 1
        rows.append(
            [
                lead + (names_text(hosts) if index or subnet.hosts else f"all {len(hosts)} hosts"),
                rate_text(subnet.link.bandwidth) if between else "",
                time_text(subnet.link.latency) if between else "",
                MEDIA[subnet.medium] if between else "",
                f"up-link {rate_text(subnet.uplink)}" if subnet.uplink is not None else "",
            ]
        )
    lines = table(rows, right=frozenset({1, 2}))
    inside = [host.inside for host in network.hosts if host.inside is not None]
    if inside:
        rates, latencies = [link.bandwidth for link in inside], [link.latency for link in inside]
        lines.append(
            f"inside a host: {_range(rates, memory_rate_text)}, {_range(latencies, time_text)}"
            + ("" if len(inside) == len(network.hosts) else f" (measured on {len(inside)} of {len(network.hosts)})")
        )
    for shared in network.processors:
        names = names_text([network.hosts[h].name for h in shared.hosts])
        work = f"{time_text(shared.work.latency)} and {memory_rate_text(shared.work.bandwidth)}"
        lines.append(f"{names} share processors: {work} at each end of a message")
    if routes := network.routes:
        shape = " × ".join(str(n) for n in routes.shape)
        kind = (
            f"a torus of {shape} hosts" if routes.kind == "torus" else f"a tree of {shape} ports down and up a switch"
        )
        lines.append(f"routes of {kind}, {rate_text(routes.bandwidth)} a link")
    if traffic := network.traffic:
        busiest = sorted(traffic.shares.items(), key=lambda item: -item[1])
        shown = ", ".join(f"{name} {share:.0%}" for name, share in busiest[:_SHOWN]) or "none"
        more = f" and {len(busiest) - _SHOWN} more" if len(busiest) > _SHOWN else ""
        lines.append(f"traffic of others at {traffic.date}: {shown}{more}")
    return "\n".join(lines)


def _range(values: list[float], text: Any) -> str:
    low, high = text(min(values)), text(max(values))
    return low if low == high else f"{low} to {high}"


def measurements_text(measurements: dict[str, Any]) -> str:
    """Says in one line how much was measured."""
    sizes, n = measurements["sizes"], len(measurements["hosts"])
    pairs = {frozenset((p["from"], p["to"])) for p in measurements["pairs"] if any(s is not None for s in p["seconds"])}
    if n < 2 or not sizes:
        return "measured: the inside of one host"
    return (
        f"measured: {len(pairs):,} of {n * (n - 1) // 2:,} pairs, messages of {bytes_text(sizes[0])} to "
        f"{bytes_text(sizes[-1])}, {counted(len(measurements['experiments']), 'experiment')} of several at once"
    )


def partition_text(content: dict[str, Any]) -> str:
    """Draws the tree of subnets with the least time between the parts of each, in the unit of the matrix."""
    hosts, tree = content["hosts"], content["tree"]

    def members(index: int) -> list[str]:
        subnet = tree[index]
        return [hosts[h] for h in subnet["hosts"]] + [name for part in subnet["subnets"] for name in members(part)]

    def rows(index: int, lead: str, tail: str) -> list[list[str]]:
        subnet = tree[index]
        names = names_text(members(index)) if not subnet["subnets"] else f"{len(members(index))} hosts"
        found = [[lead + names, "" if subnet["least"] is None else f"from {subnet['least']:g}"]]
        for i, part in enumerate(subnet["subnets"]):
            last = i == len(subnet["subnets"]) - 1
            found += rows(part, tail + ("└─ " if last else "├─ "), tail + ("   " if last else "│  "))
        return found

    head = f"{counted(len(hosts), 'host')} in {counted(len(content['subnets']), 'subnet')}"
    return "\n".join([head, "", *table(rows(0, "", ""))])


def choice_text(choice: dict[str, Any]) -> str:
    """Lists the best candidate of each algorithm, fastest first, and says which one is chosen."""
    what = choice["operation"].replace("_", "-") + (f" of {bytes_text(choice['bytes'])}" if choice["bytes"] else "")
    native = "the MPI library's own"
    chosen = native if choice["chosen"] == "native" else choice["chosen"]
    best: dict[str, dict[str, Any]] = {}
    for candidate in choice["candidates"]:
        best.setdefault(candidate["entry"], candidate)
    rows = [
        [
            candidate["plan"],
            time_text(candidate["seconds"]),
            candidate["bound_wire"],
            f"{candidate['bound_seconds'] / candidate['seconds']:.0%} busy" if candidate["seconds"] > 0 else "",
        ]
        for candidate in best.values()
    ]
    if choice["native_seconds"] > 0:
        rows.append([native, time_text(choice["native_seconds"]), "thought to be its best textbook algorithm", ""])
    elif choice["chosen"] == "native":
        rows.append([native, "", "", ""])
    marked = [["", "best of each algorithm", "predicted", "busiest wire", ""]]
    marked += [["*" if row[0] == chosen else "", *row] for row in rows]
    lines = [
        f"{what} on {counted(choice['n_ranks'], 'rank')} of {counted(choice['n_hosts'], 'host')}: {chosen}",
        choice["reason"],
        "",
        *table(marked, right=frozenset({2, 4})),
    ]
    if choice["class_bytes"] != choice["bytes"]:
        lines.append(f"chosen as for {bytes_text(choice['class_bytes'])}, which stands for sizes near it")
    if choice["traffic_of"]:
        lines.append(f"wires carry what the traffic of others at {choice['traffic_of']} leaves of them")
    if choice["trials_of"]:
        lines.append(f"predictions are corrected by trials with {choice['trials_of']}")
    if len(choice["candidates"]) > len(best):
        lines.append(f"{len(choice['candidates'])} candidates in all; --json has them")
    return "\n".join(lines)
