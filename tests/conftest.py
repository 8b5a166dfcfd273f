"""Fixtures of all tests: reference data, the built engine, and programs with a time limit.

data_folder    the folder of reference data (TESSERA_DATA), or a loud skip
run_program    runs any command, with a time limit for its whole process group
mpi            one of the MPI libraries the engine was built for ("openmpi", "mpich"); makes the test run once for each
run_engine     runs tessera-md on ranks × threads under that MPI
in_turns       gives a test its MPI and its ranks; the MPIs take turns, and all other combinations are slow tests
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.campaigns.parts import check_slow

ROOT = Path(__file__).resolve().parents[1]
ENGINES = Path(os.environ.get("TESSERA_BIN", ROOT / "build" / "release" / "bin"))
FLAVOURS = ("openmpi", "mpich")
# By itself mpi4py takes the first library that it finds, whichever launcher started it.
LIBRARIES = {"openmpi": "libmpi.so.40", "mpich": str(Path(sys.executable).parents[1] / "lib" / "libmpi.so.12")}
#: numbers of ranks that quick tests take in turns: odd and even ones, which divide few things
RANKS = (2, 3, 5, 7, 12)
#: Seconds after which what a test starts is taken for hanging, the same everywhere. No verdict depends on speed: what
#: takes a minute on an idle machine ends in time on one that is ten times slower.
HANGS = 900.0
#: those with tests that read what the same launches printed (one_launch.py)
ONE_LAUNCH = (
    "tests/grid/test_eigen.py",
    "tests/grid/test_grid.py",
    "tests/grid/test_poisson.py",
    "tests/parallel/test_fft.py",
)
NO_DATA = "no reference data: set TESSERA_DATA to the folder that holds them"

# Python programs that tests start import the sources of this checkout, and plots need no screen.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
os.environ.setdefault("MPLBACKEND", "Agg")

# Tests start more ranks than there are cores, so ranks are not bound to cores, and waiting ranks yield or sleep: twelve
# of MPICH on two cores would take four times as long if they were awake.
os.environ.update(
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMPI_MCA_rmaps_base_oversubscribe="1",
    OMPI_MCA_hwloc_base_binding_policy="none",
    OMPI_MCA_mpi_yield_when_idle="1",
    OMPI_MCA_btl_vader_single_copy_mechanism="none",
    MPIR_CVAR_CH4_PROGRESS_THROTTLE="1",
    MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT="100",
)


@pytest.fixture(autouse=True)
def signals_stay_as_they_were() -> Iterator[None]:
    """Fails a test that leaves a signal blocked, ignored or handled: what later tests start would inherit it, or they
    could not be stopped."""

    def handlers() -> dict[int, Any]:
        return {number: signal.getsignal(number) for number in signal.valid_signals()}

    mask, before = signal.pthread_sigmask(signal.SIG_BLOCK, []), handlers()
    yield
    found = signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    assert (found, handlers()) == (mask, before)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = os.environ.get("TESSERA_DATA")
    if not folder:
        pytest.skip(NO_DATA)
    if not Path(folder).is_dir():
        pytest.fail(f"TESSERA_DATA is {folder}, which is not a folder")
    return Path(folder)


def _start(
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
    """Kills all processes of the session that `_start` began: an mpirun gives each rank a process group of its own."""
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


@contextmanager
def command_under_way(
    command: Sequence[str | Path], program: str, env: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Starts a command that starts ranks of `program`, and yields its process and the mark by which its ranks are
    found. Processes that are left at the end are killed."""
    mark = time.monotonic_ns()
    process = _start(command, env={**(env or {}), "TESSERA_TEST_RUN": str(mark)})
    try:
        yield process, mark
    finally:
        for rank in ranks_of(mark, program):
            os.kill(rank, signal.SIGKILL)
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


