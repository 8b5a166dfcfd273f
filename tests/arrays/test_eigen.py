"""Eigenstates on grids: those of random matrices on any ranks, of oscillators, boxes and free Bloch waves."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.sparse import linalg as sparse

from tessera.grid import Grid, GridError
from tests.arrays import one_launch
from tests.arrays.eigen_cases import TOLERANCE, run
from tests.support.drawn import Case, examples
from tests.support.programs import in_turns

lengths = st.integers(1, 5)
case = st.fixed_dictionaries(
    {
        "shape": st.tuples(lengths, lengths, lengths),
        "cell": st.sampled_from([None, [3.0, 4.0, 5.0], [[4.0, 0, 0], [1.0, 3.0, 0], [0.5, -0.5, 5.0]]]),
        "periodic": st.tuples(st.booleans(), st.booleans(), st.booleans()),
        "order": st.sampled_from([2, 4, 6, 8, 12]),
        "is_complex": st.booleans(),
        "angles": st.sampled_from([(0.0, 0.0, 0.0), (0.4, -2.0, np.pi)]),
        "height": st.sampled_from([0.0, 0.5, 30.0]),
        "share": st.sampled_from([0.0, 0.05, 0.2, 1.0]),
        "threads": st.sampled_from([1, 2]),
    }
)


def cases(ranks: int = 1) -> list[Case]:
    """Returns cases. Many ranks take turns on few cores, so they get fewer cases and one thread each."""
    common = {"cell": None, "order": 4, "angles": (0.4, -2.0, 0.1), "height": 1.0, "threads": 2}
    found: list[Case] = [
        {**common, "shape": (4, 5, 6), "periodic": (False, True, False), "is_complex": True, "share": 0.02},
        {**common, "shape": (5, 3, 7), "periodic": (False, False, False), "is_complex": False, "share": 0.02},
        {**common, "shape": (4, 3, 8), "periodic": (True, False, True), "is_complex": True, "share": 0.03},
    ]

    found += examples(case, 5, 20)
    if ranks > 2:
        return [{**one, "threads": 1} for one in found[: 1 if ranks > 4 else 2]]
    return found


@pytest.fixture(scope="module")
def expected() -> list[list[float]]:
    """Returns the eigenvalues from this process alone."""
    return [run(one, None) for one in cases()]


@in_turns(3, 5, also=(1, 2, 4, 6, 7, 8, 12), first="mpich")  # launches of the other kinds
def test_same_states_as_one_process(mpi: str, ranks: int, expected: list[list[float]]) -> None:
    found = one_launch.results(mpi, ranks, "eigen")
    for case, one, alone in zip(cases(), found, expected):
        assert np.abs(np.subtract(one, alone)).max() <= 2 * TOLERANCE, case


def harmonic(grid: Grid, centre: float) -> np.ndarray:
    axes = [(np.arange(n) + 1) * step - centre for n, step in zip(grid.shape, grid.steps.diagonal())]
    return np.asarray(0.5 * sum(axis**2 for axis in np.meshgrid(*axes, indexing="ij")))


def shells(n: int) -> np.ndarray:
    """Returns the n lowest energies of the oscillator: 3/2, and 5/2 three times, and so on."""
    return np.sort([i + j + k + 1.5 for i in range(9) for j in range(9) for k in range(9)])[:n]


@pytest.mark.parametrize("n", [1, 3, 7, pytest.param(20, marks=pytest.mark.slow(part="gpaw"))])
def test_harmonic_oscillator(n: int) -> None:
    """Whole shells and parts of them, at steps of ¼ bohr, where the 12th order leaves less than 1e-6 hartree."""
    grid = Grid((63, 63, 63), cell=(16.8,) * 3, periodic=False)
    found = grid.eigenstates(harmonic(grid, 8.4), n, order=12)
    assert np.abs(found.eigenvalues - shells(n)).max() < 1e-6
    assert found.iterations < 40


def test_a_part_of_a_shell() -> None:
    """The stencil parts a shell of 21 states by 10⁻³ hartree; the lowest five of them are asked for."""
    grid = Grid((31, 31, 31), cell=(14.0,) * 3, periodic=False)
    potential = harmonic(grid, 7.0)
    some, more = (grid.eigenstates(potential, n, order=8) for n in (40, 56))
    assert np.abs(some.eigenvalues - more.eigenvalues[:40]).max() < 1e-8
    assert some.iterations < 80


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_particle_in_a_box(n: int) -> None:
    """The stencil of order 2 has sines as eigenvectors; in the limit of many points energies are ½ (πk/L)²."""
    grid = Grid((31, 29, 31), cell=(8.0, 7.5, 8.0), periodic=False)
    waves = [2 / h**2 * np.sin(np.pi * np.arange(1, m + 1) / 2 / (m + 1)) ** 2 for m, h in
             zip(grid.shape, grid.steps.diagonal())]  # fmt: skip
    exact = np.sort((waves[0][:, None, None] + waves[1][:, None] + waves[2]).ravel())[:n]
    found = grid.eigenstates(np.zeros(grid.shape), n, order=2, tolerance=1e-8)
    assert np.abs(found.eigenvalues - exact).max() < 1e-12


def test_box_in_the_limit_of_many_points() -> None:
    """Errors of order 2 in 1/points: extrapolated from three grids they are below 1e-6 hartree."""
    found = []
    for m in (15, 31, 63):
        grid = Grid((m, m, m), cell=(6.0, 6.0, 6.0), periodic=False)
        found.append(grid.eigenstates(np.zeros(grid.shape), 4, order=2).eigenvalues)
    finer = [(4 * b - a) / 3 for a, b in pairwise(found)]
    limit = (16 * finer[1] - finer[0]) / 15
    assert np.abs(limit - np.pi**2 / 72 * np.array([3, 6, 6, 6])).max() < 1e-6


@pytest.mark.parametrize("angles", [(0.0, 0.0, 0.0), (0.3, -1.2, 3.1)])
def test_free_bloch_waves(angles: tuple[float, float, float]) -> None:
    """Energies are ½|k + G|²."""
    lengths = np.array([5.0, 6.0, 7.0])
    grid = Grid((20, 24, 28), cell=lengths)
    k = np.array(angles) / lengths
    whole = np.stack(np.meshgrid(*[np.arange(-3, 4)] * 3, indexing="ij"), -1).reshape(-1, 3)
    exact = np.sort(0.5 * ((k + 2 * np.pi * whole / lengths) ** 2).sum(1))[:12]
    found = grid.eigenstates(np.zeros(grid.shape), 12, order=12, phases=np.exp(1j * np.array(angles)), tolerance=1e-7)
    assert found.fields.dtype == (complex if any(angles) else float)
    assert np.abs(found.eigenvalues - exact).max() < 1e-6


def test_a_constant_changes_energies_alone() -> None:
    grid = Grid((16, 17, 18), cell=(6.0, 7.0, 8.0))
    potential = np.random.default_rng(3).uniform(-2, 2, grid.shape)
    low, high = (grid.eigenstates(potential + shift, 5, tolerance=1e-9).eigenvalues for shift in (-50.0, 1000.0))
    assert np.abs(high - low - 1050.0).max() < 1e-10


def test_against_a_library() -> None:
    """SciPy's Lanczos method on the same operator."""
    grid = Grid((12, 15, 14), cell=(5.0, 6.0, 6.5), periodic=(True, False, True))
    potential = 4 * np.random.default_rng(3).uniform(-1, 1, grid.shape)
    laplace = grid.operator(grid.laplacian(6))
    matrix = sparse.LinearOperator(
        (potential.size,) * 2,
        lambda x: (-0.5 * laplace(x.reshape(grid.shape)) + potential * x.reshape(grid.shape)).ravel(),
        dtype=float,
    )
    expected = np.sort(sparse.eigsh(matrix, 20, which="SA", tol=1e-12, return_eigenvectors=False))
    found = grid.eigenstates(potential, 20, order=6)
    assert np.abs(found.eigenvalues - expected).max() < 1e-10


