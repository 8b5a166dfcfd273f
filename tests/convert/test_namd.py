"""Converts configurations of NAMD: its Tcl, units, defaults, stages, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as of_hypothesis
from hypothesis import strategies as st

from tessera.convert import convert
from tessera.convert.gromacs import alpha_of
from tessera.convert.namd_script import evaluate
from tessera.convert.run_file import check_run_file
from tessera.errors import InputError
from tests.convert.converted import check_change, conversion, settings, status
from tests.support.samples import data

WATER = """
set temp 310     ;# kelvin
structure        water.psf
coordinates      water.pdb
parameters       one.prm
parameters       two.str
paraTypeCharmm   on
exclude          scaled1-4
1-4scaling       1.0
cutoff           9.0     # in Angstrom
switching        on
switchdist       8.0
pairlistdist     11
timestep         2.0
rigidBonds       all
nonbondedFreq    1
fullElectFrequency = 2
cellBasisVector1 40 0 0
cellBasisVector2 0 41 0
cellBasisVector3 0 0 42
PME              yes
PMEGridSpacing   1.1
temperature      $temp
seed             7
langevin         on
langevinTemp     $temp
langevinDamping  [expr 2 + 3]
if {$temp > 300 && 1} {
  outputEnergies 50
} else {
  outputEnergies 10
}
dcdfreq          500
outputname       water
numsteps         5000
"""


def changed(name: str, value: str) -> str:
    """Returns the text with another value of an option, or with one more."""
    lines = [line for line in WATER.splitlines() if line.split()[:1] != [name]]
    return "\n".join([*lines, f"{name} {value}"]) + "\n"


def test_units_and_origins(tmp_path: Path) -> None:
    found = conversion(tmp_path, "water.conf", WATER)
    keys = settings(found)
    expected = {
        "interactions.cutoff": 9.0, "interactions.switch": 8.0, "interactions.lj": "potential-switch",
        "interactions.lj_tail": False, "pme.spacing": 1.1, "pme.order": 4, "dynamics.timestep": 2.0,
        "dynamics.steps": 5000, "dynamics.mesh_every": 1, "dynamics.direct_every": 1, "dynamics.constraints": "h-bonds",
        "dynamics.ensemble": "nvt", "dynamics.thermostat": "langevin", "dynamics.tau_t": 0.2,
        "dynamics.temperature": 310.0, "dynamics.velocities": "generate", "dynamics.com_removal_every": 0,
        "output.energy_every": 50, "output.trajectory": "dcd", "output.trajectory_every": 500,
    }  # fmt: skip
    assert {name: keys[name] for name in expected} == expected
    assert "langevindamping = 5" in found.text and "water.conf:29 outputenergies = 50" in found.text
    assert status(found, "pairlistdist") == "ignored"
    command = "tessera prepare charmm --psf water.psf --params one.prm two.str --coords water.pdb --box 40 41 42 -o"
    assert " ".join(found.prepare) == f"{command} system.tsr"
    (tmp_path / "run.toml").write_text(found.text)
    check_run_file(tmp_path / "run.toml")


def test_the_tolerance_is_that_of_namd(tmp_path: Path) -> None:
    """NAMD's log says 0.257952 /Å for a cut-off of 12 Å and a tolerance of 10⁻⁶."""
    text = changed("cutoff", "12").replace("switchdist       8.0", "switchdist 10")
    tolerance = settings(conversion(tmp_path, "water.conf", text))["pme.tolerance"]
    alpha = alpha_of(12.0, tolerance)
    assert alpha == pytest.approx(0.257952, abs=1e-6) and math.erfc(12 * alpha) / 12 == pytest.approx(1e-6)


