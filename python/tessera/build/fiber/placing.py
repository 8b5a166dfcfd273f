"""Puts a fibre on given centres of its nucleosomes: turned anyhow, with straight linkers, which then unfold.

At first parts go through each other, while springs bring the chain together and anchors hold nucleosomes at their
centres; then spheres become harder step by step, until nothing overlaps.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial import cKDTree

from tessera._core import FiberChain
from tessera.build.fiber.core import Core
from tessera.build.fiber.mesoscale import REACH, Layout, chain, frames_of
from tessera.system.model import FloatArray, IdArray

_STIFFNESS = 0.01  # kT/Å² of an anchor, by which a nucleosome stays within some 20 Å
_HEATS = (20, 20, 10, 10, 5, 5, 3, 3, 2, 2, 1, 1, 1)  # times the temperature, by which turns too many leave linkers
_HARDER = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)  # kT of a pair of spheres that meet
_SWEEPS = 50  # moves for each node at each of these
_GIVES_WAY = 1.5  # times less stiff is an anchor about a linker that can't be built
_WIDER = 80.0  # Å
_AT_MOST = 30  # times at the last hardness
_COOL = 0.2  # times the temperature, then
_SAMPLES = 400  # of a linker alone


class Placing:
    """A fibre and the centres (n,3) Å at which springs hold its nucleosomes."""

    def __init__(self, centres: FloatArray, layout: Layout, core: Core, salt: float, radius: float, seed: int) -> None:
        self._layout, self._core, self._salt, self._radius, self._seed = layout, core, salt, radius, seed
        self._around = 0.0
        self._anchors = np.zeros((layout.nodes, 4))
        self._anchors[layout.cores, :3] = centres
        self._anchors[layout.cores, 3] = _STIFFNESS

    def first(self) -> FiberChain | None:
        """Returns the fibre at its centres, or none where there is no room."""
        centres = self._anchors[self._layout.cores, :3]
        frames = _straight(centres, self._layout, np.random.default_rng(self._seed))
        return self._unfolded(frames, np.arange(self._layout.nodes))

    def again(self, frames: FloatArray, nodes: IdArray, gives_way: bool) -> FiberChain | None:
        """Returns a fibre at frames (nodes,4,3) of which some nodes unfold anew, or none where there is no room: next
        time more around them unfolds, too. Springs of those nodes may give way, by which the fibre loses its map."""
        if gives_way:
            self._anchors[nodes, 3] /= _GIVES_WAY
        self._seed += 1
        away, _ = cKDTree(frames[nodes, 0]).query(frames[:, 0])
        found = self._unfolded(frames, np.flatnonzero(away <= self._around))
        self._around = self._around + _WIDER if found is None else 0.0
        return found

    def _unfolded(self, frames: FloatArray, nodes: IdArray) -> FiberChain | None:
        """Returns a fibre of which parts about these nodes went through each other at first, and left each other."""
        soft = chain(
            self._layout, replace(self._core, tails=()), self._salt, self._radius, self._seed, np.inf, self._anchors
        )
        soft.place(frames)
        soft.set_focus(nodes)
        moves = len(nodes) * _SWEEPS
        soft.set_hardness(0.0)
        for heat in _HEATS:
            soft.run(moves, heat=heat, tune=True)
        for hardness in _HARDER:
            soft.set_hardness(hardness)
            soft.run(moves, tune=True)
        for _ in range(_AT_MOST):
            if soft.overlap() == 0:
                sampled = chain(self._layout, self._core, self._salt, self._radius, self._seed, REACH, self._anchors)
                sampled.place(soft.frames())
                return sampled
            soft.run(moves, heat=_COOL, tune=True)
        return None


def spans(layout: Layout, core: Core, salt: float, seed: int) -> FloatArray:
    """Returns the distances (n - 1,2) in Å between which two nucleosomes are 19 of 20 times if only their linker and
    their charges hold them."""
    found = {}
    for linker in sorted(set(layout.linkers)):
        alone = Layout((linker,))
        sampled = chain(alone, core, salt, np.inf, seed, reach=np.inf)
        sampled.grow(alone.cores)
        sampled.run(alone.nodes * 1000, tune=True)
        distance = np.zeros(_SAMPLES)
        for at in range(_SAMPLES):
            sampled.run(alone.nodes * 20)
            ends = sampled.frames()[alone.cores, 0]
            distance[at] = np.linalg.norm(ends[1] - ends[0])
        found[linker] = np.quantile(distance, (0.025, 0.975))
    return np.array([found[linker] for linker in layout.linkers]).reshape(-1, 2)


def axis(sampled: FiberChain, layout: Layout, core: Core) -> FloatArray:
    """Returns a line (m,3) Å along the DNA of a fibre, by beads and every third pair of nucleosomes."""
    frames = sampled.frames()
    wrapped = frames_of(frames[layout.cores]).placed(core.pairs.origin[::3])
    parts = [wrapped[0]]
    for at, first in enumerate(layout.cores[:-1].tolist()):
        parts += [frames[first + 1 : first + 1 + int(layout.beads[at]), 0], wrapped[at + 1]]
    return np.concatenate(parts)


def _straight(centres: FloatArray, layout: Layout, draws: np.random.Generator) -> FloatArray:
    """Returns frames (nodes,4,3) of nucleosomes at centres, turned by chance, and of beads on the lines between."""
    frames = np.zeros((layout.nodes, 4, 3))
    frames[layout.cores, 0] = centres
    frames[layout.cores, 1:] = [_axes(draws.normal(size=3), draws) for _ in layout.cores]
    for at, beads in enumerate(layout.beads.tolist()):
        line = centres[at + 1] - centres[at]
        nodes = layout.cores[at] + 1 + np.arange(beads)
        frames[nodes, 0] = centres[at] + ((np.arange(beads) + 1) / (beads + 1))[:, None] * line
        frames[nodes, 1:] = _axes(line, draws)
    return frames


def _axes(along: FloatArray, draws: np.random.Generator) -> FloatArray:
    """Returns three axes (3,3), the last of which has this direction, turned about it by chance."""
    z = along / np.linalg.norm(along)
    x = np.cross(draws.normal(size=3), z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z])
