"""Tests `tessera io bench` without MPI: what it prints, draws and writes, and its messages."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera import launch
from tessera.io import bench
from tessera.io.text import ratios, recommendation
from tests.support.commands import called, said
from tests.support.programs import run_program

DATA = Path(__file__).resolve().parents[1] / "data"
run = partial(called, "io", "bench")


def results(seconds: dict[str, float], files: list[tuple[int, float]] | None = None) -> dict[str, Any]:
    """Returns results of one run on four ranks, with seconds for each candidate and text, a tenth for binary."""
    trials = [
        {
            "candidate": candidate, "method": candidate.partition(":")[0], "format": name, "order": "sorted",
            "writers": 4, "files": 1, "batch": 65536, "buffer": 4194304, "bytes": size, "seconds": [time * share],
        }
        for candidate, time in seconds.items()
        for name, size, share in (("text", 1460, 1.0), ("binary", 400, 0.1))
    ]  # fmt: skip
    return {
        "folder": "/scratch/here",
        "file_system": {"folder": "/scratch", "kind": "ext4"},
        "atoms": 10,
        "order": "sorted",
        "runs": [
            {
                "ranks": 4, "hosts": 1, "library": "serial", "atoms": 10, "trials": trials,
                "raw": {"bytes": 1460, "seconds": [1.0, 2.0, 3.0]},
                "files": [{"files": n, "seconds": [s]} for n, s in files or [(1, 1.0), (2, 1.1), (4, 2.0)]],
            }
        ],
    }  # fmt: skip


def test_measures_prints_draws_and_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    done = run(folder, "-n", 1, "--atoms", 2000, "--repeats", 1, "--plot", tmp_path / "io.png")
    assert done.exit_code == 0, done.output
    assert list(folder.iterdir()) == []
    assert (tmp_path / "io.png").read_bytes().startswith(b"\x89PNG")
    for text in ("raw writer", "pdaw", "sdaw-printf", "segments", "xdr", "MB/s", "recommended with 1 rank", "paper"):
        assert text in done.output
    assert "mpiw-collective is left out: it needs an MPI" in done.output
    assert "sdaw-printf, text, over sncw, time" in done.output


@pytest.mark.parametrize(("name", "dtype"), [("netcdf", np.float32), ("netcdf-double", np.float64)])
def test_netcdf_is_read_by_mdanalysis_and_scipy(name: str, dtype: type, tmp_path: Path) -> None:
    MDAnalysis = pytest.importorskip("MDAnalysis")
    netcdf_file = pytest.importorskip("scipy.io").netcdf_file
    program = launch.engines(bench.PROGRAM)["serial"]
    for method in ("sncw", "pdaw"):
        words = [program, "write", tmp_path / f"{method}.nc", "--candidate", method, "--format", name, "--atoms", "77"]
        run_program(words)
    assert (tmp_path / "sncw.nc").read_bytes() == (tmp_path / "pdaw.nc").read_bytes()
    words = [program, "write", tmp_path / "xdr", "--format", "xdr", "--atoms", "77"]
    run_program(words)
    exact = np.frombuffer((tmp_path / "xdr").read_bytes()[-40 * 77 :], ">f8").reshape(-1, 5)[:, 2:]
    with netcdf_file(tmp_path / "pdaw.nc", mmap=False) as file:
        coordinates = file.variables["coordinates"][0]
        assert coordinates.dtype == np.dtype(dtype).newbyteorder(">")
        assert (coordinates == exact.astype(dtype)).all()
        assert file.Conventions == b"AMBER"
    reader = MDAnalysis.coordinates.TRJ.NCDFReader(tmp_path / "pdaw.nc")
    assert (reader.ts.positions == exact.astype(np.float32)).all()
    assert reader.ts.dimensions[3:].tolist() == [90, 90, 90]
    reader.close()


def test_map_keeps_what_else_it_holds(tmp_path: Path) -> None:
    map_file = tmp_path / "map.json"
    map_file.write_text((DATA / "two_racks.json").read_text())
    before = json.loads(map_file.read_text())
    for atoms in (500, 700):
        done = run(tmp_path, "-n", 1, "--atoms", atoms, "--repeats", 1, "--formats", "text", "-o", map_file, "--json")
        assert done.exit_code == 0, done.output
    after = json.loads(map_file.read_text())
    assert after["version"] == 3
    for key in ("name", "network", "measurements", "trials"):
        assert after.get(key) == (before.get(key) or after.get(key))
    (system,) = after["file_systems"]  # the later one of the same file system
    assert tmp_path.is_relative_to(system["folder"])
    assert {trial["bytes"] for trial in system["trials"]} == {5 * 73 + 700 * 146}
    assert {"segments", "pdaw", "sdaw", "sdaw-printf", "file-per-rank"} == {t["method"] for t in system["trials"]}
    found = bench.choose(map_file, tmp_path / "CONFIG", ranks=1, atoms=700, formats=["text"], order="sorted")
    assert found["text"]["method"] in bench.METHODS
    assert "were measured" in found["text"]["reason"]


def test_new_map_is_a_machine_file(tmp_path: Path) -> None:
    map_file = tmp_path / "new.json"
    bench.put_into_map(results({"pdaw": 1.0, "sdaw": 3.0}), map_file)
    show = said("machine", "show", map_file, "--json")
    (system,) = json.loads(show)["file_systems"]
    assert system["folder"] == "/scratch"
    assert system["raw"] == 730
    assert system["most_files"] == 2
    assert system["file_seconds"] == pytest.approx(1 / 3)


def test_recommendation_follows_the_map(tmp_path: Path) -> None:
    map_file = tmp_path / "map.json"
    bench.put_into_map(results({"pdaw:writers=8:batch=50000": 1.0, "sdaw": 3.0, "mpiw-collective": 2.0}), map_file)
    path = Path("/scratch/run/CONFIG")
    choice = bench.choose(map_file, path, ranks=8, atoms=10, formats=["text"], order="sorted")["text"]
    assert (choice["method"], choice["writers"]) == ("pdaw", 8)
    elsewhere = bench.choose(map_file, Path("/home/CONFIG"), ranks=8, atoms=10, formats=["text"], order="sorted")
    assert elsewhere["text"]["method"] == "segments"
    assert "nothing was measured" in elsewhere["text"]["reason"]


def test_ratios_are_those_of_the_paper() -> None:
    seconds = {"pdaw": 1.0, "sdaw": 2.0, "sdaw-printf": 20.0, "mpiw-collective": 3.0, "mpiw-collective:writers=8": 2.0}
    found = {text: ours for text, _, ours in ratios(results(seconds))}
    assert found == {
        "pdaw over sdaw-printf, text": pytest.approx(20),
        "pdaw over sdaw, text": pytest.approx(2),
        "mpiw by tuning, text": pytest.approx(1.5),
        "text over binary, bytes": pytest.approx(3.65),
        "text over binary, time": pytest.approx(10),
    }


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ({"mpiw-independent": 2.0, "mpiw-collective": 3.0, "mpiw-independent:writers=8": 2.5}, 0.8),  # tuning is slower
        ({"mpiw-independent": 9.0, "mpiw-collective": 3.0, "mpiw-independent:writers=8": 4.0}, 0.75),
        ({"mpiw-independent": 4.0, "mpiw-collective:writers=8": 2.0}, 2.0),
        ({"mpiw-independent": 4.0}, None),  # nothing was tuned
        ({"mpiw-independent:writers=8": 4.0}, None),
    ],
)
def test_tuned_mpi_io_stands_beside_the_better_untuned(seconds: dict[str, float], expected: float | None) -> None:
    found = {text: ours for text, _, ours in ratios(results(seconds))}
    assert found.get("mpiw by tuning, text") == (None if expected is None else pytest.approx(expected))


def test_a_share_of_the_raw_writer_is_that_of_one_number_of_ranks() -> None:
    """One rank is fast beside a slow raw writer, four ranks are slow beside a fast one."""
    alone, together = results({"pdaw": 1.0})["runs"][0], results({"pdaw": 8.0, "sdaw": 4.0})["runs"][0]
    alone["ranks"], alone["raw"]["seconds"], together["raw"]["seconds"] = 1, [4.0], [2.0]
    both = results({}) | {"runs": [alone, together]}
    choice = {"method": "pdaw", "writers": 4, "batch": 65536, "buffer": 4194304, "reason": "measured"}
    assert "(measured; 25% of the raw writer beside 4 ranks)" in recommendation(both, {"text": choice})
    assert recommendation(both, {"text": choice | {"writers": 3}}).endswith("(measured)")


def test_dry_run_shows_dl_polys_settings_among_the_candidates(tmp_path: Path) -> None:
    done = run(tmp_path, "-n", 1, "--dry-run")
    assert done.exit_code == 0, done.output
    assert "pdaw:writers=8:batch=50000" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "missing is no folder; make it, or choose another"),
        ([".", "--methods", "pdwa"], "'pdwa' is unknown; they are segments, pdaw"),
        ([".", "--formats", "xml"], "'xml' is unknown; they are text, history, binary, xdr, netcdf, netcdf-double"),
        ([".", "-n", "0"], "'0' are no numbers of ranks; write 4, or 1,2,4"),
        ([".", "-n", "1", "--atoms", str(10**12)], "MB free, but files of 146,000,032 MB are written"),
    ],
)
def test_messages(arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert message in done.output


def test_map_that_is_none_is_refused(tmp_path: Path) -> None:
    map_file = tmp_path / "map.json"
    map_file.write_text('{"format": "something else"}')
    done = run(tmp_path, "-n", 1, "--atoms", 100, "--repeats", 1, "--formats", "xdr", "-o", map_file)
    assert done.exit_code == 2
    assert "is not a machine file" in done.output
    assert map_file.read_text() == '{"format": "something else"}'
