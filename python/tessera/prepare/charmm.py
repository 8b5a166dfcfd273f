"""Converts CHARMM's PSF, parameters and coordinates to a `System`.

The PSF is split into templates first; parameters are looked up once for each different tuple of
types in each template, never once for each atom.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path

import numpy as np

from tessera.constants import atomic_numbers
from tessera.errors import InputError
from tessera.prepare.assemble import Origin, assemble, check_coordinates
from tessera.prepare.charmm_duplicates import Key
from tessera.prepare.charmm_parameters import CharmmParameters, read_parameters
from tessera.prepare.coordinates import Coordinates, read_coordinates
from tessera.prepare.flat import FlatTopology, split
from tessera.prepare.molecule import neighbour_pairs, sorted_pairs
from tessera.prepare.numbering import selection_of
from tessera.prepare.pairing import pair_by_name
from tessera.prepare.psf import LonePair, Psf, read_psf
from tessera.prepare.rows import Tables
from tessera.prepare.virtual_sites import (
    Site,
    add_sites,
    along,
    bisector,
    check_massless,
    drop_bonded_terms,
    internal_coordinates,
)
from tessera.system import ForceField, System, Template, Terms
from tessera.system.model import FloatArray, IdArray, IndexArray

_SHOWN = 10  # the most missing parameters that a message lists


def prepare_charmm(
    psf: str | Path,
    coordinates: str | Path,
    parameters: Sequence[str | Path],
    box: FloatArray | None = None,
    vacuum: bool = False,
    report: Callable[[str], None] = lambda _: None,
    trust_order: bool = False,
) -> System:
    """Makes the system of a PSF, coordinates and `parameters`, which are in the order in which CHARMM reads them.

    `box`: (3,3) Å, rows are its vectors; None: that of the inputs. `vacuum`: no box, even if they have one.
    `trust_order`: rows of the coordinates are in the order of the topology, whatever atoms are called. `report` is
    called with each step of the work. Raises `InputError`.
    """
    if not parameters:
        raise InputError("no parameter files: give --params (and --topology)")
    report("reading parameters")
    table = read_parameters(parameters)
    report("reading the PSF")
    topology = read_psf(psf)
    flat = flat_of(topology, table)
    report("reading coordinates")
    found = read_coordinates(coordinates)
    check_coordinates(flat, found)
    notes = pair_by_name(flat, found, coordinates, trust_order=trust_order)
    names = " ".join(Path(p).name for p in (psf, coordinates, *parameters))
    origin = Origin("charmm", table.lj_rule, f"prepare charmm: {names}", coordinates=Path(coordinates).name)
    system = system_of(flat, table, found, origin, box, vacuum, [*topology.notes, *notes], report)
    if len(topology.fixed):
        held = selection_of(topology.fixed)
        system.warnings.append(f'the PSF fixes atoms (IMOVE is 1): set fixed = "{held}" in [dynamics] of the run file')
    return system


def system_of(
    flat: FlatTopology,
    table: CharmmParameters,
    found: Coordinates,
    origin: Origin,
    box: FloatArray | None = None,
    vacuum: bool = False,
    notes: Sequence[str] = (),
    report: Callable[[str], None] = lambda _: None,
) -> System:
    """Splits a topology into templates, looks their parameters up and joins them with coordinates.

    Raises `InputError` that lists missing parameters.
    """
    report("finding molecules")
    pieces = split(flat)
    report("looking parameters up")
    lookup = _Lookup(flat, table)
    for template, raw, first in zip(pieces.templates, pieces.raw, pieces.first_atom):
        lookup.fill(template, raw, first)
    lookup.raise_missing()
    system = assemble(
        flat,
        pieces.templates,
        pieces.runs,
        lookup.force_field(),
        found,
        origin,
        box,
        vacuum,
        [*notes, *table.notes()],
        report,
    )
    system.warnings += table.warnings()
    return system


def flat_of(psf: Psf, table: CharmmParameters) -> FlatTopology:
    """Returns the PSF's atoms and terms. Types that the PSF gives as numbers get their names here."""
    unique, first, codes = np.unique(psf.type, return_index=True, return_inverse=True)
    names = [table.type_name(t.decode(), float(psf.mass[i])) for t, i in zip(unique, first)]
    type_names = sorted(set(names))
    renumber = np.array([type_names.index(name) for name in names], np.int32)
    flat = FlatTopology(
        name=psf.name,
        type=renumber[codes],
        type_names=type_names,
        charge=psf.charge,
        mass=psf.mass,
        atomic_number=atomic_numbers(psf.mass, psf.name),
        residue_name=psf.residue_name,
        residue_number=psf.residue_number,
        segment=psf.segment,
        insertion=psf.insertion,
    )
    add_sites(flat, {lone_pair.atom: _site(lone_pair, flat) for lone_pair in psf.lone_pairs})
    check_massless(
        flat,
        ""
        if psf.lone_pairs
        else ", because the PSF has no lone pairs (section !NUMLP) that say where it lies, as of TIP4P: write the PSF "
        "by CHARMM, or by psfgen 2.0 or later with a topology that has LONEPAIR lines",
    )
    flat.add("bond", psf.bonds)
    flat.add("raw_angle", psf.angles)
    flat.add("raw_dihedral", psf.dihedrals)
    flat.add("raw_improper", psf.impropers)
    flat.add("raw_cmap", psf.cross_terms)
    flat.add("exclusion", psf.exclusions)
    drop_bonded_terms(flat, ("bond", "raw_angle", "raw_dihedral", "raw_improper"))
    return flat


