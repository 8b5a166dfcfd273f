"""What baths, longer steps, restraints, virtual sites and Python cost: the time of a step with each over that without.
Simulations of one process take turns, so that what else the machine does falls on all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import click
import numpy as np

import tessera
from bench.common import engine, systems
from bench.common.equilibrate import equilibrated
from bench.common.options import Common, script
from bench.common.results import Figure, above, table
from bench.common.water_box import MODELS, water_box
from tessera.simulation import Atoms

Promised = Mapping[str, float | None]  # of the ratio, by what is added to a step
Simulations = dict[str, tessera.Simulation]

#: name → settings of [dynamics], and what is promised of the time for a picosecond over that at constant energy
BATHS: dict[str, tuple[dict[str, Any], float | None]] = {
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
TIMESTEP = 2.0  # fs, where a bath has no other
MOST_OF_HOOK = 0.02  # of a step of ApoA1
WATERS = ("TIP3P", "OPC", "TIP4P-Ew", "TIP5P")
PROMISED_OF_WATERS: Promised = {"OPC": 1.6}
PROMISED_OF_BATHS: Promised = {kind: most for kind, (_, most) in BATHS.items()}
PROMISED_OF_HOOKS: Promised = {"empty hook": 1 + MOST_OF_HOOK}


def restraints_of(n_atoms: int) -> dict[str, tuple[list[dict[str, Any]], float | None]]:
    """Returns restraints by name, and what is promised of the time of a step over that without."""

    def positions(**more: Any) -> dict[str, Any]:
        return {"kind": "position", "select": f"index 0:{n_atoms // 10}", "k": 1.0, **more}

    groups = ["index 0:99", f"index {n_atoms // 2}:{n_atoms // 2 + 2}"]
    return {
        "no restraint": ([], None),
        "positions of 10 %": ([positions()], 1.02),
        "the same, flat": ([positions(flat=0.5)], None),
        "distance of two groups": ([{"kind": "distance", "groups": groups, "k": 1.0, "target": 20.0}], None),
    }


PROMISED_OF_RESTRAINTS: Promised = {kind: most for kind, (_, most) in restraints_of(10_000).items()}


def missed(name: str, ratios: Mapping[str, float], promised: Promised) -> list[str]:
    """Names what costs more of a system's step than promised."""
    return [f"{systems.TITLES[name]}, {text}" for text in above(ratios, promised)]


def command(cutoff: float, repeats: int, *, of_systems: bool = True) -> Callable[[Callable[..., None]], click.Command]:
    """Returns what makes a command of a function: the options that all have."""

    def decorate(function: Callable[..., None]) -> click.Command:
        made = click.option("--cutoff", default=cutoff, show_default=True, help="Å.")(function)
        made = click.option("--threads", default=2, show_default=True)(made)
        if of_systems:
            known = click.Choice(systems.NAMES)
            made = click.option("--system", "names", multiple=True, type=known, help="Default: dhfr and apoa1.")(made)
        turns = script(check="it costs more than promised", steps=40, repeats=repeats, steps_help="Steps of each turn.")
        return turns(made)

    return decorate


def settings_of(cutoff: float, **dynamics: Any) -> engine.Settings:
    return engine.merge(
        engine.interactions(cutoff), {"dynamics": {"steps": 1, **dynamics}, "output": {"energy_every": 0}}
    )


