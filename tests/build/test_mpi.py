"""Tests which MPI libraries the configuration finds. Scripts stand in for compiler wrappers: each preprocesses with an
mpi.h of its library and prints the line that the library's real wrapper prints."""

import os
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from tests.support.programs import HANGS

ROOT = Path(__file__).resolve().parents[2]

OPEN_MPI = """
    #define OPEN_MPI 1
    #define OMPI_MAJOR_VERSION 5
    #define OMPI_MINOR_VERSION 0
    #define OMPI_RELEASE_VERSION 3
"""
MPICH = '#define MPICH_VERSION "4.2.1"\n#define MPICH_NAME 4\n'
INTEL_MPI = '#define I_MPI_VERSION "2021.11"\n#define MPICH_VERSION "3.4a2"\n'

WRAPPER = """\
#!/bin/sh
if [ "$1" = {option} ]; then echo "{line}"; exit 0; fi
case "$1" in -show | --showme | --cray*) echo "no such option: $1" >&2; exit 1 ;; esac
exec c++ -I{include} "$@"
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Makes a machine without MPI: the path consists of `bin`, which has the compiler and no wrapper."""
    (tmp_path / "bin").mkdir()
    for name in ("c++", "cc1plus", "as", "sh"):
        found = shutil.which(name)
        if found:
            (tmp_path / "bin" / name).symlink_to(found)
    return tmp_path


def install(folder: Path, name: str, header: str, *, option: str = "-show", line: str = "") -> Path:
    """Writes an MPI library under `folder`, and returns its wrapper, bin/`name`."""
    for part in ("bin", "include", "lib"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "include" / "mpi.h").write_text(textwrap.dedent(header))
    (folder / "lib" / "libmpi.so").touch()
    line = line or f"g++ -O2 -I{folder}/include -pthread -L{folder}/lib -lmpi"
    wrapper = folder / "bin" / name
    wrapper.write_text(WRAPPER.format(option=option, line=line, include=folder / "include"))
    wrapper.chmod(0o755)
    return wrapper


def find(
    site: Path, *folders: Path, environment: dict[str, str] | None = None, **options: object
) -> tuple[int, list[str]]:
    """Returns the exit status and the lines of the configuration, with these folders in front of the path."""
    cmake = shutil.which("cmake")
    assert cmake
    path = os.pathsep.join(str(folder) for folder in [*folders, site / "bin"])
    defined = [f"-D{name}={value}" for name, value in options.items()]
    done = subprocess.run(
        [cmake, f"-DCODE={ROOT}", f"-DPROJECT_SOURCE_DIR={site}", *defined, "-P", ROOT / "tests/build/find_mpi.cmake"],
        cwd=site, env={"PATH": path, **(environment or {})}, capture_output=True, text=True, timeout=HANGS, check=False,
    )  # fmt: skip
    text = done.stdout + done.stderr
    return done.returncode, [line.removeprefix("-- ").strip() for line in text.splitlines()]


def test_a_plain_wrapper_of_open_mpi_is_found(site: Path) -> None:
    wrapper = install(site / "ompi", "mpicxx", OPEN_MPI)
    status, lines = find(site, wrapper.parent)
    lib = site / "ompi" / "lib"
    assert (status, lines) == (
        0,
        [
            f"MPI: Open MPI 5.0.3 ({wrapper})",
            f"openmpi wrapper {wrapper}",
            f"openmpi include {site}/ompi/include",
            f"openmpi link -L{lib};-Wl,-rpath,{lib};-lmpi",
        ],
    )


def test_both_flavours_are_found_at_once(site: Path) -> None:
    ompi, mpich = install(site / "ompi", "mpic++", OPEN_MPI), install(site / "mpich", "mpicxx", MPICH)
    status, lines = find(site, ompi.parent, mpich.parent)
    assert status == 0
    assert lines[0] == f"MPI: Open MPI 5.0.3 ({ompi}), MPICH 4.2.1 ({mpich})"


