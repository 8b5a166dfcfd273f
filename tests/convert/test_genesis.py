"""Converts control files of GENESIS, and compares the runs with GENESIS' logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera.convert import convert
from tessera.convert.genesis_restraints import selection_of
from tessera.convert.run_file import check_run_file
from tessera.errors import InputError
from tessera.select.grammar import NoCounterpartError
from tests.convert.converted import changes, check_change, conversion, settings, status
from tests.forces.test_files import BONDED, coulomb, genesis_log, genesis_table
from tests.support.runs import Runs
from tests.support.samples import data, sample

WATER = """
[INPUT]
psffile = water.psf   # a comment
parfile = water.prm
pdbfile = water.pdb

[OUTPUT]
dcdfile = run.dcd

[ENERGY]
forcefield    = CHARMM
switchdist    = 8.0
cutoffdist    = 9.0
pairlistdist  = 11.0
vdw_force_switch = YES
pme_max_spacing = 1.1

[DYNAMICS]
timestep      = 0.002
nsteps        = 5000
eneout_period = 50
crdout_period = 500
iseed         = 7
nbupdate_period = 10

[CONSTRAINTS]
rigid_bond    = YES

[ENSEMBLE]
ensemble      = NPT
tpcontrol     = BERENDSEN
temperature   = 310
pressure      = 2.0
tau_t         = 0.5
compressibility = 4.6e-5

