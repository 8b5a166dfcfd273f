"""Reads the newest intact checkpoint of a folder, `cpp/tessera/app/restart/checkpoint.h`.

The engine could read it too, but it would build cells and mesh for a run first, which takes the memory of a run and the
settings of the same one; here it is arrays. A test holds both against each other.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.prepare.errors import InputError
from tessera.system import System
from tessera.system.model import FloatArray

VERSION = 3
VELOCITY_UNIT = 2.0**-20  # Å/ps
NAMES = ("checkpoint.tck", "checkpoint.next.tck", "checkpoint.previous.tck")  # newest first
_MAGIC = b"tessera-checkpoint "
_CHECKSUM_BYTES = 64


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


def read_checkpoint(folder: Path) -> Checkpoint:
    """Raises `InputError` where the folder has none, or none that is intact."""
    problems: list[str] = []
    for name in NAMES:
        path = folder / name
        if not path.is_file():
            continue
        try:
            found = _read(path)
            found.problems = problems
            return found
        except InputError as error:
            problems.append(str(error))
    if not problems:
        raise InputError(f"{folder} holds no checkpoint yet: --frame last takes the last frame of the trajectory")
    raise InputError(f"no good checkpoint in {folder}: {'; '.join(problems)}")


def _read(path: Path) -> Checkpoint:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from None
    first, _, rest = data.partition(b"\n")
    if not first.startswith(_MAGIC) or not first[len(_MAGIC) :].isdigit():
        raise InputError(f"{path} is no checkpoint, or is damaged")
    if int(first[len(_MAGIC) :]) != VERSION:
        raise InputError(
            f"{path} is a checkpoint of version {first[len(_MAGIC) :].decode()}, this tessera reads version {VERSION}: "
            "export with the tessera that wrote it"
        )
    header, _, records = rest.partition(b"\n")
    stored = records[-_CHECKSUM_BYTES:]
    records = records[:-_CHECKSUM_BYTES]
    if hashlib.sha256(header + records).hexdigest().encode() != stored:
        raise InputError(f"{path} is damaged or truncated: its checksum does not match")
    try:
        return _decoded(path, json.loads(header), records)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise InputError(f"{path} has a damaged header: {type(error).__name__} {error}") from None


def _decoded(path: Path, header: dict[str, Any], records: bytes) -> Checkpoint:
    state = header["state"]
    fields = sum(int(entry["width"]) for entry in state["fields"])
    integers = [(name, "<i4", 3) for name in ("position", "velocity", "displacement")]
    atoms = np.frombuffer(records, np.dtype([("id", "<i8"), *integers, ("fields", "<f8", (fields,))]))
    if len(atoms) != header["atoms"] or not np.array_equal(np.sort(atoms["id"]), np.arange(len(atoms))):
        raise ValueError(f"{header['atoms']} atoms are announced")
    fraction = np.empty((len(atoms), 3), np.int32)
    velocity = np.empty((len(atoms), 3))
    # Wraps into the box as the engine's sum of two fractions does.
    fraction[atoms["id"]] = atoms["position"] + atoms["displacement"]
    velocity[atoms["id"]] = atoms["velocity"] * VELOCITY_UNIT
    ax, bx, by, cx, cy, cz = (float(value) for value in state["box"])
    return Checkpoint(
        path,
        int(state["step"]),
        np.array([[ax, 0, 0], [bx, by, 0], [cx, cy, cz]]),
        fraction,
        velocity,
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
    """Some of the parts that `cpp/tessera/app/restart/fingerprint.cpp` sums, by its names, as its lists."""
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
