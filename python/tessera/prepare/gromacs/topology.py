"""Reads a GROMACS topology: the force field's types, each kind of molecule once, and their numbers.

An unknown section is refused by its name. A known section that Tessera does not support (restraints, polarisation) is
refused where a molecule of the system has lines in it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.prepare.gromacs.preprocessor import Preprocessor
from tessera.prepare.gromacs.types import (
    SIZES,
    TYPES_OF,
    AtomType,
    ForceFieldTypes,
    Names,
    Numbers,
    integer_of,
    numbers_of,
)
from tessera.system.model import IdArray

#: number of atoms in a line of each section
ATOMS = {"bonds": 2, "angles": 3, "dihedrals": 4, "constraints": 2, "settles": 1, "pairs": 2, "cmap": 5}
_TYPES = {"defaults", "atomtypes", "pairtypes", "nonbond_params", "cmaptypes", *TYPES_OF}
#: parameters of a model that GROMACS no longer has; GROMACS ignores them too
_PASSED = {"implicit_genborn_params", "implicit_surface_params"}
_NOT_SUPPORTED = {
    "position_restraints": "position restraints are those of the run file, [[restraint]]; do not define POSRES",
    "distance_restraints": "distance restraints are not supported; a run file has [[restraint]] for distances",
    "dihedral_restraints": "restraints of dihedrals are not supported; a run file has [[restraint]] for dihedrals",
    "angle_restraints": "restraints of angles are not supported; a run file has [[restraint]] for angles",
    "angle_restraints_z": "restraints of angles are not supported",
    "orientation_restraints": "orientation restraints are not supported",
    "polarization": "polarisable models are not supported",
    "thole_polarization": "polarisable models are not supported",
    "water_polarization": "polarisable models are not supported",
    "pairs_nb": "non-bonded pairs with parameters of their own are not supported",
}
#: virtual sites that follow one to four atoms, or any number; GROMACS' older name for them is dummies
SITE_SECTIONS = tuple(f"{name}{n}" for name in ("virtual_sites", "dummies") for n in "1234n")
_MOLECULE = {"atoms", "exclusions", *ATOMS, *SITE_SECTIONS, *_NOT_SUPPORTED}
_OTHER = {"moleculetype", "system", "molecules", "intermolecular_interactions"}
#: GROMACS compares names of sections without hyphens, underscores and capitals
_SECTIONS = {name.replace("_", ""): name for name in (*_TYPES, *_PASSED, *_MOLECULE, *_OTHER)}
_FUNCTIONS = {
    ("bonds", 3): "Morse bonds",
    ("bonds", 4): "cubic bonds",
    ("bonds", 7): "FENE bonds",
    ("bonds", 10): "distance restraints",
    ("angles", 3): "cross terms",
    ("angles", 4): "cross terms",
    ("angles", 6): "quartic angles",
    ("angles", 9): "linear angles",
    ("angles", 10): "restricted bending",
    ("dihedrals", 10): "restricted torsions",
    ("dihedrals", 11): "combined bending and torsion",
    ("bonds", 8): "tables",
    ("bonds", 9): "tables",
    ("angles", 8): "tables",
    ("dihedrals", 8): "tables",
}


@dataclass
class Lines:
    """The lines of one section: their texts, and the place of each in the files."""

    texts: list[str] = field(default_factory=list)
    places: array[int] = field(default_factory=lambda: array("q"))


@dataclass
class Interactions:
    """The lines of a section: atoms (m,k) from 0, and the index of each line in `kinds`, which are functions and a
    line's own parameters."""

    atoms: IdArray
    kind: IdArray  # (m,)
    kinds: list[tuple[int, Numbers]]
    places: array[int]


@dataclass
class MoleculeAtoms:
    """The atoms of one kind of molecule, with a list for each property."""

    type: list[AtomType] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    residue_name: list[str] = field(default_factory=list)
    residue_number: list[int] = field(default_factory=list)
    insertion: list[str] = field(default_factory=list)  # codes, mostly empty
    charge: list[float] = field(default_factory=list)
    mass: list[float] = field(default_factory=list)


