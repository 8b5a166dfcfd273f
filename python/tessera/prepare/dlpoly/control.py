"""Reads DL_POLY's CONTROL, in the old style (`ensemble nvt hoover 0.5`) and the new one (`keyword value unit`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tessera.prepare.dlpoly.lines import Line, Lines, number_of
from tessera.prepare.dlpoly.units import KATM
from tessera.prepare.errors import InputError


@dataclass
class Control:
    """What a CONTROL says about a run: times in ps, distances in Å, pressures in bar."""

    name: str
    temperature: float = 0.0
    pressure: float = KATM / 1000  # 1 atm
    cutoff: float = 0.0
    vdw: float = 0.0  # 0: as the cut-off
    timestep: float = 0.0
    steps: int = 0
    equilibration: int = 0
    ensemble: str = "nve"
    method: str = ""
    tau_t: float = 0.0
    tau_p: float = 0.0
    friction: float = 0.0  # 1/ps
    electrostatics: str = "ewald"  # or "off", "cut"
    precision: float = 0.0  # of Ewald's sum
    alpha: float = 0.0  # 1/Å
    restart: str = "clean"  # clean, continue, scale, noscale
    stats_every: int = 100
    trajectory_every: int = 0
    dump_every: int = 1000
    job_hours: float = 0.0
    removes_momentum: bool = True
    seed: int = 0
    notes: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)  # directives that concern DL_POLY alone

    @property
    def vdw_cutoff(self) -> float:
        """Returns where pair potentials end."""
        return self.vdw or self.cutoff or 12.0

    @property
    def scales_velocities(self) -> bool:
        """Tells whether velocities of CONFIG are scaled to the temperature."""
        return self.restart == "scale"


def read_control(path: str | Path) -> Control:
    """Reads the file. Raises `InputError` for a directive that changes the physics and has no counterpart; other
    directives that are not used are in `notes` and `unused`."""
    lines = Lines.read(path, "CONTROL file")
    control = Control(lines.path.name)
    if not lines.found:
        raise InputError(f"{control.name} has no directives")
    if lines.found[0].key == "title":
        for line in lines.found[1:]:
            _new(control, line)
    else:
        for line in lines.found[1:]:
            if line.key == "finish":
                break
            _old(control, line)
    _check(control)
    return control


def _check(control: Control) -> None:
    if control.timestep <= 0:
        raise InputError(f"{control.name} has no timestep")
    if control.cutoff <= 0:
        raise InputError(f"{control.name} has no cutoff")
    if control.ensemble == "nst":
        raise InputError(f"{control.name}: ensemble nst (a box that changes its shape) is not supported: use npt")
    if control.restart == "continue":
        control.notes.append("restart: velocities are those of CONFIG; REVOLD is not read")
    if control.equilibration:
        control.notes.append(
            f"the first {control.equilibration} steps are DL_POLY's equilibration: leave them out of averages"
        )


# --- the new style ---------------------------------------------------------------------------------------------------

_TIME = {"fs": 1e-3, "ps": 1.0, "ns": 1e3, "internal_t": 1.0, "dlp_t": 1.0, "s": 1e12}
_LENGTH = {"ang": 1.0, "angstrom": 1.0, "nm": 10.0, "bohr": 0.52917721067, "internal_l": 1.0, "dlp_l": 1.0}
_PRESSURE = {"katm": KATM, "atm": KATM / 1000, "bar": 1.0, "kbar": 1e3, "gpa": 1e4, "mpa": 10.0, "pa": 1e-5}
_HOURS = {"s": 1 / 3600, "min": 1 / 60, "m": 1 / 60, "hr": 1.0, "h": 1.0, "hours": 1.0, "days": 24.0, "d": 24.0}


def _in(line: Line, units: dict[str, float], usual: str) -> float:
    unit = line.words[2].lower() if len(line.words) > 2 else usual
    if unit not in units:
        raise line.wrong(f"the unit {line.words[2]!r} of {line.key} is not known; expected {', '.join(units)}")
    return line.number_at(1, "a value") * units[unit]


def _steps(line: Line, timestep: float) -> int:
    unit = line.words[2].lower() if len(line.words) > 2 else "steps"
    if unit == "steps":
        return line.whole_at(1, "a number of steps")
    if timestep <= 0:
        raise line.wrong(f"{line.key} is a time, and the timestep stands after it: put timestep first")
    return round(_in(line, _TIME, "ps") / timestep)


def _is_on(line: Line) -> bool:
    word = line.words[1].lower() if len(line.words) > 1 else ""
    if word not in ("on", "off"):
        raise line.wrong(f"expected ON or OFF after {line.key}, found {word!r}")
    return word == "on"


def _word(line: Line) -> str:
    if len(line.words) < 2:
        raise line.wrong(f"{line.key} has no value")
    return line.words[1].lower()


def _set_restart(control: Control, line: Line) -> None:
    names = {"clean": "clean", "continue": "continue", "rescale": "scale", "scale": "scale", "noscale": "noscale"}
    if _word(line) not in names:
        raise line.wrong(f"restart {_word(line)}: expected clean, continue, rescale or noscale")
    control.restart = names[_word(line)]


def _set_coulomb(control: Control, line: Line) -> None:
    names = {"spme": "ewald", "ewald": "ewald", "off": "off", "pairwise": "cut"}
    if _word(line) not in names:
        raise line.wrong(f"coul_method {_word(line)} is not supported; known: spme, pairwise, off")
    control.electrostatics = names[_word(line)]


def _set_pressure(control: Control, line: Line) -> None:
    control.pressure = _in(line, _PRESSURE, "katm")


_NEW: dict[str, Callable[[Control, Line], None]] = {
    "temperature": lambda c, line: setattr(c, "temperature", line.number_at(1, "a temperature")),
    "pressure_hydrostatic": _set_pressure,
    "cutoff": lambda c, line: setattr(c, "cutoff", _in(line, _LENGTH, "ang")),
    "vdw_cutoff": lambda c, line: setattr(c, "vdw", _in(line, _LENGTH, "ang")),
    "timestep": lambda c, line: setattr(c, "timestep", _in(line, _TIME, "ps")),
    "time_run": lambda c, line: setattr(c, "steps", _steps(line, c.timestep)),
    "time_equilibration": lambda c, line: setattr(c, "equilibration", _steps(line, c.timestep)),
    "time_job": lambda c, line: setattr(c, "job_hours", _in(line, _HOURS, "hr")),
    "ensemble": lambda c, line: setattr(c, "ensemble", _word(line)),
    "ensemble_method": lambda c, line: setattr(c, "method", _word(line)),
    "ensemble_thermostat_coupling": lambda c, line: setattr(c, "tau_t", _in(line, _TIME, "ps")),
    "ensemble_barostat_coupling": lambda c, line: setattr(c, "tau_p", _in(line, _TIME, "ps")),
    "ensemble_thermostat_friction": lambda c, line: setattr(c, "friction", line.number_at(1, "a friction in 1/ps")),
    "coul_method": _set_coulomb,
    "ewald_precision": lambda c, line: setattr(c, "precision", line.number_at(1, "a precision")),
    "spme_precision": lambda c, line: setattr(c, "precision", line.number_at(1, "a precision")),
    "ewald_alpha": lambda c, line: setattr(c, "alpha", line.number_at(1, "alpha in 1/Å")),
    "restart": _set_restart,
    "stats_frequency": lambda c, line: setattr(c, "stats_every", _steps(line, c.timestep)),
    "traj_interval": lambda c, line: setattr(c, "trajectory_every", _steps(line, c.timestep)),
    "data_dump_frequency": lambda c, line: setattr(c, "dump_every", _steps(line, c.timestep)),
    "fixed_com": lambda c, line: setattr(c, "removes_momentum", _is_on(line)),
}
#: keys of the new style that change the physics, with the values that leave it alone
_NEW_REFUSED = {
    "vdw_method": ("direct", "tabulated"),
    "vdw_mix_method": ("off",),
    "vdw_force_shift": ("off",),
    "coul_dielectric_constant": ("1.0", "1", "1."),
    "coul_extended_exclusion": ("off",),
    "coul_damping": (),
    "coul_precision": (),
    "timestep_variable": ("off",),
    "reset_temperature_interval": ("0", "0.0"),
    "regauss_frequency": ("0", "0.0"),
    "rescale_frequency": ("0", "0.0"),
    "equilibration_force_cap": ("0", "0.0"),
    "minimisation_criterion": ("off",),
    "pseudo_thermostat_method": ("off",),
    "impact_part_index": ("0",),
    "impact_energy": ("0", "0.0"),
    "ttm_calculate": ("off",),
    "simulation_method": ("md",),
    "nfold": (),
    "replay": ("off",),
    "plumed": ("off",),
    "dftb": ("off",),
    "ensemble_semi_isotropic": ("off",),
    "polarisation_model": ("default",),
    "metal_direct": ("off",),
}


def _new(control: Control, line: Line) -> None:
    key = line.key
    if key in _NEW:
        _NEW[key](control, line)
    elif key in _NEW_REFUSED:
        if _word(line) not in _NEW_REFUSED[key]:
            raise line.wrong(f"{line.text} is not supported{_instead(key)}")
    else:
        control.unused.append(key)


def _instead(key: str) -> str:
    return {
        "rescale_frequency": ': remove it, and equilibrate with ensemble = "nvt"',
        "scale": ': remove it, and equilibrate with ensemble = "nvt"',
        "nfold": ": use tessera replicate",
        "minimisation_criterion": ": use tessera minimize",
        "minim": ": use tessera minimize",
        "optim": ": use tessera minimize",
        "zero": ": use tessera minimize",
    }.get(key, "")


# --- the old style ---------------------------------------------------------------------------------------------------


def _last_number(line: Line, what: str) -> float:
    values = [number_of(word) for word in line.words]
    numbers = [value for value in values if value is not None]
    if not numbers:
        raise line.wrong(f"expected {what} in {line.text!r}")
    return numbers[-1]


def _old_ensemble(control: Control, line: Line) -> None:
    words = [word.lower() for word in line.words[1:]]
    if not words:
        raise line.wrong("ensemble has no value")
    control.ensemble = words[0]
    numbers = [value for value in map(number_of, words) if value is not None]
    if words[0] != "nve" and len(words) > 1:
        control.method = words[1]
    if control.method.startswith("lang"):  # frictions of atoms and of the box
        control.friction = numbers[0] if numbers else 0.0
        return
    if numbers:
        control.tau_t = numbers[0]
    control.tau_p = numbers[1] if len(numbers) > 1 else 0.0


def _old_ewald(control: Control, line: Line) -> None:
    second = line.words[1].lower() if len(line.words) > 1 else ""
    if second.startswith("prec"):
        control.precision = _last_number(line, "a precision")
    elif second.startswith("evalu"):
        control.unused.append(line.text)
    else:
        control.alpha = line.number_at(2 if second == "sum" else 1, "alpha in 1/Å")


def _old_no(control: Control, line: Line) -> None:
    what = line.words[1].lower() if len(line.words) > 1 else ""
    if what.startswith("elec"):
        control.electrostatics = "off"
    elif what.startswith("vom"):
        control.removes_momentum = False
    elif what.startswith("vdw"):
        raise line.wrong("no vdw: not supported; remove the potentials from FIELD")
    else:
        control.unused.append(line.text)


def _old_traj(control: Control, line: Line) -> None:
    control.trajectory_every = line.whole_at(2, "an interval", 1)


def _old_vdw(control: Control, line: Line) -> None:
    words = [word.lower() for word in line.words[1:]]
    if any(word.startswith(("mix", "shift")) for word in words):
        raise line.wrong(f"{line.text} is not supported: list every pair of atoms in FIELD, without a shift")
    control.unused.append(line.text)


def _old_job(control: Control, line: Line) -> None:
    control.job_hours = _last_number(line, "a time in s") / 3600


def _old_restart(control: Control, line: Line) -> None:
    word = line.words[1].lower() if len(line.words) > 1 else ""
    control.restart = {"": "continue", "scale": "scale", "noscale": "noscale", "unscale": "noscale"}.get(word, "")
    if not control.restart:
        raise line.wrong(f"restart {word}: expected nothing, scale or noscale")


def _number(name: str, what: str) -> Callable[[Control, Line], None]:
    return lambda control, line: setattr(control, name, _last_number(line, what))


def _whole(name: str, what: str) -> Callable[[Control, Line], None]:
    return lambda control, line: setattr(control, name, int(_last_number(line, what)))


def _old_pressure(control: Control, line: Line) -> None:
    if any(word.lower() == "tensor" for word in line.words):
        raise line.wrong("a pressure tensor is not supported")
    control.pressure = _last_number(line, "a pressure in katm") * KATM


def _old_eps(control: Control, line: Line) -> None:
    if _last_number(line, "a dielectric constant") != 1:
        raise line.wrong("a dielectric constant other than 1 is not supported")


def _old_coulomb(control: Control, line: Line) -> None:
    control.electrostatics = "cut"


#: by the first letters of the directive; the first that fits counts
_OLD: dict[str, Callable[[Control, Line], None]] = {
    "temp": _number("temperature", "a temperature"),
    "pres": _old_pressure,
    "restart": _old_restart,
    "timestep": _number("timestep", "a time in ps"),
    "steps": _whole("steps", "a number of steps"),
    "equil": _whole("equilibration", "a number of steps"),
    "ensemble": _old_ensemble,
    "cut": _number("cutoff", "a distance"),
    "rcut": _number("cutoff", "a distance"),
    "rvdw": _number("vdw", "a distance"),
    "ewald": _old_ewald,
    "spme": _old_ewald,
    "coul": _old_coulomb,
    "eps": _old_eps,
    "stat": _whole("stats_every", "a number of steps"),
    "traj": _old_traj,
    "dump": _whole("dump_every", "a number of steps"),
    "job": _old_job,
    "no": _old_no,
    "vdw": _old_vdw,
}
_OLD_REFUSED = {
    "variable": "a variable time step",
    "scale": "scaling of velocities during equilibration",
    "regaus": "new velocities during equilibration",
    "zero": "zero-temperature optimisation",
    "minim": "minimisation",
    "optim": "minimisation",
    "cap": "capped forces",
    "impact": "an impact",
    "pseudo": "a thermostat at the boundary",
    "shift": "shifted Coulomb forces",
    "reaction": "a reaction field",
    "distan": "a distance-dependent dielectric constant",
    "exclu": "extended Coulomb exclusions",
    "poiss": "Poisson's equation",
    "psolv": "Poisson's equation",
    "polar": "a model of polarisation",
    "ttm": "the two-temperature model",
    "nfold": "copies of the cell",
    "replay": "a replay",
    "plumed": "PLUMED",
    "metal": "a metal",
    "slab": "a slab",
    "dftb_driver": "DFTB+",
    "evb": "an empirical valence bond",
    "mult": "a multiple time step",
}


def _old(control: Control, line: Line) -> None:
    for start, use in _OLD.items():
        if line.key.startswith(start):
            use(control, line)
            return
    for start, what in _OLD_REFUSED.items():
        if line.key.startswith(start):
            raise line.wrong(f"{line.text}: {what}: not supported{_instead(start)}")
    control.unused.append(" ".join(line.words))
