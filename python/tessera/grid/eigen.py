"""The lowest eigenstates of H = −½∇² + V on grids on ranks.

LOBPCG: each iteration minimises the energy over the waves X, their preconditioned residuals W and the directions P of
the step before, all of which are kept orthonormal, so that the small eigenproblem is a standard one. P is chosen
orthogonal to the new X among the coefficients, where it costs nothing. W comes from waves that are not converged only.

Sources: A. V. Knyazev, SIAM J. Sci. Comput. 23, 517 (2001); U. Hetmaniuk, R. Lehoucq, J. Comput. Phys. 218, 324
(2006); J. A. Duersch, M. Shao, C. Yang, M. Gu, SIAM J. Sci. Comput. 40, C655 (2018); A. Stathopoulos, K. Wu, SIAM J.
Sci. Comput. 23, 2165 (2002) for `_orthonormalise`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, DTypeLike, NDArray
from threadpoolctl import threadpool_limits

from tessera.arguments import NO_NUMBERS, aligned_empty, checked_number, fitting
from tessera.errors import InputError
from tessera.grid.errors import GridError

Matrix = NDArray[Any]


class GridOnRanks(Protocol):
    """What of a `Grid` is needed here."""

    shape: tuple[int, int, int]
    steps: NDArray[np.float64]
    threads: int
    comm: Any
    local_shape: tuple[int, ...]
    _native: Any
    _module: Any

    def agree(self, complaint: str) -> None: ...


@dataclass(frozen=True)
class Eigenstates:
    """Eigenstates of H = −½∇² + V, of increasing energy.

    `eigenvalues` (n,): hartree. `fields` (n, nx, ny, nz): this rank's points of the wave functions, bohr^(−3/2); the
    sums over all points of ψᵢ* ψⱼ, times the volume of a point, are 1 where i = j and else 0. `residuals` (n,): the
    norm of Hψ − εψ, hartree; the nearest eigenvalue of the grid's H is not farther from ε than that, and far nearer,
    residual² / gap, where a gap separates it from others. `iterations`: how many were made.
    """

    eigenvalues: NDArray[np.float64]  # (n,) hartree
    fields: NDArray[Any]  # (n,nx,ny,nz) bohr^(−3/2), this rank's points
    residuals: NDArray[np.float64]  # (n,) hartree
    iterations: int  # that were made


def eigenstates(
    grid: GridOnRanks,
    potential: ArrayLike,
    n: int,
    *,
    order: int,
    dtype: DTypeLike | None,
    phases: list[complex],
    tolerance: float,
    max_iterations: int,
    guess: ArrayLike | None,
) -> Eigenstates:
    """Computes what `Grid.eigenstates` describes."""
    complaint = ""
    values, first = np.empty(0), None
    points = int(np.prod(grid.shape))
    try:
        n, order = checked_number("n", n), checked_number("order", order)
        max_iterations = checked_number("max_iterations", max_iterations)
        number = _checked_dtype(dtype, phases)
        tolerance = _checked_tolerance(tolerance)
        if n > points:
            raise InputError(f"n is {n}; expected at most the number of points, {points}")
        values = fitting(potential, grid.local_shape, np.dtype(np.float64))
        if not np.isfinite(values).all():
            raise InputError("the potential has values that are not finite; expected numbers")
        if guess is not None:
            first = fitting(guess, (np.shape(guess)[0] if np.ndim(guess) else 0, *grid.local_shape), number)
            if not np.isfinite(first).all():
                raise InputError("the guess has values that are not finite; expected numbers")
    except InputError as error:
        complaint = str(error)
    except (ValueError, MemoryError) as error:
        complaint = f"what is given is no array: {error}"
    grid.agree(complaint)
    if grid.comm is not None:
        given = 0 if first is None else len(first)
        asked = {"n": n, "order": order, "dtype": number.name, "phases": phases, "tolerance": tolerance,
                 "max_iterations": max_iterations, "fields of the guess": given}  # fmt: skip
        everywhere = grid.comm.allgather(asked)
        for name, value in everywhere[0].items():
            for rank, other in enumerate(everywhere):
                if other[name] != value:
                    raise GridError(f"{name} is {value!r} on rank 0 and {other[name]!r} on rank {rank}; expected one")
    try:
        native = grid._module.Waves(
            grid._native,
            steps=grid.steps.tolist(),
            order=order,
            is_complex=number.kind == "c",
            phases=phases,
            potential=values,
        )
    except InputError as error:
        raise GridError(str(error)) from None
    # A few more waves than asked for make the last of these converge as quickly as the others; where they don't, as in
    # a shell of nearly equal energies, there will be more.
    size, most = (min(count, points) for count in (n + max(4, n // 8), 2 * n + 32))
    iterations = 0
    while True:
        solver = _Solver(native, number, size, int(np.prod(grid.local_shape)), float(values.min(initial=np.inf)))
        # Threads of products of few numbers would wait for each other longer than they compute.
        with threadpool_limits(grid.threads if solver.space.size > 1 << 22 else 1, "blas"):
            found = solver.solve(grid, n, tolerance, max_iterations, first, iterations, size < most)
        if found is not None:
            return found
        first, iterations = solver.space[:size].reshape(size, *grid.local_shape), solver.iterations
        size = min(size + max(8, size // 4), most)


def _checked_dtype(dtype: DTypeLike | None, phases: list[complex]) -> np.dtype[Any]:
    is_turned = any(phase != 1 for phase in phases)
    if dtype is None:
        return np.dtype(np.complex128 if is_turned else np.float64)
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found.name not in ("float64", "complex128"):
        raise InputError(f"dtype is {dtype!r}; expected float64 or complex128")
    if is_turned and found.kind != "c":
        raise InputError("phases go with complex fields; expected complex128 or no dtype")
    return found


def _checked_tolerance(tolerance: Any) -> float:
    try:
        found = float(tolerance)
    except NO_NUMBERS:
        found = 0.0
    if not 0 < found < np.inf:
        raise InputError(f"tolerance is {tolerance!r}; expected a number above 0, in hartree")
    return found


#: The preconditioner's shift over the waves' kinetic energy; from 0.05 to 0.4 iterations are as many within two.
SHIFT = 0.2


class _Solver:
    """Waves on one rank: the rows of `space` are X, P and W, one behind the other, and those of `image` H W."""

    def __init__(self, native: Any, dtype: np.dtype[Any], size: int, points: int, bottom: float) -> None:
        self.native, self.dtype, self.size, self.points = native, dtype, size, points
        self.bottom = -native.greatest(-bottom)  # of the potential
        self.space = aligned_empty((3 * size, points), dtype)
        self.image = aligned_empty((size, points), dtype)
        self.directions = 0  # rows of P
        self.least_kinetic = 0.0
        self.iterations = 0
        # Products of a piece of all rows are made while it is in the cache.
        self.piece = max(256, (1 << 20) // (3 * size * dtype.itemsize))

    def numbers(self, rows: Matrix) -> NDArray[np.float64]:
        """Returns rows as the compiled part takes them, complex numbers as two."""
        return rows.view(np.float64)

    def pieces(self) -> Iterator[slice]:
        for begin in range(0, self.points, self.piece):
            yield slice(begin, min(begin + self.piece, self.points))

    def products(self, left: Matrix, right: Matrix) -> Matrix:
        """Returns Σ left* right over all points (len(left), len(right)), the same bits on all ranks."""
        found = np.zeros((len(left), len(right)), self.dtype)
        for part in self.pieces():
            found += left[:, part].conj() @ right[:, part].T
        self.native.sum(self.numbers(found))
        return found

    def combine(self, rows: Matrix, coefficients: Matrix) -> None:
        """Combines the first rows: row j becomes the sum over i of coefficients[i, j] times row i."""
        n = coefficients.shape[1]
        turned = np.ascontiguousarray(coefficients.T)
        for part in self.pieces():
            rows[:n, part] = turned @ rows[:, part]

    def from_root(self, make: Callable[[], Sequence[Matrix]], *kinds: tuple[tuple[int, ...], Any]) -> list[Matrix]:
        """Returns what rank 0 makes, of these shapes and types: libraries need not find the same bits on processors of
        several kinds."""
        made = make() if self.native.is_root else [np.empty(shape, dtype) for shape, dtype in kinds]
        found = [np.require(one, dtype, ["C_CONTIGUOUS", "WRITEABLE"]) for one, (_, dtype) in zip(made, kinds)]
        for one in found:
            self.native.broadcast(self.numbers(one))
        return found

    def diagonalised(self, matrix: Matrix) -> tuple[NDArray[np.float64], Matrix]:
        """Returns all eigenvalues, in increasing order, and eigenvectors as columns."""
        if not np.isfinite(matrix).all():
            raise GridError("the products of waves are not finite; expected a potential and a guess of smaller values")
        n = len(matrix)
        values, vectors = self.from_root(lambda: scipy.linalg.eigh(matrix), ((n,), np.float64), ((n, n), self.dtype))
        return values, vectors

    def orthonormalise(self, rows: Matrix, against: Matrix | None = None) -> int:
        """Makes rows orthonormal, and orthogonal to orthonormal others; returns how many are left, the first ones.

        Rows are scaled, and combined by the eigenvectors of their products; those that are combinations of others are
        left out. It is done again until rounding has left nothing.
        """
        for _ in range(4):
            overlap = np.zeros((1, len(rows)))
            if against is not None and len(against) > 0:
                overlap = self.products(against, rows)
                for part in self.pieces():
                    rows[:, part] -= overlap.T @ against[:, part]
            products = self.products(rows, rows)
            squares = products.diagonal().real
            scale = np.divide(1, np.sqrt(squares), out=np.zeros(len(rows)), where=squares > 0)
            values, vectors = self.diagonalised(products * scale * scale[:, None])
            kept = values > 1e-13 * max(1.0, values[-1])
            if not kept.any():
                return 0
            self.combine(rows, scale[:, None] * vectors[:, kept] / np.sqrt(values[kept]))
            rows = rows[: int(kept.sum())]
            # By so much rounding of what was there before has grown.
            if max(1.0, np.abs(overlap * scale).max()) < 100 * np.sqrt(values[kept][0]):
                break
        return len(rows)

    def start(self, grid: GridOnRanks, guess: Matrix | None) -> None:
        """Makes X orthonormal: the guess, and smoothed noise."""
        volume = float(np.prod(grid.shape)) * abs(np.linalg.det(grid.steps))
        # Of the highest one, if they were free.
        kinetic = 0.5 * (6 * np.pi**2 * self.size / volume) ** (2 / 3)
        self.least_kinetic = 0.01 * kinetic  # a constant wave has none
        self.native.prepare_preconditioner(self.bottom, kinetic)
        waves = self.space[: self.size]
        given = 0
        if guess is not None:
            given = min(len(guess), self.size)
            waves[:given] = guess[:given].reshape(given, -1)
            given = self.orthonormalise(waves[:given])
        number = given
        while given < self.size:
            rows = waves[given:]
            self.native.fill_with_noise(self.numbers(rows), number)
            number += len(rows)
            self.native.precondition(self.numbers(rows))
            given += self.orthonormalise(rows, waves[:given])

    def rotate(self) -> NDArray[np.float64]:
        """Makes X eigenstates of H among themselves, and returns their energies."""
        waves = self.space[: self.size]
        self.native.apply(self.numbers(waves), self.numbers(self.image))
        values, vectors = self.diagonalised(self.products(waves, self.image))
        self.combine(waves, vectors)
        return values

    def residuals(self, values: NDArray[np.float64]) -> tuple[Matrix, NDArray[np.float64], NDArray[np.float64]]:
        """Returns H X − X values, in the place of W, their norms, and the kinetic energies of X."""
        begin = self.size + self.directions
        rows = self.space[begin : begin + self.size]
        sums = np.empty((self.size, 2))
        waves = self.space[: self.size]
        self.native.find_residuals(self.numbers(waves), np.ascontiguousarray(values), self.numbers(rows), sums)
        return rows, np.sqrt(sums[:, 0]), values - sums[:, 1]

    def precondition(self, rows: Matrix, energies: NDArray[np.float64], kinetic: NDArray[np.float64]) -> None:
        """Preconditions residuals of waves of increasing energy, those of similar ones together."""
        kinetic = np.maximum(kinetic, self.least_kinetic)
        begin = 0
        while begin < len(rows):
            ratio = kinetic / kinetic[begin]
            near = (energies - energies[begin] <= 0.5 * kinetic[begin]) & (ratio > 0.5) & (ratio < 2)
            end = begin + int(np.argmin(np.append(near[begin:], False)))
            shift = SHIFT * float(np.mean(kinetic[begin:end]))
            self.native.prepare_preconditioner(float(np.mean(energies[begin:end])), shift)
            self.native.precondition(self.numbers(rows[begin:end]))
            begin = end

    def minimise(
        self, values: NDArray[np.float64], inner: Matrix, active: NDArray[np.bool_], new: int
    ) -> tuple[NDArray[np.float64], Matrix]:
        """Does one step: X and P from X, P and `new` rows of W. Returns energies and the products P* H P."""
        size, p = self.size, self.directions
        space = self.space[: size + p + new]
        added = space[size + p :]
        self.native.apply(self.numbers(added), self.numbers(self.image[:new]))
        products = np.zeros((len(space), len(space)), self.dtype)
        products[range(size), range(size)] = values
        products[size : size + p, size : size + p] = inner
        products[:, size + p :] = self.products(space, self.image[:new])
        upper = np.triu(products)
        products = upper + np.triu(upper, 1).conj().T
        found, vectors = self.diagonalised(products)
        waves = vectors[:, :size]

        def steps() -> Sequence[Matrix]:
            """Returns what was added to waves that are not converged, orthogonal to the new X."""
            added = waves[:, active].copy()
            added[:size] = 0
            for _ in range(2):
                added -= waves @ (waves.conj().T @ added)
            return scipy.linalg.svd(added, full_matrices=False)[:2]

        count = int(active.sum())
        left, sizes = self.from_root(steps, ((len(space), count), self.dtype), ((count,), np.float64))
        kept = left[:, sizes > 1e-8 * sizes[0]]
        kept = kept - waves @ (waves.conj().T @ kept)
        self.combine(space, np.hstack([waves, kept]))
        self.directions = kept.shape[1]
        return found[:size], kept.conj().T @ products @ kept

    def solve(
        self,
        grid: GridOnRanks,
        n: int,
        tolerance: float,
        max_iterations: int,
        guess: Matrix | None,
        iterations: int,
        may_have_more: bool,
    ) -> Eigenstates | None:
        """Goes on from some number of iterations. Returns None where more waves would be better."""
        self.start(grid, guess)
        values = self.rotate()
        inner = np.zeros((0, 0), self.dtype)
        is_exact = True  # X is orthonormal and its energies are measured, not carried on by coefficients
        history: list[float] = []
        while True:
            rows, norms, kinetic = self.residuals(values)
            worst = float(norms[:n].max())
            if worst <= tolerance:
                if is_exact:
                    break
                self.directions = 0
                self.orthonormalise(self.space[: self.size])
                values, inner, is_exact = self.rotate(), np.zeros((0, 0), self.dtype), True
                continue
            history.append(worst)
            if may_have_more and len(history) > 15 and worst > 0.2 * history[-11]:
                self.iterations = iterations
                return None
            is_stuck = len(history) > 50 and not min(history[-25:]) < 0.8 * min(history[:-25])
            if iterations == max_iterations or is_stuck:
                raise GridError(
                    f"the residual of eigenstates is {worst:.2g} hartree after {iterations} iterations"
                    f"{' and falls no more' if is_stuck else ''}; expected at most the tolerance of {tolerance:.2g}; "
                    f"set a larger tolerance{'' if is_stuck else ' or more max_iterations'}"
                )
            active = norms > tolerance
            chosen = np.flatnonzero(active)
            for to, row in enumerate(chosen):
                if to != row:
                    rows[to] = rows[row]
            rows = rows[: len(chosen)]
            self.precondition(rows, values[chosen], kinetic[chosen])
            new = self.orthonormalise(rows, self.space[: self.size + self.directions])
            values, inner = self.minimise(values, inner, active, new)
            is_exact = False
            iterations += 1
        fields = aligned_empty((n, *grid.local_shape), self.dtype)
        volume = abs(np.linalg.det(grid.steps))
        np.multiply(self.space[:n].reshape(fields.shape), volume**-0.5, out=fields)
        return Eigenstates(values[:n].copy(), fields, norms[:n].copy(), iterations)
