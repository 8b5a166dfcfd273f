"""`tessera replicate` puts copies of a system side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tessera.commands.options import Means, means_options, output_option, run
from tessera.files import AnyPath

if TYPE_CHECKING:
    from tessera.build.copies import Copies


@click.command()
@click.argument("system", type=AnyPath(dir_okay=False))
@click.option("--nx", default=1, show_default=True, type=int, help="Copies along a.")
@click.option("--ny", default=1, show_default=True, type=int, help="Copies along b.")
@click.option("--nz", default=1, show_default=True, type=int, help="Copies along c.")
@means_options
@output_option
def replicate(system: Path, nx: int, ny: int, nz: int, means: Means, output: Path, as_json: bool) -> None:
    """Put copies of SYSTEM side by side; the file still describes each kind of molecule once. Only SYSTEM is in memory,
    not its copies.

    \b
    Example:
      tessera replicate apoa1.tsr --nx 2 --ny 2 --nz 3 -o apoa1_1m.tsr
    """
    from tessera.build.memory import check_copies
    from tessera.build.replicate import copies_of
    from tessera.system import read

    def made(report: Callable[[str], None]) -> Copies:
        report("reading")
        copies = copies_of(read(system), (nx, ny, nz))
        check_copies(copies, output, means.memory, means.processes)
        return copies

    run(made, output, as_json, means)


if __name__ == "__main__":
    replicate()
