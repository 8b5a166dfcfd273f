"""Converts the pair potentials of FIELD, and those of TABLE, to a force field."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tessera.constants import BOHR, COULOMB
from tessera.errors import InputError
from tessera.prepare.dlpoly.field import Field
from tessera.prepare.dlpoly.lines import Line, Lines
from tessera.prepare.lj_types import force_field_of, replace_pairs
from tessera.system import ForceField
from tessera.system.model import PAIR_PARAMETERS, FloatArray

#: of Ziegler et al. (1985): a = 0.88534 a₀/(Z₁^0.23 + Z₂^0.23)
_ZBL_LENGTH, _ZBL_POWER = 0.88534 * BOHR, 0.23
#: Tessera's kind, and which parameters are energies (times a length), by DL_POLY's key
_KINDS = {
    "nm": ("n-m", (0,), 4),
    "buck": ("buckingham", (0, 2), 3),
    "bhm": ("born-huggins-mayer", (0, 3, 4), 5),
    "hbnd": ("12-10", (0, 1), 2),
    "mors": ("morse", (0,), 3),
    "mstw": ("morse-12", (0, 3), 4),
    "wca": ("wca", (0,), 3),
    "14-7": ("buffered-14-7", (0,), 2),
    "ryd": ("rydberg", (0, 1), 3),
}
_REFUSED = {
    "snm": "the shifted n–m potential",
    "ljf": "Frenkel's Lennard-Jones",
    "dpd": "dissipative particle dynamics",
    "ndpd": "dissipative particle dynamics",
    "amoe": "the 14-7 potential by this name; write 14-7",
    "zbls": "ZBL mixed with Morse",
    "zblb": "ZBL mixed with Buckingham",
    "mlj": "a tapered potential",
    "mbuc": "a tapered potential",
    "m126": "a tapered potential",
}


@dataclass
class _Pairs:
    """Pairs of types with potentials in place of Lennard-Jones."""

    types: list[tuple[int, int]] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    parameters: list[list[float]] = field(default_factory=list)
    tables: list[FloatArray] = field(default_factory=list)

    def add(self, pair: tuple[int, int], kind: str, parameters: list[float]) -> None:
        self.types.append(pair)
        self.kinds.append(kind)
        self.parameters.append(parameters + [0.0] * (PAIR_PARAMETERS - len(parameters)))


def make_force_field(found: Field, names: list[str], table: Path | None) -> ForceField:
    """Returns the types `names` and their potentials; pairs that FIELD does not list have none.

    Raises `InputError` for keys without a counterpart, and where a pair is listed twice.
    """
    index = {name: row for row, name in enumerate(names)}
    a, b = np.zeros((2, len(names), len(names)))
    pairs = _Pairs()
    seen: dict[tuple[int, int], Line] = {}
    tabulated: list[tuple[int, int]] = []
    for line in found.potentials:
        if len(line.words) < 3:
            raise line.wrong(f"expected two names and a key, found {line.text!r}")
        unknown = [word for word in line.words[:2] if word not in index]
        if unknown:
            raise line.wrong(f"no atom is named {unknown[0]!r}; FIELD has {', '.join(names)}")
        i, j = sorted(index[word] for word in line.words[:2])
        if (i, j) in seen:
            raise line.wrong(f"{names[i]} and {names[j]} have a potential in line {seen[i, j].number} already")
        seen[i, j] = line
        key = line.words[2].lower()
        if key == "tab":
            tabulated.append((i, j))
        elif key in ("12-6", "lj", "ljc"):
            a[i, j], b[i, j] = _lennard_jones(line, key, found.unit)
            a[j, i], b[j, i] = a[i, j], b[i, j]
        else:
            pairs.add((i, j), *_converted(line, key, found.unit))
    if tabulated:
        _read_table(found, names, tabulated, pairs, table)
    force_field = force_field_of(names, a, b, "lorentz-berthelot")
    if pairs.types:
        replace_pairs(force_field, np.array(pairs.types, np.int32), pairs.kinds, np.array(pairs.parameters))
    if pairs.tables:
        force_field.pair_tables = np.stack(pairs.tables)
    return force_field


def _lennard_jones(line: Line, key: str, unit: float) -> tuple[float, float]:
    """Returns A kcal/mol Å¹² and B kcal/mol Å⁶."""
    first, second = (line.number_at(3 + at, what) for at, what in enumerate(("its first parameter", "its second")))
    if key == "12-6":
        return first * unit, second * unit
    cohesion = line.number_at(5, "c") if key == "ljc" else 1.0
    power = second**6
    return 4 * first * unit * power * power, 4 * first * unit * cohesion * power


def _converted(line: Line, key: str, unit: float) -> tuple[str, list[float]]:
    """Returns the kind and its parameters in kcal/mol and Å."""
    if key == "zbl":
        z = [line.number_at(3 + at, "an atomic number") for at in (0, 1)]
        return "zbl", [COULOMB["dl_poly"] * z[0] * z[1], _ZBL_LENGTH / (z[0] ** _ZBL_POWER + z[1] ** _ZBL_POWER)]
    if key not in _KINDS:
        what = _REFUSED.get(key, "an unknown potential")
        known = ", ".join(("12-6", "lj", "ljc", *_KINDS, "zbl", "tab"))
        raise line.wrong(f"pair potential {line.words[2]!r} ({what}) is not supported; known: {known}")
    kind, energies, count = _KINDS[key]
    optional = {("wca", 2): 0.0}
    values = [line.number_at(3 + at, f"parameter {at + 1} of {key}", optional.get((key, at))) for at in range(count)]
    if key in ("buck", "ryd") and values[1 if key == "buck" else 2] <= 0:
        raise line.wrong(f"the length ρ of {key} must be above 0")
    if key == "nm" and not (values[1] > values[2] > 0 and values[3] > 0):
        raise line.wrong(f"nm needs n > m > 0 and r₀ > 0, found n = {values[1]:g}, m = {values[2]:g}")
    if key in ("wca", "14-7") and values[1] <= 0:
        raise line.wrong(f"the length of {key} must be above 0")
    return kind, [value * unit if at in energies else value for at, value in enumerate(values)]


def _read_table(
    found: Field, names: list[str], tabulated: list[tuple[int, int]], pairs: _Pairs, path: Path | None
) -> None:
    """Reads energies and virials (−r dU/dr) at equal distances from TABLE."""
    if path is None or not path.is_file():
        raise InputError(f"{found.name} has tabulated potentials, and there is no TABLE beside it: give --table")
    lines = Lines.read(path, "TABLE file")
    head = lines.take("spacing, cut-off and number of points")
    spacing, points = head.number_at(0, "a spacing"), head.whole_at(2, "a number of points")
    if spacing <= 0 or points < 4:
        raise head.wrong(f"spacing {spacing:g} Å and {points} points: expected a spacing above 0 and at least 4 points")
    left = set(tabulated)
    while left:
        line = lines.take(f"the table of {' and '.join(names[i] for i in min(left))}")
        pair = tuple(sorted(names.index(word) if word in names else -1 for word in line.words[:2]))
        if pair not in left:
            raise line.wrong(f"a table of {' '.join(line.words[:2])!r}, which FIELD does not list as tab")
        energy, virial = (_numbers(lines, points) * found.unit for _ in range(2))
        r = spacing * np.arange(1, points + 1)
        pairs.add((pair[0], pair[1]), "table", [float(len(pairs.tables)), spacing])
        pairs.tables.append(np.stack([energy, virial / r], axis=1))
        left.remove((pair[0], pair[1]))


def _numbers(lines: Lines, count: int) -> FloatArray:
    values: list[float] = []
    while len(values) < count:
        line = lines.take(f"{count - len(values)} numbers more")
        values += [line.number_at(at, "a value") for at in range(len(line.words))]
    if len(values) != count:
        raise line.wrong(f"{len(values)} numbers up to here, expected {count}")
    return np.array(values)
