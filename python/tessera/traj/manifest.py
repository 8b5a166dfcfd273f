"""Manifests of trajectories in segments: what the frames of a segment hold, and an entry for each frame.

`docs/reference/trajectory.md` describes the bytes.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.checked_file import DamagedFileError, checksum
from tessera.errors import SENSELESS
from tessera.select.resolve import ranges_of

MAGIC = b"tessera segment 1\n"
FOLDER = "trajectory.segments"
FLOAT32: dict[str, Any] = {"kind": "float32"}  # the plain encoding
QUANTITIES = ("positions", "velocities", "forces")
START = struct.Struct("<32sQQQQ")  # magic, bytes of the JSON, its checksum, bytes of an entry, checksum before
MOST_BYTES_OF_JSON = 1 << 32
MOST_NUMBER = 1 << 62  # of atoms and steps
NAME = re.compile(r"segment-(\d{4,})\.manifest")
OF_SEGMENT = re.compile(r"segment-(\d{4,})\.")
IdArray = NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """A file with the numbers of the atoms in the rows `first` to `first + atoms - 1` of a frame."""

    path: Path
    first: int
    atoms: int


@dataclass
class Manifest:
    """A segment. Entries whose checksum does not match are left out."""

    path: Path
    number: int  # from the name
    stamp: tuple[int, ...]  # changes when the file does
    size: int  # bytes of the file
    header_bytes: int
    description: dict[str, Any]  # the JSON
    parts: list[Part]
    entries: NDArray[np.void]  # (frames,) of entry_type
    damaged: int = 0  # entries that are not what was written
    torn: int = 0  # bytes behind the last whole entry

    @property
    def atoms(self) -> int:
        return int(self.description["atoms"])

    @property
    def system_atoms(self) -> int:
        return int(self.description["system_atoms"])

    @property
    def quantities(self) -> list[str]:
        return list(self.description["quantities"])

    @property
    def encodings(self) -> list[dict[str, Any]]:
        return list(self.description["encodings"])

    @property
    def depends(self) -> list[int]:
        """The quantities of which a frame needs those before it."""
        return [index for index, encoding in enumerate(self.encodings) if encoding["kind"] == "moved"]

    @property
    def after_step(self) -> int:
        return int(self.description["after_step"])

    @property
    def every(self) -> int:
        return int(self.description["every"])

    @property
    def interval(self) -> float:
        """ps between frames."""
        return self.every * float(self.description["timestep"])

    @property
    def bytes(self) -> int:
        """Of the manifest and its parts on the disk."""
        return self.size + sum(part.path.stat().st_size for part in self.parts if part.path.is_file())

    def unfinished(self) -> int:
        """Counts the bytes behind the last frame, in the manifest and in the parts. Raises `OSError`."""
        rest = self.torn
        for index, part in enumerate(self.parts):
            if part.path.is_file():
                places = self.entries["place"][:, index]
                end = int((places[..., 0] + places[..., 1]).max()) if len(self.entries) and places.size else 0
                rest += max(0, part.path.stat().st_size - end)
        return rest


@dataclass
class Segments:
    """The segments of one run in their order."""

    folder: Path
    manifests: list[Manifest]
    begun: list[Path] = field(default_factory=list)  # manifests whose header is not there yet


def entry_type(parts: int, quantities: int) -> np.dtype[np.void]:
    """Returns the numbers of an entry. `place` is (parts, quantities, 3): offset, bytes and checksum."""
    return np.dtype(
        [
            ("number", "<i8"),
            ("step", "<i8"),
            ("time", "<f8"),  # ps
            ("box", "<f8", (3, 3)),  # Å, rows are vectors
            ("place", "<u8", (parts, quantities, 3)),
            ("checksum", "<u8"),
        ]
    )


def manifest_name(number: int) -> str:
    return f"segment-{number:04d}.manifest"


def part_name(number: int, part: int) -> str:
    return f"segment-{number:04d}.part-{part:04d}"


def manifest_paths(folder: Path) -> list[Path]:
    """Returns the manifests of a folder in the order of their numbers. Raises `OSError`."""
    found = [path for path in folder.iterdir() if NAME.fullmatch(path.name)]
    return sorted(found, key=number_of)


def numbers_of(folder: Path) -> set[int]:
    """Returns the numbers of segments of which a folder holds any file. Raises `OSError`."""
    return {int(match[1]) for path in folder.iterdir() if (match := OF_SEGMENT.match(path.name))}


def number_of(path: Path) -> int:
    """Returns the number in a manifest's name."""
    match = NAME.fullmatch(path.name)
    return int(match[1]) if match else 0