def test_stages(tmp_path: Path) -> None:
    text = "\n".join(line for line in WATER.splitlines() if not line.startswith("numsteps"))
    found = conversion(tmp_path, "water.conf", f"{text}\nminimize 100\nreinitvels $temp\nrun 1000\nrun norepeat 500\n")
    first, second = settings(found)["stage"]
    assert first["kind"] == "minimize" and first["minimize"]["steps"] == 100
    assert second["dynamics"] == {"steps": 1500, "velocities": "generate"}
    (tmp_path / "run.toml").write_text(found.text)
    check_run_file(tmp_path / "run.toml")
    found = conversion(tmp_path, "water.conf", f"{text}\nminimize 100\nrun 1000\n")
    assert settings(found)["stage"][1]["dynamics"]["velocities"] == "zero"
    found = conversion(tmp_path, "water.conf", f"{text}\nrun 1000\nlangevinTemp 320\nrun 1000\n")
    assert found.refused[0].note.startswith("it changes while the run is under way")


CHANGES: list[tuple[str, str, Any]] = [
    ("switching", "off", {"interactions.lj": "cut", "interactions.switch": None}),
    ("vdwForceSwitching", "on", {"interactions.lj": "force-switch"}),
    ("LJcorrection", "on", {"interactions.lj_tail": True}),
    ("PME", "off", {"interactions.electrostatics": "shift", **dict.fromkeys(
        ("pme.tolerance", "pme.order", "pme.spacing", "dynamics.mesh_every"))}),
    ("rigidBonds", "none", {"dynamics.constraints": "none", "dynamics.constraint_tolerance": None}),
    ("rigidBonds", "water", "refused"),
    ("zeroMomentum", "on", {"dynamics.com_removal_every": 1}),
    ("temperature", "0", {"dynamics.velocities": "zero"}),
    ("temperature", "100", {"dynamics.temperature": [[0.0, 100.0], [0.002, 310.0]]}),
    ("langevin", "off", {"dynamics.ensemble": "nve", "dynamics.thermostat": None, "dynamics.tau_t": None,
                         "dynamics.mesh_every": 2}),
    ("langevinHydrogen", "off", {}),
    ("firsttimestep", "1000", {"dynamics.steps": 4000}),
    ("restartfreq", "100", {"output.checkpoint_every": 100}),
    ("BerendsenPressure", "off", {}),
    ("langevinPiston", "off", {}),
    ("margin", "3", {}),
    ("exclude", "1-3", "refused"),
    ("1-4scaling", "0.5", "refused"),
    ("dielectric", "4", "refused"),
    ("constraints", "on", "refused"),
    ("fixedAtoms", "on", "refused"),
    ("colvars", "on", "refused"),
    ("eFieldOn", "yes", "refused"),
    ("alch", "on", "refused"),
    ("rescaleFreq", "10", "refused"),
    ("reassignFreq", "10", "refused"),
    ("tCouple", "on", "refused"),
    ("GBIS", "on", "refused"),
    ("extraBonds", "on", "refused"),
    ("PMEInterpOrder", "5", "refused"),
    ("MTSAlgorithm", "naive", "refused"),
    ("waterModel", "swm4", "refused"),
    ("nosuchoption", "1", "refused"),
    ("velDCDfreq", "100", "refused"),
    ("binvelocities", "old.vel", "refused"),
    ("IMDon", "on\nIMDport 3000\nIMDfreq 20\nIMDwait on",
     {"output.imd": 3000, "output.imd_every": 20, "output.imd_version": 2}),
    ("IMDon", "off\nIMDport 3000", {}),
    ("useFlexibleCell", "yes", {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "effect"), CHANGES)
def test_known_changes(tmp_path: Path, name: str, value: str, effect: Any) -> None:
    texts, is_physics = (WATER, changed(name, value)), name not in ("velDCDfreq", "binvelocities")
    check_change(tmp_path, "water.conf", texts, name.lower(), effect, is_physics, source="namd")


PISTON = """
langevinPiston on
langevinPistonTarget 1.01325
langevinPistonPeriod 200
langevinPistonDecay 100
langevinPistonTemp $temp
useFlexibleCell yes
useConstantRatio yes
surfaceTensionTarget 5
"""


def test_pressure(tmp_path: Path) -> None:
    found = conversion(tmp_path, "water.conf", WATER + PISTON)
    keys = settings(found)
    assert (keys["dynamics.ensemble"], keys["dynamics.barostat"]) == ("npt", "c-rescale")
    assert keys["dynamics.coupling"] == "semi-isotropic" and keys["dynamics.surface_tension"] == 50.0
    assert status(found, "langevinpiston") == "replaced" and any("piston" in note for note in found.notes)
    other = conversion(tmp_path, "water.conf", WATER + PISTON.replace("Temp $temp", "Temp 300"))
    assert [row.option for row in other.refused] == ["langevinpistontemp"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("exec rm x\n", "other programs are not run"),
        ("puts x\n", "puts: of Tcl's commands"),
        ("cutoff [exec date]\n", "of Tcl's commands only set"),
        ("cutoff $none\n", r"\$none has no value"),
        ("if {1} {\n", "is not closed"),
        ("set a [expr __import__]\nset b [expr 2 ** 9 ** 9]\n", "expected an expression"),
    ],
)
def test_scripts_that_are_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        conversion(tmp_path, "bad.conf", text + WATER, source="namd")


