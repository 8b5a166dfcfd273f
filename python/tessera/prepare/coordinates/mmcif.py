"""Reads mmCIF."""

from __future__ import annotations

import re

import numpy as np

from tessera.errors import InputError
from tessera.prepare.coordinates.model import Coordinates, box_from_lengths
from tessera.prepare.text import Source
from tessera.system.model import FloatArray

TOKEN = re.compile(r"""'(?:[^'\n]|'(?=\S))*'|"(?:[^"\n]|"(?=\S))*"|\S+""")


def read_mmcif(source: Source) -> Coordinates:
    """Reads the atoms of the first model in the first block that has atoms."""
    lines = source.data.decode("latin-1").replace("\r\n", "\n").split("\n")
    columns, rows = atom_sites(lines, source.name)

    def column(*names: str) -> list[str]:
        for name in names:
            if name in columns:
                index = columns.index(name)
                return [row[index] for row in rows]
        raise InputError(f"{source.name} has no {names[-1]} in its _atom_site loop")

    if "pdbx_PDB_model_num" in columns:
        models = column("pdbx_PDB_model_num")
        rows = [row for row, model in zip(rows, models) if model == models[0]]
    places = [column(f"Cartn_{axis}") for axis in "xyz"]
    try:
        position = np.array([[float(x.replace("_", "?")) for x in texts] for texts in places]).T
    except ValueError as error:
        raise InputError(f"{source.name}: a coordinate of its _atom_site loop is no number: {error}") from None
    residue = column("auth_seq_id", "label_seq_id")
    if "pdbx_PDB_ins_code" in columns:
        codes = column("pdbx_PDB_ins_code")
        residue = [number + code.strip("?.") for number, code in zip(residue, codes)]
    name = column("auth_atom_id", "label_atom_id")
    has_angles = sum(line.startswith("_cell.angle_") for line in lines) == 3
    return Coordinates(position, _cell(lines, source.name), has_angles=has_angles).label(_texts(name), _texts(residue))


def unquoted(texts: list[str]) -> list[str]:
    """Returns texts without the quotes around them; primes stay."""
    return [text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text for text in texts]


def _texts(words: list[str]) -> np.ndarray:
    return np.array([word.encode("latin-1") for word in words], "S8")


def atom_sites(lines: list[str], file: str) -> tuple[list[str], list[list[str]]]:
    """Returns the names of the columns, and the rows, without the quotes around words."""
    columns, rows = loop_of(lines, "_atom_site", "an atom", file)
    if not columns:
        raise InputError(f"{file} holds no atoms: it has no _atom_site loop")
    if not rows:
        raise InputError(f"{file} holds no atoms: its _atom_site loop is empty")
    return columns, rows


def loop_of(lines: list[str], category: str, what: str, file: str) -> tuple[list[str], list[list[str]]]:
    """Returns the names of the columns and the rows of a loop with one row a line, or nothing where there is none.
    Raises `InputError` that calls a row of another length what it is."""
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
    return columns, rows


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
