"""Resolves the selections of a run file, and reads its files of references, before the engine starts."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tessera import launch
from tessera.errors import InputError
from tessera.files import locked, write_text

#: names of keys that select atoms or name references; where a run file has none of these words, the engine is not asked
WORDS = re.compile(r"select|groups|fixed|reference")


def selection_arguments(
    run_file: Path, overrides: Sequence[str], restart: bool = False, folder: Path | None = None
) -> list[str]:
    """Returns arguments of the engine: the file with the atoms of the selections of a run file, and system files in
    place of other files of references; none where the engine needs none. Files are written into `folder`, or into the
    run's output folder.

    A restart keeps the atoms and references that its run began with. Raises `LaunchError`.
    """
    try:
        text = run_file.read_text("utf-8", errors="replace") if run_file.is_file() else ""
    except OSError:
        text = ""  # the engine says what is wrong
    if not WORDS.search(text) and not any(WORDS.search(override) for override in overrides):
        return []
    from tessera.select.resolve import NAME, NEXT_NAME, file_text, read_file, resolve

    asked = ask_engine(run_file, overrides)
    wanted = [(str(entry["key"]), str(entry["text"])) for entry in asked["selections"]]
    output = Path(asked["folder"])
    kept = read_file(output / NAME) if restart else {}
    missing = [(key, text) for key, text in wanted if text not in kept]
    others = {key: Path(path) for key, path in asked["references"].items() if Path(path).suffix != ".tsr"}
    place = folder or output
    first = {path: key for key, path in reversed(others.items())}  # stages of a protocol may have the same reference
    targets = {path: _target(place, key, restart) for path, key in first.items()}
    arguments = [word for key, path in others.items() for word in ("--set", f"{key}={targets[path]}")]
    to_write = {path: target for path, target in targets.items() if not target.exists()}
    if kept and not missing:  # also for who asks whether the run would start
        arguments += ["--selections", str(output / NAME)]
    if not missing and not to_write:
        return arguments
    from tessera.select.references import with_coordinates
    from tessera.system import read, write

    try:
        system = read(Path(asked["system"]))
        found = kept | resolve(system, missing)
        place.mkdir(parents=True, exist_ok=True)
        with locked(place, "wait for its end, stop it, or choose another output.folder"):
            if missing:
                write_text(place / NEXT_NAME, file_text(system.n_atoms, found))
                arguments += ["--selections", str(place / NEXT_NAME)]
            for path, target in to_write.items():
                write(with_coordinates(system, path), target)
    except InputError as error:
        raise launch.LaunchError(str(error)) from None
    except OSError as error:
        raise launch.LaunchError(f"{place} can't be written to: {error.strerror or error}") from None
    return arguments


def ask_engine(run_file: Path, overrides: Sequence[str]) -> dict[str, Any]:
    """Returns what the engine says of a run file: its system, its output folder, selections and references. Where the
    file can't be used, prints the engine's message and ends with its status."""
    command = launch.single_engine()
    words = [launch.word_of(run_file), "--list-selections", *(word for text in overrides for word in ("--set", text))]
    done = subprocess.run([*command, *words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        sys.exit(done.returncode if done.returncode > 0 else 70)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _target(place: Path, key: str, restart: bool) -> Path:
    """Returns where a reference is, or is to be written. A new run leaves the files of earlier ones as they are, since
    those may go on; a restart takes the one that its run's settings name."""
    found = [place / f"{key}.tsr"]
    while found[-1].exists():
        found.append(place / f"{key}-{len(found) + 1}.tsr")
    if not restart:
        return found[-1]
    from tessera.traj.find import SETTINGS, is_aside

    texts = []
    for settings in (place / SETTINGS, *place.glob(f"*/{SETTINGS}")):
        if settings.parent == place or not is_aside(settings.parent):
            with contextlib.suppress(OSError):
                texts.append(settings.read_text("utf-8", errors="replace"))
    there = found[:-1]
    return next((path for path in there if any(f"/{path.name}" in text for text in texts)), (there or found)[-1])