[BOUNDARY]
type          = PBC
box_size_x    = 40
box_size_y    = 41
box_size_z    = 42
"""


def changed(name: str, value: str) -> str:
    """Returns the text with another value of SECTION.name, or with one more."""
    section, _, key = name.partition(".")
    lines = [line for line in WATER.splitlines() if line.partition("=")[0].strip() != key]
    if f"[{section.upper()}]" not in lines:
        lines.append(f"[{section.upper()}]")
    lines.insert(lines.index(f"[{section.upper()}]") + 1, f"{key} = {value}")
    return "\n".join(lines)


def test_units_and_origins(tmp_path: Path) -> None:
    found = conversion(tmp_path, "inp", WATER)
    keys = settings(found)
    expected = {
        "interactions.cutoff": 9.0, "interactions.switch": 8.0, "interactions.lj": "force-switch",
        "interactions.lj_tail": False, "interactions.electrostatics": "pme", "pme.tolerance": 1e-5, "pme.order": 4,
        "pme.spacing": 1.1, "dynamics.timestep": 2.0, "dynamics.steps": 5000, "dynamics.temperature": 310.0,
        "dynamics.pressure": 2.0265, "dynamics.tau_t": 0.5, "dynamics.tau_p": 5.0, "dynamics.thermostat": "berendsen",
        "dynamics.barostat": "berendsen", "dynamics.constraints": "h-bonds", "dynamics.com_removal_every": 10,
        "dynamics.velocities": "generate", "dynamics.seed": 7, "dynamics.coupling_every": 1,
        "output.energy_every": 50, "output.trajectory": "dcd", "output.trajectory_every": 500,
    }  # fmt: skip
    assert {name: keys[name] for name in expected} == expected
    assert keys["dynamics.compressibility"] == pytest.approx(4.6e-5 / 1.01325)
    assert "cutoff = 9.0  # inp:13 energy.cutoffdist = 9.0" in found.text
    assert status(found, "energy.pairlistdist") == "ignored"
    command = "tessera prepare charmm --psf water.psf --params water.prm --coords water.pdb --box 40 41 42 -o"
    assert " ".join(found.prepare) == f"{command} system.tsr"
    (tmp_path / "run.toml").write_text(found.text)
    check_run_file(tmp_path / "run.toml")


CHANGES: list[tuple[str, str, Any]] = [
    ("energy.vdw_force_switch", "NO", {"interactions.lj": "potential-switch"}),
    ("energy.switchdist", "9.0", {"interactions.lj": "cut", "interactions.switch": None}),
    ("energy.pme_alpha", "0.34", {"pme.alpha": 0.34, "pme.tolerance": None}),
    ("energy.pme_nspline", "8", {"pme.order": 8}),
    ("dynamics.integrator", "LEAP", {"dynamics.integrator": "leapfrog"}),
    ("dynamics.integrator", "VRES", {"dynamics.mesh_every": 1}),
    ("constraints.rigid_bond", "NO", {"dynamics.constraints": "none", "dynamics.constraint_tolerance": None}),
    ("ensemble.isotropy", "SEMI-ISO", {"dynamics.coupling": "semi-isotropic"}),
    ("ensemble.tpcontrol", "BUSSI", {"dynamics.thermostat": "bussi", "dynamics.barostat": "c-rescale"}),
    ("dynamics.rstout_period", "1000", {"output.checkpoint_every": 1000}),
    ("dynamics.velout_period", "500", {"output.velocities": True, "output.trajectory": "segments"}),
    ("dynamics.velout_period", "250", "refused"),
    ("dynamics.nbupdate_period", "5", {}),
    ("energy.output_style", "GENESIS", {}),
    ("energy.electrostatic", "CUTOFF", "refused"),
    ("energy.forcefield", "GROMARTINI", "refused"),
    ("energy.dielec_const", "4", "refused"),
    ("energy.implicit_solvent", "GBSA", "refused"),
    ("energy.contact_check", "YES", "refused"),
    ("energy.no_such_option", "1", "refused"),
    ("dynamics.target_md", "YES", "refused"),
    ("dynamics.hydrogen_mr", "YES", "refused"),
    ("dynamics.integrator", "VVER_CG", "refused"),
    ("constraints.noshake_index", "1", "refused"),
    ("ensemble.tpcontrol", "NO", "refused"),
    ("ensemble.ensemble", "NPAT", "refused"),
    ("restraints.nfunctions", "1", "refused"),
    ("restraints.function1", "POSI", {}),  # nfunctions is 0
    ("dynamics.barostat_period", "20", {}),
    ("energy.water_model", "NONE", {}),
    ("energy.nonb_limiter", "YES", "refused"),
    ("energy.vacuum", "YES", "refused"),
    ("restraints.nfunctions", "0", {}),
    ("remd.dimension", "1", "refused"),
    ("boundary.type", "NOBC", "refused"),
    ("input.localresfile", "x", "refused"),
]


@pytest.mark.parametrize(("name", "value", "effect"), CHANGES)
def test_known_changes(tmp_path: Path, name: str, value: str, effect: Any) -> None:
    is_physics = name != "dynamics.velout_period"
    check_change(tmp_path, "inp", (WATER, changed(name, value)), name, effect, is_physics)


def test_a_minimisation_is_a_stage(tmp_path: Path) -> None:
    text = (
        WATER.replace("[DYNAMICS]", "[MINIMIZE]")
        .replace("timestep      = 0.002\n", "")
        .replace("iseed         = 7\n", "")
    )
    found = conversion(tmp_path, "inp", text)
    (stage,) = settings(found)["stage"]
    assert stage["kind"] == "minimize" and stage["minimize"] == {"steps": 5000, "max_force": 0.54}


def test_surface_tension(tmp_path: Path) -> None:
    """1 dyn/cm is 10⁻³ N/m, and 1 bar nm 10⁻⁴ N/m."""
    text = changed("ensemble.ensemble", "NPgT").replace(
        "ensemble = NPgT", "ensemble = NPgT\nisotropy = SEMI-ISO\ngamma = 20"
    )
    assert settings(conversion(tmp_path, "inp", text))["dynamics.surface_tension"] == 200.0


def test_a_default_that_changed(tmp_path: Path) -> None:
    assert settings(conversion(tmp_path, "inp", WATER, source="genesis@1.1"))["pme.alpha"] == 0.34
    assert "pme.alpha" not in settings(conversion(tmp_path, "inp", WATER, source="genesis@2.1"))


def test_lines_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"inp:2: expected \[SECTION\] or name = value"):
        conversion(tmp_path, "inp", "[INPUT]\nnonsense\n[ENERGY]\n")


@pytest.mark.slow(part="physics")
@pytest.mark.parametrize("case", ["PME_opt_1dalltoall", "PME_opt_1dalltoall/PME_noopt_1dalltoall", "PME_FSW"])
def test_energies_are_those_of_genesis(runs: Runs, case: str) -> None:
    """Logs end in four decimals, and GENESIS' table of
    van der Waals has an error of 5·10⁻⁴, which other programs confirm."""
    found = convert([data("genesis", "test_spdyn", "jac_param27", case, "inp")], "jac.tsr")
    keys = settings(found)
    log = genesis_log(case)
    ignored = ("input.",)
    chosen = {name: value for name, value in keys.items() if not name.startswith(ignored)}
    terms = runs.energy(
        sample("genesis"), {n: v for n, v in chosen.items() if n.startswith(("interactions.", "pme."))}
    )["terms"]
    for term, column in BONDED.items():
        assert terms[term] == pytest.approx(log[column], abs=1.5e-4, rel=2e-5), term
    assert coulomb(terms) == pytest.approx(log["ELECT"], rel=1e-6)
    assert terms["lj"] + terms["lj_14"] == pytest.approx(log["VDWAALS"], rel=5e-4)


@pytest.mark.slow(part="physics")
@pytest.mark.parametrize("case", ["PME_opt_1dalltoall", "PME_FSW"])
def test_motion_is_that_of_genesis(runs: Runs, case: str) -> None:
    """The run file as it is, 20 steps. GENESIS' leapfrog begins in another way, so its log is not compared."""
    found = convert([data("genesis", "test_spdyn", "jac_param27", case, "inp")], "jac.tsr")
    chosen = {name: value for name, value in settings(found).items() if not name.startswith("input.")}
    table, moved = genesis_table(case), runs.run(sample("genesis"), chosen, threads=1).table
    assert list(table["STEP"]) == list(moved["step"][1:])
    assert np.allclose(moved["kinetic"][1:], table["KINETIC_ENE"], rtol=2e-5, atol=0)


