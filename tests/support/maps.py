"""A map of the machine on which plans carry out collective operations, whatever the model says."""

from __future__ import annotations

import json
import socket
from functools import cache
from pathlib import Path

from tests.support.programs import ENGINES, FLAVOURS, RANKS, run_program
from tests.support.samples import folder

OPERATIONS = ("barrier", "broadcast", "gather", "all_gather", "all_to_all", "all_reduce")
SIZES = [4**power for power in range(1, 12, 2)]  # bytes; a trial counts for sizes within a factor of four


def _library(mpi: str) -> str:
    """Returns the name that the MPI library gives itself."""
    said = run_program([ENGINES / f"tessera-md-{mpi}", "--version"]).stdout
    return said.split("(", 1)[1].rsplit(", ", 1)[0]


@cache
def map_of_plans() -> Path:
    """Writes a map of this host with trials of both MPI libraries, in which these took a second."""
    trials = [
        {"library": library, "operation": operation, "ranks": ranks, "bytes": size, "entry": "native",
         "predicted": 1e-6, "seconds": 1.0}
        for library in map(_library, FLAVOURS) for operation in OPERATIONS for ranks in RANKS for size in SIZES
    ]  # fmt: skip
    name, link = socket.gethostname(), {"latency": 1e-6, "bandwidth": 1e9}
    host = {"name": name, "slots": RANKS[-1], "inside": link}
    network = {"hosts": [host], "subnets": [{"hosts": [name], "link": link}]}
    path = folder() / "map-of-plans.json"
    path.write_text(json.dumps({"format": "tessera-machine", "version": 3, "network": network, "trials": trials}))
    return path
