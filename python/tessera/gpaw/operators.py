"""GPAW's finite-difference operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.gpaw import domains

GAUSS_SEIDEL, JACOBI = 1, 2


class Operator:
    """Takes the place of `gpaw.cgpaw.Operator`.

    `coef_p`, `offset_p` (P,): coefficients, and offsets flattened in a box that is padded by `mp` points on each side.
    `n_c`: points of this rank. `neighbor_cd` (3, 2): ranks below and above along each axis, −1 where the grid ends.
    `real`: fields are real, else complex. `comm`: the address of the communicator, or None for this process alone.
    `cfd` tells whether offsets stay on the axes, which they tell themselves.

    It is completed by its first application, which is collective as all are.
    """

    def __init__(
        self,
        coef_p: NDArray[np.float64],
        offset_p: NDArray[np.int64],
        n_c: NDArray[np.int64],
        mp: int,
        neighbor_cd: NDArray[np.int64],
        real: bool,
        comm: int | None,
        cfd: bool,
    ) -> None:
        self.shape = tuple(int(n) for n in n_c)
        self.offsets = unflattened(np.asarray(offset_p), self.shape, int(mp))
        self.coefficients = np.array(coef_p, np.float64)
        self.is_complex = not real
        self.neighbours = np.array(neighbor_cd, np.int64)
        self.address = comm
        self._native: Any = None
        self._points = int(np.prod(self.shape))
        self._phases: dict[bytes, list[complex]] = {}
        self._scaled: dict[tuple[float, float], Operator] = {}

    def apply(self, source: NDArray[Any], target: NDArray[Any], phase_cd: NDArray[Any] | None = None) -> None:
        """Overwrites `target` with the operator applied to `source`, both of shape `n_c` or (B, *n_c)."""
        native = self._native or self._make()
        native.apply(source, target, source.size // self._points, self._turned(phase_cd))

    def apply_and_add(
        self,
        source: NDArray[Any],
        addend: NDArray[Any],
        factor: float,
        target: NDArray[Any],
        phase_cd: NDArray[Any] | None = None,
    ) -> None:
        """Overwrites `target`, another array than `source`, with operator · source + factor · addend in one pass."""
        native = self._native or self._make()
        native.apply_and_add(source, addend, factor, target, source.size // self._points, self._turned(phase_cd))

    def relax(
        self, method: int, values: NDArray[Any], source: NDArray[Any], sweeps: int, weight: float | None = None
    ) -> None:
        """Does sweeps of Gauss–Seidel (method 1) or weighted Jacobi relaxation for operator · values = source."""
        native = self._native or self._make()
        native.relax(method == GAUSS_SEIDEL, values, source, sweeps, 1.0 if weight is None else weight)

    def get_diagonal_element(self) -> float:
        at_zero = np.flatnonzero(~self.offsets.any(axis=1))
        return float(self.coefficients[at_zero[-1]]) if len(at_zero) else 0.0

    def get_async_sizes(self) -> tuple[int, int, int]:
        """Returns what GPAW says without asynchronous exchanges of its own."""
        return 0, 1, 1

    def scaled(self, factor: float, shift: float) -> Operator:
        """Returns factor · operator + shift, made once."""
        if (found := self._scaled.get((factor, shift))) is None:
            found = object.__new__(Operator)
            found.__dict__.update(self.__dict__, _native=None, _scaled={})
            found.coefficients = factor * self.coefficients
            at_zero = np.flatnonzero(~self.offsets.any(axis=1))
            if len(at_zero):
                found.coefficients[at_zero[0]] += shift
            else:
                found.offsets = np.vstack([self.offsets, np.zeros((1, 3), np.int64)])
                found.coefficients = np.append(found.coefficients, shift)
            if len(self._scaled) > 8:
                self._scaled.clear()
            self._scaled[factor, shift] = found
        return found

    def _turned(self, phase_cd: NDArray[Any] | None) -> list[complex]:
        return turned(self._phases, phase_cd if self.is_complex else None)

    def _make(self) -> Any:
        module, ranks = domains.ranks_at(self.address)
        (layout,) = domains.gathered_layout(module, ranks, [np.array(self.shape)], self.neighbours)
        terms = (self.offsets.tolist(), self.coefficients.tolist())
        self._native = module.Operator(ranks, layout, terms, self.is_complex)
        return self._native


def unflattened(offsets: NDArray[np.int64], shape: tuple[int, ...], padding: int) -> NDArray[np.int64]:
    """Returns offsets (P, 3) from those flattened in a box of `shape` padded by `padding` points on each side."""
    whole = [n + 2 * padding for n in shape]
    at = offsets + (padding * whole[1] + padding) * whole[2] + padding  # from the padded box's first point
    return np.stack(np.unravel_index(at, whole), axis=1) - padding


UNTURNED: list[complex] = [1.0, 1.0, 1.0]


def turned(known: dict[bytes, list[complex]], phase_cd: NDArray[Any] | None) -> list[complex]:
    """Returns the phases between periodic images, which are kept by GPAW's factors."""
    if phase_cd is None:
        return UNTURNED
    key = phase_cd.tobytes()
    if (found := known.get(key)) is None:
        if len(known) > 256:
            known.clear()
        found = known[key] = domains.phases_of(phase_cd)
    return found
