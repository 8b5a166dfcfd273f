"""Makes the pages of docs/studies: runs the studies of examples/studies cell by cell, and shows below the code what it
prints and draws."""

from __future__ import annotations

import contextlib
import datetime
import io
import os
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from bench.common.results import ROOT, commit, machine

STUDIES = ROOT / "examples" / "studies"
PAGES = ROOT / "docs" / "studies"
LENGTHS = ("short", "minutes", "whole")
_SHOWN = re.compile(r"\n<!-- printed by the study -->\n```text\n.*?\n```\n|\n!\[[^\]]*\]\([^)]*\)\n", re.DOTALL)
_ABOUT = re.compile(r"\n!!! note .*?(?=\n[^ \n])", re.DOTALL)


@dataclass(frozen=True)
class Cell:
    """A cell of a study: text in Markdown, or code."""

    is_text: bool
    text: str

    def markdown(self) -> str:
        """Returns the cell as a part of a page."""
        code = f"<!-- not run: CI runs the whole study, in its short form -->\n```python\n{self.text}\n```"
        return self.text if self.is_text else code


def cells(study: str) -> list[Cell]:
    """Returns the cells of a script in the percent format of jupytext."""
    found = []
    for part in re.split(r"^# %%", study, flags=re.MULTILINE)[1:]:
        kind, _, text = part.partition("\n")
        is_text = "[markdown]" in kind
        found.append(Cell(is_text, re.sub(r"^# ?", "", text, flags=re.MULTILINE).strip() if is_text else text.strip()))
    return found


def run(cell: Cell, names: dict[str, Any], picture: Path) -> str:
    """Runs a cell of code in a namespace, and writes the figure that it draws. Returns both as Markdown."""
    from matplotlib import pyplot

    printed, of_others = io.StringIO(), set(pyplot.get_fignums())
    with contextlib.redirect_stdout(printed):
        exec(compile(cell.text, picture.stem, "exec"), names)
    shown = ""
    if printed.getvalue().strip():
        shown += f"\n<!-- printed by the study -->\n```text\n{printed.getvalue().rstrip()}\n```\n"
    for number in sorted(set(pyplot.get_fignums()) - of_others):
        figure = pyplot.figure(number)
        figure.savefig(picture, metadata={"Date": None})
        shown += f"\n![{figure.get_label()}]({picture.name})\n"
        pyplot.close(figure)
    return shown


def about(study: Path, length: str, seconds: float) -> str:
    """Returns the words that say what run a page shows."""
    told, cores = machine(), len(os.sched_getaffinity(0))
    option = "" if length == LENGTHS[-1] else f"TESSERA_STUDY={length} "
    return (
        '\n!!! note "This run"\n'
        f"    What is printed and drawn below is of `{option}python {study.relative_to(ROOT)}`, which took "
        f"{max(1, round(seconds / 60))} min\n"
        f"    on {cores} threads of {told['processor']} (load {told['load']}; {datetime.date.today()}, commit "
        f"`{commit()}`).\n"
        "    [Studies](../guide/studies.md) says how to run it, and how to make a notebook of it.\n"
    )


def page(study: Path, length: str, picture: Path) -> str:
    """Runs a study in a folder of its own and returns its page. The figure is written to `picture`."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": study.stem, "font.size": 10})
    os.environ["TESSERA_STUDY"] = length
    names: dict[str, Any] = {"__name__": "__main__"}
    parts, begin = [], time.monotonic()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for cell in cells(study.read_text()):
            click.echo(f"{study.stem}: {cell.text.splitlines()[0]}", err=True)
            parts.append(f"{cell.markdown()}\n{'' if cell.is_text else run(cell, names, picture)}")
    title, _, first = parts[0].partition("\n")
    head = f"{title}\n{about(study, length, time.monotonic() - begin)}{first}"
    return "\n".join([head, *parts[1:]])


def without_results(text: str) -> str:
    """Returns a page without what its study printed and drew, and without the words on the run."""
    return _SHOWN.sub("", _ABOUT.sub("", text, count=1))


def without_run(study: str) -> str:
    """Returns what `without_results` leaves of the page of a study."""
    return "\n".join(f"{cell.markdown()}\n" for cell in cells(study))


def with_new_texts(old: str, study: str) -> str:
    """Returns a page with the texts of its study, and what the study has printed and drawn. Raises a click error where
    the code is not that of the page."""
    parts = []
    for cell in cells(study):
        shown = ""
        if not cell.is_text:
            _, found, after = old.partition(f"{cell.markdown()}\n")
            if not found:
                raise click.ClickException(f"the page has other code than {cell.text.splitlines()[0]!r}; run the study")
            while match := _SHOWN.match(after, len(shown)):
                shown += match[0]
        parts.append(f"{cell.markdown()}\n{shown}")
    title, _, first = parts[0].partition("\n")
    run = _ABOUT.search(old)
    return "\n".join([f"{title}\n{run[0] if run else ''}{first}", *parts[1:]])


@click.command()
@click.argument("names", nargs=-1)
@click.option("--length", type=click.Choice(LENGTHS), default="minutes", show_default=True, help="How long they run.")
@click.option("--texts", is_flag=True, help="Run nothing: take over changed texts where the code is the same.")
def main(names: Sequence[str], length: str, texts: bool) -> None:
    """Run studies (all, unless named) and write their pages in docs/studies.

    \b
    Examples:
      python -m bench.studies
      python -m bench.studies umbrella --length whole
      python -m bench.studies --texts
    """
    for name in names or sorted(study.stem for study in STUDIES.glob("*.py")):
        study = STUDIES / f"{name}.py"
        if not study.is_file():
            raise click.BadParameter(f"{name} is no study of examples/studies", param_hint="NAMES")
        target = PAGES / f"{name}.md"
        target.write_text(
            with_new_texts(target.read_text(), study.read_text())
            if texts
            else page(study, length, target.with_suffix(".svg"))
        )


if __name__ == "__main__":
    main()
