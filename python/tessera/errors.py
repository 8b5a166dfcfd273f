"""Exceptions of the engine, with the messages of its command line."""

from __future__ import annotations


class InputError(ValueError):
    """Settings, a system, a checkpoint or arrays can't be used; all ranks raise it."""


class RunError(RuntimeError):
    """A simulation can't go on, as where it blows up or the disk is full; all ranks raise it."""
