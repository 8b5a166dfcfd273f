"""Copies a system side by side. This adds instances of the same templates and copies no terms."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from tessera.prepare.errors import InputError
from tessera.system import System, Template
from tessera.system.box import in_vectors, reduced
from tessera.system.model import IdArray


def replicate(system: System, copies: tuple[int, int, int]) -> System:
    """Returns the system with `copies` copies along the three box vectors. Each run grows in place: it has all its
    instances in the first copy, then all in the second, and so on, so ids change but there are no more runs.

    Raises `InputError` for counts below 1, a vacuum system, or a molecule bonded to its own image.
    """
    if min(copies) < 1:
        raise InputError(f"copies must be at least 1 along each axis, found {copies}")
    if not system.periodic:
        raise InputError("a system without a periodic box cannot be replicated")
    shifts = np.stack(np.unravel_index(np.arange(int(np.prod(copies))), copies), axis=1)
    rows, copy = _order(system, len(shifts))
    whole = make_whole(system)
    turns = whole * 2.0**-32  # fractions of the old box, with whole molecules
    fraction = np.empty((len(rows), 3), np.int32)
    for axis, count in enumerate(copies):
        value = (turns[rows, axis] + shifts[copy, axis]) / count
        value -= np.rint(value)
        fraction[:, axis] = np.rint(value * 2.0**32).astype(np.int64).astype(np.int32)
    box = system.box * np.array(copies, np.float64)[:, None]
    short = reduced(box)
    runs = system.runs.copy()
    runs[:, 1] *= len(shifts)
    return System(
        box=short,
        periodic=True,
        coulomb_constant=system.coulomb_constant,
        coulomb_source=system.coulomb_source,
        lj_rule=system.lj_rule,
        lennard_jones=system.lennard_jones,
        source=f"replicate {'×'.join(map(str, copies))}: {system.source}",
        force_field=system.force_field,
        templates=system.templates,
        runs=runs,
        fraction=in_vectors(fraction, box, short),
        velocity=None if system.velocity is None else system.velocity[rows],
    )


def _order(system: System, copies: int) -> tuple[IdArray, IdArray]:
    """Returns the old id and the copy of every new atom (N·copies,)."""
    atoms = system.template_sizes()[system.runs[:, 0]] * system.runs[:, 1]
    begin = np.cumsum(atoms) - atoms
    rows, copy = [], []
    for first, count in zip(begin, atoms):
        rows.append(np.tile(np.arange(first, first + count), copies))
        copy.append(np.repeat(np.arange(copies), count))
    return np.concatenate(rows), np.concatenate(copy)


def make_whole(system: System) -> IdArray:
    """Returns fractions (N,3) int64 that make every bond as short as its nearest image."""
    whole = system.fraction.astype(np.int64)
    template, first = system.instances()
    for index, kind in enumerate(system.templates):
        starts = first[template == index]
        for parents, children in _bond_levels(kind):
            up, down = starts[:, None] + parents, starts[:, None] + children
            whole[down] = whole[up] + _nearest(system, up, down)
        _refuse_own_image(system, kind, starts, whole)
    return whole


def _nearest(system: System, up: IdArray, down: IdArray) -> IdArray:
    # The difference of two wrapped integers, wrapped again, is the nearest image.
    return (system.fraction[down] - system.fraction[up]).astype(np.int64)


def _bond_levels(template: Template) -> list[tuple[IdArray, IdArray]]:
    """Returns (parents, children) pairs level by level from the lowest atom of each bonded component."""
    n, bonds = template.n_atoms, template.links()
    if not len(bonds):
        return []
    data = np.ones(len(bonds), np.int8)
    graph = sparse.csr_array((data, (bonds[:, 0], bonds[:, 1])), shape=(n, n))
    _, component = csgraph.connected_components(graph, directed=False)
    roots = np.unique(component, return_index=True)[1]
    both = np.concatenate([bonds, bonds[:, ::-1]]).astype(np.int64)
    seen = np.zeros(n, bool)
    seen[roots] = True
    is_front = seen.copy()
    levels: list[tuple[IdArray, IdArray]] = []
    while True:
        edges = both[is_front[both[:, 0]] & ~seen[both[:, 1]]]
        if not len(edges):
            return levels
        children, chosen = np.unique(edges[:, 1], return_index=True)
        levels.append((edges[chosen, 0], children))
        seen[children] = True
        is_front[:] = False
        is_front[children] = True


def _refuse_own_image(system: System, template: Template, starts: IdArray, whole: IdArray) -> None:
    bonds = template.links()
    if not len(bonds):
        return
    up, down = starts[:, None] + bonds[:, 0], starts[:, None] + bonds[:, 1]
    if (whole[down] - whole[up] != _nearest(system, up, down)).any():
        raise InputError(
            f"a molecule of kind {template.name} is bonded to its own periodic image; "
            "replicate the inputs before preparing them instead"
        )
