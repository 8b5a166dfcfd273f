"""What Tessera raises; the messages are those of the command line.

All that a user's input makes it raise is an `InputError`: a class of its own tells an array or a file that others may
want to tell apart.
"""

from __future__ import annotations

from tessera.printing import Told

#: What making sense of damaged content may raise: it is not what it should be, too deep, or beyond numbers.
SENSELESS = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError)


class InputError(Told, ValueError):
    """Input can't be used: arguments, settings, files. Says what was found, what was expected and how to mend it. On
    ranks that work together all raise it."""


class RunError(Told, RuntimeError):
    """A simulation can't go on, as where it blows up or the disk is full; all ranks raise it."""
