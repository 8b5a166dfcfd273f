"""Draws MB/s of write methods by number of ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tessera.io.bench import rate, raw_rate_of
from tessera.io.text import name_of
from tessera.plots import GREY, STYLE, save

_LINES = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#5A6270")


def plot_results(results: dict[str, Any], output: Path) -> Path:
    """Draws a panel for each format to `output` (PNG, PDF or SVG by its ending) and returns that path. Raises
    InputError."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    formats = list(dict.fromkeys(trial["format"] for run in results["runs"] for trial in run["trials"]))
    candidates = list(dict.fromkeys(trial["candidate"] for run in results["runs"] for trial in run["trials"]))
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            1, len(formats), figsize=(1.5 + 3.6 * len(formats), 4.2), sharey=True, squeeze=False
        )
        for axis, name in zip(axes[0], formats):
            axis.set_title(name)
            axis.set_xlabel("ranks")
            axis.set_yscale("log")
            raw = [(run["ranks"], raw_rate_of(run) / 1e6) for run in results["runs"]]
            axis.plot(*zip(*raw), ":", marker=".", color=GREY, label="raw writer beside them")
            for i, candidate in enumerate(candidates):
                points = [
                    (run["ranks"], rate(trial) / 1e6)
                    for run in results["runs"]
                    for trial in run["trials"]
                    if trial["candidate"] == candidate and trial["format"] == name
                ]
                if points:
                    style = "--" if ":" in candidate else "-"
                    axis.plot(*zip(*points), style, marker="o", color=_LINES[i % len(_LINES)], label=name_of(candidate))
            ticks = [run["ranks"] for run in results["runs"]]
            axis.set_xticks(ticks, [str(n) for n in ticks])
        axes[0][0].set_ylabel("MB/s, until all is on the disk")
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, fontsize=8, loc="outside right upper")
        figure.suptitle(f"{results['folder']}   ·   {results['atoms']:,} atoms", x=0.01, ha="left", fontsize=11)
        save(figure, output)
    return output
