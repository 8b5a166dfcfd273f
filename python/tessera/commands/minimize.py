"""`tessera minimize` minimises the energy of a system file's configuration."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tessera import launch
from tessera.commands.options import memory_option
from tessera.files import AnyPath
from tessera.launch.supervision import supervise
from tessera.machine.quantities import Finite
from tessera.printing import echo, end

if TYPE_CHECKING:
    from tessera.system import System

FILE = AnyPath(dir_okay=False)


@click.command()
@click.argument("system", type=FILE)
@click.option(
    "-o",
    "--output",
    required=True,
    type=FILE,
    help="What to write: a system file (.tsr), or a format of `tessera export`, by the ending.",
)
@click.option(
    "--max-force",
    default=10.0,
    show_default=True,
    type=Finite(min=0, min_open=True),
    help="Stop when the force on every atom is below this, kcal/mol/Å.",
)
@click.option("--steps", default=5000, show_default=True, type=click.IntRange(min=0), help="Greatest number of moves.")
@memory_option("How much memory may be used to write a system file; the file is the same with any.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-n", "--ranks", default=1, show_default=True, help="Number of MPI ranks.")
@launch.threads_option
@launch.overrides_option
@launch.mpi_option
@launch.oversubscribe_option
@launch.dry_run_option
def minimize(
    system: Path,
    output: Path,
    max_force: float,
    steps: int,
    memory: float,
    as_json: bool,
    ranks: int,
    threads: int | str | None,
    overrides: tuple[str, ...],
    mpi: str,
    oversubscribe: bool,
    dry_run: bool,
) -> None:
    """Minimise the potential energy of the structure in SYSTEM (*.tsr).

    Atoms may overlap at the start. Constraints are kept (dynamics.constraints). The output has the
    new positions and no velocities; a file that exists is replaced.

    The exit status is 0 if the force is below --max-force, 75 if it is not after all steps or
    where no lower energy is found, and 128 + the signal where one stopped it. The output is
    written in any of these cases.

    \b
    Examples:
      tessera minimize dhfr.tsr -o minimized.tsr
      tessera minimize dhfr.tsr -o minimized.pdb --max-force 1 --steps 20000
      tessera minimize dhfr.tsr -o minimized.tsr -n 4 --set dynamics.constraints=none --json
    """
    from tessera.errors import InputError
    from tessera.files import beside

    try:
        _check(output)
        with beside(output) as positions:
            arguments = ["--minimize", str(system), "--positions", str(positions)]
            arguments += ["--max-force", repr(max_force), "--steps", str(steps)]
            if as_json:
                arguments.append("--json")
            for override in overrides:
                arguments += ["--set", override]
            command = launch.engine_command(
                arguments, ranks=ranks, threads=threads, mpi=mpi, oversubscribe=oversubscribe
            )
            if dry_run:
                echo(shlex.join(command))
                return
            launch.tell_of_terminal()
            status = supervise(command, "nothing was written")
            if positions.stat().st_size > 0:
                notes = _write(system, positions, output, int(memory * 1e9))
                if not as_json:
                    echo("\n".join([f"written: {output}", *(f"  note  {note}" for note in notes)]))
    except (InputError, OSError) as error:
        raise end(error) from None
    sys.exit(status)


def _check(output: Path) -> None:
    """Raises `InputError` where nothing can be written there, before the work begins."""
    from tessera.errors import InputError
    from tessera.export.files import check_outputs
    from tessera.files import check_free

    if output.suffix.lower() != ".tsr":
        try:
            check_outputs([output], force=True)
        except InputError as error:
            raise InputError(str(error).replace("expected one of ", "expected .tsr, or one of ")) from None
    else:
        check_free(output, force=True)
    if output.exists() and not output.is_file():
        raise InputError(f"{output} is no regular file")


def _write(system_path: Path, positions: Path, output: Path, memory: int) -> list[str]:
    """Writes the system with the positions that the engine has left, (n,3) in units of 2⁻³² of the box: a system file
    in so many bytes of memory, about. Returns what there is to say of the format."""
    from tessera.system import read, write
    from tessera.system.scratch import bounded

    system = read(system_path, has_atoms=False)
    if output.suffix.lower() == ".tsr":
        with bounded(memory, output.parent):
            write(_moved(system, positions), output)
        return []
    from tessera.commands.export import libraries
    from tessera.export.configuration import Configuration
    from tessera.export.files import write_all

    with libraries():
        moved = Configuration(_moved(system, positions), system_path)
        _, files = write_all(moved, [output], None, True, lambda _: None)
    return [note for file in files for note in file.notes]


def _moved(system: System, positions: Path) -> System:
    """Returns the system with the positions that the engine has left. A vacuum's frame grows with them."""
    import numpy as np

    from tessera.system.scratch import scratch

    if system.periodic:
        return dataclasses.replace(system, fraction=scratch().loaded(positions, np.int32))
    values, box = np.load(positions), system.box.copy()
    for axis in range(3):
        while np.abs(values[:, axis]).max() >= 2**30:
            values[:, axis] /= 2
            box[axis, axis] *= 2
    return dataclasses.replace(system, box=box, fraction=np.rint(values).astype(np.int32))
