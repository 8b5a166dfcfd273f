"""Tessera: molecular simulation for parallel machines.

`tessera.system` reads and writes system files, `tessera.prepare` makes them from other programs' inputs,
`tessera.launch` starts the engine, `tessera.plots` draws what a run has written. Nothing heavy is imported before it is
used.
"""

from __future__ import annotations

from importlib import metadata

try:
    __version__ = metadata.version("tessera")
except metadata.PackageNotFoundError:  # a checkout on PYTHONPATH
    __version__ = "0.1.0"

__all__ = ["__version__"]
