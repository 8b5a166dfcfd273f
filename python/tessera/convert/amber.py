"""Translates input files of AMBER's sander and pmemd (mdin): namelists &cntrl, &ewald and &wt.

Units: Å, ps, kcal/mol, K, bar, 10⁻⁶/bar, dyn/cm. Options of &ewald are called ewald.NAME here, and a &wt is one option.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tessera.convert import amber_baths, amber_groups, amber_rst
from tessera.convert.model import Changed, Option, Setting, Stage, Translation, Value
from tessera.convert.shared import set_grid, set_order
from tessera.errors import InputError
from tessera.prepare.text import read_text
from tessera.select.grammar import NoCounterpartError
from tessera.system import ALL_PAIRS

TITLE = "AMBER"
MANUAL = "Amber reference manual, sander and pmemd"
VERSIONS = "14 to 24"
SUFFIXES = (".mdin",)
DEFAULTS: dict[str, str | Changed] = {
    "imin": "0", "nstlim": "1", "dt": "0.001", "cut": "8.0", "ntb": "1", "ntc": "1", "ntf": "1", "tol": "0.00001",
    "nscm": "1000", "irest": "0", "ntx": "1", "tempi": "0.0", "temp0": "300.0", "ig": "-1", "ntt": "0", "tautp": "1.0",
    "gamma_ln": "0.0", "ntp": "0", "barostat": "1", "mcbarint": "100", "pres0": "1.0", "taup": "1.0", "comp": "44.6",
    "csurften": "0", "gamma_ten": "0.0", "ninterface": "2", "nrespa": "1", "maxcyc": "1", "drms": "1.0e-4",
    "ntpr": "50", "ntwx": "0", "ntwr": "", "ntwv": "0", "ntwf": "0", "ioutfm": "1", "ntwprt": "0", "fswitch": "-1",
    "ntr": "0", "restraint_wt": "0.0", "restraintmask": "", "nmropt": "0", "igb": "0", "dielc": "1.0",
    "ewald.order": "4", "ewald.nfft1": "", "ewald.nfft2": "", "ewald.nfft3": "", "ewald.dsum_tol": "1.0e-5",
    "ewald.ew_coeff": "", "ewald.vdwmeth": "1", "ewald.eedmeth": "1", "ewald.ew_type": "0", "ewald.use_pme": "1",
}  # fmt: skip
IGNORED = {
    "concerns AMBER's files or log": "listin listout dumpave "
    "ntxo ntave iwrap ntwe ntrx idecomp iwrap mdinfo_flush_interval imbal "
    "mdout_flush_interval ene_avg_sampling timlim amber8_mdout_format loadbal_verbose ntave ewald.verbose",
    "the clock of a run begins at 0": "t",
    "the engine searches pairs in its own way": "nsnb ewald.skinnb ewald.nbflag ewald.nbtell ewald.skin_permit",
    "the minimiser has its own steps": "ncyc ntmin dx0",
    "SETTLE holds the same distances": "jfastw watnam owtnm hwtnm1 hwtnm2",
    "random numbers are a function of the seed and the step": "no_ntt3_sync",
    "the mesh is exact in other ways": "ewald.netfrc ewald.column_fft ewald.use_axis_opt ewald.block_fft",
    "belongs to an option that is off": "vrand bellymask vlimit fcap ivcap clambda scalpha scbeta klambda saltcon "
    "extdiel "
    "intdiel rgbmax offset gbsa",
}
#: features that change the physics, with the values that switch them off
_OFF = {
    "ibelly": ("0", "atoms that are fixed by a mask (set dynamics.fixed)"),
    "icfe": ("0", "free energies"),
    "ifsc": ("0", "soft cores"),
    "itgtmd": ("0", "targeted dynamics"),
    "icnstph": ("0", "constant pH"),
    "icnste": ("0", "constant redox potential"),
    "isgld": ("0", "self-guided dynamics"),
    "iamd": ("0", "accelerated dynamics"),
    "igamd": ("0", "accelerated dynamics"),
    "numexchg": ("0", "replica exchange"),
    "ifqnt": ("0", "QM/MM"),
    "lj1264": ("0 -1", "12-6-4 by mdin (the system file has it of the prmtop)"),
    "ievb": ("0", "valence bonds"),
    "noshakemask": ("", "bonds without constraints"),
    "efx": ("0", "an electric field"),
    "efy": ("0", "an electric field"),
    "efz": ("0", "an electric field"),
    "plumed": ("0", "PLUMED"),
    "ips": ("0", "isotropic periodic sums"),
    "jar": ("0", "steered dynamics"),
    "infe": ("0", "biases"),
    "irism": ("0", "3D-RISM"),
    "ipol": ("0", "polarisable models"),
}
REFUSED = {name: what for name, (_, what) in _OFF.items()}
_ALL = 99  # Å: a cut of at least this is meant to hold all pairs
_PLACES = "their places are those where the run starts; AMBER's are those of -ref"
_NAMELISTS = ("cntrl", "ewald", "wt")


def looks(text: str) -> bool:
    """Tells whether a text has the namelist of AMBER."""
    return re.search(r"^\s*&cntrl\b", text, re.IGNORECASE | re.MULTILINE) is not None


def options(text: str, file: str) -> list[Option]:
    """Returns the options of a file, whose first lines are a title. Raises `InputError` for what is no namelist."""
    plain = _without_comments(text)
    found: list[Option] = []
    at = 0
    for match in re.finditer(
        r"^[ \t]*&(?!end\b)(\w+)(.*?)(?:^[ \t]*/|[ \t,]/[ \t]*$|&end\b)", plain, re.I | re.M | re.S
    ):
        if at:
            found += _between(plain, at, match.start(), file)
        at = match.end()
        name = match[1].lower()
        line = plain.count("\n", 0, match.start(1)) + 1
        if name == "wt":
            found.append(Option("wt", " ".join(match[2].split()), file, line))
        elif name in _NAMELISTS:
            found += _entries(match[2], "" if name == "cntrl" else f"{name}.", file, line)
        else:
            found.append(Option(f"&{name}", " ".join(match[2].split())[:60], file, line))
    if not at and plain.strip():
        raise _stray(plain, plain, at, file)
    found += _between(plain, at, len(plain), file)
    seen: dict[str, Option] = {}
    for option in found:
        if option.name in seen and option.name not in ("wt", "group"):
            raise InputError(f"{option.where}: {option.name} is given twice, first at {seen[option.name].where}")
        seen[option.name] = option
    return found


def _between(plain: str, begin: int, end: int, file: str) -> list[Option]:
    """Returns the options of the text between or after namelists. Raises `InputError` where it is not understood."""
    if not plain[begin:end].strip():
        return []
    found = amber_groups.options_after(plain[begin:end], file, plain.count("\n", 0, begin) + 1)
    if found is None:
        raise _stray(plain[begin:end], plain, begin, file)
    return found


def _without_comments(text: str) -> str:
    """Returns the text without comments, which begin with ! outside of quotation marks."""
    return re.sub(r"('[^'\n]*'|\"[^\"\n]*\")|![^\n]*", lambda found: found[1] or "", text)


def _stray(text: str, whole: str, at: int, file: str) -> InputError:
    if (open_one := re.search(r"^[ \t]*&(\w+)", text, re.MULTILINE)) is not None:
        line = whole.count("\n", 0, at + open_one.start(1)) + 1
        return InputError(f"{file}:{line}: &{open_one[1]} does not end: expected a line with / after its options")
    lead = len(text) - len(text.lstrip())
    line = whole.count("\n", 0, at + lead) + 1
    return InputError(f"{file}:{line}: expected a namelist, found {text.strip().splitlines()[0][:60]!r}")


def _entries(text: str, prefix: str, file: str, line: int) -> list[Option]:
    quoted = re.sub(r"'[^'\n]*'|\"[^\"\n]*\"", lambda found: "_" * len(found[0]), text)
    starts = list(re.finditer(r"([A-Za-z]\w*(?:\(\d+\))?)\s*=", quoted))
    if not starts and text.strip(" ,\n\t"):
        raise InputError(f"{file}:{line}: expected NAME = VALUE, found {text.strip()[:60]!r}")
    if starts and quoted[: starts[0].start()].strip(" ,\n\t"):
        raise InputError(f"{file}:{line}: expected NAME = VALUE, found {text.strip()[:60]!r}")
    found = []
    for start, after in zip(starts, [*starts[1:], None][: len(starts)], strict=True):
        value = text[start.end() : after.start() if after else len(text)].strip().rstrip(",").strip()
        where = line + text.count("\n", 0, start.start())
        found.append(Option(prefix + start[1].lower(), value.strip("'\""), file, where))
    return found


def translate(t: Translation, groups: Mapping[str, str]) -> None:
    """Says what becomes of each option."""
    minimises = t.value("imin").integer() == 1
    if t.value("imin").integer() not in (0, 1):
        t.refuse(t.value("imin"), "known here: 0 and 1")
    _features(t)
    has_box = t.value("ntb").integer() != 0
    if has_box:
        _lennard_jones(t)
        _mesh(t)
    else:
        _all_pairs(t)
    _restraint(t, groups)
    _constraints(t)
    if minimises:
        _minimisation(t)
        amber_baths.ignore_schedule(t)
    else:
        if t.has("imin"):
            t.agree(t.value("imin"))
        _motion(t)
        amber_baths.translate(t)
    _output(t, minimises)
    reasons = {name: why for why, names in IGNORED.items() for name in names.split()}
    for option in t.options:
        if option.name == "disang" and t.value("nmropt").integer():
            _file_of_restraints(t, t.value_of(option))
        elif option.name in amber_groups.RESTRAINTS and t.value("nmropt").integer():
            t.refuse(t.value_of(option), "restraints are in this file: write [[restraint]], and remove the line")
        elif option.name in amber_groups.RESTRAINTS:
            t.ignore(t.value_of(option), "nmropt is 0")
        elif option.name == "group" and not t.is_known(option):
            t.ignore(t.value_of(option), "restraintmask says which atoms")
        elif option.name in reasons:
            t.ignore(t.value_of(option), reasons[option.name])
        elif minimises and option.name in DEFAULTS and not t.is_known(option):
            t.ignore(t.value_of(option), "a minimisation has no motion")
        elif option.name in ("maxcyc", "drms") and not minimises:
            t.ignore(t.value_of(option), "imin is 0")
    vacuum = [] if has_box else ["--vacuum"]
    t.prepare = ["tessera", "prepare", "amber", "--prmtop", "PRMTOP", "--coords", "INPCRD", *vacuum, "-o", "SYSTEM"]


def _is_off(text: str, off: str) -> bool:
    word = text.strip().lower()
    return (
        word in off.split()
        or (not word and not off)
        or (bool(re.fullmatch(r"[-+]?0*\.?0*(d0|e0)?", word)) and "0" in off)
    )


def _features(t: Translation) -> None:
    for option in t.options:
        value = t.value_of(option)
        if option.name.startswith("&"):
            t.refuse(value, "this namelist is not known here")
        elif option.name in _OFF:
            off, what = _OFF[option.name]
            if _is_off(option.text, off):
                t.agree(value)
            else:
                t.refuse(value, f"{what}: not supported")
    box = t.value("ntb")
    if box.integer() not in (0, 1, 2):
        raise box.wrong("0, 1 or 2")
    if box.is_given and box.integer():
        t.agree(box)
    for name in ("igb", "ewald.ew_type"):
        in_vacuum = name == "igb" and t.value("ntb").text == "0" and t.value(name).integer() == 6
        if t.value(name).integer() and not in_vacuum:
            t.refuse(t.value(name), "implicit solvent is not supported" if name == "igb" else "known here: 0")
        elif t.has(name):
            t.agree(t.value(name))
    if t.value("dielc").number() != 1:
        t.refuse(t.value("dielc"), "expected 1")
    elif t.has("dielc"):
        t.agree(t.value("dielc"))


def _all_pairs(t: Translation) -> None:
    """Translates a system without a box, whose cut-off holds all pairs."""
    box, cutoff = t.value("ntb"), t.value("cut")
    if cutoff.is_given and cutoff.number() < _ALL:
        t.refuse(cutoff, f"without a box (ntb = 0) all pairs act on each other: expected at least {_ALL} Å, or no cut")
    origins = [box, cutoff] if cutoff.is_given else [box]
    t.set("interactions.cutoff", ALL_PAIRS.cutoff, *origins, note="all pairs")
    t.set("interactions.lj", ALL_PAIRS.modifier, box)
    t.set("interactions.lj_tail", ALL_PAIRS.tail, box)
    t.set("interactions.electrostatics", "cut", box)
    for option in t.options:
        if option.name.startswith("ewald.") or option.name == "fswitch":
            t.ignore(t.value_of(option), "there is no box")
    if t.value("ntp").integer():
        t.refuse(t.value("ntp"), "a pressure without a box")


def _lennard_jones(t: Translation) -> None:
    cutoff, begin, tail = t.value("cut"), t.value("fswitch"), t.value("ewald.vdwmeth")
    t.set("interactions.cutoff", cutoff.positive(), cutoff)
    if begin.number() > 0:
        t.set("interactions.lj", "force-switch", begin)
        t.set("interactions.switch", begin.number(), begin)
    else:
        t.set("interactions.lj", "cut", begin)
    if tail.integer() not in (0, 1):
        t.refuse(tail, "known here: 0 and 1")
    has_tail = tail.integer() == 1 and begin.number() <= 0
    note = "AMBER's has the part of r⁻⁶ alone, and Tessera's that of r⁻¹² too" if has_tail else ""
    t.set("interactions.lj_tail", has_tail, tail, note=note)
    if begin.number() > 0 and tail.integer() == 1 and tail.is_given:
        t.refuse(tail, "no correction beyond the cut-off with fswitch: give vdwmeth = 0")
    for name in ("es_cutoff", "vdw_cutoff"):
        for value in t.values(name):
            t.refuse(value, "give cut, one for both")


def _mesh(t: Translation) -> None:
    tolerance, alpha, order = t.value("ewald.dsum_tol"), t.value("ewald.ew_coeff"), t.value("ewald.order")
    t.set("interactions.electrostatics", "pme", t.value("igb"))
    for name in ("ewald.eedmeth", "ewald.use_pme"):
        if t.value(name).integer() != 1:
            t.refuse(t.value(name), "known here: 1")
        elif t.has(name):
            t.agree(t.value(name))
    if alpha.is_given:
        t.set("pme.alpha", alpha.positive(), alpha)
        if tolerance.is_given:
            t.ignore(tolerance, "ew_coeff is given")
    else:
        size = float(f"{tolerance.positive() * t.value('cut').number():.12g}")
        t.set("pme.tolerance", size, tolerance, t.value("cut"), note="AMBER's is that of erfc(alpha·cut)/cut")
    if order.integer() == 4:
        note = "AMBER's mesh is optimised for its order; splines of 6 are nearer to the same sum than our 4"
        t.set("pme.order", 6, order, note=note)
    else:
        set_order(t, order)
    grid = [t.value(f"ewald.nfft{n}") for n in (1, 2, 3)]
    if not set_grid(t, grid, "nfft1, nfft2 and nfft3"):
        t.set("pme.spacing", 1.0, Value("nfft1, nfft2, nfft3", "about 1 point in each Å", None, t.program))


def _restraint(t: Translation, groups: Mapping[str, str]) -> None:
    on, weight, mask = t.value("ntr"), t.value("restraint_wt"), t.value("restraintmask")
    if not on.integer():
        for value in (on, weight, mask, *t.values("group")):
            if value.is_given:
                t.ignore(value, "ntr is 0")
        return
    cards = t.values("group")
    if not mask.is_given and cards:
        for value in (on, weight):
            if value.is_given:
                t.follow("restraint", value)
        for value in cards:
            _group(t, value)
        return
    chosen = groups.get("restraintmask", "")
    if not chosen and mask.is_given:
        try:
            chosen = amber_groups.selection_of_mask(mask.text)
        except NoCounterpartError as error:
            t.refuse(mask, f"{error} has no counterpart: say which atoms, by --group restraintmask=SELECTION")
    if not chosen:
        for value in (on, weight, mask):
            if value.is_given:
                t.refuse(value, "say which atoms the mask has: --group restraintmask=SELECTION")
        return
    t.note(f"restraints of positions: {_PLACES}")
    row = {
        "kind": t.setting("position", on, note=_PLACES),
        "k": t.setting(weight.number(), weight),
        "select": t.setting(chosen, mask),
    }
    t.follow("restraint", on, weight, mask)
    t.tables.append(("restraint", row))


def _group(t: Translation, value: Value) -> None:
    """Makes a restraint of a group of cards after the namelists, whose second line is its constant."""
    assert value.option is not None
    strength = Value("group", value.text.split("; ")[1], value.option, t.program).number()
    selection = amber_groups.selection_of_cards(value.option)
    if strength < 0:
        raise value.wrong("a constant of at least 0")
    if not strength:
        t.agree(value, note="no force")
        return
    t.note(f"restraints of positions: {_PLACES}")
    comment = t.follow("restraint", value, note=_PLACES)
    row = {"kind": Setting("position", comment), "k": Setting(strength, ""), "select": Setting(selection, "")}
    t.tables.append(("restraint", row))


def _file_of_restraints(t: Translation, value: Value) -> None:
    path = (t.folder or Path()) / value.text
    if not path.is_file():
        t.refuse(value, "restraints are in this file: put it beside, or write [[restraint]] and remove the line")
        return
    rows = amber_rst.rows_of(t, value, read_text(path))
    if not rows:
        t.agree(value, note="no force")
        return
    note = "beyond r1 and r4 AMBER's is a straight line, and a parabola here"
    rows[0]["kind"] = Setting(rows[0]["kind"].value, t.follow("restraint", value, note=note))
    t.note(f"DISANG: {note}")
    t.tables += [("restraint", row) for row in rows]


def _constraints(t: Translation) -> None:
    held, forces, tolerance = t.value("ntc"), t.value("ntf"), t.value("tol")
    kinds = {1: "none", 2: "h-bonds", 3: "all-bonds"}
    if held.integer() not in kinds:
        raise held.wrong("1, 2 or 3")
    t.set("dynamics.constraints", kinds[held.integer()], held)
    if forces.integer() not in (1, held.integer()):
        t.refuse(forces, "terms without a force that are not held: expected ntf = ntc")
    elif forces.is_given:
        t.agree(forces, note="rigid bonds have no force")
    if held.integer() > 1:
        t.set("dynamics.constraint_tolerance", tolerance.positive(), tolerance)
    elif tolerance.is_given:
        t.ignore(tolerance, "nothing is held")


def _minimisation(t: Translation) -> None:
    how, steps, force = t.value("imin"), t.value("maxcyc"), t.value("drms")
    t.follow("stage.kind", how)
    t.follow("stage.minimize.steps", steps)
    t.follow("stage.minimize.max_force", force)
    if steps.count() < 1:
        t.refuse(steps, "expected at least 1")
    limit = t.setting(force.number(), force, note="of the greatest force, not of their mean square")
    keys = {"minimize.max_force": limit, "minimize.steps": t.setting(max(1, steps.count()), steps)}
    t.stages.append(Stage("minimise", "minimize", keys))


def _motion(t: Translation) -> None:
    step, steps, momentum, slow = t.value("dt"), t.value("nstlim"), t.value("nscm"), t.value("nrespa")
    t.set("dynamics.integrator", "leapfrog", step, note="AMBER's velocities are half a step before the positions")
    if not 0 < step.number() <= 0.1:
        raise step.wrong("a time step above 0, at most 0.1 ps")
    t.set("dynamics.timestep", round(1000 * step.number(), 9), step)
    t.set("dynamics.steps", steps.count(), steps)
    turns = t.value("ntb").integer() == 0 and momentum.count() > 0
    note = "without a box AMBER takes the rotation too, and Tessera does not" if turns else ""
    t.set("dynamics.com_removal_every", momentum.count(), momentum, note=note)
    if slow.count() > 1:
        one = t.value("ntt").integer() == 3
        note = "in each step, since Langevin's bath here has one time step" if one else ""
        t.set("dynamics.integrator", "velocity-verlet", slow)
        t.set("dynamics.mesh_every", 1 if one else slow.count(), slow, note=note)
    elif slow.is_given:
        t.agree(slow)


def _output(t: Translation, minimises: bool) -> None:
    names = ("ntpr", "ntwx", "ntwr", "ntwv", "ntwf", "ioutfm", "ntwprt")
    energies, frames, restarts, speeds, forces, form, part = (t.value(name) for name in names)
    if minimises:
        for value in (energies, frames, restarts, speeds, forces, form, part):
            if value.is_given:
                t.ignore(value, "a minimisation writes its result")
        return
    t.set("output.energy_every", energies.count(), energies)
    if restarts.is_given:
        t.set("output.checkpoint_every", abs(restarts.integer()), restarts)
    if frames.count():
        t.set("output.trajectory", "segments", frames, note="tessera traj convert writes other formats of it")
        t.set("output.trajectory_every", frames.count(), frames)
    elif frames.is_given:
        t.agree(frames)
    for key, value in (("output.velocities", speeds), ("output.forces", forces)):
        if frames.count() and value.integer() in (-1, frames.count()):
            t.set(key, True, value)
        elif value.integer():
            t.refuse(value, "velocities and forces stand in the frames of ntwx: give -1", False)
        elif value.is_given:
            t.agree(value)
    if part.count():
        t.set("output.select", f"bynum 1:{part.count()}", part)
    elif part.is_given:
        t.agree(part)
    if form.is_given:
        t.ignore(form, "frames are in segments")
