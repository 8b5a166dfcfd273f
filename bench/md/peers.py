"""Compares speed and memory with GROMACS and OpenMM on the same machine and the same input."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import click

from bench.common import engine, gromacs, openmm_peer, systems
from bench.common.options import Common, common_options
from bench.common.results import Figure, load, number, table

# The promised ratios of speed by system and cut-off. They are relative to Debian's GROMACS (SSE4.1 kernels) and
# correspond to 1.2 times the speed of GROMACS built for AVX-512 on ApoA1 and 1.1 times on DHFR at 12 Å, and to the same
# speed at 9 Å.
LEAST_OF_GROMACS: dict[tuple[str, float], float] = {
    ("apoa1", 12): 1.55,
    ("dhfr", 12): 1.65,
    ("apoa1", 9): 1.35,
    ("dhfr", 9): 2.0,
}
LEAST_OF_OPENMM: dict[tuple[str, float], float] = {("apoa1", 12): 6.0, ("dhfr", 12): 6.0}
MOST_BYTES_PER_ATOM = 1500  # on ApoA1
GREATEST_DIFFERENCE = 0.02  # of the potential energy at the start: only switches and shifts differ


@dataclass
class Series:
    """All repeats of one program on one system. `start` does one run and returns ns/day, bytes and kcal/mol."""

    system: str
    cutoff: float
    program: str
    layout: str
    start: Callable[[], tuple[float, int, float]]
    ns_per_day: list[float]
    peaks: list[int]
    loads: list[float]
    potential: float = float("nan")

    def repeat(self) -> None:
        self.loads.append(load())
        speed, peak, self.potential = self.start()
        self.ns_per_day.append(speed)
        self.peaks.append(peak)

    @property
    def speed(self) -> float:
        return median(self.ns_per_day)

    @property
    def ms_per_step(self) -> float:
        return 0.002 / 1000 * 86400 / self.speed * 1000

    @property
    def peak(self) -> int:
        return max(self.peaks)

    @property
    def bytes_per_atom(self) -> float:
        return self.peak / systems.N_ATOMS[self.system]

    def as_json(self) -> dict[str, Any]:
        return {
            "system": self.system,
            "cutoff": self.cutoff,
            "program": self.program,
            "layout": self.layout,
            "ns_per_day": self.ns_per_day,
            "median_ns_per_day": self.speed,
            "peak_bytes": self.peak,
            "bytes_per_atom": self.bytes_per_atom,
            "initial_potential_kcal_mol": self.potential,
            "load_before": self.loads,
        }


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--system", "names", multiple=True, type=click.Choice(["dhfr", "apoa1"]), help="Repeatable; default: both."
)
@click.option(
    "--cutoff", "cutoffs", multiple=True, type=float, help="Å; repeatable; default: 12. The other usual value is 9."
)
@click.option("--threads", default=2, show_default=True, help="Cores for each program.")
@click.option("--openmm-steps", type=click.IntRange(1), help="Timed steps of OpenMM; default: an eighth of --steps.")
@click.option("--lj", default="force-switch", show_default=True, help="Tessera's interactions.lj at 12 Å.")
@click.option("--check", is_flag=True, help="End with status 1 where a floor is not met.")
@common_options(steps=400, repeats=5, steps_help="Timed steps of Tessera and GROMACS.")
def peers(
    common: Common,
    names: tuple[str, ...],
    cutoffs: tuple[float, ...],
    threads: int,
    openmm_steps: int | None,
    lj: str,
    check: bool,
    steps: int,
    repeats: int,
) -> None:
    """Measure speed and memory of Tessera, GROMACS and OpenMM, which take turns on the same cores.

    All use particle-mesh Ewald of order 4, steps of 2 fs, constrained bonds with hydrogen, and energies every 100
    steps. At 12 Å Lennard-Jones forces are switched off from 10 Å and the mesh is at most 1.1 Å; at 9 Å nothing is
    switched and the mesh is at most 1.2 Å.

    \b
    Examples:
      python -m bench.md.peers --data DATA --check
      python -m bench.md.peers --system dhfr --steps 100 --repeats 1
      python -m bench.md.peers --data DATA --cutoff 12 --cutoff 9 --docs
    """
    if steps < 1:
        raise click.UsageError("--steps: at least 1")
    names, cutoffs = names or ("dhfr", "apoa1"), cutoffs or (12.0,)
    figure = Figure(
        "peers",
        "Tessera beside GROMACS and OpenMM",
        {"steps": steps, "repeats": repeats, "threads": threads, "lj": lj, "openmm_steps": openmm_steps or steps // 8},
        {},
    )
    for program, is_there, how in (
        ("GROMACS", gromacs.program() is not None, "apt-get install gromacs"),
        ("OpenMM", openmm_peer.is_installed(), "pip install openmm"),
    ):
        if not is_there:
            common.say(f"{program} is missing and left out ({how})")
            figure.failures.append(f"{program} is not installed: nothing to compare with ({how})")

    series: list[Series] = []
    for name in names:
        for cutoff in cutoffs:
            ours = tessera_series(common, figure, name, cutoff, threads, lj, steps)
            theirs = peer_series(common, figure, name, cutoff, threads, steps, openmm_steps or max(1, steps // 8))
            for turn in range(repeats):
                for one in (*ours, *theirs):
                    one.repeat()
                    common.say(
                        f"{turn + 1}/{repeats} {name} {cutoff:g} Å {one.program} {one.layout}: "
                        f"{number(one.ns_per_day[-1])} ns/day, {one.peaks[-1] / 1e6:.0f} MB"
                    )
            series += [*ours, *theirs]
    summarise(figure, series)
    figure.write(common.results, as_json=common.as_json, docs=common.docs)
    if check and figure.failures:
        sys.exit(1)


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
    settings = engine.merge(
        engine.interactions(cutoff, lj),
        {"dynamics": {"steps": steps}, "output": {"trajectory": "none", "trajectory_every": 0}},
    )

    def start(layout: engine.Layout) -> tuple[float, int, float]:
        done = engine.run(path, settings, common.work / "runs" / f"peers_{name}_{cutoff:g}", layout)
        figure.versions.update(done.versions())
        if layout.ranks > 1:
            figure.versions["MPI"] = done.report["versions"]["mpi"]
        return done.report["ns_per_day"], done.outcome.peak_bytes, done.initial_potential()

    return [
        Series(name, cutoff, "Tessera", str(layout), lambda layout=layout: start(layout), [], [], [])  # type: ignore[misc]
        for layout in layouts
    ]


def peer_series(
    common: Common, figure: Figure, name: str, cutoff: float, threads: int, steps: int, openmm_steps: int
) -> list[Series]:
    """Returns the series of GROMACS and OpenMM, where they are installed."""
    found: list[Series] = []
    if gromacs.program() is not None:
        tpr = gromacs.prepare(common, name, cutoff)
        figure.versions.update(gromacs.version())

        def start_gromacs() -> tuple[float, int, float]:
            done = gromacs.run(tpr, common.work / "runs" / f"gromacs_{name}_{cutoff:g}", steps, threads)
            return done.ns_per_day, done.outcome.peak_bytes, done.initial_potential

        found.append(Series(name, cutoff, "GROMACS", f"1 × {threads}", start_gromacs, [], [], []))
    if openmm_peer.is_installed():
        # The engine chooses the mesh; a run of no steps reports it.
        probe = engine.run(
            systems.system(common, name),
            engine.merge(engine.interactions(cutoff), {"dynamics": {"steps": 1}}),
            common.work / "runs" / f"probe_{name}_{cutoff:g}",
            engine.Layout(1, threads, "serial"),
        ).report["results"]
        prepared = openmm_peer.prepare(common, name, cutoff, probe["pme_alpha"], probe["pme_grid"])
        figure.versions.update(openmm_peer.version())

        def start_openmm() -> tuple[float, int, float]:
            done = openmm_peer.run(prepared, openmm_steps, threads)
            return done.ns_per_day, done.outcome.peak_bytes, done.initial_potential

        found.append(Series(name, cutoff, "OpenMM, CPU", f"1 × {threads}", start_openmm, [], [], []))
    return found


def summarise(figure: Figure, series: list[Series]) -> None:
    """Fills in the tables, the ratios of medians and the promises that were not kept."""
    figure.data["series"] = [one.as_json() for one in series]
    figure.tables.append(
        table(
            [
                "system",
                "cut-off, Å",
                "program",
                "ranks × threads",
                "ns/day",
                "spread",
                "ms/step",
                "peak memory, MB",
                "B/atom",
            ],
            [
                [
                    systems.TITLES[s.system],
                    f"{s.cutoff:g}",
                    s.program,
                    s.layout,
                    s.speed,
                    f"{number(min(s.ns_per_day))}–{number(max(s.ns_per_day))}",
                    s.ms_per_step,
                    s.peak / 1e6,
                    s.bytes_per_atom,
                ]
                for s in series
            ],
        )
    )
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
        for program, limits in (("GROMACS", LEAST_OF_GROMACS), ("OpenMM, CPU", LEAST_OF_OPENMM)):
            limit = limits.get((name, cutoff))
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
        "with Python). OpenMM's B-splines are of order 5 on the same mesh."
    )
    figure.notes += [f"Failed: {text}." for text in figure.failures]


if __name__ == "__main__":
    peers()
