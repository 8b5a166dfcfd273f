"""What `cmake --install` installs runs, and other programs build against it, wherever the folder is."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.programs import HANGS, mpirun, run_program

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installs the build of this checkout for /usr under DESTDIR and moves the folder."""
    if not (BUILD / "cmake_install.cmake").exists():
        pytest.skip("nothing is built in build/release: make build")
    root = tmp_path_factory.mktemp("installed")
    run_program(["cmake", "--install", BUILD, "--prefix", "/usr"], env={"DESTDIR": str(root / "staged")})
    assert sorted(path.name for path in (root / "staged").iterdir()) == ["usr"]
    return (root / "staged" / "usr").rename(root / "moved")


def bare(installed: Path) -> dict[str, str]:
    """Returns an environment that finds the installation by its path alone."""
    gone = {"PYTHONPATH": "", "TESSERA_BIN": "", "LD_LIBRARY_PATH": ""}
    return {**gone, "PATH": f"{installed / 'bin'}:{os.environ['PATH']}"}


def test_the_engine_runs_under_its_mpi(installed: Path, mpi: str) -> None:
    done = run_program([*mpirun(mpi, 2), installed / "bin" / "tessera-md", "--version"], env=bare(installed))
    assert done.stdout.startswith("tessera 0.")
    assert ("Open MPI" in done.stdout) == (mpi == "openmpi")
    for program in ("tessera-probe", "tessera-collectives"):
        run_program([installed / "bin" / f"{program}-{mpi}", "--help"], env=bare(installed))
    drop_in = run_program(["tessera", "mpi", "--library", mpi], env=bare(installed)).stdout.strip()
    assert drop_in == str(installed / "lib" / "tessera" / f"libtessera-collectives-{mpi}.so")


def test_the_command_finds_its_package_and_engines(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(
        '[input]\nsystem = "w.tsr"\n[interactions]\ncutoff = 6.0\nswitch = 5.0\n[dynamics]\nsteps = 2\n'
    )
    environment = bare(installed)
    run_program(["tessera", "make", "water", "--atoms", "3000", "-o", "w.tsr"], cwd=tmp_path, env=environment)
    run_program(["tessera", "run", "run.toml"], cwd=tmp_path, env=environment)
    done = run_program(["tessera", "run", "run.toml", "--dry-run"], cwd=tmp_path, env=environment)
    assert str(installed / "bin") in done.stdout
    run_program(["tessera", "fft", "plan", "30", "-n", "4"], cwd=tmp_path, env=environment)


def test_the_command_needs_nothing_of_the_checkout(installed: Path, tmp_path: Path) -> None:
    """Neither the sources nor the environment that it was built with: both are hidden, and nothing names them."""
    if shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("hiding folders needs root and unshare")
    command = (installed / "bin" / "tessera").read_text()
    assert str(ROOT) not in command and ".venv" not in command
    for file in installed.rglob("*.cmake"):
        text = file.read_text()
        assert str(ROOT) not in text and ".venv" not in text, file
    hidden = {ROOT, (ROOT / ".venv").resolve(), (ROOT / "build").resolve(), BUILD.resolve()}
    away = "".join(f"mount -t tmpfs none {folder}\n" for folder in sorted(hidden, key=lambda path: -len(path.parts)))
    steps = """
        tessera make water --atoms 3000 -o water.tsr
        tessera run run.toml
        tessera plot output
        tessera export output -o last.gro -o last.psf
        tessera traj convert output -o output/trajectory.dcd
        tessera verify output
    """
    if (installed / "lib" / "tessera" / "mpich").exists():  # a copy of the MPI that only the environment had
        steps += "tessera run run.toml -n 2 --mpi mpich --set output.folder=ranks\n"
        steps += "tessera-md-mpich --version\n"
    (tmp_path / "run.toml").write_text(
        '[input]\nsystem = "water.tsr"\n[interactions]\ncutoff = 9.0\nswitch = 8.0\n[dynamics]\nsteps = 2\n'
        "[output]\ntrajectory_every = 1\n"
    )
    environment = {"PATH": f"{installed / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path)}
    subprocess.run(
        ["unshare", "--mount", "sh", "-ec", away + steps], cwd=tmp_path, env=environment, check=True, timeout=HANGS
    )
    assert (tmp_path / "last.gro").exists() and (tmp_path / "output" / "run.png").exists()


def test_the_package_has_its_data(installed: Path) -> None:
    (site,) = installed.glob("lib/python3.*/site-packages")
    sources = ROOT / "python"
    data = [path.relative_to(sources) for path in (sources / "tessera").rglob("*") if path.is_file()]
    data = [path for path in data if path.suffix not in (".pyc", ".so")]
    assert Path("tessera/build/water_tile.npy") in data
    assert [path for path in data if not (site / path).exists()] == []


def test_programs_build_against_the_package(installed: Path, tmp_path: Path, mpi: str) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT / "examples" / "fft", source)  # outside Tessera's sources
    options = [f"-DCMAKE_PREFIX_PATH={installed}", f"-DMPI={mpi}"]
    run_program(["cmake", "-S", source, "-B", tmp_path / "build", *options])
    run_program(["cmake", "--build", tmp_path / "build"])
    done = run_program([*mpirun(mpi, 2), tmp_path / "build" / "spectrum"], env=bare(installed))
    assert "and back 1\n" in done.stdout


def test_headers_need_no_others_than_are_installed(installed: Path) -> None:
    wanted = {
        line.split('"')[1]
        for header in installed.glob("include/tessera/**/*.h")
        for line in header.read_text().splitlines()
        if line.startswith('#include "tessera/')
    }
    assert wanted
    assert [name for name in sorted(wanted) if not (installed / "include" / name).exists()] == []


def test_the_man_page_and_the_completion_are_there(installed: Path) -> None:
    (module,) = (installed / "share" / "modulefiles" / "tessera").iterdir()
    assert "prepend-path PATH $root/bin\n" in module.read_text()
    page = (installed / "share" / "man" / "man1" / "tessera.1").read_text()
    assert ".SH NAME" in page and '.SH "TESSERA RUN"' in page and "\\-\\-system" in page
    script = installed / "share" / "bash-completion" / "completions" / "tessera"
    ask = (
        f"source {script}; COMP_WORDS=(tessera mach); COMP_CWORD=1; _tessera_completion tessera; echo ${{COMPREPLY[*]}}"
    )
    assert run_program(["bash", "-c", ask], env=bare(installed)).stdout.split() == ["machine"]
