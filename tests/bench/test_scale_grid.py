"""Tests the layouts, loads and times behind the figures of stencils at scale (papers/grid.py)."""

import json
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from bench.scale import smpi
from bench.scale.platforms import Exchange, Node, Platform, Torus
from papers import blue_gene, grid, grid_claims, grid_smpi, grid_timeline


def test_a_grid_of_the_paper_on_1024_nodes() -> None:
    flat, hybrid = (blue_gene.layout_of(192, 1024, each) for each in (4, 1))
    assert flat.box == (12, 12, 12) and sorted(hybrid.box) == [12, 24, 24]
    assert flat.bytes_of_node(inside=True) - hybrid.bytes_of_node(inside=True) == 18432
    assert flat.bytes_of_node(inside=False) == hybrid.bytes_of_node(inside=False)
    assert np.prod(flat.processes) == 4096


def test_loads_of_links_are_those_of_the_torus() -> None:
    """The routes are those of bench/scale/platforms.py where the partition is a torus."""
    layout = blue_gene.layout_of(192, 512, 1)
    node = Node(1e9, 1e9, 1e-6, 0.0, 0.0)
    for placed in ("well", "badly"):
        exchange = Exchange(Platform("torus", Torus(layout.nodes, 1.0), node))
        exchange.add(blue_gene.messages(layout, (0, 1, 2), placed))
        assert blue_gene.loads(layout, (0, 1, 2), placed) == exchange.platform.network.loads(exchange.kept).max()


def test_a_mesh_carries_what_its_ends_exchange_across_all_of_it() -> None:
    layout = blue_gene.layout_of(192, 64, 1)
    assert blue_gene.loads(layout, (0, 1, 2)) == 2 * blue_gene.face(layout.box, 0)
    assert blue_gene.loads(layout, ()) == 0


def test_waiting_alone_explains_a_part_of_the_gain() -> None:
    original, optimized, master, multiple = (blue_gene.run(n, 16384, 192, 2816) for n in blue_gene.APPROACHES)
    assert multiple.seconds == pytest.approx(master.seconds, rel=1e-3)  # whose threads need no time to meet here
    assert max(multiple.seconds, optimized.seconds) < 0.85 * original.seconds
    assert 1.15 < original.seconds / multiple.seconds < 1.4
    assert multiple.utilisation == pytest.approx(1, abs=0.01)
    box = original.layout.points * blue_gene.POINT
    assert original.seconds == pytest.approx(2816 * box + original.waiting)


def test_no_ripple_runs_through() -> None:
    layout = blue_gene.layout_of(192, 256, 1)
    computing, travelling = grid_timeline.times(layout, 1)
    assert travelling < computing
    assert grid_timeline.ripple(layout, 1, 0.5 * computing) == (0, 0.0)
    others, later = grid_timeline.ripple(layout, 1, 4 * computing)
    assert 6 < others < 255 and later < 4 * computing


@pytest.mark.skipif(not smpi.is_there(), reason="SimGrid is not installed: apt-get install libsimgrid-dev")
def test_smpi_agrees_with_the_model(tmp_path: Path) -> None:
    rows = grid_smpi.runs(tmp_path, (2048,)).splitlines()[2:]
    ratios = [float(row.split("|")[-2]) for row in rows]
    assert len(ratios) == 5 and min(ratios) > 0.95 and max(ratios) < 1.05


