"""Converts the steps of CHARMM-GUI's archives: stages, restraints that become weaker, groups of an index file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tessera.convert import convert
from tessera.convert.run_file import check_run_file
from tessera.errors import InputError

_MDP = """
define      = {define}
integrator  = md
dt          = {dt}
nsteps      = {steps}
nstxout-compressed = {frames}
nstenergy   = 1000
vdw-modifier = Force-switch
rvdw_switch = 1.0
rvdw        = 1.2
coulombtype = PME
rcoulomb    = 1.2
tcoupl      = {bath}
tc_grps     = SOLU SOLV
tau_t       = 1.0 1.0
ref_t       = 303.15 303.15
constraints = h-bonds
nstcomm     = 100
comm_mode   = linear
comm_grps   = SOLU SOLV
"""
_STEEP = """
define      = {define}
integrator  = steep
emtol       = 1000.0
nsteps      = 5000
vdw-modifier = Force-switch
rvdw_switch = 1.0
rvdw        = 1.2
coulombtype = PME
rcoulomb    = 1.2
constraints = h-bonds
"""
_PRESSURE = """
pcoupl      = C-rescale
pcoupltype  = isotropic
tau_p       = 5.0
compressibility = 4.5e-5
ref_p       = 1.0
refcoord_scaling = com
"""
_TOP = """
[ moleculetype ]
PROA 3
[ atoms ]
1 N  1 ALA N  1 0.0 14.0
2 CA 1 ALA CA 1 0.0 12.0
3 CB 1 ALA CB 1 0.0 12.0
4 H  1 ALA H  1 0.0 1.0
#ifdef POSRES
[ position_restraints ]
1 1 POSRES_FC_BB POSRES_FC_BB POSRES_FC_BB
2 1 POSRES_FC_BB POSRES_FC_BB POSRES_FC_BB
3 1 POSRES_FC_SC POSRES_FC_SC POSRES_FC_SC
#endif
#ifdef DIHRES
[ dihedral_restraints ]
1 2 3 4 1 120.0 2.5 DIHRES_FC
#endif
[ moleculetype ]
LIP 3
[ atoms ]
1 P 1 LIP P 1 0.0 31.0
#ifdef POSRES
[ position_restraints ]
1 1 0.0 0.0 POSRES_FC_LIPID
#endif
[ system ]
some
[ molecules ]
PROA 1
LIP 2
"""


def hold(backbone: float, side: float, lipid: float, dihedral: float) -> str:
    """Returns the macros of a step."""
    names = {"BB": backbone, "SC": side, "LIPID": lipid}
    constants = " ".join(f"-DPOSRES_FC_{name}={k}" for name, k in names.items())
    return f"-DPOSRES {constants} -DDIHRES -DDIHRES_FC={dihedral}"


@pytest.fixture
def gromacs(tmp_path: Path) -> Path:
    folder = tmp_path / "gromacs"
    folder.mkdir()
    strong, weak = hold(4000, 2000, 1000, 1000), hold(50, 0, 0, 0)
    first = _MDP.format(define=strong, dt=0.001, steps=125000, frames=0, bath="v-rescale")
    second = _MDP.format(define=weak, dt=0.002, steps=250000, frames=5000, bath="v-rescale") + _PRESSURE
    last = _MDP.format(define="", dt=0.002, steps=500000, frames=50000, bath="nose-hoover") + _PRESSURE
    files = {
        "step6.0_minimization.mdp": _STEEP.format(define=strong),
        "step6.1_equilibration.mdp": first + "gen-vel = yes\ngen-temp = 303.15\n",
        "step6.2_equilibration.mdp": second,
        "step7_production.mdp": last.replace("define      = \n", ""),
        "topol.top": _TOP,
        "index.ndx": "[ SOLU ]\n1 2 3 4 5\n[ SOLV ]\n6\n",
        "step5_input.gro": "places\n",
        "README": "set cnt    = 1\nset cntmax = 10\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def stages(found: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    assert not found.refused, found.refused
    whole = tomllib.loads(found.text)
    return whole, whole["stage"]


def test_steps_of_gromacs(gromacs: Path) -> None:
    found = convert([gromacs.parent], "system.tsr")
    whole, (minimise, first, second, production) = stages(found)
    assert [stage["name"] for stage in whole["stage"]] == [
        "step6_0_minimization", "step6_1_equilibration", "step6_2_equilibration", "step7_production",
    ]  # fmt: skip
    assert minimise["kind"] == "minimize" and minimise["minimize"]["max_force"] == pytest.approx(1000 / 41.84)
    assert whole["interactions"] == {
        "cutoff": 12.0, "lj": "force-switch-gromacs", "switch": 10.0, "lj_tail": False, "electrostatics": "pme"
    }  # fmt: skip
    held = {tuple(row.get("groups", [row.get("select")])): row for row in minimise["restraint"]}
    assert held["bynum 1:2",]["k"] == pytest.approx(4000 / 836.8) and held["bynum 3:3",]["k"] == pytest.approx(
        2000 / 836.8
    )
    assert held["bynum 5:6",]["axes"] == "z" and held["bynum 5:6",]["reference"] == "system.tsr"
    dihedral = held["index 0", "index 1", "index 2", "index 3"]
    assert (dihedral["target"], dihedral["flat"]) == (120.0, 2.5)
    assert dihedral["k"] == pytest.approx(1000 / 2 / 4.184)
    assert "restraint" not in first, "those of the minimisation"
    assert [row["k"] for row in second["restraint"]] == [pytest.approx(50 / 836.8)]
    assert production["restraint"] == []
    assert first["dynamics"]["velocities"] == "generate" and "velocities" not in second["dynamics"]
    assert first["dynamics"]["timestep"] == 1.0 and second["dynamics"]["timestep"] == 2.0
    assert second["dynamics"]["ensemble"] == "npt" and "ensemble" not in production["dynamics"]
    assert [row["select"] for row in first["bath"]] == ["bynum 1:5", "bynum 6:6"]
    assert second["output"]["trajectory_every"] == 5000
    assert any("10 times" in note for note in found.notes)
    assert found.prepare[3:9] == ["--top", "topol.top", "--coords", "step5_input.gro", "--mdp", "step7_production.mdp"]
    (gromacs / "run.toml").write_text(found.text)
    check_run_file(gromacs / "run.toml")


def test_without_a_topology_restraints_are_refused(gromacs: Path) -> None:
    (gromacs / "topol.top").unlink()
    refused = convert([gromacs], lenient=True).refused
    assert {row.option for row in refused} == {"define"} and len(refused) == 3


_INP = """
{mini}
nstep       = {steps}    # number of steps
dt          = 0.001
nstout      = 1000
nstdcd      = 5000
coulomb     = PME
ewald_Tol   = 0.0005
vdw         = Force-switch
r_on        = 1.0
r_off       = 1.2
temp        = 303.15
fric_coeff  = 1
{more}
cons        = HBonds
"""


@pytest.fixture
def openmm(tmp_path: Path) -> Path:
    folder = tmp_path / "openmm"
    (folder / "restraints").mkdir(parents=True)
    mini = "mini_nstep = 5000\nmini_Tol = 100.0\ngen_vel = yes\ngen_temp = 303.15"
    held = "rest = yes\nfc_bb = 400.0\nfc_sc = 40.0\nfc_lpos = 40\nfc_ldih = 10"
    coupled = "pcouple = yes\np_ref = 1.0\np_type = membrane\np_XYMode = XYIsotropic\np_ZMode = ZFree\np_freq = 100"
    files = {
        "step4_equilibration.inp": _INP.format(mini=mini, steps=125000, more=f"pcouple = no\n{held}"),
        "step5_production.inp": _INP.format(mini="", steps=500000, more=f"{coupled}\nrest = no"),
        "restraints/prot_pos.txt": "0 BB\n1 BB\n2 SC\n",
        "restraints/lipid_pos.txt": "4\n5\n",
        "restraints/dihe.txt": "0 1 2 3 60.0 20.0\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_steps_of_openmm(openmm: Path) -> None:
    found = convert([openmm.parent], "system.tsr")
    whole, (minimise, first, production) = stages(found)
    assert found.program == "charmm-gui" and minimise["minimize"]["steps"] == 5000
    held = {row.get("select", "dihedral"): row for row in minimise["restraint"]}
    assert held["bynum 1:2"]["k"] == pytest.approx(400 / 418.4) and held["bynum 3:3"]["k"] == pytest.approx(40 / 418.4)
    assert held["bynum 5:6"]["axes"] == "z" and held["dihedral"]["k"] == pytest.approx(10 / 4.184)
    assert first["dynamics"] == {"steps": 125000, "velocities": "generate"}
    assert production["restraint"] == [] and production["dynamics"]["coupling"] == "semi-isotropic"
    assert whole["interactions"]["lj"] == "force-switch" and whole["dynamics"]["ensemble"] == "nvt"
    (openmm / "run.toml").write_text(found.text)
    check_run_file(openmm / "run.toml")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("fc_bb = 400.0", "fc_bb = -1", "at least 0"),
        ("fc_bb = 400.0", "fc_hmmm = 1", "HMMM"),
        ("p_XYMode = XYIsotropic", "p_XYMode = XYAnisotropic", "known here: XYIsotropic"),
        ("gen_temp = 303.15", "gen_temp = 300", "another temperature"),
        ("cons        = HBonds", "cons = HAngles", "angles are never"),
        ("nstout      = 1000", "nstout = 1000\nunheard = 1", "not known"),
        ("nstout      = 1000", "nstout = 1000\nNSTOUT = 1", "given already"),
        ("temp        = 303.15", "temp = nan", "finite"),
    ],
)
def test_what_is_refused(openmm: Path, old: str, new: str, says: str) -> None:
    for path in openmm.glob("step*.inp"):
        path.write_text(path.read_text().replace(old, new))
    try:
        refused = convert([openmm], lenient=True).refused
    except InputError as error:
        assert says in str(error)
        return
    assert any(says in row.note for row in refused)


_NAMD = """
structure    step3_input.psf
coordinates  step3_input.pdb
parameters   toppar/par.prm
exclude      scaled1-4
cutoff       12.0
switchdist   10.0
PME          yes
PMEGridSpacing 1.0
timestep     2.0
rigidBonds   all
langevin     on
langevinTemp 310
langevinDamping 1.0
"""
_NAMD_FIRST = """
exec tr "\\[:upper:\\]" "\\[:lower:\\]" < ../step3_pbcsetup.str | sed -e "s/ =//g" > step3_input.str
source step3_input.str
temperature  310
reassignFreq 500
reassignTemp 310
constraints  on
conskfile    restraints/prot_posres.ref
conskcol     B
cellBasisVector1 $a 0 0
cellBasisVector2 0 $a 0
cellBasisVector3 0 0 $a
minimize     5000
numsteps     125000
run          125000
"""
_NAMD_NEXT = """
source step3_input.str
binCoordinates step4_equilibration.coor
binVelocities  step4_equilibration.vel
extendedSystem step4_equilibration.xsc
langevinPiston on
langevinPistonTarget 1.01325
run          500000
"""


def test_steps_of_namd(tmp_path: Path) -> None:
    folder = tmp_path / "namd"
    (folder / "restraints").mkdir(parents=True)
    (tmp_path / "step3_pbcsetup.str").write_text(" SET A = 60.0\n")
    (folder / "step4_equilibration.inp").write_text(_NAMD + _NAMD_FIRST)
    (folder / "step5_production.inp").write_text(_NAMD + _NAMD_NEXT)
    column = "ATOM      1  N   ALA A   1       0.000   0.000   0.000  1.00  1.00\n"
    (folder / "restraints/prot_posres.ref").write_text(column + column.replace("1.00\n", "0.00\n"))
    found = convert([tmp_path], "system.tsr")
    whole, (minimise, first, production) = stages(found)
    assert found.program == "namd" and whole["dynamics"]["ensemble"] == "nvt"
    assert minimise["restraint"] == [{"kind": "position", "select": "bynum 1:1", "k": 1.0, "reference": "system.tsr"}]
    assert first["dynamics"] == {"steps": 125000, "velocities": "generate"}
    assert production["restraint"] == [] and production["dynamics"]["barostat"] == "c-rescale"
    assert "velocities" not in production["dynamics"], "those of the stage before"
    assert found.prepare[found.prepare.index("--coords") + 1] == "step3_input.pdb" and "60.0" in found.prepare
    (folder / "run.toml").write_text(found.text)
    check_run_file(folder / "run.toml")


_MDIN = "some\n &cntrl\n    cut=9.0,\n {more}\n    watnam='WAT',  ! waters\n /\n{cards}"
_MDIN_MOVES = "imin=0, irest={again}, ntx=1, ntt=3, gamma_ln=1.0, temp0=303.15, nstlim=5000, dt=0.002, ntc=2, ntf=2,"
_CARDS = "Protein posres\n1.0\nRES 1 3 5 5\nEND\nEND\n"


def test_steps_of_amber(tmp_path: Path) -> None:
    folder = tmp_path / "amber"
    folder.mkdir()
    held = _MDIN.format(more="imin=1, maxcyc=5000, ncyc=2500, ntr=1,", cards=_CARDS)
    (folder / "step4.0_minimization.mdin").write_text(held)
    moves = _MDIN_MOVES.format(again=0) + " tempi=303.15, ntr=1,"
    (folder / "step4.1_equilibration.mdin").write_text(_MDIN.format(more=moves, cards=_CARDS))
    moves = _MDIN_MOVES.format(again=1) + " ntp=1, barostat=1,"
    (folder / "step5_production.mdin").write_text(_MDIN.format(more=moves, cards=""))
    found = convert([tmp_path], "system.tsr")
    _, (minimise, first, production) = stages(found)
    rows = [{"kind": "position", "k": 1.0, "select": "resid 1:3 5:5", "reference": "system.tsr"}]
    assert minimise["restraint"] == rows and "restraint" not in first and production["restraint"] == []
    assert first["dynamics"]["velocities"] == "generate" and production["dynamics"]["barostat"] == "berendsen"
    (folder / "run.toml").write_text(found.text)
    check_run_file(folder / "run.toml")


_GENESIS = """
[INPUT]
psffile = ../step3_input.psf
parfile = ../toppar/par.prm
pdbfile = ../step3_input.pdb
reffile = ../step3_input.pdb
{input}
[ENERGY]
forcefield = CHARMM
electrostatic = PME
vdw_force_switch = YES
water_model = NONE
{energy}
[BOUNDARY]
type = PBC
{rest}
"""
_GENESIS_HELD = """
[SELECTION]
group1 = (sid:PROA) and backbone
[RESTRAINTS]
nfunctions = 1
function1 = POSI
constant1 = 1.0
select_index1 = 1
"""
_GENESIS_MOVES = """
[DYNAMICS]
nsteps = 5000
timestep = 0.002
[CONSTRAINTS]
rigid_bond = YES
[ENSEMBLE]
ensemble = {ensemble}
tpcontrol = BUSSI
temperature = 303.15
"""


def test_steps_of_genesis(tmp_path: Path) -> None:
    folder = tmp_path / "genesis"
    folder.mkdir()
    minimise = "[MINIMIZE]\nnsteps = 100\n" + _GENESIS_HELD
    first, last = (_GENESIS_MOVES.format(ensemble=word) for word in ("NVT", "NPT"))
    local = "localresfile = step4.1.dihe\nrstfile = step4.0_minimization.rst"
    files = {
        "step4.0_minimization.inp": _GENESIS.format(input="", energy="nonb_limiter = YES", rest=minimise),
        "step4.1_equilibration.inp": _GENESIS.format(input=local, energy="", rest=first + _GENESIS_HELD),
        "step5_production.inp": _GENESIS.format(input="rstfile = step4.1.rst", energy="", rest=last),
        "step4.1.dihe": " DIHEDRAL 4 3 2 1 10 120.0\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    found = convert([tmp_path], "system.tsr")
    _, (minimise_stage, moves, production) = stages(found)
    row = {"kind": "position", "select": "(segid PROA and name N CA C O)", "k": 1.0, "reference": "system.tsr"}
    turn = {"kind": "dihedral", "groups": ["index 3", "index 2", "index 1", "index 0"], "k": 10.0, "target": 120.0}
    assert minimise_stage["restraint"] == [row] and moves["restraint"] == [row, turn] and production["restraint"] == []
    assert moves["dynamics"]["velocities"] == "generate" and "velocities" not in production["dynamics"]
    assert found.prepare[found.prepare.index("--coords") + 1] == "../step3_input.pdb"
    (folder / "run.toml").write_text(found.text)
    check_run_file(folder / "run.toml")


def test_several_programs(gromacs: Path, openmm: Path) -> None:
    with pytest.raises(InputError, match="say --from PROGRAM"):
        convert([gromacs.parent])
    assert convert([gromacs.parent], source="gromacs").program == "gromacs"
