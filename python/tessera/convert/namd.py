"""Translates configurations of NAMD.

Units: Å, fs (1/ps for frictions, ps for the period of stochastic rescaling), kcal/mol, K, bar, dyn/cm. Options are
called as in NAMD's manual, but in lower case, as NAMD compares them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tessera.convert import namd_baths, namd_restraints, namd_script
from tessera.convert.model import Changed, Option, Setting, Stage, Translation, Value
from tessera.convert.shared import set_grid, set_order

TITLE = "NAMD"
MANUAL = "NAMD user's guide, 3.0"
VERSIONS = "2.12 to 3.0"
SUFFIXES = (".namd",)
DEFAULTS: dict[str, str | Changed] = {
    "switching": "on", "cutoff": "", "switchdist": "", "vdwforceswitching": "off", "ljcorrection": "off",
    "exclude": "", "1-4scaling": "1.0", "dielectric": "1.0", "nonbondedscaling": "1.0", "amber": "off", "pme": "off",
    "pmetolerance": "1e-6", "pmeinterporder": "4", "pmegridspacing": "", "pmegridsizex": "", "pmegridsizey": "",
    "pmegridsizez": "", "timestep": "1.0", "numsteps": "", "firsttimestep": "0", "nonbondedfreq": "1",
    "fullelectfrequency": "", "mtsalgorithm": "impulse", "rigidbonds": "none", "rigidtolerance": "1.0e-8",
    "zeromomentum": "off", "commotion": "no", "temperature": "", "velocities": "", "binvelocities": "", "seed": "",
    "outputenergies": "1", "dcdfreq": "0", "dcdfile": "", "veldcdfreq": "0", "forcedcdfreq": "0", "restartfreq": "0",
    "watermodel": "tip3", "langevin": "off", "langevintemp": "", "langevindamping": "", "langevinhydrogen": "on",
    "stochrescale": "off", "stochrescaletemp": "", "stochrescaleperiod": "", "stochrescalefreq": "",
    "langevinpiston": "off", "langevinpistontarget": "", "langevinpistontemp": "", "berendsenpressure": "off",
    "berendsenpressuretarget": "", "berendsenpressurecompressibility": "", "berendsenpressurerelaxationtime": "",
    "berendsenpressurefreq": "", "montecarlopressure": "off", "montecarlopressuretarget": "",
    "montecarlotemp": "", "montecarlopressurefreq": "50", "useflexiblecell": "no", "useconstantratio": "no",
    "useconstantarea": "no", "surfacetensiontarget": "0", "imdon": "off", "imdport": "", "imdfreq": "",
    "reassignfreq": "0", "reassigntemp": "", "reassignincr": "0", "reassignhold": "", **namd_restraints.OPTIONS,
}  # fmt: skip
IGNORED = {
    "the engine searches pairs in its own way": "pairlistdist stepspercycle pairlistspercycle margin hgroupcutoff "
    "splitpatch pairlistminprocs outputpairlists pairlistshrink pairlistgrow pairlisttrigger limitdist",
    "where the work is done is chosen by the engine": "ldbalancer ldbstrategy ldbperiod firstldbstep pmeprocessors "
    "twoawayx twoawayy twoawayz cudasoaintegrate gpuresident devicemigration pmegpu usecuda2 usepmecuda "
    "ldbunloadpme "
    "pmepencils ldbunloadzero pmebarrier fftwestimate fftwusewisdom fftwwisdomfile shiftiocoroutines numinputprocs",
    "files have names of their own in output.folder": "outputname binaryoutput binaryrestart restartname restartsave "
    "dcdfile dcdunitcell veldcdfile forcedcdfile xstfile dcdfreqselection",
    "the engine has its own log": "outputtiming outputpressure outputmomenta xstfreq mergecrossterms "
    "computeenergies outputcudatiming statsfreq",
    "molecules are put into the box on output by output.wrap": "wrapall wrapwater wrapnearest",
    "constraints are solved to dynamics.constraint_tolerance": "rigiditerations rigiddieonerror usesettle",
    "the system file has it": "structure coordinates parameters paratypecharmm paratypexplor bincoordinates "
    "extendedsystem parmfile ambercoor readexclusions scnb grotopfile grocoorfile gromacs cellbasisvector1 "
    "cellbasisvector2 cellbasisvector3 cellorigin cwd",
    "the pressure is that of molecules and atoms alike": "usegrouppressure",
    "the engine splits at the mesh": "longsplitting molly mollytolerance mollyiterations",
    "the clock of a run begins at 0": "firsttimestep",
    "the minimiser has its own steps": "minimization minbabystep mintinystep minlinegoal",
    "belongs to the piston, which is replaced": "langevinpistonperiod langevinpistondecay langevinpistonbarrier "
    "strainrate "
    "excludefrompressure",
    "programs that watch a run can neither hold it up nor steer it": "imdwait imdignore imdignoreforces",
    "belongs to an option that is off": "stochrescaleheat",
}
#: features that change the physics, and the values with which they are off
_FEATURES = {
    "fixedatoms": "atoms fixed by a column of a PDB (set dynamics.fixed)",
    "tclforces": "forces by a script",
    "tclbc": "forces by a script",
    "efieldon": "an electric field",
    "gridforce": "forces of a grid",
    "mgridforce": "forces of a grid",
    "smd": "steered dynamics",
    "tmd": "targeted dynamics",
    "alch": "free energies",
    "alchon": "free energies",
    "les": "locally enhanced sampling",
    "gbis": "implicit solvent",
    "lcpo": "implicit solvent",
    "drude": "polarisable models",
    "accelmd": "accelerated dynamics",
    "adapttempmd": "adaptive tempering",
    "sphericalbc": "a spherical boundary",
    "cylindricalbc": "a cylindrical boundary",
    "movingconstraints": "moving restraints",
    "rotconstraints": "rotating restraints",
    "consforce": "constant forces",
    "qmforces": "QM/MM",
    "msm": "multilevel sums",
    "fma": "multipoles",
    "fulldirect": "a direct sum",
    "loweandersen": "the thermostat of Lowe and Andersen",
    "tcouple": "the thermostat tCouple",
    "martiniswitching": "Martini's switching",
    "vdwgeometricsigma": "geometric radii",
    "symmetryrestraints": "restraints of symmetry",
    "stirring": "stirring",
    "minimization": "the old minimiser",
    "velocityquenching": "quenched velocities",
    "fixcelldims": "edges of the box that stay",
    "ljpme": "LJ-PME",
    "pairinteraction": "energies between groups",
    "miniontherun": "minimisation during a run",
    "gromacs": "GROMACS files",
    "ljcorrectionalt": "another correction of Lennard-Jones",
}
_OFF = ("off", "no", "false", "0")
_COUNTS = {"rescalefreq": "rescaled velocities"}  # off where 0
REFUSED = {**_FEATURES, **_COUNTS}
_COMMANDS = ("run", "minimize", "reinitvels")
_NOT_PHYSICS = {"pressureprofile": "pressure profiles"}
#: of features: the options that say more of them, and have no meaning without them
_PARTS = {
    "fixedatoms": "fixedatomsfile fixedatomscol fixedatomsforces",
    "tclforces": "tclforcesscript",
    "tclbc": "tclbcscript tclbcargs",
    "efieldon": "efield efieldfreq efieldphase efieldnormalized",
    "gridforce": "gridforcefile gridforcecol gridforcechargecol gridforcepotfile gridforcescale gridforcevolts "
    "gridforcevoff gridforcecont1 gridforcecont2 gridforcecont3 gridforcelite gridforcechecksize",
    "mgridforce": "mgridforcefile mgridforcecol mgridforcechargecol mgridforcepotfile mgridforcescale mgridforcevolts "
    "mgridforcevoff mgridforcecont1 mgridforcecont2 mgridforcecont3 mgridforcelite mgridforcechecksize",
    "smd": "smdfile smdk smdk2 smdvel smddir smdoutputfreq",
    "tmd": "tmdk tmdfile tmdfile2 tmdoutputfreq tmdfirststep tmdlaststep tmdinitialrmsd tmdfinalrmsd tmddiffrmsd",
    "alch": "alchtype alchfile alchcol alchlambda alchlambda2 alchlambdaidws alchidwsfreq alchlambdafreq "
    "alchequilsteps alchoutfile alchoutfreq alchvdwshiftcoeff alcheleclambdastart alchvdwlambdaend alchbondlambdaend "
    "alchbonddecouple alchdecouple alchreplambdaend alchwca alchensembleavg",
    "les": "lesfactor lesfile lescol lesreducetemp lesreducemass",
    "gbis": "solventdielectric ionconcentration alphacutoff intrinsicradiusoffset gbisdelta gbisbeta gbisgamma sasa "
    "surfacetension",
    "drude": "drudetemp drudedamping drudebondlen drudebondconst drudehardwall drudenbtholecut",
    "accelmd": "accelmddihe accelmddual accelmde accelmdalpha accelmdte accelmdtalpha accelmdfirststep accelmdlaststep "
    "accelmdoutfreq accelmdg accelmdgie accelmdgsigma0p accelmdgsigma0d",
    "adapttempmd": "adapttempfreq adapttemptmin adapttemptmax adapttempbins adapttempdt adapttempinfile "
    "adapttemprestartfile adapttemprestartfreq adapttemplangevin adapttemprescaling adapttempoutfreq adapttemplaststep",
    "sphericalbc": "sphericalbccenter sphericalbcr1 sphericalbck1 sphericalbcexp1 sphericalbcr2 sphericalbck2 "
    "sphericalbcexp2",
    "cylindricalbc": "cylindricalbccenter cylindricalbcaxis cylindricalbcr1 cylindricalbcl1 cylindricalbck1 "
    "cylindricalbcexp1 cylindricalbcr2 cylindricalbcl2 cylindricalbck2 cylindricalbcexp2",
    "movingconstraints": "movingconsvel",
    "rotconstraints": "rotconsaxis rotconspivot rotconsvel",
    "consforce": "consforcefile consforcescaling",
    "qmforces": "qmparampdb qmcolumn qmsoftware qmexecpath qmbasedir qmconfigline qmmult qmcharge qmchargemode "
    "qmbondcolumn qmelecembed qmpointcharges qmsimspernode qmoutstride qmpositionoutstride",
    "msm": "msmgridspacing msmquality msmapprox msmsplit msmlevels msmpadding",
    "fma": "fmalevels fmamp fmafft fmatheta fmafftblock",
    "loweandersen": "loweandersentemp loweandersencutoff loweandersenrate",
    "tcouple": "tcoupletemp tcouplefile tcouplecol",
    "symmetryrestraints": "symmetryk symmetrykfile symmetryfile symmetryfirststep symmetrylaststep "
    "symmetryfirstfullstep symmetrylastfullstep symmetrymatrixfile symmetryscaleforces",
    "velocityquenching": "maximummove",
    "fixcelldims": "fixcelldimx fixcelldimy fixcelldimz",
    "ljpme": "ljpmetolerance ljpmeinterporder ljpmegridspacing ljpmegridsizex ljpmegridsizey ljpmegridsizez",
    "pairinteraction": "pairinteractionfile pairinteractioncol pairinteractiongroup1 pairinteractiongroup2 "
    "pairinteractionself",
    "rescalefreq": "rescaletemp",
    "pressureprofile": "pressureprofileslabs pressureprofilefreq pressureprofileewald pressureprofileewaldx "
    "pressureprofileewaldy pressureprofileewaldz pressureprofileatomtypes pressureprofileatomtypesfile "
    "pressureprofileatomtypescol",
}
IGNORED |= {f"belongs to {feature}, which is refused or off": names for feature, names in _PARTS.items()}


def looks(text: str) -> bool:
    """Tells whether a text names files and steps as NAMD does."""
    words = ("structure", "coordinates", "parameters", "timestep", "cutoff", "outputname", "exclude", "parmfile")
    found = [word for word in words if re.search(rf"^\s*{word}[ \t=]+\S", text, re.IGNORECASE | re.MULTILINE)]
    return len(found) >= 4 and "[ENERGY]" not in text.upper()


def options_in(text: str, file: str, folder: Path) -> list[Option]:
    """Returns the commands of a script, in the order in which they come; `folder` has the files that it sources."""
    return namd_script.options(text, file, folder)


def translate(t: Translation, groups: Mapping[str, str]) -> None:
    """Says what becomes of each option."""
    _repeated(t)
    _features(t)
    _lennard_jones(t)
    _electrostatics(t)
    _constraints(t)
    _steps(t)
    namd_baths.translate(t)
    namd_restraints.translate(t)
    _output(t)
    _watching(t)
    reasons = {name.lower(): why for why, names in IGNORED.items() for name in names.split()}
    for option in t.options:
        if not t.is_known(option) and option.name in reasons:
            t.ignore(t.value_of(option), reasons[option.name])
    _prepare(t)


def _repeated(t: Translation) -> None:
    """Refuses settings that change: those after a first command, and those that are given twice."""
    commands = [i for i, option in enumerate(t.options) if option.name in _COMMANDS]
    seen: dict[str, Option] = {}
    often = {*_COMMANDS, "parameters", "extrabondsfile"} | ({"numsteps"} if t.has("run") else set())  # run says it
    for i, option in enumerate(t.options):
        value = t.value_of(option)
        if option.name in often:
            continue
        if commands and i > commands[0]:
            t.refuse(value, "it changes while the run is under way: convert a file for each part")
        elif option.name in seen and seen[option.name].text != option.text:
            t.refuse(value, f"it is given at {seen[option.name].where} already, with another value")
        seen[option.name] = option


def _features(t: Translation) -> None:
    for option in t.options:
        value = t.value_of(option)
        if option.name in _FEATURES:
            if value.plain in _OFF:
                t.agree(value)
            else:
                t.refuse(value, f"{_FEATURES[option.name]}: not supported")
        elif option.name in _COUNTS:
            if value.count():
                t.refuse(value, f"{_COUNTS[option.name]}: not supported")
            else:
                t.agree(value)
        elif option.name in _NOT_PHYSICS:
            if value.flag():
                t.refuse(value, f"{_NOT_PHYSICS[option.name]}: not supported", False)
            else:
                t.agree(value)
    _parts(t)
    for name in ("dielectric", "nonbondedscaling"):
        if t.value(name).number() != 1:
            t.refuse(t.value(name), "expected 1")
        elif t.has(name):
            t.agree(t.value(name))
    water = t.value("watermodel")
    if water.is_given and water.plain not in ("tip3", "tip3p"):
        t.refuse(water, "known here: tip3; the system file has other waters by themselves")
    elif water.is_given:
        t.agree(water)
    _scaling(t)


def _parts(t: Translation) -> None:
    """Records that options belong to a feature that is refused, or off."""
    owner = {name: feature for feature, names in _PARTS.items() for name in names.split()}
    for option in t.options:
        if option.name not in owner or t.is_known(option):
            continue
        feature = owner[option.name]
        switches = t.values("alch") + t.values("alchon") if feature == "alch" else t.values(feature)
        is_on = any(value.plain not in _OFF for value in switches)
        t.ignore(t.value_of(option), f"belongs to {feature}, which is {'refused' if is_on else 'off'}")


def _scaling(t: Translation) -> None:
    exclude, scale = t.value("exclude"), t.value("1-4scaling")
    expected = 1 / 1.2 if t.value("amber").flag() else 1.0
    if t.has("amber"):
        t.agree(t.value("amber"), note="the system file has its force field")
    if exclude.plain != "scaled1-4":
        t.refuse(exclude, "the system file has the pairs of CHARMM and AMBER: expected scaled1-4")
    else:
        t.agree(exclude)
    if abs(scale.number() - expected) > 1e-3:
        t.refuse(scale, f"the system file has it of its force field: expected {expected:.6g}")
    elif scale.is_given:
        t.agree(scale, note="the system file has it")


def _lennard_jones(t: Translation) -> None:
    cutoff, switches, begin = t.value("cutoff"), t.value("switching"), t.value("switchdist")
    force, tail = t.value("vdwforceswitching"), t.value("ljcorrection")
    t.set("interactions.cutoff", cutoff.positive(), cutoff)
    if switches.flag():
        if not 0 < begin.number() < cutoff.number():
            raise begin.wrong(f"a distance below the cut-off, {cutoff.text} Å")
        t.set("interactions.lj", "force-switch" if force.flag() else "potential-switch", switches, force)
        t.set("interactions.switch", begin.number(), begin)
    else:
        t.set("interactions.lj", "cut", switches, note="NAMD shifts it to 0 at the cut-off: the same forces")
        for value in (begin, force):
            if value.is_given:
                t.ignore(value, "switching is off")
    t.set("interactions.lj_tail", tail.flag(), tail)


def _electrostatics(t: Translation) -> None:
    mesh, tolerance, order = t.value("pme"), t.value("pmetolerance"), t.value("pmeinterporder")
    sizes, spacing = [t.value(f"pmegridsize{axis}") for axis in "xyz"], t.value("pmegridspacing")
    if not mesh.flag():
        kind = "shift" if t.value("switching").flag() else "cut"
        t.set("interactions.electrostatics", kind, mesh, t.value("switching"))
        for value in (tolerance, order, *sizes, spacing):
            if value.is_given:
                t.ignore(value, "there is no mesh")
        return
    t.set("interactions.electrostatics", "pme", mesh)
    cutoff = t.value("cutoff")
    note = "NAMD's is that of erfc(alpha·cutoff)/cutoff"
    t.set("pme.tolerance", float(f"{tolerance.positive() * cutoff.number():.12g}"), tolerance, cutoff, note=note)
    set_order(t, order)
    if set_grid(t, sizes, "PMEGridSizeX, Y and Z", spacing):
        return
    if not spacing.is_given:
        raise spacing.wrong("PMEGridSpacing, or PMEGridSizeX, Y and Z: NAMD has no default")
    t.set("pme.spacing", spacing.positive(), spacing)


def _constraints(t: Translation) -> None:
    rigid, tolerance = t.value("rigidbonds"), t.value("rigidtolerance")
    if rigid.plain == "water":
        t.refuse(rigid, "known here: none and all")
    elif rigid.plain not in ("none", "all"):
        raise rigid.wrong("none, water or all")
    else:
        t.set("dynamics.constraints", {"none": "none", "all": "h-bonds"}[rigid.plain], rigid)
    if rigid.plain == "all":
        t.set("dynamics.constraint_tolerance", tolerance.positive(), tolerance)
    elif tolerance.is_given:
        t.ignore(tolerance, "nothing is constrained")


def _steps(t: Translation) -> None:
    step, pairs, mesh = t.value("timestep"), t.value("nonbondedfreq"), t.value("fullelectfrequency")
    if not 0 < step.number() <= 100:
        raise step.wrong("a time step above 0, at most 100 fs")
    t.set("dynamics.timestep", step.number(), step)
    _slow_forces(t, pairs, mesh)
    algorithm = t.value("mtsalgorithm")
    if algorithm.plain not in ("impulse", "verleti"):
        t.refuse(algorithm, "known here: impulse")
    elif algorithm.is_given:
        t.agree(algorithm)
    momentum = t.value("zeromomentum")
    every = t.keys["dynamics.mesh_every"].value if "dynamics.mesh_every" in t.keys else 1
    t.set("dynamics.com_removal_every", every if momentum.flag() else 0, momentum)
    if t.value("commotion").flag():
        t.refuse(t.value("commotion"), "generated velocities have no motion of the centre of mass", False)
    elif t.has("commotion"):
        t.agree(t.value("commotion"))
    _stages(t)


def _slow_forces(t: Translation, pairs: Value, mesh: Value) -> None:
    """Translates the steps between actions of the slow forces."""
    has_mesh, one = t.value("pme").flag(), t.value("langevin").flag()
    note = "in each step, since Langevin's bath here has one time step" if one else ""
    t.set("dynamics.direct_every", 1 if one else max(1, pairs.count()), pairs, note=note)
    if has_mesh and mesh.is_given:
        t.set("dynamics.mesh_every", 1 if one else max(1, mesh.count()), mesh, note=note)
    elif mesh.is_given:
        t.ignore(mesh, "there is no mesh")
    elif has_mesh:
        note = note or "fullElectFrequency is nonbondedFreq by default"
        t.set("dynamics.mesh_every", 1 if one else max(1, pairs.count()), pairs, note=note)


def _stages(t: Translation) -> None:
    """Makes stages of the commands: those that minimise, then those that run."""
    total, first = t.value("numsteps"), t.value("firsttimestep")
    commands = [option for option in t.options if option.name in _COMMANDS]
    runs = [t.value_of(option) for option in commands if option.name == "run"]
    minimisations = [t.value_of(option) for option in commands if option.name == "minimize"]
    kinds = [option.name for option in commands if option.name != "reinitvels"]
    if "run" in kinds and "minimize" in kinds[kinds.index("run") :]:
        t.refuse(minimisations[-1], "a minimisation after a run: convert a file for each part")
    if minimisations:
        count = t.setting(sum(value.count() for value in minimisations), *minimisations)
        t.follow("stage.minimize.steps", *minimisations)
        force = t.setting(1e-3, note="NAMD goes on for all steps")
        t.stages.append(Stage("minimise", "minimize", {"minimize.steps": count, "minimize.max_force": force}))
    if runs:
        steps = t.setting(sum(_steps_of(value) for value in runs), *runs)
        if total.is_given:
            t.ignore(total, "run says it")
    elif total.is_given and not minimisations:
        runs = [total]
        steps = t.setting(total.count() - first.count(), total, *([first] if first.is_given else []))
        if steps.value < 0:
            raise total.wrong("at least firsttimestep")
        if first.is_given:
            t.follow("dynamics.steps", first)
    else:
        if total.is_given:
            t.ignore(total, "minimize says it")
        steps = None
    if steps is not None:
        t.follow("dynamics.steps", *runs)
        if minimisations:
            t.stages.append(Stage("dynamics", keys={"dynamics.steps": steps, **_after_minimising(t)}))
        else:
            t.keys["dynamics.steps"] = steps
    elif not minimisations:
        t.refuse(t.value("numsteps"), "no number of steps: neither numsteps, run nor minimize is given")


def _after_minimising(t: Translation) -> dict[str, Setting]:
    """Returns the velocities with which a run begins after `minimize`, which leaves none."""
    names = [option.name for option in t.options]
    last = len(names) - 1 - names[::-1].index("minimize")
    drawn = [t.value_of(option) for option in t.options[last:] if option.name == "reinitvels"]
    if not drawn and t.value("reassignfreq").count():
        drawn = [t.value("reassignfreq")]  # it draws them at step 0 too
    if drawn:
        return {"dynamics.velocities": t.setting("generate", *drawn)}
    return {"dynamics.velocities": t.setting("zero", note="minimize leaves no velocities")}


def _steps_of(value: Value) -> int:
    words = value.text.split()
    if words[:1] == ["norepeat"]:
        words = words[1:]
    return Value(value.name, " ".join(words), value.option, value.program).count()


def _output(t: Translation) -> None:
    energies, frames, restarts = t.value("outputenergies"), t.value("dcdfreq"), t.value("restartfreq")
    t.set("output.energy_every", energies.count(), energies)
    t.set("output.checkpoint_every", restarts.count(), restarts)
    if frames.count():
        t.set("output.trajectory", "dcd", frames)
        t.set("output.trajectory_every", frames.count(), frames)
    elif frames.is_given:
        t.agree(frames)
    for name in ("veldcdfreq", "forcedcdfreq"):
        value = t.value(name)
        if value.count():
            t.refuse(
                value, 'a DCD has positions alone: set output.trajectory = "segments", velocities or forces', False
            )
        elif value.is_given:
            t.agree(value)


def _watching(t: Translation) -> None:
    on, port, every = t.value("imdon"), t.value("imdport"), t.value("imdfreq")
    if not on.flag():
        if on.is_given:
            t.agree(on)
        for value in (port, every):
            if value.is_given:
                t.ignore(value, "IMDon is off")
        return
    if not 0 < port.count() < 65536:
        raise port.wrong("a port, 1 to 65535")
    if not every.count():
        raise every.wrong("a number of steps, at least 1")
    t.set("output.imd", port.count(), on, port)
    t.set("output.imd_every", every.count(), every)
    t.set("output.imd_version", 2, on)


def _prepare(t: Translation) -> None:
    given = {option.name: option.text for option in t.options}
    if t.value("amber").flag():
        files = ["amber", "--prmtop", given.get("parmfile", "PRMTOP")]
    else:
        parameters = [option.text for option in t.options if option.name == "parameters"]
        files = ["charmm", "--psf", given.get("structure", "PSF"), "--params", *(parameters or ["PARAMETERS"])]
    place = given.get("bincoordinates") or given.get("ambercoor") or given.get("coordinates", "COORDINATES")
    vectors = [given.get(f"cellbasisvector{n}", "").split() for n in (1, 2, 3)]
    box = [vector[n] for n, vector in enumerate(vectors) if len(vector) == 3 and not _rest(vector, n)]
    words = ["tessera", "prepare", *files, "--coords", place]
    if any(vectors):
        words += ["--box", *(box if len(box) == 3 else ["A", "B", "C", "--box-angles", "ALPHA", "BETA", "GAMMA"])]
    elif "extendedsystem" not in given:
        words += ["--vacuum"]
    t.prepare = [*words, "-o", "SYSTEM"]


def _rest(vector: list[str], axis: int) -> bool:
    """Tells whether other components than that along the axis are not 0."""
    return any(re.search(r"[1-9]", word) for n, word in enumerate(vector) if n != axis)
