"""Holds a whole system as arrays in input order, and splits it into templates × instances."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.errors import InputError
from tessera.prepare.rows import Rows
from tessera.system import TERM_ATOMS, Template, Terms, VirtualSites
from tessera.system.model import FloatArray, IdArray, IndexArray
from tessera.system.scratch import scratch

#: terms without a force-field row: excluded pairs, and a topology's raw lists, of which the parameters are looked up
#: when the templates are known; `held` are pairs that the input itself holds at a fixed distance, and `site_parent`
#: joins a virtual site and one of its parents, with a row of `sites`
RAW_ATOMS = {
    "exclusion": 2,
    "held": 2,
    "raw_angle": 3,
    "raw_dihedral": 4,
    "raw_improper": 4,
    "raw_cmap": 8,
    "site_parent": 2,
}
WIDTH = {**TERM_ATOMS, **RAW_ATOMS}


@dataclass
class FlatTopology:
    """The atoms (n,) and terms (m, k) of a whole system; ids are in input order."""

    name: NDArray[np.bytes_]
    type: IndexArray  # code of each atom's type in `type_names`
    type_names: list[str]
    charge: FloatArray  # elementary charges
    mass: FloatArray  # amu
    atomic_number: IndexArray
    residue_name: NDArray[np.bytes_]
    residue_number: IndexArray
    segment: NDArray[np.bytes_]
    terms: dict[str, tuple[IdArray, IdArray]] = field(default_factory=dict)
    insertion: NDArray[np.bytes_] = field(default_factory=lambda: np.zeros(0, "S1"))  # codes (n,) of residues, if any
    sites: Rows = field(default_factory=lambda: Rows(7))  # frame, p₁ p₂ p₃, and a parent's weights o x y

    def __post_init__(self) -> None:
        if not len(self.insertion):
            self.insertion = np.zeros(self.n_atoms, "S1")

    @property
    def n_atoms(self) -> int:
        return len(self.name)

    def add(self, kind: str, atoms: Any, parameter: Any | None = None) -> None:
        """Appends terms: atoms (m, k) and rows (m,), which are 0 where parameters come later."""
        atoms = np.asarray(atoms, np.int64).reshape(-1, WIDTH[kind])
        rows = np.zeros(len(atoms), np.int64) if parameter is None else np.asarray(parameter)
        if kind in self.terms:
            old_atoms, old_rows = self.terms[kind]
            atoms, rows = np.concatenate([old_atoms, atoms]), np.concatenate([old_rows, rows])
        self.terms[kind] = (atoms, rows.astype(np.int64))
        if atoms.size and (atoms.min() < 0 or atoms.max() >= self.n_atoms):
            raise InputError(
                f"a {kind.removeprefix('raw_')} names atom {int(atoms.max()) + 1}, but there are {self.n_atoms} atoms"
            )

    def keep_names(self) -> None:
        """Gives up all but what `describe` needs, which may go into files."""
        self.terms = {}
        self.type = np.zeros(0, np.int32)
        self.charge = self.mass = np.zeros(0)
        self.atomic_number = np.zeros(0, np.int32)
        for column in ("name", "residue_name", "residue_number", "segment", "insertion"):
            setattr(self, column, scratch().kept(getattr(self, column)))

    def virtual_sites(self) -> IdArray:
        """Returns the ids of atoms that are virtual sites, in order."""
        return np.unique(self.terms["site_parent"][0][:, 0]) if "site_parent" in self.terms else np.zeros(0, np.int64)

    def describe(self, atom: int) -> str:
        """Returns a text such as `CA of ALA 12 in PROA (atom 173)`."""
        segment = self.segment[atom].decode()
        inside = f" in {segment}" if segment else ""
        residue = f"{self.residue_name[atom].decode()} {self.residue_number[atom]}{self.insertion[atom].decode()}"
        return f"{self.name[atom].decode()} of {residue}{inside} (atom {atom + 1})"


@dataclass
class Split:
    """Templates, the runs of their instances, and the first atom of each template's first instance."""

    templates: list[Template]
    raw: list[dict[str, IndexArray]]  # per template: lists of `RAW_ATOMS`, local indices
    runs: IdArray  # (R,2)
    first_atom: list[int]

    def held(self) -> list[IndexArray]:
        """Returns for each template the pairs (·,2) that the input holds at a fixed distance."""
        return [lists.get("held", np.zeros((0, 2), np.int32)) for lists in self.raw]


