"""Measures how well a run at constant energy conserves energy and momentum."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from bench.common import engine, systems
from bench.common.equilibrate import equilibrated
from bench.common.options import Common, script
from bench.common.results import Figure, columns, number
from tessera.export.configuration import read_configuration

MOST_DRIFT = 0.01  # kT/ns/dof
BOLTZMANN = 0.0019872042586408316  # kcal/mol/K
TIMESTEPS = (0.5, 1.0, 2.0)  # fs
LAG = 0.02  # ps between rows of energies


@dataclass(frozen=True)
class Series:
    """The energies of a run without row 0, where the kinetic energy is that of velocities as they were drawn."""

    time: NDArray[np.float64]  # ps
    total: NDArray[np.float64]  # kcal/mol
    temperature: NDArray[np.float64]  # K
    degrees_of_freedom: int

    @classmethod
    def of(cls, run: engine.Run, quantity: str = "total") -> Series:
        values = run.energies().values
        return cls(
            values["time"][1:],
            values[quantity][1:],
            values["temperature"][1:],
            int(run.report["results"]["degrees_of_freedom"]),
        )

    def after(self, time: float) -> Series:
        """Returns the rows later than a time, ps."""
        later = self.time > time
        return Series(self.time[later], self.total[later], self.temperature[later], self.degrees_of_freedom)

    def line(self) -> tuple[NDArray[np.float64], float]:
        """Returns the straight line through the total energies and the standard error of its slope (kcal/mol/ps). The
        number of independent points follows from the correlation of residuals."""
        slope, origin = np.polyfit(self.time, self.total, 1)
        fitted = slope * self.time + origin
        residual = self.total - fitted
        n = len(residual)
        spread = float(((self.time - self.time.mean()) ** 2).sum())
        error = float(np.sqrt((residual**2).sum() / max(1, n - 2) / spread)) if spread > 0 else float("nan")
        before, after = residual[:-1], residual[1:]
        norm = float((residual**2).sum())
        correlation = min(0.99, max(0.0, float((before * after).sum()) / norm)) if norm > 0 else 0.0
        return fitted, error * float(np.sqrt((1 + correlation) / (1 - correlation)))

    def unit(self) -> float:
        """Returns one kT/ns/dof in kcal/mol/ps."""
        return BOLTZMANN * float(self.temperature.mean()) * self.degrees_of_freedom / 1000

    def drift(self) -> tuple[float, float]:
        """Returns the slope and its standard error, in kT/ns/dof."""
        fitted, error = self.line()
        slope = (fitted[-1] - fitted[0]) / (self.time[-1] - self.time[0])
        return float(slope / self.unit()), error / self.unit()

    def fluctuation(self) -> float:
        """Returns the standard deviation about the line, in kcal/mol."""
        return float(np.std(self.total - self.line()[0], ddof=2))


@script(
    check=f"a drift exceeds {MOST_DRIFT} kT/ns/dof", steps=0, repeats=1, steps_help="Steps at 2 fs; 0: as --ps says."
)
@click.option(
    "--system", "names", multiple=True, type=click.Choice(systems.NAMES), help="Repeatable; default: dhfr and water24k."
)
@click.option("--ps", default=100.0, show_default=True, help="Length of the run at 2 fs; --steps takes precedence.")
@click.option(
    "--fluctuation-ps", default=4.0, show_default=True, help="Length of the runs at 0.5, 1 and 2 fs; 0: none."
)
@click.option(
    "--equilibrate-ps", default=10.0, show_default=True, help="In pieces of 0.5 ps with new velocities; 0: none."
)
@click.option("--cutoff", default=12.0, show_default=True, help="Å.")
@click.option("--precision", type=click.Choice(["mixed", "double"]), default="mixed", show_default=True)
@click.option("--layout", default="1x2", show_default=True, help="RANKSxTHREADS.")
@click.option(
    "--join",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A result (conservation.json) to be put into the same tables; without --system nothing else is measured.",
)
def conservation(
    common: Common,
    names: tuple[str, ...],
    ps: float,
    fluctuation_ps: float,
    equilibrate_ps: float,
    cutoff: float,
    precision: str,
    layout: str,
    join: tuple[Path, ...],
    steps: int,
    repeats: int,
) -> None:
    """Measure drift at 2 fs with bonds to hydrogen constrained, fluctuation by time step, and momentum.

    The start is equilibrated at 300 K by short runs, each with new velocities, and kept in the work folder. Repeats
    have velocities of other seeds. Motion of the centre of mass is not removed.

    \b
    Examples:
      python -m bench.md.conservation --check
      python -m bench.md.conservation --system water24k --ps 1 --equilibrate-ps 1 --fluctuation-ps 0.4
      python -m bench.md.conservation --join dhfr/conservation.json --join water/conservation.json --check --docs
    """
    where = engine.Layout.parse(layout)
    n_steps = steps or round(ps / 0.002)
    if n_steps * 0.002 < 4 * LAG:
        raise click.UsageError(f"the run at 2 fs must have at least {round(4 * LAG / 0.002)} steps")
    figure = common.figure("conservation", "Energy and momentum at constant energy", steps=n_steps)
    base = engine.merge(
        engine.interactions(cutoff),
        {
            "dynamics": {"com_removal_every": 0},
            "output": {"trajectory": "none"},
            "parallel": {"precision": precision},
        },
    )
    drifts: list[dict[str, Any]] = []
    fluctuations: list[dict[str, Any]] = []
    pictures: dict[str, list[Series]] = {}
    for path in join:
        other = json.loads(path.read_text())
        drifts += other["data"]["drifts"]
        fluctuations += other["data"]["fluctuations"]
        if not names:
            figure.settings, figure.at_start, figure.started = other["settings"], other["machine"], other["date"]
            figure.versions.update(other["versions"])
    for name in names or (() if join else ("dhfr", "water24k")):
        start = equilibrated(common, name, base, equilibrate_ps, where)
        for turn in range(repeats):
            common.say(f"{name}: {n_steps:,} steps of 2 fs, {turn + 1}/{repeats}")
            run = dynamics(common, figure, start, base, 2.0, n_steps, seed=100 + turn, layout=where)
            series = Series.of(run)
            drift, error = series.drift()
            drifts.append(
                {
                    "system": name,
                    "ps": float(series.time[-1]),
                    "temperature": float(series.temperature.mean()),
                    "degrees_of_freedom": series.degrees_of_freedom,
                    "drift_kT_ns_dof": drift,
                    "standard_error": error,
                    "engine_drift_kT_ns_dof": run.report["results"].get("drift_kT_ns_dof"),
                    "fluctuation_kcal_mol": series.fluctuation(),
                    "relative_momentum": momentum(start, run.folder),
                }
            )
            pictures.setdefault(name, []).append(series)
        if fluctuation_ps > 0:
            found = by_timestep(common, figure, start, base, fluctuation_ps, where)
            fluctuations += [{"system": name, **one} for one in found]
    figure.data.update(drifts=drifts, fluctuations=fluctuations)
    summarise(figure, drifts, fluctuations)
    if pictures:
        picture(common.results / "conservation.png", pictures, fluctuations)
    figure.finish(common)


def momentum(system: Path, folder: Path) -> float:
    """Returns the length of the sum of momenta at the end of a run over the sum of their lengths; 0 is exact
    conservation."""
    end = read_configuration(folder, system=system).system
    momenta = end.atom_field("mass")[:, None] * end.velocity
    return float(np.linalg.norm(momenta.sum(0)) / np.linalg.norm(momenta, axis=1).sum())


def dynamics(
    common: Common,
    figure: Figure,
    start: Path,
    base: engine.Settings,
    timestep: float,
    n_steps: int,
    *,
    seed: int,
    layout: engine.Layout,
) -> engine.Run:
    """Runs with generated velocities and an energy row every LAG, so that runs of any time step have as many rows."""
    every = max(1, round(1000 * LAG / timestep))
    settings = engine.merge(
        base,
        {
            "dynamics": {"timestep": timestep, "steps": n_steps, "velocities": "generate", "seed": seed},
            "output": {"energy_every": every},
        },
    )
    run = engine.run(start, settings, common.work / "runs" / "conservation", layout)
    figure.versions.update(run.versions())
    return run


def by_timestep(
    common: Common, figure: Figure, start: Path, base: engine.Settings, ps: float, layout: engine.Layout
) -> list[dict[str, Any]]:
    """Returns the fluctuation of the total energy over equal times from one start; σ/Δt² should be constant."""
    found = []
    for timestep in TIMESTEPS:
        common.say(f"{start.stem}: {ps:g} ps in steps of {timestep:g} fs")
        n_steps = round(1000 * ps / timestep)
        series = Series.of(dynamics(common, figure, start, base, timestep, n_steps, seed=7, layout=layout))
        sigma = series.fluctuation()
        found.append({"timestep_fs": timestep, "fluctuation_kcal_mol": sigma, "over_square": sigma / timestep**2})
    for one in found:
        one["ratio_to_shortest"] = one["over_square"] / found[0]["over_square"]
    return found


def summarise(figure: Figure, drifts: list[dict[str, Any]], fluctuations: list[dict[str, Any]]) -> None:
    of_drift: dict[str, Callable[[dict[str, Any]], Any]] = {
        "system": lambda d: systems.TITLES[d["system"]],
        "ps": lambda d: f"{d['ps']:g}",
        "T, K": lambda d: f"{d['temperature']:.1f}",
        "drift, kT/ns/dof": lambda d: d["drift_kT_ns_dof"],
        "standard error": lambda d: d["standard_error"],
        "fluctuation, kcal/mol": lambda d: d["fluctuation_kcal_mol"],
        "momentum": lambda d: d["relative_momentum"],
    }
    of_step: dict[str, Callable[[dict[str, Any]], Any]] = {
        "system": lambda f: systems.TITLES[f["system"]],
        "time step, fs": lambda f: f"{f['timestep_fs']:g}",
        "fluctuation, kcal/mol": lambda f: f["fluctuation_kcal_mol"],
        "over Δt², kcal/mol/fs²": lambda f: f["over_square"],
        "to that of 0.5 fs": lambda f: f["ratio_to_shortest"],
    }
    figure.tables.append(columns(drifts, of_drift))
    if fluctuations:
        figure.tables.append(columns(fluctuations, of_step))
    figure.notes.append(
        f"Drift: slope of a straight line through total energies every {1000 * LAG:g} fs, which should not exceed "
        f"{MOST_DRIFT} kT/ns/dof; fluctuation: standard deviation about that line. Momentum: length of the sum over "
        "the sum of lengths at the end; it was removed at the start only, and a mesh does not keep it exactly."
    )
    for d in drifts:
        figure.failures += missed(d["system"], d["drift_kT_ns_dof"], d["standard_error"])


def missed(system: str, drift: float, error: float) -> list[str]:
    """Says that a system's energy drifts by more than promised, or that the run is too short to tell."""
    if not abs(drift) <= MOST_DRIFT:
        return [f"{systems.TITLES[system]}: drift {number(drift)} kT/ns/dof, more than {MOST_DRIFT}"]
    if not error <= MOST_DRIFT:
        return [f"{systems.TITLES[system]}: the run is too short to tell a drift of {MOST_DRIFT}"]
    return []


