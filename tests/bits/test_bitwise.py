"""A trajectory is the same, bit for bit, on any number of ranks and threads, with any MPI, on any processor, and across
restarts."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.bits.bit_rows import DHFR, ROWS, SHORT, Row, combination, system_file
from tests.support.maps import map_of_plans
from tests.support.programs import ENGINES, FLAVOURS, RANKS, run_program
from tests.support.runs import Outcome, Runs, Settings, with_set
from tests.support.samples import sample

RANKS_OF_CAMPAIGN = (1, 2, 3, 4, 6, 8)
LONG: Settings = {**DHFR, "dynamics.steps": 200, "output.energy_every": 50}


def check(runs: Runs, name: str, settings: Settings, mpi: str, ranks: int, threads: int) -> None:
    alone = runs.hash_of_one_rank(sample(name), settings)
    found = runs.run(sample(name), settings, mpi=mpi, ranks=ranks, threads=threads)
    assert found.report["ranks"] == ranks and found.report["threads"] == threads
    assert found.hash == alone
    rows = found.table
    assert rows["step"][-1] == settings["dynamics.steps"]


# Every two of these settings meet in the first four rows.
@pytest.mark.parametrize(
    ("constraints", "electrostatics", "precision"),
    [
        ("none", "pme", "mixed"),
        ("none", "shift", "double"),
        ("h-bonds", "shift", "mixed"),
        ("h-bonds", "pme", "double"),
        pytest.param("none", "pme", "double", marks=pytest.mark.slow(part="bits")),
        pytest.param("none", "shift", "mixed", marks=pytest.mark.slow(part="bits")),
        pytest.param("h-bonds", "shift", "double", marks=pytest.mark.slow(part="bits")),
        pytest.param("h-bonds", "pme", "mixed", marks=pytest.mark.slow(part="bits")),
    ],
)
def test_settings(runs: Runs, constraints: str, electrostatics: str, precision: str) -> None:
    """Bits do not depend on ranks and threads, with any forces and constraints."""
    settings: Settings = {
        **SHORT,
        "dynamics.timestep": 0.5,
        "dynamics.com_removal_every": 7,
        "parallel.precision": precision,
        "interactions.electrostatics": electrostatics,
        "dynamics.constraints": constraints,
    }
    alone = runs.run(sample("peptide"), settings)
    threaded = runs.run(sample("peptide"), settings, threads=2)
    assert threaded.hash == alone.hash
    assert (threaded.folder / "energy.csv").read_text() == (alone.folder / "energy.csv").read_text()


@pytest.mark.parametrize("steps", [0, 1, 20])
def test_lists_that_last_longer_or_shorter(runs: Runs, steps: float) -> None:
    """The lifetime of a pair list changes only the speed, because pairs beyond the cut-off add zeros."""
    settings: Settings = {**SHORT, "parallel.list_steps": steps}
    alone = runs.run(sample("peptide"), SHORT)
    assert runs.run(sample("peptide"), settings, threads=2).hash == alone.hash


# These are state hashes after 200 steps, with every setting at its default and energies every 10 steps. They hold for
# any processor. A commit that changes bits says so in the changelog and writes the new hashes here.
GOLDEN = {
    "dhfr": "af23d7bbceaf12dc188a782ff911bc58b0e7187710bef35e63b67b6b2e1e658d",
    "apoa1": "f9ae8491ce495a91e1f6ee5a2857fa00dbb6d49ff916a3692e7d7bb5183728ae",
    "water": "0e2df72524491c82574d8d891c24b2d1d96f43041e0746fa16de792d865c8028",
}
FULL: Settings = {
    "interactions.cutoff": "auto",
    "interactions.switch": "auto",
    "dynamics.steps": 200,
    "output.energy_every": 10,
}

NPT: Settings = {"dynamics.ensemble": "npt", "dynamics.coupling_every": 2}
MTK: Settings = {**NPT, "dynamics.thermostat": "nose-hoover", "dynamics.barostat": "mtk"}
RESPA: Settings = {"dynamics.timestep": 1.0, "dynamics.direct_every": 2, "dynamics.mesh_every": 4}
# Sample, settings and state hash of short runs of other kinds, on any processor.
KINDS: dict[str, tuple[str, Settings, str]] = {
    "langevin": (
        "peptide",
        {"dynamics.ensemble": "nvt", "dynamics.thermostat": "langevin"},
        "e069b161fdf7a8d21640174f346beb435f209ddc82019214772285304faf888d",
    ),
    "bussi_and_c_rescale": ("peptide", NPT, "96828bf5e6239f2e571249ffac9498dac0947fc0bbdbff3ce4e611b65838da95"),
    "mtk": ("peptide", MTK, "e2b9e09c079395442bf973f8fea2e4c63608244aec9c6d5de884823f91439231"),
    "monte_carlo": (
        "peptide",
        {**NPT, "dynamics.barostat": "monte-carlo", "dynamics.monte_carlo_every": 5},
        "f298d3195dac6bfe313cabd604634c2507e46233c9747c7078926e7648a6e80f",
    ),
    "respa": (
        "peptide",
        {**RESPA, "output.energy_every": 8},
        "4a16332482fa0d7c750a9114477948f8a472ee5a351f3d68a316907428510cd3",
    ),
    "lj_pme": (
        "peptide",
        {"interactions.lj": "pme"},
        "a386cf57930ffad438a58ecff1975b2099a5b26d9e3aee41b777e596fe4d17a1",
    ),
    "awkward_mesh": (
        "peptide",
        {"pme.grid": [33, 26, 67]},
        "5ef9d40dc41fbc17d9e175880b82ed094629567f3750e240149b2e51a6ed4c06",
    ),
    "order_6": ("peptide", {"pme.order": 6}, "66329dfd9d3a837f0c63d6d710acdf9e0e08ec1f6e7a9bd403af14a4d7de2b21"),
    "order_8": ("peptide", {"pme.order": 8}, "7abe143d6e9557b543d508ffb5f67b441b0dfca1b1c725465fc0a1cb9621607d"),
    "triclinic": ("octahedron", MTK, "c7065bb407f5c98afaf20e78a9245ba8d9074f4199ae2c32462e5af60cbe3615"),
    "four_sites": ("four_site_water", NPT, "2063a05fd451bc59c0f97c051bb38932617014714e3166b8fed399fdd249555f"),
    "double": (
        "peptide",
        {"parallel.precision": "double", "dynamics.steps": 10},
        "b0bf2e86ddd384d748324eff90ffe08ebbc287f20277c67c0e3521f6b991a6bf",
    ),
}


def check_golden(runs: Runs, name: str, **sizes: Any) -> None:
    assert runs.run(sample(name), FULL, **sizes).hash == GOLDEN[name]


def test_golden_hash(runs: Runs) -> None:
    check_golden(runs, "dhfr", threads=2)


def check_kind(runs: Runs, kind: str, **sizes: Any) -> None:
    name, settings, golden = KINDS[kind]
    assert runs.run(sample(name), {**SHORT, **settings}, **sizes).hash == golden


TABLE = {**{kind: Row(name, {**SHORT, **more}, golden=golden) for kind, (name, more, golden) in KINDS.items()}, **ROWS}


def begin(runs: Runs, row: Row) -> Path:
    path = runs.run_file(system_file(row.system), row.settings)
    path.write_text(path.read_text() + row.sections)
    return path


@pytest.fixture(scope="module")
def alone(runs: Runs) -> Callable[[str], Outcome]:
    """Returns the run of a row on one rank; it is run once."""

    @cache
    def run(name: str) -> Outcome:
        row = TABLE[name]
        found = runs.start(begin(runs, row))
        assert row.acts is None or row.acts(found), "what the row tests has not happened"
        assert found.hash == (row.golden or found.hash)
        return found

    return run


#: rows of which another row runs the same code: a second length of a list, another coupling of a bath, one more mode
SECOND_SAMPLES = {
    "searches every 4", "late searches 0.24", "dodecahedron", "octahedron isotropic", "octahedron anisotropic",
    "bussi c-rescale", "nose-hoover berendsen", "langevin monte-carlo", "baths of parts bussi",
    "baths of parts langevin", "leapfrog", "tip5p", "ions", "replicated in three time steps", "replicated vacuum",
}  # fmt: skip


#: rows whose pairs, meshes, boxes or lists a GPU is told of in ways of their own; a mesh is that of one rank
ON_DEVICE = {
    "monte_carlo", "respa", "lj_pme", "double", "ions", "ions of nine types", "ions that part in a vacuum",
    "replicated data", "octahedron anisotropic", "between two searches, at one, and after one",
}  # fmt: skip
#: those of which a device does whole steps
MOVED_THERE = {"monte_carlo", "lj_pme", "octahedron anisotropic"}
WITH_MESH = {"monte_carlo", "lj_pme", "respa", "octahedron anisotropic"}


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("name", "turn"),
    [
        pytest.param(name, turn, marks=pytest.mark.slow(part="bits") if turn or name in SECOND_SAMPLES else ())
        for turn in range(5)
        for name in TABLE
    ],
)
def test_equal_bits(runs: Runs, alone: Callable[[str], Outcome], name: str, turn: int) -> None:
    """The state and every printed digit are those of one rank, also where plans of a map carry out sums and moves. The
    place in the table and the turn choose the ranks."""
    row, turn = TABLE[name], turn + list(TABLE).index(name)
    path, expected = begin(runs, row), alone(name)
    for leg, last in enumerate((*row.restarts, row.settings["dynamics.steps"])):
        mpi, ranks, threads = combination(turn + leg)
        ranks = min(ranks, row.most_ranks)
        words = [*(["--restart"] if leg else []), "--set", f"dynamics.steps={last}"]
        is_planned = (turn + leg) % 3 == 0
        words += ["--set", f"parallel.machine={map_of_plans()}"] if is_planned else []
        found = runs.start(path, *words, mpi=mpi, ranks=ranks, threads=threads)
        assert bool(found.report["collectives"]) == is_planned
        assert (found.report["ranks"], found.report["threads"]) == (ranks, threads)
    assert found.hash == expected.hash
    assert (found.folder / "energy.csv").read_text() == (expected.folder / "energy.csv").read_text()


@pytest.mark.mpi
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in ON_DEVICE else pytest.mark.slow(part="bits")) for name in TABLE],
)
def test_equal_bits_on_a_device(runs: Runs, alone: Callable[[str], Outcome], device: dict[str, Any], name: str) -> None:
    """Pairs, bonded terms and meshes by a GPU change no bit, and a checkpoint does not tell what has left it."""
    row, turn = TABLE[name], list(TABLE).index(name)
    path = begin(runs, row)
    for leg, last in enumerate((*row.restarts, row.settings["dynamics.steps"])):
        mpi, ranks, threads = combination(turn + leg)
        chosen = "cpu" if leg % 2 else "gpu"
        words = [*(["--restart"] if leg else []), f"--set=dynamics.steps={last}", f"--set=parallel.device={chosen}"]
        env = {**device["env"], "TESSERA_FAKE_DRIVER": f"seed={1 + turn % 3}"}
        ranks = 1 if name in WITH_MESH else min(ranks, row.most_ranks, 3)
        sizes = {"mpi": mpi, "ranks": ranks, "threads": threads}
        found = runs.start(path, *words, **sizes, **device | {"env": env})
        is_used = chosen == "gpu" and row.settings.get("parallel.precision") != "double"
        results = found.report["results"]
        for key in ("device", "bonded_device"):
            assert results[key] == ("Fake 0" if is_used else "cpu")
        # All meshes of the table are even along x.
        has_mesh = is_used and ranks == 1 and results["pme_grid"][0] > 0
        assert results["mesh_device"] == ("Fake 0" if has_mesh else "cpu")
        assert (results["steps_on_device"] > 0) == (has_mesh and name in MOVED_THERE), results["steps_on_device"]
    assert found.hash == alone(name).hash
    assert (found.folder / "energy.csv").read_text() == (alone(name).folder / "energy.csv").read_text()


@pytest.mark.mpi
def test_a_device_that_fails(runs: Runs, device: dict[str, Any]) -> None:
    """The run says so, and goes on without it to the same end, or stops with a checkpoint. Without a device a run ends
    at the start."""
    settings: Settings = {**SHORT, "parallel.device": "gpu"}
    fails = {**device, "env": {**device["env"], "TESSERA_FAKE_DRIVER": "fail_call=300"}}
    found = runs.run(sample("peptide"), settings, mpi="openmpi", ranks=2, **fails)
    assert "Fake 0: cu" in found.process.stderr and "the run goes on by the CPU" in found.process.stderr
    assert found.report["results"]["device"] == "cpu"
    assert found.hash == runs.hash_of_one_rank(sample("peptide"), SHORT)
    path = runs.run_file(sample("peptide"), {**settings, "parallel.on_device_error": "stop"})
    stopped = runs.start(path, mpi="mpich", ranks=3, check=False, status=1, **fails)
    assert stopped.process.stderr.count("Fake 0: cu") == 1 and "checkpoint is written" in stopped.process.stderr
    assert 0 < stopped.report["last_step"] < SHORT["dynamics.steps"]
    assert runs.start(path, "--restart", "--set=parallel.device=cpu").hash == found.hash
    fails["env"]["TESSERA_FAKE_DRIVER"] = "devices=2 fail_call=300"  # ranks of a host take its devices in turn
    several = runs.run(sample("peptide"), settings, mpi="mpich", ranks=3, **fails)
    assert [several.process.stderr.count(f"Fake {number}: cu") for number in range(2)] == [2, 1]
    none = {**device, "env": {**device["env"], "TESSERA_FAKE_DRIVER": "devices=0"}}
    refused = runs.run(sample("peptide"), settings, mpi="mpich", ranks=3, check=False, status=1, **none)
    assert refused.process.stderr.count("the NVIDIA driver finds no GPU") == 1


IN_PYTHON = """
import sys, threading, tessera
settings = {"dynamics": {"seed": 3}, "parallel": {"device": sys.argv[2]}, "interactions": {"cutoff": 9, "switch": 8}}
sim = tessera.Simulation(sys.argv[1], settings)
for _ in range(2):  # as programs with windows do
    thread = threading.Thread(target=sim.step, args=(5,))
    thread.start()
    thread.join()
