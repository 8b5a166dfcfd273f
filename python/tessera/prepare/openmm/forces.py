"""Reads an OpenMM `System` force by force into a `FlatTopology` and force-field tables."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.constants import KJ, NM, atomic_numbers
from tessera.errors import InputError
from tessera.prepare.flat import FlatTopology
from tessera.prepare.lj_types import add_ions, force_field_of, sigma_epsilon
from tessera.prepare.numbering import selection_of
from tessera.prepare.openmm.external import read_custom_external
from tessera.prepare.openmm.gathered import Gathered, Restraint, value
from tessera.prepare.openmm.nonbonded import read_custom_bonds, read_custom_nonbonded, read_nonbonded
from tessera.prepare.openmm.sites import site_of
from tessera.prepare.rows import Tables
from tessera.prepare.virtual_sites import add_sites, check_massless
from tessera.system import ForceField, LennardJones
from tessera.system.model import BOND_KINDS, FloatArray, IdArray, IndexArray

#: forces of a System that are no interactions, and the notes on them
NO_INTERACTION = {
    "CMMotionRemover": "com_removal_every of the run file says how often the drift is removed",
    "AndersenThermostat": "temperature is not held",
    "MonteCarloBarostat": "pressure is not held",
    "MonteCarloAnisotropicBarostat": "pressure is not held",
    "MonteCarloFlexibleBarostat": "pressure is not held",
    "MonteCarloMembraneBarostat": "pressure is not held",
}
#: energies of a CustomTorsionForce in the form of `_plain`, and their factor of k; the last is periodic only for θ₀ = 0
_UNWRAPPED = "k*(theta-theta0)^2"
_WRAPPED = {
    "min(dtheta,2*pi-dtheta)^2": "dtheta=abs(theta-theta0)",
    "(thetap-theta0)^2": "thetap=step(-(theta-theta0+pi))*2*pi+theta+step(theta-theta0-pi)*(-2*pi)",
    "dtheta_torus^2": "dtheta=theta-theta0;dtheta_torus=dtheta-floor(dtheta/(2*pi)+0.5)*(2*pi)",
    "(theta-theta0)^2": "",
}
_HARMONIC = {
    f"{prefix}k*{square}" + (f";{rest}" if rest else ""): factor
    for square, rest in _WRAPPED.items()
    for prefix, factor in (("", 1.0), ("0.5*", 0.5))
}
#: the energy of a CustomAngleForce of GROMOS' angles
_COSINE_ANGLE = re.compile(r"(?:([\d.]+)\*)?k\*\(cos\(theta\)-cos\(theta0\)\)\^2")
_SAME_LENGTH = 1e-3  # Å: force fields round lengths to three or four decimals
_PI = re.compile(r"(?<![\w.])3\.14159\d*(?![\w.])")


@dataclass
class AtomNames:
    """The names of the atoms (n,), from a PDB or a topology."""

    name: NDArray[np.bytes_]
    residue_name: NDArray[np.bytes_]
    residue_number: IndexArray
    segment: NDArray[np.bytes_]
    atomic_number: IndexArray | None = None
    insertion: NDArray[np.bytes_] = field(default_factory=lambda: np.zeros(0, "S1"))  # codes of residues, if any


@dataclass
class Converted:
    flat: FlatTopology
    force_field: ForceField
    lennard_jones: LennardJones | None  # None: no cut-off
    notes: list[str] = field(default_factory=list)
    periodic: bool = False  # whether pairs interact across the edges of a box
    restraints: list[Restraint] = field(default_factory=list)  # which a run file describes


def convert(system: Any, names: AtomNames, rule: str = "lorentz-berthelot") -> Converted:
    """Converts a System. Raises `InputError` that names a force without a counterpart here."""
    n = system.getNumParticles()
    if len(names.name) != n:
        raise InputError(f"the System has {n} particles but the names are of {len(names.name)}")
    mass = np.array([value(system.getParticleMass(i)) for i in range(n)])
    gathered = Gathered()
    for force in system.getForces():
        _check_particles(force, n)
        _read_force(force, gathered)
    if gathered.charge is None:
        raise InputError("the System has no NonbondedForce, so its atoms have no charges")
    kind, type_names, force_field = _types(gathered, rule)
    numbers, guessed = names.atomic_number, atomic_numbers(mass, names.name)
    flat = FlatTopology(
        name=names.name,
        type=kind,
        type_names=type_names,
        charge=gathered.charge,
        mass=mass,
        atomic_number=guessed if numbers is None else np.where(numbers > 0, numbers, guessed).astype(np.int32),
        residue_name=names.residue_name,
        residue_number=names.residue_number,
        segment=names.segment,
        insertion=names.insertion,
    )
    notes = add_sites(flat, {i: site_of(system, i, flat) for i in range(n) if system.isVirtualSite(i)})
    check_massless(flat, _advice_on_fixed(flat))
    gathered.notes += notes
    tables = Tables()
    _add_bonds(system, flat, gathered, tables)
    _add_torsions(flat, gathered, tables)
    _add_exceptions(flat, gathered, tables)
    force_field.tables, force_field.cmap = tables.tables(), tables.maps()
    if len(gathered.periodic) > 1:
        raise InputError(
            "of NonbondedForce and CustomNonbondedForce one is periodic and the other is not: not supported"
        )
    periodic = gathered.periodic == {True}
    return Converted(flat, force_field, gathered.lennard_jones, gathered.notes, periodic, gathered.restraints)


def _advice_on_fixed(flat: FlatTopology) -> str:
    """Says how atoms are held that OpenMM holds by a mass of 0."""
    still = flat.mass <= 0
    still[flat.virtual_sites()] = False
    if not still.any():
        return ""
    return (
        ": OpenMM does not move such atoms. Give them their masses in the System, and hold them by "
        f'dynamics.fixed = "{selection_of(np.flatnonzero(still))}" in the run file'
    )


def _check_particles(force: Any, n: int) -> None:
    """Raises `InputError` where a force that has parameters for each particle has them for more or fewer."""
    kind = type(force).__name__
    if kind in ("NonbondedForce", "CustomNonbondedForce") and force.getNumParticles() != n:
        raise InputError(f"the System has {n:,} particles, and its {kind} parameters for {force.getNumParticles():,}")


def _read_force(force: Any, out: Gathered) -> None:
    kind = type(force).__name__
    reader = READERS.get(kind)
    if reader is not None:
        reader(force, out)
    elif kind in NO_INTERACTION:
        out.notes.append(f"the System's {kind} is left out: {NO_INTERACTION[kind]}")
    else:
        named = f" ({force.getName()})" if force.getName() != kind else ""
        raise InputError(f"the System has a {kind}{named}: this force is not supported")


def _read_bonds(force: Any, out: Gathered) -> None:
    """Reads harmonic bonds; those of a force whose name has "urey" are Urey–Bradley terms."""
    is_urey_bradley = "urey" in force.getName().lower()
    target = out.urey_bradleys if is_urey_bradley else out.bonds
    for index in range(force.getNumBonds()):
        i, j, r0, k = force.getBondParameters(index)
        if value(k) != 0:  # a bond without a force would represent a constraint
            target.append((i, j, value(k) * KJ / NM**2 / 2, value(r0) * NM))


def _read_angles(force: Any, out: Gathered) -> None:
    """Reads harmonic angles."""
    for index in range(force.getNumAngles()):
        i, j, k, theta, constant = force.getAngleParameters(index)
        out.angles.append((i, j, k, value(constant) * KJ / 2, value(theta)))


def _read_custom_angles(force: Any, out: Gathered) -> None:
    """Reads GROMOS' angles."""
    expression = force.getEnergyFunction().replace(" ", "").strip(";")
    columns = [force.getPerAngleParameterName(i) for i in range(force.getNumPerAngleParameters())]
    found = _COSINE_ANGLE.fullmatch(expression)
    if not found or set(columns) != {"k", "theta0"}:
        raise InputError(f"the System has a CustomAngleForce with the energy {expression!r}: not supported")
    for index in range(force.getNumAngles()):
        *atoms, values = force.getAngleParameters(index)
        named = dict(zip(columns, values))
        out.cosine_angles.append((*atoms, float(found[1] or 1) * named["k"] * KJ, named["theta0"]))


