"""Asks llvm-mca how fast machine code can be by the ports of a processor, and finds instructions in programs."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import click

PROCESSORS = {"znver3": "Zen 3", "alderlake": "Golden Cove"}  # with AVX2, as llvm-mca and others call them
SAMPLE = 6000  # instructions that stand for all those of a phase


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


def disassembled(program: Path, *options: str) -> dict[int, str]:
    """Returns instructions, as text, by their addresses in the file."""
    lines = output("objdump", "-d", "--no-show-raw-insn", *options, program).splitlines()
    return {int(found[1], 16): found[2] for line in lines if (found := re.match(r"\s+(\w+):\s+(\S[^#]*)", line))}


def cycles_of(body: Iterable[str], processor: str) -> float:
    """Returns the least cycles of instructions by the ports alone."""
    lines = [re.sub(r"^(j\S+|call\S*|bnd \S+)\s.*", r"\1 .L0", line) for line in body]
    said = output(_analyser(), f"-mcpu={processor}", "-iterations=1", text=".L0:\n" + "\n".join(lines))
    found = re.search(r"^Block RThroughput:\s+([\d.]+)", said, flags=re.M)
    assert found, said
    return float(found[1])


def cycles_of_mixture(executed: Mapping[str, float], processor: str) -> float:
    """Returns the least cycles for instructions that are executed so many times each, in any order, if only the ports
    limit them. A sample in which each has its share stands for all."""
    total = sum(executed.values())
    sample: list[str] = []
    passed = 0.0
    for instruction, times in sorted(executed.items()):
        passed += times
        sample += [instruction] * (round(passed / total * SAMPLE) - len(sample))
    return cycles_of(sample, processor) * total / len(sample)


@cache
def _analyser() -> str:
    """Returns the newest llvm-mca: Zen 4 is known from version 16 on."""
    names = [f"llvm-mca-{version}" for version in range(30, 15, -1)]
    return next((name for name in names if shutil.which(name)), "llvm-mca")


def version() -> str:
    """Returns the version of llvm-mca."""
    found = re.search(r"version (\S+)", output(_analyser(), "--version"))
    return found[1] if found else "unknown"