@pytest.mark.parametrize(
    ("text", "value"),
    [("1 + 2 * 3", 7), ("7 / 2", 3), ("7 / 2.0", 3.5), ("!0 && 1 < 2", True), ('"on" == "on"', True), ("-2 - -3", 1)],
)
def test_expressions(text: str, value: float) -> None:
    assert evaluate(text, "x:1") == value


_MANY = of_hypothesis(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@_MANY
@given(st.integers(1, 400), st.integers(1, 100), st.integers(0, 10**6))
def test_numbers_follow_their_units(tmp_path: Path, step: int, friction: int, every: int) -> None:
    text = changed("timestep", str(step / 100)).replace("[expr 2 + 3]", str(friction))
    keys = settings(conversion(tmp_path, "other.conf", f"{text}\nrestartfreq {every}\n"))
    assert keys["dynamics.timestep"] == step / 100 and keys["output.checkpoint_every"] == every
    assert keys["dynamics.tau_t"] == pytest.approx(1 / friction)


@_MANY
@given(st.from_regex(r"[a-z]{4,12}", fullmatch=True))
def test_unknown_options_are_refused(tmp_path: Path, name: str) -> None:
    found = conversion(tmp_path, "other.conf", changed(f"x{name}", "1"))
    assert [row.option for row in found.refused] == [f"x{name}"]


@pytest.mark.parametrize("name", ["charmm/apoa1_nve.namd", "charmm/apoa1_nve_mts.namd", "charmm/apoa1_nvt.namd",
                                  "charmm22_xplor_par/apoa1.namd"])  # fmt: skip
def test_benchmarks_are_converted(tmp_path: Path, name: str) -> None:
    found = convert([data("apoa1", *name.split("/"))])
    assert not found.refused and settings(found)["pme.grid"] == [108, 108, 80]
    (tmp_path / "run.toml").write_text(found.text)
    check_run_file(tmp_path / "run.toml")


BOX = """ SET BOXTYPE  = HEXA
 SET A = 40
 SET ZCEN = 0.0
"""
CELL = """
exec tr "\\[:upper:\\]" "\\[:lower:\\]" < box.str | sed -e "s/ =//g" > input.str
source input.str
if { $boxtype == "hexa" } {
  set b [expr {$a / 2 * sqrt(3)}]
} else {
  set b $a
}
cellBasisVector1 $a 0 0
cellBasisVector2 0 $b 0
cellBasisVector3 0 0 $a
"""
FREE = "\n".join(line for line in WATER.splitlines() if not line.startswith("cellBasis"))


def test_texts_that_a_script_makes(tmp_path: Path) -> None:
    (tmp_path / "box.str").write_text(BOX)
    found = conversion(tmp_path, "run.namd", FREE + CELL)
    assert not found.refused and found.prepare[-6:-2] == ["--box", "40", "34.6410161514", "40"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["box.str", "run.namd"], "nothing is written"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("exec rm -r box.str", "other programs are not run"),
        ("exec rm -r > box.str", "tr and sed are followed"),
        ("exec cat box.str > other", "tr and sed are followed"),
        ("exec tr a b < box.str > other", "tr and sed are followed"),
        ('exec sed -e "s/A.*/b/g" box.str > other', "tr and sed are followed"),
        ('exec sed -i -e "s/A/b/g" box.str > other', "tr and sed are followed"),
        ('exec sed -e "s/A/b/g" no.str > other', "there is no file no.str"),
        ("source no.str", "there is no such file"),
        ("source again.namd", "more than 20 deep"),
        ("source twice.str", "100 files are sourced"),
        ("set a [expr system(1)]", "expected an expression"),
    ],
)
def test_what_a_script_may_not(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "box.str").write_text(BOX)
    (tmp_path / "empty.str").write_text("")
    (tmp_path / "twice.str").write_text("source empty.str\n" * 101)
    with pytest.raises(InputError, match=says):
        conversion(tmp_path, "again.namd", f"{WATER}{line}\n")
    assert (tmp_path / "box.str").read_text() == BOX


