"""Tests the layouts, loads and times behind the figures of stencils at scale (bench/scale/grid.py)."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from bench.scale import blue_gene, grid, grid_smpi, grid_timeline, smpi
from bench.scale.platforms import Exchange, Node, Platform, Torus


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


def test_the_script_prints_its_figures(tmp_path: Path) -> None:
    done = CliRunner().invoke(grid.main, ["--results", str(tmp_path), "--check", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["data"]["beside the paper"]
    assert list(found) == list(blue_gene.STEPS)
    assert (tmp_path / "scale_grid.png").exists() and (tmp_path / "scale_grid_timeline.png").exists()
