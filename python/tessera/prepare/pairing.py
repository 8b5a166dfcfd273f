"""Matches rows of coordinates to atoms of the topology: by order, which is checked and corrected by names.

Files of coordinates and topologies list the same atoms, but programs order and name the atoms of a residue in different
ways. One rule holds for all programs, residue by residue:

1. If the names and their order are the same, there is nothing to do. Different names of the same water or ion count as
   equal.
2. If the names are the same in another order, rows are matched by name, and a note says so.
3. If names differ, rows are taken in order where possible, and a note says so. A row's name must begin with the same
   letter as the atom's, and neither name may be that of another atom in the residue, except for hydrogens with names
   that differ only in their last digit (HB1, HB2 for HB2, HB3).
4. Anything else is refused, because positions on the wrong atoms look like a bad structure and are hard to find.

A user who knows that the rows are in the topology's order, whatever their names, says so (`--trust-order`).

A file is not refused because of other names of residues and segments, nor because of new residue numbers, since
programs change these freely. It is refused where its residue numbers are those of the topology in another order.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.prepare.coordinates import NO_NUMBER, Coordinates
from tessera.prepare.flat import FlatTopology
from tessera.printing import counted
from tessera.system.model import IdArray

Codes = NDArray[np.int64]

_LARGEST_NUMBER = 9999  # above this, numbers in PDB and CRD wrap, are cut or have letters
_WATER = {"OH2": "O", "OW": "O", "HW1": "H1", "HW2": "H2"}
_ION = {
    "SOD": "NA", "NA+": "NA", "CLA": "CL", "CL-": "CL", "POT": "K", "K+": "K", "CES": "CS", "CS+": "CS",
    "LIT": "LI", "LI+": "LI", "RUB": "RB", "RB+": "RB", "CAL": "CA", "CA+": "CA", "MG+": "MG", "ZN+": "ZN",
    "CA2+": "CA", "MG2+": "MG", "ZN2+": "ZN",
}  # fmt: skip


@dataclass(frozen=True)
class _Names:
    """The names of the file and of the topology as codes into `text`, and the residue of each atom of the topology."""

    text: list[str]
    atom: Codes
    row: Codes
    residue: Codes

    def same(self) -> bool:
        return bool(np.array_equal(self.atom, self.row))


def pair_by_name(
    flat: FlatTopology,
    found: Coordinates,
    source: str | Path,
    molecule: IdArray | None = None,
    trust_order: bool = False,
) -> list[str]:
    """Reorders `found` in place to the order of the topology's atoms; returns notes for the user, one line each.

    `molecule` (n,) distinguishes residues of equal number and name. With `trust_order` rows are taken in order, and
    names that differ are only reported. Nothing is checked where the file has no names. Raises `InputError` that names
    the first atom without a counterpart.
    """
    if found.name is None:
        return []
    file = Path(source).name
    names = _names(flat, found.name, found.name_width, molecule)
    if trust_order:
        differing = np.flatnonzero(names.atom != names.row)
        return [_differ(flat, names, differing, file)] if len(differing) else []
    order, unmatched = _order(names, found)
    notes = []
    if unmatched.any():
        notes.append(_unmatched(flat, names, unmatched, file))
    moved = int(np.count_nonzero(order != np.arange(flat.n_atoms)))
    if moved:
        notes.append(
            f"{counted(moved, 'atom')} reordered by name: {file} lists them in another order than the topology"
        )
    _reorder(found, order)
    _check_numbers(flat, found, file)
    return notes


def _names(flat: FlatTopology, rows: np.ndarray, width: int | None, molecule: IdArray | None) -> _Names:
    residue = _residues(flat, molecule)
    size = np.bincount(residue)[residue]
    text, atom_text, row_text = _unique(flat.name, rows)
    plain = [_normal(t, width) for t in text]
    codes: dict[str, int] = {}
    tables = [
        np.array([codes.setdefault(alias.get(t, t), len(codes)) for t in plain], np.int64)
        for alias in ({}, _ION, _WATER)
    ]

    def coded(index: IdArray) -> Codes:
        return np.where(size == 3, tables[2][index], np.where(size == 1, tables[1][index], tables[0][index]))

    return _Names(list(codes), coded(atom_text), coded(row_text), residue)


def _unique(first: np.ndarray, second: np.ndarray) -> tuple[list[str], IdArray, IdArray]:
    """Returns the different texts of two arrays of at most eight characters, and the index of each element among
    them."""
    both = np.concatenate([first.astype("S8"), second.astype("S8")])
    values, inverse = np.unique(both.view(np.uint64), return_inverse=True)  # faster than texts
    texts = [t.decode("latin-1") for t in values.view("S8")]
    return texts, inverse[: len(first)], inverse[len(first) :]


def _normal(name: str, width: int | None) -> str:
    """Returns a name in upper case, cut to the file's width, with leading digits at the end (1HB becomes HB1) and one
    character for primes."""
    name = name.strip().upper().replace("*", "'")
    letters = name.lstrip("0123456789")
    return (letters + name[: len(name) - len(letters)])[:width]


def _residues(flat: FlatTopology, molecule: IdArray | None) -> Codes:
    """Returns the residue (n,) of each atom, counted along the topology."""
    change = np.zeros(flat.n_atoms, bool)
    keys = [flat.residue_number, flat.insertion, flat.segment, flat.residue_name]
    for key in keys if molecule is None else [*keys, molecule]:
        change[1:] |= key[1:] != key[:-1]
    return np.cumsum(change)


def _order(names: _Names, found: Coordinates) -> tuple[IdArray, NDArray[np.bool_]]:
    """Returns the row of each atom, and a mask of atoms in residues where names cannot be matched (they stay in
    order)."""
    order = np.arange(len(names.atom))
    unmatched = np.zeros(len(order), bool)
    if names.same():
        return order, unmatched
    # Only residues with a difference are sorted.
    odd = np.zeros(int(names.residue[-1]) + 1, bool)
    odd[names.residue[names.atom != names.row]] = True
    atoms = np.flatnonzero(odd[names.residue])
    residue = names.residue[atoms]
    by_atom = atoms[np.lexsort((names.atom[atoms], residue))]
    by_row = atoms[np.lexsort((names.row[atoms], residue))]
    bad = names.atom[by_atom] != names.row[by_row]
    # Equal names in a residue, and rows of several residues, are ambiguous.
    twice = np.zeros(len(atoms), bool)
    twice[1:] = (np.diff(names.row[by_row]) == 0) & (np.diff(residue) == 0)
    bad |= twice
    if found.residue is not None:
        label = found.residue[by_row]
        bad[1:] |= (label[1:] != label[:-1]) & (np.diff(residue) == 0)
    hopeless = np.zeros(len(odd), bool)
    hopeless[residue[bad]] = True
    good = ~hopeless[residue]
    order[by_atom[good]] = by_row[good]
    unmatched[atoms[~good]] = True
    return order, unmatched


def _unmatched(flat: FlatTopology, names: _Names, unmatched: NDArray[np.bool_], file: str) -> str:
    """Returns a note on names that differ, or raises `InputError`."""
    differing = np.flatnonzero(unmatched & (names.atom != names.row))
    passed = _numbered(names, differing) | _renamed(names, differing)
    if passed.all():
        return _differ(flat, names, differing, file)
    atom = _first_stranger(names, differing[~passed])
    raise InputError(
        f"{file}: row {atom + 1} is atom {names.text[names.row[atom]] or '(blank)'}, but the topology has "
        f"{flat.describe(atom)} there, and no other order of that residue's atoms fits; give the coordinates that "
        "were written with this topology, rename or reorder the atoms, or, if the rows are in the topology's order, "
        "add --trust-order"
    )


def _differ(flat: FlatTopology, names: _Names, differing: IdArray, file: str) -> str:
    atom = int(differing[0])
    return (
        f"{len(differing):,} atom names of {file} differ from the topology's; its rows were taken in order: "
        f"the first is {names.text[names.row[atom]]} for {flat.describe(atom)}"
    )


def _renamed(names: _Names, atoms: IdArray) -> NDArray[np.bool_]:
    """Returns a mask of those `atoms` of which the row can only be the same atom under another name."""
    initial, stem = (np.array([cut(t) for t in names.text]) for cut in (lambda t: t[:1], _without_digit))
    atom, row = names.atom[atoms], names.row[atoms]
    mine = np.isin(names.residue, names.residue[atoms])

    def key(codes: Codes, where: IdArray | NDArray[np.bool_]) -> Codes:
        return names.residue[where] * len(names.text) + codes

    elsewhere = np.isin(key(row, atoms), key(names.atom[mine], mine))
    elsewhere |= np.isin(key(atom, atoms), key(names.row[mine], mine))
    sisters = (initial[atom] == "H") & (stem[atom] == stem[row])
    twice = _repeated(key(names.row[mine], mine))  # a name that two rows have identifies neither
    sisters &= ~np.isin(key(row, atoms), twice)
    return (initial[atom] == initial[row]) & (~elsewhere | sisters)


def _without_digit(name: str) -> str:
    return name[:-1] if name[-1:].isdigit() else name


def _repeated(keys: Codes) -> Codes:
    unique, count = np.unique(keys, return_counts=True)
    return unique[count > 1]


def _numbered(names: _Names, atoms: IdArray) -> NDArray[np.bool_]:
    """Returns a mask of those `atoms` that share a name in their residue, where the file adds a number to the name."""
    letters = [t.rstrip("0123456789") for t in names.text]
    index = {t: i for i, t in enumerate(dict.fromkeys(letters))}
    codes = np.array([index[t] for t in letters])
    pairs = np.stack([names.residue, names.atom], axis=1)[np.isin(names.residue, names.residue[atoms])]
    unique, count = np.unique(pairs, axis=0, return_counts=True)
    unnamed = np.unique(unique[count > 1, 0])
    same = codes[names.atom[atoms]] == codes[names.row[atoms]]
    return same & np.isin(names.residue[atoms], unnamed)


def _first_stranger(names: _Names, atoms: IdArray) -> int:
    """Returns, in the first residue of `atoms`, the first atom with a row's name that the residue lacks, or else the
    first atom."""
    residue = names.residue[atoms[0]]
    mine = atoms[names.residue[atoms] == residue]
    strangers = mine[~np.isin(names.row[mine], names.atom[names.residue == residue])]
    return int(strangers[0]) if len(strangers) else int(atoms[0])


def _reorder(found: Coordinates, order: IdArray) -> None:
    found.position = found.position[order]
    for name in ("velocity", "name", "residue", "residue_number"):
        values = getattr(found, name)
        if values is not None:
            setattr(found, name, values[order])


def _check_numbers(flat: FlatTopology, found: Coordinates, file: str) -> None:
    """Raises `InputError` where the residue numbers are the topology's in another order, because whole residues are
    then in another order."""
    if found.residue_number is None:
        return
    usable = (flat.residue_number <= _LARGEST_NUMBER) & (found.residue_number != NO_NUMBER)
    expected, numbers = flat.residue_number[usable], found.residue_number[usable]
    differing = np.flatnonzero(expected != numbers)
    if not len(differing) or not np.array_equal(np.sort(expected), np.sort(numbers)):
        return
    atom = int(np.flatnonzero(usable)[differing[0]])
    raise InputError(
        f"{file}: row {atom + 1} is in residue {found.residue_number[atom]}, but the topology has "
        f"{flat.describe(atom)} there: the file has the same residues in another order; sort it as the topology is"
    )
