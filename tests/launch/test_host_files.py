"""Launchers accept the host files that are written for them."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from tests.support.programs import ENGINES, TESSERA, mpirun, run_program


@pytest.mark.parametrize(("mpi", "order"), [("openmpi", "cartesian"), ("mpich", "hypercube"), ("mpich", "ring")])
def test_a_launcher_takes_its_file(tmp_path: Path, mpi: str, order: str) -> None:
    """Starts four ranks on this host, which is the only one in the map."""
    host = {"name": socket.gethostname(), "slots": 4}
    leaf = {"hosts": [host["name"]], "link": {"latency": 0, "bandwidth": 0}, "medium": "unknown"}
    content = {"format": "tessera-machine", "version": 3, "network": {"hosts": [host], "subnets": [leaf]}}
    map_file, hosts = tmp_path / "map.json", tmp_path / "hosts"
    map_file.write_text(json.dumps(content))
    words = ["hostfile", map_file, "--format", mpi, "--order", order, "-o", hosts]
    words += ["--dims", "2,2"] if order == "cartesian" else []
    run_program([*TESSERA, "machine", *words])

    option = {"openmpi": ["--map-by", "seq", "--hostfile"], "mpich": ["-f"]}[mpi]
    command = [*mpirun(mpi, 4), *option, hosts, ENGINES / f"tessera-collectives-{mpi}", "grid", "--dims", "4"]
    assert json.loads(run_program(command).stdout)["ranks"] == [0, 1, 2, 3]
