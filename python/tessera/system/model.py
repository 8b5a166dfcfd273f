"""Defines `System`, the content of a system file in memory with coordinates in id order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.system.arrays import FloatArray, IdArray, IndexArray
from tessera.system.blocks import to_fraction
from tessera.system.scratch import scratch
from tessera.system.virtual_sites import VirtualSites

#: number of atoms in each kind of term
TERM_ATOMS = {
    "bond": 2,
    "angle": 3,
    "urey_bradley": 2,
    "dihedral": 4,
    "dihedral_rb": 4,
    "improper_harmonic": 4,
    "improper_periodic": 4,
    "cmap": 8,
    "pair_14": 2,
    "bond_quartic": 2,
    "angle_cosine": 3,
}

#: kinds of term that join two atoms chemically
BOND_KINDS = ("bond", "bond_quartic")

#: columns of each force-field table (a CMAP row is an n × n map and is stored separately)
FORCE_FIELD_COLUMNS = {
    "bond": 2,
    "angle": 2,
    "urey_bradley": 2,
    "dihedral": 3,
    "dihedral_rb": 6,
    "improper_harmonic": 2,
    "improper_periodic": 3,
    "pair_14": 3,
    "bond_quartic": 2,
    "angle_cosine": 2,
}


#: the kinds of pair potentials and the number of their parameters; formulas in the reference of the system file
PAIR_POTENTIALS = {
    "buckingham": 3,
    "born-huggins-mayer": 5,
    "morse": 3,
    "morse-12": 4,
    "n-m": 4,
    "12-6-4": 3,
    "12-10": 2,
    "wca": 3,
    "buffered-14-7": 2,
    "rydberg": 3,
    "zbl": 2,
    "table": 2,
}
PAIR_PARAMETERS = 5  # columns of their table; the rest of a row is 0


@dataclass
class Terms:
    """Terms of one kind in one template."""

    atoms: IndexArray  # (m, TERM_ATOMS) local indices
    parameter: IndexArray  # (m,) row of the force-field table

    @classmethod
    def empty(cls, kind: str) -> Terms:
        """Returns no terms of a kind."""
        return cls(np.zeros((0, TERM_ATOMS[kind]), np.int32), np.zeros(0, np.int32))

    def __len__(self) -> int:
        return len(self.parameter)

    def chosen(self, rows: NDArray[np.bool_]) -> Terms:
        """Returns those of the terms for which `rows` (m,) is true."""
        return Terms(self.atoms[rows], self.parameter[rows])


@dataclass
class Template:
    """One kind of molecule with n atoms and R residues, or a unit of chains, whose terms and exclusions may name atoms
    of the units before and behind it by their distance in ids from the unit's first atom."""

    name: str  # of the kind
    atom_name: NDArray[Any]  # (n,) text
    type: IndexArray  # (n,) row of `type_lj`
    charge: FloatArray  # (n,) elementary charges
    mass: FloatArray  # (n,) amu; 0: a virtual site
    atomic_number: IndexArray  # (n,) 0: unknown
    residue: IndexArray  # (n,) row of the residue tables
    residue_name: NDArray[Any]  # (R,) text
    segment_name: NDArray[Any]  # (R,) text
    residue_number: IndexArray  # (R,)
    group: IndexArray  # (n,) local index of the hydrogen group's key atom
    terms: dict[str, Terms] = field(default_factory=dict)  # by kind, such as "bond"
    exclusions: IndexArray = field(default_factory=lambda: np.zeros((0, 2), np.int32))  # (E,2) pairs
    virtual_sites: VirtualSites = field(default_factory=VirtualSites)  # atoms without mass, and where they stand
    rigid_water: bool = False  # whether it is rigid whenever there are constraints
    settle: tuple[float, float] | None = None  # Å: O–H, H–H
    always_rigid: bool = False  # whether the model has no flexible form
    flexible: bool = False  # flexible in the input: `h-bonds` leaves its bonds with a force alone
    insertion: NDArray[Any] = field(default_factory=lambda: np.zeros(0, "U1"))  # codes (R,) of residues, if any has one

    @property
    def n_atoms(self) -> int:
        """The number of atoms of one instance."""
        return len(self.type)

    @property
    def insertion_codes(self) -> NDArray[Any]:
        """The insertion code (R,) of each residue, mostly empty."""
        return self.insertion if len(self.insertion) else np.zeros(len(self.residue_name), "U1")

    def term(self, kind: str) -> Terms:
        """Returns the terms of a kind; there may be none."""
        return self.terms.get(kind) or Terms.empty(kind)

    @property
    def bonds(self) -> IndexArray:
        """The pairs of atoms (·,2) that have a bond of any form."""
        return np.concatenate([self.term(kind).atoms for kind in BOND_KINDS])

    def links(self) -> IndexArray:
        """Returns the pairs (·,2) that hold the molecule together: bonds, and each virtual site with a parent."""
        sites = self.virtual_sites
        _, first = np.unique(sites.parents[:, 0], return_index=True)
        return np.concatenate([self.bonds, np.stack([sites.atom, sites.parents[first, 1]], axis=1)])


