"""Finds the nucleotides of a structure (PDB, mmCIF or a system file), their frames, and the pairs that they form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tessera.build.atoms import FURTHEST, Atoms, read_atoms, residue_labels, residue_starts
from tessera.build.dna.frames import Frames, fitted
from tessera.build.dna.nucleotides import NUCLEOTIDES
from tessera.errors import InputError
from tessera.system.model import IdArray

#: names of residues in files of the PDB, of CHARMM and of AMBER, which marks the ends of strands
LETTERS = {
    name: letter
    for letter, long in zip("ACGT", ("ADE", "CYT", "GUA", "THY"))
    for name in (letter, f"D{letter}", f"D{letter}5", f"D{letter}3", long)
}
_OTHER_NAMES = {"C5M": "C7", "O1P": "OP1", "O2P": "OP2"}  # CHARMM's, and those of old PDB files
_LONGEST_BOND = 2.5  # Å between O3' and P, which are 1.6 Å apart
_FURTHEST = 2.5  # Å between the frames of a pair; the next pair is 3.3 Å away


@dataclass(frozen=True)
class Nucleotides:
    """The nucleotides of a file (n,) in its order."""

    letters: str
    frames: Frames
    labels: list[str]  # such as `DA -73 of chain I`
    rows: list[slice]  # the atoms of each
    follows: NDArray[np.bool_]  # whether each is bonded to the one before


@dataclass(frozen=True)
class Duplex:
    """A double helix of n pairs: the bases of the first strand, and the partner of each."""

    sequence: str
    first: Frames
    second: Frames
    rows: tuple[IdArray, IdArray]  # of the nucleotides of both in the file


def read_duplex(path: Path) -> Duplex:
    """Returns the double helix of a file. Raises `InputError` where there is none, or more than one, or where it is
    broken."""
    return duplex_of(nucleotides_of(read_atoms(path)), path.name)


def nucleotides_of(atoms: Atoms) -> Nucleotides:
    """Returns all nucleotides with their frames. Raises `InputError` for one that is unknown or lacks atoms of its
    base, and for numbers that are not finite."""
    name = np.char.replace(atoms.name, "*", "'")
    for other, usual in _OTHER_NAMES.items():
        name[name == other] = usual
    first = residue_starts(atoms)
    residue = np.repeat(np.arange(len(first)), np.diff([*first, len(name)]))
    place = np.full((len(first), len(_WANTED)), -1)  # the row of each atom that is looked for
    for index, wanted in enumerate(_WANTED):
        rows = np.flatnonzero(name == wanted)[::-1]  # the first of several counts
        place[residue[rows], index] = rows
    has = place >= 0
    known = np.array([text in LETTERS for text in atoms.residue_name[first].tolist()])
    is_one = has[:, _WANTED.index("C1'")] & (has[:, _WANTED.index("N1")] | known)
    labels, where = residue_labels(atoms, first)
    for index in np.flatnonzero(is_one & ~known)[:1]:
        raise InputError(
            f"{where[index]}: the residue {labels[index]} is not known; expected the nucleotides DA, DC, DG and DT, or "
            "ADE, CYT, GUA and THY"
        )
    for index in np.flatnonzero(is_one & (has[:, _WANTED.index("O2'")]))[:1]:
        raise InputError(f"{where[index]}: {labels[index]} has O2' and is RNA, expected DNA")
    chosen = np.flatnonzero(is_one)
    if not len(chosen):
        raise InputError(f"{atoms.file} holds no nucleotides: expected residues such as DA, DC, DG and DT")
    letters = "".join(LETTERS[atoms.residue_name[first[index]]] for index in chosen)
    frames = Frames(np.zeros((len(chosen), 3)), np.zeros((len(chosen), 3, 3)))
    for letter, standard in NUCLEOTIDES.items():
        rows = np.flatnonzero(np.array(list(letters)) == letter)
        ring = place[chosen[rows]][:, [_WANTED.index(atom) for atom in standard.ring]]
        for row, column in np.argwhere(ring < 0)[:1]:
            index = chosen[rows[row]]
            raise InputError(f"{where[index]}: {labels[index]} lacks {standard.ring[column]}, an atom of its base")
        position = atoms.position[ring]
        for row, _ in np.argwhere(~(np.abs(position) < FURTHEST).all(axis=-1))[:1]:
            index = chosen[rows[row]]
            raise InputError(f"{where[index]}: {labels[index]} has coordinates that are not finite or beyond 10⁷ Å")
        if len(rows):
            found = fitted(position, standard.places(standard.ring))
            frames.origin[rows], frames.rotation[rows] = found.origin, found.rotation
    follows = _follow(atoms, place[chosen], first[chosen], [labels[i] for i in chosen], [where[i] for i in chosen])
    ends = [*first[1:].tolist(), len(name)]
    own = [slice(int(first[index]), ends[index]) for index in chosen]
    return Nucleotides(letters, frames, [labels[index] for index in chosen], own, follows)


_WANTED = ("N1", "C2", "N3", "C4", "C5", "C6", "N7", "C8", "N9", "C1'", "O2'", "O3'", "P")


def _follow(atoms: Atoms, place: IdArray, first: IdArray, labels: list[str], where: list[str]) -> NDArray[np.bool_]:
    """Tells which nucleotides follow the one before in their chain. Raises `InputError` where a chain is broken."""
    follows = np.zeros(len(place), bool)
    follows[1:] = (atoms.chain[first[1:]] == atoms.chain[first[:-1]]) & (
        atoms.piece[first[1:]] == atoms.piece[first[:-1]]
    )
    oxygen, phosphorus = place[:-1, _WANTED.index("O3'")], place[1:, _WANTED.index("P")]
    # A strand of a file without names of chains begins with a nucleotide without phosphate.
    follows[1:] &= phosphorus >= 0
    distance = np.linalg.norm(atoms.position[phosphorus] - atoms.position[oxygen], axis=1)
    distance[oxygen < 0] = np.inf
    for index in np.flatnonzero(follows[1:] & ~(distance <= _LONGEST_BOND))[:1]:
        found = "its O3' is missing" if oxygen[index] < 0 else f"O3' and P are {distance[index]:.2f} Å apart"
        raise InputError(
            f"{where[index + 1]}: the chain is broken between {labels[index]} and {labels[index + 1]}: {found}, "
            f"expected 1.6"
        )
    return follows


def duplex_of(found: Nucleotides, file: str) -> Duplex:
    """Returns the double helix in which nucleotides are. Raises `InputError` where there is none or more than one, and
    for a nucleotide inside that has no partner."""
    partner = _partners(found.frames)
    strand = np.cumsum(~found.follows)
    paired = np.flatnonzero(partner >= 0)
    if not len(paired):
        raise InputError(f"{file}: no two of its {len(partner)} nucleotides form a pair")
    rows = paired[strand[paired] == strand[paired[0]]]
    rows = rows[strand[partner[rows]] == strand[partner[rows[0]]]]
    others = np.setdiff1d(paired, np.concatenate([rows, partner[rows]]))
    if len(others) or strand[rows[0]] == strand[partner[rows[0]]]:
        at = found.labels[others[0] if len(others) else partner[rows[0]]]
        raise InputError(
            f"{file} holds more than one double helix of two strands: one begins with {found.labels[rows[0]]}, another "
            f"holds {at}; keep one of them in the file"
        )
    gaps = np.flatnonzero((np.diff(rows) != 1) | (np.diff(partner[rows]) != -1))
    for gap in gaps[:1]:
        raise InputError(
            f"{file}: the pair of {found.labels[rows[gap]]} and {found.labels[partner[rows[gap]]]} is not followed by "
            "a pair of their neighbours: a base inside has no partner"
        )
    sequence = "".join(found.letters[row] for row in rows)
    return Duplex(sequence, found.frames[rows], found.frames[partner[rows]], (rows, partner[rows]))


def _partners(frames: Frames) -> IdArray:
    """Returns the partner (n,) of each base, or −1: each is nearest to the other, and their z axes are opposite."""
    partner = np.full(len(frames), -1)
    near = cKDTree(frames.origin).query_pairs(_FURTHEST, output_type="ndarray")
    opposite = np.einsum("ni,ni->n", frames.rotation[near[:, 0], :, 2], frames.rotation[near[:, 1], :, 2]) < 0
    near = near[opposite]
    distance = np.linalg.norm(frames.origin[near[:, 0]] - frames.origin[near[:, 1]], axis=1)
    for first, second in near[np.argsort(distance, kind="stable")].tolist():
        if partner[first] < 0 and partner[second] < 0:
            partner[first], partner[second] = second, first
    return partner
