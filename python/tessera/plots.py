"""Draws a run: energies, temperature, pressure, density and drift from `energy.csv`, and the time of each phase from
`report.json`. Stages of a protocol are drawn one after the other."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tessera.errors import SENSELESS, InputError
from tessera.files import open_regular, read_regular, replaced
from tessera.printing import counted, layout, printable
from tessera.traj.find import protocol

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that people with any kind of colour vision can distinguish (Okabe and Ito, 2008).
_BLUE, _ORANGE, _GREEN, _RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#5A6270"

STYLE = {
    "figure.facecolor": "white",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": "#2B3038",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E3E6EA",
    "grid.linewidth": 0.8,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "lines.linewidth": 1.5,
    "text.parse_math": False,  # names of folders and stages may have dollar signs
    "legend.frameon": False,
}


TABLE = "energy.csv"
#: What is drawn at most: squares of larger numbers overflow, and no run has so many phases.
MOST, MOST_PHASES = 1e100, 200


@dataclass(frozen=True)
class EnergyTable:
    """The columns of an `energy.csv`: `values[name]` (rows,), `unit[name]` (empty: a pure number). Of stages one after
    the other, `begins` has the number of each one's first row."""

    values: dict[str, NDArray[np.float64]]
    unit: dict[str, str]
    begins: dict[str, int] = field(default_factory=dict)

    def label(self, name: str) -> str:
        return f"{name} ({self.unit[name]})" if self.unit[name] else name


def read_energy_table(path: str | Path) -> EnergyTable:
    """Reads the table of a run, also while it is being written (an incomplete last row is left out). Raises
    InputError."""
    path = Path(path)
    try:
        with open(open_regular(path), newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; give the output folder of a run") from None
    except (ValueError, csv.Error) as error:
        raise InputError(f"{path}: {error}; the file is damaged") from None
    if not rows or rows[0][:1] != ["step"]:
        raise InputError(f"{path} is not an energy table of tessera: its first column must be `step`")
    names, units = [], []
    for cell in rows[0]:
        match = re.fullmatch(r"(.*?)(?: \[(.*)\])?", printable(cell))
        assert match is not None
        names.append(match[1])
        units.append(match[2] or "")
    if len(set(names)) < len(names) or "time" not in names:
        raise InputError(f"{path}: expected columns of different names, time among them; the file is damaged")
    try:
        complete = rows[1:-1] + [row for row in rows[1:][-1:] if len(row) == len(names)]
        data = np.array([[float(cell) for cell in row] for row in complete])
        data = data.reshape(len(complete), len(names))
    except ValueError as error:
        raise InputError(f"{path}: {error}; the file is damaged") from None
    data[~(np.abs(data) < MOST)] = np.nan  # of a run that blew up: a gap in the lines
    return EnergyTable({n: data[:, i] for i, n in enumerate(names)}, dict(zip(names, units)))


def join_tables(tables: dict[str, EnergyTable]) -> EnergyTable:
    """Returns the rows of stages one after the other, with the columns that all have. Each begins where the one before
    has its last row."""
    first, *others = tables.values()
    unit = {name: one for name, one in first.unit.items() if all(t.unit.get(name) == one for t in others)}
    values = {name: np.concatenate([table.values[name] for table in tables.values()]) for name in unit}
    lengths = [len(table.values["step"]) for table in tables.values()]
    starts = np.cumsum([0, *lengths[:-1]])
    for name in ("step", "time"):
        if name in unit:
            ends = np.cumsum([0.0, *(table.values[name][-1] for table in tables.values())])
            values[name] = values[name] + np.repeat(ends[:-1], lengths)
    return EnergyTable(values, unit, dict(zip(tables, starts.tolist())))


def plot_run(folder: str | Path, output: str | Path) -> Path:
    """Draws the run or the protocol in `folder` to `output` (PNG, PDF or SVG by its ending) and returns that path.
    Drift, means and phases are those of a protocol's last stage. Raises InputError."""
    folder, output = Path(folder), Path(output)
    tables = _tables_of(folder)
    name, last = list(tables.items())[-1]
    report = read_report(folder / name / "report.json")
    table = join_tables(tables) if len(tables) > 1 else last

    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    below = max(3.0, 0.17 * len(report.get("phases", []) if report else []))  # inches, a line of text for each phase
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=(11, 7.2 + below), dpi=150, layout="constrained")
        axes = figure.subplot_mosaic(
            [["energy", "drift"], ["temperature", "pressure"], ["density", "phases"]],
            height_ratios=[3.2, 3.2, below],
        )
        _plot_energies(axes["energy"], table)
        _plot_drift(axes["drift"], last)
        _plot_mean(axes["temperature"], table, "temperature", _RED)
        _plot_mean(axes["pressure"], table, "pressure", _BLUE)
        _plot_mean(axes["density"], table, "density", _GREEN)
        _plot_phases(axes["phases"], report)
        if table.begins:
            for drawn in ("energy", "temperature", "pressure", "density"):
                _mark_stages(axes[drawn], table, with_names=drawn == "temperature")
            for drawn in ("drift", "phases"):
                axes[drawn].set_title(f"{axes[drawn].get_title(loc='left')} of the last stage")
        figure.suptitle(_title(folder, name, report), x=0.01, ha="left", fontsize=12, color=GREY)
        try:
            save(figure, output)
        finally:
            plt.close(figure)
    return output


