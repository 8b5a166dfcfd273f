"""Reads the directives of a CONTROL in the old style, which are known by their first letters."""

from __future__ import annotations

from collections.abc import Callable

from tessera.prepare.dlpoly.control_keys import UNUSED_STARTS
from tessera.prepare.dlpoly.control_model import Control, instead
from tessera.prepare.dlpoly.lines import Line, number_of
from tessera.prepare.dlpoly.units import KATM


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
        control.precision = line.number_at(2, "a precision")
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
    elif what.startswith("ind"):
        raise line.wrong("no index: not supported; remove the indices from CONFIG")
    elif what.startswith(("str", "top", "vafav", "link")):
        control.unused.append(line.text)
    else:
        raise line.wrong(f"unknown directive {line.text!r}; known after no: elec, index, strict, topology, vdw, vom")


def _old_traj(control: Control, line: Line) -> None:
    control.trajectory_every = line.whole_at(2, "an interval", 1)


def _old_vdw(control: Control, line: Line) -> None:
    if [word.lower() for word in line.words[1:]] != ["direct"]:
        raise line.wrong(f"{line.text} is not supported: list every pair of atoms in FIELD, without a shift")
    control.unused.append(line.text)


def _old_restart(control: Control, line: Line) -> None:
    word = line.words[1].lower() if len(line.words) > 1 else ""
    control.restart = {"": "continue", "scale": "scale", "noscale": "noscale", "unscale": "noscale"}.get(word, "")
    if not control.restart:
        raise line.wrong(f"restart {word}: expected nothing, scale or noscale")


def _number(name: str, what: str, *optional: str) -> Callable[[Control, Line], None]:
    """Returns what sets a value, which stands behind the key and perhaps these words."""
    return lambda control, line: setattr(control, name, line.number_at(line.behind(*optional), what))


def _whole(name: str, what: str, *optional: str) -> Callable[[Control, Line], None]:
    return lambda control, line: setattr(control, name, line.whole_at(line.behind(*optional), what))


def _old_timestep(control: Control, line: Line) -> None:
    if any(word.lower() == "variable" for word in line.words):
        raise line.wrong("a variable time step: not supported")
    control.timestep = line.number_at(1, "a time in ps")


def _old_pressure(control: Control, line: Line) -> None:
    if any(word.lower() == "tensor" for word in line.words):
        raise line.wrong("a pressure tensor is not supported")
    control.pressure = line.number_at(line.behind("hydro"), "a pressure in katm") * KATM


def _old_eps(control: Control, line: Line) -> None:
    if line.number_at(line.behind("const"), "a dielectric constant") != 1:
        raise line.wrong("a dielectric constant other than 1 is not supported")


def _old_coulomb(control: Control, line: Line) -> None:
    control.electrostatics = "cut"


#: by the first letters of the directive; the first that fits counts
_OLD: dict[str, Callable[[Control, Line], None]] = {
    "temp": _number("temperature", "a temperature"),
    "pres": _old_pressure,
    "restart": _old_restart,
    "timestep": _old_timestep,
    "steps": _whole("steps", "a number of steps"),
    "equil": _whole("equilibration", "a number of steps", "steps"),
    "ensemble": _old_ensemble,
    "cut": _number("cutoff", "a distance"),
    "rcut": _number("cutoff", "a distance"),
    "rvdw": _number("vdw", "a distance", "cut"),
    "ewald": _old_ewald,
    "spme": _old_ewald,
    "coul": _old_coulomb,
    "eps": _old_eps,
    "stat": _whole("stats_every", "a number of steps", "collect", "sampl", "every"),
    "traj": _old_traj,
    "dump": _whole("dump_every", "a number of steps", "data", "every"),
    "no": _old_no,
    "vdw": _old_vdw,
}
_OLD_REFUSED = {
    "l_org": "a change of CONFIG",
    "l_scl": "a change of CONFIG",
    "l_vdw": "a trial of potentials",
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


_STARTS = (*_OLD, *_OLD_REFUSED, *UNUSED_STARTS)


def is_own(key: str) -> bool:
    """Tells whether this is a directive that the new style has not."""
    shared = ("cutoff", "ensemble", "heat_flux", "nfold", "padding", "plumed", "replay", "restart", "temperature",
              "timestep", "title")  # fmt: skip
    if key in shared or ("_" in key and not key.startswith("l_")):
        return False
    return key == "no" or key.startswith(tuple(start for start in _STARTS if start != "no"))


def read(control: Control, lines: list[Line]) -> None:
    """Reads all directives up to `finish`. Raises `InputError` for one that is unknown or not supported."""
    for line in lines:
        if line.key == "finish":
            return
        _read(control, line)


def _read(control: Control, line: Line) -> None:
    for start, use in _OLD.items():
        if line.key.startswith(start):
            use(control, line)
            return
    for start, what in _OLD_REFUSED.items():
        if line.key.startswith(start):
            raise line.wrong(f"{line.text}: {what}: not supported{instead(start)}")
    if not line.key.startswith(UNUSED_STARTS):
        raise line.wrong(f"unknown directive {line.words[0]!r}")
    control.unused.append(" ".join(line.words))
