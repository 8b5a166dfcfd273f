"""Potentials on grids: their equation holds, all methods agree, the same bits come out on any ranks and threads, and
they converge to analytic ones."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import strategies as st

from tessera.grid import Grid, GridError, poisson_methods
from tests.arrays import one_launch
from tests.arrays.poisson_cases import run
from tests.support.drawn import Case, examples
from tests.support.programs import RANKS, in_turns

METHODS = ["fft", "multigrid"]
lengths = st.one_of(st.integers(1, 14), st.sampled_from([15, 16, 24, 31, 32, 33]))
case = st.fixed_dictionaries(
    {
        "shape": st.tuples(lengths, lengths, lengths),
        "cell": st.sampled_from([None, [3.0, 4.0, 5.0], [10.0, 4.0, 30.0]]),
        "periodic": st.tuples(st.booleans(), st.booleans(), st.booleans()),
        "order": st.sampled_from([2, 4, 6, 8, 12]),
        "guess": st.sampled_from([None, 0.0, 3.0]),
        "threads": st.sampled_from([1, 2]),
    }
)


def cases(ranks: int = 1) -> list[Case]:
    """Returns cases, of which some have several levels. Many ranks take turns on few cores, so they get fewer."""
    common = {"cell": None, "order": 4, "guess": None, "threads": 2}
    found: list[Case] = [
        {**common, "shape": (32, 48, 64), "periodic": (True, True, True)},
        {**common, "shape": (31, 47, 32), "periodic": (False, False, True)},
    ]

    found += examples(case, 8, 20)
    return found[: 5 if ranks <= 5 else 3] if ranks > 2 else found


def test_methods_are_those_tested() -> None:
    assert poisson_methods() == METHODS


@pytest.fixture(scope="module")
def expected() -> list[list[str]]:
    """Returns the digests from this process alone."""
    return [run(one, None) for one in cases()]


@in_turns(*RANKS, also=(1, 4, 6, 8))
def test_same_bits_as_one_process(mpi: str, ranks: int, expected: list[list[str]]) -> None:
    found = one_launch.results(mpi, ranks, "poisson")
    assert not [case for case, ours, alone in zip(cases(ranks), found, expected) if ours != alone]


def radii(grid: Grid, centre: float) -> np.ndarray:
    """Returns the distance of each point from a point on the diagonal."""
    first = [0 if periodic else 1 for periodic in grid.periodic]
    axes = [(np.arange(n) + i) * step - centre for n, i, step in zip(grid.shape, first, grid.steps.diagonal())]
    return np.sqrt(sum(axis**2 for axis in np.meshgrid(*axes, indexing="ij")))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_errors_fall_by_the_order(method: str, order: int) -> None:
    """Two Gaussian charges, +1 and −1, about one centre: φ = erf(√a r)/r − erf(√b r)/r, which vanishes at the faces."""

    def error(n: int) -> float:
        grid = Grid((n, n, n), cell=(12.0, 12.0, 12.0), periodic=False)
        r = radii(grid, 6.0)
        a, b = 0.9, 0.5
        density = (a / np.pi) ** 1.5 * np.exp(-a * r**2) - (b / np.pi) ** 1.5 * np.exp(-b * r**2)
        erf = np.vectorize(math.erf)
        with np.errstate(invalid="ignore"):
            exact = np.where(r > 0, (erf(a**0.5 * r) - erf(b**0.5 * r)) / r, 2 * (a**0.5 - b**0.5) / np.pi**0.5)
        found = grid.poisson(method, order=order)(density)
        return float(np.abs(found - exact).max() / np.abs(exact).max())

    coarse, fine = error(31), error(63)
    assert abs(math.log2(coarse / fine) - order) < 0.06 * order
    if order == 8:
        assert fine < 1e-6


def test_waves_and_a_neutralising_background() -> None:
    """φ of a plane wave is 4π/k² times it, with another mean of the density, too."""
    grid = Grid((48, 40, 32), cell=(12.0, 10.0, 8.0))
    k = 2 * np.pi * np.array([1 / 12, -2 / 10, 1 / 8])
    x, y, z = np.meshgrid(*(np.arange(n) * step for n, step in zip(grid.shape, grid.steps.diagonal())), indexing="ij")
    wave = np.cos(k[0] * x + k[1] * y + k[2] * z)
    for method in METHODS:
        found = grid.poisson(method, order=12)(wave + 0.3)
        assert np.abs(found - 4 * np.pi / (k @ k) * wave).max() < 1e-8 * 4 * np.pi / (k @ k)


def test_a_point_charge_between_grounded_faces() -> None:
    """The sine series of a charge in a box whose edges are of three kinds of length, by NumPy."""
    grid = Grid((15, 12, 9), cell=(8.0, 6.5, 4.0), periodic=(False, True, False))
    density = np.random.default_rng(4).normal(size=grid.shape)
    waves, eigenvalues = [], []
    for n, periodic, step in zip(grid.shape, grid.periodic, grid.steps.diagonal()):
        matrix = -2 * np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
        if periodic:
            matrix[0, -1] = matrix[-1, 0] = 1
        values, vectors = np.linalg.eigh(matrix / step**2)
        waves.append(vectors)
        eigenvalues.append(values)
    turned = np.einsum("xyz,xa,yb,zc->abc", density, *waves)
    turned *= -4 * np.pi / (eigenvalues[0][:, None, None] + eigenvalues[1][:, None] + eigenvalues[2])
    expected = np.einsum("abc,xa,yb,zc->xyz", turned, *waves)
    for method in METHODS:
        found = grid.poisson(method, order=2, tolerance=1e-12)(density)
        assert np.abs(found - expected).max() < 1e-11 * np.abs(expected).max()


def test_mirror_images() -> None:
    """The stencil of the odd continuation of φ beyond isolated faces is −4πρ."""
    grid = Grid((15, 12, 9), cell=(8.0, 6.5, 4.0), periodic=(False, True, False))
    density = np.random.default_rng(4).normal(size=grid.shape)
    found = grid.poisson("fft", order=8, images=True)(density)
    wide = found
    for axis, periodic in enumerate(grid.periodic):
        ends = np.zeros_like(wide.take([0], axis))
        parts = [wide] * 3 if periodic else [-np.flip(wide, axis), ends, wide, ends, -np.flip(wide, axis)]
        wide = np.concatenate(parts, axis)
    laplacian = grid.laplacian(8)
    first = [n if periodic else n + 1 for n, periodic in zip(grid.shape, grid.periodic)]
    curvature = sum(
        coefficient * wide[tuple(slice(i + o, i + o + n) for i, o, n in zip(first, offset, grid.shape))]
        for offset, coefficient in zip(laplacian.offsets, laplacian.coefficients)
    )
    assert np.abs(curvature + 4 * np.pi * density).max() < 1e-11 * np.abs(density).max()


def test_guesses_save_iterations() -> None:
    grid = Grid((32, 32, 32), cell=(8.0, 8.0, 8.0))
    density = np.random.default_rng(4).normal(size=grid.shape)
    solve = grid.poisson()
    first = solve(density)
    needed = solve.iterations
    assert solve(density, first, out=first) is first and solve.iterations == 0
    solve(1.001 * density, first)
    assert 0 < solve.iterations < needed


def test_other_real_numbers_are_converted() -> None:
    grid = Grid((8, 8, 8))
    density = np.random.default_rng(4).normal(size=grid.shape).astype(np.float32)
    solve = grid.poisson("fft")
    assert np.array_equal(solve(density), solve(density.astype(np.float64)))
    with pytest.raises(GridError, match="complex64, which does not go into float64"):
        solve(density + 0j)


SMALL = np.ones((4, 4, 4))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda g: g.poisson("fast"), 'no method is called "fast"; did you mean "fft"?'),
        (lambda g: g.poisson(order=3), "a stencil of order 3; expected 2, 4, 6, 8, 10 or 12"),
        (lambda g: g.poisson(order=2.5), "order is 2.5; expected a whole number"),
        (lambda g: g.poisson(tolerance="low"), "tolerance is 'low'; expected a number between 0 and 1"),
        (lambda g: g.poisson(tolerance=0), "tolerance is 0; expected a number between 0 and 1"),
        (lambda g: g.poisson(max_iterations=0), "max_iterations is 0"),
        (lambda g: g.poisson(images=True), "mirror images go with the method fft"),
        (lambda g: g.poisson()(SMALL[1:]), "this rank's part has"),
        (lambda g: g.poisson()(SMALL, SMALL[1:]), "this rank's part has"),
        (lambda g: g.poisson()(SMALL, out=SMALL), "out shares memory with the density"),
        (lambda g: g.poisson()(SMALL * np.nan), "the density has values that are not finite"),
        (lambda g: g.poisson()(SMALL, SMALL * np.inf), "the guess has values that are not finite"),
        (lambda g: g.poisson(order=8, max_iterations=1)(SMALL), "set a larger tolerance or more max_iterations"),
        (lambda g: g.poisson(tolerance=1e-18)(SMALL), "falls no more"),
        (lambda g: Grid((4, 4, 4), cell=[[4, 0, 0], [1, 4, 0], [0, 0, 4]]).poisson(), "expected an orthogonal cell"),
    ],
)
def test_messages(make: Callable[[Grid], object], text: str) -> None:
    with pytest.raises(GridError) as error:
        make(Grid((4, 4, 4), periodic=False))
    assert text in str(error.value)


WRONG_ON_ONE_RANK = """
grid = Grid((8, 9, 10), periodic=False, comm=comm)
rho = np.ones(grid.local_shape)
solve = grid.poisson()
texts.append(said(lambda: grid.poisson(order=0 if odd else 4)))
texts.append(said(lambda: solve(rho[:, :-1] if odd else rho)))
texts.append(said(lambda: solve(rho * np.nan if odd else rho)))
texts.append(said(lambda: solve(rho, rho * np.nan if odd else rho)))
assert said(lambda: solve(rho)) is None
"""


def test_what_is_wrong_on_one_rank_all_ranks_hear(mpi: str) -> None:
    lines = one_launch.messages(mpi, "poisson")
    assert len(lines) == 4 and all("expected" in line or "has (" in line for line in lines)
