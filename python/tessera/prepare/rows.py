"""Force-field tables that grow row by row and store equal rows once."""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera.system import FORCE_FIELD_COLUMNS
from tessera.system.model import FloatArray, IdArray


class Rows:
    """The rows of one table; `add` returns the index, which is the same for equal rows."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._index: dict[tuple[float, ...], int] = {}

    def add(self, *values: float) -> int:
        # Adding 0.0 turns −0.0 into 0.0.
        key = tuple(float(v) + 0.0 for v in values)
        return self._index.setdefault(key, len(self._index))

    def add_many(self, values: Any) -> IdArray:
        """Adds rows (m, columns) and returns their indices (m,)."""
        values = np.asarray(values, np.float64).reshape(-1, self._columns)
        unique, inverse = np.unique(values, axis=0, return_inverse=True)
        index = np.array([self.add(*row) for row in unique], np.int64)
        return index[inverse.reshape(-1)] if len(values) else np.zeros(0, np.int64)

    def table(self) -> FloatArray:
        return np.array(list(self._index), np.float64).reshape(-1, self._columns)


class Tables:
    """One `Rows` for each kind of term, and the maps of CMAP."""

    def __init__(self) -> None:
        self.rows = {kind: Rows(columns) for kind, columns in FORCE_FIELD_COLUMNS.items()}
        self._maps: list[FloatArray] = []

    def __getitem__(self, kind: str) -> Rows:
        return self.rows[kind]

    def add_map(self, energies: FloatArray) -> int:
        """Adds a CMAP (n,n) kcal/mol from −180°, [i_φ, i_ψ], and returns its index."""
        for index, known in enumerate(self._maps):
            if known.shape == energies.shape and np.array_equal(known, energies):
                return index
        self._maps.append(np.asarray(energies, np.float64))
        return len(self._maps) - 1

    def tables(self) -> dict[str, FloatArray]:
        return {kind: rows.table() for kind, rows in self.rows.items()}

    def maps(self) -> FloatArray:
        if not self._maps:
            return np.zeros((0, 24, 24))
        return np.stack(self._maps)
