"""The ranks and boxes of GPAW's grids.

GPAW divides a grid over the ranks of a communicator: by lines along each axis, ranks in C order. Its compiled part is
told only the number of points and the neighbours of a rank; the ranks together know where each of them is.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera import flavours
from tessera.errors import InputError
from tessera.gpaw.errors import GpawError
from tessera.ranks import launched

Integers = NDArray[np.int64]

_threads = 1
#: Groups of ranks that grids have been on, each with one duplicate of its communicator.
_known: list[tuple[ModuleType, Any]] = []


def set_threads(threads: int) -> None:
    """Sets the number of threads of operators and transformers that are used for the first time from now on."""
    global _threads
    if threads != _threads:
        _threads = threads
        _known.clear()


def check_modules() -> None:
    """Raises ImportError where Tessera was not built for this process alone or for GPAW's MPI, and GpawError where that
    MPI is not the one whose launcher started the ranks."""
    from gpaw.mpi import world

    flavours.load("gpaw", "serial")
    if world.size > 1:
        _module_of_mpi()
    elif _backend() != "serial" and (flavour := launched()):
        launcher, name = {"openmpi": ("mpirun", "Open MPI"), "mpich": ("mpiexec", "MPICH or another with PMI")}[flavour]
        of_gpaw = flavours.library_of(_mpi_version())
        raise GpawError(
            f"the {launcher} of {name} started several processes, but GPAW runs on {of_gpaw}, whose ranks can't find "
            "each other there; start it with the launcher of that MPI"
        )


def check_machine() -> None:
    """Raises GpawError where the map that TESSERA_MACHINE names is not one of these ranks. Collective."""
    from gpaw.mpi import world

    ranks_at(world.get_c_object() if world.size > 1 else None)


def ranks_at(address: int | None) -> tuple[ModuleType, Any]:
    """Returns the ranks of the communicator at this address (an `MPI_Comm*`), or this process alone, and their module.

    Collective for a group of ranks that is new. A group is known by its ranks, because an address may be that of
    another communicator later. Raises GpawError on all of them for a map of the machine that can't be used.
    """
    from gpaw.mpi import world

    for module, ranks in _known:
        is_alone = module.__name__.endswith("serial")
        if (address is None and is_alone) or (address is not None and not is_alone and ranks.are_those_of(address)):
            return module, ranks
    module = flavours.load("gpaw", "serial") if address is None else _module_of_mpi()
    # One of several ranks that works alone needs no map, and its host may not have the file.
    machine = os.environ.get("TESSERA_MACHINE", "") if address is not None or world.size == 1 else ""
    try:
        _known.append((module, module.Ranks(address, _threads, machine)))
    except InputError as error:
        raise GpawError(f"TESSERA_MACHINE names a map that can't be used: {error}, or unset TESSERA_MACHINE") from None
    return _known[-1]


def gathered_layout(module: ModuleType, ranks: Any, shapes: Sequence[Integers], neighbours: Integers) -> list[Any]:
    """Returns the layouts of grids with these numbers of points (3,) and neighbours (3, 2) of this rank. Collective."""
    rows = np.array(ranks.gather([int(n) for n in np.concatenate([*shapes, neighbours.ravel()])]))
    found = []
    for k in range(len(shapes)):
        lower, upper, is_periodic = boxes(rows[:, 3 * k : 3 * k + 3], rows[:, -6:].reshape(-1, 3, 2))
        shape = upper.max(axis=0)
        if np.prod(shape) != np.prod(upper - lower, axis=1).sum():
            raise ValueError("the boxes of GPAW's ranks do not cover its grid; expected a Cartesian grid of ranks")
        found.append(
            module.Layout(
                shape.tolist(),
                is_periodic.tolist(),
                [len(np.unique(begin)) for begin in lower.T],
                list(zip(lower.tolist(), upper.tolist())),
            )
        )
    return found


def boxes(points: Integers, neighbours: Integers) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """Returns the bounds (P, 3) of all ranks' boxes and which axes are periodic, from all ranks' numbers of points
    (P, 3) and neighbours (P, 3, 2), of which −1 is none."""
    lower = np.zeros_like(points)
    upper = np.zeros_like(points)
    for rank, below in enumerate(neighbours[:, :, 0]):
        for axis in range(3):
            # In C order a neighbour with a greater number is at the other end of a periodic axis.
            if 0 <= below[axis] < rank:
                lower[rank, axis] = upper[below[axis], axis]
        upper[rank] = lower[rank] + points[rank]
    return lower, upper, neighbours[0, :, 0] >= 0


def phases_of(phase_cd: NDArray[np.complex128]) -> list[complex]:
    """Returns the factors between a grid's periodic images from those by which this rank multiplies what it sends down
    and up each axis (3, 2). A rank that is at no end of an axis has ones there, and needs none."""
    return [complex(down) if down != 1 else complex(up).conjugate() for down, up in phase_cd]


def _backend() -> str:
    """Returns what GPAW's ranks talk by: "mpi4py", "serial", or another name for GPAW's compiled part."""
    from gpaw.mpi import world

    # In GPAW's debug mode `world` wraps the communicator that knows it.
    return str(getattr(getattr(world, "comm", None), "backend", "") or getattr(world, "backend", "cgpaw"))


def _mpi_version() -> str:
    """Returns what the MPI library says of itself on which GPAW's ranks are. Raises GpawError where GPAW's compiled
    part was built for another."""
    from gpaw import cgpaw

    compiled = _compiled_version() if cgpaw.have_mpi else ""
    if _backend() != "mpi4py":
        return compiled
    from mpi4py import MPI

    version = str(MPI.Get_library_version()).rstrip("\0")
    if compiled and version != compiled:
        raise GpawError(
            f"GPAW was built for {flavours.library_of(compiled)}, but mpi4py, by which its ranks talk, runs on "
            f"{flavours.library_of(version)}; expected one MPI: {_MEND}, or choose GPAW_MPI_BACKEND=cgpaw"
        )
    return version


def _compiled_version() -> str:
    """Returns what the MPI library says of itself that GPAW's compiled part was linked with."""
    import _gpaw

    text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
    ctypes.CDLL(_gpaw.__file__).MPI_Get_library_version(text, ctypes.byref(length))
    return text.value.decode()


#: GPAW loads the library GPAW_MPI for all to see, by itself libmpi.so, which may be that of another MPI.
_MEND = "set GPAW_MPI and MPI4PY_LIBMPI to the file of GPAW's MPI library, which ldd tells of GPAW's _gpaw*.so"


def _module_of_mpi() -> ModuleType:
    return flavours.module_for("gpaw", _mpi_version(), "GPAW", _MEND)
