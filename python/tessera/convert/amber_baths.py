"""Translates heat and pressure baths of AMBER, its schedules of temperature, and first velocities."""

from __future__ import annotations

import re

from tessera.convert.model import Setting, Translation, Value

_BAR_NM = 10.0  # of a dyn/cm
_THERMOSTATS = {1: "berendsen", 3: "langevin", 11: "bussi"}
_EDGES = {1: "isotropic", 2: "anisotropic", 3: "semi-isotropic"}
_OF_HEAT, _OF_PRESSURE = (
    ("tautp", "gamma_ln"),
    ("barostat", "mcbarint", "taup", "comp", "csurften", "gamma_ten", "ninterface"),
)
_POINT = r"type\s*=\s*['\"](\w+)['\"]"


def translate(t: Translation) -> None:
    """Translates the baths."""
    heat, pressure = t.value("ntt"), t.value("ntp")
    has_heat = heat.integer() != 0
    if has_heat:
        _heat(t, heat)
    else:
        for name in (*_OF_HEAT, "temp0"):
            if t.has(name):
                t.ignore(t.value(name), "there is no heat bath")
    has_pressure = pressure.integer() != 0
    if has_pressure and not has_heat:
        t.refuse(pressure, "a pressure bath without a heat bath")
    elif has_pressure:
        _pressure(t, pressure)
    for name in (*_OF_PRESSURE, "pres0"):
        if t.has(name) and not has_pressure:
            t.ignore(t.value(name), "there is no pressure bath")
    t.set("dynamics.ensemble", "npt" if has_pressure else "nvt" if has_heat else "nve", heat, pressure)
    _schedule(t, has_heat)
    _velocities(t, has_heat)


def _heat(t: Translation, how: Value) -> None:
    target, time, friction = t.value("temp0"), t.value("tautp"), t.value("gamma_ln")
    if how.integer() not in _THERMOSTATS:
        t.refuse(how, "known here: 0, 1 (Berendsen), 3 (Langevin) and 11 (Bussi)")
        for value in (target, time, friction):
            if value.is_given:
                t.ignore(value, "belongs to a heat bath that is refused")
        return
    t.set("dynamics.thermostat", _THERMOSTATS[how.integer()], how)
    t.set("dynamics.temperature", target.kelvin(), target)
    if how.integer() == 3:
        t.set("dynamics.integrator", "velocity-verlet", how)
        if friction.number() <= 0:
            t.refuse(friction, "Langevin's bath needs a friction: give gamma_ln in 1/ps")
        else:
            t.set("dynamics.tau_t", round(1 / friction.number(), 9), friction, note="the inverse of the friction")
        if time.is_given:
            t.ignore(time, "Langevin's bath has a friction")
    else:
        t.set("dynamics.tau_t", time.positive(), time)
        if friction.is_given:
            t.ignore(friction, "ntt is not 3")


def _pressure(t: Translation, how: Value) -> None:
    kind, target, time, stiffness = (t.value(name) for name in ("barostat", "pres0", "taup", "comp"))
    tension_on, tension, faces = (t.value(name) for name in ("csurften", "gamma_ten", "ninterface"))
    if kind.integer() == 1:
        t.set("dynamics.barostat", "berendsen", kind)
        t.set("dynamics.tau_p", time.positive(), time)
        t.set("dynamics.compressibility", float(f"{1e-6 * stiffness.positive():.9g}"), stiffness)
    elif kind.integer() == 2:
        t.set("dynamics.barostat", "monte-carlo", kind)
        every = t.value("mcbarint")
        t.set("dynamics.monte_carlo_every", every.count(), every)
        for value in (time, stiffness):
            if value.is_given:
                t.ignore(value, "barostat is 2")
    else:
        t.refuse(kind, "known here: 1 (Berendsen) and 2 (Monte Carlo)")
    if t.has("mcbarint") and kind.integer() != 2:
        t.ignore(t.value("mcbarint"), "barostat is 1")
    t.set("dynamics.pressure", target.number(), target)
    if how.integer() not in _EDGES:
        t.refuse(how, "known here: 0 to 3; a box whose angles change is not supported")
        return
    t.set("dynamics.coupling", _EDGES[how.integer()], how)
    if tension_on.integer() == 0:
        if how.integer() == 3:
            t.refuse(how, "ntp = 3 stands with csurften")
        for value in (tension_on, tension, faces):
            if value.is_given:
                t.ignore(value, "there is no surface tension")
    elif tension_on.integer() == 3 and how.integer() == 3:
        total = _BAR_NM * tension.number() * faces.count()
        t.set("dynamics.surface_tension", round(total, 9), tension_on, tension, faces, note="of all surfaces together")
    else:
        t.refuse(tension_on, "known here: 3, in the plane of x and y, with ntp = 3")


