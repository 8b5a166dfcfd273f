"""The site in a browser: on no screen is a page wider than it, pictures have words, and no word of code in a table is
broken."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.programs import run_program
from tests.watch.browser import browsing

pytestmark = pytest.mark.slow(part="pictures")

ROOT = Path(__file__).resolve().parents[2]
SCREENS = (390, 1400, 2560)
#: texts of code in tables that would fit on a line of their column and stand on several
BROKEN = """[...document.querySelectorAll('td code')].filter(
  code => /^\\w+$/.test(code.textContent) && code.getClientRects().length > 1).map(code => code.textContent).join()"""
WITHOUT_WORDS = "[...document.images].filter(image => !image.alt.trim()).length"
SHOWN = "document.readyState === 'complete' && !!document.querySelector('article')"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", str(ROOT / "mkdocs.yml")]
    run_program([*command, "--site-dir", folder], env={"NO_MKDOCS_2_WARNING": "1"})
    return folder


def test_pages_fit_every_screen(site: Path, tmp_path: Path) -> None:
    with browsing(tmp_path / "profile") as browser:
        for page in sorted(site.rglob("index.html")):
            browser.open(page.as_uri())
            browser.wait(f"location.href === '{page.as_uri()}' && {SHOWN}")
            for width in SCREENS:
                browser.show(width, 900)
                browser.wait(f"innerWidth === {width}")
                assert browser.value("document.documentElement.scrollWidth") <= width, (page, width)
                assert browser.value(BROKEN) == "", (page, width)
            assert browser.value(WITHOUT_WORDS) == 0, page


def test_a_broken_word_and_a_picture_without_words_are_found(tmp_path: Path) -> None:
    cell = "<td style='width: 2em; max-width: 2em; overflow-wrap: anywhere'><code>electrostatics</code></td>"
    (tmp_path / "a.html").write_text(f"<article><table><tr>{cell}</tr></table><img src='a.png'></article>")
    with browsing(tmp_path / "profile") as browser:
        browser.open((tmp_path / "a.html").as_uri())
        browser.wait(SHOWN)
        assert browser.value(BROKEN) == "electrostatics"
        assert browser.value(WITHOUT_WORDS) == 1
