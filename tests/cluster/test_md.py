"""On an emulated cluster neighbouring cells go to ranks of one host; the bits of a run stay those of one process, also
by plans of its map."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cluster import launch
from tests.cluster.racks import emulable_racks
from tests.support.runs import Runs, Settings
from tests.support.samples import sample

STEPS: Settings = {"dynamics.steps": 20, "output.energy_every": 1, "parallel.balance": False}


@pytest.mark.mpi
@pytest.mark.parametrize("mpi", launch.MPIS)
def test_neighbours_stand_on_one_host(mpi: str, runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    racks = emulable_racks(tmp_path, monkeypatch)
    ways: dict[str, Settings] = {
        "numbered": {"parallel.reorder": False},
        "hosts": {},
        "map": {"parallel.machine": str(tmp_path / "map.json")},
    }
    halo = {}
    with launch.cluster_of(racks) as cluster:
        for way, settings in ways.items():
            path = runs.run_file(sample("half_empty"), {**STEPS, **settings}, f"{mpi}-{way}")
            program = [str(launch.program("tessera-md", mpi)), str(path)]
            words, environment = launch.command(program, launch.shuffled(racks, 1), mpi=mpi)
            done = launch.start(cluster, words, environment, capture=True)
            assert done.returncode == 0, done.stdout + done.stderr
            report = json.loads((path.parent / "output" / "report.json").read_text())
            assert report["state_hash"] == runs.hash_of_one_rank(sample("half_empty"), STEPS)
            halo[way] = report["halo"]
            # The sums of energies, at the start and in each step, of which the first ten are the library's.
            planned = {one["bytes"]: one["calls"] for one in report["collectives"] if one["operation"] == "all_reduce"}
            assert planned.get(1024) == (21 - 10 if way == "map" else None)
            assert "come from another of 4 hosts" in done.stdout
    assert {one["hosts"] for one in halo.values()} == {4}
    numbered = halo["numbered"]["cells_between_hosts"]
    for way in ways:
        assert halo[way]["cells_between_hosts_as_numbered"] == numbered
        assert halo[way]["cells_between_hosts"] == numbered or way != "numbered"
        assert halo[way]["cells_between_hosts"] < numbered or way == "numbered"
