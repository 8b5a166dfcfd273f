"""How sugars and phosphates lie at each pair of a nucleosome, by the letter that is there.

A nucleosome settles with its own sequence, and with those in which each letter is the next one, two and three further
(A, C, G, T, A). Then each place has been settled with each letter, and any sequence begins with sugars and phosphates
that are strained at few places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tessera.build.charmm.places import Places
from tessera.build.dna.strand import ForceField, Nucleotides
from tessera.build.nucleosome.assemble import assembled
from tessera.build.nucleosome.ready import backbones_of
from tessera.build.nucleosome.template import Template

_LETTERS = "ACGT"
_WORTH = 6  # nucleosomes, from which on three more that settle take less time than they save


@dataclass(frozen=True)
class Letters:
    """The sequences with which a nucleosome has settled, and with each the sugars and phosphates of both strands."""

    sequences: list[str]
    backbones: list[tuple[list[Places], list[Places]]]

    def worn(self, sequence: str) -> tuple[list[Places], list[Places]]:
        """Returns sugars and phosphates of both strands with a sequence, each from its 5' end: at each pair those that
        settled with its letter, or where none did, with the template's own."""
        which = [
            next((at for at, letters in enumerate(self.sequences) if letters[row] == letter), 0)
            for row, letter in enumerate(sequence)
        ]
        first, second = (
            [self.backbones[at][strand][row] for row, at in enumerate(own)]
            for strand, own in enumerate((which, which[::-1]))
        )
        return first, second


def settled_letters(
    template: Template, field: ForceField, nucleotides: Nucleotides, count: int, report: Callable[[str], None]
) -> Letters:
    """Lets a template that has settled do so with other sequences, if there are enough nucleosomes (`count`)."""
    own = template.wrapped.sequence
    found = Letters([own], [template.wrapped.backbones])
    for step in range(1, len(_LETTERS) if count >= _WORTH else 1):
        letters = "".join(_LETTERS[(_LETTERS.index(letter) + step) % len(_LETTERS)] for letter in own)
        system = assembled(template.proteins, template.wrapped, letters, field, template.atoms.file, [], report=report)
        places = system.positions()[len(template.proteins.position) :]
        found.sequences.append(letters)
        found.backbones.append(backbones_of(template.wrapped, letters, places, nucleotides))
    return found
