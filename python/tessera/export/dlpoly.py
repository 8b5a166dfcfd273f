"""DL_POLY's CONFIG and REVCON, which the ranks of a launcher write together by a method of `cpp/tessera/io/write`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.export.structure import Structure
from tessera.files import beside
from tessera.ranks import Ranks
from tessera.traj.frame_writer import share
from tessera.traj.history import cell_of, check_names
from tessera.way import Way

NAME = "CONFIG of DL_POLY"
ENDINGS = (".config", ".revcon")
NAMES = ("CONFIG", "REVCON")


def is_config(path: Path) -> bool:
    """Tells whether a path is a CONFIG by its name: `CONFIG`, `REVCON`, `water.config`."""
    return path.name in NAMES or path.suffix.lower() in ENDINGS


def write_config(
    structure: Structure, path: Path, ranks: Ranks, way: Way, step: int = 0, timestep: float = 0.0
) -> list[str]:
    """Writes positions, and velocities where there are any, as the root; the other ranks call `write_share`. Each
    writes its share of the atoms, and the root alone has memory for all: the others take theirs from a file beside the
    CONFIG. Returns notes. Collective. Raises `InputError` and `OSError`."""
    check_names(structure.name)
    names, species = np.unique(structure.name.astype(str), return_inverse=True)
    velocity = structure.velocity
    header = {
        "format": "text" if velocity is None else "text-velocities", "title": structure.title,
        "cell": cell_of(structure.box), "step": step, "timestep": timestep, "time": structure.time,
        "names": names.tolist(),
    }  # fmt: skip
    arrays: list[NDArray[Any]] = [
        np.ascontiguousarray(structure.position, np.float64),
        np.empty((0, 3)) if velocity is None else np.ascontiguousarray(velocity, np.float64),
        species.astype(np.int64),
    ]
    with beside(path) as atoms:
        if ranks.size > 1:
            with atoms.open("wb") as file:
                for values in arrays:
                    values.tofile(file)
        ranks.from_root((str(path), str(atoms), structure.n_atoms, header))
        method = _write(str(path), header, structure.n_atoms, arrays, ranks, way)
    return [f"written by {method} on {ranks.size} ranks"] if ranks.size > 1 else []


def write_share(ranks: Ranks, way: Way) -> None:
    """Writes this rank's share of what the root writes with `write_config`. Collective. Raises `InputError`."""
    path, atoms, n, header = ranks.from_root(None)
    arrays, begin = [], 0
    try:
        for rows, columns, kind in ((n, 3, float), (n * (header["format"] != "text"), 3, float), (n, 1, np.int64)):
            shape = (rows, columns) if columns > 1 else (rows,)
            arrays.append(np.memmap(atoms, kind, "r", begin, shape) if rows else np.empty(shape))
            begin += arrays[-1].nbytes
    except (OSError, ValueError) as error:
        raise InputError(f"{atoms}, which the first rank has written, can't be read: {error}") from None
    _write(path, header, n, arrays, ranks, way)


def _write(path: str, header: dict[str, Any], n: int, arrays: list[NDArray[Any]], ranks: Ranks, way: Way) -> str:
    """Returns the method by which a CONFIG was written. `arrays` are positions, velocities and kinds of all atoms."""
    own = share(n, ranks)
    position, velocity, species = (values[own] for values in arrays)
    ranks.all(None)  # where a rank can't read its share, the others end here
    try:
        return str(
            ranks.world.write(
                path, **way.options(), **header, first=own.start + 1,
                species=np.array(species), positions=np.array(position), velocities=np.array(velocity),
            )
        )  # fmt: skip
    except (RuntimeError, ValueError) as error:
        raise InputError(str(error)) from None
