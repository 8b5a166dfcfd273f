"""A bilayer of POPC in water at constant pressures along and across it: area, thickness, virial by differences."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np

import tessera
from bench.common import engine
from bench.common.options import Common, script
from bench.common.results import table
from bench.physics.liquids import Array, Mean
from tessera.system import System, read, write

TEMPERATURE = 303.0  # K
LIPIDS = 128  # of the patch that OpenMM's Modeller repeats
#: Area of a lipid, Å², and distance of the two layers of phosphorus, Å, of POPC at 303 K with Lipid14, whence Lipid17
#: has most parameters: Dickson et al. (2014). The area is that of a simulation, the distance that of an experiment.
AREA, THICKNESS = 65.6, 37.0
INTERACTIONS: engine.Settings = {
    "interactions": {"cutoff": 10.0, "switch": 10.0, "lj": "cut", "lj_tail": True, "electrostatics": "pme"}
}


def membrane(folder: Path) -> tuple[Path, Path]:
    """Writes a patch of 128 POPC in water with salt, made once by OpenMM's Modeller with Lipid17. Returns the system
    file and that of the same atoms without rigid bonds."""
    rigid, flexible = folder / "popc.tsr", folder / "popc_flexible.tsr"
    if rigid.exists() and flexible.exists():
        return rigid, flexible
    from openmm import Vec3, app, unit

    field = app.ForceField("amber14-all.xml", "amber14/tip3p.xml")
    topology = app.Topology()
    chain = topology.addChain()
    for name, element in (("NA", app.element.sodium), ("CL", app.element.chlorine)):  # the Modeller wants a solute
        topology.addAtom(name, element, topology.addResidue(name, chain))
    modeller = app.Modeller(topology, [Vec3(-0.5, 0, 2.8), Vec3(0.5, 0, 2.8)] * unit.nanometer)
    modeller.addMembrane(field, lipidType="POPC", minimumPadding=2.0 * unit.nanometer, ionicStrength=0.15 * unit.molar)
    folder.mkdir(parents=True, exist_ok=True)
    for path, constraints in ((rigid, app.HBonds), (flexible, None)):
        found = field.createSystem(
            modeller.topology,
            nonbondedMethod=app.PME,
            nonbondedCutoff=1.0 * unit.nanometer,
            constraints=constraints,
            rigidWater=constraints is not None,
        )
        write(tessera.prepare_openmm(found, modeller.topology, modeller.positions), path)
    return rigid, flexible


def settings(timestep: float, **dynamics: object) -> engine.Settings:
    """Returns those of a run without surface tension, whose edges along the layer change together."""
    baths = {
        "ensemble": "npt",
        "thermostat": "bussi",
        "barostat": "c-rescale",
        "coupling": "semi-isotropic",
        "pressure": 1.0,
        "temperature": TEMPERATURE,
        "tau_t": 1.0,
        "tau_p": 2.0,
    }
    output = {"output": {"energy_every": 10**6}}
    return engine.merge(INTERACTIONS, {"dynamics": {"timestep": timestep, "seed": 1, **baths, **dynamics}}, output)


def thickness(system: System, simulation: tessera.Simulation) -> float:
    """Returns the distance of the mean heights of phosphorus atoms in both layers, Å."""
    number, edge = system.atom_field("atomic_number"), simulation.box[2, 2]
    turns = np.exp(2j * np.pi * simulation.positions[:, 2] / edge)
    middle = turns[number == 6].mean()  # carbon is in lipids alone, on both sides of the middle
    height = np.angle(turns[number == 15] / middle) * edge / (2 * np.pi)
    return float(height[height > 0].mean() - height[height < 0].mean())


def differences_of_the_virial(flexible: Path, end: tessera.Simulation, threads: int) -> tuple[Array, Array]:
    """Returns the diagonal of the virial, kcal/mol, and minus the derivatives of the energy by edges' logarithms, at
    the end of a run. There are no rigid bonds, so that each atom keeps its place relative to the box, and Lennard-Jones
    is switched, as a potential that is cut has no derivative."""
    exact: engine.Settings = {
        "interactions": {"lj": "potential-switch", "switch": 8.0},
        "dynamics": {"constraints": "none"},
        "parallel": {"precision": "double"},
        "pme": {"alpha": 0.4, "order": 8, "grid": [80, 80, 96]},  # so that little ends at the cut-off
    }
    simulation = tessera.Simulation(str(flexible), engine.merge(INTERACTIONS, exact), threads=threads)
    box = end.box
    simulation.box = box
    simulation.positions = end.positions
    virial = np.array(simulation.energies.virial)[:3]
    slopes = []
    for edge in range(3):
        energies = []
        for sign in (1, -1):
            scale = np.ones(3)
            scale[edge] += sign * 1e-4
            simulation.box = box * scale
            energies.append(simulation.energies["potential"])
        slopes.append((energies[0] - energies[1]) / 2e-4)
    return virial, -np.array(slopes)


@script(check="the bilayer is not stable or the virial is wrong")
@click.option("--threads", default=2, show_default=True)
@click.option("--ps", default=1000.0, show_default=True, help="Length of the run.")
@click.option("--resume", is_flag=True, help="Go on from the last state that an interrupted run saved.")
def bilayer(common: Common, threads: int, ps: float, resume: bool) -> None:
    """Area of a lipid and thickness of a bilayer of POPC over a nanosecond of semi-isotropic pressure coupling. The
    state is saved every 50 ps.

    \b
    Examples:
      python -m bench.physics bilayer --check --docs
      python -m bench.physics bilayer --check --docs --resume
      python -m bench.physics bilayer --ps 50
    """
    path, flexible = membrane(common.work / "systems")
    system = read(path)
    figure = common.figure("bilayer", "A bilayer at constant pressure")
    equilibrated, run = common.work / "runs" / "bilayer_start", common.work / "runs" / "bilayer"
    if not resume:
        common.say(f"{system.n_atoms} atoms: minimises and equilibrates")
        start = tessera.Simulation(str(path), settings(2.0), threads=threads)
        start.minimize(max_force=20.0, max_steps=1000)
        start.step(10_000)
        for folder in (equilibrated, run):
            folder.mkdir(parents=True, exist_ok=True)
        start.save(equilibrated)
    simulation = tessera.Simulation(str(path), settings(4.0, hydrogen_mass=3.0), threads=threads, start=equilibrated)
    kept = run / "series.json"
    rows = []
    if resume:
        simulation.restore(run)
        rows = [row for row in json.loads(kept.read_text()) if row[0] <= simulation.time]
    for piece in range(len(rows), round(ps / 5)):
        simulation.step(1250)
        a, b, c = np.diag(simulation.box)
        rows.append([simulation.time, 2 * a * b / LIPIDS, thickness(system, simulation), c])
        if piece % 10 == 9:
            common.say("{:.0f} ps: {:.1f} Å² a lipid, {:.1f} Å thick, {:.1f} Å high".format(*rows[-1]))
            kept.write_text(json.dumps(rows))
            simulation.save(run)
    series = np.array(rows)
    quarters = np.array_split(series, 4)
    figure.data["series"] = series.tolist()
    figure.tables.append(
        table(
            ["POPC, ps", "area of a lipid, Å²", "distance of the phosphorus layers, Å", "height of the box, Å"],
            [
                [
                    f"{part[0, 0]:.0f} – {part[-1, 0]:.0f}",
                    *(str(Mean.of(part[:, k], blocks=min(5, len(part)))) for k in (1, 2, 3)),
                ]
                for part in quarters
            ],
        )
    )
    virial, slopes = differences_of_the_virial(flexible, simulation, threads)
    figure.data["virial"], figure.data["by_differences"] = virial.tolist(), slopes.tolist()
    figure.tables.append(
        table(
            ["", "xx", "yy", "zz"],
            [["virial, kcal/mol", *(f"{v:.2f}" for v in virial)], ["by differences", *(f"{v:.2f}" for v in slopes)]],
        )
    )
    figure.notes.append(
        f"{system.n_atoms} atoms, {LIPIDS} lipids, steps of 4 fs with hydrogens of 3 amu. Published: {AREA} Å², "
        f"{THICKNESS} Å."
    )
    figure.failures += wrong(quarters[-1], virial, slopes)
    figure.finish(common)


def wrong(last: Array, virial: Array, slopes: Array) -> list[str]:
    """Returns what is off in the last quarter of the run, and components of the virial that are not the derivatives. A
    nanosecond is shorter than the relaxation of the area, so that its bounds are wide."""
    found = []
    area, thick = last[:, 1].mean(), last[:, 2].mean()
    if not abs(area - AREA) <= 4:
        found.append(f"the area of a lipid is {area:.1f} Å², published {AREA}")
    if not abs(thick - THICKNESS) <= 3:
        found.append(f"the layers of phosphorus are {thick:.1f} Å apart, published {THICKNESS}")
    off = np.abs(virial - slopes).max()
    if not off <= 1e-5 * np.abs(virial).max():
        found.append(f"the virial is off by {off:.2g} kcal/mol")
    return found
