"""Coordinates of the formats that carry them: PDB, CRD, NAMD binary, GENESIS restart, GRO, AMBER."""

from __future__ import annotations

import re
import struct
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tessera.prepare.errors import InputError, require_file
from tessera.system.model import FloatArray, IdArray, IndexArray

AKMA_PS = 4.88882129e-2  # ps in the time unit of CHARMM, NAMD and GENESIS
GENESIS_MAGIC = b"GD150608"
NO_NUMBER = np.iinfo(np.int32).min  # a residue number that is none, or in another notation than decimal


@dataclass
class Coordinates:
    """Positions (n,3) Å, box (3,3) Å lower triangular, velocities (n,3) Å/ps; names for checking, as texts of at most
    eight characters, where the file has them."""

    position: FloatArray
    box: FloatArray | None = None
    velocity: FloatArray | None = None
    name: np.ndarray | None = None  # (n,) atom names
    name_width: int | None = None  # characters that the format has room for
    residue: np.ndarray | None = None  # (n,) residue labels, insertion codes and all
    residue_number: IndexArray | None = None  # (n,) or `NO_NUMBER`

    def label(self, name: np.ndarray, residue: np.ndarray, width: int | None = None) -> Coordinates:
        """Itself, with names."""
        self.name, self.name_width = name, width
        self.residue, self.residue_number = residue, _residue_numbers(residue)
        return self


def read_coordinates(path: str | Path) -> Coordinates:
    """Reads by content where a format has a mark, by the name's ending otherwise.

    Raises `InputError` for a missing, empty, truncated or unknown file.
    """
    path = require_file(path, "coordinate file")
    with path.open("rb") as file:
        if file.read(8) == GENESIS_MAGIC:
            return _guarded(path, _read_genesis)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        known = ", ".join(sorted(_READERS))
        raise InputError(f"cannot tell the format of {path.name}: expected a GENESIS restart or one of {known}")
    return _guarded(path, reader)


def _guarded(path: Path, reader: Callable[[Path], Coordinates]) -> Coordinates:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = reader(path)
    except InputError:
        raise
    except Exception as error:  # libraries raise anything at a broken file
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise InputError(f"cannot read coordinates from {path.name}: {reason}") from error
    if not len(found.position):
        raise InputError(f"{path.name} holds no atoms")
    return found


def box_from_lengths(lengths: Any, angles: Any = (90.0, 90.0, 90.0)) -> FloatArray | None:
    """Edges (3) Å and angles (3) degrees to lower triangular rows; no box where an edge is 0."""
    a, b, c = (float(x) for x in lengths)
    if not (a > 0 and b > 0 and c > 0):
        return None
    if all(abs(float(x) - 90.0) < 1e-6 for x in angles):
        return np.diag([a, b, c])
    alpha, beta, gamma = np.radians([float(x) for x in angles])
    bx, by = b * np.cos(gamma), b * np.sin(gamma)
    cx = c * np.cos(beta)
    cy = c * (np.cos(alpha) - np.cos(beta) * np.cos(gamma)) / np.sin(gamma)
    cz = np.sqrt(c * c - cx * cx - cy * cy)
    return np.array([[a, 0, 0], [bx, by, 0], [cx, cy, cz]], np.float64)


def _read_pdb(path: Path) -> Coordinates:
    from MDAnalysis.coordinates.PDB import PDBReader

    with PDBReader(str(path)) as reader:
        # single precision holds three decimals up to 8,000 Å; rounding gives the file's own digits
        position = np.round(reader.ts.positions.astype(np.float64), 3)
    found = Coordinates(position, _cryst1(path))
    lines = _Lines(path)
    atoms = lines.first_model()
    if len(atoms) != len(position):  # not the atoms that were read
        return found
    return found.label(lines.columns(atoms, 12, 16), lines.columns(atoms, 22, 27), 4)


class _Lines:
    """A text file of fixed columns, cut by NumPy: a million lines take a fraction of a second."""

    def __init__(self, path: Path) -> None:
        self._text = np.frombuffer(path.read_bytes() + b"\n", np.uint8)
        self._end = np.flatnonzero(self._text == ord("\n"))
        self._start = np.concatenate([[0], self._end[:-1] + 1])

    def columns(self, lines: IdArray, begin: int, end: int) -> np.ndarray:
        """(len(lines),) texts, blank where a line is shorter."""
        at = self._start[lines, None] + np.arange(begin, end)
        within = at < self._end[lines, None]
        characters = np.where(within, self._text[np.where(within, at, 0)], ord(" ")).astype(np.uint8)
        return np.ascontiguousarray(characters).view(f"S{end - begin}").reshape(-1)

    def first_model(self) -> IdArray:
        """The lines of a PDB's atoms up to the end of its first model."""
        head = self.columns(np.arange(len(self._start)), 0, 6)
        atoms = np.flatnonzero((head == b"ATOM") | (head == b"HETATM") | (head.astype("S5") == b"ATOM "))
        ends = np.flatnonzero((head == b"ENDMDL") | (head == b"END   ") | (head == b"MODEL "))
        ends = ends[ends > atoms[0]] if len(atoms) else ends
        return atoms[atoms < ends[0]] if len(ends) else atoms


def _residue_numbers(labels: np.ndarray) -> IndexArray:
    """Numbers of labels such as `52` and `52A` (an insertion code); letters elsewhere are no number."""
    unique, inverse = np.unique(labels.astype("S8").view(np.uint64), return_inverse=True)
    matches = [re.fullmatch(rb"\s*(-?\d+)[A-Za-z]?\s*", text) for text in unique.view("S8")]
    numbers = [int(match[1]) if match and len(match[1]) < 9 else NO_NUMBER for match in matches]
    return np.array(numbers, np.int32)[inverse]


