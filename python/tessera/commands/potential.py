"""`tessera potential`: the electrostatic potential of a run, averaged over its frames."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from tessera.commands.bar import bar
from tessera.commands.export import libraries
from tessera.commands.options import ranks_options
from tessera.commands.traj import FRAME, errors
from tessera.files import AnyPath
from tessera.machine.quantities import Finite
from tessera.printing import counted, echo
from tessera.ranks import of_launcher

FILE = AnyPath(dir_okay=False)


@click.command()
@click.argument("source", metavar="RUN|SYS", type=AnyPath())
@click.option("-o", "--output", required=True, type=FILE, help="The file of OpenDX to write (PHI.dx).")
@click.option(
    "--spacing", default=1.0, show_default=True, type=Finite(min=0, min_open=True), metavar="Å",
    help="Distance of points, at most; the mesh divides the box into whole numbers of them.",
)  # fmt: skip
@click.option(
    "--alpha", type=Finite(min=0, min_open=True), metavar="Å⁻¹",
    help="Charges are Gaussians of the width 1/(√2 alpha) [0.25, or less where points are farther apart than 2 Å].",
)  # fmt: skip
@click.option("--unit", type=click.Choice(["kT/e", "kcal/mol/e", "mV"]), default="kT/e", show_default=True)
@click.option(
    "--temperature", default=300.0, show_default=True, type=Finite(min=0, min_open=True), metavar="K", help="Of kT."
)
@click.option(
    "--select", metavar="TEXT", help="Charges of these atoms only: a selection in the language of MDAnalysis."
)
@click.option("--first", type=FRAME, metavar="N", help="The first frame to take, counted from 0 [0].")
@click.option("--last", type=FRAME, metavar="N", help="The last frame to take [the last of all].")
@click.option("--stride", type=click.IntRange(1), default=1, show_default=True, help="Take every N-th frame.")
@click.option("--system", type=FILE, help="The system file of the run, where it has moved.")
@ranks_options("MPI ranks that share the mesh. The file is the same with any.")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
def potential(
    source: Path,
    output: Path,
    spacing: float,
    alpha: float | None,
    unit: str,
    temperature: float,
    select: str | None,
    first: int | None,
    last: int | None,
    stride: int,
    system: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Average the electrostatic potential of a run's frames on a mesh, for VMD, ChimeraX or PyMOL.

    RUN is the output folder of a run with output.trajectory = "segments"; of a system file, SYS, the
    potential is that of its coordinates. The box must repeat. The potential is the long-range part
    of Ewald's sum: each charge is a Gaussian, and its mean over the box is 0. Points are fractions of the
    box, whose middle is the origin; the file has the mean box.

    \b
    Examples:
      tessera potential output -o phi.dx
      tessera potential output -o phi.dx --first 100 --spacing 2 --unit mV -n 4
      tessera potential dhfr.tsr -o water.dx --select "resname TIP3"
    """
    from tessera.potential import dx
    from tessera.potential.frames import Request, check_output, frames_of, mean_of

    started = time.perf_counter()
    ranks = of_launcher()
    with errors(), libraries():
        check_output(output, force)
        frames = frames_of(source, Request((first, last, stride), select, system))
        with bar("averaging", len(frames), as_json, in_bytes=False) as progress:
            found = mean_of(frames, spacing, alpha, ranks, progress)
        scale = found.scale(unit, temperature)
        title = f"mean electrostatic potential, {unit}, of {found.frames} frame(s) of {source.name}"
        dx.write(output, found.values * scale, found.slices, found.shape, found.box, title, ranks)
        lowest, highest = (ends * scale for ends in found.range(ranks))
    facts = {
        "path": str(output),
        "frames": found.frames,
        "atoms": frames.n_charges,
        "net_charge": frames.net_charge,
        "mesh": found.shape,
        "spacing": found.spacing,
        "alpha": found.alpha,
        "unit": unit,
        "lowest": lowest,
        "highest": highest,
        "notes": frames.notes,
        "seconds": round(time.perf_counter() - started, 2),
    }
    if as_json:
        echo(json.dumps(facts))
        return
    points = " × ".join(map(str, found.shape))
    echo(f"{output}: {lowest:.4g} to {highest:.4g} {unit} at {points} points, mean of {counted(found.frames, 'frame')}")
    echo(f"  charges   {counted(frames.n_charges, 'atom')}, Gaussians with alpha = {found.alpha:g} Å⁻¹")
    for note in frames.notes:
        echo(f"  note  {note}")


if __name__ == "__main__":
    potential()
