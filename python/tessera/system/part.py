"""Cuts parts out of a system: some of its atoms, with the terms that are wholly among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.system.arrays import FloatArray, IdArray, IndexArray
from tessera.system.layout import Layout
from tessera.system.model import TERM_ATOMS, System, Template, Terms
from tessera.system.vacuum import with_positions

IntArray = NDArray[np.integer[Any]]
_LEAST = 3000  # atoms of a template
_OF_ATOMS = ("type", "mass", "atomic_number", "atom_name")


class Cutter:
    """Cuts parts out of a system, of which each time only the instances that are asked for are expanded. Instances are
    given in rising order."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.template, self.first = system.instances()
        self._sizes = system.template_sizes()
        self.size = self._sizes[self.template]
        residues = np.array([len(template.residue_name) for template in system.templates], np.int64)[self.template]
        self.first_residue = np.cumsum(residues) - residues

    def spread(self, values: Sequence[NDArray[Any]], instances: IdArray) -> NDArray[Any]:
        """Returns a value for each of the atoms of instances, from those of the atoms of each template."""
        size = self.size[instances]
        begins = np.cumsum(self._sizes) - self._sizes
        return np.concatenate(values)[np.repeat(begins[self.template[instances]], size) + _counted(size)]

    def _of_atoms(self, name: str, instances: IdArray) -> NDArray[Any]:
        return self.spread([np.asarray(getattr(template, name)) for template in self._system.templates], instances)

    def name_of(self, atom: int) -> str:
        """Returns the name of an atom, from its id."""
        instance = int(np.searchsorted(self.first, atom, side="right")) - 1
        names = self._system.templates[int(self.template[instance])].atom_name
        return str(names[atom - int(self.first[instance])])

    def atoms_of(self, instances: IdArray) -> IdArray:
        """Returns the ids of the atoms of instances."""
        size = self.size[instances]
        return np.repeat(self.first[instances], size) + _counted(size)

    def residues_of(self, instances: IdArray) -> IdArray:
        """Returns the residue, counted over the whole system, of each of the atoms of instances."""
        return np.repeat(self.first_residue[instances], self.size[instances]) + self._of_atoms("residue", instances)

    def part(
        self,
        instances: IdArray,
        is_kept: NDArray[np.bool_],
        position: FloatArray,
        is_moving: NDArray[np.bool_] | None = None,
    ) -> System:
        """Returns a system without a box and without charges of those atoms of instances that are kept.

        `is_kept` is a value for each of `atoms_of(instances)`, of whole hydrogen groups; `position` (n,3) Å are the
        places of those that are kept. Terms without an atom that is moving (n,) are left out, if that is given.
        """
        kept = _Kept(self.atoms_of(instances)[is_kept])
        terms, exclusions = self._terms(instances, kept)
        if is_moving is not None:
            terms = {kind: own.chosen(np.asarray(is_moving[own.atoms].any(axis=1))) for kind, own in terms.items()}
        _, residue = np.unique(self.residues_of(instances)[is_kept], return_inverse=True)
        keys = np.repeat(self.first[instances], self.size[instances]) + self._of_atoms("group", instances)
        whole = _template(
            {name: self._of_atoms(name, instances)[is_kept] for name in _OF_ATOMS},
            residue.reshape(-1), np.searchsorted(kept.ids, keys[is_kept]), terms, exclusions,
        )  # fmt: skip
        molecules = list(_molecules(whole))
        layout = Layout()
        layout.add([(row, 1) for row in range(len(molecules))])
        bare = replace(
            self._system, periodic=False, origin=np.zeros(3), velocity=None, notes=[],
            warnings=[],
        )  # fmt: skip
        return with_positions(layout.of(bare, molecules), position)

    def _terms(self, instances: IdArray, kept: _Kept) -> tuple[dict[str, Terms], IndexArray]:
        """Returns the terms and the excluded pairs of instances that are among kept atoms, by their rows."""
        found: dict[str, list[Terms]] = {kind: [Terms.empty(kind)] for kind in TERM_ATOMS}
        pairs = [np.zeros((0, 2), np.int32)]
        own = self.template[instances]
        for index in np.unique(own).tolist():
            template, first = self._system.templates[index], self.first[instances[own == index]]
            for kind in TERM_ATOMS:
                terms = template.term(kind)
                rows, is_whole = kept.rows(first[:, None, None] + terms.atoms)
                found[kind].append(Terms(rows, np.broadcast_to(terms.parameter, is_whole.shape)[is_whole]))
            # A pair of two units is in both.
            pairs.append(kept.rows(first[:, None, None] + template.exclusions[template.exclusions[:, 0] >= 0])[0])
        joined = {
            kind: Terms(np.concatenate([p.atoms for p in parts]), np.concatenate([p.parameter for p in parts]))
            for kind, parts in found.items()
        }
        return joined, np.concatenate(pairs)


