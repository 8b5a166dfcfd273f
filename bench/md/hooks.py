"""What a Python hook and an external force cost a step."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from statistics import median
from typing import Any

import click
import numpy as np

import tessera
from bench.common import engine, systems
from bench.common.options import Common, common_options
from bench.common.results import Figure, above, table
from bench.common.turns import take_turns
from tessera.simulation import Atoms

MOST_OF_HOOK = 0.02  # of a step of ApoA1


def missed(found: Mapping[str, Any]) -> list[str]:
    """Says that an empty hook costs more than promised."""
    title = f"{systems.TITLES[found['system']]}, empty hook"
    return above({title: found["hook"]}, {title: 1 + MOST_OF_HOOK})


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--system", "names", multiple=True, type=click.Choice(systems.NAMES), help="Repeatable; default: dhfr and apoa1."
)
@click.option("--threads", default=2, show_default=True)
@click.option("--cutoff", default=12.0, show_default=True, help="Å.")
@click.option("--check", is_flag=True, help="End with status 1 where an empty hook costs more than promised.")
@common_options(steps=40, repeats=9, steps_help="Steps of each turn.")
def hooks(
    common: Common, names: tuple[str, ...], threads: int, cutoff: float, check: bool, steps: int, repeats: int
) -> None:
    """Time of a step with an empty hook in every step, and with an external force on all atoms, over that without.

    Three simulations of the same process take turns; the ratios are of medians.

    \b
    Examples:
      python -m bench.md.hooks --data DATA
      python -m bench.md.hooks --system dhfr --steps 10 --repeats 3
    """
    if steps < 1:
        raise click.UsageError("--steps: at least 1")
    figure = Figure(
        "hooks", "Python in a step", {"steps": steps, "repeats": repeats, "threads": threads, "cutoff": cutoff}, {}
    )
    figure.data["systems"] = []
    for name in names or ("dhfr", "apoa1"):
        found = measure(common, name, threads, cutoff, steps, repeats)
        figure.data["systems"].append(found)
        figure.failures += missed(found)
    rows = [
        [systems.TITLES[found["system"]], found["ms"], f"{found['hook']:.3f}", f"{found['force']:.3f}"]
        for found in figure.data["systems"]
    ]
    figure.tables.append(table(["system", "ms/step without", "empty hook", "springs on all atoms"], rows))
    figure.notes.append("Ratios of medians of turns; the springs are computed by NumPy.")
    figure.notes += [f"Failed: {text}." for text in figure.failures]
    figure.write(common.results, as_json=common.as_json, docs=common.docs)
    sys.exit(1 if check and figure.failures else 0)


def measure(common: Common, name: str, threads: int, cutoff: float, steps: int, repeats: int) -> dict[str, Any]:
    settings = engine.merge(engine.interactions(cutoff), {"dynamics": {"steps": 1}, "output": {"energy_every": 0}})
    simulations = {
        what: tessera.Simulation(systems.system(common, name), settings, threads=threads)
        for what in ("without", "hook", "force")
    }
    simulations["hook"].add_hook(lambda _: None)
    anchors = simulations["force"].positions

    def springs(atoms: Atoms) -> tuple[np.ndarray, np.ndarray]:
        away = atoms.nearest_image(atoms.positions - anchors[atoms.ids])
        return -1.0 * away, 0.5 * (away**2).sum(axis=1)

    simulations["force"].add_force(springs)
    times = take_turns(simulations, steps, repeats, lambda turn: common.say(f"{turn} {name}"))
    medians = {what: median(values) for what, values in times.items()}
    return {
        "system": name,
        "ms": 1e3 * medians["without"],
        "hook": medians["hook"] / medians["without"],
        "force": medians["force"] / medians["without"],
        "seconds": times,
    }


if __name__ == "__main__":
    hooks()
