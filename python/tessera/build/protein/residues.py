"""The amino acids of a CHARMM topology at their places in chains: with patches at the ends and for disulfides, and in
the shape that their internal coordinates give them."""

from __future__ import annotations

import numpy as np

from tessera.build.charmm.joins import halves_of
from tessera.build.charmm.places import Places, completed
from tessera.build.charmm.topology import Names, Residue, Topology
from tessera.prepare.charmm_parameters import CharmmParameters

_BACKBONE = ("N", "CA", "C")
_FIRST = {"PRO": "PROP", "GLY": "GLYP"}
#: Å: three atoms and their neighbours in the next residues, about which a residue is built alone
_SEED: Places = {
    "N": np.array([-0.5, 1.36, 0.0]),
    "CA": np.zeros(3),
    "C": np.array([1.52, 0.0, 0.0]),
    "-C": np.array([-1.83, 1.46, 0.2]),
    "+N": np.array([2.1, -1.2, 0.2]),
    "+CA": np.array([3.5, -1.3, 0.3]),
}


class AminoAcids:
    """The amino acids of a force field; equal ones are one object."""

    def __init__(self, topology: Topology, table: CharmmParameters) -> None:
        self.topology = topology
        self.table = table
        self._residues: dict[tuple[str, bool, bool, bool], Residue] = {}
        self._alone: dict[int, Places] = {}

    def residue(self, name: str, is_first: bool, is_last: bool, is_bridged: bool = False) -> Residue:
        """Returns a residue; a bridged one is cysteine in a disulfide. Raises `InputError`."""
        key = (name, is_first, is_last, is_bridged)
        if key not in self._residues:
            found = self.topology.residue(name)
            if is_first:
                found = found.patched(self.topology.patch(_FIRST.get(name, "NTER")))
            if is_last:
                found = found.patched(self.topology.patch("CTER"))
                found.bonds = [names for names in found.bonds if names[1][0] != "+"]
            if is_bridged:
                found = found.patched(halves_of(self.topology.patch("DISU"))[0])
            self._residues[key] = found
        return self._residues[key]

    def alone(self, residue: Residue) -> Places:
        """Returns the places of a residue's atoms that its internal coordinates give: the handedness that it has."""
        if id(residue) not in self._alone:
            self._alone[id(residue)] = completed(residue, _SEED, self.table)
        return self._alone[id(residue)]


def is_heavy(name: str) -> bool:
    """Tells whether an atom of CHARMM's amino acids is no hydrogen."""
    return not name.startswith("H")


def neighbours(residue: Residue) -> dict[str, list[str]]:
    """Returns the names of the atoms to which each atom of a residue is bonded, those of other residues with signs."""
    near: dict[str, list[str]] = {name: [] for name in residue.atoms}
    for one, other in residue.bonds:
        near.get(one, []).append(other)
        near.get(other, []).append(one)
    if len(near.get("N", [])) == 2:
        near["N"].append("-C")  # topologies list the bond to the next residue alone; a patch gives the first hydrogens
    return near


def turning(residue: Residue, missing: set[str]) -> list[tuple[Names, list[float]]]:
    """Returns the internal coordinates that turn missing heavy atoms of a side chain about a bond, and dihedrals
    (degrees) to try: thirds of a turn between tetrahedral atoms, sixths where one end is planar, none where both
    are."""
    near = neighbours(residue)
    found = []
    for c in residue.coordinates:
        _, j, k, end = c.atoms
        is_side = not c.is_branch and end in missing and j in near and k in near and k not in _BACKBONE
        if not is_side or _is_ring(near, j, k):
            continue
        planar = sum(len(near[name]) == 3 for name in (j, k))
        steps = {0: 3, 1: 6, 2: 1}[planar]
        found.append((c.atoms, [c.dihedral + turn * 360 / steps for turn in range(steps)]))
    return found


def _is_ring(near: dict[str, list[str]], one: str, other: str) -> bool:
    """Tells whether a bond is part of a ring."""
    reached, front = {one}, [name for name in near[one] if name != other]
    while front:
        name = front.pop()
        if name == other:
            return True
        if name not in reached:
            reached.add(name)
            front += near.get(name, [])
    return False