def _cryst1(path: Path) -> FloatArray | None:
    with path.open() as file:
        for line in file:
            if line.startswith(("ATOM", "HETATM")):
                break
            if line.startswith("CRYST1"):
                numbers = [float(line[i : i + w]) for i, w in _CRYST1_COLUMNS]
                # 1 Å cubes are what programs write for "no box"
                if max(numbers[:3]) <= 1.0:
                    return None
                return box_from_lengths(numbers[:3], numbers[3:])
    return None


_CRYST1_COLUMNS = ((6, 9), (15, 9), (24, 9), (33, 7), (40, 7), (47, 7))


def _read_crd(path: Path) -> Coordinates:
    from parmed.charmm import CharmmCrdFile

    file = CharmmCrdFile(str(path))
    position = np.asarray(file.coordinates, np.float64)[0]
    return Coordinates(position).label(np.array(file.atname, "S8"), np.array(file.resid, "S8"))


def _read_namd(path: Path) -> Coordinates:
    size = path.stat().st_size
    with path.open("rb") as file:
        count = struct.unpack("<i", file.read(4))[0]
    if size != 4 + 24 * count:
        raise InputError(
            f"{path.name} is no NAMD binary file or is truncated: it announces {count} atoms, "
            f"which need {4 + 24 * count} bytes, and has {size}"
        )
    return Coordinates(np.fromfile(path, "<f8", offset=4).reshape(-1, 3))


def _read_gro(path: Path) -> Coordinates:
    from MDAnalysis.coordinates.GRO import GROReader

    with path.open() as file:
        next(file), next(file)
        first = next(file)
    digits = len(first[20:].split(".")[1].split()[0]) if "." in first else 3
    with GROReader(str(path), convert_units=False) as reader:
        step = reader.ts
        decimals = min(digits, 6)
        position = np.round(step.positions.astype(np.float64), decimals) * 10.0
        velocity = step.velocities.astype(np.float64) * 10.0 if step.has_velocities else None
    lines, rows = _Lines(path), np.arange(2, 2 + len(position))
    return Coordinates(position, _gro_box(path), velocity).label(
        lines.columns(rows, 10, 15), lines.columns(rows, 0, 5), 5
    )


def _gro_box(path: Path) -> FloatArray | None:
    with path.open("rb") as file:
        file.seek(-min(path.stat().st_size, 400), 2)
        words = file.read().decode().strip().split("\n")[-1].split()
    numbers = [10.0 * float(w) for w in words]
    if len(numbers) not in (3, 9) or not all(x > 0 for x in numbers[:3]):
        return None
    box = np.diag(numbers[:3])
    if len(numbers) == 9:  # v1y v1z v2x v2z v3x v3y
        box[0, 1], box[0, 2], box[1, 0], box[1, 2], box[2, 0], box[2, 1] = numbers[3:]
    return box


def _read_amber(path: Path) -> Coordinates:
    from parmed.amber import AmberAsciiRestart, NetCDFRestart

    with path.open("rb") as file:
        is_netcdf = file.read(3) in (b"CDF", b"\x89HD")
    restart = NetCDFRestart.open_old(str(path)) if is_netcdf else AmberAsciiRestart(str(path))
    position = np.asarray(restart.coordinates, np.float64).reshape(-1, 3)
    box = None
    if restart.box is not None and len(restart.box) >= 3:
        numbers = [float(x) for x in restart.box]
        box = box_from_lengths(numbers[:3], numbers[3:6] if len(numbers) >= 6 else (90.0,) * 3)
    velocity = getattr(restart, "velocities", None)
    if velocity is not None:
        velocity = np.asarray(velocity, np.float64).reshape(-1, 3)
    return Coordinates(position, box, velocity)


def _read_genesis(path: Path) -> Coordinates:
    records = _genesis_records(path.read_bytes(), path.name)
    try:
        position = np.stack([np.frombuffer(records[f"coord_{d}"], "<f8") for d in "xyz"], axis=1)
        lengths = [struct.unpack("<d", records[f"box_size_{d}"])[0] for d in "xyz"]
    except KeyError as error:
        raise InputError(f"{path.name} is truncated: no record {error.args[0]!r}") from None
    velocity = None
    if all(f"velocity_{d}" in records for d in "xyz"):
        axes = [np.frombuffer(records[f"velocity_{d}"], "<f8") for d in "xyz"]
        velocity = np.stack(axes, axis=1) / AKMA_PS
    return Coordinates(position, box_from_lengths(lengths), velocity)


def _genesis_records(data: bytes, name: str) -> dict[str, bytes]:
    """Records of a GENESIS restart: int64 length of all, 1-char type, 40-char tag, data, 8 bytes."""
    records, at = {}, len(GENESIS_MAGIC)
    while at + 8 <= len(data):
        (length,) = struct.unpack_from("<q", data, at)
        if length < 57 or at + length > len(data):
            raise InputError(f"{name} is truncated: a record at byte {at} wants {length} bytes")
        tag = data[at + 9 : at + 49].decode("ascii", "replace").strip(" \0")
        records[tag] = data[at + 49 : at + length - 8]
        at += length
    return records


_READERS: dict[str, Callable[[Path], Coordinates]] = {
    ".pdb": _read_pdb,
    ".ent": _read_pdb,
    ".crd": _read_crd,
    ".cor": _read_crd,
    ".coor": _read_namd,
    ".namdbin": _read_namd,
    ".gro": _read_gro,
    ".inpcrd": _read_amber,
    ".rst7": _read_amber,
    ".restrt": _read_amber,
    ".ncrst": _read_amber,
    ".rst": _read_amber,
}
