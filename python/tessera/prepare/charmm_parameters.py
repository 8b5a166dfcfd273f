"""Reads CHARMM's parameters from the cards of topology and parameter files, and looks up the parameters of terms.

A later definition replaces an earlier one, whichever file it stands in; `notes` and `warnings` say so for the
parameters that a system uses. Every line is understood or refused by file and line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tessera.constants import RMIN_TO_SIGMA
from tessera.errors import InputError
from tessera.prepare.charmm_duplicates import Definition, Key, Row, Table, Used, generations
from tessera.prepare.charmm_stream import Card, Line, Reading, read_cards
from tessera.system import USUAL_LENNARD_JONES
from tessera.system.model import FloatArray

#: first letters of what may stand in a topology; only MASS counts here, the PSF says the rest
_TOPOLOGY = {
    "MASS", "DECL", "DEFA", "AUTO", "RESI", "PRES", "GROU", "ATOM", "BOND", "DOUB", "TRIP", "AROM", "ANGL", "THET",
    "DIHE", "PHI", "IMPR", "IMPH", "CMAP", "CROS", "DONO", "ACCE", "IC", "BILD", "BUIL", "PATC", "DELE", "LONE", "ANIS",
    "PRIN",
}  # fmt: skip
#: words of the NONBONDED line without and with a value; only some of these matter for energies
_FLAGS = {
    "ATOM", "CDIE", "SHIF", "FSHI", "SWIT", "FSWI", "VATO", "VDIS", "VSHI", "VSWI", "VFSW", "VFSH", "BYGR", "BYCU",
    "BYCB", "EXTE", "NOEX", "NOEW", "EWAL", "PMEW", "PMEWALD", "FAST", "LRC", "LRC_MS", "IPS", "NOIP", "NOGR",
}  # fmt: skip
_VALUES = {
    "NBXM", "CUTN", "CTOF", "CTON", "EPS", "E14F", "WMIN", "WRNM", "INBF", "IMGF", "CUTI", "KAPP", "ORDE", "FFTX",
    "FFTY", "FFTZ", "CTVT",
}  # fmt: skip
_VDW = {"VSHI": "vshift", "VSWI": "vswitch", "VFSW": "vfswitch", "VFSH": "vfshift"}


class CharmmParameters:
    """Parameters by type names (upper case), `None` where one is missing, in radians, kcal and Å."""

    def __init__(self, reading: Reading) -> None:
        self._bonds, self._angles = Table("bond", severity=-1), Table("angle", severity=-1)
        #: by file, the definitions by multiplicity
        self._dihedrals: dict[Key, dict[str, dict[int, Definition]]] = {}
        self._cosines = Table("dihedral", either_way=False, severity=0)  # keys end with the multiplicity
        self._impropers = Table("improper", severity=0)
        self._cmaps = Table("CMAP")
        self._lj = Table("Lennard-Jones")
        self._nbfix = Table("NBFIX")
        self._mass: dict[tuple[str, int], float] = {}  # by name and number of a type
        self._geometric: tuple[bool, str] | None = None
        self._scale_14: tuple[float, str] | None = None
        self._used = Used()
        self._endings: dict[str, None] = {}
        self._files = [card.name for card in reading.cards if card.kind == "para"]
        self._reading_warnings = reading.warnings
        self._stops_at: int | None = None  # of the card that is being read
        for card in reading.cards:
            (self._read_topology if card.kind == "rtf" else self._read_parameters)(card)

    def notes(self) -> list[str]:
        """Notes for the user on the parameters that were looked up, one line each."""
        return [*self._used.notes(), *self._endings]

    def warnings(self) -> list[str]:
        """Returns what is likely to be a mistake in the choice of files, one line each."""
        return [*self._reading_warnings, *generations(self._files, self._used)]

    @property
    def lj_rule(self) -> str:
        return "geometric" if self._geometric and self._geometric[0] else "lorentz-berthelot"

    def electrostatic_14_scale(self) -> float:
        """Returns the factor E14FAC of 1-4 electrostatics."""
        return 1.0 if self._scale_14 is None else self._scale_14[0]

    # reading

    def _read_topology(self, card: Card) -> None:
        for index, line in enumerate(card.lines):
            if line.command == "MASS":
                self._read_mass(line)
            elif line.command not in _TOPOLOGY and not (index == 0 and line.words[0].isdigit()):  # the version
                raise _not_understood(line, "a topology")

    def _read_mass(self, line: Line) -> None:
        if not 4 <= len(line.words) <= 5:
            raise line.error("expected MASS, a number, a type's name, a mass and perhaps an element")
        number, mass = _numbers(line, [line.words[1], line.words[3]])
        self._mass[line.words[2].upper(), int(number)] = mass

    def _read_parameters(self, card: Card) -> None:
        readers = {
            "ATOMS": self._read_atom,
            "BONDS": self._read_bond,
            "ANGLES": self._read_angle,
            "DIHEDRALS": self._read_dihedral,
            "IMPROPERS": self._read_improper,
            "NBFIX": self._read_nbfix,
            "THOLE": _check_thole,
        }
        self._stops_at = card.stops_at
        section = ""
        at = 0
        while at < len(card.lines):
            line = card.lines[at]
            at += 1
            if line.section is not None:
                section = line.section
                if section == "NONBONDED":
                    at = self._read_nonbonded_head(card.lines, at - 1)
            elif line.command == "PRIN" and len(line.words) == 2:
                continue
            elif section == "CMAP":
                at = self._read_cmap(card.lines, at - 1)
            elif section == "NONBONDED":
                self._read_lj(line)
            elif section in readers:
                readers[section](line)
            elif section == "HBOND":
                raise line.error("10-12 hydrogen bonds are not supported")
            else:
                raise _not_understood(line, "parameters")

    def _read_atom(self, line: Line) -> None:
        if line.command != "MASS":
            raise _not_understood(line, "the section ATOMS")
        self._read_mass(line)

    def _read_bond(self, line: Line) -> None:
        key, row = _row(line, 2, (2,), "a bond: two types, a force constant and a length")
        self._bonds.put(key, row, line, self._stops_at)

    def _read_angle(self, line: Line) -> None:
        what = "an angle: three types, a force constant, an angle and perhaps two numbers of Urey–Bradley"
        key, row = _row(line, 3, (2, 4), what)
        self._angles.put(key, row, line, self._stops_at)

    def _read_dihedral(self, line: Line) -> None:
        key, (k, n, delta) = _row(line, 4, (3,), "a dihedral: four types, a force constant, a multiplicity and a phase")
        if n != int(n) or n < 0:
            raise line.error(f"a dihedral's multiplicity must be a whole number from 0, found {n}")
        key = min(key, key[::-1])
        found = Definition((k, delta), line.where)
        self._dihedrals.setdefault(key, {}).setdefault(found.file, {})[int(n)] = found
        self._cosines.put((*key, f"n = {int(n)}"), (k, delta), line, self._stops_at)

    def _read_improper(self, line: Line) -> None:
        what = "an improper: four types, a force constant, a multiplicity and an angle"
        key, row = _row(line, 4, (2, 3), what)
        if len(row) == 3:
            k, n, angle = row
            if n != int(n) or n < 0:
                raise line.error(f"an improper's multiplicity must be a whole number from 0, found {n}")
            row = (k, n, angle) if n else (k, angle)
        self._impropers.put(key, row, line, self._stops_at)

    def _read_cmap(self, lines: list[Line], at: int) -> int:
        """Reads a map from line `at` on and returns the line after it."""
        head = lines[at]
        if len(head.words) != 9 or any(_is_number(w) for w in head.words[:8]):
            raise head.error("expected a CMAP: eight types and the number of points a side")
        (points,) = _numbers(head, head.words[8:])
        if points not in range(4, 361):
            raise head.error(f"a CMAP must have 4 to 360 points a side, found {head.words[8]}")
        n = int(points)
        values: list[float] = []
        at += 1
        while at < len(lines) and len(values) < n * n and _is_number(lines[at].words[0]):
            values.extend(_numbers(lines[at], lines[at].words))
            at += 1
        if len(values) != n * n:
            raise head.error(f"a CMAP of {n} × {n} points has {n * n} numbers, found {len(values)}")
        self._cmaps.put(tuple(w.upper() for w in head.words[:8]), tuple(values), head, self._stops_at)
        return at

    def _read_nonbonded_head(self, lines: list[Line], at: int) -> int:
        """Reads the words of NONBONDED, which may be on several lines; returns the line where the rows begin."""
        words, where = lines[at].words[1:], lines[at]
        at += 1
        while at < len(lines) and words and lines[at].command in _FLAGS | _VALUES and not _is_lj(lines[at]):
            words = [*words, *lines[at].words]
            at += 1
        if words:
            self._take_nonbonded(where, words)
        return at

    def _take_nonbonded(self, line: Line, words: list[str]) -> None:
        values: dict[str, float] = {}
        flags: list[str] = []
        rest = iter(words)
        for word in rest:
            short = word[:4].upper()
            if short in _VALUES:
                values[short] = _numbers(line, [next(rest, "nothing")])[0]
            elif short in _FLAGS or short == "GEOM":
                flags.append(short)
            elif short != "ARIT":
                raise line.error(f"{word} of NONBONDED is not understood or not supported")
        for short, name, expected in (("EPS", "eps", 1.0), ("NBXM", "nbxmod", 5.0)):
            if abs(values.get(short, expected)) != expected:
                raise line.error(f"{name} {values[short]:g} is not supported: only {expected:g} is")
        self._agree("e14fac", "_scale_14", values.get("E14F", 1.0), line)
        self._agree("geom", "_geometric", "GEOM" in flags, line)
        self._take_ending(values, flags)

    def _agree(self, name: str, attribute: str, value: float | bool, line: Line) -> None:
        known = getattr(self, attribute)
        if known is not None and known[0] != value:
            raise line.error(f"{name} is {value} here and {known[0]} in {known[1]}: these files do not go together")
        setattr(self, attribute, known or (value, line.where))

    def _take_ending(self, values: dict[str, float], flags: list[str]) -> None:
        """Adds a note where the file switches Lennard-Jones off with another function than a run does."""
        usual = USUAL_LENNARD_JONES["charmm"]
        kind = next((_VDW[f] for f in flags if f in _VDW), None)
        begin, end = values.get("CTON", usual.switch), values.get("CTOF", usual.cutoff)
        if (kind or "vfswitch", begin, end) == ("vfswitch", usual.switch, usual.cutoff):
            return
        note = (
            f"the parameters say {kind or 'vfswitch'} from {begin:g} to {end:g} Å; a run takes CHARMM's usual "
            f"force switch from {usual.switch:g} to {usual.cutoff:g} Å unless its run file says otherwise"
        )
        self._endings[note] = None

    def _read_lj(self, line: Line) -> None:
        what = "Lennard-Jones: a type, a number, ε and Rmin/2, perhaps the same three for 1-4 pairs"
        key, row = _row(line, 1, (3, 6), what)
        _refuse_wildcards(line, key)
        if row[1] > 0 or (len(row) == 6 and row[4] > 0):
            raise line.error("a positive ε (Slater–Kirkwood) is not supported: expected it negative")
        self._lj.put(key, row[1:3] if len(row) == 3 else (*row[1:3], *row[4:]), line, self._stops_at)

    def _read_nbfix(self, line: Line) -> None:
        what = "an NBFIX: two types, ε and Rmin, perhaps the same two for 1-4 pairs"
        key, row = _row(line, 2, (2, 4), what)
        _refuse_wildcards(line, key)
        self._nbfix.put(key, row, line, self._stops_at)

    # looking up

    def type_name(self, name: str, mass: float) -> str:
        """Returns the name of a type that a CHARMM-format PSF gives as a number.

        Streams number their MASS lines anew, so a number may belong to several names. The mass (amu) in the PSF
        distinguishes them; raises `InputError` where it does not.
        """
        if not name.isdigit():
            return name.upper()
        claims = {n: found for (n, number), found in self._mass.items() if number == int(name)}
        fitting = sorted(n for n, found in claims.items() if abs(found - mass) < 0.02)
        if len(fitting) > 1:
            raise InputError(
                f"the PSF has atom types as numbers, and number {name} is claimed by the MASS lines "
                f"of {' and '.join(fitting)}: give only the files that the PSF was made with, or an "
                "X-PLOR PSF, which has names"
            )
        return fitting[0] if fitting else name

    def lj(self, name: str) -> tuple[float, float, float, float] | None:
        """Returns σ Å, ε kcal/mol, and both for 1-4 pairs."""
        row = self._lj.get((name,), self._used)
        if row is None:
            return None
        epsilon, half, *pair = row
        epsilon_14, half_14 = pair or (epsilon, half)
        to_sigma = 2.0 * RMIN_TO_SIGMA
        return half * to_sigma, abs(epsilon), half_14 * to_sigma, abs(epsilon_14)

    def nbfix(self, names: Sequence[str]) -> dict[Key, tuple[float, float, float, float]]:
        """Returns pairs of `names` with parameters of their own: σ, ε, and both for 1-4 pairs."""
        wanted = {name: index for index, name in enumerate(names)}
        out: dict[Key, tuple[float, float, float, float]] = {}
        for key in self._nbfix.rows:
            row = self._nbfix.get(key, self._used) if key[0] in wanted and key[1] in wanted else None
            if row is None:
                continue
            epsilon, rmin, *pair = row
            epsilon_14, rmin_14 = pair or (epsilon, rmin)
            first, second = sorted(key, key=wanted.__getitem__)
            out[first, second] = (rmin * RMIN_TO_SIGMA, abs(epsilon), rmin_14 * RMIN_TO_SIGMA, abs(epsilon_14))
        return dict(sorted(out.items(), key=lambda item: [wanted[n] for n in item[0]]))

    def mass(self, name: str) -> float:
        """Returns the mass (amu) that a topology's last MASS line has for a type. Raises `InputError` for none."""
        found = [mass for (other, _), mass in self._mass.items() if other == name]
        if not found:
            raise InputError(f"no MASS line of the files given has the atom type {name}: add the topology that has it")
        return found[-1]

    def bond(self, key: Key) -> tuple[float, float] | None:
        row = self._bonds.get(key, self._used)
        return None if row is None else (row[0], row[1])

    def angle(self, key: Key) -> tuple[float, float] | None:
        row = self._angles.get(key, self._used)
        return None if row is None else (row[0], math.radians(row[1]))

    def urey_bradley(self, key: Key) -> tuple[float, float] | None:
        row = self._angles.get(key, self._used)
        return (row[2], row[3]) if row is not None and len(row) == 4 and row[2] else None

    def dihedral(self, key: Key) -> list[tuple[float, float, float]] | None:
        """Returns the cosines k, n, δ; a multiplicity of 0 is CHARMM's harmonic form."""
        a, b, c, d = key
        for candidate in (key, ("X", b, c, "X"), ("X", b, c, d), (a, b, c, "X")):
            candidate = min(candidate, candidate[::-1])
            sets = self._dihedrals.get(candidate)
            if sets is None:
                continue
            self._note_mixed(candidate, sets)
            rows = {n: self._cosines.get((*candidate, f"n = {n}"), self._used) for ns in sets.values() for n in ns}
            return [(row[0], float(n), math.radians(row[1])) for n, row in rows.items() if row is not None]
        return None

    def _note_mixed(self, key: Key, sets: dict[str, dict[int, Definition]]) -> None:
        """Takes a note where files have other multiplicities for a dihedral than the first."""
        multiplicities = [set(found) for found in sets.values()]
        if any(found != multiplicities[0] for found in multiplicities[1:]):
            self._used.mixed[key] = {
                file: Definition(tuple(map(float, found)), next(iter(found.values())).where)
                for file, found in sets.items()
            }

    def improper(self, key: Key) -> tuple[float, ...] | None:
        """Returns (k, φ₀), or (k, n, δ) where the parameter has a multiplicity."""
        a, b, c, d = key
        for candidate in (key, (a, "X", "X", d), ("X", b, c, d), ("X", b, c, "X"), ("X", "X", c, d)):
            row = self._impropers.get(candidate, self._used)
            if row is not None:
                return (*row[:-1], math.radians(row[-1]))
        return None

    def cmap(self, key: Key) -> FloatArray | None:
        row = self._cmaps.get(key, self._used)
        return None if row is None else np.array(row, np.float64).reshape(math.isqrt(len(row)), -1)


