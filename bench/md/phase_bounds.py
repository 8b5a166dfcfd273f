"""Computes how fast the phases of a step can be by the ports of processors, from all instructions that a step executes
(Valgrind counts them, llvm-mca knows the ports), and measures how fast they are here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import click

from bench.common import engine, limits, systems
from bench.common.options import Common, script
from bench.common.results import table
from tessera import launch

INSTRUCTION_SET = "AVX2"  # the widest that Valgrind knows
PROCESSORS = {"znver3": "Zen 3", "alderlake": "Golden Cove"}  # with AVX2, as llvm-mca and others call them
SAMPLE = 6000  # instructions that stand for all those of a phase
SHORT = 1  # steps of a run that are taken off the counts of another

#: phases of the engine's report, and what their functions are called
PHASES = {
    "pair forces": (("pair forces",), r"pair::N_\w+::(RunLoop|RunRows|AddToAtoms)|ClusterSum::|add_to_atoms"),
    "pair list": (
        ("pair list",),
        r"FindNearClusters|find_near_clusters|FindCandidates|FacesOf|PairList|find_partner_cell"
        r"|PairForces::(update|set_reach)|SetCoordinates|set_coordinates",
    ),
    "bonded forces": (("bonded forces",), r"md::bonded::"),
    "mesh: spread charges": (
        ("mesh: spread charges",),
        r"pme::N_\w+::(Spread|Convert)|pme::(select_atoms|convert)|Pme<float>::spread",
    ),
    "mesh: transforms": (("mesh: forward transform", "mesh: backward transform"), r"tessera::fft::"),
    "mesh: solve": (("mesh: solve",), r"Influence<float>::apply"),
    "mesh: forces": (
        ("mesh: forces",),
        r"pme::N_\w+::(Gather|AddForces)|pme::(gather|add_forces)|Pme<float>::add_forces",
    ),
    "constraints and update": (("kick, drift, constrain", "kick, constrain"), r"md::integrate::N_"),
    "displacement check": (("displacement check",), r"greatest_displacement"),
}
SEARCH = "sort and migration"
FUNCTIONS_OF_SEARCH = (
    r"md::domain::|Topology::(add_terms|list_of)|PairForces::(find_exclusions|rebuild)|Motion::rebuild"
)


def output(*words: str | Path, text: str | None = None) -> str:
    """Returns what a program of LLVM or of the binutils prints. Raises ClickException."""
    try:
        return subprocess.run(
            [str(word) for word in words], input=text, capture_output=True, text=True, check=True, timeout=300
        ).stdout
    except FileNotFoundError as error:
        raise click.ClickException(f"{words[0]} is missing: apt-get install llvm-16 binutils") from error
    except subprocess.CalledProcessError as error:
        raise click.ClickException(f"{words[0]} failed: {error.stderr.strip()[:300]}") from error


def disassembled(program: Path) -> dict[int, str]:
    """Returns instructions, as text, by their addresses in the file."""
    lines = output("objdump", "-d", "--no-show-raw-insn", program).splitlines()
    return {int(found[1], 16): found[2] for line in lines if (found := re.match(r"\s+(\w+):\s+(\S[^#]*)", line))}


def least_cycles(executed: Mapping[str, float], processor: str) -> float:
    """Returns the least cycles for instructions that are executed so many times each, in any order, if only the ports
    limit them. A sample in which each has its share stands for all."""
    total = sum(executed.values())
    sample: list[str] = []
    passed = 0.0
    for instruction, times in sorted(executed.items()):
        passed += times
        sample += [instruction] * (round(passed / total * SAMPLE) - len(sample))
    lines = [re.sub(r"^(j\S+|call\S*|bnd \S+)\s.*", r"\1 .L0", line) for line in sample]
    said = output(analyser(), f"-mcpu={processor}", "-iterations=1", text=".L0:\n" + "\n".join(lines))
    found = re.search(r"^Block RThroughput:\s+([\d.]+)", said, flags=re.M)
    assert found, said
    return float(found[1]) * total / len(sample)


@cache
def analyser() -> str:
    """Returns the newest llvm-mca: Zen 4 is known from version 16 on."""
    names = [f"llvm-mca-{version}" for version in range(30, 15, -1)]
    return next((name for name in names if shutil.which(name)), "llvm-mca")


def version_of_analyser() -> str:
    """Returns the version of llvm-mca."""
    found = re.search(r"version (\S+)", output(analyser(), "--version"))
    return found[1] if found else "unknown"


def run(
    common: Common, cutoff: float, steps: int, *, under: Sequence[str] = (), timeout: float | None = None
) -> dict[str, Any]:
    """Runs DHFR on one thread and returns the report."""
    settings = engine.without_frames(cutoff, steps)
    folder = common.work / "runs" / "phase_bounds"
    system = systems.system(common, "dhfr")
    return engine.run(system, settings, folder, engine.Layout(1, 1, "auto"), under=under, timeout=timeout).report


def executed(common: Common, program: Path, cutoff: float, steps: int) -> tuple[dict[int, int], int]:
    """Returns how often each instruction of the engine is executed in a run, by its address in the file, and how many
    searches there were."""
    out = common.work / "callgrind.out"
    valgrind = ["valgrind", "--tool=callgrind", "--dump-instr=yes", "--compress-pos=no", "--compress-strings=no"]
    report = run(common, cutoff, steps, under=[*valgrind, f"--callgrind-out-file={out.resolve()}"], timeout=3600)
    return counts_in(out.read_text(), program), report["results"]["pair_searches"]


def counts_in(text: str, program: Path) -> dict[int, int]:
    """Reads a file of callgrind. The line after one with `calls=` tells what callees cost, and is left out."""
    counts: dict[int, int] = defaultdict(int)
    is_mine = is_call = False
    for line in text.splitlines():
        if line.startswith("ob="):
            is_mine = line.endswith(program.name)
        elif line.startswith("calls="):
            is_call = True
        elif line.startswith("0x"):
            if is_mine and not is_call:
                address, _, times = line.split()
                counts[int(address, 16)] += int(times)
            is_call = False
    return counts


def functions(program: Path) -> list[tuple[int, str]]:
    """Returns the addresses and names of the program's functions, in order."""
    lines = output("nm", "-n", "-C", "--defined-only", program).splitlines()
    return [(int(words[0], 16), words[2]) for line in lines if len(words := line.split(" ", 2)) == 3]


