"""Stencils as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tessera.arguments import NO_NUMBERS, real_values
from tessera.errors import InputError


@dataclass(frozen=True, eq=False)
class Stencil:
    """out(r) = Σ coefficients[k] · in(r + offsets[k]), summed in this order.

    `offsets` (n, 3), whole numbers of points along the edges of the grid; `coefficients` (n,). Raises `InputError`.
    """

    offsets: NDArray[np.int64]  # (n,3) points along the edges of the grid
    coefficients: NDArray[np.float64]  # (n,)

    def __init__(self, offsets: ArrayLike, coefficients: ArrayLike) -> None:
        try:
            whole, numbers = np.asarray(offsets), real_values(coefficients)
        except NO_NUMBERS as error:
            raise InputError(f"a stencil of numbers was expected: {error}") from None
        if whole.ndim != 2 or whole.shape[1:] != (3,) or numbers.shape != whole.shape[:1] or not len(numbers):
            raise InputError(
                f"offsets of shape {whole.shape} and coefficients of shape {numbers.shape}; expected (n, 3) and (n,), "
                "n at least 1"
            )
        if whole.dtype.kind not in "iu":
            raise InputError(f"offsets are {whole.dtype}; expected whole numbers of points")
        if np.abs(whole.astype(np.float64)).max() >= 2**31:
            raise InputError("an offset is too far; expected fewer points than a grid has")
        if not np.isfinite(numbers).all():
            raise InputError("a coefficient is not finite; expected numbers")
        object.__setattr__(self, "offsets", whole.astype(np.int64))
        object.__setattr__(self, "coefficients", numbers)

    @classmethod
    def of(cls, terms: tuple[Any, Any]) -> Stencil:
        """Returns that of a pair of lists."""
        return cls(np.array(terms[0], np.int64).reshape(-1, 3), terms[1])

    def __add__(self, other: Stencil) -> Stencil:
        """Returns the sum of both; equal offsets stay separate terms."""
        return Stencil(np.vstack([self.offsets, other.offsets]), [*self.coefficients, *other.coefficients])

    def __mul__(self, factor: float) -> Stencil:
        return Stencil(self.offsets, factor * self.coefficients)

    __rmul__ = __mul__
