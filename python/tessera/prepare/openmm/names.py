"""Names of the atoms of a System that stands alone, by their masses and by what joins them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from tessera.prepare.constants import atomic_numbers
from tessera.prepare.openmm.forces import AtomNames, value

_WATER = [1, 1, 8]


def names_of_elements(system: Any) -> AtomNames:
    """Returns names such as C1, C2 and H3: elements, counted within each molecule. Molecules are residues, which are
    called HOH or MOL."""
    from openmm.app import Element

    n = system.getNumParticles()
    mass = np.array([value(system.getParticleMass(i)) for i in range(n)])
    number = atomic_numbers(mass, np.full(n, b"", "S8"))
    molecule = _molecules(system, n)
    first = np.unique(molecule, return_index=True)[1]
    order = np.argsort(np.argsort(first))[molecule]  # molecules in the order of their first atoms
    names, residues = np.empty(n, "S8"), np.empty(n, "S8")
    for members in np.split(np.argsort(order, kind="stable"), np.cumsum(np.bincount(order))[:-1]):
        is_water = sorted(number[members][number[members] > 0].tolist()) == _WATER
        residues[members] = b"HOH" if is_water else b"MOL"
        for count, atom in enumerate(members.tolist(), 1):
            symbol = Element.getByAtomicNumber(int(number[atom])).symbol if number[atom] else "X"
            names[atom] = f"{symbol}{count}".encode()
    return AtomNames(names, residues, (order + 1).astype(np.int32), np.full(n, b"", "S8"), number)


def _molecules(system: Any, n: int) -> np.ndarray:
    """Returns the molecule (n,) of each atom, by bonds, constraints and virtual sites."""
    pairs = [system.getConstraintParameters(i)[:2] for i in range(system.getNumConstraints())]
    for force in system.getForces():
        if type(force).__name__ in ("HarmonicBondForce", "CustomBondForce"):
            pairs += [force.getBondParameters(i)[:2] for i in range(force.getNumBonds())]
    for atom in range(n):
        if system.isVirtualSite(atom):
            pairs.append((atom, system.getVirtualSite(atom).getParticle(0)))
    ends = np.array(pairs, np.int64).reshape(-1, 2).T
    graph = sparse.csr_array((np.ones(len(pairs)), ends), shape=(n, n))
    return np.asarray(csgraph.connected_components(graph, directed=False)[1])
