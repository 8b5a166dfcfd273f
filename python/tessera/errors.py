"""Exceptions of the engine, with the messages of its command line."""

from __future__ import annotations

from tessera.printing import Told

#: What making sense of damaged content may raise: it is not what it should be, too deep, or beyond numbers.
SENSELESS = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError)


class InputError(Told, ValueError):
    """Settings, a system, a checkpoint or arrays can't be used; all ranks raise it."""


class RunError(Told, RuntimeError):
    """A simulation can't go on, as where it blows up or the disk is full; all ranks raise it."""
