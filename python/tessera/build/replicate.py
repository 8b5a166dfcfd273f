"""Copies a system side by side. This adds instances of the same templates and copies no terms."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from tessera.build.copies import Copies
from tessera.errors import InputError
from tessera.system import System
from tessera.system.arrays import IdArray
from tessera.system.molecules import Kind, kinds
from tessera.system.scratch import scratch


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
    """Returns fractions (N,3) int64 that make every bond as short as its nearest image. Raises `InputError` where a
    molecule is bonded to its own image."""
    whole = system.fraction.astype(np.int64)
    for kind in kinds(system):
        parent = _parents(kind)
        for rows in scratch().ranges(len(kind.starts), kind.n_atoms):
            atoms = kind.starts[rows, None] + np.arange(kind.n_atoms)
            whole[atoms] = _placed(system.fraction[atoms], parent)
        _refuse_own_image(system, kind, whole)
    return whole


def _nearest(fraction: NDArray[np.int32], up: IdArray, down: IdArray) -> IdArray:
    # The difference of two wrapped integers, wrapped again, is the nearest image.
    return (fraction[down] - fraction[up]).astype(np.int64)


def _parents(kind: Kind) -> IdArray:
    """Returns for each atom (n,) one that it is linked to and that is nearer to the lowest atom of its piece; this
    atom's own number for the lowest."""
    n, links = kind.n_atoms, kind.links
    graph = scipy.sparse.csr_array((np.ones(len(links), np.int8), links.T), shape=(n, n))
    _, piece = scipy.sparse.csgraph.connected_components(graph, directed=False)
    roots = np.unique(piece, return_index=True)[1]
    # One more atom, which all roots are linked to, makes one piece of all.
    ends = np.concatenate([links, np.stack([roots, np.full(len(roots), n)], axis=1)]).T
    joined = scipy.sparse.csr_array((np.ones(ends.shape[1], np.int8), ends), shape=(n + 1, n + 1))
    _, parent = scipy.sparse.csgraph.breadth_first_order(joined, n, directed=False)
    parent[roots] = roots
    return np.asarray(parent[:n], np.int64)


def _placed(fraction: NDArray[np.int32], parent: IdArray) -> IdArray:
    """Returns fractions (molecules,n,3) of atoms that are each near their parent, the roots as they are.

    Steps to parents become those to their parents, and so on, so that a chain of n atoms takes log₂(n) rounds.
    """
    steps = (fraction - fraction[:, parent]).astype(np.int64)  # wrapped: the nearest image
    ancestor = parent
    while not np.array_equal(further := ancestor[ancestor], ancestor):
        steps += steps[:, ancestor]
        ancestor = further
    return np.asarray(fraction[:, ancestor] + steps, np.int64)


def _refuse_own_image(system: System, kind: Kind, whole: IdArray) -> None:
    for rows in scratch().ranges(len(kind.starts), kind.n_atoms):
        up, down = (kind.starts[rows, None] + ends for ends in kind.links.T)
        if (whole[down] - whole[up] != _nearest(system.fraction, up, down)).any():
            raise InputError(
                f"a molecule of kind {kind.name} is bonded to its own periodic image; "
                "replicate the inputs before preparing them instead"
            )
