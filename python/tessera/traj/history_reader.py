"""DL_POLY's HISTORY, and the same as XDR, as a trajectory: frames, steps, times and boxes as those of segments.

The text is read by `cpp/tessera/io/text`, whose words are apart by blanks, so files of DL_POLY_2 to 5 are read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tessera import _core as core
from tessera.constants import KCAL, atomic_numbers
from tessera.errors import InputError
from tessera.printing import are, counted
from tessera.traj.check import Checked, tell_of_the_end
from tessera.traj.find import SETTINGS, stages
from tessera.traj.manifest import FLOAT32, FOLDER, QUANTITIES, IdArray, manifest_paths
from tessera.traj.parts import Floats
from tessera.traj.trajectory import FloatArray, Frame, Trajectory
from tessera.traj.written import claims_of
from tessera.traj.xdr import ENDING, XdrFile

if TYPE_CHECKING:
    from tessera.export.structure import Structure

NAME = "trajectory.history"  # of a run
PARALLELEPIPED = 3  # the largest imcon of a cell that is one


def is_history(path: Path) -> bool:
    """Tells whether a path is a HISTORY by its name, `HISTORY`, `HISTORY.1`, `water.history`, or an XDR file,
    `water.xdr`."""
    name = path.name.lower()
    return (name.startswith("history") or name.endswith((".history", ENDING))) and not path.is_dir()


def histories_of(path: Path) -> list[Path]:
    """Returns the files HISTORY, or XDR, of a path: itself, or those of a run's folder, or of a protocol's stages, that
    have no trajectory in segments."""
    if is_history(path):
        return [path]
    if not path.is_dir() or (path / FOLDER).is_dir() or manifest_paths(path):
        return []
    if (path / NAME).is_file():
        return [path / NAME]
    found = [stage for stage in stages(path) if not (stage / FOLDER).is_dir()]
    return [stage / NAME for stage in found if (stage / NAME).is_file()]


def check(path: Path, progress: Callable[[int], None] = lambda _: None) -> Checked:
    """Reads every frame of a file. Its numbers have no checksums, so only what is no number, or not there, is found."""
    place = path.resolve()
    claims = claims_of(place.parent, place.stem, "xdr" if is_xdr(path) else "history")
    result = Checked(path, bytes=path.stat().st_size)
    try:
        trajectory = History(path)
        for index in range(len(trajectory)):
            trajectory.read(index)
            progress(result.bytes // len(trajectory))
    except InputError as error:
        result.problems.append(str(error))
        return result
    result.frames = len(trajectory)
    if trajectory.damaged:
        result.notes.append("the frame at the end was not finished")
    if missing := trajectory.gaps():
        result.problems.append(f"{counted(missing, 'frame')} {are(missing)} missing between the steps of others")
    tell_of_the_end(result, claims, trajectory)
    return result


def is_xdr(path: Path) -> bool:
    """Tells whether a path is an XDR file by its name."""
    return path.suffix.lower() == ENDING


class History(Trajectory):
    """The frames of one or several files HISTORY, or in XDR, in their order, in single precision.

    They are joined as runs are: a file that begins at a step above 0 goes on from the one before it, and takes the
    place of its frames from there on; one that begins at step 0 is appended. A frame that is not complete, as of a run
    that goes on or was killed, is left out and counted in `damaged`. Raises `InputError`, which names the line.
    """

    def __init__(self, paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> None:
        given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
        self.paths = [Path(path) for path in given]  # as they were given
        self.runs, self.manifests = [], []
        self._needed = None
        self._open()

    def damage(self) -> str:
        """Says how many frames are not complete."""
        return f"{counted(self.damaged, 'frame')} at the end {are(self.damaged)} not complete, and left out"

    def _open(self) -> None:
        self._histories: list[Any] = [XdrFile(path) if is_xdr(path) else core.History(str(path)) for path in self.paths]
        first = self._histories[0]
        for path, one in zip(self.paths, self._histories):
            if (one.n_atoms, one.level) != (first.n_atoms, first.level):
                raise InputError(
                    f"{path} has {one.n_atoms:,} atoms and keytrj {one.level}, and {self.paths[0]} {first.n_atoms:,} "
                    f"and {first.level}: join files of the same atoms and quantities"
                )
        chain: list[tuple[int, int, int, float]] = []  # file, frame, step, time
        whole: list[tuple[int, int, int, float]] = []  # those before what goes on
        self._frames = [one.frames for one in self._histories]
        self.superseded, offset = 0, 0.0
        for number, frames in enumerate(self._frames):
            if not frames:
                continue
            start = frames[0][0]
            if start > 0:
                n_before = len(chain)
                chain = [one for one in chain if one[2] < start]
                self.superseded += n_before - len(chain)
            elif chain:
                whole, before, chain = whole + chain, chain, []
                offset = before[-1][3] + (before[-1][3] - before[-2][3] if len(before) > 1 else 0.0) - frames[0][2]
            chain += [(number, index, frame[0], frame[2] + offset) for index, frame in enumerate(frames)]
        places = whole + chain
        self._place = np.array([one[:2] for one in places], np.int64).reshape(-1, 2)
        self.steps = np.array([one[2] for one in places], np.int64)
        self.times = np.array([one[3] for one in places], np.float64)

    @property
    def kind(self) -> str:
        return "XDR" if is_xdr(self.paths[0]) else "HISTORY"

    @property
    def n_atoms(self) -> int:
        return int(self._histories[0].n_atoms)

    @property
    def system_atoms(self) -> int:
        return self.n_atoms

    @property
    def ids(self) -> IdArray:
        return np.arange(self.n_atoms)

    @property
    def quantities(self) -> list[str]:
        return list(QUANTITIES[: self._histories[0].level + 1])

    @property
    def every(self) -> int:
        """Steps between the last two frames."""
        return max(1, int(self.steps[-1] - self.steps[-2])) if len(self.steps) > 1 else 1

    @property
    def interval(self) -> float:
        return float(self.times[1] - self.times[0]) if len(self.times) > 1 else self.timestep

    @property
    def timestep(self) -> float:
        return float(self._frames[0][0][1]) if self._frames[0] else 0.0

    @property
    def whole(self) -> bool:
        """DL_POLY puts each atom into the box."""
        return False

    @property
    def periodic(self) -> bool:
        return len(self) > 0 and self.box(0) is not None

    @property
    def encodings(self) -> list[dict[str, Any]]:
        return [{"kind": "text"} for _ in self.quantities]

    def encoding_of(self, quantity: str) -> dict[str, Any]:
        return FLOAT32

    @property
    def size(self) -> int:
        return sum(one.bytes for one in self._histories)

    @property
    def damaged(self) -> int:
        return sum(one.is_cut for one in self._histories)

    @property
    def sources(self) -> list[Path]:
        return self.paths

    @property
    def run_folders(self) -> list[Path]:
        folders = [path.resolve().parent for path in self.paths if path.name == NAME]
        return [folder for folder in folders if (folder / SETTINGS).is_file()]

    def gaps(self) -> int:
        """Returns how many frames are missing between the first and the last, by the least number of steps between."""
        between = np.diff(self.steps)
        between = between[between > 0]
        return int((between // between.min() - 1).sum()) if len(between) else 0

    def structure(self, title: str) -> Structure:
        """Returns the atoms of the first frame; HISTORY says nothing of residues, so they are one."""
        from tessera.export.structure import NO_SEGMENT, Structure

        names, masses, charges = self._histories[0].atoms()
        n, one = self.n_atoms, np.zeros(1, np.int64)
        texts = np.array(names, object)
        elements = atomic_numbers(np.array(masses), np.array([name.encode("ascii", "replace") for name in names]))
        return Structure(
            ids=self.ids, name=texts, type=texts, charge=np.array(charges), mass=np.array(masses),
            atomic_number=elements, residue=np.zeros(n, np.int64), residue_name=np.array(["MOL"], object),
            residue_number=one + 1, insertion=np.array([""], object), segment=np.array([NO_SEGMENT], object),
            chain=np.array(["A"], object),
            position=np.array(self.read(0).positions, np.float64), velocity=None, box=self.box(0), title=title,
        )  # fmt: skip

    def refresh(self) -> int:
        """Finds the frames that were written meanwhile, and returns their number. Raises `InputError`."""
        self._open()
        return len(self)

    def close(self) -> None:
        """Does nothing: files close with the trajectory."""

    def box(self, index: int) -> FloatArray | None:
        """Returns the box (3,3) of a frame in Å. Raises `InputError` where it is no parallelepiped."""
        number, frame = (int(one) for one in self._place[index])
        step, _, _, imcon, cell = self._frames[number][frame]
        if imcon == 0:
            return None
        if not 0 < imcon <= PARALLELEPIPED:
            raise InputError(
                f"{self.paths[number]}: imcon is {imcon} at step {step:,}: only 0 (none) to {PARALLELEPIPED} "
                "(parallelepiped) are supported"
            )
        return np.array(cell, np.float64).reshape(3, 3)

    def read(self, index: int, quantities: Sequence[str] | None = None, positions: Floats | None = None) -> Frame:
        """Returns a frame with all it has, or with these quantities. Raises `IndexError` and `InputError`."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"frame {index} of {len(self)}")
        number, frame = (int(one) for one in self._place[index])
        names = self.quantities
        numbers = np.empty((self.n_atoms, len(names), 3))
        self._histories[number].read(frame, numbers)
        values: dict[str, Floats] = {}
        for row, name in enumerate(names):
            if quantities is None or name in quantities or name == "positions":
                unit = KCAL if name == "forces" else 1.0
                values[name] = np.asarray(numbers[:, row] / unit, np.float32)
        if positions is not None:
            positions[:] = values["positions"]
            values["positions"] = positions
        return Frame(int(self.steps[index]), float(self.times[index]), self.box(index), **values)

    def _slice(self, index: slice) -> Trajectory:
        part = object.__new__(type(self))
        part.__dict__.update(self.__dict__)
        for name in ("_place", "steps", "times"):
            setattr(part, name, getattr(self, name)[index])
        return part
