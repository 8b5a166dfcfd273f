"""Lets the DNA of a fibre settle, window by window: from the dyad of one nucleosome to that of the next.

Nucleosomes are copies of one that has settled. What is new is the sequence of their DNA and the linkers: of these,
sugars, phosphates and hydrogens move, and side chains that are in the way of a base that the template lacks. A window
is cut out of the fibre with all that it may touch, so that time grows with the number of nucleosomes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tessera.build.charmm.topology import Residue
from tessera.build.dna.helix import SEGMENTS
from tessera.build.dna.sequence import complement
from tessera.build.dna.strand import Nucleotides, is_held
from tessera.build.nucleosome.settle import InChains, settled
from tessera.build.protein.model import Proteins
from tessera.build.protein.names import BACKBONE
from tessera.build.protein.residues import is_heavy
from tessera.build.relax import check_closed, strain_of
from tessera.system import System
from tessera.system.model import FloatArray, IdArray
from tessera.system.part import Cutter

_REACH = 9.0  # Å: what is nearer to an atom that moves is in its window
_NEAR = 3.0  # Å between heavy atoms: a side chain that is nearer to a new base moves
_BACKBONE = (*BACKBONE, "HN", "HA", "OT1", "OT2")
_HINT = "linkers and nucleosomes leave no room there: move the nucleosomes, or give linkers another length"


@dataclass(frozen=True)
class Strands:
    """The sequence, and of each pair whether its bases are others than the template's; the pairs (windows + 1,) at
    which windows begin and end."""

    sequence: str
    is_new: NDArray[np.bool_]
    cuts: list[int]


class FiberResidues:
    """The residues of a fibre: proteins of each nucleosome, then both strands."""

    def __init__(self, proteins: Proteins, nucleotides: Nucleotides, sequence: str, count: int) -> None:
        self._proteins = InChains(proteins.chains)
        self._labels = [
            f"{residue.name} {chain.first + row} in P{{}}{chain.segment.removeprefix('PRO')}"
            for chain in proteins.chains
            for row, residue in enumerate(chain.residues)
        ]
        self._nucleotides = nucleotides
        self._strands = (sequence, complement(sequence))
        self.first_nucleotide = count * len(self._labels)

    def beside(self, number: int, step: int) -> Residue | None:
        """Returns the residue so many after one in its chain; None where the chain has ended."""
        if number < self.first_nucleotide:
            return self._proteins.beside(number % len(self._labels), step)
        strand, row = self._place(number)
        letters, row = self._strands[strand], row + step
        if not 0 <= row < len(letters):
            return None
        return self._nucleotides.unit(letters[row], row == 0, row == len(letters) - 1)[0]

    def label(self, number: int) -> str:
        """Returns what messages call a residue."""
        if number < self.first_nucleotide:
            nucleosome, row = divmod(number, len(self._labels))
            return self._labels[row].format(nucleosome + 1)
        strand, row = self._place(number)
        own = self.beside(number, 0)
        assert own is not None
        return f"{own.name} {row + 1} in {SEGMENTS[strand]}"

    def _place(self, number: int) -> tuple[int, int]:
        return divmod(number - self.first_nucleotide, len(self._strands[0]))


class Settler:
    """Lets a fibre settle whose atoms are at `position` (n,3) Å, which it changes; `right` (n,3) has places of the
    right handedness."""

    def __init__(
        self, system: System, position: FloatArray, right: FloatArray, strands: Strands, residues: FiberResidues,
        nucleotides: Nucleotides,
    ) -> None:  # fmt: skip
        self._system, self._position, self._right = system, position, right
        self._strands, self._residues, self._table = strands, residues, nucleotides.field.parameters
        self._cutter = Cutter(system)
        self._first_unit = len(self._cutter.template) - 2 * len(strands.sequence)
        units = set(self._cutter.template[self._first_unit :].tolist())
        self._is_base = self._named(lambda kind, name: kind in units and is_held(name))
        self._is_side = self._named(lambda kind, name: kind not in units and name not in _BACKBONE)
        self._is_heavy = self._named(lambda _, name: is_heavy(name))
        self._centre, self._radius = self._spheres()
        self._moved: set[int] = set()
        self._bond = self._angle = 0.0

    def _named(self, is_so: Callable[[int, str], bool]) -> list[NDArray[np.bool_]]:
        """Tells which atoms of each template are so, by its row and their names."""
        return [
            np.array([is_so(kind, str(name)) for name in template.atom_name])
            for kind, template in enumerate(self._system.templates)
        ]

    def _spheres(self) -> tuple[FloatArray, FloatArray]:
        """Returns spheres about the instances: centres (·,3) and radii (·,) Å."""
        first = self._cutter.first
        low, high = (ufunc.reduceat(self._position, first, axis=0) for ufunc in (np.minimum, np.maximum))
        return (low + high) / 2, np.linalg.norm(high - low, axis=1) / 2

    def settle(self, report: Callable[[str], None] = lambda _: None) -> list[str]:
        """Lets all windows settle, and returns notes. Raises `InputError` that names what can't be closed."""
        cuts = self._strands.cuts
        for window in range(len(cuts) - 1):
            report(f"closing chains: window {window + 1:,} of {len(cuts) - 1:,}")
            self._settle(cuts[window], cuts[window + 1])
        notes = [f"bonds are within {self._bond:.1f} % and angles within {self._angle:.1f}° of equilibrium"]
        if self._moved:
            notes.append(f"{len(self._moved):,} residue(s) of proteins left the DNA no room and were moved")
        return notes

    def _settle(self, low: int, high: int) -> None:
        cutter, n = self._cutter, len(self._strands.sequence)
        pairs = np.arange(low, high)
        own = self._first_unit + np.concatenate([pairs, n + np.sort(n - 1 - pairs)])
        is_new_unit = np.zeros(len(cutter.template), bool)
        is_new_unit[own] = np.concatenate([self._strands.is_new[low:high], self._strands.is_new[low:high][::-1]])
        is_own_unit = np.zeros(len(cutter.template), bool)
        is_own_unit[own] = True
        moving = cKDTree(self._position[cutter.atoms_of(own)])
        near = self._near(moving, own)
        atoms = cutter.atoms_of(near)
        distance, _ = moving.query(self._position[atoms], distance_upper_bound=_REACH)
        residue = cutter.residues_of(near)
        is_kept = np.isin(residue, np.unique(residue[np.isfinite(distance)]))
        atoms, residue = atoms[is_kept], residue[is_kept]

        def spread(values: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
            return cutter.spread(values, near)[is_kept]

        is_own = np.repeat(is_own_unit[near], cutter.size[near])[is_kept]
        is_fresh = np.repeat(is_new_unit[near], cutter.size[near])[is_kept] & spread(self._is_base)
        position = self._position[atoms]
        is_side, is_heavy_atom = spread(self._is_side), spread(self._is_heavy)
        crowding = is_side & is_heavy_atom
        close, _ = cKDTree(position[is_fresh]).query(position[crowding], distance_upper_bound=_NEAR)
        is_crowded = is_side & np.isin(residue, residue[crowding][np.isfinite(close)])
        is_fixed = ~(is_own & ~spread(self._is_base)) & ~is_crowded
        is_protein = residue < self._residues.first_nucleotide
        middle = position.mean(axis=0)
        part = cutter.part(near, is_kept, position - middle)
        right = self._right[atoms]
        after, stayed = settled(part, self._residues, residue, self._table, right, is_fixed, is_protein, is_own)
        names = np.concatenate([own.atom_name for own in part.templates]).tolist()
        labels = [f"{name} of {self._residues.label(number)}" for name, number in zip(names, residue.tolist())]
        is_judged = is_own | ~stayed
        check_closed(part, right, after, labels, _HINT, is_judged)
        strain = strain_of(part, after, is_judged)
        self._bond, self._angle = max(self._bond, strain.bond), max(self._angle, strain.angle)
        self._moved |= set(residue[~stayed & is_protein].tolist())
        self._position[atoms[~stayed]] = after[~stayed] + middle

    def _near(self, moving: cKDTree, own: IdArray) -> IdArray:
        """Returns the instances of which atoms may be within reach of those that move, in rising order."""
        low, high = moving.mins, moving.maxes
        beside = np.maximum(low - self._centre, self._centre - high).max(axis=1)
        some = np.flatnonzero(beside <= self._radius + _REACH)
        distance, _ = moving.query(self._centre[some])
        return np.union1d(some[distance <= self._radius[some] + _REACH], own)
