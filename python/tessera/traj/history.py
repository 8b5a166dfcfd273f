"""What files of DL_POLY hold: names of eight letters, shapes of boxes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError

MOST_LETTERS = 8  # of a name


def check_names(names: NDArray[np.object_], files: str = "files of DL_POLY") -> None:
    """Raises `InputError` where a name of an atom has no room in DL_POLY's files, or in others of as many letters."""
    for name in dict.fromkeys(names.tolist()):
        if not (0 < len(name) <= MOST_LETTERS and name.isascii() and name.isprintable() and " " not in name):
            raise InputError(
                f"{files} have 8 columns for atom names, of ASCII letters without blanks, found {name!r}: "
                "write another format"
            )


def cell_of(box: NDArray[np.float64] | None) -> list[float]:
    """Returns the nine numbers of a box (3,3) Å; zeros where there is none."""
    return np.zeros(9).tolist() if box is None else np.asarray(box, np.float64).reshape(9).tolist()
