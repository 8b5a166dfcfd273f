"""From an empty machine to a running protein: the size of the wheel, its installation and `tessera demo`."""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path

import click

from bench.common.options import Common, script
from bench.common.results import above, table
from tests.wheel import roots

MOST_BYTES = 25_000_000
MOST_SECONDS = 120.0  # of the installation and the demonstration together


def missed(n_bytes: int, seconds: float) -> list[str]:
    """Says which promises a wheel of this size misses, whose installation and demonstration take this time."""
    found = {"size of the wheel, MB": n_bytes / 1e6, "installation and demonstration, s": seconds}
    return above(found, dict(zip(found, (MOST_BYTES / 1e6, MOST_SECONDS), strict=True)))


@script(check="the wheel is larger, or slower to install and try, than is promised")
def wheel(common: Common) -> None:
    """Install the wheel in a bare Debian 12 and run the demonstration.

    `make wheel` makes the wheel first. Needs root, debootstrap and the archives of Debian and PyPI; the system is made
    once and its time does not count.

    \b
    Examples:
      python -m bench.wheel
      python -m bench.wheel --check --docs
    """
    release = roots.RELEASES["bookworm"]
    file = roots.wheel(release)
    if file is None:
        raise click.ClickException("there is no wheel in dist: make wheel")
    if (why := roots.why_not()) is not None:
        raise click.ClickException(why)
    figure = common.figure("wheel", "The wheel")
    with tempfile.TemporaryDirectory(dir=roots.make(release).parent) as folder:
        system = roots.System.copy_of(release, Path(folder) / "root")
        seconds = {}
        started = time.monotonic()
        system.install_wheel(file, release.python)
        seconds["installing it and what it needs"] = time.monotonic() - started
        started = time.monotonic()
        said = system.run("tessera demo /demo").stdout
        seconds["`tessera demo`"] = time.monotonic() - started
    n_bytes, total = file.stat().st_size, sum(seconds.values())
    rows: list[list[object]] = [["size, MB", n_bytes / 1e6, f"≤ {MOST_BYTES / 1e6:g}"]]
    rows += [[f"{what}, s", one, None] for what, one in seconds.items()]
    rows.append(["both, s", total, f"≤ {MOST_SECONDS:g}"])
    figure.tables.append(table([f"`{file.name}`", "measured", "promised"], rows))
    if speed := re.search(r"([\d.]+) ns/day", said):
        figure.notes.append(f"The demonstration ran at {speed[1]} ns/day on one process.")
    figure.data = {"bytes": n_bytes, "seconds": seconds}
    figure.failures += missed(n_bytes, total)
    figure.finish(common)


if __name__ == "__main__":
    wheel()
