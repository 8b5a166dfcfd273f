"""Starts the engine: chooses its build, its `mpirun` and their options.

The engine is built once for each MPI (`tessera-md-openmpi`, `tessera-md-mpich`) and once without (`tessera-md-serial`);
the probe that measures the machine (`tessera-probe-*`) is always built with MPI. A build runs only under the `mpirun`
of its own MPI, so the two are chosen together.

Each `mpirun` reacts to signals in its own way. Open MPI's forwards some at once and others after a second, sends
SIGKILL after another second, and ends with status 1; MPICH's dies of SIGHUP. All forward SIGUSR1, which the engine
takes as a request to write its checkpoint and end. So `tessera run` stays the parent of its `mpirun` (`supervise`) and
sends every request as SIGUSR1, also to the ranks of this host where the launcher does not react; its exit status is the
one that the engine has without a launcher.

Open MPI's mpirun loads hwloc's plugins. That for OpenCL loads drivers, and pocl's LLVM replaces mpirun's handlers of
signals, so that SIGUSR1 is lost; launchers are started without it (`environment_of_launchers`).

Environment: `TESSERA_BIN` (folder of the engines), `TESSERA_MPIRUN` (a launcher, perhaps with options, as in
`srun --mpi=pmix`).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import resource
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click

from tessera.machine.quantities import whole_of
from tessera.printing import echo

FLAVOURS = ("openmpi", "mpich", "serial")
BATCH_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")
MOST_ON_A_CORE = 4  # ranks × threads that are allowed without --oversubscribe
AUTO = "auto"  # as many threads as a rank has cores
SHARED_FILE_BYTES = 4_300_000  # of Open MPI, a rank
_NAMES = {"openmpi": "Open MPI", "mpich": "MPICH", "serial": "no MPI"}


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


threads_option = click.option(
    "-t", "--threads", type=Threads(), metavar="N|auto",
    help="Threads of each rank; auto: as many as it has cores, of those that this process may use or the job has.",
)  # fmt: skip
overrides_option = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key of the run file; repeatable."
)
mpi_option = click.option(
    "--mpi", type=click.Choice(["auto", *FLAVOURS]), default="auto", show_default=True, help="Which MPI."
)
#: Of jobs that need MPI even where they have one rank.
parallel_mpi_option = click.option(
    "--mpi", type=click.Choice(["auto", "openmpi", "mpich"]), default="auto", show_default=True, help="Which MPI."
)
oversubscribe_option = click.option(
    "--oversubscribe", is_flag=True, help="Start more than four ranks or threads a core, outside batch jobs."
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Print the command that would be run and stop.")


class LaunchError(click.ClickException):
    """Raised where the engine or its `mpirun` can't be found or used; says what was looked for and how to mend it."""

    exit_code = 2


@dataclass(frozen=True)
class Launcher:
    """An `mpirun` and its MPI (None: unknown)."""

    words: tuple[str, ...]
    flavour: str | None


def engine_folders() -> list[Path]:
    """Returns the folders in which engines are looked for; the first that has one counts."""
    package = Path(__file__).resolve().parent
    folders = [Path(os.environ["TESSERA_BIN"])] if os.environ.get("TESSERA_BIN") else []
    return [*folders, package / "bin", package.parents[1] / "build" / "release" / "bin"]


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
def flavour_of(words: tuple[str, ...]) -> str | None:
    """Returns the MPI of a launcher, from its output with `--version`."""
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
    threads = threads_of_a_rank(threads, ranks, is_elsewhere=hostfile is not None)
    if hostfile is None and not oversubscribe and not is_placed_by_others():
        _refuse_crowd(ranks, threads or 1)
    built = built or engines(program) or _missing(program)
    tail = [*arguments, *(["-t", str(threads)] if threads is not None else [])]
    if mpi == "serial" or (mpi == "auto" and ranks == 1 and "serial" in built):
        if ranks > 1:
            raise LaunchError(f"{ranks} ranks need an MPI; leave --mpi serial away, or use threads (-t {ranks})")
        return [str(_built(built, "serial")), *tail]
    launcher, flavour = _choose(built, mpi, ranks)
    if flavour == "openmpi":
        _check_size_of_files()
    options = _options(flavour, ranks, threads or 1)
    if hostfile is not None:
        options += ["--hostfile" if flavour == "openmpi" else "-f", str(hostfile)]
    return [*launcher.words, *options, str(_built(built, flavour)), *tail]


