"""What heat and pressure baths, several time steps and heavy hydrogens do to the time for a simulated picosecond."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

import tessera
from bench.common import engine, systems
from bench.common.equilibrate import equilibrated
from bench.common.options import Common, common_options
from bench.common.results import Figure, above, table
from bench.common.turns import in_milliseconds, take_turns

#: name → settings of [dynamics], and what is promised of the time for a picosecond over that at constant energy
KINDS: dict[str, tuple[dict[str, Any], float | None]] = {
    "constant energy": ({}, None),
    "bussi": ({"ensemble": "nvt"}, None),
    "nose-hoover": ({"ensemble": "nvt", "thermostat": "nose-hoover"}, None),
    "langevin": ({"ensemble": "nvt", "thermostat": "langevin"}, 1.05),
    "bussi, c-rescale": ({"ensemble": "npt"}, 1.03),
    "nose-hoover, mtk": ({"ensemble": "npt", "thermostat": "nose-hoover", "barostat": "mtk"}, None),
    "bussi, monte-carlo": ({"ensemble": "npt", "barostat": "monte-carlo"}, None),
    "leapfrog": ({"integrator": "leapfrog"}, None),
    "mesh in every second step": ({"mesh_every": 2}, None),
    "direct sum in every second, mesh in every fourth": ({"direct_every": 2, "mesh_every": 4}, None),
    "4 fs, hydrogens of 3 amu": ({"timestep": 4.0, "hydrogen_mass": 3.0}, 1 / 1.6),
    "the same, mesh in every second": ({"timestep": 4.0, "hydrogen_mass": 3.0, "mesh_every": 2}, None),
}
EQUILIBRATION = 5.0  # ps
TIMESTEP = 2.0  # fs, where a kind has no other


def missed(name: str, ratios: Mapping[str, float]) -> list[str]:
    """Names the baths that cost more of a system's step than promised."""
    promised = {kind: most for kind, (_, most) in KINDS.items()}
    return [f"{systems.TITLES[name]}, {text}" for text in above(ratios, promised)]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--system", "names", multiple=True, type=click.Choice(systems.NAMES), help="Repeatable; default: dhfr and apoa1."
)
@click.option("--threads", default=2, show_default=True)
@click.option("--cutoff", default=12.0, show_default=True, help="Å.")
@click.option("--check", is_flag=True, help="End with status 1 where a bath costs more than promised.")
@common_options(steps=40, repeats=7, steps_help="Steps of each turn.")
def ensembles(
    common: Common, names: tuple[str, ...], threads: int, cutoff: float, check: bool, steps: int, repeats: int
) -> None:
    """Time for a picosecond with each bath and time step over that at constant energy; simulations take turns.

    \b
    Examples:
      python -m bench.md.ensembles --data DATA
      python -m bench.md.ensembles --system dhfr --steps 20 --repeats 3
    """
    if steps < 1:
        raise click.UsageError("--steps: at least 1")
    figure = Figure(
        "ensembles", "Baths in a step", {"steps": steps, "repeats": repeats, "threads": threads, "cutoff": cutoff}, {}
    )
    figure.data["systems"] = {}
    columns = {}
    for name in names or ("dhfr", "apoa1"):
        found = measure(common, name, threads, cutoff, steps, repeats)
        figure.data["systems"][name] = found
        plain = found["constant energy"]["ms"]
        columns[name] = {
            kind: found[kind]["ms"] / plain * TIMESTEP / dynamics.get("timestep", TIMESTEP)
            for kind, (dynamics, _) in KINDS.items()
        }
        figure.failures += missed(name, columns[name])
        columns[name]["constant energy"] = plain
    rows = [
        [kind, *(f"{columns[name][kind]:.3f}" for name in columns), "" if most is None else f"{most:.2f}"]
        for kind, (_, most) in KINDS.items()
    ]
    figure.tables.append(table(["", *(systems.TITLES[name] for name in columns), "promised"], rows))
    figure.notes.append(
        "The first row has ms per step of 2 fs, the others ratios to it of the time for as many femtoseconds; medians "
        "of turns, baths act in every tenth step."
    )
    figure.notes += [f"Failed: {text}." for text in figure.failures]
    figure.write(common.results, as_json=common.as_json, docs=common.docs)
    sys.exit(1 if check and figure.failures else 0)


def measure(common: Common, name: str, threads: int, cutoff: float, steps: int, repeats: int) -> dict[str, Any]:
    """Returns times by kind. All start from a state of the baths' temperature and pressure: how fast atoms and box move
    decides how often lists are made, so a bath that warms or shrinks a system would seem to cost what that costs."""
    npt: engine.Settings = {
        "dynamics": {"ensemble": "npt", "tau_t": 0.2, "tau_p": 0.5},
        "output": {"trajectory": "none"},
    }
    base = engine.merge(engine.interactions(cutoff), npt)
    start = equilibrated(common, name, base, EQUILIBRATION, engine.Layout(1, threads, "serial"))
    simulations = {}
    for kind, (dynamics, _) in KINDS.items():
        settings = engine.merge(
            engine.interactions(cutoff),
            {
                "dynamics": {"steps": 1, "timestep": TIMESTEP, "velocities": "generate", **dynamics},
                "output": {"energy_every": 0},
            },
        )
        simulations[kind] = tessera.Simulation(str(start), settings, threads=threads)
    return in_milliseconds(take_turns(simulations, steps, repeats, lambda turn: common.say(f"{turn} {name}")))


if __name__ == "__main__":
    ensembles()
