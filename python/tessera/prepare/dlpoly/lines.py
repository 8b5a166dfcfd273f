"""Reads the free-format lines of DL_POLY's files.

The first record is a title whatever it holds: blank, or what would be a comment or a directive further down. Of the
other lines those that are blank or begin with a `#` are left out, and words from a `#` or `!` on are a comment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tessera.errors import InputError
from tessera.prepare.text import read_source

_COMMENTS = ("#", "!")


def number_of(word: str) -> float | None:
    """Returns a finite number that Fortran would read (1d-6, 1.5e+4), or None."""
    try:
        value = float(word.lower().replace("d", "e")) if word.isascii() and "_" not in word else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def is_name(word: str) -> bool:
    """Tells whether this is an atom's name that formats of text have room for."""
    return word.isascii() and word.isprintable() and len(word) <= 8


@dataclass(frozen=True)
class Line:
    """A line without blanks around it, and its place for messages."""

    text: str
    file: str
    number: int

    @cached_property
    def words(self) -> list[str]:
        """The words before a comment; none where the line is one."""
        words = [] if self.text.startswith("&") else self.text.replace(",", " ").split()
        return words[: next((at for at, word in enumerate(words) if word.startswith(_COMMENTS)), len(words))]

    @property
    def key(self) -> str:
        """Returns the first word in lower case; empty where there is none."""
        return self.words[0].lower() if self.words else ""

    def wrong(self, found: str) -> InputError:
        """Returns the exception `FIELD, line 7: found`."""
        return InputError(f"{self.file}, line {self.number}: {found}")

    def number_at(self, index: int, what: str, default: float | None = None) -> float:
        """Returns a number. Raises `InputError` where there is none and no default."""
        if index >= len(self.words):
            if default is not None:
                return default
            raise self.wrong(f"expected {what} as word {index + 1}, found the end of {self.text!r}")
        value = number_of(self.words[index])
        if value is None:
            raise self.wrong(f"expected {what}, a number, found {self.words[index]!r}")
        return value

    def whole_at(self, index: int, what: str, default: int | None = None) -> int:
        """Returns a whole number in the same way."""
        value = self.number_at(index, what, default)
        if value != int(value) or abs(value) >= 2**53:
            raise self.wrong(f"expected {what}, a whole number, found {self.words[index]!r}")
        return int(value)

    def behind(self, *optional: str) -> int:
        """Returns the index of the first word after the key that does not begin with one of these."""
        return next((at for at, word in enumerate(self.words) if at and not word.lower().startswith(optional)),
                    len(self.words))  # fmt: skip

    def count(self) -> int:
        """Returns the number of records, which stands behind the key and perhaps `types` or `units`."""
        value = self.whole_at(self.behind("type", "unit"), "the number of records")
        if value < 0:
            raise self.wrong(f"{self.key} {value}: a negative number of records")
        return value


@dataclass
class Lines:
    """The lines of a file: the first, and the others in order."""

    path: Path
    first: Line
    found: list[Line] = field(default_factory=list)
    next_line: int = 0

    @classmethod
    def read(cls, path: str | Path, what: str) -> Lines:
        """Reads the file. Raises `InputError` where it is missing, empty or no text."""
        source = read_source(path, what)
        if b"\0" in source.data:
            raise InputError(f"{source.name} is a binary file, expected text")
        # Only a line feed ends a record; Python's splitlines() would end one in the midst of a title, too.
        texts = source.data.decode("utf-8-sig", "replace").split("\n")
        lines = [Line(text.replace("\t", " ").strip(), source.name, number) for number, text in enumerate(texts, 1)]
        return cls(source.path, lines[0], [line for line in lines[1:] if line.text and line.text[0] != "#"])

    def take(self, what: str) -> Line:
        """Returns the next line that is no comment. Raises `InputError` at the end of the file."""
        line = self.take_text(what)
        while not line.words:
            line = self.take_text(what)
        return line

    def take_text(self, what: str) -> Line:
        """Returns the next line, such as a molecule's name, which may begin with an `!`."""
        if self.next_line >= len(self.found):
            raise InputError(f"{self.path.name} ends where {what} is expected")
        self.next_line += 1
        return self.found[self.next_line - 1]

    def __bool__(self) -> bool:
        return any(line.words for line in self.found[self.next_line :])
