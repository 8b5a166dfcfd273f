"""The record docs/records/campaigns.md: a line for each run of a part, the newest first."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from bench.common import results
from tests.campaigns.parts import PARTS, ROOT, Piece

PAGE = ROOT / "docs" / "records" / "campaigns.md"
OLD = 50  # commits


@dataclass(frozen=True)
class Line:
    """A run of a part or of a piece of it, as words. Tests that were skipped are missing something; those not run were
    planned, but the run ended before."""

    part: str
    date: str
    commit: str
    processor: str
    load: str
    sets: str
    sets_not_run: str
    passed: str
    failed: str
    skipped: str
    not_run: str
    verdict: str
    time: str


def read(page: Path | None = None) -> list[Line]:
    """Returns the lines, the newest first."""
    text = (page or PAGE).read_text().split("<!-- bench:campaigns -->")[1].split("<!-- /bench:campaigns -->")[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [Line(*row) for row in rows[1:]]


def add(line: Line, page: Path | None = None) -> None:
    """Writes a line above the others."""
    _write([line, *read(page)], page or PAGE)


def _write(lines: Sequence[Line], page: Path) -> None:
    header = [field.name.replace("_", " ") for field in fields(Line)]
    rows = [[word.replace("|", "/") or "–" for word in astuple(line)] for line in lines]
    results.insert(page, "campaigns", results.table(header, rows))


def parts_table() -> str:
    """Returns the table of parts that stands in the record."""
    return results.table(
        ["part", "what it runs", "what it needs", "pieces"],
        [[part.name, part.runs, ", ".join(part.needs) or "–", part.count] for part in PARTS.values()],
    )


def changes_table() -> str:
    """Returns the table that stands in CONTRIBUTING.md, of what to run before which change lands."""
    return results.table(["`PART=`", "for a change of"], [[part.name, part.changes] for part in PARTS.values()])


def write_tables() -> None:
    results.insert(PAGE, "parts", parts_table())
    results.insert(ROOT / "CONTRIBUTING.md", "parts", changes_table())


def git(*words: str, root: Path = ROOT) -> str | None:
    """Returns what a git command prints, and None where it fails."""
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def tree() -> str:
    """Returns the short name of the commit, with `+` where files differ from it; the record itself does not count."""
    name = git("rev-parse", "--short=10", "HEAD")
    changed = git("status", "--porcelain", "--", ".", f":!{PAGE.relative_to(ROOT)}")
    return f"{name or 'unknown'}{'+' if changed or name is None else ''}"


def commits_since(commit: str, root: Path = ROOT) -> int | None:
    """Returns the number of commits after this one, and None where it is unknown."""
    count = git("rev-list", "--count", f"{commit.rstrip('+')}..HEAD", root=root)
    return None if count is None else int(count)


def why_again(piece: Piece, lines: Sequence[Line], root: Path = ROOT) -> str | None:
    """Returns why a piece should run again, or None where it need not."""
    last = next((line for line in lines if line.part == str(piece)), None)
    if last is None:
        return "never run"
    commits = commits_since(last.commit, root)
    if commits is None:
        return "run at an unknown commit"
    if last.verdict != "passed":
        return "failed"
    return f"{commits} commits ago" if commits > OLD else None


def stale(root: Path = ROOT, page: Path | None = None) -> str:
    """Returns a line that names what should run again."""
    lines = read(page)
    pieces = [piece for part in PARTS.values() for piece in part.pieces()]
    again = [f"{piece} ({why})" for piece in pieces if (why := why_again(piece, lines, root))]
    return f"campaigns to run again: {', '.join(again) or 'none'}"
