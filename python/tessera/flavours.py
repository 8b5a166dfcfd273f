"""Loads the compiled module for the MPI of a communicator. Each module is built once for each MPI and once without."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from tessera import mpi_library


def load(part: str, flavour: str) -> ModuleType:
    """Imports `tessera._<part>_<flavour>`. Raises `ImportError` that says how to mend it."""
    name = f"tessera._{part}_{flavour}"
    if name not in sys.modules and mpi_library.needs_library(flavour):
        mpi_library.load_library(flavour)
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"the compiled part of tessera.{part} for {flavour} can't be loaded ({error}); build it"
        ) from None


@contextmanager
def refusing(kind: type[Exception]) -> Iterator[None]:
    """Raises an exception of this kind where a module can't be loaded within."""
    try:
        yield
    except ImportError as error:
        raise kind(str(error)) from None


def is_communicator(comm: Any) -> bool:
    """Returns whether `comm` is an mpi4py communicator of one group, or `tessera.ranks.Ranks`."""
    return hasattr(comm, "allgather") and bool(comm) and not getattr(comm, "is_inter", False)


def module_of(part: str, comm: Any) -> ModuleType:
    """Returns the module that is built for the communicator's MPI. Raises `ImportError`."""
    if comm is None or comm.size == 1:
        return load(part, "serial")
    if isinstance(flavour := getattr(comm, "flavour", None), str):  # `tessera.ranks.Ranks`
        return load(part, flavour)
    from mpi4py import MPI

    return module_for(part, MPI.Get_library_version(), "mpi4py")


def module_for(part: str, version: str, program: str, mend: str = "load one MPI only") -> ModuleType:
    """Returns the module that is built for the MPI library that says `version` of itself, on which `program` runs.
    Raises `ImportError`, which ends in how to mend where the module has found another library."""
    module = load(part, "openmpi" if version.startswith("Open MPI") else "mpich")
    found, expected = library_of(module.library()), library_of(version)
    if found != expected:  # of two versions, too, one knows nothing of the other's communicators
        raise ImportError(f"{program} runs on {expected}, but {module.__name__} on {found}; {mend}")
    return module


def library_of(version: str) -> str:
    """Returns the name and the version of an MPI library from what it says of itself."""
    return " ".join(version.splitlines()[0].split(", ")[0].split()).replace("MPICH Version:", "MPICH")


def handle_of(module: ModuleType, comm: Any) -> int | None:
    """Returns the handle by which the module takes the communicator; None: that of all ranks."""
    return None if comm is None or module.__name__.endswith("serial") or hasattr(comm, "flavour") else comm.py2f()
