"""Parameters that CHARMM's files define more than once: which definition counts, and what a person should know of it.

The last definition counts, whichever file it stands in. Definitions that are the same are nothing to speak of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations

from tessera.prepare.charmm_stream import Line

Key = tuple[str, ...]
Row = tuple[float, ...]

_SHOWN = 10  # replaced parameters of one file by another that are listed
#: `par_all36m_prot.prm` is of the generation 36m and holds proteins
_GENERATION = re.compile(r"par_all(\d+[a-z]?)_([a-z_]+)", re.IGNORECASE)


@dataclass(frozen=True)
class Definition:
    """The numbers of a parameter as its file has them, and `file:line`."""

    row: Row
    where: str

    @property
    def file(self) -> str:
        return self.where.rpartition(":")[0]

    def text(self, other: Definition) -> str:
        """Says where it is, and its numbers; of many numbers the first that is not the same in `other`."""
        if len(self.row) <= 6:
            return f"{self.where} ({', '.join(f'{value:g}' for value in self.row)})"
        pairs = zip(self.row, other.row)
        at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(self.row), len(other.row)))
        value = f", of which number {at + 1} is {self.row[at]:g}" if at < len(self.row) else ""
        return f"{self.where} ({len(self.row)} numbers{value})"


@dataclass
class Used:
    """What the parameters that a system uses replaced or were mixed with, in the order of use."""

    replaced: dict[tuple[str, Key], tuple[Definition, Definition]] = field(default_factory=dict)
    mixed: dict[Key, dict[str, Definition]] = field(default_factory=dict)  # dihedrals' first lines by file

    def notes(self) -> list[str]:
        """Returns one line for each parameter that replaced another or was mixed, and a count of those that are too
        many."""
        out = []
        shown: dict[tuple[str, str], int] = {}
        for (kind, key), (old, new) in self.replaced.items():
            files = (old.file, new.file)
            shown[files] = shown.get(files, 0) + 1
            if shown[files] <= _SHOWN:
                out.append(
                    f"{kind} {_name(key)} of {old.text(new)} is replaced by that of {new.text(old)}, which is read last"
                )
        for (old_file, new_file), count in shown.items():
            if count > _SHOWN:
                out.append(f"{count - _SHOWN} more parameters of {old_file} are replaced by those of {new_file}")
        for key, files_of in list(self.mixed.items())[:_SHOWN]:
            parts = " and of ".join(f"{first.where} (n = {_list(first.row)})" for first in files_of.values())
            out.append(f"dihedral {'-'.join(key)} has cosines of {parts}: of each n the last that is read counts")
        if len(self.mixed) > _SHOWN:
            out.append(
                f"{len(self.mixed) - _SHOWN} more dihedrals have cosines of several files, and all of them count"
            )
        return out

    def between(self, one: str, other: str) -> int:
        """Counts the parameters of two files that replaced each other or were mixed."""
        pair = {one, other}
        replaced = {
            (kind, key[:4] if kind == "dihedral" else key)
            for (kind, key), found in self.replaced.items()
            if {definition.file for definition in found} == pair
        }
        mixed = {("dihedral", key) for key, files in self.mixed.items() if pair <= set(files)}
        return len(replaced | mixed)


@dataclass
class Table:
    """Rows by key; where a later one replaced another, both."""

    kind: str
    either_way: bool = True  # whether A-B-C and C-B-A are the same
    severity: int | None = None  # level of CHARMM's warning where its reader without FLEX finds two, if it warns
    rows: dict[Key, Definition] = field(default_factory=dict)
    replaced: dict[Key, tuple[Definition, Definition]] = field(default_factory=dict)

    def key(self, key: Key) -> Key:
        return min(key, key[::-1]) if self.either_way else key

    def put(self, key: Key, row: Row, line: Line, stops_at: int | None) -> None:
        """Adds a row. `stops_at` is CHARMM's BOMLEV where it reads without FLEX, else None.

        Raises `InputError` where CHARMM itself would stop.
        """
        key = self.key(key)
        new, old = Definition(row, line.where), self.rows.get(key)
        if old is not None and old.row != row:
            if self.severity is not None and stops_at is not None and self.severity <= stops_at:
                raise line.error(
                    f"{self.kind} {_name(key)} is {new.text(old).partition(' ')[2]} here and "
                    f"{old.text(new).partition(' ')[2]} in {old.where}; CHARMM stops at this where it reads without "
                    "FLEX: remove one of the two, or read with `read para card flex`, where the last counts"
                )
            self.replaced[key] = (old, new)
        self.rows[key] = new

    def get(self, key: Key, used: Used) -> Row | None:
        """Finds a row; `used` takes a note where the row replaced another."""
        key = self.key(key)
        if key in self.replaced:
            used.replaced[self.kind, key] = self.replaced[key]
        found = self.rows.get(key)
        return None if found is None else found.row


def generations(files: Iterable[str], used: Used) -> Iterator[str]:
    """Yields a warning for any two parameter files, in the order of reading, that are generations of one force
    field."""
    in_order = list(dict.fromkeys(reversed(list(files))))[::-1]  # a file that is read twice counts where it is last
    known = {name: match for name in in_order if (match := _GENERATION.match(name))}
    for (first, one), (last, other) in combinations(known.items(), 2):
        parts = {*one[2].lower().split("_")} & {*other[2].lower().split("_")} - {""}
        if one[1].lower() == other[1].lower() or not parts:
            continue
        count = used.between(first, last)
        yield (
            f"{first} and {last} are two generations of one force field ({', '.join(sorted(parts))}). Where they "
            f"differ, {last} counts, which is read last: so it is with {count or 'none'} of the parameters that this "
            f"system uses. A parameter that only one of them has counts, too: give the one that the PSF was made for"
        )


def _name(key: Key) -> str:
    """Returns `A-B`, or `A-B-C-D (n = 3)` for one cosine of a dihedral."""
    *types, last = key
    return f"{'-'.join(types)} ({last})" if last.startswith("n = ") else "-".join(key)


def _list(numbers: Row) -> str:
    return ", ".join(f"{number:g}" for number in numbers)