def picture(path: Path, runs: dict[str, list[Series]], fluctuations: list[dict[str, Any]]) -> None:
    """Draws total energies with their lines, and fluctuations by time step beside its square."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    n = len(runs) + bool(fluctuations)
    figure, axes = plt.subplots(1, n, figsize=(5 * n, 3.6), squeeze=False, layout="constrained")
    for axis, (name, repeats) in zip(axes[0], runs.items()):
        for series in repeats:
            scale = BOLTZMANN * series.temperature.mean() * series.degrees_of_freedom
            shift = series.total.mean()
            axis.plot(series.time, 1e6 * (series.total - shift) / scale, linewidth=0.6, color="#0072B2", alpha=0.6)
            axis.plot(series.time, 1e6 * (series.line()[0] - shift) / scale, color="#D55E00")
        axis.set(
            title=f"{systems.TITLES[name]}: {number(repeats[0].drift()[0])} kT/ns/dof",
            xlabel="time, ps",
            ylabel="total energy, 10⁻⁶ kT/dof",
        )
    if fluctuations:
        axis = axes[0][-1]
        for name in dict.fromkeys(f["system"] for f in fluctuations):
            points = [(f["timestep_fs"], f["fluctuation_kcal_mol"]) for f in fluctuations if f["system"] == name]
            x, y = np.array(points).T
            (drawn,) = axis.loglog(x, y, "o", label=systems.TITLES[name])
            axis.loglog(x, y[0] * (x / x[0]) ** 2, "--", color=drawn.get_color(), linewidth=0.8)
        axis.set(title="Fluctuation (dashed: Δt²)", xlabel="time step, fs", ylabel="kcal/mol")
        axis.legend()
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    conservation()
