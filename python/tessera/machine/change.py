"""Changes a machine file (docs/reference/machine_file.md) by what a benchmark found."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tessera.errors import InputError
from tessera.files import beside, write_text
from tessera.launch import LaunchError


def change_map(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Calls `change` with the content of a machine file, a new one where there is none, and writes what that has come
    to if it is a machine file, too. Raises LaunchError for what is none, OSError."""
    try:
        import tessera._core as core
    except ImportError as error:
        raise LaunchError(f"the compiled part of tessera is missing ({error}); build it with `make build`") from None
    content: dict[str, Any] = {"format": "tessera-machine", "version": 3, "name": path.stem}
    try:
        if path.exists():
            content = json.loads(core.read_map(str(path)))
        change(content)
        with beside(path) as temporary:
            temporary.write_text(json.dumps(content))
            text = core.read_map(str(temporary))
    except InputError as error:
        raise LaunchError(str(error)) from None
    write_text(path, text)
