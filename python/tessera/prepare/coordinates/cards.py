"""Reads CHARMM's coordinate cards and AMBER's coordinates, as text or NetCDF. Both have endings such as .crd and
.rst."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np

from tessera.constants import AMBER_PS
from tessera.contained import contained
from tessera.errors import InputError
from tessera.prepare.coordinates.model import Coordinates, box_from_lengths
from tessera.prepare.text import Source, Text
from tessera.system.model import FloatArray

_TRAJECTORY = "is an AMBER {} trajectory: write one of its frames as a restart (cpptraj: trajout x.rst7)"
_CRD_COUNT = re.compile(r"\s*(\d{1,12})(\s+EXT)?\s*", re.IGNORECASE)
_AMBER_COUNT = re.compile(r"\s*(\d{1,12})(\s+[-+.\dEeDd]+){0,2}\s*")
_AMBER_ROW = re.compile(r"([ *\d-]{4}\.[*\d]{7}){3,6}\s*")


def read_cards(source: Source) -> Coordinates:
    """Reads CHARMM's or AMBER's format, according to the content."""
    text = source.text
    is_amber = _AMBER_COUNT.fullmatch(text.line(1)) is not None
    if text.line(0).startswith("*"):  # CHARMM's title, or one of AMBER that happens to begin so
        is_amber = is_amber and _AMBER_ROW.fullmatch(text.line(2)) is not None
    if is_amber:
        return _read_amber(text)
    if text.line(0).startswith("*") or _CRD_COUNT.fullmatch(text.line(0)):
        return _read_charmm(text)
    if text.line(0).startswith("REST "):
        raise InputError(f"{text.name} is a CHARMM restart: write its coordinates as CRD or PDB")
    if re.fullmatch(r"( *-?\d+\.\d{3}){1,10}", text.line(1)):
        raise InputError(f"{text.name} {_TRAJECTORY.format('text')}")
    raise text.wrong(
        1, f"expected a CHARMM coordinate file (a title of lines with *) or an AMBER restart (a count of atoms "
        f"after one title), found {text.line(1)[:40]!r}"
    )  # fmt: skip


def are_cards(source: Source) -> bool:
    """Returns whether the first lines are CHARMM's or AMBER's. The name does not show it: AMBER's users name files
    `inpcrd` and `restrt`."""
    start = source.data[:10_000].split(b"\n", 3)
    if b"\0" in source.data or len(start) < 4:
        return False
    title, count, first = (line.decode("latin-1").rstrip() for line in start[:3])
    is_amber = _AMBER_COUNT.fullmatch(count) and _AMBER_ROW.fullmatch(first)
    return title.startswith("* ") or is_amber is not None


def _read_charmm(text: Text) -> Coordinates:
    """Reads a title, a count, then rows `I5 I5 X A4 X A4 3F10.5 X A4 X A4 F10.5`, or wider columns in the extended
    form."""
    head = next((i for i in range(len(text)) if not text.line(i).startswith("*")), len(text))
    match = _CRD_COUNT.fullmatch(text.line(head))
    if match is None or int(match[1]) == 0:
        raise text.wrong(head, f"expected the number of atoms, found {text.line(head)[:40]!r}")
    n = int(match[1])
    if len(text) != head + 1 + n:
        raise text.wrong(head, f"announces {n} atoms, and {len(text) - head - 1} lines follow")
    rows = np.arange(head + 1, head + 1 + n)
    extended = match[2] is not None or n > 99_999
    width, first, name, residue = (20, 40, 32, 112) if extended else (10, 20, 16, 56)
    size = 8 if extended else 4
    position = text.numbers(rows, first, width, 3)
    return Coordinates(position).label(
        text.columns(rows, name, name + size), text.columns(rows, residue, residue + size), size
    )


def _read_amber(text: Text) -> Coordinates:
    """Reads a title, a count and a time, coordinates as 6F12.7, then velocities and a box where there are any."""
    match = _AMBER_COUNT.fullmatch(text.line(1))
    n = int(match[1]) if match else 0
    if n == 0:
        raise text.wrong(1, "announces no atoms")
    lines = -(-n // 2)
    rest = len(text) - 2 - lines
    if rest not in (0, 1, lines, lines + 1):
        raise text.wrong(
            1, f"announces {n} atoms, which need {lines} lines of coordinates, as many of velocities if there are any "
            f"and one of the box if there is one; {len(text) - 2} lines follow"
        )  # fmt: skip
    has_velocities = rest >= lines and not (rest == 1 and _like_a_box(text, 2 + lines))
    has_box = rest == (lines + 1 if has_velocities else 1)
    position = _block(text, 2, n)
    velocity = _block(text, 2 + lines, n) * AMBER_PS if has_velocities else None
    if has_box:
        last = len(text) - 1
        numbers = _box_numbers(text, last)
        # One angle is that of AMBER before version 7, which has the others from the prmtop.
        angles = {3: (90.0, 90.0, 90.0), 4: (90.0, numbers[-1], 90.0), 6: tuple(numbers[3:])}[len(numbers)]
        try:
            box = box_from_lengths(numbers[:3], angles)
            return Coordinates(position, box, velocity, has_angles=len(numbers) == 6)
        except InputError as error:
            raise text.wrong(last, str(error)) from None
    last_row = (position if velocity is None else velocity / AMBER_PS)[-1]
    if n % 2 == 0 and any(np.allclose(last_row, angle, rtol=0, atol=1e-6) for angle in (90.0, 109.471219)):
        raise text.wrong(
            len(text) - 1, f"this is a box where the last of {n} atoms should be: a line of coordinates is missing"
        )
    return Coordinates(position, None, velocity)


def _box_numbers(text: Text, line: int) -> list[float]:
    """Reads three, four or six numbers, in columns of 12 where no blanks are between them, as of edges from 1000 Å."""
    length = int(text.length[line])
    if len(text.line(line).split()) < length // 12 and length in (36, 48, 72):
        return text.numbers(np.array([line]), 0, 12, length // 12)[0].tolist()  # type: ignore[no-any-return]
    return text.words(line, (3, 4, 6), "the box")


def _like_a_box(text: Text, line: int) -> bool:
    """Returns whether one line after one or two atoms is their box and not their velocities."""
    words = text.line(line).split()
    return len(words) == 6 and all(re.fullmatch(r"\d+\.\d+", word) for word in words)


def _block(text: Text, begin: int, n: int) -> FloatArray:
    """Reads (n,3) from lines of six numbers; the last line has three where n is odd."""
    full, rest = divmod(n, 2)
    rows = np.arange(begin, begin + full + rest)
    expected = np.full(len(rows), 72)
    if rest:
        expected[-1] = 36
    bad = np.flatnonzero(text.length[rows] != expected)
    if len(bad):
        row = int(rows[bad[0]])
        raise text.wrong(
            row, f"expected {expected[bad[0]] // 12} numbers in columns of 12, found {text.length[row]} characters"
        )
    numbers = text.numbers(rows[:full], 0, 12, 6).reshape(-1, 3)
    return np.concatenate([numbers, text.numbers(rows[full:], 0, 12, 3)])


def read_netcdf(source: Source) -> Coordinates:
    """Reads an AMBER restart in NetCDF, classic or HDF5."""
    found = contained(_netcdf, source.data, file=source.path)
    convention = found["conventions"]
    if "AMBERRESTART" not in convention.split():
        if "AMBER" in convention.split():
            raise InputError(f"{source.name} {_TRAJECTORY.format('NetCDF')}")
        raise InputError(
            f"{source.name} is a NetCDF or HDF5 file, but no AMBER restart (its conventions: {convention!r})"
        )
    position = found.get("coordinates")
    if position is None or position.ndim != 2 or position.shape[1] != 3:
        raise InputError(f"{source.name} holds no coordinates: its variable 'coordinates' is missing or not (atoms, 3)")
    velocity = found.get("velocities")
    if velocity is not None and velocity.shape != position.shape:
        raise InputError(f"{source.name} has velocities {velocity.shape} for coordinates {position.shape}")
    box = None
    if "cell_lengths" in found:
        box = box_from_lengths(found["cell_lengths"], found.get("cell_angles", (90.0, 90.0, 90.0)))
    found_velocity = None if velocity is None else velocity * AMBER_PS
    return Coordinates(position, box, found_velocity, has_angles="cell_angles" in found)


def _netcdf(data: bytes) -> dict[str, Any]:
    """Returns variables as arrays, and the attribute `Conventions`."""
    if data.startswith(b"CDF"):
        from scipy.io import netcdf_file

        file = netcdf_file(io.BytesIO(data), mmap=False, maskandscale=False)
        variables, convention = file.variables, getattr(file, "Conventions", b"")
    else:
        import h5py

        file = h5py.File(io.BytesIO(data), "r")
        variables, convention = file, file.attrs.get("Conventions", b"")
    wanted = ("coordinates", "velocities", "cell_lengths", "cell_angles")
    found: dict[str, Any] = {}
    text = convention.decode("latin-1") if isinstance(convention, bytes) else str(convention)
    if "AMBERRESTART" in text:  # a trajectory may be large
        found = {name: np.array(variables[name][:], np.float64) for name in wanted if name in variables}
    return {**found, "conventions": text}
