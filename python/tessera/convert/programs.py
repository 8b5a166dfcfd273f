"""Lists the programs whose settings become run files, and converts files. A program is one module and one line here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tessera.convert import amber, charmm_gui, genesis, gromacs, namd, openmm, openmm_inp
from tessera.convert.model import Changed, Option, Row, Translation
from tessera.convert.run_file import run_file_text
from tessera.errors import InputError
from tessera.prepare.text import read_text, require_file


@dataclass(frozen=True)
class Program:
    """A program, and how its settings are read.

    `looks` tells whether a text is of this program, `options` reads a file of a name and a folder, `translate` says
    what becomes of the options. `refused` has the features without a counterpart by their options, `ignored` the
    options without meaning here by the reason, separated by spaces.
    """

    title: str
    manual: str
    versions: str  # those that the table is for
    suffixes: tuple[str, ...]
    looks: Callable[[str], bool]
    options: Callable[[str, str, Path], list[Option]]
    defaults: Mapping[str, str | Changed]
    translate: Callable[[Translation, Mapping[str, str]], None]
    refused: Mapping[str, str]
    ignored: Mapping[str, str]


def _program(module: Any) -> Program:
    names = ("TITLE", "MANUAL", "VERSIONS", "SUFFIXES", "looks")
    found = [getattr(module, name) for name in names]
    options = getattr(module, "options_in", None) or (lambda text, file, _: module.options(text, file))
    found += [options, module.DEFAULTS, module.translate]
    by_name = (getattr(module, name, {}) for name in ("REFUSED", "IGNORED"))
    return Program(*found, *by_name)


PROGRAMS = {
    "gromacs": _program(gromacs),
    "namd": _program(namd),
    "amber": _program(amber),
    "genesis": _program(genesis),
    "openmm": _program(openmm),
    "charmm-gui": _program(openmm_inp),
}


_DLPOLY = (
    "settings of DL_POLY stand beside its FIELD and CONFIG: tessera prepare dlpoly FOLDER -o SYS.tsr makes the system "
    "and its run file"
)


@dataclass
class Conversion:
    """What came of files: the text of the run file, and a row for each option."""

    program: str  # whose settings they were
    version: str  # whose defaults were taken
    text: str  # of the run file
    rows: list[Row]  # one for each option that was read
    notes: list[str] = field(default_factory=list)  # for the user
    prepare: list[str] = field(default_factory=list)  # options of `tessera prepare` that these settings ask for

    @property
    def refused(self) -> list[Row]:
        """The options that have no counterpart; where there is one, nothing is to be written."""
        return [row for row in self.rows if row.status == "refused"]


def convert(
    inputs: Sequence[str | Path],
    system: str = "system.tsr",
    source: str = "",
    groups: Mapping[str, str] | None = None,
    lenient: bool = False,
) -> Conversion:
    """Makes a run file of the settings in a folder or in files. `system` is the path of the system file as the run file
    has it, `source` is PROGRAM or PROGRAM@VERSION or "", `groups` are selections by the names of groups of atoms.

    What is refused is in the rows. Raises `InputError` for what is no file of settings, or no value of an option."""
    name, _, version = source.partition("@")
    if name in ("dlpoly", "dl_poly"):
        raise InputError(f"--from {source}: {_DLPOLY}")
    if name and name not in PROGRAMS:
        raise InputError(f"--from {source}: expected one of {', '.join(PROGRAMS)}, such as gromacs@2024")
    if version and not re.fullmatch(r"\d+(\.\d+)*", version):
        raise InputError(f"--from {source}: expected numbers with points as the version, such as {name}@2024.1")
    paths = [Path(path) for path in inputs]
    for path in paths:
        _refuse_dlpoly(path)
    selections = {key.lower(): text for key, text in (groups or {}).items()}
    if len(paths) == 1 and paths[0].is_dir():
        folder, name = charmm_gui.folder_of(paths[0], name)
        steps = charmm_gui.steps_in(folder)
        if len(steps) > 1:
            return _protocol(folder, steps, name, version, system, selections, lenient)
    files = _files(paths, name)
    texts = [(path.name, read_text(path)) for path in files]
    name = name or _common(files, texts)
    if len(files) > 1 and name != "openmm":  # whose files are parts of one run
        told = ", ".join(path.name for path in files)
        raise InputError(
            f"{told}: a run has one file of settings of {PROGRAMS[name].title}: convert each by itself, and start "
            "each run from the one before it by input.start, or make stages of them"
        )
    translation = _translated(name, version, texts, files[0].parent, system, selections, lenient)
    title = f"Made by tessera convert of {', '.join(path.name for path in files)} of {_title(name, version)}."
    text = run_file_text(translation, system, title)
    return Conversion(name, version, text, translation.rows(), translation.notes, translation.prepare)


def _refuse_dlpoly(path: Path) -> None:
    """Says what reads the folder or the CONTROL of DL_POLY, whose settings need its FIELD."""
    is_folder = path.is_dir() and all((path / name).is_file() for name in ("CONTROL", "CONFIG", "FIELD"))
    if is_folder or (path.is_file() and (path.name.startswith("CONTROL") or path.suffix == ".control")):
        raise InputError(f"{path.name}: {_DLPOLY}")


def _title(name: str, version: str) -> str:
    program = PROGRAMS[name]
    return f"{program.title}{' ' + version if version else ''} ({program.manual})"


def _translated(
    name: str,
    version: str,
    texts: Sequence[tuple[str, str]],
    folder: Path,
    system: str,
    groups: Mapping[str, str],
    lenient: bool,
    continues: bool = False,
) -> Translation:
    program = PROGRAMS[name]
    options = [option for file, text in texts for option in program.options(text, file, folder)]
    if not options:
        raise InputError(f"{', '.join(file for file, _ in texts)} has no options of {program.title}")
    translation = Translation(name, version, options, program.defaults, lenient, folder, system)
    translation.continues = continues
    program.translate(translation, groups)
    translation.prepare = [system if word == "SYSTEM" else word for word in translation.prepare]
    return translation


def _protocol(
    folder: Path,
    files: Sequence[Path],
    name: str,
    version: str,
    system: str,
    groups: Mapping[str, str],
    lenient: bool,
) -> Conversion:
    """Makes a protocol of the steps of CHARMM-GUI."""
    texts = [(path.name, read_text(path)) for path in files]
    name = name or _common(files, texts)
    steps = [
        (path.stem, _translated(name, version, [text], folder, system, groups, lenient, continues=n > 0))
        for n, (path, text) in enumerate(zip(files, texts, strict=True))
    ]
    whole = Translation(name, version, [], PROGRAMS[name].defaults, lenient, folder, system)
    charmm_gui.protocol(steps, whole)
    for _, step in steps:
        for note in step.notes:
            whole.note(note)
    if (cycles := charmm_gui.cycles_of(folder)) > 1:
        whole.note(
            f"README runs {files[-1].name} {cycles} times: set the steps of the last stage to {cycles} times as many"
        )
    begins = name in (
        "namd",
        "genesis",
    )  # whose first step has the coordinates, and the last those that it goes on from
    whole.prepare = steps[0 if begins else -1][1].prepare
    title = f"Made by tessera convert of CHARMM-GUI's steps in {folder.name} of {_title(name, version)}."
    rows = [row for _, step in steps for row in step.rows()]
    return Conversion(name, version, run_file_text(whole, system, title), rows, whole.notes, whole.prepare)


def detect(text: str, path: Path) -> str:
    """Returns the program that a file is of. Raises `InputError` where that is not clear."""
    fits = [name for name, program in PROGRAMS.items() if path.suffix.lower() in program.suffixes]
    if len(fits) != 1:
        fits = [name for name, program in PROGRAMS.items() if program.looks(text)]
    if len(fits) != 1:
        among = f"could be of {' or '.join(fits)}" if fits else "is of no program that is known here"
        raise InputError(f"{path.name} {among}: say --from PROGRAM, one of {', '.join(PROGRAMS)}")
    return fits[0]


def _common(files: Sequence[Path], texts: Sequence[tuple[str, str]]) -> str:
    found = {detect(text, path): path.name for path, (_, text) in zip(files, texts, strict=True)}
    if len(found) > 1:
        told = ", ".join(f"{path} is of {name}" for name, path in found.items())
        raise InputError(f"{told}: convert the files of one program at a time")
    return next(iter(found))


def _files(inputs: Sequence[Path], name: str) -> list[Path]:
    """Returns the files, and of a folder the one of settings in it. Raises `InputError` where it has none or
    several."""
    found = []
    for path in inputs:
        if not path.is_dir():
            found.append(require_file(path, "file of settings"))
            continue
        programs = [PROGRAMS[name]] if name else list(PROGRAMS.values())
        suffixes = [suffix for program in programs for suffix in program.suffixes]
        there = sorted(one for one in path.iterdir() if one.is_file() and one.suffix.lower() in suffixes)
        are_parts = there and all(one.suffix.lower() in openmm.SUFFIXES for one in there)  # of one program's settings
        if len(there) != 1 and not are_parts:
            told = ", ".join(one.name for one in there[:5]) or f"none of {', '.join(sorted(set(suffixes)))}"
            raise InputError(f"{path} has {told}: name the file to convert")
        found += there
    return found
