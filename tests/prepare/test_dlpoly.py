"""Tests DL_POLY's files: FIELD with all its terms, CONFIG of each level, CONTROL of both styles, and refusals."""

from __future__ import annotations

import gzip
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tessera.commands.summary import summary
from tessera.errors import InputError
from tessera.prepare.dlpoly import frozen_ranges, prepare_dlpoly
from tessera.prepare.dlpoly.config import read_config
from tessera.prepare.dlpoly.control import Control, read_control
from tessera.prepare.dlpoly.field import read_field
from tessera.prepare.dlpoly.run_file import alpha_of_precision, run_file_of
from tessera.system import System, read
from tests.support.commands import said
from tests.support.salt import ATOMS, CONTROL, KCAL, LATTICE, SALT, config_text, field_text, lattice, write_salt


def system_of(folder: Path, **field: Any) -> System:
    write_salt(folder, **field)
    return prepare_dlpoly(folder / "FIELD", folder / "CONFIG", read_control(folder / "CONTROL"))


def run_file(control: Control, **more: Any) -> dict[str, Any]:
    words = {"has_velocities": True, "periodic": True, "frozen": "", **more}
    return tomllib.loads(run_file_of(control, "salt.tsr", **words))


def control_of(folder: Path, text: str) -> Control:
    (folder / "CONTROL").write_text(text)
    return read_control(folder / "CONTROL")


def test_salt(tmp_path: Path) -> None:
    system = system_of(tmp_path)
    field = system.force_field
    assert (system.n_atoms, len(system.templates), system.net_charge()) == (216, 2, 0)
    assert field.type_name == ["Na+", "Cl-"] and field.pair_kind == ["born-huggins-mayer"] * 3
    assert field.pair_types.tolist() == [[0, 0], [0, 1], [1, 1]]
    expected = [2035.48 / KCAL, 3.1545, 2.755, 6.7448e4 / KCAL, 8.3708e4 / KCAL]
    np.testing.assert_allclose(field.pair_parameter[1], expected, rtol=1e-14)
    assert system.coulomb_constant == pytest.approx(332.0638, rel=1e-6) and system.coulomb_source == "dl_poly"
    assert (system.lennard_jones.cutoff, system.lennard_jones.tail) == (8.0, True)
    assert [t.name for t in system.templates] == ["Na+", "Cl-"]
    assert system.templates[0].atomic_number.tolist() == [11]


def test_velocities_are_scaled(tmp_path: Path) -> None:
    system = system_of(tmp_path)
    assert system.velocity is not None
    mass = system.atom_field("mass")
    assert np.abs(mass @ system.velocity).max() < 1e-9 * mass.sum()
    kelvin = (mass[:, None] * system.velocity**2).sum() / (0.831451115 * (3 * 216 - 3))
    assert kelvin == pytest.approx(500, rel=1e-12)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_config(tmp_path: Path, level: int) -> None:
    """Atoms may stand in any order if they have indices."""
    position, names = lattice(2)
    order = np.random.default_rng(4).permutation(len(names))
    (tmp_path / "CONFIG").write_text(config_text(position, names, 2 * LATTICE, level, 2, order))
    found = read_config(tmp_path / "CONFIG")
    np.testing.assert_allclose(found.position, position, atol=1e-9)
    assert (found.velocity is not None) == (level > 0)
    assert found.box is not None and found.box[1, 1] == pytest.approx(2 * LATTICE)
    assert found.name is not None and found.name[4] == b"Cl-"


def test_a_compressed_config_with_a_comment_in_its_second_line(tmp_path: Path) -> None:
    position, names = lattice(2)
    text = config_text(position, names, 2 * LATTICE, 1).replace("1 1 64", "1 1 # 64 ions in 8 cells", 1)
    for data in (text.encode(), gzip.compress(text.encode())):
        (tmp_path / "CONFIG").write_bytes(data)
        found = read_config(tmp_path / "CONFIG")
        np.testing.assert_allclose(found.position, position, atol=1e-9)
        assert found.name is not None and found.name.tolist() == [name.encode() for name in names]


