"""Names of the atoms of a System that stands alone, by their masses and by what joins them.

Hydrogens may have taken mass from their neighbours, so that no mass is an element's: a light atom that is joined to
another, and at which no angle has its vertex, is a hydrogen, and what it took is given back to the atom next to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from tessera.constants import HYDROGEN_MASS_LIMIT, atomic_numbers
from tessera.prepare.openmm.forces import AtomNames, value
from tessera.system.model import FloatArray, IndexArray

_WATER = [1, 1, 8]
_HYDROGEN = 1.008  # amu


def names_of_elements(system: Any) -> AtomNames:
    """Returns names such as C1, C2 and H3: elements, counted within each molecule. Molecules are residues, which are
    called HOH or MOL."""
    from openmm.app import Element

    n = system.getNumParticles()
    mass = np.array([value(system.getParticleMass(i)) for i in range(n)])
    lengths = _lengths(system)
    number = _numbers(system, mass, lengths)
    ends = np.array(list(lengths), np.int64).reshape(-1, 2).T
    graph = sparse.csr_array((np.ones(len(lengths)), ends), shape=(n, n))
    molecule = csgraph.connected_components(graph, directed=False)[1]
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


def _numbers(system: Any, mass: FloatArray, lengths: dict[tuple[int, int], float]) -> IndexArray:
    """Returns atomic numbers (n,), 0 where no element fits."""
    is_hydrogen = np.zeros(len(mass), bool)
    ends = np.array(list(lengths), np.int64).ravel()
    is_hydrogen[ends] = (mass[ends] > 0) & (mass[ends] <= HYDROGEN_MASS_LIMIT)
    for force in system.getForces():
        if type(force).__name__ in ("HarmonicAngleForce", "CustomAngleForce"):
            is_hydrogen[[force.getAngleParameters(i)[1] for i in range(force.getNumAngles())]] = False
    nearest: dict[int, tuple[float, int]] = {}  # of each hydrogen, the atom that is no hydrogen
    for pair, length in lengths.items():
        for one, other in (pair, pair[::-1]):
            if is_hydrogen[one] and not is_hydrogen[other]:
                nearest[one] = min(nearest.get(one, (np.inf, -1)), (length, other))
    before = mass.copy()
    for hydrogen, (_, atom) in nearest.items():
        before[atom] += mass[hydrogen] - _HYDROGEN
    nameless = np.full(len(mass), b"", "S8")
    plain, restored = atomic_numbers(mass, nameless), atomic_numbers(before, nameless)
    return np.where(is_hydrogen, 1, np.where(restored > 0, restored, plain)).astype(np.int32)


def _lengths(system: Any) -> dict[tuple[int, int], float]:
    """Returns the pairs of atoms that bonds, constraints and virtual sites join, and their lengths in nm, which are
    infinite where it is no usual bond."""
    found: dict[tuple[int, int], float] = {}

    def add(i: int, j: int, length: float = np.inf) -> None:
        found[i, j] = min(length, found.get((i, j), np.inf))

    for index in range(system.getNumConstraints()):
        i, j, distance = system.getConstraintParameters(index)
        add(i, j, value(distance))
    for force in system.getForces():
        if type(force).__name__ == "HarmonicBondForce":
            for index in range(force.getNumBonds()):
                i, j, length, _ = force.getBondParameters(index)
                add(i, j, value(length))
        elif type(force).__name__ == "CustomBondForce":
            for index in range(force.getNumBonds()):
                add(*force.getBondParameters(index)[:2])
    for atom in range(system.getNumParticles()):
        if system.isVirtualSite(atom):
            add(atom, system.getVirtualSite(atom).getParticle(0))
    return found
