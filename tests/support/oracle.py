"""OpenMM's Reference platform gives the reference energies and forces for tests of the engine.

`openmm_system` builds an OpenMM system from a system file, one force group a term. Positions come from the integer
fractions, so that engine and reference read the same numbers. `reference_energies` and `reference_forces` evaluate it
in double precision; NumPy sums, pair by pair, the parts of PME that OpenMM does not report separately.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import openmm
from openmm import unit
from scipy import integrate
from scipy.spatial import cKDTree
from scipy.special import erf, erfc

from tessera.system import System, read
from tessera.system.box import with_images

KCAL = 4.184  # kJ
OPENMM_COULOMB = 138.93545764438198 / 0.4184  # kcal Å mol⁻¹ e⁻²
TERMS = (
    "bond",
    "angle",
    "urey_bradley",
    "dihedral",
    "improper",
    "cmap",
    "lj",
    "lj_14",
    "coulomb",
    "coulomb_14",
)
GROUP = {term: index for index, term in enumerate(TERMS)}


@dataclass(frozen=True)
class Settings:
    """The settings of `[interactions]` and `[pme]` in the engine's run file, in Å."""

    cutoff: float | None = 12.0  # None: no cut-off (vacuum only)
    switch: float = 10.0
    lj: str = "potential-switch"
    lj_tail: bool = False
    electrostatics: str = "pme"  # pme, cut, shift, force-switch
    alpha: float = 0.3  # Å⁻¹
    grid: tuple[int, int, int] = (96, 96, 96)


def load(system: str | Path | System) -> System:
    return system if isinstance(system, System) else read(system)


def openmm_system(system: str | Path | System, settings: Settings) -> openmm.System:
    """Builds the OpenMM system of a system file; force group `GROUP[term]` holds each term."""
    found = load(system)
    out = openmm.System()
    for mass in found.atom_field("mass"):
        out.addParticle(float(mass))
    if found.periodic:
        out.setDefaultPeriodicBoxVectors(*[openmm.Vec3(*row) for row in found.box * 0.1])
    for force in _bonded_forces(found) + _nonbonded_forces(found, settings):
        out.addForce(force)
    for atom, site in _virtual_sites(found):
        out.setVirtualSite(atom, site)
    return out


def _virtual_sites(system: System) -> Iterator[tuple[int, Any]]:
    """Yields the id of each virtual site and what OpenMM calls it, which spreads its force by formulas of its own."""
    template, first = system.instances()
    for index, begin in zip(template.tolist(), first.tolist()):
        sites = system.templates[index].virtual_sites
        for row, (atom, frame, position) in enumerate(zip(sites.atom, sites.frame, sites.position)):
            mine = sites.parents[:, 0] == row
            parents = [int(p) + begin for p in sites.parents[mine, 1]]
            origin, x, y = (column.tolist() for column in sites.weights[mine].T)
            if frame == 0 and len(parents) == 3:
                site = openmm.ThreeParticleAverageSite(*parents, *origin)
            elif frame == 0 and len(parents) == 2:
                site = openmm.TwoParticleAverageSite(*parents, *origin)
            elif frame == 1:
                a, b, c = position
                site = openmm.OutOfPlaneSite(*parents, a, b, 10 * c)
            else:  # a direction that does not matter where none is given
                some = [1.0, -1.0, *[0.0] * (len(parents) - 2)], [1.0, *[0.0] * (len(parents) - 2), -1.0]
                x, y = (given if np.any(given) else other for given, other in zip((x, y), some))
                site = openmm.LocalCoordinatesSite(parents, origin, x, y, openmm.Vec3(*(0.1 * position)))
            yield int(atom) + begin, site


def whole_positions(system: System) -> np.ndarray:
    """Returns positions (n,3) Å with all atoms of a molecule near its first one."""
    template, first = system.instances()
    sizes = np.array([t.n_atoms for t in system.templates])[template]
    begin = np.repeat(first, sizes)
    return system.positions()[begin] + ((system.fraction - system.fraction[begin]) * 2.0**-32) @ system.box


