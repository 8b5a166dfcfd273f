"""Reads from a GROMACS run-parameter file (.mdp) what concerns the system: macros, folders, and how Lennard-Jones ends.

Everything else in it concerns a run, and belongs in the run file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tessera.prepare.errors import InputError, require_file
from tessera.prepare.gromacs.types import numbers_of
from tessera.system import LennardJones

_NM = 10.0  # Å
_OFF = {"no", "none", "off", "0", "0.0", ""}
#: options that change the interactions and have no counterpart, with their meaning and the values that switch them off
_REFUSED = {
    "free-energy": ("free-energy perturbation", _OFF),
    "implicit-solvent": ("implicit solvent", _OFF),
    "nwall": ("walls", _OFF),
    "qmmm": ("QM/MM", _OFF),
    "energygrp-excl": ("exclusions between groups", _OFF),
    "energygrp-table": ("tables between groups", _OFF),
    "morse": ("Morse bonds", _OFF),
    "periodic-molecules": ("molecules that go through the box", _OFF),
    "pull": ("pulling", _OFF),
    "awh": ("a biasing potential", _OFF),
    "rotation": ("enforced rotation", _OFF),
    "electric-field-x": ("an electric field", _OFF),
    "electric-field-y": ("an electric field", _OFF),
    "electric-field-z": ("an electric field", _OFF),
    "epsilon-r": ("a dielectric constant other than 1", {"1", "1.0", "1.", "1.00", ""}),
}
#: modifier of Lennard-Jones by vdwtype and vdw-modifier
_MODIFIERS = {
    "none": "cut",
    "potential-shift": "cut",
    "potential-shift-verlet": "cut",
    "force-switch": "force-switch-gromacs",
    "potential-switch": "quintic-switch",
}
_OLD_TYPES = {"switch": "potential-switch", "shift": "force-switch"}
_TAILS = {"no": False, "enerpres": True, "ener": True, "allenerpres": True, "allener": True}


@dataclass
class RunParameters:
    """The settings that `prepare` takes from an .mdp."""

    lennard_jones: LennardJones | None = None
    defines: list[str] = field(default_factory=list)
    include: list[Path] = field(default_factory=list)
    takes_state_a: bool = False  # the file switches free-energy perturbation off
    notes: list[str] = field(default_factory=list)


def read_mdp(path: str | Path) -> RunParameters:
    """Reads the file. Raises `InputError` for a line that is no option and for options without a counterpart."""
    path = require_file(path, "mdp file")
    options = _options(path)
    for name, (what, off) in _REFUSED.items():
        value, where = options.get(name, ("", ""))
        if not off.issuperset(value.lower().split()):
            raise InputError(f"{where}: {name} = {value}: {what} is not supported")
    lennard_jones, notes = _lennard_jones(options, path.name)
    return RunParameters(
        lennard_jones,
        _flags(options, "define", "-D"),
        [path.parent / folder for folder in _flags(options, "include", "-I")],
        "free-energy" in options,
        notes + _electrostatics(options, path.name, lennard_jones.cutoff),
    )


_Options = dict[str, tuple[str, str]]  # value and place by name; names have hyphens and lower case


def _options(path: Path) -> _Options:
    options: _Options = {}
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        text, where = line.split(";", 1)[0].strip(), f"{path.name}:{number}"
        if not text:
            continue
        name, separator, value = text.partition("=")
        name = name.strip().lower().replace("_", "-")
        if not separator or not name:
            raise InputError(f"{where}: expected NAME = VALUE, found {text[:60]!r}")
        if name in options:
            raise InputError(f"{where}: {name} is given twice, first at {options[name][1]}")
        options[name] = (" ".join(value.split()), where)
    return options


def _flags(options: _Options, name: str, flag: str) -> list[str]:
    value, where = options.get(name, ("", ""))
    words = value.split()
    for word in words:
        if not word.startswith(flag) or len(word) == len(flag):
            raise InputError(f"{where}: {name} needs {flag}NAME, found {word}")
    return [word.removeprefix(flag) for word in words]


def _length(options: _Options, name: str, default: str) -> float:
    """Returns a length in Å, which is in nm in the file."""
    value, where = options.get(name, ("", ""))
    try:
        length = float(value or default)
    except ValueError:
        length = -1.0
    if not 0 <= length < 1e6:
        raise InputError(f"{where}: {name} = {value}, expected a length in nm")
    return round(_NM * length, 9)


def _choice(options: _Options, name: str, default: str) -> tuple[str, str]:
    value, where = options.get(name, ("", ""))
    return (value or default).lower().replace("_", "-"), where


def _lennard_jones(options: _Options, file: str) -> tuple[LennardJones, list[str]]:
    kind, where = _choice(options, "vdwtype", "cut-off")
    modifier, modifier_where = _choice(options, "vdw-modifier", "potential-shift")
    if kind in _OLD_TYPES:
        modifier = _OLD_TYPES[kind]
    elif kind == "pme":
        return _mesh(options, file)
    elif kind not in ("cut-off", "cutoff"):
        raise InputError(
            f"{where}: vdwtype = {options['vdwtype'][0]} is not supported, expected cut-off, PME, switch or shift"
        )
    if modifier not in _MODIFIERS:
        expected = ", ".join(m for m in _MODIFIERS if not m.endswith("verlet"))
        raise InputError(f"{modifier_where}: vdw-modifier = {modifier}, expected {expected}")
    correction, where = _choice(options, "dispcorr", "no")
    if correction not in _TAILS:
        raise InputError(f"{where}: DispCorr = {correction}, expected no, EnerPres, Ener, AllEnerPres or AllEner")
    cutoff, switch = _length(options, "rvdw", "1.0"), 0.0
    if _MODIFIERS[modifier] != "cut":
        switch = _length(options, "rvdw-switch", "0")
        if switch >= cutoff:
            raise InputError(f"{file}: rvdw-switch = {switch / _NM:g} nm is not below rvdw = {cutoff / _NM:g} nm")
    lennard_jones = LennardJones(_MODIFIERS[modifier], cutoff, switch, _TAILS[correction])
    notes = [_taken(lennard_jones, file)]
    if modifier.startswith("potential-shift"):
        notes.append(f"{file}: GROMACS shifts Lennard-Jones to 0 at the cut-off: the same forces, other energies")
    if correction not in ("no", "enerpres"):
        notes.append(f"{file}: DispCorr = {correction} is taken as EnerPres")
    return lennard_jones, notes


def _mesh(options: _Options, file: str) -> tuple[LennardJones, list[str]]:
    """Returns Lennard-Jones with its dispersion on a mesh (vdwtype = PME)."""
    rule, where = _choice(options, "lj-pme-comb-rule", "geometric")
    if rule != "geometric":
        raise InputError(f"{where}: lj-pme-comb-rule = {rule} is not supported, expected Geometric")
    correction, where = _choice(options, "dispcorr", "no")
    if correction != "no":
        raise InputError(f"{where}: DispCorr = {correction}, expected no with vdwtype = PME, which leaves nothing out")
    lennard_jones = LennardJones("pme", _length(options, "rvdw", "1.0"))
    notes = [_taken(lennard_jones, file)]
    tolerance, where = options.get("ewald-rtol-lj", ("0.001", ""))
    if numbers_of([tolerance], f"{where}: ewald-rtol-lj") != (0.001,):
        notes.append(f"{file}: ewald-rtol-lj is {tolerance}: set pme.lj_tolerance = {tolerance} in the run file")
    return lennard_jones, notes


def _taken(lj: LennardJones, file: str) -> str:
    begin = f" from {lj.switch:g} Å" if lj.switch else ""
    tail = ", tail added" if lj.tail else ""
    return f"Lennard-Jones as in {file}: {lj.modifier}{begin}, cut-off {lj.cutoff:g} Å{tail}"


def _electrostatics(options: _Options, file: str, cutoff: float) -> list[str]:
    kind, _ = _choice(options, "coulombtype", "cut-off")
    notes = []
    if kind not in ("pme", "p3m-ad", "ewald"):
        notes.append(f"{file}: coulombtype is {kind}; a run has PME unless its run file says otherwise")
    elif "rcoulomb" in options and _length(options, "rcoulomb", "1.0") != cutoff:
        notes.append(f"{file}: rcoulomb and rvdw differ; a run has one cut-off, that of Lennard-Jones")
    return notes
