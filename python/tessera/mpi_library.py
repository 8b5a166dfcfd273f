"""Looks for the MPI library of this machine, which an installed package does not hold.

In a package that is made for any machine the compiled parts name no MPI library: they take the symbols of the one that
is loaded before them, here as in `cpp/tessera/programs/wheel`. A build in a checkout names its library, and needs none
of this.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import sys
from pathlib import Path

#: flavour → names under which the system's loader finds the library
NAMES = {"openmpi": ("libmpi.so.40",), "mpich": ("libmpi.so.12", "libmpich.so.12")}
_LOADED = re.compile(r"\s(/\S+/lib(?:mpi|mpich|mpi_abi)\.so(?:\.\d+)*)$", re.MULTILINE)
_shared = Path(__file__).resolve().parent / "lib" / "tessera"


def needs_library(flavour: str, folder: Path = _shared) -> bool:
    """Returns whether the compiled parts for this MPI name no library, so that one must be loaded before them."""
    return flavour in NAMES and (folder / f"libtessera-{flavour}.so").exists()


def load_library(flavour: str) -> None:
    """Makes the symbols of an MPI library visible to what is loaded after it: of the one that this process has already
    (mpi4py's), else of `TESSERA_LIBMPI`, else of the first that is found. Raises `ImportError`."""
    loaded = loaded_library()
    chosen = os.environ.get("TESSERA_LIBMPI", "")
    names = [loaded] if loaded else [chosen] if chosen else candidates(flavour)
    complaints = []
    for name in names:
        if Path(name).name.startswith("libmpi_abi"):
            raise ImportError(f"{name} has the interface of MPI 5, expected {' or '.join(NAMES[flavour])}; load that")
        try:
            library = ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            complaints.append(str(error))
            continue
        if hasattr(library, "ompi_mpi_comm_world") != (flavour == "openmpi"):
            raise ImportError(f"{name} is another MPI, expected {' or '.join(NAMES[flavour])}; load one MPI only")
        return
    raise ImportError(
        f"there is no MPI library for it: {complaints[0]}; install it, load its module, or name its file in "
        "TESSERA_LIBMPI"
    )


def candidates(flavour: str) -> list[str]:
    """Returns what is tried, in order: names for the system's loader, then files of this Python environment."""
    folder = Path(sys.prefix) / "lib"
    return [*NAMES[flavour], *(str(folder / name) for name in NAMES[flavour])]


def library_beside(launcher: str) -> str | None:
    """Returns the MPI library that was installed together with a launcher: PREFIX/lib/libmpi.so.… of PREFIX/bin/mpirun.
    None where it is in another folder, as that of a distribution is, which the system's loader knows."""
    path = shutil.which(launcher)
    prefixes = [] if path is None else [Path(path).parent.parent, Path(path).resolve().parent.parent]
    found = (prefix / "lib" / name for prefix in prefixes for names in NAMES.values() for name in names)
    return next((str(library) for library in found if library.exists()), None)


def loaded_library(maps: Path = Path("/proc/self/maps")) -> str | None:
    """Returns the file of the MPI library that this process has loaded; None if it has none."""
    try:
        found = _LOADED.search(maps.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return found[1] if found else None
