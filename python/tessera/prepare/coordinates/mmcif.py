"""Reads mmCIF."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.prepare.coordinates.model import Coordinates, box_from_lengths
from tessera.prepare.text import Source
from tessera.system.model import FloatArray, IdArray

TOKEN = re.compile(r"""'(?:[^'\n]|'(?=\S))*'|"(?:[^"\n]|"(?=\S))*"|\S+""")


@dataclass(frozen=True)
class Sites:
    """The atoms of the first model in the first block that has atoms: rows of texts without quotes around them."""

    file: str
    lines: list[str]  # of the file
    columns: list[str]
    rows: list[list[str]]
    line: IdArray  # of each row, from 0

    def column(self, *names: str, default: str | None = None) -> list[str]:
        """Returns the first of these columns that the file has, or the default in each row. Raises `InputError` without
        both."""
        index = next((self.columns.index(name) for name in names if name in self.columns), None)
        if index is not None:
            return [row[index] for row in self.rows]
        if default is None:
            raise InputError(f"{self.file} has no {names[-1]} in its _atom_site loop")
        return [default] * len(self.rows)

    def texts(self, *names: str, default: str | None = None) -> NDArray[np.bytes_]:
        """Returns a column as texts, empty where the file has `?` or `.`."""
        return np.array(
            [word.strip("?.").encode("latin-1") for word in self.column(*names, default=default)], np.bytes_
        )

    def coordinates(self) -> Coordinates:
        """Returns the places of the atoms, with their names and the box. Raises `InputError`."""
        places = [self.column(f"Cartn_{axis}") for axis in "xyz"]
        try:
            position = np.array([[float(x.replace("_", "?")) for x in texts] for texts in places]).T
        except ValueError as error:
            raise InputError(f"{self.file}: a coordinate of its _atom_site loop is no number: {error}") from None
        has_angles = sum(line.startswith("_cell.angle_") for line in self.lines) == 3
        found = Coordinates(position, _cell(self.lines, self.file), has_angles=has_angles)
        name = np.array([word.encode("latin-1") for word in self.column("auth_atom_id", "label_atom_id")], "S8")
        residue = np.array([word.encode("latin-1") for word in self.column("auth_seq_id", "label_seq_id")], "S8")
        code = self.texts("pdbx_PDB_ins_code", default="")
        return found.label(name, np.char.add(residue, code).astype("S8"))


def read_mmcif(source: Source) -> Coordinates:
    """Reads the atoms of the first model in the first block that has atoms."""
    return atom_sites(source).coordinates()


def atom_sites(source: Source) -> Sites:
    """Returns the atoms of a file. Raises `InputError` where it has none."""
    lines = lines_of(source)
    columns, rows, first = loop_of(lines, "_atom_site", "an atom", source.name)
    if not columns:
        raise InputError(f"{source.name} holds no atoms: it has no _atom_site loop")
    if not rows:
        raise InputError(f"{source.name} holds no atoms: its _atom_site loop is empty")
    found = Sites(source.name, lines, columns, rows, first + np.arange(len(rows)))
    model = found.column("pdbx_PDB_model_num", default="")
    is_first = [number == model[0] for number in model]
    return replace(found, rows=list(compress(rows, is_first)), line=found.line[is_first])


def lines_of(source: Source) -> list[str]:
    """Returns the lines of a file, whose ends may be those of Windows."""
    return source.data.decode("latin-1").replace("\r\n", "\n").split("\n")


def loop_of(lines: list[str], category: str, what: str, file: str) -> tuple[list[str], list[list[str]], int]:
    """Returns the names of the columns and the rows of a loop with one row a line, or nothing where there is none, and
    the first line of the rows, from 0. Raises `InputError` that calls a row of another length what it is."""
    head = f"{category}."
    begin = next((i for i, line in enumerate(lines) if line.startswith(head)), len(lines))
    columns = []
    while begin < len(lines) and lines[begin].startswith(head):
        columns.append(lines[begin].split(".", 1)[1].strip())
        begin += 1
    rows = []
    for number, line in enumerate(lines[begin:], start=begin + 1):
        if not line.strip() or line[0] in "#_" or line.startswith(("loop_", "data_")):
            break
        words = words_of(line)
        if len(words) != len(columns):
            raise InputError(
                f"{file}, line {number}: {what} has {len(words)} values, expected the {len(columns)} of its loop"
            )
        rows.append(words)
    return columns, rows, begin


def words_of(line: str) -> list[str]:
    """Returns the words of a line of mmCIF, without the quotes around them; primes inside stay."""
    if "'" not in line and '"' not in line:
        return line.split()
    return [word[1:-1] if len(word) > 1 and word[0] == word[-1] in "\"'" else word for word in TOKEN.findall(line)]


def _cell(lines: list[str], file: str) -> FloatArray | None:
    words = dict(line.split()[:2] for line in lines if line.startswith("_cell.") and len(line.split()) > 1)
    values = [words.get(f"_cell.{n}", "?") for n in ("length_a", "length_b", "length_c")]
    values += [words.get(f"_cell.angle_{n}", "90") for n in ("alpha", "beta", "gamma")]
    if not {"?", "."}.isdisjoint(values):
        return None
    try:
        numbers = [float(re.sub(r"\(\d+\)$", "", value)) for value in values]  # 61.2(3) has an uncertainty
    except ValueError:
        raise InputError(f"{file}: the box in _cell is {' '.join(values)}, expected numbers") from None
    return None if 0 <= max(numbers[:3]) <= 1.0 else box_from_lengths(numbers[:3], numbers[3:])
