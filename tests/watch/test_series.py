"""The table of a run that grows: read piece by piece, thinned out, replaced."""

from __future__ import annotations

from pathlib import Path

from tessera.watch.series import Series
from tessera.watch.text import spark
from tests.watch.samples import table


def test_rows_are_read_as_they_come(tmp_path: Path) -> None:
    series = Series(tmp_path)
    series.update()
    assert series.content() == {"stride": 1}
    text, path = table(10), tmp_path / "energy.csv"
    cut = len(text) - 30  # in the middle of the last row
    path.write_text(text[:cut])
    series.update()
    assert len(series.content()["time"]) == 9
    path.write_text(text)
    series.update()
    found = series.content()
    assert found["time"] == [round(0.2 * i, 6) for i in range(10)] and found["drift"][:9] == [None] * 8 + [0.025]
    assert found["conserved"][0] == -8087.5


def test_rows_are_thinned_out_evenly(tmp_path: Path) -> None:
    (tmp_path / "energy.csv").write_text(table(1000))
    at_once, in_pieces = Series(tmp_path, most_rows=100), Series(tmp_path, most_rows=100)
    at_once.update()
    for _ in range(300):
        in_pieces.update(most_bytes=777)
    found = at_once.content()
    assert found["stride"] == 16 and found["time"] == [round(3.2 * i, 6) for i in range(63)]
    assert in_pieces.content() == found


def test_a_table_that_is_replaced_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "energy.csv"
    path.write_text(table(10))
    series = Series(tmp_path)
    series.update()
    path.write_text(table(4))  # a restart has dropped rows
    series.update()
    assert len(series.content()["time"]) == 4
    path.rename(tmp_path / "old")
    path.write_text(table(50))
    series.update()
    assert len(series.content()["time"]) == 50


def test_rows_without_a_time_are_left_out(tmp_path: Path) -> None:
    """The page would draw those after them at times of others."""
    (tmp_path / "energy.csv").write_text(
        "step,time [ps],temperature [K]\n0,0,300\n1,nan,9\n2,,9\n3\n4,4,nan\n5,5,305\n"
    )
    series = Series(tmp_path)
    series.update()
    assert series.content() == {"time": [0.0, 4.0, 5.0], "temperature": [300.0, None, 305.0], "stride": 1}


def test_what_is_no_table_is_nothing(tmp_path: Path) -> None:
    for content in (b"\xff\xfe\0", b"step,time [ps]\n1,inf\n2\nx,y\n", b"a" * 1_000_000):
        (tmp_path / "energy.csv").write_bytes(content)
        series = Series(tmp_path)
        series.update()
        assert not any(series.content().get("time", []))
    (tmp_path / "energy.csv").unlink()
    (tmp_path / "energy.csv").mkdir()
    Series(tmp_path).update()


def test_a_line_of_blocks_leaves_the_start_out() -> None:
    assert spark([9000.0, 1.0, 2.0, 3.0]) == "▁▅█"
    assert spark([None, 5.0, 5.0, 5.0]) == "▄▄▄" and spark([]) == "" and spark([1.0, None]) == ""
