"""Computes how fast the loops of a step can be by the ports of several processors, and how fast those of pairs are on
this one. The loops are cut out of the built engine; llvm-mca knows the processors."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

import click

from bench.common import engine, limits, ports, systems
from bench.common.options import Common, common_options
from bench.common.results import Figure, table
from tessera import launch

PAIRS_OF_ENTRY = 16


@dataclass(frozen=True)
class Loop:
    """An innermost loop of a function: the shortest that has certain instructions and lacks others."""

    kernel: str
    what: str  # what one turn does
    function: str  # a regular expression for the name, with SET for the instruction set
    has: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    only_with: str | None = None  # this instruction set

    def is_it(self, body: list[str]) -> bool:
        words = [line.split()[0] for line in body]
        has = all(any(word.startswith(start) for word in words) for start in self.has)
        return has and not any(word.startswith(self.lacks) for word in words if self.lacks)


def _pairs(cutoff: str, modifier: int) -> tuple[Loop, ...]:
    function = rf"pair::N_SET::RunLoop<.*N_SET::Fixed<\(tessera::model::LjModifier\){modifier}, false>.*Beside\)0>\("
    kernel = f"pair forces, {cutoff}"
    return (
        Loop(kernel, "distances of an entry", function, ("vbroadcastf", "vfmadd"), ("vdiv", "vcvt")),
        Loop(kernel, "forces of an entry", function, ("vdivps", "vsqrtps"), ("vcvt",)),
        Loop(kernel, "sums of an entry", function, ("vcvtps2dq",), ("vdiv",)),
    )


def _multiplied(pairs: tuple[Loop, ...]) -> Loop:
    """Returns the loop that Intel's processors run in place of the one that divides."""
    kernel, function = pairs[1].kernel, pairs[1].function
    return Loop(kernel, "forces, without divisions", function, ("vrcp14ps", "vsqrtps"), ("vcvt", "vdiv"), "AVX3")


PAIRS = {9: _pairs("9 Å", 0), 12: _pairs("12 Å", 2)}  # cut, and switched by the force
NEAR = r"pair::N_SET::FindNearClusters\("
LOOPS = (
    *PAIRS[9],
    _multiplied(PAIRS[9]),
    *PAIRS[12],
    _multiplied(PAIRS[12]),
    Loop("pair list", "boxes of a register's clusters", NEAR, ("vmaxps", "popcnt")),
    Loop("pair list", "16 distances", NEAR, ("vbroadcastf", "vfnmadd")),
    Loop("mesh: spread charges", "4 of an atom's 16 rows", r"pme::N_SET::SpreadOrder<4>", ("vcvtps2dq", "vpaddd")),
)


@cache
def _symbols(program: Path) -> dict[str, str]:
    """Returns the demangled names of the program's functions, and the names in the file."""
    read = [ports.output("nm", *options, program).splitlines() for options in ((), ("-C",))]
    names = [[line.split(" ", 2)[-1] for line in lines] for lines in read]
    return dict(zip(names[1], names[0], strict=True))


@cache
def _innermost_loops(program: Path, symbol: str) -> list[list[str]]:
    """Returns the instructions of each loop of a function that holds no other loop."""
    code = list(ports.disassembled(program, f"--disassemble={symbol}").items())
    place = {address: i for i, (address, _) in enumerate(code)}
    loops = []
    for i, (_, text) in enumerate(code):
        jump = re.match(r"j\S+\s+([0-9a-f]+) ", text)
        if jump and place.get(int(jump[1], 16), i + 1) <= i:
            loops.append((place[int(jump[1], 16)], i))
    inner = [a for a in loops if not any(b != a and b[0] >= a[0] and b[1] <= a[1] for b in loops)]
    return [[text for _, text in code[first : last + 1]] for first, last in inner]


def body_of(program: Path, loop: Loop, instruction_set: str) -> list[str]:
    """Returns the instructions of a loop. Raises ClickException where the engine has none of the kind."""
    name = re.compile(loop.function.replace("SET", instruction_set))
    found = [
        body
        for demangled, symbol in _symbols(program).items()
        if name.search(demangled)
        for body in _innermost_loops(program, symbol)
        if loop.is_it(body)
    ]
    if not found:
        raise click.ClickException(f"{program} has no loop for “{loop.kernel}: {loop.what}” with {instruction_set}")
    return min(found, key=len)