def _read_torsions(force: Any, out: Gathered) -> None:
    """Reads periodic dihedrals."""
    for index in range(force.getNumTorsions()):
        *atoms, n, phase, k = force.getTorsionParameters(index)
        out.torsions.append((*atoms, value(k) * KJ, float(n), value(phase)))


def _read_rb_torsions(force: Any, out: Gathered) -> None:
    """Reads dihedrals of Ryckaert and Bellemans."""
    for index in range(force.getNumTorsions()):
        *atoms, c0, c1, c2, c3, c4, c5 = force.getTorsionParameters(index)
        out.rb_torsions.append((*atoms, *(value(c) * KJ for c in (c0, c1, c2, c3, c4, c5))))


def _plain(expression: str) -> str:
    """Returns an energy without blanks, with π by name, and with its definitions in alphabetical order."""
    energy, *definitions = _PI.sub("pi", expression.replace(" ", "")).strip(";").split(";")
    return ";".join([energy, *sorted(d for d in definitions if d not in ("", "pi=pi"))])


def _read_custom_torsions(force: Any, out: Gathered) -> None:
    """Reads harmonic impropers, as CHARMM and GROMACS have them."""
    expression = _plain(force.getEnergyFunction())
    factor = _HARMONIC.get(expression)
    columns = [force.getPerTorsionParameterName(i) for i in range(force.getNumPerTorsionParameters())]
    extra = [force.getGlobalParameterName(i) for i in range(force.getNumGlobalParameters())]
    if factor is None or set(columns) != {"k", "theta0"} or "pi" in extra:
        raise InputError(
            f"the System has a CustomTorsionForce with the energy {force.getEnergyFunction()!r}: only the "
            "harmonic improper of CHARMM and GROMACS is supported"
        )
    for index in range(force.getNumTorsions()):
        *atoms, values = force.getTorsionParameters(index)
        named = dict(zip(columns, values))
        if expression.endswith(_UNWRAPPED) and named["theta0"] != 0:
            raise InputError(
                f"the System has a CustomTorsionForce with the energy {_UNWRAPPED} and θ₀ = {named['theta0']:g}, which "
                "jumps at 180°: only θ₀ = 0 is supported where the difference of angles is not wrapped"
            )
        out.impropers.append((*atoms, factor * named["k"] * KJ, named["theta0"]))


