"""Converts run parameters of GROMACS: units, defaults, what is refused, and mutations whose effect is known."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as of_hypothesis
from hypothesis import strategies as st

from tessera.convert.run_file import check_run_file
from tessera.errors import InputError
from tests.convert.converted import changes, check_change, conversion, settings, status
from tests.support.runs import Runs
from tests.support.samples import data, sample

WATER = """
; a run at constant temperature and pressure
integrator = md
dt         = 0.002   ; ps
nsteps     = 5000
nstcomm    = 10
nstxout    = 500
nstvout    = 500
nstenergy  = 50
nstlog     = 100
coulombtype = PME
rcoulomb   = 1.0
rvdw       = 1.0
vdw-modifier = potential-shift
DispCorr   = EnerPres
fourierspacing = 0.11
ewald_rtol = 1e-6
pme-order  = 6
tcoupl     = v-rescale
nsttcouple = 20
tc-grps    = System
tau-t      = 0.5
ref-t      = 310
pcoupl     = C-rescale
nstpcouple = 20
tau-p      = 4
compressibility = 5e-5
ref-p      = 2.0
constraints = h-bonds
gen-vel    = yes
gen-temp   = 310
gen-seed   = 7
"""


def changed(name: str, value: str) -> str:
    """Returns the text with another value of an option, or with one more."""
    lines = [line for line in WATER.splitlines() if line.partition("=")[0].strip().replace("_", "-") != name]
    return "\n".join([*lines, f"{name} = {value}"]) + "\n"


def test_units_and_origins(tmp_path: Path) -> None:
    found = conversion(tmp_path, "water.mdp", WATER)
    keys = settings(found)
    expected = {
        "dynamics.timestep": 2.0, "dynamics.steps": 5000, "dynamics.integrator": "leapfrog",
        "interactions.cutoff": 10.0, "interactions.lj": "cut", "interactions.lj_tail": True,
        "pme.spacing": 1.1, "pme.tolerance": 1e-6, "pme.order": 6, "pme.cutoff": 10.0,
        "dynamics.thermostat": "bussi", "dynamics.tau_t": 0.5, "dynamics.temperature": 310.0,
        "dynamics.barostat": "c-rescale", "dynamics.tau_p": 4.0, "dynamics.pressure": 2.0,
        "dynamics.compressibility": 5e-5, "dynamics.ensemble": "npt", "dynamics.coupling_every": 20,
        "dynamics.com_removal_every": 10, "dynamics.velocities": "generate", "dynamics.seed": 7,
        "output.trajectory_every": 500, "output.velocities": True, "output.energy_every": 50,
    }  # fmt: skip
    assert {name: keys[name] for name in expected} == expected
    assert "timestep = 2.0  # water.mdp:4 dt = 0.002" in found.text
    assert status(found, "nstlog") == "ignored" and status(found, "dt") == "translated"
    lowered = conversion(tmp_path, "short.mdp", WATER.replace("couple = 20", "couple = 100")).text
    assert re.search(r"coupling_every = 50  # .*GROMACS lowers it to 50 itself", lowered)
    assert all(row.line for row in found.rows if row.status != "default")
    (tmp_path / "run.toml").write_text(found.text)
    check_run_file(tmp_path / "run.toml")


def test_defaults_are_those_of_gromacs(tmp_path: Path) -> None:
    keys = settings(conversion(tmp_path, "bare.mdp", "integrator = md\n"))
    assert keys["dynamics.timestep"] == 1.0 and keys["dynamics.steps"] == 0
    assert keys["interactions.electrostatics"] == "cut" and keys["interactions.cutoff"] == 10.0
    assert keys["dynamics.ensemble"] == "nve" and keys["dynamics.velocities"] == "file"
    assert keys["output.energy_every"] == 1000 and keys["dynamics.com_removal_every"] == 100


@pytest.mark.parametrize(("version", "tau"), [("2022", 1.0), ("2023", 5.0), ("2024.3", 5.0), ("", 5.0)])
def test_defaults_that_changed(tmp_path: Path, version: str, tau: float) -> None:
    text = "\n".join(line for line in WATER.splitlines() if not line.startswith("tau-p"))
    found = conversion(tmp_path, "old.mdp", text, source=f"gromacs{'@' if version else ''}{version}")
    assert settings(found)["dynamics.tau_p"] == tau
    assert any("tau-p is not given, and its default changed" in note for note in found.notes) == (not version)


def test_minimisation_is_a_stage(tmp_path: Path) -> None:
    found = conversion(tmp_path, "em.mdp", "integrator = steep\nemtol = 1000\nnsteps = 50\ndt = 0.002\nrvdw = 1\n")
    (stage,) = settings(found)["stage"]
    assert stage["kind"] == "minimize" and stage["minimize"]["steps"] == 50
    assert stage["minimize"]["max_force"] == pytest.approx(1000 / 41.84)
    (tmp_path / "em.toml").write_text(found.text)
    check_run_file(tmp_path / "em.toml")


def test_groups(tmp_path: Path) -> None:
    text = (
        changed("tc-grps", "Protein SOL").replace("= 0.5", "= 0.5 1.0").replace("ref-t      = 310", "ref-t = 300 310")
    )
    refused = conversion(tmp_path, "groups.mdp", text).refused
    assert [row.option for row in refused] == ["tc-grps"] and "--group SOL=SELECTION" in refused[0].note
    found = conversion(tmp_path, "groups.mdp", text, groups={"SOL": "resname SOL"})
    baths = settings(found)["bath"]
    assert [(row["select"], row["temperature"], row["tau_t"]) for row in baths] == [
        ("protein", 300.0, 0.5),
        ("resname SOL", 310.0, 1.0),
    ]
    (tmp_path / "groups.toml").write_text(found.text)
    check_run_file(tmp_path / "groups.toml")


#: option, value, and the keys that differ from those of WATER; "refused" where it has no counterpart
CHANGES: list[tuple[str, str, Any]] = [
    ("dt", "0.001", {"dynamics.timestep": 1.0}),
    ("integrator", "md-vv", {"dynamics.integrator": "velocity-verlet"}),
    ("integrator", "sd", {"dynamics.integrator": "velocity-verlet", "dynamics.thermostat": "langevin"}),
    ("tcoupl", "berendsen", {"dynamics.thermostat": "berendsen"}),
    # 20 intervals of Nosé and Hoover in tau-t = 0.5 ps are 12 steps of 2 fs
    ("tcoupl", "nose-hoover", {"dynamics.thermostat": "nose-hoover", "dynamics.integrator": "velocity-verlet",
                               "dynamics.chain": 1, "dynamics.coupling_every": 12,
                               "dynamics.tau_t": round(0.5 / (2 * math.pi), 9)}),
    ("pcoupl", "berendsen", {"dynamics.barostat": "berendsen"}),
    ("pcoupl", "Parrinello-Rahman", {}),
    ("pcoupl", "no", {"dynamics.ensemble": "nvt", **dict.fromkeys(
        f"dynamics.{key}" for key in ("barostat", "tau_p", "pressure", "compressibility", "coupling"))}),
    ("gen-temp", "100", {"dynamics.temperature": [[0.0, 100.0], [0.002, 310.0]]}),
    ("gen-temp", "0", {"dynamics.velocities": "zero"}),
    ("gen-vel", "no", {"dynamics.velocities": "file", "dynamics.seed": None}),
    ("constraints", "all-bonds", {"dynamics.constraints": "all-bonds"}),
    ("constraints", "none", {}),
    ("comm-mode", "None", {"dynamics.com_removal_every": 0}),
    ("vdw-modifier", "none", {}),
    ("rcoulomb", "1.2", {"pme.cutoff": 12.0}),
    ("nstvout", "0", {"output.velocities": None}),
    ("nstfout", "500", {"output.forces": True}),
    ("nstfout", "250", "refused"),
    ("nstxout-compressed", "250", {"output.selection": [
        {"name": "compressed", "select": "all", "every": 250, "compression": "rounded", "precision": 0.01}]}),
    ("nstxtcout", "250", {"output.selection": [
        {"name": "compressed", "select": "all", "every": 250, "compression": "rounded", "precision": 0.01}]}),
    ("mts", "yes", {"dynamics.integrator": "velocity-verlet", "dynamics.mesh_every": 2}),
    ("DispCorr", "no", {"interactions.lj_tail": False}),
    ("DispCorr", "Ener", "refused"),
    ("DispCorr", "AllEnerPres", {}),
    ("density-guided-simulation-active", "false", {}),
    ("colvars-active", "true", "refused"),
    ("emtol", "100", {}),
    ("sim-temp-low", "300", {}),
    ("nstexpanded", "100", {}),
    ("E-xt", "", {}),
    ("swap-frequency", "1", {}),
    ("coulombtype", "Cut-off", {"interactions.electrostatics": "cut", **dict.fromkeys(
        f"pme.{key}" for key in ("cutoff", "tolerance", "order", "spacing"))}),
    ("coulombtype", "reaction-field", "refused"),
    ("coulombtype", "PME-switch", "refused"),
    ("coulomb-modifier", "potential-switch", "refused"),
    ("epsilon-r", "2", "refused"),
    ("pme-order", "5", "refused"),
    ("fourier-nx", "32", "refused"),
    ("integrator", "bd", "refused"),
    ("tcoupl", "andersen", "refused"),
    ("comm-mode", "angular", "refused"),
    ("comm-grps", "Protein", "refused"),
    ("constraints", "h-angles", "refused"),
    ("free-energy", "yes", "refused"),
    ("electric-field-x", "0.1 0 0 0", "refused"),
    ("pull", "yes", "refused"),
    ("disre", "simple", "refused"),
    ("define", "-DPOSRES", "refused"),
    ("define", "-DPOSRES_FC=1000", "refused"),
    ("freezegrps", "Protein", "refused"),
    ("mass-repartition-factor", "3", "refused"),
    ("pbc", "xy", "refused"),
    ("annealing", "periodic", "refused"),
    ("nwall", "2", "refused"),
    ("implicit-solvent", "GBSA", "refused"),
    ("nstlog", "7", {}),
    ("nstlist", "10", {}),
    ("lincs-iter", "2", {}),
    ("free-energy", "no", {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "effect"), CHANGES)
def test_known_changes(tmp_path: Path, name: str, value: str, effect: Any) -> None:
    check_change(tmp_path, "water.mdp", (WATER, changed(name, value)), name, effect, is_physics=name != "nstfout")


def test_annealing_without_a_bath(tmp_path: Path) -> None:
    text = re.sub(r"(tcoupl|pcoupl) .*\n", "", WATER) + "annealing-npoints = 2\nannealing-time = 0 1\n"
    found = conversion(tmp_path, "nve.mdp", text)
    assert settings(found)["dynamics.ensemble"] == "nve" and status(found, "annealing-npoints") == "ignored"


def test_replaced_methods_are_told(tmp_path: Path) -> None:
    found = conversion(tmp_path, "pr.mdp", changed("pcoupl", "Parrinello-Rahman"))
    assert status(found, "pcoupl") == "replaced" and any("Parrinello" in note for note in found.notes)


_NUMBERS = {
    "dt": ("dynamics.timestep", 1000, st.integers(1, 40).map(lambda n: n / 10000)),
    "nsteps": ("dynamics.steps", 1, st.integers(1, 10**9)),
    "rcoulomb": ("pme.cutoff", 10, st.integers(1001, 2000).map(lambda n: n / 1000)),
    "fourierspacing": ("pme.spacing", 10, st.integers(50, 200).map(lambda n: n / 1000)),
    "ref-p": ("dynamics.pressure", 1, st.integers(-1000, 1000)),
    "tau-p": ("dynamics.tau_p", 1, st.integers(1, 100)),
    "nstenergy": ("output.energy_every", 1, st.integers(0, 10**6)),
    "nstcomm": ("dynamics.com_removal_every", 1, st.integers(0, 10**6)),
}
_MANY = of_hypothesis(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@_MANY
@given(st.sampled_from(sorted(_NUMBERS)).flatmap(lambda name: st.tuples(st.just(name), _NUMBERS[name][2])))
def test_numbers_follow_their_units(tmp_path: Path, pair: tuple[str, float]) -> None:
    name, value = pair
    key, scale, _ = _NUMBERS[name]
    before = settings(conversion(tmp_path, "water.mdp", WATER))
    after = settings(conversion(tmp_path, "other.mdp", changed(name, repr(value))))
    assert after[key] == pytest.approx(scale * value)
    assert set(changes(before, after)) <= {key, "dynamics.coupling_every"}


@_MANY
@given(st.from_regex(r"[a-z]{3,12}-[a-z]{2,8}", fullmatch=True))
def test_unknown_options_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"other\.mdp:\d+: GROMACS has no option"):
        conversion(tmp_path, "other.mdp", changed(f"x{name}", "1"), source="gromacs")


def test_an_option_beside_a_refused_one_is_not_called_unknown(tmp_path: Path) -> None:
    text = "integrator = md\ntcoupl = v-rescale\ntc-grps = System\ntau-t = -1\nref-t = 300\n"
    notes = {row.option: row.note for row in conversion(tmp_path, "bath.mdp", text, source="gromacs").refused}
    assert set(notes) == {"tc-grps", "tau-t", "ref-t"}
    assert notes["ref-t"] == notes["tc-grps"] == "it hangs on another option, which is refused"


@pytest.mark.slow(part="physics")
@pytest.mark.parametrize("file", ["apoa1_nve.mdp", "apoa1_nvt.mdp"])
def test_apoa1_has_the_energies_of_gromacs(runs: Runs, file: str) -> None:
    """GROMACS 2022.5 in double precision, of the same settings."""
    import json

    from tessera.convert import convert

    found = convert([data("apoa1", "gromacs", file)], "apoa1.tsr")
    keys = settings(found)
    wanted = json.loads(data("reference_energies.json").read_text())["apoa1_c36m"]["gromacs_2022.5_double_kJ"]
    chosen = {name: value for name, value in keys.items() if name.startswith(("interactions.", "pme."))}
    terms = runs.energy(sample("apoa1_gromacs"), chosen)["terms"]
    for term, name in {"lj": "LJ_SR_GROMACS_force-switch_1.0_1.2", "lj_14": "LJ-14", "dihedral": "Proper"}.items():
        assert terms[term] == pytest.approx(wanted[name] / 4.184, rel=2e-5), term
