"""Programs that know nothing of Tessera get the same results with the library that is preloaded, and it stays out of
everything else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.cluster import launch
from tests.cluster.racks import emulable_racks
from tests.support.programs import ENGINES, FLAVOURS, LIBRARIES, TESSERA, mpirun, run_program

HERE = Path(__file__).parent
FOLDER = ENGINES.parent / "lib" / "tessera"
COMPILERS = {"openmpi": "mpicc.openmpi", "mpich": str(Path(sys.executable).parent / "mpicc")}
OTHER = dict(zip(FLAVOURS, reversed(FLAVOURS)))

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compiles a source of this folder with the compiler of an MPI, once."""
    folder = tmp_path_factory.mktemp("drop_in")

    @cache
    def build(name: str, compiler: str, *options: str) -> Path:
        path = folder / f"{name}-{Path(compiler).name}"
        words = [compiler, "-O1", "-Wall", "-pthread", *options, "-o", path, HERE / f"{name}.c"]
        run_program(words)
        return path

    return build


def preload(*libraries: Path) -> dict[str, str]:
    return {"LD_PRELOAD": ":".join(map(str, libraries))}


def library(mpi: str) -> Path:
    return FOLDER / f"libtessera-collectives-{mpi}.so"


def symbols(path: Path, *options: str) -> set[str]:
    listed = subprocess.run(["nm", "-D", *options, path], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in listed.splitlines()}


def test_what_is_preloaded_needs_no_mpi(mpi: str) -> None:
    """A shell that preloads it can't find symbols of MPI, and must not load a library that has them."""
    for path in (library(mpi), FOLDER / f"libtessera-plans-{mpi}.so"):
        listed = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
        assert not re.search(r"NEEDED.*\[libmpi", listed)
    assert not [name for name in symbols(library(mpi), "--undefined-only") if "mpi" in name.lower()]
    ours = {name for name in symbols(FOLDER / f"libtessera-plans-{mpi}.so") if re.match("MPI_[A-Z][a-z]", name)}
    assert not ours, "calls of our own would be seen by profilers"


def test_other_programs_do_not_notice() -> None:
    done = run_program(["bash", "-c", "echo here"], env=preload(*map(library, FLAVOURS)))
    assert (done.stdout, done.stderr) == ("here\n", "")


@pytest.mark.parametrize(
    ("mpi", "ranks", "entry"),
    [
        ("openmpi", 5, "subnets:segment=64:pattern=chain+star"),
        ("mpich", 4, "subnets:segment=64:pattern=binomial"),
        ("mpich", 3, "ring"),
        ("openmpi", 2, "recursive_halving"),
    ],
    indirect=["mpi"],
)
def test_results_are_those_of_the_library(build: Build, mpi: str, ranks: int, entry: str) -> None:
    command = [*mpirun(mpi, ranks), build("check", COMPILERS[mpi])]
    without = run_program(command)
    done = run_program(command, env={**preload(library(mpi)), "TESSERA_FORCE": entry, "TESSERA_REPORT": "1"})
    assert done.stdout == without.stdout and "0 wrong" in done.stdout
    assert re.search(rf"all_reduce .* {entry.partition(':')[0]}", done.stderr), done.stderr
    assert re.search(r"^tessera-collectives: choosing took 0\.\d*[1-9]\d* s$", done.stderr, re.MULTILINE), done.stderr


def test_communicators_in_threads(build: Build, mpi: str) -> None:
    env = {**preload(library(mpi)), "TESSERA_FORCE": "subnets"}
    done = run_program([*mpirun(mpi, 3), build("check", COMPILERS[mpi]), "threads"], env=env)
    assert "0 wrong" in done.stdout


