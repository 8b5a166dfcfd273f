"""Translates heat and pressure baths of NAMD, and first velocities."""

from __future__ import annotations

from tessera.convert.model import Setting, Translation, Value

_BAR_NM = 10.0  # of a dyn/cm
_HEAT = (
    "langevintemp",
    "langevindamping",
    "langevinhydrogen",
    "stochrescaletemp",
    "stochrescaleperiod",
    "stochrescalefreq",
)
_PRESSURES = {
    "langevinpiston": ("langevinpistontarget", "langevinpistontemp"),
    "berendsenpressure": (
        "berendsenpressuretarget",
        "berendsenpressurecompressibility",
        "berendsenpressurerelaxationtime",
        "berendsenpressurefreq",
    ),
    "montecarlopressure": ("montecarlopressuretarget", "montecarlotemp", "montecarlopressurefreq"),
}
_CELL = ("useflexiblecell", "useconstantratio", "useconstantarea", "surfacetensiontarget")


def translate(t: Translation) -> None:
    """Translates the baths."""
    bath = _heat(t)
    _reassigned(t, bath)
    barostat = _pressure(t, bath)
    switches = [t.value(name) for name in ("langevin", "stochrescale", *_PRESSURES)]
    given = [value for value in switches if value.is_given] or switches[:1]
    ensemble = "npt" if barostat else "nvt" if bath is not None else "nve"
    t.set("dynamics.ensemble", ensemble, *given)
    _velocities(t, bath)


def _heat(t: Translation) -> Value | None:
    """Returns the temperature of the heat bath, if there is one."""
    friction, rescaling = t.value("langevin"), t.value("stochrescale")
    if friction.flag() and rescaling.flag():
        t.refuse(rescaling, "langevin is on too")
    used: tuple[str, ...] = ()
    target = None
    if friction.flag():
        target, damping, hydrogen = t.value("langevintemp"), t.value("langevindamping"), t.value("langevinhydrogen")
        t.set("dynamics.thermostat", "langevin", friction, note="by the integrator BAOAB")
        if damping.number() <= 0:
            raise damping.wrong("a friction above 0 in 1/ps")
        t.set("dynamics.tau_t", round(1 / damping.number(), 9), damping, note="the inverse of the friction")
        if not hydrogen.flag():
            note = "hydrogens have friction and noise here too, which samples the same ensemble"
            t.follow("dynamics.thermostat", hydrogen, note=note, replaced=True)
        elif hydrogen.is_given:
            t.agree(hydrogen)
        used = ("langevintemp", "langevindamping", "langevinhydrogen")
    elif rescaling.flag():
        target, period, every = (t.value(f"stochrescale{name}") for name in ("temp", "period", "freq"))
        t.set("dynamics.thermostat", "bussi", rescaling)
        t.set("dynamics.tau_t", period.positive(), period)
        if every.is_given:
            t.set("dynamics.coupling_every", max(1, every.count()), every)
        used = ("stochrescaletemp", "stochrescaleperiod", "stochrescalefreq")
    if target is not None:
        t.set("dynamics.temperature", target.kelvin(), target)
    for name in _HEAT:
        if t.has(name) and name not in used:
            t.ignore(t.value(name), "this heat bath is off")
    for name in ("langevinfile", "langevincol"):
        for value in t.values(name):
            t.refuse(value, "frictions of their own for atoms: give langevinDamping")
    return target


def _reassigned(t: Translation, bath: Value | None) -> None:
    """Says what becomes of velocities that are drawn anew every so many steps."""
    every, target, more, hold = (t.value(f"reassign{name}") for name in ("freq", "temp", "incr", "hold"))
    given = [value for value in (every, target, more, hold) if value.is_given]
    if not every.count():
        for value in given:
            t.ignore(value, "no velocities are drawn anew")
    elif bath is None or not t.value("langevin").flag() or more.number() or target.text != bath.text:
        for value in given:
            t.refuse(value, "velocities that are drawn anew: known here beside langevin, at its temperature")
    else:
        note = "Langevin's bath alone samples the same ensemble: velocities are not drawn anew"
        t.follow("dynamics.thermostat", *given, note=note, replaced=True)


def _pressure(t: Translation, bath: Value | None) -> bool:
    """Returns whether there is a pressure bath."""
    on = [name for name in _PRESSURES if t.value(name).flag()]
    for name, others in _PRESSURES.items():
        for other in others:
            if name not in on and t.has(other):
                t.ignore(t.value(other), "this pressure bath is off")
    if not on:
        for name in _CELL:
            if t.has(name):
                t.ignore(t.value(name), "there is no pressure bath")
        return False
    how = t.value(on[0])
    if len(on) > 1:
        t.refuse(t.value(on[1]), f"{on[0]} is on too")
    if bath is None:
        t.refuse(how, "a pressure bath without a heat bath")
        return False
    _barostat(t, how, bath)
    target = t.value(f"{on[0]}target")
    t.set("dynamics.pressure", target.number(), target)
    _edges(t)
    return True


