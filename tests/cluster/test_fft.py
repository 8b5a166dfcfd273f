"""On an emulated cluster the map decides which part of a transform each rank has; the bits stay those of one
process."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cluster import launch
from tests.cluster.racks import emulable_racks
from tests.support import fft_cases
from tests.support.programs import LIBRARIES, ROOT


@pytest.mark.parametrize("mpi", launch.MPIS)
def test_ranks_stand_along_the_network(mpi: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks that are scattered over hosts take other places than their numbers; nothing else changes."""
    racks = emulable_racks(tmp_path, monkeypatch)
    cases = [
        {"shape": (12, 9, 10), "kind": kind, "dtype": "float64", "batch": None, "threads": 1, "scheme": scheme,
         "shared_memory": True, "exchange": exchange}
        for kind, scheme, exchange in (
            ("r2c", "pencil", "auto"),
            ("c2c", "2d_alltoall", "collectives"),
            ("r2c", "auto", "alltoall"),
        )
    ]  # fmt: skip
    (tmp_path / "cases.json").write_text(json.dumps({"fft": cases}))
    program = [
        "env",
        f"PYTHONPATH={ROOT / 'python'}:{ROOT}",
        f"MPI4PY_LIBMPI={LIBRARIES[mpi]}",
        f"TESSERA_MACHINE={tmp_path / 'map.json'}",
        sys.executable,
        "-m",
        "tests.arrays.array_cases",
        str(tmp_path / "cases.json"),
    ]
    with launch.cluster_of(racks) as cluster:
        words, environment = launch.command(program, launch.shuffled(racks, 1), mpi=mpi)
        done = launch.start(cluster, words, environment, capture=True)
    assert done.returncode == 0, done.stdout + done.stderr
    digests, summaries = zip(*(json.loads(line)[1] for line in done.stdout.splitlines()), strict=True)
    assert list(digests) == [fft_cases.run(one, None)[0] for one in cases]
    said = [line for summary in summaries for line in summary.splitlines() if "ranks stand" in line]
    assert len(said) == 3
    assert all(str(tmp_path / "map.json") in line for line in said)
    assert "ranks stand as numbered" not in said[0] + said[1]
    carried = [line for summary in summaries for line in summary.splitlines() if "exchanges: " in line]
    assert "direct" in carried[1] or "gathered" in carried[1]
    assert "exchanges: alltoall>" in carried[2]
