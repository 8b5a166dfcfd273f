"""What is read of status.json, and which files are refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tessera.errors import InputError
from tessera.watch.alarm import drift_alarm
from tessera.watch.liveness import Watch
from tessera.watch.series import Series
from tessera.watch.status import Status, read_status
from tessera.watch.text import _phases
from tests.watch.samples import status, write


def test_a_status_is_read(tmp_path: Path) -> None:
    assert read_status(tmp_path) is None
    found = read_status(write(tmp_path))
    assert found is not None and found.state == "running" and not found.is_over
    assert found.number("energies", "temperature") == 301.25 and found.number("energies", "none") is None
    assert found.stage == "" and found.text("process", "tessera") == "0.1.0" and len(found.rows("phases")) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "its format is 'other'"),
        ({"version": 2}, "is of version 2, expected 1"),
        ({"state": "asleep"}, "its state is 'asleep'"),
        ({"time": "yesterday"}, "damaged"),
        ({"time": "2026-11-28T06:15:00"}, "lacks its time"),
        ({"process": {"host": "n1", "id": -1}}, "lacks its time, its process"),
        ({"process": {"host": "n1", "id": 0}}, "lacks its time, its process"),
        ({"process": {"host": "n1"}}, "no key 'id'"),
        ({"process": 7}, "damaged"),
    ],
)
def test_what_is_no_status_is_refused(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_status(write(tmp_path, **changes))


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '"text"', "[" * 100_000, '{"format": "tessera-status"}', "\0"])
def test_what_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "status.json").write_text(text)
    with pytest.raises(InputError, match=r"status\.json.*damaged"):
        read_status(tmp_path)


def test_values_of_other_kinds_are_left_out() -> None:
    odd = Status(status(step=True, energies=[1], phases={"a": 1}, n_atoms="many", drift={"value": 1e999}, stage=3))
    assert odd.number("step") is None and odd.number("energies", "temperature") is None and odd.rows("phases") == []
    assert odd.number("n_atoms") is None and odd.number("drift", "value") is None and odd.stage == ""
    assert Status(json.loads('{"a": NaN}')).number("a") is None


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "-1e300", "9" * 400, "9" * 5000])
def test_numbers_that_no_run_has_are_not_known(tmp_path: Path, number: str) -> None:
    """A browser refuses JSON with NaN, and what is too large for a float would end whoever computes with it."""
    text = json.dumps(status(step="@", phases=[{"name": "a", "seconds": "@"}, {"name": "b", "seconds": 1}]))
    (tmp_path / "status.json").write_text(text.replace('"@"', number))
    found = read_status(tmp_path)
    assert found is not None and found.content["step"] is None and found.number("step") is None
    json.dumps(found.content, allow_nan=False)
    assert _phases(found) is not None


def test_phases_of_less_than_no_time_are_left_out() -> None:
    seconds = [-8.0, 6.0, 2.0]
    table = _phases(Status(status(phases=[{"name": f"{one}", "seconds": one} for one in seconds])))
    assert table is not None and list(table.columns[1].cells) == ["75 %", "25 %"]


@pytest.mark.parametrize("name", ["status.json", ".lock", "energy.csv"])
def test_pipes_hold_nobody_up(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    if name == "status.json":
        with pytest.raises(InputError, match=r"status\.json: is no regular file"):
            read_status(tmp_path)
    elif name == ".lock":
        assert Watch(tmp_path).look().state == "waiting"
    else:
        series = Series(tmp_path)
        series.update()
        assert series.content() == {"stride": 1}


@pytest.mark.parametrize(
    ("value", "half_width", "is_raised"),
    [
        (0.3, 0.1, True),
        (-0.3, 0.1, True),
        (0.15, 0.1, False),
        (0.3, None, False),
        (0.05, 0.0, False),
        (None, 0.1, False),
    ],
)
def test_an_alarm_is_raised_where_the_whole_interval_is_above_the_limit(
    value: float | None, half_width: float | None, is_raised: bool
) -> None:
    found = Status(status(drift={"value": value, "half_width": half_width, "confidence": 0.95}))
    assert bool(drift_alarm(found)) == is_raised
    assert not drift_alarm(found, limit=1.0)
    assert not drift_alarm(Status(status(drift=None)))
