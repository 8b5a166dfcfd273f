"""The molecules of a fibre: proteins, each kind once, and DNA as chains of units, each kind of nucleotide once.

A nucleotide's terms reach into the ones beside it, so that a unit depends on the letters before and behind. All 64 are
those of a short strand in which every letter is between all others, and no strand is ever made as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tessera.build.charmm.chain import Chain, psf_of
from tessera.build.dna.helix import SEGMENTS
from tessera.build.dna.sequence import complement
from tessera.build.dna.strand import Nucleotides
from tessera.build.protein.model import Proteins
from tessera.system import System
from tessera.system.layout import Layout
from tessera.system.units import Chain as UnitChain
from tessera.system.units import Units, chain_like, split

_LETTERS = "ACGT"
_END = 3  # letters at an end of a strand on which its units depend
_SPACING = 4.0  # Å between the atoms of a system whose places don't count


def fiber_system(
    proteins: Proteins, nucleotides: Nucleotides, sequence: str, count: int, source: str, notes: Sequence[str]
) -> System:
    """Returns a system with these proteins so many times and DNA of a sequence, whose atoms have no places yet. Chain A
    of the second nucleosome is the segment P2A. Raises `InputError` for what the force field lacks."""
    kinds = _Kinds.of(proteins, nucleotides, sequence)
    layout = Layout()
    for number in range(1, count + 1):
        at = 0
        for template, copies in kinds.proteins:
            names = [(row, 1, _segment(number, kinds.segments[at + row])) for row in range(copies)]
            numbers = [(row, 1, kinds.numbers[at + row], 1) for row in range(copies)]
            layout.add([(template, copies)], numbers, names)
            at += copies
    first_unit = len(kinds.alone.templates) - len(SEGMENTS)
    for segment, letters, sample in zip(SEGMENTS, (sequence, complement(sequence)), kinds.samples):
        chain = chain_like(sample.chain, _marked(sample.letters), _marked(letters), segment)
        layout.add_chain(chain, first_unit, segment)
    made = layout.of(kinds.alone, [*kinds.alone.templates[:first_unit], *kinds.units.units])
    made.source, made.notes, made.origin = source, [*notes, *kinds.alone.notes], np.zeros(3)
    return made


def _segment(number: int, name: str) -> str:
    return f"P{number}{name.removeprefix('PRO')}"


@dataclass(frozen=True)
class _Sample:
    letters: str
    chain: UnitChain


@dataclass(frozen=True)
class _Kinds:
    """One nucleosome's proteins and two short strands, the runs of its proteins, and for each molecule of these its
    segment and the number of its first residue."""

    alone: System
    proteins: list[tuple[int, int]]
    segments: list[str]
    numbers: list[int]
    units: Units
    samples: list[_Sample]

    @classmethod
    def of(cls, proteins: Proteins, nucleotides: Nucleotides, sequence: str) -> _Kinds:
        strands = [_sample(letters) for letters in (sequence, complement(sequence))]
        chains = [Chain(SEGMENTS[0], nucleotides.residues(letters)) for letters in strands]
        psf = psf_of([*proteins.chains, *chains], nucleotides.field.parameters, proteins.links)
        places = np.zeros((len(psf.name), 3))
        places[:, 0] = _SPACING * np.arange(len(places))
        alone = nucleotides.system(psf, places, "kinds")
        template, first = alone.instances()
        own = template[: -len(SEGMENTS)]
        runs = [(int(kind), 1) for kind in own]
        units = Units()
        samples = []
        for letters, kind in zip(strands, template[-len(SEGMENTS) :].tolist()):
            chain = split(alone.templates[kind], units)
            assert chain is not None
            samples.append(_Sample(letters, chain))
        heads = first[: len(own)]
        segments = psf.segment[heads].astype(str).tolist()
        return cls(alone, runs, segments, psf.residue_number[heads].tolist(), units, samples)


def _sample(sequence: str) -> str:
    """Returns a strand with the ends of a sequence in which each letter is between all others."""
    if len(sequence) < 2 * _END:
        return sequence
    inside = _every(_LETTERS, 3)
    return sequence[:_END] + inside + inside[:2] + sequence[-_END:]


def _marked(sequence: str) -> str:
    """Returns the kinds of nucleotides: those at the ends, which have other atoms, are small letters."""
    return sequence[:1].lower() + sequence[1:-1] + sequence[-1:].lower()


def _every(letters: str, length: int) -> str:
    """Returns a circle of letters in which each word of this length is once (de Bruijn), the least of them."""
    # The Lyndon words whose lengths divide the length, in order (Fredricksen and Maiorana 1978).
    words, word = [], [0]
    while word:
        if length % len(word) == 0:
            words += word
        word = [word[at % len(word)] for at in range(length)]
        while word and word[-1] == len(letters) - 1:
            word.pop()
        if word:
            word[-1] += 1
    return "".join(letters[index] for index in words)
