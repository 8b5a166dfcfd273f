"""A trajectory is the same, bit for bit, on any number of ranks and threads, with any MPI, on any processor, and across
restarts."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from conftest import ENGINES

from parallel.runs import Runs, Settings, with_set
from parallel.samples import sample

RANKS = (1, 2, 3, 4, 6, 8)
SHORT: Settings = {"dynamics.steps": 40, "output.energy_every": 10}
DHFR: Settings = {"interactions.cutoff": 12.0, "interactions.switch": 10.0}
PAIR_SCHEMES = ("list_aos", "list_soa", "cell_flag_aos", "cell_flag_soa")  # all but the defaults
LONG: Settings = {**DHFR, "dynamics.steps": 200, "output.energy_every": 50}


def check(runs: Runs, name: str, settings: Settings, mpi: str, ranks: int, threads: int) -> None:
    alone = runs.hash_of_one_rank(sample(name), settings)
    found = runs.run(sample(name), settings, mpi=mpi, ranks=ranks, threads=threads, timeout=600)
    assert found.report["ranks"] == ranks and found.report["threads"] == threads
    assert found.hash == alone
    rows = found.table
    assert rows["step"][-1] == settings["dynamics.steps"]


@pytest.mark.parametrize(("ranks", "threads"), [(1, 2), (2, 1), (3, 2), (4, 1), (6, 1), (8, 2)])
def test_peptide(runs: Runs, mpi: str, ranks: int, threads: int) -> None:
    check(runs, "peptide", SHORT, mpi, ranks, threads)


@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize("electrostatics", ["pme", "shift"])
@pytest.mark.parametrize("constraints", ["none", "h-bonds"])
def test_settings(runs: Runs, precision: str, electrostatics: str, constraints: str) -> None:
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


@pytest.mark.mpi
@pytest.mark.parametrize("function", ["analytic", "table"])
@pytest.mark.parametrize("scheme", PAIR_SCHEMES)
def test_pair_schemes(runs: Runs, scheme: str, function: str) -> None:
    """Each scheme and function has other bits than the others, which are the same on any number of ranks and threads,
    with energies and with searches at times that differ between ranks."""
    settings: Settings = {
        **SHORT,
        "dynamics.steps": 12,
        "output.energy_every": 4,
        "parallel.pair_scheme": scheme,
        "interactions.pair_function": function,
    }
    alone = runs.run(sample("peptide"), settings)
    assert alone.report["results"]["pair_scheme"] == scheme
    many = runs.run(sample("peptide"), settings, mpi="mpich", ranks=3, threads=2)
    assert many.hash == alone.hash
    assert (many.folder / "energy.csv").read_text() == (alone.folder / "energy.csv").read_text()
    other_lists = runs.run(sample("peptide"), {**settings, "parallel.list_steps": 0}, threads=2)
    assert other_lists.hash == alone.hash


def test_the_pair_schemes_are_all(run_engine: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    sections = json.loads(run_engine("--schema").stdout)["sections"]
    keys = next(section["keys"] for section in sections if section["name"] == "parallel")
    known = next(key["allowed"] for key in keys if key["name"] == "pair_scheme")
    assert set(known) == {"auto", "cluster", "reference", *PAIR_SCHEMES}


@pytest.mark.mpi
@pytest.mark.parametrize("every", [1, 4, 25])
def test_searches_at_other_steps_are_the_same_on_any_ranks(runs: Runs, every: int) -> None:
    settings: Settings = {**SHORT, "parallel.pair_search_every": every, "parallel.buffer": 1.0}
    check(runs, "peptide", settings, "mpich", 4, 1)


@pytest.mark.mpi
@pytest.mark.parametrize("buffer", [0.1, 0.24])
def test_searches_that_no_rank_has_foreseen(runs: Runs, buffer: float) -> None:
    """Forces and energies that were summed before a late search are discarded."""
    settings: Settings = {**SHORT, "parallel.buffer": buffer, "output.energy_every": 1}
    alone = runs.run(sample("peptide"), settings)
    assert alone.report["results"]["pair_searches"] > 12
    many = runs.run(sample("peptide"), settings, mpi="openmpi", ranks=4)
    assert many.hash == alone.hash
    assert (many.folder / "energy.csv").read_text() == (alone.folder / "energy.csv").read_text()


@pytest.mark.parametrize("steps", [0, 1, 20])
def test_lists_that_last_longer_or_shorter(runs: Runs, steps: float) -> None:
    """The lifetime of a pair list changes only the speed, because pairs beyond the cut-off add zeros."""
    settings: Settings = {**SHORT, "parallel.list_steps": steps}
    alone = runs.run(sample("peptide"), SHORT)
    assert runs.run(sample("peptide"), settings, threads=2).hash == alone.hash


@pytest.mark.parametrize(("ranks", "threads"), [(3, 2), (8, 1)])
def test_dhfr(runs: Runs, mpi: str, ranks: int, threads: int) -> None:
    check(runs, "dhfr", {**DHFR, "dynamics.steps": 12}, mpi, ranks, threads)


# These are state hashes after 200 steps, with every setting at its default and energies every 10 steps. They hold for
# any processor. A commit that changes bits says so in the changelog and writes the new hashes here.
GOLDEN = {
    "dhfr": "bd588531a82cba4ccd8cdbeb0d7d4b9d3a5b299c05bf4b2d37621a7a09b27668",
    "apoa1": "8e555c29ec12a14906f932d5458c51651d535ce54925a678b82c76ad1aadae35",
    "water": "fb5cf9699400d5c9d65a07ac7c0bd0b63499188813f85cf4eb5754ccc540d350",
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
        "e842bba6a03d3a0aa4dbb59d2209ce6bf6de8ad732b51512b83070f2c9abb415",
    ),
    "bussi_and_c_rescale": ("peptide", NPT, "b77567175495e7f76ef3878c93a8bffa0c8e4e2d76c1a845e54b8bf075250514"),
    "mtk": ("peptide", MTK, "bc2d5a21180709f226d574b769c2b54f4d69096264af03321effac76ef04623e"),
    "monte_carlo": (
        "peptide",
        {**NPT, "dynamics.barostat": "monte-carlo", "dynamics.monte_carlo_every": 5},
        "ba9812cc9cf71bbe5b2ba55d1c2aca8218bd536d00af970bdcc838b67ce125bc",
    ),
    "respa": (
        "peptide",
        {**RESPA, "output.energy_every": 8},
        "58ad6013a5dd18a1050040d5b8bc419f36ce92c0f0181f1c52d3c6c32c34cedc",
    ),
    "lj_pme": (
        "peptide",
        {"interactions.lj": "pme"},
        "bc3716170b0a41bd37d404b1fea8e97c9b0e3f75e6ddf24950f1f3f8cc83dcac",
    ),
    "awkward_mesh": (
        "peptide",
        {"pme.grid": [33, 26, 67]},
        "f67008d471653ab3bbfecc00b8309f357c0168d721f1f54383233073793f66eb",
    ),
    "order_6": ("peptide", {"pme.order": 6}, "617baadfe0c70d905bf9dd28fd0337d2c5179b43b6c985f9b9975e087d9c3172"),
    "order_8": ("peptide", {"pme.order": 8}, "e1f2ffc7d475e93ff54ed60b3eb6126acdb25b6d91b0cdaae2b95360bb8c65d5"),
    "table": (
        "peptide",
        {"interactions.pair_function": "table"},
        "bd05e49d65854ce2bb3026788de05c3823b3cea2a08b435054c38720dc95286d",
    ),
    "triclinic": ("octahedron", MTK, "d989e768d8c93e1a99550f6dd669298cef9525e3d530b80d15d7b95581f5d488"),
    "four_sites": ("four_site_water", NPT, "8e5fc249e421ed751731ebe1bd2ffdd568dae3486e81c9ba0e969a78dc4ce093"),
    "double": (
        "peptide",
        {"parallel.precision": "double", "dynamics.steps": 10},
        "dd2ed980aab73233c682e5eda3651a470a14122475f5131abd0731afd9d80e2c",
    ),
}


def check_golden(runs: Runs, name: str, **sizes: Any) -> None:
    assert runs.run(sample(name), FULL, timeout=1200, **sizes).hash == GOLDEN[name]


def test_golden_hash(runs: Runs) -> None:
    check_golden(runs, "dhfr", threads=2)


def check_kind(runs: Runs, kind: str, **sizes: Any) -> None:
    name, settings, golden = KINDS[kind]
    assert runs.run(sample(name), {**SHORT, **settings}, **sizes).hash == golden


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_on_each_instruction_set(runs: Runs, instruction_sets: list[str], kind: str) -> None:
    for instruction_set in instruction_sets:
        check_kind(runs, kind, threads=2, env=with_set(instruction_set))


@pytest.mark.mpi
@pytest.mark.parametrize("kind", KINDS)
def test_kinds_on_any_ranks(runs: Runs, kind: str) -> None:
    check_kind(runs, kind)
    check_kind(runs, kind, mpi="openmpi", ranks=3)


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


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6, 8])
@pytest.mark.parametrize("name", GOLDEN)
def test_golden_hashes_on_any_ranks(runs: Runs, name: str, ranks: int, threads: int) -> None:
    check_golden(runs, name, mpi="openmpi", ranks=ranks, threads=threads)


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
def test_golden_hashes_with_each_instruction_set(runs: Runs, instruction_sets: list[str], name: str) -> None:
    for instruction_set in instruction_sets:
        if instruction_set != "EMU128" or name == "dhfr":  # which takes twenty times as long
            check_golden(runs, name, threads=2, env=with_set(instruction_set))


@pytest.mark.slow
def test_a_box_that_changes_in_every_step(run_program: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """DHFR gives the same bits on 1, 3 and 4 ranks, and after fresh starts in between, while the box changes as under a
    barostat."""
    program = ENGINES.parent / "test" / "app_test"
    run_program(
        [program, "--gtest_filter=Box.OfARealSystem*"], env={"TESSERA_TEST_SYSTEM": str(sample("dhfr"))}, timeout=900
    )


def test_energy_rows_are_the_same(runs: Runs, mpi: str) -> None:
    """Not only the state but every printed digit of every term is the same."""
    alone = runs.run(sample("peptide"), SHORT)
    found = runs.run(sample("peptide"), SHORT, mpi=mpi, ranks=4)
    assert (found.folder / "energy.csv").read_text() == (alone.folder / "energy.csv").read_text()


def in_pieces(runs: Runs, name: str, settings: Settings, mpi: str, pieces: list[tuple[int, int, int]]) -> str:
    """Returns the hash after restarts. Each piece of the run is given by its last step, ranks and threads."""
    path = runs.run_file(sample(name), settings)
    for index, (last, ranks, threads) in enumerate(pieces):
        restart = ["--restart"] if index else []
        sizes = {"mpi": mpi, "ranks": ranks, "threads": threads, "timeout": 600}
        found = runs.start(path, *restart, "--set", f"dynamics.steps={last}", **sizes)
    return found.hash


def test_restarts_on_other_ranks(runs: Runs, mpi: str) -> None:
    """The run is interrupted between two searches, at a search, and one step after a search."""
    alone = runs.hash_of_one_rank(sample("peptide"), SHORT)
    assert in_pieces(runs, "peptide", SHORT, mpi, [(5, 3, 1), (20, 1, 2), (21, 4, 1), (40, 2, 1)]) == alone


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("ranks", RANKS)
def test_dhfr_200_steps(runs: Runs, mpi: str, ranks: int, threads: int) -> None:
    check(runs, "dhfr", LONG, mpi, ranks, threads)


@pytest.mark.slow
def test_dhfr_200_steps_with_restarts(runs: Runs, mpi: str) -> None:
    pieces = [(33, 1, 1), (70, 8, 1), (101, 3, 2), (150, 6, 1), (177, 2, 2), (200, 4, 1)]
    assert in_pieces(runs, "dhfr", LONG, mpi, pieces) == runs.hash_of_one_rank(sample("dhfr"), LONG)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [5, 12])
def test_apoa1(runs: Runs, mpi: str, ranks: int) -> None:
    check(runs, "apoa1", {**DHFR, "dynamics.steps": 20, "dynamics.timestep": 1.0}, mpi, ranks, 1)