def read_segments(folder: Path, known: Iterable[Manifest] = ()) -> Segments:
    """Reads the manifests of a folder, those of `known` only where their files have changed.

    Raises `DamagedFileError` where the header of one is not what was written, and `OSError`.
    """
    before = {manifest.path: manifest for manifest in known}
    segments = Segments(folder, [])
    for path in manifest_paths(folder):
        old = before.get(path)
        if old is not None and not old.damaged and old.stamp == _stamp(os.stat(path)):
            segments.manifests.append(old)
            continue
        manifest = read_manifest(path)
        if manifest is None:
            segments.begun.append(path)
        else:
            segments.manifests.append(manifest)
    return segments


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def read_manifest(path: Path) -> Manifest | None:
    """Reads a manifest; None where its header is not complete and no numbers were written either, as a run leaves it
    that has just begun the segment. Raises `DamagedFileError` and `OSError`."""
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        content = file.read()
    header = _header(path, content)
    if header is None:
        if any(part.stat().st_size for part in path.parent.glob(f"{path.name.removesuffix('.manifest')}.part-*")):
            raise _damaged(path, f"ends in its header, after {len(content)} bytes")
        return None
    description, entry_bytes, begin = header
    parts = _parts(path, description)
    kind = entry_type(len(parts), len(description["quantities"]))
    if kind.itemsize != entry_bytes:
        raise _damaged(path, f"has entries of {entry_bytes} bytes, expected {kind.itemsize}")
    count = (len(content) - begin) // entry_bytes
    entries = np.frombuffer(content, kind, count, begin)
    whole = _whole(memoryview(content)[begin:], entries, int(description["after_step"]))
    return Manifest(
        path=path,
        number=number_of(path),
        stamp=_stamp(status),
        size=len(content),
        header_bytes=begin,
        description=description,
        parts=parts,
        entries=entries if whole.all() else entries[whole],
        damaged=int(count - whole.sum()),
        torn=len(content) - begin - count * entry_bytes,
    )


def _damaged(path: Path, what: str) -> DamagedFileError:
    return DamagedFileError(
        f"{path} {what}; put a copy of it back, or read the other segments after tessera traj repair {path.parent}"
    )


def _header(path: Path, content: bytes) -> tuple[dict[str, Any], int, int] | None:
    """Returns the JSON, the bytes of an entry, and where the first one begins; None where the header is cut off."""
    if len(content) < START.size:
        return None
    magic, json_bytes, json_checksum, entry_bytes, stored = START.unpack_from(content)
    if magic.rstrip(b"\0") != MAGIC or checksum(content[: START.size - 8]) != stored:
        raise _damaged(path, f"is damaged in its first {START.size} bytes")
    if json_bytes > MOST_BYTES_OF_JSON or json_bytes % 8 or not entry_bytes:
        raise _damaged(path, f"has a JSON of {json_bytes} bytes and entries of {entry_bytes}")
    text = content[START.size : START.size + json_bytes]
    if len(text) < json_bytes:
        return None
    if checksum(text) != json_checksum:
        raise _damaged(path, f"is damaged in its bytes {START.size} to {START.size + json_bytes - 1}")
    try:
        description = json.loads(text)
        _check_description(description)
    except SENSELESS as error:
        raise _damaged(path, f"has a JSON that this tessera does not understand ({error})") from None
    return description, entry_bytes, START.size + json_bytes


