"""Tessera: molecular simulation for parallel machines.

`tessera.system` reads and writes system files, `tessera.prepare` makes them from other programs' inputs,
`tessera.launch` starts the engine, `tessera.plots` draws what a run has written. Nothing heavy is imported before it is
used.
"""

from __future__ import annotations

__version__ = "0.1.0"  # and in pyproject.toml and CMakeLists.txt

__all__ = ["__version__"]