@pytest.mark.parametrize(("cores", "grid"), [(2048, 144), (4096, 192), (16384, 192)])
def test_exchanges_of_the_plan_are_those_of_the_links(cores: int, grid: int) -> None:
    """`tessera grid plan` puts neighbours of the grid side by side on the torus, and counts all that a link carries."""
    for approach, one in blue_gene.planned(cores, grid).items():
        layout = blue_gene.layout_of(grid, cores // 4, 1 if approach.startswith("hybrid") else 4)
        assert sorted(one["processes"]) == sorted(layout.processes)
        assert one["exchange"]["latency"] == pytest.approx(blue_gene.LATENCY)
        ways = sorted(blue_gene.loads(layout, (d,)) / blue_gene.LINK for d in range(3))
        assert one["exchange"]["transfer"] == pytest.approx(max(ways))
        assert sorted(each["transfer"] for each in one["exchanges_by_direction"]) == pytest.approx(ways)


def test_the_plan_takes_as_long_as_what_is_counted_here() -> None:
    for approach, one in blue_gene.planned(16384, 192, 2816).items():
        assert one["seconds"] == pytest.approx(blue_gene.run(approach, 16384, 192, 2816).seconds, rel=0.06)


def test_the_time_of_gpaw_is_that_of_its_record(tmp_path: Path) -> None:
    assert blue_gene.gpaw_point() == blue_gene.GPAW_POINT and 1e-9 < blue_gene.GPAW_POINT < 1e-7
    record = tmp_path / "gpaw.md"
    row = "| {} | stencil | {} | {}³ | {} | {} | 1 | 2 |\n"
    record.write_text(row.format(1, "float", 200, 8, 5) + row.format(2, "float", 100, 1, 7)
                      + row.format(2, "float", 100, 4, "2,000") + row.format(2, "complex", 100, 8, 9))  # fmt: skip
    assert blue_gene.gpaw_point(record) == pytest.approx(2 * 2.0 / (4 * 100**3))
    record.write_text("| 2 | restriction | float | 64³ | 1 | 5 | 1 | 2 |")
    with pytest.raises(click.ClickException, match="has no times of stencils"):
        blue_gene.gpaw_point(record)


def made_up(**changes: float) -> grid_claims.Computed:
    """Returns what is computed where all is as it is known to be, but for these numbers, or seconds of approaches."""
    strong = {"flat-original": 0.34, "flat-optimized": 0.26, "hybrid-master-only": 0.25, "hybrid-multiple": 0.24}
    few = {("flat-original", 1): 10.4, ("flat-optimized", 1): 9.01, ("flat-optimized", 8): 9.02,
           ("hybrid-master-only", 1): 8.9, ("hybrid-master-only", 8): 9.1, ("hybrid-multiple", 1): 8.95,
           ("hybrid-multiple", 8): 9.2}  # fmt: skip
    strong |= {key: seconds for key, seconds in changes.items() if key in strong}
    layout = blue_gene.layout_of(192, 1024, 1)

    def run(name: str, cores: int, seconds: float, batch: int) -> blue_gene.Run:
        return blue_gene.Run(name, cores, 192, 32, layout, seconds, 0.0, batch, 0.2)

    steps = {"gain": 1.4, "original": 0.57, "multiple": 0.79, "hybrid": 1.12, "speed-up": 12.8}
    steps |= {key: value for key, value in changes.items() if key in steps}
    return grid_claims.Computed(
        steps=dict.fromkeys(blue_gene.STEPS, steps),
        strong=[run(name, 16384, seconds, 1) for name, seconds in strong.items()],
        few=[run(name, 2048, seconds, batch) for (name, batch), seconds in few.items()],
        gustafson=[{"cores": 512, "flat": 1.45, "hybrid": changes.get("at_512", 1.44)}],
        late=int(changes.get("late", 0)),
        kilobytes=changes.get("kilobytes", 18.4),
        even=2.7e-6,
        starting=9e-6,
        point=57e-9,
    )


def test_what_is_known_to_be_missed_is_no_failure() -> None:
    computed = made_up()
    found = grid_claims.claims(computed)
    assert grid_claims.failures(found) == []
    assert {name for name, one in found.items() if not one.agrees} == set(grid_claims.KNOWN)
    assert grid_claims.table_of(found).count("**no**") == len(grid_claims.KNOWN)
    said = grid_claims.explained(found, computed)
    assert said[0].startswith("6 of 12 claims agree") and any("57% of" in line or "57%;" in line for line in said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"flat-optimized": 0.36}, "order: 16,384 cores"),
        ({"hybrid-multiple": 0.27}, "order: 16,384 cores"),
        ({"hybrid-master-only": 0.27}, "master-only agrees with the paper now"),
        ({"gain": 1.9}, "gain agrees with the paper now"),
        ({"multiple": 0.95}, "multiple: … cores used by hybrid-multiple: the paper says 70%, here 95%"),
        ({"speed-up": 16.0}, "speed-up: hybrid-multiple, 1,024 to 16,384 cores"),
        ({"hybrid": 1.4}, "hybrid: "),
        ({"at_512": 1.46}, "512 cores: "),
        ({"late": 3}, "ripples: a node that is late by half a batch holds up: the paper says no other, here 3 others"),
        ({"kilobytes": 140.0}, "kilobytes agrees with the paper now"),
    ],
)
def test_another_verdict_than_the_known_one_is_a_failure(changes: dict[str, float], said: str) -> None:
    wrong = grid_claims.failures(grid_claims.claims(made_up(**changes)))
    assert len(wrong) == 1 and wrong[0].startswith(said), wrong


def test_the_script_prints_its_figures_and_fails_where_a_claim_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid_claims, "KNOWN", grid_claims.KNOWN[1:])
    monkeypatch.setattr(smpi, "is_there", lambda: False)  # it has a test of its own
    # The time of a point is given: measured beside other work, it would decide which claims are missed.
    monkeypatch.setattr(blue_gene, "point_seconds", lambda box: 1.5e-9 * (0.5 + 7.5 * sum(1 / n for n in box)))
    done = CliRunner().invoke(grid.main, ["--results", str(tmp_path), "--check", "--json"])
    assert done.exit_code == 1 and "gain: 16,384 cores" in done.stderr, done.output
    found = json.loads(done.stdout)["data"]["beside the paper"]
    assert list(found) == [*blue_gene.STEPS, "`tessera grid plan`"]
    assert (tmp_path / "scale_grid.png").exists() and (tmp_path / "scale_grid_timeline.png").exists()
