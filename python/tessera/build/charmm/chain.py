"""Joins residues to chains, and chains to the topology of a system as a PSF holds it.

Angles and dihedrals are those of all bonds (CHARMM's AUTOGENERATE), and those that residues list besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tessera.build.charmm.topology import Names, Residue
from tessera.errors import InputError
from tessera.prepare.charmm_parameters import CharmmParameters
from tessera.prepare.psf import Psf
from tessera.system.model import IdArray

_KINDS = {"bonds": 2, "angles": 3, "dihedrals": 4, "impropers": 4, "cross_terms": 8}


@dataclass(frozen=True)
class Chain:
    """Residues in a row, numbered from 1 or another number. Equal residues are one object. In a closed chain the first
    follows the last."""

    segment: str
    residues: Sequence[Residue]
    is_closed: bool = False
    first: int = 1


@dataclass(frozen=True)
class Link:
    """A bond between atoms of any residues, each with the rows of its chain and its residue, and its name."""

    one: tuple[int, int, str]
    other: tuple[int, int, str]


def psf_of(chains: Sequence[Chain], table: CharmmParameters, links: Sequence[Link] = ()) -> Psf:
    """Returns the topology of chains. Raises `InputError` for a type without a mass, and for a residue that needs
    another after or before it."""
    residues = [residue for chain in chains for residue in chain.residues]
    sizes = np.array([len(residue.atoms) for residue in residues])
    total = int(sizes.sum())
    terms: dict[str, list[IdArray]] = {kind: [] for kind in _KINDS}
    first = 0
    for chain in chains:
        for kind, entries in _terms(chain, first).items():
            terms[kind].append(entries)
        first += sum(len(residue.atoms) for residue in chain.residues)
    terms["bonds"].append(_linked(chains, sizes, links))
    lists = {kind: np.concatenate([np.zeros((0, width), np.int64), *terms[kind]]) for kind, width in _KINDS.items()}
    makes = np.repeat([residue.automatic for residue in residues], sizes)
    angles, dihedrals = automatic(total, lists["bonds"][makes[lists["bonds"]].all(axis=1)])
    atoms = [atom for residue in residues for atom in residue.atoms.values()]
    mass = {name: table.mass(name) for name in {atom.type for atom in atoms}}
    number = np.concatenate([np.arange(len(chain.residues)) + chain.first for chain in chains])
    segment = [chain.segment for chain in chains for _ in chain.residues]
    return Psf(
        segment=np.repeat(np.array(segment, "S8"), sizes),
        residue_number=np.repeat(number, sizes).astype(np.int32),
        insertion=np.zeros(total, "S1"),
        residue_name=np.repeat(np.array([residue.name for residue in residues], "S8"), sizes),
        name=np.array([name for residue in residues for name in residue.atoms], "S8"),
        type=np.array([atom.type for atom in atoms], "S8"),
        charge=np.array([atom.charge for atom in atoms]),
        mass=np.array([mass[atom.type] for atom in atoms]),
        bonds=lists["bonds"],
        angles=_joined(angles, lists["angles"]),
        dihedrals=_joined(dihedrals, lists["dihedrals"]),
        impropers=lists["impropers"],
        cross_terms=lists["cross_terms"],
        exclusions=np.zeros((0, 2), np.int64),
        lone_pairs=[],
        fixed=np.zeros(0, np.int64),
        notes=[],
    )


def labels_of(psf: Psf) -> list[str]:
    """Returns what messages call the atoms."""
    names, residues, segments = (texts.astype(str).tolist() for texts in (psf.name, psf.residue_name, psf.segment))
    places = zip(names, residues, psf.residue_number.tolist(), segments)
    return [f"{name} of {residue} {number} in {segment}" for name, residue, number, segment in places]


def _linked(chains: Sequence[Chain], sizes: IdArray, links: Sequence[Link]) -> IdArray:
    """Returns the bonds (·,2) of links, from the sizes of all residues."""
    begins = np.cumsum([0, *sizes])
    heads = np.cumsum([0, *(len(chain.residues) for chain in chains)])

    def id_of(chain: int, residue: int, name: str) -> int:
        names = list(chains[chain].residues[residue].atoms)
        return int(begins[heads[chain] + residue]) + names.index(name)

    return np.array([(id_of(*link.one), id_of(*link.other)) for link in links], np.int64).reshape(-1, 2)


def _terms(chain: Chain, first: int) -> dict[str, IdArray]:
    """Returns the lists of a chain whose first atom has this id. Bonds across an end of the chain are left out, as
    CHARMM does: a nucleotide lists one with the next."""
    rows = {id(residue): {name: row for row, name in enumerate(residue.atoms)} for residue in chain.residues}
    begins = first + np.cumsum([0, *(len(residue.atoms) for residue in chain.residues)])
    found: dict[str, list[list[int]]] = {kind: [] for kind in _KINDS}

    def id_of(name: str, index: int) -> int | None:
        step = {"+": 1, "-": -1}.get(name[:1], 0)
        other = index + step
        if chain.is_closed:
            other %= len(chain.residues)
        if not 0 <= other < len(chain.residues):
            return None
        row = rows[id(chain.residues[other])].get(name[abs(step) :])
        if row is None:
            residue, beside = chain.residues[index], chain.residues[other]
            raise InputError(
                f"{residue.where}: {residue.name} {index + 1} of {chain.segment} is joined to {name}, which "
                f"{beside.name} {other + 1} ({beside.where}) lacks"
            )
        return int(begins[other]) + row

    for index, residue in enumerate(chain.residues):
        for kind, lists in found.items():
            entries: list[Names] = getattr(residue, kind)
            for names in entries:
                ids = [id_of(name, index) for name in names]
                if None not in ids:
                    lists.append(ids)  # type: ignore[arg-type]
    return {kind: np.array(found[kind], np.int64).reshape(-1, width) for kind, width in _KINDS.items()}


def automatic(n: int, bonds: IdArray) -> tuple[IdArray, IdArray]:
    """Returns the angles (·,3) and dihedrals (·,4) of all bonds (·,2) among n atoms."""
    both = np.unique(np.concatenate([bonds, bonds[:, ::-1]]), axis=0)
    count = np.bincount(both[:, 0], minlength=n)
    near = np.full((n, max(int(count.max(initial=0)), 1)), -1)  # the neighbours of each atom
    near[both[:, 0], np.arange(len(both)) - (np.cumsum(count) - count)[both[:, 0]]] = both[:, 1]
    one, other = np.triu_indices(near.shape[1], 1)
    angles = np.stack([near[:, one], np.broadcast_to(np.arange(n)[:, None], (n, len(one))), near[:, other]], axis=-1)
    angles = angles.reshape(-1, 3)
    j, k = np.unique(np.sort(bonds, axis=1), axis=0).T
    shape = (len(j), near.shape[1], near.shape[1])
    middle = (np.broadcast_to(column[:, None, None], shape) for column in (j, k))
    ends = (np.broadcast_to(near[j][:, :, None], shape), np.broadcast_to(near[k][:, None, :], shape))
    i, (j, k), last = ends[0], middle, ends[1]
    dihedrals = np.stack([i, j, k, last], axis=-1).reshape(-1, 4)
    wrong = (dihedrals[:, 0] == dihedrals[:, 2]) | (dihedrals[:, 3] == dihedrals[:, 1])
    wrong |= (dihedrals < 0).any(axis=1) | (dihedrals[:, 0] == dihedrals[:, 3])
    return angles[(angles >= 0).all(axis=1)], dihedrals[~wrong]


def _joined(made: IdArray, listed: IdArray) -> IdArray:
    """Returns the terms that are made and those of a list that are not among them, in either direction."""
    if not len(listed):
        return made
    known = set(map(tuple, made.tolist()))
    more = [entry for entry in listed.tolist() if tuple(entry) not in known and tuple(entry[::-1]) not in known]
    return np.concatenate([made, np.array(more, np.int64).reshape(-1, made.shape[1])])
