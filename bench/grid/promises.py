"""What is promised of grids, and how much of it the records keep, for the page on performance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from bench.cluster.overlap import LEAST, NEAR
from bench.cluster.stencils import CHOICE, ORDER
from bench.common.records import table_of, value
from bench.common.results import number
from bench.grid.poisson import PEERS, POINTS
from bench.grid.stencil import PROMISED_FLOAT, PROMISED_HALO, PROMISED_SHARE

GPAW = 1.0  # times the speed of GPAW's own code, at least


@dataclass(frozen=True)
class Promise:
    """A claim of a record, the numbers that it is about, what is promised of them, and how many keep it."""

    record: str
    claim: str
    found: tuple[float, ...]
    promised: str
    met: int
    of: int


def cells(record: str, title: str) -> list[dict[str, str]]:
    """Returns the rows of a record's table with that column, by its titles."""
    header, *rows = table_of(record, title)
    return [dict(zip(header, row)) for row in rows]


def promise(record: str, claim: str, found: list[float], *, least: float = 0.0, most: float = 0.0) -> Promise:
    """Returns a promise of numbers that are at least, or at most, so large."""
    met = [one <= most if most else one >= least for one in found]
    promised = f"≤ {most:g}" if most else f"≥ {least:g}"
    return Promise(record, f"{claim}, {len(found)} cases", tuple(found), f"{promised} in each", sum(met), len(met))


def promises() -> Iterator[Promise]:
    stencils = [row for row in cells("stencil", "of the triad") if row["points"] in ("144³", "192³")]
    large, single = ([row for row in stencils if row["dtype"] == dtype] for dtype in ("float64", "float32"))
    yield promise("stencil", "Stencils: share of the triad's rate", [value(row["of the triad"]) for row in large],
                  least=PROMISED_SHARE)  # fmt: skip
    yield promise("stencil", "Stencils: time on two ranks over that of two threads",
                  [value(row["two ranks' time"]) for row in large], most=PROMISED_HALO)  # fmt: skip
    rates = [[value(row["million points/s"]) for row in rows] for rows in (single, large)]
    yield promise("stencil", "Stencils: speed in single precision over double",
                  [one / other for one, other in zip(*rates, strict=True)], least=PROMISED_FLOAT)  # fmt: skip
    solved = [row for row in cells("poisson", "times the speed") if row["ranks"] == "2"]
    solved = [row for row in solved
              if row["points"] == f"{POINTS[row['edges']][1]}³" and row["times the speed"] != "–"]  # fmt: skip
    for name, least in (("fast", 4.0), ("fd", 5.0)):
        found = [value(row["times the speed"]) for row in solved
                 if PEERS[row["edges"]][row["method"]] == (name, least)]  # fmt: skip
        yield promise("poisson", f"Potentials: speed over GPAW's {name}", found, least=least)
    by_operation: dict[str, list[float]] = {}
    for row in cells("gpaw", "operation"):
        by_operation.setdefault(row["operation"], []).append(value(row["times the speed"]))
    for name, found in by_operation.items():
        yield promise("gpaw", f"Under GPAW, {name}: times the speed", found, least=GPAW)
    yield promise("gpaw", "Under GPAW, whole runs: times the speed",
                  [value(row["times the speed"]) for row in cells("gpaw", "run")], least=GPAW)  # fmt: skip
    clusters = cells("grid_cluster", "time of the choice / quickest")
    yield promise("grid_cluster", "Emulated clusters: time of the model's choice of a stencil over the quickest",
                  [value(row["time of the choice / quickest"]) for row in clusters], most=CHOICE)  # fmt: skip
    measured: dict[str, dict[str, float]] = {}
    for row in cells("grid_cluster", "gain by batches"):
        measured.setdefault(row["network"], {})[row["approach"]] = value(row["ms"])
    for slow, quick in ORDER:
        found = [its[slow] / its[quick] for its in measured.values() if slow in its and quick in its]
        yield promise("grid_cluster", f"Emulated clusters: time of {slow} over {quick}", found, least=1.0)
    shares = []
    for row in cells("grid_overlap", "overlap"):
        ratio = value(row["messages, ms"]) / max(value(row["computing, ms"]), 1e-9)
        if row["network"] != "one host" and 1 / NEAR <= ratio <= NEAR:
            shares.append(float(row["overlap"][:-1]) / 100 if row["overlap"].endswith("%") else 0.0)
    yield promise("grid_overlap", "Messages of stencils between hosts: share that computing hides", shares, least=LEAST)
    claims = cells("scale_grid", "agrees")
    agree = sum(row["agrees"] == "yes" for row in claims)
    yield Promise("scale_grid", f"Stencils on 16,384 cores: claims of Kristensen et al. (2011), {len(claims)} of them",
                  (float(agree),), "all agree", agree, len(claims))  # fmt: skip


def rows() -> list[list[str]]:
    """Returns rows of the page: claim, found, promised, met, record."""
    found = []
    for one in promises():
        middle = number(median(one.found))
        spread = f" ({number(min(one.found))}–{number(max(one.found))})" if len(one.found) > 1 else ""
        met = "yes" if one.met == one.of else f"in {one.met}" if one.met else "**no**"
        found.append([one.claim, middle + spread, one.promised, met, f"[{one.record}](records/{one.record}.md)"])
    return found
