"""Follows `energy.csv` while a run writes it, thinned out to a number of rows that can be drawn."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any, BinaryIO

from tessera.files import open_regular
from tessera.plots import MOST, TABLE

#: what is drawn, of the columns of the table
COLUMNS = ("time", "potential", "kinetic", "total", "conserved", "temperature", "pressure", "density", "drift")
MOST_ROWS = 1000
_READ = 4 << 20  # bytes at a time: a table may have gigabytes
_MOST_LINE = 1 << 16


class Series:
    """Rows of a growing table. Each `stride`-th row of the file is kept; where there are too many of them, every second
    one goes, and the stride doubles: so memory is bounded, and rows are spread evenly over the run."""

    def __init__(self, folder: Path, most_rows: int = MOST_ROWS) -> None:
        self.path = folder / TABLE
        self._most = most_rows
        self._begin()

    def _begin(self) -> None:
        self._file: tuple[int, int] | None = None
        self._at, self._row, self._stride = 0, 0, 1
        self._rest = b""
        self._places: list[tuple[str, int]] = []
        self._rows: list[list[float | None]] = []

    def update(self, most_bytes: int = 16 * _READ) -> None:
        """Reads what the run has added, some of it where it is much. A table that was replaced is read anew; what is no
        table has no rows. Raises no exception of the file system."""
        try:
            with open(open_regular(self.path), "rb") as file:
                found = os.fstat(file.fileno())
                if self._file != (found.st_dev, found.st_ino) or found.st_size < self._at:
                    self._begin()  # of another run, or a restart has dropped rows
                    self._file = (found.st_dev, found.st_ino)
                self._read(file, most_bytes)
        except OSError:
            pass

    def _read(self, file: BinaryIO, most_bytes: int) -> None:
        file.seek(self._at)
        while most_bytes > 0 and (data := file.read(min(_READ, most_bytes))):
            most_bytes -= len(data)
            self._at += len(data)
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._rest = self._rest[:_MOST_LINE]
            for line in lines:
                self._take(line)

    def _take(self, line: bytes) -> None:
        if not self._places:
            names = [cell.split(" [")[0] for cell in line.decode(errors="replace").split(",")]
            self._places = [(name, names.index(name)) for name in COLUMNS if name in names] or [("", 0)]
            return
        if self._row % self._stride == 0:
            cells = line.split(b",")
            row = [_number(cells, place) for _, place in self._places]
            if self._places[0][0] != "time" or row[0] is not None:  # else nobody can tell where to draw it
                self._rows.append(row)
            if len(self._rows) > self._most:
                self._rows = self._rows[::2]
                self._stride *= 2
        self._row += 1

    def content(self) -> dict[str, Any]:
        """Returns the rows by column, as JSON has them: what is no number is None."""
        return {name: [row[i] for row in self._rows] for i, (name, _) in enumerate(self._places) if name} | {
            "stride": self._stride
        }


def _number(cells: list[bytes], place: int) -> float | None:
    try:
        value = float(cells[place])
    except (ValueError, IndexError):
        return None
    return float(f"{value:.10g}") if math.isfinite(value) and abs(value) < MOST else None
