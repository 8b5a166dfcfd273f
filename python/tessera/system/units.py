"""Divides long molecules into units, of which a system file holds each kind once.

A unit is a run of whole residues that no hydrogen group and no bond of a hydrogen leaves. Its terms, exclusions and
virtual sites are those of its atoms; other atoms of the molecule are named by their distance in ids from its first one.
The reasons are in docs/design/prepare.md#chains-of-units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.system.arrays import IdArray, IndexArray
from tessera.system.model import TERM_ATOMS, Template, Terms
from tessera.system.virtual_sites import VirtualSites

#: the column of the atom that a term belongs to; the engine computes the term where it owns this atom
KEY_COLUMN = {kind: {2: 0, 3: 1, 4: 1, 8: 2}[atoms] for kind, atoms in TERM_ATOMS.items()}
BYTES_OF_TEXT = 32  # in the engine

HEAVIEST_HYDROGEN = 3.5  # amu, where the element is unknown

PER_ATOM = ("atom_name", "type", "charge", "mass", "atomic_number", "residue", "group")
PER_RESIDUE = ("residue_name", "segment_name", "residue_number")


@dataclass
class Chain:
    """One molecule as a sequence of units."""

    name: str
    sequence: IndexArray  # (u,) rows of a list of units
    number: IdArray  # (u,) residue number of the first residue


@dataclass
class Units:
    """Units of chains, each once."""

    units: list[Template] = field(default_factory=list)
    index_of: dict[bytes, int] = field(default_factory=dict)  # by content

    def bytes(self) -> int:
        return sum(len(content) for content in self.index_of)


@dataclass
class _Rows:
    """Rows in the order of their units: those of unit u are values[begin[u]:begin[u + 1]]."""

    values: NDArray[Any]
    begin: IdArray

    def of(self, unit: int) -> NDArray[Any]:
        return self.values[self.begin[unit] : self.begin[unit + 1]]

    def contents(self) -> tuple[bytes, list[int]]:
        """Returns all values as bytes, and where those of each unit begin."""
        width = self.values.dtype.itemsize * int(np.prod(self.values.shape[1:]))
        return np.ascontiguousarray(self.values).tobytes(), (self.begin * width).tolist()


def hydrogens(template: Template) -> NDArray[np.bool_]:
    """Tells which atoms (n,) no unit parts from what they are bonded to."""
    return np.where(template.atomic_number > 0, template.atomic_number == 1, template.mass < HEAVIEST_HYDROGEN)


def first_atoms(template: Template) -> IdArray:
    """Returns the first atom of each unit (u,): a unit ends where no hydrogen group, no residue and no bond of a
    hydrogen goes on."""
    n = template.n_atoms
    hydrogen = hydrogens(template)
    bonds = template.bonds.astype(np.int64)
    kept = [np.stack([np.arange(n), template.group], axis=1), bonds[hydrogen[bonds].any(axis=1)]]
    low, high = np.sort(np.concatenate(kept), axis=1).T
    depth = np.cumsum(np.bincount(low + 1, minlength=n + 2) - np.bincount(high + 1, minlength=n + 2))[1:n]
    before = np.maximum.accumulate(template.residue)[:-1]
    behind = np.minimum.accumulate(template.residue[::-1])[::-1][1:]
    return np.append(0, np.flatnonzero((depth == 0) & (before < behind)) + 1)


def _in_units(values: NDArray[Any], unit: NDArray[Any], n_units: int) -> tuple[_Rows, NDArray[Any]]:
    """Sorts rows by their units; returns also the unit of each."""
    order = np.argsort(unit, kind="stable")
    begin = np.append(0, np.cumsum(np.bincount(unit, minlength=n_units)))
    return _Rows(values[order], begin), unit[order]


def _relative(rows: _Rows, first: NDArray[Any]) -> _Rows:
    """Subtracts the first atom of its unit from each row's indices."""
    of_row = np.repeat(first, np.diff(rows.begin))
    return _Rows((rows.values - of_row.reshape(-1, *[1] * (rows.values.ndim - 1))).astype(np.int32), rows.begin)


