"""Reads the directives of a CONTROL in the new style: `keyword value unit`, each once and in any order."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from tessera.constants import BOHR, NM
from tessera.prepare.dlpoly.control_keys import UNUSED
from tessera.prepare.dlpoly.control_model import Control, instead
from tessera.prepare.dlpoly.lines import Line
from tessera.prepare.dlpoly.units import KATM

_TIME = {"ps": 1.0, "fs": 1e-3, "ns": 1e3, "internal_t": 1.0, "dlp_t": 1.0, "s": 1e12}
_LENGTH = {"ang": 1.0, "angstrom": 1.0, "nm": NM, "bohr": BOHR, "internal_l": 1.0, "dlp_l": 1.0}
_PRESSURE = {"katm": KATM, "atm": KATM / 1000, "bar": 1.0, "kbar": 1e3, "gpa": 1e4, "mpa": 10.0, "pa": 1e-5}
_TEMPERATURE = {"k": 1.0, "temp": 1.0, "internal_temp": 1.0}
_PER_LENGTH = {f"{unit}^-1": 1 / length for unit, length in _LENGTH.items()}
_PER_TIME = {f"{unit}^-1": 1 / time for unit, time in _TIME.items()}


def _in(line: Line, units: dict[str, float]) -> float:
    """Returns a value in the first of these units, which is the usual one, too."""
    unit = line.words[2].lower() if len(line.words) > 2 else next(iter(units))
    if unit not in units:
        raise line.wrong(f"the unit {line.words[2]!r} of {line.key} is not known; expected {', '.join(units)}")
    if len(line.words) > 3:
        raise line.wrong(f"expected a value and a unit after {line.key}, found {line.words[3]!r}, too")
    return line.number_at(1, "a value") * units[unit]


def _steps(line: Line, timestep: float) -> int:
    unit = line.words[2].lower() if len(line.words) > 2 else "steps"
    if unit == "steps":
        return line.whole_at(1, "a number of steps")
    return round(_in(line, _TIME) / timestep) if timestep > 0 else 0


def _is_on(line: Line) -> bool:
    word = line.words[1].lower() if len(line.words) > 1 else ""
    if word not in ("on", "off"):
        raise line.wrong(f"expected ON or OFF after {line.key}, found {word!r}")
    return word == "on"


def _word(line: Line) -> str:
    if len(line.words) < 2:
        raise line.wrong(f"{line.key} has no value")
    return line.words[1].lower()


def _name(line: Line) -> str:
    if len(line.words) != 2 or "/" in line.words[1]:
        raise line.wrong(f"expected the name of a file beside CONTROL after {line.key}, found {line.text!r}")
    return line.words[1]


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
    control.pressure = _in(line, _PRESSURE)


DIRECTIVES: dict[str, Callable[[Control, Line], None]] = {
    "temperature": lambda c, line: setattr(c, "temperature", _in(line, _TEMPERATURE)),
    "pressure_hydrostatic": _set_pressure,
    "cutoff": lambda c, line: setattr(c, "cutoff", _in(line, _LENGTH)),
    "vdw_cutoff": lambda c, line: setattr(c, "vdw", _in(line, _LENGTH)),
    "timestep": lambda c, line: setattr(c, "timestep", _in(line, _TIME)),
    "time_run": lambda c, line: setattr(c, "steps", _steps(line, c.timestep)),
    "time_equilibration": lambda c, line: setattr(c, "equilibration", _steps(line, c.timestep)),
    "ensemble": lambda c, line: setattr(c, "ensemble", _word(line)),
    "ensemble_method": lambda c, line: setattr(c, "method", _word(line)),
    "ensemble_thermostat_coupling": lambda c, line: setattr(c, "tau_t", _in(line, _TIME)),
    "ensemble_barostat_coupling": lambda c, line: setattr(c, "tau_p", _in(line, _TIME)),
    "ensemble_thermostat_friction": lambda c, line: setattr(c, "friction", _in(line, _PER_TIME)),
    "coul_method": _set_coulomb,
    "ewald_precision": lambda c, line: setattr(c, "precision", line.number_at(1, "a precision")),
    "spme_precision": lambda c, line: setattr(c, "precision", line.number_at(1, "a precision")),
    "ewald_alpha": lambda c, line: setattr(c, "alpha", _in(line, _PER_LENGTH)),
    "spme_alpha": lambda c, line: setattr(c, "alpha", _in(line, _PER_LENGTH)),
    "io_file_config": lambda c, line: c.files.update(CONFIG=_name(line)),
    "io_file_field": lambda c, line: c.files.update(FIELD=_name(line)),
    "io_file_tabvdw": lambda c, line: c.files.update(TABLE=_name(line)),
    "restart": _set_restart,
    "stats_frequency": lambda c, line: setattr(c, "stats_every", _steps(line, c.timestep)),
    "traj_interval": lambda c, line: setattr(c, "trajectory_every", _steps(line, c.timestep)),
    "data_dump_frequency": lambda c, line: setattr(c, "dump_every", _steps(line, c.timestep)),
    "fixed_com": lambda c, line: setattr(c, "removes_momentum", _is_on(line)),
}
#: keys of the new style that change the physics, with the values that leave it alone
REFUSED = {
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
    "metal_sqrtrho": ("off",),
    "pressure_tensor": (),
    "pressure_perpendicular": (),
    "ensemble_tension": ("0", "0.0"),
    "ensemble_semi_orthorhombic": ("off",),
    "ignore_config_indices": ("off",),
    "io_file_config_2": (),
    "io_file_config_3": (),
    "io_file_field_2": (),
    "io_file_field_3": (),
    "io_file_revcon_2": (),
    "io_file_revcon_3": (),
}
_KNOWN = UNUSED | DIRECTIVES.keys() | REFUSED.keys()
#: those that the old style has, too
_SHARED = frozenset({"heat_flux"})


def is_own(key: str) -> bool:
    """Tells whether no directive of the old style is spelt like this."""
    return "_" in key and key in _KNOWN - _SHARED


def read(control: Control, lines: list[Line]) -> None:
    """Reads all directives. Raises `InputError` for one that is unknown, given twice or not supported."""
    seen: dict[str, Line] = {}
    # Other times may be counted in steps, so the time step comes first.
    for line in sorted(lines, key=lambda line: line.key != "timestep"):
        key = line.key
        if key in seen:
            raise line.wrong(f"{key} is given in line {seen[key].number} already")
        seen[key] = line
        if key in DIRECTIVES:
            DIRECTIVES[key](control, line)
        elif key in REFUSED:
            if _word(line) not in REFUSED[key]:
                raise line.wrong(f"{line.text} is not supported{instead(key)}")
        elif key not in UNUSED:
            near = difflib.get_close_matches(key, _KNOWN, 1)
            raise line.wrong(f"unknown keyword {line.words[0]!r}" + (f"; perhaps {near[0]} is meant" if near else ""))
        elif key != "title":
            control.unused.append(key)