def test_errors_are_those_of_the_library(build: Build, mpi: str) -> None:
    env = {**preload(library(mpi)), "TESSERA_FORCE": "subnets"}
    done = run_program([*mpirun(mpi, 2), build("check", COMPILERS[mpi]), "error"], env=env)
    assert "root refused" in done.stdout


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({}, "no map of the machine"),
        ({"TESSERA_MACHINE": "/nowhere/map.json"}, "/nowhere/map.json"),
        ({"TESSERA_FORCE": "rang"}, 'did you mean "ring"?'),
        ({"TESSERA_FORCE": "ring", "TESSERA_TRAFFIC": "soon"}, 'TESSERA_TRAFFIC is "soon", expected seconds'),
        ({"TESSERA_FORCE": "subnets:pattern=chian"}, 'unknown pattern "chian"'),
        ({"TESSERA_FORCE": "hierarchical:pattern=rang"}, 'did you mean "ring"?'),
    ],
)
def test_one_line_says_why_nothing_is_done(build: Build, variables: dict[str, str], says: str) -> None:
    done = run_program(
        [*mpirun("openmpi", 2), build("check", COMPILERS["openmpi"]), "error"],
        env={**preload(library("openmpi")), **variables},
    )
    assert says in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert "the MPI library's own collectives are used" in done.stderr


def test_it_is_silent_where_it_is_off(build: Build) -> None:
    env = {**preload(library("openmpi")), "TESSERA_FORCE": "ring", "TESSERA_OFF": "1", "TESSERA_REPORT": "1"}
    done = run_program([*mpirun("openmpi", 2), build("check", COMPILERS["openmpi"]), "error"], env=env)
    assert done.stderr == ""


def test_another_mpi_is_left_alone(build: Build, mpi: str) -> None:
    """Handles of Open MPI are pointers, those of MPICH ints, so a call must not be passed on by a wrong prototype."""
    command = [*mpirun(mpi, 2), build("check", COMPILERS[mpi])]
    done = run_program(command, env={**preload(library(OTHER[mpi])), "TESSERA_FORCE": "ring"})
    assert done.stderr.count("\n") == 1 and "runs another MPI: libmpi" in done.stderr, done.stderr
    assert "0 wrong" in done.stdout


def test_the_standard_binary_interface_is_left_alone(build: Build) -> None:
    compiler = Path(sys.executable).parent / "mpicc_abi"
    if not compiler.exists():
        pytest.skip("this MPICH has no libmpi_abi")
    command = [*mpirun("mpich", 2), build("check", str(compiler))]
    done = run_program(command, env={**preload(library("mpich")), "TESSERA_FORCE": "ring"})
    assert done.stderr.count("\n") == 1 and "runs another MPI: libmpi_abi" in done.stderr, done.stderr
    assert "0 wrong" in done.stdout


def test_programs_of_tessera_are_left_alone(mpi: str) -> None:
    program = ENGINES / f"tessera-collectives-{mpi}"
    command = [*mpirun(mpi, 2), program, "large", "--operation", "all_reduce", "--count", "100"]
    done = run_program(command, env=preload(library(mpi)))
    assert json.loads(done.stdout)["wrong"] == 0 and done.stderr == ""


def test_profilers_see_what_is_left_and_nothing_else(build: Build, mpi: str) -> None:
    profiler = build("profiler", COMPILERS[mpi], "-shared", "-fPIC")
    env = {**preload(library(mpi), profiler), "TESSERA_FORCE": "ring"}
    done = run_program([*mpirun(mpi, 2), build("check", COMPILERS[mpi]), "1"], env=env)
    seen = re.search(r"profiler: (\d+) broadcasts, (\d+) scans, (\d+) sends", done.stdout)
    assert seen is not None, done.stdout
    # Broadcasts of the group of one rank are left, and scans, which a ring can't do.
    assert (int(seen[1]), int(seen[3])) == (4, 0) and int(seen[2]) > 0