def _content(template: Template, first: IdArray) -> dict[str, _Rows]:
    """Returns everything in a template by unit, with indices relative to the unit."""
    n_units = len(first)
    atoms = np.append(first, template.n_atoms)
    unit_of = np.repeat(np.arange(n_units), np.diff(atoms))
    first_residue = np.minimum.accumulate(template.residue[::-1])[::-1][first].astype(np.int64)
    first_residue[0] = 0
    residues = np.append(first_residue, len(template.residue_name))
    found = {name: _Rows(np.asarray(getattr(template, name)), atoms) for name in PER_ATOM}
    found |= {name: _Rows(np.asarray(getattr(template, name)), residues) for name in PER_RESIDUE}
    if len(template.insertion):
        found["insertion"] = _Rows(np.asarray(template.insertion), residues)
    if template.always_rigid:
        found["always_rigid"] = _Rows(np.ones(n_units, np.int8), np.arange(n_units + 1))
    found["group"] = _relative(found["group"], first)
    found["residue"] = _relative(found["residue"], first_residue)
    number = found["residue_number"].values.astype(np.int64)
    found["residue_number"] = _relative(_Rows(number, residues), number[first_residue] - 1)
    for kind in TERM_ATOMS:
        terms = template.term(kind)
        if not len(terms):
            continue
        unit = unit_of[terms.atoms[:, KEY_COLUMN[kind]]]
        found[f"{kind}/atoms"] = _relative(_in_units(terms.atoms, unit, n_units)[0], first)
        found[f"{kind}/parameter"] = _in_units(terms.parameter, unit, n_units)[0]
    # A pair of two units is in both.
    low, high = unit_of[template.exclusions].T
    pairs = np.concatenate([template.exclusions, template.exclusions[low != high]])
    unit = np.concatenate([low, high[low != high]])
    found["exclusions"] = _relative(_in_units(pairs, unit, n_units)[0], first)
    sites = template.virtual_sites
    if len(sites):
        unit = unit_of[sites.atom]
        found["site/atom"] = _relative(_in_units(sites.atom, unit, n_units)[0], first)
        found["site/frame"] = _in_units(sites.frame, unit, n_units)[0]
        found["site/position"] = _in_units(sites.position, unit, n_units)[0]
        unit = unit[sites.parents[:, 0]]
        parents = _in_units(sites.parents, unit, n_units)[0]
        parents.values = parents.values - np.stack(
            [np.repeat(of_unit, np.diff(parents.begin)) for of_unit in (found["site/atom"].begin[:-1], first)], axis=1
        )
        found["site/parents"] = parents
        found["site/weights"] = _in_units(sites.weights, unit, n_units)[0]
    return found


def _unit(content: dict[str, _Rows], unit: int) -> Template:
    part: dict[str, Any] = {name: rows.of(unit).copy() for name, rows in content.items()}
    return Template(
        name=str(part["residue_name"][0]),
        **{name: part[name] for name in (*PER_ATOM, *PER_RESIDUE)},
        terms={
            kind: Terms(part[f"{kind}/atoms"], part[f"{kind}/parameter"])
            for kind in TERM_ATOMS
            if f"{kind}/atoms" in part
        },
        exclusions=part["exclusions"],
        virtual_sites=VirtualSites(**{n.removeprefix("site/"): v for n, v in part.items() if n.startswith("site/")}),
        always_rigid="always_rigid" in part,
        insertion=part.get("insertion", np.zeros(0, "S1")),
    )


def template_bytes(template: Template) -> int:
    """Returns about how many bytes a template takes in the engine."""
    size = template.exclusions.nbytes
    for name in (*PER_ATOM, *PER_RESIDUE):
        values = np.asarray(getattr(template, name))
        size += len(values) * (BYTES_OF_TEXT if values.dtype.kind in "OUS" else 8)
    return size + sum(terms.atoms.nbytes + terms.parameter.nbytes for terms in template.terms.values())


def split(template: Template, units: Units, most_bytes: float = np.inf) -> Chain | None:
    """Divides a molecule into units, and adds those that are new to `units`.

    Returns nothing, and leaves `units` as it was, where the new ones would take more than `most_bytes`.
    """
    first = first_atoms(template)
    content = _content(template, first)
    columns = [(f"{name} {rows.values.dtype.str} ".encode(), *rows.contents()) for name, rows in content.items()]
    index_of = dict(units.index_of)
    made: list[int] = []
    sequence = np.empty(len(first), np.int32)
    new_bytes = 0
    for u in range(len(first)):
        # The lengths tell apart what would look alike as a whole.
        parts = [(name, data[begin[u] : begin[u + 1]]) for name, data, begin in columns]
        key = b"".join([b"%s%d," % (name, len(part)) + part for name, part in parts if part])
        index = index_of.setdefault(key, len(index_of))
        if index == len(units.units) + len(made):
            made.append(u)
            new_bytes += len(key)
            if new_bytes > most_bytes:
                return None
        sequence[u] = index
    units.index_of = index_of
    units.units += [_unit(content, u) for u in made]
    first_residue = content["residue_number"].begin[:-1]
    return Chain(template.name, sequence, template.residue_number[first_residue].astype(np.int64))


