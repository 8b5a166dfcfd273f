"""Folds a fibre's nucleosomes by a map: places of their centres whose contacts are those of the map.

How contacts follow from the distance r of two bins depends on the map, and two laws are tried:

    c(r) = (1 + (r/d)^(p q))^(-1/q)

`cube` with p = 3 and q = 4 is min(1, (d/r)³) with its corner rounded: how often parts of a globule meet that are near
each other by chance, for maps of many cells (contacts fall with the inverse of the separation s, and r with its cube
root: Lieberman-Aiden et al. 2009). `cutoff` with p = 12 and q = 1 is a step: who is near whom in a single fibre. d is
the distance of neighbouring bins.

What is sought are places with the least squares of c(r) less the map, such that successive nucleosomes are as far apart
as their linker lets them be, and all have room in the sphere. The search begins where distances are most like those of
the map (classical scaling, Torgerson 1952), those of pairs without contacts by way of others (Tenenbaum et al. 2000).
A map is the same in a mirror, so that both hands fit it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import shortest_path
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from tessera.build.fiber.maps import APART, ContactMap
from tessera.errors import InputError
from tessera.system.model import FloatArray, IdArray

_MOST = 5000  # nucleosomes, all pairs of which are looked at
_NEAR, _OF = 200.0, 195.0  # Å between the middles of neighbouring bins of so many pairs, one nucleosome with its linker
_CLOSEST = 100.0  # Å between centres, which those of cores in a dense globule hardly fall below
_INSET = 60.0  # Å from a centre to the sphere
_CONTACT, _PLACE = 200.0, 0.005  # kT for a contact too much, and kT/Å² for what is too near or too far
_FIRST_SCATTER = 60.0  # Å from the first places, by which the seed decides among minima
_STARTS = 4
_STEPS = 500  # of the minimisation


@dataclass(frozen=True)
class Law:
    """How contacts follow from distances: the power by which they fall, and how sharp the corner before is."""

    name: str
    power: float
    sharpness: float
    before: tuple[tuple[float, float], ...] = ()  # powers and sharpnesses with which the search begins

    def contacts(self, r: FloatArray, near: float) -> FloatArray:
        """Returns the contacts at distances in Å."""
        return _contacts(r / near, self.power, self.sharpness)


CUBE = Law("cube", 3.0, 4.0)
CUTOFF = Law("cutoff", 12.0, 1.0, ((3.0, 4.0), (6.0, 2.0)))
LAWS = (CUBE, CUTOFF)


def _contacts(x: FloatArray, power: float, sharpness: float) -> FloatArray:
    return np.asarray((1 + x ** (power * sharpness)) ** (-1 / sharpness))


@dataclass(frozen=True)
class Agreement:
    """How well a fibre has the contacts of a map by a law: the correlation (Pearson) over the known pairs of bins that
    are not neighbours, and that of the contacts as parts of the mean at each separation along the DNA."""

    law: str
    correlation: float
    beside_separation: float


@dataclass(frozen=True)
class Folder:
    """A map beside a fibre: linkers (n - 1) in base pairs between nucleosomes that wrap so many, distances (n - 1,2) in
    Å between which linkers let successive centres be, and the radius of the sphere."""

    contacts: ContactMap
    linkers: tuple[int, ...]
    wrapped: int
    spans: FloatArray
    radius: float

    def __post_init__(self) -> None:
        if len(self.linkers) + 1 > _MOST:
            raise InputError(f"a map folds at most {_MOST:,} nucleosomes, and there are {len(self.linkers) + 1:,}")

    @property
    def near(self) -> float:
        """The distance of neighbouring bins, Å, which fill space as nucleosomes do."""
        return float(_NEAR * np.cbrt(self.contacts.size / _OF))

    def middles(self) -> csr_matrix:
        """Returns the weights (b,n) with which centres of nucleosomes make up the middles of bins: base pairs are at
        the nucleosome that wraps them, or on the line from one to the next."""
        wrapped, linkers = self.wrapped, np.array(self.linkers, np.int64)
        ends = np.cumsum(np.append(linkers, 0) + wrapped)
        pair = np.arange(ends[-1])
        at = np.searchsorted(ends, pair, side="right")
        into = pair - (np.append(0, ends[:-1])[at] + wrapped)
        part = np.clip((into + 0.5) / np.append(linkers, 1)[at], 0.0, 1.0)
        following = np.minimum(at + 1, len(linkers))
        rows, columns = np.tile(pair // self.contacts.size, 2), np.concatenate([at, following])
        shape = (len(self.contacts.shares), len(linkers) + 1)
        weights = coo_matrix((np.concatenate([1 - part, part]), (rows, columns)), shape).tocsr()
        return csr_matrix(weights.multiply(1 / weights.sum(axis=1)))

    def agreement(self, centres: FloatArray, law: Law) -> Agreement:
        """Returns how well nucleosomes with these centres (n,3) Å have the contacts of the map."""
        one, other = self.contacts.pairs
        middles = self.middles() @ centres
        found = law.contacts(np.linalg.norm(middles[one] - middles[other], axis=1), self.near)
        given = self.contacts.shares[one, other]
        apart = other - one
        return Agreement(law.name, _correlation(given, found), _correlation(*_beside(apart, given, found)))

    def fold(self, seed: int, report: Callable[[str], None] = lambda _: None) -> tuple[FloatArray, Law]:
        """Returns centres (n,3) Å whose contacts are nearest to those of the map, and the law by which they are."""
        best: tuple[float, FloatArray, Law] | None = None
        for law in LAWS:
            report(f"folding the map's contacts ({law.name})")
            centres = self._fold(law, np.random.default_rng(seed))
            reached = self.agreement(centres, law).correlation
            if best is None or reached > best[0]:
                best = (reached, centres, law)
        assert best is not None
        return best[1], best[2]

    def _fold(self, law: Law, draws: np.random.Generator) -> FloatArray:
        first, energy = self._first_places(), _Energy(self)
        found = []
        for _ in range(_STARTS):
            centres = first + draws.normal(0.0, _FIRST_SCATTER, first.shape)
            for power, sharpness in (*law.before, (law.power, law.sharpness)):
                done = minimize(
                    energy, centres.reshape(-1), (power, sharpness), "L-BFGS-B", jac=True, options={"maxiter": _STEPS}
                )
                centres = done.x.reshape(-1, 3)
            found.append((float(done.fun), centres))
        return min(found, key=lambda entry: entry[0])[1]

    def _first_places(self) -> FloatArray:
        """Returns centres (n,3) by classical scaling, in the sphere."""
        shares, near = self.contacts.shares, self.near
        bins = len(shares)
        links = np.where(shares > 0, near * np.maximum(shares, 1e-9) ** (-1 / 3), 0.0)  # none where 0 or unknown
        beside = np.arange(bins - 1)
        links[beside, beside + 1] = links[beside + 1, beside] = near
        squares = shortest_path(links, directed=False) ** 2
        centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
        size, axes = np.linalg.eigh(-centred / 2)
        places = (axes * np.sqrt(np.maximum(size, 0.0)))[:, -3:]
        repeats = np.cumsum(np.append(0, np.array(self.linkers, np.int64) + self.wrapped)) + self.wrapped / 2
        at = self.contacts.size * (np.arange(bins) + 0.5)
        centres = np.stack([np.interp(repeats, at, places[:, axis]) for axis in range(3)], axis=1)
        most = float(np.linalg.norm(centres, axis=1).max())
        return centres * min(1.0, max(self.radius - _INSET, 1.0) / max(most, 1.0))


class _Energy:
    """The energy of centres, in kT, and how it changes with them."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._middles = folder.middles()
        shares = folder.contacts.shares
        bins = np.arange(len(shares))
        self._is_held = (np.abs(bins[:, None] - bins) >= APART) & np.isfinite(shares)
        self._shares = np.where(self._is_held, shares, 0.0)

    def __call__(self, flat: FloatArray, power: float, sharpness: float) -> tuple[float, FloatArray]:
        centres = flat.reshape(-1, 3)
        energy, slope = self._of_contacts(centres, power, sharpness)
        for pairs, least, most in self._spans(centres):
            away = centres[pairs[0]] - centres[pairs[1]]
            r = np.linalg.norm(away, axis=1)
            beyond = r - np.clip(r, least, most)
            energy += _PLACE * float(beyond @ beyond)
            pull = (2 * _PLACE * beyond / np.maximum(r, 1e-6))[:, None] * away
            np.add.at(slope, pairs[0], pull)
            np.add.at(slope, pairs[1], -pull)
        r = np.linalg.norm(centres, axis=1)
        beyond = np.maximum(r - (self._folder.radius - _INSET), 0.0)
        slope += (2 * _PLACE * beyond / np.maximum(r, 1e-6))[:, None] * centres
        return energy + _PLACE * float(beyond @ beyond), slope.reshape(-1)

    def _of_contacts(self, centres: FloatArray, power: float, sharpness: float) -> tuple[float, FloatArray]:
        middles = self._middles @ centres
        r = np.maximum(cdist(middles, middles), 1e-6)
        found = _contacts(r / self._folder.near, power, sharpness)
        off = np.where(self._is_held, found - self._shares, 0.0)
        # dc/dr = -p c (1 - c^q) / r
        pull = -2 * _CONTACT * off * power * found * (1 - found**sharpness) / r**2
        slope = pull.sum(axis=1)[:, None] * middles - pull @ middles
        return _CONTACT / 2 * float((off * off).sum()), np.asarray(self._middles.T @ slope)

    def _spans(self, centres: FloatArray) -> list[tuple[IdArray, FloatArray | float, FloatArray | float]]:
        """Returns pairs of centres (2,k) with the distances between which they should be."""
        before = np.arange(len(centres) - 1)
        near = cKDTree(centres).query_pairs(_CLOSEST, output_type="ndarray").reshape(-1, 2).T
        low, high = self._folder.spans.T
        return [(np.stack([before, before + 1]), low, high), (near, _CLOSEST, np.inf)]


def _correlation(given: FloatArray, found: FloatArray) -> float:
    """Returns Pearson's correlation, or 0 where one of both is the same everywhere."""
    if len(given) < 2 or not np.ptp(given) or not np.ptp(found):
        return 0.0
    return float(np.corrcoef(given, found)[0, 1])


def _beside(apart: IdArray, given: FloatArray, found: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Returns contacts as parts of their means at each separation, where the map has any."""
    count = np.maximum(np.bincount(apart), 1)
    of_given, of_found = (np.bincount(apart, values) / count for values in (given, found))
    is_used = (of_given[apart] > 0) & (of_found[apart] > 0)
    return (given[is_used] / of_given[apart][is_used]), (found[is_used] / of_found[apart][is_used])
