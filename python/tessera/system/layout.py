"""Lays molecules and chains of units out one behind the other, and goes between both forms of a long molecule.

`Layout` is how a system of units is made; `divided` makes units of long molecules, and `joined` molecules of chains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.system.arrays import IdArray
from tessera.system.model import System, Template
from tessera.system.units import Chain, Units, join, progressions, split, template_bytes

#: bytes of a template below which it is written whole
LEAST_BYTES = 4 << 20
BYTES_OF_RUN = 40

Number = tuple[int, int, int, int]  # first instance, count, number, step
Segment = tuple[int, int, str]  # first instance, count, name


class Layout:
    """The instances of a system in the order of their atoms, as they are added."""

    def __init__(self) -> None:
        self._runs: list[tuple[int, int]] = []
        self._chains: list[tuple[int, int]] = []
        self._chain_name: list[str] = []
        self._numbers: list[Number] = []
        self._segments: list[Number] = []
        self._row_of: dict[str, int] = {}  # of each name of a segment
        self._n_instances = 0

    def add(
        self,
        runs: Iterable[tuple[int, int]],
        numbers: Iterable[Number] = (),
        segments: Iterable[Segment] = (),
        chain: str | None = None,
        *,
        goes_on: bool = False,
    ) -> None:
        """Adds runs of a template and a count each; where `chain` is a name, all of them are one molecule of this name.
        A run that `goes_on` is one with the run before it if that has the same template.

        `numbers` say with which residue number instances begin, and `segments` which segments they are in; both count
        instances from the first that is added.
        """
        begin, first_run = self._n_instances, len(self._runs)
        for template, count in runs:
            self._n_instances += count
            if goes_on and self._runs and self._runs[-1][0] == template:
                self._runs[-1] = (template, self._runs[-1][1] + count)
            else:
                self._runs.append((template, count))
        if chain is not None:
            self._chains.append((first_run, len(self._runs) - first_run))
            self._chain_name.append(chain)
        self._numbers += [(begin + first, count, number, step) for first, count, number, step in numbers]
        for first, count, name in segments:
            self._segments.append((begin + first, count, self._row_of.setdefault(name, len(self._row_of)), 0))

    def add_chain(self, chain: Chain, first_unit: int = 0, segment: str | None = None) -> None:
        """Adds a chain whose units are templates from `first_unit` on; `segment` is that of all of it."""
        names = [] if segment is None else [(0, len(chain.sequence), segment)]
        self.add(runs_of(chain, first_unit), progressions(chain.number), names, chain.name)

    def of(self, system: System, templates: list[Template]) -> System:
        """Returns the system with these templates and with what was added in place of its instances."""
        return replace(
            system,
            templates=templates,
            runs=np.array(self._runs, np.int64).reshape(-1, 2),
            chains=np.array(self._chains, np.int64).reshape(-1, 2),
            chain_name=self._chain_name,
            residue_numbers=_merged(self._numbers),
            segments=_merged(self._segments)[:, :3],
            segment_name=list(self._row_of),
        )


def runs_of(chain: Chain, first_unit: int = 0) -> list[tuple[int, int]]:
    """Returns the runs of a chain's units, which are templates from `first_unit` on."""
    starts = np.append(0, np.flatnonzero(np.diff(chain.sequence)) + 1)
    lengths = np.diff(np.append(starts, len(chain.sequence)))
    return list(zip((first_unit + chain.sequence[starts]).tolist(), lengths.tolist(), strict=True))


def _merged(rows: Iterable[Number]) -> IdArray:
    """Joins rows that go on from one to the next."""
    merged: list[Number] = []
    for first, count, number, step in rows:
        if merged:
            last = merged[-1]
            if last[0] + last[1] == first and last[3] == step and last[2] + last[1] * step == number:
                merged[-1] = (last[0], last[1] + count, last[2], step)
                continue
        merged.append((first, count, number, step))
    return np.array(merged, np.int64).reshape(-1, 4)


