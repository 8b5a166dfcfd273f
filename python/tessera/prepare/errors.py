"""The one exception of this package that is meant for the user."""

from __future__ import annotations

from pathlib import Path


class InputError(Exception):
    """An input that cannot be used: what was found, what was expected, how to mend it."""


def require_file(path: str | Path, what: str) -> Path:
    """The path, or `InputError` where there is no such file or nothing in it."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{what} not found: {path}")
    if path.stat().st_size == 0:
        raise InputError(f"{what} is empty: {path}")
    return path
