"""The numbers of frames: bytes of parts and their checksums, and the encodings.

float32    (n,3) numbers of 4 bytes
lossless   the bits of these numbers as integers, compressed (`chunks`)
packed     integers of a unit in as few bits as their ranges need, which `tessera._core` packs
moved      rows that have moved further than a distance since they were written last; in each 64th frame all
"""

from __future__ import annotations

import errno
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64

from tessera.checked_file import DamagedFileError, checksum
from tessera.files import open_regular
from tessera.traj.chunks import Floats, compress_rows, decompress_rows
from tessera.traj.manifest import Part

_PIECE = 8 << 20  # bytes that are read at once where nothing but their checksum is asked for


class Descriptors:
    """Keeps the files open that were read last, `most` of them, for any number of threads."""

    def __init__(self, most: int = 16) -> None:
        self._most, self._lock = most, threading.Lock()
        self._open: OrderedDict[Path, list[int]] = OrderedDict()  # descriptor, users

    @contextmanager
    def open(self, path: Path) -> Iterator[int]:
        """Yields a descriptor to read from. Raises `OSError`."""
        with self._lock:
            entry = self._open.get(path)
            if entry is None:
                entry = self._open[path] = [_opened(path), 0]
            self._open.move_to_end(path)
            entry[1] += 1
        try:
            yield entry[0]
        finally:
            with self._lock:
                entry[1] -= 1
                self._close(self._most)

    def close(self) -> None:
        with self._lock:
            self._close(0)

    def _close(self, most: int) -> None:
        """Closes the files of which nobody reads, those used last at last, until so many are left."""
        if len(self._open) <= most:
            return
        for path in [path for path, (_, users) in self._open.items() if not users][: len(self._open) - most]:
            os.close(self._open.pop(path)[0])

    def __del__(self) -> None:
        self.close()

    def __getstate__(self) -> int:
        return self._most

    def __setstate__(self, most: int) -> None:
        self.__init__(most)  # type: ignore[misc]


def _not_written(part: Part, begin: int, size: int) -> DamagedFileError:
    return DamagedFileError(
        f"{part.path} is damaged: its bytes {begin} to {begin + size - 1} are not what was written; put a copy of it "
        f"back, or leave the damaged frames out by tessera traj repair {part.path.parent}"
    )


def _missing(part: Part) -> DamagedFileError:
    return DamagedFileError(
        f"{part.path} is not there: put it back, or leave its frames out by tessera traj repair {part.path.parent}"
    )


def _opened(path: Path) -> int:
    """Returns a descriptor to read from. Raises `OSError`, of a folder, a pipe or a device as if nothing were there."""
    try:
        return open_regular(path)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise FileNotFoundError(errno.ENOENT, error.strerror, str(path)) from None


def read_place(files: Descriptors, part: Part, place: NDArray[np.uint64]) -> bytes:
    """Returns the bytes of a part at `place` (3,): offset, bytes, checksum. Raises `DamagedFileError` where they are
    not what was written, and `OSError`."""
    begin, size, expected = (int(number) for number in place)
    try:
        with files.open(part.path) as descriptor:
            if begin + size > os.fstat(descriptor).st_size:
                raise _not_written(part, begin, size)
            data = os.pread(descriptor, size, begin)
            while len(data) < size:  # Linux reads at most 2 GiB at once
                more = os.pread(descriptor, size - len(data), begin + len(data))
                if not more:
                    raise _not_written(part, begin, size)
                data += more
    except FileNotFoundError:
        raise _missing(part) from None
    if checksum(data) != expected:
        raise _not_written(part, begin, size)
    return data


def read_floats(files: Descriptors, part: Part, place: NDArray[np.uint64], out: Floats) -> None:
    """Does as `read_place` with numbers of the encoding `float32`, right into `out` (n,3), which is not a number where
    they are not what was written."""
    begin, size, expected = (int(number) for number in place)
    if size != out.nbytes:
        raise DamagedFileError(f"{part.path} has a frame of {size} bytes, expected {out.nbytes}")
    data, done = out.data.cast("B") if size else memoryview(b""), 0
    try:
        with files.open(part.path) as descriptor:
            while done < size:
                more = os.preadv(descriptor, [data[done:]], begin + done)
                if not more:
                    break
                done += more
    except FileNotFoundError:
        raise _missing(part) from None
    if done < size or checksum(data) != expected:
        out.fill(np.nan)
        raise _not_written(part, begin, size)


