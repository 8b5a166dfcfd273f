"""Translates OpenMM's System, Integrator and State, serialised to XML.

Units: nm, ps, kJ/mol, K, bar. Ewald's parameter and mesh are those that OpenMM makes of its tolerance δ: α =
√(−ln 2δ)/r_cut, and 2αL/(3δ^⅕) points along an edge L (OpenMM user guide, Coulomb interaction with PME).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tessera.constants import NM
from tessera.convert import openmm_baths, openmm_xml
from tessera.convert.model import Changed, Translation, Value
from tessera.errors import InputError

TITLE = "OpenMM"
MANUAL = "OpenMM user guide and C++ API reference, 8"
VERSIONS = "7.4 to 8"
SUFFIXES = (".xml",)
DEFAULTS: dict[str, str | Changed] = {
    "Integrator.constraintTolerance": "1e-05", "Integrator.randomSeed": "0", "Integrator.integrationForceGroups": "-1",
    "Integrator.hasSubsystemThermostats": "0", "Integrator.chainLength": "3", "System.Constraints": "0",
    "NonbondedForce.method": "0", "NonbondedForce.cutoff": "1", "NonbondedForce.useSwitchingFunction": "0",
    "NonbondedForce.switchingDistance": "-1", "NonbondedForce.ewaldTolerance": "0.0005",
    "NonbondedForce.rfDielectric": "78.3", "NonbondedForce.dispersionCorrection": "1", "NonbondedForce.alpha": "0",
    "NonbondedForce.nx": "0", "NonbondedForce.ny": "0", "NonbondedForce.nz": "0", "NonbondedForce.ljAlpha": "0",
    "NonbondedForce.ljnx": "0", "NonbondedForce.ljny": "0", "NonbondedForce.ljnz": "0",
    "NonbondedForce.includeDirectSpace": "1",
    "CustomNonbondedForce.useSwitchingFunction": "0", "CustomNonbondedForce.switchingDistance": "-1",
    "CustomNonbondedForce.useLongRangeCorrection": "0",
    "CMMotionRemover.frequency": "0", "State.Velocities": "",
    **{f"{kind}.{name}": text for kind in openmm_baths.BAROSTATS for name, text in (
        ("frequency", "25"), ("surfaceTension", "0"), ("xymode", "0"), ("zmode", "0"),
        ("scalex", "1"), ("scaley", "1"), ("scalez", "1"))},
}  # fmt: skip
#: forces whose terms `prepare openmm` puts into the system file, or refuses by name
_IN_SYSTEM = (
    "HarmonicBondForce", "HarmonicAngleForce", "PeriodicTorsionForce", "RBTorsionForce", "CustomAngleForce",
    "CustomTorsionForce", "CMAPTorsionForce", "CustomBondForce", "NonbondedForce", "CustomNonbondedForce",
)  # fmt: skip
#: attributes that any force has
_OF_FORCES = {
    "type": "the system file has its terms",
    "name": "a name",
    "version": "a version of the format",
    "forceGroup": "groups of forces act with integrators of several time steps, which are refused",
    "usesPeriodic": "distances are those of nearest images",
    "energy": "the system file has its terms",
    "exceptionsUsePeriodic": "distances are those of nearest images",
    "recipForceGroup": "groups of forces act with integrators of several time steps, which are refused",
    "randomSeed": "a run has one seed, that of the integrator",
    "rigidScaling": "molecules are moved as wholes",
    "method": "that of the NonbondedForce",
    "ordinal": "the order of forces",
}
_STATE = {
    "Positions": "prepare openmm reads them",
    "Velocities": "prepare openmm reads them",
    "PeriodicBoxVectors": "prepare openmm reads them",
    "Parameters": "prepare openmm gives them to the forces",
    "IntegratorParameters": "the integrator's file has them",
    "Energies": "a result",
    "Forces": "a result",
    "time": "the clock of a run begins at 0",
    "stepCount": "the clock of a run begins at 0",
}
_CUT_METHODS = {0: "NoCutoff", 1: "CutoffNonPeriodic", 2: "CutoffPeriodic", 3: "Ewald", 4: "PME", 5: "LJPME"}
_MESHES = (3, 4, 5)


def looks(text: str) -> bool:
    """Tells whether a text begins as XML with an element of OpenMM."""
    start = text[:2000].lstrip()
    return start.startswith("<") and any(f"<{root} " in start for root in openmm_xml.ROOTS)


options = openmm_xml.options


def translate(t: Translation, groups: Mapping[str, str]) -> None:
    """Says what becomes of each option. Raises `InputError` without a System and an Integrator."""
    for root in ("System", "Integrator"):
        if not t.has(f"{root}.type"):
            raise InputError(f"{t.options[0].file}: OpenMM's settings are a System and an Integrator: give {root} too")
    seen: dict[str, str] = {}
    for option in t.options:
        if option.name in seen and option.name.count(".") == 1 and option.name.endswith(".type"):
            raise InputError(
                f"{option.where}: {option.name} is given already, at {seen[option.name]}: give one of each"
            )
        seen[option.name] = option.where
    _forces(t)
    _interactions(t)
    _constraints(t)
    openmm_baths.translate(t)
    _rest(t)
    t.note("these files do not say how many steps: set dynamics.steps; nor how often to write: see [output]")
    files = {option.name.partition(".")[0]: option.file for option in reversed(t.options)}
    coordinates = files.get("State", "COORDINATES")
    t.prepare = ["tessera", "prepare", "openmm", "--system", files["System"], "--coords", coordinates, "-o", "SYSTEM"]


def _forces(t: Translation) -> None:
    """Says what becomes of forces as wholes."""
    for option in t.options:
        kind, _, attribute = option.name.partition(".")
        if attribute != "type" or kind in openmm_xml.ROOTS:
            continue
        value = t.value_of(option)
        base = kind.partition("#")[0]
        if kind != base and base not in _IN_SYSTEM:
            t.refuse(value, "the System has it twice")
        elif base == "CustomExternalForce":
            t.refuse(
                value, "it holds atoms: prepare openmm writes it into a run file beside the system, as [[restraint]]"
            )
        elif base in openmm_baths.BAROSTATS or base in ("CMMotionRemover", "AndersenThermostat"):
            continue
        elif base not in _IN_SYSTEM or kind == "NonbondedForce#2":
            t.refuse(value, f"a {base} has no counterpart")


def _lj_force(t: Translation) -> str:
    """Returns which force has Lennard-Jones: a CustomNonbondedForce where force fields write tables of it."""
    return "CustomNonbondedForce" if t.has("CustomNonbondedForce.type") else "NonbondedForce"


def _interactions(t: Translation) -> None:
    method, cutoff = t.value("NonbondedForce.method"), t.value("NonbondedForce.cutoff")
    kind = method.integer()
    if kind not in _CUT_METHODS:
        raise method.wrong("a number from 0 to 5")
    if not t.value("NonbondedForce.includeDirectSpace").flag():
        t.refuse(t.value("NonbondedForce.includeDirectSpace"), "the direct sum is always computed")
    elif t.has("NonbondedForce.includeDirectSpace"):
        t.agree(t.value("NonbondedForce.includeDirectSpace"))
    if kind == 0:
        t.set("interactions.cutoff", "auto", method, note="all pairs, as the system file has it")
        t.set("interactions.electrostatics", "cut", method)
        return
    if cutoff.number() <= 0:
        raise cutoff.wrong("a distance above 0 nm")
    t.set("interactions.cutoff", round(NM * cutoff.number(), 9), cutoff)
    _lennard_jones(t, kind, cutoff)
    if kind in _MESHES:
        t.set("interactions.electrostatics", "pme", method, note="" if kind != 3 else "Ewald's sum becomes smooth PME")
        _mesh(t, cutoff)
    else:
        dielectric = t.value("NonbondedForce.rfDielectric")
        if dielectric.number() != 1:
            t.refuse(dielectric, f"{_CUT_METHODS[kind]} has a reaction field: expected 1, or PME")
        else:
            note = "OpenMM shifts it to 0 at the cut-off: the same forces, other energies"
            t.set("interactions.electrostatics", "cut", method, dielectric, note=note)


def _lennard_jones(t: Translation, kind: int, cutoff: Value) -> None:
    force = _lj_force(t)
    if force == "CustomNonbondedForce":
        own = t.value("CustomNonbondedForce.cutoff")
        if own.number() != cutoff.number():
            t.refuse(own, f"another cut-off than that of the NonbondedForce, {cutoff.text} nm")
        else:
            t.follow("interactions.cutoff", own)
    tail = t.value(f"{force}.{'dispersionCorrection' if force == 'NonbondedForce' else 'useLongRangeCorrection'}")
    if kind == 5:
        if force != "NonbondedForce":
            t.refuse(t.value("NonbondedForce.method"), "LJPME with a CustomNonbondedForce")
        t.set("interactions.lj", "pme", t.value("NonbondedForce.method"))
        alpha = _alpha(t, "ljAlpha", cutoff)
        t.set("pme.lj_alpha", alpha, t.value("NonbondedForce.ljAlpha"), t.value("NonbondedForce.ewaldTolerance"))
        return
    switched, begin = t.value(f"{force}.useSwitchingFunction"), t.value(f"{force}.switchingDistance")
    if switched.flag():
        if not 0 < begin.number() < cutoff.number():
            raise begin.wrong(f"a distance above 0 and below the cut-off, {cutoff.text} nm")
        t.set("interactions.lj", "quintic-switch", switched)
        t.set("interactions.switch", round(NM * begin.number(), 9), begin)
    else:
        t.set("interactions.lj", "cut", switched)
    t.set("interactions.lj_tail", tail.flag(), tail)


def _alpha(t: Translation, name: str, cutoff: Value) -> float:
    """Returns Ewald's parameter in 1/Å."""
    given, tolerance = t.value(f"NonbondedForce.{name}"), t.value("NonbondedForce.ewaldTolerance")
    if not 0 < tolerance.number() < 0.5:
        raise tolerance.wrong("a number above 0 and below 0.5")
    if given.number():
        return round(given.number() / NM, 9)
    return round(math.sqrt(-math.log(2 * tolerance.number())) / (NM * cutoff.number()), 9)


