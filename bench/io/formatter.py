"""How fast one core makes DL_POLY's text, beside std::to_chars and printf."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from statistics import median

import click

from bench.common.options import Common, script
from bench.common.results import table
from tessera import launch

PROMISE = 800e6  # bytes/s of processor time
NAMES = {
    "ours": "the formatter of all write methods",
    "to_chars": "std::to_chars, the same buffer",
    "printf": "printf, a write for each record",
}


def missed(rate: float) -> list[str]:
    """Says that the formatter makes fewer bytes a second of processor time than promised."""
    return [] if rate >= PROMISE else [f"the formatter made {rate / 1e6:.0f} MB/s, promised are {PROMISE / 1e6:.0f}"]


@script(check="the formatter is slower than promised", repeats=9)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path("/dev/shm"),
    show_default=True,
    help="Where to write, best in memory.",
)
@click.option("--atoms", type=click.IntRange(1, 2**32), default=500_000, show_default=True)
def formatter(common: Common, folder: Path, atoms: int, repeats: int) -> None:
    """MB/s of a CONFIG's text, written to a file in memory by one core.

    The three ways take turns. Besides seconds there is processor time, which other programs on the machine affect less.

    \b
    Examples:
      python -m bench.io formatter --check
      python -m bench.io formatter --atoms 50000 --repeats 3
    """
    program = launch.engines("tessera-io").get("serial")
    if program is None:
        raise click.ClickException("tessera-io-serial is missing: make build")
    words = [program, "formatter", folder / ".tessera-formatter", "--atoms", atoms, "--repeats", repeats]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    figure = common.figure("formatter", "The text formatter")
    figure.data = found
    rates = {
        name: [found["bytes"] / median(found[name][kind]) for kind in ("seconds", "processor_seconds")]
        for name in NAMES
    }
    rows = [[NAMES[name], *[rate / 1e6 for rate in rates[name]]] for name in NAMES]
    figure.tables.append(table(["", "MB/s", "MB/s of processor time"], rows))
    figure.notes.append("Medians, into a file in memory: 146 bytes an atom, two records.")
    figure.failures += missed(rates["ours"][1])
    figure.finish(common)
