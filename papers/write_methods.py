"""What Todorov et al. say of ways to write a configuration, beside what `tessera io bench` finds here, and their
15 million atoms, written and read by the commands of a user."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from bench.common import systems
from bench.common.options import Common, script
from bench.common.results import number, table
from bench.io.reader import forget
from tessera.build.nacl import POTENTIALS, TOSI_FUMI
from tessera.io.bench import rate, raw_rate_of
from tessera.io.text import name_of, ratios

METHODS = ("pdaw", "sdaw", "sdaw-printf", "mpiw-independent", "mpiw-collective", "sncw")
FORMATS = ("text", "binary", "netcdf")
RATE, SHARE = 800e6, 0.9  # text by pdaw: bytes/s, or of the raw writer's rate
ALIKE = 1.2  # a number that is beyond what the paper says by no more than this factor agrees with it
#: What the paper says, by the names of `tessera.io.text.ratios`: least and most.
PAPER = {
    "pdaw over sdaw-printf, text": (10, math.inf),
    "pdaw over sdaw, text": (10, math.inf),
    "mpiw by tuning, text": (1, 2),
    "sdaw-printf, text, over sncw, time": (1.5, 10),
    "text over binary, bytes": (3, 3),
    "text over binary, time": (3, 3),
}
#: s on 2,048 tasks of a Cray XT4
PAPER_SECONDS = {"write": 600, "read": 100}


def field_of(ions: int) -> str:
    """Returns the FIELD of a crystal by `tessera make nacl --potential dlpoly`: all sodium, then all chloride."""
    kinds = [
        line
        for (name, mass), charge in zip(POTENTIALS["dlpoly"][2:], (1.0, -1.0), strict=True)
        for line in (name, f"nummols {ions // 2}", "atoms 1", f"{name} {mass} {charge}", "finish")
    ]
    lines = ["rock salt", "units internal", "molecules 2", *kinds, f"vdw {len(TOSI_FUMI)}", *TOSI_FUMI, "close"]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Claim:
    """A ratio of the paper: what it says, what was found, and whether these agree."""

    text: str
    paper: str
    here: float
    agrees: bool


def claims(results: Mapping[str, Any]) -> list[Claim]:
    """Returns the paper's ratios of what `tessera io bench` printed, with the most ranks."""
    found = []
    for text, theirs, ours in ratios(dict(results)):
        least, most = PAPER[text]
        found.append(Claim(text, theirs, ours, least / ALIKE <= ours <= most * ALIKE))
    return found


def text_rate(results: Mapping[str, Any]) -> tuple[float, float]:
    """Returns bytes/s of text by pdaw, the better of its settings, with the most ranks, and its share of what the raw
    writer reached that took turns with it."""
    run = results["runs"][-1]
    best = max(rate(one) for one in run["trials"] if one["method"] == "pdaw" and one["format"] == "text")
    return best, best / raw_rate_of(run)


def missed(results: Mapping[str, Any], seconds: Mapping[str, float]) -> list[str]:
    """Names ratios of the paper that were not found again or not measured, and promises that were not kept."""
    judged = {one.text: one for one in claims(results)}
    found = [f"{text}: not measured" for text in PAPER if text not in judged]
    found += [f"{one.text}: {number(one.here)}, the paper has {one.paper}" for one in judged.values() if not one.agrees]
    best, share = text_rate(results)
    if not (best >= RATE or share >= SHARE):
        found.append(
            f"text by pdaw: {best / 1e6:.0f} MB/s, {share:.0%} of the raw writer, promised are {RATE / 1e6:.0f} MB/s "
            f"or {SHARE:.0%}"
        )
    found += [
        f"to {kind} them took {number(seconds[kind])} s, the paper has {most}"
        for kind, most in PAPER_SECONDS.items()
        if not seconds[kind] <= most
    ]
    return found


def why(results: Mapping[str, Any]) -> list[str]:
    """Explains each ratio that does not agree, with the numbers of this run."""
    run = results["runs"][-1]
    rates = {(one["candidate"], one["format"]): f"{rate(one) / 1e6:.0f} MB/s" for one in run["trials"]}
    best = {
        name: f"{max(rate(one) for one in run['trials'] if one['format'] == name) / 1e6:.0f} MB/s" for name in FORMATS
    }
    raw, ranks = f"the raw writer reached {raw_rate_of(run) / 1e6:.0f} MB/s", run["ranks"]
    reasons = {
        "pdaw over sdaw-printf, text": f"a write for each record goes at {rates['sdaw-printf', 'text']}; {raw}.",
        "pdaw over sdaw, text": f"this master writes large buffers of text, at {rates['sdaw', 'text']}, not records of "
        f"73 bytes; {ranks} ranks on as many cores make and write text about {ranks} times as fast as one.",
        "mpiw by tuning, text": "one disk has no storage targets over which files are striped, which is what the paper "
        "tuned; here it is the number of writers, the batch and MPI-IO's hints.",
        "sdaw-printf, text, over sncw, time": f"records go at {rates['sdaw-printf', 'text']}, the NetCDF library, with "
        f"a twelfth of the bytes, at {rates['sncw', 'netcdf']}.",
        "text over binary, bytes": "two records of 73 bytes beside 40: a number, a name and three doubles.",
        "text over binary, time": f"text goes at {best['text']} and binary at {best['binary']}; {raw}.",
    }
    return [f"*{one.text}*: {reasons[one.text]}" for one in claims(results) if not one.agrees]


