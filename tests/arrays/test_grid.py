"""tessera.grid gives NumPy's results under both MPIs, and the same bits on any ranks and threads, by any approach."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from tessera.grid import Grid, GridError, Stencil, approaches
from tests.arrays import one_launch
from tests.arrays.grid_cases import run
from tests.support.drawn import Case, examples
from tests.support.programs import LIBRARIES, RANKS, in_turns, mpirun, run_program

APPROACHES = ["flat-original", "flat-optimized", "hybrid-master-only", "hybrid-multiple"]
lengths = st.one_of(st.integers(1, 14), st.sampled_from([24, 33]))
case = st.fixed_dictionaries(
    {
        "shape": st.tuples(lengths, lengths, lengths),
        "cell": st.sampled_from(
            [None, [3.0, 4.0, 5.0], [[6.0, 0.0, 0.0], [2.0, 5.0, 0.0], [-1.0, 1.0, 7.0]]],
        ),
        "periodic": st.tuples(st.booleans(), st.booleans(), st.booleans()),
        "angles": st.tuples(*[st.sampled_from([0.0, 0.7, -2.0])] * 3),
        "dtype": st.sampled_from(["float32", "float64", "complex64", "complex128"]),
        "order": st.sampled_from([2, 4, 8, 12]),
        "fields": st.sampled_from([None, 1, 5]),
        "batch": st.sampled_from([None, 1, 2, 3]),
        "slope": st.integers(0, 2),
        "threads": st.sampled_from([1, 2]),
    }
)


def cases(ranks: int = 1) -> list[Case]:
    """Returns cases with every approach, and of transfers to a coarser grid, which need none. Many ranks take turns on
    few cores, so they get fewer."""
    found: list[Case] = []
    many = random.Random(8)
    for one in examples(case, 25, 8):
        if len(found) % (5 * (len(APPROACHES) + 1)) == 0:  # as many as users have, of few points
            one |= {"fields": many.randint(20, 64), "batch": many.randint(5, 32)}
            one["shape"] = tuple(4 + n % 6 for n in one["shape"])
        found.extend({**one, "approach": approach} for approach in [*APPROACHES, None])
    if ranks > 2:
        found = found[: (10 if ranks <= 5 else 5) * (len(APPROACHES) + 1)]
    if ranks > 3:  # many fields in batches alone, as each message waits until all ranks had a core
        found = [one for one in found if (one["fields"] or 1) < 20 or one["approach"] in ("flat-optimized", None)]
    return found


def test_approaches_are_those_tested() -> None:
    assert approaches() == APPROACHES


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    """Returns the digests of cases from this process alone, which has compared the results with NumPy's."""
    found = [run(one, None) for one in cases()]
    count = len(APPROACHES) + 1
    assert all(found[i::count] == found[::count] for i in range(1, count - 1))
    return {json.dumps(one): digest for one, digest in zip(cases(), found)}


@in_turns(*RANKS, also=(1, 4, 6, 8))
def test_same_bits_as_one_process(mpi: str, ranks: int, expected: dict[str, str]) -> None:
    found = one_launch.results(mpi, ranks, "grid")
    assert not [case for case, ours in zip(cases(ranks), found) if ours != expected[json.dumps(case)]]