def check_place(files: Descriptors, part: Part, place: NDArray[np.uint64]) -> int:
    """Does as `read_place` in pieces, and returns the number of bytes."""
    begin, size, expected = (int(number) for number in place)
    state, at = xxh3_64(), begin
    try:
        with files.open(part.path) as descriptor:
            while at < begin + size:
                data = os.pread(descriptor, min(_PIECE, begin + size - at), at)
                if not data:
                    raise _not_written(part, begin, size)
                state.update(data)
                at += len(data)
    except (FileNotFoundError, OverflowError) as error:
        raise (_missing(part) if isinstance(error, OSError) else _not_written(part, begin, size)) from None
    if state.intdigest() != expected:
        raise _not_written(part, begin, size)
    return size


def decode(data: bytes, encoding: dict[str, Any], out: Floats, part: Part) -> None:
    """Puts the numbers of compressed bytes into `out` (n,3). Raises `DamagedFileError` where they are of other
    atoms."""
    try:
        if encoding["kind"] == "packed":
            from tessera._core import unpack

            unpack(data, float(encoding["unit"]), out)
        else:
            decompress_rows(data, out)
    except (ValueError, RuntimeError) as error:
        raise DamagedFileError(f"{part.path} has a frame with {error}") from None


def holds_all(data: bytes, part: Part) -> bool:
    """Tells whether the bytes of the encoding `moved` have all rows, so that no frame before it is needed."""
    return int.from_bytes(data[:4], "little") == part.atoms


def decode_moved(data: bytes, out: Floats, part: Part) -> None:
    """Puts the rows that have moved into `out` (n,3). Raises `DamagedFileError` where they are of other atoms."""
    count = int.from_bytes(data[:4], "little")
    begin = 4 if count == len(out) else 4 + 4 * count
    if len(data) != begin + 12 * count:
        raise DamagedFileError(f"{part.path} has a frame of {len(data)} bytes, expected {begin + 12 * count}")
    values = np.frombuffer(data, "<f4", offset=begin).reshape(count, 3)
    if count == len(out):
        out[:] = values
        return
    rows = np.frombuffer(data, "<u4", count, 4)
    if count and int(rows.max()) >= len(out):
        raise DamagedFileError(f"{part.path} has a frame with row {int(rows.max())} of {len(out)}")
    out[rows] = values


class MovedRows:
    """Makes the bytes of the encoding `moved` of one part, frame after frame."""

    def __init__(self, encoding: dict[str, Any]) -> None:
        self._distance, self._key_every = float(encoding["distance"]), int(encoding["key_every"])
        self._written, self._frames = np.zeros((0, 3), np.float32), 0

    def encode(self, values: Floats) -> bytes:
        """Returns the bytes of (n,3) numbers, of the rows that have moved."""
        values = np.ascontiguousarray(values, "<f4")
        if self._frames % self._key_every == 0:
            self._written = values.copy()
            rows = np.arange(len(values))
        else:
            rows = np.flatnonzero(((values - self._written) ** 2).sum(axis=1) > self._distance**2)
            self._written[rows] = values[rows]
        self._frames += 1
        count = np.array([len(rows)], "<u4").tobytes()
        return count + (b"" if len(rows) == len(values) else rows.astype("<u4").tobytes()) + values[rows].tobytes()


def encode(values: Floats, encoding: dict[str, Any]) -> bytes:
    """Returns the bytes of numbers (n,3). Raises `ValueError` where a rounded number does not fit into 4 bytes."""
    values = np.ascontiguousarray(values, "<f4")
    if encoding["kind"] == "float32":
        return values.tobytes()
    if encoding["kind"] == "packed":
        from tessera._core import pack

        return bytes(pack(values, float(encoding["unit"])))
    if encoding["kind"] == "lossless":
        return compress_rows(values)
    raise ValueError(f"the encoding {encoding['kind']!r}")
