"""Pictures of a run are drawn, also where the run is short, unfinished or damaged."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from tessera import plots
from tessera.errors import InputError
from tessera.plots import drift_of, plot_run, read_energy_table

HEADER = "step,time [ps],kinetic [kcal/mol],potential [kcal/mol],total [kcal/mol],temperature [K],pressure [bar]\n"


def write_run(folder: Path, rows: int, report: bool = True) -> None:
    random = np.random.default_rng(1)
    with (folder / "energy.csv").open("w") as file:
        file.write(HEADER)
        for i in range(rows):
            kinetic = 14000 + 80 * random.normal()
            total = -58000 + 0.01 * i + random.normal()
            file.write(
                f"{100 * i},{0.2 * i},{kinetic},{total - kinetic},{total},{kinetic / 46.6},{100 * random.normal()}\n"
            )
    if report:
        phases = [
            {"name": "pair forces", "seconds": 12.0, "imbalance": 1.2},
            {"name": "pme", "seconds": 6.0, "imbalance": 1.05},
            {"name": "halo_exchange", "seconds": 2.0, "imbalance": 1.6},
        ]
        facts = {"n_atoms": 23558, "steps": 1000, "ranks": 4, "threads": 1, "wall_seconds": 21.0, "ns_per_day": 8.2}
        (folder / "report.json").write_text(json.dumps({**facts, "phases": phases}))


@pytest.mark.parametrize("rows", [1, 2, 500])
@pytest.mark.parametrize("report", [True, False])
def test_a_picture_is_drawn(tmp_path: Path, rows: int, report: bool) -> None:
    write_run(tmp_path, rows, report)
    picture = plot_run(tmp_path, tmp_path / "run.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20000


def texts(figure: Figure) -> list[str]:
    found = [figure.get_suptitle()]
    for axes in figure.axes:
        found += [axes.get_title(loc=where) for where in ("left", "right")] + [axes.get_ylabel()]
    return found


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Returns a list to which each saved figure is appended."""
    figures: list[Figure] = []
    monkeypatch.setattr(plots, "save", lambda figure, output: figures.append(figure))
    return figures


def test_the_name_of_the_run_pressure_and_one_unit_of_drift(tmp_path: Path, drawn: list[Figure]) -> None:
    folder = tmp_path / "my_run"
    folder.mkdir()
    write_run(folder, 200)
    plot_run(folder, folder / "run.png")
    found = texts(drawn[0])
    assert found[0].startswith("my_run ")
    assert "Pressure" in found and "pressure (bar)" in found
    assert any(text.endswith(" kT/ns/dof") for text in found)
    assert not any("kcal/mol/ns" in text for text in found)


def test_the_start_is_left_out_of_the_drift_and_of_its_scale(tmp_path: Path, drawn: list[Figure]) -> None:
    write_run(tmp_path, 400)
    lines = (tmp_path / "energy.csv").read_text().splitlines(keepends=True)
    for row in range(1, 40):  # the total energy is far off while the run settles
        cells = lines[row].split(",")
        cells[4] = str(float(cells[4]) - 500)
        lines[row] = ",".join(cells)
    (tmp_path / "energy.csv").write_text("".join(lines))
    drift = drift_of(read_energy_table(tmp_path / "energy.csv"))
    assert drift is not None and drift.first == 100
    # The total energy rises by 0.01 kcal/mol in each row of 0.2 ps; the noise is 1 kcal/mol over 60 ps.
    assert drift.slope == pytest.approx(50 / 28000, abs=4 * 1000 / 28000 * np.sqrt(12 / 300) / 60)
    plot_run(tmp_path, tmp_path / "run.png")
    (axes,) = (axes for axes in drawn[0].axes if axes.get_title(loc="left") == "Energy drift")
    low, high = axes.get_ylim()
    assert high - low < 20 / 28000


def write_stages(folder: Path, starts: dict[str, str], rows: int = 40) -> Path:
    """Writes stages by their names, each with the stage that it starts from. That called `minimise` has no table."""
    for name, start in starts.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "settings.toml").write_text(f'[input]\nstart = "{start and folder / start}"\n')
        if name != "minimise":
            write_run(folder / name, rows)
    return folder


