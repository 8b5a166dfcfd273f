"""Engines and launchers are found. Shell scripts that print their own name stand in for both."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from tessera import launch
from tessera.launch.supervision import supervise
from tessera.stopping import STOP_SIGNALS
from tests.support.programs import HANGS, MPICH, OPEN_MPI, TESSERA, run_program, script, wait_until

PYTHON = str(Path(__file__).parents[2] / "python")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yields a folder with engines of all flavours in `bin`; nothing is on the path."""
    for flavour in launch.FLAVOURS:
        script(tmp_path / "bin" / f"tessera-md-{flavour}", f'echo "{flavour} engine $*"')
    monkeypatch.setattr(launch, "engine_folders", lambda: [tmp_path / "bin"])
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.delenv("TESSERA_MPIRUN", raising=False)
    for name in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(launch, "usable_cores", lambda: 4)
    launch._version_text.cache_clear()
    yield tmp_path
    launch._version_text.cache_clear()


def test_one_rank_needs_no_mpi(place: Path) -> None:
    assert launch.engine_command(["run.toml"], threads=3) == [
        str(place / "bin" / "tessera-md-serial"),
        "run.toml",
        "-t",
        "3",
    ]


def test_only_an_environments_own_mpirun_comes_last(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's Python has the system's MPI beside it."""
    script(place / "mpirun", OPEN_MPI)
    script(place / "last" / "mpirun", MPICH)
    monkeypatch.setenv("PATH", f"{place}:{place / 'last'}")
    for prefix, flavours in ((sys.base_prefix, ["openmpi", "mpich"]), ("/environment", ["mpich", "openmpi"])):
        monkeypatch.setattr(sys, "prefix", prefix)
        assert [launcher.flavour for launcher in launch.launchers()] == flavours


def test_open_mpi_from_the_path(place: Path) -> None:
    mpirun = script(place / "path" / "mpirun", OPEN_MPI)
    assert launch.engine_command(["run.toml"], ranks=4) == [
        str(mpirun),
        "-n",
        "4",
        "-q",
        "--oversubscribe",
        str(place / "bin" / "tessera-md-openmpi"),
        "run.toml",
    ]


def test_open_mpi_5_has_no_quiet_start(place: Path) -> None:
    script(place / "path" / "mpirun", OPEN_MPI.replace("4.1.4", "5.0.11"))
    assert "-q" not in launch.engine_command(["run.toml"], ranks=4)


def test_mpich_from_beside_python(place: Path) -> None:
    mpiexec = script(place / "mpiexec", MPICH)
    command = launch.engine_command(["run.toml"], ranks=2)
    assert command == [str(mpiexec), "-n", "2", str(place / "bin" / "tessera-md-mpich"), "run.toml"]


def test_the_engine_follows_the_launcher_that_it_was_built_for(place: Path) -> None:
    script(place / "path" / "mpirun", OPEN_MPI)
    script(place / "mpiexec", MPICH)
    (place / "bin" / "tessera-md-openmpi").unlink()
    assert launch.engine_command(["r"], ranks=2)[0] == str(place / "mpiexec")
    with pytest.raises(launch.LaunchError, match="not built for Open MPI"):
        launch.engine_command(["r"], ranks=2, mpi="openmpi")


def test_the_sites_launcher_goes_before_the_one_beside_python(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds also where the environment of this Python is first on the path."""
    site = script(place / "path" / "mpirun", OPEN_MPI)
    script(place / "mpirun", MPICH)
    monkeypatch.setenv("PATH", f"{place}:{place / 'path'}")
    assert launch.engine_command(["r"], ranks=2)[0] == str(site)
    assert launch.engine_command(["r"], ranks=2, mpi="mpich")[0] == str(place / "mpirun")


def test_many_ranks_on_few_cores_need_a_flag(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(place / "path" / "mpirun", OPEN_MPI)
    launch.engine_command(["r"], ranks=16)
    for sizes in ({"ranks": 17}, {"ranks": 500}, {"ranks": 6, "threads": 3}, {"threads": 17}):
        with pytest.raises(launch.LaunchError, match=r"on the 4 cores of this host; give at most 16 .*--oversubscribe"):
            launch.engine_command(["r"], **sizes)
        launch.engine_command(["r"], **sizes, oversubscribe=True)
    assert "--hostfile" in launch.engine_command(["r"], ranks=500, hostfile=place / "hosts")
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    launch.engine_command(["r"], ranks=500)


@pytest.mark.parametrize(
    ("ranks", "job", "expected"),
    [
        (1, {}, 4),
        (2, {}, 2),
        (3, {}, 1),
        (9, {}, 1),
        (2, {"SLURM_JOB_ID": "1", "SLURM_CPUS_PER_TASK": "8", "SLURM_JOB_NUM_NODES": "2"}, 8),
        (4, {"SLURM_JOB_ID": "1", "SLURM_JOB_NUM_NODES": "2"}, 2),
        (4, {"PBS_JOBID": "1"}, None),
        (4, {"TESSERA_MPIRUN": "srun"}, None),
    ],
)
def test_as_many_threads_as_a_rank_has_cores(
    place: Path, monkeypatch: pytest.MonkeyPatch, ranks: int, job: dict[str, str], expected: int | None
) -> None:
    for name in ("SLURM_CPUS_PER_TASK", "SLURM_JOB_NUM_NODES"):
        monkeypatch.delenv(name, raising=False)
    for name, value in job.items():
        monkeypatch.setenv(name, value)
    if expected is None:
        with pytest.raises(launch.LaunchError, match="-t auto knows the cores of this host and of Slurm's jobs alone"):
            launch.threads_of_a_rank("auto", ranks)
    else:
        assert launch.threads_of_a_rank("auto", ranks) == expected


def test_threads_are_a_number_or_auto() -> None:
    convert = launch.Threads().convert
    assert [convert(value, None, None) for value in ("auto", "3")] == ["auto", 3]
    with pytest.raises(click.BadParameter, match="'many': expected a number of threads, or auto"):
        convert("many", None, None)


def test_a_flavour_can_be_chosen(place: Path) -> None:
    script(place / "path" / "mpirun", OPEN_MPI)
    script(place / "mpiexec", MPICH)
    assert launch.engine_command(["r"], ranks=2, mpi="mpich")[0] == str(place / "mpiexec")
    assert launch.engine_command(["r"], ranks=1, mpi="mpich")[:3] == [str(place / "mpiexec"), "-n", "1"]


def test_root_and_more_threads_than_cores(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(place / "path" / "mpirun", OPEN_MPI)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    options = launch.engine_command(["r"], ranks=5)
    assert "--allow-run-as-root" in options
    assert options[options.index("--bind-to") + 1] == "none"
    assert "--bind-to" not in launch.engine_command(["r"], ranks=4)
    assert "--bind-to" in launch.engine_command(["r"], ranks=1, threads=2, mpi="openmpi")


def test_a_launcher_with_options_by_environment(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    srun = script(place / "path" / "srun", "echo srun")
    monkeypatch.setenv("TESSERA_MPIRUN", "srun --mpi=pmix")
    command = launch.engine_command(["r"], ranks=8, mpi="openmpi")
    assert command[:4] == ["srun", "--mpi=pmix", "-n", "8"]
    assert srun.exists()
    monkeypatch.setenv("TESSERA_MPIRUN", "srun")
    with pytest.raises(launch.LaunchError, match="unknown MPI"):
        launch.engine_command(["r"], ranks=8)
    monkeypatch.setenv("TESSERA_MPIRUN", "no-such-launcher")
    with pytest.raises(launch.LaunchError, match="no such program"):
        launch.engine_command(["r"], ranks=8)


def test_what_is_missing_is_named(place: Path) -> None:
    with pytest.raises(launch.LaunchError, match="found none"):
        launch.engine_command(["r"], ranks=2)
    with pytest.raises(launch.LaunchError, match="need an MPI"):
        launch.engine_command(["r"], ranks=2, mpi="serial")
    with pytest.raises(launch.LaunchError, match="at least 1"):
        launch.engine_command(["r"], ranks=0)
    for flavour in launch.FLAVOURS:
        (place / "bin" / f"tessera-md-{flavour}").unlink()
    with pytest.raises(launch.LaunchError, match="TESSERA_BIN"):
        launch.engine_command(["r"])


def engine(folder: Path, text: str) -> dict[str, str]:
    """Returns an environment in which `tessera run` starts this script."""
    script(folder / "tessera-md-serial", text)
    return {**os.environ, "PYTHONPATH": PYTHON, "TESSERA_BIN": str(folder)}


def test_arguments_and_exit_status_pass_through(tmp_path: Path) -> None:
    environment = engine(tmp_path, 'echo "$@"; exit 3')
    command = [*TESSERA, "run", "a.toml", "-t", "2", "--restart"]
    command += ["--set", "dynamics.steps=5", "--set", "output.folder=a b"]
    result = run_program(command, env=environment, status=3)
    assert result.stdout == "a.toml --restart --set dynamics.steps=5 --set output.folder=a b -t 2\n"


def test_energy_and_explain_arguments(tmp_path: Path) -> None:
    environment = engine(tmp_path, 'echo "$@"')

    def output(*arguments: str) -> str:
        return run_program([*TESSERA, *arguments], env=environment).stdout.strip()

    assert output("energy", "a.tsr", "--json", "--forces", "f.npy") == "--energy a.tsr --json --forces f.npy"
    assert output("explain", "r.toml", "--ranks", "64", "-t", "2") == "--explain r.toml --ranks 64 -t 2"
    planned = output("explain", "r.toml", "-n", "2", "-t", "auto", "--cores-per-node", "64")
    assert planned == "--explain r.toml --ranks 2 --fill-cores --cores-per-node 64"
    own = output("explain", "r.toml", "-t", "auto")
    assert own == f"--explain r.toml --ranks 1 --fill-cores -t {len(os.sched_getaffinity(0))}"
    assert output("run", "--print-defaults") == "--print-defaults"
    assert output("run", "r.toml", "--dry-run") == f"{tmp_path}/tessera-md-serial r.toml"


@contextmanager
def supervisor(command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Yields the process of this command, whose output is read by lines, and kills it where it goes on at the end."""
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()  # whereupon its launcher gets SIGTERM


def test_signals_reach_the_engine(tmp_path: Path) -> None:
    environment = engine(tmp_path, "trap 'echo caught; exit 7' TERM; echo ready; while :; do sleep 0.05; done")
    command = [*TESSERA, "run", "a.toml"]
    with supervisor(command, environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == "caught\n"
        assert process.wait(timeout=HANGS) == 7


@pytest.mark.parametrize("on_terminal", [True, False])
def test_the_engine_is_told_whether_it_writes_to_a_terminal(
    place: Path, monkeypatch: pytest.MonkeyPatch, on_terminal: bool
) -> None:
    monkeypatch.delenv("TESSERA_TERMINAL", raising=False)
    monkeypatch.setattr(os, "isatty", lambda _: on_terminal)
    seen: list[str | None] = []
    monkeypatch.setattr(launch, "execute", lambda *_: seen.append(os.environ.pop("TESSERA_TERMINAL", None)))
    launch.start(["run.toml"])
    assert seen == ["1" if on_terminal else None]


def supervised(folder: Path, text: str, *words: str) -> tuple[dict[str, str], list[str]]:
    """Returns an environment and a command by which `tessera run -n 2` starts this script as its mpirun."""
    for flavour in ("openmpi", "serial"):  # the serial engine first says whether so many ranks can run
        script(folder / f"tessera-md-{flavour}", "exit 0")
    mpirun = script(folder / "mpirun", f'case "$1" in --version) echo "Open MPI";; *) {text};; esac')
    environment = {**os.environ, "PYTHONPATH": PYTHON, "TESSERA_BIN": str(folder), "TESSERA_MPIRUN": str(mpirun)}
    return environment, [*TESSERA, "run", "a.toml", "-n", "2", "--mpi", "openmpi", *words]


@pytest.mark.parametrize(
    ("said", "status", "message"),
    [
        ("exit 0", 0, ""),
        ("exit 2", 2, ""),
        ("exit 70", 70, ""),
        ("exit 1", 1, ""),
        ("exit 137", 137, "a rank was ended by SIGKILL"),  # as Open MPI's mpirun ends
        ("exit 9", 137, "a rank was ended by SIGKILL"),  # as MPICH's mpirun ends
        ("kill -9 $$", 137, ""),
    ],
)
def test_status_of_the_launcher(tmp_path: Path, said: str, status: int, message: str) -> None:
    environment, command = supervised(tmp_path, said)
    done = run_program(command, env=environment, status=status)
    assert message in done.stderr if message else not done.stderr


@pytest.mark.parametrize(
    ("number", "ends", "status"),
    [
        (signal.SIGTERM, "exit 138", 143),
        (signal.SIGINT, "exit 138", 130),
        (signal.SIGHUP, "exit 138", 129),
        (signal.SIGUSR1, "exit 138", 138),
        (signal.SIGTERM, "exit 1", 143),  # an mpirun that got the signal too
        (signal.SIGTERM, "exit 0", 0),  # the run was at its last step
        (signal.SIGTERM, "exit 3", 3),
    ],
)
def test_requests_to_stop_reach_the_launcher_as_one_signal(tmp_path: Path, number: int, ends: str, status: int) -> None:
    loop = "while :; do sleep 0.05; done"
    environment, command = supervised(tmp_path, f"trap '{ends}' USR1; trap 'exit 99' TERM INT HUP; echo ready; {loop}")
    with supervisor(command, environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(timeout=HANGS) == status


def test_a_launcher_that_does_not_end_is_asked_again_and_then_killed(tmp_path: Path) -> None:
    loop = "while :; do sleep 0.05; done"
    environment, command = supervised(tmp_path, f"trap 'echo asked' USR1; trap 'echo told' TERM; echo ready; {loop}")
    with supervisor(command, environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert [process.stdout.readline() for _ in range(2)] == ["asked\n"] * 2  # the second by itself
        # Signals that reach the supervisor within a second are one request. How far apart they reach it is not known
        # here, so that the third request may be a later signal.
        sent = 1
        said: list[tuple[str, int]] = []  # and how many signals were sent before the line was read
        reader = threading.Thread(target=lambda: said.extend((line, sent) for line in process.stdout or ()))
        reader.start()
        while process.poll() is None and sent < HANGS:
            time.sleep(1.1)
            sent += 1
            process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=HANGS) == 128 + signal.SIGTERM
        reader.join()
    assert sent >= 4
    assert {line for line, _ in said} == {"asked\n", "told\n"}
    assert min(sent for line, sent in said if line == "told\n") >= 3


def test_ranks_are_asked_where_the_launcher_does_not_react(tmp_path: Path) -> None:
    """As under an mpirun whose handlers of signals a library of its own has replaced. A process that has no handler,
    here `sleep`, is left alone."""
    script(tmp_path / "rank", "trap 'echo asked; kill $!; exit 0' USR1; echo ready; sleep 600 & wait; wait")
    environment, command = supervised(tmp_path, f"trap '' USR1; env --default-signal=USR1 {tmp_path / 'rank'}; exit 5")
    with supervisor(command, environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "asked\n"
        assert process.wait(timeout=HANGS) == 128 + signal.SIGTERM


def test_ranks_that_print_all_the_time_are_asked_too(tmp_path: Path) -> None:
    """What a run prints into a file goes through `tessera run`, which must not wait for it to be silent."""
    script(tmp_path / "rank", "trap 'echo asked; exit 0' USR1; while :; do echo step; sleep 0.2; done")
    environment, command = supervised(tmp_path, f"trap '' USR1; env --default-signal=USR1 {tmp_path / 'rank'}; exit 5")
    printed = tmp_path / "printed"
    with printed.open("w") as file, subprocess.Popen(command, env=environment, stdout=file) as process:
        try:
            wait_until(lambda: "step\n" in printed.read_text())
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=HANGS) == 128 + signal.SIGTERM
        finally:
            process.kill()
    assert printed.read_text().endswith("asked\n")


@pytest.mark.parametrize(
    ("own", "expected"),
    [(None, "-opencl"), ("", "-opencl"), ("-gl,x86", "-gl,x86,-opencl"), ("opencl", "opencl"), ("-opencl", "-opencl")],
)
def test_launchers_start_without_opencl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str | None, expected: str
) -> None:
    if own is None:
        monkeypatch.delenv("HWLOC_COMPONENTS", raising=False)
    else:
        monkeypatch.setenv("HWLOC_COMPONENTS", own)
    show = str(script(tmp_path / "mpirun", f'echo "$HWLOC_COMPONENTS" > {tmp_path / "shown"}'))
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    assert supervise([show]) == 0
    for number, handler in before.items():  # which supervise makes do nothing
        signal.signal(number, handler)
    assert (tmp_path / "shown").read_text() == expected + "\n"


ENDS_UNSEEN = """
import os, subprocess, sys, threading
from tessera.launch.supervision import supervise

class Popen(subprocess.Popen):
    "A child that ends just after it was found running."
    def poll(self):
        found = super().poll()
        if found is None:
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        return found

subprocess.Popen = Popen
threading.Thread(target=threading.Event().wait, daemon=True).start()
sys.exit(supervise(["sh", "-c", "sleep 0.3; exit 3"]))
"""


def test_an_end_that_another_thread_is_told_of_is_seen() -> None:
    """A thread that has not blocked the signal of a child's end takes it: `tessera minimize` could wait for an hour."""
    assert run_program([sys.executable, "-c", ENDS_UNSEEN], check=False).returncode == 3


@pytest.mark.parametrize("handler", [signal.SIG_DFL, signal.SIG_IGN])
def test_too_many_ranks_are_refused_before_the_launcher_starts(tmp_path: Path, handler: signal.Handlers) -> None:
    """Also where the parent ignores the ends of its children, which the kernel then forgets with their status."""
    environment, command = supervised(tmp_path, "echo started")
    script(tmp_path / "tessera-md-serial", 'echo "$@" >&2; exit 2')
    ignore = functools.partial(signal.signal, signal.SIGCHLD, handler)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANGS, preexec_fn=ignore)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "a.toml --check --ranks 2\n"


@pytest.mark.parametrize("said", [OPEN_MPI, MPICH], ids=["openmpi", "mpich"])
@pytest.mark.parametrize(("limit", "refused"), [(1 << 20, True), (1 << 30, False)])
def test_files_that_may_not_grow(
    place: Path, monkeypatch: pytest.MonkeyPatch, limit: int, refused: bool, said: str
) -> None:
    """Where its ranks can't make the files in which they share memory, Open MPI's mpirun waits for ever."""
    script(place / "path" / "mpirun", said)
    monkeypatch.setattr(launch.resource, "getrlimit", lambda _: (limit, limit))
    if refused:
        with pytest.raises(launch.LaunchError, match=r"files may have at most 1,048,576 bytes here \(ulimit -f\)"):
            launch.engine_command(["run.toml"], ranks=2)
        assert launch.engine_command(["run.toml"], threads=3)
    else:
        assert launch.engine_command(["run.toml"], ranks=2)