def split(flat: FlatTopology) -> Split:
    """Cuts the atoms into the shortest stretches that no term crosses; equal stretches are one template.

    A stretch is a molecule where molecules are contiguous in the input. Interleaved molecules become one stretch,
    because ids of instances follow each other.
    """
    start = _segment_starts(flat)
    length = np.diff(np.append(start, flat.n_atoms))
    segment_of = np.repeat(np.arange(len(start)), length)
    residue, residue_start = _residues(flat, start)
    hashes = _hashes(flat, start, segment_of, residue)
    key = np.stack([length.astype(np.uint64), hashes], axis=1)
    _, first, inverse = np.unique(key, axis=0, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first, kind="stable")
    rank = np.empty_like(by_appearance)
    rank[by_appearance] = np.arange(len(by_appearance))
    template_of = rank[inverse.reshape(-1)]
    first = first[by_appearance]
    local = _terms_of_first(flat, first, start, segment_of)
    templates, raws = [], []
    for index, segment in enumerate(first):
        rows = slice(int(start[segment]), int(start[segment] + length[segment]))
        template, raw = _make_template(flat, rows, residue, residue_start, local[index])
        templates.append(template)
        raws.append(raw)
    return Split(templates, raws, _run_lengths(template_of), [int(start[s]) for s in first])


def _segment_starts(flat: FlatTopology) -> IdArray:
    crossing = np.zeros(flat.n_atoms + 1, np.int64)
    for atoms, _ in flat.terms.values():
        if len(atoms):
            np.add.at(crossing, atoms.min(axis=1), 1)
            np.add.at(crossing, atoms.max(axis=1), -1)
    open_after = np.cumsum(crossing)[: flat.n_atoms]
    starts = np.flatnonzero(open_after[:-1] == 0) + 1
    return np.concatenate([[0], starts]).astype(np.int64)