def test_stages_of_a_protocol_are_drawn_one_after_the_other(tmp_path: Path, drawn: list[Figure]) -> None:
    """In the order in which they ran, which is not that of their names."""
    folder = write_stages(tmp_path / "protocol", {"minimise": "", "warm": "minimise", "heat": "warm", "cool": "heat"})
    (folder / "previous-1").mkdir()  # an earlier run of the protocol
    plot_run(folder, folder / "run.png")
    assert texts(drawn[0])[0].startswith("protocol, cool ")
    by_title = {axes.get_title(loc="left"): axes for axes in drawn[0].axes}
    temperature = by_title["Temperature"]
    assert [text.get_text() for text in temperature.texts] == ["warm", "heat", "cool"]
    time = temperature.lines[0].get_xdata()
    assert np.allclose(np.diff(time), np.where(np.arange(119) % 40 == 39, 0.0, 0.2))
    settled = read_energy_table(folder / "cool" / "energy.csv").values["temperature"][10:]
    assert f"mean {settled.mean():.1f} ± {settled.std():.1f} K" in texts(drawn[0])
    assert len(by_title["Energy drift of the last stage"].lines[0].get_xdata()) == 40


def test_runs_that_do_not_follow_each_other_are_no_protocol(tmp_path: Path) -> None:
    write_stages(tmp_path, {"one": "", "two": ""}, rows=2)
    with pytest.raises(
        InputError, match=r"holds several runs, which do not follow each other .*\(one, two\): give one"
    ):
        plot_run(tmp_path, tmp_path / "run.png")


@pytest.mark.parametrize(
    ("change", "told"), [(0.0004, "mean 0.9972 ± 0.0002 g/cm³"), (0.0, "0.997 g/cm³")], ids=["fluctuates", "constant"]
)
def test_the_density_is_drawn_with_the_digits_of_its_fluctuation(
    tmp_path: Path, drawn: list[Figure], change: float, told: str
) -> None:
    rows = "".join(f"{i},{0.2 * i},{0.997 + change * (i % 2)}\n" for i in range(40))
    (tmp_path / "energy.csv").write_text(f"step,time [ps],density [g/cm³]\n{rows}")
    plot_run(tmp_path, tmp_path / "run.png")
    assert told in texts(drawn[0]) and "density (g/cm³)" in texts(drawn[0])


def test_names_of_phases_do_not_overlap(tmp_path: Path, drawn: list[Figure]) -> None:
    write_run(tmp_path, 3)
    report = json.loads((tmp_path / "report.json").read_text())
    report["phases"] = [{"name": f"phase {i}", "seconds": 1.0} for i in range(40)]
    (tmp_path / "report.json").write_text(json.dumps(report))
    plot_run(tmp_path, tmp_path / "run.png")
    drawn[0].draw_without_rendering()
    (axes,) = (axes for axes in drawn[0].axes if axes.get_title(loc="left") == "Time by phase")
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert len(boxes) == 40
    assert all(below.y1 <= above.y0 + 0.5 for above, below in itertools.pairwise(boxes))


def test_columns_and_units(tmp_path: Path) -> None:
    write_run(tmp_path, 3)
    with (tmp_path / "energy.csv").open("a") as file:
        file.write("300,0.6,140")  # a row that is still being written
    table = read_energy_table(tmp_path / "energy.csv")
    assert table.values["step"].tolist() == [0, 100, 200]
    assert table.unit["kinetic"] == "kcal/mol"
    assert table.unit["step"] == ""
    assert table.label("temperature") == "temperature (K)"


def test_what_can_not_be_drawn_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="output folder of a run"):
        plot_run(tmp_path, tmp_path / "run.png")
    (tmp_path / "energy.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="not an energy table"):
        plot_run(tmp_path, tmp_path / "run.png")
    write_run(tmp_path, 0)
    with pytest.raises(InputError, match="no rows yet"):
        plot_run(tmp_path, tmp_path / "run.png")
    write_run(tmp_path, 3)
    with pytest.raises(InputError, match="can't write"):
        plot_run(tmp_path, tmp_path / "none" / "run.png")
    with pytest.raises(InputError, match=r"run.unknown: pictures can't be written as .unknown"):
        plot_run(tmp_path, tmp_path / "run.unknown")
    with pytest.raises(InputError, match=r"run: a picture's name has to end in .png"):
        plot_run(tmp_path, tmp_path / "run")
    assert not (tmp_path / "run.png").exists()
    (tmp_path / "report.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        plot_run(tmp_path, tmp_path / "run.png")
