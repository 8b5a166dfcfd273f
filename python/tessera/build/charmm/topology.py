"""Reads residues and patches of CHARMM's topologies (RESI and PRES), and applies patches to residues.

A topology is read by name: what a residue holds is understood or refused where it is used, by file and line. A later
definition replaces an earlier one, as in CHARMM.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from tessera.errors import InputError
from tessera.prepare.charmm_stream import Card, Line

Names = tuple[str, ...]
#: what lists of atoms are, by the first letters of their command; the number of atoms in each entry
_LISTS = {
    "BOND": ("bonds", 2), "DOUB": ("bonds", 2), "TRIP": ("bonds", 2), "AROM": ("bonds", 2),
    "ANGL": ("angles", 3), "THET": ("angles", 3), "DIHE": ("dihedrals", 4), "PHI": ("dihedrals", 4),
    "IMPR": ("impropers", 4), "IMPH": ("impropers", 4), "CMAP": ("cross_terms", 8), "CROS": ("cross_terms", 8),
}  # fmt: skip
#: of charge groups, hydrogen bonds and the residues at the ends of chains, on which no energy depends
_WITHOUT_EFFECT = {"GROU", "DONO", "ACCE", "PATC", "PRIN"}
_DELETED = {"ATOM": 1, "BOND": 2, "DOUB": 2, "ANGL": 3, "THET": 3, "DIHE": 4, "PHI": 4, "IMPR": 4, "IMPH": 4}


@dataclass(frozen=True)
class Atom:
    type: str
    charge: float  # elementary charges


@dataclass(frozen=True)
class InternalCoordinate:
    """Where an atom of four is, from the other three: lengths in Å and angles in degrees, 0 where the parameters say.

    With `is_branch` the third atom is in the middle: the first length and angle are of atoms 1–3 and 1–3–2.
    """

    atoms: Names
    is_branch: bool
    length_12: float
    angle_123: float
    dihedral: float
    angle_234: float
    length_34: float


@dataclass
class Residue:
    """A residue or a patch: atoms by name in order, and what joins them. Names with `+` or `-` are atoms of the residue
    after or before."""

    name: str
    where: str  # file:line
    is_patch: bool
    atoms: dict[str, Atom] = field(default_factory=dict)
    bonds: list[Names] = field(default_factory=list)
    angles: list[Names] = field(default_factory=list)
    dihedrals: list[Names] = field(default_factory=list)
    impropers: list[Names] = field(default_factory=list)
    cross_terms: list[Names] = field(default_factory=list)
    coordinates: list[InternalCoordinate] = field(default_factory=list)
    deleted: list[Names] = field(default_factory=list)  # of a patch: an atom, or the atoms of a bond, an angle, …
    automatic: bool = True  # whether its bonds make angles and dihedrals (without NOANG and NODIH)

    def patched(self, patch: Residue) -> Residue:
        """Returns this residue after a patch: what that deletes is gone with all that depends on it, its atoms replace
        those of the same names, and others follow the one before them. Raises `InputError`."""
        out = copy.deepcopy(self)
        for names in patch.deleted:
            out._delete(names, patch)
        out.atoms = _merged(out.atoms, patch.atoms)
        for kind in ("bonds", "angles", "dihedrals", "impropers", "cross_terms"):
            entries: list[Names] = getattr(out, kind)
            entries += [names for names in getattr(patch, kind) if names not in entries]
            _check_names(entries, out, patch)
        out.coordinates += patch.coordinates
        return out

    def part(self, names: Collection[str]) -> Residue:
        """Returns this residue with these of its atoms alone, and the internal coordinates of these."""
        atoms = {name: atom for name, atom in self.atoms.items() if name in names}
        coordinates = [c for c in self.coordinates if all(name in atoms or name[0] in "+-" for name in c.atoms)]
        return replace(self, atoms=atoms, coordinates=coordinates)

    def _delete(self, names: Names, patch: Residue) -> None:
        kinds = {2: ("bonds",), 3: ("angles",), 4: ("dihedrals", "impropers")}.get(len(names))
        if kinds is None:  # an atom
            if self.atoms.pop(names[0], None) is None:
                raise InputError(f"{patch.where}: the patch {patch.name} deletes {names[0]}, which {self.name} lacks")
            for kind in ("bonds", "angles", "dihedrals", "impropers", "cross_terms"):
                setattr(self, kind, [entry for entry in getattr(self, kind) if names[0] not in entry])
            self.coordinates = [c for c in self.coordinates if names[0] not in c.atoms]
            return
        for kind in kinds:
            kept = [entry for entry in getattr(self, kind) if entry not in (names, names[::-1])]
            setattr(self, kind, kept)


def _merged(atoms: dict[str, Atom], others: dict[str, Atom]) -> dict[str, Atom]:
    names, before = list(atoms), -1
    for name in others:
        if name not in names:
            names.insert(before + 1, name)
        before = names.index(name)
    return {name: others.get(name) or atoms[name] for name in names}


def _check_names(entries: Iterable[Names], residue: Residue, source: Residue) -> None:
    for names in entries:
        for name in names:
            if name not in residue.atoms and name[:1] not in "+-":
                raise InputError(
                    f"{source.where}: {'the patch' if source.is_patch else 'the residue'} {source.name} joins "
                    f"{'-'.join(names)}, but {residue.name} has no atom {name}"
                )


class Topology:
    """The residues and patches of topologies, by name."""

    def __init__(self, cards: Iterable[Card]) -> None:
        self._lines: dict[tuple[str, bool], tuple[Line, list[Line], bool]] = {}
        self._read: dict[tuple[str, bool], Residue] = {}
        self.files: list[str] = []
        for card in cards:
            if card.kind == "rtf":
                self.files.append(card.name)
                self._split(card)

    def _split(self, card: Card) -> None:
        automatic = {word[:4].upper() for line in card.lines if line.command == "AUTO" for word in line.words[1:]}
        body: list[Line] = []
        for line in card.lines:
            if line.command in ("RESI", "PRES"):
                if len(line.words) < 2:
                    raise line.error(f"expected {line.words[0]}, a name and a charge")
                body = []
                key = (line.words[1].upper(), line.command == "PRES")
                self._lines[key] = (line, body, {"ANGL", "DIHE"} <= automatic)
            else:
                body.append(line)

    def residue(self, name: str) -> Residue:
        """Returns a residue. Raises `InputError` where the files have none of this name."""
        return self._found(name, False)

    def patch(self, name: str) -> Residue:
        """Returns a patch. Raises `InputError` where the files have none of this name."""
        return self._found(name, True)

    def _found(self, name: str, is_patch: bool) -> Residue:
        key = (name, is_patch)
        if key not in self._read:
            if key not in self._lines:
                what, command = ("patch", "PRES") if is_patch else ("residue", "RESI")
                raise InputError(
                    f"the {what} {name} ({command} {name}) is in none of the topologies given "
                    f"({', '.join(self.files) or 'none'}): add the file that holds it with --toppar"
                )
            head, body, automatic = self._lines[key]
            if not automatic:
                raise head.error(
                    f"{name} is in a topology without AUTOGENERATE ANGLES DIHEDRALS, and its lists of angles may not "
                    "fit its patches: give a topology that has this line"
                )
            self._read[key] = _residue(name, is_patch, head, body)
        return self._read[key]


def _residue(name: str, is_patch: bool, head: Line, body: list[Line]) -> Residue:
    found = Residue(name, head.where, is_patch)
    options = {word[:5].upper() for word in head.words[3:]}
    if options & {"NOANG", "NODIH"}:
        if not {"NOANG", "NODIH"} <= options:
            raise head.error(f"{name} has one of NOANG and NODIH, expected both or none")
        found.automatic = False
    for line in body:
        words, command = [word.upper() for word in line.words], line.command
        if command == "ATOM":
            if len(words) < 4:
                raise line.error("expected ATOM, a name, a type and a charge")
            found.atoms[words[1]] = Atom(words[2], _number(line, words[3]))
        elif command in _LISTS:
            kind, width = _LISTS[command]
            names = words[1:]
            if not names or len(names) % width:
                raise line.error(f"expected {width} atoms in each entry of {words[0]}, found {len(names)} in all")
            getattr(found, kind).extend(tuple(names[i : i + width]) for i in range(0, len(names), width))
        elif command in ("IC", "BILD", "BUIL"):
            found.coordinates.append(_coordinate(line, words))
        elif command == "DELE":
            count = _DELETED.get(words[1][:4] if len(words) > 1 else "")
            if count is not None and len(words) == 2 + count and is_patch:
                found.deleted.append(tuple(words[2:]))
            elif len(words) < 2 or words[1][:4] not in ("ACCE", "DONO", "IC"):
                raise line.error(f"{' '.join(line.words)[:60]!r} is not understood: expected DELETE ATOM and a name")
        elif command not in _WITHOUT_EFFECT:
            raise line.error(f"{line.words[0]} of {name} is not supported in a residue that is built")
    if not is_patch:
        for entries in (found.bonds, found.angles, found.dihedrals, found.impropers, found.cross_terms):
            _check_names(entries, found, found)
    return found


def _coordinate(line: Line, words: list[str]) -> InternalCoordinate:
    if len(words) != 10:
        raise line.error("expected IC, four atoms and five numbers")
    atoms, is_branch = words[1:5], words[3].startswith("*")
    atoms[2] = atoms[2].removeprefix("*")
    return InternalCoordinate(tuple(atoms), is_branch, *(_number(line, word) for word in words[5:]))


def _number(line: Line, word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise line.error(f"expected a number, found {word!r}")
    return value
