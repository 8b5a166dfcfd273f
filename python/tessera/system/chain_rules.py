"""Checks that units fit their chains, by the rules of docs/reference/system_file.md#chains."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.system.arrays import IdArray
from tessera.system.model import BOND_KINDS, TERM_ATOMS, System, Template
from tessera.system.units import KEY_COLUMN, hydrogens


def in_order(rows: IdArray, count: int) -> bool:
    """Tells whether rows of first, number, … are in order, without overlap, and within `count`."""
    ends = np.append(0, rows[:, 0] + rows[:, 1])
    return bool((rows[:, 0] >= ends[:-1]).all() and (rows[:, 1] > 0).all() and ends[-1] <= count)


def check_chains(system: System) -> NDArray[np.bool_]:
    """Tells which templates (T,) are units of chains. Raises `InputError` where chains are out of order, where a unit
    names what is not in its chain or not its own, and where two units do not agree on an excluded pair."""
    chains, is_unit = system.chains, np.zeros(len(system.templates), bool)
    if chains.ndim != 2 or chains.shape[1] != 2 or not in_order(chains, len(system.runs)):
        raise InputError(f"chains must be (rows, 2), in order within {len(system.runs):,} runs")
    if len(system.chain_name) != len(chains):
        raise InputError(f"{len(chains):,} chains have {len(system.chain_name):,} names, expected one each")
    if not len(chains):
        return is_unit
    sizes = system.template_sizes()
    _check_numbers(system)
    ends = np.append(0, np.cumsum(sizes[system.runs[:, 0]] * system.runs[:, 1]))
    bounds = np.full((len(system.runs), 2), -1)  # the first atom of the chain of each run, and the one behind it
    for first, count in chains.tolist():
        bounds[first : first + count] = ends[first], ends[first + count]
    in_chain = bounds[:, 0] >= 0
    is_unit[system.runs[in_chain, 0]] = True
    reach = np.array([_reach(template) for template in system.templates], np.int64).reshape(-1, 2)
    for index in np.flatnonzero(is_unit):
        _check_own(int(index), system.templates[index])
    kind = system.runs[:, 0]
    is_alone = ~in_chain & is_unit[kind]  # molecules that are the same as a unit
    bounds[is_alone] = np.stack([ends[:-1], ends[:-1] + sizes[kind]], axis=1)[is_alone]
    last = np.where(in_chain, ends[1:] - sizes[kind], ends[:-1])  # the first atom of the last unit of each run
    fits = (ends[:-1] + reach[kind, 0] >= bounds[:, 0]) & (last + reach[kind, 1] < bounds[:, 1])
    for run in np.flatnonzero(~fits & (in_chain | is_alone))[:1]:
        low, high = reach[kind[run]]
        raise InputError(
            f"template {kind[run]} ({system.templates[kind[run]].name}) has terms or exclusions with the atoms {low} "
            f"to {high} from its first, some of which are outside the molecule of atom {int(ends[run]) + 1:,}"
        )
    _check_shared_pairs(system, is_unit)
    return is_unit


def _check_numbers(system: System) -> None:
    """Refuses units without a residue number: their own begin with 1, so that equal ones are the same."""
    first, count = system.residue_numbers[np.argsort(system.residue_numbers[:, 0], kind="stable"), :2].T
    end = np.maximum.accumulate(first + count) if len(first) else first
    begin = np.maximum(first, np.append(0, end)[:-1])
    before = np.append(0, np.cumsum(np.maximum(end - begin, 0)))

    def numbered(instances: IdArray) -> IdArray:
        """Returns how many instances before these have a number."""
        row = np.searchsorted(begin, instances, side="right")
        return np.asarray(before[row] - np.maximum(np.append(0, end)[row] - instances, 0))

    chains = system.chain_instances()
    found = numbered(chains.sum(axis=1)) - numbered(chains[:, 0])
    for own, (_, units), name in zip(found.tolist(), chains.tolist(), system.chain_name, strict=True):
        if own != units:
            raise InputError(f"{own:,} of the {units:,} units of chain {name} have a residue number, expected all")


def _reach(template: Template) -> tuple[int, int]:
    """Returns the lowest and the highest index of an atom of a template that it names."""
    named = [template.exclusions, *(template.term(kind).atoms for kind in TERM_ATOMS)]
    rows = [atoms for atoms in named if atoms.size]
    low = min([0, *(int(atoms.min()) for atoms in rows)])
    return low, max([template.n_atoms - 1, *(int(atoms.max()) for atoms in rows)])


def _check_own(index: int, unit: Template) -> None:
    where, n = f"template {index} ({unit.name}), a unit of chains", unit.n_atoms
    for kind in TERM_ATOMS:
        key = unit.term(kind).atoms[:, KEY_COLUMN[kind]]
        for row in np.flatnonzero((key < 0) | (key >= n))[:1]:
            raise InputError(
                f"{where}: {kind} {row} names atom {key[row]} in column {KEY_COLUMN[kind]}, expected one of the "
                "unit's own"
            )
    pairs = unit.exclusions
    for row in np.flatnonzero(~((pairs >= 0) & (pairs < n)).any(axis=1))[:1]:
        raise InputError(f"{where}: neither atom of the excluded pair {pairs[row].tolist()} is its own")
    is_hydrogen = hydrogens(unit)
    for kind in BOND_KINDS:
        atoms = unit.term(kind).atoms
        outside = (atoms < 0) | (atoms >= n)
        reaches = outside.any(axis=1) & (is_hydrogen[np.clip(atoms, 0, n - 1)] & ~outside).any(axis=1)
        for row in np.flatnonzero(reaches)[:1]:
            raise InputError(f"{where}: the {kind} {atoms[row].tolist()} joins a hydrogen to another unit")


def _check_shared_pairs(system: System, is_unit: NDArray[np.bool_]) -> None:
    """Checks that an excluded pair of atoms in two units is in both, once: where only one had it, forces of the other
    would be wrong without a word."""
    found = [np.zeros((0, 2), np.int64)]
    for index in np.flatnonzero(is_unit).tolist():
        template = system.templates[index]
        pairs = template.exclusions
        crossing = pairs[((pairs < 0) | (pairs >= template.n_atoms)).any(axis=1)]
        if len(crossing):
            found.append((system.starts_of(index)[:, None, None] + crossing).reshape(-1, 2))
    pairs = np.concatenate(found)
    keys, times = np.unique(pairs[:, 0] * system.n_atoms + pairs[:, 1], return_counts=True)
    for key in keys[times != 2][:1].tolist():
        first, second = key // system.n_atoms + 1, key % system.n_atoms + 1
        raise InputError(
            f"the atoms {first:,} and {second:,}, which are in two units of a chain, are an excluded pair of one of "
            "them, expected of both, once each"
        )
