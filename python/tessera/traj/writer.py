"""Writes trajectories in segments from Python: one process with any number of parts, or ranks with a part each."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tessera.checked_file import checksum
from tessera.errors import InputError
from tessera.traj.manifest import (
    FLOAT32,
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


class SegmentWriter:
    """Adds a segment to a folder, which it makes. An entry is written when the numbers of its frame are.

    `ids` (n,) says which atoms a frame has, in rising order; None: the first n of the system. `encodings` are one for
    each of `quantities`. `parts` is the number of files that the atoms are shared out over. `every` is in steps,
    `timestep` in ps. Frames have steps above `after_step`. `number` is that of the segment; None: behind those that are
    there. Raises `InputError` and `OSError`.

    With `comm`, a communicator of mpi4py, all members are collective: `atoms` and `ids` are this rank's, and so are the
    numbers that it appends. Ids rise over the ranks. Each rank writes a part, and the root the manifest; what goes
    wrong on one rank is an `InputError` of all.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
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
        comm: Any = None,
    ) -> None:
        folder = Path(folder)
        self._ranks = ranks = _Ranks(comm)
        with ranks.together():
            if ranks.is_root:
                folder.mkdir(parents=True, exist_ok=True)
                number = 1 + max(numbers_of(folder), default=-1) if number is None else number
        number = ranks.from_root(number)
        bounds = [atoms * part // parts for part in range(parts + 1)]
        self._own = range(parts)
        if comm is not None:
            if parts != 1:
                raise InputError(f"{folder}: parts = {parts} with comm, where each rank writes one")
            bounds = [0, *itertools.accumulate(ranks.all(atoms))]
            given = ranks.all(ids)
            ids = None if any(one is None for one in given) else np.concatenate(given)
            atoms, parts, self._own = bounds[-1], comm.size, range(comm.rank, comm.rank + 1)
        if ids is not None and (len(ids) != atoms or (np.diff(ids) <= 0).any()):
            where = "" if comm is None else " over the ranks"
            raise InputError(f"{folder}: ids must rise{where}, one for each of the {atoms} atoms")
        self._rows = [slice(begin, end) for begin, end in itertools.pairwise(bounds)]
        self._first, self._last = self._rows[self._own[0]].start, self._rows[self._own[-1]].stop
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
        self.path = folder / manifest_name(number)  # of the manifest
        self._kind = entry_type(parts, len(self.quantities))
        self._moved = [
            [MovedRows(encoding) if encoding["kind"] == "moved" else None for encoding in self._encodings]
            for _ in range(parts)
        ]
        self._files: dict[int, _Appended] = {}
        self._manifest: _Appended | None = None
        with ranks.together():
            self._files = {part: _Appended(folder / names[part]) for part in self._own}
        with ranks.together():
            if ranks.is_root:
                self._manifest = _Appended(self.path)
                self._manifest.write(header(description, self._kind.itemsize))

    def append(
        self,
        step: int,
        time: float,
        box: ArrayLike | None,
        positions: ArrayLike | bytes,
        velocities: ArrayLike | bytes | None = None,
        forces: ArrayLike | bytes | None = None,
    ) -> None:
        """Adds a frame: time in ps, box (3,3) Å or None, positions (n,3) Å, velocities Å/ps, forces kcal/mol/Å. Where
        atoms are in one part, a quantity may be the bytes that `parts.encode` makes of it on another thread.

        Raises `InputError` where a quantity is missing, has another shape or does not fit its encoding.
        """
        given = {"positions": positions, "velocities": velocities, "forces": forces}
        if step <= self._step:
            raise InputError(f"{self.path}: a frame of step {step} can't follow step {self._step}")
        places = np.zeros((len(self._own), len(self.quantities), 3), np.uint64)
        with self._ranks.together():
            for index, (name, encoding) in enumerate(zip(self.quantities, self._encodings)):
                self._write(places[:, index], index, name, encoding, given[name], step)
        of_all = self._ranks.at_root(places)
        with self._ranks.together():
            if self._manifest:
                entry = np.zeros((), self._kind)
                entry["number"], entry["step"], entry["time"] = self.frames, step, time
                if box is not None:
                    entry["box"] = box
                entry["place"] = np.concatenate(of_all)
                entry["checksum"] = checksum(entry.tobytes()[:-8])
                self._manifest.write(entry.tobytes())
        self._step, self.frames = step, self.frames + 1

    def _write(
        self,
        places: NDArray[np.uint64],
        index: int,
        name: str,
        encoding: dict[str, Any],
        found: ArrayLike | bytes | None,
        step: int,
    ) -> None:
        """Appends a quantity to the parts of this process."""
        if isinstance(found, bytes):
            assert len(self._rows) == 1
            places[0] = self._files[self._own[0]].write(found), len(found), checksum(found)
            return
        values = np.asarray(np.zeros((0, 3)) if found is None else found, np.float32)
        expected = (self._last - self._first, 3)
        if values.shape != expected:
            raise InputError(f"{self.path}: {name} have shape {values.shape}, expected {expected}")
        for place, part in zip(places, self._own):
            rows = values[self._rows[part].start - self._first : self._rows[part].stop - self._first]
            try:
                moved = self._moved[part][index]
                data = encode(rows, encoding) if moved is None else moved.encode(rows)
            except ValueError as error:
                raise InputError(f"{self.path}: {name} of step {step} are {error}") from None
            place[:] = self._files[part].write(data), len(data), checksum(data)

    def close(self) -> None:
        """Brings everything to the disk, the manifest at last. Raises `OSError`."""
        with self._ranks.together():
            for file in self._files.values():
                file.close()
        with self._ranks.together():
            if self._manifest:
                self._manifest.close()

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


class _Ranks:
    """This process alone, or the ranks of a communicator, with one outcome for all."""

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self.is_root = comm is None or comm.rank == 0

    def all(self, value: Any) -> list[Any]:
        return [value] if self._comm is None else list(self._comm.allgather(value))

    def at_root(self, value: Any) -> list[Any]:
        """Returns the values of all ranks on the root, and nothing elsewhere."""
        return [value] if self._comm is None else list(self._comm.gather(value) or [])

    def from_root(self, value: Any) -> Any:
        return value if self._comm is None else self._comm.bcast(value)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Raises an error of one rank on all, as `InputError`; that of a process alone as it is."""
        problem = None
        try:
            yield
        except (InputError, OSError) as error:
            if self._comm is None:
                raise
            problem = str(error)
        found = next((one for one in self.all(problem) if one), None)
        if found:
            raise InputError(found)
