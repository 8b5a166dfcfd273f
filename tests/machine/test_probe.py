"""Tests the probe on this machine (one host), and on an emulated cluster where tests/cluster can build one."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.programs import ENGINES, Run, in_turns, mpirun, run_program


@pytest.fixture
def probe(mpi: str) -> Path:
    path = ENGINES / f"tessera-probe-{mpi}"
    if not path.exists():
        pytest.fail(f"{path} is missing: make build")
    return path


def read(path: Path) -> dict[str, Any]:
    content = json.loads(path.read_text())
    assert isinstance(content, dict)
    return content


@in_turns(1, 2, 5)
def test_one_host_has_an_inside_only(mpi: str, ranks: int, probe: Path, tmp_path: Path) -> None:
    path = tmp_path / "here.json"
    done = run_program([*mpirun(mpi, ranks), probe, "-o", path, "--seconds", "5", "--repeats", "2"])
    assert "all ranks are on one host" in done.stderr
    found = read(path)
    (host,) = found["network"]["hosts"]
    assert host["slots"] == ranks
    assert found["name"] == "here"
    assert found["cores"] == os.cpu_count() or found["threads"] == os.cpu_count()
    if ranks == 1:
        assert host["inside"] is None
    else:
        # Which times there are depends on what else the machine does; derive_network_test.cpp gives them instead.
        assert all(time > 0 for time in inside(found["measurements"]))
        assert host["inside"]["bandwidth"] > 0 and host["inside"]["latency"] >= 0
    assert list(tmp_path.iterdir()) == [path]  # no temporary is left


def test_merge_keeps_the_least(mpi: str, probe: Path, tmp_path: Path) -> None:
    first, both = tmp_path / "first.json", tmp_path / "both.json"
    start = [*mpirun(mpi, 2), probe, "--seconds", "5", "--repeats", "1", "-q"]
    run_program([*start, "-o", first])
    times = read(first)["measurements"]
    run_program([*start, "-o", both, "--merge", first])
    merged = read(both)["measurements"]
    assert merged["sizes"] == times["sizes"]
    assert len(inside(merged)) == len(times["sizes"])
    assert all(new <= old for old, new in zip(inside(times), inside(merged)))


def inside(measurements: dict[str, Any]) -> list[float]:
    """Returns the times inside the first host by message size, in seconds."""
    return list(measurements["hosts"][0]["inside"])


def test_check_knows_this_host_and_not_another(mpi: str, probe: Path, tmp_path: Path) -> None:
    path, other = tmp_path / "here.json", tmp_path / "other.json"
    run_program([*mpirun(mpi, 2), probe, "-o", path, "--seconds", "5", "-q"])
    holds = run_program([*mpirun(mpi, 2), probe, "--check", path])
    assert f"{path}: holds" in holds.stdout
    name = read(path)["network"]["hosts"][0]["name"]
    other.write_text(path.read_text().replace(f'"{name}"', '"elsewhere"'))
    stale = run_program([*mpirun(mpi, 2), probe, "--check", other], check=False)
    assert stale.returncode == 1
    assert name in stale.stdout
    assert f"{other}: stale; measure again" in stale.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "give either -o MAP"),
        (["-o", "/no/such/folder/map.json"], "there is no folder /no/such/folder"),
        (["-o", "/"], "/: is a folder"),
        (["-o", "map.json", "--merge", "none.json"], "none.json"),
        (["--check", "none.json"], "none.json"),
        (["-o", "map.json", "--sizes", "0"], "--sizes"),
        (["-o", "map.json", "--seconds", "soon"], "--seconds"),
    ],
)
def test_bad_arguments_are_named(tmp_path: Path, arguments: list[str], says: str) -> None:
    """A program of Open MPI starts alone without mpirun."""
    check_refusal(
        run_program([ENGINES / "tessera-probe-openmpi", *arguments], cwd=tmp_path, check=False), says, tmp_path
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "map.json", "--merge", "none.json"], "none.json"),  # the root reads the map
        (["-o", "map.json", "--sizes", "0"], "--sizes"),  # each rank reads the words
    ],
)
def test_ranks_agree_on_bad_arguments(mpi: str, probe: Path, tmp_path: Path, arguments: list[str], says: str) -> None:
    check_refusal(run_program([*mpirun(mpi, 2), probe, *arguments], cwd=tmp_path, check=False), says, tmp_path)


def check_refusal(done: subprocess.CompletedProcess[str], says: str, folder: Path) -> None:
    assert done.returncode == 2
    assert done.stderr.count(says) == 1, done.stderr
    assert not (folder / "map.json").exists()


@pytest.mark.slow(part="cluster")
@pytest.mark.parametrize(
    "spec", ["eco-three-segments", "eco-switched", "fat-and-slow", "crow8-pairs", "crow8-100+1000", "racks-64"]
)
def test_emulated_cluster(mpi: str, spec: str, probe: Path, on_cluster: Run, tmp_path: Path) -> None:
    """The probe finds the tree of the spec and the rates of its wires, and tells media and up-links apart."""
    from tests.cluster.spec import Wire
    from tests.cluster.spec import read as read_spec

    cluster = read_spec(spec)
    path = tmp_path / "map.json"
    done = on_cluster(spec, mpi, probe, "-o", path)
    said = re.search(r"(\d+) hosts in (\d+) subnets, (\d+) of (\d+) pairs measured", done.stderr)
    assert said is not None, done.stderr
    hosts, _, measured, pairs = map(int, said.groups())
    assert measured < pairs / 2 if hosts > 32 else measured == pairs
    root, *leaves = read(path)["network"]["subnets"]
    assert root["parts"] == list(range(1, len(leaves) + 1))
    nearest: dict[str, set[str]] = {}  # the hosts of each network, by each host's first card
    for host, cards in cluster.cards.items():
        nearest.setdefault(cards[-1], set()).add(host)
    assert sorted(sorted(leaf["hosts"]) for leaf in leaves) == sorted(map(sorted, nearest.values()))

    def carried(rate: float) -> float:
        """Returns bytes/s of messages, which have 1448 of 1538 bytes on the wire."""
        return rate / 8 * 1448 / 1538

    # The 10 % allow for the MPI library's protocol and the noise of the emulation.
    between = cluster.path_rate(leaves[0]["hosts"][0], leaves[1]["hosts"][0])
    assert root["link"]["bandwidth"] == pytest.approx(carried(between), rel=0.1)
    for leaf in leaves:
        inside = set(leaf["hosts"])
        a, b, *_ = leaf["hosts"]
        assert leaf["link"]["bandwidth"] == pytest.approx(carried(cluster.path_rate(a, b)), rel=0.1)
        is_bus = any(net.is_bus and {a, b} <= set(net.hosts) for net in cluster.networks.values())
        if len(inside) > 2:
            assert leaf["medium"] == ("bus" if is_bus else "fabric")
        ways_out = [set(cluster.wires(a, b)) for a in inside for b in set(cluster.hosts) - inside]
        shared: set[Wire] = set.intersection(*ways_out)
        if shared:
            slowest = min(wire.rate for wire in shared)
            assert leaf["uplink"] == pytest.approx(carried(slowest), rel=0.1)
        else:
            assert leaf["uplink"] is None
