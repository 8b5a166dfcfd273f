"""Cuts boxes out of a liquid that consists of copies of a tile.

Where a box does not hold whole tiles, its faces are seams, at which molecules meet images of other molecules. Too many
molecules are placed there at first, and those of greatest energy are removed one after another. Then the molecules near
the seams are shifted and turned along their forces until their energy is that of the liquid.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from tessera.constants import COULOMB
from tessera.system.model import FloatArray, IdArray

OVERLAP = 2.0  # Å: how far molecules are placed beyond a face before some are removed
MARGIN = 4.0  # Å: how far from a seam molecules move
REACH = 5.5  # Å: the distance of first atoms within which molecules interact here
CLASH = 5.0  # kcal/mol: the most that a pair counts in the test whether a seam is relaxed
NEAREST = 1.55  # Å: the least distance of atoms in different molecules
MOST_STEPS = 200
GAIN, MOST_SHIFT = 2e-3, 0.05  # Å for a force of 1 kcal/mol/Å, and at most Å
TURN_GAIN, MOST_TURN = 8e-3, 0.05  # radian for a torque of 1 kcal/mol, and at most radian


@dataclass(frozen=True)
class Liquid:
    """A cubic tile of rigid molecules (molecules,atoms,3) Å, its period `edge` in Å, and the charges (atoms,) e and σ,
    ε (atoms,2) Å and kcal/mol of a molecule's atoms. `rigid` restores the exact shape of molecules."""

    tile: FloatArray
    edge: float
    charge: FloatArray
    lj: FloatArray
    rigid: Callable[[FloatArray], FloatArray]

    def turned(self, seed: int) -> FloatArray:
        """Returns the tile shifted, and turned or mirrored onto itself, by a number that `seed` draws."""
        random = np.random.Generator(np.random.Philox(key=seed))
        axes, signs = random.permutation(3), random.choice([-1.0, 1.0], 3)
        return np.asarray(self.tile[:, :, axes] * signs + self.edge * random.random(3))


def box_of(liquid: Liquid, edges: FloatArray, count: int, seed: int) -> FloatArray:
    """Returns molecules (count,atoms,3) Å in a periodic box of `edges` (3,) Å that holds `count` at the tile's
    density."""
    tile = liquid.turned(seed)
    copies = edges / liquid.edge
    has_seam: NDArray[np.bool_] = np.abs(copies - np.rint(copies)) > 1e-9
    molecules = _fill(tile, liquid.edge, edges + OVERLAP * has_seam)
    if not has_seam.any():
        return molecules
    first = molecules[:, 0]
    is_near: NDArray[np.bool_] = has_seam & ((first < OVERLAP + MARGIN + REACH) | (first > edges - MARGIN - REACH))
    near = np.flatnonzero(np.any(is_near, axis=1))
    may_go = np.any(has_seam & ((first < OVERLAP) | (first >= edges)), axis=1)
    gone = _worst(liquid, molecules[near], edges, may_go[near], len(molecules) - count)
    may_move = np.any(has_seam & ((first < OVERLAP + MARGIN) | (first > edges - MARGIN)), axis=1)
    stays = np.delete(near, gone)
    molecules[stays] = _relaxed(liquid, molecules[stays], edges, may_move[stays])
    return np.delete(molecules, near[gone], axis=0)


def _fill(tile: FloatArray, edge: float, extent: FloatArray) -> FloatArray:
    """Returns the molecules whose first atom is in [0, extent)."""
    first = tile[:, 0] % edge
    molecules = tile - tile[:, :1] + first[:, None, :]
    parts = []
    for index in np.ndindex(*(int(n) for n in np.ceil(extent / edge - 1e-9))):
        shift = edge * np.array(index)
        parts.append((molecules + shift)[(first + shift < extent - 1e-9 * edge).all(axis=1)])
    return np.concatenate(parts)


def _neighbours(molecules: FloatArray, edges: FloatArray) -> tuple[IdArray, FloatArray]:
    """Returns pairs of molecules (n,2) and the box vectors between them (n,3) Å."""
    first = molecules[:, 0] % edges
    pairs = scipy.spatial.cKDTree(first, boxsize=edges).query_pairs(REACH, output_type="ndarray").astype(np.int64)
    return pairs, np.rint((molecules[pairs[:, 0], 0] - molecules[pairs[:, 1], 0]) / edges) * edges


def _interactions(
    liquid: Liquid, molecules: FloatArray, pairs: IdArray, image: FloatArray
) -> Iterator[tuple[int, int, FloatArray, FloatArray, FloatArray]]:
    """Yields, for each choice of atoms i and j of two molecules, i, j, the vectors between them (n,3) Å, energies (n,)
    and forces over distance (n,) of all pairs."""
    sigma = (liquid.lj[:, None, 0] + liquid.lj[None, :, 0]) / 2
    epsilon = np.sqrt(liquid.lj[:, None, 1] * liquid.lj[None, :, 1])
    for i, j in np.ndindex(sigma.shape):
        between = molecules[pairs[:, 0], i] - molecules[pairs[:, 1], j] - image
        square = np.maximum(np.einsum("nd,nd->n", between, between), 0.25)
        s6 = (sigma[i, j] ** 2 / square) ** 3
        repulsion, attraction = 4 * epsilon[i, j] * s6 * s6, 4 * epsilon[i, j] * s6
        coulomb = COULOMB["charmm"] * liquid.charge[i] * liquid.charge[j] / np.sqrt(square)
        yield i, j, between, repulsion - attraction + coulomb, (12 * repulsion - 6 * attraction + coulomb) / square


