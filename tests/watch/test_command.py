"""`tessera watch` on the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from tessera.watch.liveness import Watch
from tessera.watch.text import line_of, screen_of
from tessera.watch.tracks import Tracks
from tests.support.programs import HANGS, TESSERA, start
from tests.watch.samples import NETWORK, table, write

Command = Callable[..., tuple[int, str]]
FOREIGN = "\x1b[2J[bold]x\u202e"


def screen(folder: Path, width: int, alarms: tuple[str, ...] = ()) -> str:
    """Returns what a terminal of so many columns shows."""
    view = Watch(folder).look()
    console = Console(width=width, color_system=None, force_terminal=False, markup=False, highlight=False, emoji=False)
    with console.capture() as shown:
        console.print(screen_of(view, alarms, Tracks(folder).of(view.status), folder.name))
    return shown.get()


def test_json_is_one_object(command: Command, tmp_path: Path) -> None:
    status, text = command("watch", write(tmp_path / "run"), "--json")
    found = json.loads(text)
    assert status == 0 and found["state"] == "running" and found["status"]["step"] == 1200 and found["alarms"] == []
    status, text = command("watch", tmp_path / "run", "--json", "--drift-limit", "0.001")
    assert status == 0 and json.loads(text)["alarms"][0]["kind"] == "drift"
    write(tmp_path / "run", state="failed", end={"exit_status": 3, "message": "the disk is full"})
    status, text = command("watch", tmp_path / "run", "--json")
    assert status == 1 and json.loads(text)["is_over"] and "the disk is full" in json.loads(text)["words"]


def test_it_ends_when_the_run_ends_and_says_how(command: Command, tmp_path: Path) -> None:
    write(tmp_path / "run", state="finished", end={"exit_status": 0, "message": ""})
    status, text = command("watch", tmp_path / "run")
    assert status == 0 and text.startswith(
        "finished  step 1,200 of 50,000 (2.4 %)  20.7 ns/day  301.2 K  all steps are done"
    )
    write(tmp_path / "run", state="failed", end={"exit_status": 3, "message": "atom 7 flew away"})
    status, text = command("watch", tmp_path / "run")
    assert status == 1 and "exit status 3: it can't go on): atom 7 flew away" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [(["none"], "is not there"), (["run", "--web", "--json"], "take one"), (["run", "--port", "70000"], "70000"),
     (["run", "--drift-limit", "nan"], "nan"), (["run", "--every", "0"], "0")],
)  # fmt: skip
def test_what_is_wrong_is_told(command: Command, tmp_path: Path, words: list[str], message: str) -> None:
    write(tmp_path / "run")
    status, text = command("watch", tmp_path / words[0], *words[1:])
    assert status == 2 and message in text


@pytest.mark.parametrize("width", [40, 120])
def test_a_terminal_shows_all(tmp_path: Path, width: int) -> None:
    (write(tmp_path / "run", network=NETWORK) / "energy.csv").write_text(table(200))
    text = screen(tmp_path / "run", width, ("it drifts",))
    for words in ("running", "it drifts", "step 1,200 of 50,000", "6 min 47 s left", "301.2", "+0.004 ± 0.002",
                  "1.07", "pair forces", "75 %", "n3 (2)"):  # fmt: skip
        assert words in text
    assert re.search("[▁▂▃▄▅▆▇█]{4}", text) and max(map(len, text.splitlines())) <= width


def test_stages_and_minimisations_are_shown(tmp_path: Path) -> None:
    stages = [{"name": name} for name in ("min", "heat", "production")]
    minimum = {"energy": -9000.5, "max_force": 12.3, "wanted_max_force": 10.0, "method": "L-BFGS"}
    lacks: dict[str, None] = dict.fromkeys(("energies", "drift", "phases", "imbalance", "ns_per_day"))
    of_stage = {"stages": stages, "stage": {"name": "min", "number": 1}, "kind": "minimize", "minimization": minimum}
    text = screen(write(tmp_path / "run", **lacks, **of_stage), 100)
    assert "stages: min → heat → production" in text and "12.3" in text and "until below 10" in text


def test_foreign_text_does_nothing(tmp_path: Path) -> None:
    odd = {"process": {"host": FOREIGN, "id": 1, "tessera": FOREIGN},
           "phases": [{"name": FOREIGN, "seconds": 1.0}, {"name": 3}],
           "stages": [{"name": FOREIGN}], "stage": {"name": FOREIGN}, "state": "failed",
           "end": {"exit_status": 3, "message": FOREIGN},
           "network": {"hosts": [{"name": FOREIGN, "ranks": FOREIGN}], "source": FOREIGN}}  # fmt: skip
    folder = write(tmp_path / "run", **odd)
    for text in (screen(folder, 200), line_of(Watch(folder).look())):
        assert "\x1b" not in text and "\u202e" not in text and "\\u001b[2J[bold]x\\u202e" in text


def test_the_page_is_served_until_the_command_is_ended(tmp_path: Path) -> None:
    process = start([*TESSERA, "watch", write(tmp_path / "run"), "--web"])
    assert process.stdout is not None
    try:
        address = process.stdout.readline()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/enter\?token=[\w-]{43}\n", address)
        process.terminate()
        process.communicate(timeout=HANGS)
        assert process.returncode == 143
    finally:
        process.kill()
        process.communicate()
