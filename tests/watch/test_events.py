"""The command of --on-event: what it is told, and that neither it nor its words do harm."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tessera.errors import InputError
from tessera.watch import events
from tessera.watch.alarm import LIMIT
from tessera.watch.events import Event, Events, call, event_of_end, words_of
from tessera.watch.status import Status, read_status
from tests.support.programs import wait_until
from tests.watch.samples import status, write

TELL = """
import json, os, sys
found = {name: value for name, value in os.environ.items() if name.startswith("TESSERA_")}
with open(sys.argv[1], "a") as file:
    file.write(json.dumps([sys.argv[2:], found]) + chr(10))
"""


@pytest.fixture
def tell(tmp_path: Path) -> tuple[list[str], Path]:
    """A command that writes down what it is told, and where."""
    (tmp_path / "tell.py").write_text(TELL)
    return [sys.executable, str(tmp_path / "tell.py"), str(tmp_path / "told")], tmp_path / "told"


def told(path: Path) -> list[dict[str, str]]:
    return [json.loads(line)[1] for line in path.read_text().splitlines()] if path.exists() else []


def test_a_command_is_split_without_a_shell(tmp_path: Path) -> None:
    assert words_of("mail -s 'a run' \"x y\" $HOME; rm *") == ["mail", "-s", "a run", "x y", "$HOME;", "rm", "*"]
    for command in ("", "  ", "'open"):
        with pytest.raises(InputError, match="--on-event"):
            words_of(command)
    file = tmp_path / "made"
    assert "can't be started" in call(words_of(f"true; touch {file}"), Event("finished", "", 0), tmp_path)
    assert not file.exists()


def test_it_is_told_what_happened(tmp_path: Path, tell: tuple[list[str], Path]) -> None:
    command, path = tell
    run = write(tmp_path / "run", stage={"name": "heat", "number": 1})
    assert call([*command, "$TESSERA_RUN"], Event("failed", "the disk; rm -rf *\0", 3), run) == ""
    assert told(path)[0].items() >= {
        "TESSERA_EVENT": "failed", "TESSERA_EVENT_WORDS": "the disk; rm -rf *", "TESSERA_EXIT_STATUS": "3",
        "TESSERA_RUN": str(run), "TESSERA_STAGE": "heat", "TESSERA_STEP": "1200",
    }.items()  # fmt: skip
    assert json.loads(path.read_text())[0] == ["$TESSERA_RUN"]


def test_a_command_that_fails_or_hangs_is_told_and_ended(tmp_path: Path) -> None:
    event = Event("finished", "", 0)
    assert call([sys.executable, "-c", "raise SystemExit(5)"], event, tmp_path) == "its exit status was 5"
    assert "can't be started: No such file" in call([str(tmp_path / "none")], event, tmp_path)
    assert call(["sh", "-c", "sleep 1000 & sleep 1000"], event, tmp_path, time_limit=0.2) == "it was ended after 0.2 s"


@pytest.mark.parametrize(
    ("exit_status", "state", "kind"),
    [(0, "finished", "finished"), (0, "stopped", "stopped"), (143, "stopped", "stopped"), (130, "running", "stopped"),
     (3, "failed", "failed"), (2, None, "failed"), (137, "running", "failed"), (139, "running", "failed"),
     (0, None, "finished")],
)  # fmt: skip
def test_ends_are_told_apart(exit_status: int, state: str | None, kind: str) -> None:
    found = event_of_end(exit_status, Status(status(state=state)) if state else None)
    assert found.kind == kind and found.exit_status == exit_status and found.words


def test_a_drift_is_told_once_and_then_the_end(
    tmp_path: Path, tell: tuple[list[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "_LOOK_EVERY", 0.01)
    command, path = tell
    drifts = {"value": 0.5, "half_width": 0.1, "confidence": 0.95}
    run = write(tmp_path / "run", drift=drifts)  # of a run before, of which nothing is told
    with Events(command, run) as watching:
        (run / "status.json").unlink()
        write(run, drift=drifts)
        wait_until(lambda: len(told(path)) == 1)
        write(run, state="failed", end={"exit_status": 3, "message": "it blew up"}, drift=drifts)
        watching.end(3)
    kinds = [(one["TESSERA_EVENT"], one["TESSERA_EXIT_STATUS"]) for one in told(path)]
    assert kinds == [("drift", ""), ("failed", "3")]
    assert "drifts by +0.5 ± 0.1" in told(path)[0]["TESSERA_EVENT_WORDS"]
    assert told(path)[1]["TESSERA_EVENT_WORDS"] == "it blew up"


def test_of_an_earlier_run_nothing_is_told(
    tmp_path: Path, tell: tuple[list[str], Path], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(events, "_LOOK_EVERY", 0.001)
    command, path = tell
    run = write(tmp_path / "run", state="stopped", drift={"value": 9, "half_width": 0, "confidence": 0.95})
    assert read_status(run) is not None
    with Events([*command, "more"], run) as watching:
        watching.end(2)
    assert [one["TESSERA_EVENT"] for one in told(path)] == ["failed"]
    with Events([str(tmp_path / "none\x1b")], run) as watching:
        watching.end(0)
    assert "--on-event" in (said := capfd.readouterr().err) and "can't be started" in said and "\x1b" not in said


def test_the_limit_of_the_drift_is_that_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("tessera.commands.run")
    given: list[tuple[Any, ...]] = []
    monkeypatch.setattr(module, "events_of", lambda *words: given.append(words))
    monkeypatch.setattr(module, "selection_arguments", lambda *_: [])
    monkeypatch.setattr(module.launch, "start", lambda *_, **__: None)
    words = ["run.toml", "--on-event", "true"]
    for more, limit in (([], LIMIT), (["--drift-limit", "0.5"], 0.5)):
        assert CliRunner().invoke(module.run, [*words, *more]).exit_code == 0
        assert given.pop()[-1] == limit
    assert CliRunner().invoke(module.run, [*words, "--drift-limit", "0"]).exit_code == 2