def measured(common: Common, instruction_set: str, cutoff: int, steps: int, repeats: int) -> tuple[float, float]:
    """Returns the cycles that an entry of DHFR takes in the kernel of pairs here, all that goes with it included: the
    median of the runs and the least."""
    settings = engine.merge(
        engine.interactions(float(cutoff)), {"dynamics": {"steps": steps}, "output": {"trajectory": "none"}}
    )
    os.environ["TESSERA_SIMD"] = instruction_set
    cycles = []
    for _ in range(repeats):
        done = engine.run(
            systems.system(common, "dhfr"), settings, common.work / "runs" / "port_bounds", engine.Layout(1, 1, "auto")
        )
        seconds = next(phase["seconds"] for phase in done.report["phases"] if phase["name"] == "pair forces")
        entries = done.report["results"]["pairs_evaluated"] / PAIRS_OF_ENTRY
        cycles.append(seconds / (steps + 1) * limits.clock(common) / entries)
    return median(cycles), min(cycles)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@common_options(steps=100, repeats=5, steps_help="Steps of each run whose pairs are timed.")
def port_bounds(common: Common, steps: int, repeats: int) -> None:
    """Compute the least times of inner loops by ports, and measure those of pairs.

    \b
    Example:
      python -m bench.md.port_bounds --docs
    """
    program = Path(launch.engine_command([], ranks=1, threads=1, mpi="auto")[0])
    figure = Figure(
        "port_bounds", "Bounds by ports", {"steps": steps, "repeats": repeats}, {"llvm-mca": ports.version()}
    )
    rows: list[tuple[object, ...]] = []
    sums: dict[tuple[str, str, str], tuple[float, float]] = {}
    for instruction_set, (name, processors) in ports.SETS.items():
        for loop in LOOPS:
            if loop.only_with not in (None, instruction_set):
                continue
            body = body_of(program, loop, instruction_set)
            for processor, common_name in processors.items():
                one = ports.bound(body, processor)
                rows.append(
                    (
                        loop.kernel,
                        loop.what,
                        name,
                        common_name,
                        one.instructions,
                        one.operations,
                        one.ports,
                        one.simulated,
                    )
                )
                if loop.only_with is not None:
                    continue
                key = (loop.kernel, instruction_set, common_name)
                least, simulated = sums.get(key, (0.0, 0.0))
                sums[key] = (least + one.ports, simulated + one.simulated)
    figure.tables.append(
        table(
            ("kernel", "a turn does", "set", "core", "instructions", "operations", "cycles by ports", "simulated"), rows
        )
    )
    common.say("timing pairs")
    timed = []
    for instruction_set, (name, processors) in ports.SETS.items():
        for cutoff, loops in PAIRS.items():
            middle, best = measured(common, instruction_set, cutoff, steps, repeats)
            for core in processors.values():
                least, simulated = sums[loops[0].kernel, instruction_set, core]
                timed.append((loops[0].kernel, name, core, least, simulated, middle, best))
    figure.tables.append(
        table(("kernel", "set", "core", "cycles by ports", "simulated", "here: median", "here: best"), timed)
    )
    figure.data = {"loops": rows, "pairs": timed, "clock": limits.clock(common)}
    figure.notes.append(
        "Cycles of a core for one turn; the second table has those for an entry of 16 pairs of atoms, its three loops "
        "that divide together, beside what one thread takes here for DHFR, at "
        f"{limits.clock(common) / 1e9:.2f} GHz, with all that goes with the loops: entries with exclusions, beginnings "
        "and ends of rows, steps with energies. The cores of llvm-mca are models: they know ports, latencies and "
        "queues, and take all data to be in the first cache."
    )
    figure.write(common.results, as_json=common.as_json, docs=common.docs)


if __name__ == "__main__":
    port_bounds()
