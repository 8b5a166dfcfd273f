"""Copies a system side by side. This adds instances of the same templates and copies no terms."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from tessera.build.copies import Copies
from tessera.errors import InputError
from tessera.system import System, Template
from tessera.system.model import IdArray


def copies_of(system: System, count: tuple[int, int, int]) -> Copies:
    """Returns `count` copies of a system along its three box vectors.

    Raises `InputError` for counts below 1, a vacuum system, or a molecule bonded to its own image.
    """
    if min(count) < 1:
        raise InputError(f"copies must be at least 1 along each axis, found {count}")
    if not system.periodic:
        raise InputError("a system without a periodic box cannot be replicated")
    source = f"replicate {'×'.join(map(str, count))}: {system.source}"
    return Copies(system, count, np.asarray(make_whole(system) * 2.0**-32, np.float64), source)


def replicate(system: System, count: tuple[int, int, int]) -> System:
    """Returns the system with copies as `copies_of` makes them, in memory. Raises `InputError` as that does."""
    return copies_of(system, count).in_memory()


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
