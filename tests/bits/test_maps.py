"""A map changes how a run's collective operations are carried out, and no bit (test_bitwise.py has runs with plans)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.runs import Runs, Settings
from tests.support.samples import sample

# Nothing here needs the map before the run begins.
STEPS: Settings = {
    "dynamics.steps": 4,
    "interactions.electrostatics": "shift",
    "parallel.reorder": False,
}


@pytest.mark.mpi
@pytest.mark.parametrize(("mpi", "ranks"), [("openmpi", 3), ("mpich", 2)])
def test_a_map_of_other_hosts_is_of_no_use(runs: Runs, tmp_path: Path, mpi: str, ranks: int) -> None:
    link = {"latency": 1e-6, "bandwidth": 1e9}
    network = {"hosts": [{"name": "elsewhere", "slots": 8}], "subnets": [{"hosts": ["elsewhere"], "link": link}]}
    path = tmp_path / "map.json"
    path.write_text(json.dumps({"format": "tessera-machine", "version": 3, "network": network}))
    found = runs.run(sample("peptide"), {**STEPS, "parallel.machine": str(path)}, mpi=mpi, ranks=ranks)
    (note,) = [line for line in found.process.stderr.splitlines() if "the MPI library's own collectives" in line]
    assert note.startswith("tessera-md: note: ")
    assert found.report["collectives"] == []
    assert found.hash == runs.hash_of_one_rank(sample("peptide"), STEPS)
