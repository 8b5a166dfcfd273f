"""What benchmarks promise, and how much of it their records keep: the rows of docs/records/promises.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import geometric_mean, median

import click

from bench.build import locus
from bench.build.array import MOST_ATOMS
from bench.build.clashes import GROWTH, LEAST_MENDED, SECONDS_TO_FIND, SECONDS_TO_MEND
from bench.cluster.measured import LEAST_GAIN, NEVER_SLOWER
from bench.cluster.neighbours import LEAST as LEAST_OF_NEIGHBOURS
from bench.cluster.overlap import LEAST, NEAR
from bench.cluster.programs.__main__ import LEAST as LEAST_OF_PROGRAMS
from bench.cluster.programs.__main__ import MEAN as MEAN_OF_PROGRAMS
from bench.cluster.stencils import CHOICE, ORDER
from bench.cluster.through.__main__ import MOST_CHOOSING, MOST_LEFT
from bench.cluster.traffic import LEAST as LEAST_IN_TRAFFIC
from bench.common.records import Table, link_to, measured, table_of, text_of, value
from bench.common.results import number, table
from bench.convert.converters import MOST as CONVERTED
from bench.fft.peers import PROMISE_OF_SMALL_WITH_AVX2, PROMISES
from bench.grid.poisson import PEERS as SOLVERS
from bench.grid.poisson import POINTS
from bench.grid.stencil import PROMISED_FLOAT, PROMISED_HALO, PROMISED_SHARE
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
from bench.io.trajectory import OPENING, RATIO
from bench.md.conservation import MOST_DRIFT
from bench.md.device import MOST_OF_OPENMM
from bench.md.growth import GREATEST_SPREAD
from bench.md.largest import GIGABYTES as GIGABYTES_OF_RUN
from bench.md.memory import LARGE, MOST_BYTES_PER_ATOM
from bench.md.peers import RECORDS_OF_SETS, TITLES_OF_SETS
from bench.md.phases import MOST_MS
from bench.md.predictions import MOST as PREDICTED
from bench.md.watching import MOST_WATCHED
from bench.wheel import MOST_BYTES as MOST_BYTES_OF_WHEEL
from bench.wheel import MOST_SECONDS as MOST_SECONDS_OF_WHEEL
from papers.fft import LEAST_RIGHT
from papers.write_methods import PAPER_SECONDS
from papers.write_methods import RATE as TEXT_RATE
from papers.write_methods import SHARE as TEXT_SHARE

PEERS = {RECORDS_OF_SETS[one]: title for one, title in TITLES_OF_SETS.items()}  # instruction sets by their records
GPAW = 1.0  # times the speed of GPAW's own code, at least


@dataclass(frozen=True)
class Promise:
    """A claim of a section of the records, what was found, what is promised, and how many cases keep it. Of no case
    nothing is promised."""

    record: str
    claim: str
    found: str
    promised: str
    met: int
    of: int

    @property
    def verdict(self) -> str:
        if self.of == 0:
            return "–"
        return "yes" if self.met == self.of else f"in {self.met} of {self.of}" if self.met else "**no**"


def spread(found: list[float]) -> str:
    """Returns the median, and the least and the most of several."""
    return number(median(found)) + (f" ({number(min(found))}–{number(max(found))})" if len(found) > 1 else "")


def each(
    record: str, claim: str, found: list[float], *, least: float = -float("inf"), most: float = float("inf")
) -> Promise:
    """Returns a promise that each of several numbers should keep."""
    met = [least <= one <= most for one in found]
    promised = (f"≤ {most:g}" if most < float("inf") else f"≥ {least:g}") + (" in each" if len(found) > 1 else "")
    return Promise(record, claim, spread(found), promised, sum(met), len(met))


def one(record: str, claim: str, found: str, promised: str, is_kept: bool) -> Promise:
    return Promise(record, claim, found, promised, int(is_kept), 1)


def column(rows: Table, title: str) -> list[float]:
    at = rows[0].index(title)
    return [value(row[at]) for row in rows[1:]]


def row_of(rows: Table, title: str) -> list[float]:
    return next([value(cell) for cell in row[1:]] for row in rows if row[0] == title)


def cells(record: str, title: str) -> list[dict[str, str]]:
    """Returns the rows of a section's table with that column, by its titles."""
    header, *rows = table_of(record, title)
    return [dict(zip(header, row)) for row in rows]