HELD = """
constraints on
consexp 2
consref held.pdb
conskfile held.pdb
conskcol B
constraintScaling 2.0
"""


def held(*constants: float) -> str:
    lines = [f"ATOM  {n:5d}  CA  ALA A   1    {n:8.3f}{0:8.3f}{0:8.3f}  1.00{k:6.2f}" for n, k in enumerate(constants)]
    return "\n".join(lines) + "\nEND\n"


def test_constraints(tmp_path: Path) -> None:
    (tmp_path / "held.pdb").write_text(held(1.0, 0.0, 0.5, 1.0))
    rows = settings(conversion(tmp_path, "run.namd", WATER + HELD))["restraint"]
    assert [(row["select"], row["k"]) for row in rows] == [("bynum 1:1 4:4", 2.0), ("bynum 3:3", 1.0)]
    assert rows[0]["reference"] == "system.tsr" and "axes" not in rows[0]
    (row, _) = settings(conversion(tmp_path, "run.namd", f"{WATER}{HELD}selectConstraints on\nselectConstrZ on\n"))[
        "restraint"
    ]
    assert row["axes"] == "z"
    assert "restraint" not in settings(conversion(tmp_path, "run.namd", WATER + HELD.replace("2.0", "0")))
    for old, new, option in (
        ("consexp 2", "consexp 4", "consexp"),
        ("conskfile held.pdb", "conskfile no.pdb", "constraints"),
    ):
        refused = conversion(tmp_path, "run.namd", (WATER + HELD).replace(old, new), lenient=True).refused
        assert [row.option for row in refused] == [option]


def test_extra_bonds(tmp_path: Path) -> None:
    (tmp_path / "dihe.txt").write_text("IMPROPER 7 0 5 3 $FC 120.0\nDIHEDRAL 7 11 13 15 0 180\nbond 0 1 2.0 3.0\n")
    text = (
        WATER
        + """
set out run
exec sed -e "s/\\$FC/{k}/g" dihe.txt > $out\\_extra.dihe
extraBonds yes
extraBondsFile $out\\_extra.dihe
"""
    )
    assert settings(conversion(tmp_path, "run.namd", text.replace("{k}", "500")))["restraint"] == [
        {"kind": "dihedral", "groups": ["index 7", "index 0", "index 5", "index 3"], "k": 500.0, "target": 120.0},
        {"kind": "distance", "groups": ["index 0", "index 1"], "k": 2.0, "target": 3.0},
    ]
    with pytest.raises(InputError, match=r"run_extra\.dihe:1: expected bond"):
        conversion(tmp_path, "run.namd", text.replace("{k}", "500 3"))
    refused = conversion(tmp_path, "run.namd", f"{WATER}extraBonds on\nextraBondsFile no.txt\n").refused
    assert [row.option for row in refused] == ["extrabondsfile"]