@pytest.mark.parametrize("behind", ["", "0", "64", "64 -1234.5", "64 10 0.001", "64 10 0.001 0.01", "0.5", "ions 64"])
def test_what_stands_behind_the_keys_of_config(tmp_path: Path, behind: str) -> None:
    position, names = lattice(2)
    (tmp_path / "CONFIG").write_text(config_text(position, names, 2 * LATTICE).replace("0 1 64", f"0 1 {behind}", 1))
    np.testing.assert_allclose(read_config(tmp_path / "CONFIG").position, position, atol=1e-9)


def test_no_box(tmp_path: Path) -> None:
    position, names = lattice(2)
    (tmp_path / "CONFIG").write_text(config_text(position, names, 0, 0, 0))
    (tmp_path / "FIELD").write_text(field_text(8))
    system = prepare_dlpoly(tmp_path / "FIELD", tmp_path / "CONFIG")
    assert not system.periodic and "no CONTROL is given" in system.notes[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace("1 1 64", "1 6 64", 1), r"CONFIG, line 2: imcon is 6 \(periodic in x and y alone\)"),
        (lambda t: t.replace("1 1 64", "3 1 64", 1), r"line 2: levcfg is 3"),
        (lambda t: t.replace("1 1 64", "one", 1), r"line 2 has \"one\", expected the keys levcfg and imcon"),
        (lambda t: t.rsplit("\n", 2)[0] + "\n", r"CONFIG: ends after line 196, expected a velocity"),
        (lambda t: t.replace("Na+              1", "Cl-              1"), r"Cl- as atom 1 where FIELD has Na\+"),
        (lambda t: t.replace("Na+              1", "Na+              2"), "are not 1 to 64, each once"),
        (lambda t: t.replace("Na+  ", "Na+\x1b[31m#", 1), r"line 6: \"Na\+\\u001b\[31m#\" has more than the eight"),
        (lambda t: t.replace("1 1 64", "1 1 65", 1), r"CONFIG: has 64 atoms, but its second line says 65"),
        (lambda t: t.replace(t.splitlines()[6], "1.0 two 3.0"), r"CONFIG: line 7 has \"two\", expected a position"),
    ],
)  # fmt: skip
def test_bad_config(tmp_path: Path, change: Any, message: str) -> None:
    write_salt(tmp_path, 2)
    path = tmp_path / "CONFIG"
    changed = change(path.read_text())
    assert changed != path.read_text()
    path.write_text(changed)
    with pytest.raises(InputError, match=message):
        prepare_dlpoly(tmp_path / "FIELD", path)