def named(text: str, pattern: str) -> float:
    """Returns the number that a pattern finds in a text."""
    found = re.search(pattern, text)
    if found is None:
        raise click.ClickException(f"no record says {pattern!r}")
    return value(found[1])


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


def of_peers() -> Iterator[Promise]:
    for record, instruction_set in PEERS.items():
        for claim, found, turns, floor, met in table_of(record, "ratio of medians")[1:]:
            spread_of_turns = found if turns == "–" else f"{found} ({turns})"
            yield Promise(record, f"{instruction_set}, {claim}", spread_of_turns, floor, met == "yes", met != "–")


def of_transforms() -> Iterator[Promise]:
    for peer, promised in PROMISES.items():
        yield each("fft", f"Transforms on 2 and 4 ranks: speed over {peer}", transforms(peer), least=promised)
    found = transforms("FFTW-MPI", "fft_avx2")
    yield Promise("fft_avx2", "AVX2, transforms on 2 ranks: speed over FFTW-MPI", spread(found),
                  f"≥ {PROMISES['FFTW-MPI']}, at 64³ {PROMISE_OF_SMALL_WITH_AVX2}",
                  len(found) - text_of("fft_avx2").count("\n- Failed: "), len(found))  # fmt: skip
    judged = re.findall(r"the quickest is chosen in (\d+) of (\d+) cases", measured("scale_fft"))
    right, cases = (sum(map(int, parts)) for parts in zip(*judged, strict=True))
    yield one("scale_fft", f"Transforms simulated at scale: the model's choice is the quickest, of {cases} cases",
              str(right), f"≥ {LEAST_RIGHT:.0%}", right >= LEAST_RIGHT * cases)  # fmt: skip


def of_collectives() -> Iterator[Promise]:
    gain = re.search(r"nobody tuned for: ([\d.]+) times as fast as Open MPI \(geometric mean of (\d+)\), "
                     r"([\d.]+) to ([\d.]+)\.", text_of("collectives"))  # fmt: skip
    if gain is None:
        raise click.ClickException("the record of collectives does not say how fast they are beside Open MPI")
    yield one("collectives", f"Collectives on networks nobody tuned for: speed over Open MPI, mean of {gain[2]}",
              f"{gain[1]} ({gain[3]}–{gain[4]})", f"≥ {LEAST_GAIN:g}", value(gain[1]) >= LEAST_GAIN)  # fmt: skip
    rows = table_of("collectives", "promised")
    at = rows[0].index("promised")
    limited = [row for row in rows[1:] if row[at] != "–"]
    over, most = [value(row[at - 1]) for row in limited], [value(row[at].removeprefix("≤ ")) for row in limited]
    yield Promise("collectives", "Collectives: time over the least that the wires allow", spread(over),
                  f"≤ {min(most):g} to {max(most):g}, by network",
                  sum(found <= limit for found, limit in zip(over, most)), len(over))  # fmt: skip


def of_steps() -> Iterator[Promise]:
    for record, subject in (("ensembles", "Time for a picosecond over that at constant energy"),
                            ("restraints", "Time of a step over that without restraints"),
                            ("hooks", "Time of a step over that without Python")):  # fmt: skip
        (_, *systems, _), *kinds = table_of(record, "promised")
        for kind, *ratios, bound in kinds:
            if bound:
                yield one(record, f"{subject}, {' and '.join(systems)}: {kind}", " and ".join(ratios), f"≤ {bound}",
                          all(value(ratio) <= value(bound) for ratio in ratios))  # fmt: skip
    for model, _, _, over_tip3p, bound in table_of("four_site_water", "promised")[1:]:
        if bound:
            yield one("four_site_water", f"Time of a step of {model} over TIP3P, which has a site less", over_tip3p,
                      f"≤ {bound}", value(over_tip3p) <= value(bound))  # fmt: skip
    parts = phases("ApoA1, 1 × 2")
    for part, (limit, names) in MOST_MS.items():
        yield each("phases", f"ApoA1 on two threads: ms a step in the {part}", [sum(parts[name] for name in names)],
                   most=limit)  # fmt: skip


