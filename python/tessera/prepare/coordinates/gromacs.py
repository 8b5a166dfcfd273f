"""Reads GROMACS' gro and g96, in nm and nm/ps."""

from __future__ import annotations

import numpy as np

from tessera.constants import NM
from tessera.errors import InputError
from tessera.prepare.coordinates.model import Coordinates
from tessera.prepare.text import Source, Text
from tessera.system.model import FloatArray


def read_gro(source: Source) -> Coordinates:
    """Reads the first frame: a title, a count, atoms and a box."""
    text = source.text
    word = text.line(1).strip()
    if not word.isdecimal() or len(word) > 12 or int(word) == 0:
        raise text.wrong(1, f"expected the number of atoms, found {text.line(1)[:40]!r}")
    n = int(word)
    if len(text) < n + 3:
        raise InputError(f"{source.name} is truncated: {n} atoms need {n + 3} lines, and it has {len(text)}")
    if len(text) > n + 3 and (len(text) % (n + 3) or text.line(n + 4).strip() != word):
        raise text.wrong(n + 3, f"expected nothing after the box of {n} atoms, found {text.line(n + 3)[:40]!r}")
    rows = np.arange(2, n + 2)
    width, has_velocities = _columns(text)
    position = text.numbers(rows, 20, width, 3) * NM
    velocity = text.numbers(rows, 20 + 3 * width, width, 3) * NM if has_velocities else None
    box = _box(text, n + 2, text.words(n + 2, (3, 9), "the box"))
    return Coordinates(position, box, velocity).label(text.columns(rows, 10, 15), text.columns(rows, 0, 5), 5)


def _columns(text: Text) -> tuple[int, bool]:
    """Returns the width of a coordinate and whether velocities follow. All atoms have the format of the first."""
    first = text.line(2)
    points = [i for i, letter in enumerate(first) if letter == "." and i >= 20][:3]
    width = points[1] - points[0] if len(points) == 3 else 0
    if width < 2 or points[2] - points[1] != width or points[0] >= 20 + width:
        raise text.wrong(2, f"expected an atom with three coordinates from column 21 on, found {first[:60]!r}")
    has_velocities = len(first) > 20 + 3 * width
    expected = 20 + (6 if has_velocities else 3) * width
    if len(first) != expected:
        raise text.wrong(
            2, f"expected an atom with coordinates of {width} characters from column 21 on, {20 + 3 * width} "
            f"characters in all or {20 + 6 * width} with velocities; found {len(first)}: {first!r:.90}"
        )  # fmt: skip
    n = int(text.line(1))
    rows = np.arange(2, n + 2)
    bad = text.length[rows] != expected
    for point in points:
        bad |= text.characters(rows, point, point + 1)[:, 0] != ord(".")
    if bad.any():
        row = int(rows[np.argmax(bad)])
        length = int(text.length[row])
        what = f"{length} characters" if length != expected else "no point there"
        columns = ", ".join(str(point + 1) for point in points)
        raise text.wrong(
            row, f"expected an atom like that of line 3, {expected} characters with decimal points in the columns "
            f"{columns}; found {what}: {text.line(row)!r:.90}"
        )  # fmt: skip
    return width, has_velocities


def _box(text: Text, line: int, numbers: list[float]) -> FloatArray | None:
    """Reads v1x v2y v3z, and v1y v1z v2x v2z v3x v3y where the box is not rectangular."""
    if not any(numbers):
        return None
    if not (np.isfinite(numbers).all() and min(numbers[:3]) > 0):
        raise text.wrong(line, f"expected a box of positive lengths, found {text.line(line)[:60]!r}")
    box = np.diag(numbers[:3])
    if len(numbers) == 9:
        box[0, 1], box[0, 2], box[1, 0], box[1, 2], box[2, 0], box[2, 1] = numbers[3:]
    return box * NM


def read_g96(source: Source) -> Coordinates:
    """Reads the blocks of the first frame, each from its name to END."""
    text = source.text
    blocks = _blocks(text)
    begin, end = blocks.get("POSITION", blocks.get("POSITIONRED", (0, 0)))
    if begin == end:
        raise InputError(f"{source.name} holds no atoms: it has no POSITION block")
    rows = np.arange(begin, end)
    names = "POSITION" in blocks
    position = text.numbers(rows, 24 if names else 0, 15, 3) * NM
    velocity = None
    for block, column in (("VELOCITY", 24), ("VELOCITYRED", 0)):
        if block in blocks:
            lines = np.arange(*blocks[block])
            if len(lines) != len(rows):
                raise text.wrong(blocks[block][0] - 1, f"{len(lines)} velocities for {len(rows)} atoms")
            velocity = text.numbers(lines, column, 15, 3) * NM
    box = None
    if "BOX" in blocks:
        line, after = blocks["BOX"]
        if after != line + 1:
            raise text.wrong(line - 1, f"expected a BOX of one line, found {after - line}")
        count = max(1, -(-int(text.length[line]) // 15))
        if count not in (3, 9):
            raise text.wrong(line, f"expected a box of 3 or 9 numbers, found {text.line(line)[:60]!r}")
        box = _box(text, line, text.numbers(np.array([line]), 0, 15, count)[0].tolist())
    found = Coordinates(position, box, velocity)
    return found.label(text.columns(rows, 12, 17), text.columns(rows, 0, 5), 5) if names else found


_G96_BLOCKS = ("TITLE", "TIMESTEP", "POSITION", "POSITIONRED", "VELOCITY", "VELOCITYRED", "BOX")


def _blocks(text: Text) -> dict[str, tuple[int, int]]:
    """Returns the first line of each block's content and the line of its END. A second frame begins where a name is
    repeated."""
    heads = np.flatnonzero((text.first >= ord("A")) & (text.first <= ord("Z")))
    blocks: dict[str, tuple[int, int]] = {}
    after = 0
    for line in map(int, heads):
        if line < after:
            continue  # within a title
        name = text.line(line).strip()
        if name not in _G96_BLOCKS:
            raise text.wrong(line, f"expected a block of {', '.join(_G96_BLOCKS)}, found {name[:40]!r}")
        if name in blocks:
            break
        end = next((int(i) for i in heads[heads > line] if text.line(int(i)).strip() == "END"), None)
        if end is None:
            raise text.wrong(line, f"block {name} has no END: the file is truncated")
        blocks[name] = (line + 1, end)
        after = end + 1
    return blocks
