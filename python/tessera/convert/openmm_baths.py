"""Translates integrators, heat baths and barostats of OpenMM, and first velocities.

OpenMM's chains of Nosé and Hoover have masses N·kT/ω² (OpenMM user guide, NoseHooverIntegrator), so that tau_t is 1/ω.
"""

from __future__ import annotations

from tessera.convert.model import Translation, Value

BAROSTATS = ("MonteCarloBarostat", "MonteCarloAnisotropicBarostat", "MonteCarloMembraneBarostat")
ATTRIBUTES = (
    "frequency", "temperature", "pressure", "pressurex", "pressurey", "pressurez", "scalex", "scaley", "scalez",
    "surfaceTension", "xymode", "zmode",
)  # fmt: skip
_LANGEVIN = ("LangevinMiddleIntegrator", "LangevinIntegrator", "BAOABLangevinIntegrator")
_XY_TOGETHER, _Z_FREE = 0, 0


def translate(t: Translation) -> None:
    """Translates the integrator, what it is coupled to, and the first velocities."""
    kind = t.value("Integrator.type")
    bath = _integrator(t, kind)
    if "dynamics.integrator" in t.keys:
        step = t.value("Integrator.stepSize")
        if not 0 < step.number() <= 0.1:
            raise step.wrong("a time step above 0, at most 0.1 ps")
        t.set("dynamics.timestep", round(1000 * step.number(), 9), step)
    groups = t.value("Integrator.integrationForceGroups")
    if groups.integer() not in (-1, 0xFFFFFFFF):
        t.refuse(groups, "an integrator of some forces alone: expected -1")
    elif groups.is_given:
        t.agree(groups)
    pressure = _barostat(t, bath)
    t.set("dynamics.ensemble", "npt" if pressure else "nvt" if bath else "nve", *([pressure] if pressure else []), kind)
    _momentum(t)
    _velocities(t, bath)


def _integrator(t: Translation, kind: Value) -> Value | None:
    """Returns the temperature of the heat bath, if there is one."""
    andersen = t.value("AndersenThermostat.frequency") if t.has("AndersenThermostat.frequency") else None
    if andersen is not None and andersen.number():
        t.refuse(
            andersen, "the thermostat of Andersen: known here are LangevinMiddleIntegrator and NoseHooverIntegrator"
        )
    elif andersen is not None:
        t.agree(andersen, note="it is off")
    if kind.text == "VerletIntegrator":
        note = "OpenMM's velocities are half a step before the positions"
        t.set("dynamics.integrator", "leapfrog", kind, note=note)
        return None
    if kind.text in _LANGEVIN:
        return _langevin(t, kind)
    if kind.text == "NoseHooverIntegrator":
        return _nose_hoover(t, kind)
    t.refuse(kind, "known here: VerletIntegrator, LangevinIntegrator, LangevinMiddleIntegrator, NoseHooverIntegrator")
    for option in t.options:
        if option.name.startswith("Integrator.") and option.name != "Integrator.type":
            t.ignore(t.value_of(option), "belongs to an integrator that is refused")
    return None


def _langevin(t: Translation, kind: Value) -> Value:
    target, friction, seed = (t.value(f"Integrator.{name}") for name in ("temperature", "friction", "randomSeed"))
    t.set("dynamics.integrator", "velocity-verlet", kind)
    t.set("dynamics.thermostat", "langevin", kind, note="by the integrator BAOAB")
    _temperature(t, target)
    if friction.number() <= 0:
        raise friction.wrong("a friction above 0 in 1/ps")
    t.set("dynamics.tau_t", round(1 / friction.number(), 9), friction, note="the inverse of the friction")
    if seed.is_given and seed.integer() > 0:
        t.set("dynamics.seed", seed.integer(), seed, note="the noise is that of Tessera's generator")
    elif seed.is_given:
        t.ignore(seed, "OpenMM draws it")
    return target


def _nose_hoover(t: Translation, kind: Value) -> Value | None:
    if t.value("Integrator.hasSubsystemThermostats").flag():
        t.refuse(t.value("Integrator.hasSubsystemThermostats"), "chains for some atoms alone")
        return None
    t.agree(t.value("Integrator.hasSubsystemThermostats"))
    target, rate, chain = (t.value(f"Integrator.{n}") for n in ("temperature", "collisionFrequency", "chainLength"))
    t.set("dynamics.integrator", "velocity-verlet", kind)
    t.set("dynamics.thermostat", "nose-hoover", kind)
    _temperature(t, target)
    if rate.number() <= 0:
        raise rate.wrong("a frequency above 0 in 1/ps")
    t.set("dynamics.tau_t", round(1 / rate.number(), 9), rate, note="the inverse of the frequency")
    if chain.count() < 1:
        raise chain.wrong("a whole number, at least 1")
    note = "chains have at most 3 variables here; they sample the same ensemble" if chain.count() > 3 else ""
    t.set("dynamics.chain", min(3, chain.count()), chain, note=note)
    t.set("dynamics.coupling_every", 1, kind)
    for name in ("numMTS", "numYS"):
        if t.has(f"Integrator.{name}"):
            t.ignore(t.value(f"Integrator.{name}"), "the chain is integrated in its own way")
    pairs = t.value("Integrator.maximumPairDistance") if t.has("Integrator.maximumPairDistance") else None
    if pairs is not None and pairs.number():
        t.refuse(pairs, "a limit of distances in pairs")
    elif pairs is not None:
        t.agree(pairs)
    return target


