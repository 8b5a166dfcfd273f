"""Converts AMBER's prmtop and coordinates to a `System`.

A prmtop may hold CHARMM's force field (CHAMBER): Urey–Bradley terms, harmonic impropers and Lennard-Jones parameters of
1-4 pairs then have sections of their own, and charges are multiplied by the square root of CHARMM's Coulomb constant.

IFBOX of a prmtop is 0 without a box, 1 for a rectangular one, 2 for a truncated octahedron and 3 for any other.
BOX_DIMENSIONS has one angle, β, which tells the other two only of a rectangular box and of an octahedron, and edges,
which are those of the first structure. Coordinates have edges, but not always angles: AMBER's older restarts end with
three numbers, and some programs write 90° for any box.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tessera.constants import COULOMB, atomic_numbers
from tessera.errors import InputError
from tessera.prepare.amber.extra_points import add_extra_points
from tessera.prepare.amber.prmtop import Prmtop
from tessera.prepare.assemble import Origin, assemble, check_coordinates
from tessera.prepare.coordinates import Coordinates, box_from_lengths, read_coordinates
from tessera.prepare.flat import FlatTopology, split
from tessera.prepare.lj_types import add_ions, force_field_of, sigma_epsilon
from tessera.prepare.molecule import sorted_pairs
from tessera.prepare.pairing import pair_by_name
from tessera.prepare.rows import Tables
from tessera.prepare.virtual_sites import check_massless
from tessera.system import System
from tessera.system.box import lengths_and_angles
from tessera.system.model import FloatArray, IdArray

_DEFAULT_SCEE, _DEFAULT_SCNB = 1.2, 2.0  # where the prmtop has no factors, as before AMBER 11
_AMBER_CHARGE = 18.2223  # factor of charges in a prmtop: the square root of AMBER's Coulomb constant
_RIGHT = (90.0, 90.0, 90.0)
_OCTAHEDRON = 109.4712206344907  # degrees: the cosine is −1/3
_ANGLE_DIGITS, _EDGE_DIGITS = 0.02, 0.02  # degrees and Å: CRYST1 has two decimals of angles
_MEND = "give --box A B C with --box-angles ALPHA BETA GAMMA, or a file with six numbers of the box"

_Angles = tuple[float, ...]


def prepare_amber(
    prmtop: str | Path,
    coordinates: str | Path,
    box: FloatArray | None = None,
    vacuum: bool = False,
    report: Callable[[str], None] = lambda _: None,
    trust_order: bool = False,
) -> System:
    """Makes the system of a prmtop and coordinates.

    `box`: (3,3) Å, rows are its vectors; None: that of the inputs. `vacuum`: no box, even if they have one.
    `trust_order`: rows of the coordinates are in the order of the topology, whatever atoms are called. `report` is
    called with each step of the work. Raises `InputError`.
    """
    report("reading the prmtop")
    raw = Prmtop(prmtop)
    tables = Tables()
    lennard_jones = _LennardJones(raw)
    flat = _flat(raw, lennard_jones)
    _bonded(raw, flat, tables)
    _exclusions(raw, flat)
    _pairs_14(raw, flat, tables, lennard_jones)
    _cmaps(raw, flat, tables)
    of_terms = _charmm_terms(raw, flat, tables) if raw.is_chamber else []
    report("reading coordinates")
    found = read_coordinates(coordinates)
    check_coordinates(flat, found)
    notes = of_terms + pair_by_name(flat, found, coordinates, trust_order=trust_order)
    if box is None and not vacuum:
        vacuum = raw.pointers["IFBOX"] == 0
        notes += _choose_box(raw, found, Path(coordinates).name)
    notes += add_extra_points(flat, raw.texts("AMBER_ATOM_TYPE"), tables, found.position)
    check_massless(flat)
    if (n_points := len(flat.virtual_sites())) != raw.pointers["NUMEXTRA"]:
        raise InputError(f"{raw.name}: NUMEXTRA is {raw.pointers['NUMEXTRA']} and {n_points} atoms are extra points")
    report("finding molecules")
    pieces = split(flat)
    for template, lists in zip(pieces.templates, pieces.raw):
        template.exclusions = sorted_pairs(lists.get("exclusion", np.zeros((0, 2), np.int32)))
    force_field = force_field_of(flat.type_names, lennard_jones.a, lennard_jones.b, "lorentz-berthelot")
    add_ions(force_field, lennard_jones.a, lennard_jones.b, lennard_jones.c)
    force_field.tables, force_field.cmap = tables.tables(), tables.maps()
    program = "amber"
    if raw.is_chamber:
        program = "charmm"
        notes.append(f"{raw.name} holds a CHARMM force field (CHAMBER): CHARMM's Coulomb constant and switching")
    names = f"{Path(prmtop).name} {Path(coordinates).name}"
    line = f"prepare amber: {names}"
    origin = Origin(program, "lorentz-berthelot", line, coordinates=Path(coordinates).name)
    return assemble(flat, pieces.templates, pieces.runs, force_field, found, origin, box, vacuum, notes, report)


class _LennardJones:
    """A kcal/mol Å¹² and B kcal/mol Å⁶ of the pairs of those types that atoms have, (T,T)."""

    def __init__(self, raw: Prmtop) -> None:
        types = raw.pointers["NTYPES"]
        self.used, self.kind = np.unique(raw.indices("ATOM_TYPE_INDEX", types), return_inverse=True)
        index = raw.integers("NONBONDED_PARM_INDEX")
        largest = types * (types + 1) // 2
        bad = np.flatnonzero((index > largest) | (index == 0) | (index < -raw.pointers["NPHB"]))
        if len(bad):
            raise raw.wrong(
                "NONBONDED_PARM_INDEX", int(bad[0]), f"{index[bad[0]]} is no row of {largest} pairs of types"
            )
        square = index.reshape(types, types)
        if (square != square.T).any():
            raise raw.wrong("NONBONDED_PARM_INDEX", int(np.argmax(square != square.T)), "the table is not symmetric")
        if (index < 0).any() and any(raw.numbers(f"HBOND_{letter}COEF").any() for letter in "AB"):
            raise InputError(f"{raw.name} has 10-12 hydrogen bonds: not supported")
        self._square = square[np.ix_(self.used, self.used)]
        self.a, self.b = self._table(raw, "LENNARD_JONES")
        self.a_14, self.b_14 = self._table(raw, "LENNARD_JONES_14") if raw.is_chamber else (self.a, self.b)
        #: C kcal/mol Å⁴ in −C/r⁴ of 12-6-4 ions; 1-4 pairs are without it
        self.c = np.zeros_like(self.a)
        if raw.has("LENNARD_JONES_CCOEF"):
            c = raw.numbers("LENNARD_JONES_CCOEF")
            self.c = np.where(self._square > 0, c[np.maximum(self._square - 1, 0)], 0.0)

    def _table(self, raw: Prmtop, flag: str) -> tuple[FloatArray, FloatArray]:
        a, b = (raw.numbers(f"{flag}_{letter}COEF") for letter in "AB")
        rows = np.maximum(self._square - 1, 0)
        return np.where(self._square > 0, a[rows], 0.0), np.where(self._square > 0, b[rows], 0.0)


def _flat(raw: Prmtop, lennard_jones: _LennardJones) -> FlatTopology:
    n = raw.n_atoms
    mass, name = raw.numbers("MASS"), raw.texts("ATOM_NAME")
    pointer = raw.indices("RESIDUE_POINTER", n)
    if not len(pointer) or pointer[0] != 0 or (np.diff(pointer) <= 0).any():
        at = int(np.argmax(np.diff(pointer, prepend=-1) <= 0)) if len(pointer) and pointer[0] == 0 else 0
        raise raw.wrong("RESIDUE_POINTER", at, "residues do not begin at 1 and follow each other")
    size = np.diff(np.append(pointer, n))
    flat = FlatTopology(
        name=name,
        type=lennard_jones.kind.reshape(-1).astype(np.int32),
        type_names=_type_names(raw, lennard_jones.kind.reshape(-1)),
        charge=raw.numbers("CHARGE") / (np.sqrt(COULOMB["charmm"]) if raw.is_chamber else _AMBER_CHARGE),
        mass=mass,
        atomic_number=_atomic_numbers(raw, mass, name),
        residue_name=np.repeat(raw.texts("RESIDUE_LABEL"), size),
        residue_number=np.repeat(np.arange(1, len(pointer) + 1), size).astype(np.int32),
        segment=np.full(n, b"", "S8"),
    )
    return flat


def _atomic_numbers(raw: Prmtop, mass: FloatArray, name: np.ndarray) -> np.ndarray:
    """Returns the file's atomic numbers; those that it lacks (older files) or has as −1 (ParmEd) are guessed from
    masses."""
    guessed = atomic_numbers(mass, name)
    if not raw.has("ATOMIC_NUMBER"):
        return guessed
    known = raw.integers("ATOMIC_NUMBER")
    return np.where((known > 0) & (known < 119), known, guessed).astype(np.int32)


def _type_names(raw: Prmtop, kind: IdArray) -> list[str]:
    """Returns the names of types. AMBER merges types of equal Lennard-Jones parameters; they get the first one's
    name."""
    names = raw.texts("AMBER_ATOM_TYPE")
    _, first = np.unique(kind, return_index=True)
    return [names[atom].decode("latin-1") for atom in first]


def _bonded(raw: Prmtop, flat: FlatTopology, tables: Tables) -> None:
    for kind, width, types in (("bond", 2, "NUMBND"), ("angle", 3, "NUMANG")):
        flag = kind.upper()
        lists = [raw.terms(f"{flag}S_{part}_HYDROGEN", width, raw.pointers[types]) for part in ("INC", "WITHOUT")]
        rows = np.concatenate(lists)
        parameter = np.stack([raw.numbers(f"{flag}_FORCE_CONSTANT"), raw.numbers(f"{flag}_EQUIL_VALUE")], axis=1)
        flat.add(kind, rows[:, :-1] // 3, tables[kind].add_many(parameter[rows[:, -1]]))
    rows = _dihedral_rows(raw)
    atoms = np.abs(rows[:, :4]) // 3
    cosines = _cosines(raw)[rows[:, 4]]
    # A negative fourth atom marks an improper.
    for kind, chosen in (("dihedral", rows[:, 3] >= 0), ("improper_periodic", rows[:, 3] < 0)):
        chosen = chosen & (cosines[:, 0] != 0)
        flat.add(kind, atoms[chosen], tables[kind].add_many(cosines[chosen]))


def _dihedral_rows(raw: Prmtop) -> IdArray:
    """Returns rows (·,5) in which the cosines of one dihedral follow each other."""
    lists = [raw.terms(f"DIHEDRALS_{part}_HYDROGEN", 4, raw.pointers["NPTRA"]) for part in ("INC", "WITHOUT")]
    rows = np.concatenate(lists)
    _, first, inverse = np.unique(np.abs(rows[:, :4]), axis=0, return_index=True, return_inverse=True)
    return rows[np.argsort(first[inverse.reshape(-1)], kind="stable")]


def _cosines(raw: Prmtop) -> FloatArray:
    """Returns force constants, periodicities and phases (·,3)."""
    columns = ("DIHEDRAL_FORCE_CONSTANT", "DIHEDRAL_PERIODICITY", "DIHEDRAL_PHASE")
    table = np.stack([raw.numbers(flag) for flag in columns], axis=1)
    table[:, 1] = np.abs(table[:, 1])
    periods = table[:, 1]
    odd = (np.abs(periods - np.rint(periods)) > 1e-6) | (periods > 100)
    bad = np.flatnonzero((table[:, 0] != 0) & odd)
    if len(bad):
        found = f"{table[bad[0], 1]:g} is no whole number of periods"
        raise raw.wrong("DIHEDRAL_PERIODICITY", int(bad[0]), found)
    bad = np.flatnonzero((table[:, 0] != 0) & (np.rint(periods) == 0))
    if len(bad) and raw.is_chamber:
        found = "0 periods, which CHARMM means as a harmonic term and AMBER as a constant: set its force constant to 0"
        raise raw.wrong("DIHEDRAL_PERIODICITY", int(bad[0]), found)
    return table


def _exclusions(raw: Prmtop, flat: FlatTopology) -> None:
    count = raw.integers("NUMBER_EXCLUDED_ATOMS")
    partner = raw.integers("EXCLUDED_ATOMS_LIST")
    if (count < 0).any() or count.sum() != len(partner):
        raise raw.wrong(
            "NUMBER_EXCLUDED_ATOMS", 0, f"the atoms' counts add up to {count.sum()}, and EXCLUDED_ATOMS_LIST has "
            f"{len(partner)} (NNB of POINTERS)"
        )  # fmt: skip
    owner = np.repeat(np.arange(raw.n_atoms), count)
    bad = np.flatnonzero((partner < 0) | (partner > raw.n_atoms) | (partner == owner + 1))
    if len(bad):
        raise raw.wrong("EXCLUDED_ATOMS_LIST", int(bad[0]), f"{partner[bad[0]]} is no other of {raw.n_atoms} atoms")
    # An atom without exclusions still lists one zero.
    flat.add("exclusion", np.stack([owner, partner - 1], axis=1)[partner > 0])


def _pairs_14(raw: Prmtop, flat: FlatTopology, tables: Tables, lennard_jones: _LennardJones) -> None:
    rows = _dihedral_rows(raw)
    rows = rows[(rows[:, 2] >= 0) & (rows[:, 3] >= 0)]
    pairs, kind = np.sort(rows[:, [0, 3]] // 3, axis=1), rows[:, 4]
    pairs, first = np.unique(pairs, axis=0, return_index=True)
    scee, scnb = (
        raw.numbers(flag)[kind[first]] if raw.has(flag) else np.zeros(len(pairs))
        for flag in ("SCEE_SCALE_FACTOR", "SCNB_SCALE_FACTOR")
    )
    types = flat.type[pairs]
    pair_a, pair_b = (table[types[:, 0], types[:, 1]] for table in (lennard_jones.a_14, lennard_jones.b_14))
    lopsided = np.flatnonzero((pair_a > 0) != (pair_b > 0))
    if len(lopsided):
        i, j = (flat.describe(int(atom)) for atom in pairs[lopsided[0]])
        raise InputError(f"1-4 pair {i} and {j} is purely repulsive or attractive: not supported")
    sigma, epsilon = sigma_epsilon(pair_a, pair_b)
    # A scale of 0 means the default in old files.
    scnb = np.where(scnb > 0, scnb, 1.0 if raw.is_chamber else _DEFAULT_SCNB)
    scee = np.where(scee > 0, scee, 1.0 if raw.is_chamber else _DEFAULT_SCEE)
    rows14 = np.stack([sigma, epsilon / scnb, 1.0 / scee], axis=1)
    flat.add("pair_14", pairs, tables["pair_14"].add_many(rows14))


def _cmaps(raw: Prmtop, flat: FlatTopology, tables: Tables) -> None:
    """Adds maps and their terms, which have five consecutive atoms that make two dihedrals."""
    for prefix in ("", "CHARMM_"):
        if not raw.holds_maps(prefix):
            continue
        terms, kinds = _counts(raw, f"{prefix}CMAP_COUNT", 2)
        maps = []
        sizes = raw.integers(f"{prefix}CMAP_RESOLUTION", kinds)
        for index, n in enumerate(sizes.tolist(), start=1):
            if n != sizes[0] or not 4 <= n <= 360:
                found = f"a map of {n} × {n} energies beside one of {sizes[0]}: not supported"
                raise raw.wrong(f"{prefix}CMAP_RESOLUTION", index - 1, found)
            energies = raw.numbers(f"{prefix}CMAP_PARAMETER_{index:02d}", n * n)
            maps.append(tables.add_map(energies.reshape(n, n)))
        five, kind = _plain_terms(raw, f"{prefix}CMAP_INDEX", 5, terms, kinds)
        flat.add("cmap", five[:, [0, 1, 2, 3, 1, 2, 3, 4]], np.array(maps, np.int64)[kind])


def _charmm_terms(raw: Prmtop, flat: FlatTopology, tables: Tables) -> list[str]:
    """Adds Urey–Bradley terms and harmonic impropers, K (x − x₀)², in Å and radians. Returns notes."""
    terms, kinds = _counts(raw, "CHARMM_UREY_BRADLEY_COUNT", 2)
    atoms, kind = _plain_terms(raw, "CHARMM_UREY_BRADLEY", 2, terms, kinds)
    columns = [raw.numbers(f"CHARMM_UREY_BRADLEY_{name}", kinds) for name in ("FORCE_CONSTANT", "EQUIL_VALUE")]
    flat.add("urey_bradley", atoms, tables["urey_bradley"].add_many(np.stack(columns, axis=1)[kind]))
    (terms,), (kinds,) = (_counts(raw, f"CHARMM_NUM_{name}", 1) for name in ("IMPROPERS", "IMPR_TYPES"))
    atoms, kind = _plain_terms(raw, "CHARMM_IMPROPERS", 4, terms, kinds)
    columns = [raw.numbers(f"CHARMM_IMPROPER_{name}", kinds) for name in ("FORCE_CONSTANT", "PHASE")]
    notes = []
    if (np.abs(columns[1]) > 2 * np.pi).any():
        bad = np.flatnonzero(np.abs(columns[1]) > 360)
        if len(bad):
            found = f"{columns[1][bad[0]]:g} is no angle, in radians or degrees"
            raise raw.wrong("CHARMM_IMPROPER_PHASE", int(bad[0]), found)
        columns[1] = np.radians(columns[1])
        notes.append(
            f"CHARMM_IMPROPER_PHASE of {raw.name} is read in degrees, which old versions of ParmEd wrote: it has "
            "angles beyond 2π"
        )
    flat.add("improper_harmonic", atoms, tables["improper_harmonic"].add_many(np.stack(columns, axis=1)[kind]))
    return notes


def _counts(raw: Prmtop, flag: str, size: int) -> list[int]:
    values = raw.integers(flag, size).tolist()
    if min(values) < 0:
        raise raw.wrong(flag, 0, "a negative count")
    return values


def _plain_terms(raw: Prmtop, flag: str, width: int, terms: int, kinds: int) -> tuple[IdArray, IdArray]:
    """Returns atoms (m, width) and kinds (m,), counted from 0; these sections list atoms and not three times their
    index."""
    rows = raw.integers(flag, terms * (width + 1)).reshape(-1, width + 1)
    limit = np.array([*[raw.n_atoms] * width, kinds])
    bad = np.flatnonzero((rows < 1) | (rows > limit))
    if len(bad):
        largest = limit[bad[0] % (width + 1)]
        raise raw.wrong(flag, int(bad[0]), f"{rows.reshape(-1)[bad[0]]} is not within 1 to {largest}")
    bad = np.flatnonzero((np.diff(np.sort(rows[:, :-1], axis=1), axis=1) == 0).any(axis=1))
    if len(bad):
        raise raw.wrong(flag, int(bad[0]) * (width + 1), "a term names one atom twice")
    return rows[:, :-1] - 1, rows[:, -1] - 1


def _choose_box(raw: Prmtop, found: Coordinates, file: str) -> list[str]:
    """Gives `found` the box that the prmtop and the coordinate file together describe; returns notes. Raises
    `InputError` where they contradict each other, and where a restart, which has room for a box, has none."""
    kind = raw.pointers["IFBOX"]
    if kind == 0:
        unused = "" if found.box is None else f", and the box of {file} is not used"
        return [f"{raw.name} says that nothing repeats (IFBOX = 0): the system is in vacuum{unused}"]
    beta, *edges = raw.numbers("BOX_DIMENSIONS").tolist() if raw.has("BOX_DIMENSIONS") else [0.0] * 4
    if found.box is not None:
        return _with_angles(raw, found, file, kind, beta)
    if found.name is None:
        raise InputError(
            f"{file} has no box, but {raw.name} says that the system repeats (IFBOX is {kind}): is its last line "
            "missing? Give --box or --vacuum otherwise"
        )
    angles = _angles_of(kind, beta)
    if angles is None or not raw.has("BOX_DIMENSIONS"):
        return []
    found.box = box_from_lengths(edges, angles)
    return [f"{file} has no box: that of {raw.name} is used"] if found.box is not None else []


def _angles_of(kind: int, beta: float) -> _Angles | None:
    """Returns the angles of a box in degrees that the prmtop tells; none where β does not tell the others."""
    if _same((beta,), (_OCTAHEDRON,)):
        return (beta,) * 3
    if kind == 2:
        return (_OCTAHEDRON,) * 3
    return _RIGHT if kind == 1 and beta in (0.0, 90.0) else None


def _same(one: _Angles, other: _Angles) -> bool:
    return np.allclose(one, other, rtol=0, atol=_ANGLE_DIGITS)


def _with_angles(raw: Prmtop, found: Coordinates, file: str, kind: int, beta: float) -> list[str]:
    """Compares the angles of the box of `found` with the prmtop's, and gives it these where it has none or 90°."""
    assert found.box is not None
    a, b, c, *angles_in_file = lengths_and_angles(found.box).tolist()
    given = tuple(angles_in_file)
    angles = _angles_of(kind, beta)
    where = f"{raw.name} says IFBOX = {kind}" + (f" and the angle {beta:g}°" if raw.has("BOX_DIMENSIONS") else "")
    if angles is None:
        if not found.has_angles:
            raise InputError(f"{file} has no angles of the box, and {where}, which does not tell them all: {_MEND}")
        if beta == 0 or any(_same((x,), (beta,)) for x in given):
            return []
    elif found.has_angles and _same(given, angles):
        return []
    elif not _same(given, _RIGHT) and not (not found.has_angles and _same(given[1:2], angles[1:2])):
        angles = None
    if angles is None:
        text = ", ".join(f"{x:.6g}" for x in given)
        raise InputError(f"{file} has a box with the angles {text}°, but {where}: {_MEND}")
    if kind == 2 and max(a, b, c) - min(a, b, c) > _EDGE_DIGITS:
        box = f"{a:g} × {b:g} × {c:g} Å"
        raise InputError(f"{file} has a box of {box}, but {where}: a truncated octahedron has equal edges; {_MEND}")
    found.box = box_from_lengths((a, b, c), angles)
    if angles == _RIGHT:
        return []
    lacks = "has angles of 90°" if found.has_angles else "has no angles"
    return [f"the box of {file} {lacks}: those of {raw.name} are taken, {', '.join(f'{x:g}' for x in angles)}°"]
