"""Writes frames of a trajectory into files of other programs' formats, or into another folder of segments."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tessera.checked_file import DamagedFileError
from tessera.errors import InputError
from tessera.export.structure import Structure, structure_of
from tessera.files import check_free, named, real_path, replaced, replaced_folder
from tessera.ranks import ALONE, Ranks
from tessera.system import System, read
from tessera.traj.find import SETTINGS, input_of
from tessera.traj.formats import FORMATS, Job
from tessera.traj.frame_writer import share
from tessera.traj.manifest import IdArray
from tessera.traj.trajectory import Trajectory
from tessera.way import Way

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
    suffix = next((ending for ending, one in FORMATS.items() if one.other_ending == suffix), suffix)
    if suffix not in FORMATS:
        known = ", ".join([*FORMATS, "or the name HISTORY"])
        raise InputError(f"{path}: the ending says no format; expected one of {known}")
    return suffix


def check_output(path: Path, trajectory: Trajectory, force: bool) -> str:
    """Returns the ending. Raises `InputError` where it says no format, where the folder is missing, and where something
    is there already."""
    ending = ending_of(path)
    if real_path(path) in [real_path(source) for source in trajectory.sources]:
        raise InputError(f"{path} is what is read: write to another place")
    check_free(path, force)
    is_there = path.exists() or path.is_symlink()
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
    """Reads the system file of the first run, or `path`. Raises `InputError`."""
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
    but TRR, PDB and those that ranks write together, while earlier ones are written. Of the latter each rank
    reads the parts of segments that hold its atoms.

    `structure` has the system's atoms; PDB, HISTORY and XDR need it. `progress` gets the number of frames after each.
    The output takes its name when it is complete. Raises `InputError` and `DamagedFileError`.
    """
    ending = check_output(output, trajectory, force)
    kind = FORMATS[ending]
    name, holds = kind.name, kind.holds
    present = [one for one in trajectory.quantities if one == "positions" or one in holds]
    notes = [f"{name} holds no {one}: they are left out" for one in trajectory.quantities if one not in present]
    if kind.by_ranks and tuple(present[1:]) not in kind.by_ranks:
        present.remove("forces")
        notes.append(f"{name.split()[0]} holds forces only beside velocities: they are left out")
    times = trajectory.times
    if ending == ".dcd" and len(times) > 2 and not np.allclose(np.diff(times), times[1] - times[0], rtol=1e-4):
        notes.append("DCD has one time between all frames: that of the first two stands for all")
    job = Job(trajectory, kind, rows, structure, present, ranks=ranks, way=way)
    if kind.needs_names and structure is None:
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
            write = stack.enter_context(kind.write(job, place))
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


def _frames_ahead(job: Job) -> int:
    """Returns how many frames are read before they are needed: enough for all processors, of 1 GiB or four."""
    frame = 12 * job.trajectory.n_atoms * len(job.quantities)
    return max(4, min(2 * len(os.sched_getaffinity(0)), 2**30 // max(1, frame)))