def _temperature(t: Translation, target: Value) -> None:
    if target.number() < 0:
        raise target.wrong("a temperature of at least 0 K")
    t.set("dynamics.temperature", target.number(), target)


def _barostat(t: Translation, bath: Value | None) -> Value | None:
    """Returns the barostat, if there is one."""
    present = [name for name in BAROSTATS if t.has(f"{name}.type") and t.value(f"{name}.frequency").count()]
    for name in BAROSTATS:
        if t.has(f"{name}.type") and name not in present:
            t.ignore(t.value(f"{name}.frequency"), "it is off")
    if not present:
        return None
    kind, name = t.value(f"{present[0]}.type"), present[0]
    if len(present) > 1:
        t.refuse(t.value(f"{present[1]}.type"), f"there is a {name} too")
    if bath is None:
        t.refuse(kind, "a barostat without a heat bath")
        return None
    t.set("dynamics.barostat", "monte-carlo", kind)
    every, target = t.value(f"{name}.frequency"), t.value(f"{name}.temperature")
    t.set("dynamics.monte_carlo_every", every.count(), every)
    if target.number() != bath.number():
        t.refuse(target, f"another temperature than that of the heat bath, {bath.text} K")
    else:
        t.agree(target)
    if name == "MonteCarloAnisotropicBarostat":
        _edges(t)
    elif name == "MonteCarloMembraneBarostat":
        _membrane(t)
    else:
        t.set("dynamics.coupling", "isotropic", kind)
        _pressure(t, t.value(f"{name}.pressure"))
    return kind


def _pressure(t: Translation, *targets: Value) -> None:
    t.set("dynamics.pressure", targets[0].number(), *targets)


def _edges(t: Translation) -> None:
    targets, scales = (
        [t.value(f"MonteCarloAnisotropicBarostat.{name}{axis}") for axis in "xyz"] for name in ("pressure", "scale")
    )
    free = "".join(axis for axis, scale in zip("xyz", scales) if scale.flag())
    coupling = {"xyz": "anisotropic", "z": "constant-area"}.get(free)
    if coupling is None:
        t.refuse(scales[0], "edges of the box that stay: known are all three free, or z alone")
        return
    t.set("dynamics.coupling", coupling, *scales)
    used = [target for target, axis in zip(targets, "xyz", strict=True) if axis in free]
    if len({target.number() for target in used}) > 1:
        t.refuse(used[1], "different pressures along the edges of the box")
    _pressure(t, *used)
    for target in targets:
        if target not in used:
            t.ignore(target, "this edge stays")


def _membrane(t: Translation) -> None:
    plane, normal, tension, target = (
        t.value(f"MonteCarloMembraneBarostat.{name}") for name in ("xymode", "zmode", "surfaceTension", "pressure")
    )
    if plane.integer() != _XY_TOGETHER:
        t.refuse(plane, "x and y change together with a surface tension: expected 0")
    elif normal.integer() != _Z_FREE:
        t.refuse(normal, "z changes by itself: expected 0")
    else:
        t.set("dynamics.coupling", "semi-isotropic", plane, normal)
        t.set("dynamics.surface_tension", tension.number(), tension, note="of all surfaces together, in bar·nm")
        _pressure(t, target)


def _momentum(t: Translation) -> None:
    every = t.value("CMMotionRemover.frequency")
    t.set("dynamics.com_removal_every", every.count(), every, note="" if every.is_given else "no CMMotionRemover")


def _velocities(t: Translation, bath: Value | None) -> None:
    given = t.value("State.Velocities")
    if given.is_given:
        t.set("dynamics.velocities", "file", given)
        return
    t.set("dynamics.velocities", "zero", t.value("Integrator.type"), note="a Context begins with velocities of 0")
    if bath is not None:
        t.note(
            "without a State velocities begin as 0, as in a Context: for those of setVelocitiesToTemperature set "
            'dynamics.velocities = "generate"'
        )