def measure_commands(folder: Path, atoms: int, ranks: int, common: Common) -> dict[str, Any]:
    """Writes a CONFIG of so many ions by `tessera export` and reads it by `tessera prepare dlpoly`, each from a file
    that the system has forgotten. Returns ions, bytes of the CONFIG, and for each kind the command, s and the bytes of
    memory at the peak."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        words = ["make", "nacl", "--ions", str(atoms), "--potential", "dlpoly", "-o", "nacl.tsr", "--json"]
        ions = int(json.loads(systems.tessera(words, folder).stdout)["atoms"])
        (folder / "FIELD").write_text(field_of(ions))
        found: dict[str, Any] = {"ions": ions, "commands": {}}
        for kind, words in {
            "write": ["export", "nacl.tsr", "-o", "CONFIG", "-n", str(ranks)],
            "read": ["prepare", "dlpoly", ".", "-o", "read.tsr"],
        }.items():
            common.say(f"tessera {' '.join(words)}")
            os.sync()
            for path in folder.iterdir():
                forget(path)
            outcome = systems.tessera(words, folder)
            found["commands"][kind] = {
                "command": f"tessera {' '.join(words)}",
                "seconds": outcome.wall_seconds,
                "peak_bytes": outcome.peak_bytes,
            }
        found["bytes"] = (folder / "CONFIG").stat().st_size
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def tables(results: Mapping[str, Any], large: Mapping[str, Any]) -> list[str]:
    """Returns the paper's ratios, its 15 million atoms, and MB/s by method and format."""
    run = results["runs"][-1]
    title = f"with {run['ranks']} ranks, {results['atoms']:,} atoms"
    judged = [[one.text, one.paper, one.here, "yes" if one.agrees else "**no**"] for one in claims(results)]
    commands = [
        [f"`{one['command']}`", one["seconds"], PAPER_SECONDS[kind], PAPER_SECONDS[kind] / one["seconds"],
         one["peak_bytes"] / 1e9]
        for kind, one in large["commands"].items()
    ]  # fmt: skip
    rates = [[name_of(one["candidate"]), one["format"], rate(one) / 1e6] for one in run["trials"]]
    rates.insert(0, ["raw writer", "", raw_rate_of(run) / 1e6])
    return [
        table([title, "the paper", "here", "agrees"], judged),
        table(
            [f"{large['ions']:,} ions, a CONFIG of {large['bytes'] / 1e9:.2f} GB", "s", "the paper, s", "times as fast",
             "GB of memory"],
            commands,
        ),
        table(["method", "format", "MB/s"], rates),
    ]  # fmt: skip


@script(check="ratios differ or promises are not kept", repeats=3)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Where files are for the time of the bench; default: the folder of --work.",
)
@click.option("--atoms", type=click.IntRange(1, 2**32), default=15_000_000, show_default=True, help="Of the ratios.")
@click.option("--ions", type=click.IntRange(1, 2**32), default=15_000_000, show_default=True, help="Of the commands.")
@click.option("--ranks", type=click.IntRange(1), default=2, show_default=True)
def write_methods(common: Common, folder: Path | None, atoms: int, ions: int, ranks: int, repeats: int) -> None:
    """Ratios of Todorov et al. by `tessera io bench`, and 15 million atoms by `tessera export` and `prepare dlpoly`.

    Methods and a raw writer take turns; times end when all is on the disk. Files that are read have been forgotten by
    the system.

    \b
    Examples:
      python -m papers.write_methods --check --docs
      python -m papers.write_methods --atoms 100000 --ions 100000 --repeats 1
    """
    place = (folder or common.work) / "write_methods"
    figure = common.figure("write_methods", "Ways to write a configuration")
    place.mkdir(parents=True, exist_ok=True)
    common.say("tessera io bench")
    words = ["io", "bench", str(place), "-n", str(ranks), "--atoms", str(atoms), "--methods", ",".join(METHODS)]
    words += ["--formats", ",".join(FORMATS), "--repeats", str(repeats), "--oversubscribe", "--json"]
    results = json.loads(systems.tessera(words, place).stdout)
    large = measure_commands(place, ions, ranks, common)
    figure.data = {"results": results, "large": large}
    figure.tables = tables(results, large)
    best, share = text_rate(results)
    figure.notes.append(f"Text by pdaw: {best / 1e6:,.0f} MB/s, {share:.0%} of the raw writer beside it.")
    if reasons := why(results):
        figure.notes.append("Why ratios differ from the paper's: " + " ".join(reasons))
    figure.failures += missed(results, {kind: one["seconds"] for kind, one in large["commands"].items()})
    figure.finish(common)


if __name__ == "__main__":
    write_methods()
