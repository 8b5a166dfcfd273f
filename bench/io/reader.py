"""How fast ranks read DL_POLY's CONFIG in shares, beside ranks that read its bytes and do nothing with them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

import click

from bench.common.options import Common, common_options
from bench.common.results import Figure, table
from tessera import launch

PROMISE = 400e6  # bytes/s, or
SHARE = 0.9  # of the raw reader


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path("/dev/shm"),
    show_default=True,
    help="Where the file is for the time of the bench.",
)
@click.option("--atoms", type=click.IntRange(1, 2**32), default=1_000_000, show_default=True)
@click.option("--ranks", type=click.IntRange(1, 2**20), default=1, show_default=True)
@click.option("--cold", is_flag=True, help="The system forgets the file before each turn.")
@click.option("--check", is_flag=True, help="End with status 1 where reading is slower than promised.")
@common_options(repeats=5)
def reader(common: Common, folder: Path, atoms: int, ranks: int, cold: bool, check: bool, repeats: int) -> None:
    """MB/s of reading a CONFIG of 146 bytes an atom.

    \b
    Examples:
      python -m bench.io.reader --check
      python -m bench.io.reader --folder . --cold --ranks 2
    """
    path = folder / ".tessera-reader"
    try:
        subprocess.run(_command(1, "write", path, "--atoms", atoms), check=True, capture_output=True)
        words = ["read", path, "--repeats", repeats, *(["--cold"] if cold else [])]
        done = subprocess.run(_command(ranks, *words), check=True, capture_output=True, text=True)
    finally:
        path.unlink(missing_ok=True)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    figure = Figure(
        "reader", "Reading text in shares", {"atoms": atoms, "ranks": ranks, "repeats": repeats}, {}, data=found
    )
    rates = {name: found["bytes"] / median(found[name]) for name in ("raw", "text")}
    rows = [["bytes alone", rates["raw"] / 1e6], ["CONFIG, as numbers", rates["text"] / 1e6]]
    figure.tables.append(table([f"{ranks} {'rank' if ranks == 1 else 'ranks'}", "MB/s"], rows))
    figure.notes.append(f"Medians; {'the disk' if cold else 'a file in memory'}: 146 bytes an atom, two records.")
    if rates["text"] < min(PROMISE, SHARE * rates["raw"]):
        figure.failures.append(
            f"{rates['text'] / 1e6:.0f} MB/s, promised are {PROMISE / 1e6:.0f} or {SHARE:.0%} of the raw reader"
        )
    figure.write(common.results, as_json=common.as_json, docs=common.docs)
    sys.exit(1 if check and figure.failures else 0)


def _command(ranks: int, *words: object) -> list[str]:
    return launch.engine_command(
        [str(word) for word in words], ranks=ranks, mpi="auto", hostfile=None, oversubscribe=False, program="tessera-io"
    )


if __name__ == "__main__":
    reader()
