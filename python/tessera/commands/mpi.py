"""`tessera mpi` lets the collective operations of other programs follow the map of the machine."""

from __future__ import annotations

import os
import shlex
from itertools import pairwise

import click

from tessera import launch
from tessera.printing import echo


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--library",
    type=click.Choice(["openmpi", "mpich"]),
    help="MPI library of the program; without a command, print the path of the library to preload.",
)
@launch.dry_run_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def mpi(library: str | None, dry_run: bool, command: tuple[str, ...]) -> None:
    """Preload a library by which the collective operations of any program of MPI follow the map in
    TESSERA_MACHINE. COMMAND starts the program with its launcher, which passes the library and all
    variables TESSERA_* on to other hosts.

    \b
    TESSERA_REPORT=1   print calls, times and the predicted gain at the end
    TESSERA_TRAFFIC=3  measure for 3 s what others send as the job starts
    TESSERA_OFF=1      do nothing
    TESSERA_FORCE      one entry for all operations, as ring or subnets:segment=8192

    \b
    Examples:
      TESSERA_MACHINE=map.json tessera mpi -- mpirun -n 32 lmp -in in.peptide
      TESSERA_MACHINE=map.json tessera mpi --library mpich -- srun -n 256 pw.x -in scf.in
      LD_PRELOAD=$(tessera mpi --library openmpi) mpirun -x LD_PRELOAD -x TESSERA_MACHINE ./program
    """
    if not command:
        if library is None:
            raise click.UsageError("give a command after --, or --library to print the path of the library")
        echo(str(launch.drop_in_path(library)))
        return
    flavour = library or launch.flavour_of((command[0],))
    if flavour is None:
        raise launch.LaunchError(
            f"{command[0]} does not say which MPI it starts (--version); say it with --library openmpi or mpich"
        )
    preload = _joined(str(launch.drop_in_path(flavour)), os.environ.get("LD_PRELOAD"))
    words = _passing_on(flavour, list(command), preload)
    if dry_run:
        echo(shlex.join(["env", f"LD_PRELOAD={preload}", *words]))
        return
    os.environ["LD_PRELOAD"] = preload
    launch.execute(words)


def _joined(*libraries: str | None) -> str:
    return ":".join(library for library in libraries if library)


def _passing_on(flavour: str, command: list[str], preload: str) -> list[str]:
    """Returns the command in which the launcher passes the library and Tessera's variables on. MPICH's does so by
    itself, unless it is told which variables to pass; so do batch systems' launchers."""
    ours = ["LD_PRELOAD", *sorted(name for name in os.environ if name.startswith("TESSERA_"))]
    head, *rest = command
    if flavour == "mpich":
        if not {"-genvnone", "-genvlist"} & set(rest):
            return command
        values = {**os.environ, "LD_PRELOAD": preload}
        return [head, *(word for name in ours for word in ("-genv", name, values[name])), *rest]
    if launch.flavour_of((head,)) != "openmpi":
        return command
    told = {word.partition("=")[0] for option, word in pairwise(rest) if option == "-x"}
    theirs = [
        f"LD_PRELOAD={_joined(preload, word.partition('=')[2])}"
        if option == "-x" and word.startswith("LD_PRELOAD=")
        else word
        for option, word in pairwise(["", *rest])
    ]
    return [head, *(word for name in ours if name not in told for word in ("-x", name)), *theirs]
