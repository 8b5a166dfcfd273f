"""Measures the communication of molecular dynamics with replicated data on emulations of the networks of Borštnik et
al. (2004), table 2 and figure 4: forces are summed by a reduce-scatter and positions told to all by an all-gather."""

from __future__ import annotations

import datetime
import itertools
import json
import operator
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import click

from bench.cluster.bounds import VECTOR
from bench.cluster.emulated import LIBRARIES, Job, take_machine, timeout_option, version_of
from bench.common.options import Common, script
from bench.common.results import ROOT, Figure, commit, machine, number, table
from tests.cluster import launch
from tests.cluster import spec as cluster_spec
from tests.cluster.spec import Spec

PIECES = ROOT / "bench" / "cluster" / "pieces" / "replicated"
STEPS = 500  # of the paper's runs
ONE_PROCESSOR = 654.0  # s on one processor of which the paper's speed-ups are, about; it prints no time
ROWS = ((2, 1), (2, 2), (4, 1), (4, 2), (8, 1), (8, 2), (16, 1), (16, 2))  # computers × processors of each
NETWORKS = {  # by their names in the paper; it has no quads
    "crow8-1000": "1000",
    "crow8-pairs": "100 + 1000",
    "crow8-100": "100",
    "crow8-100+1000": "100 + 1000, quads",
}
OURS, LIBRARY, CMPI = "auto", "native", "recursive_halving:order=ranks"
GATHER_OF_CMPI = "recursive_doubling:order=ranks"


@dataclass(frozen=True)
class Vector:
    """A collective operation of every step and the bytes of its vector."""

    name: str
    call: str  # its name in tessera-collectives
    bytes: int
    elements: str

    def entries(self) -> list[str]:
        return [OURS, LIBRARY, CMPI if self.call == "reduce_scatter" else GATHER_OF_CMPI]