def by_phase(counts: Mapping[int, float], patterns: Mapping[str, str], program: Path) -> dict[str, dict[str, float]]:
    """Returns how often each instruction, as text, is executed, by phase."""
    names, texts = iter(functions(program)), disassembled(program)
    _, name = next(names)
    following = next(names, None)
    found: dict[str, dict[str, float]] = {phase: defaultdict(float) for phase in patterns}
    for address in sorted(counts):
        while following and following[0] <= address:
            name, following = following[1], next(names, None)
        phase = next((phase for phase, pattern in patterns.items() if re.search(pattern, name)), None)
        if phase and address in texts and counts[address] > 0:
            found[phase][texts[address]] += counts[address]
    for phase, instructions in found.items():
        if not instructions:
            raise click.ClickException(f"none of the instructions that were executed belongs to “{phase}”")
    return found


def cycles_here(common: Common, cutoff: float, first_searches: int, steps: int, repeats: int) -> dict[str, float]:
    """Returns the cycles that the phases of a step take on this machine, and a search after the first ones, medians of
    runs."""
    turns: dict[str, list[float]] = defaultdict(list)
    for _ in range(repeats):
        report = run(common, cutoff, steps)
        seconds = {phase["name"]: phase["seconds"] for phase in report["phases"]}
        for phase, (reported, _) in PHASES.items():
            turns[phase].append(sum(seconds[name] for name in reported) / steps)
        searches = report["results"]["pair_searches"] - first_searches
        if searches > 0:
            turns[SEARCH].append(seconds[SEARCH] / searches)
    return {phase: median(times) * limits.clock(common) for phase, times in turns.items()}


@script(steps=200, repeats=5, steps_help="Steps of each run whose phases are timed.")
@click.option("--cutoff", default=12.0, show_default=True, help="Å.")
@click.option("--counted", default=10, show_default=True, help="Steps whose instructions are counted.")
def phase_bounds(common: Common, cutoff: float, counted: int, steps: int, repeats: int) -> None:
    """Compute the least times of the phases of a step by ports, and measure them.

    \b
    Example:
      python -m bench.md.phase_bounds --docs
    """
    program = Path(launch.engine_command([], ranks=1, threads=1, mpi="auto")[0])
    os.environ["TESSERA_SIMD"] = INSTRUCTION_SET
    common.say("counting instructions, which takes minutes")
    before, searches = executed(common, program, cutoff, SHORT)
    after, _ = executed(common, program, cutoff, SHORT + counted)
    a_step = {at: (times - before.get(at, 0)) / counted for at, times in after.items()}
    a_search = {at: times / searches for at, times in before.items()}
    instructions = {
        **by_phase(a_step, {phase: pattern for phase, (_, pattern) in PHASES.items()}, program),
        **by_phase(a_search, {SEARCH: FUNCTIONS_OF_SEARCH}, program),
    }
    common.say("timing phases")
    here = cycles_here(common, cutoff, searches, steps, repeats)

    rows: list[tuple[object, ...]] = []
    for phase, of_phase in instructions.items():
        if phase not in here:
            continue  # there was no search in so few steps
        total = sum(of_phase.values())
        least = [least_cycles(of_phase, processor) for processor in PROCESSORS]
        rows.append(
            (
                f"{phase}, one search" if phase == SEARCH else phase,
                total / 1e6,
                *(cycles / 1e6 for cycles in least),
                here[phase] / 1e6,
                total / here[phase],
                *(f"{100 * cycles / here[phase]:.0f} %" for cycles in least),
            )
        )
    versions = {"llvm-mca": version_of_analyser(), "instruction set": INSTRUCTION_SET}
    figure = common.figure("phase_bounds", "Bounds of phases by ports", versions)
    cores = list(PROCESSORS.values())
    figure.tables.append(
        table(
            (
                "phase",
                "instructions",
                *(f"least cycles, {core}" for core in cores),
                "cycles here",
                "instructions a cycle",
                *(f"share of bound, {core}" for core in cores),
            ),
            rows,
        )
    )
    figure.data = {"phases": rows, "clock": limits.clock(common)}
    figure.notes.append(
        f"Millions, of a step of DHFR at {cutoff:g} Å on one thread, {INSTRUCTION_SET}, means of {counted} steps. "
        "Least cycles: all instructions of a phase, spread over the ports as well as they can be, whatever waits for "
        f"what; data are in the first cache. Here: at {limits.clock(common) / 1e9:.2f} GHz, medians of {repeats} runs."
    )
    figure.finish(common)


if __name__ == "__main__":
    phase_bounds()
