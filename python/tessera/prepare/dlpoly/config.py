"""Reads DL_POLY's CONFIG (and REVCON): box, names, positions and velocities.

The text is read by `cpp/tessera/io/text`, as HISTORY is.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tessera import _core as core
from tessera.errors import InputError
from tessera.prepare.coordinates import Coordinates
from tessera.prepare.text import is_compressed, read_source, require_file
from tessera.system.model import IdArray

_OTHER_BOXES = {4: "a truncated octahedron", 5: "a rhombic dodecahedron", 6: "periodic in x and y alone",
                7: "a hexagonal prism"}  # fmt: skip


def read_config(path: str | Path) -> Coordinates:
    """Reads the file; atoms are put in the order of their indices. Forces are not used.

    Raises `InputError` for boxes that DL_POLY alone has, and where a record is no number.
    """
    path = require_file(path, "CONFIG file")
    if is_compressed(path):
        read = core.config_of(read_source(path, "CONFIG file").data, path.name)
    else:
        read = core.read_config(str(path))
    level, boundary, cell, characters, index, values = read
    if boundary not in (0, 1, 2, 3):
        what = _OTHER_BOXES.get(boundary, "unknown")
        raise InputError(
            f"{path.name}, line 2: imcon is {boundary} ({what}): only 0 (none) to 3 (parallelepiped) are supported"
        )
    if not len(index):
        raise InputError(f"{path.name} has no atoms")
    name = _names(path.name, characters, (3 if boundary == 0 else 6), 2 + level)
    columns = [np.ascontiguousarray(values[:, column]) for column in range(min(level, 1) + 1)]
    if (index != np.arange(1, len(index) + 1)).any():
        order = _order(path.name, index)
        name, columns = name[order], [column[order] for column in columns]
    found = Coordinates(columns[0], np.array(cell).reshape(3, 3) if boundary else None, columns[1] if level else None)
    found.name, found.name_width = name, 8
    return found


def _names(file: str, characters: NDArray[np.uint8], first: int, records: int) -> np.ndarray:
    """Returns names (n,) of `characters` (n,8); the first stands in this line, each of an atom's `records`."""
    bad = np.flatnonzero(((characters < ord(" ")) | (characters > ord("~"))).any(axis=1))
    if len(bad):
        found = characters[bad[0]].tobytes().decode("utf-8", "replace").strip()
        raise InputError(
            f"{file}, line {first + records * int(bad[0])}: expected an atom's name of at most 8 ASCII characters, "
            f"found {found!r}"
        )
    characters[characters == ord(" ")] = 0  # which NumPy leaves out at the end
    return characters.view("S8").reshape(-1).copy()


def _order(file: str, index: IdArray) -> IdArray:
    """Returns the rows in the order of the atoms' indices."""
    order = np.argsort(index, kind="stable")
    if (index[order] != np.arange(1, len(index) + 1)).any():
        raise InputError(f"{file}: the indices of the atoms are not 1 to {len(index)}, each once")
    return order
