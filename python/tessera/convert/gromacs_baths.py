"""Translates heat and pressure baths of GROMACS, and first velocities.

GROMACS' thermostat of Nosé and Hoover has the mass Q = τ²T/4π² (reference manual, Temperature coupling), and chains
here N·kT·τ² (Martyna et al. 1996), so that its τ is 2π times as long.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tessera.convert.model import Setting, Translation, Value
from tessera.prepare.gromacs.mdp_options import plain

_THERMOSTATS = {"vrescale": "bussi", "nosehoover": "nose-hoover", "berendsen": "berendsen"}
#: groups that GROMACS makes by itself, as selections
_GROUPS = {"system": "all", "protein": "protein", "non-protein": "not protein"}
_OF_HEAT = ("tc-grps", "tau-t", "ref-t", "nh-chain-length")
_OF_ANNEALING = ("annealing", "annealing-npoints", "annealing-time", "annealing-temp")
_COUPLINGS = {"isotropic": 1, "semiisotropic": 2, "anisotropic": 6, "surfacetension": 2}  # numbers of values


def selection(t: Translation, value: Value, name: str, groups: Mapping[str, str]) -> str:
    """Returns the selection of a group of atoms; where there is none, refuses the option that names it."""
    found = groups.get(name.lower()) or _GROUPS.get(name.lower(), "")
    if not found:
        t.refuse(
            value, f"say which atoms group {name} has: --group {name}=SELECTION, such as --group SOL='resname SOL'"
        )
    return found


def translate(t: Translation, groups: Mapping[str, str], is_stochastic: bool, is_half_step: bool) -> None:
    """Translates the baths; `is_stochastic`: integrator = sd, `is_half_step`: md."""
    thermostat = _heat(t, groups, is_stochastic, is_half_step)
    has_pressure = _pressure(t, thermostat)
    origins = (t.value("integrator") if is_stochastic else t.value("tcoupl"), t.value("pcoupl"))
    t.set("dynamics.ensemble", "npt" if has_pressure else "nvt" if thermostat else "nve", *origins)
    _interval(t, bool(thermostat) and not is_stochastic, has_pressure)
    _velocities(t, bool(thermostat))


def _heat(t: Translation, groups: Mapping[str, str], is_stochastic: bool, is_half_step: bool) -> str:
    """Returns the thermostat; empty where there is none."""
    how, chain, names = t.value("tcoupl"), t.value("nh-chain-length"), t.value("tc-grps")
    word = plain(how.text)
    if is_stochastic:
        if how.is_given:
            t.ignore(how, "integrator = sd is its own heat bath")
        t.set("dynamics.thermostat", "langevin", t.value("integrator"))
        thermostat = "langevin"
    elif word == "no":
        for name in (*_OF_HEAT, *_OF_ANNEALING):
            if t.has(name):
                t.ignore(t.value(name), "there is no heat bath")
        return ""
    else:
        thermostat = _THERMOSTATS.get(word, "")
        if not thermostat:
            t.refuse(how, "known here: v-rescale, nose-hoover, berendsen, and integrator = sd")
            return "bussi"
        t.set("dynamics.thermostat", thermostat, how)
    if thermostat == "nose-hoover":
        if is_half_step:
            t.set("dynamics.integrator", "velocity-verlet", t.value("integrator"), how, note="the chain needs it")
            t.set("dynamics.chain", 1, how, note="integrator = md has one variable")
            if chain.is_given:
                t.ignore(chain, "integrator = md has one variable")
        else:
            note = "chains have at most 3 variables here; they sample the same ensemble"
            t.set("dynamics.chain", min(3, max(1, chain.integer())), chain, note=note if chain.integer() > 3 else "")
    elif chain.is_given:
        t.ignore(chain, "there is no Nosé–Hoover chain")
    _groups(t, names, groups, thermostat)
    return thermostat


def _groups(t: Translation, names: Value, groups: Mapping[str, str], thermostat: str) -> None:
    words, times, temperatures = names.text.split(), t.value("tau-t"), t.value("ref-t")
    if not words:
        raise names.wrong("the groups of atoms that the heat bath acts on")
    scale = 2 * math.pi if thermostat == "nose-hoover" else 1.0
    periods, targets = times.numbers(len(words)), temperatures.numbers(len(words))
    if min(targets) < 0:
        raise temperatures.wrong("temperatures of at least 0 K")
    if min(periods) <= 0:
        t.refuse(times, "atoms without a heat bath beside those with one: expected times above 0")
        return
    schedules = _annealed(t, targets)
    note = "GROMACS' period is 2π times as long" if scale != 1 else ""
    if len(words) == 1:
        if selection(t, names, words[0], groups) not in ("", "all"):
            t.refuse(names, "a heat bath on some atoms alone: expected System, or a bath for each atom")
        t.set("dynamics.temperature", schedules[0], temperatures, *_annealing(t))
        t.set("dynamics.tau_t", round(periods[0] / scale, 9), names, times, note=note)
        return
    t.set("dynamics.temperature", schedules[0], temperatures, note="of generated velocities and of the pressure bath")
    for word, period, target in zip(words, periods, schedules, strict=True):
        row = {
            "select": t.setting(selection(t, names, word, groups), names),
            "temperature": t.setting(target, temperatures, *_annealing(t)),
            "tau_t": t.setting(round(period / scale, 9), times, note=note),
        }
        t.tables.append(("bath", row))
    t.follow("bath", names, times, temperatures, *_annealing(t))
    if any(word.lower() in ("protein", "non-protein") and word.lower() not in groups for word in words):
        t.note("protein is MDAnalysis' selection: look whether it has the residues of GROMACS' group Protein")


def _annealing(t: Translation) -> list[Value]:
    return (
        [t.value(name) for name in _OF_ANNEALING]
        if any(w != "no" for w in plain(t.value("annealing").text).split())
        else []
    )


def _annealed(t: Translation, targets: list[float]) -> list[float | list[list[float]]]:
    """Returns the temperatures of the groups: numbers, or points in time."""
    kinds = [plain(word) for word in t.value("annealing").text.split()] or ["no"]
    if all(kind == "no" for kind in kinds):
        for name in _OF_ANNEALING:
            if t.has(name):
                t.agree(t.value(name))
        return list(targets)
    if any(kind not in ("no", "single") for kind in kinds):
        t.refuse(t.value("annealing"), "known here: no and single")
        return list(targets)
    counts = t.value("annealing-npoints").numbers()
    times, temperatures = t.value("annealing-time").numbers(), t.value("annealing-temp").numbers()
    if len(kinds) != len(targets) or len(counts) != len(kinds) or len(times) != sum(counts) != len(temperatures):
        raise t.value("annealing-npoints").wrong("a number for each group, and as many times and temperatures")
    found: list[float | list[list[float]]] = []
    first = 0
    for kind, count, target in zip(kinds, map(int, counts), targets, strict=True):
        points = [
            [a, b] for a, b in zip(times[first : first + count], temperatures[first : first + count], strict=True)
        ]
        first += count
        found.append(points if kind == "single" else target)
    return found


def _pressure(t: Translation, thermostat: str) -> bool:
    """Returns whether there is a pressure bath."""
    how = t.value("pcoupl")
    word = plain(how.text)
    names = ("pcoupltype", "tau-p", "compressibility", "ref-p")
    if word == "no":
        for name in names:
            if t.has(name):
                t.ignore(t.value(name), "there is no pressure bath")
        return False
    if not thermostat:
        t.refuse(how, "a pressure bath without a heat bath")
        return False
    if word == "crescale" or word == "berendsen":
        t.set("dynamics.barostat", {"crescale": "c-rescale"}.get(word, word), how)
    elif word == "mttk":
        t.set("dynamics.barostat", "mtk", how)
        if thermostat != "nose-hoover":
            t.refuse(how, "mttk stands with tcoupl = nose-hoover")
    elif word == "parrinellorahman":
        note = "Parrinello–Rahman becomes stochastic cell rescaling, which samples the same ensemble in another way"
        t.set("dynamics.barostat", "c-rescale", how, note=note, replaced=True)
    else:
        t.refuse(how, "known here: C-rescale, Parrinello-Rahman, Berendsen, MTTK")
        return True
    t.set("dynamics.tau_p", t.value("tau-p").positive(), t.value("tau-p"))
    _coupling(t)
    return True


def _coupling(t: Translation) -> None:
    kind, stiffness, target = t.value("pcoupltype"), t.value("compressibility"), t.value("ref-p")
    word = plain(kind.text)
    if word not in _COUPLINGS:
        raise kind.wrong("isotropic, semiisotropic, anisotropic or surface-tension")
    n = _COUPLINGS[word]
    betas, pressures = stiffness.numbers(n), target.numbers(n)
    edges = {"semiisotropic": "semi-isotropic", "surfacetension": "semi-isotropic"}.get(word, word)
    if word == "semiisotropic" and betas[0] == 0 < betas[1]:
        edges, pressures, betas = "constant-area", pressures[1:], betas[1:]
    if word == "anisotropic":
        if any(betas[3:]) or any(pressures[3:]):
            t.refuse(stiffness, "a box whose angles change: expected 0 for xy, xz and yz")
        betas, pressures = betas[:3], pressures[:3]
    if min(betas) <= 0:
        t.refuse(stiffness, "an edge of the box that stays, but for x and y together")
        return
    t.set("dynamics.coupling", edges, kind)
    if word == "surfacetension":
        t.set("dynamics.surface_tension", pressures[0], target)
        pressures = pressures[1:]
    if len(set(pressures)) > 1:
        t.refuse(target, "different pressures along the edges of the box")
    t.set("dynamics.pressure", pressures[-1], target)
    note = "that of x and y; others only scale tau_p" if len(set(betas)) > 1 else ""
    t.set("dynamics.compressibility", betas[0], stiffness, note=note)


def _interval(t: Translation, heats: bool, presses: bool) -> None:
    used = []
    for name, acts in (("nsttcouple", heats), ("nstpcouple", presses)):
        if not acts:
            if t.has(name):
                t.ignore(t.value(name), "there is no such bath")
        elif t.has(name) and t.value(name).integer() < 0:
            default = t.default(name)
            t.follow("dynamics.coupling_every", t.value(name), note=f"-1: {default.text} steps")
            used.append((int(default.text), t.value(name)))
        else:
            used.append((t.value(name).count(), t.value(name)))
    if used:
        least = min(max(1, every) for every, _ in used)
        note = "the smaller of both" if len({every for every, _ in used}) > 1 else ""
        every = _accurate(t, least, heats, presses)
        if every < least:
            note = f"GROMACS lowers it to {every} itself, for these time constants"
        t.set("dynamics.coupling_every", every, *(value for _, value in used), note=note)


def _accurate(t: Translation, every: int, heats: bool, presses: bool) -> int:
    """Returns the interval, but less where GROMACS takes less by itself: 5 intervals in the shortest time of first
    order, 20 in that of Nosé and Hoover."""
    times = []
    if heats:
        per = 20 if plain(t.value("tcoupl").text) == "nosehoover" else 5
        times += [time / per for time in t.value("tau-t").numbers() if time > 0]
    if presses and t.value("tau-p").number() > 0:
        times.append(t.value("tau-p").number() / (20 if plain(t.value("pcoupl").text) in ("mttk",) else 5))
    step = t.value("dt").number()
    return max(1, min([every, *(int(time / step + 1e-9) for time in times)]))


def _velocities(t: Translation, has_bath: bool) -> None:
    generates, temperature, seed, noise = (t.value(name) for name in ("gen-vel", "gen-temp", "gen-seed", "ld-seed"))
    if not generates.flag():
        note = "those of the system file" if not generates.is_given else ""
        t.set("dynamics.velocities", "file", generates, note=note)
        for value in (temperature,):
            if value.is_given:
                t.ignore(value, "no velocities are generated")
    elif temperature.number() == 0:
        t.set("dynamics.velocities", "zero", generates, temperature)
    else:
        t.set("dynamics.velocities", "generate", generates)
        _first_temperature(t, temperature, has_bath)
    chosen = seed if generates.flag() and seed.integer() >= 0 else noise
    if chosen.integer() >= 0:
        t.set("dynamics.seed", chosen.integer(), chosen, note="the noise is that of Tessera's generator")
    for value in (seed, noise):
        if value.is_given and value is not chosen:
            t.ignore(value, "a run has one seed")
        elif value.is_given and value.integer() < 0:
            t.ignore(value, "GROMACS draws it; here it is dynamics.seed, 1 by default")


def _first_temperature(t: Translation, temperature: Value, has_bath: bool) -> None:
    """Sets the temperature of the velocities, from which that of the bath may differ in the first step."""
    first, key = temperature.kelvin(), "dynamics.temperature"
    bath = t.keys.get(key)
    if not has_bath or bath is None:
        t.set(key, first, temperature)
    elif bath.value == first or (isinstance(bath.value, list) and bath.value[0][1] == first):
        t.follow(key, temperature)
    elif isinstance(bath.value, list):
        t.refuse(temperature, "expected the temperature at which the annealing begins")
    else:
        points = [[0.0, first], [t.value("dt").number(), bath.value]]
        comment = t.follow(key, temperature, note="of the velocities, then of the bath")
        t.keys[key] = Setting(points, f"{bath.origin}; {comment}")
