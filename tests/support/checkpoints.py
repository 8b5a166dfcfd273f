"""Damage of files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tessera import checked_file


def damaged(content: bytes, seed: int) -> bytes:
    """Returns a copy with a bit flipped, a byte changed, a block zeroed, or cut."""
    random = np.random.default_rng(seed)
    at = int(random.integers(len(content)))
    out = bytearray(content)
    if seed % 4 == 0:
        return content[:at]
    if seed % 4 == 1:
        out[at] ^= int(random.integers(1, 256))
    elif seed % 4 == 2:
        length = int(random.choice([64, 512, 4096, 65536]))
        begin = at // length * length
        out[begin : begin + length] = bytes(len(out[begin : begin + length]))
    else:
        out[at] ^= 1 << int(random.integers(8))
    return bytes(out)


def flip(path: Path, at: int) -> None:
    """Flips a bit of a file."""
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


def with_header(path: Path, old: bytes, new: bytes) -> None:
    """Replaces bytes of the header by as many others; the checksums are those of the new content."""
    content = path.read_bytes().replace(old, new, 1)
    regions = checked_file.regions(path)
    path.write_bytes(content)
    table = [
        checked_file.checksum(content[at : min(at + checked_file.PIECE_BYTES, region.end)])
        for region in regions
        for at in range(region.begin, region.end, checked_file.PIECE_BYTES)
    ]
    with open(path, "r+b") as file:
        checked_file.write_checksums(file.fileno(), regions, regions[-1].end, np.array(table, "<u8"))
