"""Stores the input's residue numbers of molecules that share a template, for messages, in as few rows as possible, and
names atoms by their numbers."""

from __future__ import annotations

import numpy as np

from tessera.prepare.coordinates import NO_NUMBER, Coordinates
from tessera.prepare.flat import FlatTopology
from tessera.system import Template
from tessera.system.model import IdArray


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


def progressions(numbers: IdArray) -> list[tuple[int, int, int, int]]:
    """Returns the begin, the length, the first number and the step of each stretch with equal steps."""
    step = np.diff(numbers)
    changes = np.append(np.flatnonzero(np.diff(step)) + 1, len(step))
    out, start = [], 0
    while start < len(numbers):
        end = int(changes[np.searchsorted(changes, start, side="right")]) if start < len(step) else start
        out.append((start, end - start + 1, int(numbers[start]), int(step[start]) if end > start else 0))
        start = end + 1
    return out
