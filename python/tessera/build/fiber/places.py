"""Where the atoms of a fibre are before linkers have settled, in arrays of all nucleotides of a letter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tessera.build.charmm.places import Places
from tessera.build.dna.frames import Frames
from tessera.build.dna.strand import Nucleotides
from tessera.system.model import FloatArray, IdArray


@dataclass(frozen=True)
class StrandPlaces:
    """The atoms (n,) of a strand from its 5' end, where they are, and where the force field has them in the frames of
    their bases, both (n,3) Å; the first atom of each nucleotide."""

    position: FloatArray
    alone: FloatArray
    first: IdArray

    def of(self, is_chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tells which atoms (n,) are those of nucleotides that are chosen."""
        return np.repeat(is_chosen, np.diff(self.first, append=len(self.position)))


@dataclass(frozen=True)
class Backbones:
    """Sugars and phosphates of m nucleotides in the frames of their bases, (m,names,3) Å; NaN where none is known."""

    names: tuple[str, ...]
    local: FloatArray

    @classmethod
    def of(cls, places: list[Places]) -> Backbones:
        names = tuple(dict.fromkeys(name for own in places for name in own))
        row = {name: at for at, name in enumerate(names)}
        local = np.full((len(places), len(names), 3), np.nan)
        for at, own in enumerate(places):
            for name, place in own.items():
                local[at, row[name]] = place
        return cls(names, local)


def placed_strand(nucleotides: Nucleotides, letters: str, frames: Frames, backbones: Backbones) -> StrandPlaces:
    """Returns a strand with its bases in their frames, and sugars and phosphates where they are known to be in these,
    else as the force field has them."""
    kinds, last = np.array(list(letters)), len(letters) - 1
    inside = (np.arange(len(letters)) > 0) & (np.arange(len(letters)) < last)
    groups = [(letter, np.flatnonzero(inside & (kinds == letter)), False, False) for letter in sorted(set(letters))]
    groups += [(letters[row], np.array([row]), row == 0, row == last) for row in sorted({0, last})]
    groups = [group for group in groups if len(group[1])]
    size = np.zeros(len(letters), np.int64)
    for letter, rows, is_first, is_last in groups:
        size[rows] = len(nucleotides.unit(letter, is_first, is_last)[1])
    first = np.cumsum(size) - size
    position, alone = np.empty((int(size.sum()), 3)), np.empty((int(size.sum()), 3))
    for letter, rows, is_first, is_last in groups:
        residue, standard = nucleotides.unit(letter, is_first, is_last)
        local = np.repeat(standard[None], len(rows), axis=0)
        column = {name: at for at, name in enumerate(residue.atoms)}
        for at, name in enumerate(backbones.names):
            if name in column:
                known = backbones.local[rows, at]
                is_known = np.isfinite(known).all(axis=1)
                local[is_known, column[name]] = known[is_known]
        atoms = first[rows][:, None] + np.arange(len(standard))
        position[atoms], alone[atoms] = frames[rows].placed(local), standard
    return StrandPlaces(position, alone, first)
