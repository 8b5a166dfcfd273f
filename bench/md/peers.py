"""Compares speed and memory with GROMACS, OpenMM, LAMMPS and GENESIS on the same machine and the same input."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click

from bench.common import engine, genesis, gromacs, gromacs_build, lammps, openmm_peer, systems
from bench.common.options import Common, script
from bench.common.process import TimedRun, installed, ns_per_day
from bench.common.results import Figure, columns, load, number, table

# The promised ratios of speed to a GROMACS built for the same instruction set, by set, system and cut-off.
LEAST_OF_GROMACS: dict[str, dict[tuple[str, float], float]] = {
    "AVX2": {("apoa1", 12): 1.45, ("dhfr", 12): 1.45, ("apoa1", 9): 1.3, ("dhfr", 9): 1.15},
    "AVX3": {("apoa1", 12): 1.5, ("dhfr", 12): 1.5, ("apoa1", 9): 1.3, ("dhfr", 9): 1.3},
}
LEAST_OF_OPENMM: dict[tuple[str, float], float] = {("apoa1", 12): 6.0, ("dhfr", 12): 6.0}
TITLES_OF_SETS = {"AVX2": "AVX2", "AVX3": "AVX-512"}
MOST_BYTES_PER_ATOM = 1500  # on ApoA1
RECORDS_OF_SETS = {one: f"peers_{one.lower()}" for one in TITLES_OF_SETS}
GREATEST_DIFFERENCE = 0.02  # of the potential energy at the start: only switches and shifts differ


@dataclass
class Series:
    """All repeats of one program on one system. `start` does one run."""

    system: str
    cutoff: float
    program: str
    layout: str
    start: Callable[[], TimedRun]
    ns_per_day: list[float]
    peaks: list[int]
    loads: list[float]
    potential: float = float("nan")

    def repeat(self) -> None:
        self.loads.append(load())
        done = self.start()
        self.ns_per_day.append(done.ns_per_day)
        self.peaks.append(done.outcome.peak_bytes)
        self.potential = done.initial_potential

    @property
    def speed(self) -> float:
        return median(self.ns_per_day)

    @property
    def ms_per_step(self) -> float:
        return 1000 * ns_per_day(1, 1) / self.speed

    @property
    def peak(self) -> int:
        return max(self.peaks)

    @property
    def bytes_per_atom(self) -> float:
        return self.peak / systems.N_ATOMS[self.system]

    def as_json(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in ("system", "cutoff", "program", "layout", "ns_per_day")},
            "median_ns_per_day": self.speed,
            "peak_bytes": self.peak,
            "bytes_per_atom": self.bytes_per_atom,
            "initial_potential_kcal_mol": self.potential,
            "load_before": self.loads,
        }


@script(check="a floor is not met", steps=400, repeats=5, steps_help="Timed steps of Tessera and GROMACS.")
@click.option(
    "--system", "names", multiple=True, type=click.Choice(["dhfr", "apoa1"]), help="Repeatable; default: both."
)
@click.option(
    "--cutoff", "cutoffs", multiple=True, type=float, help="Å; repeatable; default: 12. The other usual value is 9."
)
@click.option("--threads", default=2, show_default=True, help="Cores for each program.")
@click.option(
    "--short-steps",
    type=click.IntRange(1),
    help="Timed steps of programs other than GROMACS; default: an eighth of --steps.",
)
@click.option("--lj", default="force-switch", show_default=True, help="Tessera's interactions.lj at 12 Å.")
@click.option(
    "--instruction-set",
    type=click.Choice(list(gromacs_build.SETS)),
    help="For which GROMACS is built, and to which Tessera is limited; default: the best of this machine.",
)
def peers(
    common: Common,
    names: tuple[str, ...],
    cutoffs: tuple[float, ...],
    threads: int,
    short_steps: int | None,
    lj: str,
    instruction_set: str | None,
    steps: int,
    repeats: int,
) -> None:
    """Measure speed and memory of Tessera and other programs, which take turns on the same cores.

    GROMACS is built from Debian's source for the same instruction set, once. A GROMACS that is installed is measured
    too, without a promise: Debian's knows SSE4.1 alone. LAMMPS and GENESIS are measured where their
    programs lmp and spdyn are installed.

    All use particle-mesh Ewald of order 4, steps of 2 fs, constrained bonds with hydrogen, and energies every 100
    steps. At 12 Å Lennard-Jones forces are switched off from 10 Å and the mesh is at most 1.1 Å; at 9 Å nothing is
    switched and the mesh is at most 1.2 Å.

    \b
    Examples:
      python -m bench.md.peers --data DATA --check
      python -m bench.md.peers --system dhfr --steps 100 --repeats 1
      python -m bench.md.peers --data DATA --cutoff 12 --cutoff 9 --docs
      python -m bench.md.peers --data DATA --instruction-set AVX2
    """
    names, cutoffs = names or ("dhfr", "apoa1"), cutoffs or (12.0,)
    chosen = choose_instruction_set(instruction_set)
    short_steps = short_steps or max(1, steps // 8)
    title = f"Tessera beside other programs, {TITLES_OF_SETS[chosen]}"
    figure = common.figure(RECORDS_OF_SETS[chosen], title, instruction_set=chosen, short_steps=short_steps)
    programs = gromacs_programs(common, figure, chosen)
    if not openmm_peer.is_installed():
        figure.failures.append("OpenMM is not installed: nothing to compare with (pip install openmm)")

    series: list[Series] = []
    for name in names:
        for cutoff in cutoffs:
            ours = tessera_series(common, figure, name, cutoff, threads, lj, steps)
            theirs = peer_series(common, figure, programs, name, cutoff, threads, steps, short_steps)
            for turn in range(repeats):
                for one in (*ours, *theirs):
                    one.repeat()
                    common.say(
                        f"{turn + 1}/{repeats} {name} {cutoff:g} Å {one.program} {one.layout}: "
                        f"{number(one.ns_per_day[-1])} ns/day, {one.peaks[-1] / 1e6:.0f} MB"
                    )
            series += [*ours, *theirs]
    summarise(figure, series, LEAST_OF_GROMACS[chosen])
    figure.finish(common)


def choose_instruction_set(wanted: str | None) -> str:
    """Limits Tessera in this process and those that it starts, and returns the set. Raises ClickException where this
    machine lacks it, or has none that GROMACS is built for."""
    if wanted is not None:
        os.environ["TESSERA_SIMD"] = wanted
    found = re.search(r", (\w+)\)", engine.start(["--version"], Path.cwd(), engine.Layout(1, 1, "serial")).stdout)
    best = found[1] if found else "none"
    if best not in gromacs_build.SETS or wanted not in (None, best):
        raise click.ClickException(
            f"this machine's instruction set is {best}; GROMACS is built for one of {', '.join(gromacs_build.SETS)}"
        )
    return best


def gromacs_programs(common: Common, figure: Figure, instruction_set: str) -> dict[str, Path]:
    """Returns the programs gmx to compare with, by their names in tables."""
    programs = {"GROMACS": gromacs_build.build(common, instruction_set)}
    if (other := installed("gmx")) is not None:
        programs[f"GROMACS, {gromacs.version(other)[1]}"] = other
    for name, gmx in programs.items():
        version, instructions = gromacs.version(gmx)
        figure.versions[name] = f"{version} ({instructions})"
    return programs


def tessera_series(
    common: Common, figure: Figure, name: str, cutoff: float, threads: int, lj: str, steps: int
) -> list[Series]:
    """Returns the series of Tessera's layouts: one rank with all threads, and as many ranks of one thread."""
    layouts = [engine.Layout(1, threads, "serial")]
    if threads > 1:
        flavours = [launcher.flavour for launcher in engine.launch.launchers()]
        if known := [flavour for flavour in ("openmpi", "mpich") if flavour in flavours]:
            layouts.append(engine.Layout(threads, 1, known[0]))
        else:
            figure.failures.append(f"no MPI is installed: {threads} × 1 was not measured (apt-get install openmpi-bin)")
    path = systems.system(common, name)
    settings = engine.without_frames(cutoff, steps, lj)

    def start(layout: engine.Layout) -> TimedRun:
        done = engine.run(path, settings, common.work / "runs" / f"peers_{name}_{cutoff:g}", layout)
        figure.versions.update(done.versions())
        if layout.ranks > 1:
            figure.versions["MPI"] = done.report["versions"]["mpi"]
        return TimedRun(done.report["ns_per_day"], done.initial_potential(), done.outcome)

    return [
        Series(name, cutoff, "Tessera", str(layout), lambda layout=layout: start(layout), [], [], [])  # type: ignore[misc]
        for layout in layouts
    ]


