"""The page on performance says what the records say."""

from pathlib import Path

import pytest

from bench import performance
from bench.common import results
from bench.grid import promises


def test_the_page_is_that_of_the_records() -> None:
    assert performance.ratios() in performance.PAGE.read_text()


@pytest.mark.parametrize("name", performance.PICTURES)
def test_pictures_are_drawn_from_the_records(name: str, tmp_path: Path) -> None:
    drawn = performance.draw(name, tmp_path)
    assert drawn.stat().st_size > 5000
    assert f"images/{drawn.name}" in performance.PAGE.read_text()
    assert (performance.IMAGES / drawn.name).exists()


def test_every_record_has_its_markers_and_is_linked() -> None:
    for record in results.RECORDS.iterdir():
        assert record.read_text().count(f"<!-- bench:{record.stem} -->") == 1
        assert f"records/{record.name}" in performance.PAGE.read_text()


def test_a_missed_promise_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(performance, "MOST_DRIFT", 1e-9)
    assert "| ≤ 1e-09 | **no** | [conservation]" in performance.ratios()


def test_a_missed_promise_of_grids_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {one.claim: one for one in promises.promises()}
    assert all(0 <= one.met <= one.of and one.found for one in found.values())
    name = "Stencils: share of the triad's rate, 2 cases"
    assert found[name].met == found[name].of
    monkeypatch.setattr(promises, "PROMISED_SHARE", 1.5)
    row = next(row for row in promises.rows() if row[0] == name)
    assert row[2:4] == ["≥ 1.5 in each", "**no**"]
