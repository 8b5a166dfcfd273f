"""Reads DL_POLY's CONFIG (and REVCON): box, names, positions and velocities."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tessera.prepare.coordinates import Coordinates
from tessera.prepare.dlpoly.lines import is_name
from tessera.prepare.errors import InputError
from tessera.prepare.text import Text, read_source
from tessera.system.model import FloatArray

_OTHER_BOXES = {4: "a truncated octahedron", 5: "a rhombic dodecahedron", 6: "periodic in x and y alone",
                7: "a hexagonal prism"}  # fmt: skip


def read_config(path: str | Path) -> Coordinates:
    """Reads the file; atoms are put in the order of their indices. Forces are not used.

    Raises `InputError` for boxes that DL_POLY alone has, and where a record is no number.
    """
    text = read_source(path, "CONFIG file").text
    head = text.line(1).split()
    try:
        level, boundary = int(head[0]), int(head[1])
    except (ValueError, IndexError):
        raise text.wrong(1, f"expected levcfg and imcon, two whole numbers, found {text.line(1)!r}") from None
    if level not in (0, 1, 2):
        raise text.wrong(1, f"levcfg is {level}, expected 0, 1 or 2")
    if boundary not in (0, 1, 2, 3):
        what = _OTHER_BOXES.get(boundary, "unknown")
        raise text.wrong(1, f"imcon is {boundary} ({what}): only 0 (none) to 3 (parallelepiped) are supported")
    box = None
    start = 2
    if boundary > 0:
        box = np.array([text.words(2 + row, (3,), "a box vector") for row in range(3)])
        start = 5
    return _read_atoms(text, start, level, box)


def _read_atoms(text: Text, start: int, level: int, box: FloatArray | None) -> Coordinates:
    records = 2 + level
    lines = len(text) - start
    if lines % records or lines <= 0:
        raise InputError(
            f"{text.name} has {lines} lines of atoms, expected a multiple of {records} (levcfg is {level}): is the "
            "file complete?"
        )
    n = lines // records
    first = start + records * np.arange(n)
    heads = [text.line(int(line)).split() for line in first]
    for line, head in zip(first, heads):
        if not head or not is_name(head[0]):
            raise text.wrong(
                int(line), f"expected an atom's name of at most 8 ASCII characters, found {text.line(int(line))!r}"
            )
    name = np.array([head[0] for head in heads], "S8")
    columns = [_triples(text, first + 1 + record) for record in range(min(level, 1) + 1)]
    order = _order(text, heads, n)
    found = Coordinates(columns[0][order], box, columns[1][order] if level else None)
    found.name, found.name_width = name[order], 8
    return found


def _triples(text: Text, lines: np.ndarray) -> FloatArray:
    joined = " ".join(text.line(int(line)) for line in lines)
    if "d" in joined or "D" in joined:
        joined = joined.replace("D", "e").replace("d", "e")
    try:
        values = np.array(joined.split(), np.float64)
        if len(values) == 3 * len(lines):
            return values.reshape(-1, 3)
    except ValueError:
        pass
    for line in lines:
        words = text.line(int(line)).replace("D", "e").replace("d", "e").split()
        try:
            bad = len(words) < 3 or not np.isfinite([float(word) for word in words[:3]]).all()
        except ValueError:
            bad = True
        if bad or len(words) > 3:
            raise text.wrong(int(line), f"expected three numbers, found {text.line(int(line))!r}")
    raise AssertionError


def _order(text: Text, heads: list[list[str]], n: int) -> np.ndarray:
    """Returns the rows in the order of the atoms' indices, or of the file where it has none."""
    if any(len(head) < 2 for head in heads):
        return np.arange(n)
    try:
        index = np.array([int(head[1]) for head in heads])
    except ValueError:
        return np.arange(n)
    order = np.argsort(index, kind="stable")
    if (index[order] != np.arange(1, n + 1)).any():
        raise InputError(f"{text.name}: the indices of the atoms are not 1 to {n}, each once")
    return order
