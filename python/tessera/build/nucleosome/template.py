"""The template of a nucleosome: an octamer of histones and the course of the DNA around it, from a structure.

`read_template` gives both as the file has them, with the frame of the nucleosome: its origin is on the axis of the
superhelix beside the dyad, z along the axis as the first strand climbs, x to the dyad. `Template.moved` puts them about
any frame, such as `OWN`. A fibre takes its nucleosomes from one template: best that of a nucleosome that was built,
read from its system file, in which all heavy atoms have room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tessera.build.atoms import Atoms, read_atoms
from tessera.build.dna.frames import Frames
from tessera.build.dna.strand import ForceField
from tessera.build.dna.strands import duplex_of, nucleotides_of
from tessera.build.nucleosome.wrapped import Wrapped, nucleosome_frame, wrapped_of
from tessera.build.protein.model import Proteins, build_proteins
from tessera.build.protein.residues import AminoAcids
from tessera.build.protein.sequences import Protein, declared, threaded
from tessera.build.protein.structure import Rest, strands_of
from tessera.errors import InputError

_OCTAMER = 8  # chains


@dataclass(frozen=True)
class Template:
    """Proteins and DNA about a frame, what the file holds besides, and notes."""

    proteins: Proteins
    wrapped: Wrapped
    frame: Frames  # a single one: that of the nucleosome, as the places here have it
    atoms: Atoms
    rest: Rest
    notes: list[str]

    def moved(self, frame: Frames) -> Template:
        """Returns the template with the nucleosome's frame at this one, a single frame."""
        shift = self.shift_to(frame)
        proteins = replace(self.proteins, position=shift.placed(self.proteins.position))
        return replace(self, proteins=proteins, wrapped=self.wrapped.moved(shift), frame=frame)

    def shift_to(self, frame: Frames) -> Frames:
        """Returns where the origin and the axes of these places come when the nucleosome's frame is at this one."""
        turn = frame.rotation @ self.frame.rotation.T
        return Frames(frame.origin - turn @ self.frame.origin, turn)


#: the frame of a nucleosome in its own coordinates
OWN = Frames(np.zeros(3), np.eye(3))


def read_template(
    path: Path,
    field: ForceField,
    given: Sequence[Protein] = (),
    histidine: str = "HSD",
    seed: int = 0,
    report: Callable[[str], None] = lambda _: None,
) -> Template:
    """Reads a structure (PDB, mmCIF or a system file) and builds what its proteins lack, with the sequences given, else
    those that the file declares; places are those of the file. Raises `InputError` that names the residue and the line
    of what can't be built."""
    report("reading the structure")
    atoms = read_atoms(path)
    found = nucleotides_of(atoms)
    duplex = duplex_of(found, path.name)
    wrapped = wrapped_of(atoms, found, duplex)
    frame = nucleosome_frame(wrapped.course.pairs, path.name)
    strands, rest, notes = strands_of(atoms)
    if not strands:
        raise InputError(f"{path.name} holds no amino acids: expected an octamer of histones around its DNA")
    if len(strands) != _OCTAMER:
        notes.append(f"{path.name} holds {len(strands)} chains of amino acids; an octamer has {_OCTAMER}")
    threads, more = threaded(strands, {} if given else declared(path), given, path.name)
    dna = np.concatenate([atoms.position[rows] for rows in found.rows])
    acids = AminoAcids(field.topology, field.parameters)
    proteins = build_proteins(strands, threads, acids, dna, histidine, seed, report)
    return Template(proteins, wrapped, frame, atoms, rest, [*notes, *more, *proteins.notes])
