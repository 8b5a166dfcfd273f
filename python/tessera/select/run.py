"""Resolves the selections of a run file before the engine starts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tessera import launch
from tessera.files import write_text
from tessera.prepare.errors import InputError
from tessera.select.resolve import NAME, NEXT_NAME, file_text, read_file, resolve

#: names of keys that select atoms; where a run file has none of these words, the engine is not asked for selections
WORDS = re.compile(r"select|groups|fixed")


def selection_arguments(
    run_file: Path, overrides: Sequence[str], restart: bool = False, folder: Path | None = None
) -> list[str]:
    """Returns the engine's arguments that name the file with what the selections of a run file come to; none where the
    engine needs no such file. The file is written into `folder`, or into the run's output folder.

    A restart keeps the atoms that its run began with. Raises `LaunchError`.
    """
    try:
        text = run_file.read_text(errors="replace")
    except OSError:
        return []  # the engine says what is wrong
    if not WORDS.search(text) and not any(WORDS.search(override) for override in overrides):
        return []
    asked = _ask_engine(run_file, overrides)
    wanted = [(str(entry["key"]), str(entry["text"])) for entry in asked["selections"]]
    output = Path(asked["folder"])
    kept = read_file(output / NAME) if restart else {}
    missing = [(key, text) for key, text in wanted if text not in kept]
    if not missing:
        return []
    from tessera.system import SystemFileError, read

    try:
        system = read(Path(asked["system"]))
        found = kept | resolve(system, missing)
        place = (folder or output) / NEXT_NAME
        place.parent.mkdir(parents=True, exist_ok=True)
        write_text(place, file_text(system.n_atoms, found))
    except (InputError, SystemFileError) as error:
        raise launch.LaunchError(str(error)) from None
    except OSError as error:
        raise launch.LaunchError(f"the selections can't be written to {output}: {error.strerror or error}") from None
    return ["--selections", str(place)]


def _ask_engine(run_file: Path, overrides: Sequence[str]) -> dict[str, Any]:
    command = launch.single_engine()
    words = [str(run_file), "--list-selections", *(word for text in overrides for word in ("--set", text))]
    done = subprocess.run([*command, *words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        sys.exit(done.returncode if done.returncode > 0 else 70)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
