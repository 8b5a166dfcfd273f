"""DL_POLY's units, with the constants of its source.

Its own unit of energy is amu Å²/ps² = 10 J/mol; FIELD may use others.
"""

from __future__ import annotations

from tessera.constants import KCAL

INTERNAL = 1.0 / KCAL  # kcal/mol
#: kcal/mol in the unit of energy, by the first letters of the `units` directive
ENERGY = {
    "ev": 9648.530821 * INTERNAL,
    "kcal": 1.0,
    "kj": 100.0 * INTERNAL,
    "k": 0.831451115 * INTERNAL,
    "internal": INTERNAL,
}
KATM = 1013.25  # bar


def energy_unit(word: str) -> float | None:
    """Returns the unit in kcal/mol; None where the word names none."""
    word = word.lower()
    if word in ENERGY:
        return ENERGY[word]
    for name, start in (("kcal", "kcal"), ("kj", "kj"), ("ev", "ev"), ("internal", "inter"), ("k", "kelvin")):
        if word.startswith(start):
            return ENERGY[name]
    return None
