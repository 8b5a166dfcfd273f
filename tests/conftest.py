"""Fixtures of all tests: reference data, the built engine, and programs with a time limit.

data_folder    the folder of reference data (TESSERA_DATA), or a loud skip
mpi            one of the MPI libraries the engine was built for ("openmpi", "mpich"); makes the test run once for each
run_engine     runs tessera-md on ranks × threads under that MPI
runs           starts runs, each in a folder of its own
command        carries out a command of tessera in this process
"""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tessera import cli
from tests.campaigns.parts import WRONG, check_slow, with_wrong_part
from tests.cluster import namespaces
from tests.support.programs import ENGINES, FLAVOURS, HANGS, NO_DATA, ROOT, TESSERA, mpirun, run_program
from tests.support.runs import Runs, with_set

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

# Launchers of Open MPI that begin and end at the same time make and remove one folder of the host, and now and then one
# of them fails ("File exists"). Those of each worker have a folder of their own.
OF_LAUNCHERS = tempfile.mkdtemp(prefix="openmpi-")
os.environ.update(OMPI_MCA_orte_tmpdir_base=OF_LAUNCHERS)
atexit.register(shutil.rmtree, OF_LAUNCHERS, ignore_errors=True)


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


def _make_water(folder: Path, atoms: int) -> Path:
    path = folder / "water.tsr"
    run_program([*TESSERA, "make", "water", "--atoms", str(atoms), "-o", path])
    return path


@pytest.fixture(scope="session")
def water(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A system file of 3,000 atoms of liquid water."""
    return _make_water(tmp_path_factory.mktemp("water"), 3000)


@pytest.fixture(scope="session")
def small_water(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A system file of 216 molecules of water."""
    return _make_water(tmp_path_factory.mktemp("water"), 648)


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str]]:
    """Carries out a command of `tessera` in this process, in `tmp_path`; returns its status and all that it prints."""

    def carry_out(*words: str | Path) -> tuple[int, str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["tessera", *map(str, words)])
        capfd.readouterr()
        try:
            status = cli._status()
        except SystemExit as end:
            status = int(end.code or 0)
        out, err = capfd.readouterr()
        return status, out + err

    return carry_out


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """Mounts a file system of 1 MB and yields its folder."""
    path = tmp_path / "tiny"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", str(path)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("needs root and the right to mount")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=False, capture_output=True)


@pytest.fixture(params=FLAVOURS)
def mpi(request: pytest.FixtureRequest) -> str:
    flavour: str = request.param
    if not (ENGINES / f"tessera-md-{flavour}").exists():
        pytest.skip(f"the engine was not built for {flavour} in {ENGINES}")
    return flavour


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
        status: int = 0,
        engines: Path = ENGINES,
    ) -> subprocess.CompletedProcess[str]:
        engine = engines / f"tessera-md-{mpi}"
        if not engine.exists():
            pytest.fail(f"{engine} is missing: make build")
        command = [*mpirun(mpi, ranks), engine, *arguments, *(["--threads", str(threads)] if threads > 1 else [])]
        return run_program(command, cwd=cwd, env=env, timeout=timeout, check=check, status=status)

    return run


@pytest.fixture(scope="session")
def instruction_sets(run_engine: Callable[..., subprocess.CompletedProcess[str]]) -> list[str]:
    """The names of the sets that kernels are compiled for and this processor has, the best first."""
    refused = run_engine("--version", env=with_set("none"), check=False).stderr
    offered = refused.rsplit(":", 1)[-1].replace(",", " ").split()
    return [name for name in offered if name in run_engine("--version", env=with_set(name)).stdout]


@pytest.fixture(scope="session")
def runs(run_engine: Callable[..., subprocess.CompletedProcess[str]], tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(run_engine, tmp_path_factory.mktemp("runs"))


@pytest.fixture
def on_cluster(tmp_path: Path) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Yields a function that starts a program on all slots of an emulated cluster: `on_cluster(spec, mpi, program,
    *arguments, shuffle=None)`. Skips the test where no cluster can be built. A cluster that is left up by a failed
    start is removed at the end."""
    if (reason := namespaces.why_not()) is not None:
        pytest.skip(reason)
    cluster = [sys.executable, "-m", "tests.cluster"]
    state = {"TESSERA_CLUSTER_STATE": str(tmp_path / "state")}

    def run(spec: str, mpi: str, *words: str | Path, shuffle: int | None = None) -> subprocess.CompletedProcess[str]:
        order = [] if shuffle is None else ["--shuffle", str(shuffle)]
        command = [*cluster, "run", spec, "--mpi", mpi, *order, "--", *words]
        return run_program(command, cwd=ROOT, env=state)

    yield run
    run_program([*cluster, "down"], cwd=ROOT, env=state)


@pytest.hookimpl(tryfirst=True)  # while slow tests are among the items
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[WRONG] = with_wrong_part(items)
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
            return "one launch" if file.startswith("tests/arrays/") else file

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