WATER = ("OW 15.9996 -0.82", "HW 1.008 0.41", "HW 1.008 0.41")
ETHANE = ("C 12.011 -0.2 2", "H 1.008 0.0667 6")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"atoms": ("Na+ 22.9898 1 4", "Cl- 0 -1 4")}, r"FIELD, line 8: Cl- has mass 0; massless sites"),
        ({"atoms": ("Na+ 22.9898 1 4", "Cl- 35.453 -1 5", "X 1 0")}, r"Cl- as atom|CONFIG|topology has"),
        ({"potentials": ("Na+ K+ lj 1 2",)}, r"line 11: no atom is named 'K\+'; FIELD has Na\+, Cl-"),
        ({"potentials": ("Na+ Cl- lj 1 2", "Cl- Na+ lj 1 2")}, r"have a potential in line 11 already"),
        ({"potentials": ("Na+ Cl- snm 1 2 3 4",)}, r"pair potential 'snm' \(the shifted n–m potential\)"),
        ({"potentials": ("Na+ Cl- what 1 2 3 4",)}, r"'what' \(an unknown potential\) is not supported; known: 12-6"),
        ({"potentials": ("Na+ Cl- buck 1 0 3",)}, r"the length ρ of buck must be above 0"),
        ({"potentials": ("Na+ Cl- buck 1",)}, r"line 11: expected parameter 2 of buck as word 5"),
        ({"potentials": ("Na+ Cl- nm 1 6 9 3",)}, r"nm needs n > m > 0"),
        ({"potentials": ("Na+ Cl- tab",)}, r"there is no TABLE beside it: give --table"),
        ({"units": "hartree"}, r"line 2: units hartree: expected eV, kcal, kJ, K or internal"),
        ({"terms": ("shell 1", "1 5 10 0")}, r"line 9: shell: core–shell units \(polarisable ions\): not supported"),
        ({"terms": ("rigid 1", "3 1 2 3")}, r"rigid units; three-site water may be given by constraints"),
        ({"terms": ("pmf 3.0",)}, r"constraints of potentials of mean force are not supported|pmf"),
        ({"terms": ("teth 1", "harm 1 5.0")}, r"tethers; use \[\[restraint\]\] of the run file"),
        ({"terms": ("inversions 1", "harm 1 2 3 4 5 6")}, r"inversion potentials are not supported"),
        ({"terms": ("bonds 1", "mors 1 5 1 2 3")}, r"line 10: bond potential 'mors' is not supported; known: harm"),
        ({"terms": ("angles 1", "thrm 1 2 3 5 1 2")}, r"angle potential 'thrm' is not supported; known: harm"),
        ({"terms": ("dihedrals 1", "opls 1 2 3 4 5 6")}, r"dihedral potential 'opls' is not supported; known: cos"),
        ({"terms": ("bonds 1", "harm 1 9 1 2")}, r"line 10: atom 9 of salt, which has 8"),
        ({"terms": ("constraints 1", "1 5 2.8")}, r"atoms 1 and 5 of salt are constrained: only bonds to hydrogen"),
        ({"terms": ("something 1",)}, r"line 9: unknown directive 'something'"),
        ({"more": ("metal 1", "Na+ Na+ eam")}, r"metal: metal potentials are not supported"),
        ({"more": ("tbp 1", "Na+ Na+ Na+ harm 1 2")}, r"tbp: three-body potentials are not supported"),
        ({"more": ("tersoff 1",)}, r"tersoff: Tersoff potentials are not supported"),
        ({"more": ("extern", "elec 1 0 0")}, r"extern: an external field: not supported"),
    ],
)  # fmt: skip
def test_what_field_may_not_have(tmp_path: Path, more: dict[str, Any], message: str) -> None:
    write_salt(tmp_path, 2, **more)
    with pytest.raises(InputError, match=message):
        prepare_dlpoly(tmp_path / "FIELD", tmp_path / "CONFIG")


def test_frozen_atoms(tmp_path: Path) -> None:
    write_salt(tmp_path, 2, atoms=("Na+ 22.9898 1 4 1", ATOMS[1]))
    found = read_field(tmp_path / "FIELD")
    assert frozen_ranges(found).startswith("bynum 1:4 9:12 ")
    system = prepare_dlpoly(tmp_path / "FIELD", tmp_path / "CONFIG")
    assert 'set fixed = "bynum 1:4 9:12' in system.warnings[0]
    control = control_of(tmp_path, CONTROL)
    assert run_file(control, frozen=frozen_ranges(found))["dynamics"]["fixed"].startswith("bynum 1:4 9:12")


def molecules(folder: Path, atoms: tuple[str, ...], terms: tuple[str, ...], potentials: tuple[str, ...]) -> System:
    """Returns four molecules, far apart, in a box of 40 Å."""
    (folder / "FIELD").write_text(field_text(4, potentials, "kcal", atoms, terms))
    names = [line.split()[0] for line in atoms for _ in range(int([*line.split(), "1"][3]))]
    random = np.random.default_rng(6)
    position = np.concatenate([random.uniform(-2, 2, (len(names), 3)) + 9.0 * molecule - 14 for molecule in range(4)])
    (folder / "CONFIG").write_text(config_text(position, names * 4, 40.0))
    return prepare_dlpoly(folder / "FIELD", folder / "CONFIG")