def join(chain: Chain, units: list[Template]) -> Template:
    """Returns the molecule of a chain. Its terms are in the order of the units that they belong to."""
    sequence = chain.sequence

    def begins(lengths: list[int]) -> IdArray:
        """Returns where the rows of each unit of the chain begin, given how many each kind of unit has."""
        return np.append(0, np.cumsum(np.array(lengths, np.int64)[sequence]))[:-1]

    def joined(values: list[NDArray[Any]], start: IdArray | None = None) -> NDArray[Any]:
        """Joins the rows of the units, given those of each kind, and adds to each what its unit starts at."""
        length = np.array([len(v) for v in values], np.int64)
        shift = np.append(0, np.cumsum(length))[:-1][sequence] - begins([len(v) for v in values])
        rows = np.repeat(shift, length[sequence])
        whole = np.concatenate(values)[rows + np.arange(len(rows))]
        if start is None:
            return whole
        of_row = np.repeat(start, length[sequence])
        return (whole + of_row.reshape(-1, *[1] * (whole.ndim - 1))).astype(np.int32)

    sites = [unit.virtual_sites for unit in units]
    first = begins([unit.n_atoms for unit in units])
    first_residue = begins([len(unit.residue_name) for unit in units])
    starts = {"residue": first_residue, "group": first, "residue_number": chain.number - 1}
    arrays: dict[str, Any] = {
        name: joined([getattr(unit, name) for unit in units], starts.get(name)) for name in (*PER_ATOM, *PER_RESIDUE)
    }
    parents = [s.parents for s in sites]
    columns = ((0, begins([len(s) for s in sites])), (1, first))
    has_codes = any(len(units[unit].insertion) for unit in np.unique(sequence))
    return Template(
        name=chain.name,
        **arrays,
        terms={
            kind: Terms(
                joined([unit.term(kind).atoms for unit in units], first),
                joined([unit.term(kind).parameter for unit in units]),
            )
            for kind in TERM_ATOMS
        },
        exclusions=joined([unit.exclusions[unit.exclusions[:, 0] >= 0] for unit in units], first),
        virtual_sites=VirtualSites(
            atom=joined([s.atom for s in sites], first),
            frame=joined([s.frame for s in sites]),
            position=joined([s.position for s in sites]),
            parents=np.stack([joined([p[:, c] for p in parents], start) for c, start in columns], axis=1),
            weights=joined([s.weights for s in sites]),
        ),
        insertion=joined([unit.insertion_codes for unit in units]) if has_codes else np.zeros(0, "S1"),
        always_rigid=any(units[unit].always_rigid for unit in np.unique(sequence)),
    )


def chain_like(sample: Chain, kinds: Sequence[str], wanted: Sequence[str], name: str, first_number: int = 1) -> Chain:
    """Returns a chain of residues of the `wanted` kinds, each the unit that it is in `sample` between equal neighbours.

    `kinds` says of each unit of `sample` what it is, such as the letter of a nucleotide; ends are neighbours too. So a
    short molecule in which every kind stands between all others gives the units of one of any length, which is never
    made whole. Raises `InputError` where the sample lacks a neighbourhood.
    """
    if len(kinds) != len(sample.sequence):
        raise InputError(f"{len(kinds):,} kinds are given for the {len(sample.sequence):,} units of {sample.name}")
    known = dict(zip(_neighbourhoods(kinds), sample.sequence.tolist(), strict=True))
    around = list(_neighbourhoods(wanted))
    missing = next((place for place in around if place not in known), None)
    if missing is not None:
        before, kind, behind = ("the end" if one is None else one for one in missing)
        raise InputError(f"{sample.name} has no {kind} between {before} and {behind}, of which {name} has one")
    numbers = first_number + np.arange(len(wanted), dtype=np.int64)
    return Chain(name, np.array([known[place] for place in around], np.int32), numbers)


def _neighbourhoods(kinds: Sequence[str]) -> Iterator[tuple[str | None, str, str | None]]:
    """Yields each kind between those before and behind it."""
    return zip([None, *kinds[:-1]], kinds, [*kinds[1:], None], strict=True)


def progressions(numbers: IdArray) -> list[tuple[int, int, int, int]]:
    """Returns the begin, the length, the first number and the step of each stretch with equal steps."""
    step = np.diff(numbers)
    changes = np.append(np.flatnonzero(np.diff(step)) + 1, len(step))
    out, start = [], 0
    while start < len(numbers):
        end = int(changes[np.searchsorted(changes, start, side="right")]) if start < len(step) else start
        out.append((start, end - start + 1, int(numbers[start]), int(step[start]) if end > start else 0))
        start = end + 1
    return out
