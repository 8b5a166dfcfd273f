"""Lists the programs whose settings become run files, and converts files. A program is one module and one line here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tessera.convert import amber, genesis, gromacs, namd
from tessera.convert.model import Changed, Option, Row, Translation
from tessera.convert.run_file import run_file_text
from tessera.errors import InputError
from tessera.prepare.text import read_text, require_file


@dataclass(frozen=True)
class Program:
    """A program, and how its settings are read.

    `looks` tells whether a text is of this program, `options` reads a file, `translate` says what becomes of the
    options. `refused` has the features without a counterpart by their options, `ignored` the options without meaning
    here by the reason, separated by spaces.
    """

    title: str
    manual: str
    versions: str  # those that the table is for
    suffixes: tuple[str, ...]
    looks: Callable[[str], bool]
    options: Callable[[str, str], list[Option]]
    defaults: Mapping[str, str | Changed]
    translate: Callable[[Translation, Mapping[str, str]], None]
    refused: Mapping[str, str]
    ignored: Mapping[str, str]


def _program(module: object) -> Program:
    names = (
        "TITLE",
        "MANUAL",
        "VERSIONS",
        "SUFFIXES",
        "looks",
        "options",
        "DEFAULTS",
        "translate",
        "REFUSED",
        "IGNORED",
    )
    found = [getattr(module, name) for name in names]
    return Program(*found)  # type: ignore[arg-type]


PROGRAMS = {
    "gromacs": _program(gromacs),
    "namd": _program(namd),
    "amber": _program(amber),
    "genesis": _program(genesis),
}


@dataclass
class Conversion:
    """What came of files: the text of the run file, and a row for each option."""

    program: str
    version: str
    text: str
    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    prepare: list[str] = field(default_factory=list)

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
    if name and name not in PROGRAMS:
        raise InputError(f"--from {source}: expected one of {', '.join(PROGRAMS)}, such as gromacs@2024")
    if version and not re.fullmatch(r"\d+(\.\d+)*", version):
        raise InputError(f"--from {source}: expected numbers with points as the version, such as {name}@2024.1")
    files = _files([Path(path) for path in inputs], name)
    texts = [(path.name, read_text(path)) for path in files]
    name = name or _common(files, texts)
    program = PROGRAMS[name]
    options = [option for file, text in texts for option in program.options(text, file)]
    if not options:
        raise InputError(f"{', '.join(file for file, _ in texts)} has no options of {program.title}")
    translation = Translation(name, version, options, program.defaults, lenient)
    program.translate(translation, {key.lower(): text for key, text in (groups or {}).items()})
    title = f"Made by tessera convert of {', '.join(path.name for path in files)} of {program.title}"
    text = run_file_text(translation, system, f"{title}{' ' + version if version else ''} ({program.manual}).")
    return Conversion(name, version, text, translation.rows(), translation.notes, translation.prepare)


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
        if len(there) != 1:
            told = ", ".join(one.name for one in there[:5]) or f"none of {', '.join(sorted(set(suffixes)))}"
            raise InputError(f"{path} has {told}: name the file to convert")
        found += there
    return found
