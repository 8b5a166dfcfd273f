"""Plans one step of the systems of Jung et al. (2019) on 65,536 ranks and estimates the time of its phases.

    python -m bench.scale.md_step [--ranks 65536] [--system apoa1 --data DATA] [--docs]

No step is run: the engine's plans (cells, bricks, halo, mesh, transform) give the atoms, cells, mesh points and
messages of the busiest rank, and messages are distributed over the links of the platforms (bench/scale/platforms.py). A
run of the engine on one core gives the rates of computation: seconds of each phase for an atom, for a mesh point, or
for a mesh point and the logarithm of its line. These cores are not the paper's, so shares can be compared, but seconds
can't.
"""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

import tessera._core as core
from bench.common import engine, systems
from bench.common.options import Common, script
from bench.common.results import ROOT, table
from bench.scale.platforms import AT_ONCE, Exchange, Platform, platforms
from tessera.plots import STYLE

STMV_ATOMS, STMV_EDGE = 1_066_628, 216.832  # Å
CUTOFF, BUFFER, GROUP_RADIUS = 12.0, 2.5, 1.22  # Å
POSITION_BYTES, FORCE_BYTES, REAL_BYTES = (
    12,
    24,
    4,
)  # of a halo atom in both directions; of a mesh point in mixed precision
HALO_RANKS = 2048  # number of ranks for which the halo is planned
PHASES = ("pair", "neighbours", "bonded", "mesh", "transform", "transform's exchanges", "halo", "integration")
# From Jung et al. (2019), Table 3, of 9936.63 s in all; the 13.68 % for integration there is a misprint of 520.03 s.
TABLE_3 = {"integration": 520.03, "bonded": 13.68, "real space": 2272.25, "reciprocal space": 5493.88}
TABLE_3_TOTAL = 9936.63
PARTS = {
    "integration": ("halo", "integration"),
    "bonded": ("bonded",),
    "real space": ("pair", "neighbours"),
    "reciprocal space": ("mesh", "transform", "transform's exchanges"),
}
COLOURS = ("#0072B2", "#56B4E9", "#5A6270", "#E69F00", "#F0C060", "#D55E00", "#009E73", "#CC79A7")


@dataclass(frozen=True)
class System:
    """A box of the paper: edges in Å, mesh, time step in fs."""

    name: str
    edges: tuple[float, float, float]
    mesh: tuple[int, int, int]
    time_step: float

    @property
    def atoms(self) -> float:
        """The number of atoms at the density of STMV in water."""
        return STMV_ATOMS * math.prod(self.edges) / STMV_EDGE**3


SYSTEMS = (
    System("230 M", (6 * STMV_EDGE,) * 3, (1024,) * 3, 2.0),
    System("1 G", (10 * STMV_EDGE,) * 3, (2048,) * 3, 2.0),
    System("GATA4", (1907.0, 2252.0, 2485.0), (2048,) * 3, 1.0),
)


@dataclass(frozen=True)
class Rates:
    """Seconds on one core for an atom, for a mesh point, or for a mesh point and the logarithm (base 2) of a mesh's
    points."""

    pair: float
    neighbours: float
    bonded: float
    mesh: float
    integration: float
    solve: float
    transform: float


def rates_of(report: dict[str, Any]) -> Rates:
    """Computes the rates from the report of a run on one core."""
    spent = {p["name"]: p["seconds"] / report["steps"] for p in report["phases"]}
    atoms, points = report["n_atoms"], math.prod(report["results"]["pme_grid"])

    def of(*names: str) -> float:
        return sum(float(spent[name]) for name in names)

    return Rates(
        pair=of("pair forces") / atoms,
        neighbours=of("sort and migration", "pair list") / atoms,
        bonded=of("bonded forces") / atoms,
        mesh=of("mesh: spread charges", "mesh: forces") / atoms,
        integration=of("kick, drift, constrain", "kick, constrain", "displacement check", "clear forces") / atoms,
        solve=of("mesh: solve") / points,
        transform=of("mesh: forward transform", "mesh: backward transform") / (points * math.log2(points)),
    )


def seconds(platform: Platform, messages: list[np.ndarray]) -> float:
    """Returns the seconds of one exchange."""
    exchange = Exchange(platform)
    for part in messages:
        exchange.add(part)
    return exchange.seconds()