def _grouped(force: Any, term: str, periodic: bool) -> Any:
    force.setForceGroup(GROUP[term])
    force.setName(term)
    if hasattr(force, "setUsesPeriodicBoundaryConditions"):
        force.setUsesPeriodicBoundaryConditions(periodic)
    return force


def _each(system: System, kind: str) -> Iterator[tuple[list[int], list[float]]]:
    atoms, rows = system.expand(kind)
    table = system.force_field.table(kind)
    return zip(atoms.tolist(), table[rows].tolist()) if len(rows) else iter(())


def _bonded_forces(system: System) -> list[Any]:
    return [
        _harmonic_bonds(system, "bond"),
        _harmonic_bonds(system, "urey_bradley"),
        _angles(system),
        *_gromos(system),
        _dihedrals(system, "dihedral", "dihedral"),
        _dihedrals(system, "improper_periodic", "improper"),
        _rb_dihedrals(system),
        _impropers(system),
        _cmaps(system),
        _lj_14(system),
        _coulomb_14(system),
    ]


def _harmonic_bonds(system: System, kind: str) -> Any:
    force = _grouped(openmm.HarmonicBondForce(), kind, system.periodic)
    for (i, j), (k, r0) in _each(system, kind):
        force.addBond(i, j, r0 * 0.1, 2 * k * KCAL * 100)
    return force


def _angles(system: System) -> Any:
    force = _grouped(openmm.HarmonicAngleForce(), "angle", system.periodic)
    for atoms, (k, theta) in _each(system, "angle"):
        force.addAngle(*atoms, theta, 2 * k * KCAL)
    return force


def _gromos(system: System) -> list[Any]:
    bonds = openmm.CustomBondForce(f"{KCAL}*k*(100*r^2-r0^2)^2")
    angles = openmm.CustomAngleForce(f"{KCAL}*k*(cos(theta)-cos(theta0))^2")
    for name in ("k", "r0"):
        bonds.addPerBondParameter(name)
    for name in ("k", "theta0"):
        angles.addPerAngleParameter(name)
    for atoms, row in _each(system, "bond_quartic"):
        bonds.addBond(*atoms, row)
    for atoms, row in _each(system, "angle_cosine"):
        angles.addAngle(*atoms, row)
    return [_grouped(bonds, "bond", system.periodic), _grouped(angles, "angle", system.periodic)]


def _dihedrals(system: System, kind: str, term: str) -> Any:
    # This is a CustomTorsionForce, because PeriodicTorsionForce takes no multiplicity below 1.
    force = openmm.CustomTorsionForce(f"{KCAL}*k*(1+cos(n*theta-delta))")
    for name in ("k", "n", "delta"):
        force.addPerTorsionParameter(name)
    for atoms, row in _each(system, kind):
        force.addTorsion(*atoms, row)
    return _grouped(force, term, system.periodic)


def _rb_dihedrals(system: System) -> Any:
    force = _grouped(openmm.RBTorsionForce(), "dihedral", system.periodic)
    for atoms, row in _each(system, "dihedral_rb"):
        force.addTorsion(*atoms, *[c * KCAL for c in row])
    return force


def _impropers(system: System) -> Any:
    force = openmm.CustomTorsionForce(
        f"{KCAL}*k*min(d, {2 * np.pi}-d)^2; d=abs(theta-phi0)"  # both angles in [−π, π]
    )
    force.addPerTorsionParameter("k")
    force.addPerTorsionParameter("phi0")
    for atoms, row in _each(system, "improper_harmonic"):
        force.addTorsion(*atoms, row)
    return _grouped(force, "improper", system.periodic)


