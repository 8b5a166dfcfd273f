"""Translates the run parameters of GROMACS (.mdp).

Units of an .mdp: nm, ps, kJ/mol, K, bar. Lennard-Jones, macros and what is refused by name are those of `prepare
gromacs --mdp`, which makes the system.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

from tessera.constants import KJ, NM
from tessera.convert import gromacs_baths, gromacs_restraints
from tessera.convert.model import Changed, Option, Setting, Stage, Translation, Value
from tessera.convert.shared import set_order
from tessera.prepare.gromacs import mdp
from tessera.prepare.gromacs.mdp_options import KNOWN, is_known, plain

TITLE = "GROMACS"
MANUAL = "GROMACS reference manual, Molecular dynamics parameters (.mdp options)"
VERSIONS = "2019 to 2025"
SUFFIXES = (".mdp",)
DEFAULTS: dict[str, str | Changed] = {
    "integrator": "md", "dt": "0.001", "nsteps": "0", "comm-mode": "Linear", "nstcomm": "100", "comm-grps": "",
    "mts": "no", "mts-levels": "2", "mts-level2-forces": "longrange-nonbonded", "mts-level2-factor": "2",
    "emtol": "10.0", "ld-seed": "-1", "nstxout": "0", "nstvout": "0", "nstfout": "0", "nstenergy": "1000",
    "nstxout-compressed": "0", "compressed-x-precision": "1000", "compressed-x-grps": "",
    "coulombtype": "Cut-off", "coulomb-modifier": "Potential-shift", "rcoulomb": "1", "vdwtype": "Cut-off",
    "vdw-modifier": "Potential-shift", "rvdw": "1", "rvdw-switch": "0", "DispCorr": "No", "pbc": "xyz",
    "epsilon-r": "1",
    "epsilon-rf": "0", "fourierspacing": "0.12", "fourier-nx": "0", "fourier-ny": "0", "fourier-nz": "0",
    "pme-order": "4", "ewald-rtol": "1e-5", "ewald-rtol-lj": "1e-3",
    "tcoupl": "No", "nsttcouple": Changed((("", "10"), ("2023", "100"))), "nh-chain-length": "10", "tc-grps": "",
    "tau-t": "", "ref-t": "", "pcoupl": "No", "pcoupltype": "Isotropic",
    "nstpcouple": Changed((("", "10"), ("2023", "100"))), "tau-p": Changed((("", "1"), ("2023", "5"))),
    "compressibility": "", "ref-p": "", "annealing": "no", "annealing-npoints": "", "annealing-time": "",
    "annealing-temp": "", "gen-vel": "no", "gen-temp": "300", "gen-seed": "-1", "constraints": "none",
    "freezegrps": "", "freezedim": "", "define": "", "refcoord-scaling": "no", "mass-repartition-factor": "1",
}  # fmt: skip
#: options without meaning here, by the reason
IGNORED = {
    "the engine searches pairs in its own way": "cutoff-scheme nstlist ns-type verlet-buffer-tolerance "
    "verlet-buffer-pressure-tolerance verlet-buffer-drift rlist rlistlong nstcalclr domain-decomposition optimize-fft",
    "the engine has its own log": "nstlog nstcalcenergy energygrps nstcheckpoint print-nose-hoover-chain-variables",
    "constraints are solved to dynamics.constraint_tolerance": "constraint-algorithm Shake-SOR shake-tol lincs-order "
    "lincs-iter lincs-warnangle continuation unconstrained-start",
    "the clock of a run begins at 0": "tinit init-step simulation-part",
    "the minimiser has its own steps": "emstep nstcgsteep nbfgscorr niter fcstep rtpi",
    "says nothing of physics": "title cpp userint1 userint2 userint3 userint4 userreal1 userreal2 userreal3 userreal4 "
    "user1-grps user2-grps IMD-group table-extension ensemble-temperature-setting ensemble-temperature",
    "the system file has it: prepare gromacs --mdp": "include lj-pme-comb-rule",
    "belongs to free-energy": "couple-moltype couple-lambda0 couple-lambda1 couple-intramol init-lambda "
    "init-lambda-state delta-lambda foreign-lambda nstdhdl fep-lambdas mass-lambdas coul-lambdas vdw-lambdas "
    "bonded-lambdas restraint-lambdas temperature-lambdas calc-lambda-neighbors init-lambda-weights dhdl-print-energy "
    "sc-function sc-alpha sc-power sc-r-power sc-sigma sc-coul dh-hist-size dh-hist-spacing separate-dhdl-file "
    "dhdl-derivatives sc-gapsys-scale-linpoint-lj sc-gapsys-scale-linpoint-q sc-gapsys-sigma-lj init-lambda-counts "
    "init-wl-histogram-counts nstexpanded lmc-stats lmc-move lmc-weights-equil weight-equil-number-all-lambda "
    "weight-equil-number-samples weight-equil-number-steps weight-equil-wl-delta weight-equil-count-ratio lmc-seed "
    "mc-temperature lmc-repeats lmc-gibbsdelta lmc-forced-nstart symmetrized-transition-matrix nst-transition-matrix "
    "mininum-var-min weight-c-range wl-scale wl-ratio init-wl-delta wl-oneovert",
    "belongs to an option that is off": "nstdisreout disre-weighting disre-mixed disre-fc disre-tau orire-fc orire-tau "
    "orire-fitgrp nstorireout gb-algorithm nstgbradii rgbradii gb-epsilon-solvent gb-saltconc gb-obc-alpha gb-obc-beta "
    "gb-obc-gamma gb-dielectric-offset sa-algorithm sa-surface-tension wall-type wall-r-linpot wall-atomtype "
    "wall-density wall-ewald-zfac acc-grps bd-fric QMMM-grps QMmethod QMMMscheme QMbasis QMcharge QMmult SH "
    "CASorbitals "
    "CASelectrons SAon SAoff SAsteps MMChargeScaleFactor bOPT bTS andersen-seed rcoulomb-switch refcoord-scaling "
    "emtol simulated-tempering-scaling sim-temp-low sim-temp-high deform-init-flow E-xt E-yt E-zt dihre-fc dihre-tau "
    "nstdihreout swap-frequency split-group0 split-group1 massw-split0 massw-split1 swap-group solvent-group cyl0-r "
    "cyl0-up cyl0-down cyl1-r cyl1-up cyl1-down coupl-steps anionsA cationsA anionsB cationsB threshold iontypes "
    "bulk-offsetA bulk-offsetB",
}  # fmt: skip
#: plain names of earlier versions
_OLD_NAMES = {
    "nstxtcout": "nstxout-compressed",
    "xtcprecision": "compressed-x-precision",
    "xtcgrps": "compressed-x-grps",
}
#: more options that change the physics, beside those that `prepare` refuses, and the values with which they are off
_OFF = {"disre": "no none", "orire": "no", "dihre": "no"}
REFUSED = {**mdp.REFUSED, **dict.fromkeys(_OFF, "restraints of the topology")}
_ALGORITHMS = {"md": "leapfrog", "mdvv": "velocity-verlet", "sd": "velocity-verlet"}
_MINIMISERS = ("steep", "cg", "lbfgs")
_MESH_MODIFIERS = ("none", "potentialshift", "potentialshiftverlet")


def looks(text: str) -> bool:
    """Tells whether most lines are NAME = VALUE with names of GROMACS."""
    lines = [line.split(";", 1)[0] for line in text.splitlines()]
    named = [plain(line.partition("=")[0].strip()) for line in lines if line.strip()]
    return bool(named) and sum(map(is_known, named)) > len(named) / 2


def options(text: str, file: str) -> list[Option]:
    """Returns the options of a file. Raises `InputError` for lines that are none."""
    found = mdp.options_of(text, file).items()
    return [
        Option(_OLD_NAMES.get(name, KNOWN.get(name, name)), value, file, int(where.rpartition(":")[2]))
        for name, (value, where) in found
    ]


def translate(t: Translation, groups: Mapping[str, str]) -> None:
    """Says what becomes of each option."""
    index = t.folder / "index.ndx" if t.folder else None
    groups = {**(gromacs_restraints.groups_of(index) if index and index.is_file() else {}), **groups}
    kind = plain(t.value("integrator").text)
    minimises = kind in _MINIMISERS
    if not minimises and kind not in _ALGORITHMS:
        t.refuse(t.value("integrator"), "known here: md, md-vv, sd, steep, cg, l-bfgs")
    _refuse_features(t)
    _interactions(t)
    _constraints(t)
    _frozen(t, groups)
    if minimises:
        _minimisation(t, kind)
    else:
        _motion(t, kind)
        gromacs_baths.translate(t, groups, is_stochastic=kind == "sd", is_half_step=kind == "md")
    _output(t, groups, minimises)
    _ignore_rest(t, minimises)
    vacuum = ["--vacuum"] if plain(t.value("pbc").text) == "no" else []
    places = sorted(t.folder.glob("step*_input.gro")) if t.folder else []
    topology = "topol.top" if t.folder and (t.folder / "topol.top").is_file() else "TOPOLOGY"
    coordinates = places[0].name if len(places) == 1 else "COORDINATES"
    command = ["tessera", "prepare", "gromacs", "--top", topology, "--coords", coordinates, "--mdp"]
    t.prepare = [*command, t.options[0].file, *vacuum, "-o", "SYSTEM"]


def _refuse_features(t: Translation) -> None:
    for name, what in mdp.REFUSED.items():
        if t.has(name):
            value = t.value(name)
            if all(map(mdp.is_off, value.text.split())):
                t.agree(value)
            else:
                t.refuse(value, f"{what} is not supported")
    for name, (allowed, what) in mdp.ONLY.items():
        if t.has(name):
            value = t.value(name)
            if plain(value.text) in allowed.split() or ("1" in allowed.split() and mdp.is_one(value.text)):
                t.agree(value)
            else:
                t.refuse(value, f"{what} is not supported")
    for name, off in _OFF.items():
        if t.has(name) and plain(t.value(name).text) not in off.split():
            t.refuse(t.value(name), "restraints of the topology are not supported: use [[restraint]]")
        elif t.has(name):
            t.agree(t.value(name))
    macros = t.value("define")
    holds = re.search(r"-D\w*(POSRE|DIHRES)", macros.text, re.IGNORECASE)
    topology = (t.folder / "topol.top") if t.folder else None
    if holds and topology is not None and topology.is_file():
        _restraints(t, macros, topology)
    elif holds:
        t.refuse(
            macros,
            "restraints stand in the run file: put topol.top beside, or remove the macro and write [[restraint]]",
        )
    elif macros.is_given:
        t.ignore(macros, "macros of the topology: prepare gromacs --mdp reads them")
    factor = t.value("mass-repartition-factor")
    if factor.number() != 1:
        t.refuse(
            factor, "masses are repartitioned by dynamics.hydrogen_mass, another rule: remove the line and set that"
        )
    elif factor.is_given:
        t.agree(factor)


def _restraints(t: Translation, macros: Value, topology: Path) -> None:
    defines = [word.removeprefix("-D") for word in macros.text.split()]
    note = f"those of {topology.name}; a constant is half of GROMACS', since E = k·d² here"
    comment = t.follow("restraint", macros, note=note)
    for row in gromacs_restraints.restraints_of(topology, defines, t.system):
        settings = {key: Setting(value, "") for key, value in row.items()}
        settings["k"] = Setting(row["k"], comment if row["kind"] == "position" else "")
        t.tables.append(("restraint", settings))
    scaling = t.value("refcoord-scaling")
    if plain(scaling.text) == "all":
        t.agree(scaling)
    else:
        note = "places of restraints move with the box here, as with refcoord-scaling = all"
        t.follow("restraint.reference", scaling, note=note, replaced=True)


def _interactions(t: Translation) -> None:
    names = ("vdwtype", "vdw-modifier", "rvdw", "rvdw-switch", "DispCorr", "pbc", "lj-pme-comb-rule")
    given = {plain(o.name): (o.text, o.where) for o in t.options if o.name in names}
    lj, _ = mdp.lennard_jones(given, t.options[0].file)
    kind, modifier, cutoff, tail = (t.value(name) for name in ("vdwtype", "vdw-modifier", "rvdw", "DispCorr"))
    coulomb, range_ = t.value("coulombtype"), t.value("rcoulomb")
    switched = lj.switch > 0
    if not cutoff.number():
        _all_pairs(t, cutoff, coulomb, range_)
        return
    t.set("interactions.cutoff", lj.cutoff, cutoff)
    shift = "GROMACS adds a constant to each pair's energy; the forces are the same"
    is_shifted = plain(modifier.text).startswith("potentialshift") and plain(kind.text) == "cutoff"
    t.set("interactions.lj", lj.modifier, kind, modifier, note=shift if is_shifted else "")
    if switched:
        t.set("interactions.switch", lj.switch, t.value("rvdw-switch"))
    elif t.has("rvdw-switch"):
        t.ignore(t.value("rvdw-switch"), "nothing is switched with this vdw-modifier")
    of_all = plain(tail.text) == "allenerpres"
    note = "" if of_all or not lj.tail else "GROMACS' has the part of r⁻⁶ alone, and Tessera's that of r⁻¹² too"
    t.set("interactions.lj_tail", lj.tail, tail, note=note)
    if plain(tail.text) not in ("no", "enerpres", "allenerpres"):
        t.refuse(tail, "only EnerPres and AllEnerPres have a counterpart, which correct energy and pressure")
    if lj.modifier == "pme":
        t.set("pme.lj_tolerance", t.value("ewald-rtol-lj").number(), t.value("ewald-rtol-lj"))
    _electrostatics(t, coulomb, range_, cutoff)
    if t.has("ewald-rtol-lj") and lj.modifier != "pme":
        t.ignore(t.value("ewald-rtol-lj"), "Lennard-Jones has no mesh")


def _all_pairs(t: Translation, cutoff: Value, coulomb: Value, range_: Value) -> None:
    """Translates what has no cut-off, which the system file says too (prepare --vacuum)."""
    t.set("interactions.cutoff", "auto", cutoff, note="all pairs, as the system file has it")
    if plain(coulomb.text) != "cutoff" or range_.number():
        t.refuse(coulomb, "without a cut-off of Lennard-Jones expected coulombtype = cut-off and rcoulomb = 0")
    t.set("interactions.electrostatics", "cut", coulomb, range_)
    for name in ("vdwtype", "vdw-modifier", "rvdw-switch", "DispCorr", "coulomb-modifier"):
        if t.has(name):
            t.ignore(t.value(name), "there is no cut-off")


def _electrostatics(t: Translation, kind: Value, range_: Value, lj_range: Value) -> None:
    modifier, word = t.value("coulomb-modifier"), plain(kind.text)
    if plain(modifier.text) not in _MESH_MODIFIERS:
        t.refuse(modifier, "expected none or potential-shift, which changes energies alone")
    elif modifier.is_given:
        t.agree(modifier, note="the forces are the same")
    if range_.number() <= 0:
        raise range_.wrong("a distance above 0 nm")
    if word in mdp.MESHES:
        _mesh(t, kind, range_, lj_range)
        return
    is_plain = word == "cutoff" or (word.startswith("reactionfield") and t.value("epsilon-rf").number() == 1)
    if not is_plain:
        t.refuse(kind, "known here: PME, P3M-AD, Ewald, cut-off, and reaction-field with epsilon-rf = 1")
    if range_.number() != lj_range.number():
        t.refuse(range_, f"without a mesh it must be rvdw, {lj_range.text} nm: a run has one cut-off")
    note = "GROMACS shifts it to 0 at the cut-off: the same forces, other energies"
    t.set("interactions.electrostatics", "cut", kind, range_, note=note)
    if t.has("epsilon-rf"):
        t.agree(t.value("epsilon-rf"))
    for name in ("fourierspacing", "fourier-nx", "fourier-ny", "fourier-nz", "pme-order", "ewald-rtol"):
        if t.has(name):
            t.ignore(t.value(name), "there is no mesh")


def _mesh(t: Translation, kind: Value, range_: Value, lj_range: Value) -> None:
    word = plain(kind.text)
    t.set("interactions.electrostatics", "pme", kind, note="" if word == "pme" else f"{kind.text} becomes smooth PME")
    if t.has("epsilon-rf"):
        t.ignore(t.value("epsilon-rf"), "there is no reaction field")
    tolerance, order = t.value("ewald-rtol"), t.value("pme-order")
    if not 0 < tolerance.number() <= 0.1:
        raise tolerance.wrong("a number above 0, at most 0.1")
    if range_.number() < lj_range.number():
        note = "alpha is that of rcoulomb; the direct sum goes on to rvdw"
        alpha = alpha_of(NM * range_.number(), tolerance.number())
        t.set("pme.alpha", round(alpha, 8), range_, tolerance, note=note)
    else:
        t.set("pme.cutoff", round(NM * range_.number(), 9), range_)
        t.set("pme.tolerance", tolerance.number(), tolerance)
    set_order(t, order)
    grid = [t.value(f"fourier-n{axis}") for axis in "xyz"]
    spacing = t.value("fourierspacing")
    if all(value.count() > 0 for value in grid):
        t.set("pme.grid", [value.count() for value in grid], *grid)
        if spacing.is_given:
            t.ignore(spacing, "fourier-nx, -ny and -nz are given")
    else:
        t.set("pme.spacing", round(NM * spacing.positive(), 9), spacing)
        for value in grid:
            if value.is_given and value.count():
                t.refuse(value, "give all of fourier-nx, -ny and -nz, or none")
            elif value.is_given:
                t.agree(value)


def alpha_of(cutoff: float, tolerance: float) -> float:
    """Returns Ewald's parameter in 1/Å with erfc(alpha·cutoff) = tolerance; the cut-off is in Å."""
    low, high = 0.0, 10.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle) > tolerance else (low, middle)
    return low / cutoff


