"""Starts the engine: chooses its build, its `mpirun` and their options.

The engine is built once for each MPI (`tessera-md-openmpi`, `tessera-md-mpich`) and once without (`tessera-md-serial`);
the probe that measures the machine (`tessera-probe-*`) is always built with MPI. A build runs only under the `mpirun`
of its own MPI, so the two are chosen together.

Environment: `TESSERA_BIN` (folder of the engines), `TESSERA_MPIRUN` (a launcher, perhaps with options, as in
`srun --mpi=pmix`).
"""

from __future__ import annotations

import functools
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click

from tessera import ranks as processes
from tessera.launch.slurm import (
    Allocation,
    allocation,
    cores_of_a_rank,
    flavour_of_srun,
    is_srun,
    options_of_srun,
    words_of_its_host,
)
from tessera.launch.supervision import GO_ON, environment_of_launchers, supervise
from tessera.launch.supervision import LaunchError as LaunchError
from tessera.printing import echo

FLAVOURS = ("openmpi", "mpich", "serial")
BATCH_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")
# As in cpp/tessera/app/main.cpp, whose refusal would be none of this command.
MOST_RANKS, MOST_THREADS, MOST_HOURS, MOST_MEASURED_STEPS = 10_000_000, 4096, 1e6, 1_000_000
MOST_ON_A_CORE = 4  # ranks × threads that are allowed without --oversubscribe
AUTO = "auto"  # as many threads as a rank has cores
SHARED_FILE_BYTES = 4_300_000  # of Open MPI, a rank; MPICH's UCX needs between 2 and 4 MB
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH", "serial": "no MPI"}


# Options of commands that start jobs.


class Threads(click.ParamType):
    """A number of threads, or `auto`."""

    name = "threads"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if value == AUTO:
            return AUTO
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r}: expected a number of threads, or auto", param, ctx)


def _ranks_of_run(context: click.Context, parameter: click.Parameter, ranks: int | None) -> int:
    """Returns the number of ranks that was asked for; else that of Slurm's job, or 1. Raises LaunchError."""
    job = allocation() if ranks is None else None
    return job.ranks if job else 1 if ranks is None else ranks


