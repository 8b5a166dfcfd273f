"""Files of which every byte has a checksum, so that a reader looks at nothing that is not what was written.

A checked file has three parts: a header of 512 bytes, the content, and a table of checksums. The content consists of
regions, and each region of pieces of 768 KiB (its last piece may be shorter); the table has the XXH3 (64 bits, seed 0)
of every piece, then that of every 4096 entries of the table, and the header has that of the latter and its own. So a
reader checks any part of a file by reading the pieces it needs and a few kilobytes of the table. Regions are of two
sorts: *bulk* arrays, of which a reader takes the rows that it needs, and the rest, which it checks before it looks at
any of it. The content may be an HDF5 file: HDF5 finds it behind a header of 512 bytes.

`docs/reference/checked_file.md` describes the bytes; `cpp/tessera/io/checked_file.h` reads and writes the same files.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest as checksum

from tessera.errors import InputError

MAGIC = b"tessera checked file 1\n"
HEADER_BYTES = 512
PIECE_BYTES = 768 * 1024  # holds whole rows of 4, 8, 12 and 24 bytes
MOST_REGIONS = 24
RUN = 4096  # entries of the table that have a checksum together
_START = struct.Struct("<32sQQQ")  # magic, bytes of header and content, checksum of the table's checksums, regions
_BULK = 1 << 63


class DamagedFileError(InputError):
    """Raised where a checked file is not what was written; says what does not match and how to mend it."""


@dataclass(frozen=True)
class Region:
    """Bytes `begin` to `end` of the file."""

    begin: int
    end: int
    is_bulk: bool

    @property
    def pieces(self) -> int:
        return -(-(self.end - self.begin) // PIECE_BYTES)


def regions_around(bulk: Sequence[tuple[int, int]], end: int) -> list[Region]:
    """Returns all regions of a content that ends at byte `end` and has bulk arrays from and to these bytes."""
    found, at = [], HEADER_BYTES
    for begin, stop in sorted(bulk):
        if begin > at:
            found.append(Region(at, begin, False))
        if stop > begin:
            found.append(Region(begin, stop, True))
        at = stop
    if end > at:
        found.append(Region(at, end, False))
    return found


class Writer:
    """Writes rows of bulk arrays into a file that has all else, and at last its checksums. Several processes may each
    write some of the rows.

    `bulk` says from and to which byte each array is in the file of `path`, whose content ends at byte `end`. Raises
    `OSError`.
    """

    def __init__(self, path: Path, bulk: dict[str, tuple[int, int]], end: int) -> None:
        self._descriptor, self._path, self._end = os.open(path, os.O_RDWR | os.O_CLOEXEC), path, end
        self._regions = regions_around(list(bulk.values()), end)
        firsts = np.cumsum([0, *(region.pieces for region in self._regions)])
        self._table = np.zeros(int(firsts[-1]), "<u8")
        by_begin = {region.begin: (region, int(first)) for region, first in zip(self._regions, firsts)}
        self._arrays = {name: by_begin[begin] for name, (begin, stop) in bulk.items() if stop > begin}
        self._unread: list[tuple[int, int, int]] = []  # number, begin and end of each piece that others have begun
        self._found: dict[int, int] = {}

    def close(self) -> None:
        """Closes the file, whatever it holds."""
        os.close(self._descriptor)

    def write(self, name: str, at: int, rows: NDArray[Any]) -> None:
        """Writes rows of a bulk array from its byte `at` on. Raises `OSError`."""
        if not rows.size:
            return
        region, first = self._arrays[name]
        data = np.ascontiguousarray(rows).data.cast("B")
        if at + len(data) > region.end - region.begin:
            raise ValueError(f"bytes {at} to {at + len(data)} of {name}, expected at most {region}")
        _write(self._descriptor, data, region.begin + at)
        for piece in range(at // PIECE_BYTES, -(-(at + len(data)) // PIECE_BYTES)):
            begin, end = piece * PIECE_BYTES, min((piece + 1) * PIECE_BYTES, region.end - region.begin)
            if end > at + len(data):
                continue  # who writes the end of a piece finds its checksum
            if begin >= at:
                self._found[first + piece] = checksum(data[begin - at : end - at])
            else:
                self._unread.append((first + piece, region.begin + begin, region.begin + end))

    def flush(self) -> None:
        """Brings to the disk what this process has written, so that other hosts can read it. Raises `OSError`."""
        os.fsync(self._descriptor)

    def checksums(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Returns numbers and checksums of the pieces whose end this process has written. Everything that others write
        must be in the file before. Raises `OSError`."""
        # A network file system shows what other hosts have written to who opens the file after that.
        before, self._descriptor = self._descriptor, os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        os.close(before)
        for piece, begin, end in self._unread:
            self._found[piece] = checksum(_read(self._descriptor, begin, end))
        return np.array(list(self._found), np.int64), np.array(list(self._found.values()), "<u8")

    def finish(self, checksums: Iterable[tuple[NDArray[Any], NDArray[Any]]]) -> None:
        """Writes the table and the header, from the checksums of all processes. Raises `OSError`."""
        is_known = np.zeros(len(self._table), bool)
        for pieces, found in checksums:
            self._table[pieces] = found
            is_known[pieces] = True
        first = 0
        for region in self._regions:
            if not region.is_bulk:
                for index, (begin, end) in enumerate(_pieces(region)):
                    self._table[first + index] = checksum(_read(self._descriptor, begin, end))
            elif not is_known[first : first + region.pieces].all():
                raise ValueError(f"rows are missing in {region}")
            first += region.pieces
        write_checksums(self._descriptor, self._regions, self._end, self._table)