@dataclass
class ForceField:
    """Parameter tables; columns and units as in the reference of the system file."""

    type_name: list[str]  # (T,)
    type_lj: FloatArray  # (T,2) σ Å, ε kcal/mol
    nbfix_types: IndexArray = field(default_factory=lambda: np.zeros((0, 2), np.int32))  # (F,2) rows of types
    nbfix_lj: FloatArray = field(default_factory=lambda: np.zeros((0, 2)))  # (F,2) σ Å, ε kcal/mol
    nbfix_ab: FloatArray | None = None  # (F,2) A kcal/mol Å¹², B kcal/mol Å⁶
    #: (P,2) pairs of types with a potential in place of Lennard-Jones; its kind and parameters (P,PAIR_PARAMETERS)
    pair_types: IndexArray = field(default_factory=lambda: np.zeros((0, 2), np.int32))
    pair_kind: list[str] = field(default_factory=list)  # (P,)
    pair_parameter: FloatArray = field(default_factory=lambda: np.zeros((0, PAIR_PARAMETERS)))  # by kind
    pair_tables: FloatArray = field(default_factory=lambda: np.zeros((0, 0, 2)))  # energy kcal/mol, −dU/dr kcal/mol/Å
    tables: dict[str, FloatArray] = field(default_factory=dict)  # by kind of term, (n,columns)
    cmap: FloatArray = field(default_factory=lambda: np.zeros((0, 24, 24)))  # kcal/mol

    def table(self, kind: str) -> FloatArray:
        """Returns the rows (n, columns) of a kind of term, in the units of the system file; there may be none."""
        if kind == "cmap":
            return self.cmap
        return self.tables.get(kind, np.zeros((0, FORCE_FIELD_COLUMNS[kind])))


#: the ways in which Lennard-Jones goes to zero at its cut-off
LJ_MODIFIERS = ("cut", "potential-switch", "force-switch", "force-switch-gromacs", "quintic-switch", "pme")


@dataclass(frozen=True)
class LennardJones:
    """How the source program ends Lennard-Jones interactions; a run does the same unless its run file sets another
    way."""

    modifier: str  # one of LJ_MODIFIERS
    cutoff: float  # Å
    switch: float = 0.0  # Å, where the modifier begins; 0 with cut and pme
    tail: bool = False  # whether the mean energy and pressure beyond the cut-off are added


#: a program's default where its input has no setting, by `coulomb_source`
USUAL_LENNARD_JONES = {
    "charmm": LennardJones("force-switch", 12.0, 10.0),
    "amber": LennardJones("cut", 9.0, tail=True),
    "gromacs": LennardJones("cut", 10.0),
    "openmm": LennardJones("cut", 10.0, tail=True),
    "dl_poly": LennardJones("cut", 12.0, tail=True),
}
#: of a system in a vacuum whose input has no cut-off: the longest that a run file may have
ALL_PAIRS = LennardJones("cut", 1e6)


