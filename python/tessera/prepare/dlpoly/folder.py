"""Finds DL_POLY's files in a folder, makes the system, and writes the run file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tessera.errors import InputError
from tessera.files import replaced
from tessera.prepare.dlpoly import frozen_ranges, prepare_dlpoly
from tessera.prepare.dlpoly.control import read_control
from tessera.prepare.dlpoly.field import read_field
from tessera.prepare.dlpoly.run_file import run_file_of
from tessera.system import System


def prepare_dlpoly_folder(
    folder: Path | None,
    field: Path | None,
    config: Path | None,
    control: Path | None,
    table: Path | None,
    output: Path,
    run_file: Path | None,
    report: Callable[[str], None] = lambda _: None,
) -> System:
    """Makes the system that will be written to `output`, and writes `run_file` (None: beside it) where there is a
    CONTROL. Files that are not named are those of `folder`.

    `report` is called with each step of the work. Raises `InputError` where a file is missing, and for what has no
    counterpart, by its line.
    """
    if folder is not None and not folder.is_dir():
        raise InputError(f"no folder {folder}")
    if control is None and folder is not None and (folder / "CONTROL").is_file():
        control = folder / "CONTROL"
    settings = None if control is None else read_control(control)
    files = {"FIELD": "FIELD", "CONFIG": "CONFIG", **(settings.files if settings else {})}
    field, config = _found(folder, field, "FIELD", files), _found(folder, config, "CONFIG", files)
    if table is None and "TABLE" in files:
        table = field.parent / files["TABLE"]
    if settings is None:
        if run_file is not None:
            raise InputError("--run-file needs a CONTROL: give --control")
        return prepare_dlpoly(field, config, None, table, report)
    system = prepare_dlpoly(field, config, settings, table, report)
    run_file = run_file or output.with_suffix(".toml")
    if not run_file.parent.is_dir():
        raise InputError(f"the folder of {run_file} does not exist")
    name = Path(os.path.relpath(output, run_file.parent)).as_posix()
    frozen = frozen_ranges(read_field(field))
    has_velocities = system.velocity is not None
    charged = any(template.charge.any() for template in system.templates)
    text = run_file_of(settings, name, has_velocities, system.periodic, frozen, charged)
    with replaced(run_file) as temporary:
        Path(temporary).write_text(text)
    system.notes.append(f"{run_file} is the run that {settings.name} describes")
    system.notes += settings.notes
    if settings.unused:
        system.notes.append(f"of {settings.name} not used: {', '.join(settings.unused)}")
    return system


def _found(folder: Path | None, path: Path | None, name: str, files: dict[str, str]) -> Path:
    if path is not None:
        return path
    if folder is None:
        raise InputError(f"no {name}: name a folder that has one, or give --{name.lower()}")
    return folder / files[name]
