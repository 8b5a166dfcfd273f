"""Builds a cluster from a spec, and removes it.

A host is a set of network, UTS, IPC and mount namespaces: interfaces, a host name, /dev/shm and /etc/hosts of its own,
so that MPI uses TCP between hosts and shared memory inside one. All bridges and shapers live in one more namespace, the
fabric; nothing is created in the machine's own.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .spec import FABRIC, ClusterError, Network, Spec

STATE = Path(os.environ.get("TESSERA_CLUSTER_STATE", "/run/tessera-cluster"))
PREFIX = "10.77.0"  # host i is PREFIX.(i+1); seen only inside the namespaces
FRAME = "overhead 24 mpu 84"  # preamble, checksum and gap, which a frame occupies besides its own bytes
FRAME_BYTES = 1514  # of the largest frame, without the overhead
HOST_QUEUE = 2e6  # bytes that may wait in a host for its card
RELAY = Path(__file__).with_name("relay.py")


@dataclass(frozen=True)
class Cluster:
    """A cluster that is up: its spec, and the process that holds each host's namespaces."""

    spec: str
    pids: dict[str, int]

    def enter(self, host: str, *command: str) -> list[str]:
        """Returns the words that run a command on a host."""
        if host not in self.pids:
            raise ClusterError(f"there is no host {host}; there are {' '.join(h for h in self.pids if h != FABRIC)}")
        return ["nsenter", "-t", str(self.pids[host]), "-n", "-u", "-i", "-m", "--", *command]


def current() -> Cluster | None:
    """Returns the cluster that is up, if there is one."""
    try:
        found = json.loads((STATE / "state.json").read_text())
        return Cluster(found["spec"], found["pids"])
    except (OSError, ValueError, KeyError):
        return None


def address(spec: Spec, host: str) -> str:
    return f"{PREFIX}.{spec.hosts.index(host) + 1}"


def mac(spec: Spec, host: str, card: int) -> str:
    """Returns the Ethernet address of a host's card."""
    return f"02:00:00:00:{card:02x}:{spec.hosts.index(host) + 1:02x}"


def why_not() -> str | None:
    """Returns the reason why no cluster can be built here, or None where one can."""
    if os.geteuid() != 0:
        return (
            "emulating a cluster needs root (namespaces, bridges, tc); without: "
            "TESSERA_CLUSTER_STATE=/tmp/cluster.$USER unshare -Urm python -m tests.cluster …"
        )
    missing = [tool for tool in ("ip", "tc", "bridge", "nsenter", "unshare") if not shutil.which(tool)]
    if missing:
        return f"emulating a cluster needs {', '.join(missing)} (Debian: apt-get install iproute2 util-linux)"
    try:
        done = subprocess.run(["unshare", "-n", "-u", "-i", "-m", "true"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError) as error:
        return f"emulating a cluster needs namespaces: {error}"
    return f"emulating a cluster needs namespaces: {done.stderr.strip()}" if done.returncode else None


def up(spec: Spec) -> Cluster:
    """Builds the cluster. Raises ClusterError, and then leaves nothing behind."""
    if (now := current()) is not None:
        raise ClusterError(f"a cluster is up already ({now.spec}); remove it with `down` first")
    if (reason := why_not()) is not None:
        raise ClusterError(reason)
    (STATE / "tmp").mkdir(parents=True, exist_ok=True)  # session files of the MPI libraries
    names = "".join(f"{address(spec, host)} {host}\n" for host in spec.hosts)
    (STATE / "hosts").write_text(f"127.0.0.1 localhost\n{names}")
    cluster = Cluster(str(spec.path), {})
    try:
        for name in (FABRIC, *spec.hosts):
            cluster.pids[name] = _hold(name)
            # written after each, so that `down` finds all of them after any failure
            (STATE / "state.json").write_text(json.dumps({"spec": cluster.spec, "pids": cluster.pids}))
        _cable(spec, cluster)
        _write_agent(spec, cluster)
    except BaseException:
        down()
        raise
    return cluster


def down() -> None:
    """Kills every process in the cluster's network namespaces; interfaces and mounts go with the last of them."""
    spaces = set()
    for pid in (current() or Cluster("", {})).pids.values():
        try:
            if b"infinity" in Path(f"/proc/{pid}/cmdline").read_bytes():  # no other process has got this id meanwhile
                spaces.add(os.readlink(f"/proc/{pid}/ns/net"))
        except OSError:
            pass
    spaces.discard(os.readlink("/proc/self/ns/net"))
    while spaces and _kill_in(spaces):
        time.sleep(0.02)
    shutil.rmtree(STATE, ignore_errors=True)


def _kill_in(spaces: set[str]) -> bool:
    """Kills all processes in these namespaces; returns whether there were any."""
    found = False
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "ns/net") in spaces:
                os.kill(int(process.name), signal.SIGKILL)
                found = True
        except OSError:
            pass
    return found


