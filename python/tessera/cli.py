"""The command `tessera` finds the subcommand and prints failures in one line.

The exit status is 0 for success, 1 for a failure, 2 for wrong input and for files that can't be read or written, and
128 + the signal where one ended the command; a run ends with the engine's status.
"""

from __future__ import annotations

import difflib
import errno
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click

from tessera import ranks, stopping
from tessera.errors import text_of_missing
from tessera.printing import STANDARD, echo, told
from tessera.version import __version__

#: name → module and function, and the line in the list of commands
COMMANDS = {
    "prepare": ("tessera.commands.prepare:prepare", "Make a system file from CHARMM, AMBER, GROMACS or OpenMM inputs."),
    "make": ("tessera.commands.make:make", "Make a system file without input files: water boxes, crystals."),
    "build": ("tessera.commands.build:build", "Build DNA, nucleosomes and fibres of them, and measure helices."),
    "clashes": ("tessera.commands.clashes:clashes", "Find atoms in one place, and turn groups until none clash."),
    "replicate": ("tessera.commands.replicate:replicate", "Repeat a system along its box vectors."),
    "convert": ("tessera.convert.command:convert", "Make a run file of the settings of another program."),
    "run": ("tessera.commands.run:run", "Run a simulation."),
    "watch": ("tessera.watch.command:watch", "Show a run while it goes on."),
    "energy": ("tessera.commands.energy:energy", "Compute energies and forces of a system file."),
    "minimize": ("tessera.commands.minimize:minimize", "Minimise the energy of a structure."),
    "explain": ("tessera.commands.explain:explain", "Show the plan of a run, without running it."),
    "machine": ("tessera.commands.machine:machine", "Measure the network, draw it, place ranks on it."),
    "mpi": ("tessera.commands.mpi:mpi", "Let the collective operations of other programs follow the map."),
    "io": ("tessera.commands.io:io", "Measure how fast ranks write files."),
    "fft": ("tessera.commands.fft:fft", "Show the plan of a distributed Fourier transform."),
    "grid": ("tessera.commands.grid:grid", "Plan and time stencils on distributed grids."),
    "traj": ("tessera.commands.traj:traj", "Look at trajectories in segments, check, convert, join and repair them."),
    "potential": ("tessera.commands.potential:potential", "Average the electrostatic potential of a run on a mesh."),
    "export": ("tessera.commands.export:export", "Write coordinates and topology for other programs."),
    "verify": ("tessera.commands.verify:verify", "Check the files of a run, a checkpoint or a system file."),
    "view": ("tessera.commands.view:view", "Draw the molecules of a system or a run."),
    "plot": ("tessera.commands.plot:plot", "Draw the output of a run."),
    "report": ("tessera.report.command:report", "Write a run up as one page of HTML."),
    "demo": ("tessera.demo.command:demo", "Simulate a protein in water, to see that all works."),
    "doctor": ("tessera.doctor.command:doctor", "Look at this machine, and say what to mend."),
}

#: those that all ranks of a launcher carry out together
ON_RANKS = ("make", "replicate", "export", "potential", "traj")

#: usual words that are no commands here → the hint in the message
OTHER_WORDS = {
    "minimise": "`minimize` lowers the energy of a structure",
    "equilibrate": "`run` takes a run file with stages, such as heating and equilibration",
    "grompp": "`prepare` reads GROMACS inputs into a system file, `run` takes that and a run file",
    "mdrun": "`run` is what starts a simulation",
    "simulate": "`run` is what starts a simulation",
    "restart": "`run RUN_FILE --restart` goes on from the last checkpoint",
    "continue": "`run RUN_FILE --restart` goes on from the last checkpoint",
    "solvate": "water boxes come from `make water`, water around molecules from `build solvate`",
    "trjconv": "`traj convert` writes trajectories in segments in other formats, `export RUN --frame N` writes a frame",
    "trjcat": "`traj combine` joins trajectories in segments",
    "trajectory": "`traj info` says what a trajectory in segments holds, `traj convert` writes other formats",
    "analyse": "`plot` draws what a run has written; trajectories are DCD or H5MD, which analysis programs read; "
    "`build analyse` measures double helices",
    "check": "`verify` checks the files of a run; `explain` says what a run would do",
    "fsck": "`verify` checks the files of a run",
    "benchmark": "`run` prints ns/day in its report, `explain` predicts it",
}
_SPELLINGS = {
    "minimization": "minimise",
    "minimisation": "minimise",
    "em": "minimise",
    "equilibration": "equilibrate",
    "nvt": "equilibrate",
    "npt": "equilibrate",
    "analyze": "analyse",
    "bench": "benchmark",
    "md": "simulate",
}


