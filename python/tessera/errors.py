"""What Tessera raises; the messages are those of the command line.

All that a user's input makes it raise is an `InputError`: a class of its own tells an array or a file that others may
want to tell apart.
"""

from __future__ import annotations

import re

from tessera.printing import Told

#: What making sense of damaged content may raise: it is not what it should be, too deep, or beyond numbers.
SENSELESS = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError)

#: package → the option with which Tessera's own is installed together with it
EXTRAS = dict.fromkeys(("openmm", "parmed", "MDAnalysis", "mdtraj", "tables", "msgpack"), "formats") | {
    "pdbfixer": "pdb", "mpi4py": "mpi", "pyvista": "view", "vtk": "view", "ase": "ase",
}  # fmt: skip


def text_of_missing(error: ImportError) -> str | None:
    """Says how to install the package that an import has not found, or how to build Tessera's own modules; None if it
    is none that Tessera may need."""
    if re.search(r"tessera\._|'_\w+' from 'tessera'", f"{error.name} {error}"):
        return (
            f"the compiled modules of Tessera can't be loaded ({error}): in a checkout build them with `make build`, "
            "else install tessera-md anew, for this Python"
        )
    package = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(package)
    if extra is None:
        return None
    return f"this needs {package}, which is not installed: pip install 'tessera-md[{extra}]'"


class InputError(Told, ValueError):
    """Input can't be used: arguments, settings, files. Says what was found, what was expected and how to mend it. On
    ranks that work together all raise it."""


class RunError(Told, RuntimeError):
    """A simulation can't go on, as where it blows up or the disk is full; all ranks raise it."""