def _hold(name: str) -> int:
    """Starts the process that keeps a host's namespaces alive; returns its id."""
    setup = f"""set -e; trap '' HUP CHLD; hostname {name}
        mount -t sysfs sysfs /sys; mount -t tmpfs -o size=25% shm /dev/shm
        mount --bind {STATE}/hosts /etc/hosts; ip link set lo up
        echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6 || true
        echo cubic > /proc/sys/net/ipv4/tcp_congestion_control || true
        echo ready; exec sleep infinity >/dev/null 2>&1"""
    process = subprocess.Popen(
        ["unshare", "-n", "-u", "-i", "-m", "sh", "-c", setup],
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout and process.stderr
    if process.stdout.readline().strip() != "ready":
        raise ClusterError(f"can't make the namespaces of {name}: {process.stderr.read().strip()}")
    return process.pid


def _write_agent(spec: Spec, cluster: Cluster) -> None:
    """Writes the program that takes the place of ssh: `agent [options] HOST command…`."""
    cases = " ".join(f"{host}) pid={cluster.pids[host]};;" for host in spec.hosts)
    enter = "nsenter -t $pid -n -u -i -m --"
    agent = STATE / "agent"
    agent.write_text(
        "#!/bin/sh\n"
        'while case "$1" in -*) true;; *) false;; esac; do shift; done\n'
        f'case "$1" in {cases} *) echo "no host $1" >&2; exit 255;; esac\n'
        f'shift; exec {enter} sh -c "$*"\n'
    )
    agent.chmod(0o755)


# ------------------------------------------------------------------------------------------------------------ cables


def _cable(spec: Spec, cluster: Cluster) -> None:
    """Collects all commands of `ip` and `tc`, then runs one batch of each in each namespace."""
    ip: dict[str, list[str]] = defaultdict(list)
    tc: dict[str, list[str]] = defaultdict(list)
    ports: dict[str, list[str]] = defaultdict(list)  # the ports of each network

    def plug(port: str, network: str) -> None:
        ip[FABRIC].append(f"link set dev {port} master br-{network} gso_max_segs 1 up")
        ports[network].append(port)

    for network in spec.networks.values():
        _bridge(network, ip[FABRIC])
        for host in network.hosts:
            card = spec.cards[host].index(network.name)
            port = f"{host}.{card}"
            of_host = f"eth{card} address {mac(spec, host, card)} netns {cluster.pids[host]}"
            ip[FABRIC].append(f"link add {port} type veth peer name {of_host}")
            plug(port, network.name)
            ip[host].append(f"link set dev eth{card} gso_max_segs 1 up")  # frames of real size instead of 64 KiB
            ip[host] += [f"addr add {address(spec, host)}/24 dev eth0"] if card == 0 else []
            assert network.rate
            tc[host].append(_shaper(f"eth{card}", network.rate, HOST_QUEUE))
            if not network.is_bus:
                tc[FABRIC].append(_shaper(port, network.rate, network.buffer))
    for a, b in itertools.permutations(spec.hosts, 2):
        card = spec.card(a, b)
        # Otherwise hosts ask for each other's addresses, and the kernel keeps only 1024 answers for all namespaces.
        to = mac(spec, b, spec.cards[b].index(spec.cards[a][card]) if card else 0)
        ip[a].append(f"neigh add {address(spec, b)} lladdr {to} dev eth{card} nud permanent")
        if card:
            ip[a].append(f"route add {address(spec, b)} dev eth{card} src {address(spec, a)}")
    delayed: list[list[str]] = []
    for i, cable in enumerate(spec.cables):
        ends = [f"link{i}a", f"link{i}b"]
        if cable.delay:
            ip[FABRIC] += [f"tuntap add dev {end} mode tap" for end in ends]
            delayed.append([*ends, str(cable.delay)])
        else:
            ip[FABRIC].append(f"link add {ends[0]} type veth peer name {ends[1]}")
        for end, name in zip(ends, cable.ends):
            plug(end, name)
            tc[FABRIC] += [_shaper(end, cable.rate, cable.buffer)] if cable.rate else []
    for network in spec.networks.values():
        tc[FABRIC] += _bus(spec, network, ports[network.name]) if network.is_bus else []
    for name in (FABRIC, *spec.hosts):
        batch(cluster, name, "ip", ip[name])
        batch(cluster, name, "tc", tc[name])
    for words in delayed:
        command = cluster.enter(FABRIC, sys.executable, str(RELAY), *words)
        subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)


