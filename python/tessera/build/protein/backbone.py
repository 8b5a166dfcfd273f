"""Grows the backbones of tails and loops, whose dihedrals φ and ψ are chosen so that they keep clear of other atoms.

A beam of tries is followed: each residue goes on with several pairs of φ and ψ about the basins of the Ramachandran
plot, and those that overlap least are kept. A loop is then closed on the residue after it by cyclic coordinate descent
(Canutescu and Dunbrack 2003).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial import cKDTree

from tessera.build.charmm.places import Places, extended
from tessera.build.charmm.topology import Residue
from tessera.build.dna.frames import fitted
from tessera.prepare.charmm_parameters import CharmmParameters
from tessera.system.model import FloatArray, IdArray

#: φ and ψ in degrees: polyproline, sheet, helix, and a turn
_BASINS = np.array([[-65, 145], [-120, 135], [-65, -40], [-90, 0]])
_SPREAD = 10.0  # degrees about each
_TRIES, _KEPT = 6, 64  # pairs of dihedrals from each try; tries that go on
_CLEAR = 3.6  # Å between heavy atoms that are not bonded; with their hydrogens they touch
_PHI, _PSI = ("-C", "N", "CA", "C"), ("N", "CA", "C", "+N")
_ATOMS = ("N", "CA", "C", "O", "CB", "CD")
_ROUNDS, _CLOSED = 200, 0.05  # of descent; Å, root of the mean square


def penalty(points: FloatArray, tree: cKDTree, clear: float = _CLEAR) -> FloatArray:
    """Returns how far points (…,3) are within reach of the nearest atom, squared, Å²."""
    distance, _ = tree.query(points, distance_upper_bound=clear)
    return np.asarray(np.maximum(clear - distance, 0.0) ** 2)


class Grower:
    """Grows backbones of a force field between the atoms of a tree."""

    def __init__(self, table: CharmmParameters, tree: cKDTree, random: np.random.Generator) -> None:
        self._table = table
        self._tree = tree
        self._random = random

    def after(self, anchor: Places, residues: Sequence[Residue]) -> list[Places]:
        """Returns the backbones of residues in tries (m,3) that follow an anchor, the first of them."""
        places: list[Places] = [{name: place[None] for name, place in anchor.items()}]
        psi, total = self._dihedrals(residues[0], 1)[:1, 1], np.zeros(1)
        for index, residue in enumerate(residues[1:], start=1):
            m = len(places[-1]["N"])
            psi = np.repeat(psi, _TRIES)
            places = _taken(places, np.repeat(np.arange(m), _TRIES))
            own = self._dihedrals(residue, m)
            before = self._extended(residues[index - 1], places[-1], {_PSI: psi}, ("+N", "+CA"))
            places[-1] = {name: place for name, place in before.items() if name[0] not in "+-"}
            known = {"N": before["+N"], "CA": before["+CA"], "-C": places[-1]["C"]}
            here = self._extended(residue, known, {_PHI: own[:, 0]})
            places.append({name: place for name, place in here.items() if name[0] not in "+-"})
            total = np.repeat(total, _TRIES) + self._overlap(places)
            chosen = np.argsort(total, kind="stable")[:_KEPT]
            places, psi, total = _taken(places, chosen), own[chosen, 1], total[chosen]
        return places

    def before(self, anchor: Places, residues: Sequence[Residue]) -> list[Places]:
        """Returns the backbones of residues in tries (m,3) that precede an anchor, the last of them."""
        places: list[Places] = [{name: place[None] for name, place in anchor.items()}]
        phi, total = self._dihedrals(residues[-1], 1)[:1, 0], np.zeros(1)
        for index in range(len(residues) - 2, -1, -1):
            m = len(places[0]["N"])
            phi = np.repeat(phi, _TRIES)
            places = _taken(places, np.repeat(np.arange(m), _TRIES))
            own = self._dihedrals(residues[index], m)
            after = self._extended(residues[index + 1], places[0], {_PHI: phi}, ("-C",))
            known = {"C": after["-C"], "+N": places[0]["N"], "+CA": places[0]["CA"]}
            here = self._extended(residues[index], known, {_PSI: own[:, 1]})
            places.insert(0, {name: place for name, place in here.items() if name[0] not in "+-"})
            total = np.repeat(total, _TRIES) + self._overlap(places[::-1])
            chosen = np.argsort(total, kind="stable")[:_KEPT]
            places, phi, total = _taken(places, chosen), own[chosen, 0], total[chosen]
        return places

    def loop(self, before: Places, residues: Sequence[Residue], after: Places) -> tuple[list[Places], float]:
        """Returns the backbones of the residues between two anchors, which are the first and the last, and how far the
        last is from its place, Å: the try that closes with the least overlap."""
        places = self.after(before, residues)
        names = ("N", "CA", "C")
        chain = np.stack([part[name] for part in places for name in names], axis=1)
        goal = np.stack([after[name] for name in names])
        # The last residue has the shape of the file's, not that of the internal coordinates.
        chain[:, -3:] = fitted(chain[:, -3:], goal).placed(goal)
        turns = [
            3 * index + turn
            for index in range(1, len(residues))
            for turn in (0, 1)
            if not (turn == 0 and residues[index].name == "PRO") and not (turn == 1 and index == len(residues) - 1)
        ]
        chain = _descended(chain, goal, turns)
        off = _missed(chain, goal)
        overlap = penalty(chain[:, 3:-3], self._tree).sum(axis=1) if len(residues) > 2 else np.zeros(len(chain))
        best = int(np.argmin(overlap + 100.0 * np.maximum(off, _CLOSED)))
        found: list[Places] = [before]
        for index in range(1, len(residues) - 1):
            found.append(dict(zip(names, chain[best, 3 * index : 3 * index + 3])))
        return [*found, after], float(off[best])

    def _dihedrals(self, residue: Residue, m: int) -> FloatArray:
        """Returns φ and ψ (m · tries,2) of a residue."""
        pairs = _BASINS[self._random.integers(len(_BASINS), size=m * _TRIES)].astype(np.float64)
        if residue.name == "GLY":
            pairs *= self._random.choice([-1.0, 1.0], size=(len(pairs), 1))
        pairs += self._random.normal(scale=_SPREAD, size=pairs.shape)
        if residue.name == "PRO":
            pairs[:, 0] = -65.0
        return pairs

    def _extended(
        self,
        residue: Residue,
        known: Places,
        dihedrals: dict[tuple[str, ...], FloatArray],
        beside: tuple[str, ...] = (),
    ) -> Places:
        return extended(residue.part(_ATOMS), known, self._table, dihedrals, beside)

    def _overlap(self, places: Sequence[Places]) -> FloatArray:
        """Returns how much the newest residue, the last, overlaps with others in each try (m,), Å²."""
        newest = np.stack(list(places[-1].values()), axis=1)
        score = penalty(newest, self._tree).sum(axis=1)
        earlier = [place for part in places[:-2] for place in part.values()]
        if earlier:
            others = np.stack(np.broadcast_arrays(*earlier), axis=1)
            apart = np.linalg.norm(newest[:, :, None] - others[:, None], axis=-1)
            score += (np.maximum(_CLEAR - apart, 0.0) ** 2).sum(axis=(1, 2))
        return np.asarray(score)


def _taken(places: Sequence[Places], rows: IdArray) -> list[Places]:
    return [{name: place[rows] for name, place in part.items()} for part in places]


def _descended(chain: FloatArray, goal: FloatArray, turns: Sequence[int]) -> FloatArray:
    """Turns chains (m,n,3) about the bonds from these atoms to the next until the last three atoms are nearest to their
    goal (3,3)."""
    for _ in range(_ROUNDS):
        for at in turns:
            origin, axis = chain[:, at], chain[:, at + 1] - chain[:, at]
            axis = axis / np.linalg.norm(axis, axis=1, keepdims=True)
            moving = chain[:, -3:] - origin[:, None]
            radial = moving - np.einsum("mki,mi->mk", moving, axis)[..., None] * axis[:, None]
            aim = goal - origin[:, None]
            sine = (aim * np.cross(axis[:, None], radial)).sum(axis=(1, 2))
            turn = np.arctan2(sine, (aim * radial).sum(axis=(1, 2)))
            chain[:, at + 2 :] = origin[:, None] + _turned(chain[:, at + 2 :] - origin[:, None], axis, turn)
        if np.sort(_missed(chain, goal))[: len(chain) // 8 + 1].max() < _CLOSED:
            break
    return chain


def _missed(chain: FloatArray, goal: FloatArray) -> FloatArray:
    """Returns how far the last three atoms of chains (m,n,3) are from their goal (3,3), Å (m,)."""
    return np.asarray(np.sqrt(((chain[:, -3:] - goal) ** 2).sum(axis=(1, 2)) / 3))


def _turned(points: FloatArray, axis: FloatArray, turn: FloatArray) -> FloatArray:
    """Returns points (m,n,3) turned about unit axes (m,3) by angles (m,), by Rodrigues' formula."""
    cosine, sine = np.cos(turn)[:, None, None], np.sin(turn)[:, None, None]
    along = np.einsum("mni,mi->mn", points, axis)[..., None] * axis[:, None]
    return np.asarray(points * cosine + np.cross(axis[:, None], points) * sine + along * (1 - cosine))