def of_watching() -> Iterator[Promise]:
    claim = "Time of a step of a run that a page and a program follow over that of one that nobody does"
    if measured("watching"):
        *_, over_others, _ = table_of("watching", "promised")[-1]
        yield each("watching", claim, [value(over_others)], most=MOST_WATCHED)
    else:
        yield Promise("watching", claim, "not measured", f"≤ {MOST_WATCHED:g}", 0, 1)


def of_devices() -> Iterator[Promise]:
    rows = {row[0]: row for row in table_of("device", "ms a step")[1:]} if measured("device") else {}
    for run, most in MOST_OF_OPENMM.items():
        claim = f"Time of a step on a GPU over OpenMM's: {run}"
        if run in rows and (ratio := rows[run][5]) != "–":
            yield each("device", claim, [value(ratio)], most=most)
        else:
            yield Promise("device", claim, "not measured", f"≤ {most:g}", 0, 1)


def of_predictions() -> Iterator[Promise]:
    rows = table_of("predictions", "ms a step, predicted")[1:] if measured("predictions") else []
    for (what, most), place in zip(PREDICTED.items(), (3, 6), strict=True):
        found = [value(row[place]) for row in rows]
        yield Promise("predictions", f"`tessera explain`: predicted {what} over that of the run",
                      spread(found) if found else "not measured", f"within {most:.0%} in each",
                      sum(abs(one - 1) <= most for one in found), max(1, len(found)))  # fmt: skip


def of_sizes() -> Iterator[Promise]:
    totals = row_of(table_of("growth", "ns a step and atom"), "**all**")
    yield each("growth", "Time of a step and atom, 24,000 to 3,000,000 atoms: slowest over quickest",
               [max(totals) / min(totals)], most=GREATEST_SPREAD)  # fmt: skip
    memory = table_of("memory", "B/atom")
    sizes = [value(re.sub(r"[^\d]", "", title)) for title in memory[0][1:]]
    peak = max(found for found, n in zip(row_of(memory, "**resident at the peak**"), sizes) if n >= LARGE)
    yield each("memory", "Bytes an atom at the peak, from 100,000 atoms on", [peak], most=MOST_BYTES_PER_ATOM)
    at = (rows := table_of("largest", "peak memory, GB"))[0].index("peak memory, GB")
    yield each("largest", "20 million atoms of water with PME: GB of memory", [value(rows[2][at])],
               most=GIGABYTES_OF_RUN)  # fmt: skip
    for row, kind in zip(table_of("setup", "reading it, ms")[1:], SECONDS, strict=True):
        subject = f"{value(row[1]):,.0f} atoms, `tessera {row[0].split(' (')[0]}`"
        for what, cell, most in (
            ("s", row[2], SECONDS[kind]),
            ("GB of memory", row[3], GIGABYTES_OF_MEMORY[kind]),
            ("ms for one of 65,536 ranks to read its share", row[7], 1e3 * SHARE_SECONDS),
            ("MB of memory for that", row[8], SHARE_MEGABYTES),
        ):
            yield each("setup", f"{subject}: {what}", [value(cell)], most=most)


def of_wheel() -> Iterator[Promise]:
    if not measured("wheel"):
        yield Promise("wheel", "The wheel is small and quick to install", "not measured",
                      f"≤ {MOST_BYTES_OF_WHEEL / 1e6:g} MB, ≤ {MOST_SECONDS_OF_WHEEL:g} s", 0, 1)  # fmt: skip
        return
    size, *_, both = table_of("wheel", "promised")[1:]
    yield each("wheel", "The wheel, for all instruction sets and both kinds of MPI: MB", [value(size[1])],
               most=MOST_BYTES_OF_WHEEL / 1e6)  # fmt: skip
    yield each("wheel", "From an empty machine to a running protein: s", [value(both[1])], most=MOST_SECONDS_OF_WHEEL)


