"""The exception of this package that has a message for the user."""

from __future__ import annotations

from pathlib import Path

from tessera.printing import Told


class InputError(Told):
    """Raised for an input that cannot be used; says what was found, what was expected and how to mend it."""


def require_file(path: str | Path, what: str) -> Path:
    """Returns the path. Raises `InputError` where the file is missing or empty."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{what} not found: {path}")
    if path.stat().st_size == 0:
        raise InputError(f"{what} is empty: {path}")
    return path
