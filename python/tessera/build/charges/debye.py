"""The field of charges in salt water by the linear equation of Poisson and Boltzmann (Debye and Hückel).

A charge q has the potential φ = l q exp(−κr)/r in kT/e, with Bjerrum's length l = e²/(4π ε₀ ε kT) and κ² = 8π l c of a
monovalent salt with c ions of each kind in a volume. Fields are −∇φ in kT/(e Å).
"""

from __future__ import annotations

import numpy as np
from scipy import constants

from tessera.system.model import FloatArray

TEMPERATURE = 298.15  # K
PERMITTIVITY = 78.5  # of water, relative
#: Bjerrum's length, Å: 7.14
BJERRUM = 1e10 * constants.e**2 / (
    4 * np.pi * constants.epsilon_0 * PERMITTIVITY * constants.k * TEMPERATURE
)  # fmt: skip
_PER_LITRE = constants.N_A * 1e-27  # ions in Å³ at 1 mol/L


def kappa(salt: float) -> float:
    """Returns the inverse of the Debye length in 1/Å, in a monovalent salt in mol/L."""
    return float(np.sqrt(8 * np.pi * BJERRUM * salt * _PER_LITRE))


def fields(points: FloatArray, sites: FloatArray, inverse: float) -> FloatArray:
    """Returns the fields (m,3,n) at points (m,3) Å of charges of 1 e at sites (n,3) Å, with κ = `inverse` in 1/Å."""
    apart, r = _apart(points, sites)
    return np.asarray(apart * _strength(r, inverse)[:, None])


def slopes(points: FloatArray, sites: FloatArray, inverse: float) -> FloatArray:
    """Returns the derivatives (m,3,n,3) of these fields by the places of the charges, in kT/(e Å²) for 1 e."""
    apart, r = _apart(points, sites)
    t = inverse * r
    # E = s(r) d, with d from the charge to the point: ∂E/∂site = −s 1 − (s′/r) d dᵀ
    rate = BJERRUM * np.exp(-t) * (3 + 3 * t + t * t) / r**5
    found = np.einsum("mn,man,mbn->manb", rate, apart, apart)
    found[:, range(3), :, range(3)] -= _strength(r, inverse)
    return np.asarray(found)


def _apart(points: FloatArray, sites: FloatArray) -> tuple[FloatArray, FloatArray]:
    apart = points[:, :, None] - sites.T
    return apart, np.sqrt((apart * apart).sum(axis=1))


def _strength(r: FloatArray, inverse: float) -> FloatArray:
    return np.asarray(BJERRUM * np.exp(-inverse * r) * (1 + inverse * r) / r**3)
