"""Names and rows of numbers as the text formats have them."""

from __future__ import annotations

from typing import IO, Any

from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.export.structure import Texts

CHUNK = 100_000  # rows at a time, so that a million atoms do not live as Python objects at once


def check_words(format_name: str, what: str, values: Texts, width: int | None = None, advice: str = "") -> None:
    """Raises `InputError` where a name is blank, has blanks or letters beyond ASCII, or more than `width` of them."""
    for word in dict.fromkeys(values.tolist()):
        if not word:
            raise InputError(f"{format_name} needs {what}s, and one is blank; .coor, .rst7 and .ncrst hold no names")
        if not (word.isascii() and word.isprintable() and " " not in word):
            raise InputError(f"{format_name} takes {what}s of ASCII letters without blanks, found {word!r}")
        if width is not None and len(word) > width:
            raise InputError(f"{format_name} has {width} columns for {what}s, found {word!r}; {advice}")


def write_rows(file: IO[str], pattern: str, *columns: NDArray[Any]) -> None:
    """Writes a line for each row of the columns."""
    for begin in range(0, len(columns[0]), CHUNK):
        part = [column[begin : begin + CHUNK].tolist() for column in columns]
        file.writelines(pattern % row for row in zip(*part))
