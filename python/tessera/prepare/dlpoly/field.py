"""Reads DL_POLY's FIELD: molecules, their atoms and terms, and potentials between atoms of two names."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tessera.errors import InputError
from tessera.prepare.dlpoly.lines import Line, Lines, is_name
from tessera.prepare.dlpoly.units import INTERNAL, energy_unit

#: what a molecule may hold and Tessera has no counterpart of, by the first letters of its directive
_REFUSED_IN_MOLECULE = {
    "shel": "core–shell units (polarisable ions)",
    "pmf": "constraints of potentials of mean force",
    "rigi": "rigid units; three-site water may be given by constraints",
    "teth": "tethers; use [[restraint]] of the run file",
    "inve": "inversion potentials",
}
_REFUSED = {
    "metal": "metal potentials",
    "tbp": "three-body potentials",
    "fbp": "four-body potentials",
    "ters": "Tersoff potentials",
    "exte": "an external field",
    "kim": "OpenKIM potentials",
    "mult": "multipoles",
    "neut": "neutral groups",
}
_MOST_SITES = 100_000_000  # of one molecule: each has a name, a mass and a charge of its own in memory
_TERMS = {"bond": 2, "angl": 3, "dihe": 4}


@dataclass
class Site:
    """One atom of a molecule."""

    name: str
    mass: float
    charge: float
    frozen: bool


@dataclass
class Term:
    """A bonded term: key, local indices from 0, parameters as written."""

    key: str
    atoms: tuple[int, ...]
    line: Line

    def parameter(self, index: int, what: str, default: float | None = None) -> float:
        """Returns parameter `index`, counted from 0."""
        return self.line.number_at(1 + len(self.atoms) + index, what, default)


@dataclass
class Molecule:
    """A kind of molecule."""

    name: str
    count: int = 0
    sites: list[Site] = field(default_factory=list)
    constraints: list[tuple[int, int, float, Line]] = field(default_factory=list)  # indices and length Å
    terms: dict[str, list[Term]] = field(default_factory=lambda: {kind: [] for kind in _TERMS})

    @property
    def has_terms(self) -> bool:
        """Tells whether anything joins atoms of this molecule."""
        return bool(self.constraints) or any(self.terms.values())


@dataclass
class Field:
    """The content of a FIELD file."""

    name: str
    unit: float = INTERNAL  # kcal/mol
    molecules: list[Molecule] = field(default_factory=list)
    potentials: list[Line] = field(default_factory=list)  # records of vdw
    notes: list[str] = field(default_factory=list)


def read_field(path: str | Path) -> Field:
    """Reads the file. Raises `InputError` that names the line of what is wrong or has no counterpart."""
    lines = Lines.read(path, "FIELD file")
    found, has_units = Field(lines.path.name), False
    while lines:
        line = lines.take("a directive")
        key = line.key
        if key == "units":
            has_units = True
            unit = energy_unit(line.words[1] if len(line.words) > 1 else "internal")
            if unit is None:
                raise line.wrong(f"units {line.words[1]}: expected eV, kcal, kJ, K or internal")
            found.unit = unit
        elif key.startswith("molecul"):
            if found.molecules:
                raise line.wrong("the molecules are listed already: one list holds all kinds")
            if not has_units:
                raise line.wrong(
                    "no units stand before the molecules: write `units` with eV, kcal, kJ, K or internal in a line of "
                    "its own (the first line is the title, whatever it holds)"
                )
            found.molecules = [_read_molecule(lines) for _ in range(line.count())]
        elif key == "vdw":
            found.potentials += [lines.take("a pair potential") for _ in range(line.count())]
        elif key == "rdf":
            for _ in range(line.count()):
                lines.take("a pair of names")
            found.notes.append(f"{line.file}, line {line.number}: the pairs of rdf are not used")
        elif key == "close":
            break
        else:
            _refuse(line, _REFUSED)
    if not found.molecules:
        raise InputError(f"{found.name} has no molecules")
    return found


def _refuse(line: Line, reasons: dict[str, str]) -> None:
    for start, what in reasons.items():
        if line.key.startswith(start):
            if line.words[line.behind("type", "unit") :][:1] == ["0"]:
                return  # a section without records
            raise line.wrong(f"{line.words[0]}: {what} are not supported" if what[-1] == "s" else
                             f"{line.words[0]}: {what}: not supported")  # fmt: skip
    raise line.wrong(f"unknown directive {line.words[0]!r}")


def _read_molecule(lines: Lines) -> Molecule:
    molecule, has_count = Molecule(lines.take_text("the name of a molecule").text), False
    while True:
        line = lines.take(f"finish of molecule {molecule.name}")
        key = line.key
        if key.startswith("nummol"):
            molecule.count, has_count = line.count(), True
        elif key.startswith("atoms"):
            count = line.count()
            if count > _MOST_SITES:
                raise line.wrong(f"a molecule of {count:,} atoms, expected at most {_MOST_SITES:,}: use nummols")
            _read_sites(lines, molecule, count)
        elif key.startswith("constr"):
            for _ in range(line.count()):
                record = lines.take("a constraint")
                i, j = (_site(record, at, molecule) for at in (0, 1))
                molecule.constraints.append((i, j, record.number_at(2, "a length"), record))
        elif key[:4] in _TERMS:
            for _ in range(line.count()):
                record = lines.take(f"one of {line.words[0]}")
                atoms = tuple(_site(record, at, molecule) for at in range(1, 1 + _TERMS[key[:4]]))
                molecule.terms[key[:4]].append(Term(record.key, atoms, record))
        elif key.startswith("finish"):
            break
        else:
            _refuse(line, _REFUSED_IN_MOLECULE)
    if not has_count:
        raise line.wrong(f"molecule {molecule.name} has no nummols, the number of its copies")
    if not molecule.sites:
        raise InputError(f"{lines.path.name}: molecule {molecule.name} has no atoms")
    return molecule


def _read_sites(lines: Lines, molecule: Molecule, count: int) -> None:
    while len(molecule.sites) < count:
        line = lines.take(f"an atom of {molecule.name}")
        mass, charge = line.number_at(1, "a mass"), line.number_at(2, "a charge")
        repeats = max(1, line.whole_at(3, "a number of repeats", 1))
        if not is_name(line.words[0]):
            raise line.wrong(f"expected an atom's name of at most 8 ASCII characters, found {line.words[0]!r}")
        if not mass > 0:
            raise line.wrong(f"{line.words[0]} has mass {mass:g}; massless sites are not supported")
        if len(molecule.sites) + repeats > count:
            raise line.wrong(f"{repeats} atoms here, but only {count - len(molecule.sites)} are left of atoms {count}")
        frozen = line.whole_at(4, "0 or 1", 0) > 0
        molecule.sites += [Site(line.words[0], mass, charge, frozen)] * repeats


def _site(line: Line, index: int, molecule: Molecule) -> int:
    site = line.whole_at(index, "an atom's index")
    if not 1 <= site <= len(molecule.sites):
        raise line.wrong(f"atom {site} of {molecule.name}, which has {len(molecule.sites)}")
    return site - 1