VECTORS = (
    Vector("forces", "reduce_scatter", VECTOR, "double"),
    Vector("positions", "all_gatherv", VECTOR, "double"),
    Vector("forces of integers", "reduce_scatter", VECTOR, "long"),
    Vector("positions of 4 bytes", "all_gatherv", VECTOR // 2, "int"),
)
PAPERS, INTEGERS = VECTORS[:2], VECTORS[2:]

# Table 2: speed-ups, and seconds of communication of 500 steps, by the rows above. LAM and MPICH are on 1000.
PAPER: dict[str, tuple[tuple[float, float], ...]] = {
    "1000": ((1.97, 5.7), (3.63, 7.8), (3.78, 7.5), (6.74, 10.0), (7.11, 8.6), (12.02, 11.2), (12.79, 9.5),
             (19.98, 12.3)),
    "100 + 1000": ((1.96, 5.7), (3.64, 7.9), (3.66, 14.7), (6.48, 16.6), (6.52, 20.8), (10.48, 23.1), (10.57, 25.7),
                   (15.40, 26.5)),
    "100": ((1.89, 24.6), (3.45, 21.7), (3.40, 35.4), (5.85, 32.9), (5.76, 40.5), (8.67, 42.3), (8.74, 45.1),
            (11.53, 48.0)),
    "MPICH": ((1.96, 6.6), (3.59, 12.9), (3.74, 9.4), (6.40, 17.8), (6.94, 11.5), (10.53, 22.8), (12.04, 14.4),
              (15.50, 26.0)),
    "LAM": ((1.96, 7.2), (3.58, 13.3), (3.65, 17.2), (6.45, 17.8), (6.59, 19.2), (10.31, 25.4), (10.50, 26.2),
            (13.13, 37.2)),
}  # fmt: skip


@dataclass(frozen=True)
class Timing:
    """Times of the vectors of a step on some computers of a network, s of the emulation: by the order of computers,
    then by vector, then ours, the library's own and CMPI's in turns."""

    spec: str
    mpi: str
    computers: int
    processors: int  # of each computer
    times: dict[str, dict[str, list[list[float]]]]
    plans: dict[str, str]  # ours, by vector, in job order
    version: str
    where: str  # machine, day and commit

    def seconds(self, order: str, column: int, vectors: Sequence[Vector]) -> float:
        """Returns the median time of these vectors together."""
        return sum(median(self.times[order][vector.name][column]) for vector in vectors)


JOB, RIGHT = "host by host", "reversed bits"
METHODS = {  # order of computers and column of the times
    "Tessera": (JOB, 0),
    "the library": (JOB, 1),
    "CMPI": (RIGHT, 2),
    "CMPI, host by host": (JOB, 2),
    "the library, reversed bits": (RIGHT, 1),
}


def orders(spec: Spec, computers: int, processors: int) -> dict[str, list[str]]:
    """Returns the computer of each rank: by filling one after the other, and by the paper's §2, where the reversed bits
    of a rank give its computer."""
    hosts = spec.hosts[:computers]
    ranks = computers * processors
    width = ranks.bit_length() - 1
    reversed_bits = [int(f"{rank:0{width}b}"[::-1], 2) for rank in range(ranks)]
    return {
        JOB: [host for host in hosts for _ in range(processors)],
        RIGHT: [hosts[place // processors] for place in reversed_bits],
    }


def measure(
    common: Common, spec: Spec, cluster: launch.Cluster, mpi: str, row: tuple[int, int], rounds: int, timeout: float
) -> Timing:
    """Measures one row of the table on a cluster that is up: in each round both orders, and in them entries in
    turns."""
    places = orders(spec, *row)
    times: dict[str, dict[str, list[list[float]]]]
    times = {order: {vector.name: [[], [], []] for vector in VECTORS} for order in places}
    plans, version = {}, ""
    found = Job(spec, cluster, mpi, launch.host_by_host(spec), timeout).find_map(common, None)
    for _, (order, hosts), vector in itertools.product(range(rounds), places.items(), VECTORS):
        job = Job(spec, cluster, mpi, hosts, timeout)
        said = job.time(
            vector.call, vector.bytes, 3, map_file=found, entries=vector.entries(), elements=vector.elements
        )
        for column, entry in enumerate(said["entries"]):
            times[order][vector.name][column] += entry["times"]
        if order == JOB:
            plans[vector.name] = said["entries"][0]["plan"]
        version = version_of(said["library"])
    here = machine()
    where = f"{here['processor']}, {here['cores']} cores, {datetime.date.today()}, commit {commit()}"
    return Timing(spec.name, mpi, *row, times, plans, version, where)


def kept(folder: Path) -> list[Timing]:
    """Returns all measurements, in the order of the table."""
    found = [Timing(**json.loads(path.read_text())) for path in folder.glob("*.json")]
    names = list(NETWORKS)
    return sorted(found, key=lambda one: (names.index(one.spec), one.mpi, one.computers, one.processors))


def in_the_paper(one: Timing, name: str) -> tuple[float, float] | None:
    """Returns the paper's speed-up and seconds of a row of this network, or of a library."""
    return PAPER[name][ROWS.index((one.computers, one.processors))] if name in PAPER else None


def communication(one: Timing, method: str, vectors: Sequence[Vector]) -> float:
    """Returns seconds of the paper's number of steps on networks that are not slowed down."""
    return STEPS * one.seconds(*METHODS[method], vectors) / cluster_spec.read(one.spec).scale


def speed_up(one: Timing, seconds: float) -> float:
    """Returns T₁ / (T₁/p + c), where the work of a step is divided evenly."""
    return ONE_PROCESSOR / (ONE_PROCESSOR / (one.computers * one.processors) + seconds)


def implied_times() -> list[float]:
    """Returns the seconds on one processor that follow from the paper's rows: c / (1/S − 1/p)."""
    cpus = [computers * processors for computers, processors in ROWS]
    return [c / (1 / s - 1 / p) for rows in PAPER.values() for (s, c), p in zip(rows, cpus, strict=True)]


def contradictions() -> list[str]:
    """Returns what the table of the paper says against its text, from the numbers of the table."""
    alone = {c * p: i for i, (c, p) in enumerate(ROWS) if p == 1}
    both = {c * p: i for i, (c, p) in enumerate(ROWS) if p == 2}
    cpus = sorted(alone.keys() & both.keys())

    def where(column: int, better: Callable[[float, float], bool]) -> str:
        found = {
            name: [str(n) for n in cpus if better(rows[both[n]][column], rows[alone[n]][column])]
            for name, rows in PAPER.items()
        }
        return "; ".join(f"{name} at {', '.join(which)}" for name, which in found.items() if which) or "nowhere"

    four = ROWS.index((4, 1))
    gap = PAPER["100 + 1000"][four][1] / PAPER["1000"][four][1]
    seconds = 2 * VECTOR * 8 * STEPS / 100e6
    return [
        f"as many processors are faster where two share a computer, by the table, only on {where(0, operator.gt)}",
        f"they communicate less there on {where(1, operator.lt)}; the text says that on 1000 none does",
        f"4 × 1 on 100 + 1000 communicates {gap:.2f} times as long as on 1000; the text says that they are alike up to "
        "4 processors",
        f"two vectors a step into one computer need {seconds:.0f} s of a wire of 100 Mb/s in {STEPS} steps; the table "
        f"has {PAPER['100'][-1][1]} s on 32 processors",
    ]


def promises(timings: Sequence[Timing]) -> list[tuple[str, float, str, float]]:
    """Returns what is promised at 16 × 2: words, the figure, whether it is at least or at most, and the promise."""
    found = []
    whole = [one for one in timings if (one.computers, one.processors) == (16, 2)]
    for spec, least in (("crow8-pairs", 1.7), ("crow8-100+1000", 3.3)):
        here = [one for one in whole if one.spec == spec]
        if not here:
            continue
        for kind, vectors in (("", PAPERS), (", integers", INTEGERS)):
            library = min(one.seconds(*METHODS["the library"], vectors) for one in here)
            ours = min(one.seconds(*METHODS["Tessera"], vectors) for one in here)
            found.append((f"{spec}{kind}: the better library / Tessera", library / ours, "≥", least))
    for one in whole:
        name = f"{one.spec}, {LIBRARIES[one.mpi]}"
        for vector in VECTORS:
            ratio = one.seconds(*METHODS["Tessera"], [vector]) / one.seconds(*METHODS["CMPI"], [vector])
            found.append((f"{name}, {vector.name}: Tessera / CMPI", ratio, "≤", 1.03))
        if one.spec == "crow8-pairs":
            naive = one.seconds(*METHODS["CMPI, host by host"], PAPERS) / one.seconds(*METHODS["CMPI"], PAPERS)
            found.append((f"{name}: CMPI host by host / in the right order", naive, "≥", 2.5))
    return found


def figure_of(common: Common, timings: Sequence[Timing]) -> Figure:
    """Makes the tables, and the notes from their numbers."""
    figure = common.figure("replicated", "Communication of replicated data (Borštnik et al. 2004, table 2)")
    figure.data["timings"] = [asdict(one) for one in timings]
    for spec, mpi in dict.fromkeys((one.spec, one.mpi) for one in timings):
        rows = []
        here = [one for one in timings if (one.spec, one.mpi) == (spec, mpi)]
        figure.versions[LIBRARIES[mpi]] = here[0].version
        for one in here:
            cells: list[object] = [f"{one.computers} × {one.processors}"]
            for method in METHODS:
                seconds = communication(one, method, PAPERS)
                cells.append(f"{number(speed_up(one, seconds))} ({number(seconds)})")
            integers = communication(one, "Tessera", INTEGERS)
            cells.append(f"{number(speed_up(one, integers))} ({number(integers)})")
            paper = in_the_paper(one, NETWORKS[spec])
            cells.append(f"{paper[0]} ({paper[1]})" if paper else None)
            rows.append(cells)
        header = ["CPUs", *METHODS, "Tessera, integers", "the paper's CMPI"]
        figure.tables.append(
            f"**{NETWORKS[spec]}** (`{spec}`), {LIBRARIES[mpi]}: speed-up, and seconds of communication of {STEPS} "
            "steps\n\n" + table(header, rows)
        )
    kept_or_not = promises(timings)
    figure.tables.append(
        table(
            ["at 16 × 2", "measured", "promised"],
            [[words, f"{found:.4g}", f"{sign} {promised:g}"] for words, found, sign, promised in kept_or_not],
        )
    )
    figure.failures += [
        f"{words}: {found:.4g}, promised {sign} {promised:g}"
        for words, found, sign, promised in kept_or_not
        if (found < promised if sign == "≥" else found > promised)
    ]
    implied = implied_times()
    figure.notes.append(
        f"Speed-ups are T₁ / (T₁/p + c) with T₁ = {ONE_PROCESSOR:g} s: the paper prints none, and its rows imply "
        f"{min(implied):.0f} to {max(implied):.0f} s. The bus between two processors of one computer is not emulated."
    )
    base = PAPER["1000"][-1][1]
    ratios = {name: rows[-1][1] / base for name, rows in PAPER.items() if name != "1000"}
    figure.notes.append(
        "The paper's communication at 16 × 2 over that of CMPI on 1000: "
        + ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
        + "."
    )
    whole = {(one.spec, one.mpi): one for one in timings if (one.computers, one.processors) == (16, 2)}
    for mpi in launch.MPIS:
        base_here = whole.get(("crow8-1000", mpi))
        if base_here is None:
            continue
        over = communication(base_here, "CMPI", PAPERS)
        found = [
            f"{NETWORKS[one.spec]} {communication(one, 'CMPI', PAPERS) / over:.2f}"
            for (spec, flavour), one in whole.items()
            if flavour == mpi and spec != "crow8-1000"
        ]
        found.append(f"{LIBRARIES[mpi]} itself {communication(base_here, 'the library', PAPERS) / over:.2f}")
        figure.notes.append(f"Here, under {LIBRARIES[mpi]}: {', '.join(found)}.")
    figure.notes.append("Where the paper's text and table differ: " + "; ".join(contradictions()) + ".")
    places = dict.fromkeys(one.where for one in timings)
    figure.notes.append(f"Measured on {'; '.join(places)}.")
    return figure


def draw(timings: Sequence[Timing], path: Path) -> None:
    """Draws figure 4: speed-ups by processors on each network of the paper, ours and the paper's."""
    from matplotlib import pyplot as plt

    from tessera.plots import STYLE

    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(1, 3, figsize=(12, 4), sharey=True, layout="constrained")
        for panel, (spec, name) in zip(panels, list(NETWORKS.items())[:3], strict=True):
            for mpi, style in zip(launch.MPIS, ("-", "--"), strict=True):
                here = [one for one in timings if (one.spec, one.mpi) == (spec, mpi)]
                cpus = [one.computers * one.processors for one in here]
                for method, colour in zip(METHODS, ("tab:blue", "tab:red", "tab:green", "tab:olive"), strict=False):
                    gains = [speed_up(one, communication(one, method, PAPERS)) for one in here]
                    label = f"{method}, {LIBRARIES[mpi]}"
                    panel.plot(cpus, gains, style, color=colour, marker="o", markersize=4, label=label)
            panel.plot([c * p for c, p in ROWS], [s for s, _ in PAPER[name]], "k+", label="CMPI in the paper")
            panel.plot([0, 32], [0, 32], color="0.8", linewidth=0.8)
            panel.set_title(name)
            panel.set_xlabel("processors")
        panels[0].set_ylabel("speed-up")
        panels[0].legend(fontsize="x-small")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=110)
        plt.close(figure)


@script(check="a promise is not kept")
@click.option("--spec", "names", multiple=True, type=click.Choice(list(NETWORKS)), help="Repeatable; default: all.")
@click.option("--mpi", "mpis", multiple=True, type=click.Choice(launch.MPIS), help="Repeatable; default: both.")
@click.option("--row", "rows", multiple=True, metavar="NxP", help="Computers and processors of each; default: all.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Turns of the two orders.")
@click.option("--kept", "only_kept", is_flag=True, help="Measure nothing; make the tables from earlier runs.")
@timeout_option
def replicated(
    common: Common,
    names: tuple[str, ...],
    mpis: tuple[str, ...],
    rows: tuple[str, ...],
    rounds: int,
    only_kept: bool,
    timeout: float,
) -> None:
    """Measure the two collective operations of a step with replicated data, by Tessera's choice, the MPI library and
    CMPI's hypercube in the right and in a naive order of computers, with the paper's vectors and with ours.

    \b
    Examples:
      python -m bench.cluster.replicated --spec crow8-pairs --row 16x2
      python -m bench.cluster.replicated --kept --check --docs
    """
    chosen = [row for row in ROWS if not rows or f"{row[0]}x{row[1]}" in rows]
    if len(chosen) < len(rows):
        raise click.UsageError(f"--row: expected some of {', '.join(f'{c}x{p}' for c, p in ROWS)}")
    if not only_kept:
        take_machine()
        PIECES.mkdir(parents=True, exist_ok=True)
        for name in names or NETWORKS:
            spec = cluster_spec.read(name)
            with launch.cluster_of(spec) as cluster:
                for mpi, row in itertools.product(mpis or launch.MPIS, chosen):
                    common.say(f"{name}, {LIBRARIES[mpi]}, {row[0]} × {row[1]}")
                    one = measure(common, spec, cluster, mpi, row, rounds, timeout)
                    path = PIECES / f"{name}.{row[0]}x{row[1]}.{mpi}.json"
                    path.write_text(json.dumps(asdict(one)) + "\n")
    timings = kept(PIECES)
    if not timings:
        raise click.ClickException(f"nothing was measured yet in {PIECES}")
    draw(timings, (ROOT / "docs" / "images" if common.docs else common.results) / "replicated.png")
    figure_of(common, timings).finish(common)


if __name__ == "__main__":
    replicated()
