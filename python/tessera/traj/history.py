"""DL_POLY's HISTORY: positions Å, velocities Å/ps, forces amu Å/ps², as text that `cpp/tessera/io/write` makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.prepare.errors import InputError
from tessera.ranks import Ranks
from tessera.way import Way

FORCE = 418.4  # amu Å/ps² of a kcal/mol/Å
_FORMATS = ("history", "history-velocities", "history-forces")
_MOST_LETTERS = 8  # of a name


class HistoryWriter:
    """Writes frames of atoms with these names (n,), masses (n,) amu and charges (n,) e, of which each rank has all and
    writes its share. All members are collective.

    `level` is 0 for positions, 1 with velocities, 2 with forces; `box` (3,3) Å is that of the first frame;
    `timestep` is in ps. Raises `InputError`.
    """

    def __init__(
        self,
        path: Path,
        title: str,
        names: NDArray[np.object_],
        masses: NDArray[np.float64],
        charges: NDArray[np.float64],
        level: int,
        box: NDArray[np.float64] | None,
        timestep: float,
        ranks: Ranks,
        way: Way,
    ) -> None:
        check_names(names)
        n = len(names)
        self._ranks, self._has_box = ranks, box is not None
        self._own = slice(n * ranks.rank // ranks.size, n * (ranks.rank + 1) // ranks.size)
        kinds = np.empty(n, [("name", f"U{_MOST_LETTERS}"), ("mass", "f8"), ("charge", "f8")])
        kinds["name"], kinds["mass"], kinds["charge"] = names.astype(str), masses, charges
        known, species = np.unique(kinds, return_inverse=True)
        try:
            self._file = ranks.module.Frames(
                ranks.world, str(path), format=_FORMATS[level],
                method=way.method, writers=way.writers, batch=way.batch, machine=way.machine,
                title=title, cell=cell_of(box), timestep=timestep,
                names=known["name"].tolist(), masses=known["mass"].tolist(), charges=known["charge"].tolist(),
                species=np.ascontiguousarray(species[self._own], np.int64), first=self._own.start + 1,
            )  # fmt: skip
        except (RuntimeError, ValueError) as error:
            raise InputError(str(error)) from None

    def write(self, step: int, time: float, box: NDArray[np.float64] | None, values: list[NDArray[Any]]) -> None:
        """Writes a frame: time in ps, box (3,3) Å, and positions, velocities and forces (n,3) as far as the level
        says."""
        if (box is not None) != self._has_box:
            raise InputError(
                f"only some frames have a box, that of step {step:,} has {'one' if self._has_box else 'none'}"
            )
        own = np.ascontiguousarray([np.asarray(one, np.float64)[self._own] for one in values])
        self._ranks.all(None)  # where a rank has failed, the others end here
        try:
            self._file.append(step, time, cell_of(box), own)
        except (RuntimeError, ValueError) as error:
            raise InputError(str(error)) from None

    def close(self) -> None:
        try:
            self._file.synchronize()
        except RuntimeError as error:
            raise InputError(str(error)) from None


def check_names(names: NDArray[np.object_]) -> None:
    """Raises `InputError` where a name of an atom has no room in DL_POLY's files."""
    for name in dict.fromkeys(names.tolist()):
        if not (0 < len(name) <= _MOST_LETTERS and name.isascii() and name.isprintable() and " " not in name):
            raise InputError(
                f"files of DL_POLY have 8 columns for atom names, of ASCII letters without blanks, found {name!r}: "
                "write another format"
            )


def cell_of(box: NDArray[np.float64] | None) -> list[float]:
    """Returns the nine numbers of a box (3,3) Å; zeros where there is none."""
    return np.zeros(9).tolist() if box is None else np.asarray(box, np.float64).reshape(9).tolist()
