"""Writes figures as JSON and as Markdown tables, with the machine, its load and the versions."""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

if TYPE_CHECKING:
    from bench.common.options import Common

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / "docs" / "records"
Row = TypeVar("Row")


def machine() -> dict[str, Any]:
    """Returns the processor, the cores that may be used, the memory and the current load."""
    processor, flags = platform.processor(), ""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    if found := re.search(r"^model name\s*: (.*)$", text, flags=re.M):
        processor = found[1]
    # These numbers distinguish generations with the same name.
    numbers = [re.search(rf"^{word}\s*: (\d+)$", text, flags=re.M) for word in ("cpu family", "model")]
    if all(numbers):
        processor += " (family {}, model {})".format(*(found[1] for found in numbers if found))
    if found := re.search(r"^flags\s*: (.*)$", text, flags=re.M):
        flags = found[1]
    widest = next((name for name in ("avx512f", "avx2", "avx", "sse4_1") if name in flags.split()), "unknown")
    return {
        "processor": processor.strip(),
        "cores": len(os.sched_getaffinity(0)),
        "vector_instructions": widest,
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load": load(),
    }


def load() -> float:
    """Returns the mean number of processes that wanted a core in the last minute."""
    return round(os.getloadavg()[0], 2)


def commit() -> str:
    """Returns the short name of the commit, with `+` where tracked files differ from it."""
    options: dict[str, Any] = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 60}
    try:
        name = subprocess.run(["git", "rev-parse", "--short", "HEAD"], **options).stdout.strip()
        changed = subprocess.run(["git", "status", "--porcelain", "-uno", "--", "cpp", "python"], **options).stdout
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return f"{name}{'+' if changed.strip() else ''}" if name else "unknown"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Returns a Markdown table; floats have three significant figures, whole numbers have separators, None is a
    dash."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines)


def columns(rows: Iterable[Row], of: Mapping[str, Callable[[Row], Any]]) -> str:
    """Returns a table with a row for each of `rows`: what each column, by its title, shows of it."""
    return table(list(of), [[cell(row) for cell in of.values()] for row in rows])


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def number(value: float) -> str:
    """Returns the number with three significant figures."""
    if value == 0 or not abs(value) < float("inf"):
        return f"{value:g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    text = f"{value:.3g}"
    return re.sub(r"e([+-])0*(\d+)", lambda m: f"e{m[1].replace('+', '')}{m[2]}", text)


def above(found: Mapping[str, float], promised: Mapping[str, float | None]) -> list[str]:
    """Names what is more than promised, or was not measured; of what has None nothing is promised."""
    return [
        f"{name}: {found[name]:.4g}, promised ≤ {most:g}" if name in found else f"{name} was not measured"
        for name, most in promised.items()
        if most is not None and not found.get(name, math.nan) <= most
    ]


@dataclass
class Figure:
    """The outcome of one script. Its files and the markers of its section in a record have the name `name`."""

    name: str
    title: str
    settings: dict[str, Any]
    versions: dict[str, str]
    data: dict[str, Any] = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)  # promises that were not kept
    started: str = field(default_factory=lambda: datetime.datetime.now(datetime.UTC).date().isoformat())
    at_start: dict[str, Any] = field(default_factory=machine)

    def as_json(self) -> dict[str, Any]:
        return {
            "format": "tessera-bench",
            "version": 1,
            "name": self.name,
            "title": self.title,
            "date": self.started,
            "machine": {"load_at_end": load(), **self.at_start},
            "versions": {"commit": commit(), "Python": platform.python_version(), **self.versions},
            "settings": self.settings,
            "data": self.data,
            "notes": self.notes,
            "failures": self.failures,
        }

    def markdown(self, found: dict[str, Any] | None = None) -> str:
        found = found or self.as_json()
        m = found["machine"]
        versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
        where = (
            f"Measured on {found['date']}: {m['processor']}, {m['cores']} cores, {m['vector_instructions']}, load "
            f"{m['load']} before and {m['load_at_end']} after. {versions}."
        )
        return "\n\n".join([*self.tables, *self.notes, where]) + "\n"

    def note_failures(self) -> None:
        """Lists what failed below the tables, as bench.promises counts it."""
        if self.failures:
            self.notes.append("\n".join(f"- Failed: {text}." for text in self.failures))

    def finish(self, common: Common) -> NoReturn:
        """Writes the figure with the promises that were missed, and ends the program; with status 1 where there are
        some and they are asked for."""
        self.note_failures()
        self.write(common.results, as_json=common.as_json, docs=common.docs)
        if not (self.failures and common.check):
            sys.exit(0)
        click.echo("\n".join(self.failures), err=True)
        sys.exit(1)

    def write(self, folder: Path, *, as_json: bool, docs: bool) -> None:
        """Writes NAME.json and NAME.md, prints one of them, and puts the latter into its record in docs if asked to."""
        folder.mkdir(parents=True, exist_ok=True)
        found = self.as_json()
        text = self.markdown(found)
        as_text = json.dumps(found, indent=2, default=str)
        (folder / f"{self.name}.json").write_text(as_text + "\n")
        (folder / f"{self.name}.md").write_text(text)
        click.echo(as_text if as_json else f"\n{self.title}\n\n{text}")
        if docs:
            insert(page_of(self.name), self.name, text)


def page_of(name: str) -> Path:
    """Returns the page of docs/records that holds the markers of that name."""
    found = [path for path in sorted(RECORDS.glob("*.md")) if f"<!-- bench:{name} -->" in path.read_text()]
    if len(found) != 1:
        raise click.ClickException(f"docs/records should hold <!-- bench:{name} --> once; {len(found)} pages do")
    return found[0]


def inserted(page: str, name: str, text: str, path: Path) -> str:
    """Returns a page with other text between the markers `<!-- bench:NAME -->` and `<!-- /bench:NAME -->`."""
    begin, end = f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise click.ClickException(f"{path.name} should hold {begin} and {end} once each")
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{text.strip()}\n\n{end}{rest.split(end)[1]}"


def insert(path: Path, name: str, text: str) -> None:
    """Replaces the text between the markers in a file, as `inserted` does."""
    path.write_text(inserted(path.read_text(), name, text, path))
