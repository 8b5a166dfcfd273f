"""What CI runs follows from what changed, and its closing table from what ran."""

import importlib.machinery
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.campaigns import reach
from tests.support.programs import ROOT


def script(path: str) -> ModuleType:
    """Imports a script that has no ending."""
    loader = importlib.machinery.SourceFileLoader(Path(path).name, str(ROOT / path))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = sys.modules[loader.name] = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


changed = script("scripts/changed")
EVERYTHING = list(changed.MAY_USE)


@pytest.mark.parametrize(
    ("files", "libraries"),
    [
        (["cpp/tessera/md/step.cpp"], ["programs", "md", "pair_schemes", "app"]),
        (["cpp/tessera/md/engine_test.cpp"], ["md"]),
        (
            ["cpp/tessera/collectives/plan.h"],
            ["collectives", "comm", "drop_in", "programs", "fft", "grid", "io", "md", "pair_schemes", "app"],
        ),
        (["cpp/tessera/model/README.md", "docs/notation.md", "tests/commands/test_cli.py"], []),
        (["cpp/tessera/base/error.cpp"], EVERYTHING),
        (["cmake/TesseraMpi.cmake"], EVERYTHING),
        (None, EVERYTHING),
    ],
)
def test_libraries_above_what_changed_are_tested_again(files: list[str] | None, libraries: list[str]) -> None:
    assert changed.changed_libraries(files) == libraries


@pytest.mark.parametrize(
    ("files", "reached"),
    [
        (["cpp/tessera/md/step.cpp", "cpp/tessera/app/run.cpp", ".ci/base"], []),
        (["cpp/tessera/io/dcd.cpp"], ["io"]),
        (["cpp/tessera/programs/io/main.cpp"], ["grid", "io"]),
        (["cpp/tessera/base/error.cpp"], ["grid", "io"]),
        (["cpp/tessera/CMakeLists.txt"], ["bench", "grid", "io"]),
        (["cpp/tessera/md/step.cpp", "tests/conftest.py"], ["bench", "grid", "io"]),
        (["python/bindings/grid.cpp"], ["bench", "grid", "io"]),
        (["scripts/setup"], ["bench", "grid", "io"]),
    ],
)
def test_tests_that_no_change_reaches_are_left_out(files: list[str], reached: list[str]) -> None:
    tests = {
        "bench": "tests/bench/test_md.py",
        "grid": "tests/arrays/test_eigen.py",
        "io": "tests/traj/test_write_methods.py",
    }
    assert [name for name, path in tests.items() if reach.is_reached(path, files)] == reached
    assert reach.is_reached("tests/physics/test_motion.py", files)  # which runs all of the engine


def test_tests_that_may_be_left_out_are_there() -> None:
    assert all((ROOT / name).exists() for name in reach.RUN_CODE_OF)


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Makes a repository of two commits, of which the second changes a file of md, and returns them."""
    (tmp_path / "cpp/tessera/md").mkdir(parents=True)
    (tmp_path / ".ci").mkdir()
    commits = []
    for text in ("one", "two\nthree"):
        (tmp_path / "cpp/tessera/md/a.cpp").write_text(text)
        for words in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", text]):
            subprocess.run(["git", *words], cwd=tmp_path, check=True, timeout=60)
        found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, check=True, timeout=60, capture_output=True)
        commits.append(found.stdout.decode().strip())
    monkeypatch.setattr(changed, "ROOT", tmp_path)
    return commits


def test_what_changed_since_the_commit_in_the_file(history: list[str]) -> None:
    (changed.ROOT / ".ci/base").write_text(history[0] + "\n")
    assert changed.base_commit() == history[0]
    assert changed.changed_files(history[0]) == [".ci/base", "cpp/tessera/md/a.cpp"]


@pytest.mark.parametrize("named", ["", "0" * 40])
def test_a_base_that_is_not_in_the_history_is_unknown(history: list[str], named: str) -> None:
    (changed.ROOT / ".ci/base").write_text(named)
    assert changed.base_commit() is None
    assert changed.changed_files(None) is None


def test_the_table_names_what_was_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = script(".ci/report")
    monkeypatch.setattr(report, "ROOT", tmp_path)
    monkeypatch.setattr(report, "LOGS", tmp_path / "build/ci")
    monkeypatch.setattr(report.subprocess, "run", lambda *words, **_: subprocess.CompletedProcess(words, 0, "md app"))
    monkeypatch.setenv("CCACHE_DISABLE", "1")
    (tmp_path / "build/ci").mkdir(parents=True)
    (tmp_path / "build/release").mkdir()
    (tmp_path / "build/ci/load").write_text("0.10 0.20 0.30\n")
    (tmp_path / "build/ci/stages").write_text("build 500 ok\npytest 1200 FAILED\n")
    (tmp_path / "build/unit.xml").write_text('<t><testcase name="md.A" classname="md.A" time="3.5"/></t>')
    (tmp_path / "build/pytest.xml").write_text('<t><testcase name="test_b" classname="tests.x" time="7.25"/></t>')
    end = (tmp_path / "build/ci/load").stat().st_mtime_ns + 10**9
    rows = [f"0\t9000\t{end}\tCMakeFiles/tessera_md.dir/cpp/tessera/md/new.cpp.o\tx", "0\t99000\t1\told.o\tx"]
    (tmp_path / "build/release/.ninja_log").write_text("\n".join(["# ninja log v5", *rows]))
    report.main(1700)
    printed = capsys.readouterr().out
    assert "pytest       1200 s  FAILED" in printed and "total        1700 s" in printed
    assert printed.index("7.2 s  tests.x::test_b") < printed.index("3.5 s  md.A")
    assert "9.0 s  tessera_md/md/new.cpp.o" in printed and "old.o" not in printed
    assert "WARNING: 1700 s is more than the 1500 s" in printed
    assert "cache: not used" in printed
