"""Poisson's equation on grids on ranks."""

from __future__ import annotations

import threading
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tessera.arguments import NO_NUMBERS, Settled, aligned_empty, checked_number, checked_out, fitting
from tessera.errors import InputError, RunError
from tessera.grid.errors import GridError

REAL = np.dtype(np.float64)


class GridOnRanks(Protocol):
    """What of a `Grid` is needed here."""

    steps: NDArray[np.float64]
    local_shape: tuple[int, ...]
    _native: Any
    _module: Any

    def agree(self, complaint: str) -> None: ...


class Poisson(Settled):
    """Solves ∇²φ = −4πρ, made by `Grid.poisson`.

    After a solution `iterations` is how many corrections were made, and `residual` the greatest |∇²φ + 4πρ| over the
    greatest |4πρ|, which is at most the tolerance (NaN with mirror images).
    """

    def __init__(
        self, grid: GridOnRanks, method: str, order: int, tolerance: float, max_iterations: int, images: bool
    ) -> None:
        complaint = ""
        steps = grid.steps.diagonal()
        try:
            order, max_iterations = checked_number("order", order), checked_number("max_iterations", max_iterations)
            tolerance = _checked_tolerance(tolerance)
            if (np.abs(grid.steps - np.diag(steps)) > 1e-12 * np.abs(steps).max()).any():
                raise InputError("the edges of the cell are not along x, y and z; expected an orthogonal cell")
        except InputError as error:
            complaint = str(error)
        grid.agree(complaint)
        self.grid, self.method, self.order, self.tolerance = grid, str(method), order, tolerance
        try:
            self._native = grid._module.Poisson(
                grid._native,
                steps=np.abs(steps).tolist(),
                method=self.method,
                order=order,
                tolerance=tolerance,
                max_iterations=max_iterations,
                has_images=bool(images),
            )
        except InputError as error:
            raise GridError(str(error)) from None
        self._found = (0, 0.0)
        self._one_at_a_time = threading.Lock()
        self._settle()

    @property
    def iterations(self) -> int:
        """The number of corrections that the last potential took."""
        return self._found[0]

    @property
    def residual(self) -> float:
        """The residual of the last potential, relative to its right-hand side."""
        return self._found[1]

    def __call__(
        self, density: ArrayLike, guess: ArrayLike | None = None, out: NDArray[Any] | None = None
    ) -> NDArray[np.float64]:
        """Returns the potential φ of this rank's points (nx, ny, nz) of the density ρ. Collective.

        `density`: charge per length³, positive where φ is to be positive. `guess`: a potential from which the
        iterations start. Numbers are float64; other real ones are converted, complex ones are refused. `out`: the array
        for the result, which may be the guess. Raises GridError on all ranks if an array of any rank does not fit, a
        value is not finite, or the tolerance is not reached.
        """
        complaint = ""
        rho = np.empty(0)
        shape = self.grid.local_shape
        try:
            rho = fitting(density, shape, REAL)
            first = None if guess is None else fitting(guess, shape, REAL)
            out = aligned_empty(shape, REAL) if out is None else checked_out(out, shape, REAL)
            if np.may_share_memory(out, rho):
                complaint = "out shares memory with the density; expected another array"
            elif first is not None and first is not out:
                np.copyto(out, first)
        except InputError as error:
            complaint = str(error)
        except (ValueError, MemoryError) as error:
            complaint = f"what is given is no array: {error}"
        with self._one_at_a_time:
            self.grid.agree(complaint)
            try:
                self._found = self._native.solve(rho, out, guess is not None)
            except (InputError, RunError) as error:
                raise GridError(str(error)) from None
        assert out is not None
        return out


def _checked_tolerance(tolerance: Any) -> float:
    try:
        return float(tolerance)
    except NO_NUMBERS:
        raise InputError(f"tolerance is {tolerance!r}; expected a number between 0 and 1") from None
