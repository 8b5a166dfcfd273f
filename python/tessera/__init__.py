"""Tessera: molecular simulation for parallel machines.

`tessera.system` reads and writes system files, `tessera.prepare` makes them from other programs' inputs,
`tessera.prepare_openmm` makes a system of an OpenMM `System` in memory,
`tessera.launch` starts the engine, and `tessera.plots` draws the output of a run. `tessera.Simulation` is the engine in
this process, on the ranks of an mpi4py communicator. What they need is imported only when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tessera.version import __version__

if TYPE_CHECKING:
    from tessera.errors import InputError, RunError
    from tessera.prepare.openmm import prepare_openmm
    from tessera.simulation import Simulation

__all__ = ["InputError", "RunError", "Simulation", "__version__", "prepare_openmm"]


def __getattr__(name: str) -> Any:
    if name in ("InputError", "RunError"):
        from tessera import errors

        return getattr(errors, name)
    if name == "Simulation":
        from tessera.simulation import Simulation

        return Simulation
    if name == "prepare_openmm":
        from tessera.prepare.openmm import prepare_openmm

        return prepare_openmm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"Any", "TYPE_CHECKING", "annotations"})