def _worst(
    liquid: Liquid, molecules: FloatArray, edges: FloatArray, may_go: NDArray[np.bool_], count: int
) -> NDArray[np.intp]:
    """Chooses `count` molecules to remove: one after another the one that has the greatest energy with the others that
    are left."""
    pairs, image = _neighbours(molecules, edges)
    energy = np.zeros(len(pairs))
    for *_, of_atoms, _ in _interactions(liquid, molecules, pairs, image):
        energy += of_atoms
    total = np.bincount(pairs[:, 0], energy, len(molecules)) + np.bincount(pairs[:, 1], energy, len(molecules))
    one, other = np.concatenate([pairs, pairs[:, ::-1]]).T
    order = np.argsort(one, kind="stable")
    partner, shared = other[order], np.concatenate([energy, energy])[order]
    begin = np.searchsorted(one[order], np.arange(len(molecules) + 1))
    stays = np.ones(len(molecules), bool)
    heap = [(-total[m], int(m)) for m in np.flatnonzero(may_go)]
    heapq.heapify(heap)
    while count > 0:
        negative, worst = heapq.heappop(heap)
        if not stays[worst] or -negative != total[worst]:
            continue  # it is removed, or has lost a neighbour meanwhile
        stays[worst] = False
        count -= 1
        for k in range(begin[worst], begin[worst + 1]):
            m = int(partner[k])
            total[m] -= shared[k]
            if may_go[m] and stays[m]:
                heapq.heappush(heap, (-total[m], m))
    return np.flatnonzero(~stays)


def _relaxed(liquid: Liquid, molecules: FloatArray, edges: FloatArray, may_move: NDArray[np.bool_]) -> FloatArray:
    """Moves molecules along their forces until they have the energy of molecules in the tile, and no further, so that a
    run from this start keeps its temperature."""
    tile_edges = np.full(3, liquid.edge)
    tile_pairs, tile_image = _neighbours(liquid.tile, tile_edges)
    energies = [e.sum() for *_, e, _ in _interactions(liquid, liquid.tile, tile_pairs, tile_image)]
    of_liquid = sum(energies) / len(liquid.tile)
    pairs, image = _neighbours(molecules, edges)
    acts = may_move[pairs].any(axis=1)
    pairs, image = pairs[acts], image[acts]
    share = may_move[pairs].mean(axis=1)  # share of a pair's energy that belongs to molecules that may move
    one, n = np.ones(len(pairs)), np.arange(len(pairs))
    sums = [scipy.sparse.csr_array((one, (pairs[:, side], n)), shape=(len(molecules), len(pairs))) for side in (0, 1)]
    molecules = molecules.copy()
    for _ in range(MOST_STEPS):
        energy, nearest2 = np.zeros(len(pairs)), np.full(len(pairs), np.inf)
        on_pairs = np.zeros((2, len(pairs), *molecules.shape[1:]))
        for i, j, between, of_pairs, slope in _interactions(liquid, molecules, pairs, image):
            energy += of_pairs
            nearest2 = np.minimum(nearest2, np.einsum("nd,nd->n", between, between))
            force_on_i = slope[:, None] * between
            on_pairs[0, :, i] += force_on_i
            on_pairs[1, :, j] -= force_on_i
        force = (sums[0] @ on_pairs[0].reshape(len(pairs), -1) + sums[1] @ on_pairs[1].reshape(len(pairs), -1)).reshape(
            molecules.shape
        )
        moves = may_move
        if share @ np.minimum(energy, CLASH) <= of_liquid * may_move.sum():
            # Molecules that are still too close, and those around them, move again.
            clashes = np.zeros(len(molecules), bool)
            clashes[pairs[nearest2 < NEAREST**2]] = True
            if not clashes.any():
                break
            around = np.zeros(len(molecules), bool)
            around[pairs[clashes[pairs].any(axis=1)]] = True
            moves = around & may_move
        moving, force = molecules[moves], force[moves]
        arm = moving - moving.mean(axis=1, keepdims=True)
        shift = _limited(force.sum(axis=1), GAIN, MOST_SHIFT)
        turn = _limited(np.cross(arm, force).sum(axis=1), TURN_GAIN, MOST_TURN)
        molecules[moves] = liquid.rigid(moving + shift[:, None] + np.cross(turn[:, None], arm))
    return molecules


def _limited(vectors: FloatArray, gain: float, most: float) -> FloatArray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors * np.minimum(gain, most / np.maximum(length, 1e-12)))
