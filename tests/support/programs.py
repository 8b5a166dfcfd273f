"""What tests start programs with: where these are, the MPI libraries, ranks in turns, and processes with a time
limit."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENGINES = Path(os.environ.get("TESSERA_BIN", ROOT / "build" / "release" / "bin"))
#: the folder of a library that answers as NVIDIA's driver does (cpp/tessera/device/fake_driver.cpp)
FAKE_DRIVER = ENGINES.parent / "test"
FLAVOURS = ("openmpi", "mpich")
#: the words that start a command of tessera
TESSERA = [sys.executable, "-m", "tessera"]
# By itself mpi4py takes the first library that it finds, whichever launcher started it.
LIBRARIES = {"openmpi": "libmpi.so.40", "mpich": str(Path(sys.executable).parents[1] / "lib" / "libmpi.so.12")}
#: numbers of ranks that quick tests take in turns: odd and even ones, which divide few things
RANKS = (2, 3, 5, 7, 12)
#: Seconds after which what a test starts is taken for hanging, the same everywhere. No verdict depends on speed: what
#: takes a minute on an idle machine ends in time on one that is ten times slower.
HANGS = 900.0
NO_DATA = "no reference data: set TESSERA_DATA to the folder that holds them"
#: what stands in for launchers
OPEN_MPI = 'case "$1" in --version) echo "mpirun (Open MPI) 4.1.4";; *) echo "openmpi $*";; esac'
MPICH = 'case "$1" in --version) echo "HYDRA build details: Version 5.0";; *) echo "mpich $*";; esac'

Run = Callable[..., subprocess.CompletedProcess[str]]


def script(path: Path, text: str) -> Path:
    """Writes a shell script that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def start(
    command: Sequence[str | Path], *, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.Popen[str]:
    """Starts a command in a process group of its own, with its output in pipes."""
    return subprocess.Popen(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _kill(process: subprocess.Popen[str]) -> None:
    """Kills all processes of the session that `start` began: an mpirun gives each rank a process group of its own."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(ProcessLookupError):
            if os.getsid(int(entry.name)) == process.pid:
                os.kill(int(entry.name), signal.SIGKILL)


def wait_until(happened: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    """Waits for an event, which `happened` looks for. Fails the test where it does not come, or where the process that
    should bring it about has ended."""
    begin = time.monotonic()
    while not happened():
        if process is not None and process.poll() is not None:
            pytest.fail(f"ended too soon: {process.communicate()}")
        if time.monotonic() - begin > HANGS:
            pytest.fail(f"not happened after {HANGS:g} s")
        time.sleep(0.005)


def ranks_of(mark: int, program: str) -> list[int]:
    """Returns the ids of those processes of a running job whose executable has this name. The mark in their environment
    identifies the job."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            is_program = entry.name.isdigit() and program in os.readlink(entry / "exe")
            if is_program and f"TESSERA_TEST_RUN={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:  # the process has ended meanwhile
            continue
    return sorted(found)


def signal_all(processes: Iterable[int], number: int) -> None:
    """Sends a signal to processes, of which some may just have ended: launchers end ranks when one has."""
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)


@contextmanager
def command_under_way(
    command: Sequence[str | Path], program: str, env: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Starts a command that starts ranks of `program`, and yields its process and the mark by which its ranks are
    found. Processes that are left at the end are killed."""
    mark = time.monotonic_ns()
    process = start(command, env={**(env or {}), "TESSERA_TEST_RUN": str(mark)})
    try:
        yield process, mark
    finally:
        signal_all(ranks_of(mark, program), signal.SIGKILL)
        _kill(process)
        process.communicate()


@contextmanager
def job_under_way(
    mpi: str, ranks: int, program: str, *arguments: str | Path, env: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Does the same as `command_under_way` for a program of Tessera (`program`-`mpi`) under the mpirun of its MPI."""
    name = f"{program}-{mpi}"
    with command_under_way([*mpirun(mpi, ranks), ENGINES / name, *arguments], name, env) as found:
        yield found


def run_program(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    timeout: float = HANGS,
    check: bool = True,
    status: int = 0,
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, which must have this exit status unless `check` is False. If it has not ended after
    `timeout` seconds, kills its processes and fails the test."""
    process = start(command, cwd=cwd, env=env)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        _kill(process)
        out, err = process.communicate()
        pytest.fail(f"not finished after {timeout} s: {command}\n{out[-4000:]}\n{err[-4000:]}")
    finally:
        if process.poll() is None:
            _kill(process)
    if check and process.returncode != status:
        pytest.fail(f"exit status {process.returncode}: {command}\n{out[-4000:]}\n{err[-4000:]}")
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def free_port() -> int:
    """Returns a port of the loopback that nobody listens at now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def mpirun(flavour: str, ranks: int) -> list[str]:
    """Returns the words that start `ranks` ranks under this MPI, and none for "serial"."""
    if flavour == "serial":
        return []
    program = "mpirun.openmpi" if flavour == "openmpi" else str(Path(sys.executable).parent / "mpiexec")
    return [program, "-n", str(ranks)]


def in_turns(*quick: int, also: Sequence[int] = (), first: str = FLAVOURS[0]) -> pytest.MarkDecorator:
    """Gives a test its `mpi` and `ranks`: the `quick` numbers of ranks, under the MPIs in turns from `first` on. All
    other combinations, also with the numbers in `also`, are slow tests."""
    begin = FLAVOURS.index(first)
    chosen = {(FLAVOURS[(begin + turn) % 2], ranks) for turn, ranks in enumerate(quick)}
    every = [(flavour, ranks) for ranks in sorted({*quick, *also}) for flavour in FLAVOURS]
    rows = [pytest.param(*one, marks=() if one in chosen else pytest.mark.slow(part="bits")) for one in every]
    return pytest.mark.parametrize(("mpi", "ranks"), rows, indirect=["mpi"])