@dataclass
class Molecule:
    """One kind of molecule: its lines by section, which are parsed only if the system has this kind."""

    name: str
    n_exclusion: int  # atoms up to this number of bonds apart do not interact
    where: str
    sections: dict[str, Lines] = field(default_factory=dict)
    atoms: MoleculeAtoms = field(default_factory=MoleculeAtoms)

    @property
    def n_atoms(self) -> int:
        return len(self.atoms.type)


class Topology:
    """The content of a .top. Raises `InputError` with file and line."""

    def __init__(
        self,
        path: str | Path,
        include: Iterable[Path] = (),
        defines: Iterable[str] = (),
        takes_state_a: bool = False,
    ) -> None:
        """Reads the file. `takes_state_a`: the state B of a perturbed topology is ignored; otherwise one that differs
        is refused."""
        self.types = ForceFieldTypes()
        self.counts: list[tuple[str, int]] = []  # names and counts of [ molecules ]
        self._molecules: dict[str, Molecule] = {}
        self._takes_state_a = takes_state_a
        self._lines = Preprocessor(path, include, defines)
        self._last: Molecule | None = None
        self._has_name = False
        self._read()
        name = Path(path).name
        if not any(count for _, count in self.counts):
            raise InputError(f"{name} has no molecules: section [ molecules ] is empty or missing")
        #: each kind that the system has, in order of appearance
        self.molecules = [self._molecules[kind] for kind in dict.fromkeys(k for k, count in self.counts if count)]
        for molecule in self.molecules:
            self._read_molecule(molecule)

    @property
    def unused_defines(self) -> list[str]:
        return self._lines.unused

    def at(self, place: int) -> str:
        return self._lines.at(place)

    def _read(self) -> None:
        section = ""
        take: Lines | None = None
        for text, place in self._lines:
            if text[0] == "[":
                section = self._section(text, place)
                take = self._start(section, place)
            elif take is not None:
                take.texts.append(text)
                take.places.append(place)
            elif section in _TYPES:
                self.types.read(section, text.split(), self.at(place))
            else:
                self._other(section, text, place)

    def _section(self, text: str, place: int) -> str:
        name = text[1:].partition("]")[0].strip()
        found = _SECTIONS.get(name.lower().replace("_", "").replace("-", ""))
        if found is None:
            raise InputError(
                f"{self.at(place)}: section [ {name} ] is not supported: GROMACS' manual has none of that name"
            )
        return found

    def _start(self, section: str, place: int) -> Lines | None:
        """Returns the list that takes the lines of a molecule's section, or None for other sections."""
        if section in _TYPES:
            if section != "defaults" and self.types.defaults is None:
                raise InputError(f"{self.at(place)}: section [ {section} ] is before [ defaults ]")
            if self._molecules:
                raise InputError(
                    f"{self.at(place)}: section [ {section} ] is after the first [ moleculetype ]: the force "
                    "field's sections come first"
                )
        if section not in _MOLECULE:
            return None
        if self._last is None:
            raise InputError(f"{self.at(place)}: section [ {section} ] is before the first [ moleculetype ]")
        if self.counts:
            raise InputError(
                f"{self.at(place)}: section [ {section} ] after [ molecules ]: interactions between molecules are not "
                "supported"
            )
        return self._last.sections.setdefault(section, Lines())

    def _other(self, section: str, text: str, place: int) -> None:
        words = text.split()
        if section == "moleculetype":
            if self.types.defaults is None:
                raise InputError(f"{self.at(place)}: no section [ defaults ] before the first molecule")
            self._add_molecule(words, place)
        elif section == "molecules":
            self._add_count(words, place)
        elif section == "intermolecular_interactions":
            raise InputError(f"{self.at(place)}: section [ intermolecular_interactions ] is not supported")
        elif section == "system":
            if self._has_name:
                raise InputError(f"{self.at(place)}: the name of the system has one line, this is the second")
            self._has_name = True
        # Lines before the first section are ignored, because GROMACS' own files have a title there.

    def _add_molecule(self, words: list[str], place: int) -> None:
        if len(words) < 2:
            raise InputError(f"{self.at(place)}: [ moleculetype ] needs a name and nrexcl")
        if words[0] in self._molecules:
            raise InputError(
                f"{self.at(place)}: molecule {words[0]} is there already ({self._molecules[words[0]].where})"
            )
        n_exclusion = integer_of(words[1], "nrexcl", self.at(place))
        if n_exclusion < 0:
            raise InputError(f"{self.at(place)}: nrexcl of molecule {words[0]} is {n_exclusion}, expected 0 or more")
        self._last = self._molecules[words[0]] = Molecule(words[0], n_exclusion, self.at(place))

    def _add_count(self, words: list[str], place: int) -> None:
        if len(words) < 2:
            raise InputError(f"{self.at(place)}: [ molecules ] needs a name and a number")
        count = integer_of(words[1], "a number of molecules", self.at(place))
        if count < 0:
            raise InputError(f"{self.at(place)}: {count} molecules of {words[0]}, expected 0 or more")
        name = words[0]
        if name not in self._molecules:
            alike = [known for known in self._molecules if known.lower() == name.lower()]
            if len(alike) != 1:
                raise InputError(f"{self.at(place)}: no [ moleculetype ] {name}")
            (name,) = alike
        self.counts.append((name, count))

    def _read_molecule(self, molecule: Molecule) -> None:
        for section, what in _NOT_SUPPORTED.items():
            if section in molecule.sections and molecule.sections[section].places:
                where = self.at(molecule.sections[section].places[0])
                raise InputError(f"{where}: section [ {section} ] of molecule {molecule.name}: {what}")
        lines = molecule.sections.pop("atoms", Lines())
        for text, place in zip(lines.texts, lines.places):
            self._read_atom(molecule, text.split(), place)
        if not molecule.n_atoms:
            raise InputError(f"{molecule.where}: molecule {molecule.name} has no atoms")

    def _read_atom(self, molecule: Molecule, words: list[str], place: int) -> None:
        if len(words) < 6:
            raise InputError(
                f"{self.at(place)}: an atom needs id, type, residue's number and name, name and charge group"
            )
        if words[0] != str(molecule.n_atoms + 1):
            raise InputError(
                f"{self.at(place)}: expected atom {molecule.n_atoms + 1} of {molecule.name}, found {words[0]}"
            )
        kind = self._atom_type(words[1], place)
        code = "" if words[2][-1:].isdigit() else words[2][-1:]
        number = words[2].removesuffix(code)
        if not code.isascii():
            raise InputError(
                f"{self.at(place)}: the residue {words[2]} ends with {code!r}, expected a digit or a letter"
            )
        integer_of(words[5], "a charge group", self.at(place))
        numbers = numbers_of(words[6:8], self.at(place))
        atoms = molecule.atoms
        atoms.type.append(kind)
        atoms.name.append(words[4])
        atoms.residue_name.append(words[3])
        atoms.residue_number.append(integer_of(number, "a residue's number", self.at(place)))
        atoms.insertion.append(code)
        atoms.charge.append(numbers[0] if numbers else kind.charge)
        atoms.mass.append(numbers[1] if len(numbers) > 1 else kind.mass)
        if kind.is_not_an_atom:
            raise InputError(
                f"{self.at(place)}: atom {words[4]} of {words[3]} {words[2]} is {kind.is_not_an_atom}: not supported"
            )
        if atoms.mass[-1] <= 0 and not any(section in molecule.sections for section in SITE_SECTIONS):
            raise InputError(
                f"{self.at(place)}: atom {words[4]} of {words[3]} {words[2]} has no mass and is no virtual site: not "
                "supported"
            )
        self._check_perturbed_atom(atoms, words, place)

    def _atom_type(self, name: str, place: int) -> AtomType:
        kind = self.types.atoms.get(name)
        if kind is None:
            raise InputError(f"{self.at(place)}: atom type {name} is not in [ atomtypes ]")
        return kind

    def _check_perturbed_atom(self, atoms: MoleculeAtoms, words: list[str], place: int) -> None:
        if len(words) <= 8 or self._takes_state_a:
            return
        other = self._atom_type(words[8], place)
        numbers = numbers_of(words[9:], self.at(place))
        charge, mass = (*numbers, *(other.charge, other.mass)[len(numbers) :])[:2]
        if (other.name, charge, mass) != (atoms.type[-1].name, atoms.charge[-1], atoms.mass[-1]):
            self._refuse_state_b(place)

    def _refuse_state_b(self, place: int) -> None:
        raise InputError(
            f"{self.at(place)}: a state B that differs from state A: free-energy perturbation is not supported (to "
            "take state A, give an --mdp with free-energy = no)"
        )

    def state_a(self, section: str, function: int, numbers: Numbers, place: int) -> Numbers:
        """Returns the parameters of state A; refuses a state B that differs."""
        size, other = SIZES[section][function]
        if len(numbers) > size and numbers[size:] != numbers[:other] and not self._takes_state_a:
            self._refuse_state_b(place)
        return numbers[:size]

    def interactions(self, molecule: Molecule, section: str) -> Interactions:
        """Returns the lines of a section of a molecule; there may be none."""
        lines = molecule.sections.get(section, Lines())
        size = ATOMS[section]
        numbers, code = array("q"), array("q")
        kinds: dict[Names, int] = {}
        for row, text in enumerate(lines.texts):
            words = text.split()
            try:
                numbers.extend(map(int, words[:size]))
            except (ValueError, OverflowError):
                words.clear()
            if len(words) < size:
                raise InputError(f"{self.at(lines.places[row])}: [ {section} ] needs {size} atoms, found {text[:60]!r}")
            code.append(kinds.setdefault(tuple(words[size:]), len(kinds)))
        ids, kind = np.array(numbers, np.int64).reshape(-1, size), np.array(code, np.int64)
        self._check_atoms(molecule, section, ids, lines)
        first = dict(zip(kind[::-1].tolist(), range(len(kind) - 1, -1, -1)))
        found = [self._kind(section, words, lines.places[first[i]]) for words, i in kinds.items()]
        return Interactions(ids - 1, kind, found, lines.places)

    def _check_atoms(self, molecule: Molecule, section: str, ids: IdArray, lines: Lines) -> None:
        n = molecule.n_atoms
        bad = np.flatnonzero(((ids < 1) | (ids > n)).any(axis=1))
        if len(bad):
            raise InputError(
                f"{self.at(lines.places[bad[0]])}: [ {section} ] of molecule {molecule.name} names atoms "
                f"{ids[bad[0]].tolist()}, but it has {n} atoms"
            )
        ordered = np.sort(ids, axis=1)
        bad = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if len(bad):
            raise InputError(
                f"{self.at(lines.places[bad[0]])}: [ {section} ] names an atom twice: {ids[bad[0]].tolist()}"
            )

    def _kind(self, section: str, words: Names, place: int) -> tuple[int, Numbers]:
        """Returns the function (1 where none is given) and the line's own parameters."""
        where = self.at(place)
        function = integer_of(words[0], "a function", where) if words else 1
        numbers = numbers_of(words[1:], where)
        if section == "cmap":
            if function != 1 or numbers:
                raise InputError(f"{where}: [ cmap ] has function 1 and no parameters")
            return function, numbers
        if function not in SIZES[section]:
            what = _FUNCTIONS.get((section, function))
            raise InputError(
                f"{where}: function {function} of [ {section} ]{f' ({what})' if what else ''} is not supported"
            )
        size, other = SIZES[section][function]
        # GROMACS fills in only some of the parameters that a pair of function 2 lacks.
        expected = {size, size + other} | (set() if (section, function) == ("pairs", 2) else {0})
        if len(numbers) not in expected:
            raise InputError(
                f"{where}: function {function} of [ {section} ] needs {size} parameters, found {len(numbers)}"
            )
        return function, numbers

    def exclusions(self, molecule: Molecule) -> IdArray:
        """Returns the pairs (m,2) of `[ exclusions ]`, with atoms from 0."""
        pairs: list[tuple[int, int]] = []
        lines = molecule.sections.get("exclusions", Lines())
        for text, place in zip(lines.texts, lines.places):
            first, *rest = (integer_of(word, "an atom", self.at(place)) for word in text.split())
            for other in (first, *rest):
                if not 1 <= other <= molecule.n_atoms:
                    raise InputError(
                        f"{self.at(place)}: [ exclusions ] of molecule {molecule.name} names atom {other}, but it has "
                        f"{molecule.n_atoms} atoms"
                    )
            pairs += [(first - 1, other - 1) for other in rest if other != first]
        return np.array(pairs, np.int64).reshape(-1, 2)

    def groups(self, molecule: Molecule, section: str) -> Iterator[Group]:
        """Yields the lines of a section in groups with the same parameters, which may be looked up by types.

        Every line is in one group. Raises `InputError` for types without parameters.
        """
        found = self.interactions(molecule, section)
        if not len(found.kind):
            return
        kind_of_type: dict[str, int] = {}
        codes = np.array(
            [kind_of_type.setdefault(self._lookup_name(section, t), len(kind_of_type)) for t in molecule.atoms.type]
        )
        names = list(kind_of_type)
        own = np.array([bool(numbers) or section in ("settles", "cmap") for _, numbers in found.kinds])
        typed = np.where(own[found.kind][:, None], -1, codes[found.atoms])
        keys, inverse = np.unique(np.column_stack([found.kind, typed]), axis=0, return_inverse=True)
        order = np.argsort(inverse.reshape(-1), kind="stable")
        edges = np.searchsorted(inverse.reshape(-1)[order], np.arange(len(keys) + 1))
        for key, begin, end in zip(keys, edges[:-1], edges[1:]):
            rows = order[begin:end]
            function, numbers = found.kinds[key[0]]
            place = found.places[rows[0]]
            if own[key[0]]:
                several = [numbers]
            else:
                several = self._default(section, function, tuple(names[i] for i in key[1:]), place)
            yield Group(function, several, rows, found.atoms[rows], place)

    @staticmethod
    def _lookup_name(section: str, kind: AtomType) -> str:
        return kind.name if section == "pairs" else kind.bonded

    def _default(self, section: str, function: int, names: Names, place: int) -> list[Numbers]:
        """Returns the parameters that follow from the types."""
        if section == "pairs":
            pair = self.types.pair_14(names[0], names[1])
            found = [] if pair is None else [pair]
        elif SIZES[section][function] == (0, 0):
            return [()]
        else:
            found = self.types.bonded(section, function).find(names, section == "dihedrals" and function != 5)
        if not found:
            types = {section: types for types, (section, _) in TYPES_OF.items()}.get(section, "pairtypes")
            raise InputError(
                f"{self.at(place)}: no parameters for {'-'.join(names)} (function {function}), neither in this line of "
                f"[ {section} ] nor in [ {types} ]"
            )
        return found


@dataclass
class Group:
    """The lines of a section with the same parameters: their rows (m,) in the section, and their atoms (m,k)."""

    function: int
    numbers: list[Numbers]  # several for a sum of cosines
    rows: NDArray[np.int64]
    atoms: IdArray
    place: int
