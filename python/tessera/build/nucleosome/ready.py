"""Makes a template ready to be copied: all of its atoms have settled, and stay where they are in every copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tessera.build.charmm.places import Places
from tessera.build.dna.frames import bases_of
from tessera.build.dna.sequence import complement
from tessera.build.dna.strand import ForceField, Nucleotides, is_backbone
from tessera.build.nucleosome.assemble import build_nucleosome
from tessera.build.nucleosome.template import Template
from tessera.build.nucleosome.wrapped import Wrapped
from tessera.system.model import FloatArray


def ready(
    template: Template, field: ForceField, nucleotides: Nucleotides, report: Callable[[str], None] = lambda _: None
) -> Template:
    """Returns a template with its own sequence whose proteins, sugars and phosphates have settled, hydrogens and all:
    those of its file, if that is a system file of `tessera build nucleosome`, or else after they have been built."""
    places = _of_file(template, nucleotides)
    if places is None:
        system = build_nucleosome(template, field, template.atoms.file, report=report)
        places, notes = system.positions(), system.notes
    else:
        notes = [*template.notes, f"atoms of nucleosomes are where {template.atoms.file} has them"]
    proteins, wrapped = template.proteins, template.wrapped
    n = len(proteins.position)
    settled = replace(proteins, position=places[:n], is_built=np.zeros(n, bool))
    backbones = backbones_of(wrapped, wrapped.sequence, places[n:], nucleotides)
    return replace(template, proteins=settled, wrapped=replace(wrapped, backbones=backbones), notes=notes)


def backbones_of(
    wrapped: Wrapped, sequence: str, places: FloatArray, nucleotides: Nucleotides
) -> tuple[list[Places], list[Places]]:
    """Returns sugars and phosphates of both strands in the frames of their bases, from the places (n,3) Å of all atoms
    of DNA with a sequence."""
    first, second = bases_of(wrapped.course.pairs, wrapped.course.parameters)
    backbones: list[list[Places]] = []
    n = 0
    for letters, frames in ((sequence, first), (complement(sequence), second[::-1])):
        strand: list[Places] = []
        for row, residue in enumerate(nucleotides.residues(letters)):
            names = list(residue.atoms)
            local = (places[n : n + len(names)] - frames.origin[row]) @ frames.rotation[row]
            strand.append({name: place for name, place in zip(names, local) if is_backbone(name)})
            n += len(names)
        backbones.append(strand)
    return backbones[0], backbones[1]


def _of_file(template: Template, nucleotides: Nucleotides) -> FloatArray | None:
    """Returns the places (n,3) Å of all atoms of proteins and DNA, if the file has just these, and them first."""
    sequence = template.wrapped.sequence
    names = [name for chain in template.proteins.chains for residue in chain.residues for name in residue.atoms]
    for letters in (sequence, complement(sequence)):
        names += [name for residue in nucleotides.residues(letters) for name in residue.atoms]
    if template.atoms.name[: len(names)].tolist() != names:
        return None
    return template.atoms.position[: len(names)]