def _bridge(network: Network, ip: list[str]) -> None:
    ip += [
        f"link add br-{network.name} type bridge mcast_snooping 0 forward_delay 0",
        f"link set dev br-{network.name} up",
    ]
    if network.is_bus:
        ip += [f"link add wire-{network.name} type ifb", f"link set dev wire-{network.name} up"]


def _shaper(device: str, rate: float, buffer: float) -> str:
    burst = max(2 * FRAME_BYTES, rate / 8 * 20e-6)  # two frames, or 20 µs of a fast port
    return f"qdisc add dev {device} root tbf rate {rate:.0f}bit burst {burst:.0f} limit {buffer:.0f} {FRAME}"


def _bus(spec: Spec, network: Network, ports: Sequence[str]) -> list[str]:
    """All frames that enter a segment pass one class, in which its senders and the frames from cables take turns."""
    assert network.rate
    device, rate, shares = f"wire-{network.name}", network.rate, len(network.hosts) + 1
    frame = f"burst {FRAME_BYTES} cburst {FRAME_BYTES} quantum {FRAME_BYTES} {FRAME}"
    lines = [
        f"qdisc add dev {device} root handle 1: htb default {shares:x}",
        f"class add dev {device} parent 1: classid 1:fff htb rate {rate:.0f}bit {frame}",
    ]
    for i in range(1, shares + 1):
        share = f"rate {rate / shares:.0f}bit ceil {rate:.0f}bit"
        lines += [
            f"class add dev {device} parent 1:fff classid 1:{i:x} htb {share} {frame}",
            f"qdisc add dev {device} parent 1:{i:x} bfifo limit {network.buffer:.0f}",
        ]
    for i, host in enumerate(network.hosts, 1):
        match = f"u32 match ip src {address(spec, host)}"
        lines.append(f"filter add dev {device} parent 1: protocol ip {match} flowid 1:{i:x}")
    for port in ports:
        everything = "protocol all u32 match u32 0 0"
        lines += [
            f"qdisc add dev {port} ingress",
            f"filter add dev {port} parent ffff: {everything} action mirred egress redirect dev {device}",
        ]
    return lines


def batch(cluster: Cluster, host: str, tool: str, lines: Sequence[str]) -> None:
    """Runs commands of `ip` or `tc` on a host. Raises ClusterError that names the first that failed."""
    done = subprocess.run(
        cluster.enter(host, tool, "-batch", "-"),
        input="\n".join(lines) + "\n",
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode:
        at = re.search(r"-:(\d+)", done.stdout)
        where = f"\n  at: {lines[int(at[1]) - 1]}" if at else ""
        raise ClusterError(f"{tool} on {host}: {done.stdout.strip()}{where}")
