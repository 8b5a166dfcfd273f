"""Runs a launcher of ranks to its end: hands on signals and what it prints, and finds the status of the run.

Each `mpirun` reacts to signals in its own way. Open MPI's forwards some at once and others after a second, sends
SIGKILL after another second, and ends with status 1; MPICH's dies of SIGHUP. All forward SIGUSR1, which the engine
takes as a request to write its checkpoint and end. So `tessera run` stays the parent of its `mpirun` (`supervise`) and
sends every request as SIGUSR1, also to the ranks of this host where the launcher does not react; its exit status is the
one that the engine has without a launcher.

Open MPI's mpirun loads hwloc's plugins. That for OpenCL loads drivers, and pocl's LLVM replaces mpirun's handlers of
signals, so that SIGUSR1 is lost; launchers are started without it (`environment_of_launchers`).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import click

from tessera.errors import InputError
from tessera.mpi_library import library_beside
from tessera.printing import echo
from tessera.stopping import SAME_REQUEST, STOP_SIGNALS

ENDS_WITHIN = 5.0  # seconds that a launcher has to end its ranks
ASK_AGAIN = 2.0  # seconds; a launcher that has not started its ranks yet may lose a signal
FAILURES = (2, 3, 70)  # exit status of an engine that failed
GO_ON = "--restart goes on from the last checkpoint"
SPARE_PROCESSES = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}  # never what ended a rank
NOT_CONVERGED = 75  # of a minimisation; as in cpp/tessera/app/minimize.h


class LaunchError(click.ClickException, InputError):
    """Raised where a command can't do what is asked, as where the engine, its `mpirun` or a map can't be found or used;
    says what was looked for and how to mend it."""

    exit_code = 2


def environment_of_launchers(launcher: str) -> dict[str, str]:
    """Returns this process's environment for a launcher: with hwloc's plugin for OpenCL left out, and the MPI library
    that belongs to the launcher named to what looks for one, unless the user asked for others."""
    components = [name for name in os.environ.get("HWLOC_COMPONENTS", "").split(",") if name]
    if not {"opencl", "-opencl"} & set(components):
        components.append("-opencl")
    library = library_beside(launcher)
    found = {"TESSERA_LIBMPI": library} if library else {}
    return {**found, **os.environ, "HWLOC_COMPONENTS": ",".join(components)}


def supervise(command: Sequence[str], after_loss: str = GO_ON) -> int:
    """Runs a launcher of engines (or one engine) to its end. Returns the engine's status, or 128 + the signal that
    stopped it. `after_loss` ends the message about a rank that was killed.

    SIGTERM, SIGINT, SIGHUP and SIGUSR1 ask the run to stop with a checkpoint. Signals within a second are one request;
    where the launcher goes on for two seconds more, the ranks of this host are asked, too. The third request makes the
    launcher kill its ranks, the fourth kills the launcher. If this process is killed, the launcher gets SIGTERM. The
    signals that ask do nothing afterwards: one that comes late shall not interrupt what is left to do. What can't be
    written to standard output is an error of status 3; launchers themselves lose it. Raises LaunchError. Only the main
    thread may call it.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    heeded = {
        number for number in (*STOP_SIGNALS, signal.SIGTSTP) if signal.getsignal(number) != signal.SIG_IGN
    }  # nohup ignores some
    stops, watched = heeded - {signal.SIGTSTP}, heeded | {signal.SIGCHLD}
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
                stdout=subprocess.PIPE if _may_be_full(1) else None,
                start_new_session=True,
                preexec_fn=in_child,
                env=environment_of_launchers(command[0]),
            )
        except OSError as error:
            _handle(before)
            raise LaunchError(f"can't start {command[0]}: {error.strerror}") from None
        output = _Output(launcher.stdout)
        asked, requests, latest, again = 0, 0, -SAME_REQUEST, 0.0
        while launcher.poll() is None:
            awaited: list[Any] = [pipe, *output.open]
            # What is printed meanwhile does not put off asking again.
            left = max(0.0, again - time.monotonic()) if asked else None
            came = select.select(awaited, [], [], left)[0]
            output.hand_on(came)
            number = os.read(pipe, 1)[0] if pipe in came else 0
            now = time.monotonic()
            if number == signal.SIGTSTP:
                _sleep_with(launcher)
            elif number in stops:
                asked = asked or number
                if now - latest >= SAME_REQUEST:
                    requests += 1
                latest, again = now, now + ASK_AGAIN
                _hand_on(launcher, requests)
            elif asked and now >= again:
                again = now + ASK_AGAIN
                _hand_on(launcher, requests)
                _ask_listeners(launcher.pid)
    output.end()
    _handle({number: handler for number, handler in before.items() if number not in stops})
    status = _status_of_run(launcher.returncode, asked, after_loss)
    return 3 if output.has_failed and status == 0 else status


