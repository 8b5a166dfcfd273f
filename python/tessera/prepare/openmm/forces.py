"""Reads an OpenMM `System` force by force into a `FlatTopology` and force-field tables."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.prepare.constants import KJ, atomic_numbers
from tessera.prepare.errors import InputError
from tessera.prepare.flat import FlatTopology
from tessera.prepare.lj_types import force_field_of, sigma_epsilon
from tessera.prepare.rows import Tables
from tessera.system import ForceField, LennardJones
from tessera.system.model import FloatArray, IdArray, IndexArray

NM = 10.0  # Å
_A_UNIT, _B_UNIT = KJ * NM**12, KJ * NM**6
#: forces of a System that are no interactions, and the notes on them
_NO_INTERACTION = {
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
_PI = re.compile(r"(?<![\w.])3\.14159\d*(?![\w.])")
_TABLE_LJ = "(a/r6)^2-b/r6;r6=r^6;a=acoef(type1,type2);b=bcoef(type1,type2)"
_PRODUCT_LJ = "A1*A2/r^12-C1*C2/r^6"
_PAIR_LJ = "-C/r^6+A/r^12"


@dataclass
class AtomNames:
    """The names of the atoms (n,), from a PDB or a topology."""

    name: NDArray[np.bytes_]
    residue_name: NDArray[np.bytes_]
    residue_number: IndexArray
    segment: NDArray[np.bytes_]
    atomic_number: IndexArray | None = None


@dataclass
class Converted:
    flat: FlatTopology
    force_field: ForceField
    lennard_jones: LennardJones | None  # None: no cut-off
    notes: list[str] = field(default_factory=list)
    periodic: bool = False  # whether pairs interact across the edges of a box


@dataclass
class _Gathered:
    """The terms of all forces before they are divided into kinds, in kcal/mol, Å and radian."""

    bonds: list[tuple[int, int, float, float]] = field(default_factory=list)
    urey_bradleys: list[tuple[int, int, float, float]] = field(default_factory=list)
    angles: list[tuple[float, ...]] = field(default_factory=list)
    torsions: list[tuple[float, ...]] = field(default_factory=list)
    rb_torsions: list[tuple[float, ...]] = field(default_factory=list)
    impropers: list[tuple[float, ...]] = field(default_factory=list)
    cmaps: list[tuple[int, ...]] = field(default_factory=list)
    maps: list[FloatArray] = field(default_factory=list)
    exceptions: list[tuple[int, int, float, float, float]] = field(default_factory=list)
    pair_lj: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)
    charge: FloatArray | None = None
    lj: FloatArray | None = None  # (n,2) σ, ε
    table: tuple[IdArray, FloatArray, FloatArray] | None = None  # type of each atom, A, B
    exclusions: IdArray | None = None  # (·,2) pairs without an interaction in the table
    lennard_jones: LennardJones | None = None
    notes: list[str] = field(default_factory=list)
    periodic: set[bool] = field(default_factory=set)  # whether each force between pairs is periodic


def convert(system: Any, names: AtomNames, rule: str = "lorentz-berthelot") -> Converted:
    """Converts a System. Raises `InputError` that names a force without a counterpart here."""
    n = system.getNumParticles()
    if len(names.name) != n:
        raise InputError(f"the System has {n} particles but the names are of {len(names.name)}")
    mass = np.array([_value(system.getParticleMass(i)) for i in range(n)])
    gathered = _Gathered()
    for force in system.getForces():
        _read_force(force, gathered)
    if gathered.charge is None:
        raise InputError("the System has no NonbondedForce, so its atoms have no charges")
    kind, type_names, force_field = _types(gathered, rule)
    numbers = names.atomic_number
    flat = FlatTopology(
        name=names.name,
        type=kind,
        type_names=type_names,
        charge=gathered.charge,
        mass=mass,
        atomic_number=atomic_numbers(mass, names.name) if numbers is None else numbers,
        residue_name=names.residue_name,
        residue_number=names.residue_number,
        segment=names.segment,
    )
    for i in range(n):
        if system.isVirtualSite(i) or mass[i] <= 0:
            raise InputError(f"{flat.describe(i)} is a virtual site or has no mass: not supported")
    tables = Tables()
    _add_bonds(system, flat, gathered, tables)
    _add_torsions(flat, gathered, tables)
    _add_exceptions(flat, gathered, tables)
    force_field.tables, force_field.cmap = tables.tables(), tables.maps()
    if len(gathered.periodic) > 1:
        raise InputError(
            "of NonbondedForce and CustomNonbondedForce one is periodic and the other is not: not supported"
        )
    return Converted(flat, force_field, gathered.lennard_jones, gathered.notes, gathered.periodic == {True})


def _value(quantity: Any) -> float:
    """Returns a plain number in nm, kJ/mol, radian, amu and e (OpenMM's own units)."""
    return float(getattr(quantity, "_value", quantity))


def _read_force(force: Any, out: _Gathered) -> None:
    kind = type(force).__name__
    reader = _READERS.get(kind)
    if reader is not None:
        reader(force, out)
    elif kind in _NO_INTERACTION:
        out.notes.append(f"the System's {kind} is left out: {_NO_INTERACTION[kind]}")
    else:
        named = f" ({force.getName()})" if force.getName() != kind else ""
        raise InputError(f"the System has a {kind}{named}: this force is not supported")


def _read_bonds(force: Any, out: _Gathered) -> None:
    is_urey_bradley = "urey" in force.getName().lower()
    target = out.urey_bradleys if is_urey_bradley else out.bonds
    for index in range(force.getNumBonds()):
        i, j, r0, k = force.getBondParameters(index)
        target.append((i, j, _value(k) * KJ / NM**2 / 2, _value(r0) * NM))


def _read_angles(force: Any, out: _Gathered) -> None:
    for index in range(force.getNumAngles()):
        i, j, k, theta, constant = force.getAngleParameters(index)
        out.angles.append((i, j, k, _value(constant) * KJ / 2, _value(theta)))


def _read_torsions(force: Any, out: _Gathered) -> None:
    for index in range(force.getNumTorsions()):
        *atoms, n, phase, k = force.getTorsionParameters(index)
        out.torsions.append((*atoms, _value(k) * KJ, float(n), _value(phase)))


def _read_rb_torsions(force: Any, out: _Gathered) -> None:
    for index in range(force.getNumTorsions()):
        *atoms, c0, c1, c2, c3, c4, c5 = force.getTorsionParameters(index)
        out.rb_torsions.append((*atoms, *(_value(c) * KJ for c in (c0, c1, c2, c3, c4, c5))))


def _plain(expression: str) -> str:
    """Returns an energy without blanks, with π by name, and with its definitions in alphabetical order."""
    energy, *definitions = _PI.sub("pi", expression.replace(" ", "")).strip(";").split(";")
    return ";".join([energy, *sorted(d for d in definitions if d not in ("", "pi=pi"))])


def _read_custom_torsions(force: Any, out: _Gathered) -> None:
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


def _read_cmaps(force: Any, out: _Gathered) -> None:
    first = len(out.maps)
    for index in range(force.getNumMaps()):
        n, energies = force.getMapParameters(index)
        grid = np.array([_value(e) for e in energies]).reshape(n, n).T * KJ
        # OpenMM's maps start at 0°, Tessera's at −180°.
        out.maps.append(np.roll(grid, (n // 2, n // 2), axis=(0, 1)))
    for index in range(force.getNumTorsions()):
        row, *atoms = force.getTorsionParameters(index)
        out.cmaps.append((first + row, *atoms))


def _read_nonbonded(force: Any, out: _Gathered) -> None:
    if out.charge is not None:
        raise InputError("the System has two NonbondedForces: only one is supported")
    if force.getNumParticleParameterOffsets() or force.getNumExceptionParameterOffsets():
        raise InputError("the NonbondedForce has parameter offsets: not supported")
    particles = np.array(
        [[_value(v) for v in force.getParticleParameters(i)] for i in range(force.getNumParticles())]
    ).reshape(-1, 3)
    if not force.getIncludeDirectSpace():
        raise InputError("the NonbondedForce leaves direct space out: not supported")
    out.charge = particles[:, 0].copy()
    out.lj = np.stack([particles[:, 1] * NM, particles[:, 2] * KJ], axis=1)
    for index in range(force.getNumExceptions()):
        i, j, product, sigma, epsilon = force.getExceptionParameters(index)
        out.exceptions.append((i, j, _value(product), _value(sigma) * NM, _value(epsilon) * KJ))
    if (particles[:, 2] < 0).any() or any(row[4] < 0 for row in out.exceptions):
        raise InputError("the NonbondedForce has a negative ε: not supported")
    _note_method(force, out)
    out.periodic.add(bool(force.usesPeriodicBoundaryConditions()))
    if out.table is None:  # otherwise the table's is used
        out.lennard_jones = _lennard_jones(force, force.getUseDispersionCorrection())
        if force.getNonbondedMethod() == force.LJPME:  # LJPME has no switch
            out.lennard_jones = LennardJones("cut", _value(force.getCutoffDistance()) * NM, tail=True)


def _note_method(force: Any, out: _Gathered) -> None:
    """Adds notes on methods for which a run has no equal."""
    cutoff = f"{_value(force.getCutoffDistance()) * NM:g} Å"
    method = force.getNonbondedMethod()
    if method == force.LJPME:
        out.notes.append(
            f"OpenMM sums dispersion over all periodic images (LJPME); a run cuts it off at {cutoff} and adds the mean "
            "energy and pressure of what lies beyond"
        )
    elif method == force.CutoffPeriodic:
        out.notes.append(
            f"OpenMM ends electrostatics with a reaction field at {cutoff}; a run sums them over all periodic images "
            "(particle-mesh Ewald) unless its run file says otherwise"
        )
    elif method == force.CutoffNonPeriodic:
        out.notes.append(
            f"OpenMM ends electrostatics with a reaction field at {cutoff}; a run without a periodic box does not "
            "unless its run file says so"
        )
    elif method == force.Ewald:
        out.notes.append("OpenMM's Ewald sum becomes a particle-mesh Ewald sum, which has the same limit")


def _lennard_jones(force: Any, tail: bool) -> LennardJones | None:
    """Returns how a NonbondedForce or a CustomNonbondedForce ends, or None where it has no cut-off."""
    if force.getNonbondedMethod() == force.NoCutoff:
        return None
    cutoff = _value(force.getCutoffDistance()) * NM
    if force.getUseSwitchingFunction():
        return LennardJones("quintic-switch", cutoff, _value(force.getSwitchingDistance()) * NM, bool(tail))
    return LennardJones("cut", cutoff, tail=bool(tail))


def _read_custom_nonbonded(force: Any, out: _Gathered) -> None:
    """Reads the tables that OpenMM's CHARMM and GROMACS readers write for NBFIX and for the C6, C12 rule."""
    if out.table is not None:
        raise InputError("the System has two CustomNonbondedForces: only one is supported")
    if force.getNumInteractionGroups():
        raise InputError("the CustomNonbondedForce acts between interaction groups only: not supported")
    expression = force.getEnergyFunction().replace(" ", "").strip(";")
    n = force.getNumParticles()
    rows = np.array([force.getParticleParameters(i) for i in range(n)], np.float64)
    if expression == _TABLE_LJ:
        named = {
            force.getTabulatedFunctionName(i): force.getTabulatedFunction(i)
            for i in range(force.getNumTabulatedFunctions())
        }
        kinds = {type(named.get(f)).__name__ for f in ("acoef", "bcoef")}
        if kinds != {"Discrete2DFunction"}:
            raise InputError("the CustomNonbondedForce's tables are not discrete: not supported")
        (size, _, a), (_, _, b) = (named[f].getFunctionParameters() for f in ("acoef", "bcoef"))
        acoef, bcoef = (np.array(v).reshape(size, size) for v in (a, b))
        out.table = (rows[:, 0].astype(np.int64), acoef**2 * _A_UNIT, bcoef * _B_UNIT)
    elif expression == _PRODUCT_LJ:
        unique, kind = np.unique(rows, axis=0, return_inverse=True)
        c, a = unique.T
        out.table = (kind.reshape(-1), np.outer(a, a) * _A_UNIT, np.outer(c, c) * _B_UNIT)
    else:
        raise InputError(
            f"the System has a CustomNonbondedForce with the energy {expression!r}: only tables "
            "of Lennard-Jones coefficients as OpenMM's CHARMM and GROMACS readers make are supported"
        )
    pairs = [force.getExclusionParticles(i) for i in range(force.getNumExclusions())]
    out.exclusions = np.array(pairs, np.int64).reshape(-1, 2)
    out.periodic.add(bool(force.usesPeriodicBoundaryConditions()))
    out.lennard_jones = _lennard_jones(force, force.getUseLongRangeCorrection())


def _read_custom_bonds(force: Any, out: _Gathered) -> None:
    expression = force.getEnergyFunction().replace(" ", "").strip(";")
    columns = [force.getPerBondParameterName(i) for i in range(force.getNumPerBondParameters())]
    if expression != _PAIR_LJ or set(columns) != {"A", "C"}:
        raise InputError(f"the System has a CustomBondForce with the energy {expression!r}: not supported")
    for index in range(force.getNumBonds()):
        i, j, values = force.getBondParameters(index)
        named = dict(zip(columns, values))
        pair = min(i, j), max(i, j)
        if pair in out.pair_lj:
            raise InputError(f"the CustomBondForce has atoms {pair[0] + 1} and {pair[1] + 1} twice: not supported")
        out.pair_lj[pair] = (named["A"] * _A_UNIT, named["C"] * _B_UNIT)


_READERS = {
    "HarmonicBondForce": _read_bonds,
    "HarmonicAngleForce": _read_angles,
    "PeriodicTorsionForce": _read_torsions,
    "RBTorsionForce": _read_rb_torsions,
    "CustomTorsionForce": _read_custom_torsions,
    "CMAPTorsionForce": _read_cmaps,
    "NonbondedForce": _read_nonbonded,
    "CustomNonbondedForce": _read_custom_nonbonded,
    "CustomBondForce": _read_custom_bonds,
}


def _types(found: _Gathered, rule: str) -> tuple[IndexArray, list[str], ForceField]:
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
    names = [f"type{i + 1}" for i in range(len(a))]
    return kind.reshape(-1).astype(np.int32), names, force_field_of(names, a, b, rule)


def _codes(pairs: Any, n: int) -> IdArray:
    pairs = np.sort(np.asarray(pairs, np.int64).reshape(-1, 2), axis=1)
    return pairs[:, 0] * n + pairs[:, 1]


def _add_bonds(system: Any, flat: FlatTopology, found: _Gathered, tables: Tables) -> None:
    n = flat.n_atoms
    angles = np.array(found.angles, np.float64).reshape(-1, 5)
    flat.add("angle", angles[:, :3].astype(np.int64), tables["angle"].add_many(angles[:, 3:]))
    bonds = np.array(found.bonds, np.float64).reshape(-1, 4)
    ids = bonds[:, :2].astype(np.int64)
    # Springs between the outer atoms of an angle are Urey–Bradley terms, except a water's H–H.
    elements = flat.atomic_number[angles[:, :3].astype(np.int64)]
    other = angles[~(elements == (1, 8, 1)).all(axis=1)]
    spring = np.isin(_codes(ids, n), _codes(other[:, [0, 2]].astype(np.int64), n))
    flat.add("bond", ids[~spring], tables["bond"].add_many(bonds[~spring, 2:]))
    flat.add("urey_bradley", ids[spring], tables["urey_bradley"].add_many(bonds[spring, 2:]))
    more = np.array(found.urey_bradleys, np.float64).reshape(-1, 4)
    flat.add("urey_bradley", more[:, :2].astype(np.int64), tables["urey_bradley"].add_many(more[:, 2:]))
    _add_constraints(system, flat, tables)


def _add_constraints(system: Any, flat: FlatTopology, tables: Tables) -> None:
    """Converts constraints of rigid water to bonds without a force; other constrained pairs must have a bond's
    force."""
    known = set(_codes(flat.terms["bond"][0], flat.n_atoms).tolist())
    bonds, rows = [], []
    for index in range(system.getNumConstraints()):
        i, j, distance = system.getConstraintParameters(index)
        i, j = min(i, j), max(i, j)
        if i * flat.n_atoms + j in known:
            continue
        elements = sorted((int(flat.atomic_number[i]), int(flat.atomic_number[j])))
        if elements not in ([1, 8], [1, 1]) or flat.residue_number[i] != flat.residue_number[j]:
            raise InputError(
                f"{flat.describe(i)} and {flat.describe(j)} are constrained and have no bond "
                "force; make the System with constraints=None (run.toml says what is constrained)"
            )
        bonds.append((i, j))
        rows.append(tables["bond"].add(0.0, _value(distance) * NM))
    flat.add("bond", bonds, rows)


def _add_torsions(flat: FlatTopology, found: _Gathered, tables: Tables) -> None:
    rows = np.array(found.torsions, np.float64).reshape(-1, 7)
    ids, cosines = rows[:, :4].astype(np.int64), rows[:, 4:]
    bonds = _codes(flat.terms["bond"][0], flat.n_atoms)
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


def _add_exceptions(flat: FlatTopology, found: _Gathered, tables: Tables) -> None:
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


def _check_pairs(flat: FlatTopology, found: _Gathered, exceptions: IdArray, epsilon: FloatArray) -> None:
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
