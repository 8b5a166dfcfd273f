"""The DNA of a nucleosome: its path, and how its sugars and phosphates lie beside their bases."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tessera.build.atoms import Atoms
from tessera.build.charmm.chain import Chain
from tessera.build.charmm.places import Places, completed
from tessera.build.dna.frames import Frames, bases_of, pairs_of
from tessera.build.dna.helix import SEGMENTS
from tessera.build.dna.paths import Course
from tessera.build.dna.sequence import complement
from tessera.build.dna.strand import NAMES, Nucleotides, is_backbone
from tessera.build.dna.strands import Duplex
from tessera.build.dna.strands import Nucleotides as Found
from tessera.build.dna.superhelix import superhelix_of
from tessera.errors import InputError
from tessera.system.model import FloatArray

_LEAST_TURNS = 1.0  # of DNA that is wrapped


@dataclass(frozen=True)
class Wrapped:
    """Double-helical DNA of n pairs: its course, and the sugars and phosphates of both strands, each from its 5' end,
    in the frames of their bases by CHARMM's names."""

    sequence: str
    course: Course
    backbones: tuple[list[Places], list[Places]]

    def moved(self, frame: Frames) -> Wrapped:
        """Returns the DNA after what was the frame of reference is at this one, a single frame."""
        pairs = self.course.pairs
        origin = pairs.origin @ frame.rotation.T + frame.origin
        return replace(self, course=replace(self.course, pairs=Frames(origin, frame.rotation @ pairs.rotation)))


def wrapped_of(atoms: Atoms, found: Found, duplex: Duplex) -> Wrapped:
    """Returns the DNA of a file."""
    parameters, pairs = pairs_of(duplex.first, duplex.second)
    (first, second), (rows, partners) = (duplex.first, duplex.second), duplex.rows
    strands = ((first, rows), (second[::-1], partners[::-1]))
    backbones = tuple(
        [_backbone(atoms, found.rows[row], frames[at : at + 1]) for at, row in enumerate(rows.tolist())]
        for frames, rows in strands
    )
    return Wrapped(duplex.sequence, Course(pairs, parameters), (backbones[0], backbones[1]))


def _backbone(atoms: Atoms, rows: slice, frame: Frames) -> Places:
    names = np.char.replace(atoms.name[rows], "*", "'").tolist()
    local = (atoms.position[rows] - frame.origin[0]) @ frame.rotation[0]
    places = {NAMES.get(name, name): place for name, place in zip(names, local)}
    # C1' belongs to its base, whose frame has its place.
    return {
        name: place
        for name, place in places.items()
        if is_backbone(name) and not name.startswith("H") and name != "C1'" and np.isfinite(place).all()
    }


def nucleosome_frame(pairs: Frames, file: str) -> Frames:
    """Returns the frame (a single one) of a nucleosome: its origin on the axis of the superhelix beside the middle of
    the path, z along the axis as the path climbs, and x to the pair in the middle, the dyad. Raises `InputError` for
    DNA that is not wrapped."""
    found = superhelix_of(pairs.origin)
    if found is None or found.turns < _LEAST_TURNS:
        turns = 0.0 if found is None else found.turns
        raise InputError(
            f"the DNA of {file} makes {turns:.2f} turns of a superhelix, expected {_LEAST_TURNS:g} or more, as around "
            "an octamer"
        )
    count = len(pairs)
    out = pairs.origin[(count - 1) // 2 : count // 2 + 1].mean(axis=0) - found.centre
    height = float(out @ found.axis)
    x = out - height * found.axis
    x /= np.linalg.norm(x)
    return Frames(found.centre + height * found.axis, np.column_stack([x, np.cross(found.axis, x), found.axis]))


@dataclass(frozen=True)
class Strand:
    """A strand with all atoms (n,), and the handedness that they should have."""

    chain: Chain
    position: FloatArray  # (n,3) Å
    alone: FloatArray  # (n,3) Å: each nucleotide of the force field in the frame of its base
    is_exchanged: NDArray[np.bool_]  # (n,) whether the file has another base there


def strands_with(nucleotides: Nucleotides, wrapped: Wrapped, sequence: str) -> list[Strand]:
    """Returns both strands with a sequence: bases in their frames, sugars and phosphates beside them as in the file,
    where that has them."""
    first, second = bases_of(wrapped.course.pairs, wrapped.course.parameters)
    exchanged = [letter != own for letter, own in zip(sequence, wrapped.sequence)]
    strands = ((sequence, first, exchanged), (complement(sequence), second[::-1], exchanged[::-1]))
    return [
        _strand(nucleotides, segment, letters, frames, backbones, others)
        for segment, (letters, frames, others), backbones in zip(SEGMENTS, strands, wrapped.backbones)
    ]


def _strand(
    nucleotides: Nucleotides, segment: str, letters: str, frames: Frames, backbones: list[Places], exchanged: list[bool]
) -> Strand:
    residues, position, alone, is_exchanged = [], [], [], []
    for row, (letter, backbone) in enumerate(zip(letters, backbones)):
        residue, local = nucleotides.unit(letter, row == 0, row == len(letters) - 1)
        standard = dict(zip(residue.atoms, local))
        kept = {name: place for name, place in standard.items() if not (is_backbone(name) and name.startswith("H"))}
        places = completed(residue, kept | backbone, nucleotides.field.parameters)
        residues.append(residue)
        position.append(frames[row : row + 1].placed(np.array(list(places.values())))[0])
        alone.append(local)
        is_exchanged.append(np.full(len(local), exchanged[row]))
    return Strand(Chain(segment, residues), *(np.concatenate(parts) for parts in (position, alone, is_exchanged)))
