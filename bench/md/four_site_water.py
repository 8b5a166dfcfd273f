"""What a fourth site costs: the time of a step of OPC water over that of TIP3P."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import click

import tessera
from bench.common import engine
from bench.common.options import Common, common_options
from bench.common.results import Figure, table
from bench.common.turns import in_milliseconds, take_turns
from tessera.system import write

#: OpenMM's files, Modeller's box, and the sites of a molecule
MODELS = {
    "TIP3P": ("amber14/tip3p.xml", "tip3p", 3),
    "OPC": ("amber14/opc.xml", "tip4pew", 4),
    "TIP4P-Ew": ("amber14/tip4pew.xml", "tip4pew", 4),
    "TIP5P": ("tip5p.xml", "tip5p", 5),
}
PROMISED = {"OPC": 1.6}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--waters", default=8000, show_default=True, help="Molecules.")
@click.option("--threads", default=2, show_default=True)
@click.option("--cutoff", default=9.0, show_default=True, help="Å.")
@click.option("--check", is_flag=True, help="End with status 1 where four sites cost more than promised.")
@common_options(steps=40, repeats=7, steps_help="Steps of each turn.")
def four_site_water(
    common: Common, waters: int, threads: int, cutoff: float, check: bool, steps: int, repeats: int
) -> None:
    """Time of a step of waters with virtual sites over that of TIP3P; simulations of one process take turns.

    \b
    Examples:
      python -m bench.md.four_site_water
      python -m bench.md.four_site_water --waters 1000 --steps 20 --repeats 3
    """
    if steps < 1:
        raise click.UsageError("--steps: at least 1")
    settings = {"steps": steps, "repeats": repeats, "threads": threads, "cutoff": cutoff, "waters": waters}
    figure = Figure("four_site_water", "Waters with virtual sites", settings, {})
    found = measure(common, waters, threads, cutoff, steps, repeats)
    figure.data["models"] = found
    plain = found["TIP3P"]["ms"]
    ratios = {name: row["ms"] / plain for name, row in found.items()}
    rows = [
        [
            name,
            f"{MODELS[name][2]}",
            f"{found[name]['ms']:.3f}",
            f"{ratios[name]:.3f}",
            f"{PROMISED[name]:.2f}" if name in PROMISED else "",
        ]
        for name in found
    ]
    figure.tables.append(table(["", "sites", "ms/step", "over TIP3P", "promised"], rows))
    figure.notes.append(f"{waters:,} molecules each; medians of turns.")
    figure.write(common.results, as_json=common.as_json, docs=common.docs)
    sys.exit(1 if check and any(ratios[name] > most for name, most in PROMISED.items()) else 0)


def measure(
    common: Common, waters: int, threads: int, cutoff: float, steps: int, repeats: int
) -> dict[str, dict[str, Any]]:
    settings = engine.merge(
        engine.interactions(cutoff),
        {"dynamics": {"steps": 1, "temperature": 300, "timestep": 0.5}, "output": {"energy_every": 0}},
    )
    simulations = {}
    for name in MODELS:
        common.say(f"preparing {name}")
        simulations[name] = tessera.Simulation(str(box_of_water(common, name, waters)), settings, threads=threads)
        simulations[name].minimize(max_force=50.0, max_steps=200)
    return in_milliseconds(take_turns(simulations, steps, repeats, common.say))


def box_of_water(common: Common, name: str, waters: int) -> Path:
    """Returns the system file of so many molecules, made once."""
    path = common.work / f"{name}-{waters}.tsr"
    if path.exists():
        return path
    from openmm import app, unit

    file, box, _ = MODELS[name]
    random.seed(1)
    field = app.ForceField(file)
    modeller = app.Modeller(app.Topology(), [])
    modeller.addSolvent(field, model=box, numAdded=waters)
    found = field.createSystem(
        modeller.topology, nonbondedMethod=app.PME, nonbondedCutoff=0.9 * unit.nanometer, constraints=app.HBonds
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write(tessera.prepare_openmm(found, modeller.topology, modeller.positions), path)
    return path


if __name__ == "__main__":
    four_site_water()