def _write(descriptor: int, data: memoryview, at: int) -> None:
    while len(data):
        done = os.pwrite(descriptor, data, at)
        data, at = data[done:], at + done


def write_checksums(descriptor: int, regions: Sequence[Region], end: int, table: NDArray[Any]) -> None:
    """Writes the table (pieces,) of checksums behind byte `end` of a file, then its header. Raises `OSError`."""
    if len(regions) > MOST_REGIONS:
        raise ValueError(f"{len(regions)} regions, expected at most {MOST_REGIONS}")
    stored = table.astype("<u8").tobytes()
    runs = np.array([checksum(stored[at : at + 8 * RUN]) for at in range(0, len(stored), 8 * RUN)], "<u8").tobytes()
    header = bytearray(HEADER_BYTES)
    _START.pack_into(header, 0, MAGIC, end, checksum(runs), len(regions))
    for index, region in enumerate(regions):
        size = region.end - region.begin
        struct.pack_into("<QQ", header, _START.size + 16 * index, region.begin, size | (_BULK if region.is_bulk else 0))
    struct.pack_into("<Q", header, HEADER_BYTES - 8, checksum(bytes(header[:-8])))
    os.ftruncate(descriptor, end)
    _write(descriptor, memoryview(stored + runs), end)
    _write(descriptor, memoryview(header), 0)


def is_checked(path: str | Path) -> bool:
    """Returns whether a file begins as checked files do. Raises `OSError`."""
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def regions(path: str | Path) -> list[Region]:
    """Returns the regions of a file, of which it checks the header alone. Raises `DamagedFileError`, `OSError`."""
    with _open(path) as descriptor:
        return _header(path, descriptor).regions


def check(path: str | Path, *, bulk: bool = True, progress: Callable[[int], None] | None = None) -> None:
    """Checks all of a file, or all but its bulk arrays, by as many threads as there are processors. `progress` gets the
    number of bytes after each piece.

    Raises `DamagedFileError` at the first part that is not what was written, `OSError` where the file can't be read.
    """
    with _open(path) as descriptor:
        work = list(_work(*_checked_table(path, descriptor), bulk))

        def check_piece(piece: tuple[int, int, int]) -> int:
            begin, end, expected = piece
            if checksum(_read(descriptor, begin, end)) != expected:
                raise DamagedFileError(
                    f"{path} is damaged: its bytes {begin} to {end - 1} are not what was written; copy it again or "
                    "make it again"
                )
            return end - begin

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
            step = 1024
            for first in range(0, len(work), step):
                for done in threads.map(check_piece, work[first : first + step]):
                    if progress is not None:
                        progress(done)


