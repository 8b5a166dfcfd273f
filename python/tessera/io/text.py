"""Writes results of `tessera io bench` as tables."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from tessera.io.bench import DLPOLY, rate, raw_rate
from tessera.machine.quantities import bytes_text

if TYPE_CHECKING:
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
        ranks = f"{run['ranks']} {'rank' if run['ranks'] == 1 else 'ranks'}"
        table.add_column(f"{ranks}\nMB/s", justify="right")
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

    def best(prefix: str, name: str = "text") -> float | None:
        return max((value for (one, of), value in rates.items() if one.startswith(prefix) and of == name), default=None)

    pdaw = rates.get(("pdaw", "text"))
    add("pdaw over sdaw-printf, text", "≥ 10", pdaw, rates.get(("sdaw-printf", "text")))
    add("pdaw over sdaw, text", "≥ 10", pdaw, rates.get(("sdaw", "text")))
    usual = [value for name in ("mpiw-independent", "mpiw-collective") if (value := rates.get((name, "text")))]
    add("mpiw by tuning, text", "up to 2", best("mpiw"), min(usual, default=None))
    printed, netcdf = rates.get(("sdaw-printf", "text")), rates.get(("sncw", "netcdf"))
    if printed and netcdf:
        found.append(
            ("sdaw-printf, text, over sncw, time", "1.5 to 10", (sizes["text"] / printed) / (sizes["netcdf"] / netcdf))
        )
    if "text" in sizes and "binary" in sizes:
        found.append(("text over binary, bytes", "3", sizes["text"] / sizes["binary"]))
        fastest = best(""), best("", "binary")
        if fastest[0] and fastest[1]:
            ours = (sizes["text"] / fastest[0]) / (sizes["binary"] / fastest[1])
            found.append(("text over binary, time", "3", ours))
    return found


def ratio_table(results: dict[str, Any]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(f"with {results['runs'][-1]['ranks']} ranks")
    table.add_column("paper", justify="right")
    table.add_column("here", justify="right")
    for text, theirs, ours in ratios(results):
        table.add_row(text, theirs, f"{ours:.2g}" if ours < 10 else f"{ours:.0f}")
    return table


def recommendation(results: dict[str, Any], choices: dict[str, Any]) -> str:
    """Says for each format what the map recommends."""
    lines = []
    for name, choice in choices.items():
        rates = [
            rate(trial)
            for run in results["runs"]
            for trial in run["trials"]
            if trial["format"] == name and trial["method"] == choice["method"]
        ]
        share = max(rates, default=0) / raw_rate(results)
        lines.append(
            f"{name}: {choice['method']} with {choice['writers'] or 'as many as it likes'} writers, batches of "
            f"{choice['batch']:,} atoms, buffers of {bytes_text(choice['buffer'])} "
            f"({choice['reason']}; {share:.0%} of the raw writer)"
        )
    return "\n".join(lines)