def _residues(flat: FlatTopology, start: IdArray) -> tuple[IdArray, IdArray]:
    """Returns the residue index of each atom (n,), and the first atom of each residue."""
    change = np.ones(flat.n_atoms, bool)
    change[1:] = (
        (flat.residue_number[1:] != flat.residue_number[:-1])
        | (flat.residue_name[1:] != flat.residue_name[:-1])
        | (flat.segment[1:] != flat.segment[:-1])
        | (flat.insertion[1:] != flat.insertion[:-1])
    )
    change[start] = True
    return np.cumsum(change) - 1, np.flatnonzero(change)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Applies splitmix64's finaliser, in which every input bit changes every output bit."""
    z = values + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _words(values: NDArray[Any]) -> list[NDArray[np.uint64]]:
    """Returns the bits of an array as 64-bit columns, so that text and numbers can be hashed in the same way."""
    if values.dtype.kind == "S":
        width = max(8, -(-values.dtype.itemsize // 8) * 8)
        words = values.astype(f"S{width}").view(np.uint64).reshape(len(values), -1)
        return list(words.T)
    if values.dtype.kind == "f":
        return [values.astype(np.float64).view(np.uint64)]
    return [values.astype(np.int64).view(np.uint64)]


def _hashes(flat: FlatTopology, start: IdArray, segment_of: IdArray, residue: IdArray) -> NDArray[np.uint64]:
    """Returns 64-bit hashes (segments,) over everything in which two molecules may differ."""
    local_residue = residue - residue[start][segment_of]
    index = np.arange(flat.n_atoms) - start[segment_of]
    state = _mix(index.view(np.uint64))
    columns = (flat.name, flat.type, flat.charge, flat.mass, flat.residue_name, local_residue)
    codes = (flat.insertion,) if (flat.insertion != b"").any() else ()
    for column in (*columns, *codes):
        for word in _words(column):
            state = _mix(state ^ word)
    out = np.add.reduceat(state, start)
    for salt, kind in enumerate(sorted(flat.terms), start=1):
        atoms, parameter = flat.terms[kind]
        if not len(atoms):
            continue
        segment = segment_of[atoms[:, 0]]
        value = np.full(len(atoms), salt, np.uint64)
        for column in (*(atoms - start[segment][:, None]).T, parameter):
            value = _mix(value ^ np.ascontiguousarray(column).view(np.uint64))
        np.add.at(out, segment, value)
    return out


def _terms_of_first(flat: FlatTopology, first: IdArray, start: IdArray, segment_of: IdArray) -> list[dict[str, Terms]]:
    """Returns the terms of each template's first instance, with local indices, in input order."""
    template_of_segment = np.full(len(start), -1, np.int64)
    template_of_segment[first] = np.arange(len(first))
    out: list[dict[str, Terms]] = [{} for _ in first]
    for kind, (atoms, parameter) in flat.terms.items():
        if not len(atoms):
            continue
        segment = segment_of[atoms[:, 0]]
        template = template_of_segment[segment]
        rows = np.flatnonzero(template >= 0)
        rows = rows[np.argsort(template[rows], kind="stable")]
        local = (atoms[rows] - start[segment[rows]][:, None]).astype(np.int32)
        edges = np.searchsorted(template[rows], np.arange(len(first) + 1))
        for index in np.flatnonzero(np.diff(edges)):
            part = slice(edges[index], edges[index + 1])
            out[index][kind] = Terms(local[part], parameter[rows][part].astype(np.int32))
    return out


def _make_template(
    flat: FlatTopology,
    rows: slice,
    residue: IdArray,
    residue_start: IdArray,
    terms: dict[str, Terms],
) -> tuple[Template, dict[str, IndexArray]]:
    local_residue = residue[rows] - residue[rows.start]
    heads = residue_start[residue[rows.start] : residue[rows.stop - 1] + 1]
    template = Template(
        name=_template_name(flat, heads),
        atom_name=_texts(flat.name[rows]),
        type=flat.type[rows].astype(np.int32),
        charge=flat.charge[rows].copy(),
        mass=flat.mass[rows].copy(),
        atomic_number=flat.atomic_number[rows].astype(np.int32),
        residue=local_residue.astype(np.int32),
        residue_name=_texts(flat.residue_name[heads]),
        segment_name=_texts(flat.segment[heads]),
        residue_number=flat.residue_number[heads].astype(np.int32),
        insertion=_texts(flat.insertion[heads]) if (flat.insertion[heads] != b"").any() else np.zeros(0, "U1"),
        group=np.arange(rows.stop - rows.start, dtype=np.int32),
        terms={k: t for k, t in terms.items() if k in TERM_ATOMS},
        virtual_sites=_virtual_sites(flat, terms.get("site_parent")),
    )
    raw = {k: terms[k].atoms for k in RAW_ATOMS if k in terms}
    return template, raw


def _virtual_sites(flat: FlatTopology, parents: Terms | None) -> VirtualSites:
    if parents is None:
        return VirtualSites()
    rows = flat.sites.table()[parents.parameter]
    atom, first, site = np.unique(parents.atoms[:, 0], return_index=True, return_inverse=True)
    return VirtualSites(
        atom=atom.astype(np.int32),
        frame=rows[first, 0].astype(np.int32),
        position=rows[first, 1:4],
        parents=np.stack([site.reshape(-1), parents.atoms[:, 1]], axis=1).astype(np.int32),
        weights=rows[:, 4:],
    )


def _texts(names: NDArray[np.bytes_]) -> NDArray[np.str_]:
    return np.char.decode(names, "utf-8", "replace")


def _template_name(flat: FlatTopology, heads: IdArray) -> str:
    """Returns the name of a kind of molecules: of one residue its own, else that of the segment, or those of the
    residues at both ends where it has none."""
    if len(heads) == 1:
        return flat.residue_name[heads[0]].decode().strip() or flat.name[heads[0]].decode()
    ends = (flat.residue_name[heads[i]].decode() for i in (0, -1))
    return flat.segment[heads[0]].decode().strip() or "…".join(ends)


def _run_lengths(template_of: IdArray) -> IdArray:
    change = np.flatnonzero(np.diff(template_of)) + 1
    begin = np.concatenate([[0], change])
    count = np.diff(np.append(begin, len(template_of)))
    return np.stack([template_of[begin], count], axis=1).astype(np.int64)
