"""Converts input files of AMBER: namelists, units, defaults, schedules, and what is refused."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from tessera.convert import convert
from tessera.convert.gromacs import alpha_of
from tessera.convert.run_file import check_run_file
from tessera.errors import InputError
from tessera.prepare.amber import prepare_amber
from tessera.system import write
from tests.convert.converted import check_change, conversion, settings, status
from tests.support.runs import Runs

WATER = """A title = with signs
&cntrl
  imin = 0, irest = 0, ntx = 1,   ! a comment, with commas
  nstlim = 5000, dt = 0.002,
  cut = 9.0, ntc = 2, ntf = 2,
  ntt = 3, gamma_ln = 2.0, temp0 = 310.0, tempi = 310.0, ig = 7,
  ntb = 2, ntp = 1, barostat = 2, pres0 = 2.0,
  ntpr = 50, ntwx = 500, ntwr = 1000, iwrap = 1,
/
&ewald
  dsum_tol = 1.0e-6, order = 6,
/
"""


def changed(name: str, value: str) -> str:
    """Returns the text with another value of an option, or with one more."""
    section, _, key = name.rpartition(".")
    text = re.sub(rf"(?<!\w){key} = [^,\n]*,", "", WATER)
    return text.replace(f"&{section or 'cntrl'}\n", f"&{section or 'cntrl'}\n  {key} = {value},\n")


def test_units_and_origins(tmp_path: Path) -> None:
    found = conversion(tmp_path, "md.in", WATER)
    keys = settings(found)
    expected = {
        "interactions.cutoff": 9.0, "interactions.lj": "cut", "interactions.lj_tail": True, "pme.order": 6,
        "pme.spacing": 1.0, "dynamics.timestep": 2.0, "dynamics.steps": 5000, "dynamics.constraints": "h-bonds",
        "dynamics.thermostat": "langevin", "dynamics.tau_t": 0.5, "dynamics.temperature": 310.0,
        "dynamics.ensemble": "npt", "dynamics.barostat": "monte-carlo", "dynamics.monte_carlo_every": 100,
        "dynamics.pressure": 2.0, "dynamics.velocities": "generate", "dynamics.seed": 7,
        "dynamics.com_removal_every": 1000, "output.energy_every": 50, "output.trajectory_every": 500,
        "output.checkpoint_every": 1000,
    }  # fmt: skip
    assert {name: keys[name] for name in expected} == expected
    assert keys["pme.tolerance"] == pytest.approx(9e-6)
    assert "timestep = 2.0  # md.in:4 dt = 0.002" in found.text and status(found, "iwrap") == "ignored"
    (tmp_path / "run.toml").write_text(found.text)
    check_run_file(tmp_path / "run.toml")


def test_the_tolerance_is_that_of_amber(tmp_path: Path) -> None:
    """AMBER prints an Ewald coefficient of 0.34864 /Å for its defaults, 8 Å and 10⁻⁵."""
    keys = settings(conversion(tmp_path, "md.in", "\n&cntrl\n nstlim=1,\n/\n"))
    alpha = alpha_of(8.0, keys["pme.tolerance"])
    assert alpha == pytest.approx(0.34864, abs=1e-5) and math.erfc(8 * alpha) / 8 == pytest.approx(1e-5)
    assert keys["dynamics.velocities"] == "zero" and keys["dynamics.ensemble"] == "nve"
    assert keys["dynamics.constraints"] == "none" and keys["output.energy_every"] == 50


def test_heating(tmp_path: Path) -> None:
    wt = "&wt TYPE='TEMP0', istep1=0, istep2=1000, value1=10.0, value2=300.0 /\n&wt TYPE='END' /\n"
    text = changed("nmropt", "1").replace("tempi = 310.0", "tempi = 10.0") + wt
    assert settings(conversion(tmp_path, "md.in", text))["dynamics.temperature"] == [[0.0, 10.0], [2.0, 300.0]]
    text = text.replace("'TEMP0'", "'CUT'")
    assert [row.option for row in conversion(tmp_path, "md.in", text).refused] == ["wt"]


def test_restraints(tmp_path: Path) -> None:
    text = changed("ntr", "1, restraint_wt = 5.0, restraintmask = ':WAT<:3.0'")
    assert {row.option for row in conversion(tmp_path, "md.in", text).refused} == {
        "ntr",
        "restraint_wt",
        "restraintmask",
    }
    found = conversion(tmp_path, "md.in", text, groups={"restraintmask": "backbone"})
    assert settings(found)["restraint"] == [{"kind": "position", "k": 5.0, "select": "backbone"}]
    (tmp_path / "run.toml").write_text(found.text)
    check_run_file(tmp_path / "run.toml")


MASKS = [
    ("@CA,C,N & !:WAT", "(name CA C N and (not resname WAT))"),
    (":1-3 & !@H=", "(resid 1:3 and (not name H*))"),
    (":1-10,15@CA", "(resid 1:10 15:15 and name CA)"),
    ("(!:WAT & @CA,C,O,N)", "((not resname WAT) and name CA C O N)"),
    ("!(:WAT,Na+,Cl- | @H=) | @5-7", "((not (resname WAT Na+ Cl- or name H*)) or bynum 5:7)"),
    (":WAT,3@O", "((resid 3:3 or resname WAT) and name O)"),
    ("*", "all"),
]


@pytest.mark.parametrize(("mask", "expected"), MASKS)
def test_masks(tmp_path: Path, mask: str, expected: str) -> None:
    found = conversion(tmp_path, "md.in", changed("ntr", f"1, restraint_wt = 5.0, restraintmask = '{mask}'"))
    assert settings(found)["restraint"] == [{"kind": "position", "k": 5.0, "select": expected}]


@pytest.mark.parametrize("mask", [":WAT<:3.0", "@%CT", "@/C", "(:1", ":1 :2", ":", "!", "!:1@CA", ":1-3 CA", ""])
def test_masks_without_a_counterpart(tmp_path: Path, mask: str) -> None:
    text = changed("ntr", f"1, restraint_wt = 5.0, restraintmask = '{mask}'")
    assert "restraintmask" in {row.option for row in conversion(tmp_path, "md.in", text).refused}


CARDS = """DISANG=a.rest
LISTIN=POUT
&end
Protein posres
10.0
RES 1 264 300 310
ATOM 7 9
END
Membrane
2.5
FIND
P31 * * PC
P * * *
SEARCH
RES 1 29238
END
Nothing
0.0
RES 1 2
END
END
"""


def test_groups_of_cards(tmp_path: Path) -> None:
    found = conversion(tmp_path, "md.in", changed("ntr", "1") + CARDS)
    assert settings(found)["restraint"] == [
        {"kind": "position", "k": 10.0, "select": "(resid 1:264 300:310 or bynum 7:9)"},
        {"kind": "position", "k": 2.5, "select": "resid 1:29238 and (name P31 and resname PC or name P)"},
    ]
    assert status(found, "disang") == status(found, "listin") == "ignored"
    told = changed("ntr", "1, nmropt = 1") + "&wt type='END' /\n" + CARDS
    assert [row.option for row in conversion(tmp_path, "md.in", told).refused] == ["disang"]
    assert {row.status for row in conversion(tmp_path, "md.in", WATER + CARDS).rows if row.option == "group"} == {
        "ignored"
    }


RST = """# a dihedral
 &rst iat= 7, 9, 11, 13, r1=-90.0, r2=-65.0, r3=-55.0, r4=-30.0, rk2=20.0, rk3=20.0, /
 &rst
  iat = 1, 2, 0, 0,
  r1=1.0, r2=3.0, r3=3.0, r4=8.0, nstep1=0, nstep2=0,
 &end
 &rst iat=3,4,5, rk2=0.0, rk3=0.0, /