def _constraints(t: Translation) -> None:
    value = t.value("constraints")
    word = plain(value.text)
    if word == "none":
        note = "the system file keeps bonds flexible: prepare gromacs with this --mdp"
        t.set("dynamics.constraints", "h-bonds", value, note=note)
    elif word in ("hbonds", "allbonds"):
        t.set("dynamics.constraints", {"hbonds": "h-bonds", "allbonds": "all-bonds"}[word], value)
    elif word in ("hangles", "allangles"):
        t.refuse(value, "angles are never constrained: known here are none, h-bonds and all-bonds")
    else:
        raise value.wrong("none, h-bonds, all-bonds, h-angles or all-angles")


def _frozen(t: Translation, groups: Mapping[str, str]) -> None:
    names, axes = t.value("freezegrps"), t.value("freezedim")
    if not names.text.strip():
        for value in (names, axes):
            if value.is_given:
                t.agree(value)
        return
    words = axes.text.lower().split()
    if not all(word.startswith("y") for word in words) or len(words) != 3 * len(names.text.split()):
        t.refuse(
            names, "an atom is fixed along all of x, y and z or not at all: expected freezedim = Y Y Y for each group"
        )
    chosen = [gromacs_baths.selection(t, names, name, groups) for name in names.text.split()]
    if all(chosen):
        t.set("dynamics.fixed", " or ".join(f"({text})" for text in chosen if text), names, axes)


