"""Reads restraints that a GROMACS topology has where macros such as POSRES are defined, and groups of an index file.

GROMACS' energies are ½k·d², ½k·(|φ − φ₀| − Δφ)² beyond Δφ for dihedrals (reference manual, Restraints); ours have no
factor ½.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tessera.constants import KJ, NM
from tessera.errors import InputError
from tessera.prepare.gromacs.preprocessor import Preprocessor
from tessera.prepare.numbering import selection_of
from tessera.prepare.text import read_text

_POSITIONS, _DIHEDRALS = "position_restraints", "dihedral_restraints"
_MOST_ROWS = 20_000  # restraints of dihedrals, one row each


@dataclass
class _Molecule:
    n_atoms: int = 0
    positions: list[tuple[int, tuple[float, ...]]] = field(default_factory=list)  # atom from 0, k of x, y and z
    dihedrals: list[tuple[tuple[int, ...], tuple[float, ...]]] = field(default_factory=list)  # atoms, φ₀, Δφ, k


def restraints_of(topology: Path, defines: Sequence[str], reference: str) -> list[dict[str, Any]]:
    """Returns the rows of [[restraint]]. `reference` is the system file with the places. Raises `InputError` for what
    has no counterpart."""
    kinds, molecules = _read(topology, defines)
    held: dict[tuple[float, str], list[int]] = defaultdict(list)
    dihedrals: list[dict[str, Any]] = []
    first = 0
    for name, count in molecules:
        if name not in kinds:
            raise InputError(f"{topology.name}: [ molecules ] has {name}, which is no moleculetype")
        kind = kinds[name]
        for start in range(first, first + count * kind.n_atoms, max(1, kind.n_atoms)):
            for atom, forces in kind.positions:
                for k, axes in _by_axes(forces):
                    held[k, axes].append(start + atom)
            for atoms, (angle, width, k) in kind.dihedrals:
                if k:
                    row: dict[str, Any] = {"kind": "dihedral", "groups": [f"index {start + atom}" for atom in atoms]}
                    row |= {"k": _rounded(k * KJ / 2), "target": angle, "flat": width}
                    dihedrals.append(row)
        first += count * kind.n_atoms
        if len(dihedrals) > _MOST_ROWS:
            raise InputError(f"{topology.name}: more than {_MOST_ROWS} restraints of dihedrals")
    rows: list[dict[str, Any]] = []
    for (k, axes), places in held.items():
        row = {"kind": "position", "select": selection_of(np.array(places)), "k": _rounded(k * KJ / NM**2 / 2)}
        rows.append(row | ({"axes": axes} if axes != "xyz" else {}) | {"reference": reference})
    return [*rows, *dihedrals]


def groups_of(path: Path) -> dict[str, str]:
    """Returns the groups of an index file (.ndx) as selections, by their names in small letters."""
    atoms: dict[str, list[int]] = {}
    name = ""
    for number, line in enumerate(read_text(path).splitlines(), 1):
        text = line.split(";", 1)[0].strip()
        if match := re.fullmatch(r"\[\s*(\S+)\s*\]", text):
            name = match[1].lower()
            atoms[name] = []
        elif text:
            if not name or not all(word.isdigit() and int(word) > 0 for word in text.split()):
                raise InputError(f"{path.name}:{number}: expected [ GROUP ] or numbers of atoms, found {text[:60]!r}")
            atoms[name] += [int(word) - 1 for word in text.split()]
    return {name: selection_of(np.array(ids)) for name, ids in atoms.items() if ids}


def _rounded(number: float) -> float:
    return float(f"{number:.9g}")


def _by_axes(forces: Sequence[float]) -> Iterator[tuple[float, str]]:
    """Yields the force constants of an atom and the axes that have them."""
    for k in dict.fromkeys(forces):
        if k:
            yield k, "".join(axis for axis, own in zip("xyz", forces, strict=True) if own == k)


def _read(topology: Path, defines: Sequence[str]) -> tuple[dict[str, _Molecule], list[tuple[str, int]]]:
    lines = Preprocessor(topology, (), defines)
    kinds: dict[str, _Molecule] = {}
    molecules: list[tuple[str, int]] = []
    section, current = "", _Molecule()
    for text, place in lines:
        if match := re.fullmatch(r"\[\s*(\w+)\s*\]", text.strip()):
            section = match[1].lower()
            continue
        words = text.split()
        try:
            if section == "moleculetype":
                current = kinds[words[0]] = _Molecule()
            elif section == "atoms":
                current.n_atoms += 1
            elif section == _POSITIONS:
                if words[1] != "1":
                    raise InputError(f"{lines.at(place)}: {_POSITIONS} of type {words[1]}: known here is 1, harmonic")
                current.positions.append((int(words[0]) - 1, (float(words[2]), float(words[3]), float(words[4]))))
            elif section == _DIHEDRALS:
                atoms = tuple(int(word) - 1 for word in words[:4])
                current.dihedrals.append((atoms, (float(words[5]), float(words[6]), float(words[7]))))
            elif section == "molecules":
                molecules.append((words[0], int(words[1])))
        except (IndexError, ValueError):
            raise InputError(f"{lines.at(place)}: [ {section} ]: {text.strip()[:60]!r} is not understood") from None
    return kinds, molecules
