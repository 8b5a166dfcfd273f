"""Frames in XDR, as `cpp/tessera/io/write/formats/binary.cpp` writes them (docs/reference/xdr.md)."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError

ENDING = ".xdr"
_ORDERS = {b"TESSERAX": ">", b"TESSERAN": "="}  # XDR, and the same as the processor has it
_LEVELS = 3  # positions, velocities too, forces too


class XdrFile:
    """A file of frames that all have the same length: what `core.History` tells of a HISTORY. Raises `InputError`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with path.open("rb") as file:
                self.bytes = os.fstat(file.fileno()).st_size
                self._map: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self.bytes else b""
        except OSError as error:
            raise InputError(f"{path} can't be read: {error.strerror or error}") from None
        order = _ORDERS.get(bytes(self._map[:8]))
        if order is None:
            raise InputError(f"{path}: is no XDR file of tessera, which begins with TESSERAX")
        integer, number = f"{order}i8", f"{order}f8"
        header = np.dtype(
            [("magic", "S8"), ("title", "S72"), *((name, integer) for name in ("level", "atoms", "imcon", "step")),
             ("timestep", number), ("time", number), ("cell", number, 9)]
        )  # fmt: skip
        if self.bytes < header.itemsize:
            raise InputError(f"{path}: has {self.bytes} bytes, and a header has {header.itemsize}; is it cut off?")
        first = np.frombuffer(self._map, header, 1)[0]
        self.level, self.n_atoms = int(first["level"]), int(first["atoms"])
        if not (0 <= self.level < _LEVELS and 0 < self.n_atoms < 2**56):
            raise InputError(
                f"{path}: its header says level {self.level} and {self.n_atoms:,} atoms, expected level 0 to "
                f"{_LEVELS - 1} and at least one atom; is it damaged?"
            )
        self._atom = np.dtype([("id", integer), ("name", "S8"), ("values", number, (self.level + 1, 3))])
        self._begin, self._stride = header.itemsize, header.itemsize + self.n_atoms * self._atom.itemsize
        n_frames, rest = divmod(self.bytes, self._stride)
        self.is_cut = rest > 0
        heads = np.ndarray(n_frames, header, self._map, strides=(self._stride,))
        for name in ("magic", "level", "atoms"):
            if (other := np.flatnonzero(heads[name] != first[name])).size:
                raise InputError(
                    f"{path}: frame {int(other[0])} has another {name} in its header than the first; is it damaged?"
                )
        names = ("step", "timestep", "time", "imcon", "cell")
        self.frames = list(zip(*(heads[name].tolist() for name in names)))

    def atoms(self) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
        """Returns names, and masses and charges, which it does not hold: numbers that are none."""
        found = self._atoms(0)
        names = np.empty(self.n_atoms, "S8")
        names[self._rows(found, 0)] = found["name"]
        unknown = np.full(self.n_atoms, np.nan)
        return [name.decode("ascii", "replace").strip() for name in names.tolist()], unknown, unknown

    def read(self, frame: int, numbers: NDArray[np.float64]) -> None:
        """Fills in positions, velocities and forces (n,level+1,3) of the atoms by their numbers."""
        found = self._atoms(frame)
        numbers[self._rows(found, frame)] = found["values"]

    def _atoms(self, frame: int) -> NDArray[Any]:
        return np.ndarray(self.n_atoms, self._atom, self._map, frame * self._stride + self._begin)

    def _rows(self, atoms: NDArray[Any], frame: int) -> Any:
        rows = atoms["id"].astype(np.int64) - 1
        if np.array_equal(rows, np.arange(self.n_atoms)):
            return slice(None)
        is_there = (rows >= 0) & (rows < self.n_atoms)
        if not is_there.all() or (np.bincount(rows, minlength=self.n_atoms) != 1).any():
            raise InputError(
                f"{self._path}: frame {frame} does not have each of the atoms 1 to {self.n_atoms:,} once; "
                "is it damaged?"
            )
        return rows
