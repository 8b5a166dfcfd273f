"""DL_POLY's CONFIG and REVCON, which the ranks of a launcher write together by a method of `cpp/tessera/io/write`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tessera.export.structure import Structure
from tessera.prepare.errors import InputError
from tessera.ranks import Ranks
from tessera.traj.frame_writer import share
from tessera.traj.history import cell_of, check_names
from tessera.way import Way

NAME = "CONFIG of DL_POLY"
ENDINGS = (".config", ".revcon")
NAMES = ("CONFIG", "REVCON")


def is_config(path: Path) -> bool:
    """Whether a path is a CONFIG by its name: `CONFIG`, `REVCON`, `water.config`."""
    return path.name in NAMES or path.suffix.lower() in ENDINGS


def write_config(
    structure: Structure, path: str, ranks: Ranks, way: Way, step: int = 0, timestep: float = 0.0
) -> list[str]:
    """Writes positions, and velocities where there are any; of the atoms each rank writes its share. All ranks have the
    whole structure. Returns notes. Collective. Raises `InputError`."""
    check_names(structure.name)
    own = share(structure.n_atoms, ranks)
    names, species = np.unique(structure.name.astype(str), return_inverse=True)
    velocity = structure.velocity
    try:
        method = ranks.world.write(
            path,
            format="text" if velocity is None else "text-velocities",
            **way.options(), title=structure.title, cell=cell_of(structure.box),
            step=step, timestep=timestep, time=structure.time,
            names=names.tolist(), species=np.ascontiguousarray(species[own], np.int64), first=own.start + 1,
            positions=np.ascontiguousarray(structure.position[own], np.float64),
            velocities=np.ascontiguousarray(np.empty((0, 3)) if velocity is None else velocity[own], np.float64),
        )  # fmt: skip
    except (RuntimeError, ValueError) as error:
        raise InputError(str(error)) from None
    return [f"written by {method} on {ranks.size} ranks"] if ranks.size > 1 else []
