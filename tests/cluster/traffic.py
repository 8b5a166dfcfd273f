"""Sends the traffic of others on a cluster that is up: on-off flows, as of people who copy a file now and then.

A flow is on for times that are drawn from an exponential distribution about `BURST`, and then off for as long as makes
its mean the share that is asked for. Frames have an Ethernet type of their own, which hosts drop. They do not wait for
anybody: on a segment they come first, and in the queue of a port they take turns with others.
"""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .namespaces import FRAME, FRAME_BYTES, Cluster, batch, mac
from .spec import FABRIC, ClusterError, Network, Spec

BURST = 0.05  # s that a flow is on, on average
WHILE_ON = 0.9  # of the wire's rate
KIND = 0x88B5  # of frames: for local experiments, by IEEE 802
WIRE_BYTES = FRAME_BYTES + 24  # with preamble, checksum and gap
CLASS, FILTER = "1:ffe", 9  # of a segment's shaper
SHARES = (0.01, 0.85)
PAUSE = 0.002  # s: frames are sent in groups of what is due


@dataclass(frozen=True)
class Flow:
    """Traffic on a segment, out of the port of a host, or into it."""

    place: str  # of a segment or a host
    way: str  # "bus", "out" or "in"
    share: float  # of the wire's rate, on average


def flows_of(spec: Spec, texts: Sequence[str]) -> list[Flow]:
    """Parses `a=0.45` of a segment, `n3=0.6` of both directions of a host's port, `n3.in=0.6` of one. Raises
    ClusterError."""
    segments = [name for name, network in spec.networks.items() if network.is_bus]
    found = []
    for text in texts:
        where, _, number = text.partition("=")
        place, _, way = where.partition(".")
        try:
            share = float(number)
        except ValueError:
            share = -1.0
        if not SHARES[0] <= share <= SHARES[1]:
            raise ClusterError(f"--traffic {text}: expected a share from {SHARES[0]} to {SHARES[1]}, as in n3=0.6")
        if place in segments and not way:
            found.append(Flow(place, "bus", share))
        elif place in spec.slots and not spec.networks[spec.cards[place][0]].is_bus and way in ("", "in", "out"):
            found += [Flow(place, one, share) for one in ("out", "in") if way in ("", one)]
        else:
            ports = [host for host in spec.slots if not spec.networks[spec.cards[host][0]].is_bus]
            raise ClusterError(
                f"--traffic {text}: there is no {where}; there are the segments {' '.join(segments) or '(none)'} and "
                f"the hosts with ports {' '.join(ports) or '(none)'}, each with .in or .out if it is one direction"
            )
    places = [(flow.place, flow.way) for flow in found]
    if twice := [place for place in places if places.count(place) > 1]:
        raise ClusterError(f"--traffic: {'.'.join(twice[0])} is given twice")
    return found


def periods(share: float, seed: int) -> Iterator[tuple[float, float]]:
    """Yields for how long a flow is off and then on, s, so that it is on for this share of its mean rate."""
    draw = random.Random(seed)
    duty = share / WHILE_ON
    while True:
        yield draw.expovariate(duty / (BURST * (1 - duty))), draw.expovariate(1 / BURST)


@contextmanager
def traffic_on(spec: Spec, cluster: Cluster, flows: Sequence[Flow], seed: int) -> Iterator[None]:
    """Sends flows until the end of a block."""
    senders: list[subprocess.Popen[bytes]] = []
    try:
        for number, flow in enumerate(flows):
            _plug(spec, cluster, number, flow)
            senders.append(_start(spec, cluster, number, flow, seed + number))
        yield
        if early := [flow for flow, sender in zip(flows, senders) if sender.poll() is not None]:
            raise ClusterError(f"the traffic on {early[0].place} ended too early")
    finally:
        for sender in senders:
            sender.kill()
            sender.wait()
        for number, flow in enumerate(flows[: len(senders)]):
            batch(cluster, FABRIC, "ip", [f"link del {_device(number)}"])
            if flow.way == "bus":
                wire = f"wire-{flow.place}"
                batch(cluster, FABRIC, "tc", [
                    f"filter del dev {wire} parent 1: protocol 0x{KIND:x} prio {FILTER} u32",
                    f"class del dev {wire} classid {CLASS}",
                ])  # fmt: skip