def test_a_wave_has_its_eigenvalue() -> None:
    """∇² of a plane wave in an oblique cell is −k² times it, the more exactly the higher the order."""
    cell = np.array([[6.0, 0.0, 0.0], [2.0, 5.0, 0.0], [-1.0, 1.0, 7.0]])
    grid = Grid((30, 28, 32), cell=cell)
    k = 2 * np.pi * np.linalg.inv(cell) @ [1, -1, 2]
    points = np.stack(np.meshgrid(*map(np.arange, grid.shape), indexing="ij"), axis=-1) @ grid.steps
    wave = np.exp(1j * points @ k)
    errors = []
    for order in (2, 4, 6, 8):
        found = grid.operator(grid.laplacian(order), dtype=complex)(wave)
        errors.append(np.abs(found / wave + k @ k).max() / (k @ k))
        slope = grid.operator(grid.gradient(0, order), dtype=complex)(wave)
        assert np.abs(slope / wave - 1j * k[0]).max() < 0.1 / order**2
    assert errors[0] < 0.05 and all(b < 0.15 * a for a, b in pairwise(errors))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Grid((4, 0, 4)), "shape is (4, 0, 4)"),
        (lambda: Grid((4, 4, 4), cell=(1.0, 2.0)), "expected three lengths or three edges"),
        (lambda: Grid((4, 4, 4), periodic=[True, True]), "expected True, False or three of them"),
        (lambda: Grid((4, 4, 4), processes=(2, 1, 1)), "2 × 1 × 1 processes need 2 ranks; there are 1"),
        (lambda: Grid((4, 4, 4)).laplacian(3), "a stencil of order 3; expected 2, 4, 6, 8, 10 or 12"),
        (lambda: Grid((4, 4, 4)).gradient(3), "axis is 3"),
        (lambda: Grid((4, 4, 4)).operator(Stencil([[0, 0, 0]], [1.0]), dtype=int), "dtype is <class 'int'>"),
        (lambda: Grid((4, 4, 4)).operator(Stencil([[0, 0, 0]], [1.0]), phases=(1, 1, 2)), "absolute value 1"),
        (lambda: Grid((4, 4, 4)).operator(Stencil([[0, 0, 0]], [1.0]), phases=(1, 1, -1)), "complex fields"),
        (lambda: Grid((4, 4, 4)).operator(Stencil([[0, 0, 0]], [1.0]), approach="no"), 'approach "no"; expected flat'),
        (lambda: Grid((4, 4, 4)).operator(Stencil([[0, 0, 0]], [1.0]))(np.zeros((4, 4, 3))), "this rank's part has"),
        (lambda: Grid((4, 5, 4)).coarser(), "5 points along y, periodic; expected an even number of at least 2"),
        (lambda: Grid((4, 4, 4)).restriction(Grid((2, 3, 2))), "grids of 3 and 4 points along y, periodic"),
        (lambda: Grid((4, 4, 4)).restriction(Grid((2, 2, 2)), order=5), "order 5 of a transfer; expected 1 to 4"),
        (lambda: Grid((4, 4, 4)).interpolation(Grid((8, 8, 8)), phases=(1, 1, -1)), "expected 1 for real fields"),
        (lambda: Grid((4, 4, 4)).interpolation(4), "4 is no grid on the same ranks"),
        (lambda: Grid((4, 4, 4)).restriction(Grid((2, 4, 4)))(np.zeros((4, 4, 3))), "this rank's part has"),
    ],
)
def test_messages(make: Callable[[], object], text: str) -> None:
    with pytest.raises(GridError) as error:
        make()
    assert text in str(error.value)


def test_stencils_are_checked() -> None:
    for offsets, coefficients in (([[0, 0]], [1.0]), ([[0, 0, 0.5]], [1.0]), ([[0, 0, 0]], [np.nan]), ([], [])):
        with pytest.raises(ValueError, match="expected"):
            Stencil(offsets, coefficients)


WRONG_ON_ONE_RANK = """
texts.append(said(lambda: Grid((8, 8, 8 + odd), comm=comm)))
texts.append(said(lambda: Grid((8, 8, 8), comm=comm, threads="2" if odd else 1)))
grid = Grid((8, 9, 10), comm=comm)
apply = grid.operator(grid.laplacian(2))
x = np.ones(grid.local_shape)
texts.append(said(lambda: apply(x[:, :-1] if odd else x)))
texts.append(said(lambda: apply(x, x if odd else None)))
texts.append(said(lambda: grid.operator(grid.laplacian(2), batch=0 if odd else 1)))
assert said(lambda: apply(x)) is None
"""


def test_what_is_wrong_on_one_rank_all_ranks_hear(mpi: str) -> None:
    lines = one_launch.messages(mpi, "grid")
    assert len(lines) == 5 and all("expected" in line or "different" in line or "has (" in line for line in lines)


MANY_OPERATORS = """
import numpy as np
from mpi4py import MPI
from tessera.grid import Grid
grid = Grid((8, 8, 8), comm=MPI.COMM_WORLD)
laplacian = grid.laplacian(2)
operators = [grid.operator(laplacian, approach="flat-optimized", batch=1, slope=0) for _ in range(3000)]
x = np.ones(grid.local_shape)
assert all(not operator(x).any() for operator in operators[::500])
"""


def test_thousands_of_operators(tmp_path: Path, mpi: str) -> None:
    """Operators share the communicator of a host: MPICH has about 2,000 in all."""
    program = tmp_path / "many.py"
    program.write_text(MANY_OPERATORS)
    run_program([*mpirun(mpi, 2), sys.executable, program], env={"MPI4PY_LIBMPI": LIBRARIES[mpi]})


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_batches_apart_give_the_same_bits(dtype: str) -> None:
    grid = Grid((8, 7, 6))
    apply = grid.operator(grid.laplacian(2), dtype=dtype, batch=2, shared_memory=False)
    fields = np.random.default_rng(3).normal(size=(5, *grid.shape)).astype(dtype)
    out = np.full_like(fields, 7)
    apply.apart(fields, out, computes=False)
    assert (out == 7).all() and not apply.sends_messages
    assert apply.seconds["computing"] == 0
    apply.apart(fields, out)
    assert np.array_equal(out, apply(fields))
    with pytest.raises(GridError, match="this rank's part has"):
        apply.apart(fields[..., :-1])