def test_rigid_water(tmp_path: Path) -> None:
    terms = ("constraints 3", "1 2 1.0", "1 3 1.0", "2 3 1.63298")
    system = molecules(tmp_path, WATER, terms, ("OW OW lj 0.1554 3.1656",))
    template = system.templates[0]
    assert template.rigid_water and template.always_rigid and template.settle == (1.0, 1.63298)
    assert len(template.exclusions) == 3 and len(system.force_field.pair_types) == 0
    np.testing.assert_allclose(system.force_field.type_lj[0], (3.1656, 0.1554))


def test_a_molecule_of_two_hydrogens_is_one_group(tmp_path: Path) -> None:
    system = molecules(tmp_path, ("H 1.008 0.0 2",), ("constraints 1", "1 2 0.74"), ("H H lj 0.02 2.6",))
    assert system.templates[0].group.tolist() == [0, 0]


OH, HOH = ("bonds 2", "harm 1 2 1059.162 1.012", "harm 1 3 1059.162 1.012"), ("angles 1", "harm 2 1 3 75.9 113.24")


@pytest.mark.parametrize(
    ("terms", "rigid", "held", "flexible", "counts"),
    [
        ((*OH, *HOH), False, False, True, (0, 0, 4)),
        ((*OH, *HOH, "constraints units 0"), False, False, True, (0, 0, 4)),
        (("bonds 3", *OH[1:], "harm 2 3 200 1.6"), False, False, True, (0, 0, 4)),
        (("constraints 3", "1 2 1.0", "1 3 1.0", "2 3 1.633"), True, True, False, (4, 0, 0)),
        (("constraints 3", "1 2 1.0", "1 3 1.0", "2 3 1.633", *HOH), True, True, False, (4, 0, 0)),
        (("constraints 2", "1 2 1.0", "1 3 1.0", *HOH), False, True, False, (0, 8, 0)),
        (("constraints 1", "1 2 1.0", "bonds 1", OH[2], *HOH), False, True, True, (0, 4, 4)),
        (HOH, False, False, False, (0, 0, 0)),
        (("bonds 2", "harm 1 2 0 1", "harm 1 3 0 1", *HOH), False, False, False, (0, 0, 0)),
    ],
)
def test_water_is_as_rigid_as_field_says(
    tmp_path: Path, terms: tuple[str, ...], rigid: bool, held: bool, flexible: bool, counts: tuple[int, int, int]
) -> None:
    """In every run: what constraints hold is held, and what has a potential is flexible."""
    system = molecules(tmp_path, WATER, terms, ("OW OW lj 0.1554 3.1656",))
    template = system.templates[0]
    assert (template.rigid_water, template.always_rigid, template.flexible) == (rigid, held, flexible)
    assert template.settle == ((1.0, 1.633) if rigid else None)
    found = summary(system, tmp_path, 0.0)["rigid"]
    assert (found["waters"], found["hydrogen_bonds"], found["flexible_molecules"]) == counts


@pytest.mark.parametrize("order", [(1, 0, 2), (1, 2, 0)])
def test_rigid_water_in_another_order_of_its_atoms(tmp_path: Path, order: tuple[int, ...]) -> None:
    at = [order.index(i) + 1 for i in range(3)]  # of O, H and H
    terms = ("constraints 3", f"{at[0]} {at[1]} 1.0", f"{at[0]} {at[2]} 1.0", f"{at[1]} {at[2]} 1.633")
    system = molecules(tmp_path, tuple(WATER[i] for i in order), terms, ("OW OW lj 0.1554 3.1656",))
    assert system.templates[0].always_rigid and len(system.templates[0].term("bond")) == 3
    assert summary(system, tmp_path, 0.0)["rigid"]["hydrogen_bonds"] == 12


