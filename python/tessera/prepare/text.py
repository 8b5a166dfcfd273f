"""Reads text, and files of fixed columns with NumPy, which takes a second or two for a million lines.

All files of text are read by `read_text` or `read_bytes`, which take the byte-order mark away that editors put before
the first line. A file of fixed columns that is compressed by gzip is expanded first, with any name. Lines are counted
from 0 here, and from 1 in messages.
"""

from __future__ import annotations

import codecs
import io
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.system.model import FloatArray, IdArray

_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)  # that of UTF-32-LE begins as the first
_SAMPLE = 1000  # bytes by which the encoding is recognised
_GZIP = b"\x1f\x8b"
_OTHER_COMPRESSION = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd"}
_EXPANDED_BYTES, _EXPANDED_A_BYTE = 64 << 20, 30  # gzip shrinks coordinates as text to a fourth, rarely to a tenth
_BLANK_LINES = 1_000_000  # the most lines of a file with fewer than four characters a line


def require_file(path: str | Path, what: str) -> Path:
    """Returns the path. Raises `InputError` where the file is missing or empty."""
    path = Path(path)
    if not path.is_file():
        if path.is_dir():
            raise InputError(f"{what} expected, found a folder: {path}")
        if path.exists():
            raise InputError(f"{what} is a pipe or a device, expected a file that can be read twice: {path}")
        leads = f" (a link to {path.readlink()}, which is not there)" if path.is_symlink() else ""
        raise InputError(f"{what} not found: {path}{leads}")
    if path.stat().st_size == 0:
        raise InputError(f"{what} is empty: {path}")
    return path


def read_text(path: str | Path) -> str:
    """Returns the text of a file in UTF-8; letters that are not are replaced. Raises `InputError`."""
    return io.TextIOWrapper(io.BytesIO(read_bytes(path)), "utf-8", errors="replace").read()


def read_bytes(path: str | Path) -> bytes:
    """Returns the content of a file without a byte-order mark. Raises `InputError` for one that can't be read and for
    text in UTF-16 or UTF-32."""
    path = Path(path)
    try:
        return without_mark(path.read_bytes(), path.name)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None


def without_mark(data: bytes, name: str) -> bytes:
    """Returns text without a byte-order mark. Binary data, which has zeros, may begin with the same bytes."""
    if data.startswith(codecs.BOM_UTF8) and b"\0" not in data:
        return data[len(codecs.BOM_UTF8) :]
    if data.startswith(_WIDE_MARKS) and any(_is_text(data[:_SAMPLE], encoding) for encoding in ("utf-32", "utf-16")):
        raise InputError(f"{name} is text in UTF-16 or UTF-32, expected UTF-8 or ASCII: save it in that encoding")
    return data


def _is_text(data: bytes, encoding: str) -> bool:
    try:
        return data.decode(encoding, errors="strict").isascii()
    except UnicodeDecodeError:
        return False


@dataclass(frozen=True)
class Source:
    """The expanded content of a file."""

    path: Path
    suffix: str  # of the expanded file, in lower case
    data: bytes

    @property
    def name(self) -> str:
        return self.path.name

    @cached_property
    def text(self) -> Text:
        return Text(self.data, self.name)


def read_source(path: str | Path, what: str) -> Source:
    """Reads a file. Raises `InputError` for one that is missing, empty, or compressed by another program than gzip."""
    path = require_file(path, what)
    data = path.read_bytes()
    suffixes = [s.lower() for s in path.suffixes]
    if data.startswith(_GZIP):
        data = _expanded(data, path.name)
        suffixes = suffixes[:-1] if suffixes and suffixes[-1] in (".gz", ".gzip") else suffixes
    for mark, program in _OTHER_COMPRESSION.items():
        if data.startswith(mark):
            raise InputError(f"{path.name} is compressed by {program}: expand it first (gzip is understood)")
    return Source(path, suffixes[-1] if suffixes else "", without_mark(data, path.name))


def is_compressed(path: Path) -> bool:
    """Tells whether a file begins as those of compressing programs do."""
    with path.open("rb") as file:
        return file.read(8).startswith((_GZIP, *_OTHER_COMPRESSION))


def _expanded(data: bytes, name: str) -> bytes:
    limit = _EXPANDED_BYTES + _EXPANDED_A_BYTE * len(data)
    parts, size = [], 0
    try:
        while data:
            stream = zlib.decompressobj(wbits=31)  # 31: with gzip's header and checksum
            parts.append(stream.decompress(data, limit + 1 - size))
            size += len(parts[-1])
            if size > limit:
                raise InputError(
                    f"{name} is compressed by gzip and expands to more than {limit >> 20} MiB, "
                    f"{limit // len(data)} times its size: expand it first, if it is what it should be"
                )
            if not stream.eof:
                raise InputError(f"{name} is compressed by gzip and is truncated")
            data = stream.unused_data.lstrip(b"\0")
    except zlib.error as error:
        raise InputError(f"{name} is compressed by gzip and is damaged: {error}") from None
    return b"".join(parts)


