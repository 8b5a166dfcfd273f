"""The atoms that are written, with the names that files give them, and molecules in one piece."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from tessera.build.replicate import make_whole
from tessera.errors import InputError
from tessera.system import System
from tessera.system.model import BOND_KINDS, FloatArray, IdArray
from tessera.system.molecules import Kind, kinds
from tessera.system.scratch import scratch

NO_SEGMENT = "SYS"
_CHAINS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
Texts = NDArray[np.object_]


@dataclass
class Structure:
    """Some or all atoms of a system in id order; residues are counted from 0."""

    ids: IdArray  # (n,) in the system
    name: Texts  # (n,)
    type: Texts  # (n,) names of types
    charge: FloatArray  # (n,) elementary charges
    mass: FloatArray  # (n,) amu
    atomic_number: NDArray[np.int32]  # (n,) 0: unknown
    residue: IdArray  # (n,) row of the next five
    residue_name: Texts  # (R,)
    residue_number: IdArray  # (R,)
    insertion: Texts  # (R,) insertion codes, mostly empty
    segment: Texts  # (R,)
    chain: Texts  # (R,) one character
    position: FloatArray  # (n,3) Å
    velocity: FloatArray | None  # (n,3) Å/ps
    box: FloatArray | None  # (3,3) Å, lower triangular; None: vacuum
    title: str  # one line of ASCII
    time: float = 0.0  # ps

    @property
    def n_atoms(self) -> int:
        """The number of atoms."""
        return len(self.ids)

    def residue_labels(self) -> Texts:
        """Returns numbers of residues (R,) with their insertion codes, as texts."""
        pairs = zip(self.residue_number.tolist(), self.insertion.tolist())
        return np.array([f"{number}{code}" for number, code in pairs], object)

    def subset(self, atoms: IdArray) -> Structure:
        """Returns these atoms (n,), rows in order, with their residues."""
        residues, residue = np.unique(self.residue[atoms], return_inverse=True)
        by_atom = ("ids", "name", "type", "charge", "mass", "atomic_number", "position")
        by_residue = ("residue_name", "residue_number", "insertion", "segment", "chain")
        return Structure(
            **{name: getattr(self, name)[atoms] for name in by_atom},
            **{name: getattr(self, name)[residues] for name in by_residue},
            residue=residue.astype(np.int64),
            velocity=None if self.velocity is None else self.velocity[atoms],
            box=self.box,
            title=self.title,
            time=self.time,
        )


def structure_of(system: System, title: str, time: float = 0.0, whole: bool = True) -> Structure:
    """Returns all atoms of a system.

    `whole`: molecules are in one piece, each with its centre in the box; otherwise every atom is in the box on its own.
    Raises `InputError` where a molecule is bonded to its own image and can't be whole.
    """
    template, first = system.instances()
    n_residues = np.array([len(t.residue_name) for t in system.templates], np.int64)
    first_residue = np.cumsum(n_residues[template]) - n_residues[template]
    shift = number_shifts(system, template)
    types = _texts(system.force_field.type_name)
    n, total = system.n_atoms, int(n_residues[template].sum())
    by_atom: dict[str, Texts] = {name: np.empty(n, object) for name in ("name", "type")}
    by_residue: dict[str, Texts] = {name: np.empty(total, object) for name in ("residue_name", "insertion", "segment")}
    residue, number = np.empty(n, np.int64), np.empty(total, np.int64)
    for index, kind in enumerate(system.templates):
        which = np.flatnonzero(template == index)
        atoms = first[which, None] + np.arange(kind.n_atoms)
        residues = first_residue[which, None] + np.arange(n_residues[index])
        by_atom["name"][atoms] = _texts(kind.atom_name)
        by_atom["type"][atoms] = types[kind.type]
        by_residue["residue_name"][residues] = _texts(kind.residue_name)
        by_residue["insertion"][residues] = _texts(kind.insertion_codes)
        by_residue["segment"][residues] = _texts(kind.segment_name, NO_SEGMENT)
        residue[atoms] = first_residue[which, None] + kind.residue
        number[residues] = shift[which, None] + kind.residue_number
    begin_residue = np.append(first_residue, total)
    names = _texts(system.segment_name, NO_SEGMENT)
    for begin, count, name in system.segments.tolist():
        by_residue["segment"][begin_residue[begin] : begin_residue[begin + count]] = names[name]
    return Structure(
        ids=np.arange(n),
        **by_atom,
        charge=system.atom_field("charge"),
        mass=system.atom_field("mass"),
        atomic_number=system.atom_field("atomic_number"),
        residue=residue,
        **by_residue,
        residue_number=number,
        chain=_chains(by_residue["segment"]),
        position=_whole_positions(system) if whole and system.periodic else system.positions(),
        velocity=system.velocity,
        box=system.box if system.periodic else None,
        title=title.encode("ascii", "replace").decode(),
        time=time,
    )


def _texts(values: Iterable[Any], blank: str = "") -> Texts:
    return np.array([str(value).strip() or blank for value in values], object)


def symbols(atomic_number: NDArray[np.int32], unknown: str = "") -> Texts:
    """Returns the symbols of the elements by atomic number, (highest + 1,), up to the highest of these (n,)."""
    from MDAnalysis.guesser.tables import Z2SYMB

    return np.array([Z2SYMB.get(number, unknown) for number in range(int(atomic_number.max()) + 1)], object)


def number_shifts(system: System, template: IdArray) -> IdArray:
    """Returns what is added to a template's residue numbers, (instances,).

    Molecules of one residue to which the file gives no number, such as waters of `make` and `replicate`, are counted on
    from it. Larger ones have the numbers of the template: inputs that number them alike leave no others in the file.
    """
    shift = np.zeros(len(template), np.int64)
    numbered = np.zeros(len(template), bool)
    starts = np.array([int(t.residue_number[0]) if len(t.residue_number) else 0 for t in system.templates], np.int64)
    for begin, count, number, step in system.residue_numbers:
        rows = slice(int(begin), int(begin + count))
        numbered[rows] = True
        shift[rows] = number + step * np.arange(count) - starts[template[rows]]
    for index, kind in enumerate(system.templates):
        rest = np.flatnonzero((template == index) & ~numbered)
        if len(kind.residue_number) == 1:
            shift[rest] = np.arange(len(rest))
    return shift


def _chains(segments: Texts) -> Texts:
    """Returns a character for each segment: its own name where that is one, or the next that is free; after 62 they
    repeat."""
    names = list(dict.fromkeys(segments.tolist()))
    own = {name for name in names if len(name) == 1 and name in _CHAINS}
    free = [letter for letter in _CHAINS if letter not in own] or list(_CHAINS)
    others = [name for name in names if name not in own]
    chain = {name: name for name in own} | {name: free[i % len(free)] for i, name in enumerate(others)}
    return np.array([chain[name] for name in segments.tolist()], object)


def _whole_positions(system: System) -> FloatArray:
    try:
        whole = make_whole(system)
    except InputError as error:
        reason = str(error).split(";")[0]
        raise InputError(f"{reason} and has no ends: --wrap atoms writes each atom in the box") from None
    for kind in kinds(system):
        order, begin, piece = _pieces(kind)
        for rows in scratch().ranges(len(kind.starts), kind.n_atoms):
            atoms = kind.starts[rows, None] + order
            block = whole[atoms]
            centre = np.add.reduceat(block, begin, axis=1) / np.diff(np.append(begin, len(order)))[None, :, None]
            turns = np.rint(centre * 2.0**-32).astype(np.int64) << 32
            whole[atoms] = block - turns[:, piece]
    return np.asarray((whole * 2.0**-32) @ system.box)


def _pieces(kind: Kind) -> tuple[IdArray, IdArray, IdArray]:
    """Returns atoms (n,) ordered by the bonded piece that they belong to, where each piece begins, and the piece of
    each."""
    n, links = kind.n_atoms, kind.links
    graph = scipy.sparse.csr_array((np.ones(len(links), np.int8), links.T), shape=(n, n))
    _, label = scipy.sparse.csgraph.connected_components(graph, directed=False)
    order = np.argsort(label, kind="stable")
    piece = label[order].astype(np.int64)
    return order, np.flatnonzero(np.diff(piece, prepend=-1)), piece


def terms(system: System, ids: IdArray) -> dict[str, IdArray]:
    """Returns `bond` (·,2), `angle` (·,3), `dihedral`, `improper` (·,4) and `cmap` (·,8) among these atoms (n,), as
    their rows.

    A dihedral of several cosines is there once.
    """
    row = np.full(system.n_atoms, -1, np.int64)
    row[ids] = np.arange(len(ids))
    members_of = {
        "bond": BOND_KINDS,
        "angle": ("angle", "angle_cosine"),
        "dihedral": ("dihedral", "dihedral_rb"),
        "improper": ("improper_harmonic", "improper_periodic"),
        "cmap": ("cmap",),
    }
    found = {}
    for name, members in members_of.items():
        parts = []
        for starts, kind in zip(system.starts(), system.templates, strict=True):
            atoms = np.concatenate([kind.term(member).atoms for member in members]).astype(np.int64)
            _, chosen = np.unique(atoms, axis=0, return_index=True)
            local = atoms[np.sort(chosen)]
            parts.append(row[starts[:, None, None] + local].reshape(-1, local.shape[1]))
        everything = np.concatenate(parts)
        found[name] = everything[(everything >= 0).all(axis=1)]
    return found
