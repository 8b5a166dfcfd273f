"""Translates the inputs that CHARMM-GUI writes for its scripts of OpenMM (openmm_run.py with step4_equilibration.inp).

Units: nm, ps, kJ/mol, K, bar, dyn/cm. The scripts' restraints are k·d² without a factor ½, of atoms that files in the
folder `restraints` name, counted from 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tessera.constants import KJ, NM
from tessera.convert.model import Changed, Option, Setting, Stage, Translation, Value
from tessera.errors import InputError
from tessera.prepare.numbering import selection_of
from tessera.prepare.text import read_text

TITLE = "CHARMM-GUI's scripts of OpenMM"
MANUAL = "omm_readinputs.py, omm_restraints.py and openmm_run.py of an archive of CHARMM-GUI"
VERSIONS = "2017 to 2024"
SUFFIXES: tuple[str, ...] = ()
DEFAULTS: dict[str, str | Changed] = {
    "mini_nstep": "0", "mini_tol": "1.0", "gen_vel": "no", "gen_temp": "300.0", "gen_seed": "", "nstep": "0",
    "dt": "0.002", "nstout": "100", "nstdcd": "0", "coulomb": "PME", "ewald_tol": "0.0005", "vdw": "Force-switch",
    "r_on": "1.0", "r_off": "1.2", "lj_lrc": "no", "e14scale": "1.0", "temp": "300.0", "fric_coeff": "1",
    "pcouple": "no", "p_ref": "1.0", "p_type": "membrane", "p_scale": "XYZ", "p_xymode": "XYIsotropic",
    "p_zmode": "ZFree", "p_tens": "0.0", "p_freq": "15", "cons": "HBonds", "rest": "no", "fc_bb": "0.0",
    "fc_sc": "0.0", "fc_mpos": "0.0", "fc_lpos": "0.0", "fc_hmmm": "0.0", "fc_dcle": "0.0", "fc_ldih": "0.0",
    "fc_cdih": "0.0", "annealing": "no", "implicit": "",
}  # fmt: skip
_OF_PRESSURE = ("p_ref", "p_type", "p_scale", "p_xymode", "p_zmode", "p_tens", "p_freq")
_OF_RESTRAINTS = ("fc_bb", "fc_sc", "fc_mpos", "fc_lpos", "fc_hmmm", "fc_dcle", "fc_ldih", "fc_cdih")
_TENSION = 10.0  # bar·nm of a dyn/cm


def looks(text: str) -> bool:
    """Tells whether a text has the names of these inputs."""
    words = ("nstep", "fric_coeff", "ewald_tol", "r_off", "coulomb", "pcouple")
    found = [word for word in words if re.search(rf"^\s*{word}\s*=", text, re.IGNORECASE | re.MULTILINE)]
    return len(found) >= 4


def options(text: str, file: str) -> list[Option]:
    """Returns the options of a file. Raises `InputError` for lines that are none."""
    found: dict[str, Option] = {}
    for number, line in enumerate(text.splitlines(), 1):
        content = line.split("#", 1)[0].strip()
        if not content:
            continue
        name, separator, value = (part.strip() for part in content.partition("="))
        if not separator or not name or not value:
            raise InputError(f"{file}:{number}: expected NAME = VALUE, found {content[:60]!r}")
        if name.lower() in found:
            raise InputError(f"{file}:{number}: {name} is given already, at {found[name.lower()].where}")
        found[name.lower()] = Option(name.lower(), " ".join(value.split()), file, number)
    return list(found.values())


def translate(t: Translation, groups: Mapping[str, str]) -> None:
    """Says what becomes of each option."""
    for name in ("annealing", "implicit"):
        if t.value(name).plain not in ("no", "none", ""):
            t.refuse(t.value(name), "it has no counterpart")
        elif t.has(name):
            t.agree(t.value(name))
    if t.value("e14scale").number() != 1:
        t.refuse(t.value("e14scale"), "the system file has it of its force field: expected 1")
    elif t.has("e14scale"):
        t.agree(t.value("e14scale"))
    _interactions(t)
    _motion(t)
    _pressure(t)
    _restraints(t)
    _stages(t)
    t.prepare = ["tessera", "prepare", "charmm-gui", str(t.folder or "FOLDER"), "-o", "SYSTEM"]


def _interactions(t: Translation) -> None:
    kind, begin, cutoff, tail = (t.value(name) for name in ("vdw", "r_on", "r_off", "lj_lrc"))
    coulomb, tolerance = t.value("coulomb"), t.value("ewald_tol")
    if cutoff.number() <= 0:
        raise cutoff.wrong("a distance above 0 nm")
    t.set("interactions.cutoff", round(NM * cutoff.number(), 9), cutoff)
    words = {"force-switch": "force-switch", "switch": "quintic-switch"}
    if kind.plain not in words:
        t.refuse(kind, "known here: Force-switch and Switch")
    else:
        if not 0 < begin.number() < cutoff.number():
            raise begin.wrong(f"a distance above 0 and below r_off, {cutoff.text} nm")
        t.set("interactions.lj", words[kind.plain], kind)
        t.set("interactions.switch", round(NM * begin.number(), 9), begin)
    has_tail = tail.flag() and kind.plain == "switch"
    t.set("interactions.lj_tail", has_tail, tail)
    if tail.flag() and not has_tail:
        t.refuse(tail, "no correction beyond the cut-off with Force-switch")
    if coulomb.plain not in ("pme", "ewald"):
        t.refuse(coulomb, "known here: PME and Ewald")
        return
    if not 0 < tolerance.number() < 0.5:
        raise tolerance.wrong("a number above 0 and below 0.5")
    alpha = math.sqrt(-math.log(2 * tolerance.number())) / (NM * cutoff.number())
    t.set("interactions.electrostatics", "pme", coulomb)
    t.set("pme.alpha", round(alpha, 9), tolerance, cutoff, note="√(−ln 2δ)/r_off, as in OpenMM")
    t.set("pme.spacing", round(3 * tolerance.number() ** 0.2 / (2 * alpha), 6), tolerance, note="as in OpenMM")
    t.set("pme.order", 6, coulomb, note="OpenMM's splines have order 5; those of 6 are nearer to the same sum")


def _motion(t: Translation) -> None:
    step, target, friction, held = (t.value(name) for name in ("dt", "temp", "fric_coeff", "cons"))
    if not 0 < step.number() <= 0.1:
        raise step.wrong("a time step above 0, at most 0.1 ps")
    if friction.number() <= 0 or target.number() < 0:
        raise (friction if friction.number() <= 0 else target).wrong("a number above 0")
    t.set("dynamics.integrator", "velocity-verlet", target)
    t.set("dynamics.timestep", round(1000 * step.number(), 9), step)
    t.set("dynamics.thermostat", "langevin", friction)
    t.set("dynamics.tau_t", round(1 / friction.number(), 9), friction, note="the inverse of the friction")
    t.set("dynamics.temperature", target.number(), target)
    kinds = {"none": "none", "hbonds": "h-bonds", "allbonds": "all-bonds"}
    if held.plain not in kinds:
        t.refuse(held, "angles are never constrained: known here are None, HBonds and AllBonds")
    else:
        t.set("dynamics.constraints", kinds[held.plain], held)
    frames = t.value("nstdcd")
    t.set("output.energy_every", t.value("nstout").count(), t.value("nstout"))
    t.set("output.trajectory", "dcd", frames)
    t.set("output.trajectory_every", frames.count(), frames)


def _pressure(t: Translation) -> None:
    on, target, kind, tension, every = (t.value(n) for n in ("pcouple", "p_ref", "p_type", "p_tens", "p_freq"))
    t.set("dynamics.ensemble", "npt" if on.flag() else "nvt", on)
    if not on.flag():
        for name in _OF_PRESSURE:
            if t.has(name):
                t.ignore(t.value(name), "pcouple is no")
        return
    t.set("dynamics.barostat", "monte-carlo", on)
    t.set("dynamics.monte_carlo_every", max(1, every.count()), every)
    pressures = Value(target.name, target.text.replace(",", " "), target.option, target.program).numbers()
    if len(set(pressures)) != 1:
        t.refuse(target, "different pressures along the edges of the box")
    t.set("dynamics.pressure", pressures[0], target)
    scales = "".join(sorted(re.findall("[xyz]", t.value("p_scale").plain)))
    if kind.plain == "membrane":
        if t.value("p_xymode").plain != "xyisotropic" or t.value("p_zmode").plain != "zfree":
            t.refuse(t.value("p_xymode"), "known here: XYIsotropic with ZFree")
        t.set("dynamics.coupling", "semi-isotropic", kind, t.value("p_xymode"), t.value("p_zmode"))
        t.set("dynamics.surface_tension", round(_TENSION * tension.number(), 9), tension)
    elif kind.plain == "isotropic":
        t.set("dynamics.coupling", "isotropic", kind)
    elif kind.plain == "anisotropic" and scales in ("xyz", "z"):
        t.set("dynamics.coupling", {"xyz": "anisotropic", "z": "constant-area"}[scales], kind, t.value("p_scale"))
    else:
        t.refuse(kind, "known here: membrane, isotropic, and anisotropic of all edges or of z")
    for name in _OF_PRESSURE:
        option = t.value(name)
        if option.option is not None and not t.is_known(option.option):
            t.ignore(option, f"p_type is {kind.text}")


def _stages(t: Translation) -> None:
    """Makes stages of a minimisation before the steps, if there is one."""
    moves, limit, steps = t.value("mini_nstep"), t.value("mini_tol"), t.value("nstep")
    draws, temperature, seed = t.value("gen_vel"), t.value("gen_temp"), t.value("gen_seed")
    t.follow("dynamics.steps", steps)
    if draws.flag():
        t.follow("dynamics.velocities", draws)
        if temperature.number() != t.value("temp").number():
            t.refuse(temperature, f"another temperature than that of the bath, {t.value('temp').text} K")
        elif temperature.is_given:
            t.agree(temperature)
    else:
        for value in (draws, temperature):
            if value.is_given:
                t.agree(value)
    if seed.is_given:
        t.set("dynamics.seed", seed.count(), seed, note="the random numbers are those of Tessera's generator")
    velocities = t.setting("generate" if draws.flag() else "auto", draws)
    if moves.count():
        t.follow("stage.minimize.steps", moves)
        t.follow("stage.minimize.max_force", limit)
        force = t.setting(
            round(limit.number() * KJ / NM, 9), limit, note="of the greatest force, not of their mean square"
        )
        keys = {"minimize.steps": t.setting(moves.count(), moves), "minimize.max_force": force}
        t.stages.append(Stage("minimise", "minimize", keys))
        both = {"dynamics.steps": t.setting(steps.count(), steps), "dynamics.velocities": velocities}
        t.stages.append(Stage("dynamics", keys=both))
    else:
        t.keys |= {"dynamics.steps": t.setting(steps.count(), steps), "dynamics.velocities": velocities}
        if t.has("mini_nstep"):
            t.agree(moves)
        if t.has("mini_tol"):
            t.ignore(limit, "mini_nstep is 0")


def _restraints(t: Translation) -> None:
    on = t.value("rest")
    constants = [t.value(name) for name in _OF_RESTRAINTS]
    if not on.flag():
        for value in (on, *constants):
            if value.is_given:
                t.agree(value, note="rest is no")
        return
    t.follow("restraint", on)
    for value in constants:
        if value.number() < 0:
            raise value.wrong("a number of at least 0")
        if not value.number():
            if value.is_given:
                t.agree(value)
        elif value.name in ("fc_hmmm", "fc_dcle"):
            t.refuse(value, "restraints of HMMM have no counterpart")
        else:
            _restrain(t, value)


def _restrain(t: Translation, value: Value) -> None:
    """Makes the rows of one force constant."""
    files = {"fc_ldih": ["dihe.txt"], "fc_cdih": ["carbohydrate_restraint.dat", "detergent_carbohydrate_restraint.dat"]}
    if value.name in files:
        k = t.setting(round(value.number() * KJ, 9), value)
        rows = [line for name in files[value.name] for line in _lines(t, name, value.name != "fc_ldih")]
        for where, words in rows:
            if len(words) < 6:
                raise InputError(f"{where}: expected four atoms, an angle and a width")
            row = {
                "kind": Setting("dihedral", ""),
                "groups": Setting([f"index {_atom(w, where)}" for w in words[:4]], ""),
            }
            numbers = Value(where, " ".join(words[4:6]), None, t.program).numbers(2)
            row |= {"k": k, "target": Setting(numbers[0], ""), "flat": Setting(numbers[1], "")}
            t.tables.append(("restraint", row))
    else:
        word = {"fc_bb": "BB", "fc_sc": "SC"}.get(value.name, "")
        lines = list(_lines(t, "prot_pos.txt" if word else "lipid_pos.txt", False))
        ids = [_atom(words[0], where) for where, words in lines if not word or words[1:2] == [word]]
        if ids:
            row = {"kind": Setting("position", ""), "select": Setting(selection_of(np.array(ids)), "")}
            row["k"] = t.setting(round(value.number() * KJ / NM**2, 9), value)
            if value.name == "fc_lpos":
                row["axes"] = Setting("z", "")
            t.tables.append(("restraint", {**row, "reference": Setting(t.system, "")}))
    t.follow("restraint.k", value)


def _lines(t: Translation, name: str, may_lack: bool) -> list[tuple[str, list[str]]]:
    path = (t.folder or Path()) / "restraints" / name
    if not path.is_file():
        if may_lack:
            return []
        raise InputError(f"{path} is missing: the restraints' atoms are in it")
    lines = enumerate(read_text(path).splitlines(), 1)
    return [(f"{path.name}:{number}", line.split()) for number, line in lines if line.strip()]


def _atom(word: str, where: str) -> int:
    if not word.isdigit():
        raise InputError(f"{where}: expected the number of an atom, found {word[:20]!r}")
    return int(word)
