"""Commands that a signal ends leave nothing behind, and commands whose standard files are closed work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tessera.stopping import STOP_SIGNALS
from tests.support.programs import HANGS, TESSERA, run_program, script, start, wait_until

#: makes a file, and gets the signal when this function is called for the first time
ENDED = """
import os, signal, sys
from tessera import cli, files

module, name, number, *words = sys.argv[1:]
place = {"os": os, "files": files}[module]
real = getattr(place, name)

def told(*arguments):
    setattr(place, name, real)
    real(*arguments)
    os.kill(os.getpid(), int(number))

setattr(files.os if module == "os" else files, name, told)
sys.argv = ["tessera", *words]
cli.main()
"""


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_command_that_is_ended_leaves_nothing_behind(tmp_path: Path, number: int) -> None:
    words = ["files", "_flush", str(int(number)), "make", "nacl", "--ions", "64", "-o", str(tmp_path / "a.tsr")]
    done = run_program([sys.executable, "-c", ENDED, *words], check=False)
    assert done.returncode == 128 + number
    assert done.stderr == f"tessera: ended by {signal.Signals(number).name}\n"
    assert not list(tmp_path.iterdir())


def test_a_signal_while_the_file_is_made_leaves_nothing_behind(tmp_path: Path) -> None:
    """Python tells of a signal before the number of the file that was opened meanwhile is known."""
    code = """
import os, signal, sys
from pathlib import Path
from tessera import files, stopping

stopping.listen(stopping.stop)
real = os.open

def told(*arguments):
    real(*arguments)
    os.kill(os.getpid(), signal.SIGTERM)

files.os.open = told
try:
    with files.replaced(sys.argv[1]):
        pass
except stopping.Stopped:
    sys.exit(list(Path(sys.argv[1]).parent.iterdir()) != [])
sys.exit(2)
"""
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "a")], timeout=HANGS).returncode == 0


def test_requests_within_a_second_are_one() -> None:
    code = """
import os, signal, sys, time
from tessera import stopping

found = []
stopping.listen(found.append)
for number in (*stopping.STOP_SIGNALS, signal.SIGTERM):
    os.kill(os.getpid(), number)
assert found == [signal.SIGTERM]
stopping.SAME_REQUEST = -1.0
os.kill(os.getpid(), signal.SIGINT)
time.sleep(60)
"""
    assert run_program([sys.executable, "-c", code], check=False).returncode == -signal.SIGINT


def test_ignored_signals_stay_ignored() -> None:
    code = """
import os, signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from tessera import stopping
stopping.listen(stopping.stop)
os.kill(os.getpid(), signal.SIGHUP)
"""
    run_program([sys.executable, "-c", code])


def test_nothing_is_told_while_modules_load() -> None:
    """Ctrl-C in the first tenths of a second would show where Python imports what."""
    code = """
import signal, sys
import tessera
assert "click" not in sys.modules and "numpy" not in sys.modules
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
import tessera.__main__
assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
"""
    run_program([sys.executable, "-c", code])


#: waits when the processes of a build have done all that there was
WORKERS = """
import multiprocessing, sys, time
from tessera import cli
from tessera.build.fiber import processes

def build(**_):
    processes.usable_cores = lambda: 2
    with processes.workers(abs, 8) as done:
        list(done(range(8)))
        print(*(one.pid for one in multiprocessing.active_children()), flush=True)
        time.sleep(900)

cli.cli.main = build
cli.main()
"""


def test_processes_that_have_not_begun_say_nothing() -> None:
    late = """
def begin(work, begin=processes._begin):
    time.sleep(1)
    begin(work)

