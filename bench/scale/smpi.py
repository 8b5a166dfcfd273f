"""The static model of bench/scale beside SimGrid's SMPI, which sends the same messages over a simulated torus.

    python -m bench.scale.smpi [--ranks 64,256] [--grids 256]     (apt-get install libsimgrid-dev)

SMPI shares links among the messages under way fairly, moment by moment; the static model knows only the busiest link.
Ratios to pencil are what both are for.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import click
import numpy as np

import tessera._core as core
from bench.common.results import ROOT, Figure
from bench.common.results import table as table_of
from bench.scale.fft import REAL_BYTES, SCHEMES, schemes_for, torus_shape
from bench.scale.platforms import Exchange, Node, Platform, Torus

BANDWIDTH, LATENCY, OVERHEAD = 5e9, 1e-7, 0.3e-6  # of a link; of a hop; of starting a message
SETTINGS = (
    "smpi/privatization:no",
    "contexts/factory:raw",
    "contexts/stack-size:64",
    "contexts/guard-size:0",
    "network/crosstraffic:0",
    "smpi/simulate-computation:no",
    "smpi/lat-factor:0:1",
    "smpi/bw-factor:0:1",
    f"smpi/os:0:{OVERHEAD}:0",
)


def simulated(program: Path, messages: list[np.ndarray], shape: tuple[int, int, int]) -> float:
    """Seconds of all exchanges by SMPI. `messages[i]` (n, 3): sender, receiver, bytes."""
    ranks = int(np.prod(shape))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines: list[list[str]] = [[] for _ in range(ranks)]
        for i, exchange in enumerate(messages):
            # Each rank sends first to the one after it, as ranks that all begin with rank 0 would queue there.
            turns = np.argsort((exchange[:, 1] - exchange[:, 0]) % ranks, kind="stable")
            for sender, receiver, n_bytes in exchange[turns].tolist():
                lines[sender].append(f"{i} {receiver} {n_bytes} 1")
                lines[receiver].append(f"{i} {sender} {n_bytes} 0")
        for rank, mine in enumerate(lines):
            (folder / str(rank)).write_text("\n".join(mine))
        x, y, z = shape
        (folder / "platform.xml").write_text(
            '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
            f'<cluster id="torus" prefix="n" suffix="" radical="0-{ranks - 1}" speed="1Gf" bw="{BANDWIDTH}Bps" '
            f'lat="{LATENCY}s" sharing_policy="SPLITDUPLEX" topology="TORUS" topo_parameters="{z},{y},{x}"/></platform>'
        )
        (folder / "hosts").write_text("\n".join(f"n{i}" for i in range(ranks)))
        settings = [f"--cfg={setting}" for setting in SETTINGS]
        run = ["smpirun", "-np", str(ranks), "-platform", f"{folder}/platform.xml", "-hostfile", f"{folder}/hosts"]
        done = subprocess.run(
            [*run, *settings, str(program), name, str(len(messages))], capture_output=True, text=True, timeout=600
        )
    if done.returncode != 0:
        raise click.ClickException(done.stderr[-2000:])
    return sum(map(float, done.stdout.split()))


@click.command()
@click.option("--ranks", default="64,256", show_default=True)
@click.option("--grids", default="256", show_default=True)
@click.option("--results", type=click.Path(path_type=Path), default=ROOT / "build" / "bench" / "results")
@click.option("--docs", is_flag=True, help="Put the table into docs/performance.md.")
def main(ranks: str, grids: str, results: Path, docs: bool) -> None:
    """Forward exchanges on a torus, one rank a node: each scheme's time over pencil's, by both models."""
    results.mkdir(parents=True, exist_ok=True)
    program = results / "replay"
    subprocess.run(["smpicxx", "-O2", "-o", program, Path(__file__).with_name("replay.cpp")], check=True, timeout=120)
    rows, agreed = [], 0
    for grid in map(int, grids.split(",")):
        for n in map(int, ranks.split(",")):
            shape = torus_shape(n)
            node = Node(6 * BANDWIDTH, 64e9, latency=3 * LATENCY, overhead=OVERHEAD, gap=0)
            platform = Platform("torus", Torus(shape, BANDWIDTH), node)
            ours, theirs = {}, {}
            for scheme in schemes_for(grid, n):
                plan = core.FftPlan(scheme, (grid,) * 3, is_real=True, ranks=n)
                messages = [plan.messages(i, 0, n) * (1, 1, REAL_BYTES) for i in range(plan.n_exchanges)]
                ours[scheme] = 0.0
                for exchange in messages:
                    model = Exchange(platform)
                    model.add(*exchange.T.copy())
                    ours[scheme] += model.seconds()
                theirs[scheme] = simulated(program, [m for m in messages if len(m)], shape)
            best, expected = min(theirs, key=theirs.__getitem__), min(ours, key=ours.__getitem__)
            agreed += best == expected
            for scheme in SCHEMES:
                if scheme in ours:
                    pair = [times[scheme] / times["pencil"] for times in (theirs, ours)]
                    rows.append([f"{grid}³", n, scheme, *pair, ours[scheme] / theirs[scheme]])
    figure = Figure("scale_smpi", "The static model beside SMPI", {"smpi": list(SETTINGS)}, {})
    figure.tables = [table_of(["grid", "ranks", "scheme", "SMPI / pencil", "model / pencil", "model / SMPI"], rows)]
    cases = len(ranks.split(",")) * len(grids.split(","))
    figure.notes = [f"Simulated. Both name the same quickest scheme in {agreed} of {cases} cases."]
    figure.write(results, as_json=False, docs=docs)


if __name__ == "__main__":
    main()