def _minimisation(t: Translation, kind: str) -> None:
    how, steps, force = t.value("integrator"), t.value("nsteps"), t.value("emtol")
    other = "" if kind == "steep" else f"{how.text} becomes the minimiser of Tessera, which ends by the same force"
    comment = t.follow("stage.kind", how, note=other)
    if steps.integer() < 1:
        t.refuse(steps, "expected a number of steps, at least 1")
    keys = {"minimize.max_force": force.number() * KJ / NM, "minimize.steps": max(1, steps.integer())}
    stage = Stage("minimise", "minimize")
    for (key, number), origin in zip(keys.items(), (force, steps), strict=True):
        t.follow(f"stage.{key}", origin)
        stage.keys[key] = t.setting(number, origin)
    t.note(f"{comment}: the run file has one stage, which minimises")
    t.stages.append(stage)


def _motion(t: Translation, kind: str) -> None:
    how, step, steps = t.value("integrator"), t.value("dt"), t.value("nsteps")
    if kind in _ALGORITHMS:
        early = "GROMACS takes the first velocities half a step before the positions" if kind == "md" else ""
        t.set("dynamics.integrator", _ALGORITHMS[kind], how, note=early)
    if not 0 < step.number() <= 0.1:
        raise step.wrong("a time step above 0, at most 0.1 ps")
    t.set("dynamics.timestep", round(1000 * step.number(), 9), step)
    if steps.integer() < 0:
        t.refuse(steps, "a run without an end: give the number of steps")
    else:
        t.set("dynamics.steps", steps.integer(), steps)
    _momentum(t)
    if t.value("mts").flag():
        levels, forces, factor = t.value("mts-levels"), t.value("mts-level2-forces"), t.value("mts-level2-factor")
        if levels.integer() != 2 or forces.text.split() != ["longrange-nonbonded"]:
            t.refuse(forces, "known here: two levels, the second longrange-nonbonded")
        if kind == "md":
            t.set("dynamics.integrator", "velocity-verlet", how, note="as r-RESPA has it")
        one = "in each step, since Langevin's bath here has one time step" if kind == "sd" else ""
        t.set("dynamics.mesh_every", 1 if one else factor.count(), t.value("mts"), levels, forces, factor, note=one)
    else:
        for name in ("mts", "mts-levels", "mts-level2-forces", "mts-level2-factor"):
            if t.has(name):
                t.agree(t.value(name))


