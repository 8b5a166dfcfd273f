"""The formats of trajectories: what each holds, and how its files are written, counted, checked and read.

To add one: an entry in `FORMATS`, and its ending in the help of `tessera traj convert` (`tessera.commands.traj`).
For one that runs write, see `cpp/tessera/app/trajectory/format.h`.
"""

from __future__ import annotations

import itertools
import struct
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.constants import KCAL, KJ_PER_KCAL
from tessera.errors import InputError
from tessera.export.structure import Structure
from tessera.ranks import Ranks
from tessera.system.model import FloatArray
from tessera.traj import check as segments
from tessera.traj import fixed_frames, history_reader
from tessera.traj.frame_writer import FrameWriter
from tessera.traj.manifest import IdArray
from tessera.traj.parts import encode
from tessera.traj.trajectory import Frame, Trajectory
from tessera.traj.writer import SegmentWriter
from tessera.way import Way

LAST = -1  # a frame

Write = Callable[[Frame], None]


@dataclass(frozen=True)
class Format:
    name: str
    #: opens a file and gives the function that writes what `Job.encode` has made of a frame
    write: Callable[[Job, Path], Any]
    holds: tuple[str, ...] = ()  # quantities beside positions
    needs_names: bool = False  # of atoms
    other_ending: str = ""
    #: of what ranks write together: the format of `cpp/tessera/io/write` by the quantities beside positions
    by_ranks: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    force: float = 1.0  # its unit in kcal/mol/Å, of what ranks write together
    # Of what runs write.
    check: Callable[[Path, Callable[[int], None]], segments.Checked] | None = None  # reads all numbers
    count: Callable[[Path], int] | None = None  # counts whole frames, where numbers can't be checked
    read: Callable[[Path, int], SingleFrame] | None = None  # reads one frame


@dataclass
class SingleFrame:
    """What one frame of a file holds."""

    position: FloatArray  # (N,3) Å
    velocity: FloatArray | None  # (N,3) Å/ps
    box: FloatArray | None  # (3,3) Å
    step: int
    index: int


@dataclass
class Job:
    """Frames to be written: of which trajectory, in which format, which atoms and quantities."""

    trajectory: Trajectory
    format: Format
    rows: IdArray | None
    structure: Structure | None
    quantities: list[str]
    ranks: Ranks
    way: Way
    notes: list[str] = field(default_factory=list)
    #: makes what is written of a frame, on the thread that has read it
    encode: Callable[[Frame], Any] = lambda frame: frame

    @property
    def ids(self) -> IdArray:
        ids = self.trajectory.ids
        return ids if self.rows is None else ids[self.rows]

    @property
    def n_atoms(self) -> int:
        return self.trajectory.n_atoms if self.rows is None else len(self.rows)

    @property
    def every(self) -> int:
        """Steps between the first two frames."""
        steps = self.trajectory.steps
        return max(1, int(steps[1] - steps[0])) if len(steps) > 1 else self.trajectory.every

    def named(self) -> Structure:
        assert self.structure is not None
        return self.structure.subset(self.ids)

    def universe(self, with_names: bool) -> Any:
        """Returns an MDAnalysis Universe of the atoms whose frame is set anew for each that is written."""
        import MDAnalysis

        from tessera.select.universe import universe_of

        if with_names:
            structure = self.named()
            structure.velocity = None
            return universe_of(structure)
        return MDAnalysis.Universe.empty(
            self.n_atoms,
            trajectory=True,
            velocities="velocities" in self.quantities,
            forces="forces" in self.quantities,
        )


@contextmanager
def _mdanalysis(job: Job, writer: Any, with_names: bool = False) -> Iterator[Write]:
    """Writes frames by a writer of MDAnalysis."""
    from MDAnalysis.lib.mdamath import triclinic_box

    universe = job.universe(with_names)
    moment, number = universe.trajectory.ts, 0

    def write(frame: Frame) -> None:
        nonlocal number
        moment.positions = frame.positions
        if frame.velocities is not None:
            moment.velocities = frame.velocities
        if frame.forces is not None:
            moment.forces = frame.forces * np.float32(KJ_PER_KCAL)
        moment.dimensions = None if frame.box is None else triclinic_box(*frame.box)
        moment.frame, moment.time = number, frame.time
        moment.data["step"] = frame.step
        number += 1
        writer.write(universe.atoms)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield write
        finally:
            writer.close()


@contextmanager
def _fixed(job: Job, path: Path, layout: fixed_frames.Layout) -> Iterator[Callable[[list[NDArray[Any]]], None]]:
    number, job.encode = itertools.count(), layout.encode
    with path.open("r+b") as file:
        yield lambda arrays: layout.write(file.fileno(), next(number), arrays)


def _dcd(job: Job, path: Path) -> Any:
    return _fixed(job, path, fixed_frames.dcd(path, job.trajectory, job.n_atoms, job.every))