def of_builders() -> Iterator[Promise]:
    if not measured("clashes"):
        yield Promise("clashes", "Clashes are found and mended in time", "not measured",
                      f"≤ {SECONDS_TO_FIND:g} s, ≤ {SECONDS_TO_MEND:g} s", 0, 1)  # fmt: skip
        return
    found, (mended,) = cells("clashes", "s to find"), cells("clashes", "s to mend")
    costs = [value(row["ns an atom"]) for row in found]
    yield each("clashes", f"Clashes of {found[-1]['atoms']} atoms: s to find them", [value(found[-1]["s to find"])],
               most=SECONDS_TO_FIND)  # fmt: skip
    yield each("clashes", f"Time an atom to find them, over that of {found[0]['atoms']} atoms", [costs[-1] / costs[0]],
               most=GROWTH)  # fmt: skip
    which = f"{mended['clashes']} clashes of {mended['atoms']} atoms"
    yield each("clashes", f"{which}: s to mend them", [value(mended["s to mend"])], most=SECONDS_TO_MEND)
    yield each("clashes", f"{which}: share that is mended", [value(mended["mended"]) / value(mended["clashes"])],
               least=LEAST_MENDED)  # fmt: skip


def of_converters() -> Iterator[Promise]:
    claim = "Energies of converted inputs: relative difference from those of their program"
    if not measured("converters"):
        yield Promise("converters", claim, "not measured", f"≤ {CONVERTED:g}", 0, 1)
        return
    cells_of = [row["greatest relative difference"] for row in cells("converters", "greatest relative difference")]
    yield each("converters", claim, [value(cell) for cell in cells_of if cell != "–"], most=CONVERTED)


def of_locus() -> Iterator[Promise]:
    if not measured("locus"):
        yield Promise("locus", "GATA4 is built, minimised and put into water in time", "not measured",
                      ", ".join(f"≤ {seconds:g} s" for seconds in locus.SECONDS.values()), 0, 1)  # fmt: skip
        return
    rows = cells("locus", "GB of memory")
    for row in rows:
        kind = next(kind for kind, command in locus.COMMANDS.items() if row["step"] == f"tessera {command}")
        subject = f"GATA4, `{row['step']}`"
        yield each("locus", f"{subject}: s", [value(row["s"])], most=locus.SECONDS[kind])
        yield each("locus", f"{subject}: GB of memory", [value(row["GB of memory"])], most=locus.GIGABYTES[kind])
    steps = [row["step"] for row in rows]
    for kind, seconds in locus.SECONDS.items():
        if f"tessera {locus.COMMANDS[kind]}" not in steps:
            claim = f"GATA4, `tessera {locus.COMMANDS[kind]}`: s"
            yield Promise("locus", claim, "not measured", f"≤ {seconds:g}", 0, 1)
    for row in rows:
        if row["clashes left"] != "–":
            yield each("locus", f"{row['atoms']} atoms of GATA4: clashes", [value(row["clashes left"])], most=0)
    for row in cells("locus", "MB a rank") if f"tessera {locus.COMMANDS['solvate']}" in steps else ():
        yield each("locus", f"GATA4 in water on {row['ranks planned for']} ranks: MB of templates a rank",
                   [value(row["of templates, MB"])], most=locus.MEGABYTES_OF_TEMPLATES)  # fmt: skip


def of_array() -> Iterator[Promise]:
    claim = "12 nucleosomes in water"
    if not measured("array"):
        yield Promise("array", f"{claim}: built without clashes, minimised, run", "not measured", "–", 0, 1)
        return
    (row,) = cells("array", "ms a step")
    yield each("array", f"{claim}: atoms", [value(row["atoms"])], most=MOST_ATOMS)
    yield each("array", f"{claim}: clashes", [value(row["clashes in water"])], most=0)
    drift, error = value(row["drift at 2 fs, kT/ns/dof"]), value(row["±"])
    yield one("array", f"{claim}: drift of the energy at 2 fs, kT/ns/dof", f"{drift:g} ± {error:g}", f"≤ {MOST_DRIFT}",
              abs(drift) <= MOST_DRIFT + 2 * error)  # fmt: skip


