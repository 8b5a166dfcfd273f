"""AMBER: prmtop and inpcrd/rst7 to a `System`, through the raw arrays of ParmEd's `AmberFormat`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.prepare.assemble import Origin, assemble, check_coordinates
from tessera.prepare.constants import atomic_numbers
from tessera.prepare.coordinates import box_from_lengths, read_coordinates
from tessera.prepare.errors import InputError, require_file
from tessera.prepare.flat import FlatTopology, split
from tessera.prepare.lj_types import force_field_of, sigma_epsilon
from tessera.prepare.molecule import sorted_pairs
from tessera.prepare.pairing import pair_by_name
from tessera.prepare.rows import Tables
from tessera.system import ForceField, System
from tessera.system.model import FloatArray, IdArray

# rows of the POINTERS section
_NATOM, _IFPERT, _IFBOX, _NUMEXTRA = 0, 20, 27, 30
_DEFAULT_SCEE, _DEFAULT_SCNB = 1.2, 2.0  # prmtop files before AMBER 11 do not say


def prepare_amber(
    prmtop: str | Path,
    coordinates: str | Path,
    box: FloatArray | None = None,
    vacuum: bool = False,
    report: Callable[[str], None] = lambda _: None,
    trust_order: bool = False,
) -> System:
    """`report` hears what is being done. Raises `InputError`."""
    report("reading the prmtop")
    raw = _Prmtop(prmtop)
    tables = Tables()
    flat = _flat(raw)
    force_field = _lennard_jones(raw, flat.type_names)
    _bonded(raw, flat, tables)
    _exclusions(raw, flat)
    _pairs_14(raw, flat, tables)
    _cmaps(raw, flat, tables)
    report("reading coordinates")
    found = read_coordinates(coordinates)
    check_coordinates(flat, found)
    notes = pair_by_name(flat, found, coordinates, trust_order=trust_order)
    if found.box is None:
        found.box = raw.box()
    if raw.pointers[_IFBOX] == 0 and box is None and not vacuum:
        vacuum = True
        notes.append("the prmtop says that nothing repeats (IFBOX = 0): the system is in vacuum")
    report("finding molecules")
    pieces = split(flat)
    for template, lists in zip(pieces.templates, pieces.raw):
        template.exclusions = sorted_pairs(lists.get("exclusion", np.zeros((0, 2), np.int32)))
    force_field.tables, force_field.cmap = tables.tables(), tables.maps()
    names = f"{Path(prmtop).name} {Path(coordinates).name}"
    origin = Origin("amber", "lorentz-berthelot", f"prepare amber: {names}", coordinates=Path(coordinates).name)
    report("checking atoms")
    return assemble(flat, pieces.templates, pieces.runs, force_field, found, origin, box, vacuum, notes)


class _Prmtop:
    """Sections by flag, as arrays."""

    def __init__(self, path: str | Path) -> None:
        from parmed.amber import AmberFormat

        path = require_file(path, "prmtop file")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._data: Any = AmberFormat(str(path)).parm_data
        except Exception as error:  # ParmEd raises many kinds
            raise InputError(f"cannot read {path.name} as a prmtop: {error}") from error
        self.name = path.name
        if "POINTERS" not in self._data:
            raise InputError(f"{path.name} is not a prmtop: it has no section POINTERS")
        self.pointers = self.integers("POINTERS")
        self.n_atoms = int(self.pointers[_NATOM])
        self._refuse()

    def _refuse(self) -> None:
        unsupported = {
            "CTITLE": "a CHAMBER prmtop (CHARMM force field): prepare from its PSF instead",
            "LENNARD_JONES_CCOEF": "12-6-4 ions",
            "POLARIZABILITY": "polarisabilities",
        }
        for flag, what in unsupported.items():
            if flag in self._data and len(self._data[flag]):
                raise InputError(f"{self.name} has {what}: not supported")
        extra = self.pointers[_NUMEXTRA] if len(self.pointers) > _NUMEXTRA else 0
        if extra:
            raise InputError(f"{self.name} has {extra} extra points (virtual sites): not supported")
        if self.pointers[_IFPERT]:
            raise InputError(f"{self.name} has perturbed parameters: not supported")

    def has(self, flag: str) -> bool:
        return flag in self._data and len(self._data[flag]) > 0

    def numbers(self, flag: str, size: int | None = None) -> FloatArray:
        return self._sized(flag, np.array(self._data.get(flag, []), np.float64), size)

    def integers(self, flag: str, size: int | None = None) -> IdArray:
        return self._sized(flag, np.array(self._data.get(flag, []), np.int64), size)

    def text(self, flag: str, size: int) -> NDArray[np.bytes_]:
        values = [str(v).strip() for v in self._data.get(flag, [])]
        return self._sized(flag, np.array(values, "S8"), size)  # type: ignore[no-any-return]

    def _sized(self, flag: str, values: Any, size: int | None) -> Any:
        if size is not None and len(values) != size:
            raise InputError(f"{self.name} is truncated: section {flag} has {len(values)} values, expected {size}")
        return values

    def rows(self, flag: str, width: int) -> IdArray:
        values = self.integers(flag)
        if len(values) % width:
            raise InputError(f"{self.name} is truncated: section {flag} ends inside a term")
        return values.reshape(-1, width)

    def box(self) -> FloatArray | None:
        if not self.has("BOX_DIMENSIONS"):
            return None
        beta, a, b, c = self.numbers("BOX_DIMENSIONS", 4)
        octahedron = self.pointers[_IFBOX] == 2
        return box_from_lengths((a, b, c), (beta, beta, beta) if octahedron else (90, beta, 90))


def _flat(raw: _Prmtop) -> FlatTopology:
    n = raw.n_atoms
    mass = raw.numbers("MASS", n)
    name = raw.text("ATOM_NAME", n)
    pointer = raw.integers("RESIDUE_POINTER") - 1
    size = np.diff(np.append(pointer, n))
    kind = raw.integers("ATOM_TYPE_INDEX", n) - 1
    known = raw.integers("ATOMIC_NUMBER", n) if raw.has("ATOMIC_NUMBER") else None
    flat = FlatTopology(
        name=name,
        type=kind.astype(np.int32),
        type_names=_type_names(raw, kind),
        charge=raw.numbers("CHARGE", n),  # ParmEd has divided by 18.2223
        mass=mass,
        atomic_number=atomic_numbers(mass, name) if known is None else known.astype(np.int32),
        residue_name=np.repeat(raw.text("RESIDUE_LABEL", len(pointer)), size),
        residue_number=np.repeat(np.arange(1, len(pointer) + 1), size).astype(np.int32),
        segment=np.full(n, b"", "S8"),
    )
    massless = np.flatnonzero(mass <= 0)
    if len(massless):
        raise InputError(f"{flat.describe(int(massless[0]))} has no mass: not supported")
    return flat


def _type_names(raw: _Prmtop, kind: IdArray) -> list[str]:
    """AMBER merges types of equal Lennard-Jones parameters: the first name stands for all."""
    names = raw.text("AMBER_ATOM_TYPE", raw.n_atoms)
    unique, first = np.unique(kind, return_index=True)
    out = [f"type{i + 1}" for i in range(int(kind.max()) + 1)]
    for index, atom in zip(unique, first):
        out[index] = names[atom].decode()
    return out


def _coefficients(raw: _Prmtop, types: int) -> tuple[FloatArray, FloatArray]:
    index = raw.integers("NONBONDED_PARM_INDEX", types * types).reshape(types, types)
    if (index < 0).any():
        acoef, bcoef = raw.numbers("HBOND_ACOEF"), raw.numbers("HBOND_BCOEF")
        if np.any(acoef) or np.any(bcoef):
            raise InputError(f"{raw.name} has 10-12 hydrogen bonds: not supported")
    a, b = raw.numbers("LENNARD_JONES_ACOEF"), raw.numbers("LENNARD_JONES_BCOEF")
    rows = np.clip(index - 1, 0, len(a) - 1)
    used = index > 0
    return np.where(used, a[rows], 0.0), np.where(used, b[rows], 0.0)


def _lennard_jones(raw: _Prmtop, names: list[str]) -> ForceField:
    return force_field_of(names, *_coefficients(raw, len(names)), "lorentz-berthelot")


def _bonded(raw: _Prmtop, flat: FlatTopology, tables: Tables) -> None:
    for flag, kind, constant, value in (
        ("BONDS", "bond", "BOND_FORCE_CONSTANT", "BOND_EQUIL_VALUE"),
        ("ANGLES", "angle", "ANGLE_FORCE_CONSTANT", "ANGLE_EQUIL_VALUE"),
    ):
        width = 3 if kind == "bond" else 4
        rows = np.concatenate([raw.rows(f"{flag}_{part}_HYDROGEN", width) for part in ("INC", "WITHOUT")])
        parameter = np.stack([raw.numbers(constant), raw.numbers(value)], axis=1)
        index = tables[kind].add_many(parameter)
        flat.add(kind, rows[:, :-1] // 3, index[rows[:, -1] - 1])
    rows = _dihedral_rows(raw)
    atoms, kind_of = np.abs(rows[:, :4]) // 3, rows[:, 4] - 1
    cosines = _cosines(raw)[kind_of]
    # a negative fourth atom marks an improper
    for kind, chosen in (("dihedral", rows[:, 3] >= 0), ("improper_periodic", rows[:, 3] < 0)):
        chosen = chosen & (cosines[:, 0] != 0)
        flat.add(kind, atoms[chosen], tables[kind].add_many(cosines[chosen]))


def _dihedral_rows(raw: _Prmtop) -> IdArray:
    """(·,5): the cosines of one dihedral stand next to each other."""
    rows = np.concatenate([raw.rows(f"DIHEDRALS_{part}_HYDROGEN", 5) for part in ("INC", "WITHOUT")])
    key = np.abs(rows[:, :4])
    _, first, inverse = np.unique(key, axis=0, return_index=True, return_inverse=True)
    return rows[np.argsort(first[inverse.reshape(-1)], kind="stable")]


def _cosines(raw: _Prmtop) -> FloatArray:
    columns = ("DIHEDRAL_FORCE_CONSTANT", "DIHEDRAL_PERIODICITY", "DIHEDRAL_PHASE")
    table = np.stack([raw.numbers(flag) for flag in columns], axis=1).reshape(-1, 3)
    table[:, 1] = np.abs(table[:, 1])
    return table


def _exclusions(raw: _Prmtop, flat: FlatTopology) -> None:
    count = raw.integers("NUMBER_EXCLUDED_ATOMS", raw.n_atoms)
    partner = raw.integers("EXCLUDED_ATOMS_LIST", int(count.sum())) - 1
    owner = np.repeat(np.arange(raw.n_atoms), count)
    # an atom without exclusions still lists one zero
    flat.add("exclusion", np.stack([owner, partner], axis=1)[partner >= 0])


def _pairs_14(raw: _Prmtop, flat: FlatTopology, tables: Tables) -> None:
    rows = _dihedral_rows(raw)
    rows = rows[(rows[:, 2] >= 0) & (rows[:, 3] >= 0)]
    pairs, kind = np.sort(rows[:, [0, 3]] // 3, axis=1), rows[:, 4] - 1
    pairs, first = np.unique(pairs, axis=0, return_index=True)
    kind = kind[first]
    scee, scnb = (
        raw.numbers(flag)[kind] if raw.has(flag) else np.full(len(pairs), default)
        for flag, default in (
            ("SCEE_SCALE_FACTOR", _DEFAULT_SCEE),
            ("SCNB_SCALE_FACTOR", _DEFAULT_SCNB),
        )
    )
    a, b = _coefficients(raw, len(flat.type_names))
    types = flat.type[pairs]
    pair_a, pair_b = a[types[:, 0], types[:, 1]], b[types[:, 0], types[:, 1]]
    lopsided = np.flatnonzero((pair_a > 0) != (pair_b > 0))
    if len(lopsided):
        i, j = (flat.describe(int(atom)) for atom in pairs[lopsided[0]])
        raise InputError(f"1-4 pair {i} and {j} is purely repulsive or attractive: not supported")
    sigma, epsilon = sigma_epsilon(pair_a, pair_b)
    # a scale of 0 means the default in old files
    scnb = np.where(scnb > 0, scnb, _DEFAULT_SCNB)
    scee = np.where(scee > 0, scee, _DEFAULT_SCEE)
    rows14 = np.stack([sigma, epsilon / scnb, 1.0 / scee], axis=1)
    flat.add("pair_14", pairs, tables["pair_14"].add_many(rows14))


def _cmaps(raw: _Prmtop, flat: FlatTopology, tables: Tables) -> None:
    prefix = next((p for p in ("", "CHARMM_") if raw.has(f"{p}CMAP_COUNT")), None)
    if prefix is None:
        return
    maps = []
    for index, n in enumerate(raw.integers(f"{prefix}CMAP_RESOLUTION"), start=1):
        energies = raw.numbers(f"{prefix}CMAP_PARAMETER_{index:02d}", int(n * n))
        maps.append(tables.add_map(energies.reshape(int(n), int(n))))
    rows = raw.rows(f"{prefix}CMAP_INDEX", 6)
    five = rows[:, :5] - 1
    flat.add("cmap", five[:, [0, 1, 2, 3, 1, 2, 3, 4]], np.array(maps, np.int64)[rows[:, 5] - 1])
