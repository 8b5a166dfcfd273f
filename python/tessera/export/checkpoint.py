"""Reads checkpoints, `cpp/tessera/app/restart/checkpoint_file.h`: the newest intact one of a folder, or a file.

The engine could read them too, but it would build cells and mesh for a run first, which takes the memory of a run and
the settings of the same one; here they are arrays. A test holds both against each other.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera import checked_file
from tessera.errors import SENSELESS, InputError
from tessera.system import System
from tessera.system.model import FloatArray

VERSION = 4
VELOCITY_UNIT = 2.0**-20  # Å/ps
NEWEST, UNPLACED, PREVIOUS = "checkpoint.tck", "checkpoint.next.tck", "checkpoint.previous.tck"


@dataclass
class Checkpoint:
    """The atoms by id and the box at a step."""

    path: Path
    step: int
    box: FloatArray  # (3,3) Å, rows are the box vectors
    fraction: NDArray[np.int32]  # (N,3), position = fraction·2⁻³²·box
    velocity: FloatArray  # (N,3) Å/ps
    is_half_step_before: bool  # where velocities stand relative to the positions
    timestep: float  # fs
    fingerprint: dict[str, str] = field(default_factory=dict)  # checksums of the system's parts
    problems: list[str] = field(default_factory=list)  # why newer ones were passed over


def candidates(folder: Path) -> list[Path]:
    """Returns the files of a folder that may be the newest checkpoint, in the order in which a restart tries them."""
    found = [folder / name for name in (NEWEST, UNPLACED, PREVIOUS) if (folder / name).is_file()]
    if [path.name for path in found[:2]] == [NEWEST, UNPLACED]:
        try:
            placed, unplaced = (int(read_header(path)["state"]["step"]) for path in found[:2])
        except InputError:
            return found
        if unplaced > placed:  # the run was killed before it could rename it
            found[:2] = found[1::-1]
    return found


def read_checkpoint(folder: Path) -> Checkpoint:
    """Raises `InputError` where the folder has none, or none that is intact."""
    problems: list[str] = []
    for path in candidates(folder):
        try:
            found = read_file(path)
            found.problems = problems
            return found
        except InputError as error:
            problems.append(str(error))
    if not problems:
        raise InputError(f"{folder} holds no checkpoint yet: --frame last takes the last frame of the trajectory")
    raise InputError(f"no good checkpoint in {folder}: {'; '.join(problems)}")


def read_header(path: Path) -> dict[str, Any]:
    """Returns all but the atoms of a checkpoint. Its file is not checked beyond them. Raises `InputError`."""
    try:
        return _header(path)
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from None


def check_file(path: Path, progress: Callable[[int], None] | None = None) -> dict[str, Any]:
    """Checks every byte of a checkpoint and returns all but its atoms. `progress` gets the number of bytes after each
    part. Raises `InputError`."""
    try:
        header = _header(path)
        checked_file.check(path, progress=progress)
        return header
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from None


def read_file(path: Path) -> Checkpoint:
    """Raises `InputError` where a checkpoint is not what was written."""
    try:
        header = check_file(path)
        arrays = checked_file.regions(path)[1:]
        counts = (3 * int(header["atoms"]),) * 3
        position, velocity, moved = (
            np.fromfile(path, "<i4", count, offset=region.begin).reshape(-1, 3)
            for region, count in zip(arrays, counts, strict=False)
        )
        return _decoded(path, header, position, velocity, moved)
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from None
    except InputError:
        raise
    except SENSELESS as error:
        raise InputError(f"{path} has a damaged header: {type(error).__name__} {error}") from None


def _parsed(path: Path, text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
        header["state"]["step"], header["atoms"], header["settings"]  # what every checkpoint has
    except SENSELESS:
        raise InputError(f"{path} has a damaged header") from None
    return dict(header)


def _header(path: Path) -> dict[str, Any]:
    """Returns the JSON of a checkpoint."""
    _check_version_line(path)
    regions = checked_file.regions(path)
    checked_file.check(path, bulk=False)
    text = b""
    if regions and not regions[0].is_bulk:
        with open(path, "rb") as file:
            file.seek(regions[0].begin)
            text = file.read(regions[0].end - regions[0].begin)
    if not text.startswith(b"{"):
        raise InputError(f"{path} is no checkpoint")
    header = _parsed(path, text)
    if header.get("format") != "tessera-checkpoint":
        raise InputError(f"{path} is no checkpoint")
    if header.get("version") != VERSION:
        _refuse_version(path, header.get("version"))
    return header


def _refuse_version(path: Path, version: object) -> None:
    mend = "begin the run anew with `tessera run RUN.toml --set output.overwrite=true`, which moves the earlier run's"
    is_newer = isinstance(version, int) and version > VERSION
    raise InputError(
        f"{path} is a checkpoint of version {version}, this tessera reads version {VERSION}: "
        f"{'use a newer tessera' if is_newer else mend + ' files away'}"
    )


def _check_version_line(path: Path) -> None:
    """Refuses a file of a version before 4, which begins with a line such as "tessera-checkpoint 3"."""
    with open(path, "rb") as file:
        first = re.match(rb"tessera-checkpoint (\d{1,9})\n", file.read(40))
    if first:
        _refuse_version(path, int(first[1]))


def _decoded(
    path: Path, header: dict[str, Any], position: NDArray[Any], velocity: NDArray[Any], moved: NDArray[Any]
) -> Checkpoint:
    state = header["state"]
    if not len(position) == len(velocity) == len(moved) == header["atoms"]:
        raise ValueError(f"{header['atoms']} atoms are announced")
    ax, bx, by, cx, cy, cz = (float(value) for value in state["box"])
    with np.errstate(over="ignore"):  # wraps into the box as the engine's sum of two fractions does
        fraction = position + moved
    return Checkpoint(
        path,
        int(state["step"]),
        np.array([[ax, 0, 0], [bx, by, 0], [cx, cy, cz]]),
        fraction.astype(np.int32, copy=False),
        velocity * VELOCITY_UNIT,
        int(state["velocity_time"]) != 0,
        float(header["settings"]["dynamics.timestep"]),
        dict(header["settings"]["input.system"]),
    )


def check_system(checkpoint: Checkpoint, system: System, path: Path) -> None:
    """Raises `InputError` where the system file is not the one of the run, as far as names and bonds tell."""
    changed = [
        part
        for part, values in _parts(system).items()
        if part in checkpoint.fingerprint and checkpoint.fingerprint[part] != _checksum(values)
    ]
    if system.n_atoms != len(checkpoint.fraction) or changed:
        found = f"{system.n_atoms:,} atoms, the checkpoint {len(checkpoint.fraction):,}"
        raise InputError(
            f"{path} is not the system that {checkpoint.path} comes from: it has "
            f"{'other ' + ', '.join(changed) if changed else found}; name the right one with --system"
        )


def _parts(system: System) -> dict[str, list[NDArray[Any]]]:
    """Returns some of the parts that `cpp/tessera/app/restart/fingerprint.cpp` sums, by its names, as its lists."""
    parts: dict[str, list[NDArray[Any]]] = {"instances/runs": [system.runs.astype("<i8").reshape(-1)]}
    for template in system.templates:
        for name in ("atom_name", "residue_name", "segment_name"):
            texts = [np.frombuffer(str(text).encode(), np.uint8) for text in getattr(template, name)]
            lists = parts.setdefault(f"templates/{name}", [])
            lists += [np.array([len(texts)], "<u8"), *texts]
        bonds = template.term("bond")
        parts.setdefault("templates/bond", []).extend([bonds.atoms.astype("<i4"), bonds.parameter.astype("<i4")])
    return parts


def _checksum(lists: list[NDArray[Any]]) -> str:
    total = hashlib.sha256()
    for values in lists:
        total.update(len(values).to_bytes(8, "little") + values.tobytes())
    return total.hexdigest()[:16]