def of_physics() -> Iterator[Promise]:
    drifts = column(table_of("conservation", "drift, kT/ns/dof"), "drift, kT/ns/dof")
    yield each("conservation", "Drift of the energy at 2 fs, kT/ns/dof", [max(map(abs, drifts))], most=MOST_DRIFT)
    for kind, drift, error, most, _ in table_of("drifts", "promised at most")[1:]:
        if most != "–":
            yield one("drifts", f"Drift of the conserved energy, kT/ns/dof: {kind}", f"{drift} ± {error}", f"≤ {most}",
                      abs(value(drift)) <= value(most) + 2 * value(error))  # fmt: skip
    for record, claim in (
        ("patterns", "Tessera's choice is no slower than any pattern of collectives: exceptions"),
        ("liquids", "Water and argon have published densities, structures, energies: exceptions"),
        ("bilayer", "A bilayer keeps its area and thickness, the virial is right: exceptions"),
    ):
        text = measured(record)
        n = len(re.findall(r"^(?:- Failed|Not as \w+): ", text, flags=re.M))
        yield one(record, claim, str(n) if text else "not measured", "none", bool(text) and n == 0)


def of_files() -> Iterator[Promise]:
    over = {row["frames"]: row["over a run without"] for row in cells("frames", "over a run without")}
    for kind in FRAMES_PROMISED:
        yield each("frames", f"A frame each ten steps, DHFR on two ranks: time of a step over that without, {kind}",
                   [value(over[kind])], most=1 + MOST_OF_FRAMES)  # fmt: skip
    yield each("checkpoint", "Checkpoints on 1, 2, 4 and 8 ranks: speed over one writer that goes the same way",
               column(table_of("checkpoint", "ratio"), "ratio"), least=CHECKPOINT_PROMISE)  # fmt: skip
    yield each("segments", "Segments by Python on 1, 2 and 4 ranks: speed over one writer that goes the same way",
               [value(row["ratio"]) for row in cells("segments", "ratio") if row["encoding"] == "float32"],
               least=SEGMENTS_PROMISE)  # fmt: skip
    rows = table_of("reader", "ratio")
    at = rows[0].index("read, MB/s")
    for kind, title in TITLES.items():
        own = [row for row in rows[1:] if row[0] == title]
        if kind == "config":
            yield each("reader", f"Reading a {title}, on 1 to 8 ranks: MB/s", [value(row[at]) for row in own],
                       least=READER_RATE / 1e6)  # fmt: skip
        else:
            yield each("reader", f"Reading {title}, on 1 to 8 ranks: speed over bytes alone, by the faster way",
                       [value(row[at + 1]) for row in own], least=READER_SHARE)  # fmt: skip
    yield each("trajectory", "Reading frames of segments at random: speed over MDAnalysis' DCD",
               [value(row[2]) for row in table_of("trajectory", "times as fast as DCD") if row[0] == "float32"],
               least=RATIO)  # fmt: skip
    yield each("trajectory", "Opening 10,000 frames, s",
               [named(text_of("trajectory"), r"frames are opened in ([\d,]+) ms") / 1e3], most=OPENING)  # fmt: skip
    rows = table_of("convert", "times as fast as that")
    yield each("convert", "Converting segments to XTC: speed on two processors over one",
               [value(row[3]) for row in rows if row[0] == "xtc"], least=CONVERT_RATIO)  # fmt: skip
    yield each("convert", "Converting segments to XTC, DCD, NetCDF and H5MD: speed over MDAnalysis",
               [value(row[5]) for row in rows[1:] if row[5] != "–"], least=PEER_RATIO)  # fmt: skip
    rate = column(table_of("formatter", "MB/s of processor time"), "MB/s of processor time")[0]
    yield each("formatter", "Making a CONFIG's text on a core, MB/s", [rate], least=FORMATTER_RATE / 1e6)
    text = text_of("write_methods")
    rate, share = (named(text, pattern) for pattern in (r"Text by pdaw: ([\d,]+) MB/s", r"MB/s, (\d+)% of the raw"))
    yield one("write_methods", "Text by pdaw on two ranks: MB/s, and its share of a raw writer's",
              f"{rate:,.0f}, {share:.0f} %", f"≥ {TEXT_RATE / 1e6:.0f}, or {TEXT_SHARE:.0%}",
              rate >= TEXT_RATE / 1e6 or share >= 100 * TEXT_SHARE)  # fmt: skip
    for claim, paper, here, agrees in table_of("write_methods", "agrees")[1:]:
        yield one("write_methods", f"Ways to write a configuration: {claim}", here, paper, agrees == "yes")
    timed = table_of("write_methods", "the paper, s")[1:]
    for row, (kind, seconds) in zip(timed, PAPER_SECONDS.items(), strict=True):
        yield each("write_methods", f"15 million atoms, CONFIG on the disk: s to {kind} it", [value(row[1])],
                   most=seconds)  # fmt: skip