def _tables_of(folder: Path) -> dict[str, EnergyTable]:
    """Returns the tables that have rows by the name of their stage, which is empty for a run by itself. Raises
    InputError."""
    runs = [] if (folder / TABLE).exists() else [stage for stage in protocol(folder) if (stage / TABLE).exists()]
    tables = {run.name: read_energy_table(run / TABLE) for run in runs} or {"": read_energy_table(folder / TABLE)}
    found = {name: table for name, table in tables.items() if len(table.values["step"])}
    if not found:
        raise InputError(
            f"{folder / next(iter(tables)) / TABLE} has no rows yet; was output.energy_every 0, or has the run just "
            "begun?"
        )
    return found


def save(figure: Figure, output: Path) -> None:
    """Writes the picture in the format of its name's ending. Raises InputError."""
    if not output.suffix:  # matplotlib would add an ending and write a file of another name
        raise InputError(f"{output}: a picture's name has to end in .png, .pdf or .svg")
    try:
        with replaced(output) as temporary:
            picture = io.BytesIO()  # where writers of formats can't write, some fail in ways of their own
            figure.savefig(picture, format=output.suffix[1:])
            temporary.write_bytes(picture.getvalue())
    except OSError as error:
        raise InputError(f"can't write {output}: {error.strerror}; choose another place") from None
    except ValueError:
        raise InputError(f"{output}: pictures can't be written as {output.suffix}; take .png, .pdf or .svg") from None


def read_report(path: Path) -> dict[str, Any] | None:
    """Returns the report, or None while the run has not ended. Raises InputError."""
    try:
        report = json.loads(read_regular(path))
        _check_report(report)
    except FileNotFoundError:
        return None
    except (OSError, *SENSELESS) as error:
        problem = f"there is no key {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{path}: {problem}; the file is damaged") from None
    return dict(report)


def _check_report(report: Any) -> None:
    """Raises an exception of `SENSELESS` where the report is none, or lacks what is drawn of it."""
    if not isinstance(report, dict):
        raise ValueError("expected the report of a run")
    numbers = [report.get(key, 0) for key in ("ranks", "threads", "n_atoms", "steps", "last_step")]
    numbers += [report.get(key, 0.0) for key in ("wall_seconds", "ns_per_day", "ms_per_step")]
    if len(report.get("phases", [])) > MOST_PHASES:
        raise ValueError(f"a run has no {len(report['phases']):,} phases")
    for phase in report.get("phases", []):
        if not isinstance(phase["name"], str):
            raise ValueError(f"a phase is called {phase['name']!r}")
        numbers += [phase["seconds"], phase.get("imbalance", 1.0)]
    for one in (report.get("averages") or {}).values():
        if not isinstance(one["unit"], str):
            raise ValueError(f"a unit is called {one['unit']!r}")
        numbers += [number for number in (one["mean"], one["fluctuation"]) if number is not None]
    drift = (report.get("results") or {}).get("drift_kT_ns_dof")
    numbers += [] if drift is None else [drift]
    for key in ("versions", "machine"):
        (report.get(key) or {}).keys()
    if not isinstance(report.get("state_hash") or "", str):
        raise ValueError(f"the hash of its state is {report['state_hash']!r}")
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
            raise ValueError(f"{number!r} stands where a number is expected")


