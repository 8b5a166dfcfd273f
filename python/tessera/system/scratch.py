"""How much memory work on the atoms of a system may take: how many are looked at together, and which of their arrays
stand in files instead.

Functions that go through all atoms ask `scratch()` for ranges of them and for new arrays. What they find is the same
with any bound. Without `bounded` around them, arrays stay in memory.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import os
import tempfile
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

BYTES_PER_ATOM = 300  # the peak while overlaps are looked for or atoms are sorted
MOST_AT_ONCE, LEAST_AT_ONCE = 1_000_000, 1_000  # atoms
PAGE = 4096  # bytes that come into memory together


class Scratch:
    """Half of `memory` (bytes) is for arrays of all atoms; those beyond it are in files without a name in `folder`. The
    other half is for what is worked on at a time."""

    def __init__(self, memory: int, folder: Path | None = None) -> None:
        self.at_once = int(np.clip(memory // (2 * BYTES_PER_ATOM), LEAST_AT_ONCE, MOST_AT_ONCE))
        self._left = memory // 2
        self._folder = folder
        self._areas: list[mmap.mmap] = []

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Returns a new array. Raises OSError that says so where the disk has no room for its file."""
        shape = (shape,) if isinstance(shape, int) else shape
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if size <= self._left:
            self._left -= size
            return np.empty(shape, dtype)
        with tempfile.TemporaryFile(dir=self._folder) as file:
            # Without room a write to the mapped file would end the program.
            try:
                os.posix_fallocate(file.fileno(), 0, size)
            except OSError as error:
                raise OSError(
                    f"{self._folder} has no room for {size / 1e9:.2g} GB of atoms that do not fit into memory "
                    f"({error.strerror}); free some, or raise --memory"
                ) from error
            area = mmap.mmap(file.fileno(), size)
        self._areas.append(area)
        return np.frombuffer(area, dtype).reshape(shape)

    def kept(self, values: NDArray[Any]) -> NDArray[Any]:
        """Returns the array, or a copy in a file where there is no room for it in memory."""
        if values.nbytes <= self._left:
            self._left -= values.nbytes
            return values
        out = self.empty(values.shape, values.dtype)
        for rows in self.ranges(len(values)):
            out[rows] = values[rows]
        return out

    def loaded(self, path: Path, dtype: DTypeLike) -> NDArray[Any]:
        """Returns the numbers of an .npy file as numbers of another type. Raises `OSError`."""
        with path.open("rb") as file:
            np.lib.format.read_magic(file)
            shape, _, kind = np.lib.format.read_array_header_1_0(file)
            out = self.empty(shape, dtype)
            for rows in self.ranges(len(out)):
                part = out[rows]
                part[:] = np.fromfile(file, kind, part.size).reshape(part.shape)
        return out

    def ranges(self, n: int, atoms_of_each: int = 1) -> Iterator[slice]:
        """Yields ranges that together are all n atoms, or molecules of so many atoms each."""
        step = max(1, self.at_once // atoms_of_each)
        for begin in range(0, n, step):
            yield slice(begin, min(begin + step, n))
            self._forget()

    def rows(self, values: NDArray[Any], ids: NDArray[Any]) -> NDArray[Any]:
        """Returns `values[ids]`, where ids ascend."""
        if not self._areas:
            return np.asarray(values[ids])
        out = np.empty((len(ids), *values.shape[1:]), values.dtype)
        step = max(1, self.at_once * BYTES_PER_ATOM // (4 * PAGE))
        for begin in range(0, len(ids), step):
            out[begin : begin + step] = values[ids[begin : begin + step]]
            self._forget()
        return out

    def _forget(self) -> None:
        """Lets the system take the pages of files out of this process's memory."""
        for area in self._areas:
            area.madvise(mmap.MADV_DONTNEED)


def give_back() -> None:
    """Hands memory that was freed back to the system, where the C library can."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


_unbounded = Scratch(2**62)
_current: ContextVar[Scratch] = ContextVar("scratch", default=_unbounded)


def scratch() -> Scratch:
    """Returns what the caller may use."""
    return _current.get()


@contextlib.contextmanager
def bounded(memory: int, folder: Path) -> Iterator[None]:
    """Lets work on atoms take about so many bytes of memory within it, and files in `folder` as needed."""
    token = _current.set(Scratch(memory, folder))
    try:
        yield
    finally:
        _current.reset(token)
