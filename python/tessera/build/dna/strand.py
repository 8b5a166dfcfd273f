"""Puts the atoms of CHARMM's nucleotides into the frames of bases.

Residues are those of RNA, which patches make deoxynucleotides: DEOX inside; 5TER and DEO5 at the 5' end; DEOX and 3TER
at the 3' end. Bases have the shape of least energy of the force field, and the ring of each is fitted to its standard
frame, so that parameters of steps and pairs come back from the atoms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tessera.build.charmm.chain import Chain, psf_of
from tessera.build.charmm.places import Places, completed
from tessera.build.charmm.topology import Residue, Topology
from tessera.build.dna.frames import Frames, fitted
from tessera.build.dna.nucleotides import NUCLEOTIDES
from tessera.build.relax import relaxed
from tessera.prepare.assemble import Origin
from tessera.prepare.charmm import flat_of, system_of
from tessera.prepare.charmm_parameters import CharmmParameters
from tessera.prepare.coordinates import Coordinates
from tessera.prepare.psf import Psf
from tessera.system import System
from tessera.system.model import FloatArray

RESIDUES = {"A": "ADE", "C": "CYT", "G": "GUA", "T": "THY"}
#: CHARMM's names of atoms that the PDB names otherwise
NAMES = {"OP1": "O1P", "OP2": "O2P", "C7": "C5M"}
_APART = 60.0  # Å between nucleosides that do not interact


@dataclass(frozen=True)
class ForceField:
    topology: Topology
    parameters: CharmmParameters


def is_backbone(name: str) -> bool:
    """Tells whether an atom is one of a sugar or a phosphate."""
    return "'" in name or name in ("P", "O1P", "O2P", "H5T", "H3T")


def is_held(name: str) -> bool:
    """Tells whether an atom stays where the frame of its base has it: the heavy atoms of bases do. Hydrogens turn away
    from contacts, as those of methyl groups between sharply bent steps."""
    return not is_backbone(name) and not name.startswith("H")


class Nucleotides:
    """The nucleotides of a force field in the frames of their bases."""

    def __init__(self, field: ForceField) -> None:
        self.field = field
        self._units: dict[tuple[str, bool, bool], tuple[Residue, FloatArray]] = {}
        self._bases: dict[str, Places] = {}
        self._bases = self._relaxed_bases()

    def unit(self, letter: str, is_first: bool, is_last: bool) -> tuple[Residue, FloatArray]:
        """Returns a residue and where its atoms are (n,3) Å in the frame of its base. Raises `InputError`."""
        key = (letter, is_first, is_last)
        if key not in self._units:
            residue = self.field.topology.residue(RESIDUES[letter])
            for patch in (["5TER"] if is_first else []) + (["3TER"] if is_last else []):
                residue = residue.patched(self.field.topology.patch(patch))
            residue = residue.patched(self.field.topology.patch("DEO5" if is_first else "DEOX"))
            standard = NUCLEOTIDES[letter]
            known = {NAMES.get(name, name): place for name, place in zip(standard.names, standard.position)}
            known |= self._bases.get(letter, {})
            places = completed(residue, known, self.field.parameters)
            self._units[key] = residue, np.array(list(places.values()))
        return self._units[key]

    def residues(self, letters: str) -> list[Residue]:
        """Returns the residues of a strand with two ends."""
        last = len(letters) - 1
        return [self.unit(letter, row == 0, row == last)[0] for row, letter in enumerate(letters)]

    def _relaxed_bases(self) -> dict[str, Places]:
        """Returns the atoms of bases, and C1', in the shape of least energy of nucleosides."""
        units = {letter: self.unit(letter, True, True) for letter in NUCLEOTIDES}
        self._units.clear()
        psf = psf_of([Chain(letter, [residue]) for letter, (residue, _) in units.items()], self.field.parameters)
        apart = [position + np.array([_APART * row, 0, 0]) for row, (_, position) in enumerate(units.values())]
        found = relaxed(self.system(psf, np.concatenate(apart), "nucleosides"), np.zeros(len(psf.name), bool))
        bases: dict[str, Places] = {}
        first = 0
        for letter, (residue, position) in units.items():
            names, standard = list(residue.atoms), NUCLEOTIDES[letter]
            own = found[first : first + len(position)]
            first += len(position)
            ring = own[[names.index(name) for name in standard.ring]]
            frame = fitted(ring, standard.places(standard.ring))
            local = (own - frame.origin) @ frame.rotation
            bases[letter] = {name: place for name, place in zip(names, local) if not is_backbone(name) or name == "C1'"}
        return bases

    def chain(self, segment: str, sequence: str, frames: Frames, is_closed: bool) -> tuple[Chain, FloatArray]:
        """Returns a strand from its 5' end, and where its atoms are (n,3) Å."""
        last = len(sequence) - 1
        units = [
            self.unit(letter, row == 0 and not is_closed, row == last and not is_closed)
            for row, letter in enumerate(sequence)
        ]
        places = [frames[row : row + 1].placed(position)[0] for row, (_, position) in enumerate(units)]
        return Chain(segment, [residue for residue, _ in units], is_closed), np.concatenate(places)

    def system(self, psf: Psf, position: FloatArray, source: str, notes: Sequence[str] = ()) -> System:
        """Returns the system of a topology with its atoms at these places (n,3) Å, without a box."""
        table = self.field.parameters
        origin = Origin("charmm", table.lj_rule, source)
        return system_of(flat_of(psf, table), table, Coordinates(position), origin, vacuum=True, notes=notes)
