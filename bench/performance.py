"""Makes the tables and pictures of docs/performance.md from the records in docs/records.

It measures nothing: a benchmark with --docs writes its record first.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import click

from bench.cluster.measured import LEAST_GAIN
from bench.common.records import Table, table_of, text_of, value
from bench.common.results import ROOT, insert, number, table
from bench.fft.peers import PROMISE_OF_SMALL_WITH_AVX2, PROMISES
from bench.grid import promises
from bench.io.checkpoint import PROMISE as CHECKPOINT_PROMISE
from bench.io.convert import PEER_RATIO
from bench.io.convert import RATIO as CONVERT_RATIO
from bench.io.formatter import PROMISE as FORMATTER_RATE
from bench.io.frames import MOST as MOST_OF_FRAMES
from bench.io.frames import PROMISED as FRAMES_PROMISED
from bench.io.reader import PROMISE as READER_RATE
from bench.io.reader import SHARE as READER_SHARE
from bench.io.reader import TITLES
from bench.io.segments import PROMISE as SEGMENTS_PROMISE
from bench.io.setup import GIGABYTES_OF_MEMORY, SECONDS, SHARE_MEGABYTES, SHARE_SECONDS
from bench.io.setup_ranks import GIGABYTES
from bench.io.trajectory import OPENING, RATIO
from bench.io.write_methods import PAPER_SECONDS
from bench.io.write_methods import RATE as TEXT_RATE
from bench.io.write_methods import SHARE as TEXT_SHARE
from bench.md.conservation import MOST_DRIFT
from bench.md.growth import GREATEST_SPREAD
from bench.md.hooks import MOST_OF_HOOK
from bench.md.largest import GIGABYTES as GIGABYTES_OF_RUN
from bench.md.memory import LARGE, MOST_BYTES_PER_ATOM
from bench.md.peers import RECORDS_OF_SETS, TITLES_OF_SETS
from bench.md.phases import MOST_MS
from bench.scale.fft import LEAST_RIGHT
from tessera.plots import STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = ROOT / "docs" / "performance.md"
IMAGES = ROOT / "docs" / "images"
Add = Callable[[str, str, str, str, bool | str], None]  # record, claim, found, promised, met
PEERS = {RECORDS_OF_SETS[one]: title for one, title in TITLES_OF_SETS.items()}  # instruction sets by their records
COLOURS = ["#0072B2", "#56B4E9", "#E69F00", "#5A6270"]


def column(rows: Table, title: str) -> list[float]:
    at = rows[0].index(title)
    return [value(row[at]) for row in rows[1:]]


def columns(rows: Table, *titles: str) -> list[list[str]]:
    return [[row[rows[0].index(title)] for row in rows[1:]] for title in titles]


def row_of(rows: Table, title: str) -> list[float]:
    return next([value(cell) for cell in row[1:]] for row in rows if row[0] == title)


def phases(layout: str) -> dict[str, float]:
    """Returns ms a step by phase."""
    rows = table_of("phases", layout)
    at = rows[0].index(layout)
    last = next(i for i, row in enumerate(rows) if row[0] == "**all**")
    return {row[0]: value(row[at]) for row in rows[1:last]}


def transforms(peer: str, record: str = "fft") -> list[float]:
    """Returns the ratio of speeds to a peer for each case that it took part in."""
    rows = table_of(record, "mesh")
    at = rows[0].index(f"{peer}, ms") + 1
    return [value(row[at]) for row in rows[1:] if row[at] != "–"]


def limits() -> tuple[list[float], list[float]]:
    """Returns the ratio of time to bound and the promised limit for each collective that has a promise."""
    rows = table_of("collectives", "promised")
    at = rows[0].index("promised")
    limited = [row for row in rows[1:] if row[at] != "–"]
    return [value(row[at - 1]) for row in limited], [value(row[at].removeprefix("≤ ")) for row in limited]


def ratios() -> str:
    """Returns the table of claims, with what was found and what was promised."""
    rows: list[list[str]] = []

    def add(record: str, claim: str, found: str, promised: str, met: bool | str) -> None:
        rows.append([claim, found, promised, met if isinstance(met, str) else "yes" if met else "**no**",
                     f"[{record}](records/{record}.md)"])  # fmt: skip

    for record, instruction_set in PEERS.items():
        for claim, found, turns, floor, met in table_of(record, "ratio of medians")[1:]:
            add(record, f"{instruction_set}, {claim}", found if turns == "–" else f"{found} ({turns})", floor, met)
    for peer, promised in PROMISES.items():
        found_all = transforms(peer)
        n_met = sum(one >= promised for one in found_all)
        add("fft", f"Transforms on 2 and 4 ranks: speed over {peer}, median of {len(found_all)} cases",
            f"{number(median(found_all))} ({number(min(found_all))}–{number(max(found_all))})",
            f"≥ {promised:g} in each", f"in {n_met}" if n_met < len(found_all) else True)  # fmt: skip
    with_avx2 = transforms("FFTW-MPI", "fft_avx2")
    n_met = len(with_avx2) - text_of("fft_avx2").count("\nFailed: ")
    add("fft_avx2", f"AVX2, transforms on 2 ranks: speed over FFTW-MPI, median of {len(with_avx2)} cases",
        f"{number(median(with_avx2))} ({number(min(with_avx2))}–{number(max(with_avx2))})",
        f"≥ {PROMISES['FFTW-MPI']}, at 64³ {PROMISE_OF_SMALL_WITH_AVX2}",
        f"in {n_met}" if n_met < len(with_avx2) else True)  # fmt: skip
    gain = re.search(r"nobody tuned for: ([\d.]+) times as fast as Open MPI \(geometric mean of (\d+)\), "
                     r"([\d.]+) to ([\d.]+)\.", text_of("collectives"))  # fmt: skip
    if gain:
        add("collectives", f"Collectives on networks nobody tuned for: speed over Open MPI, mean of {gain[2]}",
            f"{gain[1]} ({gain[3]}–{gain[4]})", f"≥ {LEAST_GAIN:g}", value(gain[1]) >= LEAST_GAIN)  # fmt: skip
    over, most = limits()
    n_met = sum(one <= limit for one, limit in zip(over, most))
    add("collectives", f"Collectives: time over the least that the wires allow, {len(over)} cases",
        f"{number(median(over))} ({number(min(over))}–{number(max(over))})",
        f"≤ {min(most):g} to {max(most):g}, by network", f"in {n_met}" if n_met < len(over) else True)  # fmt: skip
    for record, subject in (("ensembles", "Time for a picosecond over that at constant energy"),
                            ("restraints", "Time of a step over that without restraints")):  # fmt: skip
        (_, *systems, _), *kinds = table_of(record, "promised")
        for kind, *ratios_found, bound in kinds:
            if bound:
                add(record, f"{subject}, {' and '.join(systems)}: {kind}", " and ".join(ratios_found), f"≤ {bound}",
                    all(value(ratio) <= value(bound) for ratio in ratios_found))  # fmt: skip
    for model, _, _, over_tip3p, bound in table_of("four_site_water", "promised")[1:]:
        if bound:
            add("four_site_water", f"Time of a step of {model} over TIP3P, which has a site less", over_tip3p,
                f"≤ {bound}", value(over_tip3p) <= value(bound))  # fmt: skip
    spread = max(totals := row_of(table_of("growth", "ns a step and atom"), "**all**")) / min(totals)
    add("growth", "Time of a step and atom, 24,000 to 3,000,000 atoms: slowest over quickest", number(spread),
        f"≤ {GREATEST_SPREAD:g}", spread <= GREATEST_SPREAD)  # fmt: skip
    memory = table_of("memory", "B/atom")
    sizes = [value(re.sub(r"[^\d]", "", title)) for title in memory[0][1:]]
    peak = max(found for found, n in zip(row_of(memory, "**resident at the peak**"), sizes) if n >= LARGE)
    add("memory", "Bytes an atom at the peak, from 100,000 atoms on", number(peak), f"≤ {MOST_BYTES_PER_ATOM}",
        peak <= MOST_BYTES_PER_ATOM)  # fmt: skip
    drift = max(abs(one) for one in column(table_of("conservation", "drift, kT/ns/dof"), "drift, kT/ns/dof"))
    add("conservation", "Drift of the energy at 2 fs, kT/ns/dof", number(drift), f"≤ {MOST_DRIFT:g}",
        drift <= MOST_DRIFT)  # fmt: skip
    parts = phases("ApoA1, 1 × 2")
    for part, (limit, names) in MOST_MS.items():
        found_ms = sum(parts[name] for name in names)
        add("phases", f"ApoA1 on two threads: ms a step in the {part}", number(found_ms), f"≤ {limit:g}",
            found_ms <= limit)  # fmt: skip
    add_files(add)
    rows += promises.rows()
    add_others(add)
    return table(["claim", "found (least–most)", "promised", "met", "record"], rows)


def add_all(add: Add, record: str, claim: str, found: list[float], sign: str, limit: float) -> None:
    """Adds a row for a promise that is made of each of several cases."""
    n_met = sum(one >= limit if sign == "≥" else one <= limit for one in found)
    spread = f" ({number(min(found))}–{number(max(found))})" if len(found) > 1 else ""
    add(record, claim, number(median(found)) + spread, f"{sign} {limit:g}" + (" in each" if len(found) > 1 else ""),
        f"in {n_met} of {len(found)}" if 0 < n_met < len(found) else n_met == len(found))  # fmt: skip


def named(text: str, pattern: str) -> float:
    """Returns the number that a pattern finds in a text."""
    found = re.search(pattern, text)
    if found is None:
        raise click.ClickException(f"no record says {pattern!r}")
    return value(found[1])


def add_files(add: Add) -> None:
    """Adds what is promised of writing and reading."""
    over = dict(zip(*columns(table_of("frames", "over a run without"), "frames", "over a run without")))
    for kind in FRAMES_PROMISED:
        add_all(add, "frames", f"A frame each ten steps, DHFR on two ranks: time of a step over that without, {kind}",
                [value(over[kind])], "≤", 1 + MOST_OF_FRAMES)  # fmt: skip
    add_all(add, "checkpoint", "Checkpoints on 1, 2, 4 and 8 ranks: speed over one writer that goes the same way",
            column(table_of("checkpoint", "ratio"), "ratio"), "≥", CHECKPOINT_PROMISE)  # fmt: skip
    rows = table_of("segments", "ratio")
    at = rows[0].index("ratio")
    add_all(add, "segments", "Segments by Python on 1, 2 and 4 ranks: speed over one writer that goes the same way",
            [value(row[at]) for row in rows[1:] if row[0] == "float32"], "≥", SEGMENTS_PROMISE)  # fmt: skip
    rows = table_of("reader", "ratio")
    at = rows[0].index("read, MB/s")
    for kind, title in TITLES.items():
        own = [row for row in rows[1:] if row[0] == title]
        if kind == "config":
            add_all(add, "reader", f"Reading a {title}, on 1 to 8 ranks: MB/s", [value(row[at]) for row in own], "≥",
                    READER_RATE / 1e6)  # fmt: skip
        else:
            add_all(add, "reader", f"Reading {title}, on 1 to 8 ranks: speed over bytes alone, by the faster way",
                    [value(row[at + 1]) for row in own], "≥", READER_SHARE)  # fmt: skip
    rows = table_of("trajectory", "times as fast as DCD")
    add_all(add, "trajectory", "Reading frames of segments at random: speed over MDAnalysis' DCD",
            [value(row[2]) for row in rows if row[0] == "float32"], "≥", RATIO)  # fmt: skip
    add_all(add, "trajectory", "Opening 10,000 frames, s",
            [named(text_of("trajectory"), r"frames are opened in ([\d,]+) ms") / 1e3], "≤", OPENING)  # fmt: skip
    rows = table_of("convert", "times as fast as that")
    add_all(add, "convert", "Converting segments to XTC: speed on two processors over one",
            [value(row[3]) for row in rows if row[0] == "xtc"], "≥", CONVERT_RATIO)  # fmt: skip
    add_all(add, "convert", "Converting segments to XTC, DCD, NetCDF and H5MD: speed over MDAnalysis",
            [value(row[5]) for row in rows[1:] if row[5] != "–"], "≥", PEER_RATIO)  # fmt: skip
    rate = column(table_of("formatter", "MB/s of processor time"), "MB/s of processor time")[0]
    add_all(add, "formatter", "Making a CONFIG's text on a core, MB/s", [rate], "≥", FORMATTER_RATE / 1e6)
    text = text_of("write_methods")
    rate, share = (named(text, pattern) for pattern in (r"Text by pdaw: ([\d,]+) MB/s", r"MB/s, (\d+)% of the raw"))
    add(
        "write_methods",
        "Text by pdaw on two ranks: MB/s, and its share of a raw writer's",
        f"{rate:,.0f}, {share:.0f} %",
        f"≥ {TEXT_RATE / 1e6:.0f}, or {TEXT_SHARE:.0%}",
        rate >= TEXT_RATE / 1e6 or share >= 100 * TEXT_SHARE,
    )
    for claim, paper, here, agrees in table_of("write_methods", "agrees")[1:]:
        add("write_methods", f"Ways to write a configuration: {claim}", here, paper, agrees == "yes")
    for timed, (kind, paper_seconds) in zip(
        table_of("write_methods", "the paper, s")[1:], PAPER_SECONDS.items(), strict=True
    ):
        add_all(add, "write_methods", f"15 million atoms, CONFIG on the disk: s to {kind} it",
                [value(timed[1])], "≤", paper_seconds)  # fmt: skip
    for row, kind in zip(table_of("setup", "reading it, ms")[1:], SECONDS, strict=True):
        subject = f"{value(row[1]):,.0f} atoms, `tessera {row[0].split(' (')[0]}`"
        for what, cell, most in (
            ("s", row[2], SECONDS[kind]),
            ("GB of memory", row[3], GIGABYTES_OF_MEMORY[kind]),
            ("ms for one of 65,536 ranks to read its share", row[7], 1e3 * SHARE_SECONDS),
            ("MB of memory for that", row[8], SHARE_MEGABYTES),
        ):
            add_all(add, "setup", f"{subject}: {what}", [value(cell)], "≤", most)
    peaks = column(table_of("setup_ranks", "peak memory of a process, MB"), "peak memory of a process, MB")
    add_all(add, "setup_ranks", "The same by processes and by ranks: MB of memory of a process", peaks, "≤",
            1e3 * GIGABYTES)  # fmt: skip


def add_others(add: Add) -> None:
    """Adds what Python and the largest system take, drifts, and checks that name what is not as expected."""
    rows = table_of("hooks", "empty hook")
    add_all(add, "hooks", "Time of a step with an empty hook over that without, DHFR and ApoA1",
            column(rows, "empty hook"), "≤", 1 + MOST_OF_HOOK)  # fmt: skip
    at = (rows := table_of("largest", "peak memory, GB"))[0].index("peak memory, GB")
    add_all(
        add, "largest", "20 million atoms of water with PME: GB of memory", [value(rows[2][at])], "≤", GIGABYTES_OF_RUN
    )
    for kind, drift, error, most, _ in table_of("drifts", "promised at most")[1:]:
        if most != "–":
            add("drifts", f"Drift of the conserved energy, kT/ns/dof: {kind}", f"{drift} ± {error}", f"≤ {most}",
                abs(value(drift)) <= value(most) + 2 * value(error))  # fmt: skip
    right, cases = re.findall(r"The choice is the quickest in (\d+) of the (\d+) cases", text_of("scale_fft"))[0]
    add("scale_fft", f"Transforms simulated at scale: the model's choice is the quickest, of {cases} cases", right,
        f"≥ {LEAST_RIGHT:.0%}", int(right) >= LEAST_RIGHT * int(cases))  # fmt: skip
    for record, claim in (
        ("patterns", "Tessera's choice is no slower than any pattern of collectives: exceptions"),
        ("liquids", "Water and argon have published densities, structures, energies: exceptions"),
        ("bilayer", "A bilayer keeps its area and thickness, the virial is right: exceptions"),
    ):
        n = len(re.findall(r"^(?:Failed|Not as \w+): ", text_of(record), flags=re.M))
        add(record, claim, f"{n}", "none", n == 0)


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
@click.option("--check", is_flag=True, help="Write nothing; end with status 1 where the page's table is stale.")
def main(*, check: bool) -> None:
    """Make the table and the pictures of docs/performance.md from docs/records."""
    if check:
        sys.exit(None if ratios() in PAGE.read_text() else f"{PAGE} is stale: run python -m bench.performance")
    insert(PAGE, "ratios", ratios())
    for name in PICTURES:
        click.echo(draw(name, IMAGES))


if __name__ == "__main__":
    main()