def _check_size_of_files() -> None:
    """Raises LaunchError where Open MPI's ranks could not make the files through which they share memory, for which
    `mpirun` would wait for ever."""
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit != resource.RLIM_INFINITY and limit < SHARED_FILE_BYTES:
        raise LaunchError(
            f"files may have at most {limit:,} bytes here (ulimit -f), Open MPI needs {SHARED_FILE_BYTES:,} for "
            "those in which ranks share memory: raise the limit, or take --mpi mpich or one rank with threads (-t)"
        )


def tessera_command(arguments: Sequence[str], *, ranks: int, mpi: str, oversubscribe: bool) -> list[str]:
    """Returns the command that carries out a command of `tessera` itself on ranks. Raises LaunchError."""
    package = Path(__file__).resolve().parent
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
        return threads
    cores, hosts = (whole_of(os.environ.get(name, "")) for name in ("SLURM_CPUS_PER_TASK", "SLURM_JOB_NUM_NODES"))
    if cores is not None:
        return max(1, cores)
    if is_elsewhere or (is_placed_by_others() and hosts is None):
        raise LaunchError("-t auto knows the cores of this host and of Slurm's jobs alone; give a number of threads")
    return max(1, usable_cores() * (hosts or 1) // ranks)


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


def single_engine() -> list[str]:
    """Returns the command of an engine that one process runs by itself. Raises LaunchError."""
    built = engines() or _missing("tessera-md")
    return [str(built.get("serial") or next(iter(built.values())))]


def program_path(program: str, flavour: str) -> Path:
    """Returns the path of a program built for that MPI. Raises LaunchError."""
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
    candidates = []
    for launcher in launchers():
        candidates.append(launcher)
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
        options.append("-q")  # the engine has printed its message, so Open MPI's banner is not needed
        if not any(name in os.environ for name in BATCH_JOBS):
            options.append("--oversubscribe")  # Open MPI's slots are cores, not hardware threads
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.append("--allow-run-as-root")
        # Binding to one core would put all threads of a rank, or several ranks, on it.
        if threads > 1 or ranks * threads > usable_cores():
            options += ["--bind-to", "none"]
    return options


def environment_of_launchers() -> dict[str, str]:
    """Returns this process's environment with hwloc's plugin for OpenCL left out, unless the user asked for it."""
    components = [name for name in os.environ.get("HWLOC_COMPONENTS", "").split(",") if name]
    if not {"opencl", "-opencl"} & set(components):
        components.append("-opencl")
    return {**os.environ, "HWLOC_COMPONENTS": ",".join(components)}


def execute(command: Sequence[str]) -> NoReturn:
    """Replaces this process by the command, so that signals and the exit status are those of the command. Raises
    LaunchError."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvpe(command[0], list(command), environment_of_launchers())
    except OSError as error:
        raise LaunchError(f"can't start {command[0]}: {error.strerror}") from None


STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)
SAME_REQUEST = 1.0  # seconds; as in cpp/tessera/comm/stop_signal.h
ASK_AGAIN = 2.0  # seconds; a launcher that has not started its ranks yet may lose a signal
FAILURES = (2, 3, 70)  # exit status of an engine that failed
NOT_CONVERGED = 75  # of a minimisation; as in cpp/tessera/app/minimize.h


def supervise(command: Sequence[str], after_loss: str = "--restart goes on from the last checkpoint") -> int:
    """Runs a launcher of engines (or one engine) to its end. Returns the engine's status, or 128 + the signal that
    stopped it. `after_loss` ends the message about a rank that was killed.

    SIGTERM, SIGINT, SIGHUP and SIGUSR1 ask the run to stop with a checkpoint. Signals within a second are one request;
    where the launcher goes on for two seconds more, the ranks of this host are asked, too. The third request makes the
    launcher kill its ranks, the fourth kills the launcher. If this process is killed, the launcher gets SIGTERM. The
    signals that ask do nothing afterwards: one that comes late shall not interrupt what is left to do. Raises
    LaunchError. Only the main thread may call it.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    stops = {number for number in STOP_SIGNALS if signal.getsignal(number) != signal.SIG_IGN}  # nohup ignores some
    watched = stops | {signal.SIGCHLD, signal.SIGTSTP}
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in watched}

    def in_child() -> None:
        for number in watched:
            signal.signal(number, signal.SIG_DFL)
        with contextlib.suppress(OSError, AttributeError):  # only Linux has it
            ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG

    with _signals_in_a_pipe(watched) as pipe:
        try:
            # The launcher has a session of its own, so a terminal's Ctrl-C reaches only this process, and the ranks
            # only get SIGUSR1.
            launcher = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=in_child,
                env=environment_of_launchers(),
            )
        except OSError as error:
            _handle(before)
            raise LaunchError(f"can't start {command[0]}: {error.strerror}") from None
        asked, requests, latest = 0, 0, -SAME_REQUEST
        while launcher.poll() is None:
            came = select.select([pipe], [], [], ASK_AGAIN if asked else None)[0]
            number = os.read(pipe, 1)[0] if came else 0
            if number == signal.SIGTSTP:
                _sleep_with(launcher)
            elif number in stops:
                asked = asked or number
                now = time.monotonic()
                if now - latest >= SAME_REQUEST:
                    requests += 1
                latest = now
                _hand_on(launcher, requests)
            elif asked and number == 0:
                _hand_on(launcher, requests)
                _ask_listeners(launcher.pid)
    _handle({number: handler for number, handler in before.items() if number not in stops})
    return _status_of_run(launcher.returncode, asked, after_loss)


