"""Turns the inputs of other programs into a `System`: one module a format.

Reading order: `flat` (the whole system as arrays, and its split into templates), `charmm`, then
the other formats; `assemble` joins templates, box and coordinates and checks them.
"""

from tessera.prepare.errors import InputError

__all__ = ["InputError"]