processes._begin = begin
"""
    code = WORKERS.replace("\ndef build", late + "\ndef build").replace("list(done(range(8)))", "done(range(8))")
    process = start([sys.executable, "-c", code])
    assert process.stdout is not None and len(process.stdout.readline().split()) == 2
    os.killpg(process.pid, signal.SIGUSR1)
    assert process.communicate(timeout=HANGS)[1] == "tessera: ended by SIGUSR1\n"


@pytest.mark.parametrize("number", [*STOP_SIGNALS, signal.SIGKILL])
def test_processes_of_a_build_end_with_it_and_say_nothing(number: int) -> None:
    """The signals of a terminal, of `timeout` and of Slurm come to all of them, SIGKILL comes to the first alone."""
    process = start([sys.executable, "-c", WORKERS])
    assert process.stdout is not None
    others = [int(word) for word in process.stdout.readline().split()]
    assert len(others) == 2
    try:
        (os.kill if number == signal.SIGKILL else os.killpg)(process.pid, number)
        _, said = process.communicate(timeout=HANGS)
        is_killed = number == signal.SIGKILL
        assert process.returncode == (-number if is_killed else 128 + number)
        assert said == ("" if is_killed else f"tessera: ended by {signal.Signals(number).name}\n")
        wait_until(lambda: not any(is_running(one) for one in others))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def is_running(number: int) -> bool:
    """Tells whether there is such a process, and it has not ended."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_doctor_asks_its_runs_to_end(tmp_path: Path) -> None:
    """A launcher that is killed leaves its files behind, and its ranks for a while."""
    run = script(tmp_path / "run", f"cd {tmp_path}; trap 'touch asked; exit' TERM; touch begun; sleep 900 & wait")
    code = """
import sys
from pathlib import Path
from tessera import stopping
from tessera.doctor import sample

sample.sys.executable = sys.argv[1]
stopping.listen(stopping.stop)
sample._run(Path(sys.argv[2]), "serial")
"""
    process = start([sys.executable, "-c", code, run, tmp_path])
    try:
        wait_until((tmp_path / "begun").exists, process)
        process.terminate()
        process.communicate(timeout=HANGS)
        assert (tmp_path / "asked").exists()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_closed_standard_files(tmp_path: Path, closed: tuple[int, ...]) -> None:
    def close() -> None:
        for number in closed:
            os.close(number)

    words = ["make", "nacl", "--ions", "64", "-o", str(tmp_path / "a.tsr")]
    command = [*TESSERA, *words]
    assert subprocess.run(command, preexec_fn=close, timeout=HANGS).returncode == 0
    done = subprocess.run([*TESSERA, "verify", tmp_path / "a.tsr"], timeout=HANGS)
    assert done.returncode == 0


SUSPENDED = """
import sys
from tessera.launch.supervision import supervise
sys.exit(supervise(["sleep", "600"]))
"""


def test_an_engine_by_itself_is_suspended_too() -> None:
    """It has a session of its own, in which SIGTSTP does nothing where it has no handler."""
    process = subprocess.Popen([sys.executable, "-c", SUSPENDED], start_new_session=True)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    state = lambda number: Path(f"/proc/{number}/stat").read_text().rsplit(") ")[1][0]  # noqa: E731
    try:
        wait_until(lambda: any("sleep" in Path(f"/proc/{n}/comm").read_text() for n in children.read_text().split()))
        child = int(children.read_text())
        process.send_signal(signal.SIGTSTP)
        wait_until(lambda: state(process.pid) == "T" and state(child) == "T")
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: state(child) == "S")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=HANGS) == 128 + signal.SIGTERM
    finally:
        process.kill()


def test_an_end_is_seen_where_its_signal_was_blocked() -> None:
    code = 'import sys; from tessera.launch import supervise; sys.exit(supervise(["sh", "-c", "sleep 0.1; exit 3"]))'

    def block() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD, signal.SIGTERM])

    assert subprocess.run([sys.executable, "-c", code], preexec_fn=block, timeout=HANGS).returncode == 3


@pytest.mark.parametrize("status", [0, 70])
def test_a_full_standard_output_of_a_launcher(tmp_path: Path, status: int) -> None:
    """Open MPI's mpirun loses what it can't write and ends with status 0, MPICH's ends with words of its own."""
    said = f'["sh", "-c", "echo said; sleep 0.1; echo again; exit {status}"]'
    command = [
        sys.executable,
        "-c",
        f"import sys; from tessera.launch import supervise; sys.exit(supervise({said}))",
    ]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=HANGS)
    assert done.returncode == (status or 3)
    assert done.stderr == "tessera: error: standard output can't be written to: No space left on device\n"
    with open(tmp_path / "out", "w") as file:
        assert subprocess.run(command, stdout=file, timeout=HANGS).returncode == status
    assert (tmp_path / "out").read_text() == "said\nagain\n"