def of_grids() -> Iterator[Promise]:
    stencils = [row for row in cells("stencil", "of the triad") if row["points"] in ("144³", "192³")]
    large, single = ([row for row in stencils if row["dtype"] == dtype] for dtype in ("float64", "float32"))
    yield each("stencil", "Stencils: share of the triad's rate", [value(row["of the triad"]) for row in large],
               least=PROMISED_SHARE)  # fmt: skip
    yield each("stencil", "Stencils: time on two ranks over that of two threads",
               [value(row["two ranks' time"]) for row in large], most=PROMISED_HALO)  # fmt: skip
    rates = [[value(row["million points/s"]) for row in rows] for rows in (single, large)]
    yield each("stencil", "Stencils: speed in single precision over double",
               [quick / slow for quick, slow in zip(*rates, strict=True)], least=PROMISED_FLOAT)  # fmt: skip
    solved = [row for row in cells("poisson", "times the speed") if row["ranks"] == "2"]
    solved = [row for row in solved
              if row["points"] == f"{POINTS[row['edges']][1]}³" and row["times the speed"] != "–"]  # fmt: skip
    for name, least in (("fast", 4.0), ("fd", 5.0)):
        found = [value(row["times the speed"]) for row in solved
                 if SOLVERS[row["edges"]][row["method"]] == (name, least)]  # fmt: skip
        yield each("poisson", f"Potentials: speed over GPAW's {name}", found, least=least)
    for name, found in under_gpaw().items():
        yield each("gpaw", f"Under GPAW, {name}: times the speed", found, least=GPAW)


def under_gpaw() -> dict[str, list[float]]:
    """Returns times the speed by operation, and those of whole runs."""
    found: dict[str, list[float]] = {}
    for row in cells("gpaw", "operation"):
        found.setdefault(row["operation"], []).append(value(row["times the speed"]))
    return {**found, "whole runs": [value(row["times the speed"]) for row in cells("gpaw", "run")]}


def of_clusters() -> Iterator[Promise]:
    yield each("grid_cluster", "Emulated clusters: time of the model's choice of a stencil over the quickest",
               [value(row["time of the choice / quickest"])
                for row in cells("grid_cluster", "time of the choice / quickest")], most=CHOICE)  # fmt: skip
    times: dict[str, dict[str, float]] = {}
    for row in cells("grid_cluster", "gain by batches"):
        times.setdefault(row["network"], {})[row["approach"]] = value(row["ms"])
    for slow, quick in ORDER:
        found = [its[slow] / its[quick] for its in times.values() if slow in its and quick in its]
        yield each("grid_cluster", f"Emulated clusters: time of {slow} over {quick}", found, least=1.0)
    shares = []
    for row in cells("grid_overlap", "overlap"):
        ratio = value(row["messages, ms"]) / max(value(row["computing, ms"]), 1e-9)
        if row["network"] != "one host" and 1 / NEAR <= ratio <= NEAR:
            shares.append(float(row["overlap"][:-1]) / 100 if row["overlap"].endswith("%") else 0.0)
    yield each("grid_overlap", "Messages of stencils between hosts: share that computing hides", shares, least=LEAST)
    yield each("traffic", "Broadcast and all-reduce beside traffic: speed of plans that know it over those that do not",
               [value(row["gain"]) for row in cells("traffic", "gain")], least=LEAST_IN_TRAFFIC)  # fmt: skip
    yield each("neighbours", "Exchanges between neighbours along the map: gain over ranks as numbered",
               [value(row["gain"]) for row in cells("neighbours", "gain")], least=LEAST_OF_NEIGHBOURS)  # fmt: skip
    yield from of_other_programs()
    by_promise: dict[str, list[float]] = {}
    for row in cells("replicated", "promised"):
        claim = re.sub(r"^crow8-\S+, (?:Open MPI|MPICH)(?:, [^:]*)?:", "each:", row["at 16 × 2"])
        by_promise.setdefault(f"{claim} {row['promised']}", []).append(value(row["measured"]))
    for claim, found in by_promise.items():
        words, sign, limit = claim.rsplit(" ", 2)
        bound = {"least" if sign == "≥" else "most": float(limit)}
        yield each("replicated", f"Communication of replicated data on 16 × 2, {words}", found, **bound)
    claims = [row["agrees"] == "yes" for row in cells("scale_grid", "agrees")]
    yield Promise("scale_grid", "Stencils on 16,384 cores: claims of Kristensen et al. (2011)", str(sum(claims)),
                  "all agree", sum(claims), len(claims))  # fmt: skip


