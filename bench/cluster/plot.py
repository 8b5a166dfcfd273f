"""Draws times of collectives relative to the least times that the wires allow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.cluster.emulated import LIBRARIES
from bench.cluster.measured import LARGE, Timing, title
from tessera.plots import STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OURS, THEIRS = {"openmpi": "tab:blue", "mpich": "tab:cyan"}, {"openmpi": "tab:red", "mpich": "tab:orange"}


def draw(timings: Sequence[Timing], path: Path) -> None:
    """Draws a panel for each long operation, with a row for each network and order of ranks: the medians of Tessera and
    of the libraries over the bound, on a logarithmic axis. A bar is what was promised."""
    from matplotlib import pyplot as plt

    with plt.rc_context(STYLE | {"axes.grid": False}):
        figure = _figure(timings)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=110)
        plt.close(figure)


def _figure(timings: Sequence[Timing]) -> Figure:
    from matplotlib import pyplot as plt

    rows = list(dict.fromkeys((one.spec, one.shuffle) for one in timings))
    figure, panels = plt.subplots(
        1, len(LARGE), figsize=(14, 1.6 + 0.32 * len(rows)), sharey=True, layout="constrained"
    )
    for panel, operation in zip(panels, LARGE, strict=True):
        for one in (one for one in timings if one.operation == operation and one.bound):
            y = rows.index((one.spec, one.shuffle))
            own = f"{LIBRARIES[one.mpi]} by itself"
            panel.plot(one.library_over_bound, y, "D", color=THEIRS[one.mpi], markersize=5, label=own)
            ours = f"Tessera on {LIBRARIES[one.mpi]}"
            panel.plot(one.over_bound, y, "o", color=OURS[one.mpi], markersize=6, label=ours)
            if one.target:
                panel.plot([one.target] * 2, [y - 0.35, y + 0.35], color="0.4", linewidth=1.5, label="promised")
        panel.set_xscale("log")
        panel.set_xticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
        panel.minorticks_off()
        panel.axvline(1, color="0.8", linewidth=0.8, zorder=0)
        panel.set_title(operation)
        panel.grid(axis="y")
    panels[0].set_yticks(range(len(rows)), [title(*row) for row in rows])
    panels[0].invert_yaxis()
    figure.supxlabel("times over what the wires allow")
    known = dict(zip(*reversed(panels[0].get_legend_handles_labels()), strict=True))
    figure.legend(known.values(), known.keys(), loc="outside upper center", ncols=len(known))
    return figure
