"""Measures time and memory of making and reading the largest system files: 300,763,000 ions and a billion atoms."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from bench.common import systems
from bench.common.options import Common, script
from bench.common.process import measure
from bench.common.results import ROOT, columns

SECONDS = {"nacl": 600, "water": 1800}  # promises
GIGABYTES_OF_MEMORY = {"nacl": 2.0, "water": 4.0}
SHARE_SECONDS, SHARE_MEGABYTES = 0.1, 50
RANKS = 65536
SHARE = re.compile(r"atoms (\d+) of (\d+) seconds ([\d.e-]+) peak_MB ([\d.]+)")


def missed(measured: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Names what takes more time or memory than promised, of each kind of system."""
    found = []
    for kind, one in measured.items():
        for name, value, most in (
            (f"making {kind}, s", one["seconds"], SECONDS[kind]),
            (f"making {kind}, GB of memory", one["peak_bytes"] / 1e9, GIGABYTES_OF_MEMORY[kind]),
            (f"reading a share of {kind}, s", one["share_seconds"], SHARE_SECONDS),
            (f"reading a share of {kind}, MB of memory", one["share_peak_megabytes"], SHARE_MEGABYTES),
        ):
            if not value <= most:
                found.append(f"{name}: {value:.3g}, promised ≤ {most:g}")
    return found


def read_share(path: Path, ranks: int) -> tuple[int, int, float, float]:
    """Returns the atoms of one rank's share and of all, the seconds in which it was read, and the peak memory in MB."""
    done = measure(
        [ROOT / "build" / "release" / "test" / "app_test", "--gtest_filter=*AShareOfManyRanks*"],
        folder=path.parent,
        environment={"TESSERA_LARGE_SYSTEM": str(path), "TESSERA_LARGE_RANKS": str(ranks)},
    )
    found = SHARE.search(done.stdout)
    assert found is not None, done.stdout
    return int(found[1]), int(found[2]), float(found[3]), float(found[4])


@script(check="a promise is not kept")
@click.option("--ions", default=300_763_000, show_default=True, type=int, help="Ions of the crystal.")
@click.option("--atoms", default=1_000_000_000, show_default=True, type=int, help="Atoms of the water.")
def setup(common: Common, ions: int, atoms: int) -> None:
    """Measure `tessera make` of systems that do not fit into memory, and how one of 65,536 ranks reads its share.

    The folder of --work needs 25 GB for a billion atoms. Files that are written are synchronised with the disk; the
    system has them in its memory, as far as it is large enough, when they are read.

    \b
    Examples:
      python -m bench.io setup --check --docs
      python -m bench.io setup --ions 8000000 --atoms 10000000 --json
    """
    figure = common.figure("setup", "Making the largest systems", ranks=RANKS)
    folder = common.work / "setup"
    salt = ["--ions", str(ions), "--potential", "charmm"]
    for kind, arguments in (("nacl", salt), ("water", ["--atoms", str(atoms)])):
        shutil.rmtree(folder, ignore_errors=True)
        path = folder / f"{kind}.tsr"
        made = systems.tessera(["make", kind, *arguments, "-o", str(path)], folder)
        common.say(f"made {path.name}: {made.wall_seconds:.4g} s")
        size = path.stat().st_size
        verified = systems.tessera(["verify", str(path)], folder)
        common.say(f"verified {path.name}: {verified.wall_seconds:.4g} s")
        share, n_atoms, seconds, peak = read_share(path, RANKS)
        figure.data[kind] = {
            "command": "make nacl (CHARMM's ions)" if kind == "nacl" else f"make {kind}",
            "n_atoms": n_atoms,
            "seconds": made.wall_seconds,
            "peak_bytes": made.peak_bytes,
            "file_bytes": size,
            "verify_seconds": verified.wall_seconds,
            "share_atoms": share,
            "share_seconds": seconds,
            "share_peak_megabytes": peak,
        }
        shutil.rmtree(folder, ignore_errors=True)
    cells: dict[str, Callable[[Mapping[str, Any]], Any]] = {
        "command": lambda one: one["command"],
        "atoms": lambda one: one["n_atoms"],
        "s": lambda one: one["seconds"],
        "peak memory, GB": lambda one: one["peak_bytes"] / 1e9,
        "file, GB": lambda one: one["file_bytes"] / 1e9,
        "verify, s": lambda one: one["verify_seconds"],
        f"atoms of a share of {RANKS:,}": lambda one: one["share_atoms"],
        "reading it, ms": lambda one: 1000 * one["share_seconds"],
        "peak memory, MB": lambda one: one["share_peak_megabytes"],
    }
    figure.tables.append(columns(figure.data.values(), cells))
    figure.failures += missed(figure.data)
    figure.finish(common)
