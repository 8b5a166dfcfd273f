"""What restraints of positions do to the time of a step."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

import tessera
from bench.common import engine, systems
from bench.common.options import Common, common_options
from bench.common.results import Figure, above, table
from bench.common.turns import in_milliseconds, take_turns

Restraint = dict[str, Any]


def kinds(n_atoms: int) -> dict[str, tuple[list[Restraint], float | None]]:
    """Returns restraints by name, and what is promised of the time of a step over that without."""

    def positions(**more: Any) -> Restraint:
        return {"kind": "position", "select": f"index 0:{n_atoms // 10}", "k": 1.0, **more}

    groups = ["index 0:99", f"index {n_atoms // 2}:{n_atoms // 2 + 2}"]
    return {
        "no restraint": ([], None),
        "positions of 10 %": ([positions()], 1.02),
        "the same, flat": ([positions(flat=0.5)], None),
        "distance of two groups": ([{"kind": "distance", "groups": groups, "k": 1.0, "target": 20.0}], None),
    }


def missed(name: str, ratios: Mapping[str, float]) -> list[str]:
    """Names the restraints that cost more of a system's step than promised."""
    promised = {kind: most for kind, (_, most) in kinds(10_000).items()}
    return [f"{systems.TITLES[name]}, {text}" for text in above(ratios, promised)]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--system", "names", multiple=True, type=click.Choice(systems.NAMES), help="Repeatable; default: dhfr and apoa1."
)
@click.option("--threads", default=2, show_default=True)
@click.option("--cutoff", default=12.0, show_default=True, help="Å.")
@click.option("--check", is_flag=True, help="End with status 1 where restraints cost more than promised.")
@common_options(steps=40, repeats=7, steps_help="Steps of each turn.")
def restraints(
    common: Common, names: tuple[str, ...], threads: int, cutoff: float, check: bool, steps: int, repeats: int
) -> None:
    """Time of a step with restraints over that without; simulations of one process take turns.

    \b
    Examples:
      python -m bench.md.restraints --data DATA
      python -m bench.md.restraints --system dhfr --steps 20 --repeats 3
    """
    if steps < 1:
        raise click.UsageError("--steps: at least 1")
    figure = Figure(
        "restraints",
        "Restraints in a step",
        {"steps": steps, "repeats": repeats, "threads": threads, "cutoff": cutoff},
        {},
    )
    figure.data["systems"] = {}
    promised = {name: most for name, (_, most) in kinds(10_000).items()}
    columns = {}
    for name in names or ("dhfr", "apoa1"):
        found = measure(common, name, threads, cutoff, steps, repeats)
        figure.data["systems"][name] = found
        plain = found["no restraint"]["ms"]
        columns[name] = {kind: found[kind]["ms"] / plain for kind in promised}
        figure.failures += missed(name, columns[name])
        columns[name]["no restraint"] = plain
    rows = [
        [kind, *(f"{columns[name][kind]:.3f}" for name in columns), "" if most is None else f"{most:.2f}"]
        for kind, most in promised.items()
    ]
    figure.tables.append(table(["", *(systems.TITLES[name] for name in columns), "promised"], rows))
    figure.notes.append("The first row has ms/step, the others ratios to it; medians of turns.")
    figure.notes += [f"Failed: {text}." for text in figure.failures]
    figure.write(common.results, as_json=common.as_json, docs=common.docs)
    sys.exit(1 if check and figure.failures else 0)


def measure(common: Common, name: str, threads: int, cutoff: float, steps: int, repeats: int) -> dict[str, Any]:
    path = systems.system(common, name)
    settings = engine.merge(engine.interactions(cutoff), {"dynamics": {"steps": 1}, "output": {"energy_every": 0}})
    simulations = {"no restraint": tessera.Simulation(path, settings, threads=threads)}
    for kind, (rows, _) in kinds(simulations["no restraint"].n_atoms).items():
        if rows:
            simulations[kind] = tessera.Simulation(path, {**settings, "restraint": rows}, threads=threads)
    return in_milliseconds(take_turns(simulations, steps, repeats, lambda turn: common.say(f"{turn} {name}")))


if __name__ == "__main__":
    restraints()