def ignore_schedule(t: Translation) -> None:
    """Translates rows of &wt where nothing moves: a minimisation has no temperature."""
    for row in t.values("wt"):
        kind = re.search(_POINT, row.text, re.IGNORECASE)
        word = kind[1].upper() if kind else ""
        if word == "END":
            t.agree(row)
        elif word == "TEMP0" or not t.value("nmropt").integer():
            t.ignore(row, "a minimisation has no motion")
        else:
            t.refuse(row, "known here: TEMP0 and END")


def _schedule(t: Translation, has_heat: bool) -> None:
    """Translates the rows &wt of type TEMP0, which change the temperature linearly between steps."""
    on, step = t.value("nmropt"), t.value("dt").number()
    rows = t.values("wt")
    points: list[list[float]] = []
    used: list[Value] = []
    for row in rows:
        kind = re.search(_POINT, row.text, re.IGNORECASE)
        word = kind[1].upper() if kind else ""
        if word == "END":
            t.agree(row)
        elif not on.integer():
            t.ignore(row, "nmropt is 0")
        elif word != "TEMP0" or not has_heat:
            t.refuse(row, "known here: TEMP0, with a heat bath, and END")
        else:
            numbers = {name: float(text) for name, text in re.findall(r"(\w+)\s*=\s*([-+.\dEe]+)", row.text)}
            if not {"istep1", "istep2", "value1", "value2"} <= numbers.keys():
                raise row.wrong("istep1, istep2, value1 and value2")
            for n in "12":
                point = [round(step * numbers[f"istep{n}"], 9), numbers[f"value{n}"]]
                if not points or point[0] > points[-1][0]:
                    points.append(point)
            used.append(row)
    if on.is_given and not used:
        (t.refuse if on.integer() and not rows else t.agree)(on, note="restraints of NMR are not supported")
    if used:
        t.set("dynamics.temperature", points, on, *used)
        if t.has("temp0"):
            t.ignore(t.value("temp0"), "the rows &wt say it")


def _velocities(t: Translation, has_heat: bool) -> None:
    again, kind, first, seed = (t.value(name) for name in ("irest", "ntx", "tempi", "ig"))
    if again.integer() == 1 or kind.integer() in (4, 5, 6, 7):
        t.set("dynamics.velocities", "file", again, kind)
        if first.is_given:
            t.ignore(first, "velocities are those of the coordinates")
    elif first.number() == 0:
        t.set("dynamics.velocities", "zero", first, again, kind)
    else:
        t.set("dynamics.velocities", "generate", first, again, kind)
        _first_temperature(t, first, has_heat)
    if seed.is_given and seed.integer() >= 0:
        t.set("dynamics.seed", seed.integer(), seed, note="the random numbers are those of Tessera's generator")
    elif seed.is_given:
        t.ignore(seed, "AMBER draws it")


def _first_temperature(t: Translation, first: Value, has_heat: bool) -> None:
    bath = t.keys.get("dynamics.temperature")
    if not has_heat or bath is None:
        t.set("dynamics.temperature", first.kelvin(), first)
    elif bath.value == first.number() or (isinstance(bath.value, list) and bath.value[0][1] == first.number()):
        t.follow("dynamics.temperature", first)
    elif isinstance(bath.value, list):
        t.refuse(first, "expected the temperature at which the schedule begins")
    else:
        points = [[0.0, first.number()], [t.value("dt").number(), bath.value]]
        comment = t.follow("dynamics.temperature", first, note="of the velocities, then of the bath")
        t.keys["dynamics.temperature"] = Setting(points, f"{bath.origin}; {comment}")
