"""Makes docs/performance.md with its pictures, docs/records/promises.md, docs/trust.md and the ages of the records.

It measures nothing: a benchmark with --docs writes its section first.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import click

from bench import trust
from bench.common.records import MOST_LOAD, ages, ages_table, link_to, table_of, value
from bench.common.results import RECORDS, ROOT, insert, number, table
from bench.fft.peers import PROMISES
from bench.md.growth import GREATEST_SPREAD
from bench.md.memory import MOST_BYTES_PER_ATOM
from bench.promises import PEERS, cells, phases, row_of, table_of_promises, transforms, under_gpaw
from tessera.plots import STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = ROOT / "docs" / "performance.md"
IMAGES = ROOT / "docs" / "images"
COLOURS = ["#0072B2", "#56B4E9", "#E69F00", "#5A6270"]
SETS = ("AVX2", "AVX-512")


def beside(program: str) -> dict[str, list[float]]:
    """Returns the ratios of speed to a program, medians by system and cut-off, by section of the records."""
    return {
        record: [value(ratio) for what, ratio, *_ in table_of(record, "ratio of medians")
                 if what.endswith(f"speed over {program}")]
        for record in PEERS
    }  # fmt: skip


def lines() -> dict[str, dict[str, list[float]]]:
    """Returns times the speed of other programs, by what is compared and by section of the records."""
    gpaw, wires = under_gpaw(), cells("collectives", "library / ours")
    steps = {f"a step of DHFR and ApoA1, over {program}": beside(program)
             for program in ("GROMACS", "OpenMM, CPU", "LAMMPS", "GENESIS")}  # fmt: skip
    return steps | {
        "a transform on up to 4 ranks, over FFTW-MPI": {
            record: transforms("FFTW-MPI", record) for record in ("fft_avx2", "fft")
        },
        "a transform on up to 4 ranks, over mpi4py-fft": {"fft": transforms("mpi4py-fft")},
        "a collective on emulated networks, over Open MPI's and MPICH's own": {
            "collectives": [value(row["library / ours"]) for row in wires if row["library / ours"] != "–"]
        },
        "a potential on a grid, over GPAW's solvers": {"gpaw": gpaw["poisson-fast"] + gpaw["poisson-fd"]},
        "a whole run of GPAW, over one without `tessera.gpaw`": {"gpaw": gpaw["whole runs"]},
        "a trajectory converted, over MDAnalysis": {
            "convert": [value(cell) for row in cells("convert", "times as fast as that")
                        if (cell := row["times as fast as that"]) != "–"]
        },
    }  # fmt: skip


def summary() -> str:
    """Returns the table of how many times as fast Tessera is, least to most of all cases, by instruction set."""
    rows = []
    for what, by_section in lines().items():
        by_set = dict.fromkeys(SETS, "–")
        for section, found in by_section.items():
            if found:
                by_set[ages(section)[0].instruction_set] = (
                    f"{number(min(found))}–{number(max(found))}, median {number(median(found))} "
                    f"([{len(found)} cases](records/{link_to(section)}))"
                )
        rows.append([what, *by_set.values()])
    known = [age for page in pages() for name in sections(page) for age in ages(name)]
    quiet = sum(age.is_quiet for age in known)
    return table(["times the speed", *SETS], rows) + (
        f"\n\nThe records hold {len(known)} measurements of {min(one.day for one in known)} to "
        f"{max(one.day for one in known)}. {quiet} of them were made beside a load of at most {MOST_LOAD:g}, as "
        "[the rule](../bench/README.md#how-it-is-measured) asks; the others wait for a quiet machine."
    )


def sections(page: Path) -> list[str]:
    """Returns the names of what scripts write into a page of the records, but for what this one does."""
    return [name for name in re.findall(r"<!-- bench:(\w+) -->", page.read_text()) if name not in ("ages", "promises")]


def pages() -> list[Path]:
    """Returns the pages that begin with the ages of their sections."""
    return [page for page in sorted(RECORDS.glob("*.md")) if "<!-- bench:ages -->" in page.read_text()]


def written() -> list[tuple[Path, str, str]]:
    """Returns the pages, the names of markers in them and what belongs between."""
    return [
        (PAGE, "ratios", summary()),
        (RECORDS / "promises.md", "promises", table_of_promises()),
        *((page, "ages", ages_table(sections(page))) for page in pages()),
        *((trust.PAGE, name, text) for name, text in trust.written()),
    ]


def draw_peers(figure: Figure) -> None:
    parts = figure.subfigures(len(PEERS), 1, squeeze=False)[:, 0]
    for part, (record, instruction_set) in zip(parts, PEERS.items(), strict=True):
        rows = table_of(record, "ns/day")
        cases = list(dict.fromkeys((row[0], row[1]) for row in rows[1:]))
        for panel, (system, cutoff) in zip(part.subplots(1, len(cases)), cases, strict=True):
            own = [row for row in rows[1:] if row[:2] == [system, cutoff]]
            names = [f"{row[2]}, {row[3]}" for row in own]
            bars = panel.barh(names, [value(row[4]) for row in own], color=COLOURS)
            panel.bar_label(bars, [row[4] for row in own], padding=3)
            panel.set(title=f"{system}, {cutoff} Å, {instruction_set}", xlabel="ns/day")
            panel.set_xmargin(0.2)
            panel.invert_yaxis()
            panel.grid(visible=False)
            if (system, cutoff) != cases[0]:
                panel.set_yticks([])


def draw_fft(figure: Figure) -> None:
    rows = table_of("fft", "mesh")
    panels = figure.subplots(1, 2, sharey=True)
    for panel, ranks in zip(panels, ("2", "4"), strict=True):
        own = [row for row in rows[1:] if row[0] == ranks]
        meshes = list(dict.fromkeys(row[1] for row in own))
        for (peer, promised), colour in zip(PROMISES.items(), COLOURS[::2]):
            at = rows[0].index(f"{peer}, ms") + 1
            points = [(meshes.index(row[1]), value(row[at])) for row in own if row[at] != "–"]
            panel.plot(*zip(*points), "o", color=colour, alpha=0.7, label=f"over {peer}")
            panel.axhline(promised, color=colour, linestyle="--", linewidth=1)
        panel.set(title=f"{ranks} ranks")
        panel.set_xticks(range(len(meshes)), meshes, rotation=30, ha="right")
    panels[0].set_ylim(0, None)
    panels[0].set_ylabel("times the speed (dashed: promised)")
    panels[0].legend()


def draw_phases(figure: Figure) -> None:
    panel = figure.subplots()
    parts = {name: ms for name, ms in phases("ApoA1, 1 × 2").items() if ms >= 0.05}
    bars = panel.barh(list(parts), list(parts.values()), color=COLOURS[0])
    panel.bar_label(bars, [number(ms) for ms in parts.values()], padding=3)
    panel.set(title="ApoA1 on two threads at 12 Å", xlabel="ms a step")
    panel.invert_yaxis()
    panel.grid(visible=False, axis="y")


def draw_conservation(figure: Figure) -> None:
    panel = figure.subplots()
    rows = table_of("conservation", "time step, fs")[1:]
    for system, colour in zip(dict.fromkeys(row[0] for row in rows), COLOURS[::2]):
        steps, found = zip(*((value(row[1]), value(row[2])) for row in rows if row[0] == system))
        panel.loglog(steps, found, "o-", color=colour, label=system)
        panel.loglog(steps, [found[-1] * (step / steps[-1]) ** 2 for step in steps], "--", color=colour, linewidth=1)
    panel.set(title="Fluctuation of the energy", xlabel="time step, fs (dashed: Δt²)", ylabel="kcal/mol")
    panel.set_xticks(steps, [f"{step:g}" for step in steps])
    panel.minorticks_off()
    panel.legend()


def draw_growth(figure: Figure) -> None:
    panel = figure.subplots()
    rows = table_of("growth", "ns a step and atom")
    sizes = [value(re.sub(r"[^\d]", "", title)) for title in rows[0][1:]]
    total = row_of(rows, "**all**")
    panel.semilogx(sizes, total, "o-", color=COLOURS[0])
    panel.axhspan(min(total), GREATEST_SPREAD * min(total), color=COLOURS[1], alpha=0.2)
    panel.set(title="Water at 300 K on two threads", xlabel="atoms (band: promised)", ylabel="ns a step and atom")
    panel.set_ylim(0, None)


def draw_memory(figure: Figure) -> None:
    panel = figure.subplots()
    rows = table_of("memory", "B/atom")
    sizes, peak = [title.removeprefix("water, ") for title in rows[0][1:]], row_of(rows, "**resident at the peak**")
    panel.bar(sizes, peak, color=COLOURS[1], label="resident at the peak")
    panel.bar(sizes, row_of(rows, "all that the engine holds"), color=COLOURS[0], width=0.5, label="arrays")
    panel.axhline(MOST_BYTES_PER_ATOM, color=COLOURS[3], linestyle="--", linewidth=1)
    panel.set(title="Water on two threads at 12 Å", ylabel="bytes an atom (dashed: promised)")
    panel.legend(loc="lower right", frameon=True)
    panel.grid(visible=False, axis="x")


PICTURES: dict[str, tuple[Callable[[Figure], None], tuple[float, float]]] = {
    "peers": (draw_peers, (12, 5)),
    "fft": (draw_fft, (10, 3.6)),
    "phases": (draw_phases, (8, 4)),
    "conservation": (draw_conservation, (5.5, 3.4)),
    "growth": (draw_growth, (5.5, 3.4)),
    "memory": (draw_memory, (5.5, 3.4)),
}


def draw(name: str, folder: Path) -> Path:
    """Draws a picture. The same record gives the same bytes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    paint, size = PICTURES[name]
    path = folder / f"performance_{name}.svg"
    with plt.rc_context(STYLE | {"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure = plt.figure(figsize=size, layout="constrained")
        paint(figure)
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        plt.close(figure)
    return path


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; end with status 1 where a page is stale.")
def main(*, check: bool) -> None:
    """Make the tables and pictures of docs/performance.md, docs/records/promises.md and docs/trust.md, and the ages of
    the records."""
    if check:
        stale = [page.name for page, _, text in written() if text not in page.read_text()]
        sys.exit(f"{', '.join(stale)}: stale; run python -m bench.performance" if stale else None)
    for page, name, text in written():
        insert(page, name, text)
    trust.write()  # anew, since it reads the page on promises
    for name in PICTURES:
        click.echo(draw(name, IMAGES))


if __name__ == "__main__":
    main()