def _cmaps(system: System) -> Any:
    force = _grouped(openmm.CMAPTorsionForce(), "cmap", system.periodic)
    for energies in system.force_field.cmap:
        n = len(energies)
        # OpenMM's maps start at 0° and Tessera's at −180°; OpenMM's first index runs fastest.
        turned = np.roll(energies, (-(n // 2), -(n // 2)), axis=(0, 1)) * KCAL
        force.addMap(n, turned.T.reshape(-1).tolist())
    atoms, rows = system.expand("cmap")
    for row, eight in zip(rows.tolist(), atoms.tolist()):
        force.addTorsion(row, *eight)
    return force


def _lj_14(system: System) -> Any:
    force = openmm.CustomBondForce(f"{4 * KCAL}*epsilon*((sigma/r)^12-(sigma/r)^6)")
    force.addPerBondParameter("sigma")
    force.addPerBondParameter("epsilon")
    for (i, j), (sigma, epsilon, _) in _each(system, "pair_14"):
        force.addBond(i, j, [sigma * 0.1, epsilon])
    return _grouped(force, "lj_14", system.periodic)


def _coulomb_14(system: System) -> Any:
    charge = system.atom_field("charge")
    force = openmm.CustomBondForce(f"{system.coulomb_constant * KCAL * 0.1}*qq/r")
    force.addPerBondParameter("qq")
    for (i, j), (_, _, scale) in _each(system, "pair_14"):
        force.addBond(i, j, [scale * charge[i] * charge[j]])
    return _grouped(force, "coulomb_14", system.periodic)


def lj_coefficients(system: System) -> tuple[np.ndarray, np.ndarray]:
    """Returns A (T,T) kcal/mol Å¹² and B (T,T) kcal/mol Å⁶ of every pair of types."""
    sigma, epsilon = system.force_field.type_lj.T
    if system.lj_rule == "geometric":
        mixed = np.sqrt(np.outer(sigma, sigma))
    else:
        mixed = 0.5 * (sigma[:, None] + sigma[None, :])
    depth = np.sqrt(np.outer(epsilon, epsilon))
    a, b = 4 * depth * mixed**12, 4 * depth * mixed**6
    field = system.force_field
    for row, (i, j) in enumerate(field.nbfix_types):
        s, e = field.nbfix_lj[row]
        pair = (4 * e * s**12, 4 * e * s**6)
        if field.nbfix_ab is not None:
            pair = tuple(field.nbfix_ab[row])
        a[i, j] = a[j, i] = pair[0]
        b[i, j] = b[j, i] = pair[1]
    return a, b


def _nonbonded_forces(system: System, settings: Settings) -> list[Any]:
    return [_lj(system, settings), _coulomb(system, settings)]


_SWITCH = "(c2-R2)^2*(c2+2*R2-3*s2)/(c2-s2)^3; R2=R*R"
LJ_EXPRESSIONS = {
    "cut": "a/R^12-b/R^6",
    "quintic-switch": "a/R^12-b/R^6",
    "potential-switch": "(a/R^12-b/R^6)*select(step(R-s), S, 1); S=" + _SWITCH,
    "force-switch": (
        "a*select(step(R-s), c6/(c6-s6)*(1/R^6-1/c6)^2, 1/R^12-1/(s6*c6))"
        "-b*select(step(R-s), c3/(c3-s3)*(1/R^3-1/c3)^2, 1/R^6-1/(s3*c3))"
    ),
    "force-switch-gromacs": ("a*(1/R^12-c12-x^3*(a12/3+b12/4*x))-b*(1/R^6-c06-x^3*(a06/3+b06/4*x)); x=max(0,R-s)"),
}
COULOMB_EXPRESSIONS = {
    "cut": "1/R",
    "shift": "(1-R*R/c2)^2/R",
    "force-switch": ("select(step(R-s), ca*(1/R-1/c)+cb*(c-R)+cc*(c^3-R^3)+cd*(c^5-R^5), 1/R+inner)"),
}


def _constants(settings: Settings) -> dict[str, float]:
    if settings.cutoff is None:
        return {}
    c, s = settings.cutoff, settings.switch
    out = {"c": c, "s": s, "c2": c**2, "s2": s**2, "c3": c**3, "s3": s**3, "c6": c**6, "s6": s**6}
    for p in (6, 12):
        first = -p * ((p + 4) * c - (p + 1) * s) / (c ** (p + 2) * (c - s) ** 2)
        second = p * ((p + 3) * c - (p + 1) * s) / (c ** (p + 2) * (c - s) ** 3)
        shift = c**-p - first / 3 * (c - s) ** 3 - second / 4 * (c - s) ** 4
        out |= {f"a{p:02d}": first, f"b{p:02d}": second, f"c{p:02d}": shift}
    gamma = (c * c - s * s) ** 3
    out["ca"] = c**4 * (c * c - 3 * s * s) / gamma
    out["cb"] = 6 * c * c * s * s / gamma
    out["cc"] = -(c * c + s * s) / gamma
    out["cd"] = 0.4 / gamma
    out["inner"] = 8 * (s * s * c * c * (c - s) - (c**5 - s**5) / 5) / gamma
    return out


def _custom(system: System, settings: Settings, expression: str, term: str) -> Any:
    force = openmm.CustomNonbondedForce(expression)
    for name, value in _constants(settings).items():
        if name in expression:
            force.addGlobalParameter(name, value)
    if settings.cutoff is None:
        force.setNonbondedMethod(force.NoCutoff)
    else:
        method = force.CutoffPeriodic if system.periodic else force.CutoffNonPeriodic
        force.setNonbondedMethod(method)
        force.setCutoffDistance(settings.cutoff * 0.1)
    for i, j in system.expand_exclusions().tolist():
        force.addExclusion(i, j)
    force.setForceGroup(GROUP[term])
    force.setName(term)
    return force


def _lj(system: System, settings: Settings) -> Any:
    form = "cut" if settings.cutoff is None else settings.lj
    expression = f"{KCAL}*({LJ_EXPRESSIONS[form].replace(';', ');', 1)}"
    expression += "" if ";" in expression else ")"
    tables = "a=table_a(kind1,kind2); b=table_b(kind1,kind2); R=10*r"
    force = _custom(system, settings, f"{expression}; {tables}", "lj")
    for name, values in zip(("table_a", "table_b"), lj_coefficients(system)):
        n = len(values)
        force.addTabulatedFunction(name, openmm.Discrete2DFunction(n, n, values.ravel().tolist()))
    force.addPerParticleParameter("kind")
    for kind in system.atom_field("type"):
        force.addParticle([float(kind)])
    if form == "quintic-switch":
        force.setUseSwitchingFunction(True)
        force.setSwitchingDistance(settings.switch * 0.1)
    return force


def _coulomb(system: System, settings: Settings) -> Any:
    charge = system.atom_field("charge")
    if settings.electrostatics != "pme" or settings.cutoff is None:
        form = "cut" if settings.cutoff is None else settings.electrostatics
        constant = system.coulomb_constant * KCAL
        expression = f"{constant}*q1*q2*({COULOMB_EXPRESSIONS[form]}); R=10*r"
        force = _custom(system, settings, expression, "coulomb")
        force.addPerParticleParameter("q")
        for q in charge:
            force.addParticle([q])
        return force
    force = openmm.NonbondedForce()
    force.setNonbondedMethod(force.PME)
    force.setCutoffDistance(settings.cutoff * 0.1)
    force.setPMEParameters(settings.alpha * 10, *settings.grid)
    force.setUseDispersionCorrection(False)
    # Positions are wrapped atom by atom, so parts of one molecule may be on opposite sides of the box.
    force.setExceptionsUsePeriodicBoundaryConditions(True)
    # Scaled charges apply the source program's Coulomb constant to energies and forces alike.
    scale = np.sqrt(system.coulomb_constant / OPENMM_COULOMB)
    for q in charge:
        force.addParticle(q * scale, 0.1, 0.0)
    for i, j in system.expand_exclusions().tolist():
        force.addException(i, j, 0.0, 0.1, 0.0)
    force.setForceGroup(GROUP["coulomb"])
    force.setName("coulomb")
    return force


def reference_context(system: System, settings: Settings) -> openmm.Context:
    integrator = openmm.VerletIntegrator(0.001)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(openmm_system(system, settings), integrator, platform)
    context.setPositions((whole_positions(system) if len(system.virtual_site_ids()) else system.positions()) * 0.1)
    return context


def reference_energies(
    system: str | Path | System, settings: Settings, terms: tuple[str, ...] = TERMS
) -> dict[str, float]:
    """Returns the energy of each term in kcal/mol, and with all terms and PME also the parts of `coulomb` by name.

    `coulomb` leaves out 1-4 pairs: with PME it equals real + reciprocal + self + exclusion + background. `total` is the
    sum of the terms (and of `lj_tail`, where the settings ask for it).
    """
    found = load(system)
    context = reference_context(found, settings)
    energies = {}
    for term in terms:
        state = context.getState(getEnergy=True, groups={GROUP[term]})
        energies[term] = state.getPotentialEnergy().value_in_unit(unit.kilocalories_per_mole)
    if settings.lj_tail:
        energies["lj_tail"] = lj_tail(found, settings)
    energies["total"] = sum(energies.values())
    if "coulomb" in terms and settings.electrostatics == "pme" and settings.cutoff is not None:
        energies |= coulomb_parts(found, settings, energies["coulomb"])
    return energies


def reference_forces(system: str | Path | System, settings: Settings, terms: tuple[str, ...] = TERMS) -> np.ndarray:
    """Returns forces (n,3) kcal/mol/Å in id order, summed over `terms`."""
    context = reference_context(load(system), settings)
    state = context.getState(getForces=True, groups={GROUP[t] for t in terms})
    forces = state.getForces(asNumpy=True)
    return np.asarray(forces.value_in_unit(unit.kilocalories_per_mole / unit.angstrom))


# Sums over pairs by NumPy, in double precision.


def nearest_image(system: System, difference: np.ndarray) -> np.ndarray:
    """Returns the differences to the nearest images along each box vector, (m,3) Å."""
    if not system.periodic:
        return difference
    return difference - np.rint(difference @ np.linalg.inv(system.box)) @ system.box


def pairs_within(system: System, cutoff: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns pairs (m,2) that interact directly, without excluded ones, and their distances (m,) Å."""
    position, n = system.positions(), system.n_atoms
    atom = np.arange(n)
    if system.periodic:
        position, atom = with_images(system.fraction, system.box, cutoff)
    found = cKDTree(position).query_pairs(cutoff, output_type="ndarray")
    found.sort(axis=1)
    # A pair across faces is found at both of them; atoms of the box come before images.
    found = found[(found[:, 0] < n) & ((found[:, 1] < n) | (atom[found[:, 0]] < atom[found[:, 1]]))]
    pairs = atom[found]
    excluded = system.expand_exclusions()
    codes = pairs.min(axis=1) * n + pairs.max(axis=1)
    kept = ~np.isin(codes, excluded[:, 0] * n + excluded[:, 1])
    return pairs[kept], np.linalg.norm(position[found[kept, 0]] - position[found[kept, 1]], axis=1)


def coulomb_parts(system: System, settings: Settings, coulomb: float) -> dict[str, float]:
    """Returns `coulomb_real`, `_exclusion`, `_self`, `_background` and, as the rest, `_reciprocal`."""
    assert settings.cutoff is not None
    charge, constant, alpha = (
        system.atom_field("charge"),
        system.coulomb_constant,
        settings.alpha,
    )
    pairs, distance = pairs_within(system, settings.cutoff)
    product = charge[pairs[:, 0]] * charge[pairs[:, 1]]
    real = constant * float((product * erfc(alpha * distance) / distance).sum())
    left_out = system.expand_exclusions()
    position = system.positions()
    difference = nearest_image(system, position[left_out[:, 0]] - position[left_out[:, 1]])
    r = np.linalg.norm(difference, axis=1)
    product = charge[left_out[:, 0]] * charge[left_out[:, 1]]
    exclusion = -constant * float((product * erf(alpha * r) / r).sum())
    own = -constant * alpha / float(np.sqrt(np.pi)) * float((charge**2).sum())
    volume = float(np.linalg.det(system.box))
    background = -constant * np.pi * float(charge.sum()) ** 2 / (2 * volume * alpha**2)
    return {
        "coulomb_real": real,
        "coulomb_exclusion": exclusion,
        "coulomb_self": own,
        "coulomb_background": background,
        "coulomb_reciprocal": coulomb - real - exclusion - own - background,
    }


def lj_pair_energy(
    settings: Settings,
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """Returns the function V(r, A, B) in kcal/mol of the settings' form, for r within the cut-off."""
    k = _constants(settings)
    c, s = k["c"], k["s"]

    def power(r: np.ndarray, p: int) -> np.ndarray:
        half = p // 2
        outer = c**half / (c**half - s**half) * (r**-half - c**-half) ** 2
        return np.where(r > s, outer, r ** float(-p) - (s * c) ** -half)

    def gromacs(r: np.ndarray, p: int) -> np.ndarray:
        x = np.maximum(0.0, r - s)
        bent = x**3 * (k[f"a{p:02d}"] / 3 + k[f"b{p:02d}"] / 4 * x)
        return r ** float(-p) - bent - k[f"c{p:02d}"]

    def value(r: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if settings.lj == "force-switch":
            return a * power(r, 12.0) - b * power(r, 6.0)  # type: ignore[arg-type]
        if settings.lj == "force-switch-gromacs":
            return a * gromacs(r, 12) - b * gromacs(r, 6)
        plain = a / r**12 - b / r**6
        if settings.lj == "potential-switch":
            r2 = r * r
            factor = (c * c - r2) ** 2 * (c * c + 2 * r2 - 3 * s * s) / (c * c - s * s) ** 3
            return plain * np.where(r > s, factor, 1.0)
        if settings.lj == "quintic-switch":
            x = np.clip((r - s) / (c - s), 0.0, 1.0)
            return plain * (1 - 10 * x**3 + 15 * x**4 - 6 * x**5)
        return plain

    return value


def lj_sum(system: str | Path | System, settings: Settings) -> float:
    """Returns the direct Lennard-Jones sum in kcal/mol. It checks OpenMM's sum, and NumPy computes it faster."""
    found = load(system)
    assert settings.cutoff is not None
    pairs, distance = pairs_within(found, settings.cutoff)
    a, b = lj_coefficients(found)
    kind = found.atom_field("type")[pairs]
    value = lj_pair_energy(settings)
    return float(value(distance, a[kind[:, 0], kind[:, 1]], b[kind[:, 0], kind[:, 1]]).sum())


def lj_tail(system: System, settings: Settings) -> float:
    """Returns the energy in kcal/mol that the cut-off and the modifier take away where every pair distribution is 1.

    It includes the constant by which the force switches shift the potential below `switch`, as in GROMACS. Every atom
    counts as a partner of every other: there is no correction for excluded pairs.
    """
    assert settings.cutoff is not None
    counts = np.bincount(system.atom_field("type"), minlength=len(system.force_field.type_name)).astype(float)
    a, b = (float(counts @ table @ counts) for table in lj_coefficients(system))
    c = settings.cutoff
    missing = a / (9 * c**9) - b / (3 * c**3)
    if settings.lj != "cut":
        value = lj_pair_energy(settings)

        def taken(r: float) -> float:
            at = np.array(r)
            return float((a / r**12 - b / r**6 - value(at, np.array(a), np.array(b))) * r * r)

        missing += integrate.quad(taken, settings.switch, c, epsabs=0, epsrel=1e-12)[0]
        constant = taken(0.5 * settings.switch) / (0.5 * settings.switch) ** 2
        missing += constant * settings.switch**3 / 3
    return 2 * np.pi / float(np.linalg.det(system.box)) * missing
