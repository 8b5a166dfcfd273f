"""The site is built strictly: every link and anchor leads somewhere, every page is in the navigation, and nothing is
loaded from another host."""

from __future__ import annotations

import importlib.util
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.programs import run_program

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "scripts" / "site"
#: what a browser loads by itself, by element and attribute; a link is loaded where its relation is one of these
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
RELATIONS = {"stylesheet", "icon", "preload", "preconnect", "prefetch", "dns-prefetch", "modulepreload", "manifest"}
FOREIGN = re.compile(r"(?:[a-z]+:)?//")


class Foreign(HTMLParser):
    """Collects what a page loads from other hosts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        target = named.get(LOADED.get(tag, ""), "") or ""
        loads = tag != "link" or bool(RELATIONS & set((named.get("rel") or "").split()))
        if loads and FOREIGN.match(target):
            self.found.append(f"{tag} {target}")


def foreign(html: str) -> list[str]:
    parser = Foreign()
    parser.feed(html)
    return parser.found


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"site_{name}", SITE / f"{name}.py")
    assert spec and spec.loader
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def build(config: Path, to: Path) -> str:
    """Builds a site strictly. Returns what MkDocs says."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config), "--site-dir", str(to)]
    done = run_program(command, check=False, env={"NO_MKDOCS_2_WARNING": "1"})
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    assert build(ROOT / "mkdocs.yml", folder) == ""
    return folder


def test_nothing_is_loaded_from_other_hosts(pages: Path) -> None:
    assert {str(page): found for page in pages.rglob("*.html") if (found := foreign(page.read_text()))} == {}
    styles = [
        page
        for page in pages.rglob("*.css")
        if re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", page.read_text())
    ]
    assert styles == []


def test_python_names_are_there_with_their_types(pages: Path) -> None:
    page = (pages / "python" / "tessera" / "index.html").read_text()
    assert 'id="tessera.simulation.Simulation.step"' in page
    assert "Mapping" in page and "communicator" in page
    assert "kcal/mol, potential" in page.lower(), "the comment behind Minimization.energy"


@pytest.mark.parametrize(
    ("page", "said"),
    [("[a](b.md)", "b.md"), ("[a](index.md#b)", "no such anchor"), ("a", 'not included in the "nav"')],
)
def test_a_broken_site_is_refused(page: str, said: str, tmp_path: Path) -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    text = text[: text.index("\nnav:")] + "\nnav:\n  - index.md\n"
    text = re.sub(r"  - mkdocstrings:.*?\n\n", "\n", text, flags=re.S)
    (tmp_path / "mkdocs.yml").write_text(text.replace("scripts/site/", f"{SITE}/"))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# A\n\n{page}\n")
    if page == "a":
        (tmp_path / "docs" / "left_out.md").write_text("# B\n")
    assert said in build(tmp_path / "mkdocs.yml", tmp_path / "site")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("a: int  # (n, 3) Å", "(n, 3) Å"),
        ('a = "# no"', ""),
        ('a = "# no"  # yes', "yes"),
        ("#: of two\n#: lines\na: int  # not this", "of two lines"),
        ("# why\na: int", ""),
        ("a: int  # type: ignore", ""),
        ("a = [\n    1,\n]  # of all", "of all"),
    ],
)
def test_comments_of_attributes_are_found(code: str, said: str) -> None:
    lines = code.splitlines()
    first = next(number for number, line in enumerate(lines) if not line.startswith("#"))
    assert module("attribute_comments").comment_of(lines, first, len(lines) - 1) == said


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<script src="https://unpkg.com/x.js"></script>', ["script https://unpkg.com/x.js"]),
        ('<link rel="preconnect" href="//fonts.gstatic.com">', ["link //fonts.gstatic.com"]),
        ('<link rel="canonical" href="https://example.org/"><a href="https://example.org">x</a>', []),
        ('<img src="../images/a.png">', []),
    ],
)
def test_what_is_loaded_is_found(html: str, found: list[str]) -> None:
    assert foreign(html) == found


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[b](../../bench/README.md#a)", "b (`bench/README.md`)"),
        ("[`cpp/x`](../../cpp/x)", "`cpp/x`"),
        (
            "[b](../notation.md) [c](#d) [e](https://example.org)",
            "[b](../notation.md) [c](#d) [e](https://example.org)",
        ),
        ("`[b](../../bench)`\n```\n[b](../../bench)\n```\n", "`[b](../../bench)`\n```\n[b](../../bench)\n```\n"),
        ("![b](../images/a.png)", "![b](../images/a.png)"),
    ],
)
def test_links_outside_become_text(text: str, shown: str) -> None:
    assert module("pages").without_links_outside(text, "guide/a.md") == shown