def _device(number: int) -> str:
    return f"traffic{number}"


def _address(number: int) -> str:
    return f"02:00:00:01:{number:02x}:00"


def _network(spec: Spec, flow: Flow) -> Network:
    return spec.networks[flow.place if flow.way == "bus" else spec.cards[flow.place][0]]


def _plug(spec: Spec, cluster: Cluster, number: int, flow: Flow) -> None:
    """Joins a device to the network of a flow, which sends or receives it."""
    network, plug = _network(spec, flow), f"plug{number}"
    batch(cluster, FABRIC, "ip", [
        f"link add {_device(number)} address {_address(number)} type veth peer name {plug}",
        f"link set dev {plug} master br-{network.name} up",
        f"link set dev {_device(number)} up",
    ])  # fmt: skip
    # Bridges would send frames to all ports, and over cables, for an address that they have not seen.
    known = [f"fdb replace {_address(number)} dev {plug} master static"]
    if flow.way == "in":
        known.append(f"fdb replace {mac(spec, flow.place, 0)} dev {flow.place}.0 master static")
    batch(cluster, FABRIC, "bridge", known)
    if not network.is_bus:
        return
    frame = f"burst {FRAME_BYTES} cburst {FRAME_BYTES} quantum {FRAME_BYTES} {FRAME}"
    wire, everything = f"wire-{network.name}", "protocol all u32 match u32 0 0"
    batch(cluster, FABRIC, "tc", [
        f"class add dev {wire} parent 1:fff classid {CLASS} htb rate {network.rate:.0f}bit prio 0 {frame}",
        f"qdisc add dev {wire} parent {CLASS} bfifo limit {4 * FRAME_BYTES}",
        f"filter add dev {wire} parent 1: protocol 0x{KIND:x} prio {FILTER} u32 match u32 0 0 flowid {CLASS}",
        f"qdisc add dev {plug} ingress",
        f"filter add dev {plug} parent ffff: {everything} action mirred egress redirect dev {wire}",
    ])  # fmt: skip


def _start(spec: Spec, cluster: Cluster, number: int, flow: Flow, seed: int) -> subprocess.Popen[bytes]:
    device = "eth0" if flow.way == "out" else _device(number)
    to = mac(spec, flow.place, 0) if flow.way == "in" else _address(number)
    words = [device, to, str(_network(spec, flow).rate), str(flow.share), str(seed)]
    command = [
        "nice",
        "-n",
        "-10",
        "env",
        "-C",
        str(Path(__file__).parents[2]),
        sys.executable,
        "-m",
        "tests.cluster.traffic",
        *words,
    ]
    inside = cluster.enter(flow.place if flow.way == "out" else FABRIC, *command)
    return subprocess.Popen(inside, stdin=subprocess.DEVNULL)


def _send(device: str, to: str, rate: float, share: float, seed: int) -> None:
    """Sends one flow until the process is killed."""
    out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    out.bind((device, 0))
    frame = bytes.fromhex(to.replace(":", "")) + bytes([2, 0, 0, 2, 0, 0]) + KIND.to_bytes(2, "big")
    frame = frame.ljust(FRAME_BYTES, b"\0")
    seconds = 8 * WIRE_BYTES / (WHILE_ON * rate)  # a frame
    begin = time.monotonic()
    for off, on in periods(share, seed):
        begin += off
        end, sent = begin + on, begin
        while sent < end:
            time.sleep(max(0.0, sent - time.monotonic()))
            due = min(time.monotonic(), end)
            while sent < due:
                with suppress(OSError):  # the queue of the device is full, as a real card's would be
                    out.send(frame)
                sent += seconds
            time.sleep(PAUSE)
        begin = max(end, time.monotonic() - BURST)  # a machine that was busy does not catch up with all of it


if __name__ == "__main__":
    _send(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