def _title(folder: Path, stage: str, report: dict[str, Any] | None) -> str:
    name = printable(f"{folder.resolve().name}{', ' * bool(stage)}{stage}")
    if report is None:
        return f"{name}: no report yet"
    steps = report.get("last_step", report.get("steps", 0))  # including those before restarts
    parts = [name, counted(report.get("n_atoms", 0), "atom"), counted(steps, "step")]
    parts.append(layout(report.get("ranks", 1), report.get("threads", 1)))
    parts.append(f"{report.get('ns_per_day', 0):.3g} ns/day")
    return "   ·   ".join(parts)


def _time_axis(axes: Axes, table: EnergyTable) -> NDArray[np.float64]:
    time = table.values["time"]
    longest = float(time[-1]) if len(time) else 0.0
    scale, unit = (1e-3, "ns") if longest >= 2000 else (1.0, "ps")
    axes.set_xlabel(f"time ({unit})")
    axes.margins(x=0.01)
    return time * scale


def _line(axes: Axes, x: NDArray[np.float64], y: NDArray[np.float64], colour: str, label: str | None = None) -> None:
    axes.plot(x, y, color=colour, label=label, marker="o" if len(x) < 30 else "", markersize=3)


def _plain(axes: Axes) -> None:
    """Writes whole numbers on the axis, without an offset to be added."""
    axes.ticklabel_format(axis="y", useOffset=False, style="plain")


def _plot_energies(axes: Axes, table: EnergyTable) -> None:
    x = _time_axis(axes, table)
    axes.set_title("Energy")
    found = [n for n in ("kinetic", "potential", "total") if n in table.values]
    for name, colour in zip(("kinetic", "potential", "total"), (_ORANGE, _BLUE, _GREEN)):
        if name in found:
            _line(axes, x, table.values[name], colour, name)
    if found:
        axes.set_ylabel(f"energy ({table.unit[found[0]]})")
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.02), ncols=3)
        axes.margins(y=0.15)


def _plot_mean(axes: Axes, table: EnergyTable, name: str, colour: str) -> None:
    """Draws a quantity that fluctuates about a mean, which is taken over the last three quarters as in the run's
    report."""
    x = _time_axis(axes, table)
    axes.set_title(name.capitalize())
    if name not in table.values:
        axes.text(0.5, 0.5, f"no {name} in energy.csv", ha="center", transform=axes.transAxes, color=GREY)
        return
    y = table.values[name]
    _line(axes, x, y, colour)
    begins = max(table.begins.values(), default=0)  # of the last stage
    settled = y[begins:][_settled(len(y) - begins)]
    settled = settled[np.isfinite(settled)]
    axes.set_ylabel(table.label(name))
    if not len(settled):
        return
    mean, fluctuation = float(settled.mean()), float(settled.std())
    axes.plot(x[[begins, -1]], [mean, mean], color=GREY, linewidth=1, linestyle=(0, (4, 3)))
    if fluctuation <= 1e-9 * abs(mean):  # the density where the box is constant
        text = f"{mean:.5g} {table.unit[name]}"
    else:  # two digits of the fluctuation, but no more than four places
        places = min(4, max(1, 1 - math.floor(math.log10(fluctuation))))
        text = f"mean {mean:.{places}f} ± {fluctuation:.{places}f} {table.unit[name]}"
    axes.set_title(text, loc="right", color=GREY, weight="normal")
    _plain(axes)


def _mark_stages(axes: Axes, table: EnergyTable, with_names: bool) -> None:
    """Draws a line where each stage begins, and its name."""
    if not axes.lines:
        return  # the column is missing
    x = np.asarray(axes.lines[0].get_xdata())
    for name, row in table.begins.items():
        if row:
            axes.axvline(x[row], color=GREY, linewidth=0.8, linestyle=":")
        if with_names:
            axes.annotate(name, (x[row], 1), (2, -2), xycoords=("data", "axes fraction"), textcoords="offset points",
                          rotation=90, va="top", fontsize=7, color=GREY)  # fmt: skip


