"""Tables 1 and 2 of J. Jung et al., J. Comput. Chem. 40, 1919 (2019), doi:10.1002/jcc.25840, repeated with every pair
scheme: memory of the pair lists, pairs of atoms that are evaluated, times of the search and of the sum."""

from __future__ import annotations

import json
import subprocess
from statistics import median
from typing import Any

import click

from bench.common import engine, systems
from bench.common.options import Common, script
from bench.common.results import table
from tessera import launch

PAPER_STEPS, PAPER_LIST_EVERY = 2000, 10
TABLE_DENSITY = 100  # points of r_c²/r²
# Scheme, name in the paper, and the paper's memory (MiB), pairs, and seconds of the search and of the sum.
ENTRIES: list[tuple[str, str, tuple[float, int, float, float] | None]] = [
    ("list_aos", "Algorithm 1 (AoS)", (305.88, 47_364_470, 9.95, 36.42)),
    ("list_soa", "Algorithm 1 (SoA)", (305.88, 47_364_470, 6.60, 33.71)),
    ("cell_flag_aos", "Algorithm 3 (AoS)", (48.40, 122_404_436, 4.91, 102.46)),
    ("cell_flag_soa", "Algorithm 3 (SoA)", (48.40, 122_404_436, 4.15, 27.86)),
    ("cluster", "clusters of 4 × 4", None),
]


@script(steps=30, repeats=3, steps_help="Steps of each run.")
@click.option("--system", "name", type=click.Choice(systems.NAMES), default="apoa1", show_default=True)
@click.option("-t", "--threads", default=2, show_default=True, help="Threads of the one rank.")
@click.option("--function", "functions", multiple=True, help="analytic or table; repeatable; default: both.")
@click.option("--buffer", default=0.75, show_default=True, help="parallel.buffer, Å; cells of ApoA1 widen it to 1.1.")
def pair_schemes(
    common: Common, name: str, threads: int, functions: tuple[str, ...], buffer: float, steps: int, repeats: int
) -> None:
    """Measure memory, pairs and time of each pair scheme; their runs take turns.

    The cut-off is 12 Å with a potential switch from 10 Å, with particle-mesh Ewald and steps of 2 fs. Lists reach about
    as far as the paper's and are made at each sort.

    \b
    Examples:
      python -m papers.pair_schemes --data DATA --docs
      python -m papers.pair_schemes --system dhfr --function table --steps 10 --repeats 1
    """
    functions = functions or ("analytic", "table")
    figure = common.figure("pair_schemes", "Pair schemes")
    kinds = [(scheme, f) for f in functions for scheme, _, _ in ENTRIES if f == "analytic" or scheme != "cluster"]
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {kind: [] for kind in kinds}
    for turn in range(repeats):
        for scheme, function in kinds if turn % 2 == 0 else reversed(kinds):
            # Every atom may move by half the buffer, so there is one list for each sort, as in the paper.
            settings = engine.merge(
                engine.interactions(12.0, "potential-switch"), {"parallel": {"buffer": buffer, "list_steps": 100}}
            )
            words = [
                f"--set={part}.{key}={json.dumps(value)}" for part in settings for key, value in settings[part].items()
            ]
            done = measure(
                systems.system(common, name), "--scheme", scheme, "-t", threads, "--steps", steps, *words,
                *(["--density", TABLE_DENSITY] if function == "table" else []),
            )  # fmt: skip
            figure.versions |= done["versions"]
            runs[scheme, function].append(found := summary(done, steps))
            common.say(
                f"{turn + 1}/{repeats} {scheme}, {function}: list {found['ms_per_list']:.3g} ms, "
                f"kernel {found['ms_per_kernel']:.3g} ms"
            )
    figure.data["list_range"] = 12.0 + done["buffer"]
    entries = [{"scheme": scheme, "function": f, **medians(runs[scheme, f])} for scheme, f in kinds]
    figure.data["entries"] = entries
    figure.tables += [table_1(entries), *(table_2(entries, f) for f in functions)]
    figure.notes.append(
        f"{systems.TITLES[name]}, 1 × {threads} ranks × threads, medians of {repeats}; lists reach "
        f"{figure.data['list_range']:.2f} Å. The paper's figures are of 32 ranks of 8 threads on a Xeon Phi 7250. Its "
        "lists have room for all atoms of two cells, ours for what is found; its flags are words, ours bits. The time "
        f"of a list holds the conversion of coordinates in the steps between; seconds are of {PAPER_STEPS:,} steps "
        f"with a list every {PAPER_LIST_EVERY}."
    )
    figure.finish(common)


def measure(*words: object) -> dict[str, Any]:
    """Lets one scheme sum the pairs of a short run, and returns what the driver measures."""
    driver = launch.program_path("tessera-pair-schemes", "serial")
    done = subprocess.run([driver, *map(str, words)], check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def summary(found: dict[str, Any], steps: int) -> dict[str, float]:
    """Returns the figures of one run."""
    lists = max(1, found["lists"])
    return {
        "list_bytes": found["list_bytes"],
        "pairs": found["pairs"],
        "lists": lists,
        "ms_per_list": 1000 * found["list_seconds"] / lists,
        "ms_per_kernel": 1000 * found["kernel_seconds"] / steps,
    }


def medians(runs: list[dict[str, float]]) -> dict[str, Any]:
    found: dict[str, Any] = {key: median(run[key] for run in runs) for key in runs[0]}
    list_seconds = found["ms_per_list"] * PAPER_STEPS / PAPER_LIST_EVERY / 1000
    kernel_seconds = found["ms_per_kernel"] * PAPER_STEPS / 1000
    return {**found, "list_s": list_seconds, "kernel_s": kernel_seconds, "all_repeats": runs}


def table_1(entries: list[dict[str, Any]]) -> str:
    """Returns the table of memory and interactions."""
    rows = []
    for scheme, title, paper in ENTRIES:
        found = next((e for e in entries if e["scheme"] == scheme), None)
        if found is not None:
            theirs = paper[:2] if paper else (None, None)
            rows.append([title, f"`{scheme}`", found["list_bytes"] / 2**20, theirs[0], int(found["pairs"]), theirs[1]])
    return "**Table 1**\n\n" + table(
        ["", "scheme", "memory of lists, MiB", "paper", "pairs evaluated", "paper"],
        rows,
    )


def table_2(entries: list[dict[str, Any]], function: str) -> str:
    """Returns the table of times with one kind of interaction function."""
    rows = []
    for scheme, title, paper in ENTRIES:
        found = next((e for e in entries if (e["scheme"], e["function"]) == (scheme, function)), None)
        if found is not None:
            ours = found["list_s"], found["kernel_s"], found["list_s"] + found["kernel_s"]
            theirs: list[Any] = [paper[2], paper[3], paper[2] + paper[3]] if paper else [None] * 3
            ns_a_pair = 1e6 * found["ms_per_kernel"] / found["pairs"]
            rows.append([title, found["ms_per_list"], found["ms_per_kernel"], ns_a_pair, *ours, *theirs])
    seconds = ["kernels, s", "sum, s"]
    header = ["", "ms a list", "ms a step", "ns a pair", f"lists, s for {PAPER_STEPS:,} steps", *seconds]
    return f"**Table 2**, interaction functions: {function}\n\n" + table([*header, "paper: lists, s", *seconds], rows)


if __name__ == "__main__":
    pair_schemes()
