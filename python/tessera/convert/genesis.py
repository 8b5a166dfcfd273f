"""Translates control files of GENESIS.

Units: Å, ps, kcal/mol, K, atm, dyn/cm. Options are called SECTION.name here, since sections share names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tessera.convert import genesis_restraints
from tessera.convert.model import Changed, Option, Stage, Translation, Value
from tessera.convert.shared import set_grid, set_order
from tessera.errors import InputError

TITLE = "GENESIS"
MANUAL = "GENESIS user guide, 2.1"
VERSIONS = "1.1 to 2.1"
SUFFIXES: tuple[str, ...] = ()
DEFAULTS: dict[str, str | Changed] = {
    "energy.forcefield": "CHARMM", "energy.electrostatic": "PME", "energy.switchdist": "10.0",
    "energy.cutoffdist": "12.0", "energy.dielec_const": "1.0", "energy.vdw_force_switch": "NO",
    "energy.vdw_shift": "NO", "energy.dispersion_corr": "",
    "energy.pme_alpha": Changed((("", "0.34"), ("1.1.1", "auto"))),
    "energy.pme_alpha_tol": "1.0e-5", "energy.pme_nspline": "4", "energy.pme_max_spacing": "1.2",
    "energy.pme_ngrid_x": "", "energy.pme_ngrid_y": "", "energy.pme_ngrid_z": "", "energy.implicit_solvent": "NONE",
    "energy.contact_check": "NO", "energy.nonb_limiter": "NO", "energy.vacuum": "NO", "energy.dispersion_pme": "NO",
    "dynamics.integrator": "VVER", "dynamics.nsteps": "100", "dynamics.timestep": "0.001",
    "dynamics.eneout_period": "10",
    "dynamics.crdout_period": "0", "dynamics.velout_period": "0", "dynamics.rstout_period": "0",
    "dynamics.stoptr_period": "10", "dynamics.elec_long_period": "1", "dynamics.thermostat_period": "1",
    "dynamics.barostat_period": "1", "dynamics.iseed": "", "dynamics.annealing": "NO", "dynamics.anneal_period": "0",
    "dynamics.dtemperature": "0", "dynamics.target_md": "NO", "dynamics.steered_md": "NO", "dynamics.hydrogen_mr": "NO",
    "minimize.nsteps": "100", "minimize.method": "SD", "minimize.tol_maxg": "0.54", "minimize.fix_ring_error": "NO",
    "minimize.fix_chirality_error": "NO", "restraints.nfunctions": "0",
    "constraints.rigid_bond": "NO", "constraints.fast_water": "YES", "constraints.shake_tolerance": "1.0e-10",
    "ensemble.ensemble": "NVE", "ensemble.tpcontrol": "NO", "ensemble.temperature": "298.15",
    "ensemble.pressure": "1.0",
    "ensemble.gamma": "0.0", "ensemble.tau_t": "5.0", "ensemble.tau_p": "5.0", "ensemble.compressibility": "0.0000463",
    "ensemble.gamma_t": "1.0", "ensemble.gamma_p": "0.1", "ensemble.isotropy": "ISO", "boundary.type": "PBC",
}  # fmt: skip
IGNORED = {
    "the engine searches pairs in its own way": "energy.pairlistdist dynamics.nbupdate_period minimize.nbupdate_period",
    "concerns GENESIS' own work or log": "energy.output_style energy.pme_scheme energy.pme_multiple "
    "energy.pme_mul_ratio "
    "energy.table energy.table_order energy.table_density energy.nonbond_kernel energy.structure_check "
    "energy.minimum_contact energy.err_minimum_contact energy.water_model minimize.check_structure "
    "dynamics.verbose dynamics.initial_time minimize.verbose ensemble.group_tp "
    "dynamics.hydrogen_mr_target dynamics.qmsave_period",
    "belongs to an option that is off": "dynamics.hmr_ratio dynamics.hmr_ratio_xh1 dynamics.hmr_target "
    "dynamics.initial_rmsd dynamics.final_rmsd dynamics.thermostat_period dynamics.barostat_period energy.pme_nspline "
    "energy.pme_alpha energy.pme_alpha_tol energy.pme_max_spacing energy.pme_ngrid_x energy.pme_ngrid_y "
    "energy.pme_ngrid_z minimize.exclude_ring_grpid",
    "constraints are solved to dynamics.constraint_tolerance": "constraints.shake_iteration "
    "constraints.lincs_iteration "
    "constraints.lincs_order constraints.hydrogen_type constraints.hydrogen_mass_upper_bound constraints.water_model",
    "a minimisation writes its result": "minimize.eneout_period minimize.crdout_period minimize.rstout_period "
    "minimize.force_scale_init minimize.force_scale_max minimize.tol_rmsg",
    "where the work is done is chosen by the engine": "boundary.domain_x boundary.domain_y boundary.domain_z",
    "the system file has the box: prepare charmm --box": "boundary.box_size_x boundary.box_size_y boundary.box_size_z",
}
#: features that change the physics
REFUSED = {
    "energy.vdw_shift": "a shift of Lennard-Jones",
    "energy.implicit_solvent": "implicit solvent",
    "energy.nonb_limiter": "a limit of forces",
    "energy.vacuum": "all pairs without a mesh",
    "energy.dispersion_pme": "a mesh of dispersion",
    "minimize.fix_ring_error": "a search for bonds through rings (tessera prepare looks for them)",
    "minimize.fix_chirality_error": "a change of chirality",
    "dynamics.target_md": "targeted dynamics",
    "dynamics.steered_md": "steered dynamics",
    "dynamics.hydrogen_mr": "repartitioning of masses by a factor (use dynamics.hydrogen_mass)",
}
_SILENT = {"output": "files have names of their own in output.folder", "selection": "no option refers to it",
           "fitting": "nothing is fitted"}  # fmt: skip
#: files → options of `prepare charmm`, `amber` or `gromacs`
_FILES = {"psffile": "--psf", "parfile": "--params", "topfile": "--topology", "strfile": "--params",
          "prmtopfile": "--prmtop", "grotopfile": "--top"}  # fmt: skip
_COORDINATES = ("rstfile", "crdfile", "ambcrdfile", "grocrdfile", "pdbfile")  # the first that is given counts
_PLACES = ("reffile", "ambreffile", "groreffile")  # of restraints
_SECTIONS = ("input", "energy", "dynamics", "minimize", "constraints", "ensemble", "boundary", "restraints")
_EDGES = {"ISO": "isotropic", "ANISO": "anisotropic", "SEMI-ISO": "semi-isotropic", "XY-FIXED": "constant-area"}
_ATM = 1.01325  # bar
_BAR_NM = 10.0  # of a dyn/cm


def looks(text: str) -> bool:
    """Tells whether a text has sections of GENESIS."""
    return len(re.findall(r"^\s*\[(INPUT|ENERGY|DYNAMICS|MINIMIZE|BOUNDARY)\]", text, re.IGNORECASE | re.MULTILINE)) > 1


def options(text: str, file: str) -> list[Option]:
    """Returns the options of a file. Raises `InputError` for lines that are none."""
    found: list[Option] = []
    section = ""
    for number, line in _lines(text):
        content = line if section == "selection" else line.split("!", 1)[0].strip()  # there ! is not
        where = f"{file}:{number}"
        if not content:
            continue
        if match := re.fullmatch(r"\[\s*(\w+)\s*\]", content):
            section = match[1].lower()
            continue
        name, separator, value = content.partition("=")
        if not separator or not name.strip() or not section:
            raise InputError(f"{where}: expected [SECTION] or name = value, found {content[:60]!r}")
        option = Option(f"{section}.{name.strip().lower()}", " ".join(value.split()), file, number)
        if any(option.name == other.name for other in found):
            raise InputError(f"{where}: {option.name} is given twice")
        found.append(option)
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yields lines without comments and their numbers; one that ends with a backslash goes on in the next."""
    first, begun = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        content = line.split("#", 1)[0].strip()
        first = first if begun else number
        begun = f"{begun} {content.rstrip(chr(92))}".strip()
        if not content.endswith(chr(92)):
            yield first, begun
            begun = ""
    if begun:
        yield first, begun


