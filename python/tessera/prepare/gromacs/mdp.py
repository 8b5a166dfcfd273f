"""Reads from a GROMACS run-parameter file (.mdp) what concerns the system: macros, folders, and how Lennard-Jones ends.

Everything else in it concerns a run, and belongs in the run file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tessera.constants import NM
from tessera.errors import InputError
from tessera.prepare.gromacs.mdp_options import KNOWN, is_known, nearest, plain
from tessera.prepare.gromacs.types import numbers_of
from tessera.prepare.text import read_text, require_file
from tessera.system import ALL_PAIRS, LennardJones

_NAMED_OFF = {"no", "none", "off", "false", ""}
#: options that change the interactions and have no counterpart, with their meaning
REFUSED = {
    "free-energy": "free-energy perturbation",
    "implicit-solvent": "implicit solvent",
    "nwall": "walls",
    "QMMM": "QM/MM",
    "qmmm-cp2k-active": "QM/MM",
    "energygrp-excl": "exclusions between groups",
    "energygrp-table": "tables between groups",
    "morse": "Morse bonds",
    "periodic-molecules": "molecules that go through the box",
    "pull": "pulling",
    "awh": "a biasing potential",
    "colvars-active": "a biasing potential",
    "density-guided-simulation-active": "a biasing potential",
    "nnpot-active": "a potential of a neural network",
    "rotation": "enforced rotation",
    "electric-field-x": "an electric field",
    "electric-field-y": "an electric field",
    "electric-field-z": "an electric field",
    "E-x": "an electric field",
    "E-y": "an electric field",
    "E-z": "an electric field",
    "epsilon-surface": "a medium around the periodic images",
    "accelerate": "acceleration of groups",
    "cos-acceleration": "acceleration of groups",
    "deform": "deformation of the box",
    "swapcoords": "swapping of molecules",
    "simulated-tempering": "simulated tempering",
    "adress": "adaptive resolution",
}
#: options of which GROMACS knows more values than have a counterpart, and those that have one
ONLY = {
    "epsilon-r": ("1", "a dielectric constant other than 1"),
    "pbc": ("xyz no", "a system that repeats in some directions only"),
    "ewald-geometry": ("3d", "Ewald sums of a layer"),
}
#: modifier of Lennard-Jones by vdw-modifier, in plain letters
_MODIFIERS = {
    "none": "cut",
    "potentialshift": "cut",
    "potentialshiftverlet": "cut",
    "forceswitch": "force-switch-gromacs",
    "potentialswitch": "quintic-switch",
}
_OLD_TYPES = {"switch": "potentialswitch", "shift": "forceswitch"}
_TAILS = {"no": False, "enerpres": True, "ener": True, "allenerpres": True, "allener": True}
MESHES = ("pme", "p3mad", "ewald")
_COULOMB = (*MESHES, "cutoff", "reactionfield", "generalizedreactionfield", "reactionfieldzero", "reactionfieldnec",
            "poisson", "switch", "shift", "pmeswitch")  # fmt: skip


@dataclass
class RunParameters:
    """The settings that `prepare` takes from an .mdp."""

    lennard_jones: LennardJones | None = None
    defines: list[str] = field(default_factory=list)
    include: list[Path] = field(default_factory=list)
    takes_state_a: bool = False  # the file switches free-energy perturbation off
    repeats: bool = True
    is_flexible: bool = False  # no bonds are constraints but those of the topology
    notes: list[str] = field(default_factory=list)


def read_mdp(path: str | Path) -> RunParameters:
    """Reads the file. Raises `InputError` for a line that is no option of GROMACS and for options without a
    counterpart."""
    path = require_file(path, "mdp file")
    options = options_of(read_text(path), path.name)
    for name, what in REFUSED.items():
        value, where = _given(options, name)
        if not all(map(is_off, value.split())):
            raise InputError(f"{where}: {name} = {value}: {what} is not supported")
    for name, (values, what) in ONLY.items():
        value, where = _given(options, name)
        if value and plain(value) not in values.split() and not ("1" in values.split() and is_one(value)):
            raise InputError(f"{where}: {name} = {value}: {what} is not supported")
    ending, notes = lennard_jones(options, path.name)
    return RunParameters(
        ending,
        _flags(options, "define", "-D"),
        [path.parent / folder for folder in _flags(options, "include", "-I")],
        plain("free-energy") in options,
        plain(_given(options, "pbc")[0]) != "no",
        _choice(options, "constraints", "none")[0] == "none",
        [*notes, *_electrostatics(options, path.name, ending.cutoff), *_of_a_run(options, path.name)],
    )


Options = dict[str, tuple[str, str]]  # value and place by plain name


def options_of(text: str, file: str) -> Options:
    """Returns the options of the text of a file. Raises `InputError` for a line that is none, and for a second one."""
    options: Options = {}
    for number, line in enumerate(text.split("\n"), 1):
        content, where = line.split(";", 1)[0].strip(), f"{file}:{number}"
        if not content:
            continue
        given, separator, value = content.partition("=")
        given = given.strip()
        name = plain(given)
        if not separator or not name:
            raise InputError(f"{where}: expected NAME = VALUE, found {content[:60]!r}")
        if not is_known(name):
            like = nearest(name)
            mend = f"did you mean {like}?" if like else "remove the line, or make it a comment with ;"
            raise InputError(f"{where}: GROMACS has no option {given[:60]!r}: {mend}")
        if name in options:
            raise InputError(f"{where}: {KNOWN.get(name, given)} is given twice, first at {options[name][1]}")
        options[name] = (" ".join(value.split()), where)
    return options


def _given(options: Options, name: str) -> tuple[str, str]:
    """Returns the value of an option and its place; both are empty where it is not given."""
    return options.get(plain(name), ("", ""))


def is_off(word: str) -> bool:
    """Tells whether a word switches off what `REFUSED` names."""
    try:
        return plain(word) in _NAMED_OFF or float(word) == 0
    except ValueError:
        return False


def is_one(word: str) -> bool:
    """Tells whether a word is the number 1."""
    try:
        return float(word) == 1
    except ValueError:
        return False


def _flags(options: Options, name: str, flag: str) -> list[str]:
    value, where = _given(options, name)
    words = value.split()
    for word in words:
        if not word.startswith(flag) or len(word) == len(flag):
            raise InputError(f"{where}: {name} needs {flag}NAME, found {word}")
    return [word.removeprefix(flag) for word in words]


def _length(options: Options, name: str, default: str) -> float:
    """Returns a length in Å, which is in nm in the file."""
    value, where = _given(options, name)
    try:
        length = float(value or default)
    except ValueError:
        length = -1.0
    if not 0 <= length < 1e6:
        raise InputError(f"{where}: {name} = {value}, expected a length in nm")
    return round(NM * length, 9)


def _cutoff(options: Options) -> float:
    """Returns the cut-off of Lennard-Jones in Å, which is 0 where there is none."""
    cutoff, (value, where) = _length(options, "rvdw", "1.0"), _given(options, "rvdw")
    if not cutoff and (plain(_given(options, "pbc")[0]) != "no" or plain(_given(options, "vdwtype")[0]) == "pme"):
        raise InputError(f"{where}: rvdw = {value}, no cut-off, which needs pbc = no and vdwtype = cut-off")
    return cutoff


def _choice(options: Options, name: str, default: str) -> tuple[str, str, str]:
    """Returns a value in plain letters, as it is given, and its place."""
    value, where = _given(options, name)
    return plain(value or default), value or default, where


def lennard_jones(options: Options, file: str) -> tuple[LennardJones, list[str]]:
    """Returns how Lennard-Jones ends, and notes. Raises `InputError` for what has no counterpart."""
    kind, given, where = _choice(options, "vdwtype", "cut-off")
    modifier, given_modifier, modifier_where = _choice(options, "vdw-modifier", "potential-shift")
    if kind in _OLD_TYPES:
        modifier = _OLD_TYPES[kind]
    elif kind == "pme":
        return _mesh(options, file)
    elif kind != "cutoff":
        raise InputError(f"{where}: vdwtype = {given} is not supported, expected cut-off, PME, switch or shift")
    if modifier not in _MODIFIERS:
        expected = "none, potential-shift, force-switch or potential-switch"
        raise InputError(f"{modifier_where}: vdw-modifier = {given_modifier}, expected {expected}")
    correction, given, where = _choice(options, "DispCorr", "no")
    if correction not in _TAILS:
        raise InputError(f"{where}: DispCorr = {given}, expected no, EnerPres, Ener, AllEnerPres or AllEner")
    cutoff, switch = _cutoff(options), 0.0
    if not cutoff:
        return ALL_PAIRS, [f"{file}: rvdw = 0: no cut-off, all pairs interact"]
    if _MODIFIERS[modifier] != "cut":
        switch = _length(options, "rvdw-switch", "0")
        if switch >= cutoff:
            raise InputError(f"{file}: rvdw-switch = {switch / NM:g} nm is not below rvdw = {cutoff / NM:g} nm")
    ending = LennardJones(_MODIFIERS[modifier], cutoff, switch, _TAILS[correction])
    notes = [_taken(ending, file)]
    if modifier.startswith("potentialshift"):
        notes.append(f"{file}: GROMACS shifts Lennard-Jones to 0 at the cut-off: the same forces, other energies")
    if correction not in ("no", "enerpres", "allenerpres"):
        notes.append(f"{file}: DispCorr = {given} is taken as EnerPres")
    return ending, notes


def _mesh(options: Options, file: str) -> tuple[LennardJones, list[str]]:
    """Returns Lennard-Jones with its dispersion on a mesh (vdwtype = PME)."""
    rule, given, where = _choice(options, "lj-pme-comb-rule", "geometric")
    if rule != "geometric":
        raise InputError(f"{where}: lj-pme-comb-rule = {given} is not supported, expected Geometric")
    modifier, given, where = _choice(options, "vdw-modifier", "potential-shift")
    if modifier not in ("none", "potentialshift", "potentialshiftverlet"):
        raise InputError(f"{where}: vdw-modifier = {given} with vdwtype = PME, expected none or potential-shift")
    correction, given, where = _choice(options, "DispCorr", "no")
    if correction != "no":
        raise InputError(f"{where}: DispCorr = {given}, expected no with vdwtype = PME, which leaves nothing out")
    ending = LennardJones("pme", _cutoff(options))
    notes = [_taken(ending, file)]
    tolerance, where = _given(options, "ewald-rtol-lj")
    if tolerance and numbers_of([tolerance], f"{where}: ewald-rtol-lj") != (0.001,):
        notes.append(f"{file}: ewald-rtol-lj is {tolerance}: set pme.lj_tolerance = {tolerance} in the run file")
    return ending, notes


def _taken(lj: LennardJones, file: str) -> str:
    begin = f" from {lj.switch:g} Å" if lj.switch else ""
    tail = ", tail added" if lj.tail else ""
    return f"Lennard-Jones as in {file}: {lj.modifier}{begin}, cut-off {lj.cutoff:g} Å{tail}"


def _electrostatics(options: Options, file: str, cutoff: float) -> list[str]:
    kind, given, where = _choice(options, "coulombtype", "cut-off")
    if kind not in _COULOMB:
        raise InputError(f"{where}: coulombtype = {given} is not supported, expected PME, P3M-AD, Ewald or cut-off")
    if kind not in MESHES:
        return [f"{file}: coulombtype is {given.lower()}; a run has PME unless its run file says otherwise"]
    if _given(options, "rcoulomb")[0] and _length(options, "rcoulomb", "1.0") != cutoff:
        return [f"{file}: rcoulomb and rvdw differ; a run has one cut-off, that of Lennard-Jones"]
    return []


def _of_a_run(options: Options, file: str) -> list[str]:
    """Returns notes on what a run file has to say so that a run moves the same system."""
    notes = []
    held, given, where = _choice(options, "constraints", "none")
    if held not in ("none", "hbonds", "allbonds", "hangles", "allangles"):
        expected = "none, h-bonds, all-bonds, h-angles or all-angles"
        raise InputError(f"{where}: constraints = {given}, expected {expected}")
    if not _given(options, "constraints")[0]:
        notes.append(f"{file} has no constraints: bonds are flexible, as GROMACS' default says")
    if held == "allbonds":
        notes.append(f'{file}: constraints is {given}: set dynamics.constraints = "all-bonds" in the run file')
    elif held not in ("none", "hbonds"):
        notes.append(f"{file}: constraints is {given}, which has no counterpart; a run holds bonds to hydrogen")
    factor, where = _given(options, "mass-repartition-factor")
    if factor and not is_one(factor):
        notes.append(f"{file}: mass-repartition-factor is {factor}: set dynamics.hydrogen_mass in the run file")
    annealing = _given(options, "annealing")[0]
    if any(plain(word) != "no" for word in annealing.split()):
        notes.append(f"{file}: annealing is {annealing}: give dynamics.temperature as points in the run file")
    if frozen := _given(options, "freezegrps")[0]:
        notes.append(f"{file}: {frozen} is frozen: set dynamics.fixed in the run file")
    return notes
