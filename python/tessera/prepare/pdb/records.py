"""Chooses from the lines of a PDB file one model and one location of each atom, before a library reads them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tessera.errors import InputError
from tessera.prepare.text import read_bytes
from tessera.printing import are, counted

WATERS = {"HOH", "WAT", "H2O", "DOD", "TIP", "TIP3", "TP3", "SOL"}
_KEPT = ("SEQRES", "SSBOND", "CONECT", "MODRES")  # other records that libraries use
_SHOWN = 4  # residues that a note names
Residue = tuple[int, str, str]  # stretch between TERs, chain, number with insertion code


@dataclass
class Records:
    """A PDB of one model, in which each atom has one place."""

    text: str
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Atom:
    line: str
    number: int  # of the line
    residue: Residue

    @property
    def name(self) -> str:
        return self.line[12:16].strip()

    @property
    def location(self) -> str:
        return self.line[16].strip()

    @property
    def residue_name(self) -> str:
        return self.line[17:21].strip()

    @property
    def occupancy(self) -> float:
        try:
            return float(self.line[54:60])
        except ValueError:
            return 1.0

    def text(self) -> str:
        return f"{self.name} of {self.residue_name} {self.residue[2]} in chain {self.residue[1] or '(blank)'}"


def read_records(path: Path, keep_water: bool) -> Records:
    """Reads the first model. Raises `InputError` where the file is no PDB, or an atom is there twice."""
    data = read_bytes(path)
    if data.startswith(b"\x1f\x8b"):
        raise InputError(f"{path.name} is compressed: unpack it first (gunzip)")
    lines = data.decode("latin-1").splitlines()
    if any(line.startswith(("data_", "loop_", "_atom_site")) for line in lines[:200]):
        raise InputError(f"{path.name} is mmCIF, expected a PDB: PyMOL, ChimeraX and gemmi convert it")
    first, models = _first_model(lines)
    notes = [f"{path.name} has {models} models; the first is taken"] if models > 1 else []
    atoms, ends = _atoms(path.name, lines[:first] if first else lines)
    if not atoms:
        raise InputError(f"{path.name} is no PDB, or has no atoms: no line begins with ATOM or HETATM")
    if not keep_water:
        kept = [atom for atom in atoms if atom.residue_name not in WATERS]
        count = len({atom.residue for atom in atoms}) - len({atom.residue for atom in kept})
        them = "it" if count == 1 else "them"
        told = f"{counted(count, 'water')} of {path.name} {are(count)} left out (--keep-water keeps {them})"
        notes += [told] if count else []
        if not kept:
            raise InputError(f"{path.name} has nothing but water: `tessera make water` makes a box of it")
        atoms = kept
    chosen, others = _choose(atoms)
    _check_twice(path.name, chosen)
    head = [line for line in lines if line.startswith(_KEPT) and not line.startswith("CONECT")]
    tail = [line for line in lines if line.startswith("CONECT")]
    body: list[str] = []
    for number, line in sorted([*((a.number, a.line[:16] + " " + a.line[17:]) for a in chosen), *ends]):
        body += [line] if number else []
    return Records("\n".join([*head, *body, *tail, "END", ""]), notes + others)


def _first_model(lines: list[str]) -> tuple[int, int]:
    """Returns the line at which the first model ends, 0 where the file has one only, and how many models there are."""
    ends = [index for index, line in enumerate(lines) if line.startswith("ENDMDL")]
    models = max(len(ends), sum(line.startswith("MODEL ") for line in lines), 1)
    return (ends[0] if ends else 0), models


def _atoms(file: str, lines: Iterable[str]) -> tuple[list[_Atom], list[tuple[int, str]]]:
    """Returns the atoms and the lines that end chains, with their numbers."""
    atoms: list[_Atom] = []
    ends: list[tuple[int, str]] = []
    for number, given in enumerate(lines, start=1):
        line = given.ljust(80)
        if line.startswith("TER"):
            ends.append((number, "TER"))
        if not line.startswith(("ATOM", "HETATM")):
            continue
        try:
            is_place = all(math.isfinite(float(line[begin : begin + 8])) for begin in (30, 38, 46))
        except ValueError:
            is_place = False
        if not is_place:
            raise InputError(
                f"{file}:{number}: columns 31 to 54 are {line[30:54]!r}, expected three coordinates in Å: is it a PDB?"
            )
        atoms.append(_Atom(line, number, (len(ends), line[21].strip(), line[22:27].strip())))
    return atoms, ends


def _choose(atoms: list[_Atom]) -> tuple[list[_Atom], list[str]]:
    """Returns the atoms of the most occupied location in each residue, the first by letter where two are equal."""
    occupancy: dict[Residue, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for atom in atoms:
        if atom.location:
            occupancy[atom.residue][atom.location] += atom.occupancy
    letter = {residue: min(found, key=lambda x: (-found[x], x)) for residue, found in occupancy.items()}
    if not letter:
        return atoms, []
    name = {atom.residue: atom.residue_name for atom in atoms if letter.get(atom.residue) in (atom.location, None)}
    best: dict[tuple[Residue, str], _Atom] = {}
    for atom in atoms:
        if atom.location and atom.residue_name == name[atom.residue]:
            key = (atom.residue, atom.name)
            other = best.get(key)
            preferred = letter[atom.residue]
            if other is None or _rank(atom, preferred) > _rank(other, preferred):
                best[key] = atom
    chosen = [atom for atom in atoms if not atom.location or best.get((atom.residue, atom.name)) is atom]
    several = [residue for residue, found in occupancy.items() if len(found) > 1]
    words = [f"{letter[r]} of {name[r]} {r[2]}{' in ' + r[1] if r[1] else ''}" for r in several[:_SHOWN]]
    more = f" and {len(several) - _SHOWN} more" if len(several) > _SHOWN else ""
    note = f"{len(several)} residue(s) have alternate locations; the most occupied are taken: {', '.join(words)}{more}"
    return chosen, [note] if several else []


def _rank(atom: _Atom, preferred: str) -> tuple[bool, float]:
    return atom.location == preferred, atom.occupancy


def _check_twice(file: str, atoms: list[_Atom]) -> None:
    seen: dict[tuple[Residue, str, str], _Atom] = {}
    for atom in atoms:
        other = seen.setdefault((atom.residue, atom.residue_name, atom.name), atom)
        if other is not atom:
            raise InputError(
                f"{file}: {atom.text()} is there twice, in lines {other.number} and {atom.number}: give two chains "
                "different letters, or end the first by a TER record"
            )