def _momentum(t: Translation) -> None:
    mode, every, names = t.value("comm-mode"), t.value("nstcomm"), t.value("comm-grps")
    word = plain(mode.text)
    if word not in ("linear", "none"):
        t.refuse(mode, "known here: Linear and None")
    t.set("dynamics.com_removal_every", every.count() if word != "none" else 0, mode, every)
    if len(names.text.split()) > 1:
        note = "the motion of the whole is removed, not that of each group"
        t.follow("dynamics.com_removal_every", names, note=note, replaced=True)
        t.note(f"comm-grps: {note}")
    elif names.text.strip().lower() not in ("", "system"):
        t.refuse(names, "the motion of the centre of mass is removed of the whole system, not of groups")
    elif names.is_given:
        t.agree(names)


def _output(t: Translation, groups: Mapping[str, str], minimises: bool) -> None:
    energies = t.value("nstenergy")
    full, velocities, forces = (t.value(name) for name in ("nstxout", "nstvout", "nstfout"))
    packed, precision, part = (
        t.value(name) for name in ("nstxout-compressed", "compressed-x-precision", "compressed-x-grps")
    )
    given = [value for value in (energies, full, velocities, forces, packed, precision, part) if value.is_given]
    if minimises:
        for value in given:
            t.ignore(value, "a minimisation writes its result")
        return
    t.set("output.energy_every", energies.count(), energies)
    if full.count():
        t.set("output.trajectory", "segments", full)
        t.set("output.trajectory_every", full.count(), full)
        for key, value in (("output.velocities", velocities), ("output.forces", forces)):
            if value.count() == full.count():
                t.set(key, True, value)
            elif value.count():
                t.refuse(value, "velocities and forces stand in the frames of nstxout: give it the same number", False)
    else:
        for value in (velocities, forces):
            if value.count():
                t.refuse(value, "velocities and forces stand in the frames of nstxout, which is 0", False)
    _packed(t, groups, packed, precision, part, beside=bool(full.count()))
    for value in (full, velocities, forces, packed):
        if value.is_given and not value.count():
            t.agree(value)


