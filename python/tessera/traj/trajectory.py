"""One virtual trajectory over the segments of a run, of its stages, or of several runs.

Frames are read when they are asked for. Opening reads the manifests alone, so it takes milliseconds, and `refresh`
finds the frames that a run has written meanwhile.
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from tessera.checked_file import DamagedFileError
from tessera.errors import InputError
from tessera.printing import printable
from tessera.traj.find import Found, find
from tessera.traj.manifest import FLOAT32, IdArray, Manifest, Segments, begins_anew, ids_of, read_segments, taken
from tessera.traj.parts import Descriptors, Floats, decode, decode_moved, holds_all, read_floats, read_place

if TYPE_CHECKING:
    from tessera.export.structure import Structure

FloatArray = NDArray[np.float64]
Paths = str | os.PathLike[str]


@dataclass
class Frame:
    """Atoms at one moment."""

    step: int  # of the run
    time: float  # ps
    box: FloatArray | None  # (3,3) Å, rows are vectors; None: no box
    positions: Floats  # (n,3) Å
    velocities: Floats | None = None  # (n,3) Å/ps
    forces: Floats | None = None  # (n,3) kcal/mol/Å


class Trajectory(Sequence[Frame]):
    """The frames of one or several runs in their order.

    A path is a run's output folder, that of a protocol (whose stages follow each other), or a folder of segments.
    Where a leg of a run calculated frames again, they are there once. A run that begins at a step above 0 goes on from
    the one before it, and takes the place of its frames from there on. A run that begins at step 0, as stages do,
    follows the one before it: its steps begin anew, and its times count on from the last frame before, which its first
    frame follows after one interval.

    `t[i]` reads a frame, `t[a:b:c]` is a trajectory of these frames that reads nothing. `steps` and `times` are known
    without reading. Raises `InputError` where there is no trajectory or the runs have different atoms, and
    `DamagedFileError` where a manifest's header or, later, a frame is not what was written.
    """

    def __init__(self, path: Paths | Sequence[Paths], *more: Paths) -> None:
        first = [path] if isinstance(path, (str, os.PathLike)) else list(path)
        self.paths = [Path(one) for one in (*first, *more)]  # as they were given
        self._files = Descriptors()
        self._needed: tuple[int, int] | None = None
        self._found: list[Found] = []
        self.runs: list[Segments] = []  # folders of segments, in their order
        self._read()
        if self.damaged:
            paths = printable(", ".join(map(str, self.paths)))
            warnings.warn(f"{paths}: {self.damage()}", stacklevel=2)

    def _read(self) -> None:
        self._found = list(itertools.chain.from_iterable(find(path) for path in self.paths))
        known = [manifest for run in self.runs for manifest in run.manifests]
        self.runs = [read_segments(one.segments, known) for one in self._found]
        self.manifests = [manifest for run in self.runs for manifest in run.manifests]
        if not self.manifests:
            raise InputError(f"{self._found[0].segments} holds no segment yet: wait until the run has begun")
        self._check_atoms()
        self._join()

    def _check_atoms(self) -> None:
        first = self.manifests[0]
        for manifest in self.manifests[1:]:
            for key, what in (("system_atoms", "a system of {} atoms"), ("atoms", "{} atoms"), ("ids", "other atoms")):
                ours, theirs = (one.description[key] for one in (first, manifest))
                if ours != theirs:
                    found = what if key == "ids" else f"{what.format(theirs)}, expected {ours}"
                    raise InputError(
                        f"{manifest.path} has {found} as in {first.path}: join trajectories of the same atoms, or "
                        "select the same atoms of each with tessera traj select"
                    )

    def _join(self) -> None:
        """Lists the frames: their segments, rows of entries, steps and times."""
        rows, segments, steps, times = [], [], [], []
        number, last, offset = 0, None, 0.0
        self.superseded = 0
        for run, masks in zip(self.runs, taken(self.runs)):
            starts = last is not None and begins_anew(run)
            for manifest, mask in zip(run.manifests, masks):
                row = np.flatnonzero(mask)
                self.superseded += len(mask) - len(row)
                if len(row):
                    own = manifest.entries["time"][row]
                    if starts and last is not None:
                        offset = last - min(0.0, float(own[0])) + (manifest.interval if own[0] <= 0 else 0.0)
                        starts = False
                    rows.append(row)
                    segments.append(np.full(len(row), number))
                    steps.append(manifest.entries["step"][row])
                    times.append(own + offset)
                    last = float(times[-1][-1])
                number += 1
        self._row, self._segment = _joined(rows, np.int64), _joined(segments, np.int64)
        self.steps, self.times = _joined(steps, np.int64), _joined(times, np.float64)

    def refresh(self) -> int:
        """Finds what has been written meanwhile, and returns the number of frames; a slice becomes the whole
        trajectory. Raises as the constructor does."""
        self._files.close()
        self._read()
        return len(self)

    def close(self) -> None:
        """Closes the files that are open. Reading a frame opens them again."""
        self._files.close()

    @property
    def kind(self) -> str:
        """What the files are."""
        return "segments"

    @property
    def n_atoms(self) -> int:
        """The number of atoms in each frame."""
        return self.manifests[0].atoms

    @property
    def system_atoms(self) -> int:
        """The number of atoms of the system, of which a frame may have some."""
        return self.manifests[0].system_atoms

    @property
    def ids(self) -> IdArray:
        """(n,) the atoms of a frame, as ids of the system."""
        return ids_of(self.manifests[0].description["ids"])

    @property
    def quantities(self) -> list[str]:
        """What all frames have."""
        return [name for name in self.manifests[0].quantities if all(name in one.quantities for one in self.manifests)]

    @property
    def every(self) -> int:
        """Steps between frames, of the last segment."""
        return self.manifests[-1].every

    @property
    def interval(self) -> float:
        """ps between the first two frames, or as planned where there are none."""
        return float(self.times[1] - self.times[0]) if len(self.times) > 1 else self.manifests[0].interval

    @property
    def timestep(self) -> float:
        """Time step of the first segment in ps."""
        return float(self.manifests[0].description["timestep"])

    @property
    def whole(self) -> bool:
        """Whether molecules are in one piece."""
        return bool(self.manifests[0].description.get("whole", True))

    @property
    def periodic(self) -> bool:
        """Whether the first segment has boxes."""
        return bool(self.manifests[0].description.get("periodic", True))

    @property
    def encodings(self) -> list[dict[str, Any]]:
        """How the first segment holds its quantities."""
        return self.manifests[0].encodings

    def encoding_of(self, quantity: str) -> dict[str, Any]:
        """Returns the encoding of all segments, or the plain one where they differ. Frames of atoms that moved are
        complete when they are read."""
        found = [manifest.encodings[manifest.quantities.index(quantity)] for manifest in self.manifests]
        is_same = all(encoding == found[0] for encoding in found)
        return found[0] if is_same and found[0]["kind"] != "moved" else FLOAT32

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(manifest.bytes for manifest in self.manifests)

    def structure(self, title: str) -> Structure | None:
        """Returns the atoms with their names, where the trajectory itself has them: segments leave that to the system
        file."""
        return None

    @property
    def damaged(self) -> int:
        """Number of entries that are not what was written. Their frames are not in the trajectory."""
        return sum(manifest.damaged for manifest in self.manifests)

    @property
    def sources(self) -> list[Path]:
        """What is read."""
        return [run.folder for run in self.runs]

    @property
    def run_folders(self) -> list[Path]:
        """The output folders of the runs, as far as they are known."""
        return [one.run for one in self._found if one.run is not None]

    def damage(self) -> str:
        """Says how many entries are damaged."""
        entries = "1 entry is" if self.damaged == 1 else f"{self.damaged:,} entries are"
        return f"{entries} damaged, and left out: tessera traj verify says where"

    def __len__(self) -> int:
        return len(self.steps)

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> Trajectory: ...
    def __getitem__(self, index: int | slice) -> Frame | Trajectory:
        return self._slice(index) if isinstance(index, slice) else self.read(index)

    def _slice(self, index: slice) -> Trajectory:
        part = object.__new__(type(self))
        part.__dict__.update(self.__dict__)
        for name in ("_row", "_segment", "steps", "times"):
            setattr(part, name, getattr(self, name)[index])
        return part

    def __iter__(self) -> Iterator[Frame]:
        return (self.read(index) for index in range(len(self)))

    def read(self, index: int, quantities: Sequence[str] | None = None, positions: Floats | None = None) -> Frame:
        """Returns a frame with all it has, or with these quantities. `positions` (n,3) is filled where it is given; its
        rows follow each other in memory.

        Raises `IndexError`, `DamagedFileError` where the frame is not what was written, and `OSError`.
        """
        if not -len(self) <= index < len(self):
            raise IndexError(f"frame {index} of {len(self)}")
        manifest, _ = self.entry(index)
        values: dict[str, Floats] = {}
        for number, name in enumerate(manifest.quantities):
            if quantities is None or name in quantities or name == "positions":
                given = positions if name == "positions" else None
                out = np.zeros((manifest.atoms, 3), np.float32) if given is None else given
                self._fill(manifest, int(self._row[index]), number, out)
                values[name] = out
        return Frame(int(self.steps[index]), float(self.times[index]), self.box(index), **values)

    def needing(self, first: int, end: int) -> Trajectory:
        """Returns the same frames, of which nobody needs rows but those from `first` to `end` − 1: parts of segments
        without any of these are not read, and their rows are zeros."""
        part = self._slice(slice(None))
        part._needed = first, end
        return part

    def box(self, index: int) -> FloatArray | None:
        """Returns the box (3,3) of a frame in Å, without reading it; None where there is none."""
        manifest, entry = self.entry(index)
        return np.array(entry["box"], np.float64) if manifest.description.get("periodic", True) else None

    def entry(self, index: int) -> tuple[Manifest, Any]:
        """Returns the segment of a frame and its entry there."""
        manifest = self.manifests[int(self._segment[index])]
        return manifest, manifest.entries[int(self._row[index])]

    def _fill(self, manifest: Manifest, row: int, quantity: int, out: Floats) -> None:
        encoding, places = manifest.encodings[quantity], manifest.entries["place"]
        for index, part in enumerate(manifest.parts):
            if self._needed and not (part.first < self._needed[1] and self._needed[0] < part.first + part.atoms):
                continue
            rows = out[part.first : part.first + part.atoms]
            if encoding["kind"] == "moved":
                for data in reversed(self._since_all(manifest, row, quantity, index)):
                    decode_moved(data, rows, part)
            elif encoding["kind"] == "float32":
                read_floats(self._files, part, places[row, index, quantity], rows)
            else:
                decode(read_place(self._files, part, places[row, index, quantity]), encoding, rows, part)

    def _since_all(self, manifest: Manifest, row: int, quantity: int, index: int) -> list[bytes]:
        """Returns the bytes of a part in a frame, in the one before and so on, to the last that holds all rows."""
        part, numbers = manifest.parts[index], manifest.entries["number"]
        found: list[bytes] = []
        while True:
            found.append(read_place(self._files, part, manifest.entries["place"][row, index, quantity]))
            if holds_all(found[-1], part):
                return found
            if row == 0 or numbers[row - 1] != numbers[row] - 1:
                raise DamagedFileError(
                    f"{manifest.path} lacks an entry without which later frames can't be read: leave these out by "
                    f"tessera traj repair {manifest.path.parent}"
                )
            row -= 1

    def gaps(self) -> int:
        """Returns how many frames are missing between the first and the last, by the steps between frames."""
        missing = 0
        for index in np.flatnonzero(np.diff(self.steps) != self.every) if len(self) > 1 else []:
            before, after = (self.manifests[int(self._segment[one])] for one in (index, index + 1))
            step, following = int(self.steps[index]), int(self.steps[index + 1])
            if following <= step:
                continue  # a run that begins anew
            if before is after:
                missing += max(0, (following - step - 1) // before.every)
            else:
                turn = max(step, after.after_step)
                missing += (turn - step) // before.every + max(0, (following - turn - 1) // after.every)
        return missing

    def map(self, indices: Sequence[int], read: Callable[[int], Any], ahead: int = 4) -> Iterator[Any]:
        """Yields `read(i)` of these frames in order, while threads are reading the next ones."""
        from collections import deque
        from concurrent.futures import Future, ThreadPoolExecutor

        with ThreadPoolExecutor(max(1, min(ahead, len(os.sched_getaffinity(0))))) as threads:
            waiting: deque[Future[Any]] = deque()
            try:
                for index in indices:
                    waiting.append(threads.submit(read, index))
                    if len(waiting) > ahead:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


def _joined(arrays: Sequence[NDArray[Any]], kind: Any) -> NDArray[Any]:
    return np.concatenate(arrays).astype(kind) if arrays else np.zeros(0, kind)
