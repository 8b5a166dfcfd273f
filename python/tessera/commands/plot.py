"""`tessera plot` draws pictures of a run."""

from __future__ import annotations

from pathlib import Path

import click

from tessera.files import AnyPath
from tessera.printing import echo


@click.command()
@click.argument("folder", type=AnyPath())
@click.option("-o", "--output", type=AnyPath(), help="The picture (PNG, PDF, SVG) [FOLDER/run.png].")
def plot(folder: Path, output: Path | None) -> None:
    """Draw energies, temperature, pressure, density, drift and the time of each phase of the run in FOLDER.

    Of a protocol, stages are drawn one after the other; means, drift and phases are those of the last one.

    \b
    Examples:
      tessera plot output
      tessera plot output -o run.pdf
    """
    from tessera.plots import plot_run

    echo(str(plot_run(folder, output or folder / "run.png")))
