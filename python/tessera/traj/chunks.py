"""Lossless numbers: chunks of 65,536 rows, each a Blosc buffer of differences within groups of rows.

Rows are groups of p (the atoms of a molecule, say). The first row of a group is a difference to the first row of the
group before, the others are differences to the first; rows that fill no group are differences to the row before them.
Differences are modulo 2³² and folded, so that small ones are small numbers whatever their sign: d becomes 2d or
-2d - 1. They stand in the order of the place in the group, then x, y, z, then groups, then zeros up to a
multiple of eight.
`cpp/tessera/io/segments/encoding.cpp` writes the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CHUNK = 65_536  # rows
_HEADER = 16  # bytes of a Blosc buffer
_MOST_PERIOD = 5
_SAMPLE = 512  # groups by which a period is chosen
Floats = NDArray[np.float32]
Integers = NDArray[np.uint32]


def decompress_rows(data: bytes, out: Floats) -> None:
    """Puts the numbers of these bytes into `out` (n,3). Raises `ValueError` where they are of other atoms."""
    from numcodecs.blosc import decompress

    chunks = -(-len(out) // CHUNK)
    table = np.frombuffer(data, "<u4", min(2 * chunks, len(data) // 4)).astype(np.int64)
    if len(table) < 2 * chunks or 8 * chunks + int(table[::2].sum()) != len(data):
        raise ValueError(f"{chunks} chunks that are not of {len(data)} bytes")
    at = 8 * chunks
    for chunk, (size, period) in enumerate(table.reshape(-1, 2).tolist()):
        target = out[chunk * CHUNK : (chunk + 1) * CHUNK]
        source = data[at : at + size]
        if size < _HEADER or int.from_bytes(source[4:8], "little") != _bytes_of(len(target)) or period < 1:
            raise ValueError(f"a chunk that is not of {len(target)} atoms")
        integers = from_differences(np.frombuffer(decompress(source), "<u4", 3 * len(target)), period)
        bits = integers.view(np.int32)
        np.bitwise_xor(bits, (bits >> 31) & 0x7FFFFFFF, out=target.view(np.int32))
        at += size


def compress_rows(values: Floats) -> bytes:
    """Returns the bytes of numbers (n,3)."""
    from numcodecs.blosc import BITSHUFFLE, compress

    bits = np.ascontiguousarray(values, "<f4").view(np.int32)
    integers = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).view(np.uint32)
    table, chunks = [], []
    for begin in range(0, len(integers), CHUNK):
        rows = integers[begin : begin + CHUNK]
        period = _best_period(rows)
        padded = np.zeros(_bytes_of(len(rows)) // 4, np.uint32)
        padded[: 3 * len(rows)] = to_differences(rows, period)
        chunks.append(compress(padded, b"zstd", 3, BITSHUFFLE))
        table += [len(chunks[-1]), period]
    return np.array(table, "<u4").tobytes() + b"".join(chunks)


def _bytes_of(rows: int) -> int:
    """Returns the bytes of the integers of a chunk; Blosc shuffles the bits of eight together."""
    return -(-3 * rows // 8) * 32


def from_differences(stream: Integers, period: int) -> Integers:
    """Returns integers (n,3) of their differences (3n,)."""
    differences = (stream >> 1) ^ (0 - (stream & 1))
    n = len(stream) // 3
    groups = n // period
    grouped = differences[: 3 * groups * period].reshape(period, 3, groups)
    np.cumsum(grouped[0], axis=1, dtype=np.uint32, out=grouped[0])
    grouped[1:] += grouped[0]
    integers = np.empty((n, 3), np.uint32)
    integers[: groups * period].reshape(groups, period, 3)[:] = grouped.transpose(2, 0, 1)
    rest = np.cumsum(differences[3 * groups * period :].reshape(-1, 3), axis=0, dtype=np.uint32)
    integers[groups * period :] = rest + integers[groups * period - 1] if groups else rest
    return integers


def to_differences(integers: Integers, period: int) -> Integers:
    """Returns the differences (3n,) of integers (n,3)."""
    n = len(integers)
    groups = n // period
    grouped = integers[: groups * period].reshape(groups, period, 3)
    differences = grouped - grouped[:, :1]
    differences[:, 0] = np.diff(grouped[:, 0], axis=0, prepend=np.zeros((1, 3), np.uint32))
    rest = np.diff(integers, axis=0, prepend=np.zeros((1, 3), np.uint32))[groups * period :]
    return _folded(np.concatenate([differences.transpose(1, 2, 0).reshape(-1), rest.reshape(-1)]))


def _folded(differences: Integers) -> Integers:
    return np.asarray((differences << 1) ^ (0 - (differences >> 31)), np.uint32)


def _best_period(integers: Integers) -> int:
    """Returns the period with the fewest bits in a sample of groups."""

    def bits(period: int) -> float:
        groups = len(integers) // period
        # A step that shares no factor with the atoms of molecules meets all places in them.
        first = np.arange(1, groups, groups // _SAMPLE // 12 * 12 + 1) * period
        found = [integers[first] - integers[first - period]]
        found += [integers[first + k] - integers[first] for k in range(1, period)]
        if not len(first):
            return np.inf
        # A plane of bits is left out where all are zero, and compressed where most are.
        values = _folded(np.array(found)).reshape(period, -1)
        wider = np.array([(values >> plane > 0).mean(axis=1) for plane in range(32)])
        return float(np.minimum(1, 4 * wider).sum(axis=0).mean())

    return min(range(1, _MOST_PERIOD + 1), key=bits)
