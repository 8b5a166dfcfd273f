"""`tessera replicate` puts copies of a system side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from tessera.prepare.options import output_option, run
from tessera.system import System


@click.command()
@click.argument("system", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--nx", default=1, show_default=True, type=int, help="Copies along a.")
@click.option("--ny", default=1, show_default=True, type=int, help="Copies along b.")
@click.option("--nz", default=1, show_default=True, type=int, help="Copies along c.")
@output_option
def replicate(system: Path, nx: int, ny: int, nz: int, output: Path, as_json: bool) -> None:
    """Put copies of SYSTEM side by side; the file still describes each kind of molecule once.

    \b
    Example:
      tessera replicate apoa1.tsr --nx 2 --ny 2 --nz 3 -o apoa1_1m.tsr
    """
    from tessera.build.memory import check_memory
    from tessera.build.replicate import replicate as copy
    from tessera.system import read

    def made(report: Callable[[str], None]) -> System:
        report("reading")
        found = read(system)
        check_memory(found.n_atoms * max(nx, 1) * max(ny, 1) * max(nz, 1), "make fewer copies")
        report("replicating")
        return copy(found, (nx, ny, nz))

    run(made, output, as_json)


if __name__ == "__main__":
    replicate()
