"""Reads the forces between pairs of a `System`, in each form in which OpenMM and ParmEd write them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tessera.constants import KJ, NM
from tessera.errors import InputError
from tessera.prepare.openmm.gathered import Gathered, value
from tessera.system import LennardJones
from tessera.system.model import FloatArray

_A_UNIT, _B_UNIT, _C_UNIT = KJ * NM**12, KJ * NM**6, KJ * NM**4
#: energies of a CustomNonbondedForce without blanks. The first two hold √A, the third A, the fourth √A and √C of each
#: atom, and the last 2 √ε and √σ of each atom.
_ROOT_TABLES = (
    "(a/r6)^2-b/r6;r6=r^6;a=acoef(type1,type2);b=bcoef(type1,type2)",
    "(a/r6)^2-b/r6;r6=r2*r2*r2;r2=r^2;a=acoef(type1,type2);b=bcoef(type1,type2)",
)
#: the same with −C/r⁴ of 12-6-4 ions, and that term alone
_ION_TABLES = (
    "(a/r6)^2-b/r6-c/r^4;r6=r^6;a=acoef(type1,type2);b=bcoef(type1,type2);c=ccoef(type1,type2)",
    "(a/r6)^2-b/r6-c/r4;r6=r4*r2;r4=r2^2;r2=r^2;a=acoef(type1,type2);b=bcoef(type1,type2);c=ccoef(type1,type2)",
)
_IONS = "-c/r^4;c=ccoef(type1,type2)"
_TABLE = "acoef(type1,type2)/r^12-bcoef(type1,type2)/r^6"
_PRODUCT = "A1*A2/r^12-C1*C2/r^6"
_GEOMETRIC = "epsilon1*epsilon2*(sigr6^2-sigr6);sigr6=sigr2*sigr2*sigr2;sigr2=(sigc/r)^2;sigc=sigma1*sigma2"
#: energies of a CustomBondForce: of GROMOS' bonds, and between 1-4 pairs
_QUARTIC = re.compile(r"(?:([\d.]+)\*)?k\*\(r\^2-r0\^2\)\^2")
_PAIR_AC = "-C/r^6+A/r^12"
_PAIR_SIGMA_EPSILON = re.compile(r"([\d.]+(?:e[+-]?\d+)?)\*epsilon\*\(\(sigma/r\)\^12-\(sigma/r\)\^6\)")


def read_nonbonded(force: Any, out: Gathered) -> None:
    """Reads charges, Lennard-Jones, and pairs with parameters of their own or none."""
    if out.charge is not None:
        raise InputError("the System has two NonbondedForces: only one is supported")
    if force.getNumParticleParameterOffsets() or force.getNumExceptionParameterOffsets():
        raise InputError("the NonbondedForce has parameter offsets: not supported")
    particles = np.array(
        [[value(v) for v in force.getParticleParameters(i)] for i in range(force.getNumParticles())]
    ).reshape(-1, 3)
    if not force.getIncludeDirectSpace():
        raise InputError("the NonbondedForce leaves direct space out: not supported")
    out.charge = particles[:, 0].copy()
    out.lj = np.stack([particles[:, 1] * NM, particles[:, 2] * KJ], axis=1)
    for index in range(force.getNumExceptions()):
        i, j, product, sigma, epsilon = force.getExceptionParameters(index)
        out.exceptions.append((i, j, value(product), value(sigma) * NM, value(epsilon) * KJ))
    if (particles[:, 2] < 0).any() or any(row[4] < 0 for row in out.exceptions):
        raise InputError("the NonbondedForce has a negative ε: not supported")
    _note_method(force, out)
    out.periodic.add(bool(force.usesPeriodicBoundaryConditions()))
    if out.table is None:  # otherwise the table's is used
        out.lennard_jones = _lennard_jones(force, force.getUseDispersionCorrection())
        if force.getNonbondedMethod() == force.LJPME:  # LJPME has no switch
            out.lennard_jones = LennardJones("pme", value(force.getCutoffDistance()) * NM)


def _note_method(force: Any, out: Gathered) -> None:
    """Adds notes on methods for which a run has no equal."""
    cutoff = f"{value(force.getCutoffDistance()) * NM:g} Å"
    method = force.getNonbondedMethod()
    if method == force.CutoffPeriodic:
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
    cutoff = value(force.getCutoffDistance()) * NM
    if force.getUseSwitchingFunction():
        return LennardJones("quintic-switch", cutoff, value(force.getSwitchingDistance()) * NM, bool(tail))
    return LennardJones("cut", cutoff, tail=bool(tail))


def read_custom_nonbonded(force: Any, out: Gathered) -> None:
    """Reads Lennard-Jones as it is written for NBFIX, for the C6, C12 rule and for the geometric mean of σ, and
    −C/r⁴ of 12-6-4 ions, in the same force or in one of its own."""
    if force.getNumInteractionGroups():
        raise InputError("the CustomNonbondedForce acts between interaction groups only: not supported")
    expression = force.getEnergyFunction().replace(" ", "").strip(";")
    columns = [force.getPerParticleParameterName(i) for i in range(force.getNumPerParticleParameters())]
    rows = np.array([force.getParticleParameters(i) for i in range(force.getNumParticles())], np.float64)
    has_ions = expression in (*_ION_TABLES, _IONS) and columns == ["type"]
    if (out.table is not None and expression != _IONS) or (out.ions is not None and has_ions):
        raise InputError("the System has two CustomNonbondedForces: only one is supported, beside one of 12-6-4 ions")
    if has_ions:
        (c,) = _tables(force, "ccoef")
        out.ions = rows[:, 0].astype(np.int64), c * _C_UNIT
    if expression in (*_ROOT_TABLES, *_ION_TABLES, _TABLE) and columns == ["type"]:
        a, b = _tables(force, "acoef", "bcoef")
        out.table = (rows[:, 0].astype(np.int64), (a if expression == _TABLE else a**2) * _A_UNIT, b * _B_UNIT)
    elif expression == _PRODUCT and set(columns) == {"A", "C"}:
        unique, kind = np.unique(rows[:, [columns.index("C"), columns.index("A")]], axis=0, return_inverse=True)
        c, a = unique.T
        out.table = (kind.reshape(-1), np.outer(a, a) * _A_UNIT, np.outer(c, c) * _B_UNIT)
    elif expression == _GEOMETRIC and set(columns) == {"epsilon", "sigma"}:
        unique, kind = np.unique(
            rows[:, [columns.index("epsilon"), columns.index("sigma")]], axis=0, return_inverse=True
        )
        depth, sigma = (np.outer(column, column) for column in unique.T)  # 4 ε and σ of each pair
        out.table = (kind.reshape(-1), depth * sigma**12 * _A_UNIT, depth * sigma**6 * _B_UNIT)
    elif not has_ions:
        raise InputError(
            f"the System has a CustomNonbondedForce with the energy {expression!r}: only Lennard-Jones as the force "
            "fields of OpenMM and the readers of OpenMM and ParmEd write it is supported"
        )
    pairs = [force.getExclusionParticles(i) for i in range(force.getNumExclusions())]
    excluded = np.unique(np.sort(np.array(pairs, np.int64).reshape(-1, 2), axis=1), axis=0)
    if out.exclusions is not None and not np.array_equal(excluded, out.exclusions):
        raise InputError("the System's CustomNonbondedForces exclude different pairs: not supported")
    out.exclusions = excluded
    out.periodic.add(bool(force.usesPeriodicBoundaryConditions()))
    if expression == _IONS:
        return
    out.lennard_jones = _lennard_jones(force, force.getUseLongRangeCorrection())


def _tables(force: Any, *names: str) -> list[FloatArray]:
    """Returns the tables of these names, each (T,T)."""
    named = {
        force.getTabulatedFunctionName(i): force.getTabulatedFunction(i)
        for i in range(force.getNumTabulatedFunctions())
    }
    if {type(named.get(name)).__name__ for name in names} != {"Discrete2DFunction"}:
        raise InputError("the CustomNonbondedForce's tables are not discrete: not supported")
    tables = [named[name].getFunctionParameters() for name in names]
    return [np.array(values).reshape(size, size) for size, _, values in tables]


def read_custom_bonds(force: Any, out: Gathered) -> None:
    """Reads Lennard-Jones of 1-4 pairs, and GROMOS' bonds."""
    expression = force.getEnergyFunction().replace(" ", "").strip(";")
    columns = [force.getPerBondParameterName(i) for i in range(force.getNumPerBondParameters())]
    if (quartic := _QUARTIC.fullmatch(expression)) and set(columns) == {"k", "r0"}:
        for index in range(force.getNumBonds()):
            i, j, values = force.getBondParameters(index)
            named = dict(zip(columns, values))
            k = float(quartic[1] or 1) * named["k"] * KJ / NM**4
            if k != 0:  # a bond without a force would represent a constraint
                out.quartic_bonds.append((i, j, k, named["r0"] * NM))
        return
    scaled = _PAIR_SIGMA_EPSILON.fullmatch(expression)
    if not (expression == _PAIR_AC and set(columns) == {"A", "C"}) and not (
        scaled and set(columns) == {"sigma", "epsilon"}
    ):
        raise InputError(
            f"the System has a CustomBondForce with the energy {expression!r}: not supported. Harmonic bonds belong in "
            "a HarmonicBondForce, and what holds a distance in [[restraint]] of the run file"
        )
    for index in range(force.getNumBonds()):
        i, j, values = force.getBondParameters(index)
        named = dict(zip(columns, values))
        pair = min(i, j), max(i, j)
        if pair in out.pair_lj:
            raise InputError(f"the CustomBondForce has atoms {pair[0] + 1} and {pair[1] + 1} twice: not supported")
        if scaled:
            depth, sixth = float(scaled[1]) * named["epsilon"], named["sigma"] ** 6
            named = {"A": depth * sixth**2, "C": depth * sixth}
        out.pair_lj[pair] = (named["A"] * _A_UNIT, named["C"] * _B_UNIT)
