"""Draws a map in one picture: times between hosts, the tree of subnets, and bandwidth by message size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.machine.network import Network
from tessera.machine.quantities import bytes_text, names_text, rate_text
from tessera.plots import GREY, STYLE, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9")
_MODEL_BYTES = 128 * 1024  # without measurements, times are the links' for such a message


@dataclass(frozen=True)
class Times:
    """The least times of half a round trip (s): `hosts[i]` (n_hosts, n_hosts) for messages of `sizes[i]` bytes; NaN:
    not measured."""

    sizes: list[int]
    hosts: list[NDArray[np.float64]]


def times_of(measurements: dict[str, Any]) -> Times:
    """Makes the times from `measurements` of a machine file that was checked before."""
    number = {host["name"]: i for i, host in enumerate(measurements["hosts"])}
    values = np.full((len(measurements["sizes"]), len(number), len(number)), np.nan)
    for pair in measurements["pairs"]:
        seconds = [np.nan if s is None else s for s in pair["seconds"]]
        values[:, number[pair["from"]], number[pair["to"]]] = seconds
    mirrored = np.fmin(values, values.transpose(0, 2, 1))  # fills in pairs that were measured in one direction only
    return Times(list(measurements["sizes"]), list(mirrored))


def plot_content(content: dict[str, Any], output: Path, file: str) -> Path:
    """Draws the content of a machine file. Raises InputError."""
    if content.get("network") is None:
        raise InputError(f"{file} holds no network to draw, only one node; measure one with `tessera machine measure`")
    measurements = content.get("measurements")
    times = None if measurements is None else times_of(measurements)
    network = Network.from_json(content["network"])
    title = f"{content['name'] or file}   ·   {len(network.hosts)} hosts"
    return plot_map(network, times, output, title)


def plot_map(network: Network, times: Times | None, output: str | Path, title: str) -> Path:
    """Draws to `output` (PNG, PDF or SVG by its ending) and returns that path. Raises InputError."""
    output = Path(output)
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    times = times if times is not None and times.sizes else None
    order = network.hosts_of(0)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 3, figsize=(15, 4.9), dpi=130, layout="constrained")
        _plot_matrix(axes[0], network, times, order)
        _plot_tree(axes[1], network, order)
        _plot_bandwidth(axes[2], network, times)
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, color=GREY)
        try:
            save(figure, output)
        finally:
            plt.close(figure)
    return output


def _model_times(network: Network) -> NDArray[np.float64]:
    n = len(network.hosts)
    values = np.full((n, n), np.nan)
    for a in range(n):
        for b in range(n):
            if a != b:
                values[a, b] = network.common(a, b).link.time(_MODEL_BYTES)
    return values


def _host_ticks(axes: Axes, network: Network, order: list[int], which: str) -> None:
    step = max(1, math.ceil(len(order) / 32))
    shown = range(0, len(order), step)
    names = [network.hosts[order[i]].name for i in shown]
    size = 8 if len(order) <= 20 else 6
    if "x" in which:
        axes.set_xticks(list(shown), names, rotation=90, fontsize=size)
    if "y" in which:
        axes.set_yticks(list(shown), names, fontsize=size)


def _plot_matrix(axes: Axes, network: Network, times: Times | None, order: list[int]) -> None:
    from matplotlib.colors import LogNorm

    values = times.hosts[-1] if times else _model_times(network)
    values = 1e3 * values[np.ix_(order, order)]
    known = values[np.isfinite(values) & (values > 0)]
    axes.grid(False)
    of = bytes_text(times.sizes[-1] if times else _MODEL_BYTES)
    axes.set_title(f"Time of {of} between hosts" + ("" if times else ", by the links"))
    _host_ticks(axes, network, order, "xy")
    if known.size == 0:
        axes.text(0.5, 0.5, "one host: no network", ha="center", transform=axes.transAxes, color=GREY)
        return
    low, high = float(known.min()), float(known.max())
    norm = LogNorm(low, high if high > 1.05 * low else 1.05 * low)
    axes.set_facecolor("#F0F1F3")
    image = axes.imshow(values, norm=norm, cmap="viridis_r", interpolation="nearest")
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.85, format="%.3g")
    bar.ax.minorticks_off()
    bar.set_label("ms")


def _plot_tree(axes: Axes, network: Network, order: list[int]) -> None:
    """Draws hosts down the side and every subnet as a bracket, which is further to the right where its links are
    slower."""
    row = {host: i for i, host in enumerate(order)}
    axes.set_title("Subnets")
    axes.grid(False)
    axes.invert_yaxis()
    _host_ticks(axes, network, order, "y")
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    depth = network.levels()

    def draw(index: int, level: int) -> tuple[float, float]:
        """Draws a subnet; returns x and y of the point from which it is joined to the one above."""
        subnet = network.subnets[index]
        x = float(depth - level)
        ends = [(0.0, float(row[h])) for h in subnet.hosts] + [draw(part, level + 1) for part in subnet.subnets]
        colour = _LINES[level % len(_LINES)]
        for from_x, y in ends:
            axes.plot([from_x, x], [y, y], color=colour)
        ys = [y for _, y in ends]
        axes.plot([x, x], [min(ys), max(ys)], color=colour, linewidth=4 if subnet.medium == "bus" else 1.5)
        middle = (min(ys) + max(ys)) / 2
        if len(network.hosts_of(index)) > 1:
            text = rate_text(subnet.link.bandwidth)
            if subnet.uplink is not None:
                text += f"\nup-link {rate_text(subnet.uplink)}"
            axes.annotate(text, (x, middle), (4, 2), textcoords="offset points", fontsize=8, color=colour, va="bottom")
        return x, middle

    draw(0, 0)
    axes.set_xlim(-0.05, depth + 0.9)
    axes.text(1, -0.02, "thick: shared medium", transform=axes.transAxes, ha="right", va="top", fontsize=8, color=GREY)


def _plot_bandwidth(axes: Axes, network: Network, times: Times | None) -> None:
    """Draws bandwidth by message size as in Fig. 3.1 of Kristensen et al. (2011), with one line for each class of
    links."""
    axes.set_title("Bandwidth and message size")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("message size (bytes)")
    axes.set_ylabel("bandwidth (Mbit/s)")
    classes: dict[int, list[tuple[int, int]]] = {}
    n = len(network.hosts)
    for a in range(n):
        for b in range(a + 1, n):
            classes.setdefault(network.subnets.index(network.common(a, b)), []).append((a, b))
    alike: dict[str, tuple[int, list[tuple[int, int]]]] = {}  # subnets with the same rate share a line
    for subnet, pairs in sorted(classes.items()):
        label = rate_text(float(f"{network.subnets[subnet].link.bandwidth:.1g}"))
        alike.setdefault(label, (subnet, []))[1].extend(pairs)
    x = np.geomspace(1, 1e7, 100)
    for colour, (subnet, pairs) in zip(_LINES, alike.values()):
        link = network.subnets[subnet].link
        hosts = sorted({host for pair in pairs for host in pair})
        name = names_text([network.hosts[h].name for h in hosts])
        label = f"{rate_text(link.bandwidth)}: {name if len(name) < 28 else f'{len(hosts)} hosts'}"
        axes.plot(x, 8e-6 * x / (link.latency + x / link.bandwidth), color=colour, label=label)
        if times:
            rows, columns = np.array(pairs).T
            for size, values in zip(times.sizes, times.hosts):
                found = np.fmin(values[rows, columns], values[columns, rows])
                found = found[np.isfinite(found) & (found > 0)]
                if found.size:
                    y = 8e-6 * size / found
                    axes.errorbar(
                        size, np.median(y), [[np.median(y) - y.min()], [y.max() - np.median(y)]],
                        color=colour, marker="o", markersize=4, capsize=3,
                    )  # fmt: skip
    if alike:
        axes.legend(fontsize=8, loc="lower right")
    else:
        axes.text(0.5, 0.5, "one host: no network", ha="center", transform=axes.transAxes, color=GREY)