class _ReaderGone(Exception):
    """Who reads what is printed has gone. By a `BrokenPipeError` click would end the process with a status of its
    own."""


@contextmanager
def _heeding_readers() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise _ReaderGone from None


class LazyGroup(click.Group):
    """A group of commands that are imported when they are called, so that `tessera --help` is fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise click.UsageError(f"unknown command {args[0]}; {_hint(args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _heeding_readers():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _heeding_readers():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _hint(word: str) -> str:
    known = OTHER_WORDS.get(_SPELLINGS.get(word.lower(), word.lower()))
    if known:
        return known
    near = difflib.get_close_matches(word, COMMANDS, n=1, cutoff=0.7)
    return f"did you mean {near[0]}?" if near else f"the commands are {', '.join(COMMANDS)}"


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="tessera", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Molecular simulation for parallel machines.

    \b
    Examples:
      tessera make water --atoms 3000 -o water.tsr
      tessera run --print-defaults > run.toml
      tessera run run.toml -n 4
      tessera plot output
    """
    if context.invoked_subcommand is None:
        echo(context.get_help())


def main() -> NoReturn:
    """Runs the command line and ends the process."""
    _open_standard_files()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where the parent ignores it, children would end without a status
    flavour = ranks.launched() if sys.argv[1:2] and sys.argv[1] in ON_RANKS else None
    if flavour is not None:
        ranks.carry_out(_status, flavour)
    stopping.listen(stopping.stop)
    try:
        sys.exit(_status())
    except stopping.Stopped as request:  # at a moment when a message was written
        sys.exit(128 + request.number)
    finally:
        stopping.ignore()


def _open_standard_files() -> None:
    """Opens the null device in place of standard input, output and error where they are closed. Else the next file
    would get their number, and what is printed would go into it."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def _status() -> int:
    """Carries out the command. Returns the exit status, which is that of other programs where who reads what is printed
    has gone, as in `tessera … | head`: nobody is left to be told."""
    try:
        return _outcome()
    except (BrokenPipeError, _ReaderGone):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):  # one of a rank that prints nowhere
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return 128 + signal.SIGPIPE


def _outcome() -> int:
    try:
        result = cli.main(prog_name="tessera", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except ranks.EndedElsewhere as error:
        echo(str(error), err=True, nl=False)
        return error.status
    except click.UsageError as error:
        context = error.ctx
        echo(f"tessera: error: {error.format_message()}", err=True)
        if context is not None:
            echo(f"`{context.command_path} --help` shows how it is used", err=True)
        return 2
    except click.ClickException as error:
        echo(f"tessera: error: {error.format_message()}", err=True)
        return error.exit_code
    except stopping.Stopped as request:
        echo(f"tessera: ended by {request}", err=True)
        return 128 + request.number
    except (BrokenPipeError, _ReaderGone):
        raise
    except OSError as error:
        echo(f"tessera: error: {_told(error)}", err=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1 if error.filename in (None, *STANDARD) else 2
    except MemoryError as error:
        echo(f"tessera: error: not enough memory: {error or 'none is left'}", err=True)
        return 1
    except ImportError as error:
        if (text := text_of_missing(error)) is None:
            return _unexpected(error)
        echo(f"tessera: error: {text}", err=True)
        return 2
    except Exception as error:
        return _unexpected(error)


def _told(error: OSError) -> str:
    """Returns the message of an error of the system. Those of files have a file name; one without is of standard output
    on a full disk, unless the working directory was removed."""
    if error.filename is not None or error.errno is None:
        return told(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
        return f"standard output: {error.strerror}"
    try:
        os.getcwd()
    except OSError:
        return "the working directory is not there any more: go to another one"
    return str(error.strerror)


def _unexpected(error: Exception) -> int:
    """Prints an exception that no command has turned into a message, and returns the exit status."""
    if os.environ.get("TESSERA_TRACEBACK", "") not in ("", "0"):
        traceback.print_exc()
    # Tessera's own exceptions have a message for the user. For others the class of the exception helps to find the
    # cause.
    meant = type(error).__module__.startswith("tessera.")
    echo(f"tessera: error: {error if meant else f'{type(error).__name__}: {error}'}", err=True)
    if not meant:
        echo("this should not happen; TESSERA_TRACEBACK=1 shows where it did", err=True)
    return 2 if meant else 1
