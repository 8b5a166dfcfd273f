"""Tessera: molecular simulation for parallel machines.

`tessera.system` reads and writes system files, `tessera.prepare` makes them from other programs' inputs,
`tessera.launch` starts the engine, `tessera.plots` draws what a run has written. `tessera.Simulation` is the engine in
this process, on the ranks of an mpi4py communicator. Nothing heavy is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tessera.errors import InputError, RunError
from tessera.version import __version__

if TYPE_CHECKING:
    from tessera.simulation import Simulation

__all__ = ["InputError", "RunError", "Simulation", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "Simulation":
        from tessera.simulation import Simulation

        return Simulation
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
