"""Runs SimGrid's SMPI as the reference: it sends the messages of a plan over a simulated platform, on which messages
under way share links fairly at each moment (apt-get install libsimgrid-dev)."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import click
import numpy as np

from bench.scale.platforms import FatTree, Platform, Torus

HOP = 1e-7  # s, latency of a link
MOST_MESSAGES = 70_000  # of an exchange; simulating them takes up to a minute on one core
STEPS = 500  # most moments at which bandwidths are shared anew; moments that are closer count as one
SETTINGS = (
    "smpi/privatization:no",
    "contexts/factory:raw",
    "contexts/stack-size:64",
    "contexts/guard-size:0",
    "network/crosstraffic:0",
    "smpi/simulate-computation:no",
    "smpi/lat-factor:0:1",
    "smpi/bw-factor:0:1",
)


def is_there() -> bool:
    return shutil.which("smpirun") is not None


REPLAY = Path(__file__).with_name("replay.cpp")


def build(folder: Path, source: Path = REPLAY) -> Path:
    """Compiles a program where its source is newer than what was compiled."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder.resolve() / source.stem
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        with tempfile.TemporaryDirectory(dir=folder) as made_in:
            made = Path(made_in) / source.stem
            subprocess.run(["smpicxx", "-O2", "-o", made, source], check=True, timeout=300)
            made.replace(program)
    return program


def platform_file(platform: Platform, hop: float = HOP) -> str:
    """Returns the platform file for SimGrid, without ports of nodes that are narrower than their links. A message
    through memory is read and written. `hop`: the latency of a link, s."""
    network, node = platform.network, platform.node
    if isinstance(network, Torus):
        topology, shape = "TORUS", ",".join(str(n) for n in network.shape if n > 1)
    else:
        assert isinstance(network, FatTree)
        leaves = max(1, network.nodes // network.down)
        topology, down = "FAT_TREE", min(network.nodes, network.down)
        if network.nodes > network.down**2:
            raise click.ClickException(f"{network.nodes} nodes; two levels of the tree hold {network.down**2}")
        shape = f"2;{down},{leaves};1,{network.up};1,1"
    return (
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
        f'<cluster id="all" prefix="n" suffix="" radical="0-{network.nodes - 1}" speed="1Gf" '
        f'bw="{network.bandwidth}Bps" lat="{hop}s" sharing_policy="SPLITDUPLEX" topology="{topology}" '
        f'topo_parameters="{shape}" '
        f'loopback_bw="{node.memory / 2}Bps" loopback_lat="{hop}s"/></platform>'
    )


def hosts(platform: Platform) -> list[int]:
    """Returns SimGrid's number of each node. SimGrid numbers along x first, and routes along its first direction
    first."""
    numbers = np.arange(platform.network.nodes)
    if isinstance(platform.network, Torus):
        return numbers.reshape(platform.network.shape[::-1]).transpose(2, 1, 0).ravel().tolist()
    return numbers.tolist()


def seconds(program: Path, messages: np.ndarray, platform: Platform, *, about: float, timeout: float = 3600) -> float:
    """Returns the time of an exchange in s. `about`: the expected time. `messages` (n, 3): sender, receiver, bytes."""
    ranks = platform.ranks
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines: list[list[str]] = [[] for _ in range(ranks)]
        # Each rank sends first to the next one, because ranks that all begin with rank 0 would queue there.
        turns = np.argsort((messages[:, 1] - messages[:, 0]) % ranks, kind="stable")
        for sender, receiver, n_bytes in messages[turns].tolist():
            lines[sender].append(f"{receiver} {n_bytes} 1")
            lines[receiver].append(f"{sender} {n_bytes} 0")
        for rank, mine in enumerate(lines):
            (folder / str(rank)).write_text("\n".join(mine))
        return simulate(program, [name], platform, precision=about / STEPS, timeout=timeout)


def simulate(
    program: Path, arguments: list[str], platform: Platform, *, hop: float = HOP, precision: float,
    timeout: float = 3600,
) -> float:  # fmt: skip
    """Returns the number that a program prints on the ranks of a platform. `precision`: s, of simulated time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "platform.xml").write_text(platform_file(platform, hop))
        nodes = hosts(platform)
        (folder / "hosts").write_text("\n".join(f"n{nodes[i // platform.node.ranks]}" for i in range(platform.ranks)))
        settings = [f"--cfg={s}" for s in (*SETTINGS, f"surf/precision:{precision:.3g}")]
        where = ["-np", str(platform.ranks), "-platform", f"{folder}/platform.xml", "-hostfile", f"{folder}/hosts"]
        run = ["smpirun", *where, *settings, str(program), *arguments]
        done = subprocess.run(run, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise click.ClickException(done.stderr[-2000:])
    return float(done.stdout)