def _run_program(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    timeout: float = HANGS,
    check: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end. If it has not ended after `timeout` seconds, kills its processes and fails the
    test."""
    process = _start(command, cwd=cwd, env=env)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        _kill(process)
        out, err = process.communicate()
        pytest.fail(f"not finished after {timeout} s: {command}\n{out[-4000:]}\n{err[-4000:]}")
    finally:
        if process.poll() is None:
            _kill(process)
    if check and process.returncode != 0:
        pytest.fail(f"exit status {process.returncode}: {command}\n{out[-4000:]}\n{err[-4000:]}")
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.fixture(scope="session")
def run_program() -> Callable[..., subprocess.CompletedProcess[str]]:
    return _run_program


def mpirun(flavour: str, ranks: int) -> list[str]:
    """Returns the words that start `ranks` ranks under this MPI, and none for "serial"."""
    if flavour == "serial":
        return []
    program = "mpirun.openmpi" if flavour == "openmpi" else str(Path(sys.executable).parent / "mpiexec")
    return [program, "-n", str(ranks)]


@pytest.fixture(scope="session")
def water(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A system file of 3,000 atoms of liquid water."""
    path = tmp_path_factory.mktemp("water") / "water.tsr"
    subprocess.run([sys.executable, "-m", "tessera", "make", "water", "--atoms", "3000", "-o", path], check=True)
    return path


@pytest.fixture(params=FLAVOURS)
def mpi(request: pytest.FixtureRequest) -> str:
    flavour: str = request.param
    if not (ENGINES / f"tessera-md-{flavour}").exists():
        pytest.skip(f"the engine was not built for {flavour} in {ENGINES}")
    return flavour


def in_turns(*quick: int, also: Sequence[int] = (), first: str = FLAVOURS[0]) -> pytest.MarkDecorator:
    """Gives a test its `mpi` and `ranks`: the `quick` numbers of ranks, under the MPIs in turns from `first` on. All
    other combinations, also with the numbers in `also`, are slow tests."""
    begin = FLAVOURS.index(first)
    chosen = {(FLAVOURS[(begin + turn) % 2], ranks) for turn, ranks in enumerate(quick)}
    every = [(flavour, ranks) for ranks in sorted({*quick, *also}) for flavour in FLAVOURS]
    rows = [pytest.param(*one, marks=() if one in chosen else pytest.mark.slow(part="bits")) for one in every]
    return pytest.mark.parametrize(("mpi", "ranks"), rows, indirect=["mpi"])


@pytest.fixture(scope="session")
def run_engine() -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(
        *arguments: str | Path,
        mpi: str = "serial",
        ranks: int = 1,
        threads: int = 1,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        timeout: float = HANGS,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        engine = ENGINES / f"tessera-md-{mpi}"
        if not engine.exists():
            pytest.fail(f"{engine} is missing: make build")
        command = [*mpirun(mpi, ranks), engine, *arguments, *(["--threads", str(threads)] if threads > 1 else [])]
        return _run_program(command, cwd=cwd, env=env, timeout=timeout, check=check)

    return run


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not hasattr(config, "workerinput"):  # pytest-xdist does not show what its workers refuse; tests/campaigns does
        check_slow(items)
    for item in items:
        alone = isinstance(item, pytest.Function) and hasattr(item, "callspec") and item.callspec.params.get("mpi")
        if "mpi" in getattr(item, "fixturenames", ()) and alone != "serial":
            item.add_marker("mpi")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Gives all tests of a file to one worker, and all that share launches, so that what they share is made once;
    `--dist=worksteal` gives each test to whoever is idle."""
    if config.getvalue("dist") == "worksteal":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::")[0]
            return "one launch" if file in ONE_LAUNCH else file

    return ByFile(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    without_data = sum(NO_DATA in str(report.longrepr) for report in skipped)
    if without_data:
        terminalreporter.section("REFERENCE DATA NOT FOUND", red=True, bold=True)
        terminalreporter.line(f"{without_data} tests were skipped: {NO_DATA}")
    _show_errors(terminalreporter)


def _show_errors(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints a table of the greatest errors that regression tests found (user property "greatest error")."""
    rows: dict[tuple[str, str, str], float] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for name, value in getattr(report, "user_properties", []):
                if name == "greatest error":
                    system, term, precision, error = value
                    key = (system, term, precision)
                    rows[key] = max(rows.get(key, 0.0), error)
    if not rows:
        return
    terminalreporter.section("greatest relative errors")
    for (system, term, precision), error in sorted(rows.items()):
        terminalreporter.line(f"{system:<34}{term:<22}{precision:<8}{error:10.1e}")
