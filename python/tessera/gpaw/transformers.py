"""GPAW's restriction and interpolation between grids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.gpaw import domains
from tessera.gpaw.operators import turned


class Transformer:
    """Takes the place of `gpaw.cgpaw.Transformer`.

    `n_in`, `n_out`: points of this rank on both grids. `k`: twice the order. `pad_cd` (3, 2): how many points of the
    first grid are needed around this rank's. `npad_cd`, `skip_cd` follow from the grids. `neighbor_cd`, `real`, `comm`
    as for `Operator`, of both grids. `interpolate`: from coarse to fine, else from fine to coarse.

    It is completed by its first application, which is collective as all are.
    """

    def __init__(
        self,
        n_in: NDArray[np.int64],
        n_out: NDArray[np.int64],
        k: int,
        pad_cd: NDArray[np.int64],
        npad_cd: NDArray[np.int64],
        skip_cd: NDArray[np.int64],
        neighbor_cd: NDArray[np.int64],
        real: bool,
        comm: int | None,
        interpolate: bool,
    ) -> None:
        self.shapes = (np.array(n_in, np.int64), np.array(n_out, np.int64))
        self.order = int(k) // 2
        self.padding = np.array(pad_cd, np.int64)
        self.is_complex = not real
        self.neighbours = np.array(neighbor_cd, np.int64)
        self.address = comm
        self.halves = not interpolate
        self._native: Any = None
        self._points = int(np.prod(self.shapes[0]))
        self._phases: dict[bytes, list[complex]] = {}

    def apply(self, source: NDArray[Any], target: NDArray[Any], phase_cd: NDArray[Any] | None = None) -> None:
        """Overwrites `target` with the fields of `source` on the other grid; (B,) may lead both shapes."""
        native = self._native or self._make()
        phases = turned(self._phases, phase_cd if self.is_complex else None)
        native.apply(source, target, source.size // self._points, phases)

    def get_async_sizes(self) -> tuple[int, int]:
        """Returns what GPAW says without asynchronous exchanges of its own."""
        return 0, 1

    def _make(self) -> Any:
        module, ranks = domains.ranks_at(self.address)
        layouts = domains.gathered_layout(module, ranks, self.shapes, self.neighbours)
        self._native = module.Transfer(ranks, *layouts, self.halves, self.order, self.is_complex)
        return self._native