@dataclass(frozen=True)
class _Kept:
    """Atoms that are kept, in rising order."""

    ids: IdArray

    def rows(self, ids: IdArray) -> tuple[IndexArray, NDArray[np.bool_]]:
        """Returns those of lists (…,k) of atoms that are wholly kept, by rows (m,k), and which these are (…)."""
        rows = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        is_whole = (self.ids[rows] == ids).all(axis=-1)
        return rows[is_whole].astype(np.int32), is_whole


def _template(
    arrays: dict[str, Any], residue: IntArray, group: IntArray, terms: dict[str, Terms], exclusions: IntArray
) -> Template:
    count = int(residue.max()) + 1
    return Template(
        name="part", **arrays,
        charge=np.zeros(len(residue)),
        residue=residue.astype(np.int32),
        residue_name=np.full(count, "PART"),
        segment_name=np.full(count, "PART"),
        residue_number=np.arange(1, count + 1, dtype=np.int32),
        group=group.astype(np.int32),
        terms={kind: own for kind, own in terms.items() if len(own)},
        exclusions=exclusions.astype(np.int32),
    )  # fmt: skip


def _molecules(whole: Template) -> Iterator[Template]:
    """Yields stretches that no term leaves, of `_LEAST` atoms if they can be as short: a long template would be
    searched for units whenever it is given to the engine, and many short ones take long to write."""
    n = whole.n_atoms
    lists = [terms.atoms for terms in whole.terms.values()] + [whole.exclusions]
    low = np.concatenate([atoms.min(axis=1) for atoms in lists])
    high = np.concatenate([atoms.max(axis=1) for atoms in lists])
    open_after = np.cumsum(np.bincount(low, minlength=n + 1) - np.bincount(high, minlength=n + 1))[: n - 1]
    is_cut = (open_after == 0) & (np.diff(whole.residue) != 0)
    cuts = np.flatnonzero(is_cut) + 1
    begins = [0]
    while (at := int(np.searchsorted(cuts, begins[-1] + _LEAST))) < len(cuts):
        begins.append(int(cuts[at]))
    piece = np.searchsorted(begins, np.arange(n), side="right") - 1
    begins.append(n)
    of_terms = {kind: piece[terms.atoms[:, 0]] for kind, terms in whole.terms.items()}
    of_pairs = piece[whole.exclusions[:, 0]]
    for row, (begin, end) in enumerate(pairwise(begins)):
        yield _template(
            {name: getattr(whole, name)[begin:end] for name in _OF_ATOMS},
            whole.residue[begin:end] - whole.residue[begin],
            whole.group[begin:end] - begin,
            {kind: Terms(own.atoms - begin, own.parameter) for kind, own in
             ((kind, terms.chosen(of_terms[kind] == row)) for kind, terms in whole.terms.items())},
            whole.exclusions[of_pairs == row] - begin,
        )  # fmt: skip


def _counted(size: IdArray) -> IdArray:
    """Returns 0, 1, … for each of these sizes, one behind the other."""
    return np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