def _h5md(job: Job, path: Path) -> Any:
    return _fixed(job, path, fixed_frames.h5md(path, job.trajectory, job.n_atoms, job.quantities))


@contextmanager
def _xtc(job: Job, path: Path) -> Iterator[Callable[[bytes], Any]]:
    from tessera._core import encode_xtc

    job.encode = lambda frame: encode_xtc(frame.step, frame.time, frame.box, frame.positions)
    with path.open("wb") as file:
        yield file.write


def _trr(job: Job, path: Path) -> Any:
    from MDAnalysis.coordinates.TRR import TRRWriter

    return _mdanalysis(job, TRRWriter(str(path), job.n_atoms))


@contextmanager
def _pdb(job: Job, path: Path) -> Iterator[Write]:
    """Writes a model a frame, each after a CRYST1 with its box. MDAnalysis writes that of the first frame alone, and
    finds none in later ones when it reads."""
    from MDAnalysis.coordinates.PDB import PDBWriter
    from MDAnalysis.lib.mdamath import triclinic_box

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer = PDBWriter(str(path), multiframe=True, bonds=None)
    with _mdanalysis(job, writer, with_names=True) as write_model:
        is_first = True

        def write(frame: Frame) -> None:
            nonlocal is_first
            if frame.box is not None and not is_first:
                writer.CRYST1(triclinic_box(*frame.box))
            is_first = False
            write_model(frame)

        yield write


@contextmanager
def _by_ranks(job: Job, path: Path) -> Iterator[Callable[[tuple[Any, ...]], None]]:
    trajectory = job.trajectory
    structure = job.named() if job.format.needs_names else None
    if job.ranks.is_root:
        path.unlink()  # the writer makes it
    writer = FrameWriter(
        path,
        job.format.by_ranks[tuple(job.quantities[1:])],
        f"{trajectory.paths[0].name} (tessera traj)",
        job.n_atoms,
        structure,
        trajectory.box(0),
        trajectory.timestep,
        job.ranks,
        job.way,
    )

    def encoded(frame: Frame) -> tuple[Any, ...]:
        values = np.empty((len(job.quantities), *frame.positions.shape))
        for row, name in zip(values, job.quantities, strict=True):
            row[:] = getattr(frame, name)
            if name == "forces":
                row *= job.format.force
        return frame.step, frame.time, frame.box, values

    job.encode = encoded
    yield lambda frame: writer.write(*frame)
    writer.close()


@contextmanager
def _segments(job: Job, folder: Path) -> Iterator[Write]:
    trajectory = job.trajectory
    steps = trajectory.steps.copy()
    for index in np.flatnonzero(np.diff(steps) <= 0) + 1:
        steps[index:] += steps[index - 1] - steps[index] + job.every
    if not np.array_equal(steps, trajectory.steps):
        job.notes.append("steps count on where a run begins anew")
    writer = SegmentWriter(
        folder,
        job.n_atoms,
        every=job.every,
        timestep=trajectory.timestep,
        system_atoms=trajectory.system_atoms,
        ids=job.ids,
        quantities=job.quantities,
        encodings=[trajectory.encoding_of(name) for name in job.quantities],
        whole=trajectory.whole,
        periodic=trajectory.periodic,
    )

    def encoded(frame: Frame) -> Frame:
        for name in job.quantities:
            encoding = trajectory.encoding_of(name)
            if encoding["kind"] == "packed":  # numcodecs compresses no faster on two threads
                setattr(frame, name, encode(getattr(frame, name), encoding))
        return frame

    job.encode = encoded

    def write(frame: Frame) -> None:
        step = int(steps[writer.frames])
        writer.append(step, frame.time, frame.box, frame.positions, frame.velocities, frame.forces)

    with writer:
        yield write


def _count_dcd(path: Path) -> int:
    with open(path, "rb") as file:
        start = file.read(276)
        if start[:8] != b"\x54\0\0\0CORD":
            raise ValueError("it does not begin as a DCD does")
        (title,) = struct.unpack_from("<i", start, 92)
        file.seek(92 + title + 8 + 4)
        (atoms,) = struct.unpack("<i", file.read(4))
        begin, whole = file.tell() + 4, 0
        records = (48, 4 * atoms, 4 * atoms, 4 * atoms)
        frame = sum(record + 8 for record in records)
        size = path.stat().st_size
        while begin + (whole + 1) * frame <= size:
            at = begin + whole * frame
            for record in records:
                for place in (at, at + 4 + record):
                    file.seek(place)
                    if struct.unpack("<i", file.read(4)) != (record,):
                        raise ValueError(f"frame {whole} is damaged at byte {place}")
                at += record + 8
            whole += 1
    return whole


