"""The MPI library that compiled parts of an installed package are loaded after."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tessera import mpi_library
from tessera.launch.supervision import environment_of_launchers
from tests.support.programs import LIBRARIES, run_program, script

LOAD = "from tessera import mpi_library; mpi_library.load_library({0!r}); print(mpi_library.loaded_library())"


def loads(flavour: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Loads a library in a process of its own."""
    return run_program([sys.executable, "-c", LOAD.format(flavour)], env=environment, check=False)


@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_the_library_of_an_mpi_is_found(flavour: str) -> None:
    done = loads(flavour)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).name.startswith(mpi_library.NAMES[flavour])


def test_the_library_of_a_launcher_is_that_beside_it(tmp_path: Path) -> None:
    launcher = script(tmp_path / "mpi" / "bin" / "mpiexec", "")
    assert environment_of_launchers(str(launcher)).get("TESSERA_LIBMPI") == os.environ.get("TESSERA_LIBMPI")
    library = tmp_path / "mpi" / "lib" / "libmpi.so.12"
    library.parent.mkdir()
    library.touch()
    linked = tmp_path / "mpirun"
    linked.symlink_to(launcher)
    for path in (launcher, linked):
        assert environment_of_launchers(str(path))["TESSERA_LIBMPI"] == str(library)


def test_the_library_that_was_asked_for_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERA_LIBMPI", "/own/libmpi.so.12")
    launcher = script(tmp_path / "bin" / "mpiexec", "")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libmpi.so.12").touch()
    assert environment_of_launchers(str(launcher))["TESSERA_LIBMPI"] == "/own/libmpi.so.12"


def test_another_mpi_than_the_chosen_one_is_refused() -> None:
    failed = loads("openmpi", TESSERA_LIBMPI=LIBRARIES["mpich"])
    assert "is another MPI, expected libmpi.so.40" in failed.stderr
    missing = loads("mpich", TESSERA_LIBMPI="/no/libmpi.so.12")
    assert "/no/libmpi.so.12: cannot open" in missing.stderr
    assert "TESSERA_LIBMPI" in missing.stderr


def test_the_interface_of_mpi_5_is_refused() -> None:
    assert "has the interface of MPI 5" in loads("mpich", TESSERA_LIBMPI="/x/libmpi_abi.so.0").stderr


def test_what_the_process_has_comes_first(tmp_path: Path) -> None:
    maps = tmp_path / "maps"
    maps.write_text(
        "7f00-7f01 r-xp 0 fe:00 1    /usr/lib/libmpi_cxx.so.40\n7f01-7f02 r-xp 0 fe:00 2    /a/libmpi.so.12.2.0\n"
    )
    assert mpi_library.loaded_library(maps) == "/a/libmpi.so.12.2.0"
    maps.write_text("7f00-7f01 r-xp 0 fe:00 1    /usr/lib/libm.so.6\n")
    assert mpi_library.loaded_library(maps) is None
    assert mpi_library.loaded_library(tmp_path / "none") is None


def test_only_shared_libraries_need_one(tmp_path: Path) -> None:
    (tmp_path / "libtessera-mpich.so").touch()
    assert mpi_library.needs_library("mpich", tmp_path)
    assert not mpi_library.needs_library("openmpi", tmp_path)
    assert not mpi_library.needs_library("serial", tmp_path)
