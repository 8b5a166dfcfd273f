"""What a fourth site costs: the time of a step of OPC water over that of TIP3P."""

from __future__ import annotations

import sys
from typing import Any

import click

import tessera
from bench.common import engine
from bench.common.options import Common, common_options
from bench.common.results import Figure, above, table
from bench.common.turns import in_milliseconds, take_turns
from bench.common.water_box import MODELS, water_box

COMPARED = ("TIP3P", "OPC", "TIP4P-Ew", "TIP5P")
PROMISED: dict[str, float | None] = {"OPC": 1.6}


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
            f"{MODELS[name].sites}",
            f"{found[name]['ms']:.3f}",
            f"{ratios[name]:.3f}",
            f"{PROMISED[name]:.2f}" if name in PROMISED else "",
        ]
        for name in found
    ]
    figure.tables.append(table(["", "sites", "ms/step", "over TIP3P", "promised"], rows))
    figure.notes.append(f"{waters:,} molecules each; medians of turns.")
    figure.failures += above(ratios, PROMISED)
    figure.notes += [f"Failed: {text}." for text in figure.failures]
    figure.write(common.results, as_json=common.as_json, docs=common.docs)
    sys.exit(1 if check and figure.failures else 0)


def measure(
    common: Common, waters: int, threads: int, cutoff: float, steps: int, repeats: int
) -> dict[str, dict[str, Any]]:
    settings = engine.merge(
        engine.interactions(cutoff),
        {"dynamics": {"steps": 1, "temperature": 300, "timestep": 0.5}, "output": {"energy_every": 0}},
    )
    simulations = {}
    for name in COMPARED:
        common.say(f"preparing {name}")
        simulations[name] = tessera.Simulation(str(water_box(common.work, name, waters)), settings, threads=threads)
        simulations[name].minimize(max_force=50.0, max_steps=200)
    return in_milliseconds(take_turns(simulations, steps, repeats, common.say))


if __name__ == "__main__":
    four_site_water()
