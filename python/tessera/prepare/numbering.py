"""Stores the input's residue numbers and segments of molecules that share a template, in as few rows as possible, and
names atoms by their numbers."""

from __future__ import annotations

import numpy as np

from tessera.prepare.coordinates import NO_NUMBER, Coordinates
from tessera.prepare.flat import FlatTopology
from tessera.system import Template
from tessera.system.model import IdArray
from tessera.system.units import progressions


def selection_of(atoms: IdArray) -> str:
    """Returns the selection of these atoms, such as `bynum 1:100 901:1000`."""
    ids = np.unique(atoms) + 1
    cuts = np.flatnonzero(np.diff(ids) > 1) + 1
    return " ".join(["bynum", *(f"{part[0]}:{part[-1]}" for part in np.split(ids, cuts))])


def number_residues(flat: FlatTopology, found: Coordinates, templates: list[Template], runs: IdArray) -> IdArray:
    """Returns rows (K,4) of first instance, count, number and step for every template with several instances.

    Where a topology gives all instances of a template the same numbers (GROMACS), the numbers of the coordinate file
    take their place, also in `flat`. If those are the same too, there are no rows.
    """
    template = np.repeat(runs[:, 0], runs[:, 1])
    sizes = np.array([t.n_atoms for t in templates], np.int64)[template]
    first = np.cumsum(sizes) - sizes
    named = np.zeros(len(template), bool)
    for index in np.flatnonzero(np.bincount(template) > 1):
        mine = template == index
        if _say_nothing(flat.residue_number[first[mine]]):
            _take_numbers(flat, found, first[mine], templates[index].n_atoms)
        named[mine] = not _say_nothing(flat.residue_number[first[mine]])
    rows = []
    begin = np.cumsum(runs[:, 1]) - runs[:, 1]
    for start, count in zip(begin.tolist(), runs[:, 1].tolist()):
        if named[start]:
            numbers = flat.residue_number[first[start : start + count]].astype(np.int64)
            rows += [(start + at, n, number, step) for at, n, number, step in progressions(numbers)]
    return np.array(rows, np.int64).reshape(-1, 4)


def name_segments(flat: FlatTopology, templates: list[Template], runs: IdArray) -> tuple[IdArray, list[str]]:
    """Returns rows (K,3) of first instance, count and name, and the names, where molecules that share a template are in
    other segments than it says.

    A molecule whose atoms are in several segments keeps the names of its template.
    """
    template = np.repeat(runs[:, 0], runs[:, 1])
    sizes = np.array([t.n_atoms for t in templates], np.int64)[template]
    first = np.cumsum(sizes) - sizes
    segment = flat.segment[first]
    known = np.array([t.segment_name[0] for t in templates], flat.segment.dtype)
    has_one = np.array([len(set(t.segment_name.tolist())) == 1 for t in templates], bool)
    other = np.flatnonzero((segment != known[template]) & has_one[template])
    if len(other):
        change = np.append(0, np.cumsum(flat.segment[1:] != flat.segment[:-1]))
        other = other[change[first[other]] == change[first[other] + sizes[other] - 1]]
    if not len(other):
        return np.zeros((0, 3), np.int64), []
    names, row = np.unique(segment[other], return_inverse=True)
    begins = np.flatnonzero(np.append(True, (np.diff(other) != 1) | (np.diff(row) != 0)))
    counts = np.diff(np.append(begins, len(other)))
    rows = np.stack([other[begins], counts, row.reshape(-1)[begins]], axis=1).astype(np.int64)
    return rows, [name.decode("utf-8", "replace") for name in names.tolist()]


def _say_nothing(numbers: np.ndarray) -> bool:
    return bool((numbers == numbers[0]).all() or (numbers == NO_NUMBER).any())


def _take_numbers(flat: FlatTopology, found: Coordinates, first: IdArray, size: int) -> None:
    if found.residue_number is None:
        return
    atoms = (first[:, None] + np.arange(size)).reshape(-1)
    numbers = found.residue_number[atoms]
    if not _say_nothing(found.residue_number[first]) and not (numbers == NO_NUMBER).any():
        flat.residue_number = flat.residue_number.copy()
        flat.residue_number[atoms] = numbers
