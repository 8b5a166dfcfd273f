"""Converts the terms of FIELD's molecules: constraints, bonds, angles, dihedrals, exclusions and scaled 1-4 pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tessera.prepare.dlpoly.field import Field, Molecule, Term
from tessera.prepare.flat import FlatTopology
from tessera.prepare.lj_types import sigma_epsilon
from tessera.prepare.rows import Tables
from tessera.system import ForceField
from tessera.system.model import IdArray, IndexArray

_DEGREE = np.pi / 180
_WATER, _DIHYDROGEN = [1, 1, 8], [1, 1]


def add_terms(found: Field, flat: FlatTopology, tables: Tables, force_field: ForceField) -> None:
    """Adds the terms of all molecules to `flat`. Raises `InputError` for keys without a counterpart, by their line."""
    first = 0
    for molecule in found.molecules:
        size = len(molecule.sites)
        starts = first + size * np.arange(molecule.count)
        rows = slice(first, first + size)
        converted = _Converted(found, molecule, flat.atomic_number[rows], flat.type[rows], tables, force_field)
        for kind, atoms, row in converted.terms():
            flat.add(kind, starts[:, None] + np.array(atoms), np.full(len(starts), row))
        flat.add("exclusion", _everywhere(starts, converted.exclusions()))
        first += size * molecule.count


def _everywhere(starts: IdArray, pairs: IndexArray) -> IdArray:
    return (starts[:, None, None] + pairs).reshape(-1, 2)


class _Converted:
    """The terms of one molecule, with local indices."""

    def __init__(
        self, found: Field, molecule: Molecule, number: IndexArray, kind: IndexArray, tables: Tables, field: ForceField
    ) -> None:
        self.found, self.molecule, self.number, self.kind = found, molecule, number, kind
        self.tables, self.field = tables, field

    def terms(self) -> Iterator[tuple[str, tuple[int, ...], int]]:
        """Yields kind, atoms and row of the table."""
        unit = self.found.unit
        self._check_constraints()
        for i, j, length, _ in self.molecule.constraints:
            yield "bond", (i, j), self.tables["bond"].add(0.0, length)
        for term in self.molecule.terms["bond"]:
            if term.key.lstrip("-") not in ("harm", "hrm"):
                raise self._refused(term, "bond", "harm")
            k, length = term.parameter(0, "k"), term.parameter(1, "r₀")
            if k == 0:
                continue  # without a force it would be a constraint here
            yield "bond", term.atoms, self.tables["bond"].add(0.5 * k * unit, length)
        for term in self.molecule.terms["angl"]:
            if term.key.lstrip("-") not in ("harm", "hrm"):
                raise self._refused(term, "angle", "harm")
            k, angle = term.parameter(0, "k"), term.parameter(1, "θ₀")
            yield "angle", term.atoms, self.tables["angle"].add(0.5 * k * unit, angle * _DEGREE)
        for term in self.molecule.terms["dihe"]:
            yield from self._dihedral(term, unit)
        yield from self._pairs_14()

    def _dihedral(self, term: Term, unit: float) -> Iterator[tuple[str, tuple[int, ...], int]]:
        p = [term.parameter(at, f"parameter {at + 1}", None if at == 0 else 0.0) for at in range(3)]
        if term.key in ("cos", "-cos"):
            cosines = [(p[0] * unit, p[2], p[1] * _DEGREE)]
        elif term.key in ("cos3", "-cos3"):
            cosines = [(0.5 * p[n] * unit, n + 1.0, np.pi * (n == 1)) for n in range(3)]
        elif term.key == "harm":
            row = self.tables["improper_harmonic"].add(0.5 * p[0] * unit, p[1] * _DEGREE)
            yield "improper_harmonic", term.atoms, row
            return
        else:
            raise self._refused(term, "dihedral", "cos, cos3, harm")
        for k, n, phase in cosines:
            if n != int(n) or not 0 <= n <= 100:
                raise term.line.wrong(f"m is {n:g}, expected a whole number of periods")
            if k != 0:
                yield "dihedral", term.atoms, self.tables["dihedral"].add(k, n, phase)

    def _pairs_14(self) -> Iterator[tuple[str, tuple[int, ...], int]]:
        """Yields the 1-4 pairs whose interactions dihedrals keep in part. As in DL_POLY the factors of a pair's first
        dihedral count, and none where the pair are the ends of an angle, as in a ring of five."""
        angles = [term for term in self.molecule.terms["angl"] if not term.key.startswith("-")]
        seen = {frozenset((term.atoms[0], term.atoms[2])) for term in angles}
        for term in self.molecule.terms["dihe"]:
            pair = frozenset((term.atoms[0], term.atoms[3]))
            is_known = pair in seen
            seen.add(pair)
            if is_known or term.key.startswith("-"):
                continue
            coulomb, vdw = term.parameter(3, "a 1-4 factor", 0.0), term.parameter(4, "a 1-4 factor", 0.0)
            if coulomb == 0 and vdw == 0:
                continue
            i, j = term.atoms[0], term.atoms[3]
            sigma, epsilon = self._lennard_jones(term, i, j) if vdw != 0 else (1.0, 0.0)
            yield "pair_14", (i, j), self.tables["pair_14"].add(sigma, vdw * epsilon, coulomb)

    def _lennard_jones(self, term: Term, i: int, j: int) -> tuple[float, float]:
        """Returns σ and ε of two atoms. Raises `InputError` where their potential is another."""
        field, pair = self.field, sorted((int(self.kind[i]), int(self.kind[j])))
        for types in field.pair_types.tolist():
            if sorted(types) == pair:
                raise term.line.wrong("a scaled 1-4 pair with a potential other than Lennard-Jones is not supported")
        for row, types in enumerate(field.nbfix_types.tolist()):
            if sorted(types) == pair:
                if field.nbfix_ab is None:
                    return float(field.nbfix_lj[row, 0]), float(field.nbfix_lj[row, 1])
                a, b = field.nbfix_ab[row]
                if (a > 0) != (b > 0):
                    raise term.line.wrong("a scaled 1-4 pair of pure repulsion or attraction is not supported")
                sigma, epsilon = sigma_epsilon(np.array([a]), np.array([b]))
                return float(sigma[0]), float(epsilon[0])
        (s1, e1), (s2, e2) = field.type_lj[pair[0]], field.type_lj[pair[1]]
        return float(0.5 * (s1 + s2)), float(np.sqrt(e1 * e2))

    def exclusions(self) -> IndexArray:
        """Returns pairs (·,2): all pairs of the atoms of each constraint and term, unless its key begins with a
        dash."""
        groups: list[tuple[int, ...]] = [(i, j) for i, j, _, _ in self.molecule.constraints]
        for terms in self.molecule.terms.values():
            groups += [term.atoms for term in terms if not term.key.startswith("-")]
        pairs = {(min(i, j), max(i, j)) for atoms in groups for i in atoms for j in atoms if i != j}
        return np.array(sorted(pairs), np.int32).reshape(-1, 2)

    @property
    def is_rigid_water(self) -> bool:
        """Tells whether constraints make this a rigid three-site water, in any order of its atoms."""
        return sorted(self.number.tolist()) == _WATER and len(self.molecule.constraints) == 3

    def _check_constraints(self) -> None:
        """Checks that constraints of rigid water and of bonds to hydrogen are those that a run can hold."""
        if self.is_rigid_water:
            return
        for i, j, _, line in self.molecule.constraints:
            if (self.number[i] == 1) == (self.number[j] == 1) and self.number.tolist() != _DIHYDROGEN:
                raise line.wrong(
                    f"atoms {i + 1} and {j + 1} of {self.molecule.name} are constrained: only bonds to hydrogen and "
                    "three-site water may be; give the bond a potential"
                )

    def _refused(self, term: Term, what: str, known: str) -> Exception:
        return term.line.wrong(f"{what} potential {term.line.words[0]!r} is not supported; known: {known}")
