"""Reads the lines of a GROMACS topology with files included and macros replaced, and the place of each line.

The rules are those of GROMACS (`grompp`, manual, "Topology file"). Only whole words are macros. In each line macros are
replaced once, in the order in which they were first defined, so a macro may use one that is defined after it. `#ifdef`
takes names only. After replacement a line has at most 4095 characters, as in GROMACS, so that nested macros cannot fill
the memory.
"""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from tessera.errors import InputError
from tessera.prepare.text import read_bytes, require_file

_LONGEST = 4095  # characters of a line, GROMACS' own limit
_DEEPEST, _MOST_FILES = 64, 10_000  # depth of nested files, and number of files
_WORD = re.compile(r"[A-Za-z0-9_]+")
_NO_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]|[^\S\x00-\x7f]")  # control characters and blanks beyond ASCII
_FILE_SHIFT = 32  # a place is the index of a file and, in the lower bits, a line


@dataclass
class _Open:
    """A file that is being read."""

    file: TextIO
    index: int
    folder: Path
    line: int = 0
    conditions: list[bool | None] = field(default_factory=list)  # None: inside lines that are skipped

    @property
    def is_left_out(self) -> bool:
        return bool(self.conditions) and self.conditions[-1] is not True


class Preprocessor:
    """Iterates over (text, place) of each line that is not empty; `at` writes a place as `file:line`.

    Raises `InputError` for a file that is missing, is no text or includes itself, and for a directive that is unknown
    or incomplete.
    """

    def __init__(self, path: str | Path, include: Iterable[Path] = (), defines: Iterable[str] = ()) -> None:
        self._path = require_file(path, "topology file")
        self._include = [*map(Path, include), *_installed()]
        self._names: list[str] = []  # names of the files
        self._macros: dict[str, tuple[int, str]] = {}  # order of definition, text
        self._odd: set[str] = set()  # macros that are more than one word
        self._count = 0
        self._unused: set[str] = set()
        for definition in defines:
            name, _, text = definition.partition("=")
            if not name or len(name.split()) != 1:
                raise InputError(f"--define needs NAME or NAME=VALUE, found {definition!r}")
            self._define(name, text)
            self._unused.add(name)
        self._stack: list[_Open] = []

    @property
    def unused(self) -> list[str]:
        """Returns macros of the caller that no line has used."""
        return sorted(self._unused)

    def at(self, place: int) -> str:
        return f"{self._names[place >> _FILE_SHIFT]}:{place & ((1 << _FILE_SHIFT) - 1)}"

    def __iter__(self) -> Iterator[tuple[str, int]]:
        try:
            self._open(self._path)
            yield from self._joined()
        finally:
            for opened in self._stack:
                opened.file.close()

    def _joined(self) -> Iterator[tuple[str, int]]:
        """Yields lines without comments (from a semicolon on); a line that ends with a backslash is joined with the
        next."""
        parts: list[str] = []
        place = 0
        for text, where in self._lines():
            place = place if parts else where
            if text.endswith("\\"):
                parts.append(text[:-1])
                continue
            if parts:
                text = " ".join([*parts, text])
                parts.clear()
            text = text.split(";", 1)[0].strip()
            if text:
                yield text, place
        if parts:
            raise InputError(f"{self.at(place)}: the file ends in a line that goes on (\\)")

    def _lines(self) -> Iterator[tuple[str, int]]:
        while self._stack:
            top = self._stack[-1]
            raw = top.file.readline(_LONGEST + 2)
            if not raw:
                self._close()
                continue
            top.line += 1
            place = (top.index << _FILE_SHIFT) + top.line
            text = raw.rstrip("\r\n")
            odd = _NO_TEXT.search(text.split(";", 1)[0])
            if odd:
                raise InputError(f"{self.at(place)}: the line is no text: it has the character {odd[0]!r}")
            if len(text) > _LONGEST:
                raise InputError(f"{self.at(place)}: the line has more than {_LONGEST} characters")
            text = text.strip()
            if text.startswith("#"):
                self._directive(text[1:].strip(), place)
            elif not top.is_left_out:
                yield self._expand(text, place), place

    def _open(self, path: Path) -> None:
        if len(self._stack) >= _DEEPEST:
            raise InputError(
                f"{path.name} is included from {_DEEPEST} files inside one another: does it include itself?"
            )
        if len(self._names) >= _MOST_FILES:
            raise InputError(f"{self._path.name} includes more than {_MOST_FILES:,} files")
        file = io.TextIOWrapper(io.BytesIO(read_bytes(path)), "utf-8", errors="replace", newline="\n")
        self._stack.append(_Open(file, len(self._names), path.parent))
        self._names.append(path.name)

    def _close(self) -> None:
        top = self._stack[-1]
        if top.conditions:
            raise InputError(f"{self._names[top.index]} ends inside an #ifdef or #ifndef: #endif is missing")
        self._stack.pop().file.close()

    def _directive(self, text: str, place: int) -> None:
        name, _, value = text.replace("\t", " ").partition(" ")
        value = value.strip()
        conditions = self._stack[-1].conditions
        if name in ("else", "endif"):
            if not conditions:
                raise InputError(f"{self.at(place)}: #{name} without #ifdef")
            if name == "endif":
                conditions.pop()
            elif conditions[-1] is not None:
                conditions[-1] = not conditions[-1]
            return
        if name in ("ifdef", "ifndef"):
            if self._stack[-1].is_left_out:
                conditions.append(None)
                return
            self._need(value, name, place)
            self._unused.discard(value)
            conditions.append((value in self._macros) == (name == "ifdef"))
            return
        if self._stack[-1].is_left_out:
            return
        if name not in ("define", "undef", "include"):
            raise InputError(
                f"{self.at(place)}: #{name} is no directive of GROMACS: it has include, define, undef, ifdef, ifndef, "
                "else and endif"
            )
        self._need(value, name, place)
        if name == "include":
            self._open(self._find(value, place))
        elif name == "undef":
            self._macros.pop(value, None)
            self._odd.discard(value)
        elif value.endswith("\\"):
            raise InputError(f"{self.at(place)}: a #define has one line")
        else:
            macro, *rest = value.split(None, 1)
            self._define(macro, rest[0] if rest else "")

    def _need(self, value: str, directive: str, place: int) -> None:
        if not value:
            raise InputError(f"{self.at(place)}: #{directive} names nothing")

    def _define(self, name: str, text: str) -> None:
        if name in self._macros:
            self._macros[name] = (self._macros[name][0], text)
            return
        self._macros[name] = (self._count, text)
        self._count += 1
        if not _WORD.fullmatch(name):
            self._odd.add(name)

    def _find(self, value: str, place: int) -> Path:
        match = re.match(r'["<]([^"<>]+)[">]', value)
        if not match:
            raise InputError(f'{self.at(place)}: #include needs "FILE" or <FILE>, found {value}')
        for folder in (self._stack[-1].folder, *self._include):
            if (folder / match[1]).is_file():
                return folder / match[1]
        raise InputError(
            f"{self.at(place)}: cannot find the included file {match[1]} (give the folder that holds it with "
            "--include, or set GMXLIB or GMXDATA)"
        )

    def _present(self, text: str, after: int) -> list[tuple[int, str]]:
        """Returns the macros in `text` that have a value and were defined later than `after`."""
        macros = self._macros
        words = {word for word in _WORD.findall(text) if word in macros}
        words |= {name for name in self._odd if name in text}
        return [(macros[w][0], w) for w in words if macros[w][0] > after and macros[w][1]]

    def _expand(self, text: str, place: int) -> str:
        after = -1
        if self._macros.keys().isdisjoint(_WORD.findall(text)) and not self._odd:
            return text
        while present := self._present(text, after):
            after, name = min(present)
            self._unused.discard(name)
            value = self._macros[name][1]
            pattern = rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])"
            count = len(re.findall(pattern, text))
            if len(text) + count * (len(value) - len(name)) > _LONGEST:
                raise InputError(
                    f"{self.at(place)}: with its macros replaced, the line has more than {_LONGEST} characters (the "
                    f"last is {name})"
                )
            text = re.sub(pattern, lambda _, value=value: value, text)  # type: ignore[misc]
        return text


def _installed() -> list[Path]:
    """Returns the folders in which an installed GROMACS has its force fields."""
    folders = [Path(part) for part in os.environ.get("GMXLIB", "").split(os.pathsep) if part]
    if os.environ.get("GMXDATA"):
        folders += [Path(os.environ["GMXDATA"]) / part for part in ("top", "gromacs/top")]
    for program in ("gmx", "gmx_mpi", "gmx_d", "gmx_mpi_d"):
        found = shutil.which(program)
        if found:
            folders.append(Path(found).resolve().parent.parent / "share" / "gromacs" / "top")
    folders += [Path("/usr/local/gromacs/share/gromacs/top"), Path("/usr/share/gromacs/top")]
    return list(dict.fromkeys(folders))