def halo_seconds(plan: core.MdPlan, system: System, where: list[Platform]) -> np.ndarray:
    """Returns the seconds for positions to the halo and forces back, by platform.

    Ranks are alike, so only the first HALO_RANKS are counted.
    """
    cells = plan.halo(0, min(where[0].ranks, HALO_RANKS))
    atoms = system.atoms / math.prod(plan.cells)
    found = np.zeros(len(where))
    for size in (POSITION_BYTES, FORCE_BYTES):
        messages = cells.copy()
        messages[:, 2] = np.ceil(cells[:, 2] * atoms * size)
        found += [seconds(p, [messages]) for p in where]
    return found


def chosen_scheme(plan: core.MdPlan, system: System, platform: Platform) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "machine.json"
        path.write_text(json.dumps(platform.machine_file()))
        ranked = core.rank_fft_schemes(
            str(path),
            ranks_per_host=platform.node.ranks,
            shape=system.mesh,
            is_real=True,
            real_bytes=REAL_BYTES,
            input=plan.bricks,
            output=plan.padded,
        )
    return str(ranked[0][0].scheme)


def transform_seconds(plan: core.FftPlan, where: list[Platform]) -> np.ndarray:
    """Returns the seconds of forward from bricks and backward to the points that atoms need, by platform."""
    ranks, last = where[0].ranks, plan.n_exchanges - 1
    found = np.zeros(len(where))
    # Backward makes the exchanges of forward in reverse, apart from the last one.
    todo = [(0, False, 1), *((i, False, 2) for i in range(1, last + 1)), (last, True, 1)]
    for i, backward, times in todo:
        exchanges = [Exchange(p) for p in where]
        for first in range(0, ranks, AT_ONCE):
            messages = plan.messages(i, first, min(ranks, first + AT_ONCE), backward=backward)
            for exchange in exchanges:
                exchange.add(messages * (1, 1, REAL_BYTES))
        found += [times * exchange.seconds() for exchange in exchanges]
    return found


