"""`tessera export`: coordinates and topologies in the formats of other programs."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any

import click

from tessera.commands.options import progress, way_options
from tessera.errors import InputError, text_of_missing
from tessera.files import AnyPath
from tessera.machine.quantities import whole_of
from tessera.printing import counted, echo, end
from tessera.ranks import of_launcher
from tessera.way import Way

FILE = AnyPath(dir_okay=False)


class FrameNumber(click.ParamType):
    """A number from 0, or `last` (−1)."""

    name = "frame"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if value == "last":
            return -1
        if isinstance(value, str) and whole_of(value) is None:
            self.fail(f"{value!r} is no frame: expected a number from 0, or last", param, ctx)
        return int(value)


@click.command()
@click.argument("source", metavar="RUN|SYS", type=AnyPath())
@click.option(
    "-o", "--output", "outputs", required=True, multiple=True, type=FILE,
    help="A file to write, its format by the ending; repeatable.",
)  # fmt: skip
@click.option(
    "--frame",
    type=FrameNumber(),
    metavar="N|last",
    help="A frame of the run's trajectory, counted from 0 [the last checkpoint].",
)
@click.option("--select", metavar="TEXT", help="Write these atoms only: a selection in the language of MDAnalysis.")
@click.option(
    "--wrap",
    type=click.Choice(["molecules", "atoms"]),
    default="molecules",
    show_default=True,
    help="What is moved into the box: whole molecules by their centres, or each atom, which cuts molecules.",
)
@way_options("a CONFIG")
@click.option("--system", type=FILE, help="The system file of the run, where it has moved.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
def export(
    source: Path,
    outputs: tuple[Path, ...],
    frame: int | None,
    select: str | None,
    wrap: str,
    way: Way,
    system: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write coordinates and topology of a system file or a run for other programs.

    RUN is the output folder of a run; its newest good checkpoint is written, or a frame of its
    trajectory. Of a protocol, this is the last stage that has one.

    \b
    Endings:
      .pdb    PDB                      .coor   NAMD binary
      .cif    mmCIF                    .rst7   AMBER restart, text
      .bcif   BinaryCIF                .ncrst  AMBER restart, NetCDF
      .gro    GROMACS                  .psf    topology, X-PLOR, extended
      .crd    CHARMM cards, extended
      .config, .revcon, or the names CONFIG and REVCON   DL_POLY

    \b
    Examples:
      tessera export dhfr.tsr -o dhfr.pdb -o dhfr.psf
      tessera export output -o last.gro
      tessera export output -o CONFIG -n 4
      tessera export output --frame 10 --select "protein or around 5 protein" -o near.pdb -o near.psf
    """
    from tessera.export.configuration import read_configuration
    from tessera.export.dlpoly import is_config
    from tessera.export.files import check_outputs, take_part, write_all

    started = time.perf_counter()
    if not way.is_usual and not all(map(is_config, outputs)):
        raise click.UsageError(
            "--method, --order, --writers and --batch are of a CONFIG; write other formats by themselves"
        )
    world = of_launcher()
    try:
        if not world.is_root:
            take_part(outputs, world, way)
            return
        check_outputs(outputs, force)
        with progress(quiet=as_json) as report:
            report("reading")
            configuration = read_configuration(source, frame, system)
            with libraries():
                structure, files = write_all(configuration, outputs, select, wrap == "molecules", report, world, way)
    except (InputError, OSError) as error:
        raise end(error) from None
    facts = {
        "source": str(configuration.source),
        "step": configuration.step,
        "time_ps": configuration.time,
        "frame": configuration.frame,
        "atoms": structure.n_atoms,
        "atoms_of_system": configuration.system.n_atoms,
        "box": None if structure.box is None else structure.box.tolist(),
        "files": [{"path": str(file.path), "format": file.format, "notes": file.notes} for file in files],
        "notes": configuration.notes,
        "seconds": round(time.perf_counter() - started, 2),
    }
    if as_json:
        echo(json.dumps(facts))
        return
    echo(f"{configuration.description}: {counted(structure.n_atoms, 'atom', configuration.system.n_atoms)}")
    for file in files:
        echo(f"  {file.path}: {file.format}")
        for note in file.notes:
            echo(f"    note  {note}")
    for note in configuration.notes:
        echo(f"  note  {note}")


@contextlib.contextmanager
def libraries() -> Any:
    """Says which package is missing. Raises `InputError`."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (text := text_of_missing(error)) is None:
            raise
        raise InputError(text) from None


if __name__ == "__main__":
    export()
