"""Constants of the source programs."""

from __future__ import annotations

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
