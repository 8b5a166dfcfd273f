"""Finds bonds that go through rings of other atoms: minimising does not take them out, and no length shows them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tessera.build.clashes.graph import Graph
from tessera.build.clashes.molecules import Molecules, wrapped
from tessera.system.blocks import to_fraction
from tessera.system.box import heights, with_images
from tessera.system.model import FloatArray, IdArray

MOST_ATOMS = 7  # of a ring that is looked at; in larger ones chains may have room
_AT_ONCE = 50_000  # atoms from which rings are looked for
_REACH = 3.0  # Å: half of the widest ring, and of the longest bond, and some more


@dataclass(frozen=True)
class Piercing:
    """A bond, and the atoms of the ring that it goes through, in order."""

    bond: tuple[int, int]
    ring: tuple[int, ...]


def piercings_of(molecules: Molecules) -> list[Piercing]:
    """Returns the bonds that go through a ring of at most seven heavy atoms, none of which is one of theirs."""
    rings = rings_of(molecules.graph, ~molecules.is_hydrogen)
    if not sum(map(len, rings)):
        return []
    found: list[Piercing] = []
    middle = _middles(molecules)
    for ring in rings:
        if len(ring):
            found += _through(molecules, ring, middle)
    return sorted(found, key=lambda piercing: (piercing.bond, piercing.ring))


def rings_of(graph: Graph, may_be: NDArray[np.bool_]) -> list[IdArray]:
    """Returns the rings of each size (m,size) among atoms that may be in one, each once: paths are followed from their
    lowest atom on until they come back. A ring around two smaller ones that share a bond does not count."""
    found: list[list[IdArray]] = [[] for _ in range(MOST_ATOMS + 1)]
    inner = np.flatnonzero(may_be & (np.diff(graph.begin) > 1))
    for begin in range(0, len(inner), _AT_ONCE):
        path = inner[begin : begin + _AT_ONCE, None]
        for size in range(2, MOST_ATOMS + 1):
            row, atom = graph.next_to(path[:, -1])
            goes_on = (atom > path[row, 0]) & may_be[atom] & ~(path[row] == atom[:, None]).any(axis=1)
            path = np.concatenate([path[row[goes_on]], atom[goes_on, None]], axis=1)
            if size > 2 and len(path):
                row, atom = graph.next_to(path[:, -1])
                closed = path[np.unique(row[atom == path[row, 0]])]
                found[size].append(closed[closed[:, 1] < closed[:, -1]])
    joined = [np.concatenate(some) if some else np.zeros((0, size), np.int64) for size, some in enumerate(found)]
    return [_without_chords(ring, graph) if ring.shape[1] > 3 else ring for ring in joined]


def _without_chords(ring: IdArray, graph: Graph) -> IdArray:
    """Returns the rings in which only neighbours are bonded."""
    has_chord = np.zeros(len(ring), bool)
    size = ring.shape[1]
    for one in range(size):
        for other in range(one + 2, size - (one == 0)):
            has_chord |= graph.are_within(ring[:, [one, other]], 1)
    return ring[~has_chord]


@dataclass(frozen=True)
class _Middles:
    """The middle (m,3) Å of each bond (m,) and of its images near the faces of a box."""

    tree: cKDTree
    bond: IdArray


def _middles(molecules: Molecules) -> _Middles:
    one, other = molecules.bonds.T
    middle = (molecules.position[one] + molecules.nearest(molecules.position[other], molecules.position[one])) / 2
    box = molecules.box
    if box is None:
        return _Middles(cKDTree(middle), np.arange(len(middle)))
    points, bond = with_images(to_fraction(middle, box), box, min(_REACH, float(heights(box).min())))
    return _Middles(cKDTree(points), bond)


def _through(molecules: Molecules, ring: IdArray, middle: _Middles) -> list[Piercing]:
    """Returns the bonds that go through rings of one size (m,size)."""
    corner = molecules.nearest(molecules.position[ring], molecules.position[ring[:, :1]])
    centre = corner.mean(axis=1)
    near = cKDTree(wrapped(centre, molecules.box)).query_ball_tree(middle.tree, _REACH)
    which = np.repeat(np.arange(len(ring)), [len(some) for some in near])
    bond = molecules.bonds[middle.bond[[row for some in near for row in some]]]
    apart = ~(bond[:, :, None] == ring[which][:, None, :]).any(axis=(1, 2))
    which, bond = which[apart], bond[apart]
    start = molecules.nearest(molecules.position[bond[:, 0]], centre[which])
    end = molecules.nearest(molecules.position[bond[:, 1]], start)
    size = ring.shape[1]
    crosses = np.zeros(len(bond), np.int64)  # in the direction of the ring, less those against it
    for side in range(size):
        triangle = np.stack([centre, corner[:, side], corner[:, (side + 1) % size]], axis=1)[which]
        crosses += crossed(start, end, triangle)
    found = np.flatnonzero(crosses)
    pairs = zip(bond[found].tolist(), ring[which[found]].tolist())
    return [Piercing((one, other), tuple(atoms)) for (one, other), atoms in pairs]


def crossed(start: FloatArray, end: FloatArray, triangle: FloatArray) -> NDArray[np.int8]:
    """Returns whether segments from `start` to `end` (n,3) go through their triangles (n,3,3), by 1 or −1 for the sides
    that they come from, and 0 for those that do not (Möller and Trumbore 1997)."""
    along = end - start
    one, other = triangle[:, 1] - triangle[:, 0], triangle[:, 2] - triangle[:, 0]
    across = np.cross(along, other)
    volume = np.einsum("ni,ni->n", one, across)
    with np.errstate(all="ignore"):  # of segments in the plane
        scale = 1 / volume
        from_corner = start - triangle[:, 0]
        u = scale * np.einsum("ni,ni->n", from_corner, across)
        normal = np.cross(from_corner, one)
        v = scale * np.einsum("ni,ni->n", along, normal)
        t = scale * np.einsum("ni,ni->n", other, normal)
        meets = (volume != 0) & (u >= 0) & (v >= 0) & (u + v <= 1) & (t >= 0) & (t <= 1)
    return np.where(meets, np.sign(volume), 0).astype(np.int8)
