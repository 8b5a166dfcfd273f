"""Charges in salt water: how far they are seen, and the charge that DNA has from afar.

The field of DNA is that of a charged cylinder by the nonlinear equation of Poisson and Boltzmann. From afar it is the
field of a line by the equation of Debye and Hückel, whose charge is the effective one (Stigter 1977: radius 12 Å, 0.73
of the phosphates' charge): 0.243 e/Å in 0.01 mol/L, 0.608 in 0.1.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.integrate import solve_bvp
from scipy.special import i0, k0, k1

from tessera.build.charges.debye import BJERRUM, kappa
from tessera.build.dna.paths import RISE
from tessera.system.model import FloatArray

_RADIUS = 12.0  # Å, of the cylinder
_FREE = 0.73  # of the phosphates' charge
_DENSITY = 2 / RISE  # e/Å
_FAR = 6.0  # Debye lengths from the surface, where the field is that of a line


def cutoff(salt: float) -> float:
    """Returns the distance in Å beyond which charges do not see each other: where exp(-κr) is below 0.003."""
    return 5 + 6 / kappa(salt)


@cache
def line_charge(salt: float) -> float:
    """Returns the effective charge of DNA in e/Å, in a monovalent salt in mol/L."""
    inverse = kappa(salt)
    start = inverse * _RADIUS
    far, end = start + _FAR, start + 2 * _FAR
    slope = 2 * BJERRUM * _FREE * _DENSITY
    # by t = ln κr: y'' = (κr)² sinh y
    t = np.linspace(np.log(start), np.log(end), 400)
    guess = np.minimum(slope * k0(np.exp(t)) / (start * k1(start)), 4.0)

    def derivative(t: FloatArray, y: FloatArray) -> FloatArray:
        return np.array([y[1], np.exp(2 * t) * np.sinh(y[0])])

    def ends(first: FloatArray, last: FloatArray) -> FloatArray:
        return np.array([first[1] + slope, last[1] + end * k1(end) / k0(end) * last[0]])

    found = solve_bvp(derivative, ends, t, np.array([guess, np.gradient(guess, t)]), tol=1e-8, max_nodes=50_000)
    assert found.success, found.message
    return float(round(found.sol(np.log(far))[0] / (2 * BJERRUM * k0(far)), 4))


def renormalised(salt: float) -> float:
    """Returns the part of a charge on the surface of DNA that is seen from afar, at most 1: a shell as wide as the
    cylinder has the field of the line."""
    return float(min(1.0, round(line_charge(salt) / (i0(kappa(salt) * _RADIUS) * _DENSITY), 4)))