def translate(t: Translation, groups: Mapping[str, str]) -> None:
    """Says what becomes of each option."""
    minimises = any(option.name.startswith("minimize.") for option in t.options)
    moves = any(option.name.startswith("dynamics.") for option in t.options)
    if minimises and moves:
        t.refuse(
            next(t.value_of(o) for o in t.options if o.name.startswith("minimize.")), "[DYNAMICS] stands beside it"
        )
    _lennard_jones(t)
    _contacts(t, minimises)
    _electrostatics(t)
    _constraints(t)
    if minimises:
        _minimisation(t)
    else:
        _motion(t)
        _ensemble(t)
        _output(t)
    _input(t, not minimises)
    _ignore_rest(t)


def _upper(value: Value) -> str:
    return value.text.upper()


def _off(t: Translation, *names: str) -> None:
    for value in map(t.value, names):
        if _upper(value) not in ("NO", "NONE", "FALSE", "OFF"):
            t.refuse(value, f"{REFUSED[value.name]} is not supported")
        elif value.is_given:
            t.agree(value)


def _lennard_jones(t: Translation) -> None:
    field, switch, cutoff = (t.value(f"energy.{name}") for name in ("forcefield", "switchdist", "cutoffdist"))
    force, tail = t.value("energy.vdw_force_switch"), t.value("energy.dispersion_corr")
    if _upper(field) not in ("CHARMM", "AMBER", "GROAMBER"):
        t.refuse(field, "known here: CHARMM, AMBER, GROAMBER")
    _off(t, "energy.vdw_shift", "energy.implicit_solvent", "energy.vacuum", "energy.dispersion_pme")
    t.set("interactions.cutoff", cutoff.positive(), cutoff)
    is_amber = _upper(field) == "AMBER"
    if is_amber and switch.is_given and switch.number() != cutoff.number():
        t.set("interactions.lj", "cut", switch, field, note="GENESIS switches nothing with AMBER's force field")
    elif is_amber:
        t.set("interactions.lj", "cut", field)
        if switch.is_given:
            t.agree(switch)
    elif switch.number() == cutoff.number():
        t.set("interactions.lj", "cut", switch, cutoff)
    elif not 0 <= switch.number() < cutoff.number():
        raise switch.wrong(f"a distance of at most cutoffdist, {cutoff.text} Å")
    else:
        by_force = force.flag() and _upper(field) == "CHARMM"
        note = "GENESIS has it with CHARMM's force field alone" if force.flag() and not by_force else ""
        t.set("interactions.lj", "force-switch" if by_force else "potential-switch", force, note=note)
        t.set("interactions.switch", switch.number(), switch)
    if force.is_given:
        t.agree(force)
    word = "EPRESS" if is_amber else _upper(tail) or "NONE"  # GENESIS has it always with AMBER, and never with CHARMM
    if word not in ("NONE", "EPRESS"):
        t.refuse(tail, "known here: NONE and EPRESS")
    origins = (tail, field) if tail.is_given else (field,)
    t.set("interactions.lj_tail", word == "EPRESS" and _upper(field) != "CHARMM", *origins)