def of_other_programs() -> Iterator[Promise]:
    rows = cells("programs", "gain")
    gains = [value(row["gain"]) for row in rows]
    subject = "Programs unchanged, ranks scattered: wall time over that with the library preloaded"
    yield each("programs", subject, gains, least=LEAST_OF_PROGRAMS)
    mean = geometric_mean(gains)
    yield one("programs", f"{subject}, mean of {len(gains)}", number(mean), f"≥ {MEAN_OF_PROGRAMS:g}",
              mean >= MEAN_OF_PROGRAMS)  # fmt: skip
    same = [row["results"] in ("the same bits", "within the tolerance") for row in rows]
    yield Promise("programs", "Programs unchanged: results with the library preloaded", str(sum(same)),
                  "as without it in all", sum(same), len(same))  # fmt: skip
    yield each("programs", "Programs unchanged: share of the time in which rank 0 chooses, %",
               [float(row["choosing"].rstrip("%")) for row in rows], most=100 * MOST_CHOOSING)  # fmt: skip
    for row in cells("through", "mean gain"):
        least = value(row["promised of the mean"].removeprefix("≥ "))
        claim = f"Other programs' collectives, no trials: speed over {row['beside']}, mean of {row['cases']}"
        yield one("through", claim, f"{row['mean gain']} ({row['least']}–{row['most']})", f"≥ {least:g}",
                  value(row["mean gain"]) >= least)  # fmt: skip
    yield each("through", "Other programs' collectives, no trials: speed over the MPI library's own",
               [value(row["gain"]) for row in cells("through", "gain")], least=NEVER_SLOWER)  # fmt: skip
    title = "a call that is left, ns more"
    yield each("through", "A call that is left to the MPI library: ns more",
               [value(cell) for row in cells("through", title) for name, cell in row.items() if name != title],
               most=MOST_LEFT)  # fmt: skip


def promises() -> list[Promise]:
    parts = (of_peers, of_transforms, of_collectives, of_steps, of_watching, of_devices, of_predictions, of_sizes,
             of_wheel, of_builders, of_converters, of_locus, of_array, of_physics, of_files, of_grids,
             of_clusters)  # fmt: skip
    return [promise for part in parts for promise in part()]


def table_of_promises() -> str:
    """Returns how many promises are kept, and the table of all, those that are missed first."""
    found = sorted(promises(), key=lambda promise: (promise.of == 0, promise.met == promise.of))
    n_promised = sum(promise.of > 0 for promise in found)
    n_kept = sum(promise.met == promise.of > 0 for promise in found)
    n_missed = sum(promise.met == 0 < promise.of for promise in found)
    rows = [
        [promise.claim, promise.found, promise.promised, promise.verdict,
         f"[{promise.record}]({link_to(promise.record)})"] for promise in found
    ]  # fmt: skip
    return (
        f"Of {n_promised} promises {n_kept} are kept, {n_missed} are missed, and {n_promised - n_kept - n_missed} are "
        "kept in some of their cases. Of lines without a promise the figure alone is given.\n\n"
        + table(["claim", "found (least–most)", "promised", "met", "section"], rows)
    )