def test_plans_are_taken_over_from_communicators_that_were_freed(build: Build, mpi: str) -> None:
    """Programs make and free communicators by the thousand, and each would cost a second one for its plans."""
    profiler = build("profiler", COMPILERS[mpi], "-shared", "-fPIC")
    env = {**preload(library(mpi), profiler), "TESSERA_FORCE": "ring"}
    done = run_program([*mpirun(mpi, 2), build("check", COMPILERS[mpi]), "20"], env=env)
    made = re.search(r"(\d+) communicators of plans", done.stdout)
    # Two of the 20, whose ranks are in two orders, need one; so does the world. A group of one rank has no plans.
    assert made is not None and int(made[1]) == 3 and "0 wrong" in done.stdout, done.stdout


def test_python_loads_mpi_for_itself(mpi: str) -> None:
    """mpi4py loads its MPI library so that other modules do not see it."""
    pytest.importorskip("mpi4py")
    text = (
        "from mpi4py import MPI; c = MPI.COMM_WORLD; "
        "found = c.gather((c.allreduce(c.rank, MPI.MAX), c.bcast('x' * c.rank, 2))); c.rank or print(found)"
    )
    env = {**preload(library(mpi)), "TESSERA_FORCE": "ring", "TESSERA_REPORT": "1", "MPI4PY_LIBMPI": LIBRARIES[mpi]}
    done = run_program([*mpirun(mpi, 3), sys.executable, "-c", text], env=env)
    assert done.stdout == f"{[(2, 'xx')] * 3}\n"
    assert re.search(r"broadcast .* ring", done.stderr), done.stderr


def test_command() -> None:
    tessera = [*TESSERA, "mpi"]
    for mpi in FLAVOURS:
        done = run_program([*tessera, "--library", mpi])
        assert Path(done.stdout.strip()) == library(mpi)
    env = {"LD_PRELOAD": "", "TESSERA_MACHINE": "map.json"}
    launcher = mpirun("openmpi", 2)
    done = run_program(
        [*tessera, "--dry-run", "--", *launcher, "-x", "LD_PRELOAD=other.so", "program", "-x", "1"], env=env
    )
    passed = [f"-x {name}" for name in sorted(os.environ | env) if name.startswith("TESSERA_")]
    joined = f"LD_PRELOAD={library('openmpi')}"
    assert done.stdout == (f"env {joined} {launcher[0]} {' '.join(passed)} -n 2 -x {joined}:other.so program -x 1\n")
    done = run_program([*tessera, "--dry-run", "--", *mpirun("mpich", 2), "-genvlist", "PATH", "program"], env=env)
    assert f"-genv LD_PRELOAD {library('mpich')}" in done.stdout and "-genv TESSERA_MACHINE map.json" in done.stdout
    refused = run_program([*tessera, "--", "true"], check=False)
    assert refused.returncode == 2 and "--library openmpi or mpich" in refused.stderr


def test_command_starts_the_program(build: Build, mpi: str) -> None:
    words = [*TESSERA, "mpi", "--", *mpirun(mpi, 2), build("check", COMPILERS[mpi]), "1"]
    done = run_program(words, env={"TESSERA_FORCE": "ring", "TESSERA_REPORT": "1"})
    assert "0 wrong" in done.stdout and re.search(r"broadcast .* ring", done.stderr), done.stderr


@pytest.mark.mpi
def test_scattered_ranks_follow_the_map(build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a cluster the library is preloaded together with what the launcher preloads there."""
    racks = emulable_racks(tmp_path, monkeypatch)
    monkeypatch.setenv("LD_PRELOAD", str(library("openmpi")))
    monkeypatch.setenv("TESSERA_MACHINE", str(tmp_path / "map.json"))
    monkeypatch.setenv("TESSERA_REPORT", "1")
    with launch.cluster_of(racks) as cluster:
        program = [str(build("check", COMPILERS["openmpi"])), "1"]
        words, environment = launch.command(program, launch.shuffled(racks, 1), mpi="openmpi")
        done = launch.start(cluster, words, environment, capture=True)
    assert "0 wrong" in done.stdout, done.stdout + done.stderr
    taken = [line for line in done.stderr.splitlines() if "all_reduce" in line and "the MPI library" not in line]
    assert taken and "saved, s" in done.stderr, done.stderr