def _check_description(found: dict[str, Any]) -> None:
    """Raises an exception of `SENSELESS` where something is missing or does not go together."""
    atoms, quantities = int(found["atoms"]), found["quantities"]
    unknown = [name for name in quantities if name not in QUANTITIES]
    if unknown or not quantities or quantities[0] != "positions":
        raise ValueError(f"quantities {quantities}")
    if len(found["encodings"]) != len(quantities):
        raise ValueError(f"{len(found['encodings'])} encodings of {len(quantities)} quantities")
    for encoding in found["encodings"]:
        if encoding["kind"] not in ("float32", "lossless", "packed", "moved"):
            raise ValueError(
                f"encoding {encoding['kind']!r}, expected float32, lossless, packed or moved: where an earlier tessera "
                "wrote it, `tessera run RUN.toml --set output.overwrite=true` makes it anew"
            )
        if encoding["kind"] == "packed" and not float(encoding["unit"]) > 0:
            raise ValueError(f"unit {encoding['unit']}")
    row = 0
    for part in found["parts"]:
        name = part["file"]
        if int(part["first"]) != row or int(part["atoms"]) < 0 or os.path.basename(name) != name or "\0" in name:
            raise ValueError(f"part {part}")
        row += int(part["atoms"])
    if row != atoms:
        raise ValueError(f"parts of {row} atoms of {atoms}")
    blocks = np.array(found["ids"], np.int64).reshape(-1, 4)
    if (blocks[:, 1:] < 1).any() or int((blocks[:, 1] * blocks[:, 3]).sum()) != atoms:
        raise ValueError("ids of another number of atoms")
    for key in ("system_atoms", "after_step", "every"):
        if abs(int(found[key])) > MOST_NUMBER:
            raise ValueError(f"{key} beyond {MOST_NUMBER}")
    if not math.isfinite(float(found["timestep"])):
        raise ValueError(f"timestep {found['timestep']}")
    if atoms > int(found["system_atoms"]):
        raise ValueError(f"{atoms} atoms of {found['system_atoms']}")


def _parts(path: Path, description: dict[str, Any]) -> list[Part]:
    return [Part(path.parent / part["file"], int(part["first"]), int(part["atoms"])) for part in description["parts"]]


def _whole(content: memoryview, entries: NDArray[np.void], after_step: int) -> NDArray[np.bool_]:
    """Returns which entries are what was written: by their checksums and numbers, and with steps that rise."""
    size = entries.dtype.itemsize
    found = np.array([checksum(content[at : at + size - 8]) for at in range(0, len(entries) * size, size)], np.uint64)
    whole = (found == entries["checksum"]) & (entries["number"] == np.arange(len(entries)))
    steps = np.where(whole, entries["step"], after_step)
    highest = np.maximum.accumulate(np.concatenate([np.array([after_step], np.int64), steps]))[:-1]
    return np.asarray(whole & (entries["step"] > highest), np.bool_)


def ids_of(blocks: Sequence[Sequence[int]]) -> IdArray:
    """Returns the ids (n,) of blocks [first, length, stride, count]: ranges of equal lengths and distances."""
    found = [
        (first + stride * np.arange(count)[:, None] + np.arange(length)).ravel()
        for first, length, stride, count in blocks
    ]
    return np.concatenate([np.zeros(0, np.int64), *found]).astype(np.int64)


def blocks_of(ids: NDArray[np.integer[Any]]) -> list[list[int]]:
    """Returns blocks [first, length, stride, count] of ids (n,) that rise."""
    found: list[list[int]] = []
    for first, last in ranges_of(np.asarray(ids, np.int64)):
        length = last - first + 1
        if found:
            block = found[-1]
            begin, same, stride, count = block
            if same == length and (count == 1 or first == begin + count * stride):
                block[2:] = [(first - begin) // count, count + 1]
                continue
        found.append([first, length, length, 1])
    return found


def taken(runs: Sequence[Segments]) -> list[list[NDArray[np.bool_]]]:
    """Returns for each run and each of its segments which frames readers take: those that no later segment has again.

    A run whose first segment begins at a step above 0 goes on from the run before it; other runs begin anew.
    """
    found: list[list[NDArray[np.bool_]]] = []
    limit = np.iinfo(np.int64).max
    for run in reversed(runs):
        masks = []
        for manifest in reversed(run.manifests):
            masks.append(manifest.entries["step"] <= limit)
            limit = min(limit, manifest.after_step)
        if begins_anew(run):
            limit = np.iinfo(np.int64).max
        found.append(masks[::-1])
    return found[::-1]


def begins_anew(run: Segments) -> bool:
    """Tells whether the run begins at step 0."""
    return bool(run.manifests) and run.manifests[0].after_step < 0