def _mesh(t: Translation, cutoff: Value) -> None:
    given, tolerance = t.value("NonbondedForce.alpha"), t.value("NonbondedForce.ewaldTolerance")
    alpha = _alpha(t, "alpha", cutoff)
    note = "OpenMM's splines have order 5; those of 6 are nearer to the same sum"
    t.set("pme.order", 6, t.value("NonbondedForce.method"), note=note)
    grid = [t.value(f"NonbondedForce.n{axis}") for axis in "xyz"]
    if given.number():
        t.set("pme.alpha", alpha, given)
        for value in grid:
            if value.count() < 1:
                raise value.wrong("the number of grid points, which stands beside alpha")
        t.set("pme.grid", [value.count() for value in grid], *grid)
        if tolerance.is_given:
            t.ignore(tolerance, "alpha is given")
        return
    t.set("pme.alpha", alpha, tolerance, cutoff, note="√(−ln 2δ)/cutoff, as in OpenMM")
    spacing = 3 * tolerance.number() ** 0.2 / (2 * alpha)
    t.set("pme.spacing", round(spacing, 6), tolerance, note="3δ^⅕/2α, as in OpenMM")


def _constraints(t: Translation) -> None:
    number, tolerance = t.value("System.Constraints"), t.value("Integrator.constraintTolerance")
    if number.count():
        t.set("dynamics.constraints", "h-bonds", number, note="the system file keeps other bonds flexible")
        t.set("dynamics.constraint_tolerance", tolerance.number(), tolerance)
    else:
        t.set("dynamics.constraints", "none", number)
        if tolerance.is_given:
            t.ignore(tolerance, "nothing is constrained")


def _rest(t: Translation) -> None:
    for option in t.options:
        if t.is_known(option):
            continue
        kind, _, attribute = option.name.partition(".")
        base, value = kind.partition("#")[0], t.value_of(option)
        if kind == "State" and attribute.partition(".")[0] in _STATE:
            t.ignore(value, _STATE[attribute.partition(".")[0]])
        elif attribute in ("openmmVersion", "version", "type") and kind in openmm_xml.ROOTS:
            t.ignore(value, "a version of the format" if attribute != "type" else "what the file is")
        elif kind == "System" and attribute.partition(".")[0] in ("PeriodicBoxVectors", "Particles"):
            t.ignore(value, "the system file has it")
        elif attribute in _OF_FORCES and kind not in openmm_xml.ROOTS:
            t.ignore(value, _OF_FORCES[attribute])
        elif (base in _IN_SYSTEM and option.name.replace(kind, base) in DEFAULTS) or attribute == "cutoff":
            t.ignore(value, "nothing here depends on it, with this method")
        elif base in (*openmm_baths.BAROSTATS, "AndersenThermostat") and attribute in openmm_baths.ATTRIBUTES:
            t.ignore(value, "this bath is off or refused")
