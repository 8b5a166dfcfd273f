"""How well each heat and pressure bath, and each longer step, conserves its quantity."""

from __future__ import annotations

from typing import Any

import click

from bench.common import engine, systems
from bench.common.equilibrate import equilibrated
from bench.common.options import Common, script
from bench.common.results import table
from bench.md.conservation import Series

#: name → keys of [dynamics], and the drift that is promised, kT/ns/dof
KINDS: dict[str, tuple[dict[str, Any], float | None]] = {
    "constant energy": ({}, 0.01),
    "Bussi": ({"ensemble": "nvt", "thermostat": "bussi"}, 0.01),
    "Nosé–Hoover chain": ({"ensemble": "nvt", "thermostat": "nose-hoover"}, 0.01),
    "Langevin": ({"ensemble": "nvt", "thermostat": "langevin"}, 0.05),
    "Langevin, 1 fs": ({"ensemble": "nvt", "thermostat": "langevin", "timestep": 1.0}, 0.05),
    "Bussi, stochastic cell rescaling": ({"ensemble": "npt", "barostat": "c-rescale"}, 0.01),
    "MTK": ({"ensemble": "npt", "thermostat": "nose-hoover", "barostat": "mtk"}, 0.01),
    "Bussi, Monte Carlo": ({"ensemble": "npt", "barostat": "monte-carlo"}, None),
    "leapfrog": ({"integrator": "leapfrog"}, None),
    "mesh in every second step": ({"mesh_every": 2}, None),
    "4 fs, hydrogens of 3 amu": ({"timestep": 4.0, "hydrogen_mass": 3.0}, 0.02),
    "4 fs, 3 amu, mesh in every second": ({"timestep": 4.0, "hydrogen_mass": 3.0, "mesh_every": 2}, 0.02),
}
LAG = 0.04  # ps between rows of energies, a multiple of the mesh's 8 fs


def missed(kind: str, drift: float, error: float) -> list[str]:
    """Says that a drift is beyond the promise by more than two standard errors, or too uncertain to tell."""
    most = KINDS[kind][1]
    if most is None:
        return []
    if not error <= most:
        return [f"{kind}: {drift:.2g} ± {error:.2g} kT/ns/dof, too short a run to tell {most}"]
    return [] if abs(drift) <= most + 2 * error else [f"{kind}: {drift:.2g} kT/ns/dof, more than {most}"]


@script(check="a drift exceeds what is promised")
@click.option("--system", "name", type=click.Choice(systems.NAMES), default="dhfr", show_default=True)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(KINDS)), help="Repeatable; default: all.")
@click.option("--ps", default=40.0, show_default=True, help="Length of each run.")
@click.option("--settle-ps", default=5.0, show_default=True, help="Of each run that does not count.")
@click.option("--equilibrate-ps", default=10.0, show_default=True, help="In pieces of 0.5 ps with new velocities.")
@click.option("--layout", default="1x2", show_default=True, help="RANKSxTHREADS.")
def drifts(
    common: Common,
    name: str,
    kinds: tuple[str, ...],
    ps: float,
    settle_ps: float,
    equilibrate_ps: float,
    layout: str,
) -> None:
    """Drift of the conserved quantity, in kT/ns/dof, of runs from one equilibrated start.

    \b
    Examples:
      python -m bench.physics.drifts --check --docs
      python -m bench.physics.drifts --kind MTK --ps 10
    """
    where = engine.Layout.parse(layout)
    base = engine.merge(
        engine.interactions(12.0),
        {
            "interactions": {"cutoff": 9.0, "switch": 7.5},
            "dynamics": {"com_removal_every": 0, "tau_t": 0.5, "tau_p": 2.0},
            "output": {"trajectory": "none"},
        },
    )
    start = equilibrated(common, name, base, equilibrate_ps, where)
    figure = common.figure("drifts", "Drift of conserved quantities")
    rows = []
    for kind in kinds or KINDS:
        dynamics, most = KINDS[kind]
        common.say(kind)
        timestep = dynamics.get("timestep", 2.0)
        settings = engine.merge(
            base,
            {
                "dynamics": {
                    "timestep": 2.0,
                    "steps": round(1000 * (settle_ps + ps) / timestep),
                    "velocities": "generate",
                    "seed": 100,
                    **dynamics,
                },
                "output": {"energy_every": round(1000 * LAG / timestep)},
            },
        )
        run = engine.run(start, settings, common.work / "runs" / "drifts", where)
        figure.versions.update(run.versions())
        series = Series.of(run, "conserved").after(settle_ps)
        drift, error = series.drift()
        figure.data[kind] = {"drift_kT_ns_dof": drift, "standard_error": error, "promised": most}
        rows.append([kind, drift, error, most, f"{series.temperature.mean():.1f}"])
        figure.failures += missed(kind, drift, error)
    header = ["", "drift, kT/ns/dof", "standard error", "promised at most", "mean temperature, K"]
    figure.tables.append(table(header, rows))
    figure.notes.append(f"{systems.TITLES[name]}, {ps:g} ps each after {settle_ps:g} ps; steps of 2 fs but where said.")
    figure.finish(common)


if __name__ == "__main__":
    drifts()