def _contacts(t: Translation, minimises: bool) -> None:
    """Says what becomes of what GENESIS does with atoms that are too near."""
    check, limit = t.value("energy.contact_check"), t.value("energy.nonb_limiter")
    if minimises:
        for value in (check, limit):
            if value.is_given:
                t.ignore(value, "the minimiser of Tessera moves apart what is too near by itself")
        return
    _off(t, "energy.nonb_limiter")
    if check.flag() and not limit.is_given:
        t.refuse(check, "it limits the forces: give nonb_limiter = NO")
    elif check.is_given:
        t.ignore(check, "the engine names atoms that are too near")


def _electrostatics(t: Translation) -> None:
    kind, dielectric = t.value("energy.electrostatic"), t.value("energy.dielec_const")
    if dielectric.number() != 1:
        t.refuse(dielectric, "a dielectric constant other than 1 is not supported")
    elif dielectric.is_given:
        t.agree(dielectric)
    if _upper(t.value("boundary.type")) != "PBC":
        t.refuse(t.value("boundary.type"), "a mesh needs PBC")
    elif t.has("boundary.type"):
        t.agree(t.value("boundary.type"))
    if _upper(kind) != "PME":
        t.refuse(kind, "GENESIS shifts it in a way of its own: expected PME")
        return
    t.set("interactions.electrostatics", "pme", kind)
    alpha, tolerance, order = (t.value(f"energy.{name}") for name in ("pme_alpha", "pme_alpha_tol", "pme_nspline"))
    if alpha.plain == "auto":
        t.set("pme.tolerance", tolerance.positive(), alpha, tolerance)
    else:
        t.set("pme.alpha", alpha.positive(), alpha)
        if tolerance.is_given:
            t.ignore(tolerance, "pme_alpha is given")
    set_order(t, order)
    grid, spacing = [t.value(f"energy.pme_ngrid_{axis}") for axis in "xyz"], t.value("energy.pme_max_spacing")
    if not set_grid(t, grid, "pme_ngrid_x, _y and _z", spacing):
        t.set("pme.spacing", spacing.positive(), spacing)