def _settled(rows: int) -> slice:
    """Returns the last three quarters of the rows, because quantities jump at the start of a run while its atoms
    settle."""
    return slice((rows + 2) // 4 if rows > 1 else 0, None)


@dataclass(frozen=True)
class Drift:
    """The drift of a run's conserved energy in kT a degree of freedom. `change` is that of all rows, `fit` that of a
    straight line through the settled rows (from row `first`), and both are zero where the line begins; `slope` is the
    line's slope in kT/ns/dof."""

    change: NDArray[np.float64]
    first: int
    fit: NDArray[np.float64] | None
    slope: float


def drift_of(table: EnergyTable) -> Drift | None:
    """Returns the drift, or None without total energy, kinetic energy and temperature. The slope of fewer than two
    settled rows is NaN."""
    name = next((n for n in ("conserved", "total") if n in table.values), None)
    if name is None or not {"kinetic", "temperature"} <= set(table.values):
        return None
    settled = _settled(len(table.values[name]))
    kinetic = float(table.values["kinetic"][settled].mean())  # ½ kT a degree of freedom
    y = table.values[name] / (2 * kinetic) if kinetic > 0 else np.zeros_like(table.values[name])
    time = table.values["time"]
    late = time[settled]
    if len(late) < 2 or np.ptp(late) == 0 or not np.isfinite([y[settled], late]).all():
        return Drift(y - y[settled][0], settled.start, None, float("nan"))
    slope, offset = np.polyfit(late - late[0], y[settled] - y[settled][0], 1)
    start = y[settled][0] + offset
    return Drift(y - start, settled.start, slope * (late - late[0]), 1000 * float(slope))


def _plot_drift(axes: Axes, table: EnergyTable) -> None:
    """Draws the drift on the scale of the settled rows, so the jump at the start may be outside the picture."""
    x = _time_axis(axes, table)
    axes.set_title("Energy drift")
    drift = drift_of(table)
    if drift is None:
        axes.text(0.5, 0.5, "no total energy in energy.csv", ha="center", transform=axes.transAxes, color=GREY)
        return
    _line(axes, x, drift.change, _BLUE)
    if drift.fit is not None:
        axes.plot(x[drift.first :], drift.fit, color="#2B3038", linewidth=1.4, linestyle=(0, (4, 3)))
        axes.set_title(f"{drift.slope:+.2g} kT/ns/dof", loc="right", color=GREY, weight="normal")
    settled = drift.change[drift.first :]
    if np.ptp(settled) > 0:
        margin = 0.15 * float(np.ptp(settled))
        axes.set_ylim(float(settled.min()) - margin, float(settled.max()) + margin)
    axes.set_ylabel("change of the total energy (kT/dof)")
    axes.ticklabel_format(axis="y", useOffset=False, style="sci", scilimits=(-2, 3))


def _plot_phases(axes: Axes, report: dict[str, Any] | None) -> None:
    axes.set_title("Time by phase")
    phases = report.get("phases", []) if report else []
    if not phases or not report:
        axes.text(0.5, 0.5, "no report.json yet", ha="center", transform=axes.transAxes, color=GREY)
        axes.set_axis_off()
        return
    per_step = 1000.0 / max(1, report.get("steps", 1))
    names = [printable(phase["name"]).replace("_", " ") for phase in phases]
    mean = np.array([phase["seconds"] for phase in phases]) * per_step
    slowest = mean * np.array([phase.get("imbalance", 1.0) for phase in phases])
    wall = max(report.get("wall_seconds", 0.0) * per_step, 1e-300)
    rows = np.arange(len(phases))
    axes.barh(rows, slowest, color="#BFD7EA", height=0.72, label="slowest rank")
    axes.barh(rows, mean, color=_BLUE, height=0.72, label="mean")
    for row, (value, end) in enumerate(zip(mean, slowest)):
        axes.annotate(
            f"{100 * value / wall:.0f} %",
            (end, row),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=GREY,
        )
    axes.set_yticks(rows, names, fontsize=8)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.margins(x=0.12)
    axes.set_xlabel("ms per step", loc="left")
    axes.legend(loc="upper right", bbox_to_anchor=(1.0, -0.06), ncols=2, fontsize=8)
