"""DL_POLY_4's HISTORY: records of 72 characters and a line end, with positions Å, velocities Å/ps, forces amu Å/ps².

The layout is that of `cpp/tessera/io/text`. Numbers have ten decimals, `f20.10`: a number of 4 bytes times 10¹⁰ is
exact in 8 bytes, so decimals are rounded once, ties to even.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORCE = 418.4  # amu Å/ps² of a kcal/mol/Å
_RECORD = 73  # bytes
_LARGEST = 9.9e7  # larger ones do not fit with a sign
_DIGITS = (np.arange(10_000)[:, None] // 10 ** np.arange(3, -1, -1) % 10 + ord("0")).astype(np.uint8)
Bytes = NDArray[np.uint8]


def fixed(values: NDArray[Any]) -> Bytes:
    """Returns (m,20) characters of numbers (m,): `f20.10`, and `e20.10` for those that do not fit."""
    values = np.asarray(values, np.float64)
    fits = np.abs(values) < _LARGEST
    scaled = np.rint(np.where(fits, values, 0.0) * 1e10)
    rest = np.abs(scaled).astype(np.int64)
    digits = np.empty((len(values), 20), np.uint8)
    for place in range(16, -1, -4):
        rest, group = np.divmod(rest, 10_000)
        digits[:, place : place + 4] = _DIGITS[group]
    out = np.empty_like(digits)
    out[:, 10:] = digits[:, 10:]
    out[:, :9] = digits[:, 1:10]
    out[:, 9] = ord(".")
    leading = np.logical_and.accumulate(out[:, :8] == ord("0"), axis=1)
    blanks = leading.sum(axis=1)
    out[:, :8][leading] = ord(" ")
    negative = np.flatnonzero(np.signbit(scaled) & (scaled != 0))
    out[negative, blanks[negative] - 1] = ord("-")
    for row in np.flatnonzero(~fits):
        out[row] = np.frombuffer(f"{values[row]:20.10E}".encode(), np.uint8)
    return out


class HistoryWriter:
    """Writes frames of atoms with these names (n,), masses (n,) amu and charges (n,) e.

    `level` is 0 for positions, 1 with velocities, 2 with forces; `imcon` is 0 without a box, 1 for a cube, 2 for a
    cuboid, 3 for others. `timestep` is in ps. Raises `OSError`.
    """

    def __init__(
        self,
        path: Path,
        title: str,
        names: NDArray[np.object_],
        masses: NDArray[np.float64],
        charges: NDArray[np.float64],
        frames: int,
        level: int,
        imcon: int,
        timestep: float,
    ) -> None:
        self._level, self._imcon, self._timestep, self._atoms = level, imcon, timestep, len(names)
        self._block = np.full((len(names), level + 2, _RECORD), ord(" "), np.uint8)
        self._block[:, :, -1] = ord("\n")
        lines = [
            f"{str(name)[:8]:8}{number % 10**10:10}{mass:12.6f}{charge:12.6f}{0.0:12.6f}"
            for number, (name, mass, charge) in enumerate(zip(names, masses, charges), 1)
        ]
        text = "".join(f"{line:72.72}" for line in lines).encode("ascii", "replace")
        self._block[:, 0, :-1] = np.frombuffer(text, np.uint8).reshape(-1, _RECORD - 1)
        records = 2 + frames * (1 + (3 if imcon else 0) + len(names) * (level + 2))
        self._file = open(path, "wb")  # noqa: SIM115
        self._file.write(_record(title))
        self._file.write(_record(f"{level:10}{imcon:10}{len(names):10}{frames:21}{records:21}"))

    def write(self, step: int, time: float, box: NDArray[np.float64] | None, values: list[NDArray[Any]]) -> None:
        """Writes a frame: time in ps, box (3,3) Å, and positions, velocities and forces (n,3) as far as the level
        says."""
        head = f"timestep{step:10}{self._atoms:10}{self._level:2}{self._imcon:2}{self._timestep:20.6f}{time:20.6f}"
        self._file.write(_record(head))
        if self._imcon and box is not None:
            for vector in np.asarray(box):
                self._file.write(_record("".join(f"{number:20.10f}" for number in vector)))
        for index, numbers in enumerate(values[: self._level + 1]):
            self._block[:, 1 + index, :60] = fixed(np.asarray(numbers).reshape(-1)).reshape(-1, 60)
        self._file.write(self._block.tobytes())

    def close(self) -> None:
        self._file.close()


def imcon_of(box: NDArray[np.float64] | None) -> int:
    """Returns DL_POLY's key of the shape of a box."""
    if box is None:
        return 0
    edges = np.diag(box)
    if not np.allclose(box, np.diag(edges), atol=1e-9):
        return 3
    return 1 if np.allclose(edges, edges[0]) else 2


def _record(text: str) -> bytes:
    return f"{text:72.72}\n".encode("ascii", "replace")
