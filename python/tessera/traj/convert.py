"""Writes frames of a trajectory into files of other programs' formats, or into another folder of segments."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.checked_file import DamagedFileError
from tessera.constants import KCAL, KJ_PER_KCAL
from tessera.errors import InputError
from tessera.export.structure import Structure, structure_of
from tessera.files import named, real_path, replaced, replaced_folder
from tessera.ranks import ALONE, Ranks
from tessera.system import System, read
from tessera.traj import fixed_frames
from tessera.traj.find import SETTINGS, input_of
from tessera.traj.frame_writer import FrameWriter, share
from tessera.traj.manifest import IdArray
from tessera.traj.parts import encode
from tessera.traj.trajectory import Frame, Trajectory
from tessera.traj.writer import SegmentWriter
from tessera.way import Way

_V, _F, _VF = ("velocities",), ("forces",), ("velocities", "forces")

#: ending → name, and the quantities beside positions that the format holds
FORMATS = {
    ".dcd": ("DCD", ()),
    ".xtc": ("XTC", ()),
    ".trr": ("TRR", ("velocities", "forces")),
    ".h5md": ("H5MD", ("velocities", "forces")),
    ".nc": ("NetCDF of AMBER", ("velocities", "forces")),
    ".xdr": ("XDR", ("velocities", "forces")),
    ".pdb": ("PDB, a model a frame", ()),
    ".history": ("HISTORY of DL_POLY", ("velocities", "forces")),
    ".segments": ("segments", ("velocities", "forces")),
}
_OTHER_ENDINGS = {".h5": ".h5md", ".ncdf": ".nc"}
_NEED_NAMES = (".pdb", ".history", ".xdr")
#: what ranks write together: the formats of `cpp/tessera/io/write` by the quantities beside positions, and the unit of
#: forces in kcal/mol/Å
BY_RANKS: dict[str, tuple[dict[tuple[str, ...], str], float]] = {
    ".history": ({(): "history", _V: "history-velocities", _VF: "history-forces"}, KCAL),
    ".xdr": ({(): "xdr", _V: "xdr-velocities", _VF: "xdr-forces"}, KCAL),
    ".nc": ({(): "netcdf", _V: "netcdf-velocities", _F: "netcdf-forces-alone", _VF: "netcdf-forces"}, 1.0),
}
_MOST_BYTES_OF_CDF2 = 2**32 - 4  # of positions in a frame


@dataclass
class Written:
    path: Path
    format: str
    frames: int
    atoms: int
    quantities: list[str]
    first_time: float  # ps
    last_time: float
    bytes: int = 0
    notes: list[str] = field(default_factory=list)


def ending_of(path: Path) -> str:
    """Returns the key of `FORMATS`. Raises `InputError` where the ending says no format."""
    suffix = path.suffix.lower()
    if path.name == "HISTORY":
        return ".history"
    suffix = _OTHER_ENDINGS.get(suffix, suffix)
    if suffix not in FORMATS:
        known = ", ".join([*FORMATS, "or the name HISTORY"])
        raise InputError(f"{path}: the ending says no format; expected one of {known}")
    return suffix


def needs_names(ending: str) -> bool:
    """Tells whether the format has names of atoms."""
    return ending in _NEED_NAMES


def check_output(path: Path, trajectory: Trajectory, force: bool) -> str:
    """Returns the ending. Raises `InputError` where it says no format, where the folder is missing, and where something
    is there already."""
    ending = ending_of(path)
    if not path.parent.is_dir():
        raise InputError(f"the folder of {path} does not exist")
    if real_path(path) in [real_path(source) for source in trajectory.sources]:
        raise InputError(f"{path} is what is read: write to another place")
    is_there = path.exists() or path.is_symlink()
    if is_there and not force:
        raise InputError(f"{path} exists; --force replaces it")
    if is_there and path.is_dir() != (ending == ".segments"):
        raise InputError(f"{path} is {'a folder' if path.is_dir() else 'a file'}, which --force does not replace")
    if ending == ".segments" and is_there and any(not one.name.startswith("segment-") for one in path.iterdir()):
        raise InputError(f"{path} holds more than segments, and --force does not remove it")
    return ending


def chosen(trajectory: Trajectory, first: int | None, last: int | None, stride: int) -> Trajectory:
    """Returns the frames from number `first` to `last`, both included, each `stride`th. Raises `InputError` where there
    is none."""
    begin, end = first or 0, len(trajectory) - 1 if last is None else last
    if not len(trajectory):
        raise InputError(f"{', '.join(map(str, trajectory.paths))}: there is no frame yet")
    if not (0 <= begin <= end < len(trajectory)):
        raise InputError(
            f"the trajectory has the frames 0 to {len(trajectory) - 1}, found --first {begin} --last {end}"
        )
    return trajectory[begin : end + 1 : stride]


def system_of(trajectory: Trajectory, path: Path | None) -> System:
    """Reads the system file of the first run, or `path`. Raises `InputError` and `InputError`."""
    if path is None:
        folders = trajectory.run_folders
        name = input_of(folders[0], "system") if folders else ""
        if not name:
            raise InputError(
                f"{trajectory.paths[0]} has no {SETTINGS} beside it that names the system: say where it is by --system"
            )
        path = folders[0] / name
    if not path.is_file():
        raise InputError(f"{path}, the system file of the run, is not there; say where it is with --system")
    system = read(path)
    if system.n_atoms != trajectory.system_atoms:
        raise InputError(
            f"{path} has {system.n_atoms:,} atoms, and the trajectory is of a system of {trajectory.system_atoms:,}: "
            "name the system of the run with --system"
        )
    return system


def structure_for(system: System, title: str) -> Structure:
    """Returns the atoms of a system with the names that files give them."""
    try:
        return structure_of(system, title)
    except InputError:  # a molecule is bonded to its own image
        return structure_of(system, title, whole=False)


def rows_of(trajectory: Trajectory, structure: Structure, system: System | None, text: str) -> IdArray:
    """Returns the places in a frame (n,) of the atoms that a selection names. Raises `InputError` where it is none, and
    where frames do not have these atoms."""
    from tessera.select.universe import selected

    wanted = structure.ids[selected(structure, text, system)]
    ids = trajectory.ids
    rows = np.searchsorted(ids, wanted)
    there = rows < len(ids)
    there[there] = ids[rows[there]] == wanted[there]
    if not there.all():
        raise InputError(
            f"--select {text!r} names {len(wanted):,} atoms, of which the frames lack {int((~there).sum()):,}, such as "
            f"id {int(wanted[~there][0])}: they hold {len(ids):,} of {trajectory.system_atoms:,} atoms"
        )
    return np.asarray(rows, np.int64)


def convert(
    trajectory: Trajectory,
    output: Path,
    *,
    rows: IdArray | None = None,
    structure: Structure | None = None,
    force: bool = False,
    progress: Callable[[int], None] = lambda _: None,
    ranks: Ranks = ALONE,
    way: Way = Way(),  # noqa: B008
) -> Written:
    """Writes all frames, of all atoms or of those in `rows`. Threads read frames, and encode those of all formats
    but TRR, PDB and those in `BY_RANKS`, while earlier ones are written. Several ranks write the latter together, and
    each reads the parts of segments that hold its atoms.

    `structure` has the system's atoms; PDB, HISTORY and XDR need it. `progress` gets the number of frames after each.
    The output takes its name when it is complete. Raises `InputError` and `DamagedFileError`.
    """
    ending = check_output(output, trajectory, force)
    name, holds = FORMATS[ending]
    present = [one for one in trajectory.quantities if one == "positions" or one in holds]
    notes = [f"{name} holds no {one}: they are left out" for one in trajectory.quantities if one not in present]
    if ending in BY_RANKS and tuple(present[1:]) not in BY_RANKS[ending][0]:
        present.remove("forces")
        notes.append(f"{name.split()[0]} holds forces only beside velocities: they are left out")
    times = trajectory.times
    if ending == ".dcd" and len(times) > 2 and not np.allclose(np.diff(times), times[1] - times[0], rtol=1e-4):
        notes.append("DCD has one time between all frames: that of the first two stands for all")
    job = _Job(trajectory, rows, structure, present, ranks=ranks, way=way)
    if needs_names(ending) and structure is None:
        raise InputError(f"{output} needs the names of atoms: a system file")
    if ending == ".history" and structure is not None and np.isnan(structure.mass).any():
        raise InputError(
            f"{trajectory.paths[0]} holds no masses and charges, which {output} has: name the system file with --system"
        )
    if ending == ".nc" and 12 * job.n_atoms > _MOST_BYTES_OF_CDF2:
        notes.append("it is CDF-5, as so many atoms need: the NetCDF and PnetCDF libraries read it, SciPy does not")
    own: slice | IdArray = slice(None) if rows is None else rows
    source = trajectory
    if ranks.size > 1:
        mine = share(job.n_atoms, ranks)
        own = mine if rows is None else rows[mine]
        needed = np.arange(trajectory.n_atoms)[own]
        source = trajectory.needing(*((int(needed.min()), int(needed.max()) + 1) if len(needed) else (0, 0)))

    def of_frame(index: int) -> Any:
        frame = source.read(index, present)
        for quantity in present:
            setattr(frame, quantity, getattr(frame, quantity)[own])
        return job.encode(frame)

    place = output
    try:
        with ExitStack() as stack:
            if ranks.is_root:
                place = stack.enter_context(replaced_folder(output) if ending == ".segments" else replaced(output))
            place = Path(ranks.from_root(str(place)))
            write = stack.enter_context(_WRITERS[ending](job, place))
            for frame in source.map(range(len(trajectory)), of_frame, _frames_ahead(job)):
                write(frame)
                progress(1)
    except DamagedFileError:  # of what is read
        raise
    except InputError as error:
        raise InputError(named(str(error), output)) from None
    except OSError as error:
        # Libraries of formats do not say why they can't write: "TRR write error = float".
        reason = error.strerror or f"the disk is full, or the file may not grow ({error})"
        raise InputError(f"{output} can't be written: {reason}") from None
    except ValueError as error:
        raise InputError(f"{output} can't hold these numbers: {' '.join(str(error).split())}") from None
    ranks.all(None)  # the root has given the output its name
    size = sum(one.stat().st_size for one in output.iterdir()) if output.is_dir() else output.stat().st_size
    return Written(
        output, name, len(trajectory), job.n_atoms, present, float(times[0]), float(times[-1]), size, notes + job.notes
    )


def _frames_ahead(job: _Job) -> int:
    """Returns how many frames are read before they are needed: enough for all processors, of 1 GiB or four."""
    frame = 12 * job.trajectory.n_atoms * len(job.quantities)
    return max(4, min(2 * len(os.sched_getaffinity(0)), 2**30 // max(1, frame)))


Write = Callable[[Frame], None]


@dataclass
class _Job:
    trajectory: Trajectory
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
def _mdanalysis(job: _Job, writer: Any, with_names: bool = False) -> Iterator[Write]:
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
def _fixed(job: _Job, path: Path, layout: fixed_frames.Layout) -> Iterator[Callable[[list[NDArray[Any]]], None]]:
    number, job.encode = itertools.count(), layout.encode
    with path.open("r+b") as file:
        yield lambda arrays: layout.write(file.fileno(), next(number), arrays)


def _dcd(job: _Job, path: Path) -> Any:
    return _fixed(job, path, fixed_frames.dcd(path, job.trajectory, job.n_atoms, job.every))


def _h5md(job: _Job, path: Path) -> Any:
    return _fixed(job, path, fixed_frames.h5md(path, job.trajectory, job.n_atoms, job.quantities))


@contextmanager
def _xtc(job: _Job, path: Path) -> Iterator[Callable[[bytes], Any]]:
    from tessera._core import encode_xtc

    job.encode = lambda frame: encode_xtc(frame.step, frame.time, frame.box, frame.positions)
    with path.open("wb") as file:
        yield file.write


def _trr(job: _Job, path: Path) -> Any:
    from MDAnalysis.coordinates.TRR import TRRWriter

    return _mdanalysis(job, TRRWriter(str(path), job.n_atoms))


@contextmanager
def _pdb(job: _Job, path: Path) -> Iterator[Write]:
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
def _by_ranks(job: _Job, path: Path, ending: str) -> Iterator[Callable[[tuple[Any, ...]], None]]:
    trajectory, (formats, force) = job.trajectory, BY_RANKS[ending]
    structure = job.named() if needs_names(ending) else None
    if job.ranks.is_root:
        path.unlink()  # the writer makes it
    writer = FrameWriter(
        path, formats[tuple(job.quantities[1:])], f"{trajectory.paths[0].name} (tessera traj)", job.n_atoms, structure,
        trajectory.box(0), trajectory.timestep, job.ranks, job.way,
    )  # fmt: skip

    def encoded(frame: Frame) -> tuple[Any, ...]:
        values = np.empty((len(job.quantities), *frame.positions.shape))
        for row, name in zip(values, job.quantities, strict=True):
            row[:] = getattr(frame, name)
            if name == "forces":
                row *= force
        return frame.step, frame.time, frame.box, values

    job.encode = encoded
    yield lambda frame: writer.write(*frame)
    writer.close()


@contextmanager
def _segments(job: _Job, folder: Path) -> Iterator[Write]:
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


_WRITERS: dict[str, Callable[[_Job, Path], Any]] = {
    ".dcd": _dcd,
    ".xtc": _xtc,
    ".trr": _trr,
    ".h5md": _h5md,
    ".nc": partial(_by_ranks, ending=".nc"),
    ".xdr": partial(_by_ranks, ending=".xdr"),
    ".pdb": _pdb,
    ".history": partial(_by_ranks, ending=".history"),
    ".segments": _segments,
}
