"""The linkers of a fibre that was sampled, as they will be built: whether each can be, and what they meet."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from tessera.build.dna.frames import Frames
from tessera.build.dna.rods import Rod, rod
from tessera.build.fiber.core import DIAMETER, Core
from tessera.build.fiber.join import check_linker
from tessera.build.fiber.table import Nucleosomes
from tessera.errors import InputError
from tessera.system.model import FloatArray

_APART = 0.8 * DIAMETER  # Å: what is nearer than this overlaps; beads that are sampled stay apart by all of it
_BESIDE = 12  # pairs of a linker beside a nucleosome, which the model does not keep apart from it


class Linkers:
    """The rods between nucleosomes, which are made again only where one has moved."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._rods: dict[int, tuple[bytes, Rod]] = {}

    def faults(self, fiber: Nucleosomes) -> dict[int, str]:
        """Returns what is wrong with linkers, by their numbers from 0: those that DNA can't follow, and those that meet
        a nucleosome or another linker."""
        found: dict[int, str] = {}
        for at, n in enumerate(fiber.linkers):
            try:
                check_linker(self._rod(fiber, at), n, f"between nucleosomes {at + 1} and {at + 2}")
            except InputError as error:
                found[at] = str(error).partition(": give")[0]
        return found | self._meetings(fiber) if fiber.linkers else found

    def axis(self, fiber: Nucleosomes) -> FloatArray:
        """Returns the axis (n,3) Å of the DNA from end to end, every third pair."""
        parts = []
        for at in range(len(fiber.frames)):
            parts.append(fiber.frames[at : at + 1].placed(self._core.pairs.origin)[0][::3])
            if at < len(fiber.linkers):
                parts.append(self._rod(fiber, at).pairs.origin[::3])
        return np.concatenate(parts)

    def _rod(self, fiber: Nucleosomes, at: int) -> Rod:
        frames = fiber.frames[at : at + 2]
        key = frames.origin.tobytes() + frames.rotation.tobytes()
        kept = self._rods.get(at)
        if kept is None or kept[0] != key:
            first, last = (_moved(self._core.pairs[end], frames[row]) for row, end in ((0, -1), (1, 0)))
            kept = self._rods[at] = (key, rod(first, last, fiber.linkers[at]))
        return kept[1]

    def _meetings(self, fiber: Nucleosomes) -> dict[int, str]:
        """Returns which linkers meet a nucleosome or another linker."""
        found = {}
        points = np.concatenate([self._rod(fiber, at).pairs.origin for at in range(len(fiber.linkers))])
        linker = np.repeat(np.arange(len(fiber.linkers)), fiber.linkers)
        from_first = np.concatenate([np.arange(n) for n in fiber.linkers])
        from_last = np.repeat(fiber.linkers, fiber.linkers) - 1 - from_first
        one, other = cKDTree(points).query_pairs(_APART, output_type="ndarray").reshape(-1, 2).T
        for a, b in np.unique(linker[np.stack([one, other], axis=1)], axis=0).tolist():
            if a != b:
                found[a] = found[b] = f"linkers {min(a, b) + 1} and {max(a, b) + 1} meet"
        spheres = fiber.frames.placed(self._core.spheres)
        tree = cKDTree(spheres.reshape(-1, 3))
        near = cKDTree(points).sparse_distance_matrix(tree, _APART, output_type="coo_matrix")
        point, nucleosome = near.row, near.col // spheres.shape[1]
        at = linker[point]
        is_beside = (nucleosome == at) & (from_first[point] < _BESIDE)
        is_beside |= (nucleosome == at + 1) & (from_last[point] < _BESIDE)
        for a, b in np.unique(np.stack([at, nucleosome], axis=1)[~is_beside], axis=0).tolist():
            found[a] = f"linker {a + 1} meets nucleosome {b + 1}"
        return found


def _moved(frame: Frames, to: Frames) -> Frames:
    """Returns a single frame of a nucleosome where the nucleosome is at a frame."""
    return Frames(to.origin + to.rotation @ frame.origin, to.rotation @ frame.rotation)