class _Rows:
    """Rows of first, count, number and step, which are asked for in order."""

    def __init__(self, rows: list[list[int]]):
        self._rows, self._next = rows, 0

    def between(self, begin: int, end: int) -> list[Number]:
        """Returns the parts of rows within some instances, counted from `begin`."""
        rows, found = self._rows, []
        while self._next < len(rows) and rows[self._next][0] + rows[self._next][1] <= begin:
            self._next += 1
        for row in range(self._next, len(rows)):
            first, count, number, step = rows[row]
            if first >= end:
                break
            low, high = max(first, begin), min(first + count, end)
            found.append((low - begin, high - low, number + (low - first) * step, step))
        return found


@dataclass(frozen=True)
class _Part:
    """A run of molecules, or a chain where it has a name, with what `Layout.add` is told of it."""

    runs: IdArray
    numbers: list[Number]
    segments: list[Segment]
    chain: str | None


def _parts(system: System, one_by_one: Callable[[int], bool] = lambda _: False) -> Iterator[_Part]:
    """Yields all runs and chains of a system in order; molecules of some templates one by one."""
    numbers = _Rows(system.residue_numbers.tolist())
    segments = _Rows([[*row, 0] for row in system.segments.tolist()])
    names = [str(name) for name in system.segment_name]
    chain_of = {first: (n, str(name)) for (first, n), name in zip(system.chains.tolist(), system.chain_name)}
    run, begin = 0, 0
    while run < len(system.runs):
        n, chain = chain_of.get(run, (1, None))
        runs = system.runs[run : run + n]
        run += n
        count = int(runs[:, 1].sum())
        step = 1 if chain is None and one_by_one(int(runs[0, 0])) else count
        for end in range(begin + step, begin + count + 1, step):
            rows = [(first, many, names[row]) for first, many, row, _ in segments.between(end - step, end)]
            some = runs if step == count else np.array([[runs[0, 0], 1]])
            yield _Part(some, numbers.between(end - step, end), rows, chain)
        begin += count


def first_runs(system: System) -> IdArray:
    """Returns the first run of each chain, and the runs that are in none, in order."""
    begins = np.ones(len(system.runs), bool)
    for first, count in system.chains.tolist():
        begins[first + 1 : first + count] = False
    return np.flatnonzero(begins)


def repeated(system: System, copies: int) -> System:
    """Returns the system with so many times the instances of each run, and each chain followed by its copies; without
    numbers of residues, but for those of units."""
    layout = Layout()
    for part in _parts(system):
        count = int(part.runs[:, 1].sum())
        if part.chain is not None:
            for _ in range(copies):
                layout.add(part.runs.tolist(), part.numbers, part.segments, part.chain)
        elif part.segments == [(0, count, name) for *_, name in part.segments]:
            names = [(0, copies * count, name) for *_, name in part.segments]
            layout.add([(int(part.runs[0, 0]), copies * count)], (), names)
        else:
            names = [(copy * count + first, n, name) for copy in range(copies) for first, n, name in part.segments]
            layout.add([(int(part.runs[0, 0]), copies * count)], (), names)
    return layout.of(system, system.templates)


def divided(system: System) -> System:
    """Divides large molecules, each copy of them, where that at least halves what they take."""
    units, chains = _long_molecules(system)
    if not chains:
        return system
    kept = [index for index in range(len(system.templates)) if index not in chains]
    new_index = {old: new for new, old in enumerate(kept)}
    runs_of_chains = {index: runs_of(chain, len(kept)) for index, chain in chains.items()}
    numbers_of_chains = {index: progressions(chain.number) for index, chain in chains.items()}
    layout = Layout()
    for part in _parts(system, chains.__contains__):
        index = int(part.runs[0, 0])
        if index not in chains:
            runs = [(new_index[template], count) for template, count in part.runs.tolist()]
            layout.add(runs, part.numbers, part.segments, part.chain)
            continue
        chain = chains[index]
        shift = part.numbers[0][2] - int(chain.number[0]) if part.numbers else 0
        numbers = [(first, count, number + shift, step) for first, count, number, step in numbers_of_chains[index]]
        segments = [(0, len(chain.sequence), name) for _, _, name in part.segments]
        layout.add(runs_of_chains[index], numbers, segments, chain.name)
    return layout.of(system, [system.templates[index] for index in kept] + units.units)


