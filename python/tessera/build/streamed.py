"""What the commands that make large systems expect of one whose atoms are made while they are written."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tessera.system import System
from tessera.system.blocks import Parts

BYTES_OF_ATOM, BYTES_OF_ATOM_WITH_VELOCITY = 20, 44  # in the file
BYTES_PER_ATOM = 250  # the peak while a layer of blocks is made
MOST_AT_ONCE = 400_000  # atoms; the system clears memory anew for each part of more


class Streamed(Protocol):
    """A system whose atoms are made part by part; any memory gives the same file."""

    @property
    def system(self) -> System:
        """The system without its atoms."""

    @property
    def n_atoms(self) -> int:
        """The number of its atoms."""

    def file_bytes(self) -> int:
        """Returns about how long the system file will be."""

    def least_memory(self, processes: int = 1) -> int:
        """Returns the bytes of memory without which no part can be made."""

    def parts(self, memory: int, processes: int = 1, workers: int = 1) -> Parts:
        """Returns the atoms in parts of which this many `processes` can each make one in about `memory` bytes together,
        and no fewer than `workers` of them if there are so many rows of blocks."""


def ranges_of_columns(grid: NDArray[np.int32], n_atoms: int, at_once: int) -> list[tuple[int, int]]:
    """Returns from and to which column of blocks each part is: whole layers, or columns of one layer."""
    ny, columns = int(grid[1]), int(grid[0]) * int(grid[1])
    step = int(np.clip(min(at_once, MOST_AT_ONCE) * columns // max(n_atoms, 1), 1, columns))
    if step >= ny:
        step -= step % ny
        return [(begin, min(begin + step, columns)) for begin in range(0, columns, step)]
    return [
        (begin, min(begin + step, layer + ny))
        for layer in range(0, columns, ny)
        for begin in range(layer, layer + ny, step)
    ]
