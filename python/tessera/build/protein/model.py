"""Completes chains of amino acids: tails and loops, side chains, and hydrogens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tessera.build.charmm.chain import Chain, Link
from tessera.build.charmm.joins import halves_of
from tessera.build.charmm.places import Places, completed
from tessera.build.charmm.topology import Names
from tessera.build.protein.backbone import Grower, penalty
from tessera.build.protein.known import Bridge, Draft, drafts_of
from tessera.build.protein.residues import AminoAcids, is_heavy, turning
from tessera.build.protein.sequences import Threaded
from tessera.build.protein.structure import Strand
from tessera.errors import InputError
from tessera.system.model import FloatArray

_OPEN = 1.0  # Å by which a loop may miss its end, which the force field then closes
_ROOM = 3.4  # Å between heavy atoms of side chains and others
_ALL_AT_ONCE = 729  # sets of dihedrals of a side chain, at most


@dataclass(frozen=True)
class Proteins:
    """Chains with all atoms (n,), which of these were built, and the handedness that they should have."""

    chains: list[Chain]
    links: list[Link]
    position: FloatArray  # (n,3) Å
    is_built: NDArray[np.bool_]  # hydrogens, and heavy atoms that the file lacks
    alone: FloatArray  # (n,3) Å: each residue as the internal coordinates have it
    notes: list[str]


def build_proteins(
    strands: Sequence[Strand],
    threads: Sequence[Threaded],
    acids: AminoAcids,
    obstacles: FloatArray,
    histidine: str = "HSD",
    seed: int = 0,
    report: Callable[[str], None] = lambda _: None,
) -> Proteins:
    """Builds chains with the sequences that are threaded on them, clear of obstacles (k,3) Å, such as DNA. Raises
    `InputError` that names a residue which can't be built."""
    drafts, bridges, notes = drafts_of(strands, threads, acids, histidine)
    known = [[set(places) for places in draft.places] for draft in drafts]
    builder = _Builder(drafts, acids, obstacles, np.random.default_rng(seed))
    report("building tails and loops")
    notes += builder.backbones()
    report("building side chains")
    notes += builder.side_chains()
    report("adding hydrogens")
    builder.hydrogens()
    chains = [Chain(f"PRO{draft.chain}", draft.residues, first=draft.first) for draft in drafts]
    places = [
        (draft, index, name)
        for draft in drafts
        for index in range(len(draft.places))
        for name in draft.residues[index].atoms
    ]
    rows = {id(draft): row for row, draft in enumerate(drafts)}
    return Proteins(
        chains,
        _links(bridges, acids),
        np.array([draft.places[index][name] for draft, index, name in places]),
        np.array([name not in known[rows[id(draft)]][index] for draft, index, name in places]),
        np.array([acids.alone(draft.residues[index])[name] for draft, index, name in places]),
        notes,
    )


def _links(bridges: Sequence[Bridge], acids: AminoAcids) -> list[Link]:
    if not bridges:
        return []
    _, _, bonds = halves_of(acids.topology.patch("DISU"))
    return [
        Link((one, row, first), (other, place, second)) for one, row, other, place in bridges for first, second in bonds
    ]


