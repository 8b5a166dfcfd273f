"""Aligns a sequence with the residues of a structure (Needleman and Wunsch 1970, with gaps as Gotoh 1982 scores them).

Residues of the sequence that the structure lacks are free at its ends and expected where its chain is interrupted;
where the chain goes on, they and residues that are left out cost more than exchanges of a few.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tessera.system.model import FloatArray, IdArray

#: amino acids that replace each other more often than by chance
_SIMILAR = ("ILMV", "FWY", "KR", "DE", "NDQE", "ST", "AST", "AG", "HNQY", "HKRQ", "AC", "NS")
_EQUAL, _LIKE, _UNLIKE = 5.0, 1.0, -2.0
#: prices of a first residue in a gap, and of each more; where a chain is interrupted, something is missing
_OPEN, _OPEN_BREAK, _LONGER = 16.0, -3.0, 0.5
_NEVER = -1e30


def score_table() -> FloatArray:
    """Returns what each pair of letters adds, (128,128) by their codes."""
    table = np.full((128, 128), _UNLIKE)
    for group in _SIMILAR:
        codes = [ord(letter) for letter in group]
        table[np.ix_(codes, codes)] = _LIKE
    np.fill_diagonal(table, _EQUAL)
    table[ord("X")] = table[:, ord("X")] = 0.0
    return table


def aligned(sequence: str, letters: str, is_break: Sequence[bool]) -> tuple[float, IdArray]:
    """Returns the score, and for each letter of the sequence the index (n,) of its residue in the structure, or −1.

    `is_break` tells of each residue of the structure whether the chain is interrupted before it.
    """
    pairs = score_table()[np.ix_(_codes(sequence), _codes(letters))]
    n, m = pairs.shape
    # What it costs to begin a stretch of the sequence after j residues of the structure, where these are next.
    begin = np.array([0.0, *(_OPEN_BREAK if b else _OPEN for b in list(is_break)[1:]), 0.0])
    more = np.array([0.0, *np.full(m - 1, _LONGER), 0.0])
    best, extra = np.full((n + 1, m + 1), _NEVER), np.full((n + 1, m + 1), _NEVER)
    column = np.arange(m + 1)
    best[0] = -(_OPEN + _LONGER * column) * (column > 0)
    for row in range(1, n + 1):
        extra[row] = np.maximum(best[row - 1] - begin, extra[row - 1]) - more
        now = extra[row].copy()
        now[1:] = np.maximum(now[1:], best[row - 1, :-1] + pairs[row - 1])
        # Residues left out: the best of all columns before, less the price of those between.
        reach = np.maximum.accumulate(now + _LONGER * column)
        now[1:] = np.maximum(now[1:], reach[:-1] - _OPEN - _LONGER * column[1:])
        best[row] = now
    return float(best[n, m]), _trace(best, extra, pairs, begin, more)


def _trace(best: FloatArray, extra: FloatArray, pairs: FloatArray, begin: FloatArray, more: FloatArray) -> IdArray:
    found = np.full(len(pairs), -1)
    row, column = pairs.shape
    while row > 0:
        if column > 0 and np.isclose(best[row, column], best[row - 1, column - 1] + pairs[row - 1, column - 1]):
            row, column = row - 1, column - 1
            found[row] = column
        elif np.isclose(best[row, column], extra[row, column]):
            while not np.isclose(extra[row, column], best[row - 1, column] - begin[column] - more[column]):
                row -= 1
            row -= 1
        else:
            before = np.arange(column)
            cost = best[row, :column] - _OPEN - _LONGER * (column - before)
            column = int(np.flatnonzero(np.isclose(best[row, column], cost))[0])
    return found


def _codes(text: str) -> IdArray:
    return np.frombuffer(text.encode("ascii", "replace"), np.uint8).astype(np.int64)
