"""Frames that ranks write one after the other into one file, by a method of `cpp/tessera/io/write`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.export.structure import Structure
from tessera.ranks import Ranks
from tessera.traj.history import MOST_LETTERS, cell_of, check_names
from tessera.way import Way


def share(n: int, ranks: Ranks) -> slice:
    """Returns which of n atoms this rank has: those that it writes, where all ranks write."""
    least, more = divmod(n, ranks.size)
    begin = least * ranks.rank + min(more, ranks.rank)
    return slice(begin, begin + least + (ranks.rank < more))


class FrameWriter:
    """Writes frames of n atoms in a format of `cpp/tessera/io/write`, of which each rank has its `share`. All members
    are collective.

    `structure` names the atoms; None: the format has no names. `box` (3,3) Å is that of the first frame; `timestep` is
    in ps. Raises `InputError`.
    """

    def __init__(
        self,
        path: Path,
        format_name: str,
        title: str,
        n: int,
        structure: Structure | None,
        box: NDArray[np.float64] | None,
        timestep: float,
        ranks: Ranks,
        way: Way,
    ) -> None:
        self._ranks, self._has_box = ranks, box is not None
        own = share(n, ranks)
        kinds = np.zeros(1, [("name", f"U{MOST_LETTERS}"), ("mass", "f8"), ("charge", "f8")])
        if structure is not None:
            check_names(structure.name)
            kinds = np.empty(n, kinds.dtype)
            kinds["name"], kinds["mass"], kinds["charge"] = structure.name.astype(str), structure.mass, structure.charge
        known, species = np.unique(kinds, return_inverse=True)
        species = species[own] if structure is not None else np.zeros(own.stop - own.start)
        try:
            self._file = ranks.module.Frames(
                ranks.world, str(path), format=format_name, **way.options(),
                title=title.encode("ascii", "replace").decode(), cell=cell_of(box), timestep=timestep,
                names=known["name"].tolist(), masses=known["mass"].tolist(), charges=known["charge"].tolist(),
                species=np.ascontiguousarray(species, np.int64), first=own.start + 1,
            )  # fmt: skip
        except (RuntimeError, ValueError) as error:
            raise InputError(str(error)) from None

    def write(self, step: int, time: float, box: NDArray[np.float64] | None, values: NDArray[np.float64]) -> None:
        """Writes a frame: time in ps, box (3,3) Å, and what the format holds of this rank's atoms (quantities,n,3)."""
        if (box is not None) != self._has_box:
            raise InputError(
                f"only some frames have a box, that of step {step:,} has {'none' if self._has_box else 'one'}"
            )
        self._ranks.all(None)  # where a rank has failed, the others end here
        try:
            self._file.append(step, time, cell_of(box), values)
        except (RuntimeError, ValueError) as error:
            raise InputError(str(error)) from None

    def close(self) -> None:
        try:
            self._file.synchronize()
        except RuntimeError as error:
            raise InputError(str(error)) from None
