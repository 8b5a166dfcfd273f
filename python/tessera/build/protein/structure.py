"""Finds the chains of amino acids in a structure."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tessera.build.atoms import FURTHEST, Atoms, residue_labels, residue_starts
from tessera.build.charmm.places import Places
from tessera.build.dna.strands import LETTERS as NUCLEOTIDES
from tessera.build.protein.names import LETTERS, is_hydrogen
from tessera.errors import InputError

_LONGEST_BOND = 2.0  # Å between C and N, which are 1.33 Å apart


@dataclass
class Strand:
    """The amino acids of a chain in the order of the file; hydrogens are left out."""

    chain: str
    letters: str = ""
    names: list[str] = field(default_factory=list)  # of residues
    numbers: list[str] = field(default_factory=list)  # with insertion codes
    labels: list[str] = field(default_factory=list)
    where: list[str] = field(default_factory=list)  # file and line
    places: list[Places] = field(default_factory=list)

    def is_break(self) -> list[bool]:
        """Returns for each residue whether the chain is interrupted before it; nothing is before the first."""
        gaps = [
            float(np.linalg.norm(after["N"] - before["C"])) > _LONGEST_BOND
            for before, after in zip(self.places, self.places[1:])
        ]
        return [False, *gaps]


@dataclass(frozen=True)
class Rest:
    """What is neither an amino acid nor a nucleotide: the first atoms of residues, what messages call them, and the
    file and line of each."""

    rows: list[slice]
    names: list[str]
    labels: list[str]
    where: list[str]


def strands_of(atoms: Atoms) -> tuple[list[Strand], Rest, list[str]]:
    """Returns the chains of amino acids, all else but nucleotides, and notes. Raises `InputError` for an amino acid
    that is unknown and for numbers that are not finite."""
    first = residue_starts(atoms)
    labels, where = residue_labels(atoms, first)
    ends = [*first[1:].tolist(), len(atoms.name)]
    strands: dict[tuple[str, int], Strand] = {}
    rest, notes = Rest([], [], [], []), []
    for index, begin in enumerate(first.tolist()):
        rows = slice(begin, ends[index])
        names = atoms.name[rows].tolist()
        residue_name = str(atoms.residue_name[begin])
        has_backbone = {"N", "CA", "C"} <= set(names)
        if residue_name not in LETTERS:
            if has_backbone:
                raise InputError(
                    f"{where[index]}: the residue {labels[index]} is not known; expected the 20 amino acids, MSE, and "
                    "the forms of histidine HSD, HSE and HSP. Name what it is built as in the file"
                )
            if residue_name not in NUCLEOTIDES:
                rest.rows.append(rows)
                rest.names.append(residue_name)
                rest.labels.append(labels[index])
                rest.where.append(where[index])
            continue
        if not has_backbone:
            notes.append(f"{labels[index]} lacks N, CA or C and counts as missing")
            continue
        chain = str(atoms.chain[begin])
        # Equal molecules of a system file have one name; a PDB may have TER inside of a chain that has one.
        is_named = bool(chain) and atoms.line[begin] > 0
        strand = strands.setdefault((chain, -1 if is_named else int(atoms.piece[begin])), Strand(chain))
        number = str(atoms.residue[begin])
        if strand.numbers[-1:] == [number]:
            notes.append(f"{labels[index]} is a second form of {strand.labels[-1]} and is left out")
            continue
        position = atoms.position[rows]
        if not (np.abs(position) < FURTHEST).all():
            raise InputError(f"{where[index]}: {labels[index]} has coordinates that are not finite or beyond 10⁷ Å")
        strand.letters += LETTERS[residue_name]
        strand.names.append(residue_name)
        strand.numbers.append(number)
        strand.labels.append(labels[index])
        strand.where.append(where[index])
        # Of several places of an atom the first counts.
        places = dict(zip(reversed(names), reversed(list(position))))
        strand.places.append({name: place for name, place in places.items() if not is_hydrogen(name)})
    return list(strands.values()), rest, notes
