"""The atoms of a nucleosome that charges stand for: its DNA about the dyad, and histones with or without tails."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tessera.build.charges.tails import globular
from tessera.build.dna.frames import pairs_of
from tessera.build.dna.strands import Atoms, Nucleotides, duplex_of, nucleotides_of, read_atoms
from tessera.build.nucleosome.wrapped import nucleosome_frame
from tessera.build.protein.structure import Strand, strands_of
from tessera.constants import RMIN_TO_SIGMA
from tessera.errors import InputError
from tessera.printing import are, counted
from tessera.system import read
from tessera.system.model import FloatArray, IdArray

_PAIRS = 147  # of DNA in the core of a nucleosome


@dataclass(frozen=True)
class Core:
    """Atoms (n,) in the frame of the nucleosome: its origin is on the axis of the superhelix beside the dyad, z along
    the axis as the first strand climbs, x to the dyad."""

    position: FloatArray  # (n,3) Å
    charge: FloatArray  # (n,) e
    radius: FloatArray  # (n,) Å: half the distance of least energy between two of its type
    notes: list[str]


def read_core(path: Path, with_tails: bool) -> Core:
    """Reads the core of the nucleosome in a system file. Raises `InputError` where it holds none."""
    atoms, system = read_atoms(path), read(path)
    found = nucleotides_of(atoms)
    duplex = duplex_of(found, path.name)
    _, pairs = pairs_of(duplex.first, duplex.second)
    frame = nucleosome_frame(pairs, path.name)
    strands, _, notes = strands_of(atoms)
    if not strands:
        raise InputError(f"{path.name} holds no amino acids: expected an octamer of histones inside its DNA")
    is_core = _of_dna(atoms, found, duplex.rows, notes) | _of_proteins(atoms, strands, with_tails, path.name, notes)
    left = int((~is_core).sum())
    if left:
        notes.append(f"{counted(left, 'atom', len(is_core))} {are(left)} left out")
    position = (atoms.position - frame.origin) @ frame.rotation
    sigma = system.force_field.type_lj[system.atom_field("type"), 0]
    radius = sigma / RMIN_TO_SIGMA / 2
    return Core(position[is_core], system.atom_field("charge")[is_core], radius[is_core], notes)


def _of_dna(atoms: Atoms, found: Nucleotides, rows: tuple[IdArray, IdArray], notes: list[str]) -> NDArray[np.bool_]:
    """Tells which atoms are of the pairs about the dyad."""
    count = len(rows[0])
    first = max((count - _PAIRS) // 2, 0)
    if count > _PAIRS:
        notes.append(f"of {count} base pairs the {_PAIRS} about the dyad count")
    chosen = np.zeros(len(atoms.name), bool)
    for strand in rows:
        for row in strand[first : first + _PAIRS].tolist():
            chosen[found.rows[row]] = True
    return chosen


def _of_proteins(
    atoms: Atoms, strands: list[Strand], with_tails: bool, file: str, notes: list[str]
) -> NDArray[np.bool_]:
    """Tells which atoms are of histones, or of their globular parts."""
    chosen = np.zeros(len(atoms.name), bool)
    parts = [("", slice(None))] * len(strands) if with_tails else globular(strands, file)
    for strand, (name, part) in zip(strands, parts):
        own = (atoms.chain == strand.chain) & np.isin(atoms.residue, strand.numbers[part])
        chosen |= own
        if not with_tails:
            numbers = strand.numbers[part]
            notes.append(f"of {name} in chain {strand.chain} residues {numbers[0]} to {numbers[-1]} count")
    return chosen
