"""Water is rigid or flexible as the input says, where it says so, whatever the order of its atoms."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openmm
import pytest
from openmm import app, unit

import tessera
from tessera.prepare.charmm import prepare_charmm
from tessera.prepare.gromacs import prepare_gromacs
from tessera.system import System, Template, read, write

REPORTS = Path(__file__).parents[2] / "reports"
PEPTIDE = Path(__file__).parents[3] / "examples" / "peptide" / "peptide.pdb"
NAMES = {"O": "OW 1 SOL OW 1 -0.834 15.9994", "H": "HW 1 SOL HW1 1 0.417 1.008", "h": "HW 1 SOL HW2 1 0.417 1.008"}
PLACE = {"O": (0.0, 0.0, 0.0), "H": (0.957, 0.0, 0.0), "h": (-0.24, 0.927, 0.0)}  # Å
BONDS = "[ bonds ]\n{O} {H} 1 0.1012 443153.38\n{O} {h} 1 0.1012 443153.38\n[ angles ]\n{H} {O} {h} 1 113.24 317.5656\n"
HELD = {
    "nothing": (BONDS, 0),
    "settles": ("[ settles ]\n{O} 1 0.09572 0.15139\n", 3),
    "constraints": ("[ constraints ]\n{O} {H} 1 0.09572\n{O} {h} 1 0.09572\n{H} {h} 1 0.15139\n", 3),
    "bonds": ("[ constraints ]\n{O} {H} 1 0.1012\n{O} {h} 1 0.1012\n[ angles ]\n{H} {O} {h} 1 113.24 317.5656\n", 2),
}


def _gromacs(folder: Path, order: str, body: str) -> System:
    at = {letter: order.index(letter) + 1 for letter in order}
    atoms = "".join(f"{at[letter]} {NAMES[letter]}\n" for letter in order)
    (folder / "w.top").write_text(
        "[ defaults ]\n1 2 yes 0.5 0.8333\n[ atomtypes ]\nOW 8 15.9994 0.0 A 0.315061 0.636386\n"
        "HW 1 1.008 0.0 A 0.0 0.0\n[ moleculetype ]\nSOL 2\n[ atoms ]\n"
        + atoms
        + body.format(**at)
        + "[ system ]\nw\n[ molecules ]\nSOL 2\n"
    )
    rows = [
        f"{m + 1:5d}SOL  {NAMES[letter].split()[3]:>5}{3 * m + i + 1:5d}"
        + "".join(f"{(x + 5 * m + 3) / 10:8.3f}" for x in PLACE[letter])
        for m in range(2)
        for i, letter in enumerate(order)
    ]
    (folder / "w.gro").write_text("\n".join(["w", "6", *rows, "  2.0 2.0 2.0"]) + "\n")
    return prepare_gromacs(folder / "w.top", folder / "w.gro")


@pytest.mark.parametrize("order", ["".join(p) for p in itertools.permutations("OHh")])
@pytest.mark.parametrize("held", HELD)
def test_water_of_gromacs(order: str, held: str, tmp_path: Path) -> None:
    body, n_held = HELD[held]
    if held == "settles" and order[0] != "O":
        pytest.skip("settles are of an oxygen and the two atoms behind it")
    (water,) = _gromacs(tmp_path, order, body).templates
    assert water.flexible is (n_held == 0)
    assert water.rigid_water is (n_held == 3 and order[0] == "O")
    assert water.always_rigid is (n_held > 0)
    if water.rigid_water:
        assert water.settle == pytest.approx((0.9572, 1.5139))


def _openmm(folder: Path, constraints: Any, rigid: bool, springs: bool = False) -> System:
    topology = app.Topology()
    chain = topology.addChain()
    for _ in range(2):
        residue = topology.addResidue("HOH", chain)
        oxygen, *hydrogens = (topology.addAtom(n, app.Element.getBySymbol(n[0]), residue) for n in ("O", "H1", "H2"))
        for hydrogen in hydrogens:
            topology.addBond(oxygen, hydrogen)
    topology.setPeriodicBoxVectors(np.eye(3) * 2.5 * unit.nanometer)
    positions = np.array([np.array(PLACE[letter]) + 5 * m for m in range(2) for letter in "OHh"]) / 10
    field = app.ForceField("tip3p.xml")
    more = {"flexibleConstraints": springs} if constraints or rigid else {}
    system = field.createSystem(topology, nonbondedMethod=app.PME, constraints=constraints, rigidWater=rigid, **more)
    (folder / "w.xml").write_text(openmm.XmlSerializer.serialize(system))
    return tessera.prepare_openmm(system, topology, positions)


@pytest.mark.parametrize("springs", [False, True])
@pytest.mark.parametrize(
    ("constraints", "rigid", "n_held"),
    [(None, False, 0), (app.HBonds, False, 2), (None, True, 3), (app.HBonds, True, 3)],
)
def test_water_of_openmm(constraints: Any, rigid: bool, n_held: int, springs: bool, tmp_path: Path) -> None:
    (water,) = _openmm(tmp_path, constraints, rigid, springs).templates
    assert water.flexible is (n_held == 0)
    assert water.rigid_water is (n_held == 3)
    assert water.settle == (pytest.approx((0.9572, 1.5139), abs=1e-4) if n_held == 3 else None)
    if not springs:
        assert water.always_rigid is (n_held > 0)


@pytest.mark.parametrize(("constraints", "flexible"), [(None, True), (app.HBonds, False)])
def test_molecules_of_openmm_are_as_flexible_as_the_system(constraints: Any, flexible: bool) -> None:
    pdb, field = app.PDBFile(str(PEPTIDE)), app.ForceField("amber14-all.xml")
    model = app.Modeller(pdb.topology, pdb.positions)
    model.addHydrogens(field)
    system = field.createSystem(model.topology, constraints=constraints)
    (peptide,) = tessera.prepare_openmm(system, model.topology, model.positions).templates
    assert peptide.flexible is flexible
    assert peptide.always_rigid is not flexible


def test_water_of_charmm_may_be_rigid_though_it_has_forces() -> None:
    (water,) = prepare_charmm(REPORTS / "hex_resid/h2o.psf", REPORTS / "hex_resid/h2o.pdb",
                              [REPORTS / "hex_resid/water.prm"]).templates  # fmt: skip
    assert water.rigid_water and not water.always_rigid and not water.flexible


def _marks(template: Template) -> tuple[bool, bool, bool]:
    return template.rigid_water, template.always_rigid, template.flexible


@pytest.mark.parametrize("held", HELD)
def test_a_run_holds_what_the_input_holds(held: str, tmp_path: Path, run_engine: Callable[..., Any]) -> None:
    system = _gromacs(tmp_path, "OHh", HELD[held][0])
    write(system, tmp_path / "w.tsr")
    assert _marks(read(tmp_path / "w.tsr").templates[0]) == _marks(system.templates[0])
    for mode in ("h-bonds", "none"):
        (tmp_path / "run.toml").write_text(
            f'\ufeff[input]\nsystem = "w.tsr"\n[interactions]\nelectrostatics = "cut"\ncutoff = 6.0\n'  # with a mark
            f'[dynamics]\nsteps = 1\ntimestep = 0.5\nensemble = "nve"\nconstraints = "{mode}"\n'
            f'[output]\nfolder = "{mode}"\n'
        )
        told = run_engine(tmp_path / "run.toml").stdout
        expected = {0: "nothing", 2: "4 bonds", 3: "2 waters"}[HELD[held][1]]
        flexible = "; 2 flexible molecules as in the input" if held == "nothing" else ""
        assert f'rigid: {expected} (constraints = "{mode}"){flexible}' in told