print(sim.state_hash)
"""


def test_python_uses_a_device(device: dict[str, Any]) -> None:
    """On whatever thread it does a step. What fails there would be told."""
    env = {**device["env"], "TESSERA_BIN": str(device["engines"])}
    done = [
        run_program([sys.executable, "-c", IN_PYTHON, sample("peptide"), chosen], env=env) for chosen in ("cpu", "gpu")
    ]
    assert done[0].stdout == done[1].stdout and len(done[0].stdout) > 9
    assert [one.stderr for one in done] == ["", ""]


def test_memory_of_a_device_is_planned(runs: Runs, device: dict[str, Any]) -> None:
    """With what the device needs for searches, which it makes itself."""
    few = {"dynamics.steps": 5, "parallel.device": "gpu", "parallel.pair_search_every": 3}
    path = runs.run_file(sample("dhfr"), {**DHFR, **few})
    planned = json.loads(runs.run_engine("--explain", path, "--json", "--measured-steps", "0").stdout)["predicted"]
    results = runs.start(path, **device).report["results"]
    assert planned["device_megabytes_a_rank"] == pytest.approx(results["device_bytes"] / 1e6, rel=0.15)
    assert results["steps_on_device"] >= 4


@pytest.mark.mpi
def test_each_mode_goes_on_from_the_other(runs: Runs) -> None:
    """Replicated data change no bit, and a checkpoint does not tell which mode has left it."""
    path = runs.run_file(sample("peptide"), SHORT)
    legs = [("cells", 10, 3, "mpich"), ("replicated", 25, 5, "openmpi"), ("cells", 40, 2, "openmpi")]
    for leg, (mode, last, ranks, mpi) in enumerate(legs):
        words = [*(["--restart"] if leg else []), "--set", f"parallel.mode={mode}", "--set", f"dynamics.steps={last}"]
        found = runs.start(path, *words, mpi=mpi, ranks=ranks)
        assert "bit for bit" not in found.process.stderr
    assert found.hash == runs.hash_of_one_rank(sample("peptide"), SHORT)


def test_the_table_has_all_combinations() -> None:
    assert set(TABLE) > SECOND_SAMPLES and set(TABLE) > ON_DEVICE
    quick = {combination(turn) for turn, name in enumerate(TABLE) if name not in SECOND_SAMPLES}
    assert len(quick) == 2 * len(FLAVOURS) * len(RANKS)


#: kinds whose kernels no other kind has; the best set is that of `test_equal_bits`
WITH_OWN_KERNELS = ("lj_pme", "order_6", "order_8", "triclinic", "four_sites", "double")


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind in WITH_OWN_KERNELS else pytest.mark.slow(part="bits")) for kind in KINDS],
)
def test_kinds_on_each_instruction_set(runs: Runs, instruction_sets: list[str], kind: str) -> None:
    for instruction_set in instruction_sets[1:]:
        check_kind(runs, kind, threads=2, env=with_set(instruction_set))


def test_restarts_with_other_instruction_sets(runs: Runs, instruction_sets: list[str]) -> None:
    """A checkpoint goes on with another set, to the same end and without a note."""
    name, settings, golden = KINDS["langevin"]
    path = runs.run_file(sample(name), {**SHORT, **settings})
    pieces = [*instruction_sets, instruction_sets[0]]
    for index, instruction_set in enumerate(pieces):
        restart = ["--restart"] if index else []
        last = 40 * (index + 1) // len(pieces)
        found = runs.start(path, *restart, "--set", f"dynamics.steps={last}", env=with_set(instruction_set))
        assert found.report["versions"]["simd"] == instruction_set
        assert "bit for bit" not in found.process.stderr
    assert found.hash == golden


@pytest.mark.slow(part="bits")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("ranks", RANKS_OF_CAMPAIGN)
@pytest.mark.parametrize("name", GOLDEN)
def test_golden_hashes_on_any_ranks(runs: Runs, name: str, ranks: int, threads: int) -> None:
    check_golden(runs, name, mpi="openmpi", ranks=ranks, threads=threads)


@pytest.mark.slow(part="bits")
@pytest.mark.parametrize("name", GOLDEN)
def test_golden_hashes_with_each_instruction_set(runs: Runs, instruction_sets: list[str], name: str) -> None:
    for instruction_set in instruction_sets:
        if instruction_set != "EMU128" or name == "dhfr":  # which takes twenty times as long
            check_golden(runs, name, threads=2, env=with_set(instruction_set))


@pytest.mark.slow(part="bits")
def test_a_box_that_changes_in_every_step() -> None:
    """DHFR gives the same bits on 1, 3 and 4 ranks, and after fresh starts in between, while the box changes as under a
    barostat."""
    program = ENGINES.parent / "test" / "app_test"
    run_program([program, "--gtest_filter=Box.OfARealSystem*"], env={"TESSERA_TEST_SYSTEM": str(sample("dhfr"))})


def in_pieces(runs: Runs, name: str, settings: Settings, mpi: str, pieces: list[tuple[int, int, int]]) -> str:
    """Returns the hash after restarts. Each piece of the run is given by its last step, ranks and threads."""
    path = runs.run_file(sample(name), settings)
    for index, (last, ranks, threads) in enumerate(pieces):
        restart = ["--restart"] if index else []
        sizes = {"mpi": mpi, "ranks": ranks, "threads": threads}
        found = runs.start(path, *restart, "--set", f"dynamics.steps={last}", **sizes)
    return found.hash


@pytest.mark.slow(part="bits")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("ranks", RANKS_OF_CAMPAIGN)
def test_dhfr_200_steps(runs: Runs, mpi: str, ranks: int, threads: int) -> None:
    check(runs, "dhfr", LONG, mpi, ranks, threads)


@pytest.mark.slow(part="bits")
def test_dhfr_200_steps_with_restarts(runs: Runs, mpi: str) -> None:
    pieces = [(33, 1, 1), (70, 8, 1), (101, 3, 2), (150, 6, 1), (177, 2, 2), (200, 4, 1)]
    assert in_pieces(runs, "dhfr", LONG, mpi, pieces) == runs.hash_of_one_rank(sample("dhfr"), LONG)


@pytest.mark.slow(part="bits")
@pytest.mark.parametrize("ranks", [5, 12])
def test_apoa1(runs: Runs, mpi: str, ranks: int) -> None:
    check(runs, "apoa1", {**DHFR, "dynamics.steps": 20, "dynamics.timestep": 1.0}, mpi, ranks, 1)
