"""Reads the sections of docs/records: their tables, and when and where they were measured."""

from __future__ import annotations

import re
from dataclasses import dataclass

import click

from bench.common.results import page_of, table

Table = list[list[str]]  # the header first

MOST_LOAD = 0.3  # above which bench/README.md asks to measure again
MEASURED = re.compile(
    r"[Mm]easured on (?P<day>\d{4}-\d\d-\d\d): (?P<processor>.+?), (?P<cores>\d+) cores, (?P<widest>\w+), "
    r"load (?P<before>[\d.]+) before and (?P<after>[\d.]+) after\. commit (?P<commit>\w+\+?)(?P<versions>.*)"
)
SETS = {"avx512f": "AVX-512", "AVX3": "AVX-512", "avx2": "AVX2", "AVX2": "AVX2"}


@dataclass(frozen=True)
class Age:
    """Where and when a section was measured, as its script wrote below its tables."""

    day: str
    commit: str
    processor: str
    instruction_set: str
    loads: tuple[float, float]

    @property
    def is_quiet(self) -> bool:
        return max(self.loads) <= MOST_LOAD


def text_of(name: str) -> str:
    """Returns the section that holds the markers of that name."""
    parts = re.split(r"^(?=## )", page_of(name).read_text(), flags=re.M)
    return next(part for part in parts if f"<!-- bench:{name} -->" in part)


def measured(name: str) -> str:
    """Returns what a script has written between the markers."""
    return text_of(name).split(f"<!-- bench:{name} -->")[1].split(f"<!-- /bench:{name} -->")[0].strip()


def heading_of(name: str) -> str:
    """Returns the heading of a section; empty where a page has one section."""
    found = re.match(r"## (.+)\n", text_of(name))
    return found[1] if found else ""


def link_to(name: str) -> str:
    """Returns the page and the heading of a section, as a link from docs/records has them."""
    anchor = re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading_of(name).lower()))
    return f"{page_of(name).name}{f'#{anchor}' if anchor else ''}"


def ages(name: str) -> list[Age]:
    """Returns when and where the tables of a section were measured; nothing for one that is still empty."""
    found = []
    heading = heading_of(name)
    for one in MEASURED.finditer(measured(name)):
        limited = re.search(r"(?:SIMD of Tessera|instruction set) (\w+)", one["versions"])
        widest = limited[1] if limited else one["widest"]
        used = heading if heading in SETS.values() else SETS.get(widest, widest)
        loads = float(one["before"]), float(one["after"])
        found.append(Age(one["day"], one["commit"], one["processor"], used, loads))
    return found


def ages_table(names: list[str]) -> str:
    """Returns the table at the head of a page: the age of each section, and whether the machine was quiet."""
    rows = []
    for name in names:
        link = f"[{name}]({link_to(name)})"
        rows += [
            [link, one.day, f"`{one.commit}`", one.processor, one.instruction_set,
             "{:g}–{:g}".format(*one.loads), "kept" if one.is_quiet else f"above {MOST_LOAD:g}"]
            for one in ages(name)
        ] or [[link, "never", *["–"] * 5]]  # fmt: skip
    return table(["section", "measured on", "commit", "processor", "instruction set", "load", "rule for loads"], rows)


def table_of(name: str, title: str) -> Table:
    """Returns the first table of a section that has a column of that title."""
    for block in re.findall(r"(?:^\|.*\n)+", text_of(name), flags=re.M):
        rows = [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in block.splitlines()]
        if title in rows[0]:
            return [rows[0], *rows[2:]]
    raise click.ClickException(f"the section {name} of docs/records has no table with a column {title!r}")


def value(cell: str) -> float:
    return float(cell.replace(",", ""))
