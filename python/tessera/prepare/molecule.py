"""Derives from a molecule's bonds its 1-2, 1-3 and 1-4 neighbours, hydrogen groups and rigid water."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from tessera.constants import HYDROGEN_MASS_LIMIT
from tessera.system import ForceField, Template
from tessera.system.model import IndexArray

WATER = (8, 1, 1)
_FAR = 16  # bonds


def neighbour_pairs(n: int, bonds: IndexArray) -> tuple[IndexArray, IndexArray, IndexArray]:
    """Returns the pairs i < j one, two and exactly three bonds apart (1-2, 1-3, 1-4), each (·,2)."""
    data = np.ones(2 * len(bonds), np.int8)
    rows, columns = np.concatenate([bonds, bonds[:, ::-1]]).T if len(bonds) else ([], [])
    one = scipy.sparse.csr_array((data, (rows, columns)), shape=(n, n), dtype=np.int32)
    one.data[:] = 1
    two = (one @ one).tocsr()
    three = (two @ one).tocsr()
    pairs = [_upper_pairs(m) for m in (one, two, three)]
    codes = [p[:, 0].astype(np.int64) * n + p[:, 1] for p in pairs]
    only_two = ~np.isin(codes[1], codes[0])
    only_three = ~np.isin(codes[2], np.concatenate(codes[:2]))
    return pairs[0], pairs[1][only_two], pairs[2][only_three]


def _upper_pairs(matrix: scipy.sparse.csr_array) -> IndexArray:
    upper = scipy.sparse.triu(matrix, k=1).tocoo()
    pairs = np.stack([upper.row, upper.col], axis=1).astype(np.int32)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def sorted_pairs(*lists: IndexArray) -> IndexArray:
    """Returns the union of pair lists as rows i < j in order, (·,2)."""
    pairs = np.concatenate([np.zeros((0, 2), np.int32), *lists])
    return np.unique(np.sort(pairs, axis=1), axis=0).astype(np.int32)


def set_groups(template: Template) -> None:
    """Sets a template's hydrogen groups, and the element of hydrogens that have none yet: from here on an atom is a
    hydrogen where its element says so, in every program."""
    template.atomic_number = np.where(_unnamed_hydrogens(template), 1, template.atomic_number).astype(np.int32)
    template.group = hydrogen_groups(template)
    join_groups_of_sites(template)


def _unnamed_hydrogens(template: Template) -> NDArray[np.bool_]:
    """Tells which atoms (n,) are hydrogens although neither input nor name says so, as may be where they were made
    heavy: light atoms that are joined to one heavier atom, and else only to other hydrogens of this one. The atoms of a
    chain of light beads are none."""
    light = (template.atomic_number == 0) & (template.mass > 0) & (template.mass < HYDROGEN_MASS_LIMIT)
    if not light.any():
        return light
    n, bonds = template.n_atoms, template.bonds
    bonds = bonds[(template.mass[bonds] > 0).all(axis=1)]
    both = np.unique(np.concatenate([bonds, bonds[:, ::-1]]), axis=0)
    is_heavy = ~light & (template.atomic_number != 1)
    to_heavy = both[~is_heavy[both[:, 0]] & is_heavy[both[:, 1]]]
    owner = np.full(n, -1)
    owner[to_heavy[:, 0]] = to_heavy[:, 1]
    among = both[~is_heavy[both].any(axis=1)]
    found = light & (np.bincount(to_heavy[:, 0], minlength=n) == 1)
    found[among[owner[among[:, 0]] != owner[among[:, 1]]].ravel()] = False
    return found


def hydrogen_groups(template: Template) -> IndexArray:
    """Returns the local index (n,) of each atom's key atom: the heavy atom for its hydrogens, and the first one for
    hydrogens that only hydrogens are bonded to, as in H2."""
    n = template.n_atoms
    key = np.arange(n, dtype=np.int32)
    bonds = template.bonds
    if not len(bonds):
        return key
    is_hydrogen = template.atomic_number == 1
    bonds = bonds[(template.mass[bonds] > 0).all(axis=1)]  # virtual sites join groups otherwise
    both = np.concatenate([bonds, bonds[:, ::-1]])
    attached = both[is_hydrogen[both[:, 0]] & ~is_hydrogen[both[:, 1]]]
    # Where a hydrogen has two heavy neighbours, it belongs to the first one in the bond list.
    key[attached[::-1, 0]] = attached[::-1, 1]
    free = is_hydrogen & (key == np.arange(n))
    pairs = bonds[free[bonds].all(axis=1)]
    if len(pairs):
        graph = scipy.sparse.csr_array((np.ones(len(pairs)), pairs.T), shape=(n, n))
        _, first, part = np.unique(
            scipy.sparse.csgraph.connected_components(graph, directed=False)[1], return_index=True, return_inverse=True
        )
        key[free] = first[part][free]
    return key


def join_groups_of_sites(template: Template) -> None:
    """Puts each virtual site and all its parents into one hydrogen group, with a key atom from which the others are few
    bonds away."""
    sites, group = template.virtual_sites, template.group
    for index, atom in enumerate(sites.atom):
        keys = group[sites.parents[sites.parents[:, 0] == index, 1]]
        group[np.isin(group, keys)] = keys[0]
        group[atom] = keys[0]
    for key in np.unique(group[sites.atom]):
        members = np.flatnonzero(group == key).astype(np.int32)
        group[members] = _most_central(template, members[template.mass[members] > 0])


def _most_central(template: Template, members: IndexArray) -> int:
    """Returns the first of those members that are no hydrogens (if any) whose furthest member is nearest along bonds
    or, where these do not join all members, along bonds and springs."""
    heavy = members[template.atomic_number[members] != 1]
    candidates = heavy if len(heavy) else members
    for links in (template.bonds, np.concatenate([template.bonds, template.term("urey_bradley").atoms])):
        graph = scipy.sparse.csr_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(template.n_atoms,) * 2)
        hops = scipy.sparse.csgraph.dijkstra(graph, directed=False, indices=candidates, unweighted=True, limit=_FAR)
        hops = hops[:, members]
        if np.isfinite(hops).all(axis=1).any():
            break
    return int(candidates[np.argmin(hops.max(axis=1))])


def detect_rigid_water(template: Template, field: ForceField, is_held: bool = False) -> None:
    """Marks a water O, H, H, perhaps followed by virtual sites, and stores its two distances (Å). `is_held`: the input
    itself holds all three distances."""
    n_sites = len(template.virtual_sites)
    if template.n_atoms != 3 + n_sites or tuple(template.atomic_number[:3]) != WATER or (template.mass[:3] == 0).any():
        return
    length = {}
    bonds = template.term("bond")
    for (i, j), row in zip(bonds.atoms, bonds.parameter):
        length[min(i, j), max(i, j)] = float(field.table("bond")[row, 1])
    if (0, 1) not in length or (0, 2) not in length or length[0, 1] != length[0, 2]:
        return
    oh, hh = length[0, 1], length.get((1, 2))
    angles = template.term("angle")
    central = [row for atoms, row in zip(angles.atoms, angles.parameter) if atoms[1] == 0]
    if central and not (is_held and hh):
        # The angle has the exact value; the H–H "bond" of a topology often has only a rounded length.
        theta = float(field.table("angle")[central[0], 1])
        if hh is None or field.table("angle")[central[0], 0] > 0:
            hh = hh if hh and abs(hh - 2 * oh * np.sin(theta / 2)) < 1e-3 else None
            hh = hh or 2 * oh * float(np.sin(theta / 2))
    if hh is None:
        return
    template.rigid_water = True
    template.settle = (oh, float(hh))
    template.always_rigid = not (field.table("bond")[bonds.parameter, 0] > 0).any()
    template.group = np.zeros(template.n_atoms, np.int32)


def without_force(template: Template, field: ForceField) -> NDArray[np.bool_]:
    """Tells which bonds of a template have no force: readers make these of what the input holds at a fixed length."""
    return np.asarray(field.table("bond")[template.term("bond").parameter, 0] == 0)


def complete(templates: list[Template], field: ForceField, held: Sequence[IndexArray] | None = None) -> None:
    """Sets hydrogen groups and rigid water when terms and parameters are known.

    `held` are the pairs (·,2) of each template that the input holds at a fixed distance: a water with all three of them
    is rigid, one with none is flexible in every run, and bonds without a force are held in every run. Where it is
    missing, the input says nothing of constraints (CHARMM, AMBER), and every water may be rigid.
    """
    for index, template in enumerate(templates):
        set_groups(template)
        atoms = np.flatnonzero(template.mass > 0)
        if held is None:
            detect_rigid_water(template, field)
            continue
        fixed = template.term("bond").atoms[without_force(template, field)]
        template.always_rigid = bool((template.mass[fixed] > 0).all(axis=1).any())
        if sorted(template.atomic_number[atoms]) == [1, 1, 8]:
            n_held = int(np.isin(sorted_pairs(held[index]), atoms).all(axis=1).sum())
            template.flexible = n_held == 0
            if n_held == len(atoms):  # as many as three atoms have
                detect_rigid_water(template, field, is_held=True)


def keep_flexible(templates: list[Template], field: ForceField, held: Sequence[IndexArray]) -> None:
    """Marks molecules in which bonds to hydrogen have a force and are not among the pairs (·,2) that the input holds:
    these are flexible in every run but one with `constraints = "all-bonds"`."""
    for template, pairs in zip(templates, held, strict=True):
        template.flexible = has_free_hydrogens(template, field, pairs)


def has_free_hydrogens(template: Template, field: ForceField, held: IndexArray) -> bool:
    """Tells whether a bond to a hydrogen, outside of rigid water, has a force and is not among the pairs (·,2) that the
    input holds."""
    moves = sorted_pairs(template.term("bond").atoms[~without_force(template, field)])
    moves = moves[(template.atomic_number[moves] == 1).any(axis=1)]
    known = set(map(tuple, sorted_pairs(held).tolist()))
    return not template.rigid_water and any(tuple(pair) not in known for pair in moves.tolist())
