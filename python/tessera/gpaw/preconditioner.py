"""The cycle of GPAW's preconditioner of finite-difference wave functions.

With the kinetic operators T₀, T₁, T₂ of three grids, restriction R, interpolation I, a residual r and a step s:

    r₁ = R r                       d₁ = 4s r₁
    r₂ = R (T₁ d₁ − r₁)            d₂ = 16s r₂ − 16s (T₂ 16s r₂ − r₂)
    d₁ ← d₁ − I d₂                 d₁ ← d₁ − 4s (T₁ d₁ − r₁)
    d = I d₁                       d ← −(d − s (T₀ d − r))

GPAW writes it with the residual's sign changed; here each line is one stencil, which holds factors and differences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.gpaw.operators import Operator
from tessera.gpaw.transformers import Transformer

Fields = NDArray[Any]


def precondition_or(own: Callable[..., None]) -> Callable[..., None]:
    """Returns a function in the place of `gpaw.cgpaw.fd_precond`. `own` is GPAW's, which takes its own operators."""

    def fd_precond(*arguments: Any) -> None:
        transfers, kinetic, scratch = arguments[:4], arguments[4:7], arguments[7:14]
        residual, step, phases = arguments[15], arguments[17], arguments[18] if len(arguments) > 18 else None
        of_ours = [isinstance(one, Operator | Transformer) for one in arguments[:7]]
        if not any(of_ours):
            own(*arguments)
        elif all(of_ours):
            precondition(transfers, kinetic, scratch, residual, step, phases)
        else:
            raise TypeError(
                "a preconditioner has operators of GPAW and of Tessera; call tessera.gpaw.enable() before the "
                "calculation makes any of them, or disable() only after it"
            )

    return fd_precond


def precondition(
    transfers: tuple[Transformer, ...],
    kinetic: tuple[Operator, ...],
    scratch: tuple[Fields, ...],
    residual: Fields,
    step: float,
    phases: Fields | None,
) -> None:
    """Overwrites d0 of `scratch` (d0, q0, r1, d1, q1, r2, d2), arrays on the three grids, (B, *n_c) as `residual`.

    `transfers`: R from the first and the second grid, I to the first and the second. `kinetic`: T₀, T₁, T₂.
    """
    rest0, rest1, interp1, interp2 = transfers
    kin0, kin1, kin2 = kinetic
    d0, q0, r1, d1, q1, r2, d2 = scratch
    s1, s2 = 4 * step, 16 * step
    rest0.apply(residual, r1, phases)
    kin1.scaled(s1, -1).apply(r1, q1, phases)
    rest1.apply(q1, r2, phases)
    kin2.scaled(-s2 * s2, 2 * s2).apply(r2, d2, phases)
    interp2.apply(d2, q1, phases)
    np.multiply(r1, s1, out=d1)
    d1 -= q1
    kin1.scaled(-s1, 1).apply_and_add(d1, r1, s1, q1, phases)
    interp1.apply(q1, q0, phases)
    kin0.scaled(step, -1).apply_and_add(q0, residual, -step, d0, phases)