def test_the_shift_of_genesis_is_refused() -> None:
    found = convert([data("genesis", "test_spdyn", "jac_param27", "CUTOFF", "inp")])
    assert [row.option for row in found.refused] == ["energy.electrostatic"]


FIELDS = [
    ("AMBER", "", {"interactions.lj": "cut", "interactions.switch": None, "interactions.lj_tail": True}),
    ("AMBER", "dispersion_corr = NONE", {"interactions.lj": "cut", "interactions.switch": None,
                                         "interactions.lj_tail": True}),
    ("GROAMBER", "", {"interactions.lj": "potential-switch"}),
    ("GROAMBER", "dispersion_corr = EPRESS", {"interactions.lj": "potential-switch", "interactions.lj_tail": True}),
    ("CHARMM", "dispersion_corr = EPRESS", {}),
]  # fmt: skip


@pytest.mark.parametrize(("field", "more", "effect"), FIELDS)
def test_what_the_force_field_overrides(tmp_path: Path, field: str, more: str, effect: Any) -> None:
    """GENESIS takes no switch and always a correction with AMBER, and a force switch with CHARMM alone."""
    before = settings(conversion(tmp_path, "inp", WATER))
    after = settings(conversion(tmp_path, "other", changed("energy.forcefield", f"{field}\n{more}")))
    assert changes(before, after) == effect


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(sid:PROA) and not backbone and not hydrogen",
         "((segid PROA and (not name N CA C O)) and (not name H*))"),
        ("sid:MEMB and ((rnam:POPC and (an:P)))", "(segid MEMB and (resname POPC and name P))"),
        ("an:CA or an:C or an: N & ai:3-7", "((name CA or name C) or (name N and bynum 3:7))"),
        ("segid:PROA & (resno:1-100 | resno:236) & heavy",
         "((segid PROA and (resid 1:100 or resid 236:236)) and (not name H*))"),
        ("all and ! an:CA", "(all and (not name CA))"),
    ],
)  # fmt: skip
def test_selections(text: str, expected: str) -> None:
    assert selection_of(text) == expected


@pytest.mark.parametrize("text", ["sid:A around_res:3.0", "(an:CA", "mname:W", "resno:5-", "an:CA an:C", "", "not"])
def test_selections_without_a_counterpart(text: str) -> None:
    with pytest.raises(NoCounterpartError):
        selection_of(text)


HELD = """
[SELECTION]
group1 = sid:PROA and \\   # goes on
         heavy
group2 = an:P ! an:C
[RESTRAINTS]
nfunctions    = {n}
function1     = POSI
constant1     = 2.5
select_index1 = 1
function2     = POSI
direction2    = Z
constant2     = 1.0
select_index2 = {group}
"""


def test_restraints(tmp_path: Path) -> None:
    (tmp_path / "local.dihe").write_text(" DIHEDRAL 36 25 28 30 250 120.0\n DIHEDRAL 1 2 3 4 0 0.0\n")
    text = changed("input.localresfile", "local.dihe").replace("[INPUT]", "[INPUT]\nreffile = places.pdb")
    found = conversion(tmp_path, "inp", text + HELD.format(n=1, group=2))
    assert settings(found)["restraint"] == [
        {"kind": "position", "select": "(segid PROA and (not name H*))", "k": 2.5, "reference": "places.pdb"},
        {"kind": "dihedral", "groups": ["index 35", "index 24", "index 27", "index 29"], "k": 250.0, "target": 120.0},
    ]
    assert status(found, "restraints.constant2") == "ignored"
    refused = {row.option: row.note for row in conversion(tmp_path, "inp", text + HELD.format(n=2, group=2)).refused}
    assert "an:C" not in refused and "no counterpart" in refused["selection.group2"]
    assert refused.keys() >= {"restraints.function2", "restraints.constant2", "restraints.select_index2"}
    refused = {row.option: row.note for row in conversion(tmp_path, "inp", text + HELD.format(n=2, group=3)).refused}
    assert "number of a group" in refused["restraints.select_index2"]


def test_minimising_atoms_that_are_too_near(tmp_path: Path) -> None:
    text = WATER[: WATER.index("[DYNAMICS]")].replace("[ENERGY]", "[ENERGY]\nnonb_limiter = YES\ncontact_check = YES")
    found = conversion(tmp_path, "min", text + "[MINIMIZE]\nnsteps = 10\n[BOUNDARY]\ntype = PBC\n")
    assert not found.refused and status(found, "energy.nonb_limiter") == "ignored"
