"""Reads binary coordinates of NAMD, and restarts of GENESIS."""

from __future__ import annotations

import struct

import numpy as np

from tessera.errors import InputError
from tessera.prepare.coordinates.model import Coordinates, box_from_lengths
from tessera.prepare.text import Source

AKMA_PS = 4.88882129e-2  # ps in the time unit of CHARMM, NAMD and GENESIS
GENESIS_MAGIC = b"GD150608"


def is_namd(data: bytes) -> bool:
    """Returns whether the size of the file fits the number of atoms at its beginning."""
    return len(data) > 4 and len(data) == 4 + 24 * int(struct.unpack("<i", data[:4])[0])


def read_namd(source: Source) -> Coordinates:
    data = source.data
    if not is_namd(data):
        count = struct.unpack("<i", data[:4])[0] if len(data) >= 4 else 0
        raise InputError(
            f"{source.name} is no NAMD binary file or is truncated: it announces {count} atoms, "
            f"which need {4 + 24 * count} bytes, and has {len(data)}"
        )
    return Coordinates(np.frombuffer(data, "<f8", offset=4).reshape(-1, 3).copy())


def read_genesis(source: Source) -> Coordinates:
    records = _genesis_records(source.data, source.name)
    try:
        axes = [_reals(records, f"coord_{d}", source.name) for d in "xyz"]
        lengths = [_reals(records, f"box_size_{d}", source.name, 1)[0] for d in "xyz"]
        velocities = [_reals(records, f"velocity_{d}", source.name) for d in "xyz" if f"velocity_{d}" in records]
    except KeyError as error:
        raise InputError(f"{source.name} is truncated: no record {error.args[0]!r}") from None
    if len({len(axis) for axis in (*axes, *velocities)}) != 1 or len(velocities) not in (0, 3):
        raise InputError(f"{source.name} is damaged: its coordinates and velocities differ in number")
    velocity = np.stack(velocities, axis=1) / AKMA_PS if velocities else None
    return Coordinates(np.stack(axes, axis=1), box_from_lengths(lengths), velocity)


def _reals(records: dict[str, bytes], tag: str, name: str, count: int | None = None) -> np.ndarray:
    size = len(records[tag])
    if size % 8 or (count is not None and size != 8 * count):
        raise InputError(f"{name} is damaged: record {tag!r} has {size} bytes")
    return np.frombuffer(records[tag], "<f8")


def _genesis_records(data: bytes, name: str) -> dict[str, bytes]:
    """Returns the records of a GENESIS restart: int64 length of the record, 1-char type, 40-char tag, data, 8 bytes."""
    records, at = {}, len(GENESIS_MAGIC)
    while at + 8 <= len(data):
        (length,) = struct.unpack_from("<q", data, at)
        if length < 57 or at + length > len(data):
            raise InputError(f"{name} is truncated: a record at byte {at} wants {length} bytes")
        tag = data[at + 9 : at + 49].decode("ascii", "replace").strip(" \0")
        records[tag] = data[at + 49 : at + length - 8]
        at += length
    return records
