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

#: the elements from 1 to 103 and their atomic weights (amu)
_ATOMIC_WEIGHTS = """
H 1.0079  He 4.003  Li 6.9412  Be 9.0122  B 10.8117  C 12.0108  N 14.0067  O 15.9994  F 18.9984  Ne 20.1798
Na 22.9898  Mg 24.3051  Al 26.9815  Si 28.0855  P 30.9738  S 32.0655  Cl 35.4532  Ar 39.9481  K 39.0983
Ca 40.0784  Sc 44.9559  Ti 47.8671  V 50.9415  Cr 51.9962  Mn 54.938  Fe 55.8452  Co 58.9332  Ni 58.6934
Cu 63.5463  Zn 65.4094  Ga 69.7231  Ge 72.641  As 74.9216  Se 78.963  Br 79.9041  Kr 83.7982  Rb 85.4678
Sr 87.621  Y 88.9059  Zr 91.2242  Nb 92.9064  Mo 95.942  Tc 98  Ru 101.072  Rh 102.9055  Pd 106.421  Ag 107.8682
Cd 112.4118  In 114.8183  Sn 118.7107  Sb 121.7601  Te 127.603  I 126.9045  Xe 131.2936  Cs 132.9055
Ba 137.3277  La 138.9055  Ce 140.1161  Pr 140.9077  Nd 144.2423  Pm 145  Sm 150.362  Eu 151.9641  Gd 157.253
Tb 158.9254  Dy 162.5001  Ho 164.9303  Er 167.2593  Tm 168.9342  Yb 173.043  Lu 174.9671  Hf 178.492
Ta 180.9479  W 183.841  Re 186.2071  Os 190.233  Ir 192.2173  Pt 195.0849  Au 196.9666  Hg 200.592  Tl 204.3833
Pb 207.21  Bi 208.9804  Po 209  At 210  Rn 222.018  Fr 223  Ra 226  Ac 227  Th 232.0381  Pa 231.0359  U 238.0289
Np 237  Pu 244  Am 243  Cm 247  Bk 247  Cf 251  Es 252  Fm 257  Md 258  No 259  Lr 262
"""


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
    words = _ATOMIC_WEIGHTS.split()
    pairs = enumerate(zip(words[::2], words[1::2]), 1)
    return {symbol.upper(): (number, float(weight)) for number, (symbol, weight) in pairs}
