"""Statuses as runs write them, in folders as runs leave them."""

from __future__ import annotations

import datetime
import json
import math
import os
import socket
from pathlib import Path
from typing import Any


def status(**changes: Any) -> dict[str, Any]:
    """Returns the content of a status.json of this process, written in an hour: so it is new, however slow a test."""
    return {
        "format": "tessera-status",
        "version": 1,
        "state": "running",
        "process": {"host": socket.gethostname(), "id": os.getpid(), "tessera": "0.1.0"},
        "time": time_text(-3600),
        "interval_seconds": 1.0,
        "end": None,
        "kind": "dynamics",
        "n_atoms": 3000,
        "ranks": 4,
        "threads": 2,
        "step": 1200,
        "first_step": 0,
        "last_step": 50000,
        "time_ps": 2.4,
        "timestep_ps": 0.002,
        "seconds": 10.0,
        "steps_per_second": 120.0,
        "ns_per_day": 20.7,
        "seconds_left": 406.7,
        "energies": {
            "step": 1200, "potential": -9876.5, "kinetic": 1789.25, "total": -8087.25, "conserved": -8087.5,
            "temperature": 301.25, "pressure": -12.5, "density": 0.9971,
        },
        "drift": {"value": 0.004, "half_width": 0.002, "confidence": 0.95},
        "phases": [{"name": "pair forces", "seconds": 6.0}, {"name": "mesh: forces", "seconds": 2.0}],
        "imbalance": {"first": 1.31, "last": 1.07, "moves": 2},
        "network": None,
    } | changes  # fmt: skip


NETWORK = {
    "source": "the map cluster.json",
    "is_measured": True,
    "hosts": [
        {"name": f"n{number}", "ranks": 2, "first_rank": 2 * number, "subnet": 1 + number // 2} for number in range(4)
    ],
    "subnets": [
        {"parent": -1, "medium": "bus", "latency_seconds": 4e-5, "bytes_per_second": 1.2e8},
        {"parent": 0, "medium": "fabric", "latency_seconds": 2e-6, "bytes_per_second": 1.2e10},
        {"parent": 0, "medium": "unknown", "latency_seconds": 2e-6, "bytes_per_second": 1.2e10},
    ],
}


def time_text(seconds_ago: float) -> str:
    """Returns a time in the past as a run writes it."""
    moment = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=seconds_ago)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}Z"


def write(folder: Path, **changes: Any) -> Path:
    """Writes a status into a run's folder, which is made, and returns the folder."""
    folder.mkdir(exist_ok=True)
    (folder / "status.json").write_text(json.dumps(status(**changes)))
    return folder


def table(rows: int) -> str:
    """Returns an energy.csv of so many rows, 0.2 ps apart."""
    lines = [
        "step,time [ps],bond [kcal/mol],potential [kcal/mol],kinetic [kcal/mol],total [kcal/mol],conserved [kcal/mol],"
        "temperature [K],pressure [bar],density [g/cm³],drift [kT/ns/dof]"
    ]
    for i in range(rows):
        wave = math.sin(0.7 * i) + 0.3 * math.sin(0.11 * i)
        drift = "nan" if i < 8 else f"{0.2 / i:.6g}"
        lines.append(
            f"{100 * i},{0.2 * i:.6g},12.5,{-9876.5 - 20 * wave},{1789.25 + 20 * wave},{-8087.25 + 0.01 * wave},"
            f"{-8087.5 + 0.002 * wave},{300 + 4 * wave},{-12 + 150 * wave},{0.997 + 0.001 * wave},{drift}"
        )
    return "\n".join(lines) + "\n"