@contextlib.contextmanager
def _signals_in_a_pipe(numbers: Iterable[signal.Signals]) -> Iterator[int]:
    """Yields the end of a pipe from which each of these signals is read as one byte, its number. Afterwards they do
    nothing.

    To block them and wait for them would lose some: a thread that a library started (OpenBLAS's, say) has not blocked
    them, and the end of a child that such a thread is told of is told to nobody else."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    _handle(dict.fromkeys(numbers, lambda *_: None))
    try:
        yield reading
    finally:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


def _handle(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _hand_on(launcher: subprocess.Popen[bytes], requests: int) -> None:
    if requests > 3:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(launcher.pid, signal.SIGKILL)
    else:
        launcher.send_signal(signal.SIGUSR1 if requests < 3 else signal.SIGTERM)


def _ask_listeners(launcher: int) -> None:
    """Sends SIGUSR1 to those of the launcher's descendants on this host that have a handler for it, as ranks have: any
    other process would be ended by it."""
    parent, listens = {}, set()
    for path in Path("/proc").glob("[0-9]*/status"):  # none where the system has no /proc
        with contextlib.suppress(OSError, KeyError, ValueError):  # the process has ended
            fields = dict(line.split(":", 1) for line in path.read_text(errors="replace").splitlines() if ":" in line)
            number = int(path.parent.name)
            parent[number] = int(fields["PPid"])
            if int(fields["SigCgt"], 16) >> (signal.SIGUSR1 - 1) & 1:
                listens.add(number)
    for number in listens:
        above = parent[number]
        while above not in (0, launcher):
            above = parent.get(above, 0)
        if above == launcher:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGUSR1)


def _sleep_with(launcher: subprocess.Popen[bytes]) -> None:
    """Suspends the run on Ctrl-Z until `fg` or `bg`."""
    launcher.send_signal(signal.SIGTSTP)
    os.kill(os.getpid(), signal.SIGSTOP)
    launcher.send_signal(signal.SIGCONT)


def _status_of_run(status: int, asked: int, after_loss: str) -> int:
    """Returns the exit status of `tessera run` from that of the launcher. The launcher's is negative if it died of a
    signal itself. If a rank died of a signal, it is 128 + signal under Open MPI and the signal under MPICH."""
    if status in (0, *FAILURES, NOT_CONVERGED):
        return status
    if asked:
        return 128 + asked
    if status < 0:
        return 128 - status
    number = status - 128 if status > 128 else status
    if number == 1 or number not in signal.valid_signals():
        return status
    echo(
        f"tessera: error: a rank was ended by {signal.Signals(number).name}, and the launcher ended the others; "
        f"{after_loss}",
        err=True,
    )
    return 128 + number


def start(
    arguments: Sequence[str],
    *,
    ranks: int = 1,
    threads: int | str | None = None,
    mpi: str = "auto",
    oversubscribe: bool = False,
    dry_run: bool = False,
) -> None:
    """Runs the engine in place of this process (with several ranks, as its child), or prints the command."""
    command = engine_command(arguments, ranks=ranks, threads=threads, mpi=mpi, oversubscribe=oversubscribe)
    if dry_run:
        echo(shlex.join(command))
        return
    tell_of_terminal()
    if Path(command[0]) in engines().values():
        execute(command)
    else:
        sys.exit(supervise(command))


def tell_of_terminal() -> None:
    """Tells engines whether this command's standard error is a terminal; under mpirun their own is a pipe."""
    if os.isatty(2):
        os.environ["TESSERA_TERMINAL"] = "1"


def check(arguments: Sequence[str], ranks: int) -> None:
    """Asks the engine without MPI whether a run would start on this number of ranks. If not, prints the engine's
    message and ends with its status."""
    serial = engines().get("serial")
    if serial is None:
        return
    done = subprocess.run([serial, *arguments, "--check", "--ranks", str(ranks)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        sys.exit(done.returncode if done.returncode > 0 else 70)
