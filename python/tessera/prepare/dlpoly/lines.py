"""Reads the free-format lines of DL_POLY's files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tessera.prepare.errors import InputError, require_file
from tessera.prepare.text import read_text

_COMMENTS = ("#", "!", "&")


def number_of(word: str) -> float | None:
    """Returns a number that Fortran would read (1d-6, 1.5e+4), or None."""
    try:
        return float(word.lower().replace("d", "e")) if "_" not in word else None
    except ValueError:
        return None


@dataclass
class Line:
    """The words of a line, and its place for messages."""

    words: list[str]
    text: str
    file: str
    number: int

    @property
    def key(self) -> str:
        """Returns the first word in lower case."""
        return self.words[0].lower()

    def wrong(self, found: str) -> InputError:
        """Returns the exception `FIELD, line 7: found`."""
        return InputError(f"{self.file}, line {self.number}: {found}")

    def number_at(self, index: int, what: str, default: float | None = None) -> float:
        """Returns a number. Raises `InputError` where there is none and no default."""
        if index >= len(self.words) or self.words[index].startswith(_COMMENTS):
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
        if value != int(value):
            raise self.wrong(f"expected {what}, a whole number, found {self.words[index]!r}")
        return int(value)

    def count(self) -> int:
        """Returns the last word, a number of records."""
        value = self.whole_at(len(self.words) - 1, "the number of records")
        if value < 0:
            raise self.wrong(f"{self.key} {value}: a negative number of records")
        return value


@dataclass
class Lines:
    """The lines of a file in order, without blank lines and comments."""

    path: Path
    found: list[Line] = field(default_factory=list)
    next_line: int = 0

    @classmethod
    def read(cls, path: str | Path, what: str, keep_comments: bool = False) -> Lines:
        path = require_file(path, what)
        lines = cls(path)
        for number, text in enumerate(read_text(path).splitlines(), 1):
            words = text.replace(",", " ").split()
            if words and (keep_comments or not words[0].startswith(_COMMENTS)):
                lines.found.append(Line(words, text.strip(), path.name, number))
        return lines

    def take(self, what: str) -> Line:
        """Returns the next line. Raises `InputError` at the end of the file."""
        if self.next_line >= len(self.found):
            raise InputError(f"{self.path.name} ends where {what} is expected")
        self.next_line += 1
        return self.found[self.next_line - 1]

    def __bool__(self) -> bool:
        return self.next_line < len(self.found)
