"""Density, structure and diffusion of waters, and energy and pressure of liquid argon, beside published values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

import tessera
from bench.common import engine
from bench.common.options import Common, script
from bench.common.results import table
from bench.common.water_box import water_box

Array = NDArray[np.float64]

BOLTZMANN = 0.0019872042586408316  # kcal/mol/K
TEMPERATURE = 298.0  # K
CUTOFF = 9.0  # Å, beyond which the mean of the Lennard-Jones potential is added
GRAMS = 1.66053906660  # g/cm³ per amu/Å³
LAG = 0.2  # ps between frames
PEAK_BIN = 0.05  # Å


@dataclass(frozen=True)
class Published:
    """Values at 298 K and 1 bar: density (g/cm³), diffusion in a box without bounds (10⁻⁵ cm²/s), place (Å) and height
    of the first maximum of g_OO; None where none is known. `viscosity` (mPa s) is that of the model."""

    density: float
    diffusion: float | None
    peak: float
    height: float | None
    viscosity: float


#: Densities and maxima: Izadi et al. (2014) and the papers they quote. Diffusion: Tazi et al. (2012) for SPC/E, Yeh and
#: Hummer (2004) for TIP3P. Viscosities: González and Abascal (2010), Tazi et al. (2012).
PUBLISHED = {
    "TIP3P": Published(0.983, 6.05, 2.77, 2.7, 0.321),
    "SPC/E": Published(0.998, 2.97, 2.75, 3.05, 0.68),
    "TIP4P-Ew": Published(0.9954, None, 2.76, 3.1, 0.73),
    "OPC": Published(0.997, None, 2.80, None, 0.80),
}


@dataclass(frozen=True)
class Mean:
    value: float
    error: float  # its standard error

    @classmethod
    def of(cls, series: Array, blocks: int = 10) -> Mean:
        """Returns the mean of a series; the error is that of as many blocks, which are taken as independent."""
        means = np.array([part.mean() for part in np.array_split(np.asarray(series, float), blocks)])
        return cls(float(means.mean()), float(means.std(ddof=1) / np.sqrt(blocks)))

    def __str__(self) -> str:
        decimals = max(0, -math.floor(math.log10(self.error))) if self.error > 0 else 4
        return f"{self.value:.{decimals}f} ± {self.error:.{decimals}f}"

    def is_near(self, expected: float, tolerance: float = 0.0) -> bool:
        """Tells whether the value is within four standard errors and the tolerance of what is expected."""
        return abs(self.value - expected) <= 4 * self.error + tolerance


@dataclass(frozen=True)
class Liquid:
    density: Mean  # g/cm³
    peak: float  # Å
    height: Mean
    diffusion: Mean  # 10⁻⁵ cm²/s, corrected for the size of the box


#: by which share water's self-diffusion grows with a kelvin near 298 K: Holz et al. (2000)
DIFFUSION_A_KELVIN = 0.025


def settings(**dynamics: Any) -> engine.Settings:
    return engine.merge(
        {
            "interactions": {"cutoff": CUTOFF, "switch": CUTOFF, "lj": "cut", "lj_tail": True, "electrostatics": "pme"},
            "dynamics": {"timestep": 2.0, "temperature": TEMPERATURE, "seed": 1, **dynamics},
            "output": {"energy_every": 10**6},
        }
    )


def water(
    model: str, path: Path, *, threads: int, equilibrate: float, sample: float, say: Callable[[str], None] = print
) -> Liquid:
    """Runs a box of water for `equilibrate` and `sample` ps at constant pressure, then half as long at constant energy
    in a box of the mean density."""
    npt = settings(ensemble="npt", thermostat="bussi", barostat="c-rescale", tau_t=0.5, tau_p=1.0)
    simulation = tessera.Simulation(str(path), npt, threads=threads)
    simulation.minimize(max_force=20.0, max_steps=500)
    say(f"{model}: equilibrates")
    simulation.step(steps_of(equilibrate))
    system = tessera.system.read(str(path))
    masses = np.tile(system.templates[0].mass, system.n_instances)
    mass, oxygens = float(masses.sum()), np.flatnonzero(masses > 15)
    density = []
    for _ in frames(simulation, sample):
        density.append(GRAMS * mass / np.linalg.det(simulation.box))
    found = Mean.of(np.array(density))
    say(f"{model}: density {found} g/cm³")

    edge = (GRAMS * mass / found.value) ** (1 / 3)
    end = path.with_suffix(".end")
    end.mkdir(exist_ok=True)
    simulation.save(end)
    nve = at_the_mean_energy(path, end, edge, threads=threads, sample=min(20.0, equilibrate))
    seen = [(nve.positions[oxygens], nve.energies["temperature"]) for _ in frames(nve, 0.5 * sample)]
    temperature = float(np.mean([one for _, one in seen]))
    places = unwrapped(np.array([one for one, _ in seen]), edge)
    peak, height = first_maximum(places[:: max(1, round(1.0 / LAG))], edge)
    boltzmann, viscosity = 1.380649e-23, 1e-3 * PUBLISHED[model].viscosity
    # Yeh and Hummer (2004), eq. 12: 2.837297 kT/(6πηL), here in 10⁻⁹ m²/s, which are 10⁻⁵ cm²/s.
    correction = 1e9 * 2.837297 * boltzmann * temperature / (6 * np.pi * viscosity * edge * 1e-10)
    slope = diffusion(places)
    say(f"{model}: diffusion {slope} + {correction:.2f}, g(r) {height} at {peak:.2f} Å, {temperature:.0f} K")
    value = slope.value + correction
    by_temperature = DIFFUSION_A_KELVIN * value * (temperature - TEMPERATURE)
    return Liquid(found, peak, height, Mean(value, float(np.hypot(slope.error, by_temperature))))


def at_the_mean_energy(path: Path, end: Path, edge: float, *, threads: int, sample: float) -> tessera.Simulation:
    """Returns a simulation at constant energy in a cube of that edge (Å). It goes on from a run that ended in a folder,
    with the mean energy at the temperature: at that of a single state it would be some kelvin too warm or too cold."""
    nvt = tessera.Simulation(
        str(path), settings(ensemble="nvt", thermostat="bussi", tau_t=0.5), threads=threads, start=end
    )
    nvt.box = np.diag([edge] * 3)
    nvt.step(steps_of(min(sample, 5.0)))
    mean = np.mean([nvt.energies["total"] for _ in frames(nvt, sample)])
    nvt.save(end)
    nve = tessera.Simulation(str(path), settings(), threads=threads, start=end)
    nve.velocities = nve.velocities * np.sqrt((mean - nve.energies["potential"]) / nve.energies["kinetic"])
    return nve


def steps_of(time: float) -> int:
    """Returns the number of steps of 2 fs in a time (ps)."""
    return round(time / 0.002)


def frames(simulation: tessera.Simulation, time: float) -> Iterator[None]:
    """Steps for a time (ps) and stops at each frame."""
    for _ in range(round(time / LAG)):
        simulation.step(steps_of(LAG))
        yield


def unwrapped(places: Array, edge: float) -> Array:
    """Returns places (frames, n, 3) that follow each atom through the faces of a cubic box."""
    moved = np.diff(places, axis=0)
    moved -= edge * np.round(moved / edge)
    return np.concatenate([places[:1], places[0] + np.cumsum(moved, axis=0)])


def diffusion(places: Array) -> Mean:
    """Returns the coefficient (10⁻⁵ cm²/s) from the slope of the mean square displacement between 2 and 10 ps, or what
    a short series has of it. The error is that of four parts of the atoms or, which in a short time is more, of four
    parts of the time: all atoms move faster at some times than at others."""

    def slope(of_part: Array) -> float:
        longest = min(round(10.0 / LAG), len(of_part) // 3)
        lags = np.arange(max(1, longest // 5), longest + 1)
        squares = [((of_part[lag:] - of_part[:-lag]) ** 2).sum(axis=2).mean() for lag in lags]
        return float(np.polyfit(LAG * lags, squares, 1)[0])

    of_atoms = Mean.of(10 * np.array([slope(part) for part in np.array_split(places, 4, axis=1)]) / 6, blocks=4)
    of_times = Mean.of(10 * np.array([slope(part) for part in np.array_split(places, 4)]) / 6, blocks=4)
    return Mean(of_atoms.value, max(of_atoms.error, of_atoms.value * of_times.error / of_times.value))


def first_maximum(places: Array, edge: float) -> tuple[float, Mean]:
    """Returns place and height of the first maximum of the radial distribution of frames (n_frames, n, 3)."""
    bins = np.arange(2.0, 4.0, PEAK_BIN)
    n = places.shape[1]
    shells = 4 / 3 * np.pi * np.diff(bins**3)
    first, second = np.triu_indices(n, 1)
    counts = []
    for frame in places:
        apart = frame[first] - frame[second]
        apart -= edge * np.round(apart / edge)
        counts.append(np.histogram(np.sqrt((apart**2).sum(axis=1)), bins)[0])
    g = np.array(counts) * edge**3 / (shells * n * (n - 1) / 2)
    top = int(g.mean(axis=0).argmax())
    # A parabola through the three highest bins.
    left, middle, right = g[:, top - 1], g[:, top], g[:, top + 1]
    a, b, c = left.mean(), middle.mean(), right.mean()
    shift = 0.5 * (a - c) / (a - 2 * b + c)
    height = Mean.of(middle - 0.25 * (left - right) * shift, blocks=min(10, len(g)))
    return float(bins[top] + PEAK_BIN * (0.5 + shift)), height


#: Lennard-Jones fluid at T* = 0.85, cut off at 3 σ with the mean of what is beyond: ρ*, U*/N, P* by Monte Carlo (the
#: National Institute of Standards and Technology, Lennard-Jones fluid properties)
ARGON = [(0.776, -5.5121, 0.0067714), (0.820, -5.7947, 0.55355), (0.860, -6.0305, 1.2660)]
SIGMA, WELL, MASS = 3.405, 119.8 * BOLTZMANN, 39.948  # Å, kcal/mol, amu


def argon(density: float, folder: Path, *, threads: int, equilibrate: float, sample: float) -> tuple[Mean, Mean]:
    """Returns energy and pressure of 864 argon atoms in units of ε and σ; times in ps."""
    path = folder / f"argon-{density}.tsr"
    edge = write_argon(density, path)
    simulation = tessera.Simulation(
        str(path),
        {
            "interactions": {
                "cutoff": 3 * SIGMA,
                "switch": 3 * SIGMA,
                "lj": "cut",
                "lj_tail": True,
                "electrostatics": "cut",
            },
            "dynamics": {
                "ensemble": "nvt",
                "timestep": 4.0,
                "temperature": 0.85 * WELL / BOLTZMANN,
                "tau_t": 0.5,
                "seed": 1,
            },
            "output": {"energy_every": 10**6},
        },
        threads=threads,
    )
    simulation.step(round(equilibrate / 0.004))
    energy, pressure = [], []
    for _ in range(round(sample / LAG)):
        simulation.step(round(LAG / 0.004))
        energy.append(simulation.energies["potential"])
        pressure.append(simulation.energies["pressure"])
    bar = 69476.95457055373  # bar per kcal/mol/Å³
    n = round(density * edge**3 / SIGMA**3)
    return Mean.of(np.array(energy) / (n * WELL)), Mean.of(np.array(pressure) / bar * SIGMA**3 / WELL)


def write_argon(density: float, path: Path) -> float:
    """Writes 864 atoms on a face-centred lattice. Returns the edge of their box, Å."""
    import openmm
    from openmm import app, unit

    side = 6
    lattice = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    places = np.array([[x, y, z] for x in range(side) for y in range(side) for z in range(side)])
    places = (places[:, None] + lattice).reshape(-1, 3)
    edge = SIGMA * (len(places) / density) ** (1 / 3)
    system, topology = openmm.System(), app.Topology()
    force = openmm.NonbondedForce()
    force.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(3 * SIGMA * unit.angstrom)
    chain = topology.addChain()
    for _ in places:
        system.addParticle(MASS)
        force.addParticle(0, SIGMA * unit.angstrom, WELL * unit.kilocalorie_per_mole)
        topology.addAtom("AR", app.Element.getBySymbol("Ar"), topology.addResidue("AR", chain))
    system.addForce(force)
    system.setDefaultPeriodicBoxVectors(*(edge * row * unit.angstrom for row in np.eye(3)))
    found = tessera.prepare_openmm(system, topology, places * (edge / side) * unit.angstrom)
    path.parent.mkdir(parents=True, exist_ok=True)
    tessera.system.write(found, path)
    return float(edge)


@script(check="a value is off")
@click.option("--waters", default=512, show_default=True, help="Molecules.")
@click.option("--threads", default=2, show_default=True)
@click.option("--equilibrate", default=50.0, show_default=True, help="ps.")
@click.option(
    "--sample", default=400.0, show_default=True, help="ps at constant pressure; half as long at constant energy."
)
def liquids(common: Common, waters: int, threads: int, equilibrate: float, sample: float) -> None:
    """Density, first maximum of g_OO and self-diffusion of four waters, and the equation of state of liquid argon.

    \b
    Examples:
      python -m bench.physics liquids --check --docs
      python -m bench.physics liquids --waters 216 --equilibrate 5 --sample 10
    """
    figure = common.figure("liquids", "Liquids beside published values")
    times = {"equilibrate": equilibrate, "sample": sample}
    rows = []
    for model, published in PUBLISHED.items():
        found = water(model, water_box(common.work, model, waters), threads=threads, say=common.say, **times)
        figure.data[model] = asdict(found)
        rows.append(
            [
                model,
                str(found.density),
                f"{published.density:.3f}",
                f"{found.peak:.2f}",
                f"{published.peak:.2f}",
                str(found.height),
                published.height,
                str(found.diffusion),
                published.diffusion,
            ]
        )
        figure.failures += wrong_of_water(model, found)
    columns = ["density, g/cm³", "maximum of g_OO, Å", "its height", "diffusion, 10⁻⁵ cm²/s"]
    header = ["298 K, 1 bar", *(word for name in columns for word in (name, "published"))]
    figure.tables.append(table(header, rows))
    rows = []
    for density, energy, pressure in ARGON:
        found_energy, found_pressure = argon(density, common.work, threads=threads, **times)
        figure.data[f"argon {density}"] = {"energy": vars(found_energy), "pressure": vars(found_pressure)}
        rows.append([f"{density:.3f}", str(found_energy), f"{energy:.4f}", str(found_pressure), f"{pressure:.4f}"])
        figure.failures += wrong_of_argon(density, found_energy, found_pressure)
        common.say(f"argon, {density}: {found_energy}, {found_pressure}")
    header = ["argon at T* = 0.85: density σ³", "energy/ε", "published", "pressure σ³/ε", "published"]
    figure.tables.append(table(header, rows))
    figure.finish(common)


def wrong_of_water(model: str, found: Liquid) -> list[str]:
    """Returns what is further from the published values than four standard errors and what publications differ by."""
    published = PUBLISHED[model]
    wrong = []
    if not found.density.is_near(published.density, 0.003):
        wrong.append(f"density of {model}: {found.density}, published {published.density}")
    if not abs(found.peak - published.peak) <= 0.03:
        wrong.append(f"first maximum of {model}: {found.peak:.3f} Å, published {published.peak}")
    if published.height is not None and not found.height.is_near(published.height, 0.15):
        wrong.append(f"height of the maximum of {model}: {found.height}, published {published.height}")
    if published.diffusion is not None and not found.diffusion.is_near(published.diffusion, 0.04 * published.diffusion):
        wrong.append(f"diffusion of {model}: {found.diffusion}, published {published.diffusion}")
    return wrong


def wrong_of_argon(density: float, energy: Mean, pressure: Mean) -> list[str]:
    published = next(rest for rho, *rest in ARGON if rho == density)
    names = zip(("energy", "pressure"), (energy, pressure), published, (0.002, 0.005))
    return [
        f"{name} of argon at {density}: {found}, published {expected}"
        for name, found, expected, tolerance in names
        if not found.is_near(expected, tolerance)
    ]
