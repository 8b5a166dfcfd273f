"""The turns of small groups that may take two atoms apart: φ of a phosphate and χ of a side chain.

φ turns P, its oxygens and O5' about the line from O3' of one nucleotide to C5' of the next; χ turns a side chain about
its bond of Cα and Cβ (Jung et al. 2019; Carter and Tung 1996).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tessera.build.clashes.molecules import ROLE, Molecules
from tessera.system.model import IdArray

_NUCLEIC = {ROLE[name] for name in ("P", "O5'", "C5'", "C4'", "C3'", "O3'")}
_PROTEIN = {ROLE[name] for name in ("N", "CA", "C")}
_MOST_TURNED = 60  # atoms of a group; side chains of proteins have up to 19
_LONGEST_BOND = 2.5  # Å: of a disulfide it is 2.05
_STEPS = 5  # bonds from a sugar's atom to the phosphates on both sides


@dataclass(frozen=True)
class Turn:
    """A group of atoms and the axis about which it turns."""

    letter: str  # φ, χ, or what turns of a tail
    axis: tuple[int, int]
    turned: IdArray

    @property
    def key(self) -> tuple[int, int]:
        return self.axis


def turns_of(molecules: Molecules, atom: int) -> list[Turn]:
    """Returns the turns that move an atom, or what it is bonded to: φ for atoms of the backbone of nucleic acids and
    the hydrogens on them, χ for those of side chains."""
    role, graph = molecules.role, molecules.graph
    if molecules.is_rigid[atom]:
        return []
    on = [atom, *graph.of(atom)] if role[atom] == 0 else [atom]
    backbone = [other for other in on if role[other] in _NUCLEIC]
    is_end = len(graph.of(atom)) == 1 or role[atom] in _NUCLEIC
    if backbone and is_end:
        return [turn for phosphorus in _phosphates(molecules, backbone[0]) for turn in _phi(molecules, phosphorus)]
    return _chi(molecules, atom)


def _phosphates(molecules: Molecules, start: int) -> list[int]:
    """Returns the phosphorus atoms that bonds of the backbone lead to, in the order of their distance."""
    role, found, seen, edge = molecules.role, [], {start}, [start]
    for _ in range(_STEPS):
        found += [atom for atom in edge if role[atom] == ROLE["P"]]
        inner = [atom for atom in edge if role[atom] != ROLE["P"]]
        edge = [b for a in inner for b in molecules.graph.of(a) if role[b] in _NUCLEIC and b not in seen]
        seen |= set(edge)
    return found + [atom for atom in edge if role[atom] == ROLE["P"]]


def _phi(molecules: Molecules, phosphorus: int) -> list[Turn]:
    """Returns the turn of a phosphate between two sugars; none at the end of a strand, or where it is broken."""
    graph, role = molecules.graph, molecules.role
    before = [atom for atom in graph.of(phosphorus) if role[atom] == ROLE["O3'"]]
    bridge = [atom for atom in graph.of(phosphorus) if role[atom] == ROLE["O5'"]]
    behind = [atom for oxygen in bridge for atom in graph.of(oxygen) if role[atom] == ROLE["C5'"]]
    if len(before) != 1 or len(behind) != 1:
        return []
    axis = (before[0], behind[0])
    turned = graph.reached(phosphorus, axis, _MOST_TURNED)
    is_whole = all(role[atom] in (ROLE["P"], ROLE["O5'"], 0) for atom in turned)
    if len(turned) > _MOST_TURNED or not is_whole or _is_broken(molecules, [(before[0], phosphorus)]):
        return []
    return [Turn("φ", axis, np.array(sorted(turned)))]


def _chi(molecules: Molecules, atom: int) -> list[Turn]:
    """Returns the turn of the side chain that an atom is in: none for one that is bonded elsewhere too, as those of
    proline and of disulfides, and none for Cβ, which is on the axis."""
    graph, role = molecules.graph, molecules.role
    if role[atom] in _PROTEIN or role[atom] == ROLE["CB"]:
        return []
    stop = tuple(a for a in graph.within(atom, 1).tolist() if role[a] in _PROTEIN)
    if stop:
        return []
    group = [atom]
    ends: dict[int, int] = {}
    seen = {atom}
    for here in group:
        for other in graph.of(here):
            if role[here] == ROLE["CB"] and role[other] == ROLE["CA"]:
                ends[here] = other
            elif other not in seen:
                seen.add(other)
                group.append(other)
        if len(group) > _MOST_TURNED:
            return []
    if len(ends) != 1 or any(role[a] in _PROTEIN or role[a] in _NUCLEIC for a in group):
        return []
    ((beta, alpha),) = ends.items()
    if not {ROLE["N"], ROLE["C"]} <= {role[atom] for atom in graph.of(alpha)}:  # no amino acid
        return []
    turned = np.array(sorted(set(group) - {beta}))
    if not len(turned) or has_disulfide(molecules, turned):
        return []
    return [Turn("χ", (alpha, beta), turned)]


def has_disulfide(molecules: Molecules, atoms: IdArray) -> bool:
    """Tells whether a sulphur of a group is as near to one elsewhere as in a disulfide, which files may leave out."""
    others = molecules.sulphurs[~np.isin(molecules.sulphurs, atoms)]
    for sulphur in atoms[molecules.role[atoms] == ROLE["SG"]]:
        place = molecules.near(others, molecules.position[sulphur])
        if (np.linalg.norm(place - molecules.position[sulphur], axis=1) < _LONGEST_BOND).any():
            return True
    return False


def _is_broken(molecules: Molecules, pairs: list[tuple[int, int]]) -> bool:
    for one, other in pairs:
        start = molecules.position[one]
        if np.linalg.norm(molecules.near(np.array([other]), start)[0] - start) > _LONGEST_BOND:
            return True
    return False


def describe(molecules: Molecules, turn: Turn) -> str:
    """Returns a text such as `χ of LYS 45 in chain A`."""
    return f"{turn.letter} of {molecules.residue_label(turn.axis[1])}"