def test_the_run_file_holds_nothing_else(tmp_path: Path) -> None:
    molecules(tmp_path, WATER, (*OH, *HOH), ("OW OW lj 0.1554 3.1656",))
    (tmp_path / "CONTROL").write_text(CONTROL.replace("restart scale\n", ""))
    said("prepare", "dlpoly", tmp_path, "-o", tmp_path / "x.tsr")
    assert tomllib.loads((tmp_path / "x.toml").read_text())["dynamics"]["constraints"] == "none"


def test_terms_of_a_molecule(tmp_path: Path) -> None:
    """Constants have a factor ½ in DL_POLY, and angles are in degrees."""
    bonds = ("bonds 2", "harm 1 2 620.0 1.53", "-hrm 1 3 10.0 1.09")
    angles = ("angles 1", "harm 3 1 2 75.0 110.7")
    dihedrals = ("dihedrals 2", "cos 3 1 2 6 0.28 180.0 3 0.8333 0.5", "cos3 4 1 2 7 0.2 0.4 0.6")
    potentials = ("C C lj 0.1 3.4", "H H lj 0.02 2.6", "C H buck 1000 0.3 50")
    system = molecules(tmp_path, ETHANE, (*bonds, *angles, *dihedrals), potentials)
    field, template = system.force_field, system.templates[0]
    tables = {kind: field.table(kind)[template.term(kind).parameter] for kind in template.terms}
    np.testing.assert_allclose(tables["bond"], [[310, 1.53], [5, 1.09]])
    np.testing.assert_allclose(tables["angle"], [[37.5, np.radians(110.7)]])
    expected = [[0.28, 3, np.pi], [0.1, 1, 0], [0.2, 2, np.pi], [0.3, 3, 0]]
    np.testing.assert_allclose(tables["dihedral"], expected)
    np.testing.assert_allclose(tables["pair_14"], [[2.6, 0.01, 0.8333]])
    excluded = {tuple(pair) for pair in template.exclusions.tolist()}
    assert (0, 2) in excluded  # by the dihedral; a key with a dash excludes nothing
    assert {(2, 5), (3, 6)} <= excluded and (4, 7) not in excluded
    assert field.pair_kind == ["buckingham"] and field.nbfix_types.tolist() == []


def test_a_pair_is_scaled_by_its_first_dihedral_alone(tmp_path: Path) -> None:
    """As in DL_POLY's dihedrals_14_check: several cosines of one torsion scale its ends once, and not at all where an
    angle joins them."""
    bonds = ("bonds 1", "harm 1 2 620.0 1.53")
    dihedrals = ("cos 3 1 2 6 0.28 0 3 0.5 0.5", "cos 3 1 2 6 0.1 180 1 0.5 0.5", "cos 6 2 1 3 0.1 0 2 0.9 0.9")
    potentials = ("C C lj 0.1 3.4", "H H lj 0.02 2.6")
    for angles, expected in (((), [[2.6, 0.01, 0.5]]), (("angles 1", "harm 3 1 6 75.0 110.7"), [])):
        terms = (*bonds, *angles, "dihedrals 3", *dihedrals)
        system = molecules(tmp_path, ETHANE, terms, potentials)
        template = system.templates[0]
        found = system.force_field.table("pair_14")[template.term("pair_14").parameter]
        np.testing.assert_allclose(found, np.reshape(expected, (-1, 3)))
        assert len(template.term("dihedral")) == 3


def test_no_electrostatics_without_charges(tmp_path: Path) -> None:
    write_salt(tmp_path, 2, atoms=("Na+ 22.9898 0 4", "Cl- 35.453 0 4"), control=CONTROL.replace("steps 20", "no elec"))
    said("prepare", "dlpoly", tmp_path, "-o", tmp_path / "x.tsr")
    assert tomllib.loads((tmp_path / "x.toml").read_text())["interactions"]["electrostatics"] == "cut"


