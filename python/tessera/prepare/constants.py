"""Coulomb constants of the source programs, and masses by which elements are recognised."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: kcal Å mol⁻¹ e⁻²: the value in each program's source
COULOMB = {
    "charmm": 332.0716,
    "amber": 332.05221729,
    "gromacs": 332.0636930,
    "openmm": 332.06371,
    "dl_poly": 138935.4835 / 418.4,
}
KJ_PER_KCAL = 4.184
KJ = 1.0 / KJ_PER_KCAL  # kcal in a kJ
RMIN_TO_SIGMA = 2.0 ** (-1.0 / 6.0)
ISOTOPES_OF_HYDROGEN = (2.014, 3.016)  # amu
HYDROGEN_MASS_LIMIT = 4.5  # amu: repartitioned hydrogens reach about 4


def atomic_numbers(mass: NDArray[np.float64], name: NDArray[np.bytes_]) -> NDArray[np.int32]:
    """Guesses atomic numbers (n,) from masses (amu), 0 where no element's mass is near.

    A light atom with a name that starts with H is hydrogen even after mass repartitioning. A heavy atom that gave mass
    to hydrogens is found if its mass is within 0.3 amu, and is otherwise unknown.
    """
    from openmm.app import Element

    known = [e for e in Element._elements_by_atomic_number.values() if e.atomic_number <= 103]
    numbers = np.array([e.atomic_number for e in known])
    masses = np.array([e.mass._value for e in known])
    order = np.argsort(masses, kind="stable")
    numbers, masses = numbers[order], masses[order]
    unique, inverse = np.unique(mass, return_inverse=True)
    right = np.clip(np.searchsorted(masses, unique), 1, len(masses) - 1)
    nearest = np.where(unique - masses[right - 1] < masses[right] - unique, right - 1, right)
    found = np.where(np.abs(masses[nearest] - unique) < 0.3, numbers[nearest], 0)
    out = found[inverse].astype(np.int32)
    starts_with_h = np.char.startswith(np.char.lstrip(name, b"0123456789"), b"H")
    out[(mass < HYDROGEN_MASS_LIMIT) & starts_with_h & (mass > 0)] = 1
    for isotope in ISOTOPES_OF_HYDROGEN:  # whatever its name: D, D1, T2 …
        out[np.abs(mass - isotope) < 0.02] = 1
    return out