def take_turns(
    simulations: Simulations, steps: int, repeats: int, say: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Returns `ms` of a step, the median, and `turns`, all turns in ms, by name. A first turn of all warms up and does
    not count."""
    seconds: dict[str, list[float]] = {name: [] for name in simulations}
    for turn in range(repeats + 1):
        for name, simulation in simulations.items():
            begin = time.perf_counter()
            simulation.step(steps)
            if turn > 0:
                seconds[name].append((time.perf_counter() - begin) / steps)
        say(f"{turn}/{repeats}")
    turns = {name: [1e3 * value for value in values] for name, values in seconds.items()}
    return {name: {"ms": median(values), "turns": values} for name, values in turns.items()}


def measure(
    figure: Figure, common: Common, names: tuple[str, ...], make: Callable[[str], Simulations], promised: Promised,
    *, note: str = "", steps_of: Callable[[str], float] = lambda _: 1.0,
) -> None:  # fmt: skip
    """Times the simulations of each system, the first of which is without anything, and writes the figure. `steps_of`
    says how many of its steps make a simulated time of one without."""
    steps, repeats = figure.settings["steps"], figure.settings["repeats"]
    figure.data["systems"], columns = {}, {}
    for name in names or ("dhfr", "apoa1"):
        common.say(name)
        found = take_turns(make(name), steps, repeats, common.say)
        figure.data["systems"][name] = found
        plain, *others = found
        columns[name] = {kind: found[kind]["ms"] / found[plain]["ms"] * steps_of(kind) for kind in others}
        figure.failures += missed(name, columns[name], promised)
        columns[name] = {plain: found[plain]["ms"], **columns[name]}
    rows = [
        [
            kind,
            *(f"{columns[name][kind]:.3f}" for name in columns),
            f"{most:.2f}" if (most := promised.get(kind)) else "",
        ]
        for kind in found
    ]
    figure.tables.append(table(["", *(systems.TITLES[name] for name in columns), "promised"], rows))
    figure.notes.append(f"The first row has ms per step, the others ratios to it; medians of turns. {note}".strip())
    figure.finish(common)


@command(12.0, 7)
def ensembles(common: Common, names: tuple[str, ...], threads: int, cutoff: float, **_: int) -> None:
    """Time for a picosecond with each bath and time step over that at constant energy.

    All start from a state of the baths' temperature and pressure: how fast atoms and box move decides how often lists
    are made, so a bath that warms or shrinks a system would seem to cost what that costs.
    """
    npt: engine.Settings = {
        "dynamics": {"ensemble": "npt", "tau_t": 0.2, "tau_p": 0.5},
        "output": {"trajectory": "none"},
    }

    def make(name: str) -> Simulations:
        layout = engine.Layout(1, threads, "serial")
        start = equilibrated(common, name, engine.merge(engine.interactions(cutoff), npt), EQUILIBRATION, layout)
        usual = {"timestep": TIMESTEP, "velocities": "generate"}
        return {
            kind: tessera.Simulation(str(start), settings_of(cutoff, **usual | dynamics), threads=threads)
            for kind, (dynamics, _) in BATHS.items()
        }

    measure(
        common.figure("ensembles", "Baths in a step"), common, names, make, PROMISED_OF_BATHS,
        note="Ratios are of the time for as many femtoseconds; baths act in every tenth step.",
        steps_of=lambda kind: TIMESTEP / BATHS[kind][0].get("timestep", TIMESTEP),
    )  # fmt: skip


@command(12.0, 7)
def restraints(common: Common, names: tuple[str, ...], threads: int, cutoff: float, **_: int) -> None:
    """Time of a step with restraints over that without."""

    def make(name: str) -> Simulations:
        path, settings = systems.system(common, name), settings_of(cutoff)
        plain = tessera.Simulation(path, settings, threads=threads)
        return {
            kind: tessera.Simulation(path, {**settings, "restraint": rows}, threads=threads) if rows else plain
            for kind, (rows, _) in restraints_of(plain.n_atoms).items()
        }

    measure(common.figure("restraints", "Restraints in a step"), common, names, make, PROMISED_OF_RESTRAINTS)


@command(12.0, 9)
def hooks(common: Common, names: tuple[str, ...], threads: int, cutoff: float, **_: int) -> None:
    """Time of a step with an empty hook, and with springs on all atoms that NumPy computes, over that without."""

    def make(name: str) -> Simulations:
        made = {
            what: tessera.Simulation(systems.system(common, name), settings_of(cutoff), threads=threads)
            for what in ("without", "empty hook", "springs on all atoms")
        }
        made["empty hook"].add_hook(lambda _: None)
        anchors = made["springs on all atoms"].positions

        def springs(atoms: Atoms) -> tuple[np.ndarray, np.ndarray]:
            away = atoms.nearest_image(atoms.positions - anchors[atoms.ids])
            return -1.0 * away, 0.5 * (away**2).sum(axis=1)

        made["springs on all atoms"].add_force(springs)
        return made

    measure(common.figure("hooks", "Python in a step"), common, names, make, PROMISED_OF_HOOKS)


@command(9.0, 7, of_systems=False)
@click.option("--waters", default=8000, show_default=True, help="Molecules.")
def four_site_water(common: Common, waters: int, threads: int, cutoff: float, steps: int, repeats: int) -> None:
    """Time of a step of waters with virtual sites over that of TIP3P."""
    figure = common.figure("four_site_water", "Waters with virtual sites")
    simulations = {}
    for name in WATERS:
        common.say(f"preparing {name}")
        box = str(water_box(common.work, name, waters))
        simulations[name] = tessera.Simulation(box, settings_of(cutoff, temperature=300, timestep=0.5), threads=threads)
        simulations[name].minimize(max_force=50.0, max_steps=200)
    figure.data["models"] = found = take_turns(simulations, steps, repeats, common.say)
    ratios = {name: row["ms"] / found["TIP3P"]["ms"] for name, row in found.items()}
    rows = [
        [name, str(MODELS[name].sites), f"{found[name]['ms']:.3f}", f"{ratio:.3f}",
         f"{most:.2f}" if (most := PROMISED_OF_WATERS.get(name)) else ""]
        for name, ratio in ratios.items()
    ]  # fmt: skip
    figure.tables.append(table(["", "sites", "ms/step", "over TIP3P", "promised"], rows))
    figure.notes.append(f"{waters:,} molecules each; medians of turns.")
    figure.failures += above(ratios, PROMISED_OF_WATERS)
    figure.finish(common)
