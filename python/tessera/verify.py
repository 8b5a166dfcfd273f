"""Checks what a run has written: whether files are what was written, and whether they go together.

`verify` takes the output folder of a run or of a protocol, a checkpoint or a system file.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tessera import checked_file
from tessera.errors import SENSELESS, InputError
from tessera.export.checkpoint import candidates, check_file, read_header
from tessera.printing import counted
from tessera.system import read
from tessera.traj import check as segments
from tessera.traj.find import SETTINGS, input_of, stages
from tessera.traj.formats import FORMATS

Progress = Callable[[int], None]
TABLE = "energy.csv"
TRAJECTORIES = [f"trajectory{ending}" for ending, one in FORMATS.items() if one.read and ending != ".segments"]


@dataclass
class File:
    """A file that was checked."""

    path: Path
    kind: str  # "checkpoint", "system file", "energy table", "trajectory"
    bytes: int
    problem: str = ""  # what is wrong; empty: nothing
    note: str = ""  # what it holds, or what can't be checked of it

    @property
    def ok(self) -> bool:
        return not self.problem


@dataclass
class Report:
    """What came of it."""

    files: list[File] = field(default_factory=list)
    checkpoint: Path | None = None  # with which a restart would go on
    checkpoint_step: int | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return all(file.ok for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


def size_of(path: Path) -> int:
    """Returns how many bytes `verify` is going to read at most, for a progress bar."""
    if not path.is_dir():
        return path.stat().st_size
    names = (TABLE, *TRAJECTORIES)
    size, systems = 0, set()
    for run in _runs_of(path):
        found = [*candidates(run), *(run / name for name in names if (run / name).is_file())]
        size += sum(file.stat().st_size for file in found)
        size += sum(segments.size_of(folder) for folder in run.glob("*.segments"))
        system = _system_of(run)
        if system is not None and system.is_file():
            systems.add(system)
    return size + sum(system.stat().st_size for system in systems)


def verify(path: Path, progress: Progress = lambda _: None) -> Report:
    """Checks a run's folder or one file. `progress` gets the number of bytes after each part.

    Raises `InputError` where there is nothing that it can check, `OSError` where a folder can't be read.
    """
    if path.is_dir():
        return _verify_runs(path, progress)
    if not path.is_file():
        raise InputError(f"{path} is not there: expected the output folder of a run, a checkpoint or a system file")
    report = Report()
    kind = _kind_of(path)
    if kind == "checkpoint":
        file, step = _checkpoint(path, progress)
        report.files.append(file)
        if file.ok:
            report.checkpoint, report.checkpoint_step = path, step
    else:
        report.files.append(_system_file(path, progress))
    return report


def _kind_of(path: Path) -> str:
    """Returns the kind of a file; a damaged one is known by its name. Raises `InputError`."""
    with open(path, "rb") as file:
        start = file.read(600)
    if path.suffix == ".tck" or start.startswith(b"tessera-checkpoint "):
        return "checkpoint"
    if start.startswith(checked_file.MAGIC):
        return "checkpoint" if start[checked_file.HEADER_BYTES :].startswith(b"{") else "system file"
    if path.suffix == ".tsr" or start.startswith(b"\x89HDF"):
        return "system file"
    raise InputError(f"{path} is neither a checkpoint (*.tck) nor a system file (*.tsr): give one, or a run's folder")


def _checkpoint(path: Path, progress: Progress) -> tuple[File, int | None]:
    size = path.stat().st_size
    try:
        header = check_file(path, progress)
    except InputError as error:
        return File(path, "checkpoint", size, problem=_without_path(error, path)), None
    step = int(header["state"]["step"])
    return File(path, "checkpoint", size, note=f"step {step:,} of {counted(int(header['atoms']), 'atom')}"), step


def _system_file(path: Path, progress: Progress) -> File:
    file = File(path, "system file", path.stat().st_size)
    try:
        if checked_file.is_checked(path):
            checked_file.check(path, progress=progress)
        else:
            read(path)  # says why it is none
    except (checked_file.DamagedFileError, InputError) as error:
        file.problem = _without_path(error, path)
    return file


def _without_path(error: Exception, path: Path) -> str:
    return str(error).removeprefix(f"{path} ").removeprefix(f"{path}: ")


def _system_of(folder: Path) -> Path | None:
    name = input_of(folder, "system")
    return folder / name if name else None


def _names_of(folder: Path) -> list[str]:
    """Lists what a run's folder has beside checkpoints."""
    names = [name for name in (TABLE, *TRAJECTORIES) if (folder / name).is_file()]
    return [*names, *sorted(path.name for path in folder.glob("*.segments") if path.is_dir())]


def _is_run(folder: Path) -> bool:
    return bool(candidates(folder) or _names_of(folder)) or (folder / SETTINGS).is_file()


def _runs_of(folder: Path) -> list[Path]:
    """Lists a run's folder, or those of a protocol's stages."""
    return [folder] if _is_run(folder) else stages(folder)


