"""The molecules of a system, of which some are instances of a template and others chains of units."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tessera.system.arrays import IdArray
from tessera.system.model import System


@dataclass(frozen=True)
class Kind:
    """Molecules that are alike: n atoms, the pairs (·,2) of them that hold each together, and where each begins."""

    name: str
    n_atoms: int
    links: IdArray
    starts: IdArray  # (molecules,) ids of first atoms


def kinds(system: System) -> Iterator[Kind]:
    """Yields the molecules of each template that are in no chain, then each chain by itself."""
    template, first = system.instances()
    in_chain = np.zeros(len(template), bool)
    for begin, count in system.chain_instances().tolist():
        in_chain[begin : begin + count] = True
    alone = np.flatnonzero(~in_chain)
    for index, rows in _by_template(template[alone], alone):
        molecule = system.templates[index]
        yield Kind(molecule.name, molecule.n_atoms, molecule.links().astype(np.int64), first[rows])
    sizes = system.template_sizes()
    for name, (begin, count) in zip(system.chain_name, system.chain_instances().tolist(), strict=True):
        units = np.arange(begin, begin + count)
        links = [
            (first[rows, None, None] - first[begin] + system.templates[index].links()).reshape(-1, 2)
            for index, rows in _by_template(template[units], units)
        ]
        yield Kind(name, int(sizes[template[units]].sum()), np.concatenate(links), first[begin : begin + 1])


def _by_template(template: IdArray, rows: IdArray) -> Iterator[tuple[int, IdArray]]:
    """Yields each template and its rows, in order."""
    order = np.argsort(template, kind="stable")
    found, begin = np.unique(template[order], return_index=True)
    yield from zip(found.tolist(), np.split(rows[order], begin)[1:], strict=True)