def _site(lone_pair: LonePair, flat: FlatTopology) -> Site:
    distance, angle, dihedral = lone_pair.distance, np.radians(lone_pair.angle), np.radians(lone_pair.dihedral)
    if len(lone_pair.hosts) == 2:
        if lone_pair.angle or lone_pair.dihedral:
            raise InputError(
                f"the lone pair {flat.describe(lone_pair.atom)} lies at a share of the distance of its hosts: only a "
                "fixed distance is supported"
            )
        first, second = lone_pair.hosts
        return along(first, (second,), (1,), -distance)
    i, j, k = lone_pair.hosts
    if distance < 0:
        return bisector(i, j, k, -distance, angle, dihedral)
    return internal_coordinates(i, j, k, distance, angle, dihedral)


@dataclass
class _Lookup:
    """Fills templates with parameters and collects what is missing."""

    flat: FlatTopology
    table: CharmmParameters
    tables: Tables = field(default_factory=Tables)
    missing: dict[tuple[str, Key], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = self.flat.type_names
        self.lj = [self.table.lj(name) for name in names]
        self.nbfix = self.table.nbfix(names)
        self.scale_14 = self.table.electrostatic_14_scale()
        for code, (name, values) in enumerate(zip(names, self.lj)):
            if values is None:
                atom = int(np.flatnonzero(self.flat.type == code)[0])
                self.missing["Lennard-Jones", (name,)] = self.flat.describe(atom)

    def fill(self, template: Template, raw: dict[str, IndexArray], first: int) -> None:
        types = template.type
        bonds = template.term("bond").atoms
        template.terms["bond"] = self._simple("bond", bonds, types, first, self.table.bond)
        angles = raw.get("raw_angle", np.zeros((0, 3), np.int32))
        template.terms["angle"] = self._simple("angle", angles, types, first, self.table.angle)
        template.terms["urey_bradley"] = self._urey_bradleys(angles, types)
        self._dihedrals(template, raw.get("raw_dihedral"), first)
        self._impropers(template, raw.get("raw_improper"), first)
        self._cmaps(template, raw.get("raw_cmap"), first)
        one, two, three = neighbour_pairs(template.n_atoms, bonds)
        explicit = raw.get("exclusion", np.zeros((0, 2), np.int32))
        near = with_lone_pairs(template, np.concatenate([one, two]))
        template.exclusions = sorted_pairs(near, three, explicit)
        template.terms["pair_14"] = self._pairs_14(_without(three, explicit), types)

    def _types_of(self, atoms: IndexArray, types: IndexArray) -> tuple[IndexArray, IdArray]:
        unique, inverse = np.unique(types[atoms], axis=0, return_inverse=True)
        return unique, inverse.reshape(-1)

    def _key(self, codes: IndexArray) -> Key:
        return tuple(self.flat.type_names[c] for c in codes)

    def _miss(self, kind: str, codes: IndexArray, atoms: IndexArray, first: int) -> None:
        key, label = self._key(codes), "–".join(self.flat.describe(first + int(a)) for a in atoms[0])
        if (kind, key[::-1]) not in self.missing:
            self.missing.setdefault((kind, key), label)

    def _simple(
        self,
        kind: str,
        atoms: IndexArray,
        types: IndexArray,
        first: int,
        find: Callable[[Key], tuple[float, float] | None],
    ) -> Terms:
        if not len(atoms):
            return Terms.empty(kind)
        unique, inverse = self._types_of(atoms, types)
        rows = np.zeros(len(unique), np.int32)
        for index, codes in enumerate(unique):
            found = find(self._key(codes))
            if found is None:
                self._miss(kind, codes, atoms[inverse == index], first)
            else:
                rows[index] = self.tables[kind].add(*found)
        return Terms(atoms, rows[inverse])

    def _urey_bradleys(self, angles: IndexArray, types: IndexArray) -> Terms:
        if not len(angles):
            return Terms.empty("urey_bradley")
        unique, inverse = self._types_of(angles, types)
        rows = np.full(len(unique), -1, np.int32)
        for index, codes in enumerate(unique):
            found = self.table.urey_bradley(self._key(codes))
            if found is not None:
                rows[index] = self.tables["urey_bradley"].add(*found)
        row = rows[inverse]
        return Terms(angles[row >= 0][:, [0, 2]], row[row >= 0])

    def _expand(self, template: Template, atoms: IndexArray, choices: list[list[tuple[str, int]]]) -> None:
        """Expands term i to one row for each (kind, row) in `choices[i]`; these rows follow each other."""
        gathered: dict[str, tuple[list[int], list[int]]] = {}
        for index, rows in enumerate(choices):
            for kind, row in rows:
                lists = gathered.setdefault(kind, ([], []))
                lists[0].append(index)
                lists[1].append(row)
        for kind, (indices, row_list) in gathered.items():
            old = template.term(kind)
            template.terms[kind] = Terms(
                np.concatenate([old.atoms, atoms[indices]]),
                np.concatenate([old.parameter, np.array(row_list, np.int32)]),
            )

    def _dihedrals(self, template: Template, atoms: IndexArray | None, first: int) -> None:
        if atoms is None:
            return
        unique, inverse = self._types_of(atoms, template.type)
        choices: list[list[tuple[str, int]]] = []
        for index, codes in enumerate(unique):
            cosines = self.table.dihedral(self._key(codes))
            if cosines is None:
                self._miss("dihedral", codes, atoms[inverse == index], first)
            choices.append([self._dihedral_row(*c) for c in cosines or []])
        self._expand(template, atoms, [choices[i] for i in inverse])

    def _dihedral_row(self, k: float, n: float, delta: float) -> tuple[str, int]:
        if n == 0:
            return "improper_harmonic", self.tables["improper_harmonic"].add(k, delta)
        return "dihedral", self.tables["dihedral"].add(k, n, delta)

    def _impropers(self, template: Template, atoms: IndexArray | None, first: int) -> None:
        if atoms is None:
            return
        unique, inverse = self._types_of(atoms, template.type)
        choices: list[list[tuple[str, int]]] = []
        for index, codes in enumerate(unique):
            found = self.table.improper(self._key(codes))
            if found is None:
                self._miss("improper", codes, atoms[inverse == index], first)
                choices.append([])
                continue
            kind = "improper_harmonic" if len(found) == 2 else "improper_periodic"
            choices.append([(kind, self.tables[kind].add(*found))])
        self._expand(template, atoms, [choices[i] for i in inverse])

    def _cmaps(self, template: Template, atoms: IndexArray | None, first: int) -> None:
        if atoms is None:
            return
        unique, inverse = self._types_of(atoms, template.type)
        rows = np.zeros(len(unique), np.int32)
        for index, codes in enumerate(unique):
            found = self.table.cmap(self._key(codes))
            if found is None:
                self._miss("CMAP", codes, atoms[inverse == index], first)
            else:
                rows[index] = self.tables.add_map(found)
        template.terms["cmap"] = Terms(atoms, rows[inverse])

    def _pairs_14(self, pairs: IndexArray, types: IndexArray) -> Terms:
        if not len(pairs):
            return Terms.empty("pair_14")
        unique, inverse = self._types_of(pairs, types)
        rows = [self.tables["pair_14"].add(*self._lj_14(*c), self.scale_14) for c in unique]
        return Terms(pairs, np.array(rows, np.int32)[inverse])

    def _lj_14(self, i: int, j: int) -> tuple[float, float]:
        names = self.flat.type_names
        fixed = self.nbfix.get((names[min(i, j)], names[max(i, j)]))
        if fixed is not None:
            return fixed[2], fixed[3]
        first, second = self.lj[i], self.lj[j]
        if first is None or second is None:
            return 1.0, 0.0
        if self.table.lj_rule == "geometric":
            sigma = float(np.sqrt(first[2] * second[2]))
        else:
            sigma = 0.5 * (first[2] + second[2])
        return sigma, float(np.sqrt(first[3] * second[3]))

    def raise_missing(self) -> None:
        if not self.missing:
            return
        lines = [
            f"  {kind} {'-'.join(key)}: first at {where}" for (kind, key), where in list(self.missing.items())[:_SHOWN]
        ]
        more = len(self.missing) - _SHOWN
        if more > 0:
            lines.append(f"  … and {more} more")
        if any(name.isdigit() for name in self.flat.type_names):
            lines.append(
                "  (the PSF has atom types as numbers: give the topology that it was made with, which names them)"
            )
        raise InputError(
            f"{len(self.missing)} parameter(s) are missing from the given files; "
            "add the files that hold them with --params or --topology:\n" + "\n".join(lines)
        )

    def force_field(self) -> ForceField:
        names = self.flat.type_names
        index = {name: code for code, name in enumerate(names)}
        return ForceField(
            type_name=names,
            type_lj=np.array([v[:2] if v else (1.0, 0.0) for v in self.lj]).reshape(-1, 2),
            nbfix_types=np.array([(index[a], index[b]) for a, b in self.nbfix], np.int32).reshape(-1, 2),
            nbfix_lj=np.array([v[:2] for v in self.nbfix.values()]).reshape(-1, 2),
            tables=self.tables.tables(),
            cmap=self.tables.maps(),
        )


def with_lone_pairs(template: Template, pairs: IndexArray) -> IndexArray:
    """Adds to the pairs of atoms one or two bonds apart those of their lone pairs. A lone pair excludes what its
    first host excludes; 1-4 pairs with lone pairs interact."""
    sites = template.virtual_sites
    if not len(sites):
        return pairs
    _, first = np.unique(sites.parents[:, 0], return_index=True)
    members: dict[int, list[int]] = {}
    for atom, host in zip(sites.atom.tolist(), sites.parents[first, 1].tolist()):
        members.setdefault(host, [host]).append(atom)
    more = [pair for group in members.values() for pair in combinations(group, 2)]
    for i, j in pairs.tolist():
        if i in members or j in members:
            more += product(members.get(i, [i]), members.get(j, [j]))
    return np.concatenate([pairs, np.array(more, np.int32).reshape(-1, 2)])


def _without(pairs: IndexArray, removed: IndexArray) -> IndexArray:
    """Returns those rows of `pairs` (i < j) that are not in `removed`."""
    gone = {(min(a, b), max(a, b)) for a, b in removed.tolist()}
    keep = [(i, j) not in gone for i, j in pairs.tolist()] if gone else slice(None)
    return pairs[keep]
