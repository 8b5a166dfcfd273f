"""Reads CSV files whose first row names their columns: tables of nucleosomes and charges.

Columns may be in any order. Lines that begin with # are comments, and empty ones count for nothing. A comment above
the rows, `# key: value`, says how the file was made.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tessera.errors import InputError
from tessera.prepare.text import read_text, require_file
from tessera.system.model import FloatArray


@dataclass(frozen=True)
class Fact:
    """What a comment says, and its line in a message."""

    text: str
    where: str


@dataclass(frozen=True)
class Row:
    """The cells of a row by the names of columns, its line, and that line in a message."""

    cells: dict[str, str]
    line: int
    where: str

    def number(self, name: str, below: float) -> float:
        """Returns the number in a column. Raises `InputError` unless its magnitude is below this."""
        value = number(self.cells[name])
        if not abs(value) < below:
            raise InputError(
                f"{self.where}: {name} is {self.cells[name][:60]!r}, expected a number below {below:,.0f} in magnitude"
            )
        return value


@dataclass(frozen=True)
class Columns:
    """The rows of a file, and its comments of the form `key: value`."""

    rows: list[Row]
    facts: dict[str, Fact]

    def numbers(self, names: Sequence[str], below: float) -> FloatArray:
        """Returns the numbers (rows, names) in columns. Raises `InputError` unless all magnitudes are below this."""
        return np.array([[row.number(name, below) for name in names] for row in self.rows])


def number(text: str) -> float:
    """Returns a number, or NaN where the text is none. Python's digits with _ between them are none."""
    try:
        return float(text.replace("_", "?"))
    except ValueError:
        return float("nan")


def read_columns(path: Path, names: Sequence[str], file: str, item: str) -> Columns:
    """Reads a file with these columns, each once, and a row for each item or more. Raises `InputError` that names the
    line and what was found."""
    return columns(read_text(require_file(path, file)), path.name, names, item)


def columns(text: str, file: str, names: Sequence[str], item: str) -> Columns:
    """Reads the text of a file, as `read_columns` does."""
    lines = [(line, words.strip()) for line, words in enumerate(text.split("\n"), start=1)]
    facts = dict(_facts(lines, file))
    rows = [(line, _cells(words, f"{file}, line {line}")) for line, words in lines if words and words[0] != "#"]
    expected = f"the columns {', '.join(names)}"
    if not rows:
        raise InputError(f"{file} is empty, expected a first row with {expected}")
    first, header = rows.pop(0)
    wrong = [name for name in header if name not in names or header.count(name) > 1]
    lacking = [name for name in names if name not in header]
    if wrong or lacking:
        found = f"there is {wrong[0][:60]!r}" if wrong else f"{lacking[0]} is not there"
        raise InputError(f"{file}, line {first}: expected {expected}, each once; {found}")
    if not rows:
        raise InputError(f"{file} has no {item}: expected a row for each below the names of columns")
    for line, cells in rows:
        if len(cells) != len(header):
            raise InputError(f"{file}, line {line}: {len(cells)} values, expected {len(header)}, as many as columns")
    return Columns([Row(dict(zip(header, cells)), line, f"{file}, line {line}") for line, cells in rows], facts)


def _cells(words: str, where: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([words]))]
    except csv.Error as error:
        raise InputError(f"{where}: {error}, expected values between commas") from None


def _facts(lines: list[tuple[int, str]], file: str) -> Iterator[tuple[str, Fact]]:
    for line, words in lines:
        if words[:1] == "#" and ":" in words:
            key, value = words[1:].split(":", 1)
            yield key.strip(), Fact(value.strip(), f"{file}, line {line}")