def _packed(
    t: Translation, groups: Mapping[str, str], every: Value, precision: Value, part: Value, beside: bool
) -> None:
    if not every.count():
        for value in (precision, part):
            if value.is_given:
                t.ignore(value, "nstxout-compressed is 0")
        return
    if precision.number() <= 0:
        raise precision.wrong("a number above 0")
    rounded = round(NM / precision.number(), 9)  # Å
    names = part.text.split()
    chosen = [gromacs_baths.selection(t, part, name, groups) for name in names] or ["all"]
    text = " or ".join(f"({one})" if len(chosen) > 1 else one for one in chosen if one)
    if beside:
        keys = {"name": "compressed", "select": text, "every": every.count(), "compression": "rounded"}
        origins = {"name": [every], "select": [part], "every": [every], "compression": [every]}
        row = {key: t.setting(value, *origins[key]) for key, value in keys.items()}
        row["precision"] = t.setting(rounded, precision)
        t.follow("output.selection", every, part, precision)
        t.tables.append(("output.selection", row))
        return
    t.set("output.trajectory", "segments", every, note="tessera traj convert writes an XTC of it")
    t.set("output.trajectory_every", every.count(), every)
    t.set("output.compression", "rounded", every)
    t.set("output.precision", rounded, precision)
    if names and text != "all":
        t.set("output.select", text, part)
    elif part.is_given:
        t.agree(part)


def _ignore_rest(t: Translation, minimises: bool) -> None:
    reasons = {name: why for why, names in IGNORED.items() for name in names.split()}
    for option in t.options:
        if option.name in reasons and not t.is_known(option):
            t.ignore(t.value_of(option), reasons[option.name])
        elif minimises and option.name in DEFAULTS and not t.is_known(option):
            t.ignore(t.value_of(option), "a minimisation has no motion")
        elif option.name not in KNOWN.values() and not t.is_known(option):
            t.ignore(t.value_of(option), "belongs to an option that is off")
