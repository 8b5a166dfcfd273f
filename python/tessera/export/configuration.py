"""The atoms of a system at one moment: of a system file, a run's last checkpoint or a frame of its trajectory."""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tessera.contained import contained
from tessera.errors import InputError
from tessera.export.checkpoint import check_system, read_checkpoint
from tessera.system import System, read
from tessera.system.blocks import to_fraction
from tessera.system.vacuum import with_positions
from tessera.traj.find import protocol
from tessera.traj.formats import FORMATS
from tessera.traj.formats import LAST as LAST

SETTINGS = "settings.toml"


@dataclass
class Configuration:
    """A system whose coordinates, velocities and box are those of the moment, and where it comes from."""

    system: System  # whose coordinates, velocities and box are those of the moment
    source: Path  # the file that the coordinates come from
    step: int | None = None  # None: the start
    time: float | None = None  # ps
    frame: int | None = None  # its number in the trajectory; None: of no trajectory
    timestep: float | None = None  # ps
    notes: list[str] = field(default_factory=list)  # for the user

    @property
    def description(self) -> str:
        """Such as `run/checkpoint.tck, step 20, 0.04 ps`."""
        return self._described(str(self.source))

    @property
    def title(self) -> str:
        """The same, without folders: files have little room for it."""
        return self._described(self.source.name)

    def _described(self, source: str) -> str:
        parts = [source]
        if self.frame is not None:
            parts.append(f"frame {self.frame}")
        if self.step is not None:
            parts.append(f"step {self.step:,}")
        if self.time is not None:
            parts.append(f"{self.time:g} ps")
        return ", ".join(parts)


def read_configuration(source: Path, frame: int | None = None, system: Path | None = None) -> Configuration:
    """Reads the configuration of a system file or of the output folder of a run, or of a protocol's last stage.

    `frame`: of the folder's trajectory, from 0, or `LAST`; None: the newest good checkpoint. `system`: the system file
    of the run, where it is no longer where the run found it. Raises `InputError`.
    """
    if source.is_dir():
        return _of_run(_stage_of(source, frame), frame, system)
    if not source.exists():
        raise InputError(f"{source} is not there: expected a system file, or the output folder of a run")
    for option, value in (("--frame", frame), ("--system", system)):
        if value is not None:
            raise InputError(f"{option} needs the output folder of a run, found the file {source}")
    return Configuration(read(source), source)


def _stage_of(folder: Path, frame: int | None) -> Path:
    """Returns the folder of a protocol's last stage that has what is asked for; a run's own folder as it is."""
    if (folder / SETTINGS).is_file():
        return folder
    wanted = "checkpoint*.tck" if frame is None else "trajectory.*"
    return next((stage for stage in reversed(protocol(folder)) if any(stage.glob(wanted))), folder)


def _of_run(folder: Path, frame: int | None, system_path: Path | None) -> Configuration:
    settings = _settings(folder)
    path = system_path or folder / _value(folder, settings, "input", "system")
    if not path.is_file():
        raise InputError(f"{path}, the system file of the run in {folder}, is not there; say where it is with --system")
    system = read(path)
    if frame is not None:
        return _frame(folder, settings, frame, system, path)
    found = read_checkpoint(folder)
    check_system(found, system, path)
    notes = [f"an older checkpoint is taken: {problem}" for problem in found.problems]
    if found.is_half_step_before:
        notes.append("the velocities are those half a step before the positions")
    now = dataclasses.replace(system, box=found.box, fraction=found.fraction, velocity=found.velocity)
    moment = found.step, _time(found.step, found.timestep)
    return Configuration(now, found.path, *moment, timestep=found.timestep / 1000, notes=notes)


def _time(step: int, timestep: float) -> float:
    """Returns ps of a step, without the noise of its product."""
    return round(step * timestep / 1000, 9)


def _settings(folder: Path) -> dict[str, Any]:
    path = folder / SETTINGS
    if not path.is_file():
        raise InputError(f"{folder} is no output folder of a run: it holds no {SETTINGS}; give one, or a system file")
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} can't be read: {error}") from None


def _value(folder: Path, settings: dict[str, Any], section: str, key: str) -> Any:
    """Returns what a run writes of itself: the time step, which is a number, or a text."""
    keys = settings.get(section, {})
    found = keys.get(key) if isinstance(keys, dict) else None
    is_number = isinstance(found, int | float) and not isinstance(found, bool) and 0 < found < 1e6
    if not (is_number if key == "timestep" else isinstance(found, str)):
        raise InputError(f"{folder / SETTINGS} has no {section}.{key} as every run writes it: is it damaged?")
    return found


def _frame(folder: Path, settings: dict[str, Any], frame: int, system: System, system_path: Path) -> Configuration:
    kind = _value(folder, settings, "output", "trajectory")
    path = folder / f"trajectory.{kind}"
    if not path.exists():
        raise InputError(
            f"{folder} holds no trajectory{'' if kind == 'none' else f' {path.name}'}: output.trajectory_every of a "
            "run file asks for one; without --frame the last checkpoint is taken"
        )
    read = FORMATS[path.suffix].read if path.suffix in FORMATS else None
    if read is None:
        raise InputError(f"{folder / SETTINGS} has output.trajectory = {kind!r}, which no run writes: is it damaged?")
    found = read(path, frame) if path.is_dir() else contained(read, path, frame, file=path)
    select = settings.get("output", {}).get("select", "")
    if len(found.position) != system.n_atoms and select:
        raise InputError(
            f"{path} holds {len(found.position):,} of {system.n_atoms:,} atoms (output.select = {select!r}), and a "
            "frame of some atoms is no configuration: leave --frame out for the last checkpoint, or read the "
            "trajectory with MDAnalysis and a topology from tessera export --select"
        )
    if len(found.position) != system.n_atoms:
        raise InputError(
            f"{path} has {len(found.position):,} atoms and {system_path} has {system.n_atoms:,}: "
            "name the system of the run with --system"
        )
    if not np.isfinite(found.position).all():
        raise InputError(f"frame {found.index} of {path} holds numbers that are not finite")
    if system.periodic:
        box = system.box if found.box is None else found.box
        if np.allclose(box, system.box, rtol=1e-6, atol=1e-6):
            box = system.box  # the reader has single precision
        moved = dataclasses.replace(system, box=box, fraction=to_fraction(found.position, box))
    else:
        moved = with_positions(system, found.position)
    now = dataclasses.replace(moved, velocity=found.velocity)
    timestep = _value(folder, settings, "dynamics", "timestep")
    return Configuration(now, path, found.step, _time(found.step, timestep), found.index, timestep / 1000)
