"""Writes trajectories in segments from Python: one process, one segment, any number of parts."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tessera.checked_file import checksum
from tessera.prepare.errors import InputError
from tessera.traj.manifest import (
    MAGIC,
    START,
    blocks_of,
    entry_type,
    manifest_name,
    numbers_of,
    part_name,
)
from tessera.traj.parts import MovedRows, encode
from tessera.version import __version__

FLOAT32: dict[str, Any] = {"kind": "float32"}


class SegmentWriter:
    """Adds a segment to a folder, which it makes. An entry is written when the numbers of its frame are.

    `ids` (n,) says which atoms a frame has, in rising order; None: the first n of the system. `encodings` are one for
    each of `quantities`. `parts` is the number of files that the atoms are shared out over. `every` is in steps,
    `timestep` in ps. Frames have steps above `after_step`. `number` is that of the segment; None: behind those that are
    there. Raises `InputError` and `OSError`.
    """

    def __init__(
        self,
        folder: Path,
        atoms: int,
        *,
        every: int = 1,
        timestep: float = 0.001,
        system_atoms: int | None = None,
        ids: NDArray[np.int64] | None = None,
        quantities: Sequence[str] = ("positions",),
        encodings: Sequence[dict[str, Any]] | None = None,
        parts: int = 1,
        after_step: int = -1,
        whole: bool = True,
        periodic: bool = True,
        number: int | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if number is None:
            number = 1 + max(numbers_of(folder), default=-1)
        bounds = [atoms * part // parts for part in range(parts + 1)]
        self._rows = [slice(begin, end) for begin, end in itertools.pairwise(bounds)]
        names = [part_name(number, part) for part in range(parts)]
        self.atoms, self.quantities = atoms, list(quantities)
        self._encodings = list(encodings) if encodings is not None else [FLOAT32] * len(quantities)
        self._step, self.frames = after_step, 0
        description = {
            "atoms": atoms,
            "system_atoms": atoms if system_atoms is None else system_atoms,
            "ids": blocks_of(np.arange(atoms) if ids is None else ids),
            "quantities": self.quantities,
            "encodings": self._encodings,
            "parts": [
                {"file": name, "first": rows.start, "atoms": rows.stop - rows.start}
                for name, rows in zip(names, self._rows)
            ],
            "after_step": after_step,
            "every": every,
            "timestep": timestep,
            "whole": whole,
            "periodic": periodic,
            "program": f"tessera {__version__}",
        }
        self.path = folder / manifest_name(number)
        self._kind = entry_type(parts, len(self.quantities))
        self._moved = [
            [MovedRows(encoding) if encoding["kind"] == "moved" else None for encoding in self._encodings]
            for _ in range(parts)
        ]
        self._files = [_Appended(folder / name) for name in names]
        self._manifest = _Appended(self.path)
        self._manifest.write(header(description, self._kind.itemsize))

    def append(
        self,
        step: int,
        time: float,
        box: ArrayLike | None,
        positions: ArrayLike,
        velocities: ArrayLike | None = None,
        forces: ArrayLike | None = None,
    ) -> None:
        """Adds a frame: time in ps, box (3,3) Å or None, positions (n,3) Å, velocities Å/ps, forces kcal/mol/Å.

        Raises `InputError` where a quantity is missing, has another shape or does not fit its encoding.
        """
        given = {"positions": positions, "velocities": velocities, "forces": forces}
        if step <= self._step:
            raise InputError(f"{self.path}: a frame of step {step} can't follow step {self._step}")
        entry = np.zeros((), self._kind)
        entry["number"], entry["step"], entry["time"] = self.frames, step, time
        if box is not None:
            entry["box"] = box
        for index, (name, encoding) in enumerate(zip(self.quantities, self._encodings)):
            found = given[name]
            values = np.asarray(np.zeros((0, 3)) if found is None else found, np.float32)
            if values.shape != (self.atoms, 3):
                raise InputError(f"{self.path}: {name} have shape {values.shape}, expected {(self.atoms, 3)}")
            for part, rows in enumerate(self._rows):
                try:
                    moved = self._moved[part][index]
                    data = encode(values[rows], encoding) if moved is None else moved.encode(values[rows])
                except ValueError as error:
                    raise InputError(f"{self.path}: {name} of step {step} are {error}") from None
                entry["place"][part, index] = self._files[part].write(data), len(data), checksum(data)
        data = entry.tobytes()
        entry["checksum"] = checksum(data[:-8])
        self._manifest.write(entry.tobytes())
        self._step, self.frames = step, self.frames + 1

    def close(self) -> None:
        """Brings everything to the disk, the manifest at last. Raises `OSError`."""
        for file in (*self._files, self._manifest):
            file.close()

    def __enter__(self) -> SegmentWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def header(description: dict[str, Any], entry_bytes: int) -> bytes:
    """Returns the bytes of a manifest before its first entry."""
    text = json.dumps(description).encode()
    text += b" " * (-len(text) % 8)
    start = START.pack(MAGIC, len(text), checksum(text), entry_bytes, 0)[:-8]
    return start + checksum(start).to_bytes(8, "little") + text


class _Appended:
    """A new file that grows. Raises `OSError`."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        self._size = 0

    def write(self, data: bytes) -> int:
        """Returns where the data begin."""
        begin, rest = self._size, memoryview(data)
        while len(rest):
            rest = rest[os.write(self._descriptor, rest) :]
        self._size += len(data)
        return begin

    def close(self) -> None:
        if self._descriptor >= 0:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
