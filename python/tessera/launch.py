"""Starting the engine: which build of it, under which `mpirun`, with which options.

The engine is built once for each MPI (`tessera-md-openmpi`, `tessera-md-mpich`) and once without (`tessera-md-serial`);
so is the probe that measures the machine (`tessera-probe-*`, never without). A build runs only under the `mpirun` of
its own MPI, so the two are chosen together.

Environment: `TESSERA_BIN` (folder of the engines), `TESSERA_MPIRUN` (a launcher, perhaps with options, as in
`srun --mpi=pmix`).
"""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import click

FLAVOURS = ("openmpi", "mpich", "serial")
_NAMES = {"openmpi": "Open MPI", "mpich": "MPICH", "serial": "no MPI"}


class LaunchError(click.ClickException):
    """The engine or its `mpirun` can't be found or used: says what was looked for and how to mend it."""

    exit_code = 2


@dataclass(frozen=True)
class Launcher:
    """An `mpirun` and the MPI it belongs to (None: it does not say)."""

    words: tuple[str, ...]
    flavour: str | None


def engine_folders() -> list[Path]:
    """Where engines are looked for, first come first served."""
    package = Path(__file__).resolve().parent
    folders = [Path(os.environ["TESSERA_BIN"])] if os.environ.get("TESSERA_BIN") else []
    return [*folders, package / "bin", package.parents[1] / "build" / "release" / "bin"]


def engines(program: str = "tessera-md") -> dict[str, Path]:
    """Flavour → engine (or another program built for each MPI), of those that are there."""
    found: dict[str, Path] = {}
    for folder in engine_folders():
        for flavour in FLAVOURS:
            path = folder / f"{program}-{flavour}"
            if flavour not in found and os.access(path, os.X_OK) and path.is_file():
                found[flavour] = path
    return found


@functools.cache
def flavour_of(words: tuple[str, ...]) -> str | None:
    """Which MPI a launcher belongs to, from what `--version` says."""
    try:
        result = subprocess.run(
            [*words, "--version"], capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    text = (result.stdout + result.stderr).lower()
    if "open mpi" in text or "openrte" in text or "prrte" in text:
        return "openmpi"
    if "hydra" in text or "mpich" in text:
        return "mpich"
    return None


def launchers() -> list[Launcher]:
    """The launchers at hand, the one that the user means first: TESSERA_MPIRUN alone if set, else those on the path,
    then what PyPI's mpich put beside this Python."""
    chosen = os.environ.get("TESSERA_MPIRUN")
    if chosen:
        words = tuple(shlex.split(chosen))
        if not words or shutil.which(words[0]) is None:
            raise LaunchError(f"TESSERA_MPIRUN is {chosen!r}, but there is no such program; unset it or mend it")
        return [Launcher(words, flavour_of(words))]
    found = [shutil.which(name) for name in ("mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.mpich", "mpiexec.hydra")]
    found.append(shutil.which("mpiexec", path=str(Path(sys.executable).parent)))
    unique = list(dict.fromkeys(path for path in found if path))
    return [Launcher((path,), flavour_of((path,))) for path in unique]


def usable_cores() -> int:
    """Hardware threads that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def engine_command(
    arguments: Sequence[str],
    *,
    ranks: int = 1,
    threads: int | None = None,
    mpi: str = "auto",
    hostfile: Path | None = None,
    program: str = "tessera-md",
) -> list[str]:
    """The whole command that runs the engine (or another program) with these arguments.

    `mpi` is a flavour or `auto`: one rank needs no MPI; several take the first `mpirun` that an engine is built for.
    Raises LaunchError.
    """
    if ranks < 1:
        raise LaunchError(f"{ranks} ranks; give at least 1 (-n)")
    if threads is not None and threads < 1:
        raise LaunchError(f"{threads} threads; give at least 1 (-t)")
    built = engines(program) or _missing(program)
    tail = [*arguments, *(["-t", str(threads)] if threads is not None else [])]
    if mpi == "serial" or (mpi == "auto" and ranks == 1 and "serial" in built):
        if ranks > 1:
            raise LaunchError(f"{ranks} ranks need an MPI; leave --mpi serial away, or use threads (-t {ranks})")
        return [str(_built(built, "serial")), *tail]
    launcher, flavour = _choose(built, mpi, ranks)
    options = _options(flavour, ranks, threads or 1)
    if hostfile is not None:
        options += ["--hostfile" if flavour == "openmpi" else "-f", str(hostfile)]
    return [*launcher.words, *options, str(_built(built, flavour)), *tail]


def program_path(program: str, flavour: str) -> Path:
    """Of a program built for that MPI. Raises LaunchError."""
    return _built(engines(program) or _missing(program), flavour)


def _missing(program: str) -> NoReturn:
    folders = ", ".join(str(folder) for folder in engine_folders())
    raise LaunchError(
        f"there is no {program}-* in {folders}; build it with `make build`, or set TESSERA_BIN to the folder that "
        "holds it"
    )


def _built(built: dict[str, Path], flavour: str) -> Path:
    if flavour not in built:
        raise LaunchError(
            f"the engine is not built for {_NAMES[flavour]} (found: {', '.join(built)}); build it where that MPI is "
            "installed, or choose another with --mpi"
        )
    return built[flavour]


def _choose(built: dict[str, Path], mpi: str, ranks: int) -> tuple[Launcher, str]:
    candidates = launchers()
    for launcher in candidates:
        flavour = launcher.flavour or (mpi if mpi != "auto" else None)
        if flavour is not None and flavour in built and mpi in ("auto", flavour):
            return launcher, flavour
    if mpi != "auto":
        _built(built, mpi)
    wanted = _NAMES[mpi] if mpi != "auto" else " or ".join(_NAMES[f] for f in built if f != "serial") or "any MPI"
    seen = ", ".join(f"{' '.join(c.words)} ({_NAMES.get(c.flavour or '', 'unknown MPI')})" for c in candidates)
    raise LaunchError(
        f"{ranks} ranks need an mpirun of {wanted}; found {seen or 'none'}. Install one (Debian: openmpi-bin; PyPI: "
        "mpich), name one in TESSERA_MPIRUN together with --mpi, or use threads (-t)"
    )


def _options(flavour: str, ranks: int, threads: int) -> list[str]:
    options = ["-n", str(ranks)]
    if flavour == "openmpi":
        options.append("-q")  # the engine has said what was wrong; no banner below it
        # Ranks that are told to stop write a checkpoint first: a second would not do.
        options += ["--mca", "odls_base_sigkill_timeout", "60"]
        if not any(name in os.environ for name in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")):
            options.append("--oversubscribe")  # its slots are cores, not hardware threads
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.append("--allow-run-as-root")
        # Binding to one core would put all threads of a rank there, or several ranks.
        if threads > 1 or ranks * threads > usable_cores():
            options += ["--bind-to", "none"]
    return options


def execute(command: Sequence[str]) -> NoReturn:
    """Becomes the command: signals and the exit status are then its own. Raises LaunchError."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(command[0], list(command))
    except OSError as error:
        raise LaunchError(f"can't start {command[0]}: {error.strerror}") from None


def start(
    arguments: Sequence[str], *, ranks: int = 1, threads: int | None = None, mpi: str = "auto", dry_run: bool = False
) -> None:
    """Runs the engine in place of this process, or prints the command."""
    command = engine_command(arguments, ranks=ranks, threads=threads, mpi=mpi)
    if dry_run:
        click.echo(shlex.join(command))
        return
    if os.isatty(2):
        os.environ["TESSERA_TERMINAL"] = "1"  # mpirun makes the engine's own standard error a pipe
    execute(command)
