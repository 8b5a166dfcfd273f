"""Puts a run on one page of HTML that needs no other file and no network."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tessera.errors import InputError
from tessera.files import replaced
from tessera.plots import plot_run
from tessera.printing import printable
from tessera.report.citations import Work
from tessera.report.files import Listed
from tessera.report.run import Run
from tessera.version import __version__

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"  # what a browser may load
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #2b3038; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.2rem; margin-top: 2rem; } h3 { font-size: 1rem; }
@media screen { .wide img { min-width: 44rem; } }
p.facts { color: #5a6270; margin-top: .2rem; } img { max-width: 100%; height: auto; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #e3e6ea; vertical-align: top; }
td.number, th.number { text-align: right; } code, pre { font: 13px/1.4 ui-monospace, monospace; }
pre { overflow-x: auto; background: #f5f6f8; padding: .75rem; } .problem { color: #b3261e; font-weight: bold; }
td.sum { word-break: break-all; min-width: 14rem; } @media print { details > * { display: block; } }
"""


def write_page(output: Path, folder: Path, runs: Sequence[Run], files: Sequence[Listed], works: Iterable[Work]) -> None:
    """Writes the page of a run, or of the stages of a protocol in their order. The same run gives the same bytes."""
    html = ElementTree.Element("html", lang="en")
    head = ElementTree.SubElement(html, "head")
    ElementTree.SubElement(head, "meta", charset="utf-8")
    ElementTree.SubElement(head, "meta", {"http-equiv": "Content-Security-Policy", "content": _POLICY})
    ElementTree.SubElement(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    _text(head, "title", f"{folder.resolve().name}: report of a simulation")
    _text(head, "style", _STYLE, plain=False)
    main = ElementTree.SubElement(ElementTree.SubElement(html, "body"), "main")
    _text(main, "h1", folder.resolve().name)
    _text(main, "p", runs[-1].facts(), {"class": "facts"})
    _method(main, runs)
    _plots(main, folder)
    _means(main, runs[-1])
    _speed(main, runs[-1])
    if files:
        _files(main, files)
    _again(main, runs)
    _citations(main, works)
    text = ElementTree.tostring(html, encoding="unicode", method="html")
    with replaced(output) as temporary:
        temporary.write_text(f"<!doctype html>\n{text}\n", encoding="utf-8")


def _text(parent: Any, tag: str, text: str, attributes: dict[str, str] | None = None, plain: bool = True) -> Any:
    """Adds an element with a text, whose control characters are shown, and returns it."""
    made = ElementTree.SubElement(parent, tag, attributes or {})
    made.text = printable(text, lines=True) if plain else text
    return made


def _table(parent: Any, titles: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> Any:
    """Adds a table, of which these columns hold numbers, and returns its body."""
    table = ElementTree.SubElement(ElementTree.SubElement(parent, "div", {"class": "wide"}), "table")
    head = ElementTree.SubElement(ElementTree.SubElement(table, "thead"), "tr")
    for column, title in enumerate(titles):
        _text(head, "th", title, {"scope": "col", **({"class": "number"} if column in numbers else {})})
    body = ElementTree.SubElement(table, "tbody")
    for cells in rows:
        row = ElementTree.SubElement(body, "tr")
        for column, cell in enumerate(cells):
            _text(row, "td", cell, {"class": "number"} if column in numbers else {})
    return body


def _method(main: Any, runs: Sequence[Run]) -> None:
    _text(main, "h2", "What was simulated")
    _text(main, "p", " ".join(runs[-1].system_words()))
    for run in runs:
        if len(runs) > 1:
            _text(main, "h3", run.name)
        _text(main, "p", run.words())


def _plots(main: Any, folder: Path) -> None:
    _text(main, "h2", "How it went")
    try:
        with tempfile.TemporaryDirectory() as name:
            picture = plot_run(folder, Path(name) / "run.png").read_bytes()
    except InputError as error:  # a minimisation, or a run without rows of energies
        _text(main, "p", f"There are no plots: {error}")
        return
    source = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    what = "Plots of energies, drift, temperature, pressure and density by time, and of the time of each phase"
    turns = {"class": "wide", "tabindex": "0", "role": "group", "aria-label": "Plots"}
    frame = ElementTree.SubElement(main, "div", turns)
    ElementTree.SubElement(frame, "img", src=source, alt=what)


def _means(main: Any, run: Run) -> None:
    averages = run.report.get("averages") or {}
    rows = [
        (name, f"{one['mean']:.6g}", f"{one['fluctuation']:.3g}", one["unit"])
        for name, one in sorted(averages.items())
        if one["mean"] is not None and one["fluctuation"] is not None  # of a run that blew up they are no numbers
    ]
    if rows:
        _text(main, "h2", "Means")
        _table(main, ("quantity", "mean", "fluctuation", "unit"), rows, (1, 2))
        _text(main, "p", "Over the last three quarters of the rows of energy.csv.")
    drift = (run.report.get("results") or {}).get("drift_kT_ns_dof")
    if drift is not None:
        _text(main, "p", f"The conserved energy drifts by {drift:+.3g} kT per nanosecond and degree of freedom.")


def _speed(main: Any, run: Run) -> None:
    phases = run.report.get("phases") or []
    if not phases:
        return
    _text(main, "h2", "Where the time went")
    _text(main, "p", run.speed_words())
    wall, steps = max(run.report.get("wall_seconds", 0.0), 1e-300), max(1, run.report.get("steps", 1))
    rows = [
        (phase["name"].replace("_", " "), f"{phase['seconds']:.3f}", f"{100 * phase['seconds'] / wall:.1f} %",
         f"{1000 * phase['seconds'] / steps:.4f}", f"{phase.get('imbalance', 1.0):.2f}")
        for phase in phases
        if phase["seconds"] > 0
    ]  # fmt: skip
    _table(main, ("phase", "s", "share", "ms a step", "imbalance"), rows, (1, 2, 3, 4))


def _files(main: Any, files: Sequence[Listed]) -> None:
    _text(main, "h2", "Files")
    rows = [(one.name, f"{one.bytes:,}", one.sha256, one.problem or one.note) for one in files]
    body = _table(main, ("file", "bytes", "SHA-256", "what was found"), rows, (1,))
    for row, one in zip(body, files, strict=True):
        row[2].set("class", "sum")
        if one.problem:
            row[3].set("class", "problem")
    text = "The checksum of a folder is that of the lines that sha256sum prints of its files, in order of their names."
    _text(main, "p", text)


def _again(main: Any, runs: Sequence[Run]) -> None:
    _text(main, "h2", "To do it again")
    names = [run.name for run in runs] if len(runs) > 1 else ["again"]
    files = ", ".join(f"{name}.toml" for name in names)
    text = f"{runs[-1].versions()} Save the settings below as {files}, put the system file beside, and start:"
    _text(main, "p", text)
    starts = ["", *(run.place(name) for run, name in zip(runs, names, strict=True))]
    commands = [run.command(name, start) for run, name, start in zip(runs, names, starts, strict=False)]
    _text(main, "pre", "\n".join(commands))
    for run in runs:
        details = ElementTree.SubElement(main, "details")
        _text(details, "summary", f"All settings{f' of {run.name}' if len(runs) > 1 else ''} (settings.toml)")
        _text(details, "pre", run.settings_text)
    if runs[-1].report.get("state_hash"):
        text = "Positions and velocities at the end have this SHA-256, on any processor and any ranks and threads:"
        _text(main, "p", text)
        _text(main, "pre", runs[-1].report["state_hash"])


def _citations(main: Any, works: Iterable[Work]) -> None:
    _text(main, "h2", "To cite")
    listed = ElementTree.SubElement(main, "ul")
    for work in works:
        item = _text(listed, "li", f"{work.what}: {work.text}, ")
        _text(item, "a", f"doi:{work.doi}", {"href": f"https://doi.org/{work.doi}"})
    _text(main, "p", f"The force field and its source are those of the system file. Written by Tessera {__version__}.")