class _Builder:
    def __init__(
        self, drafts: list[Draft], acids: AminoAcids, obstacles: FloatArray, random: np.random.Generator
    ) -> None:
        self._drafts = drafts
        self._acids = acids
        self._obstacles = obstacles
        self._random = random

    def backbones(self) -> list[str]:
        """Builds the residues that have none, and returns notes on them."""
        notes = []
        for draft in self._drafts:
            missing = [index for index in range(len(draft.residues)) if not draft.has_backbone(index)]
            for run in _runs(missing):
                self._run(draft, run[0], run[-1])
                ends = draft.labels[run[0]] if len(run) == 1 else f"{draft.labels[run[0]]} to {draft.labels[run[-1]]}"
                notes.append(f"built {len(run)} residue(s): {ends}")
            if draft.exchanged:
                notes.append(f"{draft.exchanged} residue(s) of chain {draft.chain} are others than in the file")
        return notes

    def _run(self, draft: Draft, first: int, last: int) -> None:
        begin, end = max(first - 1, 0), min(last + 1, len(draft.residues) - 1)
        residues = draft.residues[begin : end + 1]
        anchors = [index for index in (begin, end) if draft.has_backbone(index)]
        grower = Grower(self._acids.table, self._tree(draft, anchors), self._random)
        if len(anchors) == 2:
            found, off = grower.loop(draft.places[begin], residues, draft.places[end])
            if off > _OPEN:
                raise InputError(
                    f"{last - first + 1} residue(s) from {draft.labels[first]} to {draft.labels[last]} do not reach "
                    f"from one end to the other: {off:.1f} Å are left open"
                )
        elif anchors == [begin]:
            found = [
                {name: place[0] for name, place in part.items()} for part in grower.after(draft.places[begin], residues)
            ]
        else:
            found = [
                {name: place[0] for name, place in part.items()} for part in grower.before(draft.places[end], residues)
            ]
        for index, places in zip(range(begin, end + 1), found):
            if index not in anchors:
                draft.places[index] = {name: place for name, place in places.items() if name in ("N", "CA", "C")}

    def side_chains(self) -> list[str]:
        """Builds all heavy atoms that are missing, with the dihedrals that overlap least, and returns notes."""
        count = 0
        for draft in self._drafts:
            for index, residue in enumerate(draft.residues):
                heavy = [name for name in residue.atoms if is_heavy(name)]
                missing = {name for name in heavy if name not in draft.places[index]}
                if not missing:
                    continue
                part = residue.part(heavy)
                turns = turning(residue, missing)
                tries = _combined(turns)
                found = completed(part, self._known(draft, index), self._acids.table, tries)
                points = np.stack(np.broadcast_arrays(*(np.atleast_2d(found[name]) for name in missing)), axis=1)
                best = 0
                if len(points) > 1:
                    best = int(np.argmin(penalty(points, self._tree(draft, [index]), _ROOM).sum(axis=1)))
                    count += 1
                draft.places[index] |= dict(zip(missing, points[best]))
        return [f"built {count} side chain(s)"] if count else []

    def hydrogens(self) -> None:
        """Builds all atoms that are missing, in all residues at once that are equal and of which the same is known."""
        alike: dict[tuple[int, frozenset[str]], list[tuple[Draft, int, Places]]] = {}
        for draft in self._drafts:
            for index, residue in enumerate(draft.residues):
                known = self._known(draft, index)
                alike.setdefault((id(residue), frozenset(known)), []).append((draft, index, known))
        for group in alike.values():
            draft, index, _ = group[0]
            known = {name: np.array([places[name] for _, _, places in group]) for name in group[0][2]}
            found = completed(draft.residues[index], known, self._acids.table)
            for row, (draft, index, _) in enumerate(group):
                draft.places[index] = {name: place[row] for name, place in found.items()}

    def _known(self, draft: Draft, index: int) -> Places:
        """Returns what is known of a residue, and the atoms beside it by names with signs."""
        known = dict(draft.places[index])
        if index > 0:
            known["-C"] = draft.places[index - 1]["C"]
        if index + 1 < len(draft.residues):
            known |= {f"+{name}": draft.places[index + 1][name] for name in ("N", "CA")}
        return known

    def _tree(self, draft: Draft, without: Sequence[int]) -> cKDTree:
        """Returns all heavy atoms that are known, but for those of these residues of a chain."""
        left_out = {(id(draft), index) for index in without}
        points = [
            place
            for other in self._drafts
            for index, places in enumerate(other.places)
            if (id(other), index) not in left_out
            for place in places.values()
        ]
        return cKDTree(np.concatenate([np.array(points).reshape(-1, 3), self._obstacles]))


def _runs(indices: Sequence[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for index in indices:
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return runs


def _combined(turns: Sequence[tuple[Names, list[float]]]) -> dict[Names, FloatArray]:
    """Returns all combinations (m,) of dihedrals, the first of them the topology's."""
    if not turns:
        return {}
    sets = np.array(list(product(*(values for _, values in turns)))[:_ALL_AT_ONCE]).reshape(-1, len(turns))
    return {names: sets[:, column] for column, (names, _) in enumerate(turns)}