def _constraints(t: Translation) -> None:
    rigid, water, tolerance = (
        t.value(f"constraints.{name}") for name in ("rigid_bond", "fast_water", "shake_tolerance")
    )
    t.set("dynamics.constraints", "h-bonds" if rigid.flag() else "none", rigid)
    if water.is_given:
        t.agree(water, note="SETTLE or SHAKE hold the same distances")
    if rigid.flag():
        t.set("dynamics.constraint_tolerance", tolerance.positive(), tolerance)
    elif tolerance.is_given:
        t.ignore(tolerance, "nothing is constrained")
    for option in t.options:
        if option.name == "constraints.noshake_index":
            t.refuse(t.value_of(option), "bonds are constrained in all molecules or in none")


def _minimisation(t: Translation) -> None:
    method, steps, force = (t.value(f"minimize.{name}") for name in ("method", "nsteps", "tol_maxg"))
    _off(t, "minimize.fix_ring_error", "minimize.fix_chirality_error")
    if _upper(method) not in ("SD", "LBFGS"):
        t.refuse(method, "known here: SD and LBFGS")
    t.follow("stage.kind", method, note="by the minimiser of Tessera")
    t.follow("stage.minimize.steps", steps)
    t.follow("stage.minimize.max_force", force)
    if steps.count() < 1:
        t.refuse(steps, "expected at least one step")
    keys = {"minimize.steps": t.setting(steps.count(), steps), "minimize.max_force": t.setting(force.number(), force)}
    t.stages.append(Stage("minimise", "minimize", keys))
    for option in t.options:
        if option.name.startswith(("ensemble.", "constraints.")) and not t.is_known(option):
            t.ignore(t.value_of(option), "a minimisation has no motion")


def _motion(t: Translation) -> None:
    how, step, steps = (t.value(f"dynamics.{name}") for name in ("integrator", "timestep", "nsteps"))
    _off(t, "dynamics.target_md", "dynamics.steered_md", "dynamics.hydrogen_mr")
    kinds = {"VVER": "velocity-verlet", "VRES": "velocity-verlet", "LEAP": "leapfrog"}
    if _upper(how) not in kinds:
        t.refuse(how, "known here: VVER, VRES and LEAP")
    else:
        late = "GENESIS takes the first velocities half a step after the positions" if _upper(how) == "LEAP" else ""
        t.set("dynamics.integrator", kinds[_upper(how)], how, note=late)
    if not 0 < step.number() <= 0.1:
        raise step.wrong("a time step above 0, at most 0.1 ps")
    t.set("dynamics.timestep", round(1000 * step.number(), 9), step)
    t.set("dynamics.steps", steps.count(), steps)
    every = t.value("dynamics.stoptr_period")
    t.set("dynamics.com_removal_every", every.count(), every)
    long = t.value("dynamics.elec_long_period")
    if _upper(how) == "VRES":
        t.set("dynamics.mesh_every", long.count(), long)
    elif long.is_given:
        t.ignore(long, "integrator is not VRES")
    seed = t.value("dynamics.iseed")
    if seed.is_given and seed.integer() > 0:
        t.set("dynamics.seed", seed.integer(), seed, note="the noise is that of Tessera's generator")
    elif seed.is_given:
        t.ignore(seed, "GENESIS draws it")