def _read_cmaps(force: Any, out: Gathered) -> None:
    """Reads maps of two dihedrals (CMAP), which have an even number of points."""
    first = len(out.maps)
    for index in range(force.getNumMaps()):
        n, energies = force.getMapParameters(index)
        if n % 2:
            raise InputError(f"the System has a CMAP of {n} × {n} points, of which none is at 180°: not supported")
        grid = np.array([value(e) for e in energies]).reshape(n, n).T * KJ
        # OpenMM's maps start at 0°, Tessera's at −180°.
        out.maps.append(np.roll(grid, (n // 2, n // 2), axis=(0, 1)))
    for index in range(force.getNumTorsions()):
        row, *atoms = force.getTorsionParameters(index)
        out.cmaps.append((first + row, *atoms))


READERS = {
    "HarmonicBondForce": _read_bonds,
    "HarmonicAngleForce": _read_angles,
    "PeriodicTorsionForce": _read_torsions,
    "RBTorsionForce": _read_rb_torsions,
    "CustomAngleForce": _read_custom_angles,
    "CustomTorsionForce": _read_custom_torsions,
    "CMAPTorsionForce": _read_cmaps,
    "NonbondedForce": read_nonbonded,
    "CustomNonbondedForce": read_custom_nonbonded,
    "CustomBondForce": read_custom_bonds,
    "CustomExternalForce": read_custom_external,
}


def _types(found: Gathered, rule: str) -> tuple[IndexArray, list[str], ForceField]:
    assert found.lj is not None
    if found.table is not None:
        if np.any(found.lj[:, 1]):
            raise InputError("Lennard-Jones both in NonbondedForce and in a table: not supported")
        kind, a, b = found.table
    else:
        lj = np.where(found.lj[:, 1:] > 0, found.lj, [[1.0, 0.0]])
        unique, kind = np.unique(lj, axis=0, return_inverse=True)
        sigma, epsilon = unique.T
        mixed = 0.5 * (sigma[:, None] + sigma[None, :])
        depth = np.sqrt(np.outer(epsilon, epsilon))
        a, b = 4 * depth * mixed**12, 4 * depth * mixed**6
    kind, c = kind.reshape(-1), np.zeros_like(a)
    if found.ions is not None:
        ion, of_ions = found.ions
        both, kind = np.unique(np.stack([kind, ion], axis=1), axis=0, return_inverse=True)
        kind, (rows, ions) = kind.reshape(-1), both.T
        a, b, c = a[np.ix_(rows, rows)], b[np.ix_(rows, rows)], of_ions[np.ix_(ions, ions)]
    names = [f"type{i + 1}" for i in range(len(a))]
    field = force_field_of(names, a, b, rule)
    add_ions(field, a, b, c)
    return kind.astype(np.int32), names, field


def _codes(pairs: Any, n: int) -> IdArray:
    pairs = np.sort(np.asarray(pairs, np.int64).reshape(-1, 2), axis=1)
    return pairs[:, 0] * n + pairs[:, 1]


def _add_bonds(system: Any, flat: FlatTopology, found: Gathered, tables: Tables) -> None:
    n = flat.n_atoms
    angles = np.array(found.angles, np.float64).reshape(-1, 5)
    flat.add("angle", angles[:, :3].astype(np.int64), tables["angle"].add_many(angles[:, 3:]))
    bonds = np.array(found.bonds, np.float64).reshape(-1, 4)
    ids = bonds[:, :2].astype(np.int64)
    # Springs between the outer atoms of an angle are Urey–Bradley terms, except a water's H–H, and those that are arms
    # of angles, as in a ring of three.
    elements = flat.atomic_number[angles[:, :3].astype(np.int64)]
    other = angles[~(elements == (1, 8, 1)).all(axis=1)]
    arms = np.concatenate([angles[:, [0, 1]], angles[:, [1, 2]]])
    spring = np.isin(_codes(ids, n), _codes(other[:, [0, 2]], n)) & ~np.isin(_codes(ids, n), _codes(arms, n))
    flat.add("bond", ids[~spring], tables["bond"].add_many(bonds[~spring, 2:]))
    flat.add("urey_bradley", ids[spring], tables["urey_bradley"].add_many(bonds[spring, 2:]))
    quartic = np.array(found.quartic_bonds, np.float64).reshape(-1, 4)
    flat.add("bond_quartic", quartic[:, :2].astype(np.int64), tables["bond_quartic"].add_many(quartic[:, 2:]))
    cosine = np.array(found.cosine_angles, np.float64).reshape(-1, 5)
    flat.add("angle_cosine", cosine[:, :3].astype(np.int64), tables["angle_cosine"].add_many(cosine[:, 3:]))
    more = np.array(found.urey_bradleys, np.float64).reshape(-1, 4)
    flat.add("urey_bradley", more[:, :2].astype(np.int64), tables["urey_bradley"].add_many(more[:, 2:]))
    note = _add_constraints(system, flat, tables)
    found.notes += [note] if note else []


def _add_constraints(system: Any, flat: FlatTopology, tables: Tables) -> str | None:
    """Converts constraints without a bond's force, those of rigid water and of bonds to hydrogen, to bonds without a
    force. Returns a note on the latter, which every run holds. Raises `InputError` for all others, and for one of
    another length than the bond that it holds."""
    element = flat.atomic_number
    known: dict[tuple[int, int], float] = {}  # lengths of bonds with a force
    for kind in BOND_KINDS:
        atoms, rows = flat.terms[kind]
        lengths = tables[kind].table()[rows, 1].tolist() if len(rows) else []
        known |= {(min(i, j), max(i, j)): length for (i, j), length in zip(atoms.tolist(), lengths)}
    held: dict[tuple[int, int], float] = {}
    for index in range(system.getNumConstraints()):
        i, j, distance = system.getConstraintParameters(index)
        held[min(i, j), max(i, j)] = value(distance) * NM
    flat.add("held", list(held))
    for (i, j), length in held.items():
        if abs(known.get((i, j), length) - length) > _SAME_LENGTH:
            raise InputError(
                f"{flat.describe(i)} and {flat.describe(j)} have a bond of {known[i, j]:g} Å and are constrained to "
                f"{length:g} Å: not supported; give both one length in the System"
            )
    partners: dict[int, set[int]] = {}  # the heavy atoms that a hydrogen has a bond or a constraint with
    for i, j in known | held:
        for one, other in ((i, j), (j, i)):
            if element[one] == 1 and element[other] != 1:
                partners.setdefault(one, set()).add(other)
    rigid: set[int] = set()  # the atoms of rigid waters
    for i, j in held:
        heavy = partners.get(i, set()) | partners.get(j, set())
        if element[i] == element[j] == 1 and len(heavy) == 1 and all(element[atom] == 8 for atom in heavy):
            rigid |= {i, j, *heavy}
    outside = [pair for pair in held if not rigid.issuperset(pair)]
    for i, j in outside:
        heavy = partners.get(i, set()) | partners.get(j, set())
        is_alone = element[i] == element[j] == 1 and not heavy  # as H2
        if not is_alone and ((element[i] == 1) == (element[j] == 1) or len(partners[i if element[i] == 1 else j]) > 1):
            raise InputError(
                f"{flat.describe(i)} and {flat.describe(j)} are constrained: only bonds to hydrogen and rigid water "
                "may be; make the System with constraints=HBonds or constraints=None (run.toml says what is "
                "constrained)"
            )
    loose = {pair: length for pair, length in held.items() if pair not in known}
    flat.add("bond", list(loose), [tables["bond"].add(0.0, length) for length in loose.values()])
    outside = [pair for pair in outside if pair in loose]
    if not outside:
        return None
    example = " and ".join(flat.describe(atom) for atom in outside[0])
    count = f"{len(outside):,} constrained bond(s)"
    return f"{count} to hydrogen have no force, the first between {example}: every run holds them"


def _add_torsions(flat: FlatTopology, found: Gathered, tables: Tables) -> None:
    rows = np.array(found.torsions, np.float64).reshape(-1, 7)
    ids, cosines = rows[:, :4].astype(np.int64), rows[:, 4:]
    bonds = np.concatenate([_codes(flat.terms[kind][0], flat.n_atoms) for kind in BOND_KINDS])
    chain = np.ones(len(ids), bool)
    for first in range(3):
        chain &= np.isin(_codes(ids[:, first : first + 2], flat.n_atoms), bonds)
    acting = cosines[:, 0] != 0
    for kind, chosen in (("dihedral", chain & acting), ("improper_periodic", ~chain & acting)):
        flat.add(kind, ids[chosen], tables[kind].add_many(cosines[chosen]))
    rb = np.array(found.rb_torsions, np.float64).reshape(-1, 10)
    flat.add("dihedral_rb", rb[:, :4].astype(np.int64), tables["dihedral_rb"].add_many(rb[:, 4:]))
    harmonic = np.array(found.impropers, np.float64).reshape(-1, 6)
    flat.add(
        "improper_harmonic",
        harmonic[:, :4].astype(np.int64),
        tables["improper_harmonic"].add_many(harmonic[:, 4:]),
    )
    if len({m.shape for m in found.maps}) > 1:
        raise InputError("CMAPs of different resolutions: not supported")
    maps = np.array([tables.add_map(m) for m in found.maps], np.int64)
    cmaps = np.array(found.cmaps, np.int64).reshape(-1, 9)
    flat.add("cmap", cmaps[:, 1:], maps[cmaps[:, 0]] if len(cmaps) else [])


def _add_exceptions(flat: FlatTopology, found: Gathered, tables: Tables) -> None:
    rows = np.array(found.exceptions, np.float64).reshape(-1, 5)
    ids = np.sort(rows[:, :2].astype(np.int64), axis=1)
    order = np.lexsort((ids[:, 1], ids[:, 0]))
    ids, rows = ids[order], rows[order]
    flat.add("exclusion", ids)
    _check_pairs(flat, found, ids, rows[:, 4])
    for code, (i, j) in enumerate(ids.tolist()):
        if (i, j) in found.pair_lj:
            sigma, epsilon = sigma_epsilon(*(np.array(v) for v in found.pair_lj[i, j]))
            rows[code, 3:] = float(sigma), float(epsilon)
    product = flat.charge[ids[:, 0]] * flat.charge[ids[:, 1]]
    impossible = np.flatnonzero((product == 0) & (rows[:, 2] != 0))
    if len(impossible):
        i, j = ids[impossible[0]]
        raise InputError(
            f"{flat.describe(int(i))} and {flat.describe(int(j))} have no charges but a charge "
            "product as a pair: not supported"
        )
    scale = np.divide(rows[:, 2], product, out=np.zeros(len(rows)), where=product != 0)
    kept = (rows[:, 2] != 0) | (rows[:, 4] != 0)
    sigma = np.where(rows[:, 4] != 0, rows[:, 3], 1.0)
    # The last digits of the quotient of charges have rounding errors.
    pair = np.stack([sigma, rows[:, 4], np.round(scale, 12)], axis=1)[kept]
    flat.add("pair_14", ids[kept], tables["pair_14"].add_many(pair))


def _check_pairs(flat: FlatTopology, found: Gathered, exceptions: IdArray, epsilon: FloatArray) -> None:
    """Compares exceptions (·,2), i < j, with ε (·,), with the pairs that other forces exclude or add."""
    n = flat.n_atoms

    def refuse(code: int, what: str) -> None:
        i, j = (flat.describe(atom) for atom in divmod(code, n))
        raise InputError(f"{i} and {j} {what}: not supported")

    codes = _codes(exceptions, n)
    if found.exclusions is not None:
        excluded = _codes(found.exclusions, n)
        for code in np.setdiff1d(excluded, codes)[:1].tolist():
            refuse(code, "are excluded in the CustomNonbondedForce and no exception of the NonbondedForce")
        for code in np.setdiff1d(codes, excluded)[:1].tolist():
            refuse(code, "are an exception of the NonbondedForce and not excluded in the CustomNonbondedForce")
    known = dict(zip(codes.tolist(), epsilon.tolist()))
    for (i, j), (a, b) in found.pair_lj.items():
        code = i * n + j
        if code not in known:
            refuse(code, "have a CustomBondForce and are no exception of the NonbondedForce")
        if known[code] != 0:
            refuse(code, "have Lennard-Jones parameters both in a CustomBondForce and as an exception")
        if (a > 0) != (b > 0) or a < 0:
            refuse(code, "are purely repulsive or attractive in the CustomBondForce")