def seal(path: str | Path) -> None:
    """Writes the checksums of a checked file anew, after another program has changed its content in place. A reader
    then checks all of it before it looks at any of it. Raises `DamagedFileError` where it is none, `OSError`."""
    with _open(path, os.O_RDWR) as descriptor:
        old, size = _header(path, descriptor), os.fstat(descriptor).st_size
        # HDF5 leaves no bytes behind the content of a file that it has changed.
        region = Region(HEADER_BYTES, old.end if size == old.size else size, False)
        table = [checksum(_read(descriptor, begin, end)) for begin, end in _pieces(region)]
        write_checksums(descriptor, [region], region.end, np.array(table, "<u8"))


@dataclass(frozen=True)
class _Header:
    end: int
    regions: list[Region]
    runs_checksum: int

    @property
    def pieces(self) -> int:
        return sum(region.pieces for region in self.regions)

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return self.end + 8 * self.pieces + 8 * -(-self.pieces // RUN)


def _header(path: str | Path, descriptor: int) -> _Header:
    header = _read(descriptor, 0, HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        raise DamagedFileError(f"{path} is truncated: {len(header)} bytes are left; copy it again or make it again")
    (stored,) = struct.unpack_from("<Q", header, HEADER_BYTES - 8)
    magic, end, runs_checksum, count = _START.unpack_from(header)
    if magic.rstrip(b"\0") != MAGIC or checksum(header[:-8]) != stored or count > MOST_REGIONS:
        raise DamagedFileError(f"{path} is damaged in its first {HEADER_BYTES} bytes; copy it again or make it again")
    found = []
    for index in range(count):
        begin, size = struct.unpack_from("<QQ", header, _START.size + 16 * index)
        found.append(Region(begin, begin + (size & ~_BULK), bool(size & _BULK)))
    return _Header(end, found, runs_checksum)


def _checked_table(path: str | Path, descriptor: int) -> tuple[list[Region], NDArray[Any]]:
    header = _header(path, descriptor)
    size = os.fstat(descriptor).st_size
    if size != header.size:
        raise DamagedFileError(f"{path} has {size} bytes, expected {header.size}; copy it again or make it again")
    runs = _read(descriptor, header.end + 8 * header.pieces, header.size)
    table = _read(descriptor, header.end, header.end + 8 * header.pieces)
    found = [checksum(table[at : at + 8 * RUN]) for at in range(0, len(table), 8 * RUN)]
    if checksum(runs) != header.runs_checksum or list(np.frombuffer(runs, "<u8")) != found:
        raise DamagedFileError(f"{path} is damaged in its table of checksums; copy it again or make it again")
    return header.regions, np.frombuffer(table, "<u8")


def _work(regions: Sequence[Region], table: NDArray[Any], bulk: bool) -> Iterator[tuple[int, int, int]]:
    """Yields the begin, the end and the checksum of each piece."""
    first = 0
    for region in regions:
        if bulk or not region.is_bulk:
            for index, (begin, end) in enumerate(_pieces(region)):
                yield begin, end, int(table[first + index])
        first += region.pieces


def _pieces(region: Region) -> Iterator[tuple[int, int]]:
    for begin in range(region.begin, region.end, PIECE_BYTES):
        yield begin, min(begin + PIECE_BYTES, region.end)


def _read(descriptor: int, begin: int, end: int) -> bytes:
    parts, at = [], begin
    while at < end:
        part = os.pread(descriptor, end - at, at)
        if not part:
            break
        parts.append(part)
        at += len(part)
    return b"".join(parts) if len(parts) != 1 else parts[0]


@contextmanager
def _open(path: str | Path, flags: int = os.O_RDONLY) -> Iterator[int]:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