def peer_series(
    common: Common,
    figure: Figure,
    programs: dict[str, Path],
    name: str,
    cutoff: float,
    threads: int,
    steps: int,
    short_steps: int,
) -> list[Series]:
    """Returns the series of each GROMACS, and of OpenMM, LAMMPS and GENESIS where they are installed."""
    found: list[Series] = []
    for title, gmx in programs.items():
        tpr = gromacs.prepare(common, programs["GROMACS"], name, cutoff)

        def start_gromacs(gmx: Path = gmx, tpr: Path = tpr) -> TimedRun:
            return gromacs.run(gmx, tpr, common.work / "runs" / f"gromacs_{name}_{cutoff:g}", steps, threads)

        found.append(Series(name, cutoff, title, f"1 × {threads}", start_gromacs, [], [], []))
    lmp, spdyn = installed("lmp"), installed("spdyn")
    if not (openmm_peer.is_installed() or lmp or spdyn):
        return found
    # The engine chooses the mesh; a run of one step reports it.
    probe = engine.run(
        systems.system(common, name),
        engine.merge(engine.interactions(cutoff), {"dynamics": {"steps": 1}}),
        common.work / "runs" / f"probe_{name}_{cutoff:g}",
        engine.Layout(1, threads, "serial"),
    ).report["results"]
    alpha, grid = probe["pme_alpha"], probe["pme_grid"]
    if openmm_peer.is_installed():
        built = openmm_peer.prepare(common, name, cutoff, alpha, grid)
        figure.versions.update(openmm_peer.version())

        def start_openmm() -> TimedRun:
            return openmm_peer.run(built, short_steps, threads)

        found.append(Series(name, cutoff, "OpenMM, CPU", f"1 × {threads}", start_openmm, [], [], []))
    if lmp is not None:
        written = lammps.prepare(common, name)
        figure.versions["LAMMPS"] = lammps.version(lmp)

        def start_lammps(lmp: Path = lmp) -> TimedRun:
            folder = common.work / "runs" / f"lammps_{name}_{cutoff:g}"
            return lammps.run(lmp, written, cutoff, alpha, grid, folder, threads, short_steps)

        found.append(Series(name, cutoff, "LAMMPS", f"{threads} × 1", start_lammps, [], [], []))
    if spdyn is not None:
        files = genesis.inputs(common, name)

        def start_genesis(spdyn: Path = spdyn) -> TimedRun:
            folder = common.work / "runs" / f"genesis_{name}_{cutoff:g}"
            done = genesis.run(spdyn, files, cutoff, alpha, grid, folder, threads, -(-short_steps // 10) * 10)
            figure.versions["GENESIS"] = done.version
            return done

        found.append(Series(name, cutoff, "GENESIS", f"1 × {threads}", start_genesis, [], [], []))
    return found


def summarise(figure: Figure, series: list[Series], least_of_gromacs: dict[tuple[str, float], float]) -> None:
    """Fills in the tables, the ratios of medians and the promises that were not kept."""
    figure.data["series"] = [one.as_json() for one in series]
    cells: dict[str, Callable[[Series], Any]] = {
        "system": lambda s: systems.TITLES[s.system],
        "cut-off, Å": lambda s: f"{s.cutoff:g}",
        "program": lambda s: s.program,
        "ranks × threads": lambda s: s.layout,
        "ns/day": lambda s: s.speed,
        "spread": lambda s: f"{number(min(s.ns_per_day))}–{number(max(s.ns_per_day))}",
        "ms/step": lambda s: s.ms_per_step,
        "peak memory, MB": lambda s: s.peak / 1e6,
        "B/atom": lambda s: s.bytes_per_atom,
    }
    figure.tables.append(columns(series, cells))
    rows: list[list[Any]] = []
    floors: list[dict[str, Any]] = []

    def floor(what: str, found: float, limit: float, is_met: bool, sign: str, spread: str) -> None:
        floors.append({"what": what, "found": found, "limit": limit, "is_met": is_met})
        rows.append([what, found, spread, f"{sign} {limit:,g}", "yes" if is_met else "**no**"])
        if not is_met:
            figure.failures.append(f"{what}: {number(found)}, should be {sign} {limit:g}")

    for name, cutoff in dict.fromkeys((s.system, s.cutoff) for s in series):
        group = [s for s in series if (s.system, s.cutoff) == (name, cutoff)]
        best = max((s for s in group if s.program == "Tessera"), key=lambda s: s.speed)
        where = f"{systems.TITLES[name]} at {cutoff:g} Å"
        limits_of = {"GROMACS": least_of_gromacs, "OpenMM, CPU": LEAST_OF_OPENMM}
        for program in dict.fromkeys(s.program for s in group if s is not best and s.program != "Tessera"):
            limit = limits_of.get(program, {}).get((name, cutoff))
            for other in (s for s in group if s.program == program):
                ratio = best.speed / other.speed
                what = f"{where}: speed over {program}"
                turns = [ours / theirs for ours, theirs in zip(best.ns_per_day, other.ns_per_day)]
                spread = f"{number(min(turns))}–{number(max(turns))}"
                if limit is not None:
                    floor(what, ratio, limit, ratio >= limit, "≥", spread)
                else:
                    rows.append([what, ratio, spread, "–", "–"])
                difference = abs(other.potential / best.potential - 1)
                if not difference < GREATEST_DIFFERENCE:
                    figure.failures.append(
                        f"{where}: potential energy {other.potential:,.0f} kcal/mol in {program}, "
                        f"{best.potential:,.0f} in Tessera: not the same system"
                    )
        if name == "apoa1" and cutoff == 12:
            limit = MOST_BYTES_PER_ATOM
            floor(
                f"{where}: peak memory of the faster layout ({best.layout}), B/atom",
                best.bytes_per_atom,
                limit,
                best.bytes_per_atom <= limit,
                "≤",
                "–",
            )
    figure.data["floors"] = floors
    figure.tables.append(table(["ratio of medians", "found", "of single turns", "floor", "met"], rows))
    figure.notes.append(
        "Programs took turns; memory is the greatest resident set, summed over ranks, of whole processes (OpenMM's "
        "with Python). OpenMM's B-splines are of order 5 on the same mesh. LAMMPS switches Lennard-Jones energies, not "
        "forces, off, from 0.1 Å before a cut-off of 9 Å."
    )


if __name__ == "__main__":
    peers()
