"""Copies of a system are written without being in memory, and the file is the same with any memory."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera.build import streamed
from tessera.build.copies import Copies
from tessera.build.nacl import crystal
from tessera.build.water import make_water, tiles
from tessera.ranks import EndedElsewhere, Ranks, fork, launched
from tessera.system import System, read, write
from tessera.system.box import in_vectors, reduced
from tests.support.programs import TESSERA, run_program
from tests.systems.strategies import systems

COUNTS = st.tuples(*[st.integers(1, 4)] * 3)


def simple_copies(system: System, count: tuple[int, int, int]) -> System:
    """Makes the same atom by atom."""
    original, copy = [], []
    first = 0
    sizes = system.template_sizes()
    for template, instances in system.runs:
        atoms = np.arange(first, first + sizes[template] * instances)
        first = atoms[-1] + 1
        for number in range(int(np.prod(count))):
            original.append(atoms)
            copy.append(np.full(len(atoms), number))
    rows, numbers = np.concatenate(original), np.concatenate(copy)
    turns = (system.fraction[rows] * 2.0**-32 + np.stack(np.unravel_index(numbers, count), axis=1)) / count
    fraction = np.rint((turns - np.rint(turns)) * 2.0**32).astype(np.int64).astype(np.int32)
    box = system.box * np.array(count, float)[:, None]
    made = Copies(system, count, system.fraction * 2.0**-32, "copies").system
    made.fraction = in_vectors(fraction, box, reduced(box))
    made.velocity = None if system.velocity is None else system.velocity[rows]
    return made


@pytest.mark.parametrize("processes", [2, 3, 8])
def test_files_are_the_same_by_any_number_of_processes(tmp_path: Path, processes: int) -> None:
    made = tiles(50_000)
    write(made.system, tmp_path / "one.tsr", made.parts(1))
    fork(processes, lambda ranks: write(made.system, tmp_path / "many.tsr", made.parts(1), ranks))
    assert (tmp_path / "many.tsr").read_bytes() == (tmp_path / "one.tsr").read_bytes()


@settings(deadline=None, max_examples=40)
@given(system=systems(), count=COUNTS, at_once=st.integers(1, 300), memory=st.sampled_from([1, 10**5, 10**9]))
def test_files_are_the_same_with_any_memory(
    system: System, count: tuple[int, int, int], at_once: int, memory: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("copies")
    # Instances of a template are numbered by the template alone: copies have no numbers of their own.
    system.residue_numbers = np.zeros((0, 4), np.int64)
    write(simple_copies(system, count), folder / "simple.tsr")
    made = Copies(system, count, system.fraction * 2.0**-32, "copies")
    before, streamed.MOST_AT_ONCE = streamed.MOST_AT_ONCE, at_once
    try:
        write(made.system, folder / "parts.tsr", made.parts(memory))
    finally:
        streamed.MOST_AT_ONCE = before
    assert (folder / "parts.tsr").read_bytes() == (folder / "simple.tsr").read_bytes()
    again = made.in_memory()
    assert np.array_equal(again.fraction, simple_copies(system, count).fraction)


def test_a_crystal_is_the_one_of_its_lattice() -> None:
    found = crystal(1000).in_memory()
    place = found.fraction.astype(np.int64) * 2 * 5  # in half edges of a unit cell
    steps = np.rint(place / 2.0**32).astype(int)
    assert np.abs(place / 2.0**32 - steps).max() < 1e-8
    assert len({tuple(s) for s in steps % 10}) == found.n_atoms == 1000
    assert set(steps[:500].sum(axis=1) % 2) == {0} and set(steps[500:].sum(axis=1) % 2) == {1}


def test_whole_tiles_are_the_liquid(tmp_path: Path) -> None:
    made = tiles(10_000, seed=3)
    assert made.count == (2, 3, 3) and made.system.n_atoms == 18 * 648
    write(made.system, tmp_path / "tiles.tsr", made.parts(1))
    found = read(tmp_path / "tiles.tsr")
    assert found.n_atoms == 18 * 648
    cube = make_water(8 * 648, seed=3)
    eight = tiles(8 * 648, seed=3).in_memory()
    assert np.abs(eight.box - cube.box).max() < 1e-9
    assert {tuple(p) for p in np.round(eight.positions() + 0.01, 1) % eight.box[0, 0]} == {
        tuple(p) for p in np.round(cube.positions() + 0.01, 1) % cube.box[0, 0]
    }


PEAK = """
import resource, sys
from tessera.build.nacl import crystal
from tessera.system import write
made = crystal(int(sys.argv[1]))
write(made.system, sys.argv[2], made.parts(10**9))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_system(tmp_path: Path) -> None:
    def peak(ions: int) -> int:
        command = [sys.executable, "-c", PEAK, str(ions), str(tmp_path / "salt.tsr")]
        return int(run_program(command).stdout) * 1024

    small, large = peak(1_000_000), peak(8_000_000)
    assert large - small < 7_000_000 * 8, (small, large)  # an id of each atom would be more


def test_errors_of_forks() -> None:
    """What goes wrong in a fork, also where it is killed, is an error here; nothing hangs."""

    def fail(ranks: Ranks) -> None:
        ranks.all(1)
        if ranks.rank == 1:
            raise ValueError("no more atoms")
        ranks.all(2)

    def die(ranks: Ranks) -> None:
        if ranks.rank == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        ranks.all(1)

    with pytest.raises(EndedElsewhere, match="no more atoms"):
        fork(3, fail)
    with pytest.raises(EndedElsewhere, match="was killed"):
        fork(3, die)
    with pytest.raises(ZeroDivisionError):
        fork(3, lambda ranks: ranks.all(1 if ranks.rank else 1 / 0))


LAUNCHERS = [
    ({}, None),
    ({"OMPI_COMM_WORLD_SIZE": "4"}, "openmpi"),
    ({"PMI_SIZE": "4"}, "mpich"),
    ({"PMI_SIZE": "1", "SLURM_STEP_NUM_TASKS": "4"}, None),
    ({"SLURM_STEP_NUM_TASKS": "4", "PMIX_RANK": "0"}, "openmpi"),
    ({"SLURM_STEP_NUM_TASKS": "4"}, "mpich"),
]


@pytest.mark.parametrize(("environment", "expected"), LAUNCHERS)
def test_launchers_are_known_by_their_variables(environment: dict[str, str], expected: str | None) -> None:
    assert launched(environment) == expected


def test_the_summary_says_where_memory_goes(tmp_path: Path) -> None:
    command = [*TESSERA, "make", "nacl", "--ions", "500000", "-o", tmp_path / "salt.tsr"]
    found = json.loads(run_program([*command, "--json"]).stdout)["memory"]
    assert found["libraries_bytes"] < found["peak_bytes"] < 10**9 and {"building", "writing"} <= set(found["phases"])
    assert found["phases"]["writing"]["bytes_per_atom"] > 20
    assert "MB at the peak" in run_program(command).stdout