def test_guesses_save_iterations() -> None:
    grid = Grid((31, 31, 31), cell=(12.0,) * 3, periodic=False)
    potential = harmonic(grid, 6.0)
    first = grid.eigenstates(potential, 4)
    again = grid.eigenstates(potential, 4, guess=first.fields)
    assert again.iterations == 0 and np.abs(again.eigenvalues - first.eigenvalues).max() < 1e-11
    near = grid.eigenstates(1.01 * potential, 4, guess=first.fields)
    assert 0 < near.iterations < first.iterations
    # Guesses that depend on each other, and more than needed.
    poor = np.concatenate([first.fields[:2], first.fields[:2], np.zeros_like(first.fields), first.fields])
    assert np.abs(grid.eigenstates(potential, 4, guess=poor).eigenvalues - first.eigenvalues).max() < 1e-10


SMALL = np.ones((4, 4, 4))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda g: g.eigenstates(SMALL, 0), "n is 0; expected a whole number from 1 up"),
        (lambda g: g.eigenstates(SMALL, 65), "n is 65; expected at most the number of points, 64"),
        (lambda g: g.eigenstates(SMALL[1:], 1), "this rank's part has"),
        (lambda g: g.eigenstates(SMALL * 1j, 1), "complex128, which does not go into float64"),
        (lambda g: g.eigenstates(SMALL * np.inf, 1), "the potential has values that are not finite"),
        (lambda g: g.eigenstates(SMALL, 1, guess=SMALL), "this rank's part has"),
        (lambda g: g.eigenstates(SMALL, 1, guess=SMALL[None] * np.nan), "the guess has values that are not finite"),
        (lambda g: g.eigenstates(SMALL, 1, order=3), "a stencil of order 3; expected 2, 4, 6, 8, 10 or 12"),
        (lambda g: g.eigenstates(SMALL, 1, tolerance="low"), "tolerance is 'low'; expected a number above 0"),
        (lambda g: g.eigenstates(SMALL, 1, dtype="float32"), "expected float64 or complex128"),
        (lambda g: g.eigenstates(SMALL, 1, phases=(1j, 1, 1), dtype=float), "phases go with complex fields"),
        (lambda g: g.eigenstates(SMALL, 1, phases=(1j, 1, 1)), "where the grid is not periodic"),
        (lambda g: g.eigenstates(SMALL, 1, phases=(2, 1, 1)), "of absolute value 1"),
        (lambda g: g.eigenstates(SMALL, 1, max_iterations=0), "max_iterations is 0"),
        (lambda g: Grid((12,) * 3).eigenstates(np.arange(1728.0).reshape((12,) * 3), 3, max_iterations=1),
         "set a larger tolerance or more max_iterations"),
        (lambda g: Grid((12,) * 3).eigenstates(np.arange(1728.0).reshape((12,) * 3), 3, tolerance=1e-18),
         "falls no more"),
    ],
)  # fmt: skip
def test_messages(make: Callable[[Grid], object], text: str) -> None:
    with pytest.raises(GridError) as error:
        make(Grid((4, 4, 4), periodic=False))
    assert text in str(error.value)


WRONG_ON_ONE_RANK = """
grid = Grid((8, 9, 10), periodic=False, comm=comm)
v = np.ones(grid.local_shape)
texts.append(said(lambda: grid.eigenstates(v[:, :-1] if odd else v, 2)))
texts.append(said(lambda: grid.eigenstates(v * np.nan if odd else v, 2)))
texts.append(said(lambda: grid.eigenstates(v, 2, guess=[v * np.nan if odd else v])))
texts.append(said(lambda: grid.eigenstates(v, 3 if odd else 2)))
texts.append(said(lambda: grid.eigenstates(v, 2, guess=[v] if odd else None)))
assert said(lambda: grid.eigenstates(v, 2)) is None
"""


def test_what_is_wrong_on_one_rank_all_ranks_hear(mpi: str) -> None:
    lines = one_launch.messages(mpi, "eigen")
    assert len(lines) == 5 and all("expected" in line or "has (" in line for line in lines)
