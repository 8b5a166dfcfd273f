"""What goes wrong in the engine, with the words of its command line."""

from __future__ import annotations


class InputError(ValueError):
    """Settings, a system, a checkpoint or arrays that can't be used; raised by all ranks alike."""


class RunError(RuntimeError):
    """A simulation that can't go on: atoms that blow up, a disk that is full; raised by all ranks alike."""
