"""Constants of the source programs, and elements as masses and names tell them.

A mass alone does not tell: helium weighs as much as a hydrogen that was made heavy, CH₂ of a united atom as much as
nitrogen, and a nitrogen that gave mass to its hydrogen as much as carbon. So an element must fit the mass, and the name
unless the mass is exact. What no element fits, such as a bead, has none.
"""

from __future__ import annotations

import functools
import re

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
KCAL = 418.4  # amu Å²/ps² of a kcal/mol
KJ_PER_KCAL = 4.184
KJ = 1.0 / KJ_PER_KCAL  # kcal in a kJ
NM = 10.0  # Å
BOHR = 0.52917721067  # Å
AMBER_PS = 20.455  # AMBER's unit of velocity is 1 Å in 1/20.455 ps
RMIN_TO_SIGMA = 2.0 ** (-1.0 / 6.0)

HYDROGEN_MASS_LIMIT = 4.5  # amu: repartitioned hydrogens reach about 4
_HYDROGEN, _DEUTERIUM, _TRITIUM, _HELIUM = 1.008, 2.014, 3.016, 4.0026  # amu
_NEAR = 0.3  # amu: how far masses in force fields are from the element's
_ROUNDED = 0.03  # amu: the same where the name may mean something else
_EXACT = 0.005  # amu: the same where the name says nothing; whole numbers are those of beads
_UNITED = 0.1  # amu
#: how many hydrogens may have taken mass from an atom, and how much each, amu
_GIVES_TO = {"C": 4, "N": 4, "O": 2}
_GIVEN = (0.9, 3.2)
_CHARGE = re.compile(r"\d*[+-]+\d*|_.*$")


def atomic_numbers(mass: NDArray[np.float64], name: NDArray[np.bytes_]) -> NDArray[np.int32]:
    """Guesses atomic numbers (n,) from masses (amu) and names of at most eight characters, 0 where no element fits.

    Deuterium is hydrogen, and a united atom is what its hydrogens are joined to.
    """
    names, which = np.unique(name.astype("S8").view(np.uint64), return_inverse=True)  # faster than texts
    masses, row = np.unique(mass, return_inverse=True)
    pairs, inverse = np.unique(row * len(names) + which, return_inverse=True)
    texts = [text.decode("latin-1").strip() for text in names.view("S8")]
    found = [_atomic_number(float(masses[pair // len(names)]), texts[pair % len(names)]) for pair in pairs.tolist()]
    return np.array(found, np.int32)[inverse]


def _atomic_number(mass: float, name: str) -> int:
    name = name.lstrip("0123456789'\"*")
    letters = re.match(r"[A-Za-z]*", name)[0].upper()  # type: ignore[index]
    if not mass > 0:
        return 0
    if mass < HYDROGEN_MASS_LIMIT and _is_hydrogen(mass, name, letters):
        return 1
    elements, first = _elements(), letters[:1]
    fits = []
    for symbol in (first, letters[:2]):
        number, usual = elements.get(symbol, (0, 0.0))
        is_plain = len(symbol) < 2 or name[1] == symbol[1].lower() or _CHARGE.sub("", name).upper() == symbol
        if number and abs(mass - usual) <= (_NEAR if is_plain else _ROUNDED):
            fits.append((abs(mass - usual), number))
    if fits:
        return min(fits)[1]
    if first in ("C", "N", "O", "S"):
        number, usual = elements[first]
        if any(abs(mass - usual - n * _HYDROGEN) <= _UNITED for n in range(1, 5)):
            return number
        lost = usual - mass
        if any(_GIVEN[0] * n <= lost <= _GIVEN[1] * n for n in range(1, 1 + _GIVES_TO.get(first, 0))):
            return number
    exact = [(abs(mass - usual), number) for number, usual in elements.values() if abs(mass - usual) <= _EXACT]
    return min(exact)[1] if exact else 0


def _is_hydrogen(mass: float, name: str, letters: str) -> bool:
    """Tells whether a light atom is one, which may be heavy; helium is told by its exact mass or as `He`."""
    if name.startswith("He") or (letters.startswith("HE") and abs(mass - _HELIUM) < 0.002):
        return abs(mass - _HELIUM) > _NEAR
    is_tritium = letters.startswith("T") and abs(mass - _TRITIUM) <= _ROUNDED
    return letters.startswith("H") or abs(mass - _DEUTERIUM) <= _ROUNDED or is_tritium


@functools.cache
def _elements() -> dict[str, tuple[int, float]]:
    """Returns number and mass (amu) by symbol in capital letters."""
    from openmm.app import Element

    known = [e for e in Element._elements_by_atomic_number.values() if e.atomic_number <= 103]
    return {e.symbol.upper(): (e.atomic_number, float(e.mass._value)) for e in known}
