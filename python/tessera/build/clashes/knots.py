"""Finds knots in backbones by the determinant of their Alexander polynomial, |Δ(−1)|: 1 for a line or a circle, 3 for a
trefoil, 5 for a figure of eight (Alexander 1928). A few rare knots have 1 too.

Before, corners are cut off where no part of the chain is in the way (Koniaris and Muthukumar 1991): of chains without
a knot little is left.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csgraph

from tessera._core import simplified_curve
from tessera.build.clashes.molecules import ROLE, Molecules
from tessera.launch import usable_cores
from tessera.system.model import FloatArray, IdArray

_BACKBONE = (("N", "CA", "C"), ("P", "O5'", "C5'", "C4'", "C3'", "O3'"))
_LEAST_ATOMS = 12  # of a backbone that can have a knot
_DIRECTIONS = 9  # in which the ends of a chain are drawn out; what most of them say counts
_FEW = 30  # corners whose crossings are counted sooner than their number is lowered
_FAR = 20.0  # how far ends are drawn out, in radii of the chain


@dataclass(frozen=True)
class Knot:
    """A backbone that has a knot: its first and last atom, and the determinant."""

    ends: tuple[int, int]
    determinant: int


def knots_of(molecules: Molecules) -> list[Knot]:
    """Returns the backbones of proteins and nucleic acids that have knots."""

    def number(backbone: tuple[IdArray, bool]) -> int:
        atoms, is_circle = backbone
        points = _in_one_piece(molecules, atoms)
        return determinant(points) if is_circle else determinant_of_open(points)

    found = sorted(backbones(molecules), key=lambda backbone: -len(backbone[0]))
    with ThreadPoolExecutor(usable_cores()) as threads:  # what takes long is no Python
        numbers = threads.map(number, found)
        knots = [Knot((int(atoms[0]), int(atoms[-1])), n) for (atoms, _), n in zip(found, numbers) if n != 1]
    return sorted(knots, key=lambda knot: knot.ends)


def backbones(molecules: Molecules) -> list[tuple[IdArray, bool]]:
    """Returns the backbones: their atoms from one end to the other, and whether they are circles."""
    names = [ROLE[name] for kind in _BACKBONE for name in kind]
    bonds = molecules.bonds[np.isin(molecules.role[molecules.bonds], names).all(axis=1)]
    atoms, rows = np.unique(bonds, return_inverse=True)
    rows = rows.reshape(-1, 2)
    if not len(atoms):
        return []
    graph = coo_array((np.ones(len(rows), np.int8), (rows[:, 0], rows[:, 1])), (len(atoms), len(atoms))).tocsr()
    _, piece = csgraph.connected_components(graph, directed=False)
    degree = np.bincount(rows.reshape(-1), minlength=len(atoms))
    size, most = np.bincount(piece), np.zeros(piece.max() + 1, np.int64)
    np.maximum.at(most, piece, degree)
    # each backbone by itself, an end first: a walk takes as long as its graph is large
    order = np.lexsort((np.arange(len(atoms)), degree > 1, piece))
    graph, begin = graph[order][:, order], np.cumsum(size) - size
    found = []
    for number in np.flatnonzero((size >= _LEAST_ATOMS) & (most == 2)).tolist():
        own = slice(begin[number], begin[number] + size[number])
        path = csgraph.depth_first_order(graph[own, own], 0, directed=False, return_predecessors=False)
        found.append((atoms[order[own][path]], bool(degree[order[own.start]] == 2)))
    return found


def _in_one_piece(molecules: Molecules, atoms: IdArray) -> FloatArray:
    """Returns the places (n,3) Å of atoms that are bonded one after another, in a box from image to image."""
    place = molecules.position[atoms]
    if molecules.box is None:
        return place
    steps = molecules.nearest(place[1:], place[:-1]) - place[:-1]
    return np.concatenate([place[:1], place[0] + np.cumsum(steps, axis=0)])


def determinant_of_open(points: FloatArray) -> int:
    """Returns the determinant of a chain (n,3) that most directions give in which both ends are drawn out; 1 where the
    first two say so."""
    centre = points.mean(axis=0)
    radius = float(np.linalg.norm(points - centre, axis=1).max()) + 1.0
    found = []
    for direction in _sphere(_DIRECTIONS):
        outside = _FAR * radius * direction
        ends = np.array([points[-1] + outside, centre + 2 * outside, points[0] + outside])
        found.append(determinant(np.concatenate([points, ends])))
        if found == [1, 1] or found.count(found[-1]) > _DIRECTIONS // 2:
            break
    return max(set(found), key=lambda number: (found.count(number), -number))


def _sphere(count: int) -> FloatArray:
    """Returns directions (count,3) spread over a sphere."""
    height = 1 - (2 * np.arange(count) + 1) / count
    turn = np.arange(count) * np.pi * (3 - np.sqrt(5)) + 0.1
    ring = np.sqrt(1 - height**2)
    return np.stack([ring * np.cos(turn), ring * np.sin(turn), height], axis=1)


def determinant(points: FloatArray) -> int:
    """Returns |Δ(−1)| of the closed curve through points (n,3)."""
    points = simplified_curve(np.ascontiguousarray(points, np.float64), _FEW)
    if len(points) < 6:  # the sticks of the shortest knot
        return 1
    return _of_crossings(points @ _ROTATION)


#: a rotation by which no two lines of a regular shape seem to meet in a point
_ROTATION = np.linalg.qr(np.array([[1.0, 0.31, 0.77], [-0.42, 1.0, 0.53], [0.19, -0.83, 1.0]]))[0]


def _of_crossings(points: FloatArray) -> int:
    """Returns |Δ(−1)| from the crossings of a closed curve (n,3) seen along z: over each crossing goes an arc, between
    two that end there, and its row of the matrix has 2 and −1, −1. A row and a column are left out."""
    n = len(points)
    step = np.roll(points, -1, axis=0) - points
    one, other = np.triu_indices(n, 2)
    one, other = one[(other - one) % n < n - 1], other[(other - one) % n < n - 1]
    cross = step[one, 0] * step[other, 1] - step[one, 1] * step[other, 0]
    between = points[other] - points[one]
    with np.errstate(divide="ignore", invalid="ignore"):
        s = (between[:, 0] * step[other, 1] - between[:, 1] * step[other, 0]) / cross
        t = (between[:, 0] * step[one, 1] - between[:, 1] * step[one, 0]) / cross
    meets = (cross != 0) & (s > 0) & (s < 1) & (t > 0) & (t < 1)
    one, other, s, t = one[meets], other[meets], s[meets], t[meets]
    if len(one) < 3:
        return 1
    is_over = points[one, 2] + s * step[one, 2] > points[other, 2] + t * step[other, 2]
    over = np.where(is_over, one + s, other + t)  # places along the curve
    under = np.sort(np.where(is_over, other + t, one + s))
    by_place = np.argsort(np.where(is_over, other + t, one + s), kind="stable")
    arc = np.searchsorted(under, over[by_place]) % len(under)
    rows = np.arange(len(under))
    matrix = np.zeros((len(under), len(under)))
    np.add.at(matrix, (rows, arc), 2)
    np.add.at(matrix, (rows, rows), -1)
    np.add.at(matrix, (rows, (rows + 1) % len(under)), -1)
    sign, log = np.linalg.slogdet(matrix[1:, 1:])
    return int(np.rint(np.exp(min(log, 40.0)))) if sign else 0
