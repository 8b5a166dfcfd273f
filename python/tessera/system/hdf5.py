"""Writes HDF5 files whole or not at all, and reads only those that keep all their data in one file."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tessera.checked_file import HEADER_BYTES

LAYOUT = ("v110", "v110")  # what HDF5 1.10 reads, with checksums of the metadata
OWN_FILTERS = (h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32)


class _Disk(io.RawIOBase):
    """A file object that hides a failed write from HDF5.

    HDF5 keeps data that it could not write, tries again when the file is closed, and crashes. So every write seems to
    succeed here, and `error` has the failure afterwards.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self.position = 0
        self.error: OSError | None = None

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        begin = {os.SEEK_SET: 0, os.SEEK_CUR: self.position, os.SEEK_END: os.fstat(self.handle).st_size}[whence]
        self.position = begin + offset
        return self.position

    def tell(self) -> int:
        return self.position

    def readinto(self, buffer: Any) -> int:
        data = os.pread(self.handle, len(buffer), self.position)
        buffer[: len(data)] = data
        self.position += len(data)
        return len(data)

    def write(self, data: Any) -> int:
        rest, at = memoryview(data), self.position
        try:
            while len(rest) and self.error is None:
                done = os.pwrite(self.handle, rest, at)
                rest, at = rest[done:], at + done
        except OSError as error:
            self.error = error
        self.position += len(data)
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        size = self.position if size is None else size
        try:
            os.ftruncate(self.handle, size)
        except OSError as error:
            self.error = self.error or error
        return size

    def close(self) -> None:
        if not self.closed:
            os.close(self.handle)
        super().close()


@contextmanager
def written(path: Path, **layout: Any) -> Iterator[Any]:
    """Yields an HDF5 file to fill, in place of an empty file or none at `path`. Without a `layout` (options of
    `h5py.File`) it has room for the header of a checked file. Raises `OSError`, as for a full disk."""
    disk = _Disk(path)
    try:
        with h5py.File(disk, "w", **(layout or {"libver": LAYOUT, "userblock_size": HEADER_BYTES})) as file:
            yield file
        if disk.error is not None:
            raise disk.error
    finally:
        disk.close()


def reserve(group: Any, name: str, shape: tuple[int, ...], dtype: Any) -> int:
    """Makes a dataset without writing its numbers. Returns the byte of the file at which they begin."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_layout(h5py.h5d.CONTIGUOUS)
    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    properties.set_obj_track_times(False)  # the same content is the same bytes at any time
    kind = h5py.h5t.py_create(np.dtype(dtype))
    made = h5py.h5d.create(group.id, name.encode(), kind, h5py.h5s.create_simple(shape), properties)
    return int(made.get_offset())


def put_texts(group: Any, name: str, texts: list[str]) -> None:
    """Writes a dataset of UTF-8 strings that are all as long as the longest."""
    array = _fixed(texts)
    group.create_dataset(name, data=array, dtype=array.dtype)


def put_text_attribute(group: Any, name: str, text: str) -> None:
    array = _fixed([text])
    group.attrs.create(name, array[0], dtype=array.dtype)


def _fixed(texts: list[str]) -> Any:
    """Returns strings of fixed length. Strings of variable length are stored in a heap without a checksum, and HDF5
    reads a damaged heap for ever."""
    encoded = [text.encode() for text in texts]
    return np.array(encoded, h5py.string_dtype("utf-8", max(1, *map(len, encoded))))


def names(file: Any) -> list[str]:
    """Returns the paths of all groups and datasets.

    Raises `ValueError` where one can't be read from this file alone: it is a soft or external link, its numbers are in
    another file, or a filter that is not HDF5's own has compressed them.
    """
    return list(_names_in(file, ""))


def _names_in(group: Any, path: str) -> Iterator[str]:
    for name in group:
        inner = f"{path}/{name}"
        yield inner
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise ValueError(f"{inner} is a link to another name or file, expected numbers")
        member = group[name]
        if isinstance(member, h5py.Group):
            yield from _names_in(member, inner)
        else:
            _check_dataset(member, inner)


def _check_dataset(member: Any, name: str) -> None:
    if not isinstance(member, h5py.Dataset):
        raise ValueError(f"{name} is neither numbers nor a group of them")
    properties = member.id.get_create_plist()
    if properties.get_layout() == h5py.h5d.VIRTUAL or properties.get_external_count():
        raise ValueError(f"{name} keeps its numbers in another file")
    for index in range(properties.get_nfilters()):
        if (found := properties.get_filter(index)[0]) not in OWN_FILTERS:
            raise ValueError(f"{name} is packed by filter {found}, which is not known")


def reason(error: OSError) -> str:
    """Returns one line on an error; HDF5's own text has several lines, with the system's error number."""
    text = error.strerror or str(error)
    return text if "\n" not in text else os.strerror(error.errno) if error.errno else " ".join(text.split())
