"""Which coordinate row belongs to which atom of the topology: by order, checked and mended by name.

Files of coordinates and topologies list the same atoms, but programs order the atoms of a residue in different ways.
Rows are taken in order where names agree, matched by name within a residue where only the order differs, and refused
otherwise: positions on the wrong atoms would look like a bad structure and cost days.
"""

from __future__ import annotations

import numpy as np

from tessera.prepare.coordinates import Coordinates
from tessera.prepare.errors import InputError
from tessera.prepare.flat import FlatTopology
from tessera.system.model import IndexArray


def pair_by_name(flat: FlatTopology, found: Coordinates, source: str) -> int:
    """Reorders `found` in place to the topology's atoms; returns how many atoms were moved.

    Nothing is checked where the file has no names. Raises `InputError` naming the first atom without a counterpart.
    """
    if found.name is None:
        return 0
    expected = _normal(np.asarray(flat.name), found.name_width)
    names = _normal(found.name, found.name_width)
    differing = np.flatnonzero(expected != names)
    if not len(differing):
        return 0
    order = np.arange(len(names))
    begin, end = _residue_of_each(flat)
    done = -1
    for atom in differing:
        if begin[atom] <= done:
            continue
        low, high = int(begin[atom]), int(end[atom])
        done = high - 1
        order[low:high] = low + _permutation(expected[low:high], names[low:high], flat, low, source)
    found.position = found.position[order]
    if found.velocity is not None:
        found.velocity = found.velocity[order]
    return int((order != np.arange(len(order))).sum())


def _normal(names: np.ndarray, width: int | None) -> np.ndarray:
    """Names as upper-case text of at most the file's width; PDB's leading digits go to the end (1HB becomes HB1)."""
    text = np.char.upper(np.char.strip(np.char.decode(names) if names.dtype.kind == "S" else names.astype(str)))
    leading = np.char.isdigit(np.char.ljust(text, 1).astype("U1"))
    if leading.any():
        text = text.copy()
        text[leading] = [name[1:] + name[0] for name in text[leading]]
    return text.astype(f"U{width}") if width else text


def _residue_of_each(flat: FlatTopology) -> tuple[IndexArray, IndexArray]:
    """First atom and end of each atom's residue."""
    number = np.asarray(flat.residue_number)
    segment = np.asarray(flat.segment)
    name = np.asarray(flat.residue_name)
    change = (number[1:] != number[:-1]) | (segment[1:] != segment[:-1]) | (name[1:] != name[:-1])
    starts = np.concatenate([[0], np.flatnonzero(change) + 1])
    ends = np.concatenate([starts[1:], [len(number)]])
    which = np.repeat(np.arange(len(starts)), ends - starts)
    return starts[which], ends[which]


def _permutation(expected: np.ndarray, names: np.ndarray, flat: FlatTopology, first: int, source: str) -> IndexArray:
    """Rows of a residue in the order of its atoms."""
    by_atom, by_row = np.argsort(expected, kind="stable"), np.argsort(names, kind="stable")
    if not np.array_equal(expected[by_atom], names[by_row]) or len(np.unique(names)) != len(names):
        at = int(np.flatnonzero(expected != names)[0])
        atom = first + at
        residue = f"{_text(flat.residue_name[atom])} {flat.residue_number[atom]}"
        raise InputError(
            f"{source}: row {atom + 1} is atom {names[at]}, but the topology has {expected[at]} of {residue} there, "
            f"and no other order of the residue's atoms fits; give this topology's coordinates, or rename the atoms"
        )
    permutation = np.empty(len(names), np.int32)
    permutation[by_atom] = by_row
    return permutation


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