def _ensemble(t: Translation) -> None:
    kind, how, temperature = (t.value(f"ensemble.{name}") for name in ("ensemble", "tpcontrol", "temperature"))
    word, bath = _upper(kind), _upper(how)
    if word not in ("NVE", "NVT", "NPT", "NPAT", "NPGT"):
        t.refuse(kind, "known here: NVE, NVT, NPT, NPAT and NPgT")
        return
    t.set("dynamics.ensemble", {"NVE": "nve", "NVT": "nvt"}.get(word, "npt"), kind)
    _temperature(t, temperature)
    names = {"pressure", "gamma", "tau_t", "tau_p", "compressibility", "gamma_t", "gamma_p", "isotropy"}
    if word == "NVE":
        if bath != "NO":
            t.refuse(how, "a bath with ensemble = NVE")
        elif how.is_given:
            t.agree(how)
    else:
        names -= _heat(t, how, bath)
        if word != "NVT":
            names -= _pressure(t, word, how, bath)
        periods = [t.value(f"dynamics.{name}") for name in ("thermostat_period", "barostat_period")]
        periods = periods[: 1 if word == "NVT" else 2]
        t.set("dynamics.coupling_every", max(1, min(value.count() for value in periods)), *periods)
    for name in sorted(names):
        if t.has(f"ensemble.{name}"):
            t.ignore(t.value(f"ensemble.{name}"), "this ensemble or bath does not use it")


