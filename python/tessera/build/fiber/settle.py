"""Lets the DNA of a fibre settle, window by window: from the dyad of one nucleosome to that of the next.

Nucleosomes are copies of one that has settled. What is new is the sequence of their DNA and the linkers: of these,
sugars, phosphates and hydrogens move, and side chains that are in the way of a base that the template lacks. A window
is cut out of the fibre with all that it may touch, so that time grows with the number of nucleosomes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tessera.build.charmm.topology import Residue
from tessera.build.clashes.find import NEAREST
from tessera.build.dna.helix import SEGMENTS
from tessera.build.dna.sequence import complement
from tessera.build.dna.strand import Nucleotides, is_held
from tessera.build.fiber.poses import Tails
from tessera.build.fiber.processes import shared, workers
from tessera.build.nucleosome.settle import BESIDE, InChains, residues_within, settled, touching
from tessera.build.protein.model import Proteins
from tessera.build.protein.names import BACKBONE
from tessera.build.protein.residues import is_heavy
from tessera.build.relax import fault_of
from tessera.errors import InputError
from tessera.system import System
from tessera.system.model import FloatArray, IdArray
from tessera.system.part import Cutter

_REACH = 8.0  # Å: residues of proteins nearer to DNA that settles may move with it
_WIDTH = 12.0  # Å: that of a residue
#: Å between the axes of windows of which neither sees what the other one moves: DNA has a radius of 13 Å. Every fifth
#: pair is looked at.
_APART, _EVERY = 2 * (13 + _REACH + _WIDTH) + BESIDE + _WIDTH + 5 * 3.4, 5
_NEAR = 3.0  # Å between heavy atoms: a side chain that is nearer to a new base moves
_TOUCH = 1.5  # Å between any atoms of two residues, of which both move: less than in hydrogen bonds
_THROUGH = 1.5  # Å between heavy atoms: what goes through a ring is nearer to one of its atoms, and no pose leaves that
_IN_THE_WAY = 3.0  # Å from atoms that can't be closed
_ATTEMPTS = 5  # with other poses of the tails that are in the way
_BACKBONE = (*BACKBONE, "HN", "HA", "OT1", "OT2")
_HINT = "linkers and nucleosomes leave no room there: move the nucleosomes, or give linkers another length"


@dataclass(frozen=True)
class Strands:
    """The sequence; of each pair whether its bases are others than the template's, and whether it is in a linker; the
    pairs (windows + 1,) at which windows begin and end; where pairs are, (n,3) Å."""

    sequence: str
    is_new: NDArray[np.bool_]
    is_linker: NDArray[np.bool_]
    cuts: list[int]
    axis: FloatArray

    def turns(self) -> list[list[int]]:
        """Returns the windows in groups, of which each holds windows that are too far apart to move the same residue or
        to see what another one moves."""
        window = np.repeat(np.arange(len(self.cuts) - 1), np.diff(self.cuts))
        seen = np.arange(0, len(window), _EVERY)
        pairs = window[seen][cKDTree(self.axis[seen]).query_pairs(_APART, output_type="ndarray").reshape(-1, 2)]
        beside: list[set[int]] = [set() for _ in self.cuts[1:]]
        for one, other in np.unique(pairs, axis=0).tolist():
            beside[one].add(other)
            beside[other].add(one)
        groups: list[list[int]] = []
        for at, others in enumerate(beside):
            group = next((group for group in groups if not others & set(group)), None)
            if group is None:
                groups.append([at])
            else:
                group.append(at)
        return groups


@dataclass(frozen=True)
class _Settled:
    """The greatest strains of a window, % and degrees, and the residues of proteins that have moved; or what can't be
    closed: then nothing has moved. `in_the_way` are residues of proteins beside what can't be closed, or that clash."""

    bond: float = 0.0
    angle: float = 0.0
    moved: set[int] = field(default_factory=set)
    fault: str = ""
    in_the_way: set[int] = field(default_factory=set)

    @property
    def is_good(self) -> bool:
        return not self.fault and not self.in_the_way


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
    """Lets a fibre settle whose atoms begin at `position` (n,3) Å; `right` (n,3) has places of the right handedness."""

    def __init__(
        self, system: System, position: FloatArray, right: FloatArray, strands: Strands, residues: FiberResidues,
        nucleotides: Nucleotides, tails: Tails,
    ) -> None:  # fmt: skip
        self._system, self.position, self._right, self._tails = system, shared(position), right, tails
        self._strands, self._residues, self._table = strands, residues, nucleotides.field.parameters
        self._cutter = Cutter(system)
        self._first_unit = len(self._cutter.template) - 2 * len(strands.sequence)
        units = set(self._cutter.template[self._first_unit :].tolist())
        self._is_base = self._named(lambda kind, name: kind in units and is_held(name))
        self._is_side = self._named(lambda kind, name: kind not in units and name not in _BACKBONE)
        self._is_heavy = self._named(lambda _, name: is_heavy(name))
        self._centre, self._radius = self._spheres()
        self._is_linker = np.concatenate(
            [np.zeros(residues.first_nucleotide, bool), strands.is_linker, strands.is_linker[::-1]]
        )

    def _named(self, is_so: Callable[[int, str], bool]) -> list[NDArray[np.bool_]]:
        """Tells which atoms of each template are so, by its row and their names."""
        return [
            np.array([is_so(kind, str(name)) for name in template.atom_name])
            for kind, template in enumerate(self._system.templates)
        ]

    def _spheres(self) -> tuple[FloatArray, FloatArray]:
        """Returns spheres about the instances: centres (·,3) and radii (·,) Å."""
        first = self._cutter.first
        low, high = (ufunc.reduceat(self.position, first, axis=0) for ufunc in (np.minimum, np.maximum))
        return (low + high) / 2, np.linalg.norm(high - low, axis=1) / 2

    def settle(self, report: Callable[[str], None] = lambda _: None) -> list[str]:
        """Lets all windows settle, and returns notes. Raises `InputError` that names what can't be closed."""
        count, done = len(self._strands.cuts) - 1, 0
        found: dict[int, _Settled] = {}
        with workers(self._settle, count) as settled_windows:
            for group in self._strands.turns():
                for window, one in zip(group, settled_windows(group)):
                    done += 1
                    report(f"closing chains: window {done:,} of {count:,}")
                    found[window] = one
        # Tails reach into other windows: they turn when nothing else moves.
        turned = 0
        for window in sorted(window for window, one in found.items() if not one.is_good):
            report(f"turning tails: window {window + 1:,}")
            found[window], tails = self._settle_anew(window, found[window])
            turned += tails
        report("looking for tails that go through others")
        away, left = self._clear()
        bond, angle = (max(getattr(one, name) for one in found.values()) for name in ("bond", "angle"))
        moved = set[int]().union(*(one.moved for one in found.values()))
        notes = [f"bonds are within {bond:.1f} % and angles within {angle:.1f}° of equilibrium"]
        if moved:
            notes.append(f"{len(moved):,} residue(s) of proteins left the DNA no room and were moved")
        if turned:
            notes.append(f"{turned:,} tail(s) of proteins that kept DNA from closing were turned away")
        if away:
            notes.append(f"{away:,} tail(s) of proteins that went through others or DNA were turned away")
        if left:
            notes.append(f"{left:,} nucleosome(s) have tails that found no room: try tessera clashes --fix --tails")
        return notes

    def _clear(self) -> tuple[int, int]:
        """Turns tails away that are where something else is, as none of their poses had room, and returns how many, and
        how many nucleosomes have others still."""
        turned, tails = 0, self._tails.atoms()
        for attempt in range(_ATTEMPTS + 1):
            self._centre, self._radius = self._spheres()
            found = [meeting for meeting in map(self._through, tails) if meeting] if tails.size else []
            count = 0 if attempt == _ATTEMPTS else self._tails.turn(self.position, set().union(*found), attempt)
            if not count:
                break
            turned += count
        return turned, len(found)

    def _through(self, own: IdArray) -> set[int]:
        """Returns the residues of these atoms of tails that are where residues are that do not follow in their
        chain."""
        cutter = self._cutter
        near = self._near(self.position[own], np.zeros(0, np.int64), _THROUGH)
        atoms, residue = cutter.atoms_of(near), cutter.residues_of(near)
        is_met = residues_within(self.position[atoms], residue, np.isin(atoms, own), _THROUGH)
        atoms, residue = atoms[is_met], residue[is_met]
        is_own, is_heavy_atom = np.isin(atoms, own), cutter.spread(self._is_heavy, near)[is_met]
        place = self.position[atoms]
        pairs = cKDTree(place).query_pairs(_THROUGH, output_type="ndarray").reshape(-1, 2)
        pairs = pairs[is_own[pairs].any(axis=1) & (abs(np.diff(residue[pairs], axis=1)[:, 0]) > 1)]
        apart = np.linalg.norm(place[pairs[:, 0]] - place[pairs[:, 1]], axis=1)
        pairs = pairs[(apart < NEAREST) | is_heavy_atom[pairs].all(axis=1)]
        return set(residue[pairs[is_own[pairs]]].tolist())

    def _settle_anew(self, window: int, before: _Settled) -> tuple[_Settled, int]:
        """Lets a window settle after tails that were in the way have turned, and returns how many have. What clashes
        stays where no pose helps. Raises `InputError` that names what could not be closed at first."""
        found, kept = before, None if before.fault else self.position.copy()
        for attempt in range(_ATTEMPTS):
            turned = self._tails.turn(self.position, found.in_the_way, attempt)
            if not turned:
                break
            found = self._settle(window)
            if found.is_good:
                return found, turned
        if kept is None:
            raise InputError(before.fault)
        self.position[:] = kept
        return before, 0

    def _settle(self, window: int) -> _Settled:
        low, high = self._strands.cuts[window : window + 2]
        cutter, n = self._cutter, len(self._strands.sequence)
        pairs = np.arange(low, high)
        own = self._first_unit + np.concatenate([pairs, n + np.sort(n - 1 - pairs)])
        is_new_unit = np.zeros(len(cutter.template), bool)
        is_new_unit[own] = np.concatenate([self._strands.is_new[low:high], self._strands.is_new[low:high][::-1]])
        is_own_unit = np.zeros(len(cutter.template), bool)
        is_own_unit[own] = True
        near = self._near(self.position[cutter.atoms_of(own)], own, _REACH + _WIDTH + BESIDE)
        atoms, residue = cutter.atoms_of(near), cutter.residues_of(near)
        is_own = np.repeat(is_own_unit[near], cutter.size[near])
        is_kept, may_move = self._window(atoms, residue, is_own)
        atoms, residue = atoms[is_kept], residue[is_kept]
        is_own, may_move = is_own[is_kept], may_move[is_kept]
        is_protein = residue < self._residues.first_nucleotide

        def spread(values: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
            return cutter.spread(values, near)[is_kept]

        is_fresh = np.repeat(is_new_unit[near], cutter.size[near])[is_kept] & spread(self._is_base)
        position = self.position[atoms]
        is_side, is_heavy_atom = spread(self._is_side), spread(self._is_heavy)
        crowding = is_side & is_heavy_atom
        close, _ = cKDTree(position[is_fresh]).query(position[crowding], distance_upper_bound=_NEAR)
        is_crowded = is_side & np.isin(residue, residue[crowding][np.isfinite(close)])
        middle = position.mean(axis=0)
        part = cutter.part(near, is_kept, position - middle)
        is_touching = np.isin(residue, residue[touching(part, residue, part.positions(), _TOUCH)])
        is_touching &= may_move | ~is_protein
        is_crowded |= is_side & is_touching
        is_fixed = ~(is_own & ~spread(self._is_base)) & ~is_crowded
        right = self._right[atoms]
        begin = is_crowded | is_touching | self._is_linker[residue]
        after, stayed = settled(part, self._residues, residue, self._table, right, is_fixed, may_move, is_own, begin)

        def label(atom: int) -> str:
            return f"{cutter.name_of(int(atoms[atom]))} of {self._residues.label(int(residue[atom]))}"

        fault, strain = fault_of(part, right, after, is_judged=is_own | ~stayed)
        if fault is not None:
            beside, _ = cKDTree(after[fault.atoms]).query(after, distance_upper_bound=_IN_THE_WAY)
            in_the_way = residue[np.isfinite(beside) & is_protein]
            return _Settled(fault=fault.text(label, _HINT), in_the_way=set(in_the_way.tolist()))
        self.position[atoms[~stayed]] = after[~stayed] + middle
        moved = set(residue[~stayed & is_protein].tolist())
        clashing = moved & set(residue[touching(part, residue, after, NEAREST)].tolist())
        return _Settled(strain.bond, strain.angle, moved, in_the_way=clashing)

    def _window(
        self, atoms: IdArray, residue: IdArray, is_own: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Returns which of the atoms (n,) belong to a window, of whose DNA some are (n,), and which may move beside the
        DNA: residues of proteins within reach of it. What these may meet is there, too, so that they are not moved onto
        what is not seen."""
        position = self.position[atoms]
        within_reach = residues_within(position, residue, is_own, _REACH)
        may_move = within_reach & (residue < self._residues.first_nucleotide)
        return within_reach | residues_within(position, residue, may_move, BESIDE), may_move

    def _near(self, points: FloatArray, own: IdArray, reach: float) -> IdArray:
        """Returns the instances of which atoms may be within reach of points (n,3), in rising order."""
        low, high = points.min(axis=0), points.max(axis=0)
        beside = np.maximum(low - self._centre, self._centre - high).max(axis=1)
        some = np.flatnonzero(beside <= self._radius + reach)
        distance, _ = cKDTree(points).query(self._centre[some])
        return np.union1d(some[distance <= self._radius[some] + reach], own)
