"""What a picture of a structure shows: backbones of chains, base pairs, tails, or atoms."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tessera.errors import InputError
from tessera.export.structure import Structure
from tessera.system.model import FloatArray, IdArray

#: Å between backbone atoms of neighbouring residues, at most: 3.8 in proteins and 7 in nucleic acids, and some strain
_REACH = {"protein": 5.5, "nucleic": 9.5}
_PAIRED = 4.0  # Å between N1 and N3 of a base pair, at most: 2.9, and some strain
#: A residue is in the core of a protein where so many others are so near, Å, as a mean over its neighbours in the chain
_CORE, _NEAR, _WINDOW = 11.0, 10.0, 5
_CARBON, _PHOSPHORUS = 6, 15


@dataclass(frozen=True)
class Backbone:
    """A chain without a gap. Equal chains have the same `number`, in the order in which their kinds occur."""

    kind: str  # "protein" or "nucleic"
    number: int
    points: FloatArray  # (n,3) Å
    is_tail: NDArray[np.bool_]  # (n,) ends of a protein that are outside its core


@dataclass(frozen=True)
class Scene:
    backbones: list[Backbone] = field(default_factory=list)
    pairs: FloatArray = field(default_factory=lambda: np.zeros((0, 2, 3)))  # Å, C1' of base pairs
    atoms: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))  # Å
    atomic_number: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def points(self) -> FloatArray:
        """Returns all places (n,3) Å."""
        return np.concatenate([*(one.points for one in self.backbones), self.pairs.reshape(-1, 3), self.atoms])


def scene_of(structure: Structure, as_atoms: bool = False) -> Scene:
    """Returns backbones of the proteins and nucleic acids, and their tails and pairs; or all atoms, also where there
    are no such chains. Raises `InputError` where there is nothing."""
    if structure.n_atoms == 0:
        raise InputError("there is no atom to draw")
    if not as_atoms:
        proteins = _backbones(structure, "protein", _trace(structure, "CA", _CARBON, "N"))
        nucleic = _backbones(structure, "nucleic", _trace(structure, "P", _PHOSPHORUS, "C1'"))
        if proteins or nucleic:
            return Scene(_with_tails(proteins) + nucleic, _pairs(structure))
    return Scene(atoms=structure.position, atomic_number=structure.atomic_number)


def _trace(structure: Structure, name: str, element: int, beside: str) -> IdArray:
    """Returns the atoms with this name and element in residues that have an atom named `beside`, too."""
    there = np.zeros(len(structure.residue_name), bool)
    there[structure.residue[structure.name == beside]] = True
    is_one = (structure.name == name) & (structure.atomic_number == element) & there[structure.residue]
    return np.flatnonzero(is_one)


def _backbones(structure: Structure, kind: str, atoms: IdArray) -> list[Backbone]:
    if len(atoms) < 2:
        return []
    residue, place = structure.residue[atoms], structure.position[atoms]
    distance = np.linalg.norm(np.diff(place, axis=0), axis=1)
    breaks = (np.diff(residue) != 1) | (distance > _REACH[kind])
    breaks |= structure.segment[residue[1:]] != structure.segment[residue[:-1]]
    found: list[Backbone] = []
    numbers: dict[tuple[str, ...], int] = {}
    for part in np.split(np.arange(len(atoms)), np.flatnonzero(breaks) + 1):
        if len(part) < 2:
            continue
        sequence = tuple(structure.residue_name[residue[part]]) if kind == "protein" else (str(len(numbers)),)
        number = numbers.setdefault(sequence, len(numbers))
        found.append(Backbone(kind, number, place[part], np.zeros(len(part), bool)))
    return found


def _with_tails(proteins: list[Backbone]) -> list[Backbone]:
    """Returns the same chains, with what is outside their common core at either end."""
    if not proteins:
        return []
    points = np.concatenate([one.points for one in proteins])
    near = cKDTree(points).query_ball_point(points, _NEAR, return_length=True) - 1
    found, begin = [], 0
    for one in proteins:
        own = near[begin : begin + len(one.points)]
        begin += len(one.points)
        width = min(_WINDOW, len(own))
        mean = np.convolve(np.pad(own, width // 2, mode="edge"), np.ones(width) / width, mode="valid")[: len(own)]
        inside = np.flatnonzero(mean >= _CORE)
        is_tail = np.ones(len(own), bool)
        if len(inside):
            is_tail[inside[0] : inside[-1] + 1] = False
        found.append(Backbone(one.kind, one.number, one.points, is_tail))
    return found


def _pairs(structure: Structure) -> FloatArray:
    """Returns the C1' (m,2,3) Å of bases that are paired as Watson and Crick have it: N1 of a purine and N3 of a
    pyrimidine are nearest to each other."""
    sugar = np.full(len(structure.residue_name), -1)
    atoms = _trace(structure, "C1'", _CARBON, "C4'")
    sugar[structure.residue[atoms]] = atoms
    is_purine = np.zeros(len(sugar), bool)
    is_purine[structure.residue[structure.name == "N9"]] = True
    is_base = sugar[structure.residue] >= 0
    one = np.flatnonzero(is_base & (structure.name == "N1") & is_purine[structure.residue])
    other = np.flatnonzero(is_base & (structure.name == "N3") & ~is_purine[structure.residue])
    if not len(one) or not len(other):
        return np.zeros((0, 2, 3))
    place = structure.position
    distance, nearest = cKDTree(place[other]).query(place[one])
    back = cKDTree(place[one]).query(place[other])[1]
    paired = (distance < _PAIRED) & (back[nearest] == np.arange(len(one)))
    ends = [sugar[structure.residue[which]] for which in (one[paired], other[nearest[paired]])]
    return np.stack([place[end] for end in ends], axis=1)
