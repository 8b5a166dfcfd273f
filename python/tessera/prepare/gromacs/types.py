"""Reads the force field of a GROMACS topology: atom types, and the parameters of interactions by types.

Rules of `grompp` (GROMACS manual, "Topology file", and what it does with repeated lines):

- Types match in either direction. A later line of the same types and function takes the place of an earlier one.
- Dihedral types may have wildcards (X). The type with the most exact matches is taken, of those the first in the file.
- Lines of a dihedral type with function 9 that follow each other are one sum of cosines. A single line that another
  file repeats is passed over; a second block that differs is an error.
- Parameters of pairs are those of `[ pairtypes ]` or, where `[ defaults ]` says that pairs are generated, those of
  the two atom types (of `[ nonbond_params ]`, where they are there) scaled by fudgeLJ.

Numbers are GROMACS': nm, kJ/mol, degrees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from tessera.errors import InputError
from tessera.system.model import FloatArray

Names = tuple[str, ...]
Numbers = tuple[float, ...]

#: how many numbers states A and B have, by section and function; other functions are not supported
SIZES: dict[str, dict[int, tuple[int, int]]] = {
    "bonds": {1: (2, 2), 2: (2, 2), 5: (0, 0), 6: (2, 2)},
    "angles": {1: (2, 2), 2: (2, 2), 5: (4, 4)},
    "dihedrals": {1: (3, 3), 2: (2, 2), 3: (6, 6), 4: (3, 3), 5: (4, 4), 9: (3, 3)},
    "constraints": {1: (1, 1), 2: (1, 1)},
    "settles": {1: (2, 0)},
    "pairs": {1: (2, 2), 2: (5, 0)},
}
#: the interactions of each section of types, and their number of atoms
TYPES_OF = {
    "bondtypes": ("bonds", 2),
    "angletypes": ("angles", 3),
    "dihedraltypes": ("dihedrals", 4),
    "constrainttypes": ("constraints", 2),
}
_WILD = "X"
_NO_INTEGER = 2**31
_NO_ATOM = {"S": "a shell", "B": "a bond shell", "N": "a nucleus"}
_ATOMS = {"A", "V", "D"}  # V, and D in older files: virtual sites


def is_number(word: str) -> bool:
    try:
        return "_" not in word and math.isfinite(float(word))
    except ValueError:
        return False


def numbers_of(words: Sequence[str], where: str) -> Numbers:
    """Returns numbers. Raises `InputError` that names the word that is no finite number."""
    for word in words:
        if not is_number(word):
            hint = " (a macro that is not defined?)" if word[:1].isalpha() else ""
            raise InputError(f"{where}: expected a number, found {word!r}{hint}")
    return tuple(map(float, words))


def integer_of(word: str, what: str, where: str) -> int:
    try:
        value = int(word)
    except ValueError:
        value = _NO_INTEGER
    if abs(value) >= _NO_INTEGER:
        raise InputError(f"{where}: expected {what}, a whole number, found {word[:40]!r}")
    return value


@dataclass(frozen=True)
class AtomType:
    name: str
    bonded: str  # the name in sections of bonded types
    number: int  # atomic number, 0 where not given
    mass: float
    charge: float
    particle: str
    lj: tuple[float, float]  # C6, C12 or σ, ε
    where: str

    @property
    def is_not_an_atom(self) -> str | None:
        return _NO_ATOM.get(self.particle)


def read_atom_type(words: Sequence[str], where: str) -> AtomType:
    """Reads a name, an optional bonded type, an optional atomic number, mass, charge, particle type and two
    parameters."""

    def is_particle(index: int) -> bool:
        return len(words) > index and len(words[index]) == 1 and words[index].isalpha()

    bonded, number = words[0], "0"
    if is_particle(5):
        optional, bonded, number = 2, words[1], words[2]
    elif is_particle(3):
        optional = 0
    elif is_particle(4):
        optional = 1
        if words[1].lstrip("-").isdigit():
            number = words[1]
        else:
            bonded = words[1]
    else:
        raise InputError(f"{where}: an atom type has a name, mass, charge, particle type (A) and two parameters")
    rest = words[1 + optional :]
    if len(rest) != 5:
        raise InputError(
            f"{where}: atom type {words[0]} needs mass, charge, particle type and two parameters, found "
            f"{' '.join(rest)}"
        )
    particle = rest[2].upper()
    if particle not in _ATOMS and particle not in _NO_ATOM:
        raise InputError(f"{where}: atom type {words[0]} has the particle type {rest[2]}, expected A, V or D")
    mass, charge, v, w = numbers_of([*rest[:2], *rest[3:]], where)
    return AtomType(
        name=words[0],
        bonded=bonded,
        number=max(0, integer_of(number, "an atomic number", where)),
        mass=mass,
        charge=charge,
        particle=particle,
        lj=(v, w),
        where=where,
    )


@dataclass
class Defaults:
    """The line of `[ defaults ]`."""

    rule: int  # 1: C6, C12, geometric; 2: σ, ε, Lorentz–Berthelot; 3: σ, ε, geometric
    generates_pairs: bool
    fudge_lj: float
    fudge_qq: float


def read_defaults(words: Sequence[str], where: str) -> Defaults:
    if len(words) < 2:
        raise InputError(f"{where}: [ defaults ] needs the function and the combination rule")
    if words[0] not in ("1", "LJ"):
        raise InputError(f"{where}: non-bonded function {words[0]} is not supported, expected 1 (Lennard-Jones)")
    rule = {"1": 1, "2": 2, "3": 3, "geometric": 1, "arithmetic": 2, "geomsigeps": 3}.get(words[1].lower())
    if rule is None:
        raise InputError(f"{where}: combination rule {words[1]}, expected 1, 2 or 3")
    fudge = (*numbers_of(words[3:], where), *(1.0, 1.0, 12.0)[len(words[3:]) :])
    if len(fudge) > 3 or fudge[2] != 12:
        raise InputError(f"{where}: [ defaults ] asks for another power than 12 in the repulsion: not supported")
    return Defaults(rule, len(words) > 2 and words[2][:1] in "yY", fudge[0], fudge[1])


@dataclass
class _Entry:
    names: Names
    numbers: Numbers
    where: str


@dataclass
class BondedTypes:
    """The lines of one section of types and one function, in the order of the files."""

    overridden: list[str]  # shared: notes on lines that replace or repeat another one
    entries: list[_Entry] = field(default_factory=list)
    _of: dict[Names, list[int]] = field(default_factory=dict)  # entries by names in one direction
    _first: dict[Names, int] = field(default_factory=dict)  # by names in their order: twice the entry, +1 if reversed

    def add(self, names: Names, numbers: Numbers, where: str, several: bool = False) -> None:
        """Adds a line. `several`: consecutive lines of the same types are a sum (function 9)."""
        same = [self.entries[i] for i in self._of.get(min(names, names[::-1]), [])]
        differing = [entry for entry in same if entry.numbers != numbers]
        if several:
            follows = bool(self.entries) and self.entries[-1].names == names
            if differing and not follows:
                raise InputError(
                    f"{where}: a second block of parameters for the dihedral type {'-'.join(names)}, which differs "
                    f"from that of {differing[0].where}: GROMACS refuses it too; leave one of them"
                )
            if len(differing) < len(same):
                if follows:  # GROMACS counts such a line once up to 2025.2, twice from 2025.3 on
                    self.overridden.append(f"{where} repeats {'-'.join(names)} and is passed over")
                return
        elif same:
            for entry in differing:
                self.overridden.append(f"{where} replaces {entry.where} ({'-'.join(names)})")
                entry.numbers = numbers
            return
        index = len(self.entries)
        self.entries.append(_Entry(names, numbers, where))
        self._of.setdefault(min(names, names[::-1]), []).append(index)
        self._first.setdefault(names, 2 * index)
        self._first.setdefault(names[::-1], 2 * index + 1)

    def find(self, names: Names, wildcards: bool = False) -> list[Numbers]:
        """Returns the parameters of the types that match; there are several for a sum of cosines, and none if no type
        matches."""
        place = self._first.get(names)
        if place is None and wildcards:
            place = self._best(names)
        if place is None:
            return []
        index = place // 2
        found = [self.entries[index].numbers]
        for entry in self.entries[index + 1 :]:
            if entry.names != self.entries[index].names:
                break
            found.append(entry.numbers)
        return found

    def _best(self, names: Names) -> int | None:
        """Returns the first of the matching types with the fewest wildcards."""
        for count in range(1, len(names) + 1):
            patterns = (
                tuple(_WILD if i in wild else name for i, name in enumerate(names))
                for wild in combinations(range(len(names)), count)
            )
            places = [self._first[pattern] for pattern in patterns if pattern in self._first]
            if places:
                return min(places)
        return None


@dataclass(frozen=True)
class MapType:
    """A line of `[ cmaptypes ]`: five bonded types, optionally with residues, and energies (n,n) from −180°."""

    names: Names
    residues: Names | None
    energies: FloatArray

    def matches(self, names: Names, residues: Names) -> bool:
        if names != self.names:
            return False
        return self.residues is None or all(a in ("*", b) for a, b in zip(self.residues, residues))


class ForceFieldTypes:
    """The sections before the first molecule."""

    def __init__(self) -> None:
        self.defaults: Defaults | None = None
        self.atoms: dict[str, AtomType] = {}
        self.pairs: dict[Names, Numbers] = {}
        self.nonbonded: dict[Names, Numbers] = {}
        self.maps: list[MapType] = []
        self.overridden: list[str] = []
        self._bonded: dict[tuple[str, int], BondedTypes] = {}
        self._bonded_names = {_WILD}

    def read(self, section: str, words: list[str], where: str) -> None:
        """Reads one line of a section of types."""
        if section == "defaults":
            if self.defaults is not None:
                raise InputError(f"{where}: a second section [ defaults ]: the files of two force fields are mixed")
            self.defaults = read_defaults(words, where)
        elif section == "atomtypes":
            self._add_atom(read_atom_type(words, where))
        elif section in ("pairtypes", "nonbond_params"):
            self._add_pair(section, words, where)
        elif section == "cmaptypes":
            self._add_map(words, where)
        elif section in TYPES_OF:
            self._add_bonded(section, words, where)

    def bonded(self, section: str, function: int) -> BondedTypes:
        """Returns the types for `bonds`, `angles`, …; functions 1 and 9 of dihedrals share one list."""
        key = (section, 1 if section == "dihedrals" and function == 9 else function)
        if key not in self._bonded:
            self._bonded[key] = BondedTypes(self.overridden)
        return self._bonded[key]

    def _add_atom(self, found: AtomType) -> None:
        old = self.atoms.get(found.name)
        if old is not None and (old.bonded, old.mass, old.charge, old.lj) != (
            found.bonded,
            found.mass,
            found.charge,
            found.lj,
        ):
            self.overridden.append(f"{found.where} replaces {old.where} (atom type {found.name})")
        self.atoms[found.name] = found
        self._bonded_names.add(found.bonded)

    def _add_pair(self, section: str, words: list[str], where: str) -> None:
        if len(words) < 5:
            raise InputError(f"{where}: [ {section} ] needs two atom types, a function and two parameters")
        function = integer_of(words[2], "a function", where)
        if function != 1 and (section, function) != ("pairtypes", 2):
            raise InputError(f"{where}: function {function} of [ {section} ] is not supported, expected 1")
        for name in words[:2]:
            if name not in self.atoms:
                raise InputError(f"{where}: atom type {name} is not in [ atomtypes ]")
        numbers = numbers_of(words[3:], where)
        if len(numbers) not in ((2, 4) if section == "pairtypes" else (2,)):
            raise InputError(f"{where}: [ {section} ] needs two parameters, found {len(numbers)}")
        table = self.pairs if section == "pairtypes" else self.nonbonded
        key = (min(words[:2]), max(words[:2]))
        if table.get(key, numbers) != numbers:
            self.overridden.append(f"{where} replaces an earlier line of [ {section} ] ({'-'.join(key)})")
        table[key] = numbers

    def _add_map(self, words: list[str], where: str) -> None:
        if len(words) < 8 or words[5] != "1":
            raise InputError(f"{where}: [ cmaptypes ] needs five atom types, function 1 and the size of the map twice")
        n, m = (integer_of(word, "the size of a map", where) for word in words[6:8])
        if n != m or n < 2 or len(words) != 8 + n * n:
            raise InputError(f"{where}: a map of {n} × {m} points has {len(words) - 8} values")
        if self.maps and len(self.maps[0].energies) != n:
            raise InputError(f"{where}: maps of {len(self.maps[0].energies)} and {n} points a side in one force field")
        parts = [word.partition("-") for word in words[:5]]
        residues = tuple(p[2] for p in parts)
        if any(residues) and not all(residues):
            raise InputError(f"{where}: a map names the residues of all five atoms or of none")
        names = tuple(p[0] for p in parts) if any(residues) else tuple(words[:5])
        self._check_names(names, where)
        energies = np.array(numbers_of(words[8:], where)).reshape(n, n)
        self.maps.append(MapType(names, residues if any(residues) else None, energies))

    def _add_bonded(self, section: str, words: list[str], where: str) -> None:
        kind, size = TYPES_OF[section]
        if kind == "dihedrals" and len(words) > 2 and len(words[2]) == 1 and words[2].isdigit():
            # Two types are those of the inner atoms of a proper dihedral, or of the outer atoms of an improper.
            a, b, function_word, *rest = words
            names: Names = (a, _WILD, _WILD, b) if function_word == "2" else (_WILD, a, b, _WILD)
        else:
            if len(words) <= size:
                raise InputError(f"{where}: [ {section} ] needs {size} types and a function")
            names, function_word, rest = tuple(words[:size]), words[size], words[size + 1 :]
        function = integer_of(function_word, "a function", where)
        if function not in SIZES[kind]:
            return  # a line that uses it is refused
        self._check_names(names, where)
        numbers = numbers_of(rest, where)
        state_a, state_b = SIZES[kind][function]
        if len(numbers) not in (state_a, state_a + state_b):
            raise InputError(
                f"{where}: function {function} of [ {section} ] needs {state_a} parameters, found {len(numbers)}"
            )
        if len(numbers) == state_a:
            numbers += numbers[:state_b]
        self.bonded(kind, function).add(names, numbers, where, several=kind == "dihedrals" and function == 9)

    def _check_names(self, names: Names, where: str) -> None:
        for name in names:
            if name not in self._bonded_names:
                raise InputError(f"{where}: no atom of [ atomtypes ] has the bonded type {name}")

    def coefficients(self, v: float, w: float) -> tuple[float, float]:
        """Returns C6 (kJ/mol nm⁶) and C12 (kJ/mol nm¹²) from two numbers, which are C6, C12 or σ, ε by the combination
        rule."""
        assert self.defaults is not None
        if self.defaults.rule == 1:
            return v, w
        # A negative σ means a pure repulsion.
        return (4 * w * v**6 if v > 0 else 0.0), 4 * w * v**12

    def pair(self, first: str, second: str) -> Numbers:
        """Returns the two numbers of the non-bonded interaction of two atom types."""
        found = self.nonbonded.get((min(first, second), max(first, second)))
        if found is not None:
            return found
        assert self.defaults is not None
        (v, w), (x, y) = self.atoms[first].lj, self.atoms[second].lj
        if self.defaults.rule == 1:
            return math.sqrt(v * x), math.sqrt(w * y)
        size = 0.5 * (abs(v) + abs(x)) if self.defaults.rule == 2 else math.sqrt(abs(v * x))
        return (-size if v < 0 or x < 0 else size), math.sqrt(w * y)

    def pair_14(self, first: str, second: str) -> Numbers | None:
        """Returns the numbers for a listed pair without its own: two, or four with another state B."""
        found = self.pairs.get((min(first, second), max(first, second)))
        assert self.defaults is not None
        if found is not None or not self.defaults.generates_pairs:
            return found
        v, w = self.pair(first, second)
        fudge = self.defaults.fudge_lj
        return (v * fudge if self.defaults.rule == 1 else v), w * fudge
