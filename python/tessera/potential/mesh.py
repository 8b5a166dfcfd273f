"""The mean electrostatic potential of frames on the points of a mesh.

Every charge counts as a Gaussian of the width 1 / (√2 alpha), which is the long-range part of Ewald's sum:

    φ(r) = C/V Σ_{k≠0} 4π/k² exp(-k²/4alpha²) S(k) exp(ik·r),  S(k) = Σ_j q_j exp(-ik·r_j)

(Aksimentiev and Schulten 2005). Charges are spread by the engine's B-splines (Essmann et al. 1995, eq.
4.1), whose transform, divided by that of the splines at whole numbers, is S. The mesh is that of fractions of the box,
from -1/2 on: where boxes differ from frame to frame, potentials at the same fractions are averaged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from tessera import _core
from tessera.fft import Transform
from tessera.ranks import ALONE, Ranks
from tessera.system.blocks import to_fraction
from tessera.system.model import FloatArray, IdArray

ORDER = 6  # of the splines
#: alpha times the distance of points, at most: the spectrum has fallen to e⁻¹⁰ where the mesh ends
FINEST = 0.5
_AT_ONCE = 1_000_000  # atoms
_MOST_FRAMES = 10_000  # whose charges are summed as whole numbers


class MeanPotential:
    """Takes frames one after the other on all ranks; each rank has some points of the mesh. The bits of the result are
    the same on any ranks.

    `shape`: points along the box vectors. `alpha`: Å⁻¹. `coulomb`: kcal Å mol⁻¹ e⁻². Raises `FftError`.
    """

    def __init__(self, shape: tuple[int, int, int], alpha: float, coulomb: float, ranks: Ranks = ALONE) -> None:
        self.shape, self._alpha, self._coulomb = shape, alpha, coulomb
        self._transform = Transform(shape, comm=ranks if ranks.size > 1 else None)
        self.slices = self._transform.input_slices  # this rank's points, along each edge
        margin = ORDER - 1  # what kernels need on every side, so that a spline that touches the points fits
        self._charge = np.zeros([n + 2 * margin for n in self._transform.input_shape], np.int64)
        self._inner = (slice(margin, -margin),) * 3
        self._lower = [own.start - margin for own in self.slices]
        self._sum = np.zeros(self._transform.output_shape, np.complex128)
        self._box: FloatArray | None = None  # of the charges that are on the mesh
        self.frames = 0  # that were added

    def add(self, positions: NDArray[Any], charges: FloatArray, box: FloatArray) -> None:
        """Adds a frame. `positions`: (n,3) Å, `charges`: (n,) e, `box`: (3,3) Å, whose rows are vectors. Collective."""
        if self._box is not None and not (np.array_equal(box, self._box) and self.frames % _MOST_FRAMES):
            self._solve()
        self._box = box.copy()
        for begin in range(0, len(charges), _AT_ONCE):
            part = slice(begin, begin + _AT_ONCE)
            fraction = to_fraction(positions[part].astype(np.float64), box)
            _core.spread(self._charge, self.shape, self._lower, ORDER, fraction, charges[part])
        self.frames += 1

    def mean(self) -> FloatArray:
        """Returns the potential in kcal/mol/e at this rank's points (x, y, z), `slices` of all. Collective."""
        self._solve()
        return np.asarray(self._transform.backward(self._sum / self.frames))

    def _solve(self) -> None:
        """Adds the spectrum of the potential of what is on the mesh, and clears the mesh."""
        if self._box is None:
            return
        spectrum = self._transform.forward(self._charge[self._inner] / _core.charge_scale)
        spectrum *= self._influence(self._box)
        self._sum += spectrum
        self._charge[:] = 0
        self._box = None

    def _influence(self, box: FloatArray) -> FloatArray:
        """Returns what the transformed charges are multiplied by, at this rank's part of the spectrum."""
        reciprocal = 2 * np.pi * np.linalg.inv(box).T
        waves = [_wave_numbers(n)[s] for n, s in zip(self.shape, self._transform.output_slices)]
        k = sum(m.reshape([-1 if a == axis else 1 for a in range(3)] + [1]) * reciprocal[axis]
                for axis, m in enumerate(waves))  # fmt: skip
        square = np.einsum("xyzc,xyzc->xyz", k, k)
        splines = [_spline_spectrum(n)[s] for n, s in zip(self.shape, self._transform.output_slices)]
        at_points = splines[0][:, None, None] * splines[1][:, None] * splines[2]
        with np.errstate(divide="ignore", over="ignore"):
            found = 4 * np.pi * self._coulomb / square * np.exp(-square / (4 * self._alpha**2)) / at_points
        found[square == 0] = 0  # a uniform background makes the box neutral
        # The transform back divides by the number of points.
        return np.asarray(found * (np.prod(self.shape, dtype=np.float64) / abs(np.linalg.det(box))))


def _wave_numbers(n: int) -> IdArray:
    """Returns the whole numbers (n,) that belong to the places of a spectrum."""
    return (np.arange(n) + n // 2) % n - n // 2


def _spline_spectrum(n: int) -> FloatArray:
    """Returns the transform (n,) of a spline's values at whole numbers, about its middle."""
    offset = np.arange(1, ORDER) - ORDER // 2
    values = BSpline.basis_element(np.arange(ORDER + 1))(offset + ORDER // 2)
    return np.asarray(np.cos(2 * np.pi * np.outer(np.arange(n), offset) / n) @ values)