def _long_molecules(system: System) -> tuple[Units, dict[int, Chain]]:
    """Returns the molecules that are worth dividing, by template, and their units."""
    counts = np.bincount(system.runs[:, 0], system.runs[:, 1], len(system.templates))
    is_unit = unit_templates(system)
    units, chains = Units(), {}
    for index, template in enumerate(system.templates):
        size = template_bytes(template)
        if counts[index] == 0 or is_unit[index] or template.rigid_water or size < LEAST_BYTES:
            continue
        known = Units(list(units.units), dict(units.index_of))
        chain = split(template, known, size / 2)
        if chain is None:
            continue
        n_runs = counts[index] * (1 + np.count_nonzero(np.diff(chain.sequence)))
        if BYTES_OF_RUN * n_runs > size / 2:
            continue
        units = known
        chains[index] = chain
    return units, chains


def unit_templates(system: System) -> NDArray[np.bool_]:
    """Tells which templates are units of chains."""
    is_unit = np.zeros(len(system.templates), bool)
    for first, count in system.chains.tolist():
        is_unit[system.runs[first : first + count, 0]] = True
    return is_unit


def joined(system: System) -> System:
    """Returns the system with its chains as whole molecules. Equal chains are one template."""
    if not len(system.chains):
        return system
    parts = list(_parts(system))
    used = {int(part.runs[0, 0]) for part in parts if part.chain is None}
    kept = [index for index, is_unit in enumerate(unit_templates(system)) if not is_unit or index in used]
    new_index = {old: new for new, old in enumerate(kept)}
    templates = [system.templates[index] for index in kept]
    known: dict[tuple[Any, ...], int] = {}  # templates of chains, by their content
    heads: dict[int, set[int]] = {}  # the numbers of the first residues of each
    of_chain = {}  # by part: its template, the number of its first residue, and its segments
    for row, part in enumerate(parts):
        if part.chain is None:
            continue
        chain, segments = _chain_of(part), part.segments
        is_one = not segments or segments[0][:2] == (0, len(chain.sequence))
        content = (chain.name, part.runs.tobytes(), (chain.number - chain.number[0]).tobytes())
        index = known.setdefault((*content, () if is_one else tuple(segments)), len(templates))
        if index == len(templates):
            templates.append(join(chain, system.templates))
            if not is_one:
                _name_segments(templates[-1], chain, system.templates, segments)
        first = int(chain.number[0])
        heads.setdefault(index, set()).add(first)
        of_chain[row] = (index, first, [(0, 1, name) for *_, name in segments] if is_one else [])
    layout = Layout()
    for row, part in enumerate(parts):
        if part.chain is None:
            runs = [(new_index[template], count) for template, count in part.runs.tolist()]
            layout.add(runs, part.numbers, part.segments)
        else:
            index, first, segments = of_chain[row]
            numbers = [(0, 1, first, 1)] if len(heads[index]) > 1 else []
            layout.add([(index, 1)], numbers, segments, goes_on=True)
    return layout.of(system, templates)


def _chain_of(part: _Part) -> Chain:
    sequence = np.repeat(part.runs[:, 0], part.runs[:, 1])
    number = np.ones(len(sequence), np.int64)
    for first, count, start, step in part.numbers:
        number[first : first + count] = start + step * np.arange(count)
    return Chain(str(part.chain), sequence.astype(np.int32), number)


def _name_segments(molecule: Template, chain: Chain, units: list[Template], segments: list[Segment]) -> None:
    """Gives the residues of a molecule the segments of the units that they come from."""
    sizes = np.array([len(unit.residue_name) for unit in units], np.int64)[chain.sequence]
    ends = np.append(0, np.cumsum(sizes))
    names = np.asarray(molecule.segment_name).astype(object)
    for first, count, name in segments:
        names[ends[first] : ends[first + count]] = name
    molecule.segment_name = names.astype(str)