def step(system: System, where: list[Platform], rates: Rates, cores: int) -> list[dict[str, Any]]:
    """Returns the seconds of each phase on the busiest rank, by platform; a rank's cores share its work evenly."""
    ranks = where[0].ranks
    plan = core.MdPlan(system.edges, system.mesh, ranks=ranks, cutoff=CUTOFF, buffer=BUFFER, group_radius=GROUP_RADIUS)
    bricks = plan.cell_bricks
    atoms = system.atoms * float(np.prod(bricks[:, 1] - bricks[:, 0], axis=1).max()) / math.prod(plan.cells)
    halo = halo_seconds(plan, system, where)
    schemes = [chosen_scheme(plan, system, p) for p in where]
    transforms = {
        scheme: core.FftPlan(scheme, system.mesh, is_real=True, ranks=ranks, input=plan.bricks, output=plan.padded)
        for scheme in set(schemes)
    }
    exchanges = {scheme: transform_seconds(transform, where) for scheme, transform in transforms.items()}
    found = []
    for k, (platform, scheme) in enumerate(zip(where, schemes)):
        boxes = transforms[scheme].largest_boxes
        points = math.prod(system.mesh)
        waves = points * (system.mesh[2] // 2 + 1) / system.mesh[2]
        spent = dict.fromkeys(PHASES, 0.0)
        spent["pair"] = rates.pair * atoms / cores
        spent["neighbours"] = rates.neighbours * atoms / cores
        spent["bonded"] = rates.bonded * atoms / cores
        spent["mesh"] = (rates.mesh * atoms + rates.solve * points * boxes[-1] / waves) / cores
        spent["transform"] = rates.transform * points * math.log2(points) * max(boxes) / waves / cores
        spent["transform's exchanges"] = float(exchanges[scheme][k])
        spent["halo"] = float(halo[k])
        spent["integration"] = rates.integration * atoms / cores
        found.append(
            {"system": system.name, "platform": platform.name, "scheme": scheme, "atoms": atoms, "seconds": spent}
        )
    return found


def shares(spent: dict[str, float]) -> dict[str, float]:
    """Returns the shares of the whole step, by the parts of Table 3."""
    whole = sum(spent.values())
    return {part: sum(spent[name] for name in names) / whole for part, names in PARTS.items()}


def tables(steps: list[dict[str, Any]]) -> list[str]:
    columns = [f"{s['system']}, {s['platform']}" for s in steps]
    rows: list[list[Any]] = [["scheme chosen", *(s["scheme"] for s in steps)]]
    rows.append(["atoms of the busiest rank", *(round(s["atoms"]) for s in steps)])
    rows += [[f"{name}, ms", *(1e3 * s["seconds"][name] for s in steps)] for name in PHASES]
    rows.append(["**all, ms**", *(1e3 * sum(s["seconds"].values()) for s in steps)])
    rows.append(["ns/day", *(86400e-6 * s["time_step"] / sum(s["seconds"].values()) for s in steps)])
    paper = {part: spent / TABLE_3_TOTAL for part, spent in TABLE_3.items()}
    compared: list[list[Any]] = [
        [part, f"{paper[part]:.1%}", *(f"{shares(s['seconds'])[part]:.1%}" for s in steps)] for part in PARTS
    ]
    compared.append(["not named", f"{1 - sum(paper.values()):.1%}", *("–" for _ in steps)])
    return [
        table(["phase", *columns], rows),
        table(["share", "Jung et al. (2019), Table 3 (GATA4)", *columns], compared),
    ]


def draw(steps: list[dict[str, Any]], path: Path) -> None:
    """Draws the phases of a step as stacked bars beside Table 3."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        figure, ax = plt.subplots(figsize=(9, 3.4))
        for y, s in enumerate(steps):
            begin, whole = 0.0, sum(s["seconds"].values())
            for name, colour in zip(PHASES, COLOURS):
                share = 100 * s["seconds"][name] / whole
                ax.barh(y, share, left=begin, color=colour, label=name if y == 0 else None)
                begin += share
        ax.set_yticks(range(len(steps)))
        ax.set_yticklabels([f"{s['system']}, {s['platform']}" for s in steps])
        ax.set_xlabel("share of a step (planned), %")
        ax.set_xlim(0, 100)
        ax.legend(ncol=4, loc="lower center", bbox_to_anchor=(0.45, 1.0), fontsize="small")
        figure.tight_layout()
        figure.savefig(path, dpi=110)
        plt.close(figure)


@script(steps=100, repeats=1, steps_help="Steps of the run that gives the rates.")
@click.option("--ranks", default=65536, show_default=True, help="A power of two; 32 a node.")
@click.option("--cores", default=2, show_default=True, help="Cores of a rank.")
@click.option("--system", "name", default="apoa1", show_default=True, type=click.Choice(systems.NAMES))
def main(common: Common, ranks: int, cores: int, name: str, steps: int, repeats: int) -> None:
    """Estimate the phases of a step of the paper's systems from plans, link loads and a core's rates."""
    settings = engine.without_frames(CUTOFF, steps)
    reports = []
    for _ in range(repeats):
        done = engine.run(systems.system(common, name), settings, common.work / "runs" / "md_step", engine.Layout(1, 1))
        reports.append(done.report)
    rates = rates_of(min(reports, key=lambda report: float(report["ms_per_step"])))
    where = [p for p in platforms(ranks) if p.node.ranks == 32]
    found = []
    for system in SYSTEMS:
        common.say(f"planning {system.name}: {system.atoms:.4g} atoms")
        found += [{**s, "time_step": system.time_step} for s in step(system, where, rates, cores)]
    figure = common.figure("scale_md_step", "A step at scale, planned")
    figure.versions.update(done.versions())
    figure.data = {"rates": rates.__dict__, "steps": found}
    figure.tables = tables(found)
    ns = ", ".join(f"{key} {1e9 * value:.3g}" for key, value in rates.__dict__.items())
    figure.notes = [f"Planned, not run: {ranks:,} ranks of {cores} cores, 32 a node. ns on one core ({name}): {ns}."]
    common.results.mkdir(parents=True, exist_ok=True)
    draw(found, (ROOT / "docs" / "images" if common.docs else common.results) / "scale_md_step.png")
    figure.finish(common)


if __name__ == "__main__":
    main()