def _may_be_full(descriptor: int) -> bool:
    """Returns whether it is a file or a device, but no terminal; a pipe whose reader has gone ends its writers."""
    mode = os.fstat(descriptor).st_mode
    return (stat.S_ISREG(mode) or stat.S_ISCHR(mode)) and not os.isatty(descriptor)


class _Output:
    """What a launcher prints to a pipe, which goes on to standard output."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        self.open = [] if pipe is None else [pipe]
        self.has_failed = False

    def hand_on(self, ready: Sequence[Any]) -> None:
        """Hands on what there is, where the pipe is ready. After a failure nothing is written, and all is read."""
        for pipe in [one for one in self.open if one in ready]:
            data = os.read(pipe.fileno(), 1 << 16)
            if not data:
                pipe.close()
                self.open = []
            while data and not self.has_failed:
                try:
                    data = data[os.write(1, data) :]
                except OSError as error:
                    self.has_failed = True
                    echo(f"tessera: error: standard output can't be written to: {error.strerror}", err=True)

    def end(self) -> None:
        """Hands on what the launcher has left; what it has started may still have the pipe."""
        while self.open and select.select(self.open, [], [], 0)[0]:
            self.hand_on(self.open)


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
    signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)  # what started this process may have blocked them
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


def _fields_of(path: Path) -> dict[str, str]:
    return dict(line.split(":", 1) for line in path.read_text(errors="replace").splitlines() if ":" in line)


def _caught(fields: dict[str, str], number: int) -> bool:
    """Returns whether a process whose /proc/…/status this is has a handler for a signal."""
    return bool(int(fields["SigCgt"], 16) >> (number - 1) & 1)


def _catches(process: int, number: int) -> bool:
    with contextlib.suppress(OSError, KeyError, ValueError):  # the process has ended, or the system has no /proc
        return _caught(_fields_of(Path(f"/proc/{process}/status")), number)
    return True


def _ask_listeners(launcher: int) -> None:
    """Sends SIGUSR1 to those of the launcher's descendants on this host that have a handler for it, as ranks have: any
    other process would be ended by it."""
    parent, listens = {}, set()
    for path in Path("/proc").glob("[0-9]*/status"):  # none where the system has no /proc
        with contextlib.suppress(OSError, KeyError, ValueError):  # the process has ended
            fields = _fields_of(path)
            number = int(path.parent.name)
            parent[number] = int(fields["PPid"])
            if _caught(fields, signal.SIGUSR1):
                listens.add(number)
    for number in listens:
        above = parent[number]
        while above not in (0, launcher):
            above = parent.get(above, 0)
        if above == launcher:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGUSR1)


def _sleep_with(launcher: subprocess.Popen[bytes]) -> None:
    """Suspends the run on Ctrl-Z until `fg` or `bg`. An engine by itself has no handler for SIGTSTP, and without one
    the signal does nothing in a session that no shell watches."""
    launcher.send_signal(signal.SIGTSTP if _catches(launcher.pid, signal.SIGTSTP) else signal.SIGSTOP)
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
    if number == 1 or number not in signal.valid_signals() or number in SPARE_PROCESSES:
        return status
    echo(
        f"tessera: error: a rank was ended by {signal.Signals(number).name}, and the launcher ended the others; "
        f"{after_loss}",
        err=True,
    )
    return 128 + number


def output_of(command: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a launcher to its end and returns what was printed. Where this process is asked to end meanwhile, the
    launcher is: it then ends its ranks and removes its files. Raises LaunchError."""
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    try:
        launcher = subprocess.Popen(
            command, text=True, env=environment_of_launchers(command[0]) | environment, **streams
        )
    except OSError as error:
        raise LaunchError(f"can't start {command[0]}: {error.strerror}") from None
    try:
        said = launcher.communicate()
    except BaseException:
        launcher.terminate()
        try:
            launcher.communicate(timeout=ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            launcher.kill()
        raise
    return subprocess.CompletedProcess(command, launcher.returncode, *said)