"""


def test_a_file_of_restraints(tmp_path: Path) -> None:
    text = changed("nmropt", "1") + "&wt type='END' /\nDISANG=a.rest\n"
    (tmp_path / "a.rest").write_text(RST)
    assert settings(conversion(tmp_path, "md.in", text))["restraint"] == [
        {"kind": "dihedral", "groups": ["index 6", "index 8", "index 10", "index 12"], "k": 20.0, "target": -60.0,
         "flat": 5.0},
        {"kind": "distance", "groups": ["index 0", "index 1"], "k": 20.0, "target": 3.0},
    ]  # fmt: skip
    (tmp_path / "a.rest").write_text(RST.replace("20.0", "0"))
    assert "restraint" not in settings(conversion(tmp_path, "md.in", text))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("rk3=20.0", "rk3=10.0", "expected rk2 = rk3"),
        ("nstep1=0", "ifvari=1", "known here are iat"),
        ("iat = 1, 2", "iat = -1, 2", "numbers of atoms"),
        ("iat = 1, 2", "iat = 1", "numbers of atoms"),
        ("r4=-30.0,", "", "r4 is not given"),
        ("# a dihedral", "some text", "expected namelists &rst"),
        ("r2=-65.0", "r2=x", "expected a number"),
    ],
)
def test_files_of_restraints_that_are_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    (tmp_path / "a.rest").write_text(RST.replace(old, new))
    with pytest.raises(InputError, match=says):
        conversion(tmp_path, "md.in", changed("nmropt", "1") + "&wt type='END' /\nDISANG=a.rest\n")


@pytest.mark.parametrize("card", ["RES 1", "RES a b", "FIND\nP CT * PC\nSEARCH\nRES 1 2", "PART 1 2"])
def test_cards_that_are_none(tmp_path: Path, card: str) -> None:
    with pytest.raises(InputError, match="expected RES, ATOM, FIND and SEARCH"):
        conversion(tmp_path, "md.in", changed("ntr", "1") + f"some\n1.0\n{card}\nEND\nEND\n")


def test_vacuum(tmp_path: Path) -> None:
    text = "\n&cntrl\n imin=1, maxcyc=1, ntb=0, igb=0, cut=999\n/\n"
    found = conversion(tmp_path, "md.in", text)
    keys = settings(found)
    assert keys["interactions.cutoff"] == 1e6 and keys["interactions.electrostatics"] == "cut"
    assert "pme.order" not in keys and "--vacuum" in found.prepare
    assert settings(conversion(tmp_path, "md.in", text.replace("igb=0, cut=999", "igb=6")))
    (tmp_path / "run.toml").write_text(found.text)
    check_run_file(tmp_path / "run.toml")


def test_schedules_of_a_minimisation(tmp_path: Path) -> None:
    text = changed("imin", "1, maxcyc = 5, nmropt = 1") + "&wt type='END' /\n"
    assert not conversion(tmp_path, "min.in", text).refused
    text = text.replace("'END'", "'REST', istep1=0, istep2=0, value1=0.1, value2=1.0")
    assert [row.option for row in conversion(tmp_path, "min.in", text).refused] == ["wt"]


def test_a_minimisation_is_a_stage(tmp_path: Path) -> None:
    (stage,) = settings(conversion(tmp_path, "min.in", changed("imin", "1, maxcyc = 200, ncyc = 50")))["stage"]
    assert stage["kind"] == "minimize" and stage["minimize"]["steps"] == 200


CHANGES: list[tuple[str, str, Any]] = [
    ("cut", "10.0", {"interactions.cutoff": 10.0, "pme.tolerance": 1e-5}),
    ("ntc", "3", "refused"),  # ntf stays 2
    ("ntf", "1", {}),
    ("fswitch", "8.0", {"interactions.lj": "force-switch", "interactions.switch": 8.0, "interactions.lj_tail": False}),
    ("ewald.vdwmeth", "0", {"interactions.lj_tail": False}),
    ("ewald.ew_coeff", "0.35", {"pme.alpha": 0.35, "pme.tolerance": None}),
    ("ewald.nfft1", "48, nfft2 = 48, nfft3 = 50", {"pme.grid": [48, 48, 50], "pme.spacing": None}),
    ("tempi", "100.0", {"dynamics.temperature": [[0.0, 100.0], [0.002, 310.0]]}),
    ("tempi", "0.0", {"dynamics.velocities": "zero"}),
    ("irest", "1", {"dynamics.velocities": "file"}),
    ("ntt", "11", {"dynamics.thermostat": "bussi", "dynamics.integrator": "leapfrog", "dynamics.tau_t": 1.0}),
    ("ntt", "1", {"dynamics.thermostat": "berendsen", "dynamics.integrator": "leapfrog", "dynamics.tau_t": 1.0}),
    ("barostat", "1", {"dynamics.barostat": "berendsen", "dynamics.monte_carlo_every": None, "dynamics.tau_p": 1.0,
                       "dynamics.compressibility": 4.46e-5}),
    ("ntp", "2", {"dynamics.coupling": "anisotropic"}),
    ("ntp", "3, csurften = 3, gamma_ten = 20.0", {"dynamics.coupling": "semi-isotropic",
                                                 "dynamics.surface_tension": 400.0}),
    ("ntwv", "-1", {"output.velocities": True}),
    ("ntwprt", "100", {"output.select": "bynum 1:100"}),
    ("ntwv", "100", "refused"),
    ("ioutfm", "0", {}),
    ("icfe", "0", {}),
    ("ntt", "2", "refused"),
    ("ntt", "9", "refused"),
    ("ntp", "4", "refused"),
    ("igb", "5", "refused"),
    ("ntb", "0", "refused"),  # cut stays 9 Å
    ("ewald.order", "4", {}),
    ("ewald.use_pme", "1", {}),
    ("ewald.use_pme", "0", "refused"),
    ("nsnb", "25", {}),
    ("maxcyc", "100", {}),
    ("drms", "0.1", {}),
    ("icfe", "1", "refused"),
    ("ibelly", "1", "refused"),
    ("ntr", "1", "refused"),
    ("nmropt", "1", "refused"),
    ("efz", "0.1", "refused"),
    ("igamd", "3", "refused"),
    ("icnstph", "1", "refused"),
    ("gamma_ln", "0.0", "refused"),
    ("ewald.order", "5", "refused"),
    ("nosuchoption", "1", "refused"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "effect"), CHANGES)
def test_known_changes(tmp_path: Path, name: str, value: str, effect: Any) -> None:
    named = {"ntc": "ntf", "ntb": "cut"}.get(name, name)
    check_change(tmp_path, "md.in", (WATER, changed(name, value)), named, effect, is_physics=name != "ntwv")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("t\n&cntrl\n nstlim\n/\n", r"md.in:2: expected NAME = VALUE"),
        (WATER + "no such thing\n", r"expected a namelist, found 'no such"),
        (WATER + "title\n1.0\nRES 1 2\n", r"expected a namelist, found 'title"),
        ("t\n&cntrl\n dt = 0.001, dt = 0.002\n/\n", "dt is given twice"),
        ("t\n&cntrl\n dt = 0.001\n", r":2: &cntrl does not end: expected a line with /"),
        ("t\n&cntrl\n dt = abc\n/\n", "expected a number"),
    ],
)
def test_what_is_no_input(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        conversion(tmp_path, "md.in", text)


def test_an_empty_namelist_and_lines_between(tmp_path: Path) -> None:
    text = WATER[: WATER.index("&ewald")] + "DISANG=a.rest\n&end\n&ewald\n/\nCSA=a.csa\n/\n"
    found = conversion(tmp_path, "md.in", text)
    assert not found.refused and status(found, "disang") == "ignored"


def test_what_belongs_to_a_bath_that_is_refused(tmp_path: Path) -> None:
    assert [row.option for row in conversion(tmp_path, "md.in", changed("ntt", "2")).refused] == ["ntt"]


def test_other_namelists_are_refused(tmp_path: Path) -> None:
    assert [row.option for row in conversion(tmp_path, "md.in", WATER + "&qmmm\n qmmask = ':1'\n/\n").refused] == [
        "&qmmm"
    ]


def test_popc_has_the_energies_of_amber(tmp_path: Path, runs: Runs) -> None:
    """Amber 12, which prints four decimals; its Coulomb constant is that of the prmtop."""
    data = Path(__file__).parents[1] / "data"
    keys = settings(convert([data / "popc.mdin"], source="amber"))
    system = tmp_path / "popc.tsr"
    write(prepare_amber(data / "popc.prmtop", data / "popc.inpcrd", vacuum=True), system)
    terms = runs.energy(system, {name: value for name, value in keys.items() if name.startswith("interactions.")})[
        "terms"
    ]
    printed = dict(re.findall(r"([A-Z14][A-Z14 -]*?) += +(-?[\d.]+)", (data / "popc.mdout").read_text()))
    parts = {
        "BOND": ("bond",), "ANGLE": ("angle",), "DIHED": ("dihedral", "improper"), "VDWAALS": ("lj",),
        "EEL": ("coulomb_real",), "1-4 VDW": ("lj_14",), "1-4 EEL": ("coulomb_14",),
    }  # fmt: skip
    for name, ours in parts.items():
        assert sum(terms[term] for term in ours) == pytest.approx(float(printed[name]), abs=1e-4), name