class Text:
    """The lines of a file without line ends and trailing blanks."""

    def __init__(self, data: bytes, name: str) -> None:
        if b"\0" in data:
            raise InputError(f"{name} is a binary file, expected text")
        if data.count(b"\n") > _BLANK_LINES + len(data) // 4:
            raise InputError(f"{name} consists of blank lines")
        self.name = name
        self._text = np.frombuffer(data if data.endswith(b"\n") else data + b"\n", np.uint8)
        ends = np.flatnonzero(self._text == ord("\n"))
        self._start = np.concatenate([[0], ends[:-1] + 1])
        self._end = ends
        blank = np.zeros(256, bool)
        blank[list(b" \t\r\n")] = True
        left = np.flatnonzero(self._end > self._start)
        while len(left):
            left = left[blank[self._text[self._end[left] - 1]]]
            self._end[left] -= 1
            left = left[self._end[left] > self._start[left]]
        filled = np.flatnonzero(self._end > self._start)
        self._count = int(filled[-1]) + 1 if len(filled) else 0

    def __len__(self) -> int:
        """Returns the number of lines up to the last that is not blank."""
        return self._count

    @property
    def length(self) -> IdArray:
        """Returns the number of characters in each line."""
        return (self._end - self._start)[: self._count]

    @property
    def first(self) -> NDArray[np.uint8]:
        """Returns the first character of each line, which is a line end where the line is blank."""
        return self._text[self._start[: self._count]]

    def line(self, index: int) -> str:
        """Returns a line, which is blank beyond the last."""
        if not 0 <= index < len(self._start):
            return ""
        return self._text[self._start[index] : self._end[index]].tobytes().decode("latin-1")

    def wrong(self, index: int, found: str) -> InputError:
        """Returns the exception `name, line 7: found`."""
        return InputError(f"{self.name}, line {index + 1}: {found}")

    def characters(self, lines: IdArray, begin: int, end: int) -> NDArray[np.uint8]:
        """Returns characters (len(lines), end - begin), which are blanks where a line is shorter."""
        start, width = self._start[lines], end - begin
        step = np.diff(start[:2])[0] if len(lines) > 1 else 0
        if len(lines) > 1 and (np.diff(start) == step).all() and (self._end[lines] - start >= end).all():
            # all lines have one length
            view = as_strided(self._text[start[0] + begin :], (len(lines), width), (int(step), 1))
            return np.ascontiguousarray(view)
        at = start[:, None] + np.arange(begin, end)
        within = at < self._end[lines, None]
        return np.where(within, self._text[np.where(within, at, 0)], ord(" ")).astype(np.uint8)

    def columns(self, lines: IdArray, begin: int, end: int) -> np.ndarray:
        """Returns texts (len(lines),)."""
        return self.characters(lines, begin, end).view(f"S{end - begin}").reshape(-1)

    def numbers(self, lines: IdArray, begin: int, width: int, count: int) -> FloatArray:
        """Returns numbers (len(lines), count) from adjacent fields. Raises `InputError` for the first that is no
        number."""
        return self._parsed(lines, begin, width, count, np.float64)

    def integers(self, lines: IdArray, begin: int, width: int, count: int) -> IdArray:
        """Returns whole numbers (len(lines), count) in the same way."""
        return self._parsed(lines, begin, width, count, np.int64)

    def _parsed(self, lines: IdArray, begin: int, width: int, count: int, kind: type) -> np.ndarray:
        if not len(lines):
            return np.zeros((0, count), kind)
        characters = self.characters(lines, begin, begin + width * count)
        fields = characters.view(f"S{width}")
        try:
            if (characters == ord("_")).any():  # Python reads 1_000 as a number
                raise ValueError
            return fields.astype(kind)
        except (ValueError, OverflowError):
            if kind is np.float64:  # Fortran writes the exponents of double precision as 1.0D+00
                fields = np.char.replace(np.char.replace(fields, b"D", b"E"), b"d", b"e")
            row, column = _first_bad(fields, float if kind is np.float64 else int)
        if row < 0:
            return fields.astype(kind)
        at = begin + column * width
        found = self.line(int(lines[row]))[at : at + width]
        what = "a number" if kind is np.float64 else "a whole number"
        raise self.wrong(int(lines[row]), f"expected {what} in columns {at + 1} to {at + width}, found {found!r}")

    def words(self, index: int, counts: tuple[int, ...], what: str) -> list[float]:
        """Returns the numbers of one line, of which there must be one of `counts`."""
        words = self.line(index).split()
        try:
            if len(words) in counts and "_" not in self.line(index):
                return [float(word) for word in words]
        except ValueError:
            pass
        numbers = " or ".join(str(n) for n in counts)
        raise self.wrong(index, f"expected {what}, {numbers} numbers, found {self.line(index)[:60]!r}")


def _first_bad(fields: np.ndarray, convert: type[float] | type[int]) -> tuple[int, int]:
    """Returns the row and column of the first field that is no number, or −1."""
    for row, texts in enumerate(fields.tolist()):
        for column, text in enumerate(texts):
            if not _is_number(text, convert):
                return row, column
    return -1, -1


def _is_number(text: bytes, convert: type[float] | type[int]) -> bool:
    try:
        value = convert(text)
    except ValueError:
        return False
    return b"_" not in text and (convert is float or abs(value) < 2**63)