def test_a_scaled_pair_with_another_potential_is_refused(tmp_path: Path) -> None:
    dihedrals = ("bonds 1", "harm 1 2 1 1.5", "dihedrals 1", "cos 3 1 2 6 0.28 180.0 3 0.8333 0.5")
    with pytest.raises(InputError, match=r"line 1\d: a scaled 1-4 pair with a potential other than Lennard-Jones"):
        molecules(tmp_path, ETHANE, dihedrals, ("H H buck 1000 0.3 50",))


NEW = """title a lattice of salt
temperature 500.0 K
timestep 0.5 fs
time_run 1 ps
time_equilibration 100 steps
cutoff 1.2 nm
vdw_cutoff 10 ang
coul_method spme
ewald_precision 1e-5
ensemble npt
ensemble_method berendsen
ensemble_thermostat_coupling 100 fs
ensemble_barostat_coupling 1 ps
pressure_hydrostatic 2 katm
stats_frequency 10 steps
traj_calculate ON
traj_interval 0.1 ps
data_dump_frequency 500 steps
restart noscale
rdf_calculate ON
"""


def test_control_of_the_old_style(tmp_path: Path) -> None:
    control = control_of(tmp_path, CONTROL.replace("nve", "nvt hoover 0.01").replace("stats", "traj 1 5 2\nstats"))
    found = run_file(control)
    assert found["interactions"] == {"cutoff": 8}
    assert found["pme"] == {"cutoff": 8, "alpha": pytest.approx(alpha_of_precision(1e-6, 8), rel=1e-5), "order": 6}
    dynamics = found["dynamics"]
    assert (dynamics["steps"], dynamics["timestep"], dynamics["ensemble"]) == (20, 1, "nvt")
    assert (dynamics["thermostat"], dynamics["tau_t"], dynamics["coupling_every"]) == ("nose-hoover", 0.01, 1)
    assert (dynamics["velocities"], dynamics["temperature"]) == ("file", 500)
    assert found["output"] == {"energy_every": 2, "checkpoint_every": 1000, "trajectory_every": 5}
    assert control.scales_velocities and control.unused == ["job time 100"]


def test_control_of_the_new_style(tmp_path: Path) -> None:
    control = control_of(tmp_path, NEW)
    found = run_file(control)
    assert found["interactions"]["cutoff"] == 10 and found["pme"]["cutoff"] == 12
    dynamics = found["dynamics"]
    assert (dynamics["steps"], dynamics["timestep"], dynamics["ensemble"]) == (2000, 0.5, "npt")
    assert (dynamics["barostat"], dynamics["pressure"], dynamics["tau_p"]) == ("berendsen", 2026.5, 1)
    assert found["output"] == {"energy_every": 10, "checkpoint_every": 500, "trajectory_every": 200}
    assert control.unused == ["traj_calculate", "rdf_calculate"] and "first 100 steps" in control.notes[0]


def test_alpha_is_that_of_dl_poly() -> None:
    """DL_POLY's output for sodium chloride prints 0.26506 for a precision of 10⁻⁶ at 12 Å."""
    assert alpha_of_precision(1e-6, 12) == pytest.approx(0.26506, abs=5e-6)


@pytest.mark.parametrize(
    ("ensemble", "found"),
    [
        ("nvt langevin 2.0", {"thermostat": "langevin", "tau_t": 0.5}),
        ("nvt ber 0.5", {"thermostat": "berendsen", "tau_t": 0.5, "coupling_every": 10}),
        ("npt hoover 0.5 1.5", {"thermostat": "nose-hoover", "barostat": "mtk", "tau_p": 1.5}),
        ("npt mtk 0.5 1.5", {"thermostat": "nose-hoover", "barostat": "mtk", "pressure": 1.01325}),
        ("npt langevin 2.0 1.0", {"thermostat": "langevin", "barostat": "c-rescale", "tau_t": 0.5}),
    ],
)
def test_ensembles(tmp_path: Path, ensemble: str, found: dict[str, Any]) -> None:
    dynamics = run_file(control_of(tmp_path, CONTROL.replace("nve", ensemble)))["dynamics"]
    assert "langevin" not in ensemble or "tau_p" not in dynamics, "its second number is a friction"
    assert {key: dynamics[key] for key in found} == found


