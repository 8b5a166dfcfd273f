"""Writes results of `tessera io bench` as tables."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from tessera.io.bench import DLPOLY, rate, raw_rate_of
from tessera.machine.quantities import bytes_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.table import Table


def name_of(candidate: str) -> str:
    """Returns a candidate as the tables name it."""
    return candidate.replace(DLPOLY, ", DL_POLY's 8 × 50,000")


def table_of(results: dict[str, Any]) -> Table:
    """Returns a row for each method and format, with MB/s and seconds for each number of ranks."""
    from rich import box
    from rich.table import Table

    runs = results["runs"]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method")
    table.add_column("format")
    for run in runs:
        table.add_column(f"{ranks_text(run['ranks'])}\nMB/s", justify="right")
        table.add_column("\ns", justify="right")
    table.add_row(
        "raw writer",
        "",
        *[
            cell
            for run in runs
            for seconds in [statistics.median(run["raw"]["seconds"])]
            for cell in (f"{run['raw']['bytes'] / seconds / 1e6:,.0f}", f"{seconds:.3f}")
        ],
    )
    rows: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for i, run in enumerate(runs):
        for trial in run["trials"]:
            rows.setdefault((trial["candidate"], trial["format"]), {})[i] = trial
    formats = list(dict.fromkeys(name for _, name in rows))
    for (candidate, name), trials in sorted(rows.items(), key=lambda row: formats.index(row[0][1])):
        cells = []
        for i in range(len(runs)):
            trial = trials.get(i)
            cells += [f"{rate(trial) / 1e6:,.0f}", f"{statistics.median(trial['seconds']):.3f}"] if trial else ["", ""]
        table.add_row(name_of(candidate), name, *cells)
    return table


def left_out(results: dict[str, Any]) -> dict[str, str]:
    """Returns name → why for methods that no job could try."""
    found = {
        candidate.partition(":")[0]: why
        for run in results["runs"]
        for candidate, why in run.get("left_out", {}).items()
    }
    tried = {trial["method"] for run in results["runs"] for trial in run["trials"]}
    return {name: why for name, why in found.items() if name not in tried}


def ratios(results: dict[str, Any]) -> list[tuple[str, str, float]]:
    """Returns what Todorov et al. say of their machines, and the same of ours: (text, theirs, ours),
    those that were measured, with the most ranks."""
    run = results["runs"][-1]
    rates = {(trial["candidate"], trial["format"]): rate(trial) for trial in run["trials"]}
    sizes = {trial["format"]: trial["bytes"] for trial in run["trials"]}
    found: list[tuple[str, str, float]] = []

    def add(text: str, theirs: str, ours: float | None, base: float | None) -> None:
        if ours is not None and base is not None:
            found.append((text, theirs, ours / base))

    def best(name: str, which: Callable[[str], bool] = lambda _: True) -> float | None:
        return max((value for (one, of), value in rates.items() if of == name and which(one)), default=None)

    pdaw = rates.get(("pdaw", "text"))
    add("pdaw over sdaw-printf, text", "≥ 10", pdaw, rates.get(("sdaw-printf", "text")))
    add("pdaw over sdaw, text", "≥ 10", pdaw, rates.get(("sdaw", "text")))
    tuned = best("text", lambda one: one.startswith("mpiw") and ":" in one)
    untuned = best("text", lambda one: one.startswith("mpiw") and ":" not in one)
    add("mpiw by tuning, text", "up to 2", tuned, untuned)
    printed, netcdf = rates.get(("sdaw-printf", "text")), rates.get(("sncw", "netcdf"))
    if printed and netcdf:
        found.append(
            ("sdaw-printf, text, over sncw, time", "1.5 to 10", (sizes["text"] / printed) / (sizes["netcdf"] / netcdf))
        )
    if "text" in sizes and "binary" in sizes:
        found.append(("text over binary, bytes", "3", sizes["text"] / sizes["binary"]))
        fastest = best("text"), best("binary")
        if fastest[0] and fastest[1]:
            ours = (sizes["text"] / fastest[0]) / (sizes["binary"] / fastest[1])
            found.append(("text over binary, time", "3", ours))
    return found


def ratio_table(results: dict[str, Any]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(f"with {ranks_text(results['runs'][-1]['ranks'])}")
    table.add_column("paper", justify="right")
    table.add_column("here", justify="right")
    for text, theirs, ours in ratios(results):
        table.add_row(text, theirs, f"{ours:.2g}" if ours < 10 else f"{ours:.0f}")
    return table


def recommendation(results: dict[str, Any], choices: dict[str, Any]) -> str:
    """Says for each format what the map recommends with the most ranks, and its speed beside the raw writer that took
    turns with it."""
    run = results["runs"][-1]
    raw = raw_rate_of(run)
    lines = []
    for name, choice in choices.items():
        same = [trial for trial in run["trials"] if trial["format"] == name and is_chosen(trial, choice)]
        share = (
            f"; {max(map(rate, same)) / raw:.0%} of the raw writer beside {ranks_text(run['ranks'])}" if same else ""
        )
        lines.append(
            f"{name}: {choice['method']} with {choice['writers'] or 'as many as it likes'} writers, batches of "
            f"{choice['batch']:,} atoms, buffers of {bytes_text(choice['buffer'])} ({choice['reason']}{share})"
        )
    return "\n".join(lines)


def is_chosen(trial: dict[str, Any], choice: dict[str, Any]) -> bool:
    """Tells whether a trial was made as a map recommends it."""
    return all(trial[key] == choice[key] for key in ("method", "writers", "batch", "buffer"))


def ranks_text(n: int) -> str:
    return f"{n} {'rank' if n == 1 else 'ranks'}"