def test_collective_variables_without_force(tmp_path: Path) -> None:
    text = WATER + "colvars on\ncolvarsConfig run.col\n"
    config = "colvar {\n  name a\n}\nharmonic {\n  colvars a\n  centers 18\n  forceConstant 0\n}\n"
    (tmp_path / "run.col").write_text(config)
    assert not conversion(tmp_path, "run.namd", text).refused
    for other in (config.replace("nt 0", "nt 0.5"), config + "abf {\n}\n", "colvar {\n}\n"):
        (tmp_path / "run.col").write_text(other)
        assert [row.option for row in conversion(tmp_path, "run.namd", text, lenient=True).refused] == ["colvars"]


def test_velocities_that_are_drawn_anew(tmp_path: Path) -> None:
    text = WATER.replace("numsteps         5000", "minimize 10\nnumsteps 50\nrun 50")
    (minimise, moves) = settings(
        conversion(tmp_path, "run.namd", text.replace("minimize", "reassignFreq 5\nreassignTemp 310\nminimize"))
    )["stage"]
    assert moves["dynamics"] == {"steps": 50, "velocities": "generate"} and minimise["minimize"]["steps"] == 10
    for more in ("reassignTemp 300", "reassignTemp 310\nreassignIncr 5"):
        found = conversion(tmp_path, "run.namd", text.replace("minimize", f"reassignFreq 5\n{more}\nminimize"))
        assert "reassignfreq" in {row.option for row in found.refused}


@pytest.mark.parametrize(
    ("feature", "on", "off", "part"),
    [
        ("rescaleFreq", "10", "0", "rescaleTemp 300"),
        ("eFieldOn", "yes", "no", "eField 0 0 1"),
        ("alchOn", "on", "off", "alchLambda 0.5"),
        ("SMD", "on", "off", "SMDFile smd.pdb"),
        ("fixedAtoms", "on", "off", "fixedAtomsFile fixed.pdb"),
        ("pressureProfile", "on", "off", "pressureProfileSlabs 10"),
    ],
)
def test_options_of_a_feature_belong_to_it(tmp_path: Path, feature: str, on: str, off: str, part: str) -> None:
    """The feature is refused, and they are told to be its own, or it is off."""
    name = part.split()[0].lower()
    for value, fate in ((f"{feature} {on}", "refused"), (f"{feature} {off}", "off"), ("", "off")):
        found = conversion(tmp_path, "run.namd", f"{WATER}{value}\n{part}\n")
        (note,) = [row.note for row in found.rows if row.option == name]
        assert [row.option for row in found.refused] == ([feature.lower()] if fate == "refused" else [])
        assert status(found, name) == "ignored" and note.startswith("belongs to ") and note.endswith(f"is {fate}")


def test_the_last_temperature_of_velocities_that_are_drawn_anew(tmp_path: Path) -> None:
    warmed = f"{WATER}reassignTemp 310\nreassignIncr 5\nreassignHold 350\n"
    refused = conversion(tmp_path, "run.namd", f"{warmed}reassignFreq 10\n").refused
    assert {row.option for row in refused} == {f"reassign{word}" for word in ("freq", "temp", "incr", "hold")}
    assert all("velocities that are drawn anew" in row.note for row in refused)
    found = conversion(tmp_path, "run.namd", f"{warmed}reassignFreq 0\n")
    assert not found.refused and status(found, "reassignhold") == "ignored"


def test_what_is_not_given(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cutoff is not given, and it has no default"):
        conversion(tmp_path, "run.namd", WATER.replace("cutoff           9.0", ""))