def _verify_runs(folder: Path, progress: Progress) -> Report:
    runs = _runs_of(folder)
    if not runs:
        raise InputError(f"{folder} holds no run: expected its output folder, a checkpoint or a system file")
    report = Report()
    for run in runs:
        found = _verify_run(run, progress, {file.path for file in report.files})
        report.files += found.files
        prefix = "" if run == folder else f"stage {run.name}: "
        report.notes += [prefix + note for note in found.notes]
        if found.checkpoint is not None:  # a protocol goes on in its last stage that has one
            report.checkpoint, report.checkpoint_step = found.checkpoint, found.checkpoint_step
    for file in report.files:
        if file.path == report.checkpoint:
            file.note += "; a restart goes on from here"
    return report


def _verify_run(folder: Path, progress: Progress, known: set[Path]) -> Report:
    """Verifies a run; `known`: files that were checked already."""
    report = Report()
    names, found = _names_of(folder), candidates(folder)
    for path in found:
        file, step = _checkpoint(path, progress)
        report.files.append(file)
        if file.ok and report.checkpoint is None:
            report.checkpoint, report.checkpoint_step = path, step
    if not found:
        report.notes.append("there is no checkpoint yet")
    elif report.checkpoint is None:
        report.notes.append("no checkpoint is whole, so the run can't go on: begin it anew, or put a copy of one back")
    header = read_header(report.checkpoint) if report.checkpoint else None
    for name in names:
        path = folder / name
        if name != TABLE and FORMATS[path.suffix].check:
            report.files.append(_frames(path, progress))
            continue
        check = _table if name == TABLE else _trajectory
        report.files.append(check(path, header))
        progress(path.stat().st_size)
    if header:
        present = {Path(name).stem for name in names}
        for stem, what, counted in (
            (Path(TABLE).stem, TABLE, header["energy_rows"]),
            *((name, name, frames) for name, frames in header["frames"].items()),
        ):
            if counted and stem not in present:
                report.notes.append(f"the checkpoint counts {counted:,} in {what}, which is gone: it begins anew")
    system = _system_of(folder)
    if system is not None and system.is_file():
        if system not in known:
            report.files.append(_system_file(system, progress))
    elif system is not None:
        report.notes.append(f"{system}, the system file of the run, is not there")
    return report


def _table(path: Path, header: dict[str, Any] | None) -> File:
    """Checks that the rows up to the checkpoint are whole and as many as it counts."""
    file = File(path, "energy table", path.stat().st_size)
    last = int(header["state"]["step"]) if header else None
    lines = path.read_bytes().split(b"\n")
    columns, rows, counted, step_before = lines[0].count(b","), 0, 0, -1
    for number, line in enumerate(lines[1:-1], 2):  # what follows the last line end is a row that was being written
        words = line.split(b",")
        values = [_number(word) for word in words]
        step = int(words[0]) if re.fullmatch(rb"\d{1,19}", words[0]) else -1
        if len(values) != columns + 1 or None in values or step <= step_before:
            file.problem = f"line {number} is damaged: expected {columns + 1} numbers, the first above {step_before}"
            return file
        step_before = step
        rows += 1
        counted += last is not None and step <= last
    if header and counted < header["energy_rows"]:
        file.problem = (
            f"holds {counted:,} rows up to step {last:,}, the checkpoint counts {header['energy_rows']:,}; put it "
            "back, or move it away to begin another at the checkpoint"
        )
    file.note = f"{rows:,} rows, which have no checksums"
    return file


def _number(word: bytes) -> float | None:
    """Returns a number as the engine writes it; None for other text, and for digits of which none can be made."""
    if re.fullmatch(rb"-?(nan|inf)", word):
        return float(word)
    if not re.fullmatch(rb"-?\d+(\.\d*)?(e[+-]?\d+)?", word):
        return None
    value = float(word)
    return value if math.isfinite(value) else None


def _trajectory(path: Path, header: dict[str, Any] | None) -> File:
    """Checks that the frames that the checkpoint counts are there, as far as lengths and marks tell."""
    file = File(path, "trajectory", path.stat().st_size)
    try:
        count = FORMATS[path.suffix].count
        assert count is not None
        frames = count(path)
    except (struct.error, OSError, RuntimeError, InputError, *SENSELESS) as error:
        file.problem = f"can't be read: {error}"
        return file
    expected = header["frames"].get(path.stem, 0) if header else 0
    if frames < expected:
        file.problem = (
            f"holds {frames:,} whole frames, the checkpoint counts {expected:,}; put it back, "
            "or move it away to begin another at the checkpoint"
        )
    file.note = f"{counted(frames, 'frame')}, whose numbers have no checksums"
    return file


def _frames(path: Path, progress: Progress) -> File:
    """Checks that all frames are what was written, as far as the format can tell, and that those are there that the run
    has written."""
    check = FORMATS[path.suffix].check
    assert check is not None
    found = check(path, progress)
    note = "; ".join([counted(found.frames, "frame"), *found.notes])
    return File(path, "trajectory", found.bytes, problem="; ".join(found.problems), note=note)