#: Of a run, which uses all that a job has.
ranks_of_run_option = click.option(
    "-n", "--ranks", type=int, callback=_ranks_of_run,
    help="Number of MPI ranks.  [default: the tasks of Slurm's job; 1 elsewhere]",
)  # fmt: skip
threads_option = click.option(
    "-t", "--threads", type=Threads(), metavar="N|auto",
    help="Threads of each rank; auto: as many as it has cores, of those that this process may use or the job has.",
)  # fmt: skip
overrides_option = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key of the run file; repeatable."
)
mpi_option = click.option(
    "--mpi", type=click.Choice(["auto", *FLAVOURS]), default="auto", show_default=True, help="MPI library to use."
)
#: Of jobs that need MPI even where they have one rank.
parallel_mpi_option = click.option(
    "--mpi",
    type=click.Choice(["auto", "openmpi", "mpich"]),
    default="auto",
    show_default=True,
    help="MPI library to use.",
)
oversubscribe_option = click.option(
    "--oversubscribe", is_flag=True, help="Start more than four ranks or threads a core, outside batch jobs."
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Print the command that would be run and stop.")


@dataclass(frozen=True)
class Launcher:
    """An `mpirun` and its MPI (None: unknown)."""

    words: tuple[str, ...]
    flavour: str | None


def engine_folders() -> list[Path]:
    """Returns the folders in which engines are looked for; the first that has one counts."""
    package = Path(__file__).resolve().parents[1]
    folders = [Path(os.environ["TESSERA_BIN"])] if os.environ.get("TESSERA_BIN") else []
    return [*folders, package / "bin", package.parents[1] / "build" / "release" / "bin"]


def kernel_folder() -> Path:
    """Returns the folder of engines that has kernels for GPUs, or where they would be."""
    folders = engine_folders()
    return next((folder for folder in folders if any(folder.glob("tessera-*.fatbin"))), folders[-1])


def engines(program: str = "tessera-md") -> dict[str, Path]:
    """Returns flavour → path of the engine (or of another program built for each MPI), for those that exist."""
    found: dict[str, Path] = {}
    for folder in engine_folders():
        for flavour in FLAVOURS:
            path = folder / f"{program}-{flavour}"
            if flavour not in found and os.access(path, os.X_OK) and path.is_file():
                found[flavour] = path
    return found


@functools.cache
def _version_text(words: tuple[str, ...]) -> str:
    """Returns what a launcher prints with `--version`, in small letters."""
    try:
        result = subprocess.run(
            [*words, "--version"], capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return (result.stdout + result.stderr).lower()


def flavour_of(words: tuple[str, ...]) -> str | None:
    """Returns the MPI of a launcher, from its output with `--version`."""
    text = _version_text(words)
    if "open mpi" in text or "openrte" in text or "prrte" in text:
        return "openmpi"
    if "hydra" in text or "mpich" in text:
        return "mpich"
    return None


def launchers() -> Iterator[Launcher]:
    """Yields launchers in order of preference: TESSERA_MPIRUN alone if it is set, else those on the path. The mpirun
    that PyPI's mpich puts beside this Python comes last, because an environment that is first on the path must not hide
    the cluster's own."""
    chosen = os.environ.get("TESSERA_MPIRUN")
    if chosen:
        try:
            words = tuple(shlex.split(chosen))
        except ValueError as error:
            raise LaunchError(f"TESSERA_MPIRUN is {chosen!r}: {error}; unset it or mend it") from None
        if not words or shutil.which(words[0]) is None:
            raise LaunchError(f"TESSERA_MPIRUN is {chosen!r}, but there is no such program; unset it or mend it")
        yield Launcher(words, flavour_of(words))
        return
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    if sys.prefix != sys.base_prefix:  # a virtual environment
        own = str(Path(sys.executable).parent)
        folders.append(own)
        folders.sort(key=lambda folder: os.path.realpath(folder) == os.path.realpath(own))  # a stable sort
    seen = set()
    for name in ("mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.mpich", "mpiexec.hydra"):
        for folder in folders:
            path = shutil.which(name, path=folder)
            if path and os.path.realpath(path) not in seen:
                seen.add(os.path.realpath(path))
                yield Launcher((path,), flavour_of((path,)))


def usable_cores() -> int:
    """Returns the number of hardware threads that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def engine_command(
    arguments: Sequence[str],
    *,
    ranks: int = 1,
    threads: int | str | None = None,
    mpi: str = "auto",
    hostfile: Path | None = None,
    oversubscribe: bool = False,
    program: str = "tessera-md",
    built: dict[str, Path] | None = None,
) -> list[str]:
    """Returns the whole command that runs the engine (or another program) with these arguments. `built` are the
    program's path for each MPI; None: where `program` is found.

    `mpi` is a flavour or `auto`: one rank needs no MPI; several ranks take the first `mpirun` for which an engine is
    built. Raises LaunchError.
    """
    if ranks < 1:
        raise LaunchError(f"{ranks} ranks; give at least 1 (-n)")
    _refuse_many(ranks)
    _refuse_copies()
    threads = threads_of_a_rank(threads, ranks, is_elsewhere=hostfile is not None)
    if hostfile is None and not oversubscribe and not is_placed_by_others():
        _refuse_crowd(ranks, threads or 1)
    built = built or engines(program) or _missing(program)
    tail = [*arguments, *(["-t", str(threads)] if threads is not None else [])]
    if mpi == "serial" or (mpi == "auto" and ranks == 1 and "serial" in built):
        if ranks > 1:
            raise LaunchError(f"{ranks} ranks need an MPI; leave --mpi serial away, or use threads (-t {ranks})")
        return [*words_of_its_host(threads or 1), str(_built(built, "serial")), *tail]
    launcher, flavour = _choose(built, mpi, ranks)
    _check_size_of_files(flavour)
    if is_srun(launcher.words):
        if hostfile is not None:
            raise LaunchError(
                f"{launcher.words[0]} takes the hosts of its job, or those of SLURM_HOSTFILE; leave --hostfile away"
            )
        options = options_of_srun(launcher.words, ranks, threads or 1)
    else:
        options = _options(launcher, flavour, ranks, threads or 1)
    if hostfile is not None:
        options += ["--hostfile" if flavour == "openmpi" else "-f", str(hostfile)]
    return [*launcher.words, *options, str(_built(built, flavour)), *tail]


def _check_size_of_files(flavour: str) -> None:
    """Raises LaunchError where ranks could not make the files through which they share memory. Open MPI's `mpirun`
    would wait for them for ever, MPICH's ranks end with words of UCX alone."""
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit != resource.RLIM_INFINITY and limit < SHARED_FILE_BYTES:
        raise LaunchError(
            f"files may have at most {limit:,} bytes here (ulimit -f), {NAMES[flavour]} needs {SHARED_FILE_BYTES:,} "
            "for those in which ranks share memory: raise the limit, or take one rank with threads (-t)"
        )


def tessera_command(arguments: Sequence[str], *, ranks: int, mpi: str, oversubscribe: bool) -> list[str]:
    """Returns the command that carries out a command of `tessera` itself on ranks. Raises LaunchError."""
    package = Path(__file__).resolve().parents[1]
    built = {flavour: Path(sys.executable) for flavour in FLAVOURS if any(package.glob(f"_ranks_{flavour}.*"))}
    if not built:
        raise LaunchError("the compiled part of tessera.ranks is missing for every MPI; build it, or use --processes")
    words = ["-m", "tessera", *arguments]
    return engine_command(words, ranks=ranks, mpi=mpi, oversubscribe=oversubscribe, built=built)


def is_placed_by_others() -> bool:
    """Returns whether a batch system or the user's own launcher places ranks on hosts and cores."""
    return any(name in os.environ for name in (*BATCH_JOBS, "TESSERA_MPIRUN"))


def threads_of_a_rank(threads: int | str | None, ranks: int, is_elsewhere: bool = False) -> int | None:
    """Returns the number of threads that was asked for; of `auto`, the cores that each rank has: those of Slurm's job,
    or those of this host that this process may use. Raises LaunchError, also where ranks run on other hosts."""
    if not isinstance(threads, str):
        if threads is not None and threads < 1:
            raise LaunchError(f"{threads} threads; give at least 1 (-t)")
        if threads is not None and threads > MOST_THREADS:
            raise LaunchError(f"{threads} threads of a rank; give at most {MOST_THREADS:,} (-t)")
        return threads
    if (cores := cores_of_a_rank()) is not None:
        return cores
    job = allocation()
    if is_elsewhere or (is_placed_by_others() and job is None):
        raise LaunchError("-t auto knows the cores of this host and of Slurm's jobs alone; give a number of threads")
    return max(1, _cores_of_all(job) // ranks)


def threads_of_run(threads: int | str | None, run_file: Path, overrides: Sequence[str]) -> int | str | None:
    """Returns the number of threads that was asked for; where neither an option nor the run file says one, the cores
    that Slurm's job has for each rank. Raises LaunchError."""
    if threads is not None or any(override.startswith("parallel.threads") for override in overrides):
        return threads
    try:
        parallel = tomllib.loads(run_file.read_text("utf-8")).get("parallel", {}) if run_file.is_file() else {}
    except (OSError, ValueError, RecursionError):
        return None  # the engine says what is wrong
    return None if not isinstance(parallel, dict) or "threads" in parallel else cores_of_a_rank()


def _cores_of_all(job: Allocation | None) -> int:
    """Returns the cores of all hosts of a job, or of this host."""
    if job is None:
        return usable_cores()
    return usable_cores() * job.hosts if job.all_cores is None else job.all_cores


def _refuse_copies() -> None:
    """Refuses to start ranks from each of several processes: all would do the same work, and write the same files."""
    if processes.launched() is not None and "SLURM_PTY_PORT" not in os.environ:  # srun --pty: the first task alone
        raise LaunchError(
            "a launcher has started several copies of this command, and each would start ranks of its own; start this "
            "command once (it starts the launcher itself), or the engine by the launcher: srun --mpi=pmix tessera-md "
            "run.toml"
        )


def _refuse_crowd(ranks: int, threads: int) -> None:
    """Refuses too many ranks and threads: those that wait keep a core busy, and hundreds on a few cores bring a machine
    to a halt."""
    cores = usable_cores()
    if ranks * threads > MOST_ON_A_CORE * cores:
        each = f" × {threads} threads" if threads > 1 else ""
        raise LaunchError(
            f"{ranks} rank{'s' * (ranks != 1)}{each} on the {cores} cores of this host; give at most "
            f"{MOST_ON_A_CORE * cores} in all, or --oversubscribe if you mean it (on a cluster, start it in a batch "
            "job)"
        )


def word_of(path: Path) -> str:
    """Returns a path as an argument of a program, which would take one that begins with a dash for an option."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def single_engine() -> list[str]:
    """Returns the command of an engine that one process runs by itself. Raises LaunchError."""
    built = engines() or _missing("tessera-md")
    return [str(built.get("serial") or next(iter(built.values())))]


def program_path(program: str, flavour: str) -> Path:
    """Returns the path of a program built for that MPI. Raises LaunchError."""
    return _built(engines(program) or _missing(program), flavour)


def drop_in_path(flavour: str) -> Path:
    """Returns the path of the library by which other programs' collective operations follow the map. Raises
    LaunchError."""
    name = f"libtessera-collectives-{flavour}.so"
    folders = [folder.parent / "lib" / "tessera" for folder in engine_folders()]
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    raise LaunchError(
        f"there is no {name} in {', '.join(str(folder) for folder in folders)}; build it with `make build` where "
        f"{NAMES[flavour]} is installed, or set TESSERA_BIN to the folder of the engines beside it"
    )


def _missing(program: str) -> NoReturn:
    folders = ", ".join(str(folder) for folder in engine_folders())
    raise LaunchError(
        f"there is no {program}-* in {folders}; build it with `make build`, or set TESSERA_BIN to the folder that "
        "holds it"
    )


def _built(built: dict[str, Path], flavour: str) -> Path:
    if flavour not in built:
        raise LaunchError(
            f"the engine is not built for {NAMES[flavour]} (found: {', '.join(built)}); build it where that MPI is "
            "installed, or choose another with --mpi"
        )
    return built[flavour]


def _choose(built: dict[str, Path], mpi: str, ranks: int) -> tuple[Launcher, str]:
    candidates = []
    for launcher in launchers():
        candidates.append(launcher)
        flavour = launcher.flavour or (mpi if mpi != "auto" else _flavour_asked_for(launcher))
        if flavour is not None and flavour in built and mpi in ("auto", flavour):
            return launcher, flavour
    if mpi != "auto":
        _built(built, mpi)
    wanted = NAMES[mpi] if mpi != "auto" else " or ".join(NAMES[f] for f in built if f != "serial") or "any MPI"
    seen = ", ".join(f"{' '.join(c.words)} ({NAMES.get(c.flavour or '', 'unknown MPI')})" for c in candidates)
    raise LaunchError(
        f"{ranks} ranks need an mpirun of {wanted}; found {seen or 'none'}. Install one (Debian: openmpi-bin; PyPI: "
        "mpich), name one in TESSERA_MPIRUN together with --mpi, or use threads (-t)"
    )


def _flavour_asked_for(launcher: Launcher) -> str | None:
    return flavour_of_srun(launcher.words) if is_srun(launcher.words) else None


def _options(launcher: Launcher, flavour: str, ranks: int, threads: int) -> list[str]:
    options = ["-n", str(ranks)]
    if flavour == "openmpi":
        if not re.search(r"\(open mpi\) [5-9]|prrte", _version_text(launcher.words)):
            options.append("-q")  # the engine has printed its message, so Open MPI's banner is not needed
        if not any(name in os.environ for name in BATCH_JOBS):
            options.append("--oversubscribe")  # Open MPI's slots are cores, not hardware threads
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.append("--allow-run-as-root")
        # Binding to one core would put all threads of a rank, or several ranks, on it.
        job = allocation()
        if threads > 1 or ranks > _cores_of_all(job):
            options += ["--bind-to", "none"]
    return options


def _refuse_many(ranks: int) -> None:
    if ranks > MOST_RANKS:
        raise LaunchError(f"{ranks} ranks; give at most {MOST_RANKS:,} (-n)")


def execute(command: Sequence[str], is_run: bool = False) -> NoReturn:
    """Replaces this process by the command, so that signals and the exit status are those of the command. Where who
    reads its output has gone, SIGPIPE ends it, as from a shell; but a run is told, and says so. Raises LaunchError."""
    sys.stdout.flush()
    sys.stderr.flush()
    if not is_run:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and what it starts would, too
    try:
        os.execvpe(command[0], list(command), environment_of_launchers(command[0]))
    except OSError as error:
        raise LaunchError(f"can't start {command[0]}: {error.strerror}") from None


def start(
    arguments: Sequence[str],
    *,
    ranks: int = 1,
    threads: int | str | None = None,
    mpi: str = "auto",
    oversubscribe: bool = False,
    dry_run: bool = False,
    after_loss: str = GO_ON,
    around: Callable[[Callable[[], int]], int] | None = None,
    is_run: bool = False,
) -> None:
    """Runs the engine in place of this process (with several ranks, as its child), or prints the command. `after_loss`
    is as in `supervise`, `is_run` as in `execute`. `around` is called with what runs the engine as a child and returns
    its status; it returns that of this process."""
    command = engine_command(arguments, ranks=ranks, threads=threads, mpi=mpi, oversubscribe=oversubscribe)
    if dry_run:
        echo(shlex.join(command))
        return
    tell_of_terminal()
    if around is not None:
        sys.exit(around(lambda: supervise(command, after_loss)))
    if Path(command[0]) in engines().values():
        execute(command, is_run)
    else:
        sys.exit(supervise(command, after_loss))


def tell_of_terminal() -> None:
    """Tells engines whether this command's standard error is a terminal; under mpirun their own is a pipe."""
    if os.isatty(2):
        os.environ["TESSERA_TERMINAL"] = "1"


def check(arguments: Sequence[str], ranks: int) -> None:
    """Asks the engine without MPI whether a run would start on this number of ranks. If not, prints the engine's
    message and ends with its status."""
    _refuse_many(ranks)
    serial = engines().get("serial")
    if serial is None:
        return
    done = subprocess.run([serial, *arguments, "--check", "--ranks", str(ranks)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        sys.exit(done.returncode if done.returncode > 0 else 70)
