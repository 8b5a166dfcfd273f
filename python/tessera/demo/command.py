"""`tessera demo` runs a protein in water, and says what to try next."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click

from tessera import launch
from tessera.demo.inputs import RUN_FILE, arguments_of_prepare, folder_of_inputs
from tessera.demo.runs import Outcome, Way, outcome_of, ways
from tessera.errors import InputError
from tessera.files import AnyPath
from tessera.launch.supervision import NOT_CONVERGED
from tessera.printing import echo

_SYSTEM, _MINIMIZED, _PICTURE = "dhfr.tsr", "minimized.tsr", "demo.png"
_MOVES = 100  # of the minimisation, which takes the heat out of the first contacts


@click.command()
@click.argument("folder", default="tessera-demo", type=AnyPath(file_okay=False))
@click.option("--steps", default=1000, show_default=True, type=click.IntRange(min=1), help="Steps of 2 fs of each run.")
@click.option(
    "-n", "--ranks", type=click.IntRange(min=1), help="Ranks of the run under MPI; 1: none [one a core, 2 at least]."
)
@launch.mpi_option
@click.option("--overwrite", is_flag=True, help="Replace what an earlier demonstration has left in FOLDER.")
def demo(folder: Path, steps: int, ranks: int | None, mpi: str, overwrite: bool) -> None:
    """Simulate a protein in water (dihydrofolate reductase, 23,558 atoms) for a minute, in FOLDER [tessera-demo].

    The system is prepared from CHARMM's files, its energy is minimised, and it runs at 300 K: on one process with a
    thread on each core, and under MPI where there is one. Each command is printed before it runs. At the end the
    states of both runs are compared, which have the same bits.

    \b
    Examples:
      tessera demo
      tessera demo protein --steps 5000 --overwrite
      tessera demo protein -n 4 --mpi mpich
    """
    inputs, started = folder_of_inputs(), ways(ranks, mpi)
    if not overwrite and folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty; give another folder, or --overwrite to replace the files in it")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(inputs / RUN_FILE, folder / RUN_FILE)
    _carry_out(folder, arguments_of_prepare(inputs, _SYSTEM))
    moves = ["--steps", str(_MOVES), *started[0].options]
    _carry_out(folder, ["minimize", _SYSTEM, "-o", _MINIMIZED, *moves], may_end=(NOT_CONVERGED,))
    outcomes = [_run(folder, way, steps) for way in started]
    _carry_out(folder, ["plot", started[0].name, "-o", _PICTURE])
    echo(closing(folder, outcomes))
    if len({outcome.state_hash for outcome in outcomes}) > 1:
        raise click.ClickException("the runs ended in different states; `tessera doctor` looks for the cause")


def _carry_out(folder: Path, words: list[str], may_end: tuple[int, ...] = ()) -> None:
    """Prints a command of `tessera`, and carries it out in the folder. Ends this one with its status where it fails."""
    echo(f"$ tessera {shlex.join(words)}")
    sys.stdout.flush()
    command = [sys.executable, "-m", "tessera", *words]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL) as process:
        try:
            status = process.wait()
        except BaseException:  # a request to stop: ranks are ended by what has started them
            process.terminate()
            raise
    if status not in (0, *may_end):
        raise SystemExit(status if status > 0 else 128 - status)
    echo()


def _run(folder: Path, way: Way, steps: int) -> Outcome:
    settings = {
        "input.system": _MINIMIZED,
        "output.folder": way.name,
        "output.overwrite": "true",
        "dynamics.steps": str(steps),
    }
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    _carry_out(folder, ["run", RUN_FILE, *way.options, *words])
    return outcome_of(way, folder)


def closing(folder: Path, outcomes: list[Outcome]) -> str:
    """Returns what was run, how fast, whether its bits are the same, where the files are, and what to try next."""
    first = outcomes[0]
    lines = [
        f"Dihydrofolate reductase in water, 23,558 atoms, {first.picoseconds:g} ps at 300 K with {first.simd}:",
        *(f"  {one.way.words:<28}{one.ns_per_day:8.3g} ns/day" for one in outcomes),
    ]
    if len(outcomes) > 1 and all(one.state_hash == first.state_hash for one in outcomes):
        lines.append(f"They ended in the same state, bit for bit ({first.state_hash[:16]}…).")
    elif len(outcomes) == 1:
        lines.append(f"The last state, {first.state_hash[:16]}…, is the same on any number of ranks and threads.")
    name = shlex.quote(str(folder))
    lines += [
        "",
        "Files:",
        f"  {folder / _PICTURE}: energies and temperature of the first run",
        *(f"  {folder / one.way.name}: trajectory, energies, checkpoints and report.json" for one in outcomes),
        f"  {folder / _SYSTEM}, {folder / _MINIMIZED}, {folder / RUN_FILE}: system, minimised system, settings",
        "",
        "Next:",
        f"  tessera report {name}/{first.way.name}        the run on one page, to send to somebody",
        f"  tessera explain {name}/{RUN_FILE} -n 64        what such a run would do on 64 ranks",
        "  tessera prepare pdb --help                    a protein of your own, from its PDB file",
        "  tessera doctor                                what this machine has, and what to mend",
    ]
    return "\n".join(lines)
