"""Reads PDB."""

from __future__ import annotations

import numpy as np

from tessera.errors import InputError
from tessera.prepare.coordinates.model import Coordinates, box_from_lengths
from tessera.prepare.text import Source, Text
from tessera.system.model import FloatArray, IdArray

#: where the edges and angles stand in CRYST1: first column and width
CRYST1_COLUMNS = ((6, 9), (15, 9), (24, 9), (33, 7), (40, 7), (47, 7))


def read_pdb(source: Source) -> Coordinates:
    """Reads the atoms of the first model."""
    text = source.text
    head = text.columns(np.arange(len(text)), 0, 6)
    atoms = first_model(head, source.name)
    box, has_angles = _cryst1(text, head, atoms)
    found = Coordinates(text.numbers(atoms, 30, 8, 3), box, has_angles=has_angles)
    return found.label(text.columns(atoms, 12, 16), text.columns(atoms, 22, 27), 4)


def first_model(head: np.ndarray, name: str) -> IdArray:
    """Returns the lines of atoms up to the end of the first model; `head` (lines,) has the first six characters of
    each. Raises InputError where the file of this name has no atoms."""
    atoms = np.flatnonzero((head == b"ATOM  ") | (head == b"HETATM") | (head.astype("S5") == b"ATOM "))
    ends = np.flatnonzero((head == b"ENDMDL") | (head == b"END   ") | (head == b"MODEL "))
    if not len(atoms):
        raise InputError(f"{name} holds no atoms: no line begins with ATOM or HETATM")
    ends = ends[ends > atoms[0]]
    return atoms[atoms < ends[0]] if len(ends) else atoms


def _cryst1(text: Text, head: np.ndarray, atoms: IdArray) -> tuple[FloatArray | None, bool]:
    """Returns the box, and whether its angles are there; some programs write edges alone."""
    lines = np.flatnonzero(head[: atoms[0]] == b"CRYST1")[:1]
    if not len(lines):
        return None, True
    has_angles = bool(text.line(int(lines[0]))[CRYST1_COLUMNS[3][0] :].strip())
    columns = CRYST1_COLUMNS if has_angles else CRYST1_COLUMNS[:3]
    numbers = [float(text.numbers(lines, begin, width, 1)[0, 0]) for begin, width in columns]
    # 1 Å cubes are what programs write for "no box"
    is_none = 0 <= max(numbers[:3]) <= 1.0
    return None if is_none else box_from_lengths(numbers[:3], numbers[3:] or (90.0,) * 3), has_angles
