"""Turns the inputs of other programs into a `System`, with one module for each format.

Read `flat` first (the whole system as arrays, and its split into templates), then `charmm`, then the other formats;
`assemble` joins templates, box and coordinates and checks them.
"""

from tessera.errors import InputError

__all__ = ["InputError"]