def test_without_restart_velocities_are_generated(tmp_path: Path) -> None:
    control = control_of(tmp_path, CONTROL.replace("restart scale\n", ""))
    assert run_file(control)["dynamics"]["velocities"] == "generate" and not control.scales_velocities


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CONTROL.replace("nve", "nvt evans"), "ensemble nvt evans is not supported; known: hoover, langevin"),
        (CONTROL.replace("nve", "nst ber 1 1"), r"ensemble nst \(a box that changes its shape\)"),
        (CONTROL.replace("steps 20", "steps 20\nscale 5"), 'line 5: scale 5: .* equilibrate with ensemble = "nvt"'),
        (CONTROL.replace("steps 20", "eps 2.5"), "a dielectric constant other than 1"),
        (CONTROL.replace("steps 20", "no elec"), "set the charges in FIELD to 0"),
        (CONTROL.replace("steps 20", "vdw shift"), "list every pair of atoms in FIELD, without a shift"),
        (CONTROL.replace("steps 20", "minim energy 20 1.0"), "use tessera minimize"),
        (CONTROL.replace("timestep", "variable timestep"), "a variable time step"),
        (CONTROL.replace("timestep 0.001\n", ""), "CONTROL has no timestep"),
        (CONTROL.replace("cutoff 8.0\n", ""), "CONTROL has no cutoff"),
        (CONTROL.replace("cutoff 8.0", "cutoff eight"), "line 6: expected a distance, a number, found .eight."),
        (NEW + "vdw_force_shift ON\n", "line 21: vdw_force_shift ON is not supported"),
        (NEW + "coul_dielectric_constant 2.0\n", "coul_dielectric_constant 2.0 is not supported"),
        (NEW.replace("1.2 nm", "1.2 mile"), "the unit 'mile' of cutoff is not known"),
        (NEW.replace("coul_method spme", "coul_method reaction_field"), "coul_method reaction_field is not supported"),
    ],
)  # fmt: skip
def test_bad_control(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_file(control_of(tmp_path, text))


def test_the_command(tmp_path: Path) -> None:
    write_salt(tmp_path)
    result = said("prepare", "dlpoly", tmp_path, "-o", tmp_path / "salt.tsr")
    assert "pairs   born-huggins-mayer for 3 pairs of types, in place of Lennard-Jones" in result
    assert "of CONTROL not used: close time 10" not in result
    assert tomllib.loads((tmp_path / "salt.toml").read_text())["input"]["system"] == "salt.tsr"
    again = read(tmp_path / "salt.tsr").force_field
    assert again.pair_kind == ["born-huggins-mayer"] * len(SALT)
    for words, message in (
        ([], "no FIELD: name a folder that has one, or give --field"),
        ([str(tmp_path / "none")], "no folder"),
        (["--field", str(tmp_path / "FIELD")], "no CONFIG"),
    ):
        assert message in said("prepare", "dlpoly", *words, "-o", tmp_path / "other.tsr", status=2)


@pytest.mark.parametrize("name", ["nacl27000/CONTROL.TEST001.nvt_hoover", "nacl27000_oldstyle/CONTROL"])
def test_controls_of_dl_poly(data_folder: Path, name: str) -> None:
    found = run_file(read_control(data_folder / "dlpoly" / name))
    assert found["dynamics"]["tau_t"] == 0.01 and found["dynamics"]["coupling_every"] == 1
    assert found["pme"]["alpha"] == pytest.approx(0.26506, abs=5e-6)
