"""Contact maps of a fibre: how often parts of its DNA are near each other.

A map is a CSV file with the columns one, other, contacts: the first base pairs of two bins, counted from 0 at the start
of the fibre, and how often these were found together, in any unit; above its rows the comment `# bin: 1000` says how
many base pairs a bin has. Pairs without a row have no contacts. Or it is a file of cooler (Abdennur and Mirny 2020), of
which a region is taken, balanced where it has weights; bins without a weight are unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tessera.build.fiber.columns import Columns, number, read_columns
from tessera.errors import InputError
from tessera.prepare.text import require_file
from tessera.system.model import FloatArray, IdArray

COLUMNS = ("one", "other", "contacts")
APART = 2  # bins: neighbours are near in any fibre
_LONGEST = 1e10  # base pairs
_MOST = 1e300  # contacts
_MOST_BINS = 5000  # all pairs of which are held in memory


@dataclass(frozen=True)
class ContactMap:
    """The contacts of all pairs of bins of so many base pairs as parts (b,b) of those of neighbours, at most 1; NaN
    where they are unknown."""

    size: int
    shares: FloatArray

    @cached_property
    def pairs(self) -> tuple[IdArray, IdArray]:
        """The known pairs of bins (k,), (k,) that are not neighbours."""
        one, other = np.triu_indices(len(self.shares), APART)
        is_known = np.isfinite(self.shares[one, other])
        return one[is_known], other[is_known]


def read_map(path: Path, length: int, region: str | None) -> ContactMap:
    """Reads the map of a fibre of so many base pairs: a CSV file, or a file of cooler (.cool) with a region such as
    chr8:11500000-11600000, without which its first bins count. Raises `InputError` that names what is wrong, and
    where."""
    if path.suffix == ".mcool":
        raise InputError(
            f"{path.name} has maps of several resolutions: take one out, as by "
            f"'cooler cp {path.name}::/resolutions/1000 one.cool'"
        )
    if path.suffix == ".cool":
        size, contacts = _read_cool(require_file(path, "contact map"), length, region)
    elif region is not None:
        raise InputError(f"{path.name}: a region is of a file of cooler (.cool): leave --map-region out")
    else:
        size, contacts = _read_text(path, length)
    return ContactMap(size, _shares(contacts, path.name))


def _bins(length: int, size: int, file: str) -> int:
    """Returns how many bins of this size a fibre has."""
    bins = -(-length // size)
    if not APART < bins <= _MOST_BINS:
        raise InputError(
            f"{file} has {bins:,} bins of {size:,} base pairs for the fibre's {length:,}, expected {APART + 1} to "
            f"{_MOST_BINS:,}"
        )
    return bins


def _shares(contacts: FloatArray, file: str) -> FloatArray:
    """Returns contacts (b,b) above the diagonal as parts of those of neighbours, at most 1, on both sides of it."""
    beside = np.diagonal(contacts, 1)
    beside = beside[np.isfinite(beside)]
    if not beside.any():
        raise InputError(f"{file} has no contacts of neighbouring bins, by which the others are judged")
    shares = np.triu(np.minimum(contacts / beside.mean(), 1.0), 1)
    shares += shares.T
    apart = shares[np.triu_indices(len(shares), APART)]
    apart = apart[np.isfinite(apart)]
    if len(apart) < 2 or np.ptp(apart) == 0:
        raise InputError(f"{file} tells nothing: all pairs of its bins that are not neighbours have the same contacts")
    return shares


def _read_text(path: Path, length: int) -> tuple[int, FloatArray]:
    """Returns the size of bins and the contacts (b,b) of all pairs, the first before the second; those of pairs that
    are given more than once are added up."""
    found = read_columns(path, COLUMNS, "contact map", "contact")
    size = _size(found, path.name)
    bins = _bins(length, size, path.name)
    contacts = np.zeros((bins, bins))
    for row in found.rows:
        ends = [row.number(name, _LONGEST) for name in COLUMNS[:2]]
        for name, at in zip(COLUMNS, ends):
            if not 0 <= at < length or at % size:
                raise InputError(
                    f"{row.where}: {name} is {row.cells[name][:60]!r}, expected the first base pair of a bin of "
                    f"{size:,}, from 0 to {(bins - 1) * size:,}"
                )
        value = row.number("contacts", _MOST)
        if value < 0:
            raise InputError(f"{row.where}: contacts is {row.cells['contacts'][:60]!r}, expected a number from 0")
        contacts[int(min(ends)) // size, int(max(ends)) // size] += value
    return size, contacts


def _size(found: Columns, file: str) -> int:
    fact = found.facts.get("bin")
    size = number(fact.text) if fact else np.nan
    if 1 <= size < _LONGEST and size == int(size):
        return int(size)
    said = f"{fact.where}: bin is {fact.text[:60]!r}" if fact else f"{file}: no comment says how long a bin is"
    raise InputError(f"{said}, expected base pairs above the rows, as in '# bin: 1000'")


def _read_cool(path: Path, length: int, region: str | None) -> tuple[int, FloatArray]:
    """Returns the size of bins and the contacts (b,b) of all pairs, the first before the second. Only the rows of these
    bins are read."""
    try:
        with h5py.File(path, "r") as file:
            size = int(file.attrs["bin-size"])
            bins = _bins(length, size, path.name)
            first = _first_bin(file, size, bins, region, path.name)
            begin, end = (int(row) for row in file["indexes/bin1_offset"][[first, first + bins]])
            one, other = (file[f"pixels/bin{n}_id"][begin:end].astype(np.int64) - first for n in (1, 2))
            count = file["pixels/count"][begin:end].astype(float)
            weight = file["bins/weight"][first : first + bins] if "weight" in file["bins"] else np.ones(bins)
    except (OSError, KeyError, ValueError, TypeError, IndexError) as error:
        raise InputError(f"{path.name} is no file of cooler with bins of one size: {error}") from None
    contacts = np.zeros((bins, bins))
    is_in = (one >= 0) & (one < bins) & (other >= one) & (other < bins)
    np.add.at(contacts, (one[is_in], other[is_in]), count[is_in])
    return size, contacts * weight[:, None] * weight


def _first_bin(file: h5py.File, size: int, bins: int, region: str | None, name: str) -> int:
    """Returns the bin of a file at which a region begins that has so many."""
    names = [_text(name) for name in file["chroms/name"][...]]
    chromosome, begin, end = (0, 0, bins * size) if region is None else _region(region, names, name)
    first, last = (int(row) for row in file["indexes/chrom_offset"][chromosome : chromosome + 2])
    if begin % size:
        raise InputError(
            f"--map-region begins at {begin:,}, and bins of {name} at multiples of {size:,}: give "
            f"{names[chromosome]}:{begin - begin % size}-{end}"
        )
    there = max(0, min(last - first, -(-end // size)) - begin // size)
    if there < bins:
        where = f"{names[chromosome]} of {name}" if region is None else f"{region} in {name}"
        raise InputError(
            f"{where} has {there:,} bins of {size:,} base pairs, and the fibre needs {bins:,}: give another region"
        )
    return first + begin // size


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _region(text: str, names: list[str], file: str) -> tuple[int, int, int]:
    """Returns the row of a chromosome, and the base pairs of a region of it."""
    match = re.fullmatch(r"(.+):([0-9,]{1,20})-([0-9,]{1,20})", text)
    begin, end = (int(word.replace(",", "") or -1) for word in match.groups()[1:]) if match else (0, 0)
    if match is None or not 0 <= begin < end:
        raise InputError(f"--map-region is {text[:60]!r}, expected one such as chr8:11500000-11600000")
    if match[1] not in names:
        raise InputError(f"{file} has no chromosome {match[1][:60]!r}: there are {', '.join(map(repr, names[:8]))}")
    return names.index(match[1]), begin, end