@dataclass
class System:
    """Force field, templates, runs of instances and coordinates (in id order)."""

    box: FloatArray  # (3,3) Å, rows are the box vectors, lower triangular
    periodic: bool  # whether the box repeats; False: a vacuum
    coulomb_constant: float  # kcal Å mol⁻¹ e⁻²
    coulomb_source: str  # program whose constant that is
    lj_rule: str  # how σ and ε of two types are combined
    lennard_jones: LennardJones  # how the source ends these interactions
    source: str  # what it was made from, in words
    force_field: ForceField  # parameters
    templates: list[Template]  # kinds of molecules
    runs: IdArray  # (R,2) template, count
    fraction: NDArray[np.int32]  # (N,3), position = fraction·2⁻³²·box
    velocity: FloatArray | None = None  # (N,3) Å/ps
    #: (3,) Å: where the middle of a vacuum's frame is in the input's coordinates; zeros where the box repeats
    origin: FloatArray = field(default_factory=lambda: np.zeros(3))
    #: (K,4) first, count, number, step: among all instances, molecules first, first + 1, … begin with the input's
    #: residue numbers number, number + step, …; in order, without overlap
    residue_numbers: IdArray = field(default_factory=lambda: np.zeros((0, 4), np.int64))
    #: (C,2) first run, number of runs: consecutive runs of units that together are one molecule; in order, without
    #: overlap. Elsewhere here a unit counts as an instance like a molecule.
    chains: IdArray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    chain_name: list[str] = field(default_factory=list)  # (C,)
    #: (K,3) first, count, row of `segment_name`: the segment that instances first, first + 1, … are in, in place of the
    #: one that their template names; in order, without overlap
    segments: IdArray = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    segment_name: list[str] = field(default_factory=list)  # by row
    notes: list[str] = field(default_factory=list)  # for the user who makes the system; not in the file
    warnings: list[str] = field(default_factory=list)  # the same, where a mistake is likely

    def __repr__(self) -> str:
        place = "periodic" if self.periodic else "in a vacuum"
        return f"<System of {self.n_atoms:,} atoms in {self.n_molecules:,} molecules, {place}, from {self.source!r}>"

    @property
    def n_atoms(self) -> int:
        """The number of atoms of all instances."""
        return int((self.template_sizes()[self.runs[:, 0]] * self.runs[:, 1]).sum())

    @property
    def n_instances(self) -> int:
        """The number of instances of templates."""
        return int(self.runs[:, 1].sum())

    @property
    def n_molecules(self) -> int:
        """The number of molecules: of chains, and of instances that are in none."""
        return self.n_instances - int((self.chain_instances()[:, 1] - 1).sum())

    def template_sizes(self) -> IdArray:
        """Returns the number of atoms in each template (templates,)."""
        return np.array([t.n_atoms for t in self.templates], np.int64)

    def instances(self) -> tuple[IdArray, IdArray]:
        """Returns the template and the first atom id of every instance, two arrays (instances,)."""
        template = np.repeat(self.runs[:, 0], self.runs[:, 1])
        ends = np.cumsum(self.template_sizes()[template])
        return template, np.concatenate([np.zeros(1, np.int64), ends[:-1]])[: len(template)]

    def starts(self) -> list[IdArray]:
        """Returns the first atom ids (n,) of the instances of each template, in order."""
        template, first = self.instances()
        order = np.argsort(template, kind="stable")
        ends = np.cumsum(np.bincount(template, minlength=len(self.templates)))
        return np.split(first[order], ends)[:-1]

    def starts_of(self, index: int) -> IdArray:
        """Returns the first atom ids (n,) of the instances of one template, in order, without listing others."""
        sizes, (kind, count) = self.template_sizes(), self.runs.T
        ends = np.cumsum(sizes[kind] * count)
        rows = np.flatnonzero(kind == index)
        many, size = count[rows], sizes[index]
        first = ends[rows] - size * np.cumsum(many)  # of a run, as if the instances before it were in it, too
        return np.asarray(np.repeat(first, many) + size * np.arange(many.sum()))

    def chain_instances(self) -> IdArray:
        """Returns the first instance of each chain and the number of its units, (C,2)."""
        ends = np.append(0, np.cumsum(self.runs[:, 1]))
        first, behind = ends[self.chains[:, 0]], ends[self.chains.sum(axis=1)]
        return np.stack([first, behind - first], axis=1)

    def molecule_starts(self) -> IdArray:
        """Returns the first atom id of every molecule (molecules,)."""
        first = self.instances()[1]
        begins = np.ones(len(first), bool)
        for begin, count in self.chain_instances().tolist():
            begins[begin + 1 : begin + count] = False
        return first[begins]

    def atom_field(self, name: str) -> NDArray[Any]:
        """Returns `charge`, `mass`, `type`, … (N,) of every atom in id order, from the templates."""
        values = [np.asarray(getattr(t, name)) for t in self.templates]
        out = np.empty(self.n_atoms, np.result_type(*values) if values else np.float64)
        for starts, value in zip(self.starts(), values, strict=True):
            out[starts[:, None] + np.arange(len(value))] = value
        return out

    def group_key(self, ids: IdArray | None = None) -> IdArray:
        """Returns the id (n,) of the key atom of the hydrogen group of each of these atoms; None: of all."""
        sizes, (template, count) = self.template_sizes(), self.runs.T
        ends = np.cumsum(sizes[template] * count)
        groups = np.concatenate([np.zeros(0, np.int32), *(t.group for t in self.templates)])
        first_group = np.cumsum(sizes) - sizes
        ids = np.arange(self.n_atoms) if ids is None else ids
        run = np.searchsorted(ends, ids, side="right")
        kind = template[run]
        begin = (ends - sizes[template] * count)[run]
        local = (ids - begin) % sizes[kind]
        return np.asarray(ids - local + groups[first_group[kind] + local], np.int64)

    def virtual_site_ids(self) -> IdArray:
        """Returns the ids (n,) of all virtual sites, in order."""
        found = [np.zeros(0, np.int64)]
        for starts, template in zip(self.starts(), self.templates, strict=True):
            if len(template.virtual_sites):
                found.append((starts[:, None] + template.virtual_sites.atom).reshape(-1))
        return np.sort(np.concatenate(found))

    def place_virtual_sites(self) -> FloatArray:
        """Puts all virtual sites where their parents say. Returns how far each has moved, (n,) Å, in the order of ids;
        NaN where its direction is undetermined, and it stays."""
        ids, moved = [np.zeros(0, np.int64)], [np.zeros(0)]
        if not any(len(t.virtual_sites) for t in self.templates):
            return moved[0]
        for begin, template in zip(self.starts(), self.templates, strict=True):
            sites = template.virtual_sites
            if not len(sites):
                continue
            for some in scratch().ranges(len(begin), template.n_atoms):
                rows = begin[some, None] + np.arange(template.n_atoms)
                first = self.fraction[rows[:, :1]]
                whole = ((self.fraction[rows] - first) * 2.0**-32) @ self.box  # differences of integers wrap
                there = sites.place(whole)
                distance = np.linalg.norm(there - whole[:, sites.atom], axis=-1)
                known = np.isfinite(distance)
                instance, site = np.nonzero(known)
                place = to_fraction(there[known], self.box)
                self.fraction[rows[instance, sites.atom[site]]] = first[instance, 0] + place
                ids.append(rows[:, sites.atom].reshape(-1))
                moved.append(distance.reshape(-1))
        order = np.argsort(np.concatenate(ids), kind="stable")
        return np.concatenate(moved)[order]

    def expand(self, kind: str) -> tuple[IdArray, IdArray]:
        """Returns every term of a kind with global ids: atoms (M, k) and parameter rows (M,)."""
        atoms, rows = [np.zeros((0, TERM_ATOMS[kind]), np.int64)], [np.zeros(0, np.int64)]
        for starts, template in zip(self.starts(), self.templates, strict=True):
            terms = template.term(kind)
            atoms.append((starts[:, None, None] + terms.atoms).reshape(-1, TERM_ATOMS[kind]))
            rows.append(np.tile(terms.parameter.astype(np.int64), len(starts)))
        return np.concatenate(atoms), np.concatenate(rows)

    def expand_exclusions(self) -> IdArray:
        """Returns every excluded pair (M,2) with global ids."""
        pairs = [np.zeros((0, 2), np.int64)]
        for starts, template in zip(self.starts(), self.templates, strict=True):
            # A pair of two units is in both: that of its first atom counts.
            own = template.exclusions[template.exclusions[:, 0] >= 0]
            pairs.append((starts[:, None, None] + own).reshape(-1, 2))
        return np.concatenate(pairs)

    def positions(self) -> FloatArray:
        """Returns positions (N,3) Å, wrapped into [−½, ½) of each box vector; in a vacuum those of the input."""
        return (self.fraction * 2.0**-32) @ self.box + self.origin

    def net_charge(self) -> float:
        """Returns the charge of the whole system in elementary charges."""
        template, count = self.runs.T
        charges = np.array([t.charge.sum() for t in self.templates])
        return float((charges[template] * count).sum())

    def term_counts(self) -> dict[str, int]:
        """Returns the number of terms of each kind in the whole system."""
        count = np.zeros(len(self.templates), np.int64)
        np.add.at(count, self.runs[:, 0], self.runs[:, 1])
        return {
            kind: int(sum(len(t.term(kind)) * int(c) for t, c in zip(self.templates, count))) for kind in TERM_ATOMS
        }
