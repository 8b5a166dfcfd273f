"""Converts texts that tests write, and says what becomes of changes of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tessera.convert import Conversion, convert


def conversion(folder: Path, name: str, text: str, **options: Any) -> Conversion:
    path = folder / name
    path.write_text(text)
    return convert([path], **options)


def settings(found: Conversion) -> dict[str, Any]:
    """Returns the keys of the run file by section.key; tables as lists."""
    assert not found.refused, found.refused
    flat: dict[str, Any] = {}
    for section, keys in tomllib.loads(found.text).items():
        if isinstance(keys, list):
            flat[section] = keys
        else:
            flat |= {f"{section}.{key}": value for key, value in keys.items()}
    return flat


def status(found: Conversion, option: str) -> str:
    return next(row.status for row in found.rows if row.option == option)


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the keys that differ, with the new values; None where a key has gone."""
    names = {**before, **after}
    return {name: after.get(name) for name in names if before.get(name) != after.get(name)}


def check_change(
    folder: Path, file: str, texts: tuple[str, str], option: str, effect: Any, is_physics: bool = True, **options: Any
) -> None:
    """Checks what a changed text does: which keys of the run file differ, or that this option is refused, which
    `lenient` does too where it is physics."""
    before, after = texts
    found = conversion(folder, file, after, **options)
    if effect == "refused":
        assert any(row.option == option for row in found.refused), found.text
        assert bool(conversion(folder, file, after, lenient=True, **options).refused) == is_physics
    else:
        assert changes(settings(conversion(folder, file, before, **options)), settings(found)) == effect
