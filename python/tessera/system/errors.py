"""The exception of this package."""

from __future__ import annotations

from tessera.printing import Told


class SystemFileError(Told):
    """Raised where a system cannot be written or read; says what was found and what was expected."""