def test_intel_mpi_speaks_mpich(site: Path) -> None:
    folder = site / "intel"
    line = (
        f'icpx -I "{folder}/include" -L"{folder}/lib/release" -L"{folder}/lib" -Xlinker --enable-new-dtags '
        f'-Xlinker -rpath -Xlinker "{folder}/lib" -lmpicxx -lmpifort -lmpi -ldl'
    )
    wrapper = install(folder, "mpiicpx", INTEL_MPI, line=line.replace('"', '\\"'))
    status, lines = find(site, wrapper.parent)
    assert status == 0
    assert lines[0] == f"MPI: Intel MPI 2021.11 ({wrapper})"
    assert f"mpich include {folder}/include" in lines
    link = next(line for line in lines if line.startswith("mpich link "))
    assert "-Wl,--enable-new-dtags" in link
    assert link.count(f"-Wl,-rpath,{folder}/lib") == 1
    assert link.endswith("-lmpicxx;-lmpifort;-lmpi;-ldl")


def test_the_compiler_of_a_cray_is_its_wrapper(site: Path) -> None:
    wrapper = install(site / "cray", "CC", MPICH, option="--cray-print-opts=all")
    assert find(site, wrapper.parent) == (0, ["MPI: none, serial only"])
    status, lines = find(site, wrapper.parent, environment={"CRAY_MPICH_DIR": str(site / "cray")})
    assert (status, lines[0]) == (0, f"MPI: MPICH 4.2.1 ({wrapper})")


def test_without_mpi_there_is_the_serial_engine(site: Path) -> None:
    assert find(site) == (0, ["MPI: none, serial only"])
    status, lines = find(site, TESSERA_MPI="required")
    assert status != 0
    assert any("TESSERA_MPI=required, but no compiler wrapper" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("#!/bin/sh\necho 'icpc: not found' >&2; exit 127\n", "does not compile (127): icpc: not found"),
        ("#!/bin/sh\nexit 0\n", "has an mpi.h of neither Open MPI nor MPICH"),
    ],
)
def test_a_wrapper_that_does_not_work_is_named(site: Path, text: str, says: str) -> None:
    wrapper = site / "bin" / "mpicxx"
    wrapper.write_text(text)
    wrapper.chmod(0o755)
    assert find(site) == (0, ["MPI: none, serial only", f"MPI: {wrapper} {says}"])


def test_the_folder_that_is_named_wins(site: Path) -> None:
    install(site, "mpicxx", OPEN_MPI)
    chosen = install(site / "other", "mpicxx", OPEN_MPI)
    status, lines = find(site, TESSERA_openmpi_BIN=chosen.parent)
    assert (status, lines[0]) == (0, f"MPI: Open MPI 5.0.3 ({chosen})")


def test_a_folder_of_the_other_mpi_is_refused(site: Path) -> None:
    wrapper = install(site / "mpich", "mpicxx", MPICH)
    status, lines = find(site, TESSERA_openmpi_BIN=wrapper.parent)
    assert status != 0
    assert f"MPI: {wrapper} is MPICH 4.2.1's, and TESSERA_openmpi_BIN names its folder" in " ".join(lines)


def test_what_pypi_put_beside_python_comes_last(site: Path) -> None:
    own, cluster = install(site / ".venv", "mpicxx", MPICH), install(site / "cluster", "mpicxx", MPICH)
    assert find(site, own.parent, cluster.parent)[1][0] == f"MPI: MPICH 4.2.1 ({cluster})"
    assert find(site)[1][0] == f"MPI: MPICH 4.2.1 ({own})"


def test_fewer_can_be_wanted(site: Path) -> None:
    ompi, mpich = install(site / "ompi", "mpicxx", OPEN_MPI), install(site / "mpich", "mpicxx", MPICH)
    folders = (ompi.parent, mpich.parent)
    assert find(site, *folders, TESSERA_MPI="none") == (0, ["MPI: none, serial only"])
    assert find(site, *folders, TESSERA_MPI="first")[1][0] == f"MPI: Open MPI 5.0.3 ({ompi})"
    assert find(site, *folders, TESSERA_MPI="mpich")[1][0] == f"MPI: MPICH 4.2.1 ({mpich})"
    status, lines = find(site, ompi.parent, TESSERA_MPI="mpich")
    assert status != 0
    assert any("TESSERA_MPI=mpich, but no compiler wrapper" in line for line in lines)
