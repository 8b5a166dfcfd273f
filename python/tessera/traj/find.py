"""Finds the trajectories in segments of runs: of an output folder, of a protocol's stages, or of a folder itself."""

from __future__ import annotations

import itertools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tessera.errors import InputError
from tessera.files import read_regular, real_path
from tessera.traj.manifest import FOLDER, manifest_paths

SETTINGS = "settings.toml"


@dataclass(frozen=True)
class Found:
    """A trajectory and the output folder of its run; None where the trajectory lies elsewhere."""

    segments: Path
    run: Path | None


def find(path: Path) -> list[Found]:
    """Returns the trajectories of a path in their order: one, or those of a protocol's stages.

    `path` is a run's output folder, a protocol's, or a folder of segments. Raises `InputError` where there is none.
    """
    expected = f'expected the output folder of a run with output.trajectory = "segments", or its {FOLDER}'
    if not path.is_dir():
        raise InputError(f"{path} is {'a file' if path.exists() else 'not there'}: {expected}")
    if (path / FOLDER).is_dir():
        return [Found(path / FOLDER, path)]
    if path.suffix == ".segments" or manifest_paths(path):
        is_of_run = path.suffix == ".segments" and (real_path(path).parent / SETTINGS).is_file()
        return [Found(path, real_path(path).parent if is_of_run else None)]
    found = [Found(stage / FOLDER, stage) for stage in stages(path) if (stage / FOLDER).is_dir()]
    if not found:
        others = sorted(one.name for one in path.glob("trajectory.*"))
        hint = f"; its {others[0]} is read by MDAnalysis as it is" if others else ""
        raise InputError(f"{path} holds no trajectory in segments: {expected}{hint}")
    return found


def is_aside(folder: Path) -> bool:
    """Returns whether a folder in that of a run is no stage: an earlier run's, or the black box of one that blew up."""
    return folder.name == "black_box" or folder.name.startswith("previous-")


def stages(folder: Path) -> list[Path]:
    """Returns the folders of a protocol's stages in the order in which they run.

    Each stage starts from the folder of the one above, as `input.start` in its settings says. Raises `OSError`.
    """
    found = {path.parent.resolve(): path.parent for path in folder.glob(f"*/{SETTINGS}") if not is_aside(path.parent)}
    by_name = {place.name: place for place in found}
    above = {place: _start(place, by_name) for place in found}

    def depth(place: Path) -> int:
        steps, seen = 0, {place}
        at = above[place]
        while at in found and at not in seen:
            seen.add(at)
            steps, at = steps + 1, above[at]
        return steps

    return [found[place] for place in sorted(found, key=lambda place: (depth(place), place))]


def protocol(folder: Path) -> list[Path]:
    """Returns the folders of a protocol's stages in their order; none where there are none. Raises `InputError` where
    a folder holds runs that do not follow each other."""
    found = stages(folder)
    by_name = {place.name: place.resolve() for place in found}
    if any(_start(stage, by_name) != above.resolve() for above, stage in itertools.pairwise(found)):
        names = ", ".join(by_name)
        raise InputError(
            f"{folder} holds several runs, which do not follow each other as stages do ({names}): give one"
        )
    return found


def _start(folder: Path, by_name: dict[str, Path]) -> Path | None:
    """Returns the folder from which a stage starts. Settings have whole paths, so where a protocol has moved only the
    name tells."""
    start = input_of(folder, "start")
    if not start:
        return None
    place = real_path(folder / start)
    return place if place.exists() else by_name.get(place.name)


def settings_of(folder: Path) -> dict[str, Any]:
    """Returns the settings of a run; nothing where they can't be read."""
    try:
        return tomllib.loads(read_regular(folder / SETTINGS).decode())
    except (OSError, ValueError, RecursionError):
        return {}


def input_of(folder: Path, key: str) -> str:
    """Returns a text of [input] in the settings of a run; empty where there is none."""
    section = settings_of(folder).get("input")
    found = section.get(key) if isinstance(section, dict) else None
    return found if isinstance(found, str) and "\0" not in found else ""
