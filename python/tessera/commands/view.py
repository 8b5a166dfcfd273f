"""`tessera view` draws the molecules of a system or a run."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from tessera.commands.export import FrameNumber, libraries
from tessera.commands.options import progress
from tessera.errors import InputError
from tessera.files import AnyPath
from tessera.machine.quantities import Finite
from tessera.printing import counted, echo, end

FILE = AnyPath(dir_okay=False)


@click.command()
@click.argument("source", metavar="RUN|SYS", type=AnyPath())
@click.option("-o", "--output", required=True, type=FILE, help="The picture to write (PNG, JPEG, BMP, TIFF).")
@click.option(
    "--frame", type=FrameNumber(), metavar="N|last",
    help="A frame of the run's trajectory, counted from 0 [the last checkpoint].",
)  # fmt: skip
@click.option("--select", metavar="TEXT", help="Draw these atoms only: a selection in the language of MDAnalysis.")
@click.option("--atoms", "as_atoms", is_flag=True, help="Draw every atom as a sphere, instead of backbones.")
@click.option(
    "--direction", type=Finite(), nargs=3, metavar="X Y Z", help="Where the picture is seen from [where most is seen]."
)
@click.option(
    "--size", type=click.IntRange(16, 16384), nargs=2, default=(1600, 1200), show_default=True, metavar="W H",
    help="Pixels.",
)  # fmt: skip
@click.option("--background", default="white", show_default=True, metavar="COLOUR", help="A name or #RRGGBB.")
@click.option("--system", type=FILE, help="The system file of the run, where it has moved.")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
def view(
    source: Path,
    output: Path,
    frame: int | None,
    select: str | None,
    as_atoms: bool,
    direction: tuple[float, float, float] | None,
    size: tuple[int, int],
    background: str,
    system: Path | None,
    force: bool,
) -> None:
    """Draw the molecules of a system file or a run; no screen is needed.

    Backbones of proteins and nucleic acids are tubes, base pairs are rungs; equal proteins have the same
    colour, and tails outside the cores of proteins are thin. In systems of many proteins their cores
    are bodies. Without such chains, atoms are drawn.

    \b
    Examples:
      tessera view nucleosome.tsr -o nucleosome.png
      tessera view fibre.tsr -o fibre.png --size 3200 1600
      tessera view output --frame last -o end.png --direction 1 0 0
    """
    from tessera.export.configuration import read_configuration
    from tessera.files import check_free
    from tessera.traj.convert import structure_for
    from tessera.view.draw import ENDINGS, draw
    from tessera.view.scene import scene_of

    try:
        if output.suffix.lower() not in ENDINGS:
            raise InputError(f"{output}: the ending says no format; expected one of {', '.join(ENDINGS)}")
        check_free(output, force)
        if direction is not None and not np.any(direction):
            raise InputError("--direction 0 0 0 is no direction")
        with progress(quiet=False) as report, libraries():
            report("reading")
            configuration = read_configuration(source, frame, system)
            structure = structure_for(configuration.system, configuration.title)
            if select is not None:
                from tessera.select.universe import selected

                structure = structure.subset(selected(structure, select, configuration.system))
            report("drawing")
            scene = scene_of(structure, as_atoms)
            draw(scene, output, size, None if direction is None else np.array(direction), background)
    except (InputError, OSError) as error:
        raise end(error) from None
    chains = [one.kind for one in scene.backbones]
    what = ", ".join(
        (
            counted(chains.count("protein"), "protein"),
            counted(chains.count("nucleic"), "strand"),
            counted(len(scene.pairs), "base pair"),
        )
    )
    echo(f"{output}: {what if chains else counted(len(scene.atoms), 'atom')}, {size[0]} × {size[1]} pixels")


if __name__ == "__main__":
    view()