def _temperature(t: Translation, temperature: Value) -> None:
    anneals, every, change = (t.value(f"dynamics.{name}") for name in ("annealing", "anneal_period", "dtemperature"))
    if not anneals.flag():
        t.set("dynamics.temperature", temperature.kelvin(), temperature)
        for value in (anneals, every, change):
            if value.is_given:
                t.agree(value)
        return
    if every.count() < 1:
        raise every.wrong("a number of steps, at least 1")
    steps, step = t.value("dynamics.nsteps").count(), t.value("dynamics.timestep").number()
    last = temperature.number() + change.number() * (steps // every.count())
    if last < 0:
        t.refuse(change, "the temperature would fall below 0 K")
        return
    points = [[0.0, temperature.number()], [round(steps * step, 9), last]]
    note = "a straight line through the steps of GENESIS"
    t.set("dynamics.temperature", points, temperature, anneals, every, change, note=note)


def _heat(t: Translation, how: Value, bath: str) -> set[str]:
    """Returns the names of the options that it has used."""
    friction, time = t.value("ensemble.gamma_t"), t.value("ensemble.tau_t")
    names = {"BUSSI": "bussi", "BERENDSEN": "berendsen", "NHC": "nose-hoover", "LANGEVIN": "langevin"}
    if bath not in names:
        t.refuse(how, "known here: BERENDSEN, BUSSI, NHC and LANGEVIN")
        return set()
    note = "a chain of 3 variables, which samples the same ensemble as GENESIS' one" if bath == "NHC" else ""
    t.set("dynamics.thermostat", names[bath], how, note=note, replaced=bool(note))
    if bath == "LANGEVIN":
        if friction.number() <= 0:
            raise friction.wrong("a friction above 0")
        t.set("dynamics.tau_t", round(1 / friction.number(), 9), friction, note="the inverse of the friction")
        return {"gamma_t"}
    t.set("dynamics.tau_t", time.positive(), time)
    return {"tau_t"}


def _pressure(t: Translation, word: str, how: Value, bath: str) -> set[str]:
    """Returns the names of the options that it has used."""
    target, stiffness, kind = (t.value(f"ensemble.{name}") for name in ("pressure", "compressibility", "isotropy"))
    time, friction, tension = (t.value(f"ensemble.{name}") for name in ("tau_p", "gamma_p", "gamma"))
    names = {"BUSSI": "c-rescale", "BERENDSEN": "berendsen", "NHC": "mtk", "LANGEVIN": "c-rescale"}
    used = {"pressure", "isotropy"}
    if bath not in names:
        return used
    replaced = names[bath] == "c-rescale"
    note = "the barostat becomes stochastic cell rescaling, which samples the same ensemble in another way"
    t.set("dynamics.barostat", names[bath], how, note=note if replaced else "", replaced=replaced)
    if bath == "LANGEVIN":
        t.set("dynamics.tau_p", round(1 / friction.positive(), 9), friction)
        used.add("gamma_p")
    else:
        t.set("dynamics.tau_p", time.positive(), time)
        used.add("tau_p")
    t.set("dynamics.pressure", round(_ATM * target.number(), 9), target)
    if names[bath] != "mtk":
        t.set("dynamics.compressibility", float(f"{stiffness.positive() / _ATM:.9g}"), stiffness)
        used.add("compressibility")
    needed = {"NPAT": "XY-FIXED", "NPGT": "SEMI-ISO"}.get(word)
    if _upper(kind) not in _EDGES or (needed and _upper(kind) != needed):
        if needed:
            t.refuse(t.value("ensemble.ensemble"), f"{word} needs isotropy = {needed}")
        else:
            t.refuse(kind, f"known here: {', '.join(_EDGES)}")
        return used
    t.set("dynamics.coupling", _EDGES[_upper(kind)], kind)
    if word == "NPGT":
        t.set("dynamics.surface_tension", round(_BAR_NM * tension.number(), 9), tension)
        used.add("gamma")
    return used


def _output(t: Translation) -> None:
    energies, frames, speeds, restarts = (
        t.value(f"dynamics.{name}_period") for name in ("eneout", "crdout", "velout", "rstout")
    )
    t.set("output.energy_every", energies.count(), energies)
    t.set("output.checkpoint_every", restarts.count(), restarts)
    if frames.count():
        with_speeds = bool(speeds.count()) and speeds.count() == frames.count()
        t.set("output.trajectory", "segments" if with_speeds else "dcd", frames)
        t.set("output.trajectory_every", frames.count(), frames)
        if with_speeds:
            t.set("output.velocities", True, speeds)
            return
    elif frames.is_given:
        t.agree(frames)
    if speeds.count():
        t.refuse(speeds, "velocities stand in the frames of crdout_period: give it the same number", False)
    elif speeds.is_given:
        t.agree(speeds)


def _input(t: Translation, moves: bool) -> None:
    given = {option.name.partition(".")[2]: option for option in t.options if option.name.startswith("input.")}
    coordinates = next((name for name in _COORDINATES if name in given), None)
    kind = "amber" if "prmtopfile" in given else "gromacs" if "grotopfile" in given else "charmm"
    words = ["tessera", "prepare", kind]
    for name, option in given.items():
        value = t.value_of(option)
        if name in _FILES:
            words += [_FILES[name], *(word.strip() for word in option.text.split(","))]
        elif name == coordinates:
            words += ["--coords", option.text]
        elif name == "fitfile":
            t.ignore(value, "nothing is fitted")
            continue
        elif name in (*_PLACES, "localresfile"):
            continue
        elif name not in _COORDINATES:
            t.refuse(value, "this input is not known here")
            continue
        t.ignore(value, "the system file has it")
    sizes = [t.value_of(option).number() for option in t.options if option.name.startswith("boundary.box_size_")]
    if "rstfile" not in given and len(sizes) == 3:
        words += ["--box", *(f"{size:g}" for size in sizes)]
    t.prepare = [*words, "-o", "SYSTEM"]
    places = next((t.value_of(given[name]) for name in _PLACES if name in given), None)
    genesis_restraints.translate(t, places, given[coordinates].text if coordinates else "")
    if not moves:
        return
    if "rstfile" in given:
        value = t.value_of(given["rstfile"])
        t.set("dynamics.velocities", "auto", value, note="those of the restart, if it has any")
    else:
        t.set("dynamics.velocities", "generate", t.value("ensemble.temperature"))


def _ignore_rest(t: Translation) -> None:
    reasons = {name: why for why, names in IGNORED.items() for name in names.split()}
    for option in t.options:
        section = option.name.partition(".")[0]
        value = t.value_of(option)
        if option.name in reasons:
            t.ignore(value, reasons[option.name])
        elif section in _SILENT:
            t.ignore(value, _SILENT[section])
        elif section not in _SECTIONS:
            t.refuse(value, f"section [{section.upper()}] is not supported")
