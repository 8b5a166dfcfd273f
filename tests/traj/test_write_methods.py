"""Tests write methods under both MPIs: the same bytes by every method, one message on a full disk, and the bench."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import h5py
import pytest

from tessera.checked_file import checksum
from tessera.io import bench
from tests.support.programs import ENGINES, TESSERA, in_turns, mpirun, run_program

LIBRARIES = ("pnetcdf", "phdf5")  # under Open MPI
METHODS = ("sdaw-printf", "sdaw", "pdaw", "mpiw-independent", "mpiw-collective", "file-per-rank", "segments")


def content(path: Path) -> bytes:
    if path.is_file():
        return path.read_bytes()
    return b"".join(piece.read_bytes() for piece in sorted(path.glob("0*")))


@in_turns(2, 3, also=(1,))
def test_methods_write_the_same_bytes(mpi: str, ranks: int, tmp_path: Path) -> None:
    serial = tmp_path / "serial"
    for name in ("text", "xdr"):
        words = ["--format", name, "--atoms", "5001"]
        run_program([ENGINES / "tessera-io-serial", "write", serial, *words])
        for method in METHODS:
            if method == "sdaw-printf" and name != "text":
                continue
            path = tmp_path / method
            candidate = f"{method}:batch=700:buffer=10000"
            run_program(
                [*mpirun(mpi, ranks), ENGINES / f"tessera-io-{mpi}", "write", path, "--candidate", candidate, *words]
            )
            assert content(path) == content(serial), f"{method}, {name}"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*METHODS, "serial"])
    folder = tmp_path / "segments"
    pieces = re.findall(r"^piece (\d+) .* (\w{16})$", (folder / "manifest").read_text(), flags=re.M)
    assert pieces == [(path.name, f"{checksum(path.read_bytes()):016x}") for path in sorted(folder.glob("0*"))]


@pytest.mark.parametrize("name", ["netcdf", "netcdf-double"])
@in_turns(2, 5, also=(1, 3, 4))
def test_netcdf_is_the_same_by_the_library_and_without_it(mpi: str, ranks: int, name: str, tmp_path: Path) -> None:
    words = ["--format", name, "--atoms", "5001"]
    engine = [*mpirun(mpi, ranks), ENGINES / f"tessera-io-{mpi}", "write"]
    run_program([ENGINES / "tessera-io-serial", "write", tmp_path / "pdaw", *words])
    for method in ("sncw", "mpiw-collective"):
        run_program([*engine, tmp_path / method, "--candidate", f"{method}:batch=700:buffer=10000", *words])
        assert content(tmp_path / method) == content(tmp_path / "pdaw"), method


def library_program(method: str) -> Path:
    """Returns the program of a method that has its own. Skips the test where its library is not installed."""
    program = ENGINES / f"tessera-io-{method}-openmpi"
    if not program.exists():
        pytest.skip(f"tessera-io-{method} is not built: {bench.why_missing(method, 'auto')}")
    return program


@pytest.mark.mpi
@pytest.mark.parametrize(("ranks", "name"), [(1, "netcdf"), (2, "netcdf-double"), (3, "netcdf"), (5, "netcdf-double")])
def test_parallel_netcdf_writes_the_same_bytes(ranks: int, name: str, tmp_path: Path) -> None:
    program = library_program("pnetcdf")
    words = ["--format", name, "--atoms", "5001"]
    run_program([ENGINES / "tessera-io-serial", "write", tmp_path / "pdaw", *words])
    for options in ("batch=700", "batch=900:writers=2"):
        command = [program, "write", tmp_path / "new", "--candidate", f"pnetcdf:{options}", *words]
        run_program([*mpirun("openmpi", ranks), *command])
        assert content(tmp_path / "new") == content(tmp_path / "pdaw")


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_parallel_hdf5_has_the_records_of_binary(ranks: int, tmp_path: Path) -> None:
    program = library_program("phdf5")
    words = ["--format", "binary", "--atoms", "5001"]
    run_program([ENGINES / "tessera-io-serial", "write", tmp_path / "pdaw", *words])
    command = [program, "write", tmp_path / "new", "--candidate", "phdf5:batch=700:buffer=10000", *words]
    run_program([*mpirun("openmpi", ranks), *command])
    with h5py.File(tmp_path / "new") as file:
        atoms = file["atoms"]
        assert atoms.dtype.names == ("id", "name", "position")
        assert content(tmp_path / "pdaw").endswith(atoms[...].tobytes())
        assert atoms.attrs["cell"].shape == (3, 3)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")
def test_full_disk_is_one_message_and_leaves_nothing(mpi: str, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    probe = ["unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    built = [name for name in LIBRARIES if mpi == "openmpi" and not bench.why_missing(name, mpi)]
    formats = {"sncw": "netcdf", "pnetcdf": "netcdf", "phdf5": "binary"}
    for method in (*METHODS, "sncw", *built):
        program = f"tessera-io-{method}-{mpi}" if method in LIBRARIES else f"tessera-io-{mpi}"
        words = [*mpirun(mpi, 2), str(ENGINES / program), "write", str(disk / "new")]
        words += ["--candidate", f"{method}:batch=1000"]
        words += ["--atoms", "200000", "--format", formats[method]] if method in formats else ["--atoms", "50000"]
        script = f'mount -t tmpfs -o size=1m tmpfs {disk}; "$@"; echo "status $?"; ls -A {disk}'
        done = run_program(["unshare", "-m", "sh", "-c", script, "sh", *words])
        assert done.stderr.count("error:") == 1, f"{method}: {done.stderr}"
        assert "the disk is full: free some space or choose another folder" in done.stderr, method
        assert done.stdout.splitlines()[-1].startswith("status "), f"{method} left {done.stdout}"


def test_bench_runs_under_mpi(mpi: str, tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["io", "bench", folder, "-n", "1,2", "--mpi", mpi, "--atoms", "3000", "--repeats", "1"]
    words += ["--formats", "text,binary", "--json", "-o", tmp_path / "map.json"]
    done = run_program([*TESSERA, *words])
    assert list(folder.iterdir()) == []
    found = json.loads(done.stdout)
    assert [run["ranks"] for run in found["runs"]] == [1, 2]
    expected = {*METHODS, *(["phdf5"] if mpi == "openmpi" and not bench.why_missing("phdf5", mpi) else [])}
    for run in found["runs"]:
        assert {trial["method"] for trial in run["trials"]} == expected
    assert ("pnetcdf" in found["runs"][0]["left_out"]) == bool(bench.why_missing("pnetcdf", mpi))
    assert found["recommendation"]["text"]["method"] in METHODS
    systems = json.loads((tmp_path / "map.json").read_text())["file_systems"]
    assert {trial["ranks"] for trial in systems[0]["trials"]} == {1, 2}


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        ("mpiw-collective:writers=2:buffer=70000", ("2", "70000", "enable")),
        ("mpiw-independent:writers=9:buffer=70000", ("3", "70000", "disable")),  # there are three ranks
        ("mpiw-collective", ("1", "16777216", "automatic")),  # ROMIO's own, with an aggregator a host
    ],
)
def test_tuned_mpi_io_gets_hints(candidate: str, expected: tuple[str, ...], tmp_path: Path) -> None:
    """ROMIO prints what it makes of them."""
    words = ["write", tmp_path / "new", "--candidate", candidate, "--atoms", "500"]
    done = run_program(
        [*mpirun("mpich", 3), ENGINES / "tessera-io-mpich", *words], env=os.environ | {"ROMIO_PRINT_HINTS": "1"}
    )
    found = dict(re.findall(r"key = (\w+) +value = (\S+)", done.stdout))
    assert tuple(found[name] for name in ("cb_nodes", "cb_buffer_size", "romio_cb_write")) == expected