def read_parameters(paths: Sequence[str | Path]) -> CharmmParameters:
    """Reads topology, parameter and stream files, which are in the order in which CHARMM reads them.

    Raises `InputError` that names the file and the line that cannot be read.
    """
    return CharmmParameters(read_cards(paths))


def _not_understood(line: Line, where: str) -> InputError:
    return line.error(f"{' '.join(line.words)[:60]!r} is not understood in {where}")


def _is_number(word: str) -> bool:
    try:
        float(word.upper().replace("D", "E"))
    except ValueError:
        return False
    return not word.isalpha()  # nan and inf may be types


def _is_lj(line: Line) -> bool:
    """Returns whether a line is a row of NONBONDED: a type and then only numbers."""
    return len(line.words) in (4, 7) and all(_is_number(word) for word in line.words[1:])


def _numbers(line: Line, words: Sequence[str]) -> Row:
    """Returns numbers in Fortran's notation."""
    for word in words:
        if not _is_number(word):
            raise line.error(f"expected a number, found {word!r}")
    values = tuple(float(word.upper().replace("D", "E")) for word in words)
    if not all(map(math.isfinite, values)):
        raise line.error(f"a number is not finite: {' '.join(words)}")
    return values


def _row(line: Line, types: int, counts: tuple[int, ...], what: str) -> tuple[Key, Row]:
    """Returns the types and numbers of a row."""
    names, words = line.words[:types], line.words[types:]
    if len(words) not in counts or not all(map(_is_number, words)) or (types > 1 and any(map(_is_number, names))):
        raise line.error(f"expected {what}; found {' '.join(line.words)[:60]!r}")
    return tuple(name.upper() for name in names), _numbers(line, words)


def _refuse_wildcards(line: Line, key: Key) -> None:
    if any(character in name for name in key for character in "*%#"):
        raise line.error(f"wildcards in types are not supported here: {' '.join(key)}")


def _check_thole(line: Line) -> None:
    """Checks a line on screening between Drude particles, which no PSF that is read here has."""
    _row(line, 2, (1,), "two types and a number")
