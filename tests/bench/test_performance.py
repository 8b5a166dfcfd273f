"""The pages on performance and on promises say what the records say."""

from pathlib import Path

import pytest

from bench import performance, promises
from bench.common import records, results


def test_the_pages_are_those_of_the_records() -> None:
    assert [page.name for page, _, text in performance.written() if text not in page.read_text()] == []


@pytest.mark.parametrize("name", performance.PICTURES)
def test_pictures_are_drawn_from_the_records(name: str, tmp_path: Path) -> None:
    drawn = performance.draw(name, tmp_path)
    assert drawn.stat().st_size > 5000
    assert f"images/{drawn.name}" in performance.PAGE.read_text()
    assert (performance.IMAGES / drawn.name).exists()


def test_every_record_is_linked_and_every_section_has_a_name_of_its_own() -> None:
    pages = sorted(results.RECORDS.iterdir())
    for page in pages:
        assert f"records/{page.name}" in performance.PAGE.read_text()
    names = [name for page in pages for name in performance.sections(page)]
    assert sorted(set(names)) == sorted(names)
    assert len(pages) <= 16


def test_ages_are_what_scripts_wrote() -> None:
    for page in performance.pages():
        for name in performance.sections(page):
            text = records.measured(name)
            found = records.ages(name)
            assert bool(found) == bool(text), name
            assert all(one.day in text and one.commit in text for one in found)


def test_a_section_that_was_never_measured_or_beside_a_load_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "Measured on 2026-01-02: A, B, 2 cores, avx2, load 0.1 before and {} after. commit 12ab+, Python 3."
    for text, expected in (
        ("", "| never |"),
        (line.format(0.3), "| 2026-01-02 | `12ab+` | A, B | AVX2 | 0.1–0.3 | kept |"),
        (line.format(0.31), "| above 0.3 |"),
    ):
        monkeypatch.setattr(records, "measured", lambda name, text=text: text)
        assert expected in records.ages_table(["hooks"])


@pytest.mark.parametrize(
    ("limit", "value", "row"),
    [
        ("MOST_DRIFT", 1e-9, "| ≤ 1e-09 | **no** | [conservation]"),
        ("MOST_SECONDS_OF_WHEEL", 9.0, "| ≤ 9 | **no** | [wheel]"),
        ("PROMISED_SHARE", 1.5, "| ≥ 1.5 in each | **no** | [stencil]"),
    ],
)
def test_a_missed_promise_is_said(limit: str, value: float, row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert row.split(" | ")[-1] in promises.table_of_promises()
    monkeypatch.setattr(promises, limit, value)
    assert row in promises.table_of_promises()
