"""The mesoscale model of a fibre: cores of nucleosomes, and beads of about 9 base pairs of linker DNA between them.

The model is that of Sun, Zhang and Schlick (2005): linkers with a persistence length of 50 nm and a
torsional rigidity of 3·10⁻¹² erg·nm, cores with charges, excluded volume. It differs in that steps between beads have
the elasticity of the linkers that are built in the end (`dna/rods.py`), stretching and shifts too, so that every linker
it leaves can be built; and in that volume is that of hard spheres as thick as DNA. Tails of histones are chains of
beads as in Arya, Zhang and Schlick (2006) (`tails`), if a core has any. Frames turn with DNA's own twist,
which is taken out of them, so that a step at rest is straight.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tessera._core import FiberChain
from tessera.build.charges.debye import BJERRUM, kappa
from tessera.build.dna.frames import Frames, about_z
from tessera.build.dna.paths import RISE, TWIST
from tessera.build.dna.rods import PERSISTENCE, STRETCH, TORSION
from tessera.build.fiber.core import DIAMETER, Core
from tessera.build.fiber.salt import cutoff, line_charge
from tessera.build.fiber.tails import DIAMETER as BEAD_DIAMETER
from tessera.build.fiber.tails import SPRINGS
from tessera.system.model import FloatArray, IdArray

BEAD = 9 * RISE  # Å of linker DNA, about
REACH = DIAMETER / 2  # Å by which a move shifts anything at most: DNA does not go through DNA


@dataclass(frozen=True)
class Layout:
    """Which nodes a fibre with these linkers (n - 1) in base pairs has: a core, beads of a linker, the next core."""

    linkers: tuple[int, ...]

    @cached_property
    def beads(self) -> IdArray:
        """The beads of each linker (n - 1)."""
        return np.maximum(np.rint((np.array(self.linkers, np.int64) + 1) * RISE / BEAD), 1).astype(np.int64)

    @cached_property
    def cores(self) -> IdArray:
        """The nodes that are cores (n)."""
        return np.concatenate([[0], np.cumsum(self.beads + 1)])

    @property
    def nodes(self) -> int:
        return int(self.cores[-1]) + 1


def springs(length: FloatArray) -> FloatArray:
    """Returns the springs (n,5) of pieces of DNA of these lengths (n) in Å: the length, and kT/Å² and kT/rad² of
    shifts, of stretching, of bending and of twisting. A piece whose ends don't turn gives way to a shift as a beam
    does, by bending one way and back."""
    shift = length**3 / (12 * PERSISTENCE) + length / STRETCH
    return np.stack([length, 1 / shift, STRETCH / length, PERSISTENCE / length, TORSION / length], axis=1)


def chain(
    layout: Layout,
    core: Core,
    salt: float,
    radius: float,
    seed: int,
    reach: float = REACH,
    anchors: FloatArray | None = None,
) -> FiberChain:
    """Returns the chain of a fibre, of which no node is anywhere yet, within a sphere of this radius in Å about the
    origin, in a monovalent salt in mol/L; springs hold nodes near `anchors` (nodes,4), x y z in Å, with a stiffness in
    kT/Å²."""
    lengths, kind_of_linker = np.unique(layout.linkers, return_inverse=True)
    kinds = [(core.charges, core.spheres)]
    kind = np.zeros(layout.nodes, np.int64)
    size = np.zeros(len(layout.linkers))
    for row, n in enumerate(lengths.tolist()):
        own = np.flatnonzero(kind_of_linker == row)
        beads = int(layout.beads[own[0]])
        size[own] = (n + 1) * RISE / beads
        kinds.append(_bead(float(size[own[0]]), salt))
        for linker in own.tolist():
            kind[layout.cores[linker] + 1 : layout.cores[linker + 1]] = row + 1
    steps = layout.nodes - 1
    exits, entries = np.zeros((steps, 4, 3)), np.zeros((steps, 4, 3))
    exits[:, 1:] = entries[:, 1:] = np.eye(3)
    before, after = layout.cores[:-1], layout.cores[1:] - 1
    exits[before] = rows_of(core.pairs[-1])
    entries[after] = np.array([rows_of(_untwisted(core.pairs[0], n + 1)) for n in layout.linkers]).reshape(-1, 4, 3)
    length = np.repeat(size, layout.beads + 1)
    # A bead is the middle of its piece: the first and the last step are half as long.
    length[before] /= 2
    length[after] /= 2
    return FiberChain(
        kinds, kind, exits, entries, springs(length),
        screened=(BJERRUM, kappa(salt), cutoff(salt)), diameter=DIAMETER, radius=radius, reach=reach, seed=seed,
        anchors=anchors, tails=[(0, tail.place.tolist(), list(tail.charges)) for tail in core.tails],
        tail_springs=SPRINGS, bead_diameter=BEAD_DIAMETER,
    )  # fmt: skip


def frames_of(rows: FloatArray) -> Frames:
    """Returns frames from an origin and three axes each (n,4,3)."""
    return Frames(rows[:, 0], rows[:, 1:].swapaxes(1, 2))


def rows_of(frame: Frames) -> FloatArray:
    """Returns the origin and the axes (4,3) of a single frame."""
    return np.concatenate([frame.origin[None], frame.rotation.T])


def _untwisted(frame: Frames, steps: int) -> Frames:
    """Returns a single frame before the twist that DNA has by itself over these steps."""
    return Frames(frame.origin, frame.rotation @ about_z(np.array(-steps * np.radians(TWIST))))


def _bead(size: float, salt: float) -> tuple[FloatArray, FloatArray]:
    """Returns charges and spheres of a bead of this length in Å."""
    along = np.array([-1.0, 0.0, 1.0]) * size / 3
    spheres = np.stack([0 * along, 0 * along, along], axis=1)
    charge = np.full((3, 1), -line_charge(salt) * size / 3)
    return np.concatenate([spheres, charge], axis=1), spheres