def _barostat(t: Translation, how: Value, bath: Value) -> None:
    if how.name == "langevinpiston":
        note = (
            "the Langevin piston becomes stochastic cell rescaling, which samples the same ensemble in another way, "
            "with Tessera's own time"
        )
        t.set("dynamics.barostat", "c-rescale", how, note=note, replaced=True)
    elif how.name == "berendsenpressure":
        stiffness, time, every = (
            t.value(f"berendsenpressure{n}") for n in ("compressibility", "relaxationtime", "freq")
        )
        t.set("dynamics.barostat", "berendsen", how)
        t.set("dynamics.compressibility", stiffness.positive(), stiffness)
        t.set("dynamics.tau_p", round(time.positive() / 1000, 9), time)
        if every.is_given and "dynamics.coupling_every" not in t.keys:
            t.set("dynamics.coupling_every", max(1, every.count()), every)
        elif every.is_given:
            t.ignore(every, "one interval for both baths: that of the heat bath")
    else:
        t.set("dynamics.barostat", "monte-carlo", how)
        every = t.value("montecarlopressurefreq")
        t.set("dynamics.monte_carlo_every", every.count(), every)
    name = "montecarlotemp" if how.name == "montecarlopressure" else f"{how.name}temp"
    if t.has(name):
        if t.value(name).number() != bath.number():
            t.refuse(t.value(name), f"another temperature than that of the heat bath, {bath.text} K")
        else:
            t.agree(t.value(name))


def _edges(t: Translation) -> None:
    flexible, ratio, area, tension = (t.value(name) for name in _CELL)
    kind = "isotropic"
    if flexible.flag():
        kind = "constant-area" if area.flag() else "semi-isotropic" if ratio.flag() else "anisotropic"
    elif ratio.flag() or area.flag():
        t.refuse(ratio if ratio.flag() else area, "it needs useFlexibleCell yes")
    t.set(
        "dynamics.coupling", kind, *(value for value in (flexible, ratio, area) if value.is_given or value is flexible)
    )
    if tension.number() and kind != "semi-isotropic":
        t.refuse(tension, "a surface tension needs useFlexibleCell and useConstantRatio")
    elif tension.number():
        t.set("dynamics.surface_tension", round(_BAR_NM * tension.number(), 9), tension)
    elif tension.is_given:
        t.agree(tension)


def _velocities(t: Translation, bath: Value | None) -> None:
    temperature, seed = t.value("temperature"), t.value("seed")
    files = [value for name in ("velocities", "binvelocities") for value in t.values(name)]
    again = t.values("reinitvels")
    if files and t.continues:
        t.set("dynamics.velocities", "file", *files, note="those of the step before")
        for value in (temperature, *again):
            if value.is_given:
                t.ignore(value, "velocities are those of the step before")
        _seed(t, seed)
        return
    for value in files:
        t.refuse(
            value,
            "velocities of a file: the run would begin with generated ones, unless input.start names the run before it",
            False,
        )
    first = again[-1] if again else temperature if temperature.is_given else None
    if first is not None and first.number() == 0 and not again:
        t.set("dynamics.velocities", "zero", first)
    elif first is not None:
        t.set("dynamics.velocities", "generate", first)
        _first_temperature(t, first, bath)
    else:
        t.set("dynamics.velocities", "generate", *files)
    for value in (temperature, *again):
        if value.is_given and value is not first:
            t.ignore(value, "velocities are generated anew")
    _seed(t, seed)


def _seed(t: Translation, seed: Value) -> None:
    if seed.is_given:
        t.set("dynamics.seed", seed.count(), seed, note="the random numbers are those of Tessera's generator")


def _first_temperature(t: Translation, first: Value, bath: Value | None) -> None:
    if bath is None:
        t.set("dynamics.temperature", first.kelvin(), first)
    elif bath.number() == first.number():
        t.follow("dynamics.temperature", first)
    else:
        points = [[0.0, first.number()], [t.value("timestep").number() / 1000, bath.number()]]
        comment = t.follow("dynamics.temperature", first, note="of the velocities, then of the bath")
        t.keys["dynamics.temperature"] = Setting(points, f"{t.keys['dynamics.temperature'].origin}; {comment}")
