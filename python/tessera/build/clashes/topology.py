"""Finds the bonds of atoms that have names alone: from templates of their residues, never from distances."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tessera.build.clashes.molecules import ROLE
from tessera.build.clashes.templates import OF_DNA, WATER, Residue, residues
from tessera.system.model import IdArray

_SHOWN = 6  # kinds of residues that a note names


@dataclass(frozen=True)
class Names:
    """The names (n,) of a file's atoms, without blanks, and where its residues and chains begin."""

    name: NDArray[np.bytes_]
    residue_name: NDArray[np.bytes_]
    residue: IdArray  # rows, in order
    piece: IdArray  # chains; TER ends one


@dataclass
class Topology:
    """What names say of n atoms."""

    bonds: IdArray  # (m,2)
    role: NDArray[np.int8]  # (n,)
    is_hydrogen: NDArray[np.bool_]  # (n,)
    is_rigid: NDArray[np.bool_]  # (n,)
    notes: list[str] = field(default_factory=list)


def topology_of(names: Names) -> Topology:
    """Returns the bonds of atoms, in residues and from each to the next of its chain. Residues that no template has,
    or that have atoms which it lacks, count as rigid, and a note names them. Raises `InputError` without OpenMM."""
    n_atoms = len(names.name)
    first = np.flatnonzero(np.diff(names.residue, prepend=-1))
    count = np.diff(np.append(first, n_atoms))
    found = Topology(
        np.zeros((0, 2), np.int64), np.zeros(n_atoms, np.int8), np.zeros(n_atoms, bool), np.zeros(n_atoms, bool)
    )
    kinds, kind_of = np.unique(_as_numbers(names.residue_name[first]), return_inverse=True)
    is_rigid = np.zeros(len(first), bool)  # by residue, as what follows
    ends = {link: np.full(len(first), -1) for link in ("C", "O3'")}
    begins = {link: np.full(len(first), -1) for link in ends}
    bonds = []
    unknown: dict[str, int] = {}
    for index, kind in enumerate(kinds.view("S8")):
        its = np.flatnonzero(kind_of == index)
        name = kind.decode("latin-1")
        for template, some in _templates(name, its, first, count, names):
            place, is_strange = _places(template, some, first, count, names.name)
            if template is None or (is_strange.any() and template.name != WATER):
                lost = int(is_strange.sum())
                unknown |= {name: unknown.get(name, 0) + lost} if lost else {}
            is_rigid[some] |= is_strange
            if template is None:
                continue
            bonds += _inside(template, place[~is_strange])
            _mark(template, place, found)
            if template.link is not None:
                link, column = template.link
                begins[link][some] = place[:, column]
            for link in ends:
                if template.kind and link in template.atoms:
                    ends[link][some] = place[:, template.atoms[link]]
    follows = names.piece[first[1:]] == names.piece[first[:-1]]
    for link in ends:
        pair = np.stack([ends[link][:-1], begins[link][1:]], axis=1)
        bonds.append(pair[follows & (pair >= 0).all(axis=1)])
    found.bonds = np.concatenate(bonds) if bonds else found.bonds
    found.is_rigid = np.repeat(is_rigid, count)
    if unknown:
        found.notes.append(_note(unknown))
    return found


def _as_numbers(texts: NDArray[np.bytes_]) -> NDArray[np.uint64]:
    """Returns texts of up to eight characters as numbers, which are sorted faster."""
    return np.ascontiguousarray(texts.astype("S8")).view(np.uint64)


def _templates(
    name: str, its: IdArray, first: IdArray, count: IdArray, names: Names
) -> list[tuple[Residue | None, IdArray]]:
    """Returns the template of residues of one name, and which have it; O2' tells RNA from DNA."""
    template = residues().get(name)
    if template is None or template.name not in OF_DNA:
        return [(template, its)]
    rows = _rows(its, first, count)
    has = np.isin(names.name[rows], [b"O2'", b"O2*"])
    is_rna = np.isin(its, names.residue[rows[has]])
    return [(template, its[is_rna]), (residues()[OF_DNA[template.name]], its[~is_rna])]


def _rows(its: IdArray, first: IdArray, count: IdArray) -> IdArray:
    """Returns the atoms of these residues, residue by residue."""
    size = count[its]
    return np.arange(size.sum()) - np.repeat(np.cumsum(size) - size - first[its], size)


def _places(
    template: Residue | None, its: IdArray, first: IdArray, count: IdArray, name: NDArray[np.bytes_]
) -> tuple[IdArray, NDArray[np.bool_]]:
    """Returns the row of each atom of the template (residues, atoms) or −1, and which residues are strange (residues,):
    they have atoms beside those, or one of them twice. Without a template those of several atoms are."""
    if template is None:
        return np.zeros((len(its), 0), np.int64), count[its] > 1
    rows = _rows(its, first, count)
    of_row = np.repeat(np.arange(len(its)), count[its])
    kinds, kind_of = np.unique(_as_numbers(name[rows]), return_inverse=True)
    column = np.array([template.column(kind.decode("latin-1")) for kind in kinds.view("S8")], np.int64)[kind_of]
    place = np.full((len(its), len(template.atoms)), -1)
    known = column >= 0
    place[of_row[known], column[known]] = rows[known]
    is_strange = (place >= 0).sum(axis=1) != count[its]
    return place, is_strange & (count[its] > 1)


def _inside(template: Residue, place: IdArray) -> list[IdArray]:
    """Returns the bonds within residues."""
    pairs = [place[:, bond] for bond in map(list, template.bonds)]
    return [pair[(pair >= 0).all(axis=1)] for pair in pairs]


def _mark(template: Residue, place: IdArray, found: Topology) -> None:
    """Sets roles of amino acids and nucleotides, and marks hydrogens."""
    for name, column in template.atoms.items():
        rows = place[:, column]
        rows = rows[rows >= 0]
        if template.kind and name in ROLE:
            found.role[rows] = ROLE[name]
        found.is_hydrogen[rows] = name.startswith("H")


def _note(unknown: dict[str, int]) -> str:
    listed = ", ".join(f"{name} ({count:,})" for name, count in list(unknown.items())[:_SHOWN])
    more = f" and {len(unknown) - _SHOWN} more kinds" if len(unknown) > _SHOWN else ""
    return (
        f"{sum(unknown.values()):,} residue(s) have unknown names, or atoms with unknown names, and count as rigid: "
        f"{listed}{more}"
    )