def _count_xtc(path: Path) -> int:
    size, at, whole = path.stat().st_size, 0, 0
    with open(path, "rb") as file:
        while at + 56 <= size:
            file.seek(at)
            head = file.read(100)
            mark, atoms = struct.unpack_from(">ii", head)
            if mark not in (1995, 2023) or atoms < 0:
                raise ValueError(f"frame {whole} is damaged at byte {at}")
            if atoms <= 9:
                length = 56 + 12 * atoms
            else:
                wide = mark == 2023
                if len(head) < (96 if wide else 92):
                    break
                (packed,) = struct.unpack_from(">q" if wide else ">i", head, 88)
                length = (96 if wide else 92) + (packed + 3) // 4 * 4
            if length <= 0 or at + length > size:
                break
            at += length
            whole += 1
    return whole


def _count_h5md(path: Path) -> int:
    import h5py

    with h5py.File(path, "r") as file:
        group = file["particles/all/position"]
        frames = min(len(group[name]) for name in ("value", "step", "time"))
        for index in range(frames):
            group["value"][index, :1]
        return frames


def _check_frame(path: Path, frame: int, n_frames: int) -> None:
    if not ((frame == LAST and n_frames) or 0 <= frame < n_frames):
        there = f"the frames 0 to {n_frames - 1}" if n_frames else "no frame yet"
        raise InputError(f"{path} holds {there}, found --frame {frame}")


def _read_xtc(path: Path, frame: int) -> SingleFrame:
    # MDAnalysis' own reader would leave a file of frame offsets beside the trajectory.
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    with XTCFile(str(path)) as file:
        n_frames = len(file)
        _check_frame(path, frame, n_frames)
        index = n_frames - 1 if frame == LAST else frame
        file.seek(index)
        found = file.read()
    box = 10 * found.box.astype(np.float64)  # nm
    return SingleFrame(10 * found.x.astype(np.float64), None, box if box.any() else None, int(found.step), index)


def _read_own(path: Path, frame: int, opened: Callable[[Path], Trajectory]) -> SingleFrame:
    trajectory = opened(path)
    _check_frame(path, frame, len(trajectory))
    index = len(trajectory) - 1 if frame == LAST else frame
    found = trajectory[index]
    velocity = None if found.velocities is None else found.velocities.astype(np.float64)
    return SingleFrame(found.positions.astype(np.float64), velocity, found.box, found.step, index)


def _read_by(reader: Any, path: Path, frame: int, step_of: Callable[[Any, Any], int], **options: Any) -> SingleFrame:
    """Reads a frame by a reader of MDAnalysis."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frames = reader(str(path), **options)
        _check_frame(path, frame, len(frames))
        step = frames[frame]
        return SingleFrame(
            step.positions.astype(np.float64),
            step.velocities.astype(np.float64) if step.has_velocities else None,
            None if step.dimensions is None else step.triclinic_dimensions.astype(np.float64),
            step_of(frames, step),
            int(step.frame),
        )


def _read_dcd(path: Path, frame: int) -> SingleFrame:
    from MDAnalysis.coordinates.DCD import DCDReader

    # A DCD keeps its interval in single precision, in which whole intervals are exact.
    return _read_by(DCDReader, path, frame, lambda all, one: round(one.time / all.dt * all.skip_timestep))


def _read_h5md(path: Path, frame: int) -> SingleFrame:
    from MDAnalysis.coordinates.H5MD import H5MDReader

    return _read_by(H5MDReader, path, frame, lambda _, one: int(one.data["step"]), convert_units=False)


_V, _F, _VF = ("velocities",), ("forces",), ("velocities", "forces")

#: by ending
FORMATS = {
    ".dcd": Format("DCD", _dcd, count=_count_dcd, read=_read_dcd),
    ".xtc": Format("XTC", _xtc, count=_count_xtc, read=_read_xtc),
    ".trr": Format("TRR", _trr, _VF),
    ".h5md": Format("H5MD", _h5md, _VF, other_ending=".h5", count=_count_h5md, read=_read_h5md),
    ".nc": Format(
        "NetCDF of AMBER", _by_ranks, _VF, other_ending=".ncdf",
        by_ranks={(): "netcdf", _V: "netcdf-velocities", _F: "netcdf-forces-alone", _VF: "netcdf-forces"},
    ),
    ".xdr": Format(
        "XDR", _by_ranks, _VF, needs_names=True, force=KCAL,
        by_ranks={(): "xdr", _V: "xdr-velocities", _VF: "xdr-forces"},
    ),
    ".pdb": Format("PDB, a model a frame", _pdb, needs_names=True),
    ".history": Format(
        "HISTORY of DL_POLY", _by_ranks, _VF, needs_names=True, force=KCAL,
        by_ranks={(): "history", _V: "history-velocities", _VF: "history-forces"},
        check=history_reader.check, read=partial(_read_own, opened=history_reader.History),
    ),
    ".segments": Format(
        "segments", _segments, _VF, check=segments.check, read=partial(_read_own, opened=Trajectory)
    ),
}  # fmt: skip
