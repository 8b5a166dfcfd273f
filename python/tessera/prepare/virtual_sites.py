"""Turns every kind of virtual site into the form of `tessera.system.virtual_sites`, and adds sites to a topology.

`average` and the functions after it return a `Site` whose parents are ids of atoms. Lengths are in Å, angles in radian.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tessera.errors import InputError
from tessera.prepare.flat import FlatTopology
from tessera.system.virtual_sites import FRAMES

_SUM_ERROR = 1e-4  # of weights that should sum to 1 or 0, as inputs round them
NONE, PLAIN, ORTHONORMAL = range(len(FRAMES))


@dataclass(frozen=True)
class Site:
    """One virtual site: r = O + p₁X + p₂Y + p₃Z."""

    frame: int
    position: tuple[float, float, float]
    parents: tuple[int, ...]
    weights: tuple[tuple[float, float, float], ...]  # of O, X and Y, for each parent


def site(
    frame: int,
    parents: Sequence[int],
    origin: Sequence[float],
    x: Sequence[float] = (),
    y: Sequence[float] = (),
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Site:
    """Joins the weights (one for each parent) of parents that are named twice, and puts their sums right to the last
    digit. Raises `ValueError` where they do not sum to 1, 0 and 0, or there is no parent."""
    if not len(parents):
        raise ValueError("has no parents")
    columns = np.zeros((len(parents), 3))
    for column, values in enumerate((origin, x, y)):
        if len(values):
            columns[:, column] = values
    names = list(dict.fromkeys(int(p) for p in parents))
    joined = np.zeros((len(names), 3))
    for parent, row in zip(parents, columns):
        joined[names.index(int(parent))] += row
    wrong = joined.sum(axis=0) - (1, 0, 0)
    if not (np.abs(wrong) < _SUM_ERROR).all():
        raise ValueError(f"has weights that sum to {', '.join(f'{v:g}' for v in joined.sum(axis=0))}, not to 1, 0, 0")
    joined[np.abs(joined).argmax(axis=0), range(3)] -= wrong
    kept = np.flatnonzero(joined.any(axis=1))
    return Site(
        frame,
        tuple(float(p) for p in position),  # type: ignore[arg-type]
        tuple(names[k] for k in kept),
        tuple((float(o), float(a), float(b)) for o, a, b in joined[kept]),
    )


def average(parents: Sequence[int], weights: Sequence[float]) -> Site:
    """Places a site at Σ wᵢrᵢ."""
    return site(NONE, parents, weights)


def out_of_plane(i: int, j: int, k: int, a: float, b: float, c: float) -> Site:
    """Places a site at rᵢ + a rᵢⱼ + b rᵢₖ + c rᵢⱼ × rᵢₖ; c in Å⁻¹."""
    return site(PLAIN, (i, j, k), (1, 0, 0), (-1, 1, 0), (-1, 0, 1), (a, b, c))


def along(i: int, towards: Sequence[int], weights: Sequence[float], distance: float) -> Site:
    """Places a site at `distance` from i in the direction of Σ wⱼrⱼ − rᵢ, Σ wⱼ = 1; a negative one in the opposite."""
    parents = (i, *towards)
    return site(ORTHONORMAL, parents, (1, *np.zeros(len(towards))), (-1, *weights), (), (distance, 0.0, 0.0))


def in_plane(i: int, j: int, k: int, along_ij: float, across: float) -> Site:
    """Places a site from i, `along_ij` towards j and `across` that in the plane of k, in the direction of rⱼₖ."""
    return site(ORTHONORMAL, (i, j, k), (1, 0, 0), (-1, 1, 0), (0, -1, 1), (along_ij, across, 0.0))


def internal_coordinates(i: int, j: int, k: int, distance: float, angle: float, dihedral: float) -> Site:
    """Places a site at `distance` from i, with the angle site–i–j and the dihedral site–i–j–k."""
    x = distance * np.cos(angle)
    y, z = distance * np.sin(angle) * np.cos(dihedral), -distance * np.sin(angle) * np.sin(dihedral)
    return site(ORTHONORMAL, (i, j, k), (1, 0, 0), (-1, 1, 0), (0, -1, 1), (x, y, z))


def bisector(i: int, j: int, k: int, distance: float, angle: float, dihedral: float) -> Site:
    """Does the same as `internal_coordinates` with the middle of j and k instead of j."""
    position = internal_coordinates(i, j, k, distance, angle, dihedral).position
    return site(ORTHONORMAL, (i, j, k), (1, 0, 0), (-1, 0.5, 0.5), (0, -1, 1), position)


def add_sites(flat: FlatTopology, sites: Mapping[int, Site]) -> list[str]:
    """Makes these atoms of the topology virtual sites: their mass becomes 0. Returns notes.

    Raises `InputError` where a parent does not exist or is a site itself.
    """
    notes, rows, pairs = [], [], []
    for atom in sorted(sites):
        found = sites[atom]
        for parent, weights in zip(found.parents, found.weights):
            if not 0 <= parent < flat.n_atoms:
                raise InputError(
                    f"the virtual site {flat.describe(atom)} follows atom {parent + 1}, but there are {flat.n_atoms} "
                    "atoms"
                )
            if parent in sites:
                raise InputError(
                    f"the virtual site {flat.describe(atom)} follows {flat.describe(parent)}, which is a virtual site "
                    "itself: not supported; express it by the atoms that both follow"
                )
            pairs.append((atom, parent))
            rows.append((found.frame, *found.position, *weights))
    ids = np.array(sorted(sites), np.int64)
    heavy = ids[flat.mass[ids] > 0]
    if len(heavy):
        notes.append(
            f"{len(heavy):,} virtual site(s) have a mass in the input, the first is {flat.describe(int(heavy[0]))}; "
            "sites follow other atoms, so it does not count"
        )
    flat.mass[ids] = 0.0
    flat.atomic_number[ids] = 0
    flat.add("site_parent", np.array(pairs, np.int64).reshape(-1, 2), flat.sites.add_many(rows))
    return notes


def check_massless(flat: FlatTopology, advice: str = "") -> None:
    """Raises `InputError` that names an atom without mass that is no virtual site, and says what to do."""
    massless = flat.mass <= 0
    massless[flat.virtual_sites()] = False
    for atom in np.flatnonzero(massless)[:1]:
        raise InputError(
            f"{flat.describe(int(atom))} has no mass and is no virtual site" + (advice or ": not supported")
        )


def drop_bonded_terms(flat: FlatTopology, kinds: Sequence[str]) -> None:
    """Removes terms of these kinds that name a virtual site, whose place is known without them."""
    is_site = np.zeros(flat.n_atoms, bool)
    is_site[flat.virtual_sites()] = True
    for kind in kinds:
        if kind in flat.terms:
            atoms, rows = flat.terms[kind]
            kept = ~is_site[atoms].any(axis=1)
            flat.terms[kind] = (atoms[kept], rows[kept])
