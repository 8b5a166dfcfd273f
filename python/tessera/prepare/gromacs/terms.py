"""Converts interactions of a GROMACS topology to terms: nm and kJ/mol become Å and kcal/mol, and ½k becomes k."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tessera.constants import KJ, NM
from tessera.errors import InputError
from tessera.prepare.flat import FlatTopology
from tessera.prepare.gromacs.topology import Group, Molecule, Topology
from tessera.prepare.gromacs.types import ForceFieldTypes, Numbers
from tessera.prepare.lj_types import force_field_of
from tessera.prepare.rows import Tables
from tessera.system import ForceField
from tessera.system.model import FloatArray, IdArray

_C6, _C12 = KJ * NM**6, KJ * NM**12
_SAME_LENGTH = 1e-6  # Å
#: functions of bonds and constraints that count as bonds for nrexcl
_CHEMICAL = {("bonds", 1), ("bonds", 2), ("bonds", 5), ("constraints", 1)}
# A pair that only repels, or only attracts, is one whose other part cannot be seen: at 1 to 100 Å it is less than
# 1e-14 of the whole.
_FAR, _NEAR = 1e5, 1e-3  # σ in Å

Row = tuple[str, tuple[float, ...]]  # a kind of term and its parameters
Found = Iterator[tuple[Row, IdArray, IdArray]]  # its lines (m,) and atoms (m,k)


def force_field_of_types(types: ForceFieldTypes, names: list[str], rule: str) -> ForceField:
    """Returns the Lennard-Jones parameters of the named types and of every pair of them."""
    n = len(names)
    a, b = np.zeros((n, n)), np.zeros((n, n))
    for name in names:
        if min(types.coefficients(*types.atoms[name].lj)) < 0:
            raise InputError(f"{types.atoms[name].where}: atom type {name} has a negative parameter: not supported")
    for i, first in enumerate(names):
        for j, second in enumerate(names[: i + 1]):
            c6, c12 = types.coefficients(*types.pair(first, second))
            if c6 < 0 or c12 < 0:
                raise InputError(f"[ nonbond_params ]: {first}-{second} has a negative parameter: not supported")
            a[i, j] = a[j, i] = c12 * _C12
            b[i, j] = b[j, i] = c6 * _C6
    return force_field_of(names, a, b, rule)


class TermGatherer:
    """Adds the terms of each molecule to a `FlatTopology`."""

    def __init__(self, read: Topology, flat: FlatTopology, tables: Tables) -> None:
        self._read = read
        self._flat = flat
        self._tables = tables
        self._terms: dict[str, list[tuple[IdArray, IdArray, int]]] = {}  # lines, atoms, row of the table
        self._n_lines = 0

    def add(self, molecule: Molecule, first: int) -> IdArray:
        """Adds all terms of a molecule, of which atoms begin at `first`. Returns its chemical bonds (m,2), with atoms
        from 0."""
        joined: list[IdArray] = []
        held: list[IdArray] = []
        readers: dict[str, Callable[[Group], Found]] = {
            "bonds": self._bonds,
            "settles": self._settles,
            "constraints": self._constraints,
            "pairs": lambda group: self._pairs(group, first),
            "angles": self._angles,
            "dihedrals": self._dihedrals,
        }
        for section, reader in readers.items():
            last = 0
            for group in self._read.groups(molecule, section):
                for (kind, row), lines, atoms in reader(group):
                    index = self._tables[kind].add(*row)
                    self._terms.setdefault(kind, []).append((self._n_lines + lines, first + atoms, index))
                    if section in ("settles", "constraints"):
                        held.append(first + atoms)
                if (section, group.function) in _CHEMICAL:
                    joined.append(group.atoms)
                elif section == "settles":  # where there are two, GROMACS takes the first
                    joined.append(np.stack([group.atoms[:, 0], group.atoms[:, 0] + 1], axis=1))
                last = max(last, int(group.rows.max()) + 1)
            self._n_lines += last
        self._flat.add("held", np.concatenate([np.zeros((0, 2), np.int64), *held]))
        self._hold_once()
        for kind, parts in self._terms.items():
            lines = np.concatenate([p[0] for p in parts])
            atoms = np.concatenate([p[1] for p in parts])
            rows = np.repeat([p[2] for p in parts], [len(p[0]) for p in parts])
            order = np.argsort(lines, kind="stable")
            self._flat.add(kind, atoms[order], rows[order])
        self._terms.clear()
        self._cmaps(molecule, first)
        return np.concatenate([np.zeros((0, 2), np.int64), *joined])

    def _state_a(self, group: Group, section: str) -> list[Numbers]:
        return [self._read.state_a(section, group.function, numbers, group.place) for numbers in group.numbers]

    def _bonds(self, group: Group) -> Found:
        for numbers in self._state_a(group, "bonds"):
            if group.function == 5:  # a bond without a force
                continue
            length, k = numbers
            if group.function == 2:
                if k:
                    yield ("bond_quartic", (k * KJ / NM**4 / 4, length * NM)), group.rows, group.atoms
                continue
            # Function 6 is a spring between atoms without a bond, which no run may constrain.
            kind = "bond" if group.function == 1 else "urey_bradley"
            if k:  # a row without a force would represent a constraint
                yield (kind, (k * KJ / NM**2 / 2, length * NM)), group.rows, group.atoms

    def _settles(self, group: Group) -> Found:
        ((oh, hh),) = self._state_a(group, "settles") if group.numbers[0] else ((0.0, 0.0),)
        oxygen = group.atoms[:, 0]
        for length, i, j in ((oh, 0, 1), (oh, 0, 2), (hh, 1, 2)):
            yield self._held(length, group), group.rows, np.stack([oxygen + i, oxygen + j], axis=1)

    def _constraints(self, group: Group) -> Found:
        ((length,),) = self._state_a(group, "constraints")
        yield self._held(length, group), group.rows, group.atoms

    def _held(self, length: float, group: Group) -> Row:
        if length <= 0:
            raise InputError(f"{self._read.at(group.place)}: atoms held {length} nm apart, expected a positive length")
        return "bond", (0.0, length * NM)

    def _hold_once(self) -> None:
        """Removes the constraint of a pair of atoms that has a bond of the same length."""
        table = self._tables["bond"].table()
        parts = self._terms.get("bond", [])
        if all(table[row, 0] for _, _, row in parts):
            return
        springs = {tuple(sorted(p)): row for _, atoms, row in parts if table[row, 0] for p in atoms.tolist()}
        kept = []
        for lines, atoms, row in parts:
            pairs = [tuple(sorted(p)) for p in atoms.tolist()]
            if table[row, 0] == 0:
                for pair in (p for p in pairs if p in springs):
                    if abs(table[springs[pair], 1] - table[row, 1]) > _SAME_LENGTH:
                        one, other = (self._flat.describe(atom) for atom in pair)
                        raise InputError(
                            f"{one} and {other} have a bond of {table[springs[pair], 1]:g} Å and are held at "
                            f"{table[row, 1]:g} Å: not supported"
                        )
                new = np.array([pair not in springs for pair in pairs], bool)
                lines, atoms = lines[new], atoms[new]
            kept.append((lines, atoms, row))
        self._terms["bond"] = kept

    def _angles(self, group: Group) -> Found:
        for theta, k, *spring in self._state_a(group, "angles"):
            if k:
                kind = "angle_cosine" if group.function == 2 else "angle"
                yield (kind, (k * KJ / 2, np.radians(theta))), group.rows, group.atoms
            if spring and spring[1]:
                length, constant = spring
                yield ("urey_bradley", (constant * KJ / NM**2 / 2, length * NM)), group.rows, group.atoms[:, [0, 2]]

    def _dihedrals(self, group: Group) -> Found:
        for numbers in self._state_a(group, "dihedrals"):
            row = self._dihedral_row(group, numbers)
            if row is not None:
                yield row, group.rows, group.atoms

    def _dihedral_row(self, group: Group, numbers: Numbers) -> Row | None:
        """Returns the row of a dihedral, or None where it has no force."""
        if group.function == 2:
            angle, k = numbers
            return ("improper_harmonic", (k * KJ / 2, np.radians(angle))) if k else None
        if group.function in (3, 5):
            constants = _ryckaert_bellemans(numbers) if group.function == 5 else numbers
            return ("dihedral_rb", tuple(c * KJ for c in constants)) if any(constants) else None
        phase, k, n = numbers
        if not k:
            return None
        if abs(n - round(n)) > 0.01:
            raise InputError(f"{self._read.at(group.place)}: a dihedral's multiplicity is {n}, expected a whole number")
        kind = "improper_periodic" if group.function == 4 else "dihedral"
        return kind, (k * KJ, float(round(n)), np.radians(phase))

    def _pairs(self, group: Group, first: int) -> Found:
        defaults = self._read.types.defaults
        assert defaults is not None
        ((*given,),) = group.numbers
        if group.function == 2:
            factor, q_i, q_j, v, w = given
            lj = self._pair_lj(v, w, group)
            factors = self._charge_factors(factor * q_i * q_j, first + group.atoms, group)
            for value in np.unique(factors):
                chosen = factors == value
                yield ("pair_14", (*lj, float(value))), group.rows[chosen], group.atoms[chosen]
            return
        v, w = self._read.state_a("pairs", 1, tuple(given), group.place)
        yield ("pair_14", (*self._pair_lj(v, w, group), defaults.fudge_qq)), group.rows, group.atoms

    def _charge_factors(self, product: float, atoms: IdArray, group: Group) -> FloatArray:
        """Returns the factors (m,) with which the products of the atoms' charges give `product`."""
        own = self._flat.charge[atoms].prod(axis=1)
        if product != 0 and (own == 0).any():
            raise InputError(
                f"{self._read.at(group.place)}: a pair has charges of its own and an atom that has none: not supported"
            )
        # The last digits of the quotient have rounding errors.
        return np.round(product / own, 12) if product else np.zeros(len(own))

    def _pair_lj(self, v: float, w: float, group: Group) -> tuple[float, float]:
        """Returns σ and ε of listed pairs."""
        defaults = self._read.types.defaults
        assert defaults is not None
        if defaults.rule != 1 and v > 0:
            return (v * NM, w * KJ) if w else (1.0, 0.0)
        c6, c12 = self._read.types.coefficients(v, w)
        b, a = c6 * _C6, c12 * _C12
        if a < 0 < b or b < 0 < a:
            raise InputError(
                f"{self._read.at(group.place)}: a pair whose C6 and C12 have different signs is not supported"
            )
        if a == 0 and b == 0:
            return 1.0, 0.0
        sigma = _FAR if b == 0 else _NEAR if a == 0 else (a / b) ** (1 / 6)
        return sigma, a / (4 * sigma**12) if a else b / (4 * sigma**6)

    def _cmaps(self, molecule: Molecule, first: int) -> None:
        found = self._read.interactions(molecule, "cmap")
        atoms = molecule.atoms
        rows: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
        indices = []
        for ids, place in zip(found.atoms.tolist(), found.places):
            names = tuple(atoms.type[i].bonded for i in ids)
            residues = tuple(atoms.residue_name[i] for i in ids)
            if (names, residues) not in rows:
                matching = [m for m in self._read.types.maps if m.matches(names, residues)]
                if not matching:
                    raise InputError(f"{self._read.at(place)}: no parameters for {'-'.join(names)} in [ cmaptypes ]")
                rows[names, residues] = self._tables.add_map(matching[0].energies * KJ)
            indices.append(rows[names, residues])
        self._flat.add("cmap", first + found.atoms[:, [0, 1, 2, 3, 1, 2, 3, 4]], np.array(indices, np.int64))


def _ryckaert_bellemans(fourier: Numbers) -> Numbers:
    """Returns C₀…C₅ of ½[F₁(1 + cos φ) + F₂(1 − cos 2φ) + F₃(1 + cos 3φ) + F₄(1 − cos 4φ)], in cosines of φ − 180°."""
    f1, f2, f3, f4 = fourier
    return f2 + 0.5 * (f1 + f3), 0.5 * (3 * f3 - f1), 4 * f4 - f2, -2 * f3, -4 * f4, 0.0
