"""Tests the long campaign's own machinery, on campaigns of made-up tests that take no time."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from tests.campaigns import __main__ as campaign
from tests.campaigns import parts, record
from tests.campaigns.parts import PARTS, Piece

EMPTY = "# A page\n\n<!-- bench:campaigns -->\n<!-- /bench:campaigns -->\n"
LINE = record.Line(
    "tidy", "2026-11-26", "abc1234567", "A | B, 2 cores", "0.1", "", "", "1", "0", "0", "0", "passed", ""
)


def item(name: str, *marks: pytest.MarkDecorator) -> Any:
    """Returns what stands for a collected test."""
    return SimpleNamespace(nodeid=name, iter_markers=lambda _: [one.mark for one in marks])


def slow(**names: str) -> pytest.MarkDecorator:
    return pytest.mark.slow(**names)


def test_a_slow_test_of_one_part_is_accepted() -> None:
    parts.check_slow([item("a"), item("b", slow(part="bits")), item("c", slow(part="fuzz"), slow(part="fuzz"))])


@pytest.mark.parametrize("marks", [[slow()], [slow(part="bit")], [slow(part="bits"), slow(part="fuzz")]])
def test_a_slow_test_of_no_part_or_of_two_is_refused(marks: list[pytest.MarkDecorator]) -> None:
    with pytest.raises(
        pytest.UsageError, match=r"names its part of the campaign.* bits, physics.*\ntests/a.py::b names"
    ):
        parts.check_slow([item("tests/a.py::b", *marks)])


def test_slow_tests_name_their_parts(pytestconfig: pytest.Config) -> None:
    """Those that are collected with this one: in CI all of this tree."""
    assert pytestconfig.stash[parts.WRONG] == []


def test_each_test_belongs_to_one_piece() -> None:
    pieces = replace(PARTS["cluster"], count=3).pieces()
    tests = [item(f"tests/x.py::test[{n}]", slow(part="cluster")) for n in range(99)]
    tests += [item(f"tests/cluster/x.py::test[{n}]") for n in range(99)]
    holders = [[piece.number for piece in pieces if piece.holds(test)] for test in tests]
    assert all(len(one) == 1 for one in holders)
    assert min(holders.count([piece.number]) for piece in pieces) > 50
    assert not any(piece.holds(item("tests/cluster/x.py::a", slow(part="bits"))) for piece in pieces)
    assert not any(piece.holds(item("tests/app/x.py::a")) for piece in pieces)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_each_check_belongs_to_one_piece(count: int) -> None:
    part = replace(PARTS["tidy"], count=count)
    assert sorted(check for piece in part.pieces() for check in piece.checks()) == sorted(part.checks)


def test_documents_hold_the_tables() -> None:
    assert record.parts_table() in record.PAGE.read_text()
    assert record.changes_table() in (record.ROOT / "CONTRIBUTING.md").read_text()


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "campaigns.md"
    path.write_text(EMPTY)
    monkeypatch.setattr(record, "PAGE", path)
    return path


def test_lines_are_read_as_they_were_written(page: Path) -> None:
    assert record.read() == []
    record.add(LINE)
    record.add(replace(LINE, part="physics", sets="AVX2, EMU128", sets_not_run="AVX3"))
    assert [line.part for line in record.read()] == ["physics", "tidy"]
    assert record.read()[1] == replace(LINE, processor="A / B, 2 cores", sets="–", sets_not_run="–", time="–")
    assert "| part | date | commit |" in page.read_text() and page.read_text().startswith("# A page\n")


@pytest.fixture
def history(tmp_path: Path) -> Callable[[], str]:
    """A function that adds a commit to a repository in `tmp_path` and returns its name."""

    def commit() -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "a"], cwd=tmp_path, check=True)
        return record.git("rev-parse", "--short=10", "HEAD", root=tmp_path) or ""

    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return commit


def test_parts_that_were_run_long_ago_are_named(page: Path, tmp_path: Path, history: Callable[[], str]) -> None:
    first, second = history(), history()
    for _ in range(record.OLD):
        history()
    said = {
        "bits": replace(LINE, part="bits", commit=first),  # a commit too old
        "physics": replace(LINE, part="physics", commit=f"{second}+"),
        "fuzz": replace(LINE, part="fuzz", commit=second, verdict="failed: no data"),
        "tidy": replace(LINE, commit="abcdef0123"),
    }
    for name, line in said.items():
        for piece in PARTS[name].pieces():
            record.add(replace(line, part=str(piece)))
    named = record.stale(root=tmp_path)
    assert "\n" not in named and named.startswith("campaigns to run again: ")
    reasons = {piece.part.name: record.why_again(piece, record.read(), tmp_path) for part in PARTS.values()
               for piece in part.pieces()}  # fmt: skip
    assert reasons.pop("bits") == "51 commits ago"
    assert reasons.pop("physics") is None
    assert reasons.pop("fuzz") == "failed"
    assert reasons.pop("tidy") == "run at an unknown commit"
    assert set(reasons.values()) == {"never run"}
    assert "physics" not in named and f"{PARTS['bits'].pieces()[0]} (51 commits ago)" in named


def test_the_newest_line_counts(page: Path, tmp_path: Path, history: Callable[[], str]) -> None:
    record.add(replace(LINE, commit=history(), verdict="failed"))
    record.add(replace(LINE, commit=history()))
    assert record.why_again(PARTS["tidy"].pieces()[0], record.read(), tmp_path) is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pyhsics", "'pyhsics' is no part of the campaign; the parts are bits, physics, faults, fuzz"),
        ("tidy:4/7", "'tidy:4/7' is no piece of tidy; expected tidy"),
    ],
)
def test_an_unknown_part_is_refused(name: str, said: str) -> None:
    done = CliRunner().invoke(campaign.main, [name])
    assert done.exit_code == 2 and said in done.output


@pytest.fixture
def made_up(tmp_path: Path, page: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., record.Line]:
    """A function that runs a part of made-up checks and tests in `tmp_path`, at commit `tree`, at its end `at_end`."""
    monkeypatch.setattr(campaign, "ROOT", tmp_path)
    monkeypatch.setattr(campaign, "FOLDER", tmp_path / "campaigns")
    monkeypatch.setenv("PYTHONPATH", str(parts.ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # starts in half of the time
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow(part)\n")

    def run(text: str = "", tree: str = "abc", at_end: str = "", **settings: Any) -> record.Line:
        (tmp_path / "test_made_up.py").write_text(
            f"import pytest\npytestmark = pytest.mark.slow(part='gpaw')\n{text}\n"
        )
        trees = iter([tree, at_end or tree])
        monkeypatch.setattr(record, "tree", lambda: next(trees))
        plain = replace(PARTS["gpaw"], needs=(), prepare=(), tests=bool(text))
        return campaign.run(Piece(replace(plain, **settings), 1))

    return run


def counts(line: record.Line) -> tuple[str, ...]:
    return line.verdict, line.passed, line.failed, line.skipped, line.not_run


PASSES = "def test_a():\n    print(file=open('log', 'a'))\n"  # keeps count of its runs
Run = Callable[..., record.Line]


def test_a_part_passes(made_up: Run) -> None:
    assert counts(made_up(PASSES)) == ("passed", "1", "0", "0", "0")


@pytest.mark.parametrize(
    "text",
    [
        "def test_b():\n    pytest.skip('no data')",
        "@pytest.mark.skipif(True, reason='no data')\ndef test_b(): pass",
        "@pytest.fixture\ndef data(): pytest.skip('no data')\ndef test_b(data): pass",
    ],
)
def test_a_skipped_test_is_a_failure(made_up: Run, text: str) -> None:
    assert counts(made_up(PASSES + text)) == ("failed", "1", "0", "1", "0")


def test_a_skipped_module_is_a_failure(made_up: Run, tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("import pytest\npytest.importorskip('a_module_that_nobody_has')\n")
    assert counts(made_up(PASSES)) == ("failed", "1", "0", "1", "0")


def test_a_failure_of_any_phase_counts(made_up: Run) -> None:
    fixture = "@pytest.fixture\ndef one():\n    yield\n    assert False\ndef test_b(one): pass\ndef test_c(): assert 0"
    assert counts(made_up(PASSES + fixture)) == ("failed", "1", "2", "0", "0")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PASSES + "def test_b(): assert 0\ndef test_c(): pytest.skip('no data')", ("failed", "1", "1", "1", "0")),
        (PASSES + "import os\ndef test_b(): os.abort()\ndef test_c(): pass", ("failed", "2", "1", "0", "0")),
        ("pytest.skip('no data', allow_module_level=True)", ("failed", "0", "1", "1", "0")),
    ],
)
def test_several_workers_count_each_test_once(made_up: Run, text: str, expected: tuple[str, ...]) -> None:
    assert counts(made_up(text, workers=2)) == expected


def test_workers_leave_out_what_has_passed(made_up: Run, tmp_path: Path) -> None:
    assert counts(made_up(PASSES + "def test_b(): assert 0", workers=2)) == ("failed", "1", "1", "0", "0")
    assert counts(made_up(PASSES + "def test_b(): assert 1", workers=2)) == ("passed", "2", "0", "0", "0")
    assert (tmp_path / "log").read_text().count("\n") == 1


def test_tests_after_a_crash_are_not_run(made_up: Run) -> None:
    crash = "import os\ndef test_b(): os.abort()\ndef test_c(): pass"
    assert counts(made_up(PASSES + crash)) == ("failed", "1", "1", "0", "2")


def test_no_tests_are_a_failure(made_up: Run) -> None:
    assert made_up("pytestmark = pytest.mark.slow(part='bits')\ndef test_a(): pass").verdict == "failed"


def test_what_passed_is_not_run_again(made_up: Run, tmp_path: Path) -> None:
    log = tmp_path / "log"
    failing, mended = PASSES + "def test_b(): assert 0", PASSES + "def test_b(): assert 1"
    assert counts(made_up(failing)) == ("failed", "1", "1", "0", "0")
    assert counts(made_up(mended)) == ("passed", "2", "0", "0", "0")
    assert log.read_text().count("\n") == 1
    assert made_up(mended).verdict == "passed"  # a run that passed begins anew
    assert log.read_text().count("\n") == 2


@pytest.mark.parametrize("trees", [("abc", "abd"), ("abc+", "abc+")])
def test_changed_files_start_a_run_anew(made_up: Run, tmp_path: Path, trees: tuple[str, str]) -> None:
    for tree in trees:
        made_up(PASSES + "def test_b(): assert 0", tree)
    assert (tmp_path / "log").read_text().count("\n") == 2


@pytest.mark.parametrize(("at_end", "noted"), [("abc", "abc"), ("abc+", "abc+"), ("abd", "abc+")])
def test_files_that_change_during_a_run_are_noted(made_up: Run, at_end: str, noted: str) -> None:
    assert made_up(checks=(("true",),), at_end=at_end).commit == noted


def test_a_preparation_that_fails_is_a_failure(made_up: Run, tmp_path: Path) -> None:
    line = made_up(PASSES, prepare=(("false",), ("touch", "later")), checks=(("touch", "check"),))
    assert counts(line) == ("failed", "0", "1", "0", "0")
    assert not any((tmp_path / name).exists() for name in ("later", "check", "log"))
    assert counts(made_up(PASSES, prepare=(("true",),))) == ("passed", "1", "0", "0", "0")


def test_what_is_missing_is_named(made_up: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSERA_DATA", str(tmp_path / "nowhere"))
    line = made_up(PASSES, needs=(parts.DATA,))
    assert counts(line) == ("failed: TESSERA_DATA names no folder of reference data", "0", "0", "0", "0")
    assert not (tmp_path / "log").exists()


def said(passed: int, failed: int) -> str:
    return f"{passed}% tests passed, {failed} tests failed out of 10"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"echo '{said(100, 0)}'", ("passed", "10", "0", "0", "0")),
        (f"echo '{said(80, 2)}'; exit 8", ("failed", "8", "2", "0", "0")),
        (f"echo '{said(100, 0)}'; echo '	  3 - a.b (Skipped)'", ("passed", "9", "0", "0", "1")),
        (f"echo '{said(100, 0)}'; exit 1", ("failed", "10", "1", "0", "0")),
        ("exit 1", ("failed", "0", "1", "0", "0")),
        ("true", ("passed", "1", "0", "0", "0")),
    ],
)
def test_checks_are_counted(made_up: Run, command: str, expected: tuple[str, ...]) -> None:
    assert counts(made_up(checks=(("sh", "-c", command),))) == expected


def test_instruction_sets_that_did_not_run_are_named(tmp_path: Path) -> None:
    engine = tmp_path / "engine"
    engine.write_text('#!/bin/sh\n[ "$TESSERA_SIMD" = AVX3 ] && exit 2\necho "tessera 0.1, $TESSERA_SIMD"\n')
    engine.chmod(0o755)
    assert parts.instruction_sets(PARTS["tidy"], engine) == ([], [])
    every, best = (parts.instruction_sets(PARTS[name], engine) for name in ("bits", "physics"))
    known = every[0] + every[1]
    assert every == ((["NEON"], []) if known == ["NEON"] else (["AVX2", "EMU128"], ["AVX3"]))
    assert best[0] == every[0][:1] and sorted(best[0] + best[1]) == sorted(known)
